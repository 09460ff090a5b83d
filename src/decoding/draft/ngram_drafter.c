// decoding/draft/ngram_drafter.c - see ngram_drafter.h.
#include "decoding/draft/ngram_drafter.h"

rn_status ngram_drafter_init(struct ngram_drafter *d, const int32_t *tokens, int32_t n_most, rn_error *err) {
    *d = (struct ngram_drafter){.tokens = tokens};
    draft_odds_init(&d->odds);
    return ngram_index_init(&d->index, n_most, err);
}

void ngram_drafter_free(struct ngram_drafter *d) { ngram_index_free(&d->index); }

// The match grows with each guess that is right.
static int32_t class_of(const struct ngram_drafter *d, int32_t node) {
    return draft_class_of_match(d->match.n + node);
}

static void learn(struct ngram_drafter *d, int32_t n) {
    for (int32_t i = 0; i < d->guess.n && d->at + i < n; i++) {
        const bool was_right = d->guess.tokens[i] == d->tokens[d->at + i];
        draft_odds_learn(&d->odds, class_of(d, i), was_right);
        if (!was_right) break;
    }
    d->guess.n = 0;
}

// A copy may run over the end of the text: it goes on with what it has guessed.
static void guess(struct ngram_drafter *d, int32_t n) {
    d->at = n;
    d->match = ngram_index_find(&d->index, d->tokens);
    if (d->match.n == 0) return;
    for (int32_t i = 0; i < DRAFT_MOST; i++) {
        const int32_t from = d->match.at + i;
        d->guess.tokens[i] = from < n ? d->tokens[from] : d->guess.tokens[from - n];
        d->guess.parents[i] = i - 1;
    }
    d->guess.n = DRAFT_MOST;
}

void ngram_drafter_draft(struct ngram_drafter *d, int32_t n, int32_t least, int32_t most,
                         const struct draft_step *step, struct draft *out) {
    int32_t classes[DRAFT_MOST];
    learn(d, n);
    ngram_index_add(&d->index, d->tokens, n);
    guess(d, n);
    *out = d->guess;
    if (out->n > most) out->n = most;
    for (int32_t i = 0; i < out->n; i++) classes[i] = class_of(d, i);
    const int32_t length = draft_length(&d->odds, classes, out->n, step);
    if (least < out->n) out->n = length > least ? length : least;
}

void ngram_drafter_cut(struct ngram_drafter *d, int32_t n) {
    ngram_index_cut(&d->index, d->tokens, n);
    d->guess.n = 0;
}
