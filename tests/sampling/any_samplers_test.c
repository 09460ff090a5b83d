// tests/sampling/any_samplers_test.c - samplers of any parameters: their state follows what is accepted, removed and forked, and
// what they draw depends on nothing else.
//
// Parameters come from the table's whole ranges, in random combinations, orders and sequences, with masks, biases, bans and
// breakers. What a sampler gives after any history is what a new one gives that saw the part of it that is left.
#include "base/mem.h"
#include "base/philox.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "sampling/token_mask.h"
#include "tests/check.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_VOCAB = 150,
    N_CTX = 60,
    N_PROMPT = 15,
    MOST_LIST = 4,
    MOST_TOKENS = 3,
    MOST_BREAKERS = 20,
    MOST_KEYS = 12
};

static uint32_t counter;
static double uniform(void) { return philox_uniform(23, 0, counter++, PHILOX_TEST); }
static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }
static bool chance(double p) { return uniform() < p; }

// What parameters point to.
struct any {
    struct sampling_params p;
    int32_t n_vocab;
    struct logit_bias bias[MOST_LIST];
    struct sequence_bias sequences[MOST_LIST];
    int32_t tokens[MOST_LIST][MOST_TOKENS];
    int32_t banned[MOST_LIST], ends[MOST_LIST];
    struct dry_breaker breakers[MOST_BREAKERS];
    int32_t tails[MOST_BREAKERS][MOST_TOKENS];
    int64_t keys[MOST_KEYS];
    char samplers[200];
    int32_t prompt[N_PROMPT];
    size_t n_prompt;
    uint64_t row_seed;
};

static void all_off(struct sampling_params *p) {
    sampling_defaults(p);
    p->top_k = 0, p->top_p = 1, p->min_p = 0;
}

// A value of the field's range: an end, or any, more often near the lower end.
static void set_any(const struct sampling_field *f, struct sampling_params *p) {
    const double u = uniform(), share = chance(0.2) ? (double)below(2) : u * u * (chance(0.5) ? 0.05 : 1);
    const double v = f->min + share * (f->max - f->min);
    if (f->kind == SAMPLING_INT)
        *(int32_t *)((char *)p + f->offset) = (int32_t)(f->max - f->min > 1000 && chance(0.7) ? below(20) + 1 : v);
    else
        *(float *)((char *)p + f->offset) = (float)v;
}

static void any_sequence(struct any *a) {
    static const char *const names[] = {"penalties", "dry",   "top_n_sigma", "top_k",      "typical_p",
                                        "top_p",     "min_p", "epsilon",     "eta",        "top_a",
                                        "top_h",     "tfs",   "xtc",         "temperature"};
    enum { N = sizeof names / sizeof *names };
    bool used[N] = {0};
    rn_error err = {0};
    a->samplers[0] = 0;
    for (int32_t i = 0, n = 1 + below(N); i < n; i++) {
        const int32_t k = below(N);
        if (used[k]) continue;
        used[k] = true;
        const size_t at = strlen(a->samplers);
        snprintf(a->samplers + at, sizeof a->samplers - at, "%s%s", at ? ";" : "", names[k]);
    }
    CHECK_OK(sampling_parse_sequence(a->samplers, &a->p.sequence, &err), &err);
}

