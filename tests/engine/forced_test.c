// tests/engine/forced_test.c - tokens that the grammar leaves no choice about: steps that they spare, and what they meet. That they are the
// ones of their definition, whatever else happens, is grammar_stream_test.c's.
#include "base/mem.h"
#include "toy_rig.h"
#include <math.h>

static const char keys[] =
    "root ::= (\"a\" | \"b\") \"other thing and then the ring\" [0-9] \"in the other thing\" (\"a\" | \"b\")";

static rn_grammar *compile(const rn_model *m, const char *text) {
    rn_grammar_source s;
    rn_grammar *made = NULL;
    rn_error err = {0};
    rn_grammar_source_init(&s);
    s.kind = RN_GRAMMAR_CFG, s.text = text, s.n_text = strlen(text);
    CHECK_OK(rn_grammar_compile(m, &s, &made, &err), &err);
    return made;
}

static rn_request request_of(const rn_grammar *form, rn_part *part, rn_sampling *sampling, uint64_t seed) {
    static const int32_t prompt[] = {'x', 'y', 'z'};
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(sampling);
    *part = (rn_part){.kind = RN_PART_IDS, .ids = prompt, .n_ids = 3};
    r.parts = part, r.n_parts = 1, r.sampling = sampling;
    r.has_seed = true, r.seed = seed, r.grammar = form;
    r.speculate = "none"; // steps are counted
    return r;
}

static int64_t steps(const struct toy_rig *g) {
    rn_engine_stats stats = {.struct_size = sizeof stats};
    CHECK_OK(rn_engine_get_stats(g->engine, &stats, NULL), NULL);
    return (int64_t)stats.n_steps;
}

TEST(forced_tokens_take_no_steps_of_their_own) {
    struct toy_rig g;
    rn_part part;
    rn_sampling sampling;
    static struct outcome all, few, one;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(g.model, keys);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rn_request r = request_of(mine, &part, &sampling, seed);
        const int64_t n0 = steps(&g);
        if (!run_request(g.engine, &r, &few)) break;
        const int64_t n1 = steps(&g);
        r.no_forced_tokens = true;
        if (!run_request(g.engine, &r, &all)) break;
        const int64_t n2 = steps(&g);
        r.no_forced_tokens = false, r.logprobs = 0; // a row for each
        if (!run_request(g.engine, &r, &one)) break;
        check_note("seed %d: '%s' and '%s'", (int)seed, few.text, all.text);
        CHECK_INT(few.n_text, strlen("aother thing and then the ring0in the other thinga"));
        CHECK(few.usage.completion_tokens == (int64_t)few.n_tokens && few.finish == RN_FINISH_STOP);
        CHECK(n1 - n0 <= 8 && n2 - n1 >= (int64_t)all.n_tokens && all.n_tokens > 20);
        CHECK_STR(one.text, few.text);
        CHECK_MEM(one.tokens, few.tokens, few.n_tokens * sizeof *few.tokens);
        CHECK_INT(steps(&g) - n2, one.n_tokens);
    }
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

// A step has room for few rows, a reader for few tokens: what does not fit waits.
TEST(little_room_changes_nothing) {
    struct toy_rig wide, narrow;
    rn_part part;
    rn_sampling sampling;
    static struct outcome a, b;
    if (!toy_rig_open(&wide, 64, 0, 1, 1) || !toy_rig_open_rows(&narrow, 64, 0, 1, 1, 3)) return;
    rn_grammar *const mine = compile(wide.model, keys), *const theirs = compile(narrow.model, keys);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rn_request r = request_of(mine, &part, &sampling, seed);
        if (!run_request(wide.engine, &r, &a)) break;
        r.grammar = theirs, r.buffer_tokens = 1 + (int32_t)seed % 3,
        r.max_tokens = (int32_t)a.n_tokens - (int32_t)seed % 4;
        if (!run_request(narrow.engine, &r, &b)) break;
        check_note("seed %d: '%s'", (int)seed, a.text);
        CHECK_INT(b.n_tokens, r.max_tokens);
        CHECK_MEM(b.tokens, a.tokens, b.n_tokens * sizeof *b.tokens);
        CHECK_INT(b.finish, seed % 4 ? RN_FINISH_LENGTH : RN_FINISH_STOP);
    }
    rn_grammar_close(mine);
    rn_grammar_close(theirs);
    toy_rig_close(&wide);
    toy_rig_close(&narrow);
}

