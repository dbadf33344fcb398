// Counts a process' heap allocations by thread, for `peal bench allocations` and the test that bounds them.
//
// Not linked into any program: preloaded (LD_PRELOAD) into one, with PEAL_ALLOCATIONS naming a file of
// PEAL_ALLOCATIONS_SLOTS slots. The file is the counters' memory, so that whoever reads it disturbs nobody.
#ifndef PEAL_ALLOCATIONS_H
#define PEAL_ALLOCATIONS_H

#include <stdint.h>

#define PEAL_ALLOCATIONS_SLOTS 1024

// One thread's counts; a cache line of its own. The counts of threads for which no slot is left are added to
// the last one, whose thread is -1.
struct peal_allocations {
    int64_t thread;   // The kernel's id; 0 for an unused slot.
    uint64_t all;     // Calls that return a block: malloc, calloc, realloc and the aligned ones.
    uint64_t library; // Those of them that come straight out of other code than the program's and Swift's.
    uint64_t bytes;   // What they asked for.
    uint64_t reserved[4];
};

#endif
