// engine/saved/record_out.c - writes a file of records with checksums.
#include "base/checked.h"
#include "base/hash.h"
#include "engine/saved/record_file.h"
#include "engine/saved/record_layout.h"
#include <assert.h>
#include <string.h>

bool record_section_bytes(const struct record_section *s, uint64_t *n) {
    size_t one, all;
    if (s->record_bytes > SIZE_MAX || s->n_records > SIZE_MAX) return false;
    if (!size_add((size_t)s->record_bytes, RECORD_CHECKSUM, &one)) return false;
    if (!size_mul(one, (size_t)s->n_records, &all) || !size_add(all, RECORD_SECTION_HEAD, &all)) return false;
    *n = all;
    return true;
}

static rn_status put(struct record_out *o, const void *data, size_t n, rn_error *err) {
    const rn_status st = file_out_write(o->file, data, n, err);
    o->pos += n;
    return st;
}

// A checksum covers the bytes and their position in the file.
static rn_status put_checked(struct record_out *o, const void *data, size_t n, rn_error *err) {
    uint8_t sum[RECORD_CHECKSUM];
    put_le(sum, hash_bytes(data, n, o->pos), sizeof sum);
    const rn_status st = put(o, data, n, err);
    return st == RN_OK ? put(o, sum, sizeof sum, err) : st;
}

rn_status record_out_begin(struct record_out *o, const char *path, uint64_t size, rn_error *err) {
    uint8_t head[RECORD_FILE_BEGINNING - RECORD_CHECKSUM];
    *o = (struct record_out){.size = size};
    memcpy(head, RECORD_FILE_MAGIC, 8);
    put_le(head + 8, RECORD_FILE_VERSION, 4);
    put_le(head + 12, 0, 4);
    put_le(head + 16, size, 8);
    const rn_status st = file_out_begin(path, FILE_PRIVATE, &o->file, err);
    return st == RN_OK ? put_checked(o, head, sizeof head, err) : st;
}

rn_status record_out_section(struct record_out *o, const struct record_section *s, rn_error *err) {
    uint8_t head[RECORD_SECTION_HEAD - RECORD_CHECKSUM];
    assert(o->n_left == 0);
    o->section = *s;
    o->n_left = s->n_records;
    put_le(head, s->kind, 4);
    put_le(head + 4, s->index, 4);
    put_le(head + 8, s->n_records, 8);
    put_le(head + 16, s->record_bytes, 8);
    return put_checked(o, head, sizeof head, err);
}

rn_status record_out_put(struct record_out *o, const void *record, rn_error *err) {
    assert(o->n_left > 0);
    o->n_left--;
    return put_checked(o, record, (size_t)o->section.record_bytes, err);
}

rn_status record_out_commit(struct record_out *o, rn_error *err) {
    assert(o->n_left == 0 && o->pos == o->size);
    file_out *const file = o->file;
    o->file = NULL;
    return file_out_commit(file, err);
}

void record_out_abandon(struct record_out *o) {
    file_out_abandon(o->file);
    o->file = NULL;
}
