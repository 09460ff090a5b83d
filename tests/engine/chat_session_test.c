// tests/engine/chat_session_test.c - conversations held with a session: what was evaluated before is not evaluated again, however a
// reply ended and however its text would be cut into tokens.
#include "chat_fixture.h"

// Content through `| trim`, as several published templates do it.
static const char trimming[] =
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}{% endfor -%}\n"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif -%}";

struct turn {
    rn_usage usage;
    size_t n_before; // tokens that the session held
    char text[2048];
    char miss[256];
    rn_finish finish;
};

static size_t n_held(rn_session *s) {
    const int32_t *ids;
    size_t n = 0;
    rn_session_tokens(s, &ids, &n, NULL);
    return n;
}

static bool run_turn(rn_engine *e, rn_session *s, rn_request *r, struct turn *out) {
    rn_error err = {0};
    rn_stream *stream;
    struct outcome o = {0};
    *out = (struct turn){.n_before = n_held(s)};
    r->session = s;
    if (!CHECK_OK(rn_stream_begin(e, r, &stream, &err), &err)) return false;
    const bool ok = drain(stream, &o);
    out->usage = o.usage;
    out->finish = o.finish;
    snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1, o.text);
    snprintf(out->miss, sizeof out->miss, "%s", o.usage.miss);
    rn_stream_close(stream);
    return ok;
}

// The session's last token was sampled and not evaluated: it is the only one of them that the next turn has to.
static void check_only_new(const struct turn *t, const char *why) {
    check_note("%s: prompt %lld, cached %lld, session %zu, %s", why, (long long)t->usage.prompt_tokens,
               (long long)t->usage.cached_tokens, t->n_before, t->miss);
    CHECK_INT(t->usage.matched_tokens, t->n_before);
    CHECK_INT(t->usage.cached_tokens, t->n_before - 1);
    CHECK_STR(t->miss, "none");
}

static const struct {
    const char *why;
    enum chat_model_kind kind;
} kinds[] = {{"whole attention", CHAT_PLAIN}, {"windows", CHAT_WINDOWED}, {"a recurrence", CHAT_RECURRENT}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

struct held {
    struct fixture f;
    rn_session *s;
    struct talk talk;
};

static bool held_open(struct held *h, enum chat_model_kind kind, const char *chat_template) {
    const struct chat_model m = {.kind = kind, .chat_template = chat_template};
    const rn_engine_options o = chat_engine_options();
    rn_error err = {0};
    *h = (struct held){0};
    return chat_open(&h->f, &m, &o) && CHECK_OK(rn_session_open(h->f.engine, 0, &h->s, &err), &err);
}
static void held_close(struct held *h) {
    rn_session_close(h->s);
    fixture_close(&h->f);
    talk_free(&h->talk);
}

// One turn: what the user says, and the reply into the conversation.
static bool ask(struct held *h, const char *text, struct script *script, struct turn *t) {
    rn_chat chat;
    talk_say(&h->talk, "user", text);
    rn_request r = chat_request(&h->talk, &chat, script);
    if (!run_turn(h->f.engine, h->s, &r, t)) return false;
    talk_say(&h->talk, "assistant", t->text);
    return true;
}

TEST(ten_turns_evaluate_only_what_is_new) {
    for (size_t k = 0; k < N_KINDS; k++) {
        struct held h;
        if (!held_open(&h, kinds[k].kind, NULL)) return;
        talk_say(&h.talk, "system", "Be short.");
        for (int i = 0; i < 10; i++) {
            struct script script = {0};
            struct turn t;
            char text[64];
            snprintf(text, sizeof text, "the question %d in another hand", i);
            script_bytes(&script,
                         i % 2 ? "the answer then" : "and the other"); // " the" is a token of its own elsewhere
            if (!ask(&h, text, &script, &t)) break;
            CHECK_INT(t.finish, RN_FINISH_STOP);
            if (i == 0)
                CHECK_INT(t.usage.matched_tokens, 0);
            else
                check_only_new(&t, kinds[k].why);
        }
        held_close(&h);
    }
}

// What the session comes to hold is the same whether a turn went on from it or evaluated everything.
TEST(a_turn_that_goes_on_gives_the_tokens_of_one_that_does_not) {
    for (size_t k = 0; k < N_KINDS; k++) {
        struct held h;
        struct turn t;
        struct outcome plain = {0};
        rn_chat chat;
        if (!held_open(&h, kinds[k].kind, NULL)) return;
        if (ask(&h, "the first", NULL, &t) && ask(&h, "the next", NULL, &t)) {
            const int32_t *ids;
            size_t n;
            talk_say(&h.talk, "user", "and more");
            rn_request r = chat_request(&h.talk, &chat, NULL);
            if (run_turn(h.f.engine, h.s, &r, &t)) {
                rn_session_tokens(h.s, &ids, &n, NULL);
                const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = (size_t)t.usage.prompt_tokens};
                rn_request again = text_request("");
                again.parts = &part, again.max_tokens = r.max_tokens;
                check_note("%s", kinds[k].why);
                if (run_request(h.f.engine, &again, &plain))
                    CHECK_MEM(plain.tokens, ids + t.usage.prompt_tokens, plain.n_tokens * sizeof *ids);
            }
        }
        held_close(&h);
    }
}

