// engine/infill.c - prompts with a hole, from the pattern of the model's family.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "tokenizer/infill_tokens.h"
#include <string.h>

enum { MAX_FILES = 1024 };

struct range {
    size_t at, n;
};

// A prompt under construction. Texts between two tokens are tokenized together, as published tokenizers do with the whole prompt.
struct builder {
    const rn_model *m;
    const struct infill_tokens *tokens;
    const rn_infill *in;
    const rn_infill_file *file;              // of pattern `file`
    bool has_prefix, has_suffix, puts_space; // of the text since the last token
    char *text;                              // since then
    size_t n_text, text_room, n_ids, ids_room;
    int32_t *ids;
    struct range front, prefix, suffix; // of ids
    bool is_out_of_memory;
};

static bool reserve(struct builder *b, void **array, size_t *room, size_t n, size_t size) {
    if (n <= *room) return true;
    const size_t more = n < 256 ? 256 : n + n / 2;
    void *const grown = mem_realloc(*array, more * size);
    if (!grown) return b->is_out_of_memory = true, false;
    *array = grown;
    *room = more;
    return true;
}

static void add_text(struct builder *b, const char *text, size_t n) {
    void *p = b->text;
    const bool ok = reserve(b, &p, &b->text_room, b->n_text + n, 1);
    b->text = p;
    if (!ok || n == 0) return;
    memcpy(b->text + b->n_text, text, n);
    b->n_text += n;
}

static void add_ids(struct builder *b, const int32_t *ids, size_t n) {
    void *p = b->ids;
    const bool ok = reserve(b, &p, &b->ids_room, b->n_ids + n, sizeof *ids);
    b->ids = p;
    if (!ok || n == 0) return;
    memcpy(b->ids + b->n_ids, ids, n * sizeof *ids);
    b->n_ids += n;
}

// Tokenizes the text since the last token.
static rn_status end_text(struct builder *b, rn_error *err) {
    int32_t *ids = NULL;
    size_t n = 0;
    const struct range here = {b->n_ids, 0};
    rn_status st = RN_OK;
    if (b->n_text && b->puts_space)
        st = tokenizer_encode(b->m->tok, b->text, b->n_text, false, false, &ids, &n, NULL, err);
    else if (b->n_text)
        st = tokenizer_encode_more(b->m->tok, b->text, b->n_text, false, SIZE_MAX, &ids, &n, err);
    if (st == RN_OK) add_ids(b, ids, n);
    mem_free(ids);
    if (b->has_prefix) b->prefix = (struct range){here.at, n};
    if (b->has_suffix) b->suffix = (struct range){here.at, n};
    b->n_text = 0;
    b->has_prefix = b->has_suffix = b->puts_space = false;
    return st;
}

static int role_of(char c) {
    static const char letters[] = "PSMRF"; // as enum vocab_infill
    const char *const at = strchr(letters, c);
    return at ? (int)(at - letters) : -1;
}

static void add_named(struct builder *b, const char *name, size_t n, const char *otherwise) {
    if (name)
        add_text(b, name, n);
    else
        add_text(b, otherwise, strlen(otherwise));
}

static void add_letter(struct builder *b, char c, bool is_of_file) {
    const rn_infill *const in = b->in;
    switch (c) {
    case 'p':
        b->has_prefix = true;
        b->puts_space = b->tokens->format->puts_space;
        add_text(b, in->prefix, in->n_prefix);
        add_text(b, in->middle, in->n_middle);
        break;
    case 's':
        b->has_suffix = true;
        add_text(b, in->suffix, in->n_suffix);
        break;
    case 'r': add_named(b, in->repo_name, in->n_repo_name, "myproject"); break;
    case 't': add_text(b, b->file->text, b->file->n_text); break;
    case 'f':
        if (is_of_file)
            add_named(b, b->file->name, b->file->n_name, "tmp");
        else
            add_named(b, in->file_name, in->n_file_name, "filename");
        break;
    default: add_text(b, &c, 1); break;
    }
}

