// decoding/draft/medusa_drafter.c - see medusa_drafter.h.
//
// Head k guesses the token k + 2 behind the row whose hidden state it reads; the main model's own head has guessed the one between. Where several
// certain tokens follow that row, the first heads are left out. Heads know nothing of each other's guesses, so the candidates of a head are children of
// each of those of the head before it, and which of all these nodes are evaluated follows from how often such guesses were right.
#include "decoding/draft/medusa_drafter.h"
#include "base/mem.h"
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/draft_top.h"
#include "decoding/draft/draft_tree.h"
#include <string.h>

enum { MOST_HEADS = 8, NOWHERE = -1 };
_Static_assert(2 * DRAFT_TOP_CLASSES <= DRAFT_CLASSES, "classes of the first guess, and of later ones");

struct medusa_drafter {
    drafter base;
    const struct strategy_env *env;
    const struct rowmath *rowmath;
    const int32_t *text;
    int32_t first_slot, n_heads, n_embd;
    int32_t seqs[MOST_HEADS];
    float *hidden; // [n_embd] after the row at position `at`
    int32_t at;    // NOWHERE: it is not known
    struct lm_input input;
    int32_t first, next; // heads of this draft, and the next one to be evaluated
    struct draft_top tops[MOST_HEADS];
    int32_t *scratch;
    struct draft_pay pay;
};

static rn_status begin(drafter *base, const struct strategy_env *env, rn_error *err) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    rn_status st = RN_OK;
    size_t n_scratch = 0;
    d->env = env;
    d->n_embd = env->slots[0].n_embd;
    for (int32_t i = 0; i < d->n_heads && st == RN_OK; i++) {
        const struct strategy_slot *const slot = &env->slots[d->first_slot + i];
        const size_t n = draft_top_scratch(slot->n_vocab);
        n_scratch = n > n_scratch ? n : n_scratch;
        st = env->ops->seq_open(env->user, d->first_slot + i, NULL, 0, &d->seqs[i], err);
    }
    if (st != RN_OK) return st;
    d->hidden = mem_alloc((size_t)d->n_embd * sizeof *d->hidden);
    d->scratch = mem_alloc(n_scratch * sizeof *d->scratch);
    return d->hidden && d->scratch ? RN_OK
                                   : fail(err, RN_E_NOMEM, "medusa: out of memory for %zu numbers", n_scratch);
}

static void observe(drafter *base, const struct certain_rows *rows) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    if (rows->n == 0) return;
    const int32_t last = rows->n - 1;
    const size_t row = rows->results->first + (size_t)(rows->rows ? rows->rows[last] : last);
    const float *const hidden = lm_hidden(rows->results->model, row);
    d->at = hidden ? rows->at + last : NOWHERE;
    if (hidden) memcpy(d->hidden, hidden, (size_t)d->n_embd * sizeof *hidden);
}

static rn_status plan(drafter *base, int32_t n, const struct draft_ask *ask, bool *pays, rn_error *err) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    double cost_ns = 0;
    (void)err;
    *pays = false;
    if (d->at == NOWHERE) return RN_OK;
    d->first = n - 2 - d->at;
    if (d->first < 0 || d->first >= d->n_heads) return RN_OK;
    for (int32_t i = d->first; i < d->n_heads; i++)
        cost_ns += draft_share_ns(&d->env->slots[d->first_slot + i], 1, ask->step->n_streams);
    *pays = draft_pays(&d->pay, cost_ns, ask);
    d->next = d->first;
    base->slot = d->first_slot + d->next;
    return RN_OK;
}

static bool wants_rows(const drafter *base) {
    const struct medusa_drafter *d = (const struct medusa_drafter *)base;
    return d->next < d->n_heads;
}

static rn_status propose(drafter *base, struct row_list *rows, rn_error *err) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    (void)err;
    d->input = (struct lm_input){.vector = d->hidden, .see_to = -1};
    rows->rows[0] = (struct lm_row){.seq = d->seqs[d->next],
                                    .token = d->text[d->at],
                                    .parent = LM_ROOT,
                                    .want = LM_WANT_LOGITS | LM_OPTIONAL,
                                    .input = &d->input};
    rows->n = 1;
    return RN_OK;
}

static void read_rows(drafter *base, const struct row_results *r) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    struct draft_top *const top = &d->tops[d->next];
    top->n = 0;
    if (results_dropped(r, 0)) return;
    draft_top_of(d->rowmath, results_logits(r, 0), r->model->n_vocab, NULL, DRAFT_TOP_MOST, d->scratch, top);
}

static rn_status absorb(drafter *base, const struct row_results *r, rn_error *err) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    (void)r;
    const rn_status st = d->env->ops->seq_keep(d->env->user, d->seqs[d->next], NULL, 0, err);
    d->next++;
    base->slot = d->first_slot + d->next;
    return st;
}

// Each head's candidates, with the shares of such guesses, which fall with the rank as the probabilities do.
static void fill_level(const struct medusa_drafter *d, int32_t head, struct draft_level *l) {
    const struct draft_top *const top = &d->tops[head];
    const int32_t classes_from = head == d->first ? 0 : DRAFT_TOP_CLASSES;
    l->n = top->n;
    for (int32_t i = 0; i < top->n; i++) {
        l->tokens[i] = top->tokens[i];
        l->classes[i] = classes_from + draft_class_of_prob(top->probs[i]);
        l->shares[i] = draft_odds_of(&d->base.odds, l->classes[i]);
        if (i > 0 && l->shares[i] > l->shares[i - 1]) l->shares[i] = l->shares[i - 1];
    }
}

static void draft(drafter *base, int32_t n, struct draft *out) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    struct draft_level levels[MOST_HEADS];
    int32_t n_levels = 0;
    (void)n;
    for (int32_t i = d->first; i < d->next; i++) fill_level(d, i, &levels[n_levels++]);
    draft_tree_build(levels, n_levels, DRAFT_MOST, out);
    draft_pay_learn(&d->pay, &base->odds, out);
}

static void cut(drafter *base, int32_t n) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    if (d->at >= n) d->at = NOWHERE;
}

static void destroy(drafter *base) {
    struct medusa_drafter *d = (struct medusa_drafter *)base;
    mem_free(d->hidden);
    mem_free(d->scratch);
    mem_free(d);
}

static const struct drafter_ops ops = {.begin = begin,
                                       .draft = draft,
                                       .cut = cut,
                                       .destroy = destroy,
                                       .plan = plan,
                                       .wants_rows = wants_rows,
                                       .propose = propose,
                                       .read = read_rows,
                                       .absorb = absorb,
                                       .observe = observe};

rn_status medusa_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    struct medusa_drafter *d = mem_calloc(1, sizeof *d);
    float shares[2 * DRAFT_TOP_CLASSES];
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "medusa: out of memory");
    *d = (struct medusa_drafter){.base = {.ops = &ops, .slot = spec->slot, .wants = LM_WANT_HIDDEN},
                                 .rowmath = spec->rowmath,
                                 .text = spec->text,
                                 .first_slot = spec->slot,
                                 .n_heads = spec->n_slots < MOST_HEADS ? spec->n_slots : MOST_HEADS,
                                 .at = NOWHERE};
    d->base.n_seqs = d->n_heads;
    memcpy(shares, draft_prob_shares, sizeof draft_prob_shares);
    memcpy(shares + DRAFT_TOP_CLASSES, draft_prob_shares, sizeof draft_prob_shares);
    draft_odds_init(&d->base.odds, shares, 2 * DRAFT_TOP_CLASSES);
    *out = &d->base;
    return RN_OK;
}