static void any_lists(struct any *a) {
    struct sampling_params *const p = &a->p;
    p->bias = a->bias, p->sequences = a->sequences, p->banned = a->banned, p->end_tokens = a->ends;
    p->breakers = a->breakers;
    p->n_bias = chance(0.3) ? (size_t)below(MOST_LIST) : 0;
    p->n_sequences = chance(0.3) ? (size_t)below(MOST_LIST) : 0;
    p->n_banned = chance(0.3) ? (size_t)below(MOST_LIST) : 0;
    p->n_end_tokens = (size_t)below(MOST_LIST);
    p->n_breakers = chance(0.5) ? (size_t)below(MOST_BREAKERS) : 0;
    for (int i = 0; i < MOST_LIST; i++) {
        a->bias[i] = (struct logit_bias){below(a->n_vocab), chance(0.2) ? -INFINITY : (float)(200 * uniform() - 100)};
        for (int k = 0; k < MOST_TOKENS; k++) a->tokens[i][k] = below(chance(0.7) ? 5 : a->n_vocab);
        a->sequences[i] = (struct sequence_bias){a->tokens[i], 1 + (size_t)below(MOST_TOKENS), (float)below(20) - 10};
        a->banned[i] = below(a->n_vocab);
        a->ends[i] = i * a->n_vocab / MOST_LIST;
    }
    for (int i = 0; i < MOST_BREAKERS; i++) {
        for (int k = 0; k < MOST_TOKENS; k++) a->tails[i][k] = below(a->n_vocab / 4);
        a->breakers[i] =
            (struct dry_breaker){below(a->n_vocab), a->tails[i], chance(0.7) ? 0 : (size_t)below(MOST_TOKENS)};
    }
}

static void any_watermark(struct any *a) {
    for (int i = 0; i < MOST_KEYS; i++) a->keys[i] = (int64_t)below(1000) << below(50);
    a->p.watermark = (struct watermark_params){.keys = a->keys,
                                               .n_keys = 1 + (size_t)below(MOST_KEYS),
                                               .ngram_len = 2 + below(4),
                                               .history_size = below(2) ? 1024 : below(4),
                                               .table_size = 1 + below(below(2) ? 65536 : 300),
                                               .table_seed = counter,
                                               .skip_first = chance(0.3)};
}

static void make_any(struct any *a) {
    struct sampling_params *const p = &a->p;
    all_off(p);
    a->n_vocab = 8 + below(MOST_VOCAB - 8);
    for (size_t i = 0; i < sampling_n_fields; i++)
        if (chance(0.3)) set_any(&sampling_fields[i], p);
    if (chance(0.8)) p->temp = 0.2f + (float)uniform();
    if (chance(0.5)) p->dry_multiplier = (float)uniform(), p->dry_penalty_last_n = -1;
    if (p->mirostat != 0) p->adaptive_target = -1;
    if (p->no_repeat_ngram_size == 1) p->no_repeat_ngram_size = 2; // would leave none of few tokens
    p->order = (enum sampling_order)below(SAMPLING_N_ORDERS);
    p->masked = chance(0.5);
    p->penalty_prompt = chance(0.5);
    p->seed = counter, p->choice = (uint32_t)below(3);
    any_lists(a);
    a->samplers[0] = 0;
    if (chance(0.5)) any_sequence(a);
    a->n_prompt = (size_t)below(N_PROMPT);
    for (size_t i = 0; i < a->n_prompt; i++) a->prompt[i] = below(chance(0.7) ? 5 : a->n_vocab);
    a->row_seed = counter;
    if (p->temp > 0 && p->mirostat == 0 && p->adaptive_target < 0 && chance(0.3)) any_watermark(a);
}

static sampler *begin(const struct any *a, const struct rowmath *rm) {
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampler_create(&a->p, rm, a->n_vocab, N_CTX, &s, &err), &err);
    sampler_see_prompt(s, a->prompt, a->n_prompt);
    return s;
}

// The row and the mask at a step of a path; the first tokens are often the likely ones, so that they recur.
static void make_row(const struct any *a, uint32_t step, float *row, uint64_t *mask) {
    const float scale = step % 3 ? 3 : 0.5f;
    memset(mask, 0, token_mask_words(a->n_vocab) * sizeof *mask);
    for (int32_t i = 0; i < a->n_vocab; i++) {
        const uint32_t at = step * MOST_VOCAB + (uint32_t)i;
        row[i] = scale * (float)(6 * philox_uniform(a->row_seed, 1, at, PHILOX_TEST) - 3) + (i < 5 ? 2 : 0);
        if (philox_uniform(a->row_seed, 2, at, PHILOX_TEST) < 0.7 || i == a->n_vocab - 1) token_mask_add(mask, i);
    }
}

struct step {
    rn_status status;
    int32_t drawn, accepted;
    uint32_t row;
};

