// formats/package_build.h - a package while a reader fills it: what GGUF and other readers share. Private to formats/.
//
// Whatever format a tensor comes from, it enters through package_add_tensor(), which holds the invariants of package.h.
#ifndef RN_FORMATS_PACKAGE_BUILD_H
#define RN_FORMATS_PACKAGE_BUILD_H

#include "base/arena.h"
#include "formats/name_index.h"
#include "formats/package.h"

struct package {
    struct arena arena;
    struct file_map file;
    bool owns_file;   // opened here, not the caller's bytes
    const char *path; // in the arena
    const char *format;
    struct hparams hparams;
    struct vocab vocab;
    size_t n_tensors, max_tensors;
    struct tensor_view *tensors;
    struct name_index tensor_names;
    struct vocab_str chat_template; // s NULL: none
};

// What a file says of a tensor, not yet believed.
struct tensor_claim {
    const char *name; // n_name bytes
    uint32_t n_name;
    enum tensor_type type;
    int n_dims; // 1..PACKAGE_MAX_DIMS
    const uint64_t *dims;
    uint64_t offset; // from the beginning of the file
};

rn_status package_reserve_tensors(struct package *p, size_t n, rn_error *err);
// Errors: RN_E_FORMAT (`tensor NAME: WHY`), RN_E_NOMEM.
rn_status package_add_tensor(struct package *p, const struct tensor_claim *claim, rn_error *err);
// After the last one: no byte may belong to two tensors.
rn_status package_check_overlap(struct package *p, rn_error *err);

// Readers: fill p, whose file and path are set. What they leave behind on failure package_close() releases.
rn_status gguf_load(struct package *p, rn_error *err);

#endif
