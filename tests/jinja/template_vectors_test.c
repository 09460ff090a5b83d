// tests/jinja/template_vectors_test.c - renderings byte for byte as Jinja2 gives them: cases made by make_template_cases.py, and where the
// shared material is, its single features and all renderings of published templates.
#include "jinja/template_types.h"
#include "tests/jinja/template_rig.h"

// ---- lines of JSON --------------------------------------------------------------------------------------------------

struct line_reader {
    uint8_t *text;
    size_t n, at;
    struct arena mem; // of the line's values
};

static bool open_lines(struct line_reader *x, const char *path) {
    *x = (struct line_reader){0};
    return (x->text = read_file(path, &x->n)) != NULL;
}

// Returns the next line as an object, valid until the next call; NULL at the end.
static const struct template_value *next_line(struct line_reader *x) {
    const struct template_value *v = NULL;
    rn_error err = {0};
    arena_free(&x->mem);
    if (x->at >= x->n) return NULL;
    const char *const line = (const char *)x->text + x->at;
    const char *const end = memchr(line, '\n', x->n - x->at);
    const size_t n = end ? (size_t)(end - line) : x->n - x->at;
    x->at += n + 1;
    CHECK_OK(template_context_read(line, n, NULL, &x->mem, &v, &err), &err);
    return v;
}

static void close_lines(struct line_reader *x) {
    arena_free(&x->mem);
    free(x->text);
}

static const struct template_value *member(const struct template_value *v, const char *name) {
    return tv_dict_get(v->dict, name, strlen(name));
}

// ---- one case -------------------------------------------------------------------------------------------------------

// Is the outcome the one that the case wants: these bytes, or an error, whose words count when the template raised it?
static bool is_as_wanted(const struct template_value *c, rn_status st, const struct template_output *out,
                         const rn_error *err) {
    const struct template_value *const want = member(c, "output"), *const error = member(c, "error");
    if (want)
        return st == RN_OK && out->text.n == want->str.n &&
               (want->str.n == 0 || memcmp(out->text.s, want->str.s, want->str.n) == 0);
    if (st == RN_OK || err->text[0] == 0) return false;
    const bool raises = tv_str_is(member(error, "kind"), "raise_exception");
    return raises == out->raised && (!raises || tv_str_is(member(error, "message"), err->text));
}

static bool check_segments(const struct template_output *out) {
    size_t at = 0;
    for (size_t i = 0; i < out->n_segments; i++) {
        if (out->segments[i].end <= at || (i > 0 && out->segments[i].is_content == out->segments[i - 1].is_content))
            return false;
        at = out->segments[i].end;
    }
    return at == out->text.n;
}

// t: NULL when it did not compile; then st and err say why.
static bool check_case(const chat_template *t, rn_status st, rn_error *err, const struct template_value *variables,
                       const struct template_value *c, const char *name) {
    const struct template_env env = {.variables = variables, .now = reference_clock()};
    struct template_output out = {0};
    if (t) st = template_render(t, &env, &out, err);
    const bool ok = is_as_wanted(c, st, &out, err) && check_segments(&out);
    check_note("%.200s: status %d, %s, got %.*s", name, st, err->text, out.text.n < 500 ? (int)out.text.n : 500,
               out.text.s ? out.text.s : "");
    CHECK(ok);
    template_output_free(&out);
    return ok;
}

// Cases that bring their template along. variables: of cases without a context.
static size_t check_inline_cases(const char *path, bool shares_context) {
    struct line_reader lines, first = {0};
    size_t n = 0;
    const struct template_value *shared = NULL;
    if (!open_lines(&lines, path)) return 0;
    if (shares_context && open_lines(&first, path)) shared = next_line(&first);
    if (shares_context) next_line(&lines);
    for (const struct template_value *c; (c = next_line(&lines)); n++) {
        const struct template_value *const source = member(c, "template");
        chat_template *t = NULL;
        rn_error err = {0};
        const rn_status st = template_compile(source->str.s, source->str.n, "t", &t, &err);
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)source->str.n, source->str.s);
        check_case(t, st, &err, shares_context ? shared : member(c, "context"), c, name);
        template_destroy(t);
    }
    close_lines(&lines);
    close_lines(&first);
    return n;
}

TEST(expressions_and_statements_give_jinja_s_bytes) {
    CHECK_INT(check_inline_cases(tests_path("jinja/template_cases.jsonl"), true), 767);
}

TEST(single_features_give_the_shared_bytes) {
    const char *const path = shared_path("vectors/templates/unit.jsonl");
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    CHECK_INT(check_inline_cases(path, false), 186);
}

// ---- published templates --------------------------------------------------------------------------------------------

// The named context with the case's own variables over it.
static const struct template_value *overlaid(struct arena *a, const struct template_value *context,
                                             const struct template_value *with) {
    struct template_value *const all = template_dict(a, context->dict->n + with->dict->n);
    if (!all) abort();
    for (int k = 0; k < 2; k++) {
        const struct tv_dict *const d = k == 0 ? context->dict : with->dict;
        for (uint32_t i = 0; i < d->n; i++)
            template_dict_set(all, d->entries[i].key.str.s, d->entries[i].key.str.n, d->entries[i].value);
    }
    return all;
}

struct compiled {
    char name[192];
    chat_template *t;
    size_t n_templates, n_cases;
};

static bool compile_named(struct compiled *c, const char *name) {
    char rel[256];
    rn_error err = {0};
    size_t n = 0;
    if (strcmp(c->name, name) == 0) return c->t != NULL;
    template_destroy(c->t);
    c->t = NULL;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(rel, sizeof rel, "vectors/templates/%s", name);
    uint8_t *const source = read_file(shared_path(rel), &n);
    check_note("%s", name);
    if (source) CHECK_OK(template_compile((const char *)source, n, name, &c->t, &err), &err);
    free(source);
    c->n_templates += c->t != NULL;
    return c->t != NULL;
}

static void check_published(struct compiled *c, const struct template_value *line,
                            const struct template_value *contexts) {
    struct arena mem = {0};
    rn_error err = {0};
    char name[192], what[256];
    const struct template_value *const file = member(line, "template"), *const context = member(line, "context");
    snprintf(name, sizeof name, "%.*s", (int)file->str.n, file->str.s);
    snprintf(what, sizeof what, "%s %.*s", name, (int)context->str.n, context->str.s);
    if (!compile_named(c, name)) return;
    const struct template_value *const variables =
        overlaid(&mem, tv_dict_get(contexts->dict, context->str.s, context->str.n), member(line, "with"));
    c->n_cases += check_case(c->t, RN_OK, &err, variables, line, what);
    arena_free(&mem);
}

TEST(all_renderings_of_published_templates_give_the_shared_bytes) {
    const char *const cases = shared_path("vectors/templates/cases.jsonl");
    struct arena mem = {0};
    const struct template_value *contexts = NULL;
    struct line_reader lines;
    struct compiled c = {0};
    size_t n = 0;
    if (!cases) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    uint8_t *const json = read_file(shared_path("vectors/templates/contexts.json"), &n);
    if (!json || !CHECK(template_context_read((const char *)json, n, NULL, &mem, &contexts, NULL) == RN_OK)) return;
    if (open_lines(&lines, cases)) {
        for (const struct template_value *line; (line = next_line(&lines));) check_published(&c, line, contexts);
        close_lines(&lines);
    }
    CHECK_INT(c.n_templates, 91);
    CHECK_INT(c.n_cases, 2821);
    template_destroy(c.t);
    arena_free(&mem);
    free(json);
}
