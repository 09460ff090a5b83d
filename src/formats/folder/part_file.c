// formats/folder/part_file.c - loads one safetensors file with its tensors under their own names: a
// part of a model, such as a draft head, without a vocabulary or hyper-parameters.
// model_build_part() interprets the tensors.
#include "base/checked.h"
#include "formats/folder/safetensors_read.h"
#include "formats/package_build.h"
#include <string.h>

static rn_status add_tensor(struct package *p, const struct safetensors_record *t, rn_error *err) {
    uint64_t ne[PACKAGE_MAX_DIMS];
    if (t->n_dims < 1 || t->n_dims > PACKAGE_MAX_DIMS)
        return fail(err, RN_E_FORMAT, "tensor %s: %d dimensions, 1..%d are read", t->name, t->n_dims,
                    PACKAGE_MAX_DIMS);
    if (!t->type->is_read)
        return fail(err, RN_E_UNSUPPORTED, "tensor %s: type %s is not supported; F32, F16 and BF16 are", t->name,
                    t->type->name);
    for (int d = 0; d < t->n_dims; d++) ne[d] = t->dims[t->n_dims - 1 - d];
    const struct tensor_claim claim = {.name = t->name,
                                       .n_name = t->n_name,
                                       .type = t->type->type,
                                       .n_dims = t->n_dims,
                                       .dims = ne,
                                       .file = &p->files[0].map,
                                       .offset = t->begin};
    return package_add_tensor(p, &claim, err);
}

static rn_status add_tensors(struct package *p, rn_error *err) {
    struct safetensors s = {0};
    rn_status st = safetensors_read(p->files[0].map.data, p->files[0].map.size, &p->arena, &s, err);
    if (st == RN_OK) st = package_reserve_tensors(p, s.n_records, err);
    for (size_t i = 0; st == RN_OK && i < s.n_records; i++) st = add_tensor(p, &s.records[i], err);
    return st;
}

rn_status part_file_load(struct package *p, const struct package_options *o, rn_error *err) {
    rn_status st = p->n_files ? RN_OK : package_open_files(p, &p->path, 1, o, err);
    if (st == RN_OK) st = package_in_file(p->path, add_tensors(p, err), err);
    p->format = "safetensors, tensors alone";
    return st;
}
