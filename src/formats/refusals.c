// formats/refusals.c - see refusals.h.
#include "formats/refusals.h"
#include <stdbool.h>
#include <string.h>

static const char
    diffusion[] = "it is a diffusion model, which does not write its text from left to right",
    two_parts[] = "it is an encoder-decoder, whose decoder reads another text's rows",
    sound[] = "it makes sound, not text", pictures[] = "it reads pictures, and is a part of another model",
    rwkv[] = "RWKV's recurrence before its sixth version is not computed here",
    rwkv7[] = "of RWKV-7 the names that fla-org gives tensors are read, RWKV7ForCausalLM",
    dsa[] = "an indexer chooses the rows that its attention reads (DSA), which is not computed here",
    altup[] = "each row mixes several streams of hidden states (AltUp), which is not computed here",
    kda[] = "its delta rule, with a decay for each channel (KDA), is not computed here",
    plamo2[] =
        "its Mamba layers, of heads as Mamba-2 has them and with norms as Jamba has them, are not computed here",
    step35[] = "its activations have limits, and its heads scales, by layer, which are not computed here",
    image_tokens[] = "tokens of pictures are never written, which no key of its files says";

static const struct {
    const char *names, *reason; // names stand between spaces
} refusals[] = {
    {" dream llada llada-moe rnd1 diffusion-gemma DreamModel DreamForCausalLM LLaDAModelLM LLaDAForCausalLM "
     "LLaDAMoEModelLM RND1 DiffusionGemmaForCausalLM ",
     diffusion},
    {" t5 T5ForConditionalGeneration T5WithLMHeadModel T5Model MT5ForConditionalGeneration MT5Model "
     "UMT5ForConditionalGeneration UMT5Model BartForConditionalGeneration MBartForConditionalGeneration MarianMTModel "
     "PegasusForConditionalGeneration M2M100ForConditionalGeneration LongT5ForConditionalGeneration "
     "SwitchTransformersForConditionalGeneration WhisperForConditionalGeneration ",
     two_parts},
    {" wavtokenizer-dec ", sound},
    {" clip CLIPModel CLIPVisionModel SiglipVisionModel ", pictures},
    {" RwkvForCausalLM Rwkv5ForCausalLM ", rwkv},
    {" Rwkv7ForCausalLM ", rwkv7},
    {" glm-dsa GlmMoeDsaForCausalLM deepseek32 DeepseekV32ForCausalLM ", dsa},
    {" gemma3n Gemma3nForCausalLM Gemma3nForConditionalGeneration ", altup},
    {" kimi-linear KimiLinearForCausalLM ", kda},
    {" plamo2 Plamo2ForCausalLM ", plamo2},
    {" step35 Step3p5ForCausalLM ", step35},
    {" chameleon ChameleonForConditionalGeneration ", image_tokens},
};

static bool is_listed(const char *names, const char *name, size_t n) {
    for (const char *at = names; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, name, n) == 0 && at[1 + n] == ' ') return true;
    return false;
}

const char *refusal_at(size_t i, const char **names) {
    if (i >= sizeof refusals / sizeof *refusals) return NULL;
    *names = refusals[i].names;
    return refusals[i].reason;
}

const char *refusal_reason(const char *name, size_t n) {
    for (size_t i = 0; n > 0 && i < sizeof refusals / sizeof *refusals; i++)
        if (is_listed(refusals[i].names, name, n)) return refusals[i].reason;
    return NULL;
}
