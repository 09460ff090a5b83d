// app/pictures.h - the option --image, and where pictures stand in a prompt: in place of each "<image>", else before it.
//
// Ownership: the caller's struct, all zero at first; pictures_free(). Threads: one at a time.
#ifndef RN_APP_PICTURES_H
#define RN_APP_PICTURES_H

#include "app/options.h"
#include <runnel/runnel.h>

enum { PICTURE_FILE_LIMIT = 20 << 20 }; // bytes: what the library reads (docs/limits.md)
enum { PICTURES_MOST = 16, PICTURES_MOST_PARTS = 2 * PICTURES_MOST + 1 };

typedef struct pictures {
    const char *paths[PICTURES_MOST];
    rn_picture *open[PICTURES_MOST];
    size_t n;
    rn_part parts[PICTURES_MOST_PARTS]; // of pictures_in_text() and pictures_in_ids()
    size_t n_parts;
} pictures;

extern const option pictures_rows[1];
#define PICTURES_GROUP(p) {NULL, pictures_rows, 1, (p)}

// Reads and decodes a file, "-" is stdin. False after saying why.
bool picture_file_open(const char *path, rn_picture **out);
bool pictures_read_stdin(const pictures *p); // is one of them "-"?
// Reads and decodes the files. Returns an exit code after saying why.
int pictures_open(pictures *p);
// Fills p->parts. text: what stands between the pictures, as one part of text; it is cut at each "<image>". Returns an exit code after saying why: there
// are more or fewer of them than pictures.
int pictures_in_text(pictures *p, const rn_part *text);
// The same for ids, in which the model's token for pictures stands for one, or all of the picture's tokens do (rn_picture_tokens()).
int pictures_in_ids(pictures *p, const rn_model *model, const int32_t *ids, size_t n);
void pictures_free(pictures *p);

#endif
