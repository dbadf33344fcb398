#ifndef PEAL_CMICROHTTPD_SHIM_H
#define PEAL_CMICROHTTPD_SHIM_H

#include <stdint.h>
#include <sys/socket.h>
#include <microhttpd.h>

/* What a server is started with. `address` holds the address and port to listen on; `threads` polling threads;
 * `certificate` and `key` are PEM texts, both NULL for no TLS; `per_address_max` 0 for no limit. */
struct peal_mhd_options {
    const struct sockaddr *address;
    int ipv6;
    unsigned connections_max;
    unsigned per_address_max;
    unsigned timeout_s;
    unsigned threads;
    size_t connection_memory;
    const char *certificate;
    const char *key;
    MHD_AccessHandlerCallback handler;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback notify;
    void *cls;
};

/* Leaves escapes where they are: a decoded %2F could not be told from a separator. */
static inline size_t peal_mhd_keep_escapes(void *cls, struct MHD_Connection *connection, char *text) {
    (void)cls;
    (void)connection;
    size_t length = 0;
    while (text[length] != 0) length++;
    return length;
}

/* MHD_start_daemon is variadic. Suspend and resume are on, because a handler may answer later from another
 * thread. */
static inline struct MHD_Daemon *peal_mhd_start(const struct peal_mhd_options *o) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME
        | (o->ipv6 ? MHD_USE_DUAL_STACK : 0) | (o->certificate ? MHD_USE_TLS : 0);
    struct MHD_OptionItem more[8];
    int count = 0;
    if (o->per_address_max > 0)
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_PER_IP_CONNECTION_LIMIT, o->per_address_max, NULL};
    if (o->threads > 1)
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, o->threads, NULL};
    if (o->certificate) {
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)o->certificate};
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)o->key};
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
            (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
    }
    more[count++] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(flags, 0, NULL, NULL, o->handler, o->cls,
                            MHD_OPTION_SOCK_ADDR, o->address,
                            MHD_OPTION_CONNECTION_LIMIT, o->connections_max,
                            MHD_OPTION_CONNECTION_TIMEOUT, o->timeout_s,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->connection_memory,
                            MHD_OPTION_UNESCAPE_CALLBACK, peal_mhd_keep_escapes, NULL,
                            MHD_OPTION_NOTIFY_COMPLETED, o->completed, o->cls,
                            MHD_OPTION_NOTIFY_CONNECTION, o->notify, o->cls,
                            MHD_OPTION_ARRAY, more,
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
static inline int peal_mhd_is_start(enum MHD_ConnectionNotificationCode code) {
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}
/* What the notification callback kept for the connection. */
static inline void *peal_mhd_context(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}
static inline int peal_mhd_descriptor(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}
/* The client's address; NULL when it is unknown. */
static inline const struct sockaddr *peal_mhd_client(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}
/* A response that owns a copy of the bytes. */
static inline struct MHD_Response *peal_mhd_response(const void *bytes, size_t length) {
    return MHD_create_response_from_buffer(length, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
/* A response whose bytes come from `read`; `release` is called once, when the response is over. */
static inline struct MHD_Response *peal_mhd_stream(MHD_ContentReaderCallback read, void *cls,
                                                   MHD_ContentReaderFreeCallback release) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read, cls, release);
}
static inline uint16_t peal_mhd_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

#endif
