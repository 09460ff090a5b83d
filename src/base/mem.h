// base/mem.h - every allocation of the library goes through here, so that tests can make the n-th one fail.
//
// Ownership: what mem_* returns is freed with mem_free; mem_pages() with mem_pages_free().
// Threads:   any.
#ifndef RN_BASE_MEM_H
#define RN_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t n_bytes);            // n_bytes 0 gives a unique pointer; NULL: out of memory
void *mem_calloc(size_t n, size_t size);    // zeroed; NULL also when n * size overflows
void *mem_realloc(void *p, size_t n_bytes); // on NULL the old block is still the caller's
void *mem_aligned(size_t n_bytes);          // 64-byte aligned, contents undefined
// Room for one more element of *(TYPE **)array, which has n of at most *max: doubles it, or begins with
// `first`. False: out of memory, nothing has changed.
bool mem_grow(void *array, uint32_t n, uint32_t *max, uint32_t first, size_t size);
char *mem_strndup(const char *s, size_t n); // n bytes and a terminator
void mem_free(void *p);                     // NULL is fine; for everything above
size_t mem_heap_bytes(void);                // what all these hold in this process now, for reports

// Large zeroed memory straight from the system, page aligned (2 MiB where huge pages are advised); untouched parts
// cost nothing. Freed with the same size.
void *mem_pages(size_t n_bytes);
void mem_pages_free(void *p, size_t n_bytes);

// Tests: the n-th allocation from now fails (1 = the next one); 0 = never. Reads as 0 once it has fired.
// Process-wide and atomic, for the fault tests only.
void mem_fail_after(long n);
bool mem_fail_fired(void); // did it fire since the last mem_fail_after()?
long mem_live(void);       // blocks allocated and not freed, mem_pages included: leak checks without a sanitizer
long mem_count(void);      // allocations ever made: "no allocation in a step" is tested with it

#endif
