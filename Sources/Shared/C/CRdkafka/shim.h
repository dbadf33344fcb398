#ifndef PEAL_CRDKAFKA_SHIM_H
#define PEAL_CRDKAFKA_SHIM_H

#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdint.h>
#include <sys/eventfd.h>

/* Swift does not import macros that are casts; these give their values names. */
static inline int32_t peal_rk_partition_unassigned(void) { return RD_KAFKA_PARTITION_UA; }
static inline int64_t peal_rk_offset_invalid(void) { return RD_KAFKA_OFFSET_INVALID; }
static inline int64_t peal_rk_offset_stored(void) { return RD_KAFKA_OFFSET_STORED; }
static inline int64_t peal_rk_offset_beginning(void) { return RD_KAFKA_OFFSET_BEGINNING; }
static inline int64_t peal_rk_offset_end(void) { return RD_KAFKA_OFFSET_END; }
static inline int peal_rk_message_copy(void) { return RD_KAFKA_MSG_F_COPY; }
static inline int peal_rk_purge_all(void) { return RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT; }
static inline int peal_rk_destroy_no_close(void) { return RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE; }

/* rd_kafka_mock_broker_push_request_error_rtts exists only in variadic form in 2.0.2. */
static inline rd_kafka_resp_err_t
peal_mock_push_error_rtt(rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t api_key,
                         rd_kafka_resp_err_t err, int rtt_ms) {
    return rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, api_key, (size_t)1, err, rtt_ms);
}

/* One header of a record to produce: positions inside one shared run of bytes; the name is NUL-terminated. */
typedef struct {
    uint32_t name_at;
    uint32_t value_at;
    uint32_t value_length;
} peal_rk_header_t;

enum { PEAL_RK_MAX_HEADERS = 32 };

/* The record without headers: the cheap call. Returns 0 or the error code. */
static inline int32_t peal_rk_produce(rd_kafka_topic_t *topic, const void *key, size_t key_length,
                                      const void *value, size_t value_length, uint64_t opaque) {
    if (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, (void *)value, value_length, key,
                         key_length, (void *)(uintptr_t)opaque) == 0)
        return 0;
    return (int32_t)rd_kafka_last_error();
}

/* The record with headers and/or a timestamp (0 = now). Never names a partition: rd_kafka_produceva of 2.0.2 frees
 * the headers twice when an explicit partition does not exist. Returns 0 or the error code. */
static inline int32_t peal_rk_produce_full(rd_kafka_t *rk, rd_kafka_topic_t *topic, const void *key,
                                           size_t key_length, const void *value, size_t value_length,
                                           uint64_t opaque, int64_t timestamp_ms, const char *text,
                                           const peal_rk_header_t *headers, size_t count) {
    rd_kafka_vu_t vus[6 + PEAL_RK_MAX_HEADERS];
    size_t n = 0;
    vus[n].vtype = RD_KAFKA_VTYPE_RKT;
    vus[n++].u.rkt = topic;
    vus[n].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    vus[n++].u.i = RD_KAFKA_MSG_F_COPY;
    vus[n].vtype = RD_KAFKA_VTYPE_KEY;
    vus[n].u.mem.ptr = (void *)key;
    vus[n++].u.mem.size = key_length;
    vus[n].vtype = RD_KAFKA_VTYPE_VALUE;
    vus[n].u.mem.ptr = (void *)value;
    vus[n++].u.mem.size = value_length;
    vus[n].vtype = RD_KAFKA_VTYPE_OPAQUE;
    vus[n++].u.ptr = (void *)(uintptr_t)opaque;
    if (timestamp_ms > 0) {
        vus[n].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
        vus[n++].u.i64 = timestamp_ms;
    }
    for (size_t i = 0; i < count && i < PEAL_RK_MAX_HEADERS; i++) {
        vus[n].vtype = RD_KAFKA_VTYPE_HEADER;
        vus[n].u.header.name = text + headers[i].name_at;
        vus[n].u.header.val = text + headers[i].value_at;
        vus[n++].u.header.size = (ssize_t)headers[i].value_length;
    }
    rd_kafka_error_t *error = rd_kafka_produceva(rk, vus, n);
    if (!error) return 0;
    int32_t code = (int32_t)rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return code;
}

/* The partitioner of Peal's producers and of Java's, without a client. */
static inline int32_t peal_rk_partition(const void *key, size_t length, int32_t partitions) {
    return rd_kafka_msg_partitioner_murmur2(NULL, key, length, partitions, NULL, NULL);
}

static inline int peal_rk_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

#endif
