// decoding/draft/lookahead_drafter.c - see lookahead_drafter.h.
//
// A window of `width` columns holds tokens that are guessed to follow the text, `length` - 1 iterations of them: level 0 is a chain, each further level's
// token stands behind that of the same column in the level below, as in figure 2 of the paper. So the token of level k in column j is k + j + 1 places
// behind the text's last one. What the model says behind the highest level is the next iteration, and with the levels below it makes an n-gram
// for each column. N-grams that begin with the text's last token are the guesses. Then the lowest level goes.
#include "decoding/draft/lookahead_drafter.h"
#include "base/hash.h"
#include "base/mem.h"
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/guess_pool.h"
#include <assert.h>
#include <string.h>

enum {
    SETS = 256, // of the pool, by an n-gram's first token
    WAYS = 16,  // n-grams of a set, the latest first
    TRIAL = 4   // steps that a window is looked at, before it is judged, beside those that fill it
};

// Guesses are of classes by their depth and by how many n-grams that came later begin so, too; shares before any was seen.
enum { DEPTHS = 4, RANKS = 3, N_CLASSES = DEPTHS * RANKS };
static const float first_shares[N_CLASSES] = {0.3F, 0.15F, 0.08F, 0.5F, 0.4F,  0.35F,
                                              0.5F, 0.45F, 0.4F,  0.5F, 0.45F, 0.4F};
_Static_assert((int)N_CLASSES <= (int)DRAFT_CLASSES, "classes of all guesses");

// For each further token of an n-gram, so many right guesses are expected of a step before any was seen.
static const double first_more = 0.25;

struct ngram {
    bool is_there;
    int32_t tokens[LOOKAHEAD_LENGTH];
};

struct lookahead_drafter {
    drafter base;
    const int32_t *text; // lent
    const struct rowmath *rowmath;
    int32_t n_vocab;
    struct lookahead_sizes sizes;
    int32_t levels; // of the window that are filled, 0: none
    int32_t window[LOOKAHEAD_LENGTH - 1][LOOKAHEAD_WIDTH];
    int32_t said[LOOKAHEAD_WIDTH]; // behind the highest level, when it was evaluated last
    bool has_said;                 // and not used yet
    int32_t trial;                 // steps that the window is evaluated whether it pays or not
    int32_t n_seen;                // steps behind a whole window; the first ones fill the pool
    struct draft_pay pay;          // of guesses while there was a window
    struct ngram pool[SETS][WAYS];
};

// ---- the pool -------------------------------------------------------------------------------------------------------

static struct ngram *set_of(struct lookahead_drafter *d, int32_t token) {
    return d->pool[hash_u64((uint64_t)(uint32_t)token, 0) % SETS];
}

static void pool_add(struct lookahead_drafter *d, const int32_t *tokens) {
    struct ngram *const set = set_of(d, tokens[0]);
    const size_t n_bytes = (size_t)d->sizes.length * sizeof *tokens;
    int32_t at = 0; // the place that becomes free: its own, or the oldest
    while (at < WAYS - 1 && set[at].is_there && memcmp(set[at].tokens, tokens, n_bytes) != 0) at++;
    memmove(set + 1, set, (size_t)at * sizeof *set);
    set->is_there = true;
    memcpy(set->tokens, tokens, n_bytes);
}

// ---- the window -----------------------------------------------------------------------------------------------------

// What the model said becomes the highest level.
static void go_on(struct lookahead_drafter *d) {
    const int32_t most = d->sizes.length - 1, width = d->sizes.width;
    d->has_said = false;
    if (d->levels == most) {
        for (int32_t j = 0; j < width; j++) {
            int32_t tokens[LOOKAHEAD_LENGTH];
            for (int32_t k = 0; k < most; k++) tokens[k] = d->window[k][j];
            tokens[most] = d->said[j];
            pool_add(d, tokens);
        }
        memmove(d->window[0], d->window[1], (size_t)(most - 1) * sizeof d->window[0]);
        d->levels--;
    }
    memcpy(d->window[d->levels++], d->said, (size_t)width * sizeof *d->said);
}

// Tokens of the text, at places that look like chance.
static void begin_window(struct lookahead_drafter *d, int32_t n) {
    for (int32_t j = 0; j < d->sizes.width; j++)
        d->window[0][j] = d->text[hash_u64((uint64_t)n, (uint64_t)j) % (uint64_t)n];
    d->levels = 1;
}

static int32_t most_rows(const struct lookahead_drafter *d) { return d->sizes.width * (d->sizes.length - 1); }

