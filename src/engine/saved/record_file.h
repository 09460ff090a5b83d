// engine/saved/record_file.h - files of sections, each with records of one size. Every part has its own checksum. Written and read
// sequentially, in memory for one record. docs/sessions.md shows the layout.
//
// A checksum detects damage, not malice: an attacker can compute it. So readers check every length against the file's size.
// Ownership: record_out_begin() .. record_out_commit() or record_out_abandon(). A reader borrows its file_in. Threads: one at a time.
#ifndef RN_ENGINE_SAVED_RECORD_FILE_H
#define RN_ENGINE_SAVED_RECORD_FILE_H

#include "base/file_in.h"
#include "base/file_map.h"

#define RECORD_FILE_BEGINNING 32 // bytes before the first section
#define RECORD_SECTION_HEAD   32
#define RECORD_CHECKSUM       8 // bytes after each record

struct record_section {
    uint32_t kind, index; // index: among sections of one kind
    uint64_t n_records, record_bytes;
};
// Bytes of a section with head and checksums. Returns false if they are too many for a file.
bool record_section_bytes(const struct record_section *s, uint64_t *n);

struct record_out {
    file_out *file;
    uint64_t pos, size; // bytes written; bytes in all
    struct record_section section;
    uint64_t n_left; // its records still to come
};
// size: of the whole file, RECORD_FILE_BEGINNING and record_section_bytes() of all sections. Errors as file_out's.
rn_status record_out_begin(struct record_out *o, const char *path, uint64_t size, rn_error *err);
rn_status record_out_section(struct record_out *o, const struct record_section *s, rn_error *err);
rn_status record_out_put(struct record_out *o, const void *record, rn_error *err); // record_bytes of the section's
rn_status record_out_commit(struct record_out *o, rn_error *err);
void record_out_abandon(struct record_out *o); // after a failure, or instead of committing

struct record_in {
    file_in *file;
    struct record_section section;
    uint64_t n_left;
};
// RN_E_FORMAT: not such a file, a wrong length or checksum. RN_E_UNSUPPORTED: another version.
rn_status record_in_begin(struct record_in *in, file_in *file, rn_error *err);
// Reads the head of the next section, which must have this kind and index; the previous one must be read to its end.
rn_status record_in_section(struct record_in *in, uint32_t kind, uint32_t index, rn_error *err);
// Reads the section's next record; there must be one.
rn_status record_in_get(struct record_in *in, void *record, rn_error *err);
rn_status record_in_end(const struct record_in *in, rn_error *err); // fails if bytes follow the last section

#endif
