// tests/sampling/mask_test.c - draws under a token mask have the distribution of "mask first, then the chain", by enumeration.
#include "base/mem.h"
#include "base/philox.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "sampling/token_mask.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { MAX_N = 200, WORDS = (MAX_N + 63) / 64, N_CTX = 32 };

static uint32_t counter;
static double uniform(void) { return philox_uniform(5, 0, counter++, PHILOX_TEST); }
static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }

static struct sampling_params plain(float temp) {
    struct sampling_params p;
    sampling_defaults(&p);
    p.temp = temp, p.top_k = 0, p.top_p = 1, p.min_p = 0, p.masked = true;
    return p;
}

static sampler *make(const struct sampling_params *p, const struct rowmath *rm, int32_t n_vocab) {
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampler_create(p, rm, n_vocab, N_CTX, &s, &err), &err);
    return s;
}

static const struct rowmath *ref(void) { return &kernel_set_get(CPU_REF)->row; }

// --- the definition ---

// What a sampler keeps of a row: tokens in order, with their exact weights.
struct law {
    size_t n;
    int32_t ids[MAX_N];
    uint64_t weights[MAX_N], total;
};

// Of an ordinary sampler, which sampling.full_sort_test compares with a plain sort of the row.
static bool law_of(sampler *s, const struct sampling_params *p, const float *row, int32_t n_vocab, struct law *out) {
    float probs[MAX_N], max = -INFINITY;
    rn_error err = {0};
    if (!CHECK_OK(sampler_distribution(s, row, out->ids, probs, MAX_N, &out->n, &err), &err)) return false;
    for (int32_t i = 0; i < n_vocab; i++) max = fmaxf(max, row[i]);
    out->total = 0;
    for (size_t i = 0; i < out->n; i++) {
        const float l = row[out->ids[i]] - max, t = p->temp > 0 ? l / p->temp : l;
        out->weights[i] = p->temp == 0 ? UINT64_C(1) << 38 : (uint64_t)llround((double)exp_f32(t) * 0x1p38);
        out->total += out->weights[i];
    }
    for (size_t i = 0; i < out->n; i++)
        if (!CHECK(probs[i] == (float)((double)out->weights[i] / (double)out->total))) return false;
    return true;
}

static uint64_t weight_in(const struct law *l, int32_t token) {
    for (size_t i = 0; i < l->n; i++)
        if (l->ids[i] == token) return l->weights[i];
    return 0;
}

static int32_t draw_by_law(const struct law *l, double u) {
    uint64_t target = (uint64_t)(u * (double)l->total), sum = 0;
    if (target >= l->total) target = l->total - 1;
    for (size_t i = 0; i + 1 < l->n; i++)
        if ((sum += l->weights[i]) > target) return l->ids[i];
    return l->ids[l->n - 1];
}

