#ifndef PEAL_CMICROHTTPD_SHIM_H
#define PEAL_CMICROHTTPD_SHIM_H

#include <sys/socket.h>
#include <microhttpd.h>

/* MHD_start_daemon is variadic. One internal polling thread; `address` holds the address and port to listen on. */
static inline struct MHD_Daemon *
peal_mhd_start(const struct sockaddr *address, int ipv6, unsigned connection_max, unsigned timeout_s,
               MHD_AccessHandlerCallback handler, void *handler_cls,
               MHD_RequestCompletedCallback completed, void *completed_cls) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | (ipv6 ? MHD_USE_DUAL_STACK : 0);
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, handler_cls,
                            MHD_OPTION_SOCK_ADDR, address,
                            MHD_OPTION_CONNECTION_LIMIT, connection_max,
                            MHD_OPTION_CONNECTION_TIMEOUT, timeout_s,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, completed_cls,
                            MHD_OPTION_END);
}
static inline uint16_t peal_mhd_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

#endif
