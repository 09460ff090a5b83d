// formats/vocab/tokenizer_model_json.c - reads tokenizer.json's "model" and "added_tokens": tokens
// by id, and merges.
#include "formats/vocab/tokenizer_build.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/fillers.h"
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// -1: no token has this text.
static int32_t find_token(const struct tokenizer_build *b, const char *text, uint32_t n) {
    return (int32_t)name_index_find(&b->ids, text, n);
}

struct vocab_str tokenizer_build_copy(struct tokenizer_build *b, const char *text, uint32_t n) {
    return (struct vocab_str){arena_strndup(b->mem, text, n), n};
}

static rn_status check_text(const char *text, uint32_t n, rn_error *err) {
    if (n == 0) return fail(err, RN_E_FORMAT, "is empty");
    if (n <= VOCAB_MAX_TOKEN_BYTES) return RN_OK;
    return fail(err, RN_E_LIMIT, "\"%.*s...\": %" PRIu32 " bytes, limit %d", shown_bytes(n), text, n,
                VOCAB_MAX_TOKEN_BYTES);
}

// Allocates tokens for ids up to max_id; at most VOCAB_MAX_HOLES of them may be unused.
static rn_status make_tokens(struct tokenizer_build *b, int64_t max_id, uint64_t n_entries, rn_error *err) {
    if (max_id < 0) return fail(err, RN_E_FORMAT, "the vocabulary is empty");
    if ((uint64_t)max_id >= n_entries + VOCAB_MAX_HOLES)
        return fail(err, RN_E_LIMIT, "id %" PRId64 " with %" PRIu64 " tokens: more than %d ids without one", max_id,
                    n_entries, VOCAB_MAX_HOLES);
    b->v->n_tokens = (int32_t)(max_id + 1); // at most JSON_MAX_VALUES + VOCAB_MAX_HOLES
    b->tokens = arena_alloc(b->mem, (size_t)b->v->n_tokens * sizeof *b->tokens);
    b->v->tokens = b->tokens;
    if (b->tokens && name_index_init(&b->ids, n_entries, &b->work)) return RN_OK;
    return fail(err, RN_E_NOMEM, "out of memory for %" PRIu64 " tokens", n_entries);
}

static rn_status add_token(struct tokenizer_build *b, int64_t id, const char *text, uint32_t n, float score,
                           rn_error *err) {
    struct vocab_token *const t = &b->tokens[id];
    rn_status st = check_text(text, n, err);
    if (st != RN_OK) return fail_in(err, st, "token %" PRId64, id);
    if (t->text.n > 0)
        return fail(err, RN_E_FORMAT, "id %" PRId64 " is given to \"%.*s\" and to \"%.*s\"", id,
                    shown_bytes(t->text.n), t->text.s, shown_bytes(n), text);
    *t = (struct vocab_token){tokenizer_build_copy(b, text, n), score, TOKEN_NORMAL, 0};
    if (!t->text.s) return fail(err, RN_E_NOMEM, "out of memory for token %" PRId64, id);
    const uint32_t known = name_index_add(&b->ids, t->text.s, n, (uint32_t)id);
    if (known == (uint32_t)id) return RN_OK;
    return fail(err, RN_E_FORMAT, "\"%.*s\" has the ids %" PRIu32 " and %" PRId64, shown_bytes(n), text, known, id);
}

// ---- added tokens -------------------------------------------------------------------------------

