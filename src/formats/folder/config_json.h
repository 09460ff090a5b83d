// formats/folder/config_json.h - reads config.json and generation_config.json of a Hugging Face folder.
//
// Rotary parameters are read in both spellings in use: rope_theta and rope_scaling at the top level, as in most published
// checkpoints, and rope_parameters, as transformers 5 writes them. The numbers are rows of the table in hparams.h, which also checks
// them. Members without effect on the arithmetic (dropout, torch_dtype, ...) are ignored; members that change it in an unknown way
// are refused by name (config_unsupported.c).
#ifndef RN_FORMATS_FOLDER_CONFIG_JSON_H
#define RN_FORMATS_FOLDER_CONFIG_JSON_H

#include "formats/folder/hf_names.h"
#include "formats/hparams/hparams.h"
#include "formats/json/json_tree.h"

struct hf_config {
    struct raw_hparams raw; // checked
    const struct hf_arch *arch;
    uint32_t traits; // enum hf_when: traits of the whole model
    // Llama 3's rope scaling, from which a factor for each pair is computed. raw then has no scaling.
    struct llama3_rope {
        bool is_set;
        float factor, low_freq, high_freq;
        int32_t n_ctx_orig;
    } llama3;
    int32_t n_rot_proportional;          // rotated dimensions of a head, paired as if all were rotated; 0: all
    float *short_factors, *long_factors; // [n_factors] of longrope, owned by the package; NULL: none
    uint32_t n_factors;
    bool is_wrapped;             // the text model is one of several parts: hf_wrappers.h
    bool head_by_tensor;         // whether there is a separate output head depends on the tensors
    bool head_is_normed;         // rows of the head are divided by their length
    float factors[HF_N_FACTORS]; // that numbers are multiplied by on their way: 1 where none is said
    bool is_trunk;               // a model without output head; the embedding is used instead
    const char *foreign_code;    // the member that asks to run code from the folder, which is never done; NULL: none
};

// text: config.json's. p: whose memory is used. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM; `member NAME: WHY`.
rn_status config_read(struct hf_config *c, const struct json_tree *text, struct package *p, rn_error *err);

// Adds eos_token_id, a number or a list, to v's end tokens; each id must be below n_vocab. ids: the array that v->end points to,
// with room for FOLDER_MAX_END_IDS.
rn_status config_read_end_ids(const struct json_tree *text, int32_t n_vocab, int32_t *ids, struct vocab *v,
                              rn_error *err);

#endif
