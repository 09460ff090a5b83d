// bench/synth_model.c - writes a GGUF model of any shape and type with random weights, for measuring: its text is noise.
//
//   synth_model OUT.gguf [--shape NAME] [--type TYPE] [--layers N] [--embd N] [--heads N] [--heads-kv N] [--head-dim N] [--ff N]
//               [--experts N] [--experts-used N] [--vocab N | --vocab-of FILE] [--ctx N] [--own-head] [--seed N]
//
// --shape is one of the table below (default 1b = Llama-3.2-1B); what follows it changes single numbers. With --experts each layer has so many
// of --ff in place of its feed-forward part, and a row goes to --experts-used of them (2). --type is what `runnel quantize` takes (Q4_K_M mixes types as there), or the name of a type. The same options
// give the same bytes. Weights are random blocks with scales that make a matrix's outputs about as large as its inputs; norms are
// ones. The vocabulary is a byte-level BPE of letter strings, with as many merges as tokens, which llama.cpp loads too;
// with --vocab-of it is that of another model, or of a file that has nothing else.
#include "base/hash.h"
#include "convert/mixes.h"
#include "convert/vocab_meta.h"
#include "formats/gguf/gguf_write.h"
#include "formats/package.h"
#include "tensor/half.h"
#include "tests/support/any_blocks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct shape {
    const char *name;
    int32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab, n_ctx;
    bool own_head;
    float rope_theta;
    int32_t n_expert, n_expert_used; // 0: no experts
};
static const struct shape shapes[] = {
    {"1b", 16, 2048, 32, 8, 64, 8192, 128256, 131072, false, 500000},
    {"3b", 28, 3072, 24, 8, 128, 8192, 128256, 131072, false, 500000},
    {"8b", 32, 4096, 32, 8, 128, 14336, 128256, 131072, true, 500000},
    {"135m", 30, 576, 9, 3, 64, 1536, 49152, 8192, false, 100000},
    {"mid", 8, 1024, 16, 4, 64, 4096, 32000, 8192, false, 10000},
    {"tiny", 4, 256, 4, 2, 64, 768, 1024, 2048, false, 10000},
};

struct synth {
    const char *path, *vocab_path;
    package *vocab_of; // whose vocabulary is taken; NULL: none
    struct shape shape;
    const struct mix *mix; // NULL: `type` throughout
    enum tensor_type type;
    int32_t seed;
    gguf_writer *w;
    rn_error err;
    double value_size[TENSOR_N_TYPES]; // root mean square of a block of any bytes and scale 1
    uint64_t n_written;                // tensors: each has a stream of random numbers of its own
};

// Random weights ---------------------------------------------------------------------------------------------------------

static void fill_random(uint8_t *out, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t word = hash_u64(i, seed);
        memcpy(out + i, &word, n - i < 8 ? n - i : 8);
    }
}

// Scales of a block. The minimum is 1.5 times the scale, and taken off or, in Q4_1 and Q5_1, added: there it is below zero, so that
// values lie about zero.
static void put_scales(enum tensor_type type, uint8_t *block, float scale) {
    const struct block_halves halves = block_halves_of(type);
    const float min = type == TENSOR_Q4_1 ? -7.5f : type == TENSOR_Q5_1 ? -15.5f : 1.5f;
    for (size_t i = 0; i < halves.n; i++) {
        const uint16_t half = f16_from_f32(i ? min * scale : scale);
        memcpy(block + halves.at[i], &half, 2);
    }
    if (type == TENSOR_MXFP4) block[0] = (uint8_t)(128 + ilogbf(scale));   // value = 2^(e - 128) * number
    if (type == TENSOR_IQ1_M) put_block_scale(type, block, (double)scale); // in four places
}

// The size of a type's values when its scales are 1.
static double size_at_scale_1(enum tensor_type type) {
    enum { N_BLOCKS = 256 };
    const struct tensor_type_info *const t = tensor_type_info(type);
    uint8_t block[256];
    float values[256];
    double sum = 0;
    for (uint64_t b = 0; b < N_BLOCKS; b++) {
        fill_random(block, t->block_bytes, hash_u64(b, type));
        put_scales(type, block, 1);
        t->dequantize_row(block, values, t->block_len);
        for (size_t i = 0; i < t->block_len; i++) sum += (double)values[i] * (double)values[i];
    }
    return sqrt(sum / (N_BLOCKS * t->block_len));
}

