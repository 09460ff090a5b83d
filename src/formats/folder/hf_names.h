// formats/folder/hf_names.h - which architectures of Hugging Face folders are read, and what their tensors are called in GGUF.
//
// An architecture is a row of a table and a list of tensor rows: another one adds both and no code. A tensor row tells of one GGUF
// tensor what it is made of; a folder's tensor that is split has several. Names: transformers' modeling files; gguf-py's
// tensor_mapping.py.
#ifndef RN_FORMATS_FOLDER_HF_NAMES_H
#define RN_FORMATS_FOLDER_HF_NAMES_H

#include "formats/folder/hf_forms.h"
#include "formats/package.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// When a tensor is part of the model: all that a row names must hold. The first ones config.json says of the whole model
// (hf_traits), the others follow from what a layer is.
enum hf_when {
    HF_ALWAYS = 0,
    HF_UNTIED = 1 << 0,
    HF_ATTENTION_BIAS = 1 << 1,
    HF_MLP_BIAS = 1 << 2,
    HF_BIAS = 1 << 3,
    HF_QK_NORM = 1 << 4,
    HF_WKV_GATE = HF_QK_NORM,   // rwkv7, which has none either
    HF_STATE_NORM = HF_QK_NORM, // falcon-h1, which norms no queries: of what states result in
    HF_LOW_RANK_Q = 1 << 5,     // latent attention: queries go through a narrow vector
    HF_PLAIN_Q = 1 << 6,
    HF_ONE_NORM = 1 << 7, // falcon: one norm for attention and feed-forward
    HF_TWO_NORMS = 1 << 8,
    HF_FFN_GATE = HF_ONE_NORM, // t5encoder, whose norms are the same always: of the feed-forward part
    HF_NO_FFN_GATE = HF_TWO_NORMS,
    HF_SHARED_EXPERTS = 1 << 9,
    HF_SIGMOID = 1 << 10, // of a router
    HF_LAYER_EMBEDDINGS = 1 << 11,
    HF_KEYS_ARE_VALUES = 1 << 12, // in layers without window
    HF_IN_MXFP4 = 1 << 13,        // the experts' matrices
    HF_IN_FLOATS = 1 << 14,
    HF_OUTPUT_BIAS = 1 << 15, // of attention
    HF_ATTENDS = 1 << 16,
    HF_RECURS = 1 << 17,
    HF_OWN_KV = 1 << 18,
    HF_DENSE = 1 << 19,
    HF_EXPERTS = 1 << 20,
    HF_VALUES = 1 << 21, // values of its own
    // Of experts' matrices, as the tensors have it: each expert's by themselves, or all in one tensor, gate and up too, which is stored
    // row by row or turned.
    HF_EXPERTS_APART = 1 << 22,
    HF_EXPERTS_IN_ROWS = 1 << 23,
    HF_EXPERTS_IN_COLUMNS = 1 << 24,
    HF_NEXTN = 1 << 25,     // of next-token-prediction layers alone
    HF_CONV_BIAS = 1 << 26, // of recurrent layers
    HF_IN_TURN = 1 << 27,   // the feed-forward part reads what attention has been added to
    // Latent attention: what is rotated is stored in pairs, or half by half.
    HF_ROPE_PAIRS = 1 << 28,
    HF_ROPE_HALVES = 1 << 29,
    HF_OPTIONAL = 1 << 30 // no condition: it may be missing
};
#define HF_LATER 0x80000000u // one more: not in the first layer

#define HF_MIXES   "rwkvag"
#define HF_MIXES_6 "wkvrg"

struct hparam_default;

struct hf_tensor_row {
    const char *
        name; // "%d" stands for the layer, "%e" for the expert, "%m" and "%w" for the letter of HF_MIXES and HF_MIXES_6 with its number
    const char *gguf; // NULL: left out; it follows from config.json
    uint32_t when;    // enum hf_when
    enum hf_form form;
    const char *or_else; // what is taken in its place where the folder lacks it; NULL: nothing
};

// A member of config.json that stands for a number of the table under another name, in this architecture alone.
struct hf_alias {
    size_t at; // in struct raw_hparams
    const char *member;
};

