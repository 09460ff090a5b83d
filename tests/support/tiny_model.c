// tests/support/tiny_model.c - see tiny_model.h.
#include "tests/support/tiny_model.h"
#include "base/hash.h"
#include "base/philox.h"
#include "tests/support/any_blocks.h"
#include "tokenizer/vocab.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tiny_model tiny_model_default(void) {
    return (struct tiny_model){.n_layer = 2,
                               .n_embd = 64,
                               .n_head = 4,
                               .n_head_kv = 2,
                               .n_ff = 96,
                               .n_vocab = 300,
                               .n_ctx = 128,
                               .type = TENSOR_F32,
                               .vocab = TINY_BYTES,
                               .seed = 1};
}

struct tiny_model tiny_model_four_layers(enum tensor_type type) {
    struct tiny_model m = tiny_model_default();
    m.n_layer = 4, m.n_embd = 256, m.n_ff = 512, m.own_head = true, m.type = type, m.seed = 4;
    return m;
}

void tiny_model_add_experts(struct tiny_model *m, const char *arch) {
    const int n_ff = m->n_ff;
    m->n_layer = 4;
    m->arch = arch;
    m->experts = (struct tiny_experts){.n = 6, .n_used = 3, .n_ff = n_ff};
    if (strcmp(arch, "qwen2moe") == 0) {
        m->experts.n_dense = m->experts.n_shared = 1, m->experts.n_ff_shared = 2 * n_ff;
        m->experts.shared_gate = true;
    } else if (strcmp(arch, "granitemoe") == 0) {
        m->experts.n_shared = 1, m->experts.n_ff_shared = n_ff;
        m->scales = true;
    } else if (strcmp(arch, "gpt-oss") == 0) {
        m->experts.biases = m->biases = m->sinks = true;
        m->ffn_norm = "post_attention_norm";
        m->n_swa = 32;
    } else if (strcmp(arch, "glm4moe") == 0) {
        m->experts.n_dense = m->experts.n_shared = 1, m->experts.n_ff_shared = n_ff;
        m->experts.n_group = 3, m->experts.n_group_used = 2;
        m->experts.choice_bias = m->experts.is_sigmoid = true;
        m->ffn_norm = "post_attention_norm";
    }
}

static const char *arch_of(const struct tiny_model *m) { return m->arch ? m->arch : "llama"; }

// A key of the architecture's; what is 0 is left out.
static void put_int(const struct tiny_model *m, struct gguf_builder *b, const char *name, int v) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch_of(m), name);
    if (v) gb_u32(b, key, (uint32_t)v);
}
static void put_float(const struct tiny_model *m, struct gguf_builder *b, const char *name, float v) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch_of(m), name);
    gb_f32(b, key, v);
}

static void put_expert_hparams(const struct tiny_model *m, struct gguf_builder *b) {
    const struct tiny_experts *e = &m->experts;
    char key[96];
    put_int(m, b, "expert_count", e->n);
    put_int(m, b, "expert_used_count", e->n_used);
    put_int(m, b, "expert_feed_forward_length", e->n_ff);
    put_int(m, b, "expert_shared_count", e->n_shared);
    put_int(m, b, "expert_shared_feed_forward_length", e->n_ff_shared);
    put_int(m, b, "expert_group_count", e->n_group);
    put_int(m, b, "expert_group_used_count", e->n_group_used);
    put_int(m, b, "leading_dense_block_count", e->n_dense);
    put_int(m, b, "expert_gating_func", e->is_sigmoid ? 2 : 0);
    snprintf(key, sizeof key, "%s.expert_weights_norm", arch_of(m));
    if (e->is_sigmoid) gb_bool(b, key, true);
}

