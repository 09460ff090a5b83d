// tests/grammar/calls_test.c - tool calls in every output format: what follows the grammar is parsed as calls that satisfy their
// schemas.
#include "base/mem.h"
#include "base/philox.h"
#include "grammar/calls/call_types.h"
#include "grammar/grammar.h"
#include "output/output_formats.h"
#include "output/output_tag.h"
#include "tests/check.h"
#include "tests/support/call_vocabulary.h"
#include "tests/support/parsed_output.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- random tools ----

struct random {
    uint64_t seed;
    uint32_t n;
};
static int roll(struct random *g, int below) {
    return (int)(philox_uniform(g->seed, 0, g->n++, PHILOX_SAMPLE) * below);
}

static void any_schema(struct random *g, struct text_buf *to, int depth);

static void put(struct text_buf *to, const char *s) { text_buf_add(to, s, strlen(s)); }

static void any_object(struct random *g, struct text_buf *to, int depth) {
    static const char *const names[] = {"city", "unit", "a", "days", "is_on", "x-y", "list", "\\u00e4b"};
    const int n = roll(g, 4), from = roll(g, 5);
    char text[80];
    put(to, "{\"type\": \"object\", \"properties\": {");
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s\"%s\": ", i ? ", " : "", names[from + i]);
        put(to, text);
        any_schema(g, to, depth);
    }
    put(to, "}, \"required\": [");
    for (int i = 0, is_next = 0; i < n; i++) {
        if (roll(g, 2)) continue;
        snprintf(text, sizeof text, "%s\"%s\"", is_next++ ? ", " : "", names[from + i]);
        put(to, text);
    }
    put(to, roll(g, 4)   ? "], \"additionalProperties\": false}"
            : roll(g, 2) ? "]}"
                         : "], \"additionalProperties\": {\"type\": \"integer\"}}");
}

static void any_schema(struct random *g, struct text_buf *to, int depth) {
    static const char *const leaves[] = {
        "{\"type\": \"string\"}",
        "{\"type\": \"string\", \"minLength\": 1, \"maxLength\": 6}",
        "{\"type\": \"string\", \"pattern\": \"^[0-9a-c<]{2,5}$\"}",
        "{\"enum\": [\"C\", \"F\", \"1\", 2, null]}",
        "{\"enum\": [\"on\", \"off\"]}",
        "{\"type\": \"integer\", \"minimum\": -3, \"maximum\": 40}",
        "{\"type\": \"number\"}",
        "{\"type\": \"boolean\"}",
        "{\"type\": [\"string\", \"null\"]}",
        "{\"type\": [\"number\", \"string\"]}",
        "{\"const\": \"a\\\"b\\\\\\nc\"}",
        "{\"type\": \"string\", \"format\": \"date\"}",
        "{}",
    };
    const int kind = roll(g, depth > 0 ? 20 : 13);
    if (kind < 13) {
        put(to, leaves[kind]);
    } else if (kind < 17) {
        put(to, "{\"type\": \"array\", \"maxItems\": 3, \"items\": ");
        any_schema(g, to, depth - 1);
        put(to, "}");
    } else {
        any_object(g, to, depth - 1);
    }
}

enum { MAX_TOOLS = 3 };
struct tools {
    struct text_buf list, schemas[MAX_TOOLS];
    const char *names[MAX_TOOLS];
    bool is_strict[MAX_TOOLS];
    int n;
};
static const char *const tool_names[] = {"get_weather", "add", "f", "my-tool_2", "functions", "Tool.x"};

static void any_tools(struct random *g, struct tools *t) {
    const int from = roll(g, 6);
    *t = (struct tools){.n = 1 + roll(g, MAX_TOOLS)};
    put(&t->list, "[");
    for (int i = 0; i < t->n; i++) {
        char head[120];
        any_object(g, &t->schemas[i], 2);
        t->names[i] = tool_names[(from + i) % 6];
        snprintf(head, sizeof head,
                 "%s{\"type\": \"function\", \"function\": {\"name\": \"%s\", \"parameters\": ", i ? ", " : "",
                 t->names[i]);
        put(&t->list, head);
        text_buf_add(&t->list, t->schemas[i].s, t->schemas[i].n);
        t->is_strict[i] = roll(g, 2);
        put(&t->list, t->is_strict[i] ? ", \"strict\": true}}" : "}}");
    }
    put(&t->list, "]");
}

