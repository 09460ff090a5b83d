// engine/vision/prompt_pictures.h - the pictures of a prompt: which of its positions they take, and the vectors of these.
//
// Ownership: the caller's struct, all zero at first; prompt_pictures_free(). Threads: one at a time; once encoded, any may read.
#ifndef RN_ENGINE_VISION_PROMPT_PICTURES_H
#define RN_ENGINE_VISION_PROMPT_PICTURES_H

#include "engine/vision/picture_rows.h"
#include "engine/vision/vision.h"
#include "lm/lm.h"

enum { PROMPT_MAX_PICTURES = 16 };

struct prompt_picture {
    int32_t n_rows, n_cols;  // of its grid, in rows of the text model; a video has as many grids as views
    float time_step;         // of coordinates, from one view of a video to the next
    struct pixels pixels;    // until it is encoded
    struct vision_grid grid; // of each view
    const struct vision_vectors *vectors; // NULL: not encoded
};
// Positions [first, first + n), which have the vectors [row, row + n) of a picture. The family's marks may stand between two of them.
struct picture_span {
    int32_t first, n, row;
    int32_t picture;
};
struct prompt_pictures {
    struct vision *vision;     // lent
    struct prompt_picture *at; // [n], room for PROMPT_MAX_PICTURES; NULL: there are none
    size_t n;
    struct picture_span *spans; // [n_spans], in order
    uint32_t n_spans, max_spans;
};

// Adds a picture, as pixels: what is wrong with it is known now, and what it takes (prompt_pictures_piece()). It is only read. is_alone: the prompt has no other.
// RN_E_LIMIT: too many; RN_E_NOMEM; and those of pipeline_run().
rn_status prompt_pictures_add(struct prompt_pictures *p, struct vision *v, const struct picture *picture,
                              bool is_alone, rn_error *err);
size_t prompt_pictures_n_of(const struct prompt_pictures *p, size_t picture); // rows of one
// The i-th piece of one (picture_piece_at()).
bool prompt_pictures_piece(const struct prompt_pictures *p, size_t picture, size_t i, struct picture_piece *out);
// Its next n rows stand at the positions from `first`, behind all that have one. RN_E_NOMEM.
rn_status prompt_pictures_place(struct prompt_pictures *p, size_t picture, int32_t first, int32_t n, rn_error *err);
void prompt_pictures_take_out(struct prompt_pictures *p);         // none has a position
void prompt_pictures_drop(struct prompt_pictures *p);             // frees those without a position; none is encoded
void prompt_pictures_move(struct prompt_pictures *p, int32_t by); // all of them, by so many positions
// Makes their vectors, which takes as long as the tower does for those that are not kept. Errors: vision_get().
rn_status prompt_pictures_encode(struct prompt_pictures *p, rn_error *err);
// The same pictures for another prompt, which has none. All are encoded. RN_E_NOMEM.
rn_status prompt_pictures_share(const struct prompt_pictures *from, struct prompt_pictures *to, rn_error *err);
void prompt_pictures_free(struct prompt_pictures *p);
int32_t prompt_pictures_n_rows(const struct prompt_pictures *p); // of all spans
int32_t prompt_pictures_end(const struct prompt_pictures *p); // the position behind the last span; 0: there are none
// The input of a row at a position of this prompt, or behind it; false: it has none but its token. Where the model has coordinates of
// pictures (struct vision_info.has_coords), rows behind the first picture have their own, too.
bool prompt_pictures_input(const struct prompt_pictures *p, int32_t position, struct lm_input *out);
// Would a step that ends before a position cut rows that see each other? *first, *end: of these.
bool prompt_pictures_cuts(const struct prompt_pictures *p, int32_t position, int32_t *first, int32_t *end);

#endif
