// fuzz/fuzz_vision.c - any bytes as config.json of a folder with a vision part, where they begin with a brace; as a mmproj file, where they begin as one; else as
// the folder's weights.
#include "base/mem.h"
#include "formats/vision/mmproj.h"
#include "walk_package.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] =
    "{\"architectures\":[\"LlavaForConditionalGeneration\"],\"vision_feature_layer\":-1,\"text_config\":{\"hidden_size\":2},"
    "\"vision_config\":{\"model_type\":\"clip_vision_model\",\"hidden_size\":2,\"intermediate_size\":2,"
    "\"num_hidden_layers\":1,\"num_attention_heads\":1,\"image_size\":2,\"patch_size\":2}}";
static const char processor[] = "{\"image_processor_type\":\"SiglipImageProcessor\",\"size\":2}";
// Both matrices of a projector.
#define MATRIX(name, begin, end)                                                                                     \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[" begin "," end "]}"
static const char weights[] =
    "\xbc\0\0\0\0\0\0\0{" MATRIX("multi_modal_projector.linear_1.weight", "0", "16") "," MATRIX(
        "multi_modal_projector.linear_2.weight", "16", "32") "}  "
                                                             "12345678123456781234567812345678";
// VILA's other folders.
static const char tower_config[] = "{\"model_type\":\"siglip_vision_model\",\"hidden_size\":2,\"image_size\":32}";
static const char projector_config[] = "{\"mm_projector_type\":\"mlp_downsample\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const bool is_config = n > 0 && data[0] == '{';
    const struct package_bytes all = {"model.safetensors", is_config ? (const uint8_t *)weights : data,
                                      is_config ? sizeof weights - 1 : n};
    const struct package_bytes files[] = {
        {"config.json", is_config ? data : (const uint8_t *)config, is_config ? n : sizeof config - 1},
        all,
        {"preprocessor_config.json", (const uint8_t *)processor, sizeof processor - 1},
        {"vision_tower/config.json", (const uint8_t *)tower_config, sizeof tower_config - 1},
        {"vision_tower/model.safetensors", all.data, all.n},
        {"mm_projector/config.json", (const uint8_t *)projector_config, sizeof projector_config - 1},
        {"mm_projector/model.safetensors", all.data, all.n},
    };
    const long live = mem_live();
    struct vision_files v;
    rn_error err = {0};
    const rn_status st = n >= 4 && memcmp(data, "GGUF", 4) == 0
                             ? mmproj_from_bytes("fuzz", data, n, &v, &err)
                             : vision_files_from_bytes("fuzz", files, sizeof files / sizeof *files, &v, &err);
    must((st == RN_OK) == (v.tower != NULL && v.projector != NULL));
    if (st == RN_OK) {
        const struct package *const parts[] = {v.tower, v.projector};
        for (size_t i = 0; i < 2; i++) walk_tensors(parts[i]);
        must(vision_most_rows(&v.info) > 0 && vision_most_out(&v.info) > 0 && v.info.n_embd_out > 0);
    } else {
        must(err.text[0] != 0);
    }
    vision_files_close(&v);
    must(mem_live() == live);
    return 0;
}
