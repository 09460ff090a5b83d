// text/tokenizer.c - what both kinds of tokenizers share: special tokens around and inside a text, and the way back.
#include "text/tokenizer.h"
#include "base/checked.h"
#include "text/bpe.h"
#include "text/specials.h"
#include "text/spm.h"
#include <assert.h>
#include <string.h>

struct tokenizer {
    const struct vocab *v;
    struct pieces pieces;
    struct token_table tokens;
    struct specials specials;
    struct spm spm; // of these two the one that v->model names
    struct bpe bpe;
};

const char *const *tokenizer_known_pre(void) { return pre_tokenizer_known(); }

rn_status tokenizer_create(const struct vocab *v, tokenizer **out, rn_error *err) {
    assert(v && out);
    *out = NULL;
    if (v->model == VOCAB_NONE && v->model_name.n > 0)
        return fail(err, RN_E_UNSUPPORTED, "tokenizer: model \"%.*s\" is not known; known ones are llama, gpt2",
                    v->model_name.n < 64 ? (int)v->model_name.n : 64, v->model_name.s);
    if (v->model == VOCAB_NONE) return fail(err, RN_E_UNSUPPORTED, "tokenizer: the model has no vocabulary");
    tokenizer *t = mem_calloc(1, sizeof *t);
    if (!t) return fail(err, RN_E_NOMEM, "tokenizer: out of memory");
    t->v = v;
    rn_status st = pieces_init(&t->pieces, v, err);
    if (st == RN_OK) st = token_table_init(&t->tokens, v, &t->pieces, err);
    if (st == RN_OK) st = specials_init(&t->specials, v, err);
    if (st == RN_OK)
        st = v->model == VOCAB_SPM ? spm_init(&t->spm, v, &t->pieces, &t->tokens, err)
                                   : bpe_init(&t->bpe, v, &t->tokens, err);
    if (st != RN_OK)
        tokenizer_destroy(t);
    else
        *out = t;
    return st;
}

void tokenizer_destroy(tokenizer *t) {
    if (!t) return;
    bpe_free(&t->bpe);
    specials_free(&t->specials);
    token_table_free(&t->tokens);
    pieces_free(&t->pieces);
    mem_free(t);
}

struct encoder {
    const tokenizer *t;
    struct merger merger;
    struct id_list ids;
    size_t n_dropped;
    bool at_start; // of the text, or behind a control token: where SPM puts its space
};

static rn_status add_id(struct encoder *e, int32_t id, rn_error *err) {
    return id_list_add(&e->ids, id) ? RN_OK : fail(err, RN_E_NOMEM, "text: out of memory for %zu tokens", e->ids.n);
}

// Text without special tokens. An empty one gets its space too: that is what stands before a user-defined token.
static rn_status add_text(struct encoder *e, const char *text, size_t n, rn_error *err) {
    const tokenizer *const t = e->t;
    const bool space_before = e->at_start && t->v->add_space_prefix;
    e->at_start = false;
    if (t->v->model == VOCAB_SPM) return spm_encode(&t->spm, text, n, space_before, &e->merger, &e->ids, err);
    return n ? bpe_encode(&t->bpe, text, n, &e->merger, &e->ids, &e->n_dropped, err) : RN_OK;
}

// Where specials are not parsed, a user-defined token is a part of the text as in SentencePiece: the space goes before it,
// none behind it. Where they are, it separates texts like a control token, as in llama.cpp.
static rn_status add_match(struct encoder *e, const struct special_match *m, bool parse_special, rn_error *err) {
    const bool is_text = m->is_user_defined && !parse_special;
    rn_status st = is_text && e->at_start ? add_text(e, NULL, 0, err) : RN_OK;
    if (!is_text) e->at_start = true;
    if (st == RN_OK) st = add_id(e, m->id, err);
    return st;
}

static rn_status add_all(struct encoder *e, const char *text, size_t n, bool parse_special, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t at = 0; st == RN_OK && at < n;) {
        struct special_match m;
        const bool found = specials_find(&e->t->specials, text, n, at, parse_special, &m);
        const size_t end = found ? m.pos : n;
        if (end > at) st = add_text(e, text + at, end - at, err);
        if (st == RN_OK && found) st = add_match(e, &m, parse_special, err);
        at = found ? m.end : n;
    }
    return st;
}