// A row of plain numbers, uniform with root mean square `size`.
static void fill_plain(enum tensor_type type, float size, uint64_t seed, uint8_t *row, size_t n) {
    for (size_t i = 0; i < n; i += 2) {
        const uint64_t word = hash_u64(i, seed);
        for (size_t j = 0; j < 2 && i + j < n; j++) {
            const float unit = (float)(int32_t)(word >> 32 * j) * 0x1p-31f, v = unit * size * 1.7320508f; // sqrt 3
            const uint32_t bits = f32_bits(v);
            const uint16_t half = type == TENSOR_F16 ? f16_from_f32(v) : (uint16_t)(bits >> 16);
            if (type == TENSOR_F32)
                memcpy(row + 4 * (i + j), &bits, 4);
            else
                memcpy(row + 2 * (i + j), &half, 2);
        }
    }
}

// A row of blocks of any bytes; scales differ from block to block by up to a fifth.
static void fill_blocks(const struct tensor_type_info *t, float scale, uint64_t seed, uint8_t *row, size_t n) {
    const size_t n_blocks = n / t->block_len;
    fill_random(row, n_blocks * t->block_bytes, seed);
    for (size_t b = 0; b < n_blocks; b++)
        put_scales(t->type, row + b * t->block_bytes,
                   scale * (0.8f + 0.4f * (float)(hash_u64(b, ~seed) >> 40) * 0x1p-24f));
}

static rn_status write_matrix(struct synth *s, enum tensor_type type, size_t k, size_t n_out) {
    const struct tensor_type_info *const t = tensor_type_info(type);
    const float size = 1 / sqrtf((float)k);
    const uint64_t stream = hash_u64(s->n_written, (uint64_t)s->seed);
    size_t row_bytes;
    if (!tensor_row_bytes(type, k, &row_bytes)) return RN_E_INTERNAL; // a shape that check_shape() let pass
    if (s->value_size[type] <= 0 && t->block_len > 1) s->value_size[type] = size_at_scale_1(type);
    uint8_t *const row = malloc(row_bytes);
    rn_status st = row ? RN_OK : fail(&s->err, RN_E_NOMEM, "out of memory for a row");
    for (size_t r = 0; st == RN_OK && r < n_out; r++) {
        const uint64_t seed = hash_u64(r, stream);
        if (t->block_len == 1)
            fill_plain(type, size, seed, row, k);
        else
            fill_blocks(t, size / (float)s->value_size[type], seed, row, k);
        st = gguf_write_data(s->w, row, row_bytes, &s->err);
    }
    free(row);
    return st;
}

static rn_status write_ones(struct synth *s, size_t n) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < n; i++) st = gguf_write_data(s->w, &(float){1}, sizeof(float), &s->err);
    return st;
}

// Tensors ----------------------------------------------------------------------------------------------------------------

// n_out 0: a norm; n 0: one matrix.
struct tensor_shape {
    int32_t k, n_out, n;
};
// Visited twice: to put the records, then to write the data.
typedef rn_status (*visit_fn)(struct synth *s, const char *name, enum tensor_type type, struct tensor_shape h);

static rn_status put_record(struct synth *s, const char *name, enum tensor_type type, struct tensor_shape h) {
    const uint64_t ne[3] = {(uint64_t)h.k, (uint64_t)h.n_out, (uint64_t)h.n};
    gguf_put_record(s->w, name, type, h.n ? 3 : h.n_out ? 2 : 1, ne);
    return RN_OK;
}
static rn_status put_data(struct synth *s, const char *name, enum tensor_type type, struct tensor_shape h) {
    (void)name;
    s->n_written++;
    if (h.n_out == 0) return write_ones(s, (size_t)h.k);
    return write_matrix(s, type, (size_t)h.k, (size_t)h.n_out * (size_t)(h.n ? h.n : 1));
}

static enum tensor_type type_of(const struct synth *s, const char *name, int32_t layer, int32_t k) {
    const struct shape *const h = &s->shape;
    const struct model_facts model = {.n_layer = h->n_layer,
                                      .n_gqa = h->n_head / h->n_head_kv,
                                      .n_v = h->n_layer,
                                      .n_expert = h->n_expert,
                                      .is_tied = !h->own_head};
    const struct matrix_facts matrix = {matrix_part(name), layer, (uint64_t)k};
    enum tensor_type type = s->mix ? mix_type(s->mix, &model, &matrix) : s->type;
    while ((uint32_t)k % tensor_type_info(type)->block_len) type = mix_fallback(type);
    return type;
}

