#ifndef PEAL_CHIREDIS_SHIM_H
#define PEAL_CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>

#endif
