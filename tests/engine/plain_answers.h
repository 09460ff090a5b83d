// tests/engine/plain_answers.h - streams of one strategy over the toy model, several at once, against a plain model of its definition, which
// knows all tokens: banned strings, stop strings, replies, biases and limits are this file's; how a token is chosen is the test's.
#ifndef RN_TESTS_ENGINE_PLAIN_ANSWERS_H
#define RN_TESTS_ENGINE_PLAIN_ANSWERS_H

#include "engine/params.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "toy_rig.h"
#include <math.h>

enum { MAX_TOKENS = 100, N_LETTERS = 5, N_STREAMS = 4 };

// What one generation asks for.
struct plan {
    uint64_t seed;
    int32_t prompt[TOY_CTX], n_prompt, n_reply, max_tokens;
    rn_logit_bias bias[N_LETTERS];
    float repeat_penalty, temp;
    const char *banned[2], *stop[1];
    size_t n_banned, n_stop;
    const char *strategy;
    rn_strategy_options options;
};

// What must come.
struct plain {
    int32_t tokens[MAX_TOKENS], n, n_rewound;
    int32_t released; // tokens that are no part of what may become a banned string: they stay
    struct {
        int32_t at, token;
    } out[256];
    int32_t n_out;
    rn_finish finish;
};

// The token behind all[0..n), which has room for one more.
typedef int32_t (*choose_fn)(const struct toy_rig *g, const struct plan *p, const struct plain *m, int32_t *all,
                             int32_t n);

static inline bool is_ruled_out(const struct plain *m, int32_t token) {
    for (int32_t i = 0; i < m->n_out; i++)
        if (m->out[i].at == m->n && m->out[i].token == token) return true;
    return false;
}

// A row as the sampling stages that change single logits leave it: biases, then the repetition penalty over the last 64 tokens, then what
// is ruled out.
static inline void edit_row(const struct plan *p, const struct plain *m, const int32_t *all, int32_t n, float *row) {
    bool seen[TOY_VOCAB] = {false};
    for (int i = 0; i < N_LETTERS; i++) row[p->bias[i].token] += p->bias[i].bias;
    for (int32_t i = n > 64 ? n - 64 : 0; i < n; i++) seen[all[i]] = true;
    for (int32_t i = 0; i < TOY_VOCAB; i++)
        if (seen[i] && p->repeat_penalty != 1)
            row[i] = row[i] < 0 ? row[i] * p->repeat_penalty : row[i] / p->repeat_penalty;
    for (int32_t i = 0; i < TOY_VOCAB; i++)
        if (is_ruled_out(m, i)) row[i] = -INFINITY;
}

// What the request's sampler draws from a row behind all[0..n).
static inline int32_t draw_from(const struct plan *p, const struct plain *m, const int32_t *all, int32_t n,
                                const float *row) {
    struct sampling_params s;
    struct logit_bias bias[N_LETTERS];
    uint64_t mask[(TOY_VOCAB + 63) / 64];
    uint32_t n_tried = 0;
    rn_sampling sampling;
    rn_error err = {0};
    sampler *own;
    int32_t token = 0;
    rn_sampling_init(&sampling);
    sampling.temp = p->temp, sampling.repeat_penalty = p->repeat_penalty;
    sampling_from_public(&sampling, &s);
    s.seed = p->seed, s.masked = true;
    for (size_t i = 0; i < N_LETTERS; i++) bias[i] = (struct logit_bias){p->bias[i].token, p->bias[i].bias};
    s.bias = bias, s.n_bias = N_LETTERS;
    memset(mask, 0xff, sizeof mask);
    for (int32_t i = 0; i < TOY_VOCAB; i++)
        if (is_ruled_out(m, i)) mask[i / 64] &= ~(UINT64_C(1) << i % 64), n_tried++;
    if (!CHECK_OK(sampler_create(&s, &kernel_set_get(CPU_REF)->row, TOY_VOCAB, TOY_CTX, &own, &err), &err)) return 0;
    sampler_see_prompt(own, all, (size_t)(p->n_prompt - p->n_reply));
    for (int32_t i = p->n_prompt - p->n_reply; i < n; i++) sampler_accept(own, all[i]);
    sampler_set_tried(own, n_tried);
    CHECK_OK(
        sampler_draw_masked(own, row, (uint32_t)(n - p->n_prompt + p->n_reply), n_tried ? mask : NULL, &token, &err),
        &err);
    sampler_destroy(own);
    return token;
}

