// engine/model_api.c - the public API of a model file: open, tokenize and detokenize, information.
#include "base/mem.h"
#include "decoding/draft/ngram_table.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include <stdio.h>
#include <string.h>

bool model_is_end_token(const rn_model *m, int32_t id) {
    for (int32_t i = 0; i < m->n_end; i++)
        if (m->end_ids[i] == id) return true;
    return false;
}

const char *model_piece(const rn_model *m, int32_t id, bool special, size_t *n) {
    *n = 0;
    return m->tok && id < package_vocab(m->pkg)->n_tokens ? tokenizer_piece(m->tok, id, special, n) : "";
}

static bool load_progress(void *user, uint64_t done, uint64_t total) {
    const rn_model_options *o = user;
    return o->progress(o->progress_user, RN_PHASE_LOAD, done, total);
}

static void count_types(rn_model *m) {
    for (size_t i = 0; i < package_n_tensors(m->pkg); i++) {
        const struct tensor_view *t = package_tensor_at(m->pkg, i);
        const char *name = tensor_type_info(t->type)->name;
        int32_t k = 0;
        while (k < m->n_types && m->types[k].type != name) k++;
        if (k == m->n_types) m->types[m->n_types++] = (rn_tensor_type_use){.type = name};
        m->types[k].n_tensors++;
        m->types[k].bytes += t->n_bytes;
        m->n_params += t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
    }
    for (int32_t i = 1; i < m->n_types; i++) // by bytes, largest first
        for (int32_t k = i; k > 0 && m->types[k].bytes > m->types[k - 1].bytes; k--) {
            const rn_tensor_type_use t = m->types[k];
            m->types[k] = m->types[k - 1], m->types[k - 1] = t;
        }
}

static rn_status name_end_tokens(rn_model *m, rn_error *err) {
    const struct vocab *v = package_vocab(m->pkg);
    m->n_end = vocab_end_tokens(v, m->end_ids, ENGINE_MAX_END);
    for (int32_t i = 0; i < m->n_end; i++) {
        const int32_t id = m->end_ids[i]; // a folder may name end tokens and have no vocabulary
        const struct vocab_str s = id < v->n_tokens ? v->tokens[id].text : (struct vocab_str){"", 0};
        m->end_text[i] = mem_strndup(s.s, s.n);
        if (!m->end_text[i]) return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(m->pkg));
        m->end[i] = (rn_end_token){id, m->end_text[i]};
    }
    return RN_OK;
}

enum { SHOWN_NAME_BYTES = 36 }; // two of them fit rn_model's tokenizer_name
static int shown(struct vocab_str s) { return s.n < SHOWN_NAME_BYTES ? (int)s.n : SHOWN_NAME_BYTES; }

static void name_tokenizer(rn_model *m) {
    const struct vocab *v = package_vocab(m->pkg);
    if (m->tokenizer_error)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "%.*s%s%.*s (not known)", shown(v->model_name),
                 v->model_name.s, v->pre.n ? " / " : "", shown(v->pre), v->pre.n ? v->pre.s : "");
    else if (!m->tok)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "none");
    else if (v->model == VOCAB_SPM)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "llama (SentencePiece BPE)");
    else if (v->model == VOCAB_CHAR_BPE)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "BPE over characters");
    else if (v->model == VOCAB_UNIGRAM)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "unigram");
    else if (v->model == VOCAB_LONGEST)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "rwkv (longest tokens)");
    else if (v->model == VOCAB_WORDPIECE)
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "WordPiece");
    else
        snprintf(m->tokenizer_name, sizeof m->tokenizer_name, "gpt2 / %.*s (byte-level BPE)", shown(v->pre),
                 v->pre.s);
}

// An unsupported tokenizer fails only calls that need text; everything else works without one.
static rn_status make_tokenizer(rn_model *m, rn_error *err) {
    const struct vocab *v = package_vocab(m->pkg);
    rn_error why = {0};
    if (v->n_tokens == 0 && v->model_name.n == 0) return RN_OK;
    const rn_status st = tokenizer_create(v, &m->tok, &why);
    if (st == RN_OK) return RN_OK;
    if (st != RN_E_UNSUPPORTED) return fail(err, st, "%s", why.text);
    m->tokenizer_error = mem_strndup(why.text, strlen(why.text));
    return m->tokenizer_error ? RN_OK : fail(err, RN_E_NOMEM, "%s: out of memory", package_path(m->pkg));
}

