// formats/ngram_file.c - see ngram_file.h.
#include "formats/ngram_file.h"
#include "formats/limits.h"
#include <string.h>

enum { PAIR_BYTES = 8 };

rn_status ngram_reader_begin(struct ngram_reader *r, const char *name, const uint8_t *data, size_t n, int32_t n_vocab,
                             rn_error *err) {
    if (n > NGRAM_FILE_MAX_BYTES)
        return fail(err, RN_E_LIMIT, "%s: %zu bytes, an n-gram cache has at most %d", name, n, NGRAM_FILE_MAX_BYTES);
    *r = (struct ngram_reader){name, {.data = data, .size = n}, n_vocab};
    return RN_OK;
}

static int32_t number_at(const uint8_t *p) {
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

void ngram_record_pair(const struct ngram_record *r, size_t i, int32_t *token, int32_t *count) {
    *token = number_at(r->pairs + i * PAIR_BYTES);
    *count = number_at(r->pairs + i * PAIR_BYTES + 4);
}

static rn_status no_token(const struct ngram_reader *r, size_t at, int32_t token, rn_error *err) {
    return fail(err, RN_E_FORMAT,
                "%s: offset %zu: token %d is outside 0..%d: it is the cache of another model, or none", r->name, at,
                token, r->n_vocab - 1);
}

// Tokens, then -1 to the end.
static rn_status check_string(const struct ngram_reader *r, struct ngram_record *out, rn_error *err) {
    for (int32_t i = 0; i < NGRAM_FILE_ORDER; i++) {
        const size_t at = out->at + 4 * (size_t)i;
        const int32_t token = out->string[i];
        const bool is_padding = token == -1 && i > 0;
        if (!is_padding && (token < 0 || token >= r->n_vocab)) return no_token(r, at, token, err);
        if (!is_padding && out->n < i)
            return fail(err, RN_E_FORMAT, "%s: offset %zu: token %d behind the string's end", r->name, at, token);
        if (!is_padding) out->n++;
    }
    return RN_OK;
}

static rn_status check_pairs(const struct ngram_reader *r, struct ngram_record *out, rn_error *err) {
    const size_t first = (size_t)(out->pairs - r->c.data);
    for (size_t i = 0; i < out->n_pairs; i++) {
        int32_t token, count;
        ngram_record_pair(out, i, &token, &count);
        if (token < 0 || token >= r->n_vocab) return no_token(r, first + i * PAIR_BYTES, token, err);
        if (count <= 0)
            return fail(err, RN_E_FORMAT, "%s: offset %zu: count %d, at least 1", r->name, first + i * PAIR_BYTES + 4,
                        count);
        out->sum += count;
    }
    return RN_OK;
}

rn_status ngram_reader_next(struct ngram_reader *r, struct ngram_record *out, rn_error *err) {
    uint32_t number = 0;
    *out = (struct ngram_record){.at = r->c.pos};
    if (cursor_left(&r->c) == 0) return RN_OK;
    for (int32_t i = 0; i < NGRAM_FILE_ORDER; i++)
        if (cursor_u32(&r->c, &number)) out->string[i] = (int32_t)number;
    if (!cursor_u32(&r->c, &number))
        return fail(err, RN_E_FORMAT, "%s: offset %zu: the file ends inside a record", r->name, out->at);
    const rn_status st = check_string(r, out, err);
    if (st != RN_OK) return st;
    if ((int32_t)number < 1)
        return fail(err, RN_E_FORMAT, "%s: offset %zu: %d tokens follow the string, at least 1", r->name,
                    out->at + 4 * NGRAM_FILE_ORDER, (int32_t)number);
    out->n_pairs = number;
    if (!cursor_bytes(&r->c, (uint64_t)number * PAIR_BYTES, &out->pairs))
        return fail(err, RN_E_FORMAT, "%s: offset %zu: the file ends inside a record of %d tokens", r->name, out->at,
                    (int32_t)number);
    return check_pairs(r, out, err);
}
