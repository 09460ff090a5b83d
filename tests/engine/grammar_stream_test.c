// tests/engine/grammar_stream_test.c - streams with a grammar over the toy model, against draws from rows that a matcher masks.
#include "base/mem.h"
#include "kernels/kernels.h"
#include "sampling/token_mask.h"
#include "toy_rig.h"

enum { MAX_TOKENS = 120, N_WORDS = (TOY_VOCAB + 63) / 64, N_SOURCES = 12 };

static const struct {
    rn_grammar_kind kind;
    const char *text;
} sources[N_SOURCES] = {
    {RN_GRAMMAR_REGEX, "(ab|c)*d?"},
    {RN_GRAMMAR_REGEX, "[a-f]{3,9}(\xC3\xA9|!)"},
    {RN_GRAMMAR_REGEX, "(?:[^x]|xx)*y"},
    {RN_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"enum\":[1,\"a\",null]},\"maxItems\":4}"},
    {RN_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"type\":\"boolean\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\"],"
     "\"additionalProperties\":false,\"type\":\"object\"}"},
    {RN_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":20}"},
    {RN_GRAMMAR_JSON_OBJECT, NULL},
    {RN_GRAMMAR_CHOICE, NULL},
    // With tokens that have to follow.
    {RN_GRAMMAR_CFG, "root ::= \"then \" (\"the\" | \"an\") \"ing\" (\"re\" | \"in\")* \"x\""},
    {RN_GRAMMAR_CFG, "root ::= (\"th\" | \"in\") \"e and the \" [0-9] \" rings of the king\""},
    {RN_GRAMMAR_CFG, "root ::= \"on\" <|pad|> \"ther\" <|pad|> <|begin|> (\"e\" | \"a\") \"n the th\" root?"},
    {RN_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"the name and ring\":{\"type\":\"boolean\"},\"other thing\":{\"enum\":[\"here\",\"there\"]}},"
     "\"required\":[\"the name and ring\",\"other thing\"],\"additionalProperties\":false,\"type\":\"object\"}"},
};
static const char *const choices[] = {"yes", "yes, but", "no"};

static rn_grammar *compile(const struct toy_rig *g, int i) {
    rn_grammar_source s;
    rn_grammar *made = NULL;
    rn_error err = {0};
    rn_grammar_source_init(&s);
    s.kind = sources[i].kind;
    s.text = sources[i].text, s.n_text = s.text ? strlen(s.text) : 0;
    if (s.kind == RN_GRAMMAR_CHOICE) s.choices = choices, s.n_choices = 3;
    CHECK_OK(rn_grammar_compile(g->model, &s, &made, &err), &err);
    return made;
}

// What one generation asks for.
struct plan {
    int source;
    rn_grammar *grammar;
    rn_logit_bias bias[64];
    size_t n_bias;
    rn_sampling sampling;
    uint64_t seed;
    int32_t prompt[TOY_CTX], n_prompt, n_reply, max_tokens;
    const char *banned[2];
    size_t n_banned;
    bool ignore_eos, draws_all;
};

// ---- the plain model ----

struct plain {
    int32_t tokens[MAX_TOKENS], n, n_forced;
    rn_finish finish;
    const char *detail;
};

static bool is_end(const struct toy_rig *g, int32_t token) { return model_is_end_token(g->model, token); }

static bool draw(const struct toy_rig *g, const struct plan *p, const struct plain *m, const uint64_t *mask,
                 int32_t *token) {
    float logits[TOY_VOCAB];
    int32_t all[TOY_CTX + 1];
    struct logit_bias bias[64];
    struct sampling_params s;
    sampler *own;
    rn_error err = {0};
    memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
    memcpy(all + p->n_prompt, m->tokens, (size_t)m->n * sizeof *all);
    toy_lm_expect(&g->config, all, p->n_prompt + m->n, logits);
    sampling_defaults(&s);
    s.temp = p->sampling.temp, s.top_k = p->sampling.top_k, s.top_p = p->sampling.top_p, s.min_p = p->sampling.min_p;
    s.seed = p->seed, s.masked = true;
    for (size_t i = 0; i < p->n_bias; i++) bias[i] = (struct logit_bias){p->bias[i].token, p->bias[i].bias};
    s.bias = bias, s.n_bias = p->n_bias;
    if (!CHECK_OK(sampler_create(&s, &kernel_set_get(CPU_REF)->row, TOY_VOCAB, TOY_CTX, &own, &err), &err))
        return false;
    sampler_see_prompt(own, p->prompt, (size_t)(p->n_prompt - p->n_reply));
    for (int32_t i = p->n_prompt - p->n_reply; i < p->n_prompt + m->n; i++) sampler_accept(own, all[i]);
    const rn_status st = sampler_draw_masked(own, logits, (uint32_t)(p->n_reply + m->n), mask, token, &err);
    sampler_destroy(own);
    return CHECK_OK(st, &err);
}