static int32_t argmax(const float *row, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

// How the table of sampling/sampler.h draws with these parameters, when the row and the mask let it.
enum how { MASK_FIRST, TEST_DRAWN, TEST_KEPT };
static enum how how_of(const struct sampling_params *p, int32_t n_vocab) {
    const bool top_k = p->temp > 0 && p->top_k > 0 && p->top_k < n_vocab, top_p = p->temp > 0 && p->top_p < 1;
    const bool min_p = p->temp > 0 && p->min_p > 0;
    const bool temp_first = p->order != SAMPLING_ORDER_LLAMA_CPP && p->temp != 1;
    if (top_p && !top_k) return MASK_FIRST;
    if (top_k || (min_p && p->min_keep > 1 && n_vocab > 1)) return temp_first ? MASK_FIRST : TEST_KEPT;
    return TEST_DRAWN;
}

struct subject {
    int32_t n;
    float row[MAX_N], masked_row[MAX_N];
    uint64_t mask[WORDS];
    struct law all, masked; // of the row, and of the row masked first
};

// By exact integers: the draw without the mask, and a second one from the masked row for the share that it gives forbidden tokens, have the law
// of the masked row.  w/W + (1 - A/W) * m/M == m/M, for A = sum of w over allowed tokens.
static bool two_draws_have_the_masked_law(const struct subject *s) {
    uint64_t allowed = 0;
    for (size_t i = 0; i < s->all.n; i++)
        if (token_mask_has(s->mask, s->all.ids[i])) allowed += s->all.weights[i];
    for (int32_t t = 0; t < s->n; t++) {
        const unsigned __int128 w = token_mask_has(s->mask, t) ? weight_in(&s->all, t) : 0;
        const unsigned __int128 m = weight_in(&s->masked, t), all = s->all.total, masked = s->masked.total;
        if (w * masked + (all - allowed) * m != m * all) return false;
    }
    return true;
}

// The token that sampler_draw_masked() has to give, by that table.
static int32_t expected(const struct subject *s, const struct sampling_params *p, uint32_t position, int *n_redrawn) {
    const double u = philox_uniform(p->seed, p->choice, position, PHILOX_SAMPLE);
    const enum how how = how_of(p, s->n);
    if (how != TEST_DRAWN || !token_mask_has(s->mask, argmax(s->row, s->n))) return draw_by_law(&s->masked, u);
    const int32_t drawn = draw_by_law(&s->all, u);
    if (token_mask_has(s->mask, drawn)) return drawn;
    ++*n_redrawn;
    return draw_by_law(&s->masked, philox_uniform(p->seed, p->choice, position, PHILOX_REDRAW));
}

// --- random rows, masks and parameters ---

// Sets of tokens: few, all, one word of the mask, half but the best, half, the better ones.
static bool is_in_mask(const struct subject *s, int kind, int32_t i, float floor) {
    switch (kind) {
    case 0: return uniform() < 0.1;
    case 1: return true;
    case 2: return i / 64 == 1;
    case 3: return below(2) && i != argmax(s->row, s->n);
    case 4: return below(2);
    default: return s->row[i] >= floor;
    }
}

static void random_subject(struct subject *s) {
    static const int32_t sizes[] = {1, 2, 3, 5, 8, 8, 8, 63, 64, 65, 130, MAX_N};
    const int kind = below(4), mask_kind = below(6);
    s->n = sizes[below(12)];
    for (int32_t i = 0; i < s->n; i++) {
        s->row[i] = kind == 0 ? (float)below(4) : kind == 1 ? 1000 * (float)uniform() : 8 * (float)uniform();
        if (kind == 3 && below(3) == 0) s->row[i] = -INFINITY;
    }
    s->row[below(s->n)] = 2;
    const float floor = s->row[below(s->n)];
    for (size_t i = 0; i < WORDS; i++) s->mask[i] = 0;
    for (int32_t i = 0; i < s->n; i++)
        if (is_in_mask(s, mask_kind, i, floor)) token_mask_add(s->mask, i);
    for (int32_t i = 0; i < s->n; i++) s->masked_row[i] = token_mask_has(s->mask, i) ? s->row[i] : -INFINITY;
    if (s->n % 64) s->mask[s->n / 64] |= ~UINT64_C(0) << s->n % 64; // bits of no token mean nothing
}

static void random_params(struct sampling_params *p, int32_t n) {
    static const float temps[] = {0, 0.5f, 1, 1, 3}, top_ps[] = {0.5f, 0.9f, 1, 1, 1}, min_ps[] = {0, 0, 0.01f, 0.3f};
    *p = plain(temps[below(5)]);
    p->top_p = top_ps[below(5)];
    p->min_p = min_ps[below(4)];
    p->top_k = below(2) ? 0 : 1 + below(n + 1);
    p->min_keep = below(3) ? 1 : 1 + below(4);
    p->order = (enum sampling_order)below(SAMPLING_N_ORDERS);
    p->seed = counter, p->choice = (uint32_t)below(3);
}

static struct {
    int n_mask_first, n_tested, n_redrawn, n_kept, n_made, n_not_made;
} met;

// A mask that is made when it is asked for.
struct rule_user {
    const uint64_t *mask;
    bool is_made;
};
static rn_status ask_token(void *user, int32_t token, bool *is_allowed, rn_error *err) {
    const struct rule_user *const u = user;
    (void)err;
    *is_allowed = token_mask_has(u->mask, token);
    CHECK(!u->is_made); // it would have said so
    return RN_OK;
}
static rn_status ask_mask(void *user, const uint64_t **mask, rn_error *err) {
    struct rule_user *const u = user;
    (void)err;
    CHECK(!u->is_made);
    u->is_made = true;
    *mask = u->mask;
    return RN_OK;
}

// The same token as with the mask, which is made where the token is not the first one drawn.
static bool check_ruled(sampler *s, const struct subject *w, const struct sampling_params *p, uint32_t position,
                        int32_t want) {
    struct rule_user user = {w->mask, false};
    const struct token_rule rule = {ask_token, ask_mask, &user};
    rn_error err = {0};
    int32_t token = -1;
    const int32_t free = draw_by_law(&w->all, philox_uniform(p->seed, p->choice, position, PHILOX_SAMPLE));
    const enum how how = how_of(p, w->n);
    bool ok = CHECK_OK(sampler_draw_ruled(s, w->row, position, &rule, &token, &err), &err) && CHECK_INT(token, want);
    if (how == MASK_FIRST) ok &= CHECK(user.is_made);
    if (how == TEST_DRAWN)
        ok &=
            CHECK_INT(user.is_made, !token_mask_has(w->mask, argmax(w->row, w->n)) || !token_mask_has(w->mask, free));
    if (user.is_made)
        met.n_made++;
    else
        met.n_not_made++;
    return ok;
}

static bool check_draws(sampler *s, const struct subject *w, const struct sampling_params *p) {
    bool ok = true;
    for (uint32_t position = 0; position < 12 && ok; position++) {
        rn_error err = {0};
        int32_t token = -1, unmasked = -1;
        ok = CHECK_OK(sampler_draw_masked(s, w->row, position, w->mask, &token, &err), &err) &&
             CHECK_INT(token, expected(w, p, position, &met.n_redrawn)) && CHECK(token_mask_has(w->mask, token)) &&
             check_ruled(s, w, p, position, token) &&
             CHECK_OK(sampler_draw_masked(s, w->row, position, NULL, &unmasked, &err), &err) &&
             CHECK_INT(unmasked, draw_by_law(&w->all, philox_uniform(p->seed, p->choice, position, PHILOX_SAMPLE)));
    }
    return ok;
}

static bool check_subject(struct subject *w, const struct sampling_params *p, const struct rowmath *rm) {
    struct sampling_params unmasked = *p;
    int32_t ids[MAX_N];
    float probs[MAX_N];
    size_t n = 0;
    rn_error err = {0};
    unmasked.masked = false;
    sampler *s = make(p, rm, w->n), *by_definition = make(&unmasked, rm, w->n);
    bool ok = s && by_definition && law_of(by_definition, p, w->row, w->n, &w->all) &&
              law_of(by_definition, p, w->masked_row, w->n, &w->masked) &&
              CHECK_OK(sampler_distribution_masked(s, w->row, w->mask, ids, probs, MAX_N, &n, &err), &err) &&
              CHECK_INT(n, w->masked.n) && CHECK_MEM(ids, w->masked.ids, n * sizeof *ids);
    for (size_t i = 0; ok && i < n; i++)
        ok = CHECK(probs[i] == (float)((double)w->masked.weights[i] / (double)w->masked.total));
    const enum how how = how_of(p, w->n);
    if (ok && how == TEST_DRAWN && token_mask_has(w->mask, argmax(w->row, w->n)) && p->temp > 0) {
        ok = CHECK(two_draws_have_the_masked_law(w));
        met.n_tested++;
    }
    met.n_mask_first += how == MASK_FIRST;
    met.n_kept += how == TEST_KEPT;
    ok = ok && check_draws(s, w, p);
    sampler_destroy(s);
    sampler_destroy(by_definition);
    return ok;
}

TEST(draws_under_a_mask_have_the_law_of_the_masked_chain_on_every_cpu_set) {
    const fp_mode mode = fp_mode_enter();
    bool ok = true;
    memset(&met, 0, sizeof met);
    for (int round = 0; round < 6000 && ok; round++) {
        static struct subject w;
        struct sampling_params p;
        random_subject(&w);
        random_params(&p, w.n);
        if (argmax(w.masked_row, w.n) == 0 && w.masked_row[0] == -INFINITY) continue; // refused: tested below
        for (enum cpu_set set = CPU_REF; set < CPU_N_SETS && ok; set++) {
            if (!cpu_set_available(set)) continue;
            check_note("round %d, %s, n %d, temp %g, top_k %d, top_p %g, min_p %g, min_keep %d, order %d", round,
                       cpu_set_name(set), w.n, (double)p.temp, p.top_k, (double)p.top_p, (double)p.min_p, p.min_keep,
                       (int)p.order);
            ok = check_subject(&w, &p, &kernel_set_get(set)->row);
        }
    }
    check_note("each way to draw was met");
    CHECK(met.n_mask_first > 500 && met.n_tested > 300 && met.n_redrawn > 500 && met.n_kept > 500);
    CHECK(met.n_made > 5000 && met.n_not_made > 5000);
    fp_mode_leave(mode);
}

// Counted over positions, that is over u of both purposes: Pearson's statistic against the masked distribution.
static double chi_square(const struct sampling_params *p, const float *row, const uint64_t *mask, int32_t n,
                         int n_draws, size_t *n_left) {
    int count[16] = {0};
    int32_t ids[16], token = -1;
    float probs[16];
    double sum = 0;
    rn_error err = {0};
    sampler *s = make(p, ref(), n);
    CHECK_OK(sampler_distribution_masked(s, row, mask, ids, probs, 16, n_left, &err), &err);
    for (int i = 0; i < n_draws; i++) {
        CHECK_OK(sampler_draw_masked(s, row, (uint32_t)i, mask, &token, &err), &err);
        count[token]++;
    }
    for (size_t i = 0; i < *n_left; i++) {
        const double want = (double)probs[i] * n_draws, off = count[ids[i]] - want;
        sum += off * off / want;
    }
    sampler_destroy(s);
    return sum;
}

TEST(masked_draws_are_as_frequent_as_their_probabilities) {
    const float row[] = {0.1f, 1.2f, -1, 2, 0.7f, 1.9f, -2, 0};
    static const struct {
        const char *why;
        float temp, top_p, min_p;
        int32_t top_k;
        uint64_t mask;
        size_t n_left;
        double bound; // chi-square with n_left - 1 degrees of freedom, exceeded once in a thousand
    } rows[] = {
        {"the best is allowed", 1, 1, 0, 0, 0x1a, 3, 13.82},
        {"the best is forbidden", 1, 1, 0, 0, 0x36, 4, 16.27},
        {"temperature", 2, 1, 0, 0, 0x1a, 3, 13.82},
        {"a share of the best", 1.5f, 1, 0.2f, 0, 0x0f, 2, 10.83},
        {"the best two", 1, 1, 0, 2, 0x1a, 2, 10.83},
        {"most of the mass", 0.8f, 0.9f, 0, 0, 0x1f, 4, 16.27},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct sampling_params p = plain(rows[i].temp);
            size_t n_left = 0;
            p.top_p = rows[i].top_p, p.min_p = rows[i].min_p, p.top_k = rows[i].top_k, p.seed = seed;
            check_note("%s, seed %d", rows[i].why, (int)seed);
            const double x = chi_square(&p, row, &rows[i].mask, 8, 20000, &n_left);
            CHECK_INT(n_left, rows[i].n_left);
            CHECK(x < rows[i].bound);
        }
}

// --- edits before the cuts ---

static bool favour(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    (void)tokens;
    (void)n_tokens;
    ++*(int *)user;
    for (int32_t i = 0; i < n_vocab; i += 3) logits[i] = 5; // also those that the mask forbids
    return true;
}

// Bias, penalties and a caller's stage, on a row that was masked beforehand: the same tokens, where the table says mask first.
TEST(stages_that_edit_the_row_see_it_masked) {
    const struct logit_bias bias[] = {{0, 3}, {1, -INFINITY}, {4, 2}, {5, -1}};
    for (int variant = 0; variant < 32; variant++) {
        struct sampling_params p = plain(variant & 1 ? 0.9f : 0);
        int n_calls = 0, n_by_definition = 0;
        p.bias = bias, p.n_bias = variant & 2 ? 4 : 0;
        p.repeat_penalty = variant & 4 ? 1.5f : 1;
        p.top_p = variant & 8 ? 0.8f : 1; // mask first
        if (variant & 16) p.stage = favour, p.stage_user = &n_calls;
        check_note("variant %d", variant);
        sampler *s = make(&p, ref(), 12);
        p.masked = false, p.stage_user = &n_by_definition;
        sampler *by_definition = make(&p, ref(), 12);
        const uint64_t mask = 0x696;
        float row[12], masked[12];
        for (int32_t position = 0; position < 30; position++) {
            int32_t token = -1, ids[12], want_ids[12];
            float probs[12], want_probs[12];
            size_t n = 0, n_want = 0;
            rn_error err = {0};
            for (int32_t i = 0; i < 12; i++) row[i] = 3 * (float)uniform();
            for (int32_t i = 0; i < 12; i++) masked[i] = mask >> i & 1 ? row[i] : -INFINITY;
            CHECK_OK(sampler_draw_masked(s, row, (uint32_t)position, &mask, &token, &err), &err);
            CHECK(token >= 0 && mask >> token & 1);
            if (variant & 16) {
                CHECK_INT(n_calls, 1); // once for a draw
                n_calls = 0;
            } else {
                CHECK_OK(sampler_distribution_masked(s, row, &mask, ids, probs, 12, &n, &err), &err);
                CHECK_OK(sampler_distribution(by_definition, masked, want_ids, want_probs, 12, &n_want, &err), &err);
                CHECK(n == n_want && memcmp(ids, want_ids, n * sizeof *ids) == 0 &&
                      memcmp(probs, want_probs, n * sizeof *probs) == 0);
                int32_t want = -1;
                CHECK_OK(sampler_draw(by_definition, masked, (uint32_t)position, &want, &err), &err);
                if (variant & 8 || p.temp == 0) CHECK_INT(token, want);
            }
            sampler_accept(s, token);
            sampler_accept(by_definition, token);
        }
        sampler_destroy(s);
        sampler_destroy(by_definition);
    }
}

// --- errors ---

TEST(a_mask_or_a_masked_row_that_leaves_nothing_is_an_error_by_name) {
    static const struct {
        const char *why;
        uint64_t mask;
        float row[4];
        rn_status code;
        const char *text;
    } rows[] = {
        {"an empty mask", 0, {1, 2, 3, 4}, RN_E_ARG, "position 7: token mask: none of 4 tokens is allowed"},
        {"bits of no token", 0xf0, {1, 2, 3, 4}, RN_E_ARG, "position 7: token mask: none of 4 tokens is allowed"},
        {"all that is allowed is -inf",
         3,
         {-INFINITY, -INFINITY, 3, 4},
         RN_E_FORMAT,
         "position 7: logits after the token mask: none of 4 tokens is left, all are -inf"},
        {"NaN at a forbidden token", 3, {1, 2, NAN, 4}, RN_E_FORMAT, "position 7: logits: token 2 is not a number"},
        {"+inf at a forbidden token", 3, {1, 2, 3, INFINITY}, RN_E_FORMAT, "position 7: logits: token 3 is +inf"},
        {"NaN at an allowed token", 3, {NAN, 2, 3, 4}, RN_E_FORMAT, "position 7: logits: token 0 is not a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int variant = 0; variant < 8; variant++) {
            struct sampling_params p = plain(variant & 1 ? 1.0f : 0);
            rn_error err = {0};
            int32_t token = -1;
            p.top_k = variant & 2 ? 2 : 0;
            p.top_p = variant & 4 ? 0.9f : 1;
            sampler *s = make(&p, ref(), 4);
            check_note("%s, variant %d", rows[i].why, variant);
            CHECK_FAILS(sampler_draw_masked(s, rows[i].row, 7, &rows[i].mask, &token, &err), rows[i].code, &err);
            CHECK_STR(err.text, rows[i].text);
            CHECK_INT(token, -1);
            CHECK_FAILS(sampler_draw_masked(s, rows[i].row, 7, &rows[i].mask, &token, NULL), rows[i].code, NULL);
            sampler_destroy(s);
        }
}

TEST(what_a_penalty_makes_of_a_forbidden_token_is_no_error) {
    struct sampling_params p = plain(1);
    const float row[] = {1e38f, 2, 1};
    const uint64_t mask = 6;
    rn_error err = {0};
    int32_t token = -1;
    p.repeat_penalty = 0.01f; // token 0 becomes +inf
    sampler *s = make(&p, ref(), 3);
    sampler_accept(s, 0);
    CHECK_OK(sampler_draw_masked(s, row, 0, &mask, &token, &err), &err);
    CHECK(token == 1 || token == 2);
    CHECK_FAILS(sampler_draw(s, row, 0, &token, &err), RN_E_FORMAT, &err);
    sampler_destroy(s);
}

TEST(a_sampler_made_without_masks_refuses_one) {
    struct sampling_params p = plain(1);
    const float row[] = {1, 2};
    const uint64_t mask = 1;
    rn_error err = {0};
    int32_t token = -1;
    p.masked = false;
    sampler *s = make(&p, ref(), 2);
    CHECK_FAILS(sampler_draw_masked(s, row, 3, &mask, &token, &err), RN_E_STATE, &err);
    CHECK_STR(err.text, "position 3: token mask: the sampler was created without one");
    const struct token_rule rule = {ask_token, ask_mask, &(struct rule_user){&mask, false}};
    CHECK_FAILS(sampler_draw_ruled(s, row, 3, &rule, &token, &err), RN_E_STATE, &err);
    CHECK_OK(sampler_draw_ruled(s, row, 3, NULL, &token, &err), &err);
    CHECK_OK(sampler_draw_masked(s, row, 3, NULL, &token, &err), &err);
    sampler_destroy(s);
}

static rn_status cannot_tell(void *user, int32_t token, bool *is_allowed, rn_error *err) {
    (void)user, (void)is_allowed;
    return fail(err, RN_E_LIMIT, "token %d takes too long", token);
}
static rn_status cannot_make(void *user, const uint64_t **mask, rn_error *err) {
    (void)user, (void)mask;
    return fail(err, RN_E_NOMEM, "no mask");
}

TEST(what_a_rule_cannot_tell_ends_the_draw) {
    const float row[] = {1, 2};
    for (int first = 0; first < 2; first++) {
        struct sampling_params p = plain(1);
        const struct token_rule rule = {cannot_tell, cannot_make, NULL};
        rn_error err = {0};
        int32_t token = -1;
        p.typical_p = first ? 0.5f : 1; // its list depends on the mask, which comes first
        sampler *s = make(&p, ref(), 2);
        CHECK_FAILS(sampler_draw_ruled(s, row, 3, &rule, &token, &err), first ? RN_E_NOMEM : RN_E_LIMIT, &err);
        CHECK_STR(err.text, first ? "position 3: no mask" : "position 3: token 1 takes too long");
        CHECK_INT(token, -1);
        sampler_destroy(s);
    }
}

TEST(masked_draws_allocate_nothing) {
    float row[100];
    uint64_t mask[2] = {0x5555555555555555, 0x123456789};
    for (int i = 0; i < 100; i++) row[i] = (float)((i * 29) % 100) / 20;
    for (int variant = 0; variant < 16; variant++) {
        struct sampling_params p = plain(0.8f);
        int32_t token = -1;
        p.top_k = variant & 1 ? 3 : 0, p.top_p = variant & 2 ? 0.9f : 1, p.min_p = variant & 4 ? 0.01f : 0;
        p.repeat_penalty = variant & 8 ? 1.1f : 1;
        sampler *s = make(&p, ref(), 100);
        const long before = mem_count();
        for (uint32_t i = 0; i < N_CTX; i++) {
            CHECK(sampler_draw_masked(s, row, i, mask, &token, NULL) == RN_OK);
            sampler_accept(s, token);
        }
        CHECK_INT(mem_count(), before);
        sampler_destroy(s);
    }
}
