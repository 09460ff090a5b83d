// tokenizer/pre_patterns.c - the table of published patterns.
#include "tokenizer/pre_patterns.h"
#include <string.h>

// Radford et al. 2019, the published encoder of GPT-2.
#define GPT2_WORDS "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define DIGIT      "\\p{N}"
// Behind ByteLevel each byte is a character: of those above 0x7f, which stand for themselves or for letters, six are numbers.
#define BYTE_DIGITS  "[0-9\\xB2\\xB3\\xB9\\xBC-\\xBE]+"
#define DIGIT_THREES "[0-9][0-9][0-9]"

// The parts that most patterns since cl100k_base consist of.
#define SUFFIX "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LETTER "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#define LLAMA3_WORDS  SUFFIX "|" LETTER "|\\p{N}{1,3}|" SIGNS "|" SPACES
#define MINICPM_WORDS SUFFIX "|" LETTER "|\\p{N}+|" SIGNS "|" SPACES
#define QWEN2_WORDS   SUFFIX "|" LETTER "|\\p{N}|" SIGNS "|" SPACES
#define TURKISH_WORDS LETTER "|\\p{N}|" SIGNS "|" SPACES
#define QWEN35_WORDS                                                                                                 \
    SUFFIX "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES

// o200k_base: a word ends where a lower-case letter is followed by an upper-case one.
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define ONE   "[^\\r\\n\\p{L}\\p{N}]?"
#define GPT4O_WORDS                                                                                                  \
    ONE UPPER "*" LOWER "+" SUFFIX "?|" ONE UPPER "+" LOWER "*" SUFFIX "?|\\p{N}{1,3}"                               \
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES
#define TEKKEN_WORDS ONE UPPER "*" LOWER "+|" ONE UPPER "+" LOWER "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES

#define BAILING_WORDS                                                                                                \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|"      \
    "\\s+(?!\\S)|\\s+"
#define SEED_WORDS  SUFFIX "|" LETTER "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
#define BLOOM_WORDS " ?[^(\\s|.,!?…。，、।۔،)]+"

// DeepSeek: letters of cased scripts by range, full-width signs, ideographs and neighbours.
#define DEEPSEEK_LETTERS                                                                                                                                   \
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-"                                                    \
    "ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ"     \
    "-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ" \
    "-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
#define DEEPSEEK_SIGNS "\\s?[!-/:-~！-／：-～‘-‟　-。]+"
#define IDEOGRAPHS     "[一-龥ࠀ-一가-퟿]+"
#define DEEPSEEK_V3_WORDS                                                                                            \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                \
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

// ASCII symbols count as punctuation too.
#define PUNCTUATION "[\\p{P}$+<=>^`|~]"

// \w of Rust's expressions (Unicode, technical standard 18, annex C).
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"

const char pre_gpt2_words[] = GPT2_WORDS;
const char pre_digit[] = DIGIT;
const char pre_digits[] = DIGIT "+";
const char pre_byte_digits[] = BYTE_DIGITS;
const char pre_punctuation[] = PUNCTUATION;
const char pre_punctuation_run[] = PUNCTUATION "+";
const char pre_white_space[] = "\\s";
const char pre_words_and_symbols[] = "[" WORD "]+|[^" WORD "\\s]+";

