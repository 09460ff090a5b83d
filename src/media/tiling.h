// media/tiling.h - a picture as several views of one size: tiles of it, and the whole of it. As data.
//
// The definitions are those of transformers' image processors.
// Ownership: struct tiles is the caller's, freed with tiles_free(). Threads: any.
#ifndef RN_MEDIA_TILING_H
#define RN_MEDIA_TILING_H

#include "media/bitmap.h"
#include <stdbool.h>

enum tiling_kind {
    TILING_NONE,
    // SmolVLM (2504.05299), Idefics3 (2408.12637): sides grow to multiples of `side`; the whole picture comes last, alone where one tile would do.
    TILING_SPLIT,
    // LLaVA-NeXT, LLaVA-OneVision (2408.03326): the one of `sizes` that keeps most of the picture, which lies in its middle on black; the whole
    // picture comes first.
    TILING_BEST_SIZE,
    // Gemma 3's pan and scan: a long picture in parts along its longer side, each made `side` x `side`, as the whole picture is, which comes first.
    TILING_PARTS,
    // InternVL (2404.16821): as many tiles as lie closest to the picture's ratio; the whole picture comes last, and stands alone where one tile would do.
    TILING_CLOSEST,
};

enum { TILING_MAX_SIZES = 64, TILING_MAX_TILES = 64 };

struct tiling {
    enum tiling_kind kind;
    uint32_t side; // of a view
    enum resize_filter filter;
    bool only_alone; // several pictures in a prompt have no tiles: then the pipeline's steps make one view of each
    uint32_t least_part, most_parts;  // TILING_PARTS: pixels of a part's sides; how many
    double least_ratio;               // of the longer side to the other one
    uint32_t least_tiles, most_tiles; // TILING_CLOSEST
    size_t n_sizes;
    struct tiling_size {
        uint32_t height, width; // multiples of side
    } sizes[TILING_MAX_SIZES];
};

struct tiles {
    struct bitmap all;   // the tiles as one bitmap, row by row
    struct bitmap whole; // side x side
    uint32_t rows, cols; // 0: there are no tiles, and `all` is empty
    bool whole_is_last;
};

// RN_E_LIMIT: more than PICTURE_MAX_PIXELS or TILING_MAX_TILES; RN_E_NOMEM. *out is zeros then.
rn_status tiling_run(const struct tiling *t, const struct bitmap *in, struct tiles *out, rn_error *err);
void tiles_free(struct tiles *t);

#endif
