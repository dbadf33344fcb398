#ifndef PEAL_CRDKAFKA_SHIM_H
#define PEAL_CRDKAFKA_SHIM_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

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

#endif
