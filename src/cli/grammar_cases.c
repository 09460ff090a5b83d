// cli/grammar_cases.c - see grammar_cases.h.
#include "cli/grammar_cases.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/json_read.h"
#include "app/json_write.h"
#include "app/memory.h"
#include "app/progress.h"
#include "app/say.h"
#include "cli/line_source.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct cases {
    const rn_model *model;
    rn_json_space space;
    bool parse_special; // control tokens spelled in texts are those tokens
    uint64_t *mask;
    size_t n_words;
    output out;
    bool has_bad_line;
} cases;

typedef struct one_case {
    char *id, *schema, *tags; // JSON
    json_span regex, grammar;
    const char **choices;
    size_t n_choices;
    json_span *texts;
    size_t n_texts;
} one_case;

static bool each_choice(void *target, size_t i, const char *key, const json_item *value, char *why) {
    one_case *const c = target;
    json_span text;
    (void)i, (void)key;
    if (!json_item_text(value, &text, why)) return false;
    c->choices = app_realloc(c->choices, (c->n_choices + 1) * sizeof *c->choices);
    c->choices[c->n_choices++] = text.data;
    return true;
}

static bool each_test(void *target, size_t i, const char *key, const json_item *value, char *why) {
    one_case *const c = target;
    (void)i, (void)key;
    c->texts = app_realloc(c->texts, (c->n_texts + 1) * sizeof *c->texts);
    const json_item *const text = json_item_member(value, "text");
    if (!text) {
        snprintf(why, JSON_WHY / 2, "text: missing");
        return false;
    }
    return json_item_text(text, &c->texts[c->n_texts++], why);
}

static const member case_rows[] = {
    {"id", MEMBER_JSON, .offset = offsetof(one_case, id)},
    {"schema", MEMBER_JSON, .offset = offsetof(one_case, schema)},
    {"structural_tag", MEMBER_JSON, .offset = offsetof(one_case, tags)},
    {"regex", MEMBER_TEXT, .offset = offsetof(one_case, regex)},
    {"grammar", MEMBER_TEXT, .offset = offsetof(one_case, grammar)},
    {"choice", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_choice},
    {"tests", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_test},
};

static bool skip_other(void *user, const char *name, const json_item *value, char *why) {
    (void)user, (void)name, (void)value, (void)why;
    return true;
}

static double us_since(int64_t begin) { return (double)(now_ns() - begin) / 1e3; }

// Is the text allowed as a whole? Adds the time of each mask.
static rn_status match(const cases *c, rn_grammar *grammar, const json_span *text, bool *result, json_writer *times,
                       rn_error *err) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_matcher *matcher = NULL;
    bool is_over, is_allowed = true;
    rn_status st = rn_tokenize_more(c->model, text->data, text->n, c->parse_special, &ids, &n_ids, err);
    *result = false;
    if (st == RN_OK) st = rn_matcher_open(grammar, &matcher, err);
    for (size_t i = 0; st == RN_OK && i < n_ids && is_allowed; i++) {
        const int64_t begin = now_ns();
        st = rn_matcher_mask(matcher, c->mask, c->n_words, err);
        is_allowed = c->mask[ids[i] / 64] >> ids[i] % 64 & 1;
        bool is_taken = false;
        if (st == RN_OK && is_allowed) st = rn_matcher_take(matcher, ids[i], &is_taken, err);
        json_put_rounded(times, us_since(begin), 1);
        is_allowed = is_taken;
    }
    if (st == RN_OK && is_allowed) st = rn_matcher_state(matcher, result, &is_over, err);
    rn_matcher_close(matcher);
    rn_free(ids);
    return st;
}

static rn_status compile(const cases *c, const one_case *k, rn_grammar **grammar, rn_error *err) {
    rn_grammar_source source;
    rn_grammar_source_init(&source);
    const json_span *const text = k->regex.data ? &k->regex : &k->grammar;
    const char *const json = k->schema ? k->schema : k->tags;
    source.kind = k->schema         ? RN_GRAMMAR_JSON_SCHEMA
                  : k->tags         ? RN_GRAMMAR_STRUCTURAL_TAG
                  : k->regex.data   ? RN_GRAMMAR_REGEX
                  : k->grammar.data ? RN_GRAMMAR_CFG
                                    : RN_GRAMMAR_CHOICE;
    source.text = json ? json : text->data;
    source.n_text = json ? strlen(json) : text->n;
    source.choices = k->choices;
    source.n_choices = k->n_choices;
    source.json_space = c->space;
    source.any_integers = true;
    return rn_grammar_compile(c->model, &source, grammar, err);
}

