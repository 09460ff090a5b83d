// app/rank_prompt.c - see rank_prompt.h. All text between two control tokens, from the template or the user, is
// tokenized together.
#include "app/rank_prompt.h"
#include <string.h>

struct builder {
    const rn_model *model;
    bytes plain; // since the last control token
    bytes *ids;
    size_t max_ids, *n_least;
    rn_error *err;
};

static rn_status flush(struct builder *b) {
    int32_t *ids;
    size_t n;
    if (b->plain.n == 0) return RN_OK;
    const rn_status st =
        rn_tokenize_at_most(b->model, b->plain.data, b->plain.n, false, false, b->max_ids, &ids, &n, b->err);
    if (st == RN_E_LIMIT && n > b->max_ids && b->n_least) *b->n_least = n;
    if (st != RN_OK) return st;
    bytes_add(b->ids, ids, n * sizeof *ids);
    bytes_drop_front(&b->plain, b->plain.n);
    rn_free(ids);
    return RN_OK;
}

// Adds a token of the template: its text to the pending text, or the token itself if it is a control token,
// which has no text.
static rn_status add_token(struct builder *b, int32_t id) {
    char *text;
    size_t n;
    rn_status st = rn_detokenize(b->model, &id, 1, false, &text, &n, b->err);
    if (st != RN_OK) return st;
    bytes_add(&b->plain, text, n);
    rn_free(text);
    if (n > 0) return RN_OK;
    st = flush(b);
    bytes_add(b->ids, &id, sizeof id);
    return st;
}

static rn_status add_literal(struct builder *b, const char *text, size_t n_text) {
    int32_t *ids;
    size_t n;
    if (n_text == 0) return RN_OK;
    rn_status st = rn_tokenize(b->model, text, n_text, false, true, &ids, &n, b->err);
    if (st != RN_OK) return st;
    for (size_t i = 0; st == RN_OK && i < n; i++) st = add_token(b, ids[i]);
    rn_free(ids);
    return st;
}

// Does it have both placeholders?
static bool is_template(const char *template) {
    return template && strstr(template, "{query}") && strstr(template, "{document}");
}

const char *rank_prompt_find(const rn_model_info *info, const char **text) {
    *text = info->rerank_template;
    if (is_template(*text)) return NULL;
    if (*text) return "tokenizer.chat_template.rerank lacks {query} or {document}";
    return info->has_pairs ? NULL : "no tokenizer.chat_template.rerank";
}

static rn_status tokenize_pair(const rn_model *model, const rank_prompt *p, bytes *out, size_t *n_first,
                               size_t *n_least, rn_error *err) {
    const size_t most = p->max_ids ? p->max_ids : SIZE_MAX;
    int32_t *ids;
    size_t n;
    const rn_status st =
        rn_tokenize_pair(model, p->query, p->n_query, p->document, p->n_document, most, &ids, &n, n_first, err);
    if (st == RN_E_LIMIT && n > most && n_least) *n_least = n;
    if (st != RN_OK) return st;
    bytes_add(out, ids, n * sizeof *ids);
    rn_free(ids);
    return RN_OK;
}

rn_status rank_prompt_tokenize(const rn_model *model, const rank_prompt *p, bytes *ids, size_t *n_first,
                               size_t *n_least, rn_error *err) {
    const struct {
        const char *name, *text;
        size_t n;
    } places[] = {{"{query}", p->query, p->n_query}, {"{document}", p->document, p->n_document}};
    enum { N_PLACES = sizeof places / sizeof *places };
    struct builder b = {
        .model = model, .ids = ids, .max_ids = p->max_ids ? p->max_ids : SIZE_MAX, .n_least = n_least, .err = err};
    const char *from = p->text;
    rn_status st = RN_OK;
    if (n_least) *n_least = 0;
    *n_first = 0;
    if (!p->text) return tokenize_pair(model, p, ids, n_first, n_least, err);
    for (const char *at = from; st == RN_OK && *at;) {
        size_t k = 0;
        while (k < N_PLACES && strncmp(at, places[k].name, strlen(places[k].name)) != 0) k++;
        if (k == N_PLACES) {
            at++;
            continue;
        }
        st = add_literal(&b, from, (size_t)(at - from));
        bytes_add(&b.plain, places[k].text, places[k].n);
        from = at += strlen(places[k].name);
    }
    if (st == RN_OK) st = add_literal(&b, from, strlen(from));
    if (st == RN_OK) st = flush(&b);
    bytes_free(&b.plain);
    return st;
}
