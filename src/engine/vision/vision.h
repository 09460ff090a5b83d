// engine/vision/vision.h - from a picture to input vectors: the model's pipeline, its tower and its projector, each program an lm of its own.
//
// Ownership: vision_open() / vision_close(). Threads: internally locked, one picture at a time; the programs run on the caller's thread and the
// vision's own pool, so that the engine's steps go on meanwhile.
// Bits: what a picture gives depends on the model's files and its pixels alone.
#ifndef RN_ENGINE_VISION_VISION_H
#define RN_ENGINE_VISION_VISION_H

#include "formats/vision/vision_files.h"
#include "kernels/kernels.h"
#include "media/picture.h"

struct vision;

struct vision_spec {
    int n_threads; // of its pool, the caller's included
    const struct kernel_set *kernels;
    bool keeps_rows; // as backend_spec
};

// Opens the files and plans; nothing is allocated for the programs. *out: NULL after an error. Errors: of vision_files_open() and of models.
rn_status vision_open(const char *path, const struct vision_spec *spec, struct vision **out, rn_error *err);
uint64_t vision_bytes(const struct vision *v); // weights, row buffers and pages, once loaded
rn_status vision_load(struct vision *v, rn_error *err);
void vision_close(struct vision *v); // NULL is fine
const struct vision_info *vision_info(const struct vision *v);

enum vision_stage {
    VISION_FEATURES,
    VISION_PROJECTED
}; // rows of the tower, its class row included; of the projector
struct vision_rows {
    size_t n, width;
    float *values; // [n][width], the caller's: mem_free()
};

/**
 * Encode what the model's pipeline made of a picture. A loaded vision.
 *
 * @return RN_E_FORMAT: pixels of another shape than the tower reads, or results that are not finite; RN_E_NOMEM.
 */
rn_status vision_encode(struct vision *v, const struct pixels *pixels, enum vision_stage stage,
                        struct vision_rows *out, rn_error *err);

#endif
