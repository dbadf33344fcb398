#include "CSimdjson.h"

#include <memory>
#include <new>
#include <string>

#include <simdjson.h>

struct peal_json {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stages;
    size_t capacity;
};

extern "C" peal_json *peal_json_new(size_t capacity) {
    auto *indexer = new (std::nothrow) peal_json{nullptr, capacity};
    if (indexer == nullptr) return nullptr;
    auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(
        capacity, 64, indexer->stages);
    if (error != simdjson::SUCCESS || !indexer->stages) {
        delete indexer;
        return nullptr;
    }
    return indexer;
}

extern "C" void peal_json_free(peal_json *indexer) { delete indexer; }

extern "C" int peal_json_run(peal_json *indexer, const void *bytes, size_t length, peal_json_index *index) {
    index->offsets = indexer->stages->structural_indexes.get();
    index->count = 0;
    if (length == 0) return PEAL_JSON_EMPTY;
    if (length > indexer->capacity) return PEAL_JSON_CAPACITY;
    auto error = indexer->stages->stage1(
        static_cast<const uint8_t *>(bytes), length, simdjson::stage1_mode::regular);
    switch (error) {
    case simdjson::SUCCESS:
        index->count = indexer->stages->n_structural_indexes;
        return PEAL_JSON_OK;
    case simdjson::EMPTY: return PEAL_JSON_EMPTY;
    case simdjson::CAPACITY: return PEAL_JSON_CAPACITY;
    case simdjson::UTF8_ERROR: return PEAL_JSON_UTF8;
    case simdjson::UNCLOSED_STRING: return PEAL_JSON_UNCLOSED_STRING;
    case simdjson::UNESCAPED_CHARS: return PEAL_JSON_CONTROL_CHARACTER;
    default: return PEAL_JSON_OTHER;
    }
}

extern "C" const char *peal_json_kernel(void) {
    static const std::string name = simdjson::get_active_implementation()->name();
    return name.c_str();
}
