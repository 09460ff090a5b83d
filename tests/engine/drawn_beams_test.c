// tests/engine/drawn_beams_test.c - the law of beams that are drawn (do_sample): how often each pair of texts is returned, against the
// probabilities of all orders in which candidates can be drawn, by chi-square.
//
// By the definition (docs/decoding.md) a step of a group draws K = 2 * num_beams continuations of its texts without replacement, from the
// softmax of their scores: sums of what the sampling stages make of log-probabilities. Of those among the first num_beams the ones that end
// are finished; of the others the best num_beams go on; at the limit the first num_beams are finished.
#include "kernels/kernels.h"
#include "tally.h"
#include "toy_rig.h"

enum { N_TOP = 6, N_NEW = 2, MOST_BEAMS = 2, MOST_GROUPS = 2, MOST_CANDIDATES = MOST_BEAMS * N_TOP, N_PROMPT = 9 };
enum { MOST_PAIRS = 8192 };

#if defined(TESTS_SANITIZED)
enum { N_DRAWS = 1000 };
#else
enum { N_DRAWS = 6000 };
#endif

static const struct kind {
    const char *why;
    int32_t n_beams, n_groups;
    float diversity, temp, penalty, length_penalty;
    bool stops, renormalizes;
} kinds[] = {
    {"two beams", 2, 1, 0, 0.1F, 1, 1, false, false},
    {"an end token", 2, 1, 0, 0.15F, 1, 1, true, false},
    {"a short text may win", 2, 1, 0, 0.15F, 1, 0, true, false},
    {"log-probabilities made a distribution again", 2, 1, 0, 0.15F, 1, 1, false, true},
    {"each text's own penalties", 2, 1, 0, 0.1F, 1.1F, 1, false, false},
    {"two groups", 2, 2, 0.5F, 0.1F, 1, 1, false, false},
    {"two groups, and an end token", 2, 2, 2, 0.15F, 1, 1, true, false},
};

struct beam_text {
    int32_t tokens[N_NEW], n;
    double score;
};
struct group {
    struct beam_text running[MOST_BEAMS], finished[MOST_BEAMS];
    int32_t n_running, n_finished;
};
struct world {
    struct group of[MOST_GROUPS];
    int32_t chosen[MOST_BEAMS * MOST_GROUPS], n_chosen; // by earlier groups, in this step
};

static struct {
    const struct toy_config *config;
    const struct kind *kind;
    int32_t prompt[N_PROMPT], stop, n_of_group;
    struct {
        struct beam_text of[2]; // returned, best first
        double expected;
        int n;
    } pairs[MOST_PAIRS];
    int n_pairs;
} law;

// What the stages leave of the row behind a text: N_TOP tokens, with what their scores grow by.
static void candidates_of(const struct beam_text *t, int32_t tokens[N_TOP], double values[N_TOP]) {
    int32_t all[N_PROMPT + N_NEW], best[N_TOP], scratch[2 * TOY_VOCAB];
    float logits[TOY_VOCAB];
    const struct rowmath *const rm = &kernel_set_get(CPU_REF)->row;
    const int32_t n = N_PROMPT + t->n;
    memcpy(all, law.prompt, sizeof law.prompt);
    memcpy(all + N_PROMPT, t->tokens, sizeof t->tokens);
    toy_lm_expect(law.config, all, n, logits);
    const double norm = row_log_sum_exp(rm, logits, TOY_VOCAB);
    for (int32_t i = 0; i < TOY_VOCAB; i++) {
        bool is_seen = false;
        for (int32_t k = 0; k < n; k++) is_seen |= all[k] == i;
        logits[i] = (float)((double)logits[i] - norm) * (is_seen ? law.kind->penalty : 1);
    }
    row_top_k(rm, logits, TOY_VOCAB, N_TOP, best, scratch);
    double sum = 0;
    for (int32_t i = 0; i < N_TOP; i++) {
        tokens[i] = best[i], values[i] = (double)logits[best[i]] / (double)law.kind->temp;
        sum += exp(values[i] - (double)logits[best[0]] / (double)law.kind->temp);
    }
    for (int32_t i = 0; i < N_TOP && law.kind->renormalizes; i++)
        values[i] -= (double)logits[best[0]] / (double)law.kind->temp + log(sum);
}

