// tests/decoding/draft_choice_test.c - how much is guessed: streams whose steps take as long as a curve says, on a clock of their own, against the best fixed
// number of guesses, and against none at all. Heads and a drafting model know the text as well as chance and the case have it.
#include "base/philox.h"
#include "decoding/draft/drafts.h"
#include "decoding/strategy.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 48, N_PROMPT = 20, N_MOST = 1100, N_HEADS = 2, MOST_ROWS = 80 };
static const double MS = 1e6;

// ---- texts ----------------------------------------------------------------------------------------------------------

static const struct kind {
    const char *name;
    double sharp, first, second, error; // of the text's own law, as a part of that of each head; of heads
} kinds[] = {{"as Medusa's", 3.2, 0.5, 0.35, 0.5}, {"good ones", 6, 0.8, 0.7, 0.3}, {"useless ones", 1, 0.2, 0.1, 1}};

// How likely each token is at each position, as a log: heads see it, less sharply and with errors.
struct world {
    uint64_t seed;
    double sharp[3], error;
    int32_t text[N_MOST];
    float likely[N_MOST][VOCAB];
};

static double uniform(uint64_t seed, uint32_t i, uint32_t k) { return philox_uniform(seed, i, k, PHILOX_TEST); }
static double normal(uint64_t seed, uint32_t i, uint32_t k) {
    return sqrt(-2 * log(1 - uniform(seed, i, 2 * k))) * cos(6.283185307179586 * uniform(seed, i, 2 * k + 1));
}

static void make_world(struct world *w, uint64_t seed, const struct kind *k) {
    *w = (struct world){.seed = seed, .sharp = {k->sharp, k->first, k->second}, .error = k->error};
    for (uint32_t i = 0; i < N_MOST; i++) {
        double sum = 0, at = uniform(seed, i, 1000);
        const double of_here = k->sharp * (0.3 + 1.4 * uniform(seed, i, 1001)); // some places are surer than others
        for (uint32_t t = 0; t < VOCAB; t++) {
            w->likely[i][t] = (float)(of_here * normal(seed, i, t));
            sum += exp((double)w->likely[i][t]);
        }
        int32_t token = 0;
        for (at *= sum; token < VOCAB - 1 && (at -= exp((double)w->likely[i][token])) > 0;) token++;
        w->text[i] = token;
    }
}

// ---- steps ----------------------------------------------------------------------------------------------------------

struct clock {
    const char *name;
    double (*rows)(double n); // of a step, a step of one row being 1
    double noise, busy;       // deviation of its logarithm; part of the time in which all takes twice as long
};
struct rig {
    lm results;
    const struct world *world;
    float logits[MOST_ROWS][VOCAB], hidden[MOST_ROWS][1];
    struct step_time time, head_time;
    struct strategy_slot slots[1 + N_HEADS];
    double ns, quiet_ns; // so far; and if nothing disturbed any step
    uint32_t n_steps;
    int32_t n_tokens, seq_len[1 + N_HEADS]; // of the text; of the drafting models' sequences
};

static const float *logits_of(lm *m, size_t row) { return ((struct rig *)m)->logits[row]; }
static const float *hidden_of(lm *m, size_t row) { return ((struct rig *)m)->hidden[row]; }
static const struct lm_ops lm_ops = {.logits = logits_of, .hidden = hidden_of};
static rn_status seq_open(void *user, int32_t slot, const int32_t *tokens, int32_t n, int32_t *seq, rn_error *err) {
    (void)tokens, (void)err;
    *seq = slot;
    ((struct rig *)user)->seq_len[slot] = n;
    return RN_OK;
}
static int32_t seq_len(void *user, int32_t seq) { return ((struct rig *)user)->seq_len[seq]; }
static rn_status seq_keep(void *user, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    (void)path, (void)err;
    ((struct rig *)user)->seq_len[seq] += n;
    return RN_OK;
}
static void seq_truncate(void *user, int32_t seq, int32_t n) { ((struct rig *)user)->seq_len[seq] = n; }
static const struct strategy_env_ops env_ops = {
    .seq_open = seq_open, .seq_len = seq_len, .seq_keep = seq_keep, .seq_truncate = seq_truncate};

