// bench/sampler_ladder.c - what it costs to draw a token, by vocabulary, shape of the row and sampling parameters.
//
//   sampler_ladder [SET]     the best CPU set of this machine, or one
//
// One thread, thread CPU time, medians of 31 draws. Every row lies in memory of its own, so that it comes as far from the core as after
// a step of the model: nine rows in turn, more than L2 holds. Penalties look at 256 tokens. "share": of a step of 25 ms, that of a
// model of a billion weights on two threads.
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "sampling/token_mask.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_RUNS = 31, N_COPIES = 9, MOST_VOCAB = 262144, N_SEEN = 256 };
static const int32_t vocabularies[] = {128256, MOST_VOCAB};
static const double STEP_US = 25e3;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Rows -------------------------------------------------------------------------------------------------------------------

static double uniform(uint64_t i, uint64_t seed) { return (double)(hash_u64(i, seed) >> 11) * 0x1p-53; }
// Box and Muller.
static float normal(uint64_t i, uint64_t seed) {
    const double pi = 3.14159265358979323846;
    return (float)(sqrt(-2 * log(uniform(i, seed) + 0x1p-60)) * cos(2 * pi * uniform(i, seed + 1)));
}
static float peaked(uint64_t i, uint64_t seed) {
    return i % 9973 == 17 ? 25 - (float)(i / 9973) : 2 * normal(i, seed);
}
static float spread(uint64_t i, uint64_t seed) { return 3 * normal(i, seed); }
static float flat(uint64_t i, uint64_t seed) { return 0.1f * normal(i, seed); }
static const struct {
    const char *name;
    float (*at)(uint64_t i, uint64_t seed);
} shapes[] = {{"peaked", peaked}, {"N(0, 3)", spread}, {"flat", flat}};

// Parameters -------------------------------------------------------------------------------------------------------------

static void typical(struct sampling_params *p) { p->typical_p = 0.9f; }
static void n_sigma(struct sampling_params *p) { p->top_n_sigma = 1; }
static void epsilon(struct sampling_params *p) { p->epsilon_cutoff = 3e-4f; }
static void eta(struct sampling_params *p) { p->eta_cutoff = 3e-4f; }
static void top_a(struct sampling_params *p) { p->top_a = 0.2f; }
static void top_h(struct sampling_params *p) { p->top_h = 0.4f; }
static void tail_free(struct sampling_params *p) { p->tfs_z = 0.95f; }
static void xtc(struct sampling_params *p) { p->xtc_probability = 1; }
static void dynamic(struct sampling_params *p) { p->dynatemp_range = 0.5f; }
static void watermark(struct sampling_params *p) {
    static int64_t keys[30];
    for (int i = 0; i < 30; i++) keys[i] = 654 + 97 * i;
    p->watermark = (struct watermark_params){
        .keys = keys, .n_keys = 30, .ngram_len = 5, .history_size = 1024, .table_size = 65536};
}
static void mirostat_1(struct sampling_params *p) { p->mirostat = 1; }
static void mirostat_2(struct sampling_params *p) { p->mirostat = 2; }
static void adaptive(struct sampling_params *p) { p->adaptive_target = 0.5f; }
static void dry(struct sampling_params *p) { p->dry_multiplier = 0.8f; }
static void ngram(struct sampling_params *p) { p->no_repeat_ngram_size = 3; }

static const struct {
    const char *name;
    float temp, top_p, min_p;
    int32_t top_k;
    bool penalties;
    int n_logprobs;                          // instead of a draw, the log-probabilities of a token and the best
    bool masked;                             // under a mask that forbids every third token
    void (*more)(struct sampling_params *p); // NULL: nothing
} configs[] = {
    {"greedy", 0, 1, 0, 0, false, 0},
    {"temp 0.8", 0.8f, 1, 0, 0, false, 0},
    {"temp 0.8, top_k 40", 0.8f, 1, 0, 40, false, 0},
    {"top_p 0.95", 1, 0.95f, 0, 0, false, 0},
    {"temp 0.8, top_p 0.95", 0.8f, 0.95f, 0, 0, false, 0},
    {"temp 0.8, min_p 0.05", 0.8f, 1, 0.05f, 0, false, 0},
    {"all, penalties", 0.8f, 0.95f, 0.05f, 40, true, 0},
    {"all but top_k, penalties", 0.8f, 0.95f, 0.05f, 0, true, 0},
    {"log-probabilities, 5", 1, 1, 0, 0, false, 5},
    {"temp 0.8, mask", 0.8f, 1, 0, 0, false, 0, true},
    {"temp 0.8, top_k 40, mask", 0.8f, 1, 0, 40, false, 0, true},
    {"all, penalties, mask", 0.8f, 0.95f, 0.05f, 40, true, 0, true},
    {"DRY, top_k 40", 0.8f, 1, 0, 40, false, 0, false, dry},
    {"no n-gram of 3, top_k 40", 0.8f, 1, 0, 40, false, 0, false, ngram},
    {"XTC, min_p 0.05", 0.8f, 1, 0.05f, 0, false, 0, false, xtc},
    {"typical, top_k 40", 0.8f, 1, 0, 40, false, 0, false, typical},
    {"dynamic temp, top_k 40", 0.8f, 1, 0, 40, false, 0, false, dynamic},
    {"adaptive-p, min_p 0.05", 0.8f, 1, 0.05f, 0, false, 0, false, adaptive},
    {"top-n-sigma", 0.8f, 1, 0, 0, false, 0, false, n_sigma},
    {"epsilon", 0.8f, 1, 0, 0, false, 0, false, epsilon},
    {"top-a", 0.8f, 1, 0, 0, false, 0, false, top_a},
    {"top-h", 0.8f, 1, 0, 0, false, 0, false, top_h},
    {"watermark, 30 keys, top_k 40", 0.8f, 1, 0, 40, false, 0, false, watermark},
    {"mirostat 2", 0.8f, 1, 0, 0, false, 0, false, mirostat_2},
    {"mirostat 1", 0.8f, 1, 0, 0, false, 0, false, mirostat_1},
    {"typical", 0.8f, 1, 0, 0, false, 0, false, typical},
    {"eta", 0.8f, 1, 0, 0, false, 0, false, eta},
    {"tail-free", 0.8f, 1, 0, 0, false, 0, false, tail_free},
    {"XTC", 0.8f, 1, 0, 0, false, 0, false, xtc},
    {"dynamic temp", 0.8f, 1, 0, 0, false, 0, false, dynamic},
    {"watermark, 30 keys", 0.8f, 1, 0, 0, false, 0, false, watermark},
};
enum { N_CONFIGS = sizeof configs / sizeof *configs };