TEST(a_reply_that_the_limit_cut_off_is_closed_and_kept) {
    for (size_t k = 0; k < N_KINDS; k++) {
        struct held h;
        struct script script = {0};
        struct turn t;
        rn_chat chat;
        if (!held_open(&h, kinds[k].kind, NULL)) return;
        script_bytes(&script, "the end is not told");
        talk_say(&h.talk, "user", "Hi");
        rn_request r = chat_request(&h.talk, &chat, &script);
        r.max_tokens = 7;
        if (run_turn(h.f.engine, h.s, &r, &t)) {
            CHECK_STR(t.text, "the end");
            CHECK_INT(t.finish, RN_FINISH_LENGTH);
            talk_say(&h.talk, "assistant", t.text);
            if (ask(&h, "Go on", &script, &t)) check_only_new(&t, kinds[k].why);
        }
        held_close(&h);
    }
}

// Tokens in the session after the start of the stop string are not part of the conversation.
TEST(after_a_stop_string_the_session_goes_back_to_where_the_text_ended) {
    static const char *const stop[] = {"###"};
    struct held h;
    struct script script = {0};
    struct turn t;
    rn_chat chat;
    if (!held_open(&h, CHAT_PLAIN, NULL)) return;
    script_bytes(&script, "yes ###");
    talk_say(&h.talk, "user", "Hi");
    rn_request r = chat_request(&h.talk, &chat, &script);
    r.stop = stop, r.n_stop = 1;
    if (run_turn(h.f.engine, h.s, &r, &t)) {
        CHECK_STR(t.text, "yes ");
        talk_say(&h.talk, "assistant", t.text);
        if (ask(&h, "Go on", NULL, &t)) {
            CHECK_INT(t.usage.matched_tokens, t.n_before - 3);
            CHECK_INT(t.usage.cached_tokens, t.n_before - 3);
            CHECK_HAS(t.miss, "differs at token");
            CHECK_HAS(t.miss, "\"#\"");
            CHECK_HAS(t.miss, "<|im_end|>");
        }
    }
    held_close(&h);
}

