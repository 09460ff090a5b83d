// base/mem.c - allocation with counters and faults on request.
#include "base/mem.h"
#include "base/checked.h"
#include "base/fault.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20, ALIGN = 64 };

// Counters of the process, for tests and reports: nothing is decided by them, so relaxed order is enough.
static atomic_long n_live, n_made;
static atomic_size_t n_heap_bytes;
static atomic_long n_until_fault;
static atomic_bool fault_fired;

bool fault_here(void) {
    long n = atomic_load_explicit(&n_until_fault, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&n_until_fault, &n, n - 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            if (n > 1) return false;
            atomic_store_explicit(&fault_fired, true, memory_order_relaxed);
            return true;
        }
    return false;
}

static bool refused(size_t n_bytes) { return n_bytes > PTRDIFF_MAX || fault_here(); }

static void *made(void *p) {
    if (!p) return NULL;
    atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&n_made, 1, memory_order_relaxed);
    return p;
}

static void *made_on_heap(void *p) {
    if (p) atomic_fetch_add_explicit(&n_heap_bytes, malloc_usable_size(p), memory_order_relaxed);
    return made(p);
}

void *mem_alloc(size_t n_bytes) { return refused(n_bytes) ? NULL : made_on_heap(malloc(n_bytes ? n_bytes : 1)); }

void *mem_calloc(size_t n, size_t size) {
    size_t n_bytes;
    if (!size_mul(n, size, &n_bytes) || refused(n_bytes)) return NULL;
    return made_on_heap(calloc(1, n_bytes ? n_bytes : 1));
}

void *mem_realloc(void *p, size_t n_bytes) {
    if (!p) return mem_alloc(n_bytes);
    if (refused(n_bytes)) return NULL;
    const size_t before = malloc_usable_size(p);
    void *q = realloc(p, n_bytes ? n_bytes : 1);
    if (!q) return NULL;
    atomic_fetch_add_explicit(&n_made, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&n_heap_bytes, malloc_usable_size(q) - before, memory_order_relaxed); // wraps around
    return q;
}

void *mem_aligned(size_t n_bytes) {
    size_t n;
    if (refused(n_bytes) || !size_round_up(n_bytes ? n_bytes : 1, ALIGN, &n)) return NULL;
    return made_on_heap(aligned_alloc(ALIGN, n));
}

bool mem_grow(void *array, uint32_t n, uint32_t *max, uint32_t first, size_t size) {
    if (n < *max) return true;
    void **const p = array;
    const uint32_t more = *max ? *max * 2 : first;
    void *const q = more > n ? mem_realloc(*p, more * size) : NULL;
    if (!q) return false;
    *p = q, *max = more;
    return true;
}

char *mem_strndup(const char *s, size_t n) {
    size_t n_bytes;
    char *copy = size_add(n, 1, &n_bytes) ? mem_alloc(n_bytes) : NULL;
    if (!copy) return NULL;
    if (n) memcpy(copy, s, n); // s may be NULL when n is 0
    copy[n] = 0;
    return copy;
}

void mem_free(void *p) {
    if (!p) return;
    atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&n_heap_bytes, malloc_usable_size(p), memory_order_relaxed);
    free(p);
}

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void *map_zeroed(size_t n_bytes) {
    void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

// A mapping that begins at a multiple of HUGE_PAGE: one with room to spare, both ends given back.
static void *map_huge(size_t n_bytes) {
    size_t with_slack;
    if (!size_add(n_bytes, HUGE_PAGE, &with_slack)) return NULL;
    uint8_t *raw = map_zeroed(with_slack);
    if (!raw) return NULL;
    const size_t head = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE;
    uint8_t *p = raw + head;
    if (head) munmap(raw, head);
    munmap(p + n_bytes, HUGE_PAGE - head); // never empty: head < HUGE_PAGE
    madvise(p, n_bytes, MADV_HUGEPAGE);    // only advice: without huge pages the memory is as good, but slower
    return p;
}

void *mem_pages(size_t n_bytes) {
    size_t n;
    if (refused(n_bytes) || !size_round_up(n_bytes ? n_bytes : 1, page_bytes(), &n)) return NULL;
    return made(n >= HUGE_FROM ? map_huge(n) : map_zeroed(n));
}

void mem_pages_free(void *p, size_t n_bytes) {
    if (!p) return;
    atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
    munmap(p, round_up(n_bytes ? n_bytes : 1, page_bytes()));
}

void mem_fail_after(long n) {
    atomic_store_explicit(&fault_fired, false, memory_order_relaxed);
    atomic_store_explicit(&n_until_fault, n, memory_order_relaxed);
}
bool mem_fail_fired(void) { return atomic_load_explicit(&fault_fired, memory_order_relaxed); }
size_t mem_heap_bytes(void) { return atomic_load_explicit(&n_heap_bytes, memory_order_relaxed); }
long mem_live(void) { return atomic_load_explicit(&n_live, memory_order_relaxed); }
long mem_count(void) { return atomic_load_explicit(&n_made, memory_order_relaxed); }
