// formats/hf_names.h - which architectures of Hugging Face folders are read, and what their tensors are called in GGUF.
//
// An architecture is a row of a table and a list of tensor rows: another one adds both and no code.
#ifndef RN_FORMATS_HF_NAMES_H
#define RN_FORMATS_HF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When config.json makes a tensor part of the model.
enum hf_when { HF_ALWAYS, HF_UNTIED, HF_ATTENTION_BIAS, HF_MLP_BIAS };

// How its rows are laid out anew: see hf_tensors.h.
enum hf_rows { HF_ROWS_AS_THEY_ARE, HF_ROWS_OF_QUERIES, HF_ROWS_OF_KEYS };

struct hf_tensor_row {
    const char *name; // "%d" stands for the layer
    const char *gguf; // NULL: left out; it follows from config.json
    enum hf_when when;
    enum hf_rows rows;
};

struct hf_arch {
    const char *class_name; // architectures[0]: "LlamaForCausalLM"
    const char *model_type; // where there are no architectures: "llama"
    const char *gguf_name;  // general.architecture
    const struct hf_tensor_row *tensors;
    size_t n_tensors;
};

const struct hf_arch *hf_arch_by_class(const char *name, size_t n); // NULL: unknown
const struct hf_arch *hf_arch_by_type(const char *name, size_t n);
const char *hf_arch_list(void); // class names, for messages

// The row of a tensor's name and its layer (-1: of none). NULL: no row has it.
const struct hf_tensor_row *hf_find_tensor(const struct hf_arch *a, const char *name, int32_t *layer);

// A row's name with the layer in the place of "%d".
struct hf_name {
    char text[96];
};
struct hf_name hf_name_of(const char *pattern, int32_t layer);
bool hf_has_layer(const struct hf_tensor_row *row);

#endif
