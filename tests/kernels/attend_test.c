// tests/kernels/attend_test.c - attention in blocks and splits against softmax in double, and what one query may not do to others.
#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { HEAD_DIM = 24, V_DIM = 12, N_BLOCK = 5, N_KEYS = N_BLOCK * KV_BLOCK, MOST_Q = 6 };
static const float scale = 0.2f;
static float keys[N_BLOCK][HEAD_DIM * KV_BLOCK], values[N_BLOCK][KV_BLOCK * V_DIM], q[MOST_Q * HEAD_DIM];

struct state {
    float m[MOST_Q], l[MOST_Q], o[MOST_Q * V_DIM];
};

// What is done to scores; a sink is a key with the value 0. Positions count back from the last key.
struct bend {
    const char *why;
    float softcap, slope[MOST_Q];
    bool has_sink;
    float sink;
};
static const struct bend straight = {.why = "scores as they are"};
static bool has_slopes(const struct bend *b) { return b->slope[0] != 0; }

static float noise(uint64_t i, uint64_t seed) { return (float)(hash_u64(i, seed) >> 40) * 0x1p-21f - 4; }

static void fill(void) {
    for (size_t b = 0; b < N_BLOCK; b++)
        for (size_t i = 0; i < KV_BLOCK * HEAD_DIM; i++) keys[b][i] = noise(i, 10 + b);
    for (size_t b = 0; b < N_BLOCK; b++)
        for (size_t i = 0; i < KV_BLOCK * V_DIM; i++) values[b][i] = noise(i, 20 + b);
    for (size_t i = 0; i < MOST_Q * HEAD_DIM; i++) q[i] = noise(i, 30);
}

static void start(struct state *s) {
    memset(s, 0, sizeof *s);
    for (int i = 0; i < MOST_Q; i++) s->m[i] = -INFINITY;
}

// The block of floats as the codec F32 has it.
static void attend_one(const struct kernel_set *set, const struct bend *bend, size_t b, size_t n_q, const uint8_t *lo,
                       const uint8_t *hi, struct state *s) {
    int32_t offset[MOST_Q];
    for (size_t i = 0; i < n_q; i++) offset[i] = (int32_t)(b * KV_BLOCK) - (N_KEYS - 1);
    _Alignas(64) static uint8_t scratch[1 << 16];
    CHECK(attend_scratch(HEAD_DIM) <= sizeof scratch);
    set->kv[KV_F32].attend(&(struct attend_block){.keys = keys[b],
                                                  .values = values[b],
                                                  .next_keys = keys[b],
                                                  .next_values = values[b],
                                                  .head_dim = HEAD_DIM,
                                                  .v_dim = V_DIM,
                                                  .q = q,
                                                  .q_stride = HEAD_DIM * sizeof *q,
                                                  .n_q = n_q,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .scale = scale,
                                                  .softcap = bend->softcap,
                                                  .slope = has_slopes(bend) ? bend->slope : NULL,
                                                  .offset = has_slopes(bend) ? offset : NULL,
                                                  .m = s->m,
                                                  .l = s->l,
                                                  .o = s->o,
                                                  .scratch = scratch});
}

// Keys [begin, end) of the sequence for n_q queries.
static void attend(const struct kernel_set *set, const struct bend *bend, size_t n_q, size_t begin, size_t end,
                   struct state *s) {
    for (size_t b = begin / KV_BLOCK; b * KV_BLOCK < end; b++) {
        uint8_t lo[MOST_Q], hi[MOST_Q];
        memset(lo, begin > b * KV_BLOCK ? (int)(begin - b * KV_BLOCK) : 0, n_q);
        memset(hi, end < (b + 1) * KV_BLOCK ? (int)(end - b * KV_BLOCK) : KV_BLOCK, n_q);
        attend_one(set, bend, b, n_q, lo, hi, s);
    }
}

