// tests/engine/choices_test.c - several answers in one stream, and tokens that replace earlier ones.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "fixture.h"

enum { MAX_CHOICES = 3, MAX_STEPS = 200 };

// Emits what a script says, all at once, when the prompt has been read.
struct step {
    int32_t choice, token, n_replaced;
};
struct script {
    struct step steps[MAX_STEPS];
    int n, n_choices;
};
struct scripted {
    strategy base;
    const struct script *script;
    int32_t n_prompt;
};

static int32_t prompt_from(const strategy *base) { return ((const struct scripted *)base)->n_prompt - 1; }
static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == prompt_from(base) ? LM_WANT_LOGITS : 0;
}
static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    const struct script *s = ((const struct scripted *)base)->script;
    (void)r, (void)err;
    for (int i = 0; i < s->n; i++) {
        const struct emission e = {
            .token = s->steps[i].token, .choice = s->steps[i].choice, .n_replaced = s->steps[i].n_replaced};
        (void)out->ops->emit(out->user, &e);
    }
    out->ops->end(out->user, STRATEGY_END_STOP);
    return RN_OK;
}
static void destroy(strategy *base) { mem_free(base); }
static const struct strategy_ops ops = {
    .prompt_from = prompt_from, .prompt_wants = prompt_wants, .absorb = absorb, .destroy = destroy};

static rn_status create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct scripted *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "scripted: out of memory");
    s->script = spec->params;
    s->n_prompt = spec->n_prompt;
    s->base = (strategy){.ops = &ops, .n_choices = s->script->n_choices};
    *out = &s->base;
    return RN_OK;
}
static const struct strategy_kind scripted = {"scripted", create, .excludes = "guidance_scale"};

// What a reader that keeps to chunks has of each choice in the end.
struct answer_read {
    char text[4096];
    size_t n_text;
    int32_t tokens[MAX_STEPS];
    size_t n_tokens, n_revisions;
    rn_finish finish;
    char detail[256];
};

static bool take_chunk(struct answer_read *answers, const rn_chunk *c) {
    if (!CHECK(c->choice >= 0 && c->choice < MAX_CHOICES)) return false;
    struct answer_read *a = &answers[c->choice];
    if (!CHECK_INT(a->finish, RN_FINISH_NONE)) return false;
    if (c->replace_from >= 0) {
        if (!CHECK(c->replace_from <= (int64_t)a->n_tokens && c->replace_text_from <= (int64_t)a->n_text))
            return false;
        a->n_tokens = (size_t)c->replace_from, a->n_text = (size_t)c->replace_text_from;
        a->n_revisions++;
    }
    if (!CHECK(a->n_text + c->n_text < sizeof a->text && a->n_tokens + c->n_tokens <= MAX_STEPS)) return false;
    memcpy(a->text + a->n_text, c->text, c->n_text);
    a->n_text += c->n_text;
    a->text[a->n_text] = 0;
    memcpy(a->tokens + a->n_tokens, c->tokens, c->n_tokens * sizeof *a->tokens);
    a->n_tokens += c->n_tokens;
    a->finish = c->finish_reason;
    snprintf(a->detail, sizeof a->detail, "%s", c->finish_detail);
    return true;
}

static rn_status begin(rn_engine *e, const rn_request *r, const struct script *script, rn_stream **s, rn_error *err) {
    struct own_request own;
    rn_status st = own_request_read(r, &own, err);
    if (st == RN_OK) st = stream_create(e, &own.r, &scripted, script, s, err);
    if (st == RN_OK) st = stream_submit(*s, err);
    return st;
}

// Reads a stream of this script to its end.
static bool run(rn_engine *e, const rn_request *r, const struct script *script, struct answer_read *answers) {
    rn_error err = {0};
    rn_stream *s;
    rn_status st = RN_OK;
    memset(answers, 0, MAX_CHOICES * sizeof *answers);
    if (!CHECK_OK(begin(e, r, script, &s, &err), &err)) return false;
    for (bool ok = true; st == RN_OK && ok;) {
        rn_chunk c;
        rn_chunk_init(&c);
        st = rn_stream_next(s, 60000000000, &c, &err);
        if (st == RN_OK) ok = take_chunk(answers, &c);
    }
    rn_stream_close(s);
    return CHECK_INT(st, RN_E_END);
}

TEST(each_choice_has_its_own_text_its_own_limits_and_its_own_end) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    static struct answer_read a[MAX_CHOICES];
    static struct script s = {.n_choices = 3};
    rn_request r = text_request("Once");
    int32_t *ids = NULL;
    size_t n = 0;
    rn_error err = {0};
    const char *stop = "little";
    if (!fixture_open(&f, &o)) return;
    r.max_tokens = 12;
    r.stop = &stop, r.n_stop = 1;
    CHECK_OK(rn_tokenize(f.model, " there was a little girl", 24, false, false, &ids, &n, &err), &err);
    if (CHECK(n >= 5 && n < 12)) {
        // Choice 0 meets the stop string, choice 1 its limit; choice 2 ends with the stream.
        for (size_t i = 0; i < 12; i++) s.steps[s.n++] = (struct step){1, ids[0], 0};
        for (size_t i = 0; i < n; i++) s.steps[s.n++] = (struct step){0, ids[i], 0};
        s.steps[s.n++] = (struct step){2, ids[1], 0};
        s.steps[s.n++] = (struct step){1, ids[1], 0}; // not taken: it has ended
        if (run(f.engine, &r, &s, a)) {
            CHECK_INT(a[1].n_tokens, 12);
            CHECK_INT(a[1].finish, RN_FINISH_LENGTH);
            CHECK_STR(a[1].detail, "max_tokens 12");
            CHECK_INT(a[0].finish, RN_FINISH_STOP);
            CHECK_STR(a[0].detail, "stop string \"little\"");
            CHECK(strstr(a[0].text, "little") == NULL);
            CHECK_INT(a[2].n_tokens, 1);
            CHECK_INT(a[2].finish, RN_FINISH_STOP);
            CHECK_INT(a[0].n_revisions + a[1].n_revisions + a[2].n_revisions, 0);
        }
    }
    rn_free(ids);
    fixture_close(&f);
}

