// engine/grammar_api.c - the public API of grammars, and a model's vocabulary as grammars see it.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "grammar/text/grammar_text.h"
#include <stdio.h>
#include <string.h>

// ---- the vocabulary ----

enum { NAME_BYTES = 16 }; // of a control token: a byte that no text has, and its number in brackets

// A control token is no text: it stands for bytes that only a grammar that names it allows.
static bool is_named(const struct vocab_token *t) { return t->kind == TOKEN_CONTROL; }

static int64_t find_token(const void *user, const char *text, size_t n) {
    const struct vocab *const v = package_vocab(((const rn_model *)user)->pkg);
    for (int32_t i = 0; i < v->n_tokens; i++)
        if (v->tokens[i].text.n == n && memcmp(v->tokens[i].text.s, text, n) == 0) return i;
    return -1;
}

static int64_t match_token(const void *user, const char *s, size_t n, size_t *n_token) {
    const rn_model *const m = user;
    const struct vocab *const v = package_vocab(m->pkg);
    int64_t longest = -1;
    *n_token = 0;
    for (size_t i = 0; i < m->grammars->n_named; i++) {
        const int32_t id = m->grammars->named[i];
        const size_t n_text = v->tokens[id].text.n;
        if (n_text <= *n_token || n_text > n || memcmp(v->tokens[id].text.s, s, n_text) != 0) continue;
        longest = id;
        *n_token = n_text;
    }
    return longest;
}

static bool ends_answer(const void *user, int32_t token) { return model_is_end_token(user, token); }

static rn_status make_vocab(const rn_model *m, struct model_grammars *g, rn_error *err) {
    const struct vocab *const v = package_vocab(m->pkg);
    size_t n_named = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) n_named += is_named(&v->tokens[i]);
    struct token_bytes *const tokens = mem_calloc((size_t)v->n_tokens + 1, sizeof *tokens);
    g->names = mem_alloc((n_named + 1) * NAME_BYTES);
    g->named = mem_alloc((n_named + 1) * sizeof *g->named);
    g->n_named = 0;
    if (!tokens || !g->names || !g->named) {
        mem_free(tokens);
        return fail(err, RN_E_NOMEM, "%s: out of memory for its tokens' bytes", package_path(m->pkg));
    }
    char *name = g->names;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        size_t n;
        if (is_named(&v->tokens[i])) {
            tokens[i] = (struct token_bytes){name, (uint32_t)snprintf(name, NAME_BYTES, "\xff[%d]", i)};
            name += NAME_BYTES;
            g->named[g->n_named++] = i;
        } else if (v->tokens[i].kind != TOKEN_UNUSED && v->tokens[i].kind != TOKEN_UNKNOWN) {
            const char *const piece = tokenizer_piece(m->tok, i, false, &n);
            // No text has the byte that names of control tokens begin with.
            if (!memchr(piece, GRAMMAR_TOKEN_MARK, n)) tokens[i] = (struct token_bytes){piece, (uint32_t)n};
        }
    }
    const rn_status st = grammar_vocab_init(&g->vocab, tokens, v->n_tokens, err);
    g->vocab.find_token = find_token, g->vocab.match_token = match_token, g->vocab.ends_answer = ends_answer;
    g->vocab.user = m;
    return st;
}

// Made when the first grammar is compiled.
static rn_status need_vocab(const rn_model *m, rn_error *err) {
    struct model_grammars *const g = m->grammars;
    rn_status st = RN_OK;
    mutex_lock(&g->lock);
    if (!g->vocab.tokens) {
        st = make_vocab(m, g, err);
        if (st != RN_OK) {
            mem_free(g->names), mem_free(g->named);
            g->names = NULL, g->named = NULL;
        }
    }
    mutex_unlock(&g->lock);
    return st;
}

rn_status model_grammars_open(rn_model *m, rn_error *err) {
    struct model_grammars *const g = mem_calloc(1, sizeof *g);
    if (!g) return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(m->pkg));
    const rn_status st = mutex_init(&g->lock, err);
    if (st == RN_OK)
        m->grammars = g;
    else
        mem_free(g);
    return st;
}

void model_grammars_close(rn_model *m) {
    struct model_grammars *const g = m->grammars;
    if (!g) return;
    mutex_destroy(&g->lock);
    grammar_vocab_free(&g->vocab);
    mem_free(g->names), mem_free(g->named);
    mem_free(g);
}

