// tests/engine/chat_answer_test.c - what a model answers, in channels: reasoning, content and tool calls out of any chunks.
#include "base/mem.h"
#include "heard.h"

static const struct chat_model plain = {.kind = CHAT_PLAIN};

// <think>hm</think>Wait <tool_call>{"name": "look", "arguments": {"at": "the sky"}}</tool_call>
static void thought_and_call(struct script *s) {
    script_id(s, CHAT_THINK);
    script_bytes(s, "hm");
    script_id(s, CHAT_THINK_END);
    script_bytes(s, "Wait ");
    script_id(s, CHAT_CALL);
    script_bytes(s, "{\"name\": \"look\", \"arguments\": {\"at\": \"the sky\"}}");
    script_id(s, CHAT_CALL_END);
}

TEST(an_answer_comes_in_channels_however_it_is_cut_into_chunks) {
    static const int32_t intervals[] = {1, 2, 3, 7, 64, 1000};
    struct fixture f;
    struct talk talk = {0};
    rn_chat chat;
    struct script script = {0};
    const rn_engine_options o = chat_engine_options();
    if (!chat_open(&f, &plain, &o)) return;
    thought_and_call(&script);
    talk_say(&talk, "user", "Look");
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        struct heard h;
        rn_request r = chat_request(&talk, &chat, &script);
        chat.output_format = "hermes";
        r.stream_interval = intervals[i];
        r.max_tokens = 200;
        check_note("stream_interval %d", intervals[i]);
        if (!listen(f.engine, &r, &h)) break;
        CHECK_STR(h.reasoning, "hm");
        CHECK_STR(h.content, "Wait"); // the blank before a call is the format's
        CHECK_STR(h.names, "look;");
        CHECK_STR(h.arguments, "{\"at\": \"the sky\"}");
        CHECK_INT(h.n_calls, 1);
        CHECK_INT(h.n_ends, 1);
        CHECK_INT(h.n_reasoning, 3); // "h", "m" and the end of it
        CHECK_INT(h.o.finish, RN_FINISH_STOP);
        CHECK_HAS(h.o.detail, "<|im_end|>");
        CHECK_HAS(h.o.text, "<think>hm</think>Wait <tool_call>{\"name\""); // as the model wrote it
    }
    talk_free(&talk);
    fixture_close(&f);
}

TEST(without_a_format_everything_is_content_and_control_tokens_are_left_out) {
    struct fixture f;
    struct talk talk = {0};
    rn_chat chat;
    struct heard h;
    struct script script = {0};
    const rn_engine_options o = chat_engine_options();
    if (!chat_open(&f, &plain, &o)) return;
    thought_and_call(&script);
    talk_say(&talk, "user", "Look");
    rn_request r = chat_request(&talk, &chat, &script);
    chat.output_format = "none";
    r.max_tokens = 200;
    if (listen(f.engine, &r, &h)) {
        CHECK_STR(h.content, "hmWait {\"name\": \"look\", \"arguments\": {\"at\": \"the sky\"}}");
        CHECK_STR(h.content, h.o.text);
        CHECK_INT(h.n_calls, 0);
        CHECK_INT(h.n_reasoning, 0);
    }
    talk_free(&talk);
    fixture_close(&f);
}

// Control tokens that are not tags of the format stay out of the text.
TEST(control_tokens_of_others_are_no_part_of_the_text) {
    struct fixture f;
    struct talk talk = {0};
    rn_chat chat;
    struct heard h;
    struct script script = {0};
    const rn_engine_options o = chat_engine_options();
    if (!chat_open(&f, &plain, &o)) return;
    script_bytes(&script, "a");
    script_id(&script, 279); // <|user|>
    script_bytes(&script, "b");
    talk_say(&talk, "user", "Look");
    rn_request r = chat_request(&talk, &chat, &script);
    chat.output_format = "hermes";
    if (listen(f.engine, &r, &h)) CHECK_STR(h.content, "ab");
    talk_free(&talk);
    fixture_close(&f);
}

TEST(field_2_4_what_was_held_back_comes_out_at_the_end) {
    static const struct {
        const char *why, *reply, *stop, *content;
        int32_t max_tokens;
        rn_finish finish;
    } rows[] = {
        {"the beginning of a tag, at the end token", "so <tool", NULL, "so <tool", 100, RN_FINISH_STOP},
        {"the same at the limit", "so <tool_c", NULL, "so <tool", 8, RN_FINISH_LENGTH},
        {"a stop string goes before the parser", "so <stop> and on", "<stop>", "so ", 100, RN_FINISH_STOP},
        {"the beginning of a stop string and of a tag", "so <to", "<top>", "so <to", 100, RN_FINISH_STOP},
    };
    struct fixture f;
    const rn_engine_options o = chat_engine_options();
    if (!chat_open(&f, &plain, &o)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct talk talk = {0};
        rn_chat chat;
        struct heard h;
        struct script script = {0};
        script_bytes(&script, rows[i].reply);
        talk_say(&talk, "user", "Look");
        rn_request r = chat_request(&talk, &chat, &script);
        chat.output_format = "hermes";
        r.max_tokens = rows[i].max_tokens;
        r.stop = &rows[i].stop, r.n_stop = rows[i].stop != NULL;
        check_note("%s", rows[i].why);
        if (listen(f.engine, &r, &h)) {
            CHECK_STR(h.content, rows[i].content);
            CHECK_INT(h.o.finish, rows[i].finish);
        }
        talk_free(&talk);
    }
    fixture_close(&f);
}