static rn_status added_id(const struct json_node *t, int64_t *id, rn_error *err) {
    const struct json_node *const m = json_member(t, "id");
    if (!m) return fail(err, RN_E_FORMAT, "has no id");
    const rn_status st = json_int(m, 0, INT32_MAX - 1, id, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member id");
}

static rn_status read_flags(struct vocab_token *t, const struct json_node *added, rn_error *err) {
    static const struct {
        const char *name;
        uint8_t flag;
    } flags[] = {
        {"lstrip", TOKEN_TAKES_SPACE_BEFORE},
        {"rstrip", TOKEN_TAKES_SPACE_BEHIND},
        {"single_word", TOKEN_ONLY_WHOLE_WORD},
        {"normalized", TOKEN_IN_NORMALIZED},
    };
    bool special = false;
    rn_status st = step_bool(added, "special", &special, err);
    for (size_t i = 0; st == RN_OK && i < sizeof flags / sizeof *flags; i++) {
        bool is_set = false;
        st = step_bool(added, flags[i].name, &is_set, err);
        if (is_set) t->flags |= flags[i].flag;
    }
    t->kind = special ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
    return st;
}

static rn_status add_added(struct tokenizer_build *b, const struct json_node *added, rn_error *err) {
    int64_t id;
    const struct json_node *const content = json_member(added, "content");
    rn_status st = added_id(added, &id, err);
    if (st != RN_OK) return st;
    if (!content || content->kind != JSON_STRING) return fail(err, RN_E_FORMAT, "has no content");
    const struct vocab_str text = b->tokens[id].text;
    const bool is_there = text.n > 0 && text.n == content->n_text && memcmp(text.s, content->text, text.n) == 0;
    if (!is_there) st = add_token(b, id, content->text, content->n_text, 0, err);
    if (!is_there && st == RN_OK) b->tokens[id].flags = TOKEN_IS_ADDED;
    if (st == RN_OK && b->tokens[id].kind != TOKEN_NORMAL) st = fail(err, RN_E_FORMAT, "is given twice");
    return st == RN_OK ? read_flags(&b->tokens[id], added, err) : st;
}

static rn_status read_added(struct tokenizer_build *b, const struct json_node *list, rn_error *err) {
    const struct json_node *added = list ? json_first(list) : NULL;
    for (uint32_t i = 0; list && i < list->n_items; i++, added = json_next(added)) {
        const rn_status st = add_added(b, added, err);
        if (st != RN_OK) return fail_in(err, st, "added_tokens[%" PRIu32 "]", i);
    }
    return RN_OK;
}

// Adds the list's largest id and number of tokens. Tokens that the model has as well are counted
// twice, which only reserves too many names.
static rn_status max_added_id(const struct json_node *list, int64_t *max_id, uint64_t *n, rn_error *err) {
    if (!list) return RN_OK;
    if (list->kind != JSON_ARRAY) return fail(err, RN_E_FORMAT, "added_tokens: must be a list");
    const struct json_node *added = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, added = json_next(added)) {
        int64_t id;
        const rn_status st = added_id(added, &id, err);
        if (st != RN_OK) return fail_in(err, st, "added_tokens[%" PRIu32 "]", i);
        if (id > *max_id) *max_id = id;
    }
    *n += list->n_items;
    return RN_OK;
}

// Ids without a token exist because embeddings are padded to round sizes.
static rn_status fill_holes(struct tokenizer_build *b, rn_error *err) {
    for (int32_t id = 0; id < b->v->n_tokens; id++) {
        if (b->tokens[id].text.n > 0) continue;
        const struct filler f = filler_of(id);
        const struct vocab_str text = tokenizer_build_copy(b, f.text, (uint32_t)strlen(f.text));
        b->tokens[id] = (struct vocab_token){text, 0, TOKEN_UNUSED, 0};
        if (!b->tokens[id].text.s) return fail(err, RN_E_NOMEM, "out of memory for token %d", id);
    }
    return RN_OK;
}

// Added tokens of the form <0xNN> are byte tokens as well.
static void mark_bytes(struct tokenizer_build *b) {
    for (int32_t id = 0; b->v->has_byte_tokens && id < b->v->n_tokens; id++)
        if (byte_token_value(b->tokens[id].text) >= 0) b->tokens[id].kind = TOKEN_BYTE;
}

static void mark_unknown(struct tokenizer_build *b) {
    const int32_t unk = b->v->unk;
    if (unk >= 0 && b->tokens[unk].kind != TOKEN_USER_DEFINED) b->tokens[unk].kind = TOKEN_UNKNOWN;
}

// ---- an object of texts and ids -----------------------------------------------------------------

static rn_status token_id(const struct json_node *entry, int64_t *id, rn_error *err) {
    const rn_status st = json_int(entry, 0, INT32_MAX - 1, id, err);
    return st == RN_OK ? RN_OK
                       : fail_in(err, st, "vocab: the id of \"%.*s\"", shown_bytes(entry->n_name), entry->name);
}

