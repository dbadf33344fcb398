#define _GNU_SOURCE
#include "CAllocations.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc's own names of what is replaced here; they spare the search with dlsym, which allocates.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct peal_allocations *slots;
static atomic_int next_slot;
// Where the code of the program lies, and that of Swift's runtime.
static uintptr_t own_start[2], own_end[2];
static _Thread_local struct peal_allocations *mine __attribute__((tls_model("initial-exec")));

static int find_own(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    // The program itself has no name here.
    int isProgram = info->dlpi_name == NULL || info->dlpi_name[0] == 0;
    if (!isProgram && strstr(info->dlpi_name, "libswiftCore") == NULL) return 0;
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
        own_start[isProgram] = info->dlpi_addr + part->p_vaddr;
        own_end[isProgram] = own_start[isProgram] + part->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("PEAL_ALLOCATIONS");
    if (path == NULL) return;
    dl_iterate_phdr(find_own, NULL);
    // Only the first process: one that it starts would inherit the variables.
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    size_t size = PEAL_ALLOCATIONS_SLOTS * sizeof(struct peal_allocations);
    void *memory = MAP_FAILED;
    if (ftruncate(file, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) slots = memory;
}

static struct peal_allocations *slot(void) {
    if (mine != NULL || slots == NULL) return mine;
    int index = atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed);
    int last = PEAL_ALLOCATIONS_SLOTS - 1;
    if (index < last) {
        mine = &slots[index];
        mine->thread = syscall(SYS_gettid);
    } else {
        mine = &slots[last];
        mine->thread = -1;
    }
    return mine;
}

static void note(void *caller, size_t size) {
    struct peal_allocations *counts = slot();
    if (counts == NULL) return;
    // Only the last slot has more than one writer; a relaxed addition suits both.
    __atomic_fetch_add(&counts->all, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->bytes, size, __ATOMIC_RELAXED);
    uintptr_t place = (uintptr_t)caller;
    for (int index = 0; index < 2; index++)
        if (place >= own_start[index] && place < own_end[index]) return;
    __atomic_fetch_add(&counts->library, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size) {
    note(__builtin_return_address(0), size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note(__builtin_return_address(0), count * size);
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    note(__builtin_return_address(0), size);
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    note(__builtin_return_address(0), size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(__builtin_return_address(0), size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    note(__builtin_return_address(0), size);
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *made = __libc_memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}