static int32_t list_candidates(const struct world *w, int32_t g, struct beam_text *out, double *weights) {
    int32_t n = 0;
    double max = -INFINITY;
    for (int32_t b = 0; b < w->of[g].n_running; b++) {
        int32_t tokens[N_TOP];
        double values[N_TOP];
        candidates_of(&w->of[g].running[b], tokens, values);
        for (int32_t i = 0; i < N_TOP; i++, n++) {
            out[n] = w->of[g].running[b];
            out[n].tokens[out[n].n++] = tokens[i];
            out[n].score += values[i];
            for (int32_t k = 0; k < w->n_chosen; k++)
                out[n].score -= w->chosen[k] == tokens[i] ? (double)law.kind->diversity : 0;
            max = fmax(max, out[n].score);
        }
    }
    for (int32_t i = 0; i < n; i++) weights[i] = exp(out[i].score - max);
    return n;
}

static void insert(struct beam_text *list, int32_t *n, const struct beam_text *t) {
    int32_t at = *n;
    while (at > 0 && list[at - 1].score < t->score) at--;
    if (at == law.n_of_group) return;
    if (*n < law.n_of_group) ++*n;
    for (int32_t i = *n - 1; i > at; i--) list[i] = list[i - 1];
    list[at] = *t;
}

static bool is_same(const struct beam_text *a, const struct beam_text *b) {
    return a->n == b->n && memcmp(a->tokens, b->tokens, (size_t)a->n * sizeof *a->tokens) == 0;
}

static int pair_of(const struct beam_text *a, const struct beam_text *b) {
    int i = 0;
    while (i < law.n_pairs && !(is_same(a, &law.pairs[i].of[0]) && is_same(b, &law.pairs[i].of[1]))) i++;
    if (i == law.n_pairs && CHECK(i < MOST_PAIRS)) {
        law.pairs[i].of[0] = *a, law.pairs[i].of[1] = *b;
        law.pairs[i].expected = law.pairs[i].n = 0;
        law.n_pairs++;
    }
    return i;
}

// All groups have ended: the two best of their finished texts, of equal ones that of the earlier group.
static void note_pair(const struct world *w, double p) {
    struct beam_text best[MOST_BEAMS * MOST_GROUPS];
    int32_t n = 0;
    for (int32_t g = 0; g < law.kind->n_groups; g++)
        for (int32_t i = 0; i < w->of[g].n_finished; i++) {
            int32_t at = n++;
            for (; at > 0 && best[at - 1].score < w->of[g].finished[i].score; at--) best[at] = best[at - 1];
            best[at] = w->of[g].finished[i];
        }
    if (CHECK(n >= 2)) law.pairs[pair_of(&best[0], &best[1])].expected += p;
}

static void enumerate(const struct world *w, int32_t step, int32_t g, double p);

// The group has drawn its candidates, in this order.
static void take(const struct world *before, int32_t step, int32_t g, const struct beam_text *drawn, int32_t n,
                 double p) {
    struct world w = *before;
    struct group *const to = &w.of[g];
    to->n_running = 0;
    for (int32_t i = 0; i < n; i++) {
        struct beam_text t = drawn[i];
        const bool stops = law.kind->stops && t.tokens[t.n - 1] == law.stop;
        if (stops || step == N_NEW) {
            t.score /= pow(t.n, (double)law.kind->length_penalty);
            if (i < law.n_of_group) insert(to->finished, &to->n_finished, &t);
        } else
            insert(to->running, &to->n_running, &t);
    }
    for (int32_t i = 0; i < to->n_running; i++) w.chosen[w.n_chosen++] = to->running[i].tokens[step - 1];
    // Full, and the best one that goes on is no better: done.
    if (to->n_finished == law.n_of_group && to->n_running > 0 &&
        to->running[0].score / pow(step, (double)law.kind->length_penalty) <= to->finished[to->n_finished - 1].score)
        to->n_running = 0;
    enumerate(&w, step, g + 1, p);
}

// One more draw of the group, of its n candidates; a weight of 0: drawn already.
static void draw(const struct world *w, int32_t step, int32_t g, const struct beam_text *of, double *weights,
                 int32_t n, struct beam_text *drawn, int32_t n_drawn, double p) {
    const int32_t n_want = (step == N_NEW ? 1 : 2) * law.n_of_group; // at the limit the others are nothing
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += weights[i];
    if (n_drawn == n_want) {
        take(w, step, g, drawn, n_drawn, p);
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        const double weight = weights[i];
        if (weight <= 0) continue;
        drawn[n_drawn] = of[i];
        weights[i] = 0;
        draw(w, step, g, of, weights, n, drawn, n_drawn + 1, p * weight / total);
        weights[i] = weight;
    }
}