static rn_status copy_prompts(rn_model *m, rn_error *err) {
    size_t n;
    const struct package_prompt *const from = package_prompts(m->pkg, &n);
    if (n == 0) return RN_OK;
    if (!(m->prompts = mem_calloc(n, sizeof *m->prompts)))
        return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(m->pkg));
    for (size_t i = 0; i < n; i++) m->prompts[i] = (rn_text_prompt){from[i].name, from[i].text};
    return RN_OK;
}

static rn_status fill_model(rn_model *m, rn_error *err) {
    rn_status st = make_tokenizer(m, err);
    size_t n_template;
    if (st == RN_OK) st = name_end_tokens(m, err);
    if (st != RN_OK) return st == RN_E_NOMEM ? st : fail_in(err, st, "%s", package_path(m->pkg));
    count_types(m);
    name_tokenizer(m);
    const char *const source = package_chat_template(m->pkg, &n_template);
    if (source && !(m->chat_template = mem_strndup(source, n_template)))
        return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(m->pkg));
    const char *rerank_template = package_rerank_template(m->pkg, &n_template);
    if (rerank_template && !(m->rerank_template = mem_strndup(rerank_template, n_template)))
        return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(m->pkg));
    st = copy_prompts(m, err);
    if (st == RN_OK) st = model_grammars_open(m, err);
    if (st != RN_OK) return st;
    st = model_make_template(m, &m->tmpl, &m->template_error);
    return st == RN_E_NOMEM ? fail(err, st, "%s", m->template_error.text) : RN_OK;
}

static void log_notes(const rn_model *m, const rn_model_options *o) {
    const log_sink log = {(void (*)(void *, int, const char *))o->log, o->log_user, LOG_DEBUG};
    if (o->log && package_note(m->pkg)) log_to(&log, LOG_WARN, "%s", package_note(m->pkg));
    if (o->log && m->tokenizer_error)
        log_to(&log, LOG_WARN, "%s: %s: only token ids can be used", package_path(m->pkg), m->tokenizer_error);
}

rn_status rn_model_open(const char *path, const rn_model_options *opt, rn_model **model, rn_error *err) {
    rn_model_options own;
    if (model) *model = NULL;
    if (!path || !model) return fail(err, RN_E_ARG, "rn_model_open: NULL argument");
    rn_status st = sized_read(&public_model_options, opt, &own, err);
    if (st != RN_OK) return st;
    opt = &own;
    if ((unsigned)opt->load > RN_LOAD_LOCK) return fail(err, RN_E_ARG, "load: %d is unknown", (int)opt->load);
    const struct package_options po = {.load = (enum file_load)opt->load,
                                       .progress = opt->progress ? load_progress : NULL,
                                       .progress_user = (void *)opt};
    rn_model *m = mem_calloc(1, sizeof *m);
    if (!m) return fail(err, RN_E_NOMEM, "%s: out of memory", path);
    st = package_open(path, &po, &m->pkg, err);
    if (st == RN_OK) st = fill_model(m, err);
    if (st == RN_OK) log_notes(m, opt);
    if (st == RN_OK)
        *model = m;
    else
        rn_model_close(m);
    return st;
}

void rn_model_close(rn_model *m) {
    if (!m) return;
    model_grammars_close(m);
    tokenizer_destroy(m->tok);
    for (int32_t i = 0; i < m->n_end; i++) mem_free(m->end_text[i]);
    rn_template_close(m->tmpl);
    mem_free(m->chat_template);
    mem_free(m->rerank_template);
    mem_free(m->prompts);
    mem_free(m->tokenizer_error);
    model_close_adapters(m); // they refer to the package
    model_close_draft_heads(m);
    vision_files_close(&m->vision);
    ngram_table_destroy(m->ngrams);
    package_close(m->pkg);
    mem_free(m);
}