static rn_status read_token_ids(struct tokenizer_build *b, const struct json_node *vocab,
                                const struct json_node *added, rn_error *err) {
    if (!vocab || vocab->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "member vocab: must be an object");
    int64_t max_id = -1, id;
    uint64_t n = vocab->n_items;
    const struct json_node *entry = json_first(vocab);
    rn_status st = RN_OK;
    for (uint32_t i = 0; st == RN_OK && i < vocab->n_items; i++, entry = json_next(entry))
        if ((st = token_id(entry, &id, err)) == RN_OK && id > max_id) max_id = id;
    if (st == RN_OK) st = max_added_id(added, &max_id, &n, err);
    if (st == RN_OK) st = make_tokens(b, max_id, n, err);
    entry = json_first(vocab);
    for (uint32_t i = 0; st == RN_OK && i < vocab->n_items; i++, entry = json_next(entry)) {
        st = token_id(entry, &id, err);
        if (st == RN_OK) st = add_token(b, id, entry->name, entry->n_name, 0, err);
    }
    return st;
}

// ---- BPE ----------------------------------------------------------------------------------------

struct halves {
    const char *left, *right;
    uint32_t n_left, n_right;
};

// A merge is "left right" or ["left", "right"].
static rn_status read_merge(const struct json_node *m, struct halves *h, rn_error *err) {
    const struct json_node *const left = json_first(m);
    if (m->kind == JSON_ARRAY && m->n_items == 2 && left->kind == JSON_STRING &&
        json_next(left)->kind == JSON_STRING) {
        *h = (struct halves){left->text, json_next(left)->text, left->n_text, json_next(left)->n_text};
        return RN_OK;
    }
    const char *const space = m->kind == JSON_STRING && m->n_text > 0 ? memchr(m->text, ' ', m->n_text) : NULL;
    const uint32_t n_left = space ? (uint32_t)(space - m->text) : 0;
    if (!space || memchr(space + 1, ' ', m->n_text - n_left - 1))
        return fail(err, RN_E_FORMAT, "is neither two texts nor one with a space between two tokens");
    *h = (struct halves){m->text, space + 1, n_left, m->n_text - n_left - 1};
    return RN_OK;
}

static bool has_space(const char *s, uint32_t n) { return n > 0 && memchr(s, ' ', n); }

static bool spaces_are_replaced(const struct tokenizer_build *b) {
    bool replaced = b->is_byte_level;
    for (int i = 0; i < b->n_norms; i++)
        replaced |= b->norms[i].kind == NORM_REPLACE && b->norms[i].pattern.n == 1 && b->norms[i].pattern.s[0] == ' ';
    for (int i = 0; i < b->n_pre_norms; i++) replaced |= b->pre_norms[i].kind == NORM_REPLACE;
    return replaced;
}

// A merge of tokens that contain spaces can never apply if normalization replaces all spaces, so it
// is left out; otherwise it is not supported.
static rn_status add_merge(struct tokenizer_build *b, const struct json_node *m, struct vocab_str *list,
                           rn_error *err) {
    struct halves h = {0};
    rn_status st = read_merge(m, &h, err);
    if (st == RN_OK) st = check_text(h.left, h.n_left, err);
    if (st == RN_OK) st = check_text(h.right, h.n_right, err);
    if (st != RN_OK) return st;
    if (has_space(h.left, h.n_left) || has_space(h.right, h.n_right))
        return spaces_are_replaced(b) ? RN_OK : fail(err, RN_E_UNSUPPORTED, "joins tokens with a space inside");
    const uint32_t n = h.n_left + 1 + h.n_right;
    char *const text = arena_alloc(b->mem, n);
    if (!text) return fail(err, RN_E_NOMEM, "out of memory");
    memcpy(text, h.left, h.n_left);
    text[h.n_left] = ' ';
    memcpy(text + h.n_left + 1, h.right, h.n_right);
    list[b->v->n_merges++] = (struct vocab_str){text, n};
    return RN_OK;
}

