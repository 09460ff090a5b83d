// formats/folder/hf_wrappers.c - see hf_wrappers.h. Names are from transformers' modeling files and
// from its conversion_mapping.py, which lists those of checkpoints as first published.
#include "formats/folder/hf_wrappers.h"
#include <stdbool.h>
#include <string.h>

static const struct hf_wrapper wrappers[] = {
    {"Gemma3ForConditionalGeneration", "gemma3", "gemma3_text"},
    {"Gemma4ForConditionalGeneration", "gemma4", "gemma4_text"},
    {"Mistral3ForConditionalGeneration", "mistral3", "mistral"},
    {"Llama4ForConditionalGeneration", "llama4", "llama4_text"},
    {"LlavaForConditionalGeneration", "llava", "llama"},
    {"LlavaNextForConditionalGeneration", "llava_next", "llama"},
    {"LlavaOnevisionForConditionalGeneration", "llava_onevision", "qwen2"},
    {"Idefics3ForConditionalGeneration", "idefics3", "llama"},
    {"SmolVLMForConditionalGeneration", "smolvlm", "llama"},
    {"Qwen2VLForConditionalGeneration", "qwen2_vl", "qwen2_vl_text"},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", "qwen2_5_vl_text"},
    {"Qwen3VLForConditionalGeneration", "qwen3_vl", "qwen3_vl_text"},
    {"Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", "qwen3_vl_moe_text"},
    {"Qwen3_5ForConditionalGeneration", "qwen3_5", "qwen3_5_text"},
    {"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", "qwen3_5_moe_text"},
    {"Glm4vForConditionalGeneration", "glm4v", "glm4v_text"},
    {"Glm4vMoeForConditionalGeneration", "glm4v_moe", "glm4v_moe_text"},
    {"InternVLForConditionalGeneration", "internvl", "qwen2"},
    {"Lfm2VlForConditionalGeneration", "lfm2_vl", "lfm2"},
    {"HunYuanVLForConditionalGeneration", "hunyuan_vl", "hunyuan_vl_text"},
    {"PaddleOCRVLForConditionalGeneration", "paddleocr_vl", "paddleocr_vl_text"},
    {"CogVLMForCausalLM", "cogvlm", "cogvlm_text"},
    {"DeepseekOCRForCausalLM", "deepseek_vl_v2", "deepseek_ocr_text"},
};
enum { N_WRAPPERS = sizeof wrappers / sizeof *wrappers };

const struct hf_wrapper *hf_wrapper_at(size_t i) { return i < N_WRAPPERS ? &wrappers[i] : NULL; }

static bool is(const char *s, const char *name, size_t n) { return strlen(s) == n && memcmp(s, name, n) == 0; }

const struct hf_wrapper *hf_wrapper_by_class(const char *name, size_t n) {
    size_t i = 0;
    while (i < N_WRAPPERS && !is(wrappers[i].class_name, name, n)) i++;
    return hf_wrapper_at(i);
}

const struct hf_wrapper *hf_wrapper_by_type(const char *name, size_t n) {
    size_t i = 0;
    while (i < N_WRAPPERS && !is(wrappers[i].model_type, name, n)) i++;
    return hf_wrapper_at(i);
}

const char *hf_text_name(const char *name) {
    static const char *const fronts[] = {"model.language_model.", "language_model.model.", "model.text_model.",
                                         "language_model."};
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        const size_t n = strlen(fronts[i]);
        if (strncmp(name, fronts[i], n) == 0) return name + n;
    }
    return name;
}

enum hf_part hf_part_of(const char *name) {
    static const struct {
        const char *front;
        enum hf_part part;
    } parts[] = {
        {"visual.", HF_PART_VISION},       {"vision_tower.", HF_PART_VISION},
        {"vision_model.", HF_PART_VISION}, {"multi_modal_projector.", HF_PART_VISION},
        {"connector.", HF_PART_VISION},    {"embed_vision.", HF_PART_VISION},
        {"vit.", HF_PART_VISION},          {"mlp_AR.", HF_PART_VISION},
        {"image_newline", HF_PART_VISION}, {"view_separator", HF_PART_VISION},
        {"vision.", HF_PART_VISION},       {"sam_model.", HF_PART_VISION},
        {"projector.", HF_PART_VISION},    {"view_seperator", HF_PART_VISION},
        {"audio_tower.", HF_PART_AUDIO},   {"embed_audio.", HF_PART_AUDIO},
    };
    static const char model[] = "model.";
    if (strncmp(name, model, sizeof model - 1) == 0) name += sizeof model - 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(name, parts[i].front, strlen(parts[i].front)) == 0) return parts[i].part;
    return HF_N_PARTS;
}