static void step(struct rig *r, struct step_time *time, const struct clock *c, size_t n_rows, double ms) {
    const uint64_t seed = r->world->seed;
    const bool is_busy = uniform(seed + 9, (uint32_t)(r->ns / (400 * MS)), 0) < c->busy;
    const double slow = exp(c->noise * normal(seed + 7, r->n_steps++, 1)) * (is_busy ? 2 : 1),
                 ns = c->rows((double)n_rows) * ms * MS * slow;
    r->ns += ns;
    r->quiet_ns += ns / slow;
    step_time_learn(time, n_rows, 0, (int64_t)ns);
}

// What drafts: its name, and where it is a model, milliseconds of a step of it beside 10 of the main model.
struct guesser {
    const char *name;
    double ms;
    enum strategy_part part;
    int32_t n_slots;
};
static const struct guesser heads = {"medusa", 0.5, STRATEGY_PART_MEDUSA, N_HEADS};

// The row of a head reads the position that the hidden state is; that of a model stands behind the text, or some guesses. What heads of Medusa guess is of
// their depth; a layer that goes on from hidden states gives the next one, so that the one that it reads says what it guesses.
static void run_head(struct rig *r, const struct guesser *g, const struct lm_row *row, size_t i) {
    const uint32_t slot = (uint32_t)row->seq - 1, head = g->part == STRATEGY_PART_MEDUSA ? slot : 0,
                   behind = (uint32_t)r->n_tokens + (row->parent == LM_APPEND ? 0 : (uint32_t)row->parent + 2),
                   at = row->input ? (uint32_t)row->input->vector[0] + 2 + head : behind;
    r->seq_len[row->seq] += row->parent == LM_APPEND;
    if (row->input) r->hidden[i][0] = row->input->vector[0] + 1;
    if (!(row->want & LM_WANT_LOGITS) || at >= N_MOST) return;
    for (uint32_t k = 0; k < VOCAB; k++)
        r->logits[i][k] = (float)(r->world->sharp[1 + head] * (double)r->world->likely[at][k] +
                                  r->world->error * normal(r->world->seed + 1 + head, at, k));
}

static void observe(struct rig *r, struct drafts *d, int32_t at, int32_t n) {
    for (int32_t i = 0; i < n; i++) r->hidden[i][0] = (float)(at + i);
    const struct row_results results = {.model = &r->results, .n = (size_t)n};
    drafts_observe(d, &(struct certain_rows){.results = &results, .at = at, .n = n});
}

static int32_t n_right(const struct world *w, const struct draft *d, int32_t n) {
    int32_t right = 0;
    for (int32_t node = DRAFT_ROOT; (node = draft_child(d, node, w->text[n + right])) != DRAFT_NONE;) right++;
    return right;
}

static void run_helpers(struct rig *r, struct drafts *d, const struct guesser *g, const struct clock *c) {
    static struct lm_row row[MOST_ROWS];
    rn_error err = {0};
    while (drafts_slot(d)) {
        struct row_list rows = {.rows = row, .cap = MOST_ROWS, .n_logits = MOST_ROWS, .n_scratch = MOST_ROWS};
        CHECK_OK(drafts_propose(d, &rows, &err), &err);
        for (size_t i = 0; i < rows.n; i++) run_head(r, g, &row[i], i);
        step(r, &r->head_time, c, rows.n, g->ms);
        const struct row_results results = {.model = &r->results, .n = rows.n};
        drafts_read(d, &results);
        CHECK_OK(drafts_absorb(d, &results, &err), &err);
    }
}

// Rows beside the guesses say anything.
static void read_more(struct rig *r, struct drafts *d, size_t n_rows) {
    if (drafts_more_rows(d)->n == 0) return;
    for (uint32_t k = 0; k < VOCAB; k++) r->logits[0][k] = (float)normal(r->world->seed + 11, r->n_steps, k);
    for (size_t i = 1; i < n_rows; i++) memcpy(r->logits[i], r->logits[0], sizeof *r->logits);
    drafts_read_more(d, &(struct row_results){.model = &r->results, .n = n_rows});
}