// Tokens are letters: the place of a string in the text is that of its tokens. -1: it is not there.
static inline int32_t find(const struct plain *m, const char *string) {
    const int32_t n = (int32_t)strlen(string);
    for (int32_t at = 0; at + n <= m->n; at++) {
        int32_t i = 0;
        while (i < n && m->tokens[at + i] == string[i]) i++;
        if (i == n) return at;
    }
    return -1;
}

static inline int32_t possible_from(const struct plan *p, const struct plain *m) {
    for (int32_t at = 0; at < m->n; at++)
        for (size_t k = 0; k < p->n_banned; k++) {
            int32_t i = at;
            while (i < m->n && m->tokens[i] == p->banned[k][i - at]) i++;
            if (i == m->n) return at > m->released ? at : m->released;
        }
    return m->n;
}

static inline void enumerate(const struct toy_rig *g, const struct plan *p, choose_fn choose, struct plain *m) {
    int32_t all[TOY_CTX + 1];
    *m = (struct plain){.finish = RN_FINISH_NONE};
    while (m->finish == RN_FINISH_NONE) {
        int32_t from = -1;
        memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
        memcpy(all + p->n_prompt, m->tokens, (size_t)m->n * sizeof *all);
        m->tokens[m->n] = choose(g, p, m, all, p->n_prompt + m->n);
        m->n++;
        const bool stops = p->n_stop && find(m, p->stop[0]) >= 0; // before a banned string that ends with it
        for (size_t i = 0; !stops && i < p->n_banned; i++) {
            const int32_t at = find(m, p->banned[i]);
            if (at >= 0 && (from < 0 || at < from)) from = at;
        }
        if (from >= 0) {
            if (from < m->released) from = m->released;
            while (m->n_out && m->out[m->n_out - 1].at > from) m->n_out--;
            m->out[m->n_out].at = from, m->out[m->n_out++].token = m->tokens[from];
            m->n_rewound += m->n - from;
            m->n = from;
            continue;
        }
        m->released = possible_from(p, m);
        if (stops)
            m->finish = RN_FINISH_STOP;
        else if (m->n == p->max_tokens)
            m->finish = RN_FINISH_LENGTH;
    }
}

static inline void plan_make(struct plan *p, uint64_t seed) {
    static const char *const strings[] = {"ab", "aab", "ca", "bcb", "dd", "abc", "cc"};
    struct toy_random r = {seed, 0};
    *p = (struct plan){.seed = seed, .repeat_penalty = 1};
    for (int i = 0; i < N_LETTERS; i++) p->bias[i] = (rn_logit_bias){'a' + i, 100};
    if (toy_below(&r, 3) == 0) p->repeat_penalty = 1.5F;
    p->temp = (float)toy_below(&r, 4) / 2;
    p->n_banned = (size_t)toy_below(&r, 3);
    for (size_t i = 0; i < p->n_banned; i++) p->banned[i] = strings[toy_below(&r, 7)];
    p->n_stop = (size_t)(toy_below(&r, 4) == 0);
    p->stop[0] = "eab";
    p->n_prompt = 1 + toy_below(&r, 100);
    for (int32_t i = 0; i < p->n_prompt; i++) p->prompt[i] = (i * 7 + toy_below(&r, 2)) % 256; // some begin alike
    if (toy_below(&r, 3) == 0) p->n_reply = toy_below(&r, p->n_prompt);
    p->max_tokens = 1 + toy_below(&r, MAX_TOKENS - 1);
    rn_strategy_options_init(&p->options);
}

static inline rn_request plan_request(const struct plan *p, rn_part *part, rn_sampling *sampling) {
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(sampling);
    *part = (rn_part){.kind = RN_PART_IDS, .ids = p->prompt, .n_ids = (size_t)(p->n_prompt - p->n_reply)};
    r.parts = part, r.n_parts = 1;
    r.reply = p->prompt + p->n_prompt - p->n_reply, r.n_reply = (size_t)p->n_reply;
    sampling->logit_bias = p->bias, sampling->n_logit_bias = N_LETTERS;
    sampling->repeat_penalty = p->repeat_penalty, sampling->temp = p->temp;
    r.sampling = sampling;
    r.has_seed = true, r.seed = p->seed;
    r.max_tokens = p->max_tokens;
    r.ignore_eos = true;
    r.banned_strings = p->banned, r.n_banned_strings = p->n_banned, r.banned_match_case = true;
    r.stop = p->stop, r.n_stop = p->n_stop;
    r.strategy = p->strategy, r.strategy_options = &p->options;
    return r;
}