TEST(log_probabilities_of_forced_tokens_are_the_models) {
    struct toy_rig g;
    rn_part part[2];
    rn_sampling sampling;
    rn_stream *s;
    rn_error err = {0};
    static struct outcome o;
    int n_forced = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(g.model, keys);
    rn_request r = request_of(mine, part, &sampling, 3);
    r.logprobs = 2, r.sampled_logprobs = 1;
    if (!CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err)) return;
    float logprobs[200];
    while (o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) return;
        for (size_t i = 0; i < c.n_tokens; i++) {
            const rn_token *const t = &c.token_data[i];
            logprobs[o.n_tokens + i] = t->logprob;
            CHECK(isfinite(t->logprob) && t->n_candidates >= 1);
            if (t->n_candidates != 1) continue;
            CHECK(t->sampled_logprob == 0 && t->sampled_rank == 1 && t->sampled_entropy == 0);
            n_forced++;
        }
        outcome_add(&o, &c);
    }
    rn_stream_close(s);
    CHECK(n_forced > 20);
    // The same tokens as a prompt.
    rn_request q = request_of(NULL, part, &sampling, 3);
    part[1] = (rn_part){.kind = RN_PART_IDS, .ids = o.tokens, .n_ids = o.n_tokens};
    q.n_parts = 2, q.prompt_logprobs = 0, q.max_tokens = 0;
    if (!CHECK_OK(rn_stream_begin(g.engine, &q, &s, &err), &err)) return;
    rn_chunk c = new_chunk();
    if (CHECK_OK(rn_stream_next(s, -1, &c, &err), &err) && CHECK_INT(c.n_prompt_data, 3 + o.n_tokens))
        for (size_t i = 0; i < o.n_tokens; i++) CHECK(c.prompt_data[3 + i].logprob == logprobs[i]);
    rn_stream_close(s);
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

// The string begins in a drawn token and is completed by a forced one: the drawn one is ruled out. Where it begins within what has to follow,
// there is no way on.
TEST(a_banned_string_may_end_within_what_has_to_follow) {
    struct toy_rig g;
    rn_part part;
    rn_sampling sampling;
    static struct outcome o;
    const char *banned[] = {"aother th"};
    int64_t n_rewound = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(g.model, keys);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        rn_request r = request_of(mine, &part, &sampling, seed);
        r.banned_strings = banned, r.n_banned_strings = 1, r.logprobs = seed % 3 ? -1 : 1;
        if (!run_request(g.engine, &r, &o)) break;
        check_note("seed %d: '%s' %s", (int)seed, o.text, o.detail);
        CHECK_INT(o.finish, RN_FINISH_STOP);
        CHECK_MEM(o.text, "bother thing and then the ring", 30);
        n_rewound += o.usage.rewound_tokens;
    }
    CHECK(n_rewound > 30);
    banned[0] = "then the";
    for (uint64_t seed = 1; seed <= 4; seed++) {
        rn_request r = request_of(mine, &part, &sampling, seed);
        r.banned_strings = banned, r.n_banned_strings = 1;
        if (!run_request(g.engine, &r, &o)) break;
        check_note("seed %d: '%s' %s", (int)seed, o.text, o.detail);
        CHECK_INT(o.finish, RN_FINISH_ERROR);
        CHECK_HAS(o.detail, "tried here and taken back");
    }
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