// Nanoseconds for each of n_tokens, with at least and at most so many guesses a step. *quiet_ns: if nothing disturbed any step; may be NULL.
static double run(const struct world *w, const struct guesser *g, const struct clock *c, int32_t least, int32_t most,
                  int32_t n_tokens, double *quiet_ns) {
    static struct rig r;
    static struct lm_row row[MOST_ROWS];
    struct drafts *d;
    rn_error err = {0};
    r = (struct rig){.results = {.ops = &lm_ops, .n_vocab = VOCAB, .n_embd = 1}, .world = w};
    r.slots[0] = (struct strategy_slot){.n_vocab = VOCAB, .n_embd = 1, .n_ctx = 4096, .time = &r.time};
    for (int32_t i = 1; i <= N_HEADS; i++)
        r.slots[i] = (struct strategy_slot){g->part, i - 1, VOCAB, 1, 4096, MOST_ROWS, &r.head_time};
    const struct strategy_env env = {.ops = &env_ops, .user = &r, .slots = r.slots, .n_slots = 1 + N_HEADS};
    const struct drafter_choice choice = {
        .kind = drafter_find(g->name, strlen(g->name)), .slot = g->ms > 0, .n_slots = g->n_slots};
    const struct strategy_spec spec = {.text = w->text,
                                       .n_text_most = N_MOST,
                                       .n_prompt = N_PROMPT,
                                       .n_vocab = VOCAB,
                                       .rowmath = &kernel_set_get(CPU_REF)->row,
                                       .drafters = &choice,
                                       .n_drafters = most > 0,
                                       .draft_most = most,
                                       .draft_least = least};
    if (!CHECK_OK(drafts_create(&spec, &d, &err), &err) || !CHECK_OK(drafts_begin(d, &env, &err), &err)) return 0;
    step_time_learn(&r.time, 0, N_PROMPT, (int64_t)(30 * c->rows(N_PROMPT) * MS)); // its first step is a slow one
    const int32_t n_read = r.seq_len[1];
    if (n_read > 0) { // it reads the prompt
        step_time_learn(&r.head_time, 0, (size_t)n_read, (int64_t)(c->rows(n_read) * g->ms * MS));
        if (g->part == STRATEGY_PART_LAYERS) r.quiet_ns += c->rows(n_read) * g->ms * MS;
    }
    observe(&r, d, N_PROMPT - 1, 1);
    int32_t n = N_PROMPT + 1;
    while (n < N_PROMPT + n_tokens) {
        CHECK_OK(drafts_choose(d, n, &err), &err);
        r.n_tokens = n;
        run_helpers(&r, d, g, c);
        struct row_list rows = {
            .rows = row, .n = 1, .cap = MOST_ROWS, .n_logits = MOST_ROWS, .n_scratch = MOST_ROWS, .n_tokens = 64};
        drafts_add_rows(d, &rows, 0);
        step(&r, &r.time, c, rows.n, 10);
        read_more(&r, d, rows.n);
        const int32_t right = n_right(w, drafts_proposed(d), n);
        observe(&r, d, n - 1, 1 + right);
        n += 1 + right;
    }
    drafts_destroy(d);
    if (quiet_ns) *quiet_ns = r.quiet_ns / (n - N_PROMPT - 1);
    return r.ns / (n - N_PROMPT - 1);
}

// ---- what it comes to -----------------------------------------------------------------------------------------------

static double flat_to_eight(double n) { return n <= 8 ? 1 + 0.01 * (n - 1) : 1.3 + 0.01 * n; }
static double of_q4_k(double n) { return n <= 8 ? 1 + 0.045 * (n - 1) : 1.5 + 0.04 * (n - 8); }
static double in_passes(double n) { // eight rows take less time than five: what Q8_0 takes with AVX-512 VNNI
    return n < 5 ? 1 + 0.065 * (n - 1) : n < 8 ? 1.23 : n == 8 ? 1.17 : n < 16 ? 1.6 : n == 16 ? 1.45 : 1.8;
}
static double of_reading_or_arithmetic(double n) { return n / 5 > 1 ? n / 5 : 1; }
// About what a 1B model takes with AVX2 alone (docs/kernels.md, section 6).
static double of_avx2(double n) { return n <= 4 ? 1 + 0.2 * (n - 1) : 1.6 + 0.3 * (n - 4); }
static double by_3(double n) { return 1 + 0.03 * (n - 1); }
static double by_10(double n) { return 1 + 0.1 * (n - 1); }
static double by_40(double n) { return 1 + 0.4 * (n - 1); }
static double each_one(double n) { return n; }
static const struct clock clocks[] = {{"flat to eight rows", flat_to_eight, 0.03},
                                      {"as Q4_K", of_q4_k, 0.03},
                                      {"in passes", in_passes, 0.03},
                                      {"of reading or arithmetic", of_reading_or_arithmetic, 0.03},
                                      {"as AVX2", of_avx2, 0.03},
                                      {"3 % a row", by_3, 0.03},
                                      {"10 % a row", by_10, 0.03},
                                      {"40 % a row", by_40, 0.03},
                                      {"a step a row", each_one, 0.03},
                                      {"3 % a row, with noise", by_3, 0.15},
                                      {"a step a row, with noise", each_one, 0.15},
                                      {"flat to eight rows, now and then busy", flat_to_eight, 0.03, 0.3},
                                      {"in passes, now and then busy", in_passes, 0.03, 0.3},
                                      {"10 % a row, now and then busy", by_10, 0.03, 0.3}};

