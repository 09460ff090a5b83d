// formats/vision/vision_files.h - the vision part of a model: a tower, which makes features of a picture's patches, and a projector,
// which makes input vectors of the text model of them.
//
// Both are packages of their own, with tensors under llama.cpp's names (mmproj files) and hyper-parameters, so that model/ builds
// programs of them as of models. Read from Hugging Face folders (one for all, or VILA's, a folder for each part) and from mmproj files of
// llama.cpp's (mmproj.h).
// Ownership: vision_files_open() / vision_files_close(). Threads: immutable once open.
#ifndef RN_FORMATS_VISION_VISION_FILES_H
#define RN_FORMATS_VISION_VISION_FILES_H

#include "formats/limits.h"
#include "formats/package.h"
#include "media/pipeline.h"

// How vectors of several views stand in a prompt.
enum vision_order {
    VISION_IN_TURN, // view by view
    // LLaVA-NeXT: the whole picture; then the tiles as one map, line by line, without what is padding, `newline` behind each line. A whole picture alone
    // has one behind it, too.
    VISION_AS_MAP,
};

// What the family's processor writes around the vectors of views, which it has in turn, tokenized with special tokens. NULL: no such text.
struct vision_marks {
    const char *tile;                // before each tile; "%d" twice: its row and column, from 1
    const char *row_end, *tiles_end; // behind each row of tiles; then, behind the last one
    const char *whole, *end;         // before the whole picture, which is the last view; behind it
    // Gemma 3, whose whole picture is the first view. Texts before the picture, without tiles and with them, and behind it, which are tokenized with the
    // text around them as one; NULL: there are none. Then, before the first tile and before each other one.
    const char *before, *before_tiles, *after;
    const char *first_tile, *next_tile;
    const char *open, *close; // around all rows of a picture, which stand together; NULL: there are none
    const char *line_end;     // Pixtral: between lines of rows, `end` behind the last one; NULL: they are one piece
    const char *place;        // what stands for a picture in a prompt; NULL: the token for pictures
};

// How the vectors of a video's views stand in a prompt.
enum vision_video {
    VIDEO_NONE,
    VIDEO_AS_ONE,     // Qwen2-VL: one behind the other, each a step later in time
    VIDEO_BY_SECONDS, // Qwen2.5-VL: time goes by seconds
    VIDEO_WITH_TIMES, // Qwen3-VL: each as a picture of its own, behind a text that says the second
};

struct vision_info {
    const char *family; // "LLaVA-1.5"; static
    // Patches of patch_size x patch_size pixels, each n_numbers numbers, channel by channel. grid x grid of them make a picture; 0: the
    // picture says how many, at most max_patches, in blocks of n_merge x n_merge.
    int32_t patch_size, n_numbers, grid, max_patches;
    bool has_class;   // the tower has one more row before them, whose token is 1 and whose vector is zeros
    bool keeps_class; // and the projector reads it
    // n_merge x n_merge neighbours, side by side, make one row of the projector; a grid whose sides are no multiples is padded with
    // zeros below and to the right.
    int32_t n_merge;
    int32_t
        window; // blocks of a side of the windows that some of the tower's layers attend within; 0: there are none
    // Embeddings of places, n_places x n_places, which are interpolated between for a grid, bilinearly, corner on corner; 0: the tower's own positions
    // are those of the picture.
    int32_t n_places;
    // DeepStack (2406.04334): features behind these layers of the tower, in ascending order, have projectors of their own; a row of the text model has
    // what they make behind its vector, one after the other.
    int32_t n_deepstack, deepstack[VISION_MAX_DEEPSTACK];
    bool averages;    // they become their mean instead, and what is left over is dropped
    bool sees_itself; // a view's rows attend to all of them, in both directions, in the text model
    // M-RoPE (Qwen2-VL, 2409.12191): rows of the text model have coordinates in the picture, and those behind it go on from the largest.
    bool has_coords;
    enum vision_order order;
    int32_t most_tiles;               // LLaVA-OneVision: a map of more tiles than these is made smaller; 0: it is not
    bool has_newline;                 // the projector's package has the tensor
    const struct vision_marks *marks; // NULL: none
    int32_t n_embd_out;               // of a projector's rows
    int32_t image_token;              // the text model's token in a picture's place; -1: it is not named
    const char *image_token_name;     // then: its usual text; NULL: unknown
    enum vision_video video;
    int32_t tokens_per_second;    // VIDEO_BY_SECONDS: steps of time
    int32_t video_token;          // the text model's token in a place of a video; -1: it is not named
    const char *video_token_name; // then: its usual text; NULL: unknown
    struct pipeline pipeline;
};
// Patches of a picture, or of a view of a video.
struct vision_grid {
    int32_t rows, cols;
};

struct vision_files {
    package *tower, *projector, *deepstack[VISION_MAX_DEEPSTACK]; // [info.n_deepstack]
    struct vision_info info;
};

/**
 * Open the vision part in a model's folder, or in a mmproj file.
 *
 * @param out  zeros where it fails.
 * @return RN_E_UNSUPPORTED: the model has none, or of a family that is not supported, by name; RN_E_FORMAT: malformed; RN_E_IO;
 *         RN_E_LIMIT; RN_E_NOMEM.
 */
rn_status vision_files_open(const char *path, struct vision_files *out, rn_error *err);
// The same of a model, by its path: of a GGUF file, which has none itself, the one file mmproj*.gguf beside it. RN_E_ARG: there are several.
rn_status vision_files_open_of(const char *model, struct vision_files *out, rn_error *err);
// The same for the files of a folder in memory, which are the caller's and must outlive it. name: errors begin with it.
rn_status vision_files_from_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                  struct vision_files *out, rn_error *err);
void vision_files_close(struct vision_files *v);

// Rows of the tower for a picture, and of the text model.
static inline int32_t vision_n_rows(const struct vision_info *v, struct vision_grid g) {
    return g.rows * g.cols + v->has_class;
}
static inline int32_t vision_n_out(const struct vision_info *v, struct vision_grid g) {
    const int32_t m = v->n_merge, more = v->averages ? 0 : m - 1;
    return (g.rows + more) / m * ((g.cols + more) / m) + (v->has_class && v->keeps_class);
}
// Of the largest picture. Where all are equally large, of each.
static inline int32_t vision_most_rows(const struct vision_info *v) { return v->max_patches + v->has_class; }
static inline int32_t vision_most_out(const struct vision_info *v) {
    return v->grid ? vision_n_out(v, (struct vision_grid){v->grid, v->grid})
                   : v->max_patches / (v->n_merge * v->n_merge);
}

// Numbers of a row of the text model.
static inline int32_t vision_n_vector(const struct vision_info *v) { return v->n_embd_out * (1 + v->n_deepstack); }

// Rows of the text model that every picture takes; 0: that depends on the picture.
static inline int32_t vision_n_each(const struct vision_info *v) {
    const bool is_one_view = v->pipeline.tiling.kind == TILING_NONE;
    return v->grid && is_one_view ? vision_most_out(v) + (v->order == VISION_AS_MAP && v->has_newline) : 0;
}

#endif