TEST(after_a_cancel_what_was_said_is_gone_on_from) {
    struct held h;
    struct script script = {0};
    struct turn t = {0};
    struct outcome o = {0};
    rn_chat chat;
    rn_stream *stream;
    rn_error err = {0};
    if (!held_open(&h, CHAT_PLAIN, NULL)) return;
    for (int i = 0; i < 200; i++) script_id(&script, 'a');
    talk_say(&h.talk, "user", "Hi");
    rn_request r = chat_request(&h.talk, &chat, &script);
    r.session = h.s;
    r.max_tokens = 200;
    r.buffer_tokens = 8; // the rest waits for its reader
    if (CHECK_OK(rn_stream_begin(h.f.engine, &r, &stream, &err), &err)) {
        rn_chunk c = new_chunk();
        while (o.n_tokens < 5 && rn_stream_next(stream, -1, &c, &err) == RN_OK) outcome_add(&o, &c);
        rn_stream_cancel(stream);
        drain(stream, &o);
        rn_stream_close(stream);
        CHECK_INT(o.finish, RN_FINISH_CANCELLED);
        talk_say(&h.talk, "assistant", o.text);
        if (ask(&h, "Go on", NULL, &t)) check_only_new(&t, "cancelled");
    }
    held_close(&h);
}

// A stream that is cancelled before it was given its turn leaves the session's keys where they were, and they are those of its text.
TEST(a_cancel_in_the_queue_leaves_keys_and_text_in_step) {
    struct held h;
    struct turn t;
    struct outcome o = {0};
    rn_chat chat;
    rn_stream *first, *stream;
    rn_error err = {0};
    if (!held_open(&h, CHAT_PLAIN, NULL)) return;
    rn_request busy = text_request("Hi");
    busy.max_tokens = 500, busy.ignore_eos = true;
    if (ask(&h, "the first", NULL, &t) && CHECK_OK(rn_stream_begin(h.f.engine, &busy, &first, &err), &err)) {
        json_array_clear(h.talk.messages); // another conversation altogether
        talk_say(&h.talk, "user", "something else");
        rn_request r = chat_request(&h.talk, &chat, NULL);
        r.session = h.s;
        if (CHECK_OK(rn_stream_begin(h.f.engine, &r, &stream, &err), &err)) {
            rn_stream_cancel(stream);
            drain(stream, &o);
            rn_stream_close(stream);
            CHECK_INT(o.finish, RN_FINISH_CANCELLED);
        }
        rn_stream_close(first);
        struct outcome with = {0}, without = {0};
        r = chat_request(&h.talk, &chat, NULL);
        r.session = h.s;
        if (run_request(h.f.engine, &r, &with)) {
            r.session = NULL;
            if (run_request(h.f.engine, &r, &without)) same_outcome(&with, &without);
        }
    }
    held_close(&h);
}

TEST(a_reply_asked_for_again_evaluates_one_row_of_its_prompt) {
    for (size_t k = 0; k < N_KINDS; k++) {
        struct held h;
        struct script script = {0};
        struct turn t, again;
        rn_chat chat;
        if (!held_open(&h, kinds[k].kind, NULL)) return;
        script_bytes(&script, "one reply");
        if (ask(&h, "the first", &script, &t) && ask(&h, "the next", &script, &t)) {
            json_array_remove(h.talk.messages, json_array_size(h.talk.messages) - 1);
            rn_request r = chat_request(&h.talk, &chat, &script);
            if (run_turn(h.f.engine, h.s, &r, &again)) {
                check_note("%s", kinds[k].why);
                CHECK_INT(again.usage.prompt_tokens, t.usage.prompt_tokens);
                CHECK_INT(again.usage.cached_tokens, t.usage.prompt_tokens - 1);
                CHECK_STR(again.miss, "none");
            }
        }
        held_close(&h);
    }
}

static void set_content(struct talk *t, size_t i, const char *content) {
    json_object_set_new(json_array_get(t->messages, i), "content", json_string(content));
}

