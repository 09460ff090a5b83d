// text/end_tokens.c - which tokens end a text: what the file names, and control tokens whose spelling is known for it.
//
// Files often name only one of several end markers: a chat model's end of turn differs from its tokenizer's end of text,
// and the text would then run on to the limit. Only control tokens count: a user-defined `</s>` is text like any other.
#include "text/vocab.h"
#include <string.h>

// Spellings of end markers of published model families; none of them is used inside a text by any.
static const char *const end_spellings[] = {
    "</s>",                  // SentencePiece's default: Llama 1 and 2, Mistral
    "<eos>",                 // Gemma
    "<|endoftext|>",         // GPT-2, Qwen, Phi, StarCoder, SmolLM
    "<|end_of_text|>",       // Llama 3, Granite
    "<|eot_id|>",            // Llama 3: end of turn
    "<|eom_id|>",            // Llama 3: end of message, a tool answers next
    "<|eot|>",               // Llama 4
    "<|eom|>",               // Llama 4
    "<EOT>",                 // Code Llama
    "[EOT]",                 // Kimi
    "[EOS]",                 // Kimi
    "<|im_end|>",            // ChatML: Qwen, SmolLM, Yi
    "<|end|>",               // Phi-3, GPT-OSS
    "<|return|>",            // GPT-OSS: the final answer is complete
    "<|call|>",              // GPT-OSS: a tool answers next
    "<end_of_turn>",         // Gemma 1 to 3
    "<turn|>",               // Gemma 4
    "<|END_OF_TURN_TOKEN|>", // Command R
    "[|endofturn|]",         // Exaone
    "<|endofturn|>",         // HyperCLOVA
    "<end_of_utterance>",    // SmolVLM, Idefics
    "<｜end▁of▁sentence｜>", // DeepSeek: full-width bars, U+2581 for spaces
};

static bool is_end_spelling(struct vocab_str s) {
    for (size_t i = 0; i < sizeof end_spellings / sizeof *end_spellings; i++)
        if (strlen(end_spellings[i]) == s.n && memcmp(end_spellings[i], s.s, s.n) == 0) return true;
    return false;
}

int vocab_end_tokens(const struct vocab *v, int32_t *ids, int max) {
    int n = 0;
    int32_t k = 0; // v->end[0..k) are below id
    for (int32_t id = 0; id < v->n_tokens && n < max; id++) {
        const bool listed = k < v->n_end && v->end[k] == id;
        const bool named = listed || id == v->eos || id == v->eot || id == v->eom;
        k += listed;
        if (named || (v->tokens[id].kind == TOKEN_CONTROL && is_end_spelling(v->tokens[id].text))) ids[n++] = id;
    }
    for (; k < v->n_end && n < max; k++) ids[n++] = v->end[k];
    return n;
}