static void free_tools(struct tools *t) {
    text_buf_free(&t->list);
    for (int i = 0; i < t->n; i++) text_buf_free(&t->schemas[i]);
}

// ---- drawing ----

// One that may follow: one of the tags or what closes something more often than others, so that texts end.
static int32_t draw(struct random *g, const struct call_vocabulary *t, const struct output_format *f,
                    const uint64_t *mask) {
    static const char closers[] = "\"}])0\n,`";
    int32_t some[CALL_MAX_TOKENS], n = 0;
    for (int32_t i = t->n - t->n_tags; i < t->n; i++)
        if (mask[i / 64] >> i % 64 & 1 && output_format_reads(f, t->texts[i], strlen(t->texts[i]))) some[n++] = i;
    if (n && roll(g, 2)) return some[roll(g, n)];
    n = 0;
    for (int32_t i = t->n - t->n_tags; i < t->n; i++)
        if (mask[i / 64] >> i % 64 & 1) some[n++] = i;
    if (n && roll(g, 4) == 0) return some[roll(g, n)];
    n = 0;
    for (const char *c = closers; *c; c++)
        if (mask[(uint8_t)*c / 64] >> (uint8_t)*c % 64 & 1) some[n++] = (uint8_t)*c;
    if (n && roll(g, 2)) return some[roll(g, n)];
    n = 0;
    for (int32_t i = 0; i < t->n; i++)
        if (mask[i / 64] >> i % 64 & 1) some[n++] = i;
    return n ? some[roll(g, n)] : -1;
}

// A random text of the grammar, up to most tokens. True: it is whole.
static bool draw_text(struct random *g, const struct call_vocabulary *t, const struct output_format *f, grammar *gr,
                      int most, struct text_buf *to) {
    struct grammar_cursor c;
    rn_error err = {0};
    bool is_whole = false, is_over = false, is_allowed = true;
    if (!CHECK_OK(grammar_cursor_init(&c, gr, &err), &err)) return false;
    for (int i = 0; i < most && !is_over && is_allowed; i++) {
        uint64_t mask[CALL_N_MASK];
        memset(mask, 0xff, sizeof mask);
        if (!CHECK_OK(grammar_mask(&c, mask, CALL_N_MASK, &is_whole, &err), &err)) break;
        if (is_whole && roll(g, 12) == 0) break;
        int32_t token = draw(g, t, f, mask);
        for (const char *b = "{["; i == 0 && *b && f->forms[0].at_start && roll(g, 2); b++) // as calls begin there
            if (mask[(uint8_t)*b / 64] >> (uint8_t)*b % 64 & 1) token = (uint8_t)*b;
        if (!CHECK(token >= 0)) break; // a dead end
        if (!CHECK_OK(grammar_take(&c, token, &is_allowed, &err), &err) || !CHECK(is_allowed)) break;
        text_buf_add(to, t->texts[token], call_token_bytes(t, token));
        if (!CHECK_OK(grammar_state(&c, &is_whole, &is_over, &err), &err)) break;
    }
    grammar_cursor_free(&c);
    return is_whole;
}

// ---- what is parsed ----

static bool satisfies(const struct call_vocabulary *t, const struct text_buf *schema, const struct text_buf *value) {
    bool is_valid = false;
    rn_error err = {0};
    return CHECK_OK(calls_satisfy(t, schema->s, schema->n, value->s, value->n, &is_valid, &err), &err) && is_valid;
}

static bool has_calls(const struct output_format *f) { return f->forms[0].body != BODY_NONE; }

