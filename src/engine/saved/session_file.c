// engine/saved/session_file.c - writes and reads the sections of a saved session.
#include "engine/saved/session_file.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "base/one_line.h"
#include "engine/saved/record_layout.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SECTION_HEAD = 1, SECTION_NOTE, SECTION_TOKENS, SECTION_PART, SECTION_ADAPTERS };
enum { TOKEN_BYTES = 4, FLAG_FAR = 1, FLAG_ADAPTERS = 2, TEXTS_AT = 24 };

// The texts of the head, one after the other from TEXTS_AT on, padded with zeros.
static const struct head_text {
    const char *name;
    size_t at, size;
} head_texts[] = {
#define TEXT(field) {#field, offsetof(struct session_head, field), sizeof((struct session_head *)0)->field}
    TEXT(model), TEXT(architecture), TEXT(arithmetic), TEXT(kv_type)
#undef TEXT
};
enum { N_TEXTS = sizeof head_texts / sizeof *head_texts };

static struct record_section one_record(uint32_t kind, uint64_t n_bytes) {
    return (struct record_section){.kind = kind, .n_records = 1, .record_bytes = n_bytes};
}

static struct record_section adapters_section(int32_t n) {
    return (struct record_section){SECTION_ADAPTERS, 0, (uint64_t)n, SESSION_ADAPTER_BYTES};
}

static struct record_section part_section(int32_t part, const struct lm_part *p) {
    return (struct record_section){SECTION_PART, (uint32_t)part, (uint64_t)p->n, p->record_bytes};
}

// Writing.

static void encode_head(const struct session_head *h, uint8_t out[SESSION_HEAD_BYTES]) {
    put_le(out, h->fingerprint, 8);
    put_le(out + 8, (uint64_t)h->n_tokens, 4);
    put_le(out + 12, (uint64_t)h->n_positions, 4);
    put_le(out + 16, (uint64_t)h->page, 4);
    put_le(out + 20, (h->is_far ? FLAG_FAR : 0u) | (h->n_adapters ? FLAG_ADAPTERS : 0u), 4);
    uint8_t *at = out + TEXTS_AT;
    for (int i = 0; i < N_TEXTS; at += head_texts[i++].size) {
        memset(at, 0, head_texts[i].size);
        memcpy(at, (const char *)h + head_texts[i].at, strlen((const char *)h + head_texts[i].at));
    }
}

static rn_status put_one(struct record_out *o, uint32_t kind, const void *data, uint64_t n, rn_error *err) {
    const struct record_section s = one_record(kind, n);
    const rn_status st = record_out_section(o, &s, err);
    return st == RN_OK ? record_out_put(o, data, err) : st;
}

static rn_status put_tokens(struct record_out *o, const int32_t *tokens, int32_t n, rn_error *err) {
    const size_t n_bytes = (size_t)n * TOKEN_BYTES;
    uint8_t *bytes = mem_alloc(n_bytes);
    if (!bytes) return fail(err, RN_E_NOMEM, "session: out of memory for %" PRId32 " tokens", n);
    for (int32_t i = 0; i < n; i++) put_le(bytes + (size_t)i * TOKEN_BYTES, (uint64_t)tokens[i], TOKEN_BYTES);
    const rn_status st = put_one(o, SECTION_TOKENS, bytes, n_bytes, err);
    mem_free(bytes);
    return st;
}

static rn_status put_adapters(struct record_out *o, const struct session_head *h, rn_error *err) {
    const struct record_section s = adapters_section(h->n_adapters);
    rn_status st = h->n_adapters ? record_out_section(o, &s, err) : RN_OK;
    for (int32_t i = 0; st == RN_OK && i < h->n_adapters; i++) {
        uint8_t bytes[SESSION_ADAPTER_BYTES] = {0};
        uint32_t scale;
        memcpy(&scale, &h->adapters[i].scale, sizeof scale);
        put_le(bytes, h->adapters[i].fingerprint, 8);
        put_le(bytes + 8, scale, 4);
        memcpy(bytes + 12, h->adapters[i].name, strlen(h->adapters[i].name));
        st = record_out_put(o, bytes, err);
    }
    return st;
}

static rn_status file_size(const struct session_head *h, size_t n_note, const struct lm_part *parts, int32_t n_parts,
                           uint64_t *size, rn_error *err) {
    const struct record_section texts[] = {
        one_record(SECTION_HEAD, SESSION_HEAD_BYTES), one_record(SECTION_NOTE, n_note),
        one_record(SECTION_TOKENS, (uint64_t)h->n_tokens * TOKEN_BYTES), adapters_section(h->n_adapters)};
    const int32_t n_texts = h->n_adapters ? 4 : 3;
    *size = RECORD_FILE_BEGINNING;
    for (int32_t i = 0; i < n_texts + n_parts; i++) {
        const struct record_section s = i < n_texts ? texts[i] : part_section(i - n_texts, &parts[i - n_texts]);
        uint64_t n = 0;
        if (!record_section_bytes(&s, &n) || __builtin_add_overflow(*size, n, size))
            return fail(err, RN_E_LIMIT, "session: %" PRId32 " positions are too many for a file", h->n_positions);
    }
    return RN_OK;
}

