// cli/hole.h - the text with a hole of `infill`: two files, or one with a mark or a place; and other files.
//
// Ownership: `struct hole` is the caller's, {0} to begin with; hole_free().
// Threads:   one at a time.
#ifndef RN_CLI_HOLE_H
#define RN_CLI_HOLE_H

#include "app/bytes.h"
#include "app/options.h"
#include <runnel/runnel.h>

enum { HOLE_FILES = 64 };

typedef struct hole {
    const char *prefix_file, *suffix_file, *marker, *place, *middle, *repo_name, *file_name;
    int32_t order; // of rn_infill_order
    const char *other_names[HOLE_FILES];
    size_t n_others;
    bytes others[HOLE_FILES]; // their texts
    rn_infill_file files[HOLE_FILES];
    bytes first, second;         // of --prefix and --suffix; else the one file's text
    const char *prefix, *suffix; // what was read
    size_t n_prefix, n_suffix;
} hole;

enum { HOLE_ROWS = 9 };
extern const option hole_rows[HOLE_ROWS];
#define HOLE_GROUP(h) {"Text with a hole", hole_rows, HOLE_ROWS, (h)}

// Reads the files. Returns an exit code; errors have been printed.
int hole_read(hole *h, const options *parsed);
// What was read, as the library takes it.
void hole_apply(hole *h, rn_infill *in);
void hole_free(hole *h);

#endif