// A call whose tag stands in what was said was not found.
static bool has_tag(const struct output_format *f, const struct text_buf *said) {
    for (int i = 0; i < FORMAT_FORMS && f->forms[i].body; i++) {
        const struct call_form *const form = &f->forms[i];
        const char *const begins = form->open && !form->at_start ? form->open : form->head;
        if (begins && begins[0] != '%' && said->n && memmem(said->s, said->n, begins, tag_fixed(begins))) return true;
    }
    return false;
}

struct mode {
    bool is_single, is_optional;
};

// Counts the calls.
static bool check_calls(const struct call_vocabulary *t, const struct tools *tools, const struct output_format *f,
                        const struct text_buf *text, struct mode mode, int *n_calls) {
    static const struct text_buf any = {.s = (char *)(uintptr_t) "{\"type\": \"object\"}", .n = 18};
    static struct parsed p;
    struct json_tree list = {0};
    rn_error err = {0};
    if (!CHECK_OK(json_read(&list, tools->list.s, tools->list.n, &err), &err)) return false;
    const struct output_tools types = call_types(&list);
    memset(&p, 0, sizeof p);
    parsed_run_tools(&p, f, &types, text->n ? text->s : "", text->n, false);
    json_free(&list);
    check_note("%s: %.*s -> %s", f->name, (int)text->n, text->s, p.story.s);
    bool ok = CHECK(!mode.is_single || p.n_calls <= 1);
    ok &= mode.is_optional ? CHECK(!has_tag(f, &p.content) && !has_tag(f, &p.reasoning))
                           : CHECK_INT(p.content.n, 0) & CHECK(p.n_calls >= 1);
    for (int i = 0; i < p.n_calls && ok; i++) {
        int k = 0;
        while (k < tools->n && strcmp(p.name[i], tools->names[k]) != 0) k++;
        ok = CHECK(k < tools->n) && CHECK(!p.broken[i]);
        if (!ok) break;
        const struct text_buf *const schema = mode.is_optional && !tools->is_strict[k] ? &any : &tools->schemas[k];
        check_note("%s: %.*s -> %s, schema %.*s", f->name, (int)text->n, text->s, p.story.s, (int)schema->n,
                   schema->s);
        ok = CHECK(satisfies(t, schema, &p.calls[i]));
    }
    *n_calls += p.n_calls;
    parsed_free(&p);
    return ok;
}

// Random answers of one format's form. Returns how many were whole; -1: one was wrong.
static int check_answers(const struct call_vocabulary *t, const struct output_format *f, uint32_t form, uint64_t seed,
                         bool is_optional, int *n_calls) {
    struct random g = {seed, 0};
    struct tools tools;
    rn_error err = {0};
    grammar *gr = NULL;
    int n_whole = 0;
    any_tools(&g, &tools);
    const struct mode mode = {roll(&g, 2), is_optional};
    const struct grammar_source source = {.kind = GRAMMAR_CALLS,
                                          .text = {tools.list.s, tools.list.n},
                                          .format = f,
                                          .form = form,
                                          .is_single = mode.is_single,
                                          .is_optional = mode.is_optional};
    check_note("%s, form %u: %.*s", f->name, form, (int)tools.list.n, tools.list.s);
    const rn_status st = grammar_compile(&source, &t->v, &gr, &err);
    // What a format cannot write: a name, or a value that it does not tell from another one.
    const bool is_refused = st != RN_OK && (strstr(err.text, "can write") || strstr(err.text, "cannot write"));
    if (!is_refused && !CHECK_OK(st, &err)) n_whole = -1;
    for (int k = 0; k < 3 && gr && n_whole >= 0; k++) {
        struct text_buf text = {0};
        if (draw_text(&g, t, f, gr, 1500, &text)) {
            n_whole++;
            if (!check_calls(t, &tools, f, &text, mode, n_calls)) n_whole = -1;
        }
        text_buf_free(&text);
    }
    grammar_unref(gr);
    free_tools(&tools);
    return n_whole;
}

