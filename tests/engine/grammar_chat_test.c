// tests/engine/grammar_chat_test.c - answers of conversations with a grammar: it is about what comes behind the reasoning.
#include "heard.h"

static const struct chat_model plain = {.kind = CHAT_PLAIN};

struct rig {
    struct fixture f;
    rn_grammar *digits; // {"a": 0} to {"a": 99}
    struct talk talk;
    rn_chat chat;
    struct script script;
    rn_template *tmpl;
};

static bool open_rig(struct rig *g) {
    static const char source[] = "\\{\"a\": [0-9]{1,2}\\}";
    const rn_engine_options o = chat_engine_options();
    rn_grammar_source s;
    rn_error err = {0};
    *g = (struct rig){0};
    if (!chat_open(&g->f, &plain, &o)) return false;
    rn_grammar_source_init(&s);
    s.kind = RN_GRAMMAR_REGEX;
    s.text = source, s.n_text = sizeof source - 1;
    talk_say(&g->talk, "user", "Which?");
    static const char knows[] = "{# <think> <seed:think> #}{{ messages[0]['content'] }}\n";
    CHECK_OK(rn_template_compile(knows, sizeof knows - 1, "test", &g->tmpl, &err), &err);
    return CHECK_OK(rn_grammar_compile(g->f.model, &s, &g->digits, &err), &err);
}
static void close_rig(struct rig *g) {
    rn_grammar_close(g->digits);
    rn_template_close(g->tmpl);
    talk_free(&g->talk);
    fixture_close(&g->f);
}

static rn_request ask(struct rig *g, const char *format) {
    rn_request r = chat_request(&g->talk, &g->chat, &g->script);
    g->chat.output_format = format;
    g->chat.tmpl = g->tmpl;
    r.grammar = g->digits;
    return r;
}

TEST(reasoning_comes_before_the_grammar_or_not_at_all) {
    static const struct {
        bool thinks, cuts; // its tags are not control tokens but bytes
        const char *thought, *between, *says, *reasoning, *content;
    } cases[] = {
        {false, false, "", "", "{\"a\": 7}", "", "{\"a\": 7}"},
        {true, false, "a {b\n", "\n\n", "{\"a\": 42}", "a {b", "{\"a\": 42}"},
        {true, false, "", "", "{\"a\": 1}", "", "{\"a\": 1}"},
        {true, false, "{\"a\": 1}", "\n", "{\"a\": 2}", "{\"a\": 1}", "{\"a\": 2}"},
    };
    struct rig g;
    static struct heard h;
    if (!open_rig(&g)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_note("case %zu", i);
        g.script.n = 0;
        if (cases[i].thinks) {
            script_id(&g.script, CHAT_THINK);
            script_bytes(&g.script, cases[i].thought);
            script_id(&g.script, CHAT_THINK_END);
        }
        script_bytes(&g.script, cases[i].between);
        script_bytes(&g.script, cases[i].says);
        const rn_request r = ask(&g, "hermes");
        if (!listen(g.f.engine, &r, &h)) break;
        CHECK_STR(h.reasoning, cases[i].reasoning);
        CHECK_STR(h.content, cases[i].content);
        CHECK_INT(h.o.finish, RN_FINISH_STOP);
        CHECK_STR(h.o.detail, "grammar");
    }
    close_rig(&g);
}

