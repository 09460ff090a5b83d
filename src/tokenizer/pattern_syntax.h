// tokenizer/pattern_syntax.h - translates an expression from Oniguruma's syntax ("Ruby" flavour) to
// PCRE2's.
//
// Escapes with different meanings (\s, \w, \h, ...) are rewritten; constructs without an equivalent
// are refused. Parts of published expressions that would backtrack over long runs are replaced by
// equivalent ones that do not.
// Threads: pure function.
#ifndef RN_TOKENIZER_PATTERN_SYNTAX_H
#define RN_TOKENIZER_PATTERN_SYNTAX_H

#include "base/status.h"
#include "text/text_buf.h"
#include "tokenizer/text_steps.h"

// Appends to `out`; check out->failed afterwards. Errors: RN_E_UNSUPPORTED; the message names the
// byte offset and has no WHAT.
rn_status pattern_translate(struct vocab_str text, struct text_buf *out, rn_error *err);

#endif
