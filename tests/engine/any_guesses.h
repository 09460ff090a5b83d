// tests/engine/any_guesses.h - a drafter of any kind: what it guesses is a function of the true continuation, which a run without drafts gave, and of
// the dice.
#ifndef RN_TESTS_ENGINE_ANY_GUESSES_H
#define RN_TESTS_ENGINE_ANY_GUESSES_H

#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/drafts.h"
#include "decoding/strategies.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "fixture.h"

// TWO_LETTERS: a and b behind each node. DRAWN, and with putting back DRAWN_AGAIN: two letters behind each node by weights of their own.
enum guesses { RIGHT, WRONG, ANY_TREE, HIDDEN, END_TOKENS, NO_TOKENS, TWO_LETTERS, DRAWN, DRAWN_AGAIN, N_GUESSES };

static struct adversary {
    enum guesses guesses;
    int32_t n_vocab, end_token;
    int32_t truth[256], n_prompt, n_truth; // n_prompt: of the stream that is running
    uint64_t seed;
    uint32_t n_drawn;
    bool asked[512];                         // for what follows so many tokens
    struct draft_source sources[DRAFT_MOST]; // of the children of each node; the first one of the root's
} foe;

static inline int32_t foe_below(int32_t n) {
    return (int32_t)(philox_uniform(foe.seed, 0, foe.n_drawn++, PHILOX_TEST) * n);
}

static inline int32_t true_token(int32_t at) {
    return at - foe.n_prompt < foe.n_truth ? foe.truth[at - foe.n_prompt] : 0;
}

enum { N_SOURCE = 6, N_LEVELS = 3, N_EACH = 2 };

// What the guesses behind a token are drawn from, which does not depend on what is drawn.
static inline void make_source(struct draft_source *q, int32_t behind, int32_t depth) {
    *q = (struct draft_source){.n = N_SOURCE, .is_put_back = foe.guesses == DRAWN_AGAIN};
    for (int32_t i = 0; i < N_SOURCE; i++) {
        q->ids[i] = 'a' + i;
        q->weights[i] = philox_uniform(99, (uint32_t)behind, (uint32_t)(depth * N_SOURCE + i), PHILOX_TEST);
    }
}

// A token of the source; without putting back none that was drawn before.
static inline int32_t draw_guess(struct draft_source *left) {
    double sum = 0, at;
    int32_t i = 0;
    for (int32_t k = 0; k < left->n; k++) sum += left->weights[k];
    at = philox_uniform(foe.seed, 1, foe.n_drawn++, PHILOX_TEST) * sum;
    while (i < left->n - 1 && (at -= left->weights[i]) >= 0) i++;
    if (!left->is_put_back) left->weights[i] = 0;
    return left->ids[i];
}

// A tree with two children of each node. Where they are drawn, one that is drawn twice is there twice.
static inline void guess_tree(struct draft *out) {
    int32_t from = DRAFT_ROOT, to = DRAFT_ROOT + 1, n_sources = 0; // nodes of the level before
    out->n = 0;
    for (int32_t level = 0; level < N_LEVELS; level++) {
        for (int32_t node = from; node < to; node++) {
            struct draft_source *const q = &foe.sources[n_sources++], left;
            make_source(q, node == DRAFT_ROOT ? 0 : out->tokens[node], level);
            left = *q;
            for (int32_t k = 0; k < N_EACH; k++) {
                draft_add(out, foe.guesses == TWO_LETTERS ? 'a' + k : draw_guess(&left), node, 0);
                if (foe.guesses != TWO_LETTERS) out->sources[out->n - 1] = q;
            }
        }
        from = to, to = out->n;
    }
}

static inline void guess_any(drafter *d, int32_t n, struct draft *out) {
    if (n < (int32_t)(sizeof foe.asked / sizeof *foe.asked)) foe.asked[n] = true;
    if (foe.guesses >= TWO_LETTERS) {
        guess_tree(out);
        return;
    }
    const int32_t n_nodes = foe_below(DRAFT_MOST + 1);
    (void)d;
    out->n = 0;
    while (out->n < n_nodes) {
        const int32_t i = out->n, right = true_token(n + i), class = foe_below(DRAFT_CLASSES);
        // On the right path the nodes with even numbers, those behind them wrong ones.
        const int32_t depth = i / 2, hidden = i % 2 ? 1 + foe_below(foe.n_vocab - 1) : true_token(n + depth);
        switch (foe.guesses) {
        case RIGHT: draft_add(out, right, i - 1, class); break;
        case WRONG: draft_add(out, (right + 1) % foe.n_vocab, i - 1, class); break;
        case ANY_TREE: draft_add(out, foe_below(foe.n_vocab), foe_below(i + 1) - 1, class); break;
        case HIDDEN: draft_add(out, hidden, i < 2 ? DRAFT_ROOT : 2 * depth - 2, class); break;
        case END_TOKENS: draft_add(out, foe.end_token, i - 1, class); break;
        default: draft_add(out, i % 3 ? foe.n_vocab + foe_below(1000) : -1 - i, i - 1, class);
        }
    }
}

static inline void forget(drafter *d, int32_t n) { (void)d, (void)n; }
static inline void destroy_foe(drafter *d) { mem_free(d); }
static inline rn_status create_foe(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    static const struct drafter_ops ops = {.draft = guess_any, .cut = forget, .destroy = destroy_foe};
    static const float share = 0.5F;
    *out = mem_calloc(1, sizeof **out);
    if (!*out) return fail(err, RN_E_NOMEM, "foe: out of memory");
    (*out)->ops = &ops;
    foe.n_prompt = spec->n_prompt;
    draft_odds_init(&(*out)->odds, &share, 1);
    draft_odds_init(&(*out)->depths, &share, 1);
    return RN_OK;
}

static inline rn_status create_with_foe(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    static const struct drafter_kind kind = {"foe", .create = create_foe};
    const struct drafter_choice choice = {&kind, 0};
    struct strategy_spec own = *spec;
    own.drafters = &choice, own.n_drafters = 1;
    return sample_strategy_create(&own, out, err);
}

// As rn_stream_begin(); NULL: a failed check.
static inline rn_stream *begin_with_foe(rn_engine *e, const rn_request *r) {
    static const struct strategy_kind kind = {"sample", create_with_foe};
    struct own_request own;
    rn_error err = {0};
    rn_stream *s = NULL;
    if (!CHECK_OK(own_request_read(r, &own, &err), &err)) return NULL;
    if (!CHECK_OK(stream_create(e, &own.r, &kind, NULL, &s, &err), &err)) return NULL;
    if (CHECK_OK(stream_submit(s, &err), &err)) return s;
    rn_stream_close(s);
    return NULL;
}

// As run_request().
static inline bool run_with_foe(rn_engine *e, const rn_request *r, struct outcome *o) {
    rn_stream *const s = begin_with_foe(e, r);
    *o = (struct outcome){0};
    const bool ok = s && drain(s, o);
    rn_stream_close(s);
    return ok;
}

// The tokens that come without guesses.
static inline void foe_knows(const struct outcome *plain, enum guesses guesses, uint64_t seed) {
    foe.guesses = guesses, foe.seed = seed, foe.n_drawn = 0;
    memset(foe.asked, 0, sizeof foe.asked);
    foe.n_truth = plain->n_tokens < 256 ? (int32_t)plain->n_tokens : 256;
    memcpy(foe.truth, plain->tokens, (size_t)foe.n_truth * sizeof *foe.truth);
}

#endif