// Tokens that have to follow, by their definition (docs/structured-output.md), from masks alone. Tokens 0 to 255 are the bytes.
enum { MAX_FORCED = 60 };
struct forced {
    int32_t units[MAX_FORCED]; // bytes and special tokens
    int32_t n, n_sure;
    int32_t tokens[MAX_FORCED], n_tokens;
};

static bool is_special(int32_t token) { return token >= TINY_BYTES_BOS && token <= TINY_BYTES_PAD; }

static bool takes(rn_matcher *at, int32_t token, int *n_taken) {
    bool is_taken;
    CHECK_OK(rn_matcher_take(at, token, &is_taken, NULL), NULL);
    *n_taken += is_taken;
    return is_taken;
}

// Is there a token that begins at this place and goes beyond the end, where `at` is?
static bool goes_beyond(const struct toy_rig *g, rn_matcher *at, const struct forced *f, int32_t from) {
    for (int32_t t = 0; t < TOY_VOCAB; t++) {
        size_t n;
        int n_taken = 0;
        const char *const piece = model_piece(g->model, t, false, &n);
        if ((int32_t)n <= f->n - from) continue;
        size_t k = 0;
        while (from + (int32_t)k < f->n && f->units[from + (int32_t)k] == (uint8_t)piece[k]) k++;
        bool is_one = from + (int32_t)k == f->n;
        for (; is_one && k < n; k++) is_one = takes(at, (uint8_t)piece[k], &n_taken);
        rn_matcher_rewind(at, (size_t)n_taken);
        if (is_one) return true;
    }
    return false;
}

// Of the units [from, to), which are bytes. False: what follows is not forced.
static bool cut(const struct toy_rig *g, struct forced *f, int32_t before, int32_t from, int32_t to, int32_t sure) {
    char text[MAX_FORCED + 16];
    int32_t *ids, at = from;
    size_t n = 0, n_ids, i = 0;
    rn_error err = {0};
    if (before >= 0 && !is_special(before)) {
        const char *const piece = model_piece(g->model, before, false, &n);
        memcpy(text, piece, n);
    }
    i = n > 0;
    for (int32_t k = from; k < to; k++) text[n++] = (char)f->units[k];
    if (!CHECK_OK(rn_tokenize_more(g->model, text, n, false, &ids, &n_ids, &err), &err)) return false;
    bool goes_on = i == 0 || ids[0] == before;
    for (; goes_on && i < n_ids; i++) {
        size_t n_piece;
        (void)model_piece(g->model, ids[i], false, &n_piece);
        at += (int32_t)n_piece;
        goes_on = at <= sure;
        if (goes_on) f->tokens[f->n_tokens++] = ids[i];
    }
    rn_free(ids);
    return goes_on;
}

static void find_forced(const struct toy_rig *g, rn_matcher *at, int32_t before, struct forced *f) {
    uint64_t mask[N_WORDS];
    bool is_whole = false, is_over;
    int n_taken = 0;
    f->n = f->n_tokens = 0;
    while (f->n < MAX_FORCED) {
        int32_t next = -1, n_next = 0;
        CHECK_OK(rn_matcher_state(at, &is_whole, &is_over, NULL), NULL);
        CHECK_OK(rn_matcher_mask(at, mask, N_WORDS, NULL), NULL);
        for (int32_t t = 0; t < 256 + 3; t++)
            if (token_mask_has(mask, t)) next = t, n_next++;
        if (is_whole || n_next != 1) break;
        f->units[f->n++] = next;
        (void)takes(at, next, &n_taken);
    }
    for (f->n_sure = 0; f->n_sure < f->n && !goes_beyond(g, at, f, f->n_sure);) f->n_sure++;
    rn_matcher_rewind(at, (size_t)n_taken);
    for (int32_t from = 0, to; from < f->n; from = to) {
        for (to = from; to < f->n && !is_special(f->units[to]);) to++;
        if (to > from && !cut(g, f, before, from, to, to < f->n ? to : f->n_sure)) return;
        if (to == f->n) return;
        before = f->units[to];
        f->tokens[f->n_tokens++] = f->units[to++];
    }
}