static void put_hparams(const struct tiny_model *m, struct gguf_builder *b) {
    gb_str(b, "general.architecture", arch_of(m));
    gb_str(b, "general.name", "tiny");
    put_int(m, b, "block_count", m->n_layer);
    put_int(m, b, "context_length", m->n_ctx);
    put_int(m, b, "embedding_length", m->n_embd);
    put_int(m, b, "feed_forward_length", m->n_ff);
    put_int(m, b, "attention.head_count", m->n_head);
    put_int(m, b, "attention.head_count_kv", m->n_head_kv);
    put_float(m, b, "attention.layer_norm_rms_epsilon", 1e-5f);
    put_float(m, b, "rope.freq_base", 10000.0f);
    put_int(m, b, "attention.sliding_window", m->n_swa);
    if (m->scales) {
        put_float(m, b, "embedding_scale", 1.5f);
        put_float(m, b, "residual_scale", 0.75f);
        put_float(m, b, "logit_scale", 0.5f); // a divisor
        put_float(m, b, "attention.scale", 0.1f);
    }
    if (m->experts.n) put_expert_hparams(m, b);
}

// Random numbers: the tensor's number is the stream, the element's the position.
struct drawer {
    const struct tiny_model *m;
    struct gguf_builder *b;
    uint32_t n_drawn;
};

struct spread {
    float mean, most; // values lie within mean +- most
};

static size_t row_bytes_of(enum tensor_type type, uint64_t n_in) {
    size_t n;
    if (!tensor_row_bytes(type, n_in, &n)) abort(); // a block type, and n_in no multiple of its block
    return n;
}

// Rows [first, first + n) of the tensor drawn by stream number `stream`.
static void draw_rows(const struct tiny_model *m, uint32_t stream, enum tensor_type type, uint64_t n_in,
                      uint64_t first, uint64_t n, struct spread s, uint8_t *out) {
    const struct tensor_type_info *info = tensor_type_info(type);
    const size_t row_bytes = row_bytes_of(type, n_in);
    float *row = malloc(n_in * sizeof *row);
    if (!row) abort();
    for (uint64_t r = first; r < first + n; r++, out += row_bytes) {
        for (uint64_t i = 0; i < n_in; i++) {
            const double u = philox_uniform(m->seed, stream, (uint32_t)(r * n_in + i), PHILOX_TEST);
            row[i] = s.mean + s.most * (float)(2.0 * u - 1.0);
        }
        if (!any_blocks_only(type) && !(m->any_bytes && info->block_len > 1))
            info->quantize_row(row, NULL, out, n_in);
        else
            any_blocks(type, s.most * 0.577f, hash_u64(stream, r), out, n_in / info->block_len);
    }
    free(row);
}

// n_slices of n_out rows of n_in; 0 of them: fewer dimensions.
static void put_slices(struct drawer *d, const char *name, enum tensor_type type, uint64_t n_in, uint64_t n_out,
                       uint64_t n_slices, struct spread s) {
    const uint64_t dims[3] = {n_in, n_out, n_slices}, n_rows = n_out * (n_slices ? n_slices : 1);
    const size_t n_bytes = row_bytes_of(type, n_in) * n_rows;
    uint8_t *data = malloc(n_bytes);
    if (!data) abort();
    draw_rows(d->m, d->n_drawn++, type, n_in, 0, n_rows, s, data);
    gb_tensor(d->b, name, tensor_type_info(type)->gguf_id, n_slices ? 3 : n_out > 1 ? 2 : 1, dims, data, n_bytes);
    free(data);
}

static void put_random(struct drawer *d, const char *name, enum tensor_type type, uint64_t n_in, uint64_t n_rows,
                       float mean, float spread) {
    put_slices(d, name, type, n_in, n_rows, 0, (struct spread){mean, spread});
}

static const char *layer_name(char name[64], int layer, const char *what, const char *suffix) {
    snprintf(name, 64, "blk.%d.%s.%s", layer, what, suffix);
    return name;
}

static void put_matrix(struct drawer *d, int layer, const char *what, int n_in, int n_out) {
    char name[64];
    const float spread = sqrtf(3.0f / (float)n_in); // variance 1 / n_in
    put_random(d, layer_name(name, layer, what, "weight"), d->m->type, (uint64_t)n_in, (uint64_t)n_out, 0, spread);
    if (d->m->biases) put_random(d, layer_name(name, layer, what, "bias"), TENSOR_F32, (uint64_t)n_out, 1, 0, 0.25f);
}

