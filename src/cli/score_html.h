// cli/score_html.h - a scored text as a page: its tokens coloured by probability, their loss along the text, and the most surprising ones.
//
// Ownership: `struct score_page` is the caller's; score_page_reserve(), score_page_free(); {0} is empty.
// Threads:   one at a time.
#ifndef RN_CLI_SCORE_HTML_H
#define RN_CLI_SCORE_HTML_H

#include "app/bytes.h"
#include <runnel/runnel.h>

enum { SCORE_TOP = 5 };

typedef struct score_page {
    size_t n_ids;
    double *entropy; // [n_ids] of the distribution after each token, nats
    rn_top *top;     // [n_ids][SCORE_TOP]
    int32_t n_top;
} score_page;

void score_page_reserve(score_page *p, size_t n_ids);
// Keeps what the page shows of the distribution after token i.
void score_page_take(score_page *p, size_t i, const float *logits, int32_t n_vocab);
// title: any text. nll [n_ids - 1]: of the tokens from the second on.
void score_page_print(const score_page *p, const rn_model *model, const char *title, const int32_t *ids,
                      const double *nll, bytes *to);
void score_page_free(score_page *p);

#endif