// What the model would say without the grammar is not drawn.
TEST(an_answer_cannot_leave_the_grammar_or_end_in_its_reasoning) {
    struct rig g;
    static struct heard h;
    int a = -1;
    if (!open_rig(&g)) return;
    script_bytes(&g.script, "\n\nHello, I will not!");
    rn_request r = ask(&g, "hermes");
    if (listen(g.f.engine, &r, &h)) {
        CHECK_INT(sscanf(h.content, "{\"a\": %d}", &a), 1);
        CHECK_STR(h.o.detail, "grammar");
    }
    g.script.n = 0;
    script_id(&g.script, CHAT_THINK);
    script_bytes(&g.script, "so");
    script_id(&g.script, CHAT_END); // not here
    r = ask(&g, "hermes");
    r.max_tokens = 30;
    if (listen(g.f.engine, &r, &h)) {
        CHECK_INT(h.o.finish, RN_FINISH_LENGTH);
        CHECK_STR(h.content, "");
        CHECK(strncmp(h.reasoning, "so", 2) == 0);
    }
    // More than two line breaks are no answer.
    g.script.n = 0;
    script_id(&g.script, CHAT_THINK);
    script_id(&g.script, CHAT_THINK_END);
    script_bytes(&g.script, "\n\n\n\n{\"a\": 5}");
    r = ask(&g, "hermes");
    if (listen(g.f.engine, &r, &h)) CHECK_INT(sscanf(h.content, "{\"a\": %d}", &a), 1);
    close_rig(&g);
}

// Tags that are text: any tokens may spell them.
TEST(tags_of_text_are_found_in_any_tokens) {
    struct rig g;
    static struct heard h;
    if (!open_rig(&g)) return;
    script_bytes(&g.script, "<seed:think>one </seed:think</seed:think>\n{\"a\": 3}");
    rn_request r = ask(&g, "seed-oss");
    if (listen(g.f.engine, &r, &h)) {
        CHECK_STR(h.reasoning, "one </seed:think");
        CHECK_STR(h.content, "{\"a\": 3}");
    }
    // Once the tag has begun it is finished.
    g.script.n = 0;
    script_bytes(&g.script, "<seed of an idea");
    r = ask(&g, "seed-oss");
    r.max_tokens = 40;
    if (listen(g.f.engine, &r, &h)) CHECK(strncmp(h.o.text, "<seed:think>", 12) == 0);
    close_rig(&g);
}

TEST(a_prompt_may_have_opened_the_reasoning) {
    static const char source[] = "{{ messages[0]['content'] }}\n<seed:think>\n";
    struct rig g;
    static struct heard h;
    rn_template *tmpl = NULL;
    rn_error err = {0};
    if (!open_rig(&g)) return;
    CHECK_OK(rn_template_compile(source, sizeof source - 1, "test", &tmpl, &err), &err);
    script_bytes(&g.script, "well</seed:think>\n\n{\"a\": 9}");
    rn_request r = ask(&g, "seed-oss");
    g.chat.tmpl = tmpl;
    if (listen(g.f.engine, &r, &h)) {
        CHECK_STR(h.reasoning, "well");
        CHECK_STR(h.content, "{\"a\": 9}");
    }
    // As a reply that was interrupted in its reasoning, and behind it.
    for (size_t n = 1; n <= g.script.n; n++) {
        static struct script rest;
        static struct heard again;
        rest = (struct script){0};
        for (size_t i = n; i < g.script.n; i++) rest.ids[rest.n++] = g.script.ids[i];
        r = chat_request(&g.talk, &g.chat, &rest);
        g.chat.output_format = "seed-oss", g.chat.tmpl = tmpl;
        r.grammar = g.digits;
        r.reply = g.script.ids, r.n_reply = n;
        check_note("reply of %zu tokens", n);
        if (!listen(g.f.engine, &r, &again)) break;
        CHECK_STR(again.o.detail, "grammar");
        CHECK_INT(again.o.n_tokens, g.script.n - n);
    }
    rn_template_close(tmpl);
    close_rig(&g);
}

// Banned strings take back tokens of the reasoning, its end, and of the answer.
TEST(tokens_that_are_taken_back_bring_the_reasoning_back) {
    static const char *const banned[] = {"no", "> {", "a\": 8", "\n{"};
    struct rig g;
    static struct heard h;
    if (!open_rig(&g)) return;
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++) {
        int a = -1;
        g.script.n = 0;
        script_bytes(&g.script, "<seed:think>on no</seed:think>\n{\"a\": 8}");
        rn_request r = ask(&g, "seed-oss");
        r.banned_strings = &banned[i], r.n_banned_strings = 1;
        r.max_tokens = 200;
        check_note("banned '%s'", banned[i]);
        if (!listen(g.f.engine, &r, &h)) break;
        CHECK(!strstr(h.o.text, banned[i]));
        if (h.o.finish == RN_FINISH_STOP) CHECK_INT(sscanf(h.content, "{\"a\": %d}", &a), 1);
    }
    close_rig(&g);
}

