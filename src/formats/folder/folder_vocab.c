// formats/folder/folder_vocab.c - the vocabulary of a Hugging Face folder; see folder.h.
//
// tokenizer.json contains everything that is needed; older folders have SentencePiece's
// tokenizer.model instead. If both are present and describe the same tokens, tokenizer.model is
// used: GGUF needs its scores, and merges derived from them give the same ids. The tokens that
// begin and end a text are in tokenizer_config.json. T5's folders may have spiece.model alone, RWKV's
// have a text file of their own.
#include "formats/folder/folder.h"
#include "formats/limits.h"
#include "formats/vocab/rwkv_vocab.h"
#include "formats/vocab/tokenizer_json.h"
#include "formats/vocab/tokenizer_model.h"

static rn_status load_json(struct package *p, const struct package_file *file, rn_error *err) {
    return tokenizer_json_load(package_shown_path(file->path), file->map.data, file->map.size, NULL, 0, &p->arena,
                               &p->vocab, err);
}

static rn_status load_model(struct package *p, const struct package_file *file, rn_error *err) {
    return tokenizer_model_load(package_shown_path(file->path), file->map.data, file->map.size, &p->arena, &p->vocab,
                                err);
}

// T5's tokenizers put the end token behind a text, which SentencePiece's file does not say.
static rn_status load_t5_model(struct package *p, const struct package_file *file, rn_error *err) {
    const rn_status st = load_model(p, file, err);
    p->vocab.add_eos = p->vocab.eos >= 0;
    return st;
}

static rn_status load_rwkv(struct package *p, const struct package_file *file, rn_error *err) {
    return rwkv_vocab_load(package_shown_path(file->path), (const char *)file->map.data, file->map.size, &p->arena,
                           &p->vocab, err);
}

static rn_status apply_config(const struct folder *f, rn_error *err) {
    struct package_file file;
    bool found;
    rn_status st =
        folder_open_text(f, "tokenizer_config.json", FOLDER_MAX_TOKENIZER_CONFIG_BYTES, &file, &found, err);
    if (st == RN_OK && found)
        st = tokenizer_config_apply(package_shown_path(file.path), (const char *)file.map.data, file.map.size,
                                    &f->p->arena, &f->p->vocab, err);
    package_file_close(&file);
    return st;
}

// Replaces the vocabulary of tokenizer.json by that of tokenizer.model, if that file exists and has
// as many tokens.
static rn_status prefer_scores(const struct folder *f, rn_error *err) {
    struct vocab *const v = &f->p->vocab;
    const struct vocab merged = *v;
    struct package_file file;
    bool found;
    rn_status st = folder_open_text(f, "tokenizer.model", FOLDER_MAX_TOKENIZER_BYTES, &file, &found, err);
    if (st == RN_OK && found) {
        *v = (struct vocab){.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .pad = -1};
        st = load_model(f->p, &file, err);
        if (st == RN_OK && (v->model != VOCAB_SPM || v->n_tokens != merged.n_tokens)) *v = merged;
    }
    package_file_close(&file);
    return st;
}

rn_status package_folder_vocab(const struct folder *f, rn_error *err) {
    static const struct {
        const char *name;
        rn_status (*load)(struct package *p, const struct package_file *file, rn_error *err);
    } kinds[] = {{"tokenizer.json", load_json},
                 {"tokenizer.model", load_model},
                 {"spiece.model", load_t5_model},
                 {"rwkv_vocab_v20230424.txt", load_rwkv}};
    struct vocab *const v = &f->p->vocab;
    v->bos = v->eos = v->eot = v->eom = v->unk = v->pad = -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct package_file file;
        bool found;
        rn_status st = folder_open_text(f, kinds[i].name, FOLDER_MAX_TOKENIZER_BYTES, &file, &found, err);
        if (st == RN_OK && found) st = kinds[i].load(f->p, &file, err);
        package_file_close(&file);
        if (st == RN_OK && found && v->model == VOCAB_CHAR_BPE) st = prefer_scores(f, err);
        if (st != RN_OK) return st;
        if (found) return apply_config(f, err);
    }
    return RN_OK;
}
