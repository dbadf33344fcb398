#ifndef PEAL_CSIMDJSON_H
#define PEAL_CSIMDJSON_H
/* A plain C face over simdjson's first stage: it checks the UTF-8, finds every structural character and the
   beginning of every scalar, and leaves the grammar to the caller, who must walk what it found anyway. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What indexing found wrong. */
enum {
    PEAL_JSON_OK = 0,
    PEAL_JSON_EMPTY = 1,
    PEAL_JSON_CAPACITY = 2,
    PEAL_JSON_UTF8 = 3,
    PEAL_JSON_UNCLOSED_STRING = 4,
    PEAL_JSON_CONTROL_CHARACTER = 5,
    PEAL_JSON_OTHER = 6
};

typedef struct peal_json peal_json;

/* The offsets of the last indexed document. They stay valid until the next call on the same indexer.
   offsets[count] is the length of the document. */
typedef struct {
    const uint32_t *offsets;
    uint32_t count;
} peal_json_index;

/* An indexer for documents of up to `capacity` bytes, or NULL when memory is short. */
peal_json *peal_json_new(size_t capacity);
void peal_json_free(peal_json *indexer);

/* Indexes one document. It reads not a byte past `length`, so no padding is needed. */
int peal_json_run(peal_json *indexer, const void *bytes, size_t length, peal_json_index *index);

/* The name of the instruction set in use ("haswell", "westmere", "fallback", ...). */
const char *peal_json_kernel(void);

#ifdef __cplusplus
}
#endif
#endif
