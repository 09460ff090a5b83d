// formats/folder/config_json.h - a Hugging Face folder's config.json and generation_config.json: which model the folder holds.
//
// Two spellings are in use and both are read: rope_theta and rope_scaling on the top level, as checkpoints are published, and
// rope_parameters, as transformers 5 writes them. The numbers are rows of the table in hparams.h; what they must be is checked
// there. Members with no bearing on the arithmetic (dropout, torch_dtype, ...) are not looked at; those that change it in a way
// not known here are refused by name (config_ways.c).
#ifndef RN_FORMATS_FOLDER_CONFIG_JSON_H
#define RN_FORMATS_FOLDER_CONFIG_JSON_H

#include "formats/folder/hf_names.h"
#include "formats/hparams/hparams.h"
#include "formats/json/json_tree.h"

struct hf_config {
    struct raw_hparams raw; // checked
    const struct hf_arch *arch;
    uint32_t traits; // enum hf_when: those of the model, not of a layer
    // Rope scaled by a factor of its own for each pair: what the factors are made of. raw then says: no scaling.
    struct llama3_rope {
        bool is_set;
        float factor, low_freq, high_freq;
        int32_t n_ctx_orig;
    } llama3;
    int32_t n_rot_proportional;          // only so many dimensions of a head turn, paired as if all did; 0: all
    float *short_factors, *long_factors; // [n_factors] of longrope, the package's; NULL: none
    uint32_t n_factors;
    bool is_wrapped;          // its text model is one of several parts: hf_wrappers.h
    bool head_by_tensor;      // whether it has a head of its own shows in the tensors
    bool is_trunk;            // without a head, which the embedding stands in for
    const char *foreign_code; // the member that asks for code of its own, which is not run; NULL: none
};

// text: config.json's. p: whose memory is used. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM; `member NAME: WHY`.
rn_status config_read(struct hf_config *c, const struct json_tree *text, struct package *p, rn_error *err);

// Adds the member eos_token_id, a number or a list, to v's end tokens; each must be below n_vocab. ids: room for
// FOLDER_MAX_END_IDS, what v->end points at.
rn_status config_read_end_ids(const struct json_tree *text, int32_t n_vocab, int32_t *ids, struct vocab *v,
                              rn_error *err);

#endif
