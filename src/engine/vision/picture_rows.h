// engine/vision/picture_rows.h - which rows of the text model a picture's views become: how many, in what order, and the texts between them.
//
// The orders are those of transformers' models and processors. Threads: any; nothing is kept.
#ifndef RN_ENGINE_VISION_PICTURE_ROWS_H
#define RN_ENGINE_VISION_PICTURE_ROWS_H

#include "formats/vision/vision_files.h"
#include "tokenizer/id_list.h"
#include "tokenizer/tokenizer.h"

// p: what the pipeline made; its numbers are not read. g: the grid of each view.
size_t picture_n_rows(const struct vision_info *v, const struct pixels *p, struct vision_grid g);
// views: [n_views][vision_n_out()][width], of the projector. newline: its vector, where v->has_newline. out: [picture_n_rows()][width].
void picture_put_rows(const struct vision_info *v, const struct pixels *p, struct vision_grid g, const float *views,
                      const float *newline, size_t width, float *out);

enum { PICTURE_MARK_BYTES = 128 };
struct picture_piece {
    char text[PICTURE_MARK_BYTES]; // before the rows
    int32_t n_rows;
    int32_t token; // of the rows; -1: the token for pictures
};
// The i-th piece of a picture in a prompt: all rows, in order, with the family's marks between them. false: there are no more.
bool picture_piece_at(const struct vision_info *v, const struct pixels *p, struct vision_grid g, size_t i,
                      struct picture_piece *out);
// The text before a picture, where v->marks->before.
const char *picture_before(const struct vision_info *v, const struct pixels *p);
// Adds the ids of a piece: its text's, in which special tokens are understood, and so many times the token for rows. tok: not read where there is no text.
// RN_E_NOMEM, and those of tokenizer_encode_more().
rn_status picture_piece_add(const struct picture_piece *piece, const tokenizer *tok, int32_t token,
                            struct id_list *to, rn_error *err);

#endif
