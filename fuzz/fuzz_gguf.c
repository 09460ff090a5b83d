// fuzz/fuzz_gguf.c - opens any bytes as a model file and walks everything that the package promises.
#include "base/mem.h"
#include "formats/package.h"
#include "text/tokenizer.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// What package.h promises, and reading every byte that it points to. A broken promise ends the process.
static void must(bool holds) {
    if (!holds) abort();
}
static unsigned sum; // so that the reads are not optimized away
static void touch(const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) sum += ((const uint8_t *)bytes)[i];
}

static void walk_tensors(const package *p, const uint8_t *data, size_t n) {
    for (size_t i = 0; i < package_n_tensors(p); i++) {
        const struct tensor_view *t = package_tensor_at(p, i);
        must(t->data >= data && t->n_bytes <= n && (size_t)(t->data - data) <= n - t->n_bytes);
        must(t->n_dims >= 1 && t->n_dims <= PACKAGE_MAX_DIMS && t->n_bytes > 0);
        must(package_tensor(p, t->name) == t); // names are unique
        touch(t->data, t->n_bytes);
        float block[256];
        const struct tensor_type_info *type = tensor_type_info(t->type);
        must(t->ne[0] % type->block_len == 0);
        type->dequantize_row(t->data, block, type->block_len);
    }
}

static void walk_vocab(const struct vocab *v) {
    const int32_t ids[] = {v->bos, v->eos, v->eot, v->eom, v->unk, v->pad};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        must(ids[i] >= -1 && ids[i] < (v->n_tokens ? v->n_tokens : 0));
    for (int32_t i = 0; i < v->n_tokens; i++) {
        must(v->tokens[i].kind >= TOKEN_NORMAL && v->tokens[i].kind <= TOKEN_BYTE);
        touch(v->tokens[i].text.s, v->tokens[i].text.n);
    }
    for (int32_t i = 0; i < v->n_merges; i++) touch(v->merges[i].s, v->merges[i].n);
    int32_t end[8];
    must(vocab_end_tokens(v, end, 8) <= 8);
}

static void walk_hparams(const struct hparams *hp, const struct vocab *v) {
    must(strlen(hp->arch) > 0 && strlen(hp->name) < sizeof hp->name && strlen(hp->file_type) < sizeof hp->file_type);
    if (!hp->is_checked) {
        must(hp->n_layer == 0 && hp->n_embd == 0);
        return;
    }
    must(hp->n_layer > 0 && hp->n_head_kv > 0 && hp->n_head % hp->n_head_kv == 0 && hp->n_vocab >= v->n_tokens);
    must(hp->n_rot % 2 == 0 && hp->n_rot >= 2 && hp->n_rot <= hp->head_dim);
    must(hp->norm_eps > 0 && hp->rope_theta >= 1 && hp->rope_factor > 0);
}

static void use_tokenizer(const struct vocab *v) {
    static const char text[] = "The <|im_end|> caf\xc3\xa9 <s>\xff 12";
    tokenizer *t = NULL;
    if (tokenizer_create(v, &t, NULL) != RN_OK) return;
    int32_t *ids = NULL;
    size_t n_ids = 0, n_text = 0, n_dropped;
    char *back = NULL;
    if (tokenizer_encode(t, text, sizeof text - 1, true, true, &ids, &n_ids, &n_dropped, NULL) == RN_OK) {
        for (size_t i = 0; i < n_ids; i++) must(ids[i] >= 0 && ids[i] < v->n_tokens);
        must(tokenizer_decode(t, ids, n_ids, true, &back, &n_text, NULL) == RN_OK);
        touch(back, n_text);
    }
    mem_free(back);
    mem_free(ids);
    tokenizer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const long live = mem_live();
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_from_bytes("fuzz.gguf", data, n, &p, &err);
    must((st == RN_OK) == (p != NULL));
    if (p) {
        size_t n_template = 0;
        const char *text = package_chat_template(p, &n_template);
        touch(text, n_template);
        walk_tensors(p, data, n);
        walk_vocab(package_vocab(p));
        walk_hparams(package_hparams(p), package_vocab(p));
        use_tokenizer(package_vocab(p));
    } else {
        must(strncmp(err.text, "fuzz.gguf: ", 11) == 0);
    }
    package_close(p);
    must(mem_live() == live);
    return 0;
}
