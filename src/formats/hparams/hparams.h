// formats/hparams/hparams.h - a model's hyper-parameters as one table: how each is spelled in a GGUF file's keys and in config.json, its
// type and range; and what must hold between them, wherever they were read.
//
// What a format says is read row by row into a struct raw_hparams (hparams_gguf.c, config_json.c); hparams_check() judges the
// numbers and puts in what follows from others; hparams_fill_layers() spreads them over the layers.
#ifndef RN_FORMATS_HPARAMS_HPARAMS_H
#define RN_FORMATS_HPARAMS_HPARAMS_H

#include "formats/gguf/gguf.h"
#include "formats/hparams/arch_facts.h"

enum hparams_source { HPARAMS_GGUF, HPARAMS_CONFIG };

enum { HPARAMS_NOT_SAID = -1 }; // of a layer's number: the one for all layers counts
enum { HPARAM_MAX_ROWS = 128, HPARAM_MAX_CLASSES = 65536 };
enum { LARGEST_LLAMA4 = 128 }; // experts of the one that does not norm queries and keys

// What is read before it is judged: the parameters, and numbers that only take part in the checks.
struct raw_hparams {
    struct hparams hp; // first: a row's offset holds in both
    enum hparams_source source;
    const struct arch_facts *facts;
    const char *rope_object;              // "rope_scaling" or "rope_parameters": what config.json calls it
    const char *spelled[HPARAM_MAX_ROWS]; // by row: the name that was found; NULL: none
    struct layer_hparams *layers;         // [hp.n_layer], what the file says of each
    bool says_windows, says_rotation, says_states, says_experts; // flags of layers are filled: no rule counts
    int32_t value_length, vocab_size;
    float scale_linear;        // GGUF's older key of the factor
    float yarn_attn_factor;    // one more factor of rope_attn_factor
    float yarn_ext;            // must be 1
    float low_freq, high_freq; // config.json: of llama3 scaling, which GGUF files hold as a tensor instead
    float attention_factor;    // config.json: of yarn and longrope; 0: none, then it follows from the factor
    float partial_rotary;      // config.json: n_rot as a part of head_dim; 0: all
    float query_scalar;        // config.json: attn_scale is 1 / sqrt() of it
    int32_t n_nextn;           // next-token-prediction layers; GGUF counts them in block_count
    int32_t swa_period;        // as arch_facts.swa_period; 0: not said
    int32_t max_window_layers; // config.json, qwen: layers before this one have no window
    int32_t no_rope_interval;  // config.json
    int32_t n_leading_dense, moe_step, attn_interval, n_shared_kv;
    int32_t head_dim_swa, value_length_swa, n_rot_swa; // of layers with windows where theirs differ
    int32_t n_head_kv_full;                            // config.json, gemma4: of layers without windows
    int32_t n_head_kv_new;                             // config.json, falcon: counts with new_decoder only
    bool multi_query, new_decoder;
    int32_t key_length_mla,
        qk_rope_dim;      // of latent attention: GGUF's way of saying head_dim_nope and n_rot; config.json's of n_rot
    int32_t ssm_head_dim; // config.json
    int32_t ssm_expand;   // config.json, jamba: ssm_d_inner is so many times n_embd
    bool ff_adjusted;     // config.json, lfm2: n_ff is two thirds of what is said, times ..., rounded up
    float ff_multiplier;
    int32_t ff_multiple;
    bool double_wide_ff;             // config.json, gemma4: layers that share keys and values have twice the n_ff
    float depth_scale;               // config.json, minicpm: residual_scale is it / sqrt(n_layer)
    float width_scale, output_alpha; // config.json, jais: logits are multiplied by both
    int32_t base_width;              // config.json, minicpm: logits are divided by n_embd / it
    float rope_alpha;                // config.json, hunyuan: rope_theta grows by it
    bool rope_switch;                // GGUF: rope.scaling.finetuned
    bool is_causal;                  // GGUF: attention.causal
};

