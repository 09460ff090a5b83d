// tokenizer/tokenizer.c - what all kinds of tokenizers share: special tokens around and within a text, and decoding.
#include "tokenizer/tokenizer.h"
#include "base/checked.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/specials.h"
#include "tokenizer/word_model.h"
#include <assert.h>
#include <string.h>

struct tokenizer {
    const struct vocab *v;
    struct pieces pieces;
    struct normalizer normalizer;
    struct specials specials;   // searched for in the original text
    struct specials normalized; // searched for in the normalized text
    word_model *model;
    size_t token_bytes; // word_model_token_bytes()
    bool is_dropped[256], drops;
};

static bool is_in_normalized(const tokenizer *t, int32_t id) {
    return (t->v->tokens[id].flags & TOKEN_IN_NORMALIZED) != 0;
}

static bool is_piece(const struct vocab *v, int32_t id) {
    return v->model == VOCAB_UNIGRAM && v->as_sentencepiece && v->tokens[id].kind == TOKEN_USER_DEFINED;
}

// SPM reads U+2581 as a space, both in the text and in spellings; escapes of longest tokens are none in a text.
static void spell(const tokenizer *t, struct vocab_str *texts) {
    for (int32_t i = 0; i < t->v->n_tokens; i++) {
        texts[i] = is_in_normalized(t, i) || is_piece(t->v, i) ? (struct vocab_str){0} : t->v->tokens[i].text;
        const bool as_piece = t->v->model == VOCAB_LONGEST || (t->v->model == VOCAB_SPM && t->v->n_norms == 0);
        if (as_piece && texts[i].n > 0) texts[i].s = piece_of(&t->pieces, i, &texts[i].n);
    }
}

// The normalized spellings of TOKEN_IN_NORMALIZED tokens; bufs has a buffer for each.
static rn_status spell_normalized(const tokenizer *t, struct vocab_str *texts, struct text_buf *bufs, rn_error *err) {
    const struct vocab *const v = t->v;
    const struct norm_place place = {.is_first = true, .at_start = true};
    rn_status st = RN_OK;
    for (int32_t i = 0; st == RN_OK && i < v->n_tokens; i++) {
        texts[i] = is_in_normalized(t, i) ? v->tokens[i].text : (struct vocab_str){0};
        if (texts[i].n == 0 || v->n_norms_before == 0 || v->as_sentencepiece) continue;
        st = normalizer_run(&t->normalizer, 0, v->n_norms_before, texts[i].s, texts[i].n, place, bufs, err);
        if (st == RN_OK && bufs->n > SPECIALS_MAX_BYTES) // checked early, since all of them may be long
            st = fail(err, RN_E_LIMIT, "tokenizer: token %d has %zu bytes when normalized, limit %d", i, bufs->n,
                      SPECIALS_MAX_BYTES);
        texts[i] = (struct vocab_str){bufs->s, (uint32_t)bufs->n};
        bufs++;
    }
    return st;
}

static rn_status init_specials(tokenizer *t, rn_error *err) {
    size_t n = 0;
    for (int32_t i = 0; i < t->v->n_tokens; i++) n += is_in_normalized(t, i);
    struct vocab_str *const texts = mem_calloc((size_t)t->v->n_tokens, sizeof *texts);
    struct text_buf *const bufs = mem_calloc(n, sizeof *bufs);
    rn_status st = texts && bufs ? RN_OK : fail(err, RN_E_NOMEM, "tokenizer: out of memory for added tokens");
    if (st == RN_OK) {
        spell(t, texts);
        st = specials_init(&t->specials, t->v, texts, err);
    }
    if (st == RN_OK && n > 0) {
        st = spell_normalized(t, texts, bufs, err);
        if (st == RN_OK) st = specials_init(&t->normalized, t->v, texts, err);
    }
    for (size_t i = 0; bufs && i < n; i++) text_buf_free(&bufs[i]);
    mem_free(bufs);
    mem_free(texts);
    return st;
}

rn_status tokenizer_create(const struct vocab *v, tokenizer **out, rn_error *err) {
    assert(v && out);
    *out = NULL;
    if (v->model == VOCAB_NONE && v->model_name.n > 0)
        return fail(err, RN_E_UNSUPPORTED,
                    "tokenizer: model \"%.*s\" is not known; known ones are llama, gpt2, gemma4, bert, t5, rwkv",
                    v->model_name.n < 64 ? (int)v->model_name.n : 64, v->model_name.s);
    if (v->model == VOCAB_NONE) return fail(err, RN_E_UNSUPPORTED, "tokenizer: the model has no vocabulary");
    tokenizer *t = mem_calloc(1, sizeof *t);
    if (!t) return fail(err, RN_E_NOMEM, "tokenizer: out of memory");
    t->v = v;
    rn_status st = pieces_init(&t->pieces, v, err);
    if (st == RN_OK) st = normalizer_init(&t->normalizer, v, err);
    if (st == RN_OK) st = init_specials(t, err);
    if (st == RN_OK) st = word_model_create(v, &t->pieces, &t->model, err);
    if (st == RN_OK) t->token_bytes = word_model_token_bytes(t->model, &t->pieces);
    for (int i = 0; i < 256 && st == RN_OK; i++)
        t->drops |= t->is_dropped[i] = word_model_drops(t->model, (uint8_t)i);
    if (st != RN_OK)
        tokenizer_destroy(t);
    else
        *out = t;
    return st;
}