static rn_status visit_layer(struct synth *s, visit_fn visit, int32_t layer) {
    const struct shape *const h = &s->shape;
    const int32_t n_q = h->n_head * h->head_dim, n_kv = h->n_head_kv * h->head_dim;
    const int32_t n = h->n_expert, dense = n ? -1 : 0;
    const struct {
        const char *name;
        struct tensor_shape shape; // n -1: the model has it not
        bool is_plain;
    } rows[] = {{"attn_norm", {h->n_embd}, true},
                {"attn_q", {h->n_embd, n_q}},
                {"attn_k", {h->n_embd, n_kv}},
                {"attn_v", {h->n_embd, n_kv}},
                {"attn_output", {n_q, h->n_embd}},
                {"ffn_norm", {h->n_embd}, true},
                {"ffn_gate", {h->n_embd, h->n_ff, dense}},
                {"ffn_up", {h->n_embd, h->n_ff, dense}},
                {"ffn_down", {h->n_ff, h->n_embd, dense}},
                {"ffn_gate_inp", {h->n_embd, n, n ? 0 : -1}, true},
                {"ffn_gate_exps", {h->n_embd, h->n_ff, n ? n : -1}},
                {"ffn_up_exps", {h->n_embd, h->n_ff, n ? n : -1}},
                {"ffn_down_exps", {h->n_ff, h->n_embd, n ? n : -1}}};
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < COUNT(rows); i++) {
        char name[64];
        if (rows[i].shape.n < 0) continue;
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, rows[i].name);
        st = visit(s, name, rows[i].is_plain ? TENSOR_F32 : type_of(s, name, layer, rows[i].shape.k), rows[i].shape);
    }
    return st;
}

static rn_status visit_tensors(struct synth *s, visit_fn visit) {
    static const char embd[] = "token_embd.weight", head[] = "output.weight";
    const struct shape *const h = &s->shape;
    rn_status st = visit(s, embd, type_of(s, embd, -1, h->n_embd), (struct tensor_shape){h->n_embd, h->n_vocab});
    for (int32_t i = 0; st == RN_OK && i < h->n_layer; i++) st = visit_layer(s, visit, i);
    if (st == RN_OK) st = visit(s, "output_norm.weight", TENSOR_F32, (struct tensor_shape){h->n_embd});
    if (st == RN_OK && h->own_head)
        st = visit(s, head, type_of(s, head, -1, h->n_embd), (struct tensor_shape){h->n_embd, h->n_vocab});
    return st;
}

// Vocabulary -------------------------------------------------------------------------------------------------------------

enum { N_BYTES = 256, N_CONTROL = 2, N_LETTERS = 26, LONGEST = 8, TOKEN_ROOM = LONGEST + 2 };

// GPT-2's letter for a byte: printable ones stand for themselves, the others for U+0100 and on, in order.
static void byte_letter(int byte, char text[TOKEN_ROOM]) {
    int n_before = 0; // bytes up to this one that are not printable
    bool is_printable = false;
    for (int i = 0; i <= byte; i++) {
        is_printable = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
        n_before += !is_printable;
    }
    const int code = is_printable ? byte : N_BYTES + n_before - 1;
    if (code < 0x80)
        snprintf(text, TOKEN_ROOM, "%c", code);
    else
        snprintf(text, TOKEN_ROOM, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 63));
}

// String number i of two letters and more: "aa", "ab" .. "zz", "aaa" ..
static void letter_string(int32_t i, char text[TOKEN_ROOM]) {
    int n = 2;
    int64_t n_of_length = N_LETTERS * N_LETTERS, left = i;
    for (; left >= n_of_length; n++) left -= n_of_length, n_of_length *= N_LETTERS;
    text[n] = 0;
    for (int at = n - 1; at >= 0; at--, left /= N_LETTERS) text[at] = (char)('a' + left % N_LETTERS);
}

struct words {
    struct vocab_token *tokens;
    struct vocab_str *merges;
    char (*texts)[TOKEN_ROOM], (*merge_texts)[TOKEN_ROOM + 1];
};