static rn_status read_merges(struct tokenizer_build *b, const struct json_node *merges, rn_error *err) {
    if (!merges || merges->kind != JSON_ARRAY) return fail(err, RN_E_FORMAT, "member merges: must be a list");
    struct vocab_str *const list = arena_alloc(b->mem, merges->n_items * sizeof *list + 1);
    if (!list) return fail(err, RN_E_NOMEM, "out of memory for %" PRIu32 " merges", merges->n_items);
    b->v->merges = list;
    const struct json_node *m = json_first(merges);
    for (uint32_t i = 0; i < merges->n_items; i++, m = json_next(m)) {
        const rn_status st = add_merge(b, m, list, err);
        if (st != RN_OK) return fail_in(err, st, "merge %" PRIu32, i);
    }
    return RN_OK;
}

// Refuses options that change the BPE algorithm.
static rn_status refuse_variants(struct tokenizer_build *b, const struct json_node *model, rn_error *err) {
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const struct json_node *const dropout = json_member(model, "dropout");
    float rate = 0;
    rn_status st = dropout ? json_float(dropout, 0, 1, &rate, err) : RN_OK;
    if (st == RN_OK && rate > 0) st = fail(err, RN_E_UNSUPPORTED, "dropout above 0");
    for (int i = 0; st == RN_OK && i < 2; i++) {
        struct vocab_str text = {0};
        if (json_member(model, affixes[i])) st = step_text(b, model, affixes[i], &text, err);
        if (st == RN_OK && text.n > 0) st = fail(err, RN_E_UNSUPPORTED, "member %s is not supported", affixes[i]);
    }
    return st;
}

static rn_status find_unk(struct tokenizer_build *b, const struct json_node *model, rn_error *err) {
    const struct json_node *const unk = json_member(model, "unk_token");
    if (!unk) return RN_OK;
    b->v->unk = unk->kind == JSON_STRING ? find_token(b, unk->text, unk->n_text) : -1;
    if (b->v->unk >= 0) return RN_OK;
    return fail(err, RN_E_FORMAT, "member unk_token: \"%.*s\" is not a token",
                unk->kind == JSON_STRING ? shown_bytes(unk->n_text) : 0, unk->kind == JSON_STRING ? unk->text : "");
}

static rn_status read_bpe(struct tokenizer_build *b, const struct json_node *model, const struct json_node *added,
                          rn_error *err) {
    struct vocab *const v = b->v;
    v->model = b->is_byte_level ? VOCAB_BPE : VOCAB_CHAR_BPE;
    rn_status st = refuse_variants(b, model, err);
    if (st == RN_OK) st = step_bool(model, "byte_fallback", &v->has_byte_tokens, err);
    if (st == RN_OK) st = step_bool(model, "fuse_unk", &v->fuse_unk, err);
    if (st == RN_OK) st = step_bool(model, "ignore_merges", &v->takes_whole_words, err);
    if (st == RN_OK) st = read_token_ids(b, json_member(model, "vocab"), added, err);
    if (st == RN_OK) st = read_merges(b, json_member(model, "merges"), err);
    if (st == RN_OK) st = read_added(b, added, err);
    return st == RN_OK ? find_unk(b, model, err) : st;
}

// ---- WordPiece ----------------------------------------------------------------------------------

static rn_status read_wordpiece(struct tokenizer_build *b, const struct json_node *model,
                                const struct json_node *added, rn_error *err) {
    struct vocab *const v = b->v;
    int64_t max_chars = 100;
    if (b->is_byte_level) return fail(err, RN_E_UNSUPPORTED, "WordPiece after a byte-level step");
    v->model = VOCAB_WORDPIECE;
    rn_status st = step_text(b, model, "continuing_subword_prefix", &v->subword_sign, err);
    if (st == RN_OK && v->subword_sign.n == 0)
        st = fail(err, RN_E_UNSUPPORTED, "member continuing_subword_prefix: is empty");
    if (st == RN_OK) st = step_int(model, "max_input_chars_per_word", 0, INT32_MAX, &max_chars, err);
    if (st == RN_OK) st = read_token_ids(b, json_member(model, "vocab"), added, err);
    if (st == RN_OK) st = read_added(b, added, err);
    v->max_word_chars = (int32_t)max_chars;
    return st == RN_OK ? find_unk(b, model, err) : st;
}

