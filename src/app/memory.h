// app/memory.h - the program's own small allocations, and what happens when one fails.
//
// A command prints an error and ends with exit code 1. A server continues (memory_be_fallible()): these functions then return NULL,
// byte buffers accept no more (bytes.h), and the thread remembers the failure. Code that is about to send a result built on this
// thread checks memory_failed() first and sends an error instead, so code that only builds an answer need not check every call.
//
// Ownership: blocks are freed with free().
// Threads:   any; the failure flag is per thread.
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
void memory_give_back(
    void); // freed memory goes back to the system: after much was freed, since it takes milliseconds
void *memory_noted(void *p); // returns p; NULL is recorded as a failure (for allocations that a library made)

// Tests: the n-th allocation from now fails, of all threads together; 0: none. memory_fault_fired(): it has.
void memory_fail_after(long n);
bool memory_fault_fired(void);

#endif