// Softmax over keys [begin, end) in double for query i; *bound: how far channel d of the float result may be from it.
//
// A score errs by e = gamma_(HEAD_DIM + 1) * scale * sum |q k|, which changes its weight by a factor within 1 +- 1.01 e; the
// rounding of s - m by another 40 u (beyond 40 a weight is below 1e-17), exp by 2 u. A softcap has a slope of at most 1 and errs by
// the roundings of a division, tanh and a product, a sloped score by one of its own: 8 u of both parts. Beside a sink all weights may be
// small: then s - m errs by up to 88 u, and what is smaller still is 0. Both sums, of weights and of weighted
// values, err so, and by gamma of their roundings: one for each key, some for each block.
static double exact_attention(const struct bend *bend, size_t i, size_t begin, size_t end, size_t d, double *bound) {
    const double u = 0x1p-24;
    double m = -INFINITY, s[N_KEYS], e = 0, sum = 0, weighted = 0, magnitude = 0, lost = 0;
    for (size_t j = begin; j < end; j++) {
        double dot = 0, terms = 0;
        for (size_t c = 0; c < HEAD_DIM; c++) {
            const double term = (double)q[i * HEAD_DIM + c] * (double)keys[j / KV_BLOCK][c * KV_BLOCK + j % KV_BLOCK];
            dot += term;
            terms += fabs(term);
        }
        s[j] = (double)scale * dot;
        const double cap = (double)bend->softcap, shift = (double)bend->slope[i] * ((double)j - (N_KEYS - 1));
        if (cap != 0) s[j] = cap * tanh(s[j] / cap);
        double bent = 0;
        if (cap != 0 || has_slopes(bend)) bent = 8 * u * (fabs(s[j]) + fabs(shift));
        s[j] += shift;
        m = fmax(m, s[j]);
        e = fmax(e, (HEAD_DIM + 1) * u * (double)scale * terms + bent);
    }
    if (bend->has_sink) m = fmax(m, (double)bend->sink), sum = exp((double)bend->sink - m);
    for (size_t j = begin; j < end; j++) {
        const double p = exp(s[j] - m), v = (double)values[j / KV_BLOCK][j % KV_BLOCK * V_DIM + d];
        sum += p;
        weighted += p * v;
        magnitude += p * fabs(v);
        lost += 0x1p-126 * fabs(v);
    }
    const double roundings = (N_KEYS + 4 * N_BLOCK + 8) * u;
    *bound = (2.02 * (e + (bend->has_sink ? 90 : 42) * u + roundings) * magnitude + lost) / sum;
    return weighted / sum;
}

static void check_finished(const struct kernel_set *set, const struct bend *bend, const struct state *s, size_t n_q,
                           size_t begin, size_t end) {
    for (size_t i = 0; i < n_q; i++) {
        float out[V_DIM];
        set->attend_finish(s->o + i * V_DIM, s->l[i], V_DIM, out);
        for (size_t d = 0; d < V_DIM; d++) {
            double bound;
            const double exact = exact_attention(bend, i, begin, end, d, &bound);
            check_note("%s, set %s keys %zu..%zu query %zu channel %zu: %g, exact %g, bound %g", bend->why, set->name,
                       begin, end, i, d, (double)out[d], exact, bound);
            if (!CHECK(fabs((double)out[d] - exact) <= bound)) return;
        }
    }
}

static const struct kernel_set *sets[CPU_N_SETS];
static size_t available_sets(void) {
    size_t n = 0;
    for (enum cpu_set s = 0; s < CPU_N_SETS; s++)
        if (cpu_set_available(s)) sets[n++] = kernel_set_get(s);
    return n;
}

TEST(attention_over_blocks_is_softmax_over_all_keys_within_the_derived_bound) {
    static const size_t ranges[][2] = {{0, N_KEYS}, {0, 1}, {63, 64}, {63, 65}, {5, 130}, {200, 201}, {0, 64}};
    const fp_mode mode = fp_mode_enter();
    fill();
    for (size_t k = 0, n = available_sets(); k < n; k++)
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            struct state s;
            start(&s);
            attend(sets[k], &straight, MOST_Q, ranges[i][0], ranges[i][1], &s);
            check_finished(sets[k], &straight, &s, MOST_Q, ranges[i][0], ranges[i][1]);
        }
    fp_mode_leave(mode);
}

TEST(softcaps_slopes_and_sinks_are_softmax_over_bent_scores_within_the_derived_bound) {
    static const struct bend bends[] = {
        {.why = "a softcap near the scores", .softcap = 5},
        {.why = "a softcap far above them", .softcap = 1000},
        {.why = "slopes", .slope = {0.5f, 0.25f, 0.0625f, 0.00390625f, -0.1f, 1e-9f}},
        {.why = "both", .softcap = 5, .slope = {0.5f, 0.25f, 0.0625f, 0.00390625f, -0.1f, 1e-9f}},
        {.why = "a sink below all scores", .has_sink = true, .sink = -90},
        {.why = "a sink among them", .has_sink = true, .sink = 1},
        {.why = "a sink above all", .has_sink = true, .sink = 60},
        {.why = "all of it",
         .softcap = 5,
         .slope = {0.5f, 0.25f, 0.0625f, 0.01f, 0.1f, 1},
         .has_sink = true,
         .sink = 2},
    };
    static const size_t windows[][2] = {{0, N_KEYS}, {N_KEYS - 100, N_KEYS}, {70, 71}};
    const fp_mode mode = fp_mode_enter();
    fill();
    for (size_t k = 0, n = available_sets(); k < n; k++)
        for (size_t i = 0; i < sizeof bends / sizeof *bends; i++)
            for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
                static const float zeros[V_DIM];
                struct state s;
                start(&s);
                attend(sets[k], &bends[i], MOST_Q, windows[w][0], windows[w][1], &s);
                for (size_t r = 0; r < MOST_Q && bends[i].has_sink; r++)
                    sets[k]->attend_merge(&s.m[r], &s.l[r], s.o + r * V_DIM, bends[i].sink, 1, zeros, V_DIM);
                check_finished(sets[k], &bends[i], &s, MOST_Q, windows[w][0], windows[w][1]);
            }
    fp_mode_leave(mode);
}

