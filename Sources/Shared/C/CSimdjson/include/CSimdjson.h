#ifndef PEAL_CSIMDJSON_H
#define PEAL_CSIMDJSON_H
/* A plain C face over simdjson. */
#ifdef __cplusplus
extern "C" {
#endif
int peal_simdjson_version(void);
#ifdef __cplusplus
}
#endif
#endif