static bool window_pays(struct lookahead_drafter *d, const struct draft_ask *ask) {
    const struct draft_step *const s = ask->step;
    const int32_t n_rows = most_rows(d), n_guesses = d->sizes.length - 1, steps = TRIAL + d->sizes.length;
    if (ask->least > 0) return true;
    if (s->ns[0] == 0 || s->most_ns[n_rows] - s->ns[0] > ask->lose_ns) return false;
    const double least = DRAFT_LEAST_GAIN * s->n_tokens / s->ns[0];
    if (d->trial > 0) return d->trial--, true;
    // A first trial ends as soon as it is seen to be too dear.
    if (!d->pay.is_known && (s->n_tokens + first_more * n_guesses) / s->ns[n_rows + n_guesses] > least) return true;
    for (int32_t i = 0; i < ask->most && n_rows + i < DRAFT_MOST; i++)
        if ((s->n_tokens + (double)d->pay.more[i]) / s->ns[n_rows + i + 1] > least) return true;
    if ((s->ns[n_rows] - s->ns[0]) * steps > ask->probe_ns) return false;
    d->trial = steps - 1;
    return true;
}

static void more_rows(drafter *base, int32_t n, const struct draft_ask *ask, struct draft_rows *out) {
    struct lookahead_drafter *d = (struct lookahead_drafter *)base;
    const int32_t width = d->sizes.width;
    out->n = 0;
    if (n == 0 || !window_pays(d, ask)) return;
    if (d->levels == 0) begin_window(d, n);
    for (int32_t k = 0; k < d->levels; k++)
        for (int32_t j = 0; j < width; j++) {
            const int32_t below = k > 0 ? out->n - width : j > 0 ? out->n - 1 : DRAFT_ROOT;
            out->tokens[out->n] = d->window[k][j], out->parents[out->n] = below;
            out->has_logits[out->n++] = k == d->levels - 1;
        }
}

static void read_more(drafter *base, const struct row_results *r, size_t first) {
    struct lookahead_drafter *d = (struct lookahead_drafter *)base;
    const size_t n_vocab = (size_t)d->n_vocab;
    first += (size_t)((d->levels - 1) * d->sizes.width);
    d->has_said = true;
    for (int32_t j = 0; j < d->sizes.width; j++) {
        const float *const row = results_logits(r, first + (size_t)j);
        const float best = d->rowmath->max(row, n_vocab);
        size_t token = 0;
        while (token < n_vocab && row[token] != best) token++;
        if (token == n_vocab) d->has_said = false; // not a number: nothing was said
        d->said[j] = (int32_t)token;
    }
}

// ---- guesses --------------------------------------------------------------------------------------------------------

static int32_t class_of(int32_t depth, int32_t rank) {
    return RANKS * (depth < DEPTHS ? depth : DEPTHS - 1) + (rank < RANKS ? rank : RANKS - 1);
}

// Adds an n-gram behind the text's last token, which it begins with.
static void add_ngram(const struct lookahead_drafter *d, const struct ngram *x, int32_t rank, struct guess_pool *p) {
    int32_t parent = DRAFT_ROOT;
    for (int32_t k = 1; k < d->sizes.length; k++) {
        const struct pool_node *found = NULL, *at = parent == DRAFT_ROOT ? NULL : guess_pool_find(p, parent);
        if (parent != DRAFT_ROOT && !at) return; // it fell out
        for (int32_t i = 0; i < p->n && !found; i++)
            if (p->nodes[i].parent == parent && p->nodes[i].token == x->tokens[k]) found = &p->nodes[i];
        const int32_t class = class_of(k - 1, rank), made = p->n_made;
        if (!found) guess_pool_add(p, at, x->tokens[k], class, draft_odds_of(&d->base.odds, class));
        parent = found ? found->id : made;
    }
}

static void draft(drafter *base, int32_t n, struct draft *out) {
    struct lookahead_drafter *d = (struct lookahead_drafter *)base;
    const bool had_window = d->has_said;
    struct guess_pool p;
    int32_t rank = 0;
    out->n = 0;
    if (n == 0) return;
    if (d->has_said) go_on(d);
    guess_pool_clear(&p);
    const int32_t last = d->text[n - 1];
    const struct ngram *const set = set_of(d, last);
    for (int32_t i = 0; i < WAYS && rank < d->sizes.candidates; i++)
        if (set[i].is_there && set[i].tokens[0] == last) add_ngram(d, &set[i], rank++, &p);
    guess_pool_draft(&p, out);
    // While the window fills there are none yet, which says nothing.
    if (had_window && d->levels == d->sizes.length - 1 && ++d->n_seen > TRIAL)
        draft_pay_learn(&d->pay, &base->odds, out);
}

static void cut(drafter *base, int32_t n) { (void)base, (void)n; } // guesses may come of what was taken back

static void destroy(drafter *base) { mem_free(base); }

static const struct drafter_ops ops = {
    .draft = draft, .cut = cut, .destroy = destroy, .more_rows = more_rows, .read_more = read_more};

rn_status lookahead_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    struct lookahead_drafter *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "lookahead: out of memory");
    d->base.ops = &ops;
    d->text = spec->text;
    d->rowmath = spec->rowmath;
    d->n_vocab = spec->n_vocab;
    d->sizes = spec->lookahead.width ? spec->lookahead : (struct lookahead_sizes){5, 3, 5};
    draft_odds_init(&d->base.odds, first_shares, N_CLASSES);
    *out = &d->base;
    return RN_OK;
}