void tokenizer_destroy(tokenizer *t) {
    if (!t) return;
    word_model_destroy(t->model);
    specials_free(&t->normalized);
    specials_free(&t->specials);
    normalizer_free(&t->normalizer);
    pieces_free(&t->pieces);
    mem_free(t);
}

struct encoder {
    const tokenizer *t;
    struct word_work work;
    const char *text;              // all of it
    struct special_areas controls; // where control tokens are recognized, with parse_special
    bool parse_special;
    bool at_start; // at the start of the text or after a control token, where SPM adds a space
    bool goes_on;  // the text continues text that was encoded before
};

static rn_status add_id(struct encoder *e, int32_t id, rn_error *err) {
    if (id_list_add(&e->work.ids, id)) return RN_OK;
    return fail(err, RN_E_NOMEM, "text: out of memory for %zu tokens", e->work.ids.n);
}

// A segment of the text without special tokens, or without those searched for so far.
struct segment {
    const char *s;
    size_t n;
    bool is_first, is_last; // it is the beginning, the end of the text
};

static struct norm_place place_of(const struct encoder *e, const struct segment *x) {
    return (struct norm_place){x->is_first && !e->goes_on, x->is_last, e->at_start, e->goes_on};
}

// An empty segment gets its space too: it precedes a user-defined token.
static rn_status add_text(struct encoder *e, const struct segment *x, rn_error *err) {
    const tokenizer *const t = e->t;
    const int32_t from = t->v->n_norms_before, to = t->v->n_norms;
    const struct norm_place place = place_of(e, x);
    const bool space_before = e->at_start && t->v->add_space_prefix && t->v->n_norms == 0;
    e->at_start = false;
    if (from == to) return word_model_encode(t->model, x->s, x->n, space_before, &e->work, err);
    struct text_buf b = {0};
    rn_status st = normalizer_run(&t->normalizer, from, to, x->s, x->n, place, &b, err);
    if (st == RN_OK) st = word_model_encode(t->model, b.n ? b.s : "", b.n, space_before, &e->work, err);
    text_buf_free(&b);
    return st;
}

// If specials are not parsed, a user-defined token is part of the text, as in SentencePiece: a
// space is added before it, none after it. Otherwise it separates texts like a control token, as in
// llama.cpp.
static rn_status add_match(struct encoder *e, const struct special_match *m, rn_error *err) {
    const bool is_text = m->is_user_defined && !e->parse_special;
    rn_status st = is_text && e->at_start ? add_text(e, &(struct segment){.s = ""}, err) : RN_OK;
    if (!is_text) e->at_start = true;
    if (st == RN_OK) st = add_id(e, m->id, err);
    return st;
}

typedef rn_status (*segment_fn)(struct encoder *e, const struct segment *x, rn_error *err);

// Passes on the text between the special tokens of a segment. controls: where in it control tokens are recognized.
static rn_status add_between(struct encoder *e, const struct specials *s, const struct segment *x,
                             const struct special_areas *controls, segment_fn add_segment, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t at = 0; st == RN_OK && at < x->n;) {
        struct special_match m;
        const bool found = specials_find(s, x->s, x->n, at, controls, &m);
        const size_t end = found ? m.pos : x->n;
        const struct segment part = {x->s + at, end - at, x->is_first && at == 0, x->is_last && end == x->n};
        if (part.n > 0) st = add_segment(e, &part, err);
        if (st == RN_OK && found) st = add_match(e, &m, err);
        at = found ? m.end : x->n;
    }
    return st;
}

static const struct special_areas everywhere = {.everywhere = true};

// Encodes a segment that has been through the steps before TOKEN_IN_NORMALIZED.
static rn_status add_rewritten(struct encoder *e, const struct segment *x, bool controls, rn_error *err) {
    const tokenizer *const t = e->t;
    struct text_buf b = {0};
    rn_status st = normalizer_run(&t->normalizer, 0, t->v->n_norms_before, x->s, x->n, place_of(e, x), &b, err);
    const struct segment normalized = {b.n ? b.s : "", b.n, x->is_first, x->is_last};
    if (st == RN_OK) st = add_between(e, &t->normalized, &normalized, controls ? &everywhere : NULL, add_text, err);
    text_buf_free(&b);
    return st;
}

