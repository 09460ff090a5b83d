// formats/vision/vision_config.h - the numbers of a vision part from the config.json files of a Hugging Face folder. Private to formats/vision/.
#ifndef RN_FORMATS_VISION_VISION_CONFIG_H
#define RN_FORMATS_VISION_VISION_CONFIG_H

#include "formats/folder/folder.h"
#include "formats/vision/vision_files.h"

struct vision_config {
    const char *tower_sub, *projector_sub; // folders of their weights, inside the model's; NULL: the model's own
    const char *projector;                 // its architecture; static
    int32_t n_text;                        // width of the text model
    float projector_eps;                   // of its norm; 0: PyTorch's own
    bool has_post_norm;                    // features are behind the tower's last norm
    const struct vision_marks
        *marks; // where the folder has a processor, which writes them; else they are the prompt's own. NULL: none
    bool can_lack_processor; // a folder without one: a picture is resized to the tower's square, as SigLIP's is
};

// Reads config.json of the folder and of its subfolders; fills v's info and the hyper-parameters of v->tower. f: of v->tower. RN_E_UNSUPPORTED:
// a family, tower, projector or layer that is not supported, by name.
rn_status vision_config_read(const struct folder *f, struct vision_files *v, struct vision_config *out,
                             rn_error *err);

// Why a family that sees does not here, by the class in `architectures`; NULL: it is not known.
const char *vision_refusal_reason(const struct json_node *class_name);

#endif
