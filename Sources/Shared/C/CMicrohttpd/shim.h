#ifndef PEAL_CMICROHTTPD_SHIM_H
#define PEAL_CMICROHTTPD_SHIM_H

#include <sys/socket.h>
#include <microhttpd.h>

/* MHD_start_daemon is variadic. One internal polling thread; `address` holds the address and port to listen on.
 * Suspend and resume are on, because a handler may answer later from another thread. */
static inline struct MHD_Daemon *
peal_mhd_start(const struct sockaddr *address, int ipv6, unsigned connection_max, unsigned timeout_s,
               size_t connection_memory, MHD_AccessHandlerCallback handler, void *handler_cls,
               MHD_RequestCompletedCallback completed, void *completed_cls) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME
        | (ipv6 ? MHD_USE_DUAL_STACK : 0);
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, handler_cls,
                            MHD_OPTION_SOCK_ADDR, address,
                            MHD_OPTION_CONNECTION_LIMIT, connection_max,
                            MHD_OPTION_CONNECTION_TIMEOUT, timeout_s,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, completed_cls,
                            MHD_OPTION_END);
}

/* The library's enumerations reach Swift under different names from version to version; these do not change. */
static inline enum MHD_Result peal_mhd_result(int yes) { return yes ? MHD_YES : MHD_NO; }
static inline int peal_mhd_headers(struct MHD_Connection *c, MHD_KeyValueIterator f, void *cls) {
    return MHD_get_connection_values(c, MHD_HEADER_KIND, f, cls);
}
static inline int peal_mhd_query(struct MHD_Connection *c, MHD_KeyValueIterator f, void *cls) {
    return MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, f, cls);
}
static inline const char *peal_mhd_header(struct MHD_Connection *c, const char *name) {
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}
/* A response that owns a copy of the bytes. */
static inline struct MHD_Response *peal_mhd_response(const void *bytes, size_t length) {
    return MHD_create_response_from_buffer(length, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
static inline uint16_t peal_mhd_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

#endif