static bool enumerate(const struct toy_rig *g, const struct plan *p, struct plain *m) {
    uint64_t mask[N_WORDS];
    rn_matcher *at;
    rn_error err = {0};
    bool is_taken, is_whole, is_over;
    *m = (struct plain){.finish = RN_FINISH_NONE, .detail = ""};
    if (!CHECK_OK(rn_matcher_open(p->grammar, &at, &err), &err)) return false;
    for (int32_t i = 0; i < p->n_reply; i++)
        rn_matcher_take(at, p->prompt[p->n_prompt - p->n_reply + i], &is_taken, &err);
    bool ok = CHECK_OK(rn_matcher_state(at, &is_whole, &is_over, &err), &err);
    if (is_over) m->finish = RN_FINISH_STOP, m->detail = "grammar";
    struct forced f = {.n_tokens = 0};
    int32_t next = 0;
    bool asks = !p->draws_all;
    while (ok && m->finish == RN_FINISH_NONE) {
        if (asks && next == f.n_tokens) {
            const int32_t before = p->n_reply + m->n == 0 ? -1
                                   : m->n                 ? m->tokens[m->n - 1]
                                                          : p->prompt[p->n_prompt - 1];
            find_forced(g, at, before, &f);
            asks = false, next = 0;
        }
        if (next < f.n_tokens) {
            m->tokens[m->n] = f.tokens[next++];
            m->n_forced++;
        } else {
            ok = CHECK_OK(rn_matcher_mask(at, mask, N_WORDS, &err), &err);
            for (int32_t t = 0; p->ignore_eos && t < TOY_VOCAB; t++)
                if (is_end(g, t)) mask[t / 64] &= ~(UINT64_C(1) << t % 64);
            ok = ok && draw(g, p, m, mask, &m->tokens[m->n]);
            asks = !p->draws_all;
        }
        const int32_t token = m->tokens[m->n++];
        if (is_end(g, token)) {
            m->finish = RN_FINISH_STOP, m->detail = "end token";
        } else {
            ok = ok && CHECK_OK(rn_matcher_take(at, token, &is_taken, &err), &err) && CHECK(is_taken);
            ok = ok && CHECK_OK(rn_matcher_state(at, &is_whole, &is_over, &err), &err);
            if (is_over) m->finish = RN_FINISH_STOP, m->detail = "grammar";
        }
        if (m->finish == RN_FINISH_NONE && m->n == p->max_tokens) m->finish = RN_FINISH_LENGTH;
    }
    rn_matcher_close(at);
    return ok;
}

// ---- streams ----

static rn_request request_of(struct plan *p, rn_part *part) {
    rn_request r;
    rn_request_init(&r);
    *part = (rn_part){.kind = RN_PART_IDS, .ids = p->prompt, .n_ids = (size_t)(p->n_prompt - p->n_reply)};
    p->sampling.logit_bias = p->bias, p->sampling.n_logit_bias = p->n_bias;
    r.parts = part, r.n_parts = 1;
    r.reply = p->prompt + p->n_prompt - p->n_reply, r.n_reply = (size_t)p->n_reply;
    r.sampling = &p->sampling;
    r.has_seed = true, r.seed = p->seed;
    r.max_tokens = p->max_tokens;
    r.ignore_eos = p->ignore_eos;
    r.grammar = p->grammar;
    any_drafts(&r, p->seed);
    r.banned_strings = p->banned, r.n_banned_strings = p->n_banned;
    r.no_forced_tokens = p->draws_all;
    return r;
}

// Tokens of the grammar that a reply begins with.
static int32_t any_reply(const struct plan *p, struct toy_random *r, int32_t *tokens, int32_t most) {
    uint64_t mask[N_WORDS];
    rn_matcher *at;
    rn_error err = {0};
    int32_t n = 0;
    if (!CHECK_OK(rn_matcher_open(p->grammar, &at, &err), &err)) return 0;
    for (int tries = 0; n < most && tries < 400; tries++) {
        const int32_t token = toy_below(r, TOY_VOCAB);
        bool is_taken;
        CHECK_OK(rn_matcher_mask(at, mask, N_WORDS, &err), &err);
        CHECK_OK(rn_matcher_take(at, token, &is_taken, &err), &err);
        if (is_taken && CHECK(token_mask_has(mask, token))) tokens[n++] = token;
    }
    rn_matcher_close(at);
    return n;
}