static sampler *make_sampler(int i, const struct rowmath *rm, int32_t n_vocab) {
    struct sampling_params p;
    sampling_defaults(&p);
    p.temp = configs[i].temp, p.top_p = configs[i].top_p, p.min_p = configs[i].min_p, p.top_k = configs[i].top_k;
    p.masked = configs[i].masked;
    p.seed = 1, p.repeat_penalty = 1, p.frequency_penalty = p.presence_penalty = 0;
    if (configs[i].penalties) p.repeat_penalty = 1.1f, p.frequency_penalty = 0.1f, p.penalty_last_n = N_SEEN;
    if (configs[i].more) configs[i].more(&p);
    sampler *s = NULL;
    rn_error err = {0};
    if (sampler_create(&p, rm, n_vocab, 2 * N_SEEN, &s, &err) != RN_OK) {
        fprintf(stderr, "sampler_ladder: %s\n", err.text);
        exit(1);
    }
    for (int32_t t = 0; t < N_SEEN; t++) sampler_accept(s, t * 7919 % n_vocab);
    return s;
}

static float *rows; // [N_COPIES][MOST_VOCAB]
static uint64_t mask[MOST_VOCAB / 64];
static int32_t scratch[2 * MOST_VOCAB];

static double median_us(int i_config, const struct rowmath *rm, int32_t n_vocab) {
    double us[N_RUNS];
    sampler *const s = make_sampler(i_config, rm, n_vocab);
    for (uint32_t i = 0; i < N_RUNS; i++) {
        const float *const row = rows + (size_t)(i % N_COPIES) * MOST_VOCAB;
        struct token_logprob top[LOGPROBS_MAX_TOP];
        rn_error err = {0};
        int32_t token = 0;
        rn_status st = RN_OK;
        const double start = now_us();
        if (configs[i_config].n_logprobs)
            token_logprobs(rm, row, n_vocab, token, configs[i_config].n_logprobs, top, scratch);
        else
            st = sampler_draw_masked(s, row, i, configs[i_config].masked ? mask : NULL, &token, &err);
        us[i] = now_us() - start;
        if (st != RN_OK) {
            fprintf(stderr, "sampler_ladder: %s\n", err.text);
            exit(1);
        }
    }
    sampler_destroy(s);
    qsort(us, N_RUNS, sizeof *us, by_value);
    return us[N_RUNS / 2];
}

int main(int argc, char **argv) {
    enum cpu_set set = cpu_set_detect(CPU_N_SETS);
    rn_error err = {0};
    if (argc > 2 || (argc == 2 && cpu_set_by_name(argv[1], &set, &err) != RN_OK)) {
        fprintf(stderr, "sampler_ladder: %s\n", err.text[0] ? err.text : "usage: sampler_ladder [SET]");
        return 2;
    }
    const size_t bytes = N_COPIES * MOST_VOCAB * sizeof *rows;
    if (!(rows = mem_pages(bytes))) {
        fprintf(stderr, "sampler_ladder: out of memory for %zu bytes\n", bytes);
        return 1;
    }
    const struct rowmath *const rm = &kernel_set_get(set)->row;
    for (int32_t t = 0; t < MOST_VOCAB; t++)
        if (t % 3) token_mask_add(mask, t);
    const fp_mode mode = fp_mode_enter();
    printf("%s, microseconds (share of a step of %.0f ms)\n", cpu_set_name(set), STEP_US / 1e3);
    for (size_t v = 0; v < sizeof vocabularies / sizeof *vocabularies; v++) {
        printf("\n%-26d", vocabularies[v]);
        double us[N_CONFIGS][sizeof shapes / sizeof *shapes];
        for (size_t f = 0; f < sizeof shapes / sizeof *shapes; f++) {
            printf(" %17s", shapes[f].name);
            for (uint64_t c = 0; c < N_COPIES; c++)
                for (uint64_t i = 0; i < (uint64_t)vocabularies[v]; i++)
                    rows[c * MOST_VOCAB + i] = shapes[f].at(i, 2 * c + 1);
            for (int i = 0; i < N_CONFIGS; i++) us[i][f] = median_us(i, rm, vocabularies[v]);
        }
        for (int i = 0; i < N_CONFIGS; i++) {
            printf("\n%-26s", configs[i].name);
            for (size_t f = 0; f < sizeof shapes / sizeof *shapes; f++)
                printf(" %8.0f (%4.2f %%)", us[i][f], 100 * us[i][f] / STEP_US);
        }
        printf("\n");
    }
    fp_mode_leave(mode);
    mem_pages_free(rows, bytes);
    return 0;
}