static void fill_words(struct words *w, int32_t n_vocab) {
    static const char *const control[N_CONTROL] = {"<|begin_of_text|>", "<|end_of_text|>"};
    const int32_t n_plain = n_vocab - N_CONTROL;
    for (int32_t i = 0; i < n_plain; i++) {
        char *const text = w->texts[i];
        if (i < N_BYTES)
            byte_letter(i, text);
        else
            letter_string(i - N_BYTES, text);
        const uint32_t n = (uint32_t)strlen(text);
        w->tokens[i] = (struct vocab_token){.text = {text, n}, .kind = TOKEN_NORMAL};
        if (i < N_BYTES) continue;
        char *const merge = w->merge_texts[i - N_BYTES]; // all but its last letter, and that
        snprintf(merge, TOKEN_ROOM + 1, "%.*s %c", (int)n - 1, text, text[n - 1]);
        w->merges[i - N_BYTES] = (struct vocab_str){merge, n + 1};
    }
    for (int32_t i = 0; i < N_CONTROL; i++)
        w->tokens[n_plain + i] =
            (struct vocab_token){.text = {control[i], (uint32_t)strlen(control[i])}, .kind = TOKEN_CONTROL};
}

static rn_status put_vocab(struct synth *s) {
    const log_sink quiet = {NULL, NULL, LOG_DEBUG};
    const int32_t n = s->shape.n_vocab;
    if (s->vocab_of) return vocab_put(s->w, package_vocab(s->vocab_of), n, &quiet, &s->err);
    struct words w = {.tokens = calloc((size_t)n, sizeof *w.tokens),
                      .merges = calloc((size_t)n, sizeof *w.merges),
                      .texts = calloc((size_t)n, sizeof *w.texts),
                      .merge_texts = calloc((size_t)n, sizeof *w.merge_texts)};
    rn_status st = RN_E_NOMEM;
    if (w.tokens && w.merges && w.texts && w.merge_texts) {
        fill_words(&w, n);
        const struct vocab v = {.model = VOCAB_BPE,
                                .pre = {"llama-bpe", 9},
                                .n_tokens = n,
                                .tokens = w.tokens,
                                .n_merges = n - N_BYTES - N_CONTROL,
                                .merges = w.merges,
                                .bos = n - 2,
                                .eos = n - 1,
                                .eot = -1,
                                .eom = -1,
                                .unk = -1,
                                .pad = -1,
                                .add_bos = true};
        st = vocab_put(s->w, &v, n, &quiet, &s->err);
    } else {
        fail(&s->err, st, "out of memory for %d tokens", n);
    }
    free(w.tokens);
    free(w.merges);
    free(w.texts);
    free(w.merge_texts);
    return st;
}

// The file ---------------------------------------------------------------------------------------------------------------

static void put_hparams(struct synth *s) {
    const struct shape *const h = &s->shape;
    const struct {
        const char *key;
        int32_t v;
    } rows[] = {{"llama.block_count", h->n_layer},           {"llama.context_length", h->n_ctx},
                {"llama.embedding_length", h->n_embd},       {"llama.feed_forward_length", h->n_ff},
                {"llama.attention.head_count", h->n_head},   {"llama.attention.head_count_kv", h->n_head_kv},
                {"llama.attention.key_length", h->head_dim}, {"llama.attention.value_length", h->head_dim},
                {"llama.rope.dimension_count", h->head_dim}, {"llama.vocab_size", h->n_vocab},
                {"llama.expert_count", h->n_expert},         {"llama.expert_used_count", h->n_expert_used}};
    char name[64];
    const int n = snprintf(name, sizeof name, "synthetic %s %s", h->name,
                           s->mix ? s->mix->name : tensor_type_info(s->type)->name);
    gguf_put_string(s->w, "general.architecture", (struct vocab_str){"llama", 5});
    gguf_put_string(s->w, "general.name", (struct vocab_str){name, (uint32_t)n});
    for (size_t i = 0; i < COUNT(rows) - (h->n_expert ? 0 : 2); i++)
        gguf_put_u32(s->w, rows[i].key, (uint32_t)rows[i].v);
    gguf_put_f32(s->w, "llama.rope.freq_base", h->rope_theta);
    gguf_put_f32(s->w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    if (s->mix) gguf_put_u32(s->w, "general.file_type", s->mix->file_type);
    gguf_put_u32(s->w, "general.quantization_version", 2);
}

static rn_status write_model(struct synth *s) {
    rn_status st = s->vocab_path ? package_open(s->vocab_path, NULL, &s->vocab_of, &s->err) : RN_OK;
    if (s->vocab_of) s->shape.n_vocab = package_vocab(s->vocab_of)->n_tokens;
    if (st == RN_OK) st = gguf_writer_create(s->path, 32, &s->w, &s->err);
    if (st != RN_OK) return st;
    put_hparams(s);
    st = put_vocab(s);
    if (st == RN_OK) st = visit_tensors(s, put_record);
    if (st == RN_OK) st = gguf_write_head(s->w, &s->err);
    if (st == RN_OK) st = visit_tensors(s, put_data);
    if (st == RN_OK) return gguf_writer_commit(s->w, &s->err);
    gguf_writer_abandon(s->w);
    return st;
}

// Options ----------------------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    size_t at;
    int32_t min, max;
} numbers[] = {
    {"--layers", offsetof(struct shape, n_layer), 1, 1024},
    {"--embd", offsetof(struct shape, n_embd), 2, 1 << 20},
    {"--heads", offsetof(struct shape, n_head), 1, 1024},
    {"--heads-kv", offsetof(struct shape, n_head_kv), 1, 1024},
    {"--head-dim", offsetof(struct shape, head_dim), 2, 4096},
    {"--ff", offsetof(struct shape, n_ff), 2, 1 << 20},
    {"--experts", offsetof(struct shape, n_expert), 1, 1024},
    {"--experts-used", offsetof(struct shape, n_expert_used), 1, 1024},
    {"--vocab", offsetof(struct shape, n_vocab), N_BYTES + 1 + N_CONTROL, 1 << 24},
    {"--ctx", offsetof(struct shape, n_ctx), 1, 1 << 24},
};