// ---- Unigram ------------------------------------------------------------------------------------

// ["text", score]
static rn_status add_piece(struct tokenizer_build *b, uint32_t id, const struct json_node *piece, rn_error *err) {
    float score = 0;
    const bool is_pair = piece->kind == JSON_ARRAY && piece->n_items == 2 && json_first(piece)->kind == JSON_STRING;
    if (!is_pair) return fail(err, RN_E_FORMAT, "is not a pair of text and score");
    const struct json_node *const text = json_first(piece);
    const rn_status st = json_float(json_next(text), -(double)FLT_MAX, (double)FLT_MAX, &score, err);
    return st == RN_OK ? add_token(b, id, text->text, text->n_text, score, err) : fail_in(err, st, "score");
}

static rn_status read_unigram(struct tokenizer_build *b, const struct json_node *model, const struct json_node *added,
                              rn_error *err) {
    const struct json_node *const vocab = json_member(model, "vocab");
    struct vocab *const v = b->v;
    if (b->is_byte_level) return fail(err, RN_E_UNSUPPORTED, "Unigram after a byte-level step");
    if (!vocab || vocab->kind != JSON_ARRAY) return fail(err, RN_E_FORMAT, "member vocab: must be a list");
    v->model = VOCAB_UNIGRAM;
    v->fuse_unk = true;
    int64_t max_id = (int64_t)vocab->n_items - 1, unk = -1;
    uint64_t n = vocab->n_items;
    rn_status st = step_bool(model, "byte_fallback", &v->has_byte_tokens, err);
    if (st == RN_OK) st = step_int(model, "unk_id", 0, max_id, &unk, err);
    if (st == RN_OK) st = max_added_id(added, &max_id, &n, err);
    if (st == RN_OK) st = make_tokens(b, max_id, n, err);
    const struct json_node *piece = json_first(vocab);
    for (uint32_t i = 0; st == RN_OK && i < vocab->n_items; i++, piece = json_next(piece))
        if ((st = add_piece(b, i, piece, err)) != RN_OK) fail_in(err, st, "vocab[%" PRIu32 "]", i);
    v->unk = (int32_t)unk;
    return st == RN_OK ? read_added(b, added, err) : st;
}

static const struct {
    struct step_kind kind; // `read` is not used
    rn_status (*read)(struct tokenizer_build *b, const struct json_node *model, const struct json_node *added,
                      rn_error *err);
} models[] = {
    {{"BPE",
      "|dropout|unk_token|continuing_subword_prefix|end_of_word_suffix|fuse_unk|byte_fallback|ignore_merges|vocab|"
      "merges|",
      NULL},
     read_bpe},
    {{"WordPiece", "|unk_token|continuing_subword_prefix|max_input_chars_per_word|vocab|", NULL}, read_wordpiece},
    {{"Unigram", "|unk_id|vocab|byte_fallback|", NULL}, read_unigram},
};

rn_status tokenizer_read_model(struct tokenizer_build *b, const struct json_node *model,
                               const struct json_node *added_tokens, rn_error *err) {
    const struct json_node *const type = json_member(model, "type");
    const char *const name = type && type->kind == JSON_STRING ? type->text : NULL;
    if (!model || model->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "model: must be an object");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct step_kind *const kind = &models[i].kind;
        if (name ? !json_is(type, kind->type) : i > 0 || !json_member(model, "merges"))
            continue; // older files: BPE without a type
        b->v->model_name = (struct vocab_str){kind->type, (uint32_t)strlen(kind->type)};
        rn_status st = step_check_members(model, kind, err);
        if (st == RN_OK) st = models[i].read(b, model, added_tokens, err);
        if (st != RN_OK) return fail_in(err, st, "model");
        mark_bytes(b);
        mark_unknown(b);
        return fill_holes(b, err);
    }
    return fail(err, RN_E_UNSUPPORTED, "model: type \"%.*s\" is not supported; BPE, WordPiece and Unigram are",
                name ? shown_bytes(type->n_text) : 0, name ? name : "");
}