TEST(a_sink_alone_gives_zeros_and_a_sink_of_minus_infinity_is_none) {
    const fp_mode mode = fp_mode_enter();
    fill();
    for (size_t k = 0, n = available_sets(); k < n; k++) {
        static const float zeros[V_DIM];
        struct state s, same;
        float out[V_DIM];
        start(&s);
        sets[k]->attend_merge(&s.m[0], &s.l[0], s.o, -3, 1, zeros, V_DIM);
        sets[k]->attend_finish(s.o, s.l[0], V_DIM, out);
        CHECK_MEM(out, zeros, sizeof out);
        start(&s);
        attend(sets[k], &straight, 1, 0, N_KEYS, &s);
        same = s;
        sets[k]->attend_merge(&s.m[0], &s.l[0], s.o, -INFINITY, 1, zeros, V_DIM);
        CHECK_MEM(&s, &same, sizeof s);
    }
    fp_mode_leave(mode);
}

TEST(splits_merge_to_softmax_over_all_keys_within_the_derived_bound) {
    const fp_mode mode = fp_mode_enter();
    fill();
    for (size_t k = 0, n = available_sets(); k < n; k++)
        for (size_t cut = 0; cut <= N_KEYS; cut += 32) { // an empty part on either side changes nothing
            struct state a, b;
            start(&a), start(&b);
            attend(sets[k], &straight, MOST_Q, 0, cut, &a);
            if (cut < N_KEYS) attend(sets[k], &straight, MOST_Q, cut, N_KEYS, &b);
            for (size_t i = 0; i < MOST_Q; i++)
                sets[k]->attend_merge(&a.m[i], &a.l[i], a.o + i * V_DIM, b.m[i], b.l[i], b.o + i * V_DIM, V_DIM);
            check_finished(sets[k], &straight, &a, MOST_Q, 0, N_KEYS);
        }
    fp_mode_leave(mode);
}

TEST(a_query_gets_the_same_bits_alone_and_among_others) {
    const fp_mode mode = fp_mode_enter();
    fill();
    for (size_t k = 0, n = available_sets(); k < n; k++) {
        struct state together;
        start(&together);
        attend(sets[k], &straight, MOST_Q, 3, N_KEYS - 5, &together);
        for (size_t n_q = 1; n_q < MOST_Q; n_q++) {
            struct state fewer;
            start(&fewer);
            attend(sets[k], &straight, n_q, 3, N_KEYS - 5, &fewer);
            CHECK_MEM(fewer.l, together.l, n_q * sizeof(float));
            CHECK_MEM(fewer.o, together.o, n_q * V_DIM * sizeof(float));
        }
    }
    fp_mode_leave(mode);
}

TEST(nan_in_a_query_or_a_seen_key_reaches_that_querys_output_and_no_other) {
    const fp_mode mode = fp_mode_enter();
    for (size_t k = 0, n = available_sets(); k < n; k++)
        for (size_t which = 0; which < 3;
             which++) { // a query, a key, a value: key and value are seen by query 2 alone
            struct state s;
            fill();
            if (which == 0) q[2 * HEAD_DIM + 5] = NAN;
            if (which == 1) keys[0][5 * KV_BLOCK + 40] = NAN;
            if (which == 2) values[0][40 * V_DIM + 5] = NAN;
            static const uint8_t lo[MOST_Q] = {0}, hi[MOST_Q] = {40, 40, 41, 40, 40, 1};
            start(&s);
            attend_one(sets[k], &straight, 0, MOST_Q, lo, hi, &s);
            for (size_t i = 0; i < MOST_Q; i++)
                for (size_t d = 0; d < V_DIM; d++) {
                    check_note("set %s case %zu query %zu channel %zu", sets[k]->name, which, i, d);
                    CHECK(!isnan(s.o[i * V_DIM + d]) == (i != 2 || (which == 2 && d != 5)));
                }
        }
    fp_mode_leave(mode);
}