// A generator of its own, so that a failure can be repeated.
static uint32_t random_below(uint64_t *state, uint32_t n) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
}

TEST(what_a_reader_has_after_any_revisions_is_what_the_final_tokens_give) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    static struct answer_read a[MAX_CHOICES], plain[MAX_CHOICES];
    static struct script s, final;
    static const char *const stops[] = {"ed", "the"};
    size_t n_revisions = 0, n_stopped = 0;
    if (!fixture_open(&f, &o)) return;
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    CHECK_OK(rn_model_get_info(f.model, &info, &err), &err);
    for (uint64_t seed = 1; seed <= 150; seed++) {
        uint64_t state = seed;
        int32_t length[MAX_CHOICES] = {0};
        rn_request r = text_request("Once");
        r.accept_revisions = true;
        r.ignore_eos = true;
        r.max_tokens = 60;
        r.stream_interval = 1 + (int32_t)random_below(&state, 4);
        r.stop = stops, r.n_stop = seed % 2 ? 2 : 0;
        s = (struct script){.n_choices = 1 + (int)random_below(&state, MAX_CHOICES)};
        for (int n = 10 + (int)random_below(&state, 60); s.n < n; s.n++) {
            const int32_t c = (int32_t)random_below(&state, (uint32_t)s.n_choices);
            const int32_t back = random_below(&state, 3) ? 0 : (int32_t)random_below(&state, (uint32_t)length[c] + 1);
            s.steps[s.n] = (struct step){c, (int32_t)random_below(&state, (uint32_t)info.n_vocab), back};
            length[c] += 1 - back;
        }
        check_note("seed %d", (int)seed);
        if (!run(f.engine, &r, &s, a)) break;
        final = (struct script){.n_choices = s.n_choices};
        for (int32_t c = 0; c < s.n_choices; c++)
            for (size_t i = 0; i < a[c].n_tokens; i++) final.steps[final.n++] = (struct step){c, a[c].tokens[i], 0};
        r.accept_revisions = false;
        if (!run(f.engine, &r, &final, plain)) break;
        for (int32_t c = 0; c < s.n_choices; c++) {
            if (a[c].n_tokens == 0) continue;
            CHECK_INT(a[c].n_tokens, plain[c].n_tokens);
            CHECK_STR(a[c].text, plain[c].text);
            CHECK_INT(a[c].finish, plain[c].finish);
            CHECK_STR(a[c].detail, plain[c].detail);
            n_revisions += a[c].n_revisions;
            n_stopped += strstr(a[c].detail, "stop string") != NULL;
        }
    }
    CHECK(n_revisions > 100);
    CHECK(n_stopped > 10);
    fixture_close(&f);
}

TEST(a_revision_that_nobody_accepts_ends_the_stream_with_an_error) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    static struct answer_read a[MAX_CHOICES];
    static const struct script s = {{{0, 300, 0}, {0, 301, 1}}, 2, 1};
    const rn_request r = text_request("Once");
    if (!fixture_open(&f, &o)) return;
    if (run(f.engine, &r, &s, a)) {
        CHECK_INT(a[0].finish, RN_FINISH_ERROR);
        CHECK_STR(a[0].detail, "strategy: choice 0 of 1, 1 tokens replaced, limit 0");
        CHECK_INT(a[0].n_tokens, 1);
    }
    fixture_close(&f);
}

TEST(what_a_strategy_cannot_do_is_refused_by_name) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    static const struct script one = {{{0, 300, 0}}, 1, 1}, two = {{{0, 300, 0}}, 1, 2};
    rn_chat chat;
    rn_chat_init(&chat);
    chat.messages = "[{\"role\":\"user\",\"content\":\"x\"}]";
    static const char *const banned[] = {"a"};
    struct {
        bool accepts, drops, chats;
        const struct script *script;
        const char *error;
        bool bans, heals;
        float scale;
    } rows[] = {
        {true, true, false, &one, "overflow: drop-oldest excludes accept_revisions"},
        {false, true, false, &two, "overflow: drop-oldest excludes several choices"},
        {true, false, true, &one, "accept_revisions: excludes chat"},
        {.script = &one, .error = "banned_strings: the strategy \"scripted\" cannot rule tokens out", .bans = true},
        {.script = &one, .error = "token_healing: the strategy \"scripted\" cannot rule tokens out", .heals = true},
        {.script = &one, .error = "guidance_scale: not with the strategy scripted", .scale = 2},
    };
    if (!fixture_open(&f, &o)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_request r = text_request("Once upon a ti");
        rn_error err = {0};
        rn_stream *s = NULL;
        r.accept_revisions = rows[i].accepts;
        if (rows[i].drops) r.overflow = RN_OVERFLOW_DROP_OLDEST;
        if (rows[i].bans) r.banned_strings = banned, r.n_banned_strings = 1;
        r.token_healing = rows[i].heals;
        if (rows[i].scale > 0) r.guidance_scale = rows[i].scale;
        if (rows[i].chats) r.chat = &chat, r.n_parts = 0;
        CHECK_FAILS(begin(f.engine, &r, rows[i].script, &s, &err),
                    rows[i].bans || rows[i].heals || rows[i].scale > 0 ? RN_E_UNSUPPORTED : RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].error);
    }
    fixture_close(&f);
}