static void make_plan(struct plan *p, rn_grammar *const *grammars, uint64_t seed) {
    struct toy_random r = {seed, 0};
    *p = (struct plan){.seed = seed, .source = toy_below(&r, N_SOURCES), .draws_all = toy_below(&r, 4) == 0};
    p->grammar = grammars[p->source];
    rn_sampling_init(&p->sampling);
    p->n_bias = (size_t)toy_below(&r, 40);
    for (size_t i = 0; i < p->n_bias; i++) // unlike the boundary of -inf these leave what the grammar allows
        p->bias[i] = (rn_logit_bias){toy_below(&r, TOY_VOCAB), (float)(toy_below(&r, 41) - 20)};
    p->sampling.temp = toy_below(&r, 3) ? 0.5F + (float)toy_below(&r, 9) / 2 : 0;
    p->sampling.top_k = toy_below(&r, 3) ? toy_below(&r, 12) : 0;
    p->sampling.top_p = toy_below(&r, 2) ? 1 : 0.9F;
    p->sampling.min_p = toy_below(&r, 2) ? 0 : 0.01F;
    p->n_prompt = 1 + toy_below(&r, 100);
    for (int32_t i = 0; i < p->n_prompt; i++) p->prompt[i] = toy_below(&r, 256);
    if (toy_below(&r, 3) == 0) {
        p->n_reply = any_reply(p, &r, p->prompt + p->n_prompt, 12);
        p->n_prompt += p->n_reply;
    }
    p->max_tokens = 1 + toy_below(&r, MAX_TOKENS - 1);
}

static void check_outcome(const struct plain *m, const struct outcome *o) {
    if (!CHECK_INT(o->finish, m->finish)) CHECK_STR(o->detail, m->detail);
    if (m->finish == RN_FINISH_STOP) CHECK_HAS(o->detail, m->detail);
    if (CHECK_INT(o->n_tokens, m->n)) CHECK_MEM(o->tokens, m->tokens, (size_t)m->n * sizeof *m->tokens);
}

// Groups of streams at once, which share grammars; with few pages they are preempted.
static void attack(int32_t n_pages, int32_t n_states, int n_threads, uint64_t first, uint64_t n_rounds) {
    enum { N_STREAMS = 4 };
    static struct plan p[N_STREAMS];
    static struct plain m;
    static struct outcome o;
    struct toy_rig g;
    rn_grammar *grammars[N_SOURCES];
    rn_engine_stats stats = {.struct_size = sizeof stats};
    int n_whole = 0, n_cut = 0, n_forced = 0;
    int64_t n_accepted = 0, n_wrong = 0;
    if (!toy_rig_open(&g, n_pages, n_states, N_STREAMS, n_threads)) return;
    for (int i = 0; i < N_SOURCES; i++) grammars[i] = compile(&g, i);
    for (uint64_t round = first; round < first + n_rounds; round++) {
        rn_stream *s[N_STREAMS] = {NULL};
        struct toy_random more = {round, 1000};
        for (int i = 0; i < N_STREAMS; i++) {
            rn_part part;
            rn_error err = {0};
            make_plan(&p[i], grammars, round * N_STREAMS + (uint64_t)i);
            rn_request r = request_of(&p[i], &part);
            r.stream_interval = 1 + toy_below(&more, 5);
            r.buffer_tokens = toy_below(&more, 2) ? 1 + toy_below(&more, 4) : 1024;
            r.logprobs = toy_below(&more, 2) ? toy_below(&more, 4) : -1;
            if (CHECK_OK(rn_stream_begin(g.engine, &r, &s[i], &err), &err)) rn_stream_pause(s[i]);
        }
        for (int i = 0; i < N_STREAMS; i++) // at once, so that they meet
            if (s[i]) rn_stream_resume(s[i]);
        for (int i = 0; i < N_STREAMS; i++) {
            check_note("round %d, stream %d, source %d", (int)round, i, p[i].source);
            o = (struct outcome){0};
            if (s[i] && drain(s[i], &o) && enumerate(&g, &p[i], &m)) {
                check_outcome(&m, &o);
                n_accepted += o.usage.accepted_tokens, n_wrong += o.usage.drafted_tokens - o.usage.accepted_tokens;
                n_whole += m.finish == RN_FINISH_STOP, n_cut += m.finish == RN_FINISH_LENGTH, n_forced += m.n_forced;
            }
            rn_stream_close(s[i]);
        }
    }
    rn_engine_get_stats(g.engine, &stats, NULL);
    CHECK(n_whole > (int)n_rounds && n_cut > (int)n_rounds / 10 && n_forced > 10 * (int)n_rounds);
    CHECK(n_accepted > (int)n_rounds && n_wrong > (int)n_rounds);
    CHECK((stats.n_preempted > 0) == (n_pages < 16));
    for (int i = 0; i < N_SOURCES; i++) rn_grammar_close(grammars[i]);
    toy_rig_close(&g);
}