// A template that knows no reasoning, and a prompt that has closed it: the grammar begins at once.
TEST(an_answer_does_not_reason_where_it_should_not) {
    static const char *const sources[] = {"{{ messages[0]['content'] }}\n",
                                          "{{ messages[0]['content'] }}\n<seed:think>\n</seed:think>\n\n"};
    struct rig g;
    static struct heard h;
    if (!open_rig(&g)) return;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        rn_template *tmpl = NULL;
        rn_error err = {0};
        int a = -1;
        CHECK_OK(rn_template_compile(sources[i], strlen(sources[i]), "test", &tmpl, &err), &err);
        g.script.n = 0;
        script_bytes(&g.script, "<seed:think>well</seed:think>\n{\"a\": 9}");
        const rn_request r = ask(&g, "seed-oss");
        g.chat.tmpl = tmpl;
        if (listen(g.f.engine, &r, &h)) CHECK_INT(sscanf(h.o.text, "{\"a\": %d}", &a), 1);
        rn_template_close(tmpl);
    }
    close_rig(&g);
}

// The bytes of a text, but <|end|>, which is a control token here, and one that ends answers.
static void script_tags(struct script *s, const char *text) {
    static const char end[] = "<|end|>";
    for (const char *at; (at = strstr(text, end)); text = at + strlen(end)) {
        while (text < at) script_id(s, (uint8_t)*text++);
        script_id(s, CHAT_ASSISTANT_END);
    }
    script_bytes(s, text);
}

// The tags are a part of the grammar, and the prompt may have written the first of them.
TEST(a_grammar_stands_between_the_tags_of_formats_that_frame_answers) {
    static const struct {
        const char *format, *prompt, *says, *reasoning;
    } cases[] = {
        {"harmony", "<|start|>assistant", "<|channel|>final<|message|>{\"a\": 7}", ""},
        {"harmony", "<|start|>assistant",
         "<|channel|>analysis<|message|>hm\n<|end|><|start|>assistant<|channel|>final<|message|>{\"a\": 7}", "hm"},
        {"muse", "<|start|>assistant", " to=user<|message|>{\"a\": 7}", ""},
        {"muse", "<|start|>assistant", " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>{\"a\": 7}",
         "hm"},
        {"command-a", "<|CHATBOT_TOKEN|>",
         "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{\"a\": 7}<|END_RESPONSE|>", "hm"},
        {"command-a", "<|START_THINKING|>", "hm<|END_THINKING|><|START_RESPONSE|>{\"a\": 7}<|END_RESPONSE|>", "hm"},
        {"command-a", "", "<|START_RESPONSE|>{\"a\": 7}<|END_RESPONSE|>", ""},
        {"kimi-k3", "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
         "{\"a\": 7}<|close|>response<|sep|><|close|>message<|sep|>", ""},
        {"functionary-3.2", "\n\n>>>", "all\n{\"a\": 7}", ""},
        {"solar", "<|begin|>assistant", "<|content|>{\"a\": 7}", ""},
        {"solar", "<|begin|>assistant<|think|>", "hm<|end|><|begin|>assistant<|content|>{\"a\": 7}", "hm"},
    };
    struct rig g;
    static struct heard h;
    if (!open_rig(&g)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[256];
        rn_template *tmpl = NULL;
        rn_error err = {0};
        check_note("case %zu: %s", i, cases[i].format);
        snprintf(source, sizeof source, "{{ messages[0]['content'] }}%s", cases[i].prompt);
        CHECK_OK(rn_template_compile(source, strlen(source), "test", &tmpl, &err), &err);
        g.script.n = g.script.at = 0;
        script_tags(&g.script, cases[i].says);
        rn_request r = ask(&g, cases[i].format);
        r.max_tokens = 200;
        g.chat.tmpl = tmpl;
        if (listen(g.f.engine, &r, &h)) {
            CHECK_STR(h.o.text, cases[i].says);
            CHECK_STR(h.content, "{\"a\": 7}");
            CHECK_STR(h.reasoning, cases[i].reasoning);
            CHECK_STR(h.o.detail, "grammar");
        }
        rn_template_close(tmpl);
    }
    close_rig(&g);
}

