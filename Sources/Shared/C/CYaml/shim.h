#ifndef PEAL_CYAML_SHIM_H
#define PEAL_CYAML_SHIM_H

#include <yaml.h>

#endif
