// fuzz/fuzz_calls.c - tools as JSON, and an answer that follows the grammar of their calls: it ends, and the output parser finds these calls.
//
// The first two bytes say which format, and how its calls are written. The JSON ends with a zero byte; each byte behind it chooses one of
// the tokens that may follow.
#include "base/mem.h"
#include "grammar/calls/call_types.h"
#include "output/output_formats.h"
#include "tests/support/call_vocabulary.h"
#include "tests/support/parsed_output.h"
#include "walk_package.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_INPUT = 4096, FORM = 7, IS_SINGLE = 8, IS_OPTIONAL = 16, HAS_CONTROLS = 32 };

// The vocabulary lives as long as the process.
static const struct call_vocabulary *vocabulary(bool has_controls) {
    static struct call_vocabulary opened[2];
    struct call_vocabulary *const t = &opened[has_controls];
    if (t->n == 0) must(call_vocabulary_open(t, has_controls, NULL) == RN_OK);
    return t;
}

// The k-th of the tokens that may follow; -1: there is none.
static int32_t choose(const uint64_t *mask, int32_t n_tokens, uint32_t k) {
    int32_t some[CALL_MAX_TOKENS], n = 0;
    for (int32_t i = 0; i < n_tokens; i++)
        if (mask[i / 64] >> i % 64 & 1) some[n++] = i;
    return n ? some[k % (uint32_t)n] : -1;
}

// True: the text is whole.
static bool write_answer(const struct call_vocabulary *t, grammar *g, const uint8_t *choices, size_t n_choices,
                         struct text_buf *to) {
    struct grammar_cursor c;
    bool is_whole = false, is_over = false, is_allowed;
    must(grammar_cursor_init(&c, g, NULL) == RN_OK);
    for (size_t i = 0; i < n_choices && !is_over; i++) {
        uint64_t mask[CALL_N_MASK];
        memset(mask, 0xff, sizeof mask);
        if (grammar_mask(&c, mask, CALL_N_MASK, &is_whole, NULL) != RN_OK) break; // a limit
        const int32_t token = choose(mask, t->n, choices[i]);
        must(token >= 0 || is_whole);
        if (token < 0 || grammar_take(&c, token, &is_allowed, NULL) != RN_OK) break;
        must(is_allowed);
        text_buf_add(to, t->texts[token], call_token_bytes(t, token));
        if (grammar_state(&c, &is_whole, &is_over, NULL) != RN_OK) break;
    }
    grammar_cursor_free(&c);
    return is_whole;
}

// Can the schema of a tool be named within the list? References and addresses in it would mean something else there.
static bool can_be_named(const struct grammar_text *tools) {
    return !memchr(tools->s, '$', tools->n) && !memchr(tools->s, '\\', tools->n) &&
           !memmem(tools->s, tools->n, "\"id\"", 4);
}

// Are the arguments valid for the tool of this number? Where the grammar did not hold them to its schema: an object.
static bool satisfies(const struct call_vocabulary *t, const struct grammar_source *s, uint32_t number,
                      const struct json_node *tool, const struct text_buf *arguments) {
    static const char any[] = "{\"type\": \"object\"}", none[] = "{\"type\": \"object\", \"maxProperties\": 0}";
    const struct json_node *const inner = json_member(tool, "function"), *const f = inner ? inner : tool;
    const struct json_node *const strict = json_member(f, "strict");
    const bool is_held = !s->is_optional || (strict && strict->kind == JSON_TRUE);
    struct text_buf schema = {0};
    bool is_valid = false;
    if (is_held && !json_member(f, "parameters")) {
        text_buf_add(&schema, none, sizeof none - 1);
    } else if (is_held && can_be_named(&s->text)) {
        char head[100];
        const int n = snprintf(head, sizeof head,
                               "{\"type\": \"object\", \"$ref\": \"#/tools/%u%s/parameters\", \"tools\": ", number,
                               inner ? "/function" : "");
        text_buf_add(&schema, head, (size_t)n);
        text_buf_add(&schema, s->text.s, s->text.n);
        text_buf_add(&schema, "}", 1);
    } else {
        text_buf_add(&schema, any, sizeof any - 1);
    }
    rn_error err = {0};
    const rn_status st = calls_satisfy(t, schema.s, schema.n, arguments->s, arguments->n, &is_valid, &err);
    text_buf_free(&schema);
    return st == RN_E_LIMIT || (st == RN_OK && is_valid);
}

// Names may stand twice: one of the tools of that name takes the arguments.
static bool fits(const struct call_vocabulary *t, const struct grammar_source *s, const struct json_tree *tools,
                 const char *name, const struct text_buf *arguments) {
    const struct json_node *item = json_first(tools->nodes);
    for (uint32_t i = 0; i < tools->nodes->n_items; i++, item = json_next(item)) {
        const struct json_node *const inner = json_member(item, "function");
        if (json_is(json_member(inner ? inner : item, "name"), name) && satisfies(t, s, i, item, arguments))
            return true;
    }
    return false;
}

static void check(const struct call_vocabulary *t, const struct grammar_source *s, const struct text_buf *text) {
    static struct parsed p;
    struct json_tree tools = {0};
    must(json_read(&tools, s->text.s, s->text.n, NULL) == RN_OK);
    const struct output_tools types = call_types(&tools);
    memset(&p, 0, sizeof p);
    parsed_run_tools(&p, s->format, &types, text->n ? text->s : "", text->n, text->n % 2);
    must(!s->is_single || p.n_calls <= 1);
    must(s->is_optional || (p.n_calls >= 1 && p.content.n == 0));
    for (int i = 0; i < p.n_calls && i < PARSED_MAX_CALLS; i++)
        must(!p.broken[i] && fits(t, s, &tools, p.name[i], &p.calls[i]));
    parsed_free(&p);
    json_free(&tools);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 4 || n > MAX_INPUT) return 0;
    const struct output_format *const f = &output_formats[data[0] % n_output_formats];
    const uint8_t how = data[1], *const zero = memchr(data + 2, 0, n - 2);
    const uint32_t form = (how & FORM) % FORMAT_FORMS;
    const struct call_vocabulary *const t = vocabulary(how & HAS_CONTROLS);
    const long live = mem_live();
    if (!zero || !f->forms[form].body || f->forms[form].writes.never) return 0;
    const struct grammar_source source = {.kind = GRAMMAR_CALLS,
                                          .text = {(const char *)data + 2, (size_t)(zero - data) - 2},
                                          .format = f,
                                          .form = form,
                                          .is_single = how & IS_SINGLE,
                                          .is_optional = how & IS_OPTIONAL};
    grammar *g = NULL;
    if (grammar_compile(&source, &t->v, &g, NULL) == RN_OK) {
        struct text_buf text = {0};
        if (write_answer(t, g, zero + 1, n - (size_t)(zero - data) - 1, &text)) check(t, &source, &text);
        text_buf_free(&text);
        grammar_unref(g);
    }
    must(mem_live() == live);
    return 0;
}
