// app/memory.h - the program's own memory: small blocks, and what becomes of the program when there are none left.
//
// A command ends: it says so, with exit code 1. A server goes on (memory_be_fallible()): then these functions return NULL, `bytes` take no
// more (bytes.h), and the thread remembers it. Whoever is about to give away what was made on this thread asks memory_failed() first, and
// gives an error in its place; so code that only puts an answer together need not ask after every line.
//
// Ownership: blocks are freed with free().
// Threads:   any; what is remembered is each thread's own.
#ifndef RN_APP_MEMORY_H
#define RN_APP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *app_alloc(size_t n_bytes); // zeroed
void *app_realloc(void *p, size_t n_bytes);
char *app_copy_text(const char *text);
__attribute__((format(printf, 1, 2))) char *app_text(const char *fmt, ...);

void memory_be_fallible(void); // before there are threads
bool memory_failed(void);      // on this thread, since memory_forget()
void memory_forget(void);
void *memory_noted(void *p); // p; NULL is noted as a failure: of what libraries allocated

// Tests: the n-th allocation from now fails, of all threads together; 0: none. memory_fault_fired(): it has.
void memory_fail_after(long n);
bool memory_fault_fired(void);

#endif
