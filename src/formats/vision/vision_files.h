// formats/vision/vision_files.h - the vision part of a model: a tower, which makes features of a picture's patches, and a projector,
// which makes input vectors of the text model of them.
//
// Both are packages of their own, with tensors under llama.cpp's names (mmproj files) and hyper-parameters, so that model/ builds
// programs of them as of models. Read from Hugging Face folders: LLaVA-1.5's (one folder for all), VILA's (a folder for each part).
// Ownership: vision_files_open() / vision_files_close(). Threads: immutable once open.
#ifndef RN_FORMATS_VISION_VISION_FILES_H
#define RN_FORMATS_VISION_VISION_FILES_H

#include "formats/package.h"
#include "media/pipeline.h"

struct vision_info {
    const char *family; // "llava"; static
    // Patches of patch_size x patch_size pixels, each n_numbers numbers, channel by channel; grid x grid of them make a picture.
    int32_t patch_size, n_numbers, grid;
    bool has_class;   // the tower has one more row before them, whose token is 1 and whose vector is zeros
    bool keeps_class; // and the projector reads it
    // n_merge x n_merge neighbours, side by side, make one row of the projector; a grid whose sides are no multiples is padded with
    // zeros below and to the right.
    int32_t n_merge;
    int32_t n_embd_out;  // of the projector's rows
    int32_t image_token; // the text model's token in a picture's place; -1: the folder names none
    struct pipeline pipeline;
};

struct vision_files {
    package *tower, *projector;
    struct vision_info info;
};

/**
 * Open the vision part of a model's folder.
 *
 * @param out  zeros where it fails.
 * @return RN_E_UNSUPPORTED: the model has none, or of a family that is not supported, by name; RN_E_FORMAT: malformed; RN_E_IO;
 *         RN_E_LIMIT; RN_E_NOMEM.
 */
rn_status vision_files_open(const char *path, struct vision_files *out, rn_error *err);
// The same for the files of a folder in memory, which are the caller's and must outlive it. name: errors begin with it.
rn_status vision_files_from_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                  struct vision_files *out, rn_error *err);
void vision_files_close(struct vision_files *v);

// Rows of the tower for a picture, and of the text model.
static inline int32_t vision_n_rows(const struct vision_info *v) { return v->grid * v->grid + v->has_class; }
static inline int32_t vision_n_out(const struct vision_info *v) {
    const int32_t side = (v->grid + v->n_merge - 1) / v->n_merge;
    return side * side + (v->has_class && v->keeps_class);
}

#endif
