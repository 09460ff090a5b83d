// decoding/draft/ngram_drafter.c - see ngram_drafter.h.
#include "decoding/draft/ngram_drafter.h"
#include "base/mem.h"
#include "decoding/draft/ngram_index.h"

struct ngram_drafter {
    drafter base;
    struct ngram_index index;
    const int32_t *text; // lent: the prediction, if there is one, prompt and answer
    int32_t n_before;    // tokens of the prediction
    int32_t least;       // guesses, however unlikely they are
};

// A copy may run over the end of the text: it goes on with what it has guessed. It ends with a prediction's end. The match grows with each guess
// that is right.
static void draft(drafter *base, int32_t n, struct draft *out) {
    struct ngram_drafter *d = (struct ngram_drafter *)base;
    n += d->n_before;
    ngram_index_add(&d->index, d->text, n);
    const struct ngram_match match = ngram_index_find(&d->index, d->text);
    double reach = 1;
    out->n = 0;
    while (match.n > 0 && out->n < DRAFT_MOST && (reach >= DRAFT_LEAST_REACH || out->n < d->least)) {
        const int32_t i = out->n, from = match.at + i, token = from < n ? d->text[from] : out->tokens[from - n];
        const int32_t class = draft_class_of_match(match.n + i);
        if (token < 0) break;
        draft_add(out, token, i - 1, class);
        out->predicted[i] = from < d->n_before;
        reach *= (double)draft_odds_of(&base->odds, class);
    }
}

static void cut(drafter *base, int32_t n) {
    struct ngram_drafter *d = (struct ngram_drafter *)base;
    ngram_index_cut(&d->index, d->text, d->n_before + n);
}

static void destroy(drafter *base) {
    struct ngram_drafter *d = (struct ngram_drafter *)base;
    ngram_index_free(&d->index);
    mem_free(d);
}

static const struct drafter_ops ops = {.draft = draft, .cut = cut, .destroy = destroy};

rn_status ngram_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    struct ngram_drafter *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "ngram: out of memory");
    d->base.ops = &ops;
    d->text = spec->text - spec->n_before;
    d->n_before = spec->n_before;
    d->least = spec->least;
    draft_odds_init_matches(&d->base.odds);
    const rn_status st = ngram_index_init(&d->index, spec->n_before + spec->n_text_most, err);
    if (st == RN_OK)
        *out = &d->base;
    else
        mem_free(d);
    return st;
}