static rn_status add_pattern(struct builder *b, const char *pattern, bool is_named, rn_error *err) {
    rn_status st = RN_OK;
    bool is_left_out = false;
    for (const char *c = pattern; *c && st == RN_OK; c++) {
        if (*c == '[') is_left_out = !is_named;
        if (*c == ']') is_left_out = false;
        if (is_left_out || *c == '[' || *c == ']') continue;
        const int role = role_of(*c);
        if (role < 0) {
            add_letter(b, *c, b->file != NULL);
            continue;
        }
        st = end_text(b, err);
        if (st == RN_OK && b->tokens->ids[role] < 0) // of the roles, only that of the middle may be missing here
            st = fail(err, RN_E_UNSUPPORTED,
                      "infill: order psm needs a token where the middle begins, and %s's vocabulary has none",
                      b->tokens->format->family);
        if (st == RN_OK) add_ids(b, &b->tokens->ids[role], 1);
    }
    return st;
}

// The repository in front of the file with the hole. Without tokens that separate files: snippets, as llama-server writes them.
static rn_status add_front(struct builder *b, rn_error *err) {
    static const char snippet[] = "\n\n--- snippet ---\n\n";
    const int32_t *const ids = b->tokens->ids;
    const struct infill_format *const f = b->tokens->format;
    rn_status st = RN_OK;
    b->front.at = b->n_ids;
    if (ids[VOCAB_INFILL_REPO] >= 0 && ids[VOCAB_INFILL_FILE] >= 0) st = add_pattern(b, f->repo, true, err);
    for (size_t i = 0; i < b->in->n_files && st == RN_OK; i++) {
        b->file = &b->in->files[i];
        if (ids[VOCAB_INFILL_FILE] >= 0) {
            st = add_pattern(b, f->file, true, err);
        } else {
            add_text(b, snippet, sizeof snippet - 1);
            add_text(b, b->file->text, b->file->n_text);
        }
    }
    b->file = NULL;
    if (st == RN_OK && ids[VOCAB_INFILL_FILE] >= 0) st = add_pattern(b, f->named, true, err);
    if (st == RN_OK) st = end_text(b, err);
    b->front.n = b->n_ids - b->front.at;
    return st;
}

static rn_status add_all(struct builder *b, rn_infill_order order, rn_error *err) {
    const struct vocab *const v = package_vocab(b->m->pkg);
    const rn_infill *const in = b->in;
    const struct infill_format *const f = b->tokens->format;
    const bool has_front = in->n_files > 0 || in->repo_name || in->file_name;
    rn_status st = RN_OK;
    if (v->add_bos && v->bos >= 0) add_ids(b, &v->bos, 1);
    if (has_front) st = add_front(b, err);
    const bool names_file = has_front && b->tokens->ids[VOCAB_INFILL_FILE] >= 0;
    if (st == RN_OK) st = add_pattern(b, order == RN_INFILL_SPM ? f->spm : f->psm, names_file, err);
    if (st == RN_OK) st = end_text(b, err);
    if (st == RN_OK && b->is_out_of_memory) st = fail(err, RN_E_NOMEM, "infill: out of memory for the prompt");
    return st;
}