static void enumerate(const struct world *w, int32_t step, int32_t g, double p) {
    struct beam_text of[MOST_CANDIDATES], drawn[2 * MOST_BEAMS];
    double weights[MOST_CANDIDATES];
    struct world next = *w;
    if (g == law.kind->n_groups) step++, g = 0, next.n_chosen = 0;
    if (step > N_NEW)
        note_pair(w, p);
    else if (next.of[g].n_running == 0)
        enumerate(&next, step, g + 1, p);
    else
        draw(&next, step, g, of, weights, list_candidates(&next, g, of, weights), drawn, 0, p);
}

// How often pairs come, of streams with one seed each.
static bool count_pairs(const struct toy_rig *g) {
    rn_request r;
    rn_sampling sampling;
    rn_strategy_options o;
    rn_error err = {0};
    const struct kind *const k = law.kind;
    const rn_part part = {.kind = RN_PART_IDS, .ids = law.prompt, .n_ids = N_PROMPT};
    rn_request_init(&r);
    rn_sampling_init(&sampling);
    rn_strategy_options_init(&o);
    o.num_beams = k->n_beams, o.num_beam_groups = k->n_groups, o.num_return_sequences = 2, o.do_sample = 1;
    o.diversity_penalty = k->diversity, o.length_penalty = k->length_penalty, o.renormalize_logits = k->renormalizes;
    sampling.temp = k->temp, sampling.top_k = N_TOP, sampling.top_p = 1, sampling.min_p = 0;
    sampling.repeat_penalty = k->penalty;
    r.strategy = "beam", r.strategy_options = &o, r.sampling = &sampling, r.parts = &part, r.n_parts = 1;
    r.max_tokens = N_NEW, r.ignore_eos = r.has_seed = true;
    r.stop_tokens = &law.stop, r.n_stop_tokens = k->stops;
    for (r.seed = 0; r.seed < N_DRAWS; r.seed++) {
        rn_stream *s;
        rn_chunk c = new_chunk();
        struct beam_text got[2] = {0};
        if (!CHECK_OK(rn_stream_begin(g->engine, &r, &s, &err), &err)) return false;
        while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) {
        }
        for (size_t i = 0; i < 2 && i < c.n_sequences; i++) {
            got[i].n = (int32_t)c.sequences[i].n_tokens;
            memcpy(got[i].tokens, c.sequences[i].tokens, c.sequences[i].n_tokens * sizeof *got[i].tokens);
        }
        if (CHECK_INT((int64_t)c.n_sequences, 2)) law.pairs[pair_of(&got[0], &got[1])].n++;
        rn_stream_close(s);
    }
    return true;
}

TEST(pairs_of_drawn_beams_come_as_often_as_their_orders_are_probable) {
    struct toy_rig g;
    if (!toy_rig_open(&g, 32, 0, 1, 1)) return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct world w = {0};
        int32_t best[N_TOP];
        double values[N_TOP], total = 0, square = 0, rare = 0;
        int n_rare = 0, freedom = -1;
        law.config = &g.config, law.kind = &kinds[i], law.n_pairs = 0;
        law.n_of_group = kinds[i].n_beams / kinds[i].n_groups;
        for (int32_t k = 0; k < N_PROMPT; k++) law.prompt[k] = (k * 37 + 11) % TOY_VOCAB;
        candidates_of(&(struct beam_text){0}, best, values);
        law.stop = best[1];
        for (int32_t k = 0; k < kinds[i].n_groups; k++) w.of[k].n_running = 1;
        check_note("%s", kinds[i].why);
        enumerate(&w, 1, 0, 1);
        const int n_possible = law.n_pairs;
        if (!count_pairs(&g)) break;
        CHECK_INT(law.n_pairs, n_possible); // no other one came
        for (int k = 0; k < law.n_pairs; k++) {
            const double expected = law.pairs[k].expected * N_DRAWS;
            total += law.pairs[k].expected;
            if (expected < 5) {
                rare += expected, n_rare += law.pairs[k].n;
                continue;
            }
            square += (law.pairs[k].n - expected) * (law.pairs[k].n - expected) / expected;
            freedom++;
        }
        if (rare > 0) square += (n_rare - rare) * (n_rare - rare) / rare, freedom++;
        check_note("%s: %d pairs, %.1f of %d degrees of freedom", kinds[i].why, law.n_pairs, square, freedom);
        CHECK(fabs(total - 1) < 1e-9);
        CHECK(freedom >= 8 && is_of_one_law(square, freedom));
    }
    toy_rig_close(&g);
}