enum hparam_kind { HPARAM_INT, HPARAM_FLOAT, HPARAM_BOOL };
enum { HPARAM_MAX_NAMES = 6 };
// How a format spells a number, in order of preference; unused ones are NULL. GGUF: after "{arch}.", "runnel." begins names of our own; config.json: "rope." stands
// for the rope object, "rope_swa." for that of layers with windows.
struct hparam_spelling {
    const char *names[HPARAM_MAX_NAMES];
};
struct hparam_row {
    size_t at; // in struct raw_hparams
    enum hparam_kind kind;
    double min, max;
    bool is_required;             // unless the architecture has a default
    bool may_be_0;                // which means: none
    bool is_per_layer;            // GGUF: also as an array of n_layer values
    size_t layer_at;              // in struct layer_hparams: where each layer's goes
    struct hparam_spelling in[2]; // by enum hparams_source
};
// The first row is n_layer, which those per layer need.
extern const struct hparam_row hparam_rows[];
extern const size_t hparam_n_rows;

const struct hparam_row *hparam_row_at(size_t at); // NULL: none

// "key llama.block_count" or "member num_hidden_layers": what messages call a spelling.
struct hparam_name {
    char text[192];
};
struct hparam_name hparam_name_of(const struct raw_hparams *raw, const char *spelling);
// The name of the number at an offset, in the format that the parameters come from.
struct hparam_name hparam_name_at(const struct raw_hparams *raw, size_t at);

// A row's number in a struct raw_hparams, or in a struct hparams where it lies in that one.
double hparam_get(const void *raw, const struct hparam_row *row);
void hparam_set(struct raw_hparams *raw, const struct hparam_row *row, double v);
int32_t hparam_get_layer(const struct layer_hparams *layer, const struct hparam_row *row);
void hparam_set_layer(struct layer_hparams *layer, const struct hparam_row *row, int32_t v);

// Is a number without which nothing goes still 0, and no rule of the architecture gives it?
bool hparam_is_missing(const struct raw_hparams *raw, const struct hparam_row *row);

bool hparams_known_arch(const char *arch);

// facts of hp.arch, and the defaults that they have. To be called first.
void hparams_begin(struct raw_hparams *raw);
// Memory of p for what the file says of each layer. After the first row.
rn_status hparams_begin_layers(struct raw_hparams *raw, struct package *p, rn_error *err);

// Reads the rows and what GGUF's keys say otherwise. p's arch, file type, vocabulary and tensors are there already. Sets
// is_checked when the file is a model of an architecture whose keys are known; else leaves the numbers 0.
// Errors: RN_E_FORMAT, RN_E_UNSUPPORTED; `key NAME: WHY`.
rn_status hparams_read_gguf(const struct gguf *g, struct package *p, rn_error *err);

// The parameters of xIELU, layer by layer (hparams_xielu.c): what folders and GGUF call them.
enum { XIELU_N_PARTS = 4 };
#define XIELU_MOST 1e4 // of each, in magnitude
extern const struct xielu_part {
    const char *name, *key;
    size_t at; // in struct xielu
} xielu_parts[XIELU_N_PARTS];
// Where the architecture has them. RN_E_FORMAT: one is missing or out of range.
rn_status hparams_read_xielu(const struct gguf *g, struct raw_hparams *raw, rn_error *err);

// Llama 4 norms queries and keys in all but its largest model, which other converters' files identify only by the number of experts.
bool hparams_qk_norm_by_rule(const struct arch_facts *f, int32_t n_expert);

// What must hold between the numbers, and defaults where they were absent. rope_scaling is set.
rn_status hparams_check(struct raw_hparams *raw, rn_error *err);
rn_status hparams_check_rope(struct raw_hparams *raw, rn_error *err);   // parts of it
rn_status hparams_check_states(struct raw_hparams *raw, rn_error *err); // (hparams_rope.c, hparams_states.c)
// Does the layer have a window, in a model whose windows leave out one of `period` layers?
bool hparams_is_windowed(const struct arch_facts *f, int32_t layer, int32_t period);
bool hparams_has_experts(const struct raw_hparams *raw, int32_t layer); // by the architecture's rule
// What the numbers say of each layer. After hparams_check().
rn_status hparams_fill_layers(struct raw_hparams *raw, rn_error *err);
// The vocabulary's size against p's embedding and tokens. Sets n_vocab.
rn_status hparams_check_vocab(struct raw_hparams *raw, const struct package *p, rn_error *err);

#endif