TEST(streams_with_a_grammar_equal_the_plain_model) { attack(64, 0, 1, 1, 150); }
TEST(preempted_ones_equal_it_too) { attack(5, 0, 2, 1000, 100); }
TEST(those_of_a_recurrent_model_equal_it_too) { attack(64, 12, 1, 2000, 60); }

// A banned string is taken back within the grammar: the answer follows it and holds none.
TEST(banned_strings_are_taken_back_within_a_grammar) {
    static struct plan p;
    static struct outcome o;
    struct toy_rig g;
    int64_t n_rewound = 0;
    int n_done = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(&g, 2), *grammars[N_SOURCES];
    for (int i = 0; i < N_SOURCES; i++) grammars[i] = mine;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rn_part part;
        rn_matcher *at;
        rn_error err = {0};
        bool is_taken = true;
        make_plan(&p, grammars, seed);
        for (size_t i = 0; i < 3; i++)
            p.bias[i] = (rn_logit_bias){toy_token(&g, i == 0 ? "a" : i == 1 ? "b" : "x", 1), 12};
        p.n_bias = 3, p.n_reply = 0;
        p.banned[0] = "ab", p.banned[1] = "xxa", p.n_banned = 2;
        const rn_request r = request_of(&p, &part);
        if (!run_request(g.engine, &r, &o)) break;
        check_note("seed %d: %s", (int)seed, o.detail);
        if (!CHECK(o.finish == RN_FINISH_STOP || o.finish == RN_FINISH_LENGTH)) break;
        CHECK(!strstr(o.text, "ab") && !strstr(o.text, "xxa"));
        CHECK_OK(rn_matcher_open(mine, &at, &err), &err);
        for (size_t i = 0; i < o.n_tokens && is_taken && !is_end(&g, o.tokens[i]); i++)
            CHECK_OK(rn_matcher_take(at, o.tokens[i], &is_taken, &err), &err);
        CHECK(is_taken);
        rn_matcher_close(at);
        n_rewound += o.usage.rewound_tokens;
        n_done++;
    }
    CHECK(n_done == 60 && n_rewound > 30);
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

// The answer begins with the bytes that were taken off the prompt, and what follows them is the grammar's.
TEST(a_healed_prompt_and_a_grammar_share_a_token) {
    static struct outcome o;
    struct toy_rig g;
    rn_part part;
    rn_error err = {0};
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(&g, 2);
    int n_healed = 0;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        static struct plan p;
        rn_grammar *all[N_SOURCES];
        for (int i = 0; i < N_SOURCES; i++) all[i] = mine;
        struct grammar_cursor at;
        bool is_taken = true;
        struct toy_random r = {seed, 5000};
        make_plan(&p, all, seed);
        p.n_reply = 0, p.max_tokens = 40;
        for (int32_t i = 0; i < p.n_prompt; i++) p.prompt[i] = toy_below(&r, TOY_VOCAB);
        if (toy_below(&r, 2)) p.prompt[p.n_prompt++] = toy_token(&g, "t", 1);
        if (toy_below(&r, 2)) p.prompt[p.n_prompt++] = toy_token(&g, "h", 1);
        rn_request q = request_of(&p, &part);
        q.token_healing = q.raw_bytes = true;
        if (!run_request(g.engine, &q, &o)) break;
        check_note("seed %d: %s", (int)seed, o.detail);
        if (!CHECK(o.finish == RN_FINISH_STOP || o.finish == RN_FINISH_LENGTH)) break;
        // What was taken off is what the tokens have more than the text.
        size_t n_bytes = 0;
        for (size_t i = 0; i < o.n_tokens && !is_end(&g, o.tokens[i]); i++) {
            size_t n;
            (void)model_piece(g.model, o.tokens[i], false, &n);
            n_bytes += n;
        }
        if (!CHECK(n_bytes >= o.n_text)) break;
        CHECK_OK(grammar_cursor_init(&at, mine->g, &err), &err);
        at.skip = n_bytes - o.n_text;
        n_healed += at.skip > 0;
        for (size_t i = 0; i < o.n_tokens && is_taken && !is_end(&g, o.tokens[i]); i++)
            CHECK_OK(grammar_take(&at, o.tokens[i], &is_taken, &err), &err);
        CHECK(is_taken);
        grammar_cursor_free(&at);
    }
    CHECK(n_healed > 20);
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