TEST(an_edit_of_an_earlier_turn_keeps_what_stands_before_it) {
    for (size_t k = 0; k < N_KINDS; k++) {
        struct held h;
        struct script script = {0};
        struct turn t;
        rn_chat chat;
        size_t n_first = 0;
        if (!held_open(&h, kinds[k].kind, NULL)) return;
        script_bytes(&script, "one reply");
        for (int i = 0; i < 3; i++) {
            if (!ask(&h, "the question", &script, &t)) break;
            if (i == 0) n_first = n_held(h.s);
        }
        set_content(&h.talk, 2, "another question"); // the second thing the user said
        while (json_array_size(h.talk.messages) > 3) json_array_remove(h.talk.messages, 3);
        rn_request r = chat_request(&h.talk, &chat, &script);
        if (run_turn(h.f.engine, h.s, &r, &t)) {
            check_note("%s: matched %lld, cached %lld, first turn %zu: %s", kinds[k].why,
                       (long long)t.usage.matched_tokens, (long long)t.usage.cached_tokens, n_first, t.miss);
            CHECK(t.usage.matched_tokens > (int64_t)n_first);
            CHECK(t.usage.cached_tokens <= t.usage.matched_tokens);
            if (kinds[k].kind == CHAT_RECURRENT) {
                CHECK_STR(t.miss, "state"); // it goes back to where a state was kept: before the first reply
                CHECK(t.usage.cached_tokens > 0);
            } else {
                CHECK_INT(t.usage.cached_tokens, t.usage.matched_tokens);
                CHECK_HAS(t.miss, "differs at token");
            }
        }
        held_close(&h);
    }
}

// The window has moved on: what the edit goes back to has no keys any more.
TEST(an_edit_far_behind_a_window_says_so) {
    struct held h = {0};
    struct script script = {0};
    struct turn t;
    rn_chat chat;
    rn_error err = {0};
    const struct chat_model m = {.kind = CHAT_WINDOWED};
    rn_engine_options o = chat_engine_options();
    o.n_ctx = 4096;
    o.n_batch = 64; // fewer pages are planned for windows
    if (!chat_open(&h.f, &m, &o) || !CHECK_OK(rn_session_open(h.f.engine, 0, &h.s, &err), &err)) return;
    for (int i = 0; i < 120; i++) script_bytes(&script, "ab");
    for (int i = 0; i < 15; i++) {
        talk_say(&h.talk, "user", "the question");
        rn_request r = chat_request(&h.talk, &chat, &script);
        r.max_tokens = 250;
        if (!run_turn(h.f.engine, h.s, &r, &t)) break;
        talk_say(&h.talk, "assistant", t.text);
    }
    CHECK(n_held(h.s) > 3700);
    set_content(&h.talk, 2, "another question");
    while (json_array_size(h.talk.messages) > 3) json_array_remove(h.talk.messages, 3);
    rn_request r = chat_request(&h.talk, &chat, &script);
    if (run_turn(h.f.engine, h.s, &r, &t)) {
        CHECK_STR(t.miss, "window");
        CHECK(t.usage.cached_tokens < t.usage.matched_tokens);
    }
    held_close(&h);
}

TEST(a_template_that_changes_a_reply_is_named_as_the_reason) {
    struct held h;
    struct script script = {0};
    struct turn t;
    if (!held_open(&h, CHAT_PLAIN, trimming)) return;
    script_bytes(&script, "yes  ");
    if (ask(&h, "Hi", &script, &t) && ask(&h, "Go on", &script, &t)) {
        CHECK_INT(t.usage.matched_tokens, t.n_before - 3); // two blanks and the end token
        CHECK_HAS(t.miss, "differs at token");
        CHECK_HAS(t.miss, "the chat template writes 277");
    }
    held_close(&h);
}

