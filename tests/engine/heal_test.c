// tests/engine/heal_test.c - token healing: which tokens are taken back, and which may come in their place.
#include "base/mem.h"
#include "engine/token_prefix.h"
#include "sampling/token_mask.h"
#include "toy_rig.h"

static bool begins_with(const char *text, size_t n, const char *with, size_t n_with) {
    return n >= n_with && memcmp(text, with, n_with) == 0;
}

// Masks and numbers of tokens to take back, against their definitions, for any bytes of the vocabulary's own tokens.
static void compare_with_definitions(const char *path) {
    rn_model *m;
    rn_error err = {0};
    rn_model_info info = {.struct_size = sizeof info};
    struct toy_random r = {4, 0};
    int n_taken[4] = {0};
    if (!CHECK_OK(rn_model_open(path, NULL, &m, &err), &err)) return;
    CHECK_OK(rn_model_get_info(m, &info, &err), &err);
    const int32_t n_vocab = (int32_t)info.n_vocab;
    uint64_t *mask = mem_alloc(token_mask_words(n_vocab) * sizeof *mask);
    for (int round = 0; round < 400; round++) {
        int32_t ids[6];
        char bytes[2048];
        size_t n = 0, begins[6], best = 0;
        const int n_ids = 1 + toy_below(&r, 6);
        const size_t most = toy_below(&r, 4) ? SIZE_MAX : (size_t)toy_below(&r, 5);
        bool is_text = true;
        for (int i = 0; i < n_ids; i++) {
            size_t n_piece;
            ids[i] = toy_below(&r, 3) ? toy_below(&r, n_vocab < 700 ? n_vocab : 700) : toy_below(&r, n_vocab);
            const char *piece = model_piece(m, ids[i], false, &n_piece);
            begins[i] = n;
            memcpy(bytes + n, piece, n_piece);
            n += n_piece;
        }
        for (int k = 1; k <= n_ids && is_text; k++) {
            const char *tail = bytes + begins[n_ids - k];
            const size_t n_tail = n - begins[n_ids - k];
            size_t n_own;
            (void)model_piece(m, ids[n_ids - k], false, &n_own);
            is_text = n_own > 0 && n_tail <= most;
            for (int32_t t = 0; t < n_vocab && is_text; t++) {
                size_t n_piece;
                const char *piece = model_piece(m, t, false, &n_piece);
                if (n_piece > n_tail && begins_with(piece, n_piece, tail, n_tail)) best = (size_t)k;
            }
        }
        check_note("%s, round %d", path, round);
        CHECK_INT(token_prefix_to_heal(m, n_vocab, ids, (size_t)n_ids, most), best);
        n_taken[best < 3 ? best : 3]++;
        if (n == 0) continue;
        token_prefix_mask(m, n_vocab, bytes, n, mask);
        bool same = true;
        for (int32_t t = 0; t < n_vocab; t++) {
            size_t n_piece;
            const char *piece = model_piece(m, t, false, &n_piece);
            same &= token_mask_has(mask, t) ==
                    (n_piece > 0 && (begins_with(piece, n_piece, bytes, n) || begins_with(bytes, n, piece, n_piece)));
        }
        CHECK(same);
    }
    CHECK(n_taken[0] > 0 && n_taken[1] > 0);
    mem_free(mask);
    rn_model_close(m);
}

TEST(masks_and_what_is_taken_back_follow_their_definitions) {
    struct tiny_model tiny = tiny_model_default();
    compare_with_definitions(stories());
    tiny.vocab = TINY_SPM, tiny.n_vocab = 320;
    CHECK(tiny_model_write(&tiny, "heal_test.spm.gguf"));
    compare_with_definitions("heal_test.spm.gguf");
    remove("heal_test.spm.gguf");
}

// What the prompt's tokens become, by the request.
static void check_prompt(const struct toy_rig *g, const rn_request *r, size_t want, const char *why) {
    int32_t *ids;
    size_t n;
    rn_error err = {0};
    check_note("%s", why);
    if (CHECK_OK(rn_request_tokens(g->engine, r, &ids, &n, &err), &err)) CHECK_INT(n, want);
    rn_free(ids);
}