static int usage(void) {
    fputs(
        "usage: synth_model OUT.gguf [--shape 1b|3b|8b|135m|mid|tiny] [--type TYPE] [--layers N] [--embd N] [--heads N]\n"
        "                   [--heads-kv N] [--head-dim N] [--ff N] [--experts N] [--experts-used N] [--vocab N | --vocab-of FILE]\n"
        "                   [--ctx N] [--own-head] [--seed N]\n",
        stderr);
    return 2;
}

static bool read_int(const char *text, int32_t min, int32_t max, int32_t *out) {
    char *end;
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end || v < min || v > max) return false;
    *out = (int32_t)v;
    return true;
}

static bool take_option(struct synth *s, const char *name, const char *value) {
    if (strcmp(name, "--vocab-of") == 0) return s->vocab_path = value, true;
    if (strcmp(name, "--seed") == 0) return read_int(value, 0, INT32_MAX, &s->seed);
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (strcmp(name, "--shape") == 0 && strcmp(value, shapes[i].name) == 0) {
            s->shape = shapes[i];
            return true;
        }
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return read_int(value, numbers[i].min, numbers[i].max,
                            (int32_t *)(void *)((char *)&s->shape + numbers[i].at));
    if (strcmp(name, "--type") != 0) return false;
    const struct tensor_type_info *const type = tensor_type_by_name(value);
    s->mix = mix_find(value);
    if (!s->mix && type) s->type = type->type;
    return s->mix || type;
}

// false, after saying why: no model has this shape.
static bool check_shape(const struct synth *s) {
    const struct shape *const h = &s->shape;
    const bool heads_ok = h->n_head % h->n_head_kv == 0, dim_ok = h->head_dim % 2 == 0;
    if (!heads_ok) fprintf(stderr, "synth_model: --heads: %d is not a multiple of %d\n", h->n_head, h->n_head_kv);
    if (!dim_ok) fprintf(stderr, "synth_model: --head-dim: %d is odd\n", h->head_dim);
    const bool used_ok = h->n_expert_used <= h->n_expert;
    if (!used_ok) fprintf(stderr, "synth_model: --experts-used: %d of %d\n", h->n_expert_used, h->n_expert);
    return heads_ok && dim_ok && used_ok;
}

int main(int argc, char **argv) {
    struct synth s = {.shape = shapes[0], .mix = mix_find("Q4_0"), .seed = 1};
    if (argc < 2 || argv[1][0] == '-') return usage();
    s.path = argv[1];
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--own-head") == 0) {
            s.shape.own_head = true;
            continue;
        }
        if (i + 1 == argc || !take_option(&s, argv[i], argv[i + 1])) {
            fprintf(stderr, "synth_model: %s: %s\n", argv[i], i + 1 == argc ? "needs a value" : argv[i + 1]);
            return usage();
        }
        i++;
    }
    if (s.shape.n_expert && !s.shape.n_expert_used) s.shape.n_expert_used = s.shape.n_expert < 2 ? 1 : 2;
    if (!check_shape(&s)) return 2;
    if (write_model(&s) == RN_OK) return 0;
    fprintf(stderr, "synth_model: %s\n", s.err.text);
    return 1;
}