rn_status model_need_tokenizer(const rn_model *m, rn_error *err) {
    if (m->tok) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "%s: %s", package_path(m->pkg),
                m->tokenizer_error ? m->tokenizer_error : "holds no tokenizer");
}

rn_status rn_tokenize(const rn_model *model, const char *text, size_t n_text, bool add_special, bool parse_special,
                      int32_t **ids, size_t *n_ids, rn_error *err) {
    if (!model || (!text && n_text) || !ids || !n_ids) return fail(err, RN_E_ARG, "rn_tokenize: NULL argument");
    *ids = NULL;
    *n_ids = 0;
    const rn_status st = model_need_tokenizer(model, err);
    if (st != RN_OK) return st;
    return tokenizer_encode(model->tok, text, n_text, add_special, parse_special, ids, n_ids, NULL, err);
}

rn_status rn_tokenize_at_most(const rn_model *model, const char *text, size_t n_text, bool add_special,
                              bool parse_special, size_t max_ids, int32_t **ids, size_t *n_ids, rn_error *err) {
    if (!model || (!text && n_text) || !ids || !n_ids)
        return fail(err, RN_E_ARG, "rn_tokenize_at_most: NULL argument");
    *ids = NULL;
    *n_ids = 0;
    const rn_status st = model_need_tokenizer(model, err);
    if (st != RN_OK) return st;
    return tokenizer_encode_at_most(model->tok, text, n_text, add_special, parse_special, max_ids, ids, n_ids, err);
}

rn_status rn_tokenize_more(const rn_model *model, const char *text, size_t n_text, bool parse_special, int32_t **ids,
                           size_t *n_ids, rn_error *err) {
    if (!model || (!text && n_text) || !ids || !n_ids) return fail(err, RN_E_ARG, "rn_tokenize_more: NULL argument");
    *ids = NULL;
    *n_ids = 0;
    const rn_status st = model_need_tokenizer(model, err);
    if (st != RN_OK) return st;
    return tokenizer_encode_more(model->tok, text, n_text, parse_special, SIZE_MAX, ids, n_ids, err);
}

// [begin] first between.. second [end]
static rn_status join_pair(const struct vocab *v, const int32_t *first, size_t n_first, const int32_t *second,
                           size_t n_second, int32_t **ids, size_t *n_ids, size_t *n_before, rn_error *err) {
    const bool begins = v->add_bos && v->bos >= 0, ends = v->add_eos && v->eos >= 0;
    const size_t n_between = (size_t)v->pair.n_between, n = n_first + n_second + n_between + begins + ends;
    int32_t *const out = mem_alloc(n * sizeof *out + 1);
    size_t at = 0;
    if (!out) return fail(err, RN_E_NOMEM, "tokenizer: out of memory for %zu tokens", n);
    if (begins) out[at++] = v->bos;
    if (n_first > 0) memcpy(out + at, first, n_first * sizeof *out);
    memcpy(out + at + n_first, v->pair.between, n_between * sizeof *out);
    *n_before = at += n_first + n_between;
    if (n_second > 0) memcpy(out + at, second, n_second * sizeof *out);
    if (ends) out[n - 1] = v->eos;
    *ids = out, *n_ids = n;
    return RN_OK;
}

rn_status rn_tokenize_pair(const rn_model *model, const char *first, size_t n_first_text, const char *second,
                           size_t n_second_text, size_t max_ids, int32_t **ids, size_t *n_ids, size_t *n_first,
                           rn_error *err) {
    if (!model || (!first && n_first_text) || (!second && n_second_text) || !ids || !n_ids || !n_first)
        return fail(err, RN_E_ARG, "rn_tokenize_pair: NULL argument");
    *ids = NULL;
    *n_ids = *n_first = 0;
    rn_status st = model_need_tokenizer(model, err);
    const struct vocab *const v = package_vocab(model->pkg);
    if (st == RN_OK && !v->pair.is_known)
        st = fail(err, RN_E_UNSUPPORTED, "%s: its tokenizer does not say how two texts are joined",
                  package_path(model->pkg));
    if (st != RN_OK) return st;
    int32_t *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    st = tokenizer_encode_at_most(model->tok, first, n_first_text, false, false, max_ids, &a, &n_a, err);
    if (st != RN_OK) *n_ids = n_a;
    if (st == RN_OK)
        st = tokenizer_encode_at_most(model->tok, second, n_second_text, false, false, max_ids, &b, &n_b, err);
    if (st != RN_OK && a) *n_ids = n_a + n_b;
    if (st == RN_OK) st = join_pair(v, a, n_a, b, n_b, ids, n_ids, n_first, err);
    mem_free(a);
    mem_free(b);
    return st;
}