TEST(a_session_whose_keys_were_given_back_says_so) {
    struct held h;
    struct script script = {0};
    struct turn t;
    struct outcome o;
    rn_chat chat;
    const struct chat_model m = {.kind = CHAT_PLAIN};
    rn_engine_options opt = chat_engine_options();
    rn_error err = {0};
    opt.n_ctx = 512;
    opt.n_kv = 512;
    h = (struct held){0};
    if (!chat_open(&h.f, &m, &opt) || !CHECK_OK(rn_session_open(h.f.engine, 0, &h.s, &err), &err)) return;
    script_bytes(&script, "one reply");
    if (ask(&h, "the first", &script, &t)) {
        static const char *const others[] = {"a", "b", "c", "d"};
        rn_session *session[4] = {NULL};
        for (int i = 0; i < 4; i++) { // each takes nearly all pages there are, and keeps them
            rn_request other = text_request(others[i]);
            other.max_tokens = -1, other.ignore_eos = true;
            if (!CHECK_OK(rn_session_open(h.f.engine, 0, &session[i], &err), &err)) break;
            other.session = session[i];
            run_request(h.f.engine, &other, &o);
        }
        for (int i = 0; i < 4; i++) rn_session_close(session[i]);
        talk_say(&h.talk, "user", "Go on");
        rn_request r = chat_request(&h.talk, &chat, NULL);
        if (run_turn(h.f.engine, h.s, &r, &t)) {
            CHECK_INT(t.usage.matched_tokens, t.n_before);
            CHECK_INT(t.usage.cached_tokens, 0);
            CHECK_STR(t.miss, "evicted");
        }
    }
    held_close(&h);
}

// A reply whose own tokens are more than the context holds, though its text is not.
TEST(a_reply_in_too_many_tokens_gives_way_to_the_templates_own) {
    struct held h;
    struct script script = {0};
    struct turn t;
    rn_chat chat;
    const struct chat_model m = {.kind = CHAT_PLAIN};
    rn_engine_options opt = chat_engine_options();
    rn_error err = {0};
    opt.n_ctx = 128;
    h = (struct held){0};
    if (!chat_open(&h.f, &m, &opt) || !CHECK_OK(rn_session_open(h.f.engine, 0, &h.s, &err), &err)) return;
    for (int i = 0; i < 22; i++) script_bytes(&script, " the"); // 88 tokens, or 22
    talk_say(&h.talk, "user", "Hi");
    rn_request r = chat_request(&h.talk, &chat, &script);
    r.max_tokens = 88;
    if (run_turn(h.f.engine, h.s, &r, &t)) {
        talk_say(&h.talk, "assistant", t.text);
        talk_say(&h.talk, "user", "Go on with the same");
        r = chat_request(&h.talk, &chat, &script);
        r.max_tokens = 5;
        if (run_turn(h.f.engine, h.s, &r, &t)) {
            CHECK(t.usage.prompt_tokens < 100);
            CHECK_INT(t.finish, RN_FINISH_LENGTH);
        }
    }
    held_close(&h);
}

// After a failed stream the session is unchanged, and its next turn continues from there.
static bool fail_stage(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n) {
    (void)user, (void)logits, (void)n_vocab, (void)tokens, (void)n;
    return false;
}

TEST(an_error_leaves_the_session_with_what_the_prompt_went_on_from) {
    struct held h;
    struct turn t, failed;
    rn_chat chat;
    struct outcome with = {0}, without = {0};
    if (!held_open(&h, CHAT_PLAIN, NULL)) return;
    if (ask(&h, "the first", NULL, &t) && ask(&h, "the next", NULL, &t)) {
        set_content(&h.talk, 2, "another");
        rn_request r = chat_request(&h.talk, &chat, NULL);
        sampling_of(&r)->stage = fail_stage;
        if (run_turn(h.f.engine, h.s, &r, &failed)) CHECK_INT(failed.finish, RN_FINISH_ERROR);
        CHECK_INT(n_held(h.s), t.usage.prompt_tokens + t.usage.completion_tokens);
        r = chat_request(&h.talk, &chat, NULL);
        r.session = h.s;
        if (run_request(h.f.engine, &r, &with)) {
            r.session = NULL;
            if (run_request(h.f.engine, &r, &without)) CHECK_STR(with.text, without.text);
        }
    }
    held_close(&h);
}
