// tests/output/output_turns_test.c - replies as published chat templates write them, taken apart again, at every cut.
//
// output_turns.jsonl and its script, make_output_turns.py, have the replies and what their messages say; output_templates.tsv which
// format each of the templates is taken for.
#include "formats/json/json_tree.h"
#include "output/output_tag.h"
#include "tests/check.h"
#include "tests/support/parsed_output.h"
#include <stdlib.h>

struct turn {
    const output_format *f;
    char *prompt, *output;
    size_t n_output;
    const struct json_node *line;
};

static char *copy(const struct json_node *v) {
    char *const s = malloc((size_t)v->n_text + 1);
    memcpy(s, v->text, v->n_text);
    s[v->n_text] = 0;
    return s;
}

static bool same_value(const struct json_node *a, const struct json_node *b) {
    if (a->kind != b->kind || a->n_items != b->n_items) return false;
    if (a->kind == JSON_NUMBER || a->kind == JSON_STRING)
        return a->n_text == b->n_text && memcmp(a->text, b->text, a->n_text) == 0;
    const struct json_node *x = json_first(a);
    for (uint32_t i = 0; i < a->n_items; i++, x = json_next(x)) {
        const struct json_node *y = json_first(b);
        uint32_t k = a->kind == JSON_ARRAY ? i : 0;
        for (uint32_t j = 0; j < k; j++) y = json_next(y);
        for (; a->kind == JSON_OBJECT && k < b->n_items; k++, y = json_next(y))
            if (x->n_name == y->n_name && memcmp(x->name, y->name, x->n_name) == 0) break;
        if (k == b->n_items || !same_value(x, y)) return false;
    }
    return true;
}

static bool same_text(const char *s, size_t n, const struct json_node *want) {
    while (n && is_space((unsigned char)s[n - 1])) n--; // templates put spaces around contents
    while (n && is_space((unsigned char)*s)) s++, n--;
    return n == want->n_text && (n == 0 || memcmp(s, want->text, n) == 0);
}

static bool same_call(const struct parsed *d, int i, const struct json_node *want) {
    struct json_tree got = {0};
    rn_error err = {0};
    const struct json_node *const id = json_member(want, "id");
    bool ok = CHECK(json_is(json_member(want, "name"), d->name[i])) && CHECK(!d->broken[i]);
    ok = (!id || CHECK(json_is(id, d->id[i]))) && ok;
    ok = CHECK_OK(json_read(&got, d->calls[i].s, d->calls[i].n, &err), &err) &&
         CHECK(same_value(got.nodes, json_member(want, "arguments"))) && ok;
    json_free(&got);
    return ok;
}

static bool as_said(const struct turn *t, const struct parsed *d) {
    const struct json_node *const calls = json_member(t->line, "calls"), *call = json_first(calls);
    bool ok = CHECK(!d->wrong) && CHECK_INT(d->n_calls, calls->n_items);
    ok = CHECK(same_text(d->content.s, d->content.n, json_member(t->line, "content"))) && ok;
    ok = CHECK(same_text(d->reasoning.s, d->reasoning.n, json_member(t->line, "reasoning"))) && ok;
    for (int i = 0; ok && i < d->n_calls; i++, call = json_next(call)) ok = same_call(d, i, call);
    return ok;
}

static bool same_story(const struct turn *t, const char *story, const size_t *cuts, size_t n_cuts) {
    static struct parsed d;
    parsed_run(&d, t->f, t->prompt, t->output, t->n_output, cuts, n_cuts);
    const bool ok = CHECK(!d.wrong) && CHECK_STR(d.story.s, story);
    parsed_free(&d);
    return ok;
}

#ifdef TESTS_SANITIZED
enum { STEP = 7, TRIPLES = 0 };
#else
enum { STEP = 1, TRIPLES = 40 };
#endif

// Byte by byte, all pairs of pieces, and triples whose cuts lie a few bytes apart.
static bool at_every_cut(const struct turn *t, const char *story) {
    const size_t n = t->n_output;
    size_t *const all = malloc(n * sizeof *all);
    for (size_t i = 0; i < n; i++) all[i] = i;
    bool ok = same_story(t, story, all, n);
    for (size_t i = 0; ok && i <= n; i += STEP) ok = same_story(t, story, &i, 1);
    for (size_t i = 0; ok && i <= n; i++)
        for (size_t k = i + 1; ok && k <= n && k < i + TRIPLES; k += 13)
            ok = same_story(t, story, (size_t[]){i, k}, 2);
    free(all);
    return ok;
}

static bool check_turn(const struct json_node *line) {
    static struct parsed d;
    char *const format = copy(json_member(line, "format")), *const template = copy(json_member(line, "template"));
    struct turn t = {.f = output_format_named(format), .line = line};
    t.prompt = copy(json_member(line, "prompt"));
    t.output = copy(json_member(line, "output"));
    t.n_output = strlen(t.output);
    bool ok = CHECK(t.f != NULL);
    if (ok) {
        parsed_run(&d, t.f, t.prompt, t.output, t.n_output, NULL, 0);
        check_note("%s (%s): %s behind %s gave %s", template, format, t.output, t.prompt, d.story.s);
        ok = as_said(&t, &d) && at_every_cut(&t, d.story.s);
        parsed_free(&d);
    }
    free(t.prompt);
    free(t.output);
    free(format);
    free(template);
    return ok;
}

TEST(replies_that_templates_write_give_back_what_their_messages_say_at_every_cut) {
    size_t n = 0;
    char *const lines = (char *)read_file(tests_path("output/output_turns.jsonl"), &n);
    if (!lines) return;
    int n_lines = 0;
    for (char *at = lines; *at; n_lines++) {
        char *const end = strchr(at, '\n');
        struct json_tree line = {0};
        rn_error err = {0};
        const bool ok = CHECK_OK(json_read(&line, at, (size_t)(end - at), &err), &err) && check_turn(line.nodes);
        json_free(&line);
        if (!ok) break;
        at = end + 1;
    }
    CHECK(n_lines > 100);
    free(lines);
}

TEST(each_published_template_is_taken_for_the_format_that_it_writes) {
    if (!shared_path("vectors/templates")) return test_skip("no shared material: set RUNNEL_SHARED");
    char *const rows = (char *)read_file(tests_path("output/output_templates.tsv"), NULL);
    int n = 0;
    for (char *row = strtok(rows, "\n"); row; row = strtok(NULL, "\n"), n++) {
        char *const tab = strchr(row, '\t');
        char path[256];
        *tab = 0;
        snprintf(path, sizeof path, "vectors/templates/models/%s", row);
        size_t n_source = 0;
        char *const source = (char *)read_file(shared_path(path), &n_source);
        if (!source) break;
        check_note("%s", row);
        CHECK_STR(output_format_name(output_format_of_template(source, n_source)), tab + 1);
        free(source);
    }
    CHECK_INT(n, 91);
    free(rows);
}