enum { SEEDS = 4 };

// The time with as many guesses as seem to pay, as a part of that with the best fixed number.
static void check_choice(const struct kind *k, const struct clock *c, int32_t n_tokens, double least) {
    static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 7, 11, 15};
    enum { N = sizeof numbers / sizeof *numbers };
    static struct world w;
    double own = 0, fixed[N] = {0}, best = INFINITY;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_world(&w, seed, k);
        own += run(&w, &heads, c, 0, 16, n_tokens, NULL);
        for (int i = 0; i < N; i++) fixed[i] += run(&w, &heads, c, numbers[i], numbers[i], n_tokens, NULL);
    }
    for (int i = 0; i < N; i++)
        if (fixed[i] < best) best = fixed[i];
    check_note("heads: %s; steps: %s; %d tokens: %.3f times as fast as without, best %.3f", k->name, c->name,
               (int)n_tokens, fixed[0] / own, fixed[0] / best);
    CHECK(best / own >= least);
}

TEST(a_short_answer_has_nearly_the_speed_of_the_best_number_of_guesses) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
            check_choice(&kinds[k], &clocks[i], 128, clocks[i].busy > 0 ? 0.9 : 0.93);
}

TEST(a_long_answer_has_the_speed_of_the_best_number_of_guesses_even_where_the_machine_is_busy_now_and_then) {
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        check_choice(&kinds[0], &clocks[i], 600, clocks[i].rows == of_avx2 ? 0.92 : clocks[i].busy > 0 ? 0.94 : 0.96);
}

// ---- the worst text -------------------------------------------------------------------------------------------------

static const struct guesser guessers[] = {{.name = "ngram"},
                                          {.name = "suffix"},
                                          {.name = "ngram-cache"},
                                          {.name = "lookahead"},
                                          {"medusa", 0.5, STRATEGY_PART_MEDUSA, N_HEADS},
                                          {"eagle", 1.5, STRATEGY_PART_EAGLE, 1},
                                          {"mtp", 1.5, STRATEGY_PART_NEXTN, 1},
                                          {"mtp", 1.5, STRATEGY_PART_NEXTN, 2},
                                          {"draft", 0.7, STRATEGY_PART_NONE, 1},
                                          {"draft", 3, STRATEGY_PART_NONE, 1},
                                          {"layer-skip", 4, STRATEGY_PART_LAYERS, 1}};

// What may be lost once weighs more in short answers. Heads that go on from hidden states have guessed trees of eight rows once these seemed to take no longer
// than a plain step: where that was measured at a busy time, it takes long to see that they do.
static double least_speed(const struct guesser *g, const struct clock *c, int32_t n_tokens) {
    const bool goes_on = g->part == STRATEGY_PART_EAGLE || g->part == STRATEGY_PART_NEXTN;
    if (goes_on && (c->busy > 0 || c->noise > 0.1)) return c->busy > 0 ? 0.75 : 0.96;
    return n_tokens < 100 ? 0.96 : 0.98;
}

TEST(no_text_takes_longer_than_two_percent_more_than_without_guesses) {
    static struct world w;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            make_world(&w, seed, &kinds[k]);
            for (size_t g = 0; g < sizeof guessers / sizeof *guessers; g++)
                for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
                    for (int32_t n_tokens = 64; n_tokens <= 512; n_tokens *= 2) {
                        double quiet_ns;
                        run(&w, &guessers[g], &clocks[i], 0, 16, n_tokens, &quiet_ns);
                        const double speed = clocks[i].rows(1) * 10 * MS / quiet_ns;
                        check_note("%s (%.1f ms); texts for %s; steps: %s; %d tokens: %.3f times as fast as without",
                                   guessers[g].name, guessers[g].ms, kinds[k].name, clocks[i].name, (int)n_tokens,
                                   speed);
                        CHECK(speed >= least_speed(&guessers[g], &clocks[i], n_tokens));
                    }
        }
}