struct hf_arch {
    const char *class_name; // architectures[0]: "LlamaForCausalLM"
    const char *model_type; // where there are no architectures: "llama"; NULL: another row is taken
    const char *gguf_name;  // general.architecture
    const char
        *prefix; // that names begin with, but for those outside the trunk; checkpoints of the trunk alone lack it
    const char *activations;   // names of hidden_act that mean the architecture's own, separated by spaces
    uint32_t traits;           // those that hold where config.json does not say
    enum expert_gating gating; // 0: as arch_facts says
    bool gating_ignored;       // its class does not read scoring_func
    bool rotates_part;         // of a head, with rows for interleaved rotation
    bool may_scale_alibi;      // alibi is possible, whose slopes are scaled as q . k is
    bool norms_scan;           // hparams.ssm_norms
    bool layers_by_period;     // attn_layer_period and expert_layer_period say which layers are of which kind
    bool windows_off;          // use_sliding_window absent means false
    bool has_deepstack;        // vision_config.deepstack_visual_indexes has one for each of hparams.n_deepstack
    bool folds_scales;    // embedding and head are multiplied by their scales when they are read, as in GGUF files
    bool read_widths;     // widths may be lists of one for each layer, or follow from others (config_widths.c)
    bool repeats_numbers; // a number may be a list of one for each layer, all equal
    const struct hf_tensor_row *tensors;
    size_t n_tensors;
    const struct hf_alias *aliases;
    size_t n_aliases;
    // What names of next-token-prediction layers begin with in place of "layers.%d.", %d from 0; NULL: they are layers after the last.
    const char *nextn_layers;
    const char *
        block; // the row is taken where layers_block_type lists this kind, or else the next row of the class; NULL: always
    const char *
        reads; // a member of config.json that other architectures may have one value of, and that is read here; NULL: none
    const char *
        with; // the row is taken where config.json has a number above 0 or true by this name, or else the next row; NULL: always
    int32_t ff_rounding; // n_ff is 2/3 of 4 * n_embd, up to a multiple of this, where it is not said
    int32_t n_skipped;   // positions begin with this one; the rows of the table before it are not used
    const struct hparam_default *defaults; // of its class in transformers: what text_config may leave out
    size_t n_defaults;
};

// One after the other; NULL after the last.
const struct hf_arch *hf_arch_at(size_t i);
const struct hf_arch *hf_arch_by_class(const char *name, size_t n); // NULL: unknown
const struct hf_arch *hf_arch_by_trunk(const char *name,
                                       size_t n); // "LlamaModel", which has no head, for "LlamaForCausalLM"
const struct hf_arch *hf_arch_by_type(const char *name, size_t n);

// Whether its files are of this architecture; NULL: of any.
static inline bool hf_arch_is(const struct hf_arch *a, const char *gguf_name) {
    return !gguf_name || strcmp(a->gguf_name, gguf_name) == 0;
}

// The lists that they are in: hf_names_*.c.
struct hf_arch_list {
    const struct hf_arch *archs;
    size_t n;
};
extern const struct hf_arch_list hf_archs_dense, hf_archs_older, hf_archs_experts, hf_archs_states, hf_archs_gemma4,
    hf_archs_kin, hf_archs_mixtures, hf_archs_alibi, hf_archs_varied, hf_archs_rwkv, hf_archs_encoders;

// A member of config.json that says whether a trait holds, and its name for messages.
struct hf_trait {
    const char *member, *gguf_name; // gguf_name NULL: of every architecture
    uint32_t trait;                 // enum hf_when
    bool inverted;                  // true means that it does not hold
};
extern const struct hf_trait hf_traits[];
extern const size_t hf_n_traits;

// Does the row have this name, without the prefix? Then its layer and expert (-1: of none).
bool hf_row_matches(const struct hf_tensor_row *row, const char *name, int32_t *layer, int32_t *expert);
// The row of a tensor's name, without the prefix, and its layer (-1: of none). NULL: no row has it.
const struct hf_tensor_row *hf_find_tensor(const struct hf_arch *a, const char *name, int32_t *layer);

// A row's name with the layer and the expert in their places.
struct hf_name {
    char text[128];
};
struct hf_name hf_name_of(const char *pattern, int32_t layer, int32_t expert);
bool hf_has_layer(const struct hf_tensor_row *row); // is its GGUF tensor one of a layer?

#endif