static void check_formats(bool is_optional) {
    static struct call_vocabulary t;
    rn_error err = {0};
    const int n_rounds = getenv("RUNNEL_TEST_FULL") ? 400 : 8;
    for (int controls = 0; controls < 2; controls++) {
        if (!CHECK_OK(call_vocabulary_open(&t, controls, &err), &err)) return;
        for (size_t i = 0; i < n_output_formats; i++) {
            const struct output_format *const f = &output_formats[i];
            int n_whole = 0, n_calls = 0;
            if (!has_calls(f)) continue;
            for (int round = 0; round < n_rounds; round++)
                for (uint32_t form = 0; form < FORMAT_FORMS && f->forms[form].body; form++) {
                    if (f->forms[form].writes.never) continue;
                    const int n =
                        check_answers(&t, f, form, (uint64_t)round * 1000 + i * 10 + form, is_optional, &n_calls);
                    if (n < 0) return;
                    n_whole += n;
                }
            check_note("%s: %d whole, %d calls", f->name, n_whole, n_calls);
            CHECK(n_whole > n_rounds / 4 && n_calls > 0);
        }
        call_vocabulary_close(&t);
    }
}

TEST(random_calls_are_parsed_back_in_every_format) { check_formats(false); }
TEST(text_and_calls_are_told_apart_in_every_format) { check_formats(true); }

// ---- strings that read like other values ----

// A call in this form of a tool with one argument, whose schema leaves one value: what is parsed of it, as JSON.
static bool call_with(const struct call_vocabulary *t, const struct output_format *f, uint32_t form,
                      const char *schema, bool is_cut, struct text_buf *arguments) {
    struct text_buf list = {0}, text = {0};
    struct json_tree tree = {0};
    static struct parsed p;
    rn_error err = {0};
    grammar *gr = NULL;
    bool is_whole = false;
    put(&list, "[{\"name\": \"f\", \"parameters\": {\"type\": \"object\", \"properties\": {\"x\": ");
    put(&list, schema);
    put(&list,
        "}, \"required\": [\"x\"], \"additionalProperties\": false, \"$defs\": {\"s\": {\"type\": \"string\"}}}}]");
    const struct grammar_source source = {
        .kind = GRAMMAR_CALLS, .text = {list.s, list.n}, .format = f, .form = form, .is_single = true};
    check_note("%s, form %u: %s", f->name, form, schema);
    memset(&p, 0, sizeof p);
    bool ok = CHECK_OK(grammar_compile(&source, &t->v, &gr, &err), &err) &&
              CHECK_OK(json_read(&tree, list.s, list.n, &err), &err);
    for (uint64_t seed = 1; ok && !is_whole && seed < 50; seed++) { // reasoning may take long
        struct random g = {seed, 0};
        text.n = 0;
        is_whole = draw_text(&g, t, f, gr, 1500, &text);
    }
    ok = ok && CHECK(is_whole);
    if (ok) {
        const struct output_tools types = call_types(&tree);
        parsed_run_tools(&p, f, &types, text.s, text.n, is_cut);
        ok = CHECK_INT(p.n_calls, 1) && CHECK(!p.broken[0]);
        if (ok) text_buf_add(arguments, p.calls[0].s, p.calls[0].n);
        parsed_free(&p);
    }
    json_free(&tree);
    grammar_unref(gr);
    text_buf_free(&list), text_buf_free(&text);
    return ok;
}

static bool is_object_with(const char *value, const struct text_buf *arguments) {
    struct json_tree tree = {0}, want = {0};
    rn_error err = {0};
    bool ok = CHECK_OK(json_read(&tree, arguments->s, arguments->n, &err), &err) &&
              CHECK_OK(json_read(&want, value, strlen(value), &err), &err);
    const struct json_node *const x = ok ? json_member(tree.nodes, "x") : NULL;
    if (ok && want.nodes->kind == JSON_NULL)
        ok = CHECK(json_has_null(tree.nodes, "x"));
    else if (ok)
        ok = CHECK(x != NULL) && CHECK_INT(x->kind, want.nodes->kind) &&
             (x->kind != JSON_STRING ||
              (CHECK_INT(x->n_text, want.nodes->n_text) && CHECK_MEM(x->text, want.nodes->text, x->n_text)));
    json_free(&tree), json_free(&want);
    return ok;
}