rn_status session_file_begin(struct record_out *o, const char *path, const struct session_head *h, const void *note,
                             size_t n_note, const int32_t *tokens, const struct lm_part *parts, int32_t n_parts,
                             rn_error *err) {
    uint8_t head[SESSION_HEAD_BYTES];
    uint64_t size;
    *o = (struct record_out){0};
    encode_head(h, head);
    rn_status st = file_size(h, n_note, parts, n_parts, &size, err);
    if (st == RN_OK) st = record_out_begin(o, path, size, err);
    if (st == RN_OK) st = put_one(o, SECTION_HEAD, head, sizeof head, err);
    if (st == RN_OK) st = put_one(o, SECTION_NOTE, note, n_note, err);
    if (st == RN_OK) st = put_adapters(o, h, err);
    return st == RN_OK ? put_tokens(o, tokens, h->n_tokens, err) : st;
}

rn_status session_file_write_part(struct record_out *o, int32_t part, const struct lm_part *p, rn_error *err) {
    const struct record_section s = part_section(part, p);
    return record_out_section(o, &s, err);
}

// Reading.

static rn_status next_section(struct record_in *in, const char *what, const struct record_section *want,
                              rn_error *err) {
    const rn_status st = record_in_section(in, want->kind, want->index, err);
    const struct record_section *got = &in->section;
    if (st != RN_OK) return st;
    if (got->n_records == want->n_records && got->record_bytes == want->record_bytes) return RN_OK;
    in->n_left = 0;
    return fail(err, RN_E_FORMAT,
                "%s: %s %" PRIu32 ": %" PRIu64 " records of %" PRIu64 " bytes where %" PRIu64 " of %" PRIu64
                " is expected",
                file_in_name(in->file), what, want->index, got->n_records, got->record_bytes, want->n_records,
                want->record_bytes);
}

static rn_status decode_texts(const struct record_in *in, cursor *c, struct session_head *h, rn_error *err) {
    for (int i = 0; i < N_TEXTS; i++) {
        const struct head_text *t = &head_texts[i];
        const uint8_t *bytes = NULL;
        cursor_bytes(c, t->size, &bytes);
        if (!bytes || !memchr(bytes, 0, t->size))
            return fail(err, RN_E_FORMAT, "%s: the name of its %s is not terminated", file_in_name(in->file),
                        t->name);
        memcpy((char *)h + t->at, bytes, t->size);
        one_line((char *)h + t->at, false);
    }
    return RN_OK;
}

static rn_status decode_head(const struct record_in *in, const uint8_t *bytes, struct session_head *h,
                             rn_error *err) {
    cursor c = {.data = bytes, .size = SESSION_HEAD_BYTES};
    uint32_t n_tokens = 0, n_positions = 0, page = 0, flags = 0;
    const char *const name = file_in_name(in->file);
    cursor_u64(&c, &h->fingerprint);
    cursor_u32(&c, &n_tokens);
    cursor_u32(&c, &n_positions);
    cursor_u32(&c, &page);
    cursor_u32(&c, &flags);
    if (n_tokens > SESSION_MAX_TOKENS)
        return fail(err, RN_E_LIMIT, "%s: %" PRIu32 " tokens, limit %d", name, n_tokens, SESSION_MAX_TOKENS);
    if (n_positions > n_tokens)
        return fail(err, RN_E_FORMAT, "%s: %" PRIu32 " positions of %" PRIu32 " tokens", name, n_positions, n_tokens);
    if (page == 0 || page > INT32_MAX || flags & ~(uint32_t)(FLAG_FAR | FLAG_ADAPTERS))
        return fail(err, RN_E_FORMAT, "%s: pages of %" PRIu32 " positions, flags 0x%" PRIx32, name, page, flags);
    h->n_tokens = (int32_t)n_tokens;
    h->n_positions = (int32_t)n_positions;
    h->page = (int32_t)page;
    h->is_far = flags & FLAG_FAR;
    h->n_adapters = flags & FLAG_ADAPTERS ? 1 : 0; // read_adapters() counts them
    return decode_texts(in, &c, h, err);
}

