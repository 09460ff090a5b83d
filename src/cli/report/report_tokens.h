// cli/report/report_tokens.h - a text coloured by the probability of its tokens, with the alternatives of each.
//
// Threads: one at a time.
#ifndef RN_CLI_REPORT_TOKENS_H
#define RN_CLI_REPORT_TOKENS_H

#include "app/bytes.h"
#include <runnel/runnel.h>

typedef struct report_token {
    const char *text; // n_text bytes, of which 0: the token has no text of its own
    size_t n_text;
    int32_t id;
    double logprob, entropy; // nats; NaN: unknown
    const rn_top *top;
    int32_t n_top;
} report_token;

// A sign in front of a token.
typedef struct report_sign {
    size_t token; // n: behind the last
    const char *label, *title;
} report_sign;

// signs: in the order of their tokens.
void report_add_tokens(bytes *to, const rn_model *model, const report_token *tokens, size_t n,
                       const report_sign *signs, size_t n_signs);
// A token on one line, with what is not visible as signs.
void report_add_piece(bytes *to, const char *text, size_t n);
// What the colours mean.
void report_add_scale(bytes *to);

#endif
