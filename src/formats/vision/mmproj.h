// formats/vision/mmproj.h - the vision part of a model as llama.cpp writes it: a GGUF file of the architecture "clip", mmproj-MODEL.gguf.
//
// What such a file says nothing of are the processor's rules and the token for pictures. convert/ puts them there under keys of runnel's own, which
// others ignore; without them a family's usual ones hold.
#ifndef RN_FORMATS_VISION_MMPROJ_H
#define RN_FORMATS_VISION_MMPROJ_H

#include "formats/vision/vision_files.h"

// preprocessor_config.json as text; the token; activations that llama.cpp has no key for; LLaVA-OneVision's bound of a map.
#define MMPROJ_PROCESSOR   "runnel.vision.preprocessor_config"
#define MMPROJ_TOKEN       "runnel.vision.image_token"
#define MMPROJ_TOWER       "runnel.vision.tower"
#define MMPROJ_PROJECTOR   "runnel.vision.projector"
#define MMPROJ_MOST_TILES  "runnel.vision.most_tiles"
#define MMPROJ_VIDEO_TOKEN "runnel.vision.video_token"
#define MMPROJ_VIDEO_MIN                                                                                             \
    "runnel.vision.video_min_pixels" // of frames of a video, where they are not those of pictures
#define MMPROJ_VIDEO_MAX  "runnel.vision.video_max_pixels"
#define MMPROJ_PER_SECOND "runnel.vision.tokens_per_second" // Qwen2.5-VL's steps of time
#define MMPROJ_EPS        "runnel.vision.projector_epsilon" // where it is not the tower's
#define MMPROJ_BREAK                                                                                                 \
    "v.token_embd.img_break" // Pixtral's: the text model's embedding of [IMG_BREAK], which others read
#define MMPROJ_DEEPSTACK    "v.deepstack.%" PRId32 "." // front of what projects the features of a layer
#define MMPROJ_PATCH_SECOND "v.patch_embd.weight.1"    // of the second of two equal frames

// The forms of llama.cpp that families have.
struct mmproj_kind {
    const char *family;    // struct vision_info.family
    const char *projector; // clip.projector_type
    const char *token;     // its usual token for pictures
    bool is_linear;        // one matrix
    bool has_means;        // a norm and a matrix over means of neighbours; the matrix has inputs as rows in the file
    bool is_pixtral;       // its tower, whose heads have their pairs side by side in the file
    bool is_internvit;     // its tower, and a norm and two matrices over neighbours
    bool has_windows;      // Qwen2.5-VL's tower
    bool has_frames;       // patches of two equal frames, a convolution for each
    bool has_places;       // Qwen3-VL's: places that are interpolated, and features of several layers
    bool is_map;           // VISION_AS_MAP
};
// Names of such a projector's tensors in the file, behind that, and here.
struct mmproj_deepstack_name {
    const char *file, *own;
};
enum { MMPROJ_N_DEEPSTACK_NAMES = 3 };
extern const struct mmproj_deepstack_name mmproj_deepstack_names[MMPROJ_N_DEEPSTACK_NAMES];
const struct mmproj_kind *mmproj_kind_of(const char *family); // NULL: llama.cpp has no form for it
// A tensor's name with this projector in the file and here, as fronts of names. NULL: name has none of them. in_file: name is one of the file's.
struct mmproj_name {
    const char *projector, *file, *own;
};
const struct mmproj_name *mmproj_name_of(const struct mmproj_kind *kind, const char *name, bool in_file);

/**
 * Open such a file.
 *
 * @param out  zeros where it fails.
 * @return RN_E_UNSUPPORTED: no file of pictures, or a projector that is not supported, by name; RN_E_FORMAT; RN_E_IO; RN_E_LIMIT; RN_E_NOMEM.
 */
rn_status mmproj_open(const char *path, struct vision_files *out, rn_error *err);
// The same for bytes of the caller, which must outlive it.
rn_status mmproj_from_bytes(const char *name, const uint8_t *data, size_t n, struct vision_files *out, rn_error *err);

#endif