static rn_status draw(sampler *s, const struct any *a, uint32_t step, uint32_t row_step, int32_t *token) {
    float row[MOST_VOCAB];
    uint64_t mask[MOST_VOCAB / 64 + 1];
    make_row(a, row_step, row, mask);
    *token = -1;
    return sampler_draw_masked(s, row, step, a->p.masked && row_step % 2 ? mask : NULL, token, NULL);
}

// Does s, after the steps [0, n), give what a new sampler gives that took exactly these?
static bool equals_fresh(sampler *s, const struct any *a, const struct rowmath *rm, const struct step *path,
                         uint32_t n) {
    static int32_t ids[2][MOST_VOCAB];
    static float probs[2][MOST_VOCAB];
    size_t n_ids[2] = {0};
    float row[MOST_VOCAB];
    uint64_t mask[MOST_VOCAB / 64 + 1];
    sampler *const fresh = begin(a, rm);
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        int32_t token;
        same &= draw(fresh, a, i, path[i].row, &token) == path[i].status && token == path[i].drawn;
        sampler_accept(fresh, path[i].accepted);
    }
    make_row(a, 1000 + n, row, mask);
    const rn_status st = sampler_distribution(s, row, ids[0], probs[0], MOST_VOCAB, &n_ids[0], NULL);
    const rn_status want = sampler_distribution(fresh, row, ids[1], probs[1], MOST_VOCAB, &n_ids[1], NULL);
    same &= st == want && n_ids[0] == n_ids[1];
    if (st == RN_OK && same)
        same = memcmp(ids[0], ids[1], n_ids[0] * sizeof *ids[0]) == 0 &&
               memcmp(probs[0], probs[1], n_ids[0] * sizeof *probs[0]) == 0;
    sampler_destroy(fresh);
    return same;
}

// Draws, accepts what was drawn or another token, removes some again, goes on in a fork.
static bool wander(const struct any *a, const struct rowmath *rm, int32_t n_moves) {
    struct step path[N_CTX + 1];
    uint32_t n = 0, n_draws = 0;
    sampler *s = begin(a, rm);
    bool same = true;
    for (int32_t i = 0; i < n_moves && same; i++) {
        const int32_t move = below(10);
        if (move < 7 && n < N_CTX - N_PROMPT) {
            struct step *const t = &path[n];
            t->row = n_draws++;
            t->status = draw(s, a, n, t->row, &t->drawn);
            t->accepted = t->status == RN_OK && chance(0.8) ? t->drawn : below(a->n_vocab);
            sampler_accept(s, t->accepted);
            n++;
        } else if (move < 9) {
            const uint32_t k = (uint32_t)below((int32_t)n + 1);
            sampler_rewind(s, k);
            n -= k;
        } else {
            sampler *fork = NULL;
            if (!CHECK_INT(sampler_fork(s, &fork, NULL), RN_OK)) break;
            if (chance(0.5)) sampler_accept(s, 0); // which is none of the fork's concern
            sampler_destroy(s);
            s = fork;
        }
        if (i % 5 == 4) same = equals_fresh(s, a, rm, path, n);
    }
    same = same && equals_fresh(s, a, rm, path, n);
    sampler_destroy(s);
    return same;
}

TEST(state_follows_what_is_accepted_removed_and_forked_for_any_parameters) {
    const fp_mode mode = fp_mode_enter();
    for (int round = 0; round < 3000; round++) {
        static struct any a;
        make_any(&a);
        check_note("round %d, samplers '%s'", round, a.samplers);
        if (!CHECK(wander(&a, &kernel_set_get(CPU_REF)->row, 30))) break;
    }
    fp_mode_leave(mode);
}