static void put_ffn(struct drawer *d, int layer, const char *suffix, int n_ff) {
    char what[32];
    const int n_embd = d->m->n_embd;
    snprintf(what, sizeof what, "ffn_gate%s", suffix);
    put_matrix(d, layer, what, n_embd, n_ff);
    snprintf(what, sizeof what, "ffn_up%s", suffix);
    put_matrix(d, layer, what, n_embd, n_ff);
    snprintf(what, sizeof what, "ffn_down%s", suffix);
    put_matrix(d, layer, what, n_ff, n_embd);
}

static void put_experts_matrix(struct drawer *d, int layer, const char *what, int n_in, int n_out) {
    const uint64_t n = (uint64_t)d->m->experts.n, rows = (uint64_t)n_out;
    char name[64];
    put_slices(d, layer_name(name, layer, what, "weight"), d->m->type, (uint64_t)n_in, rows, n,
               (struct spread){0, sqrtf(3.0f / (float)n_in)});
    if (d->m->experts.biases) put_random(d, layer_name(name, layer, what, "bias"), TENSOR_F32, rows, n, 0, 0.25f);
}

// What gate and up would be, in one tensor: of each expert first the gate's rows.
static void put_fused_experts(struct drawer *d, int layer) {
    const struct tiny_model *m = d->m;
    const uint64_t n_in = (uint64_t)m->n_embd, n_ff = (uint64_t)m->experts.n_ff, n = (uint64_t)m->experts.n;
    const uint64_t dims[3] = {n_in, 2 * n_ff, n};
    const size_t half = row_bytes_of(m->type, n_in) * n_ff;
    const struct spread s = {0, sqrtf(3.0f / (float)n_in)};
    uint8_t *data = malloc(2 * half * n);
    char name[64];
    if (!data) abort();
    for (uint64_t e = 0; e < n; e++)
        for (uint32_t part = 0; part < 2; part++)
            draw_rows(m, d->n_drawn + part, m->type, n_in, e * n_ff, n_ff, s, data + (2 * e + part) * half);
    d->n_drawn += 2;
    gb_tensor(d->b, layer_name(name, layer, "ffn_gate_up_exps", "weight"), tensor_type_info(m->type)->gguf_id, 3,
              dims, data, 2 * half * n);
    free(data);
}

static void put_experts(struct drawer *d, int layer) {
    const struct tiny_model *m = d->m;
    const struct tiny_experts *e = &m->experts;
    const uint64_t n_embd = (uint64_t)m->n_embd, n = (uint64_t)e->n;
    char name[64];
    put_random(d, layer_name(name, layer, "ffn_gate_inp", "weight"), TENSOR_F32, n_embd, n, 0,
               3 * sqrtf(3.0f / (float)m->n_embd)); // so that experts differ in weight
    if (e->biases) put_random(d, layer_name(name, layer, "ffn_gate_inp", "bias"), TENSOR_F32, n, 1, 0, 0.25f);
    if (e->choice_bias) put_random(d, layer_name(name, layer, "exp_probs_b", "bias"), TENSOR_F32, n, 1, 0, 0.25f);
    if (e->fused) {
        put_fused_experts(d, layer);
    } else {
        put_experts_matrix(d, layer, "ffn_gate_exps", m->n_embd, e->n_ff);
        put_experts_matrix(d, layer, "ffn_up_exps", m->n_embd, e->n_ff);
    }
    put_experts_matrix(d, layer, "ffn_down_exps", e->n_ff, m->n_embd);
    if (e->n_ff_shared) put_ffn(d, layer, "_shexp", e->n_ff_shared);
    if (e->shared_gate)
        put_random(d, layer_name(name, layer, "ffn_gate_inp_shexp", "weight"), TENSOR_F32, n_embd, 1, 0, 0.2f);
}

