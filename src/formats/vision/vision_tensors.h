// formats/vision/vision_tensors.h - the tensors of a vision part in a Hugging Face folder, by llama.cpp's names. Private to formats/vision/.
#ifndef RN_FORMATS_VISION_VISION_TENSORS_H
#define RN_FORMATS_VISION_VISION_TENSORS_H

#include "formats/folder/folder.h"
#include "formats/vision/vision_config.h"

enum vision_part { VISION_TOWER, VISION_PROJECTOR, VISION_DEEPSTACK };

// Adds to f's package what belongs to the part in the weight files of its folder; what no part uses is left out. number: of a part of which there are several. RN_E_FORMAT: a tensor that is unknown in a folder of
// the part alone, or of the wrong shape; RN_E_UNSUPPORTED: a type that is not read; and those of folder_open_weights().
rn_status vision_tensors_load(const struct folder *f, enum vision_part part, int32_t number,
                              const struct vision_config *c, rn_error *err);
// Gemma 3's projector: the matrix mm.2.weight of files has inputs as rows. adds_one: the norm's weights lack 1.
rn_status vision_turn_matrix(struct package *projector, bool adds_one, rn_error *err);
// Mistral 3's: columns of mm.patch_merger.weight go number by number through all merged patches in files, patch by patch here.
rn_status vision_order_merger(struct package *projector, int32_t n_merge, rn_error *err);

#endif
