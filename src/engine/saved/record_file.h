// engine/saved/record_file.h - files of sections of records of one size each, where every stretch carries its own checksum: written and read in
// one go, with no more memory than one record. docs/sessions.md shows the layout.
//
// A checksum tells damage, not malice: whoever makes a file makes its checksums fit. So readers trust nothing but lengths that were
// compared with the file's.
// Ownership: record_out_begin() .. record_out_commit() or record_out_abandon(). A reader borrows its file_in. Threads: one at a time.
#ifndef RN_ENGINE_SAVED_RECORD_FILE_H
#define RN_ENGINE_SAVED_RECORD_FILE_H

#include "base/file_in.h"
#include "base/file_map.h"

#define RECORD_FILE_BEGINNING 32 // bytes before the first section
#define RECORD_SECTION_HEAD   32
#define RECORD_CHECKSUM       8 // bytes behind each record

struct record_section {
    uint32_t kind, index; // index: of several of a kind
    uint64_t n_records, record_bytes;
};
// Of the file, heads and checksums included; false: too much to be a file.
bool record_section_bytes(const struct record_section *s, uint64_t *n);

struct record_out {
    file_out *file;
    uint64_t pos, size; // written, and to be
    struct record_section section;
    uint64_t n_left; // records of it
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
// RN_E_FORMAT: no such file, another length than it says, a checksum that differs: what and where. RN_E_UNSUPPORTED: another version.
rn_status record_in_begin(struct record_in *in, file_in *file, rn_error *err);
// The next section, which must be of this kind and index; its records lie within the file. The one before is read to its end.
rn_status record_in_section(struct record_in *in, uint32_t kind, uint32_t index, rn_error *err);
// The section's next one; there must be one.
rn_status record_in_get(struct record_in *in, void *record, rn_error *err);
rn_status record_in_end(const struct record_in *in, rn_error *err); // nothing stands behind the last section

#endif
