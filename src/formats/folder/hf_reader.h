// formats/folder/hf_reader.h - a folder's tensors while they are taken under GGUF's names. Private to hf_tensors.c and hf_experts.c.
#ifndef RN_FORMATS_FOLDER_HF_READER_H
#define RN_FORMATS_FOLDER_HF_READER_H

#include "formats/folder/hf_tensors.h"

// A tensor of the folder, and whether a row has taken it.
struct hf_found {
    const struct safetensors_record *t;
    size_t shard;
    bool used;
};
struct hf_reader {
    struct package *p;
    const struct hf_config *c;
    uint32_t traits;         // enum hf_when: config.json's, and what the tensors' names say
    struct name_index names; // without the architecture's prefix
    struct hf_found *found;
    size_t n_found;
    struct layer_hparams *nextn; // [n_nextn] next-token-prediction layers that the folder has
    int32_t n_nextn;
    bool tries; // a next-token-prediction layer, which is left out if its tensors are not as they should be
    size_t n_tensors, n_made; // of the whole package: counted before anything is made
    bool counts;
    rn_error *err;
};

const char *hf_name_in_index(const struct hf_reader *r, const struct hf_found *f);
struct hf_found *hf_look_up(const struct hf_reader *r, const char *name); // NULL: not there
// Puts the file and the tensor's own name in front of an error; RN_OK stays.
rn_status hf_in_tensor(const struct hf_reader *r, const struct hf_found *f, rn_status st);
rn_status hf_missing(const struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer, int32_t expert);
rn_status hf_check_type(const struct hf_reader *r, const struct hf_found *f);
// One more tensor, of so many bytes made in memory.
rn_status hf_count(struct hf_reader *r, uint64_t n_made);
struct tensor_claim hf_claim_of(const struct hf_name *name, enum tensor_type type, int n_dims, const uint64_t *ne);

// hf_nextn.c. Layers from the model's n_layer on are the next-token-prediction layers.
// Finds those that can be used, and says what each is like. The model runs without the others: they
// are left out, with the reason in package.nextn_left_out. After the names are indexed. RN_E_NOMEM.
rn_status hf_find_nextn(struct hf_reader *r);
// Is the tensor one of a next-token-prediction layer? name: as in r->names.
bool hf_is_of_nextn(const struct hf_reader *r, const char *name);
// hf_tensors.c: takes (or counts) all tensors of a layer.
rn_status hf_visit_layer(struct hf_reader *r, int32_t layer);
// What the folder calls a row's tensor of a layer.
struct hf_name hf_tensor_name(const struct hf_reader *r, const char *pattern, int32_t layer, int32_t expert);
static inline const struct layer_hparams *hf_layer(const struct hf_reader *r, int32_t layer) {
    const struct hparams *hp = &r->c->raw.hp;
    return layer < 0 ? NULL : layer < hp->n_layer ? &hp->layers[layer] : &r->nextn[layer - hp->n_layer];
}

// hf_xielu.c: reads the parameters of xIELU into layers [n_layer], where the architecture has them.
rn_status hf_read_xielu(struct hf_reader *r, struct layer_hparams *layers);
// hf_experts.c: a row's tensor of a layer put together of several of the folder's: of each expert's; of MXFP4's blocks and scales.
rn_status hf_stack(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer);
rn_status hf_take_mxfp4(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer);

#endif
