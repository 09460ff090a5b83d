// formats/folder/hf_wrappers.h - classes of folders that hold a text model beside parts for pictures and sound, of which the text model is read.
//
// config.json has the text model's numbers in text_config, and its tensors' names have one more word in front.
#ifndef RN_FORMATS_FOLDER_HF_WRAPPERS_H
#define RN_FORMATS_FOLDER_HF_WRAPPERS_H

#include <stddef.h>

struct hf_wrapper {
    const char *class_name, *model_type;
    const char *text_type; // text_config.model_type where it is not said
};
const struct hf_wrapper *hf_wrapper_at(size_t i);                         // NULL behind the last
const struct hf_wrapper *hf_wrapper_by_class(const char *name, size_t n); // NULL: none
const struct hf_wrapper *hf_wrapper_by_type(const char *name, size_t n);

// The name that a tensor of such a folder has in a folder of the text model alone; itself where it is of another part.
const char *hf_text_name(const char *name);

// Parts other than the text.
enum hf_part { HF_PART_VISION, HF_PART_AUDIO, HF_N_PARTS };
enum hf_part hf_part_of(const char *name); // HF_N_PARTS: none that is known

#endif