static rn_status read_note(struct record_in *in, char **note, size_t *n_note, rn_error *err) {
    rn_status st = record_in_section(in, SECTION_NOTE, 0, err);
    const uint64_t n = in->section.record_bytes;
    if (st != RN_OK) return st;
    if (in->section.n_records != 1)
        st = fail(err, RN_E_FORMAT, "%s: %" PRIu64 " notes where one is expected", file_in_name(in->file),
                  in->section.n_records);
    else if (n > RN_SAVED_MAX_NOTE)
        st = fail(err, RN_E_LIMIT, "%s: a note of %" PRIu64 " bytes, limit %u", file_in_name(in->file), n,
                  RN_SAVED_MAX_NOTE);
    else if (!(*note = mem_alloc((size_t)n + 1)))
        st = fail(err, RN_E_NOMEM, "%s: out of memory for a note of %" PRIu64 " bytes", file_in_name(in->file), n);
    if (st == RN_OK) st = record_in_get(in, *note, err);
    if (st == RN_OK) {
        (*note)[n] = 0;
        *n_note = (size_t)n;
        return RN_OK;
    }
    mem_free(*note);
    *note = NULL;
    return st;
}

static rn_status read_adapters(struct record_in *in, struct session_head *h, rn_error *err) {
    const char *const name = file_in_name(in->file);
    if (h->n_adapters == 0) return RN_OK;
    rn_status st = record_in_section(in, SECTION_ADAPTERS, 0, err);
    const struct record_section *s = &in->section;
    if (st != RN_OK) return st;
    if (s->n_records < 1 || s->n_records > LM_MAX_ADAPTERS || s->record_bytes != SESSION_ADAPTER_BYTES) {
        in->n_left = 0;
        return fail(err, RN_E_FORMAT, "%s: %" PRIu64 " adapters of %" PRIu64 " bytes, expected 1..%d of %d", name,
                    s->n_records, s->record_bytes, LM_MAX_ADAPTERS, SESSION_ADAPTER_BYTES);
    }
    h->n_adapters = (int32_t)s->n_records;
    for (int32_t i = 0; st == RN_OK && i < h->n_adapters; i++) {
        struct session_adapter *a = &h->adapters[i];
        uint8_t bytes[SESSION_ADAPTER_BYTES];
        uint32_t scale = 0;
        if ((st = record_in_get(in, bytes, err)) != RN_OK) return st;
        cursor c = {.data = bytes, .size = sizeof bytes};
        cursor_u64(&c, &a->fingerprint);
        cursor_u32(&c, &scale);
        memcpy(&a->scale, &scale, sizeof scale);
        if (!isfinite(a->scale) || a->scale == 0 || bytes[SESSION_ADAPTER_BYTES - 1] != 0)
            return fail(err, RN_E_FORMAT, "%s: adapter %" PRId32 ": scale %g, or a name that is not terminated", name,
                        i, (double)a->scale);
        memcpy(a->name, bytes + 12, sizeof a->name);
        one_line(a->name, false);
    }
    return st;
}

rn_status session_file_open(struct record_in *in, file_in *file, struct session_head *h, char **note, size_t *n_note,
                            rn_error *err) {
    uint8_t head[SESSION_HEAD_BYTES];
    const struct record_section want = one_record(SECTION_HEAD, sizeof head);
    *h = (struct session_head){0};
    *note = NULL;
    *n_note = 0;
    rn_status st = record_in_begin(in, file, err);
    if (st == RN_OK) st = next_section(in, "head", &want, err);
    if (st == RN_OK) st = record_in_get(in, head, err);
    if (st == RN_OK) st = decode_head(in, head, h, err);
    if (st == RN_OK) st = read_note(in, note, n_note, err);
    if (st == RN_OK) st = read_adapters(in, h, err);
    if (st == RN_OK) return RN_OK;
    mem_free(*note);
    *note = NULL;
    return st;
}

rn_status session_file_tokens(struct record_in *in, const struct session_head *h, int32_t n_vocab, int32_t *tokens,
                              rn_error *err) {
    const struct record_section want = one_record(SECTION_TOKENS, (uint64_t)h->n_tokens * TOKEN_BYTES);
    rn_status st = next_section(in, "tokens", &want, err);
    if (st == RN_OK) st = record_in_get(in, tokens, err);
    cursor c = {.data = (const uint8_t *)tokens, .size = (size_t)want.record_bytes};
    for (int32_t i = 0; st == RN_OK && i < h->n_tokens; i++) {
        uint32_t token = 0;
        cursor_u32(&c, &token); // read in place: its bytes are overwritten next
        if (token >= (uint32_t)n_vocab)
            return fail(err, RN_E_FORMAT, "%s: token %" PRId32 ": %" PRIu32 " is outside 0..%" PRId32,
                        file_in_name(in->file), i, token, n_vocab - 1);
        tokens[i] = (int32_t)token;
    }
    return st;
}

rn_status session_file_part(struct record_in *in, int32_t part, const struct lm_part *want, rn_error *err) {
    const struct record_section s = part_section(part, want);
    return next_section(in, "part", &s, err);
}
