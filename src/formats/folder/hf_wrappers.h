// formats/folder/hf_wrappers.h - multimodal classes whose folders contain a text model, which is the only part that is read.
//
// config.json has the text model's numbers in text_config, and the names of its tensors have one more prefix.
#ifndef RN_FORMATS_FOLDER_HF_WRAPPERS_H
#define RN_FORMATS_FOLDER_HF_WRAPPERS_H

#include <stddef.h>

struct hf_wrapper {
    const char *class_name, *model_type;
    const char *text_type; // default of text_config.model_type
};
const struct hf_wrapper *hf_wrapper_at(size_t i);                         // NULL after the last
const struct hf_wrapper *hf_wrapper_by_class(const char *name, size_t n); // NULL: none
const struct hf_wrapper *hf_wrapper_by_type(const char *name, size_t n);

// The name that the tensor has in a folder of the text model alone; names of other parts are returned unchanged.
const char *hf_text_name(const char *name);

// Parts other than the text model.
enum hf_part { HF_PART_VISION, HF_PART_AUDIO, HF_PART_NEXTN, HF_N_PARTS };
enum hf_part hf_part_of(const char *name); // vision or audio; HF_N_PARTS: no known part

#endif