// A message that the answer continues is its beginning: the grammar reads it first, wherever it was cut.
TEST(a_continued_answer_follows_the_grammar_from_its_beginning) {
    static const char whole[] = "{\"a\": 42}", thought[] = "<seed:think>so {\"a\"</seed:think>\n{\"a\": 42}";
    static const char asks[] = "{# <seed:think> #}{{ messages[0]['content'] }}\n{% for m in messages[1:] %}"
                               "{{ m['content'] }}<|im_end|>{% endfor %}";
    const char *const texts[] = {whole, thought};
    struct rig g;
    static struct heard h;
    rn_template *tmpl = NULL;
    rn_error err = {0};
    if (!open_rig(&g)) return;
    CHECK_OK(rn_template_compile(asks, sizeof asks - 1, "test", &tmpl, &err), &err);
    for (size_t t = 0; t < 2; t++) {
        for (size_t cut = 1; cut <= strlen(texts[t]); cut++) {
            char begun[64];
            snprintf(begun, sizeof begun, "%.*s", (int)cut, texts[t]);
            for (int heals = 0; heals < (t ? 1 : 2); heals++) { // healing may lose the script, and a thought its end
                struct talk talk = {0};
                talk_say(&talk, "user", "Which?");
                talk_say(&talk, "assistant", begun);
                g.script.n = 0; // the rest, or whatever the grammar makes of it where tokens were taken back
                script_bytes(&g.script, texts[t] + cut);
                rn_request r = chat_request(&talk, &g.chat, &g.script);
                g.chat.output_format = t ? "seed-oss" : "none";
                g.chat.tmpl = tmpl;
                g.chat.continue_final = true;
                r.grammar = g.digits;
                r.token_healing = heals;
                check_note("'%s'%s", begun, heals ? ", healed" : "");
                if (listen(g.f.engine, &r, &h)) {
                    static char all[sizeof begun + sizeof h.o.text];
                    int a = -1, end = 0;
                    snprintf(all, sizeof all, "%s%s", begun, h.o.text);
                    CHECK_STR(h.o.detail, "grammar");
                    if (!heals) CHECK_STR(all, texts[t]);
                    const char *const behind = strstr(all, "</seed:think>");
                    CHECK(!behind == (t == 0));
                    CHECK_INT(sscanf(behind ? behind + strlen("</seed:think>") : all, " {\"a\": %d}%n", &a, &end), 1);
                    CHECK(end > 0);
                }
                talk_free(&talk);
            }
        }
    }
    rn_template_close(tmpl);
    close_rig(&g);
}

TEST(a_continued_answer_that_does_not_follow_the_grammar_is_refused) {
    static const char *const texts[] = {"Hello", "{\"a\": 423", "{\"b", "{\"a\": 4} ", "}"};
    struct rig g;
    if (!open_rig(&g)) return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct talk talk = {0};
        rn_stream *s = NULL;
        rn_error err = {0};
        talk_say(&talk, "user", "Which?");
        talk_say(&talk, "assistant", texts[i]);
        rn_request r = chat_request(&talk, &g.chat, &g.script);
        g.chat.output_format = "none";
        g.chat.continue_final = true;
        r.grammar = g.digits;
        check_note("'%s'", texts[i]);
        CHECK_INT(rn_stream_begin(g.f.engine, &r, &s, &err), RN_E_ARG);
        CHECK(strstr(err.text, "continue_final: the last message does not follow the grammar") != NULL);
        rn_stream_close(s);
        talk_free(&talk);
    }
    close_rig(&g);
}
