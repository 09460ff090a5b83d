// tokenizer/infill_tokens.c - the table of model families.
#include "tokenizer/infill_tokens.h"
#include <stdio.h>
#include <string.h>

// DeepSeek's full-width bar; SentencePiece's space.
#define BAR   "\xef\xbd\x9c"
#define BLANK "\xe2\x96\x81"

#define TOKENS(prefix, suffix, middle, repo, file, pad)                                                              \
    {[VOCAB_INFILL_PREFIX] = prefix, [VOCAB_INFILL_SUFFIX] = suffix, [VOCAB_INFILL_MIDDLE] = middle,                 \
     [VOCAB_INFILL_REPO] = repo,     [VOCAB_INFILL_FILE] = file,     [VOCAB_INFILL_PAD] = pad}

// Where a family has published one order alone, the other is llama.cpp's: --spm-infill puts the suffix and its token first.
#define PSM   "PpSsM"
#define SPM   "SsPpM"
#define FRONT .repo = "Rr\n", .file = "Ff\nt", .named = "Ff\n"

// Of rows whose first three tokens a vocabulary has, the one counts of which it has the most tokens; the first of several.
static const struct infill_format formats[] = {
    {.family = "Qwen Coder", // 2409.12186, section 3.2.2
     .spellings =
         TOKENS("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>", "<|fim_pad|>"),
     .psm = PSM,
     .spm = SPM,
     FRONT,
     .needs_middle = true},
    {.family = "CodeGemma", // 2406.11409, section 2.1
     .spellings = TOKENS("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", NULL, "<|file_separator|>", NULL),
     .psm = PSM,
     .spm = SPM,
     FRONT,
     .needs_middle = true},
    {.family = "Granite 4",
     .spellings =
         TOKENS("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|reponame|>", "<|filename|>", "<|fim_pad|>"),
     .psm = PSM,
     .spm = SPM,
     FRONT,
     .needs_middle = true},
    {.family = "StarCoder 2", // 2402.19173, section 5.1: the name of the file is a part of the prefix
     .spellings = TOKENS("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>", "<fim_pad>"),
     .psm = "P[f\n]pSsM",
     .spm = "PSsM[f\n]p",
     .repo = "Rr",
     .file = "Ff\nt",
     .named = "F",
     .needs_middle = true},
    {.family = "StarCoder, Granite Code", // 2305.06161; suffix first: 2207.14255, "SPM variant 2"
     .spellings = TOKENS("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<reponame>", "<filename>", "<fim_pad>"),
     .psm = PSM,
     .spm = "PSsMp",
     FRONT,
     .needs_middle = true},
    {.family = "SantaCoder, Refact", // 2301.03988
     .spellings = TOKENS("<fim-prefix>", "<fim-suffix>", "<fim-middle>", NULL, NULL, "<fim-pad>"),
     .psm = PSM,
     .spm = "PSsMp",
     FRONT,
     .needs_middle = true},
    {.family = "DeepSeek Coder", // 2401.14196, section 3.1.2
     .spellings = TOKENS("<" BAR "fim" BLANK "begin" BAR ">", "<" BAR "fim" BLANK "hole" BAR ">",
                         "<" BAR "fim" BLANK "end" BAR ">", NULL, NULL, NULL),
     .psm = PSM,
     .spm = SPM,
     FRONT,
     .needs_middle = true},
    {.family = "Code Llama", // 2308.12950, section 2.3; infilling_prompt_tokens() of its code
     .spellings = TOKENS(BLANK "<PRE>", BLANK "<SUF>", BLANK "<MID>", NULL, NULL, NULL),
     .end = BLANK "<EOT>",
     .psm = PSM,
     .spm = "PSsMp",
     FRONT,
     .needs_middle = true,
     .puts_space = true},
    {.family = "Code Llama", // as converters to other vocabularies spell them
     .spellings = TOKENS("<PRE>", "<SUF>", "<MID>", NULL, NULL, NULL),
     .end = "<EOT>",
     .psm = PSM,
     .spm = "PSsMp",
     FRONT,
     .needs_middle = true,
     .puts_space = true},
    {.family = "Codestral", // encode_fim() of mistral-common: the middle follows the prefix
     .spellings = TOKENS("[PREFIX]", "[SUFFIX]", "[MIDDLE]", NULL, NULL, NULL),
     .psm = PSM,
     .spm = "SsPp",
     FRONT,
     .is_spm = true,
     .puts_space = true},
    {.family = "Seed-Coder", // 2506.03524, section 3.1
     .spellings = TOKENS("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", NULL, NULL, NULL),
     .psm = PSM,
     .spm = SPM,
     FRONT,
     .is_spm = true,
     .needs_middle = true},
    {.family = "CodeGeeX, GLM", // CodeGeeX 4's "infilling" page, there within a user's message
     .spellings = TOKENS("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", NULL, NULL, NULL),
     .psm = PSM,
     .spm = SPM,
     FRONT,
     .is_spm = true,
     .needs_middle = true},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

// Where the file names tokens that no row has.
static const struct infill_format unknown = {
    .family = "unknown", .psm = PSM, .spm = SPM, FRONT, .needs_middle = true};

static bool is_spelled(const struct vocab_token *t, const char *text) {
    return text && t->text.n == strlen(text) && memcmp(t->text.s, text, t->text.n) == 0;
}

static bool may_mark(const struct vocab_token *t) {
    if (t->kind == TOKEN_UNUSED || t->kind == TOKEN_BYTE || t->kind == TOKEN_UNKNOWN || t->text.n < 5) return false;
    const char c = t->text.s[0]; // most tokens begin otherwise
    return c == '<' || c == '[' || c == BLANK[0];
}

static bool is_complete(const struct infill_format *f, const int32_t *ids) {
    return ids[VOCAB_INFILL_PREFIX] >= 0 && ids[VOCAB_INFILL_SUFFIX] >= 0 &&
           (ids[VOCAB_INFILL_MIDDLE] >= 0 || !f->needs_middle);
}

static void take_spelled(const struct vocab *v, struct infill_tokens found[N_FORMATS]) {
    for (int32_t id = 0; id < v->n_tokens; id++) {
        if (!may_mark(&v->tokens[id])) continue;
        for (size_t i = 0; i < N_FORMATS; i++) {
            for (int k = 0; k < VOCAB_N_INFILL; k++)
                if (is_spelled(&v->tokens[id], formats[i].spellings[k])) found[i].ids[k] = id;
            if (is_spelled(&v->tokens[id], formats[i].end)) found[i].end = id;
        }
    }
}

static int count(const struct infill_tokens *t) {
    int n = t->end >= 0;
    for (int k = 0; k < VOCAB_N_INFILL; k++) n += t->ids[k] >= 0;
    return n;
}

bool infill_tokens_find(const struct vocab *v, struct infill_tokens *out) {
    struct infill_tokens found[N_FORMATS];
    static const struct infill_tokens none = {.format = &unknown, .ids = {-1, -1, -1, -1, -1, -1}, .end = -1};
    const int32_t named = v->infill[VOCAB_INFILL_PREFIX]; // of a file; 0: none
    for (size_t i = 0; i < N_FORMATS; i++) {
        found[i] = none;
        found[i].format = &formats[i];
    }
    take_spelled(v, found);
    *out = none;
    for (size_t i = 0; i < N_FORMATS; i++) {
        // A file that names its tokens has the format in which they are spelled so.
        const bool is_same = !named || found[i].ids[VOCAB_INFILL_PREFIX] == named - 1;
        if (is_same && is_complete(found[i].format, found[i].ids) && count(&found[i]) > count(out)) *out = found[i];
    }
    for (int k = 0; k < VOCAB_N_INFILL; k++)
        if (v->infill[k]) out->ids[k] = v->infill[k] - 1;
    return is_complete(out->format, out->ids);
}

void infill_tokens_names(char *out, size_t n_out) {
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < N_FORMATS && n < n_out; i++) {
        const char *const name = formats[i].spellings[VOCAB_INFILL_PREFIX];
        if (i && strcmp(name, formats[i - 1].spellings[VOCAB_INFILL_PREFIX]) == 0) continue;
        n += (size_t)snprintf(out + n, n_out - n, "%s%s", n ? ", " : "", name);
    }
}
