// tokenizer/pattern_syntax.h - says an expression of Oniguruma's syntax (RE, "Ruby" flavour) in PCRE2's.
//
// Where the two mean different things by the same letters, the text is changed (\s, \w, \h, ...); what cannot be said is refused.
// Parts of published expressions whose matching would go back over a long run are replaced by equal ones that do not.
// Threads: pure function.
#ifndef RN_TOKENIZER_PATTERN_SYNTAX_H
#define RN_TOKENIZER_PATTERN_SYNTAX_H

#include "base/status.h"
#include "text/text_buf.h"
#include "tokenizer/text_steps.h"

// Appends to `out`, which tells when memory ran out. Errors: RN_E_UNSUPPORTED, `WHY` with the byte.
rn_status pattern_translate(struct vocab_str text, struct text_buf *out, rn_error *err);

#endif
