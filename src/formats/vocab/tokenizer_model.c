// formats/vocab/tokenizer_model.c - see tokenizer_model.h. Field numbers are those of
// SentencePiece's sentencepiece_model.proto.
#include "formats/vocab/tokenizer_model.h"
#include "formats/limits.h"
#include "formats/vocab/protobuf.h"
#include "text/utf8.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

struct spec { // initialized with the format's defaults
    uint64_t model_type, byte_fallback, space_is_suffix;
    uint64_t unk_id, bos_id, eos_id, pad_id; // int32 as varints: negative values are huge
    uint64_t add_dummy_prefix, remove_extra_spaces, escapes_spaces;
    struct vocab_str charsmap, denormalizer;
};

struct model_reader {
    struct arena *mem;
    struct vocab *v;
    struct vocab_token *tokens;
    struct spec spec;
    rn_error *err;
};

// ---- pieces -------------------------------------------------------------------------------------

static float float_of(uint64_t bits) {
    const uint32_t word = (uint32_t)bits;
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

static rn_status read_piece_field(const struct pb_field *f, struct vocab_token *t, rn_error *err) {
    rn_status st = RN_OK;
    if (f->number == 1 && (st = pb_must_be(f, PB_BYTES, err)) == RN_OK) {
        if (f->n > VOCAB_MAX_TOKEN_BYTES)
            return fail(err, RN_E_LIMIT, "%zu bytes, limit %d", f->n, VOCAB_MAX_TOKEN_BYTES);
        t->text = (struct vocab_str){(const char *)f->bytes, (uint32_t)f->n};
    } else if (f->number == 2 && (st = pb_must_be(f, PB_FIXED32, err)) == RN_OK) {
        t->score = float_of(f->value);
    } else if (f->number == 3 && (st = pb_must_be(f, PB_VARINT, err)) == RN_OK) {
        if (f->value < TOKEN_NORMAL || f->value > TOKEN_BYTE)
            return fail(err, RN_E_FORMAT, "type %" PRIu64 " is outside %d..%d", f->value, TOKEN_NORMAL, TOKEN_BYTE);
        t->kind = (enum token_kind)f->value;
    }
    return st;
}

// If a field occurs more than once, the last one counts, as protobuf requires.
static rn_status read_piece(struct model_reader *r, const struct pb_field *message, struct vocab_token *t) {
    cursor c = {.data = message->bytes, .size = message->n};
    struct pb_field f;
    *t = (struct vocab_token){.kind = TOKEN_NORMAL};
    for (bool more = true; more;) {
        rn_status st = pb_next(&c, &f, &more, r->err);
        if (st == RN_OK && more) st = read_piece_field(&f, t, r->err);
        if (st != RN_OK) return st;
    }
    if (t->text.n == 0) return fail(r->err, RN_E_FORMAT, "is empty");
    if (!utf8_valid(t->text.s, t->text.n)) return fail(r->err, RN_E_FORMAT, "its text is not UTF-8");
    if (!isfinite(t->score)) return fail(r->err, RN_E_FORMAT, "its score is %g", (double)t->score);
    t->text.s = arena_strndup(r->mem, t->text.s, t->text.n);
    return t->text.s ? RN_OK : fail(r->err, RN_E_NOMEM, "out of memory");
}

static rn_status add_piece(struct model_reader *r, const struct pb_field *f) {
    struct vocab *const v = r->v;
    const int32_t id = v->n_tokens;
    const rn_status st = read_piece(r, f, &r->tokens[id]);
    if (st != RN_OK) return fail_in(r->err, st, "piece %d", id);
    v->n_tokens++;
    if (r->tokens[id].kind != TOKEN_UNKNOWN) return RN_OK;
    if (v->unk >= 0) return fail(r->err, RN_E_FORMAT, "piece %d: a second unknown token, besides %d", id, v->unk);
    v->unk = id;
    return RN_OK;
}

// ---- specifications -----------------------------------------------------------------------------

static const struct spec_field {
    uint32_t number;
    enum pb_wire wire;
    size_t at; // in struct spec
} trainer_fields[] =
    {
        {3, PB_VARINT, offsetof(struct spec, model_type)},
        {24, PB_VARINT, offsetof(struct spec, space_is_suffix)},
        {35, PB_VARINT, offsetof(struct spec, byte_fallback)},
        {40, PB_VARINT, offsetof(struct spec, unk_id)},
        {41, PB_VARINT, offsetof(struct spec, bos_id)},
        {42, PB_VARINT, offsetof(struct spec, eos_id)},
        {43, PB_VARINT, offsetof(struct spec, pad_id)},
},
  normalizer_fields[] =
      {
          {2, PB_BYTES, offsetof(struct spec, charsmap)},
          {3, PB_VARINT, offsetof(struct spec, add_dummy_prefix)},
          {4, PB_VARINT, offsetof(struct spec, remove_extra_spaces)},
          {5, PB_VARINT, offsetof(struct spec, escapes_spaces)},
},
  denormalizer_fields[] = {
      {2, PB_BYTES, offsetof(struct spec, denormalizer)},
};

static rn_status read_spec_field(struct model_reader *r, const struct pb_field *f, const struct spec_field *field) {
    const rn_status st = pb_must_be(f, field->wire, r->err);
    if (st != RN_OK) return st;
    char *const to = (char *)&r->spec + field->at;
    if (field->wire == PB_VARINT)
        memcpy(to, &f->value, sizeof f->value);
    else
        memcpy(to, &(struct vocab_str){(const char *)f->bytes, (uint32_t)f->n}, sizeof(struct vocab_str));
    return RN_OK;
}

static rn_status read_spec(struct model_reader *r, const struct pb_field *message, const struct spec_field *fields,
                           size_t n_fields) {
    cursor c = {.data = message->bytes, .size = message->n};
    struct pb_field f;
    for (bool more = true; more;) {
        rn_status st = pb_next(&c, &f, &more, r->err);
        for (size_t i = 0; st == RN_OK && more && i < n_fields; i++)
            if (fields[i].number == f.number) st = read_spec_field(r, &f, &fields[i]);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

static rn_status read_message(struct model_reader *r, const struct pb_field *f) {
    static const struct {
        uint32_t number;
        const char *name;
        const struct spec_field *fields;
        size_t n_fields;
    } specs[] = {
#define SPEC(number, name, fields) {number, name, fields, sizeof fields / sizeof *fields}
        SPEC(2, "trainer_spec", trainer_fields),
        SPEC(3, "normalizer_spec", normalizer_fields),
        SPEC(5, "denormalizer_spec", denormalizer_fields),
#undef SPEC
    };
    if (f->number == 1) return add_piece(r, f);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (specs[i].number != f->number) continue;
        rn_status st = pb_must_be(f, PB_BYTES, r->err);
        if (st == RN_OK) st = read_spec(r, f, specs[i].fields, specs[i].n_fields);
        return st == RN_OK ? RN_OK : fail_in(r->err, st, "%s", specs[i].name);
    }
    return RN_OK; // trainer's self tests and extensions are ignored
}

// ---- the file -----------------------------------------------------------------------------------

static rn_status count_pieces(const uint8_t *data, size_t n, size_t *n_pieces, rn_error *err) {
    cursor c = {.data = data, .size = n};
    struct pb_field f;
    *n_pieces = 0;
    for (bool more = true; more;) {
        rn_status st = pb_next(&c, &f, &more, err);
        if (st == RN_OK && more && f.number == 1) {
            st = pb_must_be(&f, PB_BYTES, err);
            ++*n_pieces; // no overflow: each piece has at least two bytes
        }
        if (st != RN_OK) return fail_in(err, st, "not a SentencePiece model");
    }
    if (*n_pieces == 0) return fail(err, RN_E_FORMAT, "not a SentencePiece model: it has no pieces");
    return RN_OK;
}

static rn_status refuse_variants(const struct spec *s, rn_error *err) {
    if (s->model_type != MODEL_UNIGRAM && s->model_type != MODEL_BPE)
        return fail(err, RN_E_UNSUPPORTED,
                    "trainer_spec: model type %" PRIu64 " is not supported; 1 (unigram) and 2 (BPE) are",
                    s->model_type);
    if (s->space_is_suffix)
        return fail(err, RN_E_UNSUPPORTED, "trainer_spec: treat_whitespace_as_suffix is not supported");
    if (!s->escapes_spaces)
        return fail(err, RN_E_UNSUPPORTED, "normalizer_spec: escape_whitespaces false is not supported");
    if (s->denormalizer.n > 0) return fail(err, RN_E_UNSUPPORTED, "denormalizer_spec: is not supported");
    return RN_OK;
}

// A file may name ids without a token, because the trainer writes its defaults; they are ignored.
static int32_t control_id(const struct vocab *v, uint64_t id) {
    return id < (uint64_t)v->n_tokens && v->tokens[id].kind == TOKEN_CONTROL ? (int32_t)id : -1;
}

#define BLOCK {"\xe2\x96\x81", 3}

static bool is_user_space(const struct vocab_token *t) {
    static const struct vocab_str block = BLOCK;
    const bool begins_so = t->text.n >= block.n && memcmp(t->text.s, block.s, block.n) == 0;
    return t->kind == TOKEN_USER_DEFINED && begins_so;
}

// BPE with no normalization but a space before the text is VOCAB_SPM itself. A user-defined token
// that may begin with that space needs the general form, which looks for such tokens in the
// normalized text.
static bool is_plain(const struct model_reader *r) {
    const struct spec *const s = &r->spec;
    bool plain = r->v->model == VOCAB_SPM && s->charsmap.n == 0 && !s->remove_extra_spaces;
    for (int32_t i = 0; i < r->v->n_tokens && s->add_dummy_prefix; i++) plain &= !is_user_space(&r->tokens[i]);
    return plain;
}

// SentencePiece's normalization steps, in its order. User-defined tokens are looked for in the
// normalized text.
static rn_status keep_norms(struct model_reader *r) {
    const struct spec *const s = &r->spec;
    struct norm_step *const norms = arena_alloc(r->mem, 5 * sizeof *norms);
    if (!norms) return fail(r->err, RN_E_NOMEM, "out of memory");
    int32_t n = 0;
    if (s->charsmap.n > 0) {
        const char *const map = arena_strndup(r->mem, s->charsmap.s, s->charsmap.n);
        if (!map) return fail(r->err, RN_E_NOMEM, "out of memory");
        norms[n++] = (struct norm_step){.kind = NORM_CHARSMAP, .pattern = {map, s->charsmap.n}};
    }
    if (s->remove_extra_spaces) {
        norms[n++] =
            (struct norm_step){.kind = NORM_REPLACE, .is_regex = true, .pattern = {" {2,}", 5}, .content = {" ", 1}};
        norms[n++] = (struct norm_step){.kind = NORM_STRIP, .left = true, .right = true, .only_ends = true};
    }
    if (s->add_dummy_prefix)
        norms[n++] = (struct norm_step){.kind = NORM_PREPEND, .when = NORM_AT_START, .content = {" ", 1}};
    norms[n++] = (struct norm_step){.kind = NORM_REPLACE, .pattern = {" ", 1}, .content = BLOCK};
    r->v->n_norms = r->v->n_norms_before = n;
    r->v->norms = norms;
    for (int32_t i = 0; i < r->v->n_tokens && r->v->model == VOCAB_SPM; i++)
        if (r->tokens[i].kind == TOKEN_USER_DEFINED) r->tokens[i].flags = TOKEN_IN_NORMALIZED;
    return RN_OK;
}

static rn_status finish(struct model_reader *r) {
    static const struct vocab_replace to_space = {BLOCK, {" ", 1}};
    const struct spec *const s = &r->spec;
    struct vocab *const v = r->v;
    const bool is_unigram = s->model_type == MODEL_UNIGRAM;
    const rn_status st = refuse_variants(s, r->err);
    if (st != RN_OK) return st;
    if (v->unk < 0) return fail(r->err, RN_E_FORMAT, "the unknown token is missing");
    v->model = is_unigram ? VOCAB_UNIGRAM : VOCAB_SPM;
    v->model_name = is_unigram ? (struct vocab_str){"unigram", 7} : (struct vocab_str){"llama", 5};
    v->bos = control_id(v, s->bos_id);
    v->eos = control_id(v, s->eos_id);
    v->pad = control_id(v, s->pad_id);
    v->add_bos = !is_unigram && v->bos >= 0;
    v->has_byte_tokens = s->byte_fallback != 0;
    v->fuse_unk = v->as_sentencepiece = true;
    v->add_space_prefix = !is_unigram && s->add_dummy_prefix;
    v->drops_space_at_start = s->add_dummy_prefix != 0;
    v->n_replaces = is_unigram;
    v->replaces = &to_space;
    return is_plain(r) ? RN_OK : keep_norms(r);
}

static rn_status read_all(struct model_reader *r, const uint8_t *data, size_t n) {
    size_t n_pieces = 0;
    rn_status st = n <= FOLDER_MAX_TOKENIZER_BYTES
                       ? count_pieces(data, n, &n_pieces, r->err)
                       : fail(r->err, RN_E_LIMIT, "%zu bytes, limit %d", n, FOLDER_MAX_TOKENIZER_BYTES);
    if (st != RN_OK) return st;
    r->tokens = arena_alloc(r->mem, n_pieces * sizeof *r->tokens);
    if (!r->tokens) return fail(r->err, RN_E_NOMEM, "out of memory for %zu pieces", n_pieces);
    r->v->tokens = r->tokens;
    cursor c = {.data = data, .size = n};
    struct pb_field f;
    for (bool more = true; more;) {
        st = pb_next(&c, &f, &more, r->err);
        if (st == RN_OK && more) st = read_message(r, &f);
        if (st != RN_OK) return st;
    }
    return finish(r);
}

rn_status tokenizer_model_load(const char *name, const uint8_t *data, size_t n, struct arena *mem, struct vocab *out,
                               rn_error *err) {
    static const struct vocab none = {.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .pad = -1};
    struct model_reader r = {.mem = mem, .v = out, .err = err};
    r.spec = (struct spec){.model_type = MODEL_UNIGRAM,
                           .bos_id = 1,
                           .eos_id = 2,
                           .pad_id = UINT64_MAX,
                           .add_dummy_prefix = 1,
                           .remove_extra_spaces = 1,
                           .escapes_spaces = 1};
    *out = none;
    const rn_status st = read_all(&r, data, n);
    if (st == RN_OK) return RN_OK;
    *out = none;
    return fail_in(err, st, "%s", name);
}