// A rule with several names has a row for each name, as found in GGUF files. Messages use the first name of a rule.
#define PRE_ROWS(ROW)                                                                                                \
    ROW("gpt-2", false, GPT2_WORDS)                                                                                  \
    ROW("phi-2", false, GPT2_WORDS)                                                                                  \
    ROW("mpt", false, GPT2_WORDS)                                                                                    \
    ROW("olmo", false, GPT2_WORDS)                                                                                   \
    ROW("jais", false, GPT2_WORDS)                                                                                   \
    ROW("jina-es", false, GPT2_WORDS)                                                                                \
    ROW("jina-de", false, GPT2_WORDS)                                                                                \
    ROW("jina-v2-es", false, GPT2_WORDS)                                                                             \
    ROW("jina-v2-de", false, GPT2_WORDS)                                                                             \
    ROW("gigachat", false, GPT2_WORDS)                                                                               \
    ROW("a.x-4.0", false, GPT2_WORDS)                                                                                \
    ROW("mellum", false, GPT2_WORDS)                                                                                 \
    ROW("modern-bert", false, GPT2_WORDS)                                                                            \
    ROW("exaone4", false, GPT2_WORDS)                                                                                \
    ROW("trillion", false, GPT2_WORDS)                                                                               \
    ROW("granite-docling", false, GPT2_WORDS)                                                                        \
    ROW("smollm", false, DIGIT, GPT2_WORDS)                                                                          \
    ROW("starcoder", false, DIGIT, GPT2_WORDS)                                                                       \
    ROW("refact", false, DIGIT, GPT2_WORDS)                                                                          \
    ROW("command-r", false, DIGIT, GPT2_WORDS)                                                                       \
    ROW("codeshell", false, DIGIT, GPT2_WORDS)                                                                       \
    ROW("exaone", false, DIGIT, GPT2_WORDS)                                                                          \
    ROW("minerva-7b", false, DIGIT, GPT2_WORDS)                                                                      \
    ROW("mellum2", false, DIGIT, GPT2_WORDS)                                                                         \
    ROW("llama-bpe", true, LLAMA3_WORDS)                                                                             \
    ROW("llama3", true, LLAMA3_WORDS)                                                                                \
    ROW("llama-v3", true, LLAMA3_WORDS)                                                                              \
    ROW("falcon3", true, LLAMA3_WORDS)                                                                               \
    ROW("falcon-h1", true, LLAMA3_WORDS)                                                                             \
    ROW("pixtral", true, LLAMA3_WORDS)                                                                               \
    ROW("midm-2.0", true, LLAMA3_WORDS)                                                                              \
    ROW("lfm2", true, LLAMA3_WORDS)                                                                                  \
    ROW("jina-v5-nano", true, LLAMA3_WORDS)                                                                          \
    ROW("dbrx", false, LLAMA3_WORDS)                                                                                 \
    ROW("smaug-bpe", false, LLAMA3_WORDS)                                                                            \
    ROW("glm4", false, LLAMA3_WORDS)                                                                                 \
    ROW("chatglm-bpe", false, LLAMA3_WORDS)                                                                          \
    ROW("minicpm5", true, "\\p{N}{1,3}", MINICPM_WORDS)                                                              \
    ROW("qwen2", false, QWEN2_WORDS)                                                                                 \
    ROW("deepseek-r1-qwen", false, QWEN2_WORDS)                                                                      \
    ROW("kormo", false, QWEN2_WORDS)                                                                                 \
    ROW("f2llmv2", false, QWEN2_WORDS)                                                                               \
    ROW("megrez", false, QWEN2_WORDS)                                                                                \
    ROW("stablelm2", false, QWEN2_WORDS)                                                                             \
    ROW("hunyuan", false, QWEN2_WORDS)                                                                               \
    ROW("solar-open", false, QWEN2_WORDS)                                                                            \
    ROW("grok-2", false, QWEN2_WORDS)                                                                                \
    ROW("qwen35", false, QWEN35_WORDS)                                                                               \
    ROW("ufakzeka", false, TURKISH_WORDS)                                                                            \
    ROW("gpt-4o", false, GPT4O_WORDS)                                                                                \
    ROW("llama4", false, GPT4O_WORDS)                                                                                \
    ROW("kanana2", false, GPT4O_WORDS)                                                                               \
    ROW("talkie", false, GPT4O_WORDS)                                                                                \
    ROW("minimax-m2", false, GPT4O_WORDS)                                                                            \
    ROW("tekken", true, TEKKEN_WORDS)                                                                                \
    ROW("deepseek-llm", false, "[\r\n]", DEEPSEEK_LETTERS, DEEPSEEK_SIGNS, "\\s+$", IDEOGRAPHS, DIGIT)               \
    ROW("deepseek-coder", false, "[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", IDEOGRAPHS, DIGIT)                          \
    ROW("deepseek-v3", false, "\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3_WORDS)                          \
    ROW("hunyuan-dense", false, "\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3_WORDS)                        \
    ROW("joyai-llm", false, "\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3_WORDS)                            \
    ROW("hy_v4", false, "\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3_WORDS)                                \
    ROW("falcon", false, PUNCTUATION "+", GPT2_WORDS, BYTE_DIGITS, DIGIT_THREES)                                     \
    ROW("default", false, "[\\p{P}$+<=>^~|]+", GPT2_WORDS, DIGIT "+", "[0-9][0-9][0-9]")                             \
    ROW("bailingmoe", false, BAILING_WORDS)                                                                          \
    ROW("bailingmoe2", false, BAILING_WORDS)                                                                         \
    ROW("llada-moe", false, BAILING_WORDS)                                                                           \
    ROW("seed-coder", false, SEED_WORDS)                                                                             \
    ROW("bloom", false, BLOOM_WORDS)                                                                                 \
    ROW("poro-chat", false, BLOOM_WORDS)                                                                             \
    ROW("gpt3-finnish", false, BLOOM_WORDS)                                                                          \
    ROW("viking", false, BLOOM_WORDS, DIGIT)