static void put_layer(struct drawer *d, int layer) {
    const struct tiny_model *m = d->m;
    const int n_kv = m->n_embd / m->n_head * m->n_head_kv;
    char name[64];
    put_random(d, layer_name(name, layer, "attn_norm", "weight"), TENSOR_F32, (uint64_t)m->n_embd, 1, 1, 0.5f);
    put_matrix(d, layer, "attn_q", m->n_embd, m->n_embd);
    put_matrix(d, layer, "attn_k", m->n_embd, n_kv);
    put_matrix(d, layer, "attn_v", m->n_embd, n_kv);
    put_matrix(d, layer, "attn_output", m->n_embd, m->n_embd);
    if (m->sinks)
        put_random(d, layer_name(name, layer, "attn_sinks", "weight"), TENSOR_F32, (uint64_t)m->n_head, 1, 0, 2);
    put_random(d, layer_name(name, layer, m->ffn_norm ? m->ffn_norm : "ffn_norm", "weight"), TENSOR_F32,
               (uint64_t)m->n_embd, 1, 1, 0.5f);
    if (m->experts.n && layer >= m->experts.n_dense)
        put_experts(d, layer);
    else
        put_ffn(d, layer, "", m->n_ff);
}

static void put_tensors(const struct tiny_model *m, struct gguf_builder *b) {
    struct drawer d = {.m = m, .b = b};
    const uint64_t n_embd = (uint64_t)m->n_embd, n_vocab = (uint64_t)m->n_vocab;
    put_random(&d, "token_embd.weight", m->type, n_embd, n_vocab, 0, 1);
    if (m->rope_freqs)
        put_random(&d, "rope_freqs.weight", TENSOR_F32, n_embd / (uint64_t)m->n_head / 2, 1, 4.5f, 3.5f);
    for (int layer = 0; layer < m->n_layer; layer++) put_layer(&d, layer);
    put_random(&d, "output_norm.weight", TENSOR_F32, n_embd, 1, 1, 0.5f);
    if (m->own_head) put_random(&d, "output.weight", m->type, n_embd, n_vocab, 0, sqrtf(3.0f / (float)m->n_embd));
}

// Tokens as they are gathered: text, kind and score side by side.
enum { MAX_TEXT = 24 };
struct token_list {
    int n, cap;
    char (*text)[MAX_TEXT];
    int32_t *kind;
    float *score;
};

static void add_token(struct token_list *l, const char *text, enum token_kind kind, float score) {
    if (l->n == l->cap) return; // n_vocab is what fits
    snprintf(l->text[l->n], MAX_TEXT, "%s", text);
    l->kind[l->n] = (int32_t)kind;
    l->score[l->n++] = score;
}

static void fill_unused(struct token_list *l) {
    char text[MAX_TEXT];
    while (l->n < l->cap) {
        snprintf(text, sizeof text, "<unused_%d>", l->n);
        add_token(l, text, TOKEN_UNUSED, 0);
    }
}

// GPT-2's byte alphabet: printable bytes map to themselves, the others to U+0100 and on, in order.
static void byte_letter(int byte, char text[MAX_TEXT]) {
    int n_before = 0; // bytes below this one that are not printable
    bool printable = false;
    for (int i = 0; i <= byte; i++) {
        printable = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
        if (i < byte) n_before += !printable;
    }
    const int code = printable ? byte : 256 + n_before;
    if (code < 0x80)
        snprintf(text, MAX_TEXT, "%c", code);
    else
        snprintf(text, MAX_TEXT, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 63));
}

static const char *const merges[] = {"t h", "h e", "i n", "e r", "a n", "r e", "o n", "th e", "in g", "an d"};
enum { N_MERGES = sizeof merges / sizeof *merges };

static void merged(const char *merge, char text[MAX_TEXT]) { // "th e" -> "the"
    const char *space = strchr(merge, ' ');
    snprintf(text, MAX_TEXT, "%.*s%s", (int)(space - merge), merge, space + 1);
}

static void list_bytes(struct token_list *l) {
    char text[MAX_TEXT];
    for (int i = 0; i < 256; i++) {
        byte_letter(i, text);
        add_token(l, text, TOKEN_NORMAL, 0);
    }
    add_token(l, "<|begin|>", TOKEN_CONTROL, 0);
    add_token(l, "<|im_end|>", TOKEN_CONTROL, 0);
    add_token(l, "<|pad|>", TOKEN_CONTROL, 0);
    for (int i = 0; i < N_MERGES; i++) {
        merged(merges[i], text);
        add_token(l, text, TOKEN_NORMAL, 0);
    }
}

