// app/pictures.h - the options --image and --video, and where pictures stand in a prompt: in place of each "<image>" and "<video>", else before it.
//
// Ownership: the caller's struct, all zero at first; pictures_free(). Threads: one at a time.
#ifndef RN_APP_PICTURES_H
#define RN_APP_PICTURES_H

#include "app/options.h"
#include "app/video_open.h"
#include <runnel/runnel.h>

enum { PICTURE_FILE_LIMIT = 20 << 20 }; // bytes: what the library reads (docs/limits.md)
enum { PICTURES_MOST = 16, PICTURES_MOST_PARTS = 2 * PICTURES_MOST + 1 };

typedef struct pictures {
    const char *paths[PICTURES_MOST];
    bool are_videos[PICTURES_MOST];
    rn_picture *open[PICTURES_MOST]; // in the order of the options, until pictures_in_text() or pictures_sort()
    size_t n;
    video_choice choice;
    rn_part parts[PICTURES_MOST_PARTS]; // of pictures_in_text() and pictures_in_ids()
    size_t n_parts;
} pictures;

enum { PICTURES_ROWS = 4 };
extern const option pictures_rows[PICTURES_ROWS];
#define PICTURES_GROUP(p) {NULL, pictures_rows, PICTURES_ROWS, (p)}

// Reads and decodes a file, "-" is stdin. False after saying why.
bool picture_file_open(const char *path, rn_picture **out);
// The option of which "-" is one, without its dashes; NULL: none is. Two of them are refused when the files are read.
const char *pictures_read_stdin(const pictures *p);
// Is what was given fine together? False after saying why.
bool pictures_check(const pictures *p, const options *parsed);
// Reads and decodes the files of pictures, and, once there is a model, of videos. Returns an exit code after saying why.
int pictures_open(pictures *p);
int pictures_open_videos(pictures *p, const rn_model *model);
// A place of one in a text: its mark, or nothing before the text.
typedef struct picture_place {
    size_t at, n;
    bool is_video;
} picture_place;
// Where they stand in a text, and puts them in that order. Of each kind the places are as many as there are of it, or there are none and it stands before the text. False: else;
// then *is_video and *n_marks say of which, and how many places it has.
bool pictures_find_places(pictures *p, const char *text, size_t n, picture_place *places, bool *is_video,
                          size_t *n_marks);
// Fills p->parts. text: what stands between the pictures, as one part of text; it is cut at each place. Returns an exit code after saying why: there
// are more or fewer of them than pictures.
int pictures_in_text(pictures *p, const rn_part *text);
// The same for ids, in which the model's token for pictures stands for one, or all of the picture's tokens do (rn_picture_tokens()). Not for videos.
int pictures_in_ids(pictures *p, const rn_model *model, const int32_t *ids, size_t n);
void pictures_free(pictures *p);

#endif
