// tests/engine/picture_spans_test.c - pictures whose rows see each other in the text model (Gemma 3): spans are wider than the text's window, stay in
// one step, and give the same text in every history.
#include "tests/engine/seeing.h"

enum { N_SPAN = 9 }; // rows of a view

static rn_engine_options options(void) {
    rn_engine_options o = engine_options();
    o.n_ctx = 384;
    return o;
}

static bool use_named(struct seeing *x, const char *name) {
    for (size_t i = 0; i < json_array_size(x->cases); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(x->cases, i), "name")), name) == 0)
            return use_case(x, json_array_get(x->cases, i));
    return CHECK(!"the case is there");
}

static bool run_alone(const char *folder, const char *name, struct outcome *out) {
    struct seeing x;
    const rn_engine_options o = options();
    const bool ok = open_model(&x, folder, &o) && use_named(&x, name) && run_request(x.f.engine, &x.req, out);
    close_model(&x);
    return ok;
}

static void same_tokens(const struct outcome *got, const struct outcome *want) {
    CHECK_INT(got->n_tokens, N_GREEDY);
    CHECK_MEM(got->tokens, want->tokens, sizeof *want->tokens * N_GREEDY);
}

// Streams beside others, which decode meanwhile, in steps that hold one span alone, and with keys and values for half of them.
TEST(spans_find_their_step_beside_streams_that_decode) {
    struct outcome want, got[6] = {0}, plain[3] = {0};
    if (!run_alone("gemma3", "two", &want)) return;
    for (int tight = 0; tight < 2; tight++) {
        struct seeing x;
        rn_engine_options o = options();
        rn_stream *s[6] = {0}, *texts[3] = {0};
        rn_error err = {0};
        rn_request text;
        const rn_part hello = {.kind = RN_PART_TEXT, .text = "so it goes", .n_text = 10};
        o.n_streams = 9, o.n_batch = 1;
        if (tight) o.n_kv = 256, o.n_ctx = 96;
        if (open_model(&x, "gemma3", &o) && use_named(&x, "two")) {
            rn_request_init(&text);
            text.parts = &hello, text.n_parts = 1, text.max_tokens = 60, text.ignore_eos = true;
            for (size_t i = 0; i < 3; i++) {
                text.cache_salt = i + 1;
                CHECK_OK(rn_stream_begin(x.f.engine, &text, &texts[i], &err), &err);
            }
            for (size_t i = 0; i < 6; i++) {
                x.req.cache_salt = i + 1;
                CHECK_OK(rn_stream_begin(x.f.engine, &x.req, &s[i], &err), &err);
            }
            memset(got, 0, sizeof got);
            memset(plain, 0, sizeof plain);
            for (size_t i = 0; i < 6; i++)
                if (s[i] && drain(s[i], &got[i])) same_tokens(&got[i], &want);
            for (size_t i = 0; i < 3; i++)
                if (texts[i] && drain(texts[i], &plain[i])) CHECK_INT(plain[i].n_tokens, 60);
            for (size_t i = 0; i < 6; i++) rn_stream_close(s[i]);
            for (size_t i = 0; i < 3; i++) rn_stream_close(texts[i]);
        }
        close_model(&x);
    }
}

TEST(searches_and_guesses_see_spans_too) {
    struct seeing x;
    struct outcome want, got, again;
    rn_engine_options o = options();
    o.n_seqs = 4;
    if (open_model(&x, "gemma3-parts", &o) && use_named(&x, "two") && run_request(x.f.engine, &x.req, &want)) {
        x.req.speculate = "suffix,ngram,lookahead", x.req.draft_max = x.req.draft_min = 5, x.req.cache_salt = 1;
        if (run_request(x.f.engine, &x.req, &got)) same_tokens(&got, &want);
        x.req.speculate = NULL, x.req.draft_max = x.req.draft_min = 0;
        x.req.strategy = "beam";
        if (run_request(x.f.engine, &x.req, &got) && run_request(x.f.engine, &x.req, &again))
            CHECK_MEM(again.tokens, got.tokens, sizeof *got.tokens * got.n_tokens);
    }
    close_model(&x);
}

// A second turn finds the picture; another picture in its place shares what stands before it.
TEST(a_second_turn_evaluates_nothing_of_a_span) {
    struct seeing x;
    struct outcome first, again, other, lone;
    const rn_engine_options o = options();
    if (open_model(&x, "gemma3", &o) && use_named(&x, "two") && run_request(x.f.engine, &x.req, &first)) {
        x.parts[x.req.n_parts - 1] =
            (rn_part){.kind = RN_PART_TEXT, .text = "?\n\n\nThen so?", .n_text = 12, .parse_special = true};
        if (run_request(x.f.engine, &x.req, &again)) {
            CHECK(again.usage.cached_tokens >= first.usage.prompt_tokens - 1);
            x.req.cache_salt = 1; // evaluated anew
            if (run_request(x.f.engine, &x.req, &lone)) {
                CHECK_INT(lone.usage.cached_tokens, 0);
                same_tokens(&again, &lone);
            }
        }
        x.req.cache_salt = 0;
        x.parts[1].picture = x.pictures[1];
        if (run_request(x.f.engine, &x.req, &other)) {
            CHECK(other.usage.cached_tokens < 6);
            CHECK(memcmp(other.tokens, again.tokens, sizeof *again.tokens * N_GREEDY) != 0);
        }
    }
    close_model(&x);
}