TEST(neither_control_tokens_nor_a_session_nor_the_only_token_are_taken_back) {
    struct toy_rig g;
    rn_error err = {0};
    rn_session *session;
    static struct outcome o;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    const int32_t t = toy_token(&g, "t", 1), h = toy_token(&g, "h", 1), pad = TINY_BYTES_PAD;
    const int32_t both[] = {5, t, h}, cut[] = {5, t, pad, h}, only[] = {t}, last[] = {5, t, pad}, two[] = {t, h};
    rn_part part = {.kind = RN_PART_IDS, .ids = both, .n_ids = 3};
    rn_request r = text_request("");
    r.parts = &part;
    check_prompt(&g, &r, 3, "without healing");
    r.token_healing = true;
    check_prompt(&g, &r, 1, "th begins a longer token");
    part.ids = cut, part.n_ids = 4;
    check_prompt(&g, &r, 3, "a control token before");
    part.ids = last, part.n_ids = 3;
    check_prompt(&g, &r, 3, "a control token at the end");
    part.ids = two, part.n_ids = 2;
    check_prompt(&g, &r, 1, "one token stays");
    part.ids = only, part.n_ids = 1;
    check_prompt(&g, &r, 1, "the only token stays");
    CHECK_OK(rn_session_open(g.engine, 0, &session, &err), &err);
    r.session = session;
    r.max_tokens = 0;
    r.token_healing = false;
    part.ids = both, part.n_ids = 2;
    if (run_request(g.engine, &r, &o)) {
        r.token_healing = true;
        part.ids = &h, part.n_ids = 1;
        check_prompt(&g, &r, 2, "what a session holds stays");
    }
    rn_session_close(session);
    toy_rig_close(&g);
}

// An answer that goes on from its own first tokens is the answer that was not interrupted.
TEST(a_healed_answer_goes_on_from_its_reply) {
    static struct outcome whole, rest;
    struct toy_rig g;
    rn_error err = {0};
    rn_stream *s = NULL;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    const int32_t t = toy_token(&g, "t", 1), h = toy_token(&g, "h", 1), prompt[] = {5, t, h}, other[] = {h};
    const rn_part part = {.kind = RN_PART_IDS, .ids = prompt, .n_ids = 3};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rn_request r = text_request("");
        r.parts = &part;
        r.token_healing = r.ignore_eos = true;
        r.seed = seed;
        sampling_of(&r)->temp = 2;
        r.max_tokens = 12;
        if (!run_request(g.engine, &r, &whole)) break;
        for (size_t n = 1; n < whole.n_tokens; n++) {
            r.reply = whole.tokens, r.n_reply = n, r.max_tokens = 12 - (int32_t)n;
            check_note("seed %d, reply of %zu", (int)seed, n);
            if (!run_request(g.engine, &r, &rest)) break;
            CHECK_INT(rest.n_tokens, whole.n_tokens - n);
            CHECK_MEM(rest.tokens, whole.tokens + n, rest.n_tokens * sizeof *rest.tokens);
        }
        r.reply = other, r.n_reply = 1;
        CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
        CHECK_STR(err.text,
                  "token_healing: reply[0] does not go on with the 2 bytes at the prompt's end that are taken back");
    }
    toy_rig_close(&g);
}

TEST(a_reply_of_a_chat_is_not_healed) {
    struct toy_rig g;
    rn_chat chat;
    rn_stream *s = NULL;
    rn_error err = {0};
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_request r = text_request("");
    rn_chat_init(&chat);
    chat.messages = "[{\"role\":\"user\",\"content\":\"x\"}]";
    r.chat = &chat, r.n_parts = 0;
    r.reply = &(const int32_t){5}, r.n_reply = 1;
    r.token_healing = true;
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "token_healing: excludes reply in a chat, whose prefilled answer it would follow");
    toy_rig_close(&g);
}

TEST(the_echo_is_the_whole_prompt_and_the_answer_follows_it) {
    static struct outcome o;
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt)) return;
    for (int echo = 0; echo < 2; echo++) {
        rn_request r = text_request("Once upon a ti");
        r.token_healing = true;
        r.echo = echo;
        r.max_tokens = 6;
        if (run_request(f.engine, &r, &o)) CHECK_HAS(o.text, echo ? "Once upon a time" : "me");
        CHECK(echo || o.text[0] == 'm');
    }
    fixture_close(&f);
}

static rn_status begin_once(void *user) {
    const struct fixture *const f = user;
    rn_request r = text_request("Once upon a ti");
    rn_stream *s = NULL;
    r.token_healing = true;
    const rn_status st = rn_stream_begin(f->engine, &r, &s, NULL);
    CHECK((s == NULL) == (st != RN_OK));
    rn_stream_close(s);
    return st;
}

TEST(each_failed_allocation_of_a_stream_with_a_healed_prompt_is_reported_and_leaks_nothing) {
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt)) return;
    CHECK(check_each_failed_allocation(begin_once, &f, __FILE__, __LINE__));
    fixture_close(&f);
}