static const struct pre_row pre_rows[] = {
#define ROW(name, whole, ...) {name, whole, {__VA_ARGS__}},
    PRE_ROWS(ROW)
#undef ROW
};
enum { N_ROWS = sizeof pre_rows / sizeof *pre_rows };

static bool is_str(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

const struct pre_row *pre_row_find(struct vocab_str name) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (is_str(name, pre_rows[i].name)) return &pre_rows[i];
    return NULL;
}

struct split_step pre_row_step(const struct pre_row *row, int i) {
    const char *const text = row->patterns[i];
    bool on_bytes = false;
    for (int k = 0; k <= i; k++) on_bytes = on_bytes || strcmp(row->patterns[k], BYTE_DIGITS) == 0;
    return (struct split_step){.pattern = {text, (uint32_t)strlen(text)}, .is_regex = true, .on_bytes = on_bytes};
}

static bool is_step(const struct split_step *s, const struct pre_row *row, int i) {
    const struct split_step of_row = pre_row_step(row, i);
    return s->is_regex && !s->invert && s->behavior == SPLIT_ISOLATED && s->on_bytes == of_row.on_bytes &&
           is_str(s->pattern, row->patterns[i]);
}

const struct pre_row *pre_row_of(const struct split_step *splits, int n_splits, bool takes_whole_words) {
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct pre_row *const row = &pre_rows[i];
        int n = 0;
        while (n < n_splits && n < PRE_MAX_STEPS && row->patterns[n] && is_step(&splits[n], row, n)) n++;
        const bool all = n == n_splits && n > 0 && (n == PRE_MAX_STEPS || !row->patterns[n]);
        if (all && row->takes_whole_words == takes_whole_words) return row;
    }
    return NULL;
}

const char *const *pre_names(void) {
#define NAME(name, ...) name,
    static const char *const names[] = {PRE_ROWS(NAME) NULL};
#undef NAME
    return names;
}

static bool same_rule(const struct pre_row *a, const struct pre_row *b) {
    bool same = a->takes_whole_words == b->takes_whole_words;
    for (int i = 0; same && i < PRE_MAX_STEPS && (a->patterns[i] || b->patterns[i]); i++)
        same = a->patterns[i] && b->patterns[i] && strcmp(a->patterns[i], b->patterns[i]) == 0;
    return same;
}

const char *pre_rule_name(size_t i) {
    for (size_t k = 0; k < N_ROWS; k++) {
        size_t first = 0;
        while (!same_rule(&pre_rows[first], &pre_rows[k])) first++;
        if (first == k && i-- == 0) return pre_rows[k].name;
    }
    return NULL;
}