TEST(with_guidance_they_are_evaluated_on_both_sides) {
    struct toy_rig g;
    rn_part part, negative;
    rn_sampling sampling;
    static struct outcome a, b;
    static const int32_t other[] = {'q', 'r'};
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(g.model, keys);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rn_request r = request_of(mine, &part, &sampling, seed);
        negative = (rn_part){.kind = RN_PART_IDS, .ids = other, .n_ids = 2};
        r.guidance_scale = 1.5F, r.negative_prompt = &negative, r.n_negative_prompt = 1;
        if (!run_request(g.engine, &r, &a)) break;
        // As if the forced tokens had been drawn: the answer's beginning is the other request's reply.
        size_t n = a.n_tokens > 5 ? a.n_tokens - 2 : 0;
        r.reply = a.tokens, r.n_reply = n;
        if (!run_request(g.engine, &r, &b)) break;
        check_note("seed %d: '%s' '%s'", (int)seed, a.text, b.text);
        CHECK_INT(a.finish, RN_FINISH_STOP);
        CHECK(b.n_tokens == a.n_tokens - n && memcmp(b.tokens, a.tokens + n, b.n_tokens * sizeof *b.tokens) == 0);
    }
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

TEST(requests_that_rule_tokens_out_have_all_drawn) {
    struct toy_rig g;
    rn_part part;
    rn_sampling sampling;
    static struct outcome o;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_grammar *const mine = compile(g.model, keys);
    const int32_t the = toy_token(&g, "the", 3), th = toy_token(&g, "th", 2);
    const int32_t banned[] = {the, th};
    const rn_logit_bias bias = {the, -INFINITY};
    const rn_sequence_bias sequence = {&the, 1, -INFINITY};
    for (int i = 0; i < 4; i++) {
        rn_request r = request_of(mine, &part, &sampling, (uint64_t)i);
        if (i == 0) sampling.banned_tokens = banned, sampling.n_banned_tokens = 2;
        if (i == 1) sampling.logit_bias = &bias, sampling.n_logit_bias = 1;
        if (i == 2) sampling.sequence_bias = &sequence, sampling.n_sequence_bias = 1;
        if (i == 3) sampling.no_repeat_ngram_size = 40;
        const int64_t n = steps(&g);
        if (!run_request(g.engine, &r, &o)) break;
        check_note("%d: '%s' %s", i, o.text, o.detail);
        CHECK_INT(o.finish, RN_FINISH_STOP);
        for (size_t k = 0; k < o.n_tokens && i < 3; k++) CHECK(o.tokens[k] != the && (i > 0 || o.tokens[k] != th));
        CHECK(steps(&g) - n >= (int64_t)o.n_tokens);
    }
    rn_grammar_close(mine);
    toy_rig_close(&g);
}

// A session's next turn evaluates what the last one left.
TEST(a_session_goes_on_behind_forced_tokens) {
    struct toy_rig g;
    rn_part part, more;
    rn_sampling sampling;
    rn_session *session;
    rn_error err = {0};
    static struct outcome a, b, c;
    static const int32_t next[] = {'n', 'e', 'x', 't'};
    if (!toy_rig_open(&g, 64, 0, 2, 1)) return;
    rn_grammar *const mine = compile(g.model, keys);
    for (int32_t most = 1; most <= 30; most += 3) {
        if (!CHECK_OK(rn_session_open(g.engine, 0, &session, &err), &err)) break;
        rn_request r = request_of(mine, &part, &sampling, 5);
        r.session = session, r.max_tokens = most;
        if (!run_request(g.engine, &r, &a)) break;
        more = (rn_part){.kind = RN_PART_IDS, .ids = next, .n_ids = 4};
        r.parts = &more, r.grammar = NULL, r.max_tokens = 20;
        if (!run_request(g.engine, &r, &b)) break;
        // The same without a session.
        int32_t all[200] = {'x', 'y', 'z'};
        memcpy(all + 3, a.tokens, a.n_tokens * sizeof *all);
        memcpy(all + 3 + a.n_tokens, next, sizeof next);
        part = (rn_part){.kind = RN_PART_IDS, .ids = all, .n_ids = 7 + a.n_tokens};
        r.session = NULL, r.parts = &part;
        if (!run_request(g.engine, &r, &c)) break;
        check_note("%d tokens", most);
        CHECK(c.n_tokens == b.n_tokens && memcmp(c.tokens, b.tokens, b.n_tokens * sizeof *b.tokens) == 0);
        rn_session_close(session);
    }
    rn_grammar_close(mine);
    toy_rig_close(&g);
}