TEST(every_cpu_set_draws_the_same_tokens_for_any_parameters) {
    const fp_mode mode = fp_mode_enter();
    for (int round = 0; round < 1000; round++) {
        static struct any a;
        int32_t want[10] = {0};
        make_any(&a);
        for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++) {
            int32_t got[10];
            if (!cpu_set_available(set)) continue;
            sampler *const s = begin(&a, &kernel_set_get(set)->row);
            for (uint32_t i = 0; i < 10; i++) {
                (void)draw(s, &a, i, i, &got[i]);
                sampler_accept(s, got[i] >= 0 ? got[i] : 0);
            }
            sampler_destroy(s);
            if (set == CPU_REF) memcpy(want, got, sizeof got);
            check_note("round %d, samplers '%s', %s", round, a.samplers, cpu_set_name(set));
            CHECK_MEM(got, want, sizeof got);
        }
    }
    fp_mode_leave(mode);
}

TEST(draws_of_any_parameters_allocate_nothing_and_take_what_is_stated) {
    for (int round = 0; round < 300; round++) {
        static struct any a;
        int32_t token;
        make_any(&a);
        check_note("round %d, samplers '%s'", round, a.samplers);
        const size_t before = mem_heap_bytes();
        sampler *const s = begin(&a, &kernel_set_get(CPU_REF)->row);
        const size_t taken = mem_heap_bytes() - before, stated = sampler_bytes(s);
        const long count = mem_count();
        for (uint32_t i = 0; i < 10; i++) {
            (void)draw(s, &a, i, i, &token);
            sampler_accept(s, token >= 0 ? token : 0);
        }
        sampler_rewind(s, 5);
        CHECK_INT(mem_count(), count);
        CHECK(stated <= taken && taken <= stated + 700);
        sampler_destroy(s);
    }
}

// A tiny min_p in front of it keeps everything that can be drawn, and makes the stage work on a list.
TEST(a_stage_that_fills_the_list_leaves_what_it_leaves_of_a_whole_list) {
    static const char *const stages[] = {"top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "epsilon",
                                         "eta",         "top_a", "top_h",     "tfs",   "xtc"};
    const fp_mode mode = fp_mode_enter();
    for (int round = 0; round < 3000; round++) {
        static struct any a;
        static int32_t ids[2][MOST_VOCAB];
        static float probs[2][MOST_VOCAB];
        float row[MOST_VOCAB];
        uint64_t mask[MOST_VOCAB / 64 + 1];
        size_t n[2] = {0};
        char text[60];
        rn_error err = {0};
        const char *const stage = stages[below(sizeof stages / sizeof *stages)];
        const bool is_min_p = strcmp(stage, "min_p") == 0;
        make_any(&a);
        a.p.temp = 1;
        a.p.dynatemp_range = 0;
        a.p.mirostat = 0;
        a.p.adaptive_target = -1;
        a.p.n_bias = a.p.n_sequences = 0; // all logits within what this min_p keeps
        a.p.encoder_repetition_penalty = 1;
        a.p.exponential_decay_factor = 1;
        a.p.top_k = is_min_p ? a.n_vocab - 1 : a.p.top_k; // in place of min_p
        if (!is_min_p) a.p.min_p = 1e-30f;
        make_row(&a, (uint32_t)round, row, mask);
        for (int form = 0; form < 2; form++) {
            sampler *s = NULL;
            snprintf(text, sizeof text, "%s%s", form ? is_min_p ? "top_k;" : "min_p;" : "", stage);
            CHECK_OK(sampling_parse_sequence(text, &a.p.sequence, &err), &err);
            if (!CHECK_OK(sampler_create(&a.p, &kernel_set_get(CPU_REF)->row, a.n_vocab, N_CTX, &s, &err), &err))
                break;
            if (sampler_distribution(s, row, ids[form], probs[form], MOST_VOCAB, &n[form], NULL) != RN_OK)
                n[form] = 0;
            sampler_destroy(s);
        }
        if (is_min_p && n[0] == (size_t)a.n_vocab) continue; // min_p kept the one that top_k cannot
        check_note("round %d, %s", round, stage);
        if (!CHECK_INT(n[0], n[1])) break;
        CHECK_MEM(ids[0], ids[1], n[0] * sizeof *ids[0]);
        CHECK_MEM(probs[0], probs[1], n[0] * sizeof *probs[0]);
    }
    fp_mode_leave(mode);
}
