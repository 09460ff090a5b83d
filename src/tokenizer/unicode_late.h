// tokenizer/unicode_late.h - where the tokenizers library, whose ids are to be met, has tables of another Unicode version than utf8proc.
//
// Its normal forms and marks are those of Unicode 9, its lower case that of Unicode 17. Threads: constant data.
#ifndef RN_TOKENIZER_UNICODE_LATE_H
#define RN_TOKENIZER_UNICODE_LATE_H

#include <stdbool.h>
#include <stdint.h>

// Is it a character since Unicode 9 that normal forms change, or a mark? For the library it is neither.
bool unicode_is_late(uint32_t cp);
// The lower case of a capital letter that utf8proc may not know; else cp itself.
uint32_t unicode_late_lower(uint32_t cp);

#endif
