// app/memory.c - see memory.h. jansson allocates through these functions too.
#include "app/memory.h"
#include "app/say.h"
#include <jansson.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool is_fallible;
static _Thread_local bool has_failed;
static atomic_long n_until_fault;

void *memory_noted(void *p) {
    if (p) return p;
    if (!atomic_load_explicit(&is_fallible, memory_order_relaxed)) {
        say("out of memory");
        exit(EXIT_CODE_FAILED);
    }
    has_failed = true;
    return NULL;
}

bool memory_failed(void) { return has_failed; }
void memory_forget(void) { has_failed = false; }

void memory_give_back(void) { malloc_trim(0); }

static void *alloc_for_json(size_t n) { return app_realloc(NULL, n); }

// Before main(): what jansson has no memory for would else be called wrong JSON.
__attribute__((constructor)) static void serve_jansson(void) { json_set_alloc_funcs(alloc_for_json, free); }

void memory_be_fallible(void) { atomic_store(&is_fallible, true); }

// Fault injection: returns true for the n-th allocation that a test has chosen.
static bool is_refused(void) {
    long n = atomic_load_explicit(&n_until_fault, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak(&n_until_fault, &n, n - 1)) return n == 1;
    return false;
}
void memory_fail_after(long n) { atomic_store(&n_until_fault, n); }
bool memory_fault_fired(void) { return atomic_load(&n_until_fault) == 0; }

void *app_alloc(size_t n_bytes) { return memory_noted(is_refused() ? NULL : calloc(1, n_bytes ? n_bytes : 1)); }

void *app_realloc(void *p, size_t n_bytes) {
    return memory_noted(is_refused() ? NULL : realloc(p, n_bytes ? n_bytes : 1));
}

char *app_copy_text(const char *text) { return memory_noted(is_refused() ? NULL : strdup(text)); }

char *app_text(const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    const int n = is_refused() ? -1 : vasprintf(&text, fmt, args);
    va_end(args);
    return memory_noted(n < 0 ? NULL : text);
}