TEST(strings_that_read_like_other_values_are_strings_where_tools_declare_them) {
    static const struct {
        const char *schema, *value;
    } rows[] = {
        {"{\"const\": \"123\"}", "\"123\""},
        {"{\"type\": \"string\", \"pattern\": \"^-0[.]5e1$\"}", "\"-0.5e1\""},
        {"{\"enum\": [\"true\"]}", "\"true\""},
        {"{\"$ref\": \"#/$defs/s\", \"pattern\": \"^null$\"}", "\"null\""},
        {"{\"anyOf\": [{\"const\": \"None\"}, {\"type\": \"string\", \"const\": \"None\"}]}", "\"None\""},
        {"{\"allOf\": [{\"type\": [\"string\", \"null\"]}, {\"const\": \"[1, 2]\"}]}", "\"[1, 2]\""},
        {"{\"type\": \"string\", \"const\": \"{}\"}", "\"{}\""},
        {"{\"type\": [\"string\", \"null\"], \"pattern\": \"^7$\", \"not\": {\"const\": null}}", "\"7\""},
        {"{\"type\": [\"string\", \"number\"], \"enum\": [\"False\"]}", "\"False\""},
        {"{\"type\": [\"string\", \"null\"], \"enum\": [null]}", "null"},
        {"{\"type\": \"integer\", \"minimum\": 7, \"maximum\": 7}", "7"},
        {"{\"type\": \"boolean\", \"enum\": [true]}", "true"},
    };
    static struct call_vocabulary t;
    rn_error err = {0};
    if (!CHECK_OK(call_vocabulary_open(&t, false, &err), &err)) return;
    for (size_t i = 0; i < n_output_formats; i++)
        for (uint32_t form = 0; form < FORMAT_FORMS && output_formats[i].forms[form].body; form++)
            for (size_t k = 0; k < sizeof rows / sizeof *rows && !output_formats[i].forms[form].writes.never; k++)
                for (int is_cut = 0; is_cut < 2; is_cut++) {
                    struct text_buf arguments = {0};
                    if (call_with(&t, &output_formats[i], form, rows[k].schema, is_cut, &arguments))
                        is_object_with(rows[k].value, &arguments);
                    text_buf_free(&arguments);
                }
    call_vocabulary_close(&t);
}

TEST(values_are_read_as_tools_declare_them) {
    static const char tools[] =
        "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"properties\": {"
        "\"s\": {\"type\": \"string\"}, \"n\": {\"type\": [\"string\", \"null\"]}, "
        "\"l\": {\"items\": {\"type\": \"string\"}}, \"o\": {\"properties\": {\"s\": {\"$ref\": \"#/properties/s\"}}}, "
        "\"i\": {\"type\": \"integer\"}, \"u\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"number\"}]}}}}}]";
#define MM "]<]minimax[>["
    static const struct {
        const char *format, *text, *want;
    } rows[] = {
        {"glm",
         "<tool_call>f<arg_key>s</arg_key><arg_value>12</arg_value><arg_key>i</arg_key><arg_value>12</arg_value></tool_call>",
         "{\"s\": \"12\", \"i\": 12}"},
        {"glm",
         "<tool_call>f<arg_key>n</arg_key><arg_value>12</arg_value><arg_key>u</arg_key><arg_value>12</arg_value></tool_call>",
         "{\"n\": \"12\", \"u\": 12}"},
        {"glm",
         "<tool_call>f<arg_key>n</arg_key><arg_value>null</arg_value><arg_key>s</arg_key><arg_value>null</arg_value></tool_call>",
         "{\"n\": null, \"s\": \"null\"}"},
        {"glm", // what is not declared, and another tool
         "<tool_call>f<arg_key>z</arg_key><arg_value>12</arg_value></tool_call>", "{\"z\": 12}"},
        {"glm", "<tool_call>g<arg_key>s</arg_key><arg_value>12</arg_value></tool_call>", "{\"s\": 12}"},
        {"qwen3-coder", "<tool_call>\n<function=f>\n<parameter=s>\n[1]\n</parameter>\n</function>\n</tool_call>",
         "{\"s\": \"[1]\"}"},
        {"minimax-m3",
         MM "<tool_call>" MM "<invoke name=\"f\">" MM "<l>" MM "<item>1" MM "</item>" MM "<item>true" MM "</item>" MM
            "</l>" MM "<o>" MM "<s>2" MM "</s>" MM "<t>2" MM "</t>" MM "</o>" MM "<i>3" MM "</i>" MM "</invoke>" MM
            "</tool_call>",
         "{\"l\": [\"1\", \"true\"], \"o\": {\"s\": \"2\", \"t\": 2}, \"i\": 3}"},
        {"deepseek-dsml", // the tag says what it is
         "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"s\" string=\"false\">12</｜DSML｜parameter>"
         "</｜DSML｜invoke></｜DSML｜function_calls>",
         "{\"s\": 12}"},
    };
    struct json_tree list = {0};
    rn_error err = {0};
    CHECK_OK(json_read(&list, tools, strlen(tools), &err), &err);
    const struct output_tools types = call_types(&list);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int is_cut = 0; is_cut < 2; is_cut++) {
            static struct parsed p;
            const output_format *const f = output_format_named(rows[i].format);
            check_note("%s: %s", rows[i].format, rows[i].text);
            memset(&p, 0, sizeof p);
            if (!CHECK(f != NULL)) continue;
            parsed_run_tools(&p, f, &types, rows[i].text, strlen(rows[i].text), is_cut);
            if (CHECK_INT(p.n_calls, 1)) {
                text_buf_add(&p.calls[0], "", 1);
                CHECK_STR(p.calls[0].s, rows[i].want);
            }
            parsed_free(&p);
        }
    json_free(&list);
}