// ---- tokens -------------------------------------------------------------------------------------------------------------

static size_t tokens_of(const struct seeing *x, const rn_request *r, int32_t *ids, size_t most) {
    rn_error err = {0};
    int32_t *made = NULL;
    size_t n = 0;
    if (!CHECK_OK(rn_request_tokens(x->f.engine, r, &made, &n, &err), &err) || !CHECK(n <= most)) return 0;
    memcpy(ids, made, n * sizeof *ids);
    rn_free(made);
    return n;
}

static void same_ids(const json_t *c, const int32_t *ids, size_t n) {
    const json_t *const want = json_object_get(c, "ids");
    if (!CHECK_INT(n, json_array_size(want))) return;
    for (size_t i = 0; i < n; i++) CHECK_INT(ids[i], json_integer_value(json_array_get(want, i)));
}

// Line breaks around a picture join those of the text, in prompts of parts and in conversations.
TEST(prompts_and_conversations_have_the_tokens_of_the_processor) {
    static const struct {
        const char *folder, *mark;
    } all[] = {{"gemma3", "<start_of_image>"},
               {"gemma3-parts", "<start_of_image>"},
               {"internvl", "<IMG_CONTEXT>"},
               {"mistral3", "[IMG]"}};
    static const char message[] = "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":"
                                  "\"\\nno<image_soft_token>\"}]}]";
    const rn_engine_options o = options();
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        struct seeing x;
        int32_t ids[512], chat_ids[512];
        char tmpl_text[256];
        rn_error err = {0};
        snprintf(tmpl_text, sizeof tmpl_text,
                 "{%% for m in messages %%}{%% for p in m['content'] %%}{%% if p['type'] == 'image' %%}%s{%% else %%}"
                 "{{ p['text'] }}{%% endif %%}{%% endfor %%}{%% endfor %%}",
                 all[k].mark);
        check_note("%s", all[k].folder);
        if (open_model(&x, all[k].folder, &o)) {
            for (size_t i = 0; i < json_array_size(x.cases); i++) {
                const json_t *const c = json_array_get(x.cases, i);
                if (use_case(&x, c)) same_ids(c, ids, tokens_of(&x, &x.req, ids, 512));
            }
            rn_template *tmpl = NULL;
            rn_chat chat;
            rn_request asked;
            rn_request_init(&asked);
            rn_chat_init(&chat);
            if (use_named(&x, "strip") &&
                CHECK_OK(rn_template_compile(tmpl_text, strlen(tmpl_text), NULL, &tmpl, &err), &err)) {
                const size_t n = tokens_of(&x, &x.req, ids, 512);
                chat.messages = message, chat.n_messages = sizeof message - 1, chat.tmpl = tmpl;
                chat.pictures = (const rn_picture *const *)x.pictures, chat.n_pictures = 1;
                asked.chat = &chat;
                const size_t n_chat = tokens_of(&x, &asked, chat_ids, 512);
                CHECK(n_chat > n); // what a content spells is text
                CHECK_MEM(chat_ids, ids, n * sizeof *ids);
                for (size_t i = n; i < n_chat; i++) CHECK(chat_ids[i] < 259);
            }
            rn_template_close(tmpl);
        }
        close_model(&x);
    }
}

// Between ids a picture is its rows alone: what is around them is in the ids.
TEST(between_ids_a_picture_is_its_rows) {
    struct seeing x;
    struct outcome want, got;
    const rn_engine_options o = options();
    if (open_model(&x, "gemma3", &o) && use_named(&x, "wide") && run_request(x.f.engine, &x.req, &want)) {
        int32_t ids[64];
        rn_model_info info = {.struct_size = sizeof info};
        const size_t n = tokens_of(&x, &x.req, ids, 64);
        size_t at = 0;
        rn_model_get_info(x.f.model, &info, NULL);
        CHECK_INT(info.n_picture_tokens, N_SPAN);
        while (at < n && ids[at] != info.picture_token) at++;
        x.parts[0] = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = at};
        x.parts[1] = (rn_part){.kind = RN_PART_PICTURE, .picture = x.pictures[0]};
        x.parts[2] = (rn_part){.kind = RN_PART_IDS, .ids = ids + at + N_SPAN, .n_ids = n - at - N_SPAN};
        x.req.n_parts = 3;
        if (run_request(x.f.engine, &x.req, &got)) {
            CHECK_INT(got.usage.prompt_tokens, n);
            CHECK_INT(got.usage.cached_tokens, n - 1);
            same_tokens(&got, &want);
        }
    }
    close_model(&x);
}

static rn_status begin(void *user) {
    struct seeing *const x = user;
    rn_stream *s;
    const rn_status st = rn_stream_begin(x->f.engine, &x->req, &s, NULL);
    if (st == RN_OK) rn_stream_close(s);
    return st;
}

TEST(every_allocation_of_a_picture_in_parts_may_fail) {
    struct seeing x;
    struct outcome first;
    const rn_engine_options o = options();
    if (open_model(&x, "gemma3-parts", &o) && use_named(&x, "wide") && run_request(x.f.engine, &x.req, &first))
        CHECK(check_each_failed_allocation(begin, &x, __FILE__, __LINE__));
    close_model(&x);
}
