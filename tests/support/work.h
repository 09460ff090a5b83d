// tests/support/work.h - how much work code does, counted: a busy machine changes no count, as it changes every time.
//
// A test whose program is listed in tests/CMakeLists.txt (counted_tests) has some layers compiled with a call at the start of each
// basic block. One unit of work is one basic block, 16 bytes that memcpy() and its relatives go over, one byte that is
// formatted, one item of a pattern that PCRE2 tries, or one character that such an item goes over.
#ifndef TESTS_SUPPORT_WORK_H
#define TESTS_SUPPORT_WORK_H

#include <stdint.h>

// Units of work that this thread has done so far: the difference of two calls is what came between them.
uint64_t work_done(void);

#endif
