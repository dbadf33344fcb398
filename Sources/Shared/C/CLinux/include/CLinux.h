#ifndef PEAL_CLINUX_H
#define PEAL_CLINUX_H

/* What the Glibc module does not show to Swift. Every function returns what the system call returns; on failure
 * that is -1 and `errno` is carried out as a negative value by the `_e` forms. */

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

int peal_epoll_create(void);
int peal_epoll_add(int ep, int fd, uint32_t events, uint64_t data);
int peal_epoll_mod(int ep, int fd, uint32_t events, uint64_t data);
int peal_epoll_del(int ep, int fd);
/* Waits at most timeout_ms; copies the events out into two parallel arrays. Returns the count or -errno. */
int peal_epoll_wait(int ep, uint32_t *events, uint64_t *data, int max, int timeout_ms);

int peal_eventfd(void);
void peal_eventfd_signal(int fd);
void peal_eventfd_drain(int fd);

/* Blocks the signals in the calling thread and returns a descriptor that reports them, or -errno. */
int peal_signalfd(const int *signals, int count);
/* Next pending signal number, 0 when there is none. */
int peal_signalfd_next(int fd);
int peal_signals_block(const int *signals, int count);
void peal_ignore_sigpipe(void);

/* Non-blocking, close-on-exec TCP sockets. Return a descriptor, 0 or -errno. `host` is a numeric address. */
int peal_tcp_connect(const char *host, uint16_t port, int family);
int peal_tcp_connect_result(int fd);
int peal_tcp_listen(const char *host, uint16_t port, int backlog, int reuse_port);
int peal_tcp_port(int fd);
int peal_tcp_peer_port(int fd);
int peal_accept(int fd);
int peal_tcp_nodelay(int fd);
long peal_recv(int fd, void *buffer, size_t length);
long peal_send(int fd, const void *buffer, size_t length);
int peal_unix_connect(const char *path);

/* Resolves a name to numeric text; blocking. Returns 0 or a getaddrinfo code. */
int peal_resolve(const char *host, char *out, size_t out_length, int *family);

uint64_t peal_monotonic_ns(void);
int64_t peal_realtime_ms(void);
uint64_t peal_process_cpu_ns(void);
uint64_t peal_process_rss_bytes(void);
/* When the process started, ms since 1970; its descriptors and how many it may have. 0 when unknown. */
int64_t peal_process_start_ms(void);
int peal_process_open_fds(void);
uint64_t peal_process_max_fds(void);
int64_t peal_random(void *buffer, size_t length);
/* Bounds the heaps (arenas) that malloc divides the memory into, and the free bytes that each keeps at its end; what is
 * larger than a quarter of that gets memory of its own. The environment's MALLOC_ variables win. See mallopt(3). */
void peal_limit_heaps(int count, int keep_bytes);
void peal_thread_name(const char *name);
int peal_cpu_count(void);
/* Kills this process with the signal when its parent dies. */
int peal_die_with_parent(int signal);

/* Removes a directory and everything below it; goes on past what it cannot remove. */
int peal_remove_tree(const char *path);

#endif