// ---- grammars ----

struct rn_matcher {
    const rn_model *model;
    struct grammar_cursor at;
};

_Static_assert((int)RN_GRAMMAR_JSON_SCHEMA == GRAMMAR_SCHEMA && (int)RN_GRAMMAR_JSON_OBJECT == GRAMMAR_OBJECT &&
                   (int)RN_GRAMMAR_REGEX == GRAMMAR_REGEX && (int)RN_GRAMMAR_CHOICE == GRAMMAR_CHOICE &&
                   (int)RN_GRAMMAR_CFG == GRAMMAR_CFG && (int)RN_GRAMMAR_STRUCTURAL_TAG == GRAMMAR_TAGS &&
                   (int)RN_GRAMMAR_CALLS == GRAMMAR_CALLS && (int)RN_JSON_DUMPS == JSON_SPACE_DUMPS &&
                   (int)RN_JSON_COMPACT == JSON_SPACE_COMPACT && (int)RN_JSON_FREE == JSON_SPACE_FREE,
               "the same numbers");

// The format in which the model's own template has calls. Where there is none, a conversation may bring another one.
static void find_calls(const rn_model *model, const output_format **format, uint32_t *form) {
    const rn_template *const t = model->tmpl;
    *format = !t                                                          ? output_format_named("hermes")
              : t->tools->are_known && output_format_has_calls(t->format) ? t->format
                                                                          : t->tools->format;
    *form = t ? output_format_form(*format, rn_template_source(t)) : 0;
}

static rn_status compile(const rn_model *model, const rn_grammar_source *source, struct grammar_text *choices,
                         grammar **g, rn_error *err) {
    const output_format *format = NULL;
    uint32_t form = 0;
    if (source->kind == RN_GRAMMAR_CALLS) find_calls(model, &format, &form);
    for (size_t i = 0; i < source->n_choices; i++) {
        if (!source->choices[i]) return fail(err, RN_E_ARG, "choices[%zu]: NULL", i);
        choices[i].s = source->choices[i];
        choices[i].n = source->choice_bytes ? source->choice_bytes[i] : strlen(source->choices[i]);
    }
    return grammar_compile(
        &(struct grammar_source){.kind = (enum grammar_kind)source->kind,
                                 .text = {source->text, source->n_text},
                                 .choices = choices,
                                 .n_choices = source->n_choices,
                                 .json = {(enum json_space)source->json_space, source->any_integers},
                                 .format = format,
                                 .form = form,
                                 .is_single = source->single_call,
                                 .is_optional = source->optional_calls,
                                 .note = source->note,
                                 .note_user = source->note_user},
        &model->grammars->vocab, g, err);
}

rn_status rn_grammar_compile(const rn_model *model, const rn_grammar_source *source, rn_grammar **out,
                             rn_error *err) {
    rn_grammar_source own;
    if (out) *out = NULL;
    if (!model || !source || !out) return fail(err, RN_E_ARG, "rn_grammar_compile: NULL argument");
    rn_status st = sized_read(&public_grammar_source, source, &own, err);
    if (st == RN_OK && !own.text && own.n_text) st = fail(err, RN_E_ARG, "text: NULL");
    if (st == RN_OK && !own.choices && own.n_choices) st = fail(err, RN_E_ARG, "choices: NULL");
    if (st == RN_OK && own.n_choices > GRAMMAR_MAX_CHOICES)
        st = fail(err, RN_E_LIMIT, "choices: %zu are more than %d", own.n_choices, GRAMMAR_MAX_CHOICES);
    if (st == RN_OK) st = model_need_tokenizer(model, err);
    if (st == RN_OK) st = need_vocab(model, err);
    if (st != RN_OK) return st;
    rn_grammar *const made = mem_calloc(1, sizeof *made);
    struct grammar_text *const choices = mem_alloc((own.n_choices + 1) * sizeof *choices);
    if (!made || !choices)
        st = fail(err, RN_E_NOMEM, "grammar: out of memory");
    else
        st = mutex_init(&made->lock, err);
    if (st == RN_OK) {
        made->model = model;
        made->has_calls = own.kind == RN_GRAMMAR_CALLS;
        made->is_optional = made->has_calls && own.optional_calls;
        st = compile(model, &own, choices, &made->g, err);
        if (st != RN_OK) mutex_destroy(&made->lock);
    }
    mem_free(choices);
    if (st == RN_OK)
        *out = made;
    else
        mem_free(made);
    return st;
}

