// engine/vision/vision.h - from a picture to input vectors: the model's pipeline, its tower and its projector, each program an lm of its own.
//
// Ownership: vision_create() / vision_destroy(); the files are lent. Threads: internally locked, any thread; one picture at a time is encoded,
// on the caller's thread and the vision's own pool, so that the engine's steps go on meanwhile.
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
    bool keeps_rows;      // as backend_spec
    uint64_t cache_bytes; // of vectors that are kept, those in use included
};

// Plans the programs; memory for them is taken by vision_load(). *out: NULL after an error. Errors: of models and backends.
rn_status vision_create(const struct vision_files *files, const struct vision_spec *spec, struct vision **out,
                        rn_error *err);
uint64_t vision_bytes(const struct vision *v); // weights, row buffers and pages, once loaded; without cache_bytes
rn_status vision_load(struct vision *v, rn_error *err);
void vision_destroy(struct vision *v); // NULL is fine. All vectors were released
const struct vision_info *vision_info(const struct vision *v);
const struct vision_files *vision_files(const struct vision *v);

// The patches of each view of a picture. RN_E_FORMAT: pixels of another shape than the tower reads; RN_E_LIMIT: too many.
rn_status vision_read_grid(const struct vision_files *v, const struct pixels *p, struct vision_grid *out,
                           rn_error *err);

enum vision_stage {
    VISION_FEATURES,
    VISION_PROJECTED
}; // rows of the tower, its class row included, view by view; those of the text model
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

// Vectors of a picture that others may use, too.
struct vision_vectors {
    struct vision_rows rows; // VISION_PROJECTED
    uint64_t key;            // equal for equal pixels, as long as the vision lives
};

/**
 * The vectors of a picture: those that are kept of equal pixels, else vision_encode()'s, which are kept. The least recently used ones that nobody
 * uses make room.
 *
 * @param pixels  taken over.
 * @param out     released with vision_release().
 * @return as vision_encode(); RN_E_LIMIT: those in use leave no room of cache_bytes.
 */
rn_status vision_get(struct vision *v, struct pixels *pixels, const struct vision_vectors **out, rn_error *err);
void vision_use(struct vision *v, const struct vision_vectors *of); // once more, by somebody else
void vision_release(struct vision *v, const struct vision_vectors *of);
struct vision_counts {
    uint64_t n_encoded, n_found; // pictures that the tower read, and that were kept
    uint64_t bytes;              // of vectors that are kept
};
void vision_get_counts(struct vision *v, struct vision_counts *out);

#endif