static void cut(struct builder *b, size_t at, size_t n) {
    memmove(b->ids + at, b->ids + at + n, (b->n_ids - at - n) * sizeof *b->ids);
    b->n_ids -= n;
    struct range *const behind[] = {&b->prefix, &b->suffix};
    for (size_t i = 0; i < 2; i++)
        if (behind[i]->at > at) behind[i]->at -= n;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static rn_status shorten(struct builder *b, rn_error *err) {
    const size_t most = b->in->max_ids;
    if (most == 0 || b->n_ids <= most) return RN_OK;
    cut(b, b->front.at, least(b->front.n, b->n_ids - most));
    if (b->n_ids <= most) return RN_OK;
    const size_t n_texts = b->prefix.n + b->suffix.n, n_tokens = b->n_ids - n_texts;
    if (n_tokens >= most)
        return fail(err, RN_E_LIMIT, "infill: %zu token ids have no room for prefix and suffix beside %zu others",
                    most, n_tokens);
    const size_t n_left = most - n_tokens, n_suffix = least(b->suffix.n, n_left - least(b->prefix.n, n_left * 3 / 4)),
                 n_prefix = n_left - n_suffix;
    cut(b, b->suffix.at + n_suffix, b->suffix.n - n_suffix);
    cut(b, b->prefix.at, b->prefix.n - n_prefix);
    return RN_OK;
}

// No token of such prompts is a part of a middle.
static void note_stops(const struct infill_tokens *t, rn_infill_prompt *p) {
    for (int i = 0; i < VOCAB_N_INFILL; i++)
        if (t->ids[i] >= 0) p->stop_tokens[p->n_stop_tokens++] = t->ids[i];
    if (t->end >= 0) p->stop_tokens[p->n_stop_tokens++] = t->end;
}

static rn_status find_tokens(const rn_model *m, struct infill_tokens *t, rn_error *err) {
    char names[512];
    const rn_status st = model_need_tokenizer(m, err);
    if (st != RN_OK) return fail_in(err, st, "infill");
    if (infill_tokens_find(package_vocab(m->pkg), t)) return RN_OK;
    infill_tokens_names(names, sizeof names);
    return fail(err, RN_E_UNSUPPORTED,
                "infill: the model has no tokens for a prompt with a hole: neither keys "
                "tokenizer.ggml.fim_pre_token_id, fim_suf_token_id and fim_mid_token_id, nor tokens spelled as in "
                "a known family, whose prefix is one of %s",
                names);
}

static rn_status check(const rn_infill *in, rn_error *err) {
    if ((!in->prefix && in->n_prefix) || (!in->suffix && in->n_suffix) || (!in->middle && in->n_middle) ||
        (!in->files && in->n_files))
        return fail(err, RN_E_ARG, "rn_infill_make: NULL argument");
    if ((unsigned)in->order > RN_INFILL_SPM) return fail(err, RN_E_ARG, "order: %d is unknown", (int)in->order);
    if (in->n_files > MAX_FILES) return fail(err, RN_E_ARG, "files: %zu, limit %d", in->n_files, MAX_FILES);
    return RN_OK;
}

rn_status rn_infill_make(const rn_model *model, const rn_infill *infill, rn_infill_prompt *prompt, rn_error *err) {
    rn_infill in;
    struct infill_tokens tokens;
    if (!model || !infill || !prompt) return fail(err, RN_E_ARG, "rn_infill_make: NULL argument");
    rn_status st = sized_check(&public_infill_prompt, prompt, err);
    if (st != RN_OK) return st;
    rn_infill_prompt own = {0};
    sized_write(&public_infill_prompt, &own, prompt);
    st = sized_read(&public_infill, infill, &in, err);
    if (st == RN_OK) st = check(&in, err);
    if (st == RN_OK) st = find_tokens(model, &tokens, err);
    if (st != RN_OK) return st;
    struct builder b = {.m = model, .tokens = &tokens, .in = &in};
    own.order = in.order != RN_INFILL_PUBLISHED ? in.order : tokens.format->is_spm ? RN_INFILL_SPM : RN_INFILL_PSM;
    st = add_all(&b, own.order, err);
    const size_t n_whole = b.n_ids;
    if (st == RN_OK) st = shorten(&b, err);
    mem_free(b.text);
    if (st != RN_OK) {
        mem_free(b.ids);
        return st;
    }
    own.ids = b.ids, own.n_ids = b.n_ids;
    own.n_left_out = n_whole - b.n_ids;
    own.family = tokens.format->family;
    note_stops(&tokens, &own);
    sized_write(&public_infill_prompt, &own, prompt);
    return RN_OK;
}
