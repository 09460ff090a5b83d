// grammar/tags/token_text.c - see token_text.h.
#include "grammar/tags/token_text.h"
#include "base/mem.h"
#include <string.h>

static int64_t match(const struct grammar_tokens *v, const char *s, size_t n, size_t *n_token) {
    return v && v->match ? v->match(v->user, s, n, n_token) : -1;
}

expr_id token_text_expr(struct exprs *e, const struct grammar_tokens *v, const char *s, size_t n) {
    if (e->status != RN_OK) return EXPR_NEVER;
    char *const bytes = mem_alloc(n * GRAMMAR_TOKEN_BYTES + 1);
    size_t n_bytes = 0, n_token = 1;
    if (!bytes) return e->status = RN_E_NOMEM, (expr_id)EXPR_NEVER;
    for (size_t i = 0; i < n; i += n_token) {
        const int64_t id = match(v, s + i, n - i, &n_token);
        if (id >= 0) {
            n_bytes += grammar_token_bytes((uint32_t)id, bytes + n_bytes);
        } else {
            bytes[n_bytes++] = s[i];
            n_token = 1;
        }
    }
    const expr_id x = expr_text(e, bytes, n_bytes);
    mem_free(bytes);
    return x;
}

size_t token_text_cut(const struct grammar_tokens *v, const char *s, size_t n, size_t at) {
    size_t i = 0, n_token;
    while (i < at) i += match(v, s + i, n - i, &n_token) >= 0 ? n_token : 1;
    return i;
}

expr_id special_token_expr(struct exprs *e, uint32_t id) {
    char bytes[GRAMMAR_TOKEN_BYTES];
    return expr_text(e, bytes, grammar_token_bytes(id, bytes));
}

static bool is_among(const uint32_t *ids, size_t n, uint32_t id) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

expr_id other_tokens_expr(struct exprs *e, const struct grammar_tokens *v, const uint32_t *but, size_t n_but) {
    expr_id *list = NULL, x = EXPR_NEVER;
    uint32_t n = 0, max = 0;
    for (uint32_t id = 0; v && id < v->n_vocab && e->status == RN_OK; id++) {
        if (!v->is_special(v->user, id) || (v->is_end && v->is_end(v->user, id)) || is_among(but, n_but, id))
            continue;
        if (mem_grow(&list, n, &max, 64, sizeof *list))
            list[n++] = special_token_expr(e, id);
        else
            e->status = RN_E_NOMEM;
    }
    if (e->status == RN_OK) x = expr_or(e, list, n);
    mem_free(list);
    return x;
}