rn_status rn_detokenize(const rn_model *model, const int32_t *ids, size_t n_ids, bool special, char **text,
                        size_t *n_text, rn_error *err) {
    if (!model || (!ids && n_ids) || !text || !n_text) return fail(err, RN_E_ARG, "rn_detokenize: NULL argument");
    *text = NULL;
    *n_text = 0;
    const rn_status st = model_need_tokenizer(model, err);
    return st == RN_OK ? tokenizer_decode(model->tok, ids, n_ids, special, text, n_text, err) : st;
}

void rn_free(void *p) { mem_free(p); }

bool rn_model_reads(const rn_model *model, const char *path) {
    return model && path && package_reads(model->pkg, path);
}

rn_status rn_model_get_info(const rn_model *m, rn_model_info *info, rn_error *err) {
    if (!m) return fail(err, RN_E_ARG, "rn_model_get_info: NULL argument");
    const rn_status st = sized_check(&public_model_info, info, err);
    if (st != RN_OK) return st;
    const struct hparams *h = package_hparams(m->pkg);
    const struct vocab *v = package_vocab(m->pkg);
    uint64_t file_bytes = 0, mapped_bytes = 0, resident_bytes = 0;
    size_t n_prompts;
    package_prompts(m->pkg, &n_prompts);
    for (size_t i = 0; i < package_n_files(m->pkg); i++) {
        const struct file_map *f = package_file_at(m->pkg, i);
        file_bytes += f->size;
        mapped_bytes += f->how == FILE_LOAD_READ ? 0 : f->size;
        resident_bytes += file_map_resident(f, 0, f->size);
    }
    const rn_model_info own = {
        .path = package_path(m->pkg),
        .format = package_format(m->pkg),
        .architecture = h->arch,
        .name = h->name,
        .has_weights = !package_vocab_only(m->pkg),
        .has_tokenizer = m->tok != NULL,
        .tokenizer = m->tokenizer_name,
        .tokenizer_error = m->tokenizer_error,
        .n_vocab = h->n_vocab ? h->n_vocab : v->n_tokens,
        .n_ctx_train = h->n_ctx_train,
        .n_embd = h->n_embd,
        .n_layer = h->n_layer,
        .n_head = h->n_head,
        .n_head_kv = h->n_head_kv,
        .head_dim = h->head_dim,
        .n_ff = h->n_ff,
        .n_params = m->n_params,
        .file_bytes = file_bytes,
        .mapped_bytes = mapped_bytes,
        .resident_bytes = resident_bytes,
        .types = m->types,
        .n_types = m->n_types,
        .end_tokens = m->end,
        .n_end_tokens = m->n_end,
        .bos = v->n_tokens ? v->bos : -1,
        .add_bos = v->add_bos,
        .chat_template = m->chat_template,
        .rerank_template = m->rerank_template,
        .n_expert = h->n_expert,
        .n_expert_used = h->n_expert_used,
        .n_ff_expert = h->n_ff_expert,
        .left_out = package_left_out(m->pkg),
        .n_adapters = m->n_adapters,
        .vision = m->vision.tower ? m->vision.info.family : NULL,
        .n_picture_tokens = m->vision.tower ? vision_n_each(&m->vision.info) : 0,
        .picture_token = m->vision.tower ? model_picture_token(m) : -1,
        .video_token = m->vision.tower && m->vision.info.video ? m->vision.info.video_token : -1,
        .prompts = m->prompts,
        .n_prompts = n_prompts,
        .default_prompt = package_default_prompt(m->pkg),
        .has_pairs = m->tok && v->pair.is_known && h->sees_whole_text,
    };
    sized_write(&public_model_info, &own, info);
    return RN_OK;
}