static inline void plan_check(const struct toy_rig *g, const struct plan *p, choose_fn choose,
                              const struct outcome *o, bool has_logprobs) {
    static struct plain m;
    int32_t all[TOY_CTX + 1];
    float row[TOY_VOCAB];
    enumerate(g, p, choose, &m);
    if (!CHECK_INT(o->finish, m.finish)) CHECK_STR(o->detail, "");
    if (!CHECK_INT(o->n_tokens, m.n) || !CHECK_MEM(o->tokens, m.tokens, (size_t)m.n * sizeof *m.tokens)) return;
    CHECK_INT(o->usage.rewound_tokens, m.n_rewound);
    CHECK_INT(o->usage.drafted_tokens, 0);
    memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
    memcpy(all + p->n_prompt, m.tokens, (size_t)m.n * sizeof *all);
    for (int32_t i = 0; has_logprobs && i < m.n; i++) {
        toy_lm_expect(&g->config, all, p->n_prompt + i, row);
        CHECK(o->logprobs[i] ==
              token_logprobs(&kernel_set_get(CPU_REF)->row, row, TOY_VOCAB, m.tokens[i], 0, NULL, NULL));
    }
}

// Groups of streams at once, the first of which samples; with few pages they are preempted. Some are cancelled. Returns how often streams
// were preempted. make: the plan of a stream of the strategy.
static inline int64_t plan_attack(struct toy_rig *g, void (*make)(struct plan *p, uint64_t seed), choose_fn choose,
                                  uint64_t first, uint64_t n_rounds) {
    static struct plan p[N_STREAMS];
    static struct outcome o[N_STREAMS], alone;
    rn_engine_stats stats = {.struct_size = sizeof stats};
    for (uint64_t round = first; round < first + n_rounds; round++) {
        rn_stream *s[N_STREAMS] = {NULL};
        struct toy_random more = {round, 1000};
        bool logprobs[N_STREAMS];
        rn_part part[N_STREAMS];
        rn_sampling sampling[N_STREAMS];
        rn_request r[N_STREAMS];
        rn_error err = {0};
        for (int i = 0; i < N_STREAMS; i++) {
            (i == 0 ? plan_make : make)(&p[i], round * N_STREAMS + (uint64_t)i);
            r[i] = plan_request(&p[i], &part[i], &sampling[i]);
            r[i].stream_interval = 1 + toy_below(&more, 5);
            r[i].buffer_tokens = toy_below(&more, 2) ? 1 + toy_below(&more, 4) : 1024;
            r[i].logprobs = (logprobs[i] = toy_below(&more, 2)) ? toy_below(&more, 4) : -1;
            r[i].sampled_logprobs = toy_below(&more, 4) ? -1 : 1;
            r[i].prompt_logprobs = toy_below(&more, 4) ? -1 : 1;
            o[i] = (struct outcome){0};
            check_note("round %d, stream %d", (int)round, i);
            CHECK_OK(rn_stream_begin(g->engine, &r[i], &s[i], &err), &err);
        }
        for (int i = 0; i < N_STREAMS; i++) {
            check_note("round %d, stream %d", (int)round, i);
            if (s[i] && i > 0 && toy_below(&more, 8) == 0) rn_stream_cancel(s[i]);
            if (s[i] && drain(s[i], &o[i]) && i > 0 && o[i].finish != RN_FINISH_CANCELLED)
                plan_check(g, &p[i], choose, &o[i], logprobs[i]);
            rn_stream_close(s[i]);
        }
        if (run_request(g->engine, &r[0], &alone)) CHECK_MEM(o[0].tokens, alone.tokens, sizeof alone.tokens);
    }
    rn_engine_get_stats(g->engine, &stats, NULL);
    return (int64_t)stats.n_preempted;
}

// For check_each_failed_allocation().
static inline rn_status plan_run_once(struct toy_rig *g, const struct plan *p) {
    static struct outcome o;
    rn_part part;
    rn_sampling sampling;
    rn_stream *s = NULL;
    const rn_request r = plan_request(p, &part, &sampling);
    rn_status st = rn_stream_begin(g->engine, &r, &s, NULL);
    CHECK((s == NULL) == (st != RN_OK));
    o = (struct outcome){0};
    if (st == RN_OK && drain(s, &o) && o.finish == RN_FINISH_ERROR) {
        CHECK_HAS(o.detail, "memory");
        st = RN_E_NOMEM;
    }
    rn_stream_close(s);
    return st;
}

#endif
