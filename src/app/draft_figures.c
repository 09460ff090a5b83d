// app/draft_figures.c - see draft_figures.h.
#include "app/draft_figures.h"
#include <inttypes.h>
#include <stdio.h>

double draft_rows_per_token(const rn_usage *usage) {
    const int64_t n_wrong = usage->drafted_tokens + usage->lookahead_rows - usage->accepted_tokens;
    const int64_t n = usage->completion_tokens;
    return n > 0 ? (double)(n + n_wrong) / (double)n : 1;
}

const char *draft_words(const rn_usage *usage, char out[DRAFT_WORDS]) {
    size_t n = 0;
    out[0] = 0;
    if (usage->drafted_tokens == 0) return out;
    n += (size_t)snprintf(out, DRAFT_WORDS, "%" PRId64 " of %" PRId64 " guesses right, %.2f rows a token",
                          usage->accepted_tokens, usage->drafted_tokens, draft_rows_per_token(usage));
    if (usage->speed_up > 0) snprintf(out + n, DRAFT_WORDS - n, ", %.2f x as fast as without", usage->speed_up);
    return out;
}