TEST(what_a_grammar_excludes_is_refused) {
    struct toy_rig g, other;
    struct plan p;
    rn_part part;
    rn_stream *s = NULL;
    rn_error err = {0};
    if (!toy_rig_open(&g, 64, 0, 1, 1) || !toy_rig_open(&other, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(&g, 7), *const theirs = compile(&other, 7), *grammars[N_SOURCES];
    for (int i = 0; i < N_SOURCES; i++) grammars[i] = mine;
    make_plan(&p, grammars, 1);
    p.n_reply = 0;
    rn_request r = request_of(&p, &part);
    r.grammar = theirs;
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "another model");
    r.grammar = mine;
    r.accept_revisions = true;
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "accept_revisions");
    r.accept_revisions = false;
    const int32_t reply[] = {toy_token(&g, "y", 1), toy_token(&g, "a", 1)};
    r.reply = reply, r.n_reply = 2;
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "reply[1]");
    rn_grammar_close(theirs);
    // A reply that is whole already: nothing is generated. The grammar may be closed while a stream uses it.
    int32_t no[2] = {toy_token(&g, "n", 1), toy_token(&g, "o", 1)};
    r.reply = no;
    CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err);
    rn_grammar_close(mine);
    struct outcome o = {0};
    CHECK(drain(s, &o));
    CHECK_INT(o.n_tokens, 0);
    CHECK_INT(o.finish, RN_FINISH_STOP);
    CHECK_STR(o.detail, "grammar");
    rn_stream_close(s);
    toy_rig_close(&g);
    toy_rig_close(&other);
}

static rn_status begin_once(void *user) {
    const struct toy_rig *const g = user;
    static struct plan p;
    static struct outcome o;
    rn_grammar_source source;
    rn_part part;
    rn_stream *s = NULL;
    rn_error err = {0};
    rn_grammar_source_init(&source);
    source.kind = RN_GRAMMAR_JSON_OBJECT;
    p = (struct plan){.seed = 1, .prompt = {65}, .n_prompt = 1, .max_tokens = 20};
    rn_sampling_init(&p.sampling);
    rn_status st = rn_grammar_compile(g->model, &source, &p.grammar, &err);
    if (st != RN_OK) return st;
    const rn_request r = request_of(&p, &part);
    st = rn_stream_begin(g->engine, &r, &s, &err);
    o = (struct outcome){0};
    while (st == RN_OK && o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        st = rn_stream_next(s, 60000000000, &c, &err);
        if (st == RN_OK) outcome_add(&o, &c);
    }
    rn_stream_close(s);
    rn_grammar_close(p.grammar);
    if (st == RN_OK && o.finish == RN_FINISH_ERROR) { // out of memory while it ran ends this stream alone
        CHECK_HAS(o.detail, "memory");
        st = RN_E_NOMEM;
    }
    return st;
}

TEST(a_failed_allocation_ends_the_stream_alone) {
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    g.engine->masks_ahead.is_on = false; // a mask that it could not make is made by the draw
    CHECK_OK(begin_once(&g), NULL);      // the vocabulary is in order
    CHECK(check_each_failed_allocation(begin_once, &g, __FILE__, __LINE__));
    toy_rig_close(&g);
}

TEST(masks_that_could_not_be_made_ahead_are_made_by_the_draw) {
    struct toy_rig g;
    bool fired = true;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    CHECK(g.engine->masks_ahead.is_on);
    CHECK_OK(begin_once(&g), NULL);
    CHECK(g.engine->masks_ahead.has_begun);
    for (long nth = 1; fired; nth++) {
        const long live = mem_live();
        mem_fail_after(nth);
        const rn_status st = begin_once(&g);
        fired = mem_fail_fired();
        mem_fail_after(0);
        check_note("allocation %ld", nth);
        if (!CHECK(st == RN_OK || (fired && st == RN_E_NOMEM)) || !CHECK_INT(mem_live(), live)) break;
    }
    toy_rig_close(&g);
}
