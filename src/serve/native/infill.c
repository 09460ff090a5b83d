// serve/native/infill.c - see infill.h.
#include "serve/native/infill.h"
#include <stdio.h>
#include <string.h>

enum { PREFIX, SUFFIX, MIDDLE, FILE_BEGIN, N_TOKENS };

// DeepSeek's bars and blanks.
#define BAR   "\xef\xbd\x9c"
#define BLANK "\xe2\x96\x81"

static const char *const spellings[][N_TOKENS] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>"}, // Qwen 2.5 Coder, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<file_sep>"},         // StarCoder 2, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>", NULL},                 // SantaCoder, Refact
    {"<" BAR "fim" BLANK "begin" BAR ">", "<" BAR "fim" BLANK "hole" BAR ">", "<" BAR "fim" BLANK "end" BAR ">",
     NULL},
    {BLANK "<PRE>", BLANK "<SUF>", BLANK "<MID>", NULL},             // Code Llama
    {"[PREFIX]", "[SUFFIX]", "[MIDDLE]", NULL},                      // Codestral
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", NULL}, // GLM 4
};

bool infill_add_extra(infill *f, const json_item *value, char *why) {
    const json_item *const text = json_item_member(value, "text"), *const name = json_item_member(value, "filename");
    if (f->n_extra == INFILL_EXTRA) {
        snprintf(why, JSON_WHY / 2, "more than %d texts", INFILL_EXTRA);
        return false;
    }
    if (!text) {
        snprintf(why, JSON_WHY / 2, "must be objects with a text");
        return false;
    }
    f->extra[f->n_extra].name = (json_span){"unknown", strlen("unknown")};
    if (!json_item_text(text, &f->extra[f->n_extra].text, why)) return false;
    if (name && !json_item_text(name, &f->extra[f->n_extra].name, why)) return false;
    f->n_extra++;
    return true;
}

// The control tokens that are spelled so; -1: there is none.
static rn_status find_tokens(const rn_model *m, const char *const texts[N_TOKENS], int32_t tokens[N_TOKENS],
                             rn_error *err) {
    for (size_t i = 0; i < N_TOKENS; i++) {
        int32_t *ids = NULL;
        size_t n = 0;
        tokens[i] = -1;
        if (!texts[i]) continue;
        const rn_status st = rn_tokenize(m, texts[i], strlen(texts[i]), false, true, &ids, &n, err);
        if (st != RN_OK) return st;
        if (n == 1) tokens[i] = ids[0];
        rn_free(ids);
    }
    return RN_OK;
}

static void add_id(infill *f, int32_t id) {
    f->ids[f->n_ids] = id;
    f->parts[f->n_parts++] = (rn_part){.kind = RN_PART_IDS, .ids = &f->ids[f->n_ids++], .n_ids = 1};
}

static void add_text(infill *f, const char *text, size_t n) {
    if (n) f->parts[f->n_parts++] = (rn_part){.kind = RN_PART_TEXT, .text = text, .n_text = n};
}

// What other files say, in front: behind the token that separates files, or as snippets, as llama-server writes them.
static void add_extra(infill *f, int32_t file) {
    static const char snippet[] = "\n\n--- snippet ---\n\n";
    for (size_t i = 0; i < f->n_extra; i++) {
        if (file >= 0) {
            add_id(f, file);
            add_text(f, f->extra[i].name.data, f->extra[i].name.n);
            add_text(f, "\n", 1);
        } else
            add_text(f, snippet, sizeof snippet - 1);
        add_text(f, f->extra[i].text.data, f->extra[i].text.n);
    }
}

bool infill_make(infill *f, const rn_model *model, const json_span *between, api_error *e) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    rn_status st = rn_model_get_info(model, &info, &err);
    for (size_t i = 0; st == RN_OK && i < sizeof spellings / sizeof *spellings; i++) {
        int32_t tokens[N_TOKENS];
        st = find_tokens(model, spellings[i], tokens, &err);
        if (st != RN_OK || tokens[PREFIX] < 0 || tokens[SUFFIX] < 0 || tokens[MIDDLE] < 0) continue;
        if (info.add_bos && info.bos >= 0) add_id(f, info.bos);
        add_extra(f, tokens[FILE_BEGIN]);
        add_id(f, tokens[PREFIX]);
        add_text(f, f->prefix.data, f->prefix.n);
        if (between) add_text(f, between->data, between->n);
        add_id(f, tokens[SUFFIX]);
        add_text(f, f->suffix.data, f->suffix.n);
        add_id(f, tokens[MIDDLE]);
        return true;
    }
    if (st != RN_OK) return api_fail_status(e, st, &err, NULL);
    return api_fail(
        e, API_UNSUPPORTED_PARAMETER, "input_suffix",
        "input_suffix: the model has no tokens for a prompt with a hole (fim_prefix, fim_suffix, fim_middle)");
}
