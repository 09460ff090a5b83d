// tokenizer/end_tokens.c - the tokens that end a text: those that the file names, and control
// tokens with a known spelling.
//
// Files often name only one of several end tokens: a chat model's end of turn differs from its
// tokenizer's end of text, and generation would then run on to the limit. Only control tokens
// count: a user-defined `</s>` is ordinary text.
#include "tokenizer/vocab.h"
#include <string.h>

// End tokens of published model families; no family uses any of them within a text.
static const char *const end_spellings[] = {
    "</s>",                  // SentencePiece's default: Llama 1 and 2, Mistral
    "<eos>",                 // Gemma
    "<|endoftext|>",         // GPT-2, Qwen, Phi, StarCoder, SmolLM
    "<|end_of_text|>",       // Llama 3, Granite
    "<|eot_id|>",            // Llama 3: end of turn
    "<|eom_id|>",            // Llama 3: end of message, a tool result follows
    "<|eot|>",               // Llama 4
    "<|eom|>",               // Llama 4
    "<EOT>",                 // Code Llama
    "[EOT]",                 // Kimi
    "[EOS]",                 // Kimi
    "<|im_end|>",            // ChatML: Qwen, SmolLM, Yi
    "<|end|>",               // Phi-3
    "<|return|>",            // GPT-OSS: the final answer is complete
    "<|call|>",              // GPT-OSS: a tool result follows
    "<end_of_turn>",         // Gemma 1 to 3
    "<turn|>",               // Gemma 4
    "<|END_OF_TURN_TOKEN|>", // Command R
    "[|endofturn|]",         // Exaone
    "<|endofturn|>",         // HyperCLOVA
    "<end_of_utterance>",    // SmolVLM, Idefics
    "<｜end▁of▁sentence｜>", // DeepSeek: full-width bars, U+2581 for spaces
};

static bool is_spelled(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

static bool is_end_spelling(struct vocab_str s) {
    for (size_t i = 0; i < sizeof end_spellings / sizeof *end_spellings; i++)
        if (is_spelled(s, end_spellings[i])) return true;
    return false;
}

// In GPT-OSS's format <|end|> ends a message, such as reasoning, and the next message follows;
// <|return|> and <|call|> end the answer.
static bool has_messages(const struct vocab *v) {
    bool has_return = false, has_call = false;
    for (int32_t id = 0; id < v->n_tokens; id++) {
        if (v->tokens[id].kind != TOKEN_CONTROL) continue;
        has_return |= is_spelled(v->tokens[id].text, "<|return|>");
        has_call |= is_spelled(v->tokens[id].text, "<|call|>");
    }
    return has_return && has_call;
}

int vocab_end_tokens(const struct vocab *v, int32_t *ids, int max) {
    const bool end_goes_on = has_messages(v);
    int n = 0;
    int32_t k = 0; // v->end[0..k) are less than id
    for (int32_t id = 0; id < v->n_tokens && n < max; id++) {
        const bool listed = k < v->n_end && v->end[k] == id;
        const bool named = listed || id == v->eos || id == v->eot || id == v->eom;
        k += listed;
        const struct vocab_str s = v->tokens[id].text;
        const bool ends =
            v->tokens[id].kind == TOKEN_CONTROL && is_end_spelling(s) && !(end_goes_on && is_spelled(s, "<|end|>"));
        if (named || ends) ids[n++] = id;
    }
    for (; k < v->n_end && n < max; k++) ids[n++] = v->end[k];
    return n;
}
