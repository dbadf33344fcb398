#include "CSimdjson.h"
#include <simdjson.h>

extern "C" int peal_simdjson_version(void) { return simdjson::SIMDJSON_VERSION_MAJOR; }
