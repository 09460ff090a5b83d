// tests/engine/fixture.h - engines on the default model, and streams run to their end.
#ifndef RN_TESTS_ENGINE_FIXTURE_H
#define RN_TESTS_ENGINE_FIXTURE_H

#include "tests/check.h"
#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    rn_model *model;
    rn_engine *engine;
};

static inline const char *stories(void) { return RUNNEL_SOURCE_DIR "/models/stories.gguf"; }

static inline rn_engine_options engine_options(void) {
    rn_engine_options o;
    rn_engine_options_init(&o);
    o.n_threads = 1;
    o.cpu = getenv("RUNNEL_CPU");
    return o;
}

static inline bool fixture_open(struct fixture *f, const rn_engine_options *o) {
    rn_error err = {0};
    *f = (struct fixture){0};
    return CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, o, &f->engine, &err), &err);
}
static inline void fixture_close(struct fixture *f) {
    rn_engine_close(f->engine);
    rn_model_close(f->model);
}

// What a stream gave, whole.
struct outcome {
    char text[8192];
    size_t n_text, n_chunks, n_dropped;
    int32_t tokens[1024];
    size_t n_tokens;
    float logprobs[1024];
    rn_finish finish;
    char detail[512];
    rn_usage usage;
    uint64_t seed;
};

static inline const char *any_drafter(uint64_t seed) {
    static const char *const names[] = {"ngram",       "suffix",      "suffix,ngram",
                                        "ngram-cache", "lookahead",   "lookahead=2:2:2,ngram",
                                        "draft",       "ngram,draft", "draft,suffix"};
    return names[seed % (sizeof names / sizeof *names)];
}

// Speculation or none, and drafts that are made whether they pay or not, by the seed. The engine has a model that drafts.
static inline void any_drafts(rn_request *r, uint64_t seed) {
    if (seed % 8 == 0) return;
    r->speculate = any_drafter(seed / 8), r->draft_max = (int32_t)(seed % 8);
    r->draft_min = seed % 3 ? r->draft_max : 0;
}

static inline rn_chunk new_chunk(void) {
    rn_chunk c;
    rn_chunk_init(&c);
    return c;
}

static inline void outcome_add(struct outcome *o, const rn_chunk *c) {
    if (o->n_text + c->n_text < sizeof o->text) memcpy(o->text + o->n_text, c->text, c->n_text);
    o->n_text += c->n_text;
    o->text[o->n_text < sizeof o->text ? o->n_text : sizeof o->text - 1] = 0;
    for (size_t i = 0; i < c->n_tokens && o->n_tokens < 1024; i++) {
        o->logprobs[o->n_tokens] = c->token_data ? c->token_data[i].logprob : 0.0f;
        o->tokens[o->n_tokens++] = c->tokens[i];
    }
    o->n_chunks++;
    o->n_dropped += c->n_dropped;
    if (c->finish_reason == RN_FINISH_NONE) return;
    o->finish = c->finish_reason;
    snprintf(o->detail, sizeof o->detail, "%s", c->finish_detail);
    o->usage = *c->usage;
    o->seed = c->seed;
}

// Reads to the end; false when something other than RN_OK comes before it.
static inline bool drain(rn_stream *s, struct outcome *o) {
    rn_error err = {0};
    while (o->finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) return false;
        outcome_add(o, &c);
    }
    return true;
}

static inline rn_request text_request(const char *prompt) {
    static _Thread_local rn_part part[32];
    static _Thread_local rn_sampling sampling[32];
    static _Thread_local unsigned turn;
    rn_sampling *s = &sampling[turn % 32];
    rn_part *p = &part[turn++ % 32];
    rn_request r;
    rn_request_init(&r);
    *p = (rn_part){.kind = RN_PART_TEXT, .text = prompt, .n_text = strlen(prompt)};
    r.parts = p;
    r.n_parts = 1;
    rn_sampling_init(s);
    s->temp = 0.0f;
    r.sampling = s;
    r.max_tokens = 40;
    r.has_seed = true;
    r.seed = 7;
    return r;
}

// Of a request that text_request() or chat_request() made.
static inline rn_sampling *sampling_of(const rn_request *r) { return (rn_sampling *)(uintptr_t)r->sampling; }

static inline bool run_request(rn_engine *e, const rn_request *r, struct outcome *o) {
    rn_error err = {0};
    rn_stream *s;
    *o = (struct outcome){0};
    if (!CHECK_OK(rn_stream_begin(e, r, &s, &err), &err)) return false;
    const bool ok = drain(s, o);
    rn_stream_close(s);
    return ok;
}

static inline bool same_outcome(const struct outcome *a, const struct outcome *b) {
    return CHECK_INT(a->n_tokens, b->n_tokens) && CHECK_MEM(a->tokens, b->tokens, a->n_tokens * sizeof *a->tokens) &&
           CHECK_STR(a->text, b->text) && CHECK_INT(a->finish, b->finish) && CHECK_STR(a->detail, b->detail) &&
           CHECK_MEM(a->logprobs, b->logprobs, a->n_tokens * sizeof *a->logprobs);
}

#endif