// The control tokens that a segment spells after it is normalized.
static rn_status list_controls(const struct encoder *e, const struct segment *x, struct id_list *to, rn_error *err) {
    const tokenizer *const t = e->t;
    struct text_buf b = {0};
    struct special_match m;
    rn_status st = normalizer_run(&t->normalizer, 0, t->v->n_norms_before, x->s, x->n, place_of(e, x), &b, err);
    for (size_t at = 0; st == RN_OK && specials_find(&t->normalized, b.s, b.n, at, &everywhere, &m); at = m.end)
        if (!m.is_user_defined && !id_list_add(to, m.id)) st = fail(err, RN_E_NOMEM, "text: out of memory");
    text_buf_free(&b);
    return st;
}

// The next part of a segment, from *at on, that is entirely inside or outside the markup.
static struct segment next_part(const struct encoder *e, const struct segment *x, size_t *at, bool *is_markup) {
    const size_t base = (size_t)(x->s - e->text), from = *at;
    size_t end = x->n;
    *is_markup = false;
    for (size_t i = 0; i < e->controls.n && !*is_markup; i++) {
        const struct text_range r = e->controls.ranges[i];
        if (r.end <= base + from) continue;
        *is_markup = r.begin <= base + from;
        const size_t border = (*is_markup ? r.end : r.begin) - base;
        if (border < end) end = border;
        break;
    }
    *at = end;
    return (struct segment){x->s + from, end - from, x->is_first && from == 0, x->is_last && end == x->n};
}

// Normalization moves bytes, so positions of markup are unknown afterwards. A segment is encoded as
// a whole if its parts spell the same control tokens as the whole, and none of them outside the
// markup; otherwise part by part.
static rn_status add_normalized_marked(struct encoder *e, const struct segment *x, rn_error *err) {
    struct id_list whole = {0}, parts = {0};
    bool is_markup;
    rn_status st = list_controls(e, x, &whole, err);
    for (size_t at = 0; st == RN_OK && at < x->n;) {
        const struct segment part = next_part(e, x, &at, &is_markup);
        if (is_markup) st = list_controls(e, &part, &parts, err);
    }
    const bool same =
        whole.n == parts.n && (whole.n == 0 || memcmp(whole.ids, parts.ids, whole.n * sizeof *whole.ids) == 0);
    mem_free(whole.ids);
    mem_free(parts.ids);
    if (st != RN_OK || same) return st != RN_OK ? st : add_rewritten(e, x, true, err);
    for (size_t at = 0; st == RN_OK && at < x->n;) {
        const struct segment part = next_part(e, x, &at, &is_markup);
        st = add_rewritten(e, &part, is_markup, err);
    }
    return st;
}

static rn_status add_normalized(struct encoder *e, const struct segment *x, rn_error *err) {
    const tokenizer *const t = e->t;
    if (t->v->n_norms_before > 0)
        return e->parse_special && !e->controls.everywhere && t->normalized.all.n_nodes > 0
                   ? add_normalized_marked(e, x, err)
                   : add_rewritten(e, x, e->parse_special, err);
    struct special_areas controls = e->controls;
    controls.offset = controls.everywhere ? 0 : (size_t)(x->s - e->text);
    return add_between(e, &t->normalized, x, e->parse_special ? &controls : NULL, add_text, err);
}

// SentencePiece has U+2581 in place of spaces, so user-defined tokens of spaces match either; with parse_special the
// reference is llama.cpp, which searches the original text.
static rn_status add_all(struct encoder *e, const char *text, size_t n, rn_error *err) {
    static const struct vocab_replace to_space = {{"\xE2\x96\x81", 3}, {" ", 1}};
    const bool has_block = n > 0 && memmem(text, n, to_space.from.s, to_space.from.n);
    const struct special_areas *const controls = e->parse_special ? &e->controls : NULL;
    struct segment all = {text, n, true, true};
    if (e->t->v->model != VOCAB_SPM || e->t->v->n_norms > 0 || e->parse_special || !has_block)
        return add_between(e, &e->t->specials, &all, controls, add_normalized, err);
    struct text_buf b = {0};
    text_buf_replace(&b, text, n, to_space.from.s, to_space.from.n, to_space.to.s, to_space.to.n);
    all.s = b.s, all.n = b.n;
    const rn_status st = b.failed ? fail(err, RN_E_NOMEM, "text: out of memory for %zu bytes", n)
                                  : add_between(e, &e->t->specials, &all, controls, add_normalized, err);
    text_buf_free(&b);
    return st;
}

