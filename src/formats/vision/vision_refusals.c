// formats/vision/vision_refusals.c - families that see, but not here, by the class of their folders, and why.
#include "formats/vision/vision_config.h"

static const struct {
    const char *class_name, *why;
} left_out[] = {
    {"InternVLChatModel",
     "InternVL in OpenGVLab's own layout; transformers' is read (InternVLForConditionalGeneration)"},
    {"MiniCPMV",
     "MiniCPM-V's resampler attends to patches with learned queries, which towers here have no program for"},
    {"MiniCPMO",
     "MiniCPM-o's resampler attends to patches with learned queries, which towers here have no program for"},
    {"Phi3VForCausalLM", "Phi-3 vision joins tiles to a map with learned separators before its projector"},
    {"Phi4MMForCausalLM",
     "Phi-4 multimodal reads pictures with adapters of its text model that are switched on by them"},
    {"Phi4MultimodalForCausalLM",
     "Phi-4 multimodal reads pictures with adapters of its text model that are switched on by them"},
    {"MllamaForConditionalGeneration",
     "Llama 3.2 vision attends to pictures from layers of their own (cross attention)"},
    {"HfMoondream", "Moondream's views overlap and are put together behind the tower"},
    {"Glm4vForConditionalGeneration",
     "GLM-4V's tower interpolates places bicubically and merges patches by a convolution"},
    {"Glm4vMoeForConditionalGeneration",
     "GLM-4V's tower interpolates places bicubically and merges patches by a convolution"},
    {"KimiVLForConditionalGeneration", "Kimi-VL's tower interpolates places bicubically"},
    {"Gemma4ForConditionalGeneration", "Gemma 4's tower, which pools patches by their places, has no program here"},
    {"Gemma3nForConditionalGeneration", "Gemma 3n's tower is a convolutional network (MobileNet)"},
    {"Llama4ForConditionalGeneration",
     "Llama 4's tower, which shuffles pixels before its adapter, has no program here"},
    {"PaliGemmaForConditionalGeneration", "PaliGemma's text model reads its whole prompt in both directions"},
    {"Idefics2ForConditionalGeneration", "Idefics2's resampler attends to patches with learned queries"},
    {"DeepseekVLV2ForCausalLM", "DeepSeek-VL2 joins tiles to a map with learned separators"},
    {"DeepseekOCRForCausalLM", "DeepSeek-OCR has two towers, one behind the other"},
};

const char *vision_refusal_reason(const struct json_node *class_name) {
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (json_is(class_name, left_out[i].class_name)) return left_out[i].why;
    return NULL;
}