void rn_grammar_close(rn_grammar *g) {
    if (!g) return;
    for (struct answer_grammar *a = atomic_load(&g->others), *next; a; a = next) {
        next = a->next;
        grammar_unref(a->g);
        mem_free(a);
    }
    mutex_destroy(&g->lock);
    grammar_unref(g->g);
    mem_free(g);
}

uint64_t rn_grammar_memory(const rn_grammar *g) {
    if (!g) return 0;
    uint64_t n = grammar_bytes(g->g);
    for (const struct answer_grammar *a = atomic_load(&g->others); a; a = a->next) n += grammar_bytes(a->g);
    return n;
}

static rn_status add_answer(rn_grammar *g, const output_format *format, uint32_t form, grammar **out, rn_error *err) {
    struct answer_grammar *const a = mem_calloc(1, sizeof *a);
    if (!a) return fail(err, RN_E_NOMEM, "grammar: out of memory");
    const rn_status st = grammar_compile_like(g->g, format, form, &a->g, err);
    if (st != RN_OK) {
        mem_free(a);
        return st;
    }
    a->next = atomic_load(&g->others);
    atomic_store(&g->others, a);
    *out = a->g;
    return RN_OK;
}

rn_status grammar_of_answer(const rn_grammar *of, const output_format *format, const char *source, grammar **out,
                            rn_error *err) {
    rn_grammar *const g = (rn_grammar *)(uintptr_t)of;
    const uint32_t form = g->has_calls ? output_format_form(format, source) : 0;
    rn_status st = RN_OK;
    *out = g->g;
    if (!g->has_calls && !output_format_frames(format)) return RN_OK;
    if (grammar_is_of(g->g, format, form)) return RN_OK;
    mutex_lock(&g->lock);
    const struct answer_grammar *a = atomic_load(&g->others);
    while (a && !grammar_is_of(a->g, format, form)) a = a->next;
    if (a)
        *out = a->g;
    else
        st = add_answer(g, format, form, out, err);
    mutex_unlock(&g->lock);
    return st;
}

// ---- matchers ----

rn_status rn_matcher_open(rn_grammar *g, rn_matcher **out, rn_error *err) {
    if (out) *out = NULL;
    if (!g || !out) return fail(err, RN_E_ARG, "rn_matcher_open: NULL argument");
    rn_matcher *const m = mem_calloc(1, sizeof *m);
    if (!m) return fail(err, RN_E_NOMEM, "matcher: out of memory");
    const rn_status st = grammar_cursor_init(&m->at, g->g, err);
    if (st != RN_OK) {
        mem_free(m);
        return st;
    }
    grammar_ref(g->g);
    m->model = g->model;
    *out = m;
    return RN_OK;
}

void rn_matcher_close(rn_matcher *m) {
    if (!m) return;
    grammar_unref(m->at.g);
    grammar_cursor_free(&m->at);
    mem_free(m);
}

rn_status rn_matcher_mask(rn_matcher *m, uint64_t *mask, size_t n_words, rn_error *err) {
    bool is_whole;
    if (!m || !mask) return fail(err, RN_E_ARG, "rn_matcher_mask: NULL argument");
    memset(mask, 0xff, n_words * sizeof *mask);
    const rn_status st = grammar_mask(&m->at, mask, n_words, &is_whole, err);
    for (int32_t i = 0; st == RN_OK && is_whole && i < m->model->n_end; i++)
        if ((size_t)m->model->end_ids[i] < n_words * 64) token_mask_add(mask, m->model->end_ids[i]);
    return st;
}

rn_status rn_matcher_take(rn_matcher *m, int32_t token, bool *is_allowed, rn_error *err) {
    if (!m || !is_allowed) return fail(err, RN_E_ARG, "rn_matcher_take: NULL argument");
    return grammar_take(&m->at, token, is_allowed, err);
}

void rn_matcher_rewind(rn_matcher *m, size_t n) {
    if (m) grammar_rewind(&m->at, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
}

rn_status rn_matcher_state(rn_matcher *m, bool *is_whole, bool *is_over, rn_error *err) {
    if (!m || !is_whole || !is_over) return fail(err, RN_E_ARG, "rn_matcher_state: NULL argument");
    return grammar_state(&m->at, is_whole, is_over, err);
}