size_t tokenizer_least(const tokenizer *t, const char *text, size_t n) {
    size_t n_dropped = 0;
    if (t->token_bytes == 0) return 0;
    for (size_t i = 0; t->drops && i < n; i++) n_dropped += t->is_dropped[(uint8_t)text[i]];
    return (n - n_dropped) / t->token_bytes;
}

// A text that is somewhat too long is counted to its end, for the error message: one that has this many times max_ids tokens is not.
enum { STOP_FACTOR = 4 };

static rn_status encode(struct encoder e, const char *text, size_t n, bool add_special, size_t max_ids, int32_t **ids,
                        size_t *n_ids, size_t *n_dropped, rn_error *err) {
    const tokenizer *const t = e.t;
    assert(t && ids && n_ids && (text || n == 0));
    *ids = NULL;
    *n_ids = 0;
    if (n_dropped) *n_dropped = 0;
    if (n > TOKENIZER_MAX_TEXT)
        return fail(err, RN_E_LIMIT, "text: %zu bytes, at most %d can be tokenized at once", n, TOKENIZER_MAX_TEXT);
    if (max_ids < n && (*n_ids = tokenizer_least(t, text, n)) > max_ids)
        return fail(err, RN_E_LIMIT, "text: %zu bytes are at least %zu tokens, at most %zu are of use", n, *n_ids,
                    max_ids);
    *n_ids = 0;
    const struct vocab *const v = t->v;
    e.work.max_ids = max_ids > SIZE_MAX / STOP_FACTOR ? SIZE_MAX : STOP_FACTOR * max_ids;
    e.text = text;
    rn_status st = add_special && v->add_bos && v->bos >= 0 ? add_id(&e, v->bos, err) : RN_OK;
    if (st == RN_OK) st = add_all(&e, text, n, err);
    if (st == RN_OK && add_special && v->add_eos && v->eos >= 0) st = add_id(&e, v->eos, err);
    merger_free(&e.work.merger);
    if (st != RN_OK) {
        mem_free(e.work.ids.ids);
        if (st == RN_E_LIMIT && e.work.ids.n > e.work.max_ids) *n_ids = e.work.ids.n;
        return st;
    }
    *ids = e.work.ids.ids;
    *n_ids = e.work.ids.n;
    if (n_dropped) *n_dropped = e.work.n_dropped;
    return RN_OK;
}

rn_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, bool add_special, bool parse_special,
                           int32_t **ids, size_t *n_ids, size_t *n_dropped, rn_error *err) {
    const struct encoder e = {.t = t, .controls = everywhere, .parse_special = parse_special, .at_start = true};
    return encode(e, text, n, add_special, SIZE_MAX, ids, n_ids, n_dropped, err);
}

rn_status tokenizer_encode_at_most(const tokenizer *t, const char *text, size_t n, bool add_special,
                                   bool parse_special, size_t max_ids, int32_t **ids, size_t *n_ids, rn_error *err) {
    const struct encoder e = {.t = t, .controls = everywhere, .parse_special = parse_special, .at_start = true};
    return encode(e, text, n, add_special, max_ids, ids, n_ids, NULL, err);
}

rn_status tokenizer_encode_more(const tokenizer *t, const char *text, size_t n, bool parse_special, size_t max_ids,
                                int32_t **ids, size_t *n_ids, rn_error *err) {
    const struct encoder e = {.t = t, .controls = everywhere, .parse_special = parse_special, .goes_on = true};
    return encode(e, text, n, false, max_ids, ids, n_ids, NULL, err);
}

rn_status tokenizer_encode_marked(const tokenizer *t, const char *text, size_t n, const struct text_range *markup,
                                  size_t n_markup, size_t max_ids, int32_t **ids, size_t *n_ids, rn_error *err) {
    const struct encoder e = {
        .t = t, .controls = {.ranges = markup, .n = n_markup}, .parse_special = true, .at_start = true};
    return encode(e, text, n, false, max_ids, ids, n_ids, NULL, err);
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

// The piece of ids[i] within a whole text: without the space that encoding adds at the start and,
// for SPM, after control tokens.
static const char *piece_in_text(const tokenizer *t, int32_t id, bool special, bool *at_start, size_t *n) {
    const struct vocab *const v = t->v;
    const char *piece = tokenizer_piece(t, id, special, n);
    const bool is_text = !is_control(t, id) && v->tokens[id].kind != TOKEN_USER_DEFINED;
    const bool drops = v->add_space_prefix || v->drops_space_at_start;
    if (is_text && *at_start && drops && *n > 0 && piece[0] == ' ') piece++, --*n;
    *at_start = is_control(t, id) && (v->model == VOCAB_SPM || *at_start);
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
