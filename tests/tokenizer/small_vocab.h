// tests/tokenizer/small_vocab.h - vocabularies small enough to follow by hand, for tests and fuzz targets.
//
// Ownership: everything points into one static struct, filled on first use; one thread at a time.
#ifndef RN_TESTS_TEXT_SMALL_VOCAB_H
#define RN_TESTS_TEXT_SMALL_VOCAB_H

#include "text/utf8.h"
#include "tokenizer/vocab.h"
#include <stdio.h>
#include <string.h>

#define SMALL_MAX_TOKENS 320

struct small_vocab {
    struct vocab v;
    struct vocab_token tokens[SMALL_MAX_TOKENS];
    struct vocab_str merges[32];
    char spelled[256][8];
};

static inline struct vocab_str str_of(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

static inline int32_t small_add(struct small_vocab *sv, const char *text, float score, enum token_kind kind) {
    sv->tokens[sv->v.n_tokens] = (struct vocab_token){str_of(text), score, kind};
    return sv->v.n_tokens++;
}

static inline void small_begin(struct small_vocab *sv, enum vocab_model model, const char *pre) {
    memset(sv, 0, sizeof *sv);
    sv->v = (struct vocab){.model = model, .pre = str_of(pre), .tokens = sv->tokens, .merges = sv->merges};
    sv->v.bos = sv->v.eos = sv->v.eot = sv->v.eom = sv->v.unk = sv->v.pad = -1;
}

// GPT-2's alphabet written down a second time: the 188 printable bytes map to themselves, the others follow from
// U+0100 on.
static inline uint32_t small_alphabet(int byte) {
    uint32_t next = 0x100;
    for (int b = 0; b <= byte; b++) {
        const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
        if (b == byte) return printable ? (uint32_t)b : next;
        next += !printable;
    }
    return 0;
}

// Tokens of all bytes but one, spelled as GGUF files spell them, tokens that begin like others or are equal, and those that no text has.
static inline void small_longest(struct small_vocab *sv) {
    static const char *const more[] = {"th",   "the", " the ", "the \\n", "\\n\\n", "\\xe2\\x80", "\\\\\\\\",
                                       "it's", "ab",  "abcde", "bc",      "<s",     "a\\x00b",    "th"};
    small_begin(sv, VOCAB_LONGEST, "");
    sv->v.bos = sv->v.eos = small_add(sv, "<s>", 0, TOKEN_CONTROL);
    for (int b = 0; b < 255; b++) {
        snprintf(sv->spelled[b], sizeof sv->spelled[b], b >= ' ' && b < 0x7f && b != '\\' ? "%c" : "\\x%02x", b);
        small_add(sv, sv->spelled[b], 0, TOKEN_NORMAL);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) small_add(sv, more[i], 0, TOKEN_NORMAL);
    small_add(sv, "<t\\x61g>", 0, TOKEN_USER_DEFINED);
    small_add(sv, "[PAD]", 0, TOKEN_UNUSED);
}

// The 288 tokens of the shared small models: id = byte, then 16 merges, then control tokens.
static inline void small_bpe(struct small_vocab *sv, const char *pre) {
    static const char *const joined[] = {"\xC4\xA0t",
                                         "he",
                                         "in",
                                         "an",
                                         "on",
                                         "er",
                                         "\xC4\xA0"
                                         "a",
                                         "\xC4\xA0the",
                                         "re",
                                         "or",
                                         "en",
                                         "st",
                                         "and",
                                         "ing",
                                         "\xC4\xA0"
                                         "and",
                                         "ll"};
    static const char *const merges[] = {"\xC4\xA0 t", "h e",          "i n",          "a n", "o n", "e r",
                                         "\xC4\xA0 a", "\xC4\xA0t he", "r e",          "o r", "e n", "s t",
                                         "an d",       "in g",         "\xC4\xA0 and", "l l"};
    static const char *const controls[] = {
        "<s>",           "</s>",       "<pad>",   "<unk>",       "<|im_start|>", "<|im_end|>", "<image>",  "<|user|>",
        "<|assistant|>", "<|system|>", "<|end|>", "<tool_call>", "</tool_call>", "<think>",    "</think>", "<|eot|>"};
    small_begin(sv, VOCAB_BPE, pre);
    for (int byte = 0; byte < 256; byte++) {
        utf8_encode(small_alphabet(byte), sv->spelled[byte]);
        small_add(sv, sv->spelled[byte], 0, TOKEN_NORMAL);
    }
    for (int i = 0; i < 16; i++) small_add(sv, joined[i], 0, TOKEN_NORMAL);
    for (int i = 0; i < 16; i++) small_add(sv, controls[i], 0, TOKEN_CONTROL);
    for (int i = 0; i < 16; i++) sv->merges[sv->v.n_merges++] = str_of(merges[i]);
    sv->v.bos = 272, sv->v.eos = 273;
}

enum { SPM_UNK, SPM_BOS, SPM_EOS, SPM_BYTE_0, SPM_SPACE = SPM_BYTE_0 + 256 }; // ids of small_spm()

static inline void small_spm(struct small_vocab *sv) {
    // U+2581 is a space. Scores fall with the id as in trained vocabularies, but for two that tie.
    static const struct {
        const char *text;
        float score;
    } normal[] = {
        {"\xE2\x96\x81", -1},
        {"a", -40},
        {"b", -41},
        {"c", -42},
        {"d", -43},
        {"s", -44},
        {"<", -45},
        {">", -46},
        {"/", -47},
        {"ab", -2},
        {"\xE2\x96\x81"
         "a",
         -3},
        {"bc", -4},
        {"cd", -4},
        {"abc", -5},
        {"\xE2\x96\x81"
         "ab",
         -6},
        {"\xE2\x96\x81\xE2\x96\x81", -7},
        {"<s", -8},
        {"s>", -9},
        {"aa", -10},
        {"aaaa", -11},
        {"\xE2\x96\x81"
         "abcd",
         -12},
        {"\xC3\xA9", -50},
        {"\xE4\xBD\xA0", -51},
        {"\xC3\xA9\xC3\xA9", -13},
        {"\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81", -14},
        {"das", -15},
    };
    small_begin(sv, VOCAB_SPM, "default");
    small_add(sv, "<unk>", 0, TOKEN_UNKNOWN);
    small_add(sv, "<s>", 0, TOKEN_CONTROL);
    small_add(sv, "</s>", 0, TOKEN_CONTROL);
    for (int byte = 0; byte < 256; byte++) {
        snprintf(sv->spelled[byte], sizeof sv->spelled[byte], "<0x%02X>", byte);
        small_add(sv, sv->spelled[byte], 0, TOKEN_BYTE);
    }
    for (size_t i = 0; i < sizeof normal / sizeof *normal; i++)
        small_add(sv, normal[i].text, normal[i].score, TOKEN_NORMAL);
    small_add(sv, "<tag>", 0, TOKEN_USER_DEFINED);
    small_add(sv, "<tag>s", 0, TOKEN_USER_DEFINED);
    small_add(sv, "<unused>", -3, TOKEN_UNUSED);
    sv->v.bos = SPM_BOS, sv->v.eos = SPM_EOS, sv->v.unk = SPM_UNK;
    sv->v.add_bos = sv->v.add_space_prefix = sv->v.has_byte_tokens = true;
}

#endif