TEST(schemas_that_refer_to_themselves_many_times_are_not_followed_for_ever) {
    struct text_buf list = {0};
    struct json_tree tree = {0};
    rn_error err = {0};
    put(&list, "[{\"name\": \"f\", \"parameters\": {\"$defs\": {\"a\": {\"anyOf\": [");
    for (int i = 0; i < 50; i++) put(&list, "{\"allOf\": [{\"$ref\": \"#/$defs/a\"}]}, ");
    put(&list, "{\"type\": \"string\"}]}}, \"properties\": {\"x\": {\"$ref\": \"#/$defs/a\"}, "
               "\"s\": {\"type\": \"string\"}}}}]");
    CHECK_OK(json_read(&tree, list.s, list.n, &err), &err);
    const struct output_tools types = call_types(&tree);
    const struct output_place all = types.arguments(types.user, "f", 1);
    CHECK_INT(types.types(types.part(all, "x", 1)), OUTPUT_ANY);
    CHECK_INT(types.types(types.part(all, "s", 1)), OUTPUT_STRING);
    json_free(&tree);
    text_buf_free(&list);
}

// ---- failed allocations ----

enum { N_READ = 24 }; // tokens of a text
struct usage {
    const struct call_vocabulary *t;
    struct grammar_source source;
    int32_t tokens[N_READ];
    int n;
};

// Compiles, then reads the text token by token. Without tokens they are drawn first.
static rn_status read_once(void *user) {
    struct usage *const u = user;
    struct grammar_cursor c = {0};
    grammar *g;
    rn_error err = {0};
    bool is_allowed = true, is_whole = false, is_over = false;
    struct random r = {u->source.form, 0};
    const bool is_first = u->n == 0;
    rn_status st = grammar_compile(&u->source, &u->t->v, &g, &err);
    if (st == RN_OK) st = grammar_cursor_init(&c, g, &err);
    for (int i = 0; st == RN_OK && !is_over && i < (is_first ? N_READ : u->n); i++) {
        uint64_t mask[CALL_N_MASK];
        memset(mask, 0xff, sizeof mask);
        if ((st = grammar_mask(&c, mask, CALL_N_MASK, &is_whole, &err)) != RN_OK) break;
        if (is_first) u->tokens[u->n++] = draw(&r, u->t, u->source.format, mask);
        st = grammar_take(&c, u->tokens[i], &is_allowed, &err);
        if (st == RN_OK && CHECK(is_allowed)) st = grammar_state(&c, &is_whole, &is_over, &err);
    }
    grammar_cursor_free(&c);
    grammar_unref(g);
    return st;
}

