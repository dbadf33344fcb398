#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int peal_epoll_create(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int control(int ep, int op, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(ep, op, fd, &event) < 0 ? -errno : 0;
}

int peal_epoll_add(int ep, int fd, uint32_t events, uint64_t data) { return control(ep, EPOLL_CTL_ADD, fd, events, data); }
int peal_epoll_mod(int ep, int fd, uint32_t events, uint64_t data) { return control(ep, EPOLL_CTL_MOD, fd, events, data); }
int peal_epoll_del(int ep, int fd) { return control(ep, EPOLL_CTL_DEL, fd, 0, 0); }

int peal_epoll_wait(int ep, uint32_t *events, uint64_t *data, int max, int timeout_ms) {
    struct epoll_event ready[256];
    if (max > 256) max = 256;
    int n = epoll_wait(ep, ready, max, timeout_ms);
    if (n < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        events[i] = ready[i].events;
        data[i] = ready[i].data.u64;
    }
    return n;
}

int peal_eventfd(void) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void peal_eventfd_signal(int fd) {
    uint64_t one = 1;
    ssize_t n;
    do n = write(fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

void peal_eventfd_drain(int fd) {
    uint64_t value;
    ssize_t n;
    do n = read(fd, &value, sizeof value);
    while (n < 0 && errno == EINTR);
}

static void fill(sigset_t *set, const int *signals, int count) {
    sigemptyset(set);
    for (int i = 0; i < count; i++) sigaddset(set, signals[i]);
}

int peal_signals_block(const int *signals, int count) {
    sigset_t set;
    fill(&set, signals, count);
    return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int peal_signalfd(const int *signals, int count) {
    sigset_t set;
    fill(&set, signals, count);
    int rc = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (rc) return -rc;
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int peal_signalfd_next(int fd) {
    struct signalfd_siginfo info;
    ssize_t n;
    do n = read(fd, &info, sizeof info);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

void peal_ignore_sigpipe(void) { signal(SIGPIPE, SIG_IGN); }

static int address(const char *host, uint16_t port, struct sockaddr_storage *out, socklen_t *length) {
    memset(out, 0, sizeof *out);
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *length = sizeof *v4;
        return AF_INET;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *length = sizeof *v6;
        return AF_INET6;
    }
    return -1;
}

int peal_tcp_nodelay(int fd) {
    int on = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ? -errno : 0;
}

int peal_tcp_connect(const char *host, uint16_t port, int family) {
    (void)family;
    struct sockaddr_storage to;
    socklen_t length;
    int domain = address(host, port, &to, &length);
    if (domain < 0) return -EINVAL;
    int fd = socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&to, length) < 0 && errno != EINPROGRESS) {
        int e = errno;
        close(fd);
        return -e;
    }
    return fd;
}

int peal_unix_connect(const char *path) {
    struct sockaddr_un to;
    memset(&to, 0, sizeof to);
    if (strlen(path) >= sizeof to.sun_path) return -ENAMETOOLONG;
    to.sun_family = AF_UNIX;
    strcpy(to.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS) {
        int e = errno;
        close(fd);
        return -e;
    }
    return fd;
}

int peal_tcp_connect_result(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return -errno;
    return -error;
}

int peal_tcp_listen(const char *host, uint16_t port, int backlog, int reuse_port) {
    struct sockaddr_storage at;
    socklen_t length;
    int domain = address(host, port, &at, &length);
    if (domain < 0) return -EINVAL;
    int fd = socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (reuse_port) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, length) < 0 || listen(fd, backlog) < 0) {
        int e = errno;
        close(fd);
        return -e;
    }
    return fd;
}

int peal_tcp_port(int fd) {
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &length) < 0) return -errno;
    if (at.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&at)->sin_port);
    return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
}

int peal_tcp_peer_port(int fd) {
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    if (getpeername(fd, (struct sockaddr *)&at, &length) < 0) return -errno;
    if (at.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&at)->sin_port);
    return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
}

int peal_accept(int fd) {
    int client;
    do client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (client < 0 && errno == EINTR);
    if (client < 0) return -errno;
    peal_tcp_nodelay(client);
    return client;
}

long peal_recv(int fd, void *buffer, size_t length) {
    ssize_t n;
    do n = recv(fd, buffer, length, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

long peal_send(int fd, const void *buffer, size_t length) {
    ssize_t n;
    do n = send(fd, buffer, length, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int peal_resolve(const char *host, char *out, size_t out_length, int *family) {
    struct addrinfo hints, *list = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    int rc = getaddrinfo(host, NULL, &hints, &list);
    if (rc) return rc;
    rc = getnameinfo(list->ai_addr, list->ai_addrlen, out, (socklen_t)out_length, NULL, 0, NI_NUMERICHOST);
    *family = list->ai_family;
    freeaddrinfo(list);
    return rc;
}

static uint64_t clock_ns(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t peal_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
int64_t peal_realtime_ms(void) { return (int64_t)(clock_ns(CLOCK_REALTIME) / 1000000u); }
uint64_t peal_process_cpu_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t peal_process_rss_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    unsigned long size = 0, resident = 0;
    int n = fscanf(file, "%lu %lu", &size, &resident);
    fclose(file);
    return n == 2 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

int64_t peal_process_start_ms(void) {
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file) return 0;
    char line[1024];
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    /* The name is in parentheses and may hold anything; the start is the 20th field behind it. */
    char *rest = strrchr(line, ')');
    unsigned long long ticks = 0;
    if (!rest || sscanf(rest + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
        return 0;
    uint64_t age_ms = clock_ns(CLOCK_BOOTTIME) / 1000000 - ticks * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK);
    return peal_realtime_ms() - (int64_t)age_ms;
}

int peal_process_open_fds(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return 0;
    int count = 0;
    while (readdir(folder)) count++;
    closedir(folder);
    /* Without the two dots and the folder's own descriptor. */
    return count - 3;
}

uint64_t peal_process_max_fds(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : (uint64_t)limit.rlim_cur;
}

int64_t peal_random(void *buffer, size_t length) { return getrandom(buffer, length, 0); }
void peal_limit_heaps(int count, int keep_bytes) {
#ifdef M_ARENA_MAX
    if (!getenv("MALLOC_ARENA_MAX")) mallopt(M_ARENA_MAX, count);
#endif
#ifdef M_TRIM_THRESHOLD
    /* Either one alone would leave the other at its default, and both stop growing by themselves. */
    if (!getenv("MALLOC_TRIM_THRESHOLD_")) mallopt(M_TRIM_THRESHOLD, keep_bytes);
    if (!getenv("MALLOC_MMAP_THRESHOLD_")) mallopt(M_MMAP_THRESHOLD, keep_bytes / 4);
#endif
    (void)count;
    (void)keep_bytes;
}

void peal_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }
int peal_cpu_count(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
int peal_die_with_parent(int sig) { return prctl(PR_SET_PDEATHSIG, sig) < 0 ? -errno : 0; }

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *position) {
    (void)info, (void)kind, (void)position;
    remove(path);
    return 0;
}

int peal_remove_tree(const char *path) { return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
