// tests/support/call_vocabulary.c - see call_vocabulary.h.
#include "tests/support/call_vocabulary.h"
#include "base/mem.h"
#include "output/output_formats.h"
#include "output/output_tag.h"
#include <stdio.h>
#include <string.h>

static bool is_control_tag(const char *s, size_t n) {
    return (s[0] == '<' || s[0] == '[') && n > 2 && !tag_is_plain(s);
}

static void add_token(struct call_vocabulary *t, const char *s, size_t n, bool is_control) {
    for (int32_t i = 0; i < t->n; i++)
        if (strlen(t->texts[i]) == n && memcmp(t->texts[i], s, n) == 0) return;
    memcpy(t->texts[t->n], s, n);
    t->texts[t->n][n] = 0;
    t->is_control[t->n] = is_control;
    snprintf(t->names[t->n], sizeof t->names[0], "\xff[%d]", t->n);
    t->n++;
}

// The tags in a spelling, one by one.
static void add_tags(struct call_vocabulary *t, const char *s, bool has_controls) {
    while (s && *s) {
        size_t n = 1;
        if (*s == '%') {
            s += 2;
            continue;
        }
        while (s[n] && s[n] != '%' && s[n] != '<' && s[n] != '[' && s[n - 1] != '>' && s[n - 1] != ']') n++;
        if (n > 1 && n < sizeof t->texts[0]) add_token(t, s, n, has_controls && is_control_tag(s, n));
        s += n;
    }
}

static int64_t find_token(const void *user, const char *s, size_t n) {
    (void)user, (void)s, (void)n;
    return -1;
}

static int64_t match_token(const void *user, const char *s, size_t n, size_t *n_token) {
    const struct call_vocabulary *const t = user;
    int64_t best = -1;
    *n_token = 0;
    for (int32_t i = 256; i < t->n; i++) {
        const size_t n_text = strlen(t->texts[i]);
        if (t->is_control[i] && n_text <= n && n_text > *n_token && memcmp(t->texts[i], s, n_text) == 0)
            best = i, *n_token = n_text;
    }
    return best;
}

static bool ends_answer(const void *user, int32_t token) {
    (void)user, (void)token;
    return false;
}

rn_status call_vocabulary_open(struct call_vocabulary *t, bool has_controls, rn_error *err) {
    static const char *const words[] = {"\": ", "\", \"", "true", "None", "null", "12",  "0.5", "}",
                                        "]}",   "ab",     "]",    "\n",   "\"}",  "{\"", "[{",  "_x"};
    memset(t, 0, sizeof *t);
    for (t->n = 0; t->n < 256; t->n++) t->texts[t->n][0] = (char)t->n;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) add_token(t, words[i], strlen(words[i]), false);
    const int32_t n_words = t->n;
    for (size_t i = 0; i < n_output_formats; i++) {
        const struct output_format *const f = &output_formats[i];
        for (int k = 0; k < FORMAT_BLOCKS; k++)
            add_tags(t, f->reasoning[k].open, has_controls), add_tags(t, f->reasoning[k].close, has_controls);
        for (int k = 0; k < FORMAT_TAGS; k++) add_tags(t, f->framing[k], has_controls);
        for (int k = 0; k < FORMAT_FORMS && f->forms[k].body; k++) {
            const struct call_form *const form = &f->forms[k];
            const char *const begins = form->open ? form->open : form->head;
            if (begins && tag_fixed(begins) > 6) add_token(t, begins, tag_fixed(begins), false);
            const char *const tags[] = {form->open,          form->head,          form->end,
                                        form->tails[0],      form->tails[1],      form->close,
                                        form->quote,         form->params[0].tag, form->params[1].tag,
                                        form->params[0].end, form->params[1].end, form->writes.before,
                                        form->writes.rest};
            for (size_t j = 0; j < sizeof tags / sizeof *tags; j++) add_tags(t, tags[j], has_controls);
        }
    }
    t->n_tags = t->n - n_words;
    struct token_bytes *const tokens = mem_alloc((size_t)t->n * sizeof *tokens);
    if (!tokens) return fail(err, RN_E_NOMEM, "vocabulary: out of memory");
    for (int32_t i = 0; i < t->n; i++) {
        const char *const s = t->is_control[i] ? t->names[i] : t->texts[i];
        tokens[i] = (struct token_bytes){s, i < 255 ? 1 : i == 255 ? 0 : (uint32_t)strlen(s)};
    }
    const rn_status st = grammar_vocab_init(&t->v, tokens, t->n, err);
    t->v.find_token = find_token, t->v.match_token = match_token, t->v.ends_answer = ends_answer, t->v.user = t;
    return st;
}

void call_vocabulary_close(struct call_vocabulary *t) { grammar_vocab_free(&t->v); }

size_t call_token_bytes(const struct call_vocabulary *t, int32_t token) {
    return token < 256 ? 1 : strlen(t->texts[token]);
}

rn_status calls_satisfy(const struct call_vocabulary *t, const char *schema, size_t n_schema, const char *value,
                        size_t n_value, bool *is_valid, rn_error *err) {
    const struct grammar_source source = {
        .kind = GRAMMAR_SCHEMA, .text = {schema, n_schema}, .json = {JSON_SPACE_FREE, true}};
    grammar *g = NULL;
    struct grammar_cursor c = {0};
    bool is_allowed = true, is_whole = false, is_over;
    rn_status st = grammar_compile(&source, &t->v, &g, err);
    if (st == RN_OK) st = grammar_cursor_init(&c, g, err);
    for (size_t i = 0; st == RN_OK && i < n_value && is_allowed; i++)
        st = grammar_take(&c, (uint8_t)value[i], &is_allowed, err);
    if (st == RN_OK) st = grammar_state(&c, &is_whole, &is_over, err);
    grammar_cursor_free(&c);
    grammar_unref(g);
    *is_valid = is_allowed && is_whole;
    return st;
}
