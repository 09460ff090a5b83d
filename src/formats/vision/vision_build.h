// formats/vision/vision_build.h - what the readers of vision parts share. Private to formats/vision/.
#ifndef RN_FORMATS_VISION_VISION_BUILD_H
#define RN_FORMATS_VISION_VISION_BUILD_H

#include "formats/vision/vision_config.h"

// A tower's hyper-parameters into p, which has none: what follows from those that a file has. Of n_layer layers so many run that features are
// hidden_states[feature_layer].
rn_status vision_set_tower(struct package *p, struct hparams *h, const char *arch, const struct vision_info *info,
                           int32_t n_layer, int64_t feature_layer, rn_error *err);
// Layers whose bit in `all` is not set attend within windows.
void vision_set_windows(struct package *p, const bool *sees_all);
// Patches of pictures of `side` pixels; is_any: of any size, in blocks, two frames each. v has their size. RN_E_LIMIT.
rn_status vision_set_grid(struct vision_info *v, int32_t side, bool is_any, rn_error *err);
const struct vision_marks *vision_marks_of(const char *family); // NULL: it has none
// Packages for v->info.n_deepstack projectors.
rn_status vision_create_deepstack(struct vision_files *v, const char *path, rn_error *err);
// The projectors', which follow from its tensors; one matrix alone is the second.
rn_status vision_set_projector(struct vision_files *v, const struct vision_config *c, rn_error *err);
// The processor's patches are those of the tower, and not more than these.
rn_status vision_fit_pipeline(struct vision_files *v, rn_error *err);

#endif