TEST(each_failed_allocation_is_an_error_in_every_format) {
    static const char tools[] =
        "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"strict\": true, \"parameters\": {\"type\": \"object\", "
        "\"properties\": {\"at\": {\"type\": \"string\"}, \"n\": {\"enum\": [1, \"b\"]}}, \"required\": [\"n\"]}}}, "
        "{\"type\": \"function\", \"function\": {\"name\": \"g\"}}]";
    static struct call_vocabulary t;
    rn_error err = {0};
    if (!CHECK_OK(call_vocabulary_open(&t, true, &err), &err)) return;
    for (size_t i = 0; i < n_output_formats; i++)
        for (uint32_t form = 0; form < FORMAT_FORMS && output_formats[i].forms[form].body; form++) {
            struct usage u = {.t = &t,
                              .source = {.kind = GRAMMAR_CALLS,
                                         .text = {tools, sizeof tools - 1},
                                         .format = &output_formats[i],
                                         .form = form,
                                         .is_optional = i % 3 == 0}};
            if (output_formats[i].forms[form].writes.never) continue;
            check_note("%s, form %u", output_formats[i].name, form);
            if (!CHECK_INT(read_once(&u), RN_OK)) break;
            CHECK(check_each_failed_allocation(read_once, &u, __FILE__, __LINE__));
        }
    call_vocabulary_close(&t);
}

// Is the text, byte by byte and in tags, one of the grammar's?
static bool accepts(const struct call_vocabulary *t, grammar *g, const char *text) {
    struct grammar_cursor c;
    rn_error err = {0};
    bool is_allowed = true, is_whole = false, is_over;
    if (!CHECK_OK(grammar_cursor_init(&c, g, &err), &err)) return false;
    for (const char *s = text; *s && is_allowed;) {
        size_t n = 0;
        int64_t token = t->v.match_token(t, s, strlen(s), &n);
        uint64_t mask[CALL_N_MASK];
        if (token < 0) token = (uint8_t)*s, n = 1;
        memset(mask, 0xff, sizeof mask);
        CHECK_OK(grammar_mask(&c, mask, CALL_N_MASK, &is_whole, &err), &err);
        const bool is_in_mask = mask[token / 64] >> token % 64 & 1;
        CHECK_OK(grammar_take(&c, (int32_t)token, &is_allowed, &err), &err);
        check_note("%s: at %s", text, s);
        CHECK_INT(is_in_mask, is_allowed);
        s += n;
    }
    CHECK_OK(grammar_state(&c, &is_whole, &is_over, &err), &err);
    grammar_cursor_free(&c);
    return is_allowed && is_whole;
}

TEST(what_is_said_stands_in_the_frame_of_its_format) {
    static const struct {
        const char *format, *good[3], *bad[3];
    } cases[] = {
        {"harmony",
         {"<|start|>assistant<|channel|>final<|message|>a",
          "<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>a"},
         {"a", "<|channel|>final<|message|>a",
          "<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>a"}},
        {"hermes", {"a"}, {"<think>a</think>a"}},
    };
    static struct call_vocabulary t;
    rn_error err = {0};
    for (int controls = 0; controls < 2; controls++) {
        if (!CHECK_OK(call_vocabulary_open(&t, controls, &err), &err)) return;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const struct grammar_source source = {
                .kind = GRAMMAR_REGEX, .text = {"a", 1}, .format = output_format_named(cases[i].format)};
            grammar *g;
            if (!CHECK_OK(grammar_compile(&source, &t.v, &g, &err), &err)) return;
            for (int k = 0; k < 3 && cases[i].good[k]; k++) CHECK(accepts(&t, g, cases[i].good[k]));
            for (int k = 0; k < 3 && cases[i].bad[k]; k++) CHECK(!accepts(&t, g, cases[i].bad[k]));
            grammar_unref(g);
        }
        call_vocabulary_close(&t);
    }
}
