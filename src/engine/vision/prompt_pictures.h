// engine/vision/prompt_pictures.h - the pictures of a prompt: which of its positions they take, and the vectors of these.
//
// Ownership: the caller's struct, all zero at first; prompt_pictures_free(). Threads: one at a time; once encoded, any may read.
#ifndef RN_ENGINE_VISION_PROMPT_PICTURES_H
#define RN_ENGINE_VISION_PROMPT_PICTURES_H

#include "engine/vision/vision.h"
#include "lm/lm.h"

enum { PROMPT_MAX_PICTURES = 16 };

struct prompt_picture {
    int32_t first, n;                     // positions
    int32_t n_rows, n_cols;               // of their grid
    struct pixels pixels;                 // until it is encoded
    const struct vision_vectors *vectors; // NULL: not encoded
};
struct prompt_pictures {
    struct vision *vision;     // lent
    struct prompt_picture *at; // [n], room for PROMPT_MAX_PICTURES; NULL: there are none
    size_t n;
};

// Adds a picture at the position, as pixels: what is wrong with it is known now, and how many rows it takes (vision_n_out()). The picture is only read. RN_E_LIMIT: too
// many; RN_E_NOMEM; and those of pipeline_run().
rn_status prompt_pictures_add(struct prompt_pictures *p, struct vision *v, const struct picture *picture,
                              int32_t first, rn_error *err);
void prompt_pictures_drop(
    struct prompt_pictures *p); // those without a position (first below 0), which are not encoded
void prompt_pictures_move(struct prompt_pictures *p, int32_t by); // all of them, by so many positions
// Makes their vectors, which takes as long as the tower does for those that are not kept. Errors: vision_get().
rn_status prompt_pictures_encode(struct prompt_pictures *p, rn_error *err);
// The same pictures for another prompt, which has none. All are encoded. RN_E_NOMEM.
rn_status prompt_pictures_share(const struct prompt_pictures *from, struct prompt_pictures *to, rn_error *err);
void prompt_pictures_free(struct prompt_pictures *p);
int32_t prompt_pictures_n_rows(const struct prompt_pictures *p);
int32_t prompt_pictures_end(const struct prompt_pictures *p); // the position behind the last one; 0: there are none
// The input of a row at a position of this prompt, or behind it; false: it has none but its token. Where the model has coordinates of
// pictures (struct vision_info.has_coords), rows behind the first picture have their own, too.
bool prompt_pictures_input(const struct prompt_pictures *p, int32_t position, struct lm_input *out);

#endif
