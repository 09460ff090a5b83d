// formats/hparams.h - a model's hyper-parameters as one table: how each is spelled in a GGUF file's keys and in config.json, its
// type and range; and what must hold between them, wherever they were read.
#ifndef RN_FORMATS_HPARAMS_H
#define RN_FORMATS_HPARAMS_H

#include "formats/gguf.h"

enum hparams_source { HPARAMS_GGUF, HPARAMS_CONFIG };

// What is read before it is judged: the parameters, and numbers that only take part in the checks.
struct raw_hparams {
    struct hparams hp;
    enum hparams_source source;
    const char *rope_object; // "rope_scaling" or "rope_parameters": what config.json calls it
    int32_t value_length;
    int32_t vocab_size;
    float scale_linear;             // GGUF's older key of the factor
    float low_freq, high_freq;      // config.json: of llama3 scaling, which GGUF files hold as a tensor instead
    float attention_factor;         // config.json: of yarn; 0: none, then it follows from the factor
    float partial_rotary, yarn_ext; // both must be 1
};

enum hparam_kind { HPARAM_INT, HPARAM_FLOAT };
enum hparam_rule {
    HPARAM_NOT_THERE, // the format has no such key
    HPARAM_OPTIONAL,  // absent: 0, or the default that the checks put there
    HPARAM_REQUIRED,
    HPARAM_PER_LAYER, // required; also as an array of n_layer equal values
    HPARAM_PER_LAYER_OPTIONAL
};
struct hparam_spelling {
    const char *name, *alt; // GGUF: after "{arch}."; config.json: "rope." stands for the rope object. alt NULL: none
    enum hparam_rule rule;
};
struct hparam_row {
    size_t at; // in struct raw_hparams
    enum hparam_kind kind;
    double min, max;
    struct hparam_spelling in[2]; // by enum hparams_source
};
extern const struct hparam_row hparam_rows[];
extern const size_t hparam_n_rows;

// "key llama.block_count" or "member num_hidden_layers": what messages call a spelling.
struct hparam_name {
    char text[192];
};
struct hparam_name hparam_name_of(const struct raw_hparams *raw, const char *spelling);
void hparam_set_int(struct raw_hparams *raw, const struct hparam_row *row, int32_t v);
void hparam_set_float(struct raw_hparams *raw, const struct hparam_row *row, float v);

bool hparams_known_arch(const char *arch);

// Reads the rows and GGUF's names of rope scaling. p's arch, file type, vocabulary and tensors are there already. Sets
// is_checked when the file is a model of an architecture whose keys are known; else leaves the numbers 0.
// Errors: RN_E_FORMAT, RN_E_UNSUPPORTED; `key NAME: WHY`.
rn_status hparams_read_gguf(const struct gguf *g, struct package *p, rn_error *err);

// What must hold between the numbers, and defaults where they were absent. rope_scaling is set.
rn_status hparams_check(struct raw_hparams *raw, rn_error *err);
// Writes what the numbers say of each layer into memory of p. After hparams_check().
rn_status hparams_fill_layers(struct raw_hparams *raw, struct package *p, rn_error *err);
// The vocabulary's size against p's embedding and tokens. Sets n_vocab.
rn_status hparams_check_vocab(struct raw_hparams *raw, const struct package *p, rn_error *err);

#endif