static rn_status encode(struct encoder e, const char *text, size_t n, bool add_special, bool parse_special,
                        int32_t **ids, size_t *n_ids, size_t *n_dropped, rn_error *err) {
    const tokenizer *const t = e.t;
    assert(t && ids && n_ids && (text || n == 0));
    *ids = NULL;
    *n_ids = 0;
    if (n_dropped) *n_dropped = 0;
    if (n > TOKENIZER_MAX_TEXT)
        return fail(err, RN_E_LIMIT, "text: %zu bytes, at most %d can be tokenized at once", n, TOKENIZER_MAX_TEXT);
    const struct vocab *const v = t->v;
    rn_status st = add_special && v->add_bos && v->bos >= 0 ? add_id(&e, v->bos, err) : RN_OK;
    if (st == RN_OK) st = add_all(&e, text, n, parse_special, err);
    if (st == RN_OK && add_special && v->add_eos && v->eos >= 0) st = add_id(&e, v->eos, err);
    merger_free(&e.merger);
    if (st != RN_OK) {
        mem_free(e.ids.ids);
        return st;
    }
    *ids = e.ids.ids;
    *n_ids = e.ids.n;
    if (n_dropped) *n_dropped = e.n_dropped;
    return RN_OK;
}

rn_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, bool add_special, bool parse_special,
                           int32_t **ids, size_t *n_ids, size_t *n_dropped, rn_error *err) {
    return encode((struct encoder){.t = t, .at_start = true}, text, n, add_special, parse_special, ids, n_ids,
                  n_dropped, err);
}

rn_status tokenizer_encode_more(const tokenizer *t, const char *text, size_t n, bool parse_special, int32_t **ids,
                                size_t *n_ids, rn_error *err) {
    return encode((struct encoder){.t = t}, text, n, false, parse_special, ids, n_ids, NULL, err);
}

static bool is_control(const tokenizer *t, int32_t id) {
    return t->v->tokens[id].kind == TOKEN_CONTROL || t->v->tokens[id].kind == TOKEN_UNKNOWN;
}

const char *tokenizer_piece(const tokenizer *t, int32_t id, bool special, size_t *n_bytes) {
    assert(id >= 0 && id < t->v->n_tokens);
    uint32_t n = 0;
    const char *const piece = piece_of(&t->pieces, id, &n);
    *n_bytes = is_control(t, id) && !special ? 0 : n;
    return piece;
}

size_t tokenizer_max_piece(const tokenizer *t) { return t->pieces.longest; }

// The piece of ids[i] inside a whole text: without the space that encoding puts at the start and behind control tokens.
static const char *piece_in_text(const tokenizer *t, int32_t id, bool special, bool *at_start, size_t *n) {
    const char *piece = tokenizer_piece(t, id, special, n);
    const bool is_text = !is_control(t, id) && t->v->tokens[id].kind != TOKEN_USER_DEFINED;
    if (is_text && *at_start && t->v->model == VOCAB_SPM && t->v->add_space_prefix && *n > 0 && piece[0] == ' ')
        piece++, --*n;
    *at_start = is_control(t, id);
    return piece;
}

rn_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n_ids, bool special, char **text, size_t *n,
                           rn_error *err) {
    assert(t && text && n && (ids || n_ids == 0));
    *text = NULL;
    *n = 0;
    size_t n_all = 1;
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || ids[i] >= t->v->n_tokens)
            return fail(err, RN_E_ARG, "token[%zu]: %d is outside 0..%d", i, ids[i], t->v->n_tokens - 1);
        size_t n_piece = 0;
        tokenizer_piece(t, ids[i], special, &n_piece);
        if (!size_add(n_all, n_piece, &n_all)) return fail(err, RN_E_LIMIT, "token[%zu]: the text is too long", i);
    }
    char *const out = mem_alloc(n_all);
    if (!out) return fail(err, RN_E_NOMEM, "text: out of memory for %zu bytes", n_all);
    size_t n_out = 0;
    bool at_start = true;
    for (size_t i = 0; i < n_ids; i++) {
        size_t n_piece = 0;
        const char *piece = piece_in_text(t, ids[i], special, &at_start, &n_piece);
        memcpy(out + n_out, piece, n_piece);
        n_out += n_piece;
    }
    out[n_out] = '\0';
    *text = out;
    *n = n_out;
    return RN_OK;
}
