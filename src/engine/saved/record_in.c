// engine/saved/record_in.c - reads an untrusted file of records with checksums.
#include "base/cursor.h"
#include "base/hash.h"
#include "engine/saved/record_file.h"
#include "engine/saved/record_layout.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

static uint64_t left(const struct record_in *in) { return file_in_size(in->file) - file_in_pos(in->file); }

// Reads n bytes and their checksum. The caller has checked that they are in the file.
static rn_status get_checked(struct record_in *in, const char *what, void *out, size_t n, rn_error *err) {
    const uint64_t at = file_in_pos(in->file);
    uint8_t bytes[RECORD_CHECKSUM];
    uint64_t sum = 0;
    rn_status st = file_in_read(in->file, out, n, err);
    if (st == RN_OK) st = file_in_read(in->file, bytes, sizeof bytes, err);
    if (st != RN_OK) return st;
    cursor_u64(&(cursor){.data = bytes, .size = sizeof bytes}, &sum);
    if (sum == hash_bytes(out, n, at)) return RN_OK;
    return fail(err, RN_E_FORMAT, "%s: damaged: the checksum of %s at byte %" PRIu64 " differs",
                file_in_name(in->file), what, at);
}

static rn_status check_beginning(const struct record_in *in, const uint8_t *head, size_t n, rn_error *err) {
    const char *const name = file_in_name(in->file);
    cursor c = {.data = head, .size = n, .pos = 8};
    uint32_t version = 0, zero = 0;
    uint64_t size = 0;
    cursor_u32(&c, &version);
    cursor_u32(&c, &zero);
    cursor_u64(&c, &size);
    if (zero != 0) return fail(err, RN_E_FORMAT, "%s: byte 12: %" PRIu32 " where 0 is expected", name, zero);
    if (size != file_in_size(in->file))
        return fail(err, RN_E_FORMAT, "%s: is %" PRIu64 " bytes long and says it has %" PRIu64, name,
                    file_in_size(in->file), size);
    return RN_OK;
}

rn_status record_in_begin(struct record_in *in, file_in *file, rn_error *err) {
    uint8_t head[RECORD_FILE_BEGINNING - RECORD_CHECKSUM];
    uint32_t version = 0;
    *in = (struct record_in){.file = file};
    if (left(in) < RECORD_FILE_BEGINNING)
        return fail(err, RN_E_FORMAT, "%s: %" PRIu64 " bytes are too few for a saved session", file_in_name(file),
                    left(in));
    // The version is checked before the checksum, as another version may have another checksum.
    rn_status st = get_checked(in, "the beginning", head, sizeof head, err);
    if (st == RN_OK || st == RN_E_FORMAT) {
        cursor_u32(&(cursor){.data = head, .size = sizeof head, .pos = 8}, &version);
        if (memcmp(head, RECORD_FILE_MAGIC, 8) != 0)
            return fail(err, RN_E_FORMAT, "%s: is not a saved session", file_in_name(file));
        if (version != RECORD_FILE_VERSION)
            return fail(err, RN_E_UNSUPPORTED,
                        "%s: version %" PRIu32 " of the saved-session format, this library reads version %d",
                        file_in_name(file), version, RECORD_FILE_VERSION);
    }
    return st == RN_OK ? check_beginning(in, head, sizeof head, err) : st;
}

static rn_status check_section(const struct record_in *in, uint64_t at, uint32_t kind, uint32_t index,
                               rn_error *err) {
    const struct record_section *s = &in->section;
    const char *const name = file_in_name(in->file);
    if (s->kind != kind || s->index != index)
        return fail(err, RN_E_FORMAT,
                    "%s: section at byte %" PRIu64 ": kind %" PRIu32 ".%" PRIu32 " where %" PRIu32 ".%" PRIu32
                    " is expected",
                    name, at, s->kind, s->index, kind, index);
    if (s->record_bytes > left(in) || s->n_records > left(in) / (s->record_bytes + RECORD_CHECKSUM))
        return fail(err, RN_E_FORMAT,
                    "%s: section at byte %" PRIu64 ": %" PRIu64 " records of %" PRIu64
                    " bytes do not fit the %" PRIu64 " that are left",
                    name, at, s->n_records, s->record_bytes, left(in));
    return RN_OK;
}

rn_status record_in_section(struct record_in *in, uint32_t kind, uint32_t index, rn_error *err) {
    uint8_t head[RECORD_SECTION_HEAD - RECORD_CHECKSUM];
    const uint64_t at = file_in_pos(in->file);
    assert(in->n_left == 0);
    if (left(in) < RECORD_SECTION_HEAD)
        return fail(err, RN_E_FORMAT,
                    "%s: ends at byte %" PRIu64 ", where section %" PRIu32 ".%" PRIu32 " is expected",
                    file_in_name(in->file), file_in_size(in->file), kind, index);
    rn_status st = get_checked(in, "a section's head", head, sizeof head, err);
    if (st != RN_OK) return st;
    cursor c = {.data = head, .size = sizeof head};
    cursor_u32(&c, &in->section.kind);
    cursor_u32(&c, &in->section.index);
    cursor_u64(&c, &in->section.n_records);
    cursor_u64(&c, &in->section.record_bytes);
    st = check_section(in, at, kind, index, err);
    in->n_left = st == RN_OK ? in->section.n_records : 0;
    return st;
}

rn_status record_in_get(struct record_in *in, void *record, rn_error *err) {
    assert(in->n_left > 0);
    in->n_left--;
    return get_checked(in, "a record", record, (size_t)in->section.record_bytes, err);
}

rn_status record_in_end(const struct record_in *in, rn_error *err) {
    if (left(in) == 0) return RN_OK;
    return fail(err, RN_E_FORMAT, "%s: %" PRIu64 " bytes follow the last section", file_in_name(in->file), left(in));
}