static void list_spm(struct token_list *l) {
    static const char letters[] = "etaoinshrdlucmfwypvbgk";
    char text[MAX_TEXT];
    add_token(l, "<unk>", TOKEN_UNKNOWN, 0);
    add_token(l, "<s>", TOKEN_CONTROL, 0);
    add_token(l, "</s>", TOKEN_CONTROL, 0);
    for (int i = 0; i < 256; i++) {
        snprintf(text, sizeof text, "<0x%02X>", i);
        add_token(l, text, TOKEN_BYTE, 0);
    }
    add_token(l, "\xe2\x96\x81", TOKEN_NORMAL, -1000);
    for (size_t i = 0; letters[i]; i++) {
        snprintf(text, sizeof text, "%c", letters[i]);
        add_token(l, text, TOKEN_NORMAL, -1001.0f - (float)i);
    }
    for (int i = 0; i < N_MERGES; i++) {
        merged(merges[i], text);
        add_token(l, text, TOKEN_NORMAL, -(float)i);
    }
}

static void put_token_list(struct gguf_builder *b, const struct token_list *l) {
    const char **texts = calloc((size_t)l->n, sizeof *texts);
    if (!texts) abort();
    for (int i = 0; i < l->n; i++) texts[i] = l->text[i];
    gb_str_array(b, "tokenizer.ggml.tokens", texts, (size_t)l->n);
    gb_array(b, "tokenizer.ggml.token_type", GB_I32, l->kind, (size_t)l->n, sizeof *l->kind);
    free(texts);
}

void tiny_vocab_put(enum tiny_vocab vocab, int n_vocab, struct gguf_builder *b) {
    const bool spm = vocab == TINY_SPM;
    struct token_list l = {.cap = n_vocab};
    if (n_vocab < TINY_MIN_VOCAB) abort();
    l.text = calloc((size_t)l.cap, sizeof *l.text);
    l.kind = calloc((size_t)l.cap, sizeof *l.kind);
    l.score = calloc((size_t)l.cap, sizeof *l.score);
    if (!l.text || !l.kind || !l.score) abort();
    (spm ? list_spm : list_bytes)(&l);
    fill_unused(&l);

    gb_str(b, "tokenizer.ggml.model", spm ? "llama" : "gpt2");
    gb_str(b, "tokenizer.ggml.pre", spm ? "default" : "gpt-2");
    put_token_list(b, &l);
    if (spm) gb_array(b, "tokenizer.ggml.scores", GB_F32, l.score, (size_t)l.n, sizeof *l.score);
    const int room = n_vocab - TINY_MIN_VOCAB; // only merges whose token found room
    if (!spm) gb_str_array(b, "tokenizer.ggml.merges", merges, (size_t)(room < N_MERGES ? room : N_MERGES));
    gb_u32(b, "tokenizer.ggml.bos_token_id", spm ? 1 : TINY_BYTES_BOS);
    gb_u32(b, "tokenizer.ggml.eos_token_id", spm ? 2 : TINY_BYTES_EOS);
    if (spm)
        gb_u32(b, "tokenizer.ggml.unknown_token_id", 0);
    else
        gb_u32(b, "tokenizer.ggml.padding_token_id", TINY_BYTES_PAD);
    gb_bool(b, "tokenizer.ggml.add_bos_token", true);
    free(l.text);
    free(l.kind);
    free(l.score);
}

void tiny_model_build(const struct tiny_model *m, struct gguf_builder *b) {
    put_hparams(m, b);
    if (m->vocab != TINY_NO_VOCAB) tiny_vocab_put(m->vocab, m->n_vocab, b);
    put_tensors(m, b);
}

uint8_t *tiny_model_bytes(const struct tiny_model *m, size_t *n_bytes) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    tiny_model_build(m, &b);
    return gb_finish(&b, n_bytes);
}

bool tiny_model_write(const struct tiny_model *m, const char *path) {
    size_t n;
    uint8_t *bytes = tiny_model_bytes(m, &n);
    FILE *const to = fopen(path, "wb");
    bool ok = to && fwrite(bytes, 1, n, to) == n;
    if (to) ok = fclose(to) == 0 && ok;
    free(bytes);
    return ok;
}