// id: JSON; NULL: there is none. why: what was wrong; NULL: nothing.
static void write_answer(cases *c, const char *id, const char *why, double compile_us, const bytes *results,
                         const bytes *times) {
    bytes line = {0};
    json_writer w = {&line, false};
    json_put_begin(&w, '{');
    json_put_key(&w, "id");
    json_put_raw(&w, id ? id : "null");
    json_member_string(&w, "error", why);
    json_member_rounded(&w, "compile_us", compile_us, 1);
    json_member_begin(&w, "results", '[');
    if (results->n) json_put_raw(&w, results->data);
    json_put_end(&w, ']');
    json_member_begin(&w, "mask_us", '[');
    if (times->n) json_put_raw(&w, times->data);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    bytes_add_text(&line, "\n");
    output_write(&c->out, line.data, line.n);
    bytes_free(&line);
}

static void answer(cases *c, const one_case *k) {
    bytes times = {0}, results = {0};
    json_writer t = {&times, false}, r = {&results, false};
    rn_grammar *grammar = NULL;
    rn_error err = {0};
    const int64_t begin = now_ns();
    rn_status st = compile(c, k, &grammar, &err);
    const double compile_us = us_since(begin);
    for (size_t i = 0; st == RN_OK && i < k->n_texts; i++) {
        bool result;
        st = match(c, grammar, &k->texts[i], &result, &t, &err);
        json_put_raw(&r, result ? "true" : "false");
    }
    rn_grammar_close(grammar);
    write_answer(c, k->id, st == RN_OK ? NULL : err.text, compile_us, &results, &times);
    bytes_free(&times), bytes_free(&results);
}

// A case has one form.
static bool has_one_form(const one_case *k, char *why) {
    const struct {
        const char *name;
        bool is_given;
    } forms[] = {{"schema", k->schema != NULL},
                 {"regex", k->regex.data != NULL},
                 {"grammar", k->grammar.data != NULL},
                 {"structural_tag", k->tags != NULL},
                 {"choice", k->n_choices > 0}};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!forms[i].is_given) continue;
        if (first) {
            snprintf(why, JSON_WHY, "%s and %s: one too many", first, forms[i].name);
            return false;
        }
        first = forms[i].name;
    }
    if (!first) snprintf(why, JSON_WHY, "one of schema, regex, grammar, structural_tag and choice is needed");
    return first != NULL;
}

static void take_line(cases *c, uint64_t n_line, const char *text, size_t n) {
    one_case k = {0};
    json_doc *doc = NULL;
    char why[JSON_WHY] = "", param[JSON_WHY / 2] = "";
    const member_group group = {case_rows, sizeof case_rows / sizeof *case_rows, &k};
    if (json_doc_parse(text, n, &doc, why) && json_doc_read_open(doc, &group, 1, skip_other, NULL, param, why) &&
        has_one_form(&k, why)) {
        answer(c, &k);
    } else {
        say("line %llu: %s", (unsigned long long)n_line, why);
        write_answer(c, k.id, why, 0, &(bytes){0}, &(bytes){0});
        c->has_bad_line = true;
    }
    free(k.id), free(k.schema), free(k.tags), free(k.choices), free(k.texts);
    json_doc_free(doc);
}

int grammar_cases(const rn_model *model, rn_json_space space, bool parse_special) {
    cases c = {.model = model, .space = space, .parse_special = parse_special};
    line_source lines = {.fd = STDIN_FILENO, .name = "stdin"};
    rn_model_info info = {sizeof info};
    const char *text;
    size_t n;
    bool is_over = false;
    rn_model_get_info(model, &info, NULL);
    // The first grammar puts the vocabulary in order; that time is no case's.
    rn_grammar_source first;
    rn_grammar *warm = NULL;
    rn_grammar_source_init(&first);
    first.kind = RN_GRAMMAR_JSON_OBJECT;
    rn_grammar_compile(model, &first, &warm, NULL);
    rn_grammar_close(warm);
    c.n_words = ((size_t)info.n_vocab + 63) / 64;
    c.mask = app_alloc(c.n_words * sizeof *c.mask);
    while (!is_over && !interrupt_came()) {
        switch (line_source_take(&lines, &text, &n)) {
        case LINE_TAKEN:
            if (!line_is_blank(text, n)) take_line(&c, lines.n_lines, text, n);
            break;
        case LINE_TOO_LONG:
            say("line %llu: longer than 16 MiB", (unsigned long long)lines.n_lines);
            write_answer(&c, NULL, "longer than 16 MiB", 0, &(bytes){0}, &(bytes){0});
            c.has_bad_line = true;
            break;
        case LINE_WAIT: line_source_fill(&lines); break;
        case LINE_END: is_over = true; break;
        }
    }
    const bool has_failed = lines.has_failed || c.has_bad_line;
    line_source_free(&lines);
    free(c.mask);
    if (interrupt_came()) return EXIT_CODE_INTERRUPTED;
    return output_exit(&c.out, has_failed ? EXIT_CODE_FAILED : EXIT_CODE_OK);
}