// The prompt may end inside reasoning: by the generation prompt, or with a prefilled answer.
TEST(an_answer_goes_on_in_the_channel_that_the_prompt_left_open) {
    static const char thinks[] =
        "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.reasoning_content %}{{ '<think>' + "
        "m.reasoning_content + '</think>' }}{% endif %}{{ m.content + '<|im_end|>\n' }}{% endfor -%}\n"
        "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>' }}{% endif -%}";
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct fixture f;
        const struct chat_model m = {.kind = CHAT_PLAIN, .chat_template = thinks};
        struct talk talk = {0};
        rn_chat chat;
        struct heard h;
        struct script script = {0};
        const rn_engine_options o = chat_engine_options();
        if (!chat_open(&f, &m, &o)) return;
        talk_say(&talk, "user", "Look, <think>"); // what people write opens nothing
        talk_say(&talk, "assistant", "");
        json_object_set_new(json_array_get(talk.messages, 1), "reasoning_content", json_string("hm"));
        if (!goes_on) json_array_remove(talk.messages, 1);
        script_bytes(&script, "more");
        script_id(&script, CHAT_THINK_END);
        script_bytes(&script, "so");
        rn_request r = chat_request(&talk, &chat, &script);
        chat.output_format = "think";
        chat.continue_final = goes_on;
        check_note(goes_on ? "gone on with" : "by the generation prompt");
        if (listen(f.engine, &r, &h)) {
            CHECK_STR(h.reasoning, "more");
            CHECK_STR(h.content, "so");
            CHECK_INT(h.n_reasoning, 5);
        }
        talk_free(&talk);
        fixture_close(&f);
    }
}

// What was held back when the answer was cut came out at its end; it does not come once more.
TEST(an_answer_gone_on_with_repeats_nothing_that_was_held_back) {
    static const char reply[] = "so <tool then, <tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call> and";
    struct fixture f;
    const rn_engine_options o = chat_engine_options();
    if (!chat_open(&f, &plain, &o)) return;
    for (size_t cut = 1; cut < strlen("so <tool then, "); cut++) { // at each byte before the call
        struct talk talk = {0};
        rn_chat chat;
        struct heard first, rest;
        struct script script = {0};
        char said[256] = "";
        script_bytes(&script, reply);
        talk_say(&talk, "user", "Look");
        rn_request r = chat_request(&talk, &chat, &script);
        chat.output_format = "hermes";
        r.max_tokens = (int32_t)cut;
        if (!listen(f.engine, &r, &first)) break;
        CHECK(strlen(first.content) == cut && memcmp(first.content, reply, cut) == 0);
        talk_say(&talk, "assistant", first.content);
        r = chat_request(&talk, &chat, &script);
        script.at = cut;
        chat.output_format = "hermes";
        chat.continue_final = true;
        r.max_tokens = 200;
        if (listen(f.engine, &r, &rest)) {
            append(said, sizeof said, first.content, strlen(first.content));
            append(said, sizeof said, rest.content, strlen(rest.content));
            check_note("cut at %zu", cut);
            CHECK_STR(said, "so <tool then, and");
            CHECK_STR(rest.names, "look;");
        }
        talk_free(&talk);
    }
    fixture_close(&f);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

struct reading {
    rn_engine *engine;
    rn_request r;
    struct script *script;
};

// Everything is generated before the first chunk is taken, so only the reader's side allocates.
static rn_status read_answer(void *user) {
    struct reading *const x = user;
    rn_stream *s = NULL;
    rn_chunk c = new_chunk();
    x->script->at = 0;
    rn_status st = rn_stream_begin(x->engine, &x->r, &s, NULL);
    while (st == RN_OK && c.finish_reason == RN_FINISH_NONE) st = rn_stream_next(s, -1, &c, NULL);
    if (st == RN_E_NOMEM && s && c.finish_reason == RN_FINISH_NONE) // and it stays so
        for (rn_status again = RN_OK; again != RN_E_END && again != RN_E_NOMEM;)
            again = rn_stream_next(s, -1, &c, NULL);
    rn_stream_close(s);
    return st;
}

TEST(each_failed_allocation_of_an_answer_is_reported_and_leaks_nothing) {
    struct fixture f;
    struct talk talk = {0};
    rn_chat chat;
    struct script script = {0};
    const rn_engine_options o = chat_engine_options();
    if (!chat_open(&f, &plain, &o)) return;
    thought_and_call(&script);
    talk_say(&talk, "user", "Look");
    struct reading x = {f.engine, chat_request(&talk, &chat, &script), &script};
    chat.output_format = "hermes";
    x.r.max_tokens = 200;
    check_each_failed_allocation(read_answer, &x, __FILE__, __LINE__);
    chat.output_format = "glm"; // strings without quotes: the answer goes by the tools, too
    chat.tools = "[{\"type\": \"function\", \"function\": {\"name\": \"f\"}}]";
    chat.n_tools = strlen(chat.tools);
    check_each_failed_allocation(read_answer, &x, __FILE__, __LINE__);
    talk_free(&talk);
    fixture_close(&f);
}
