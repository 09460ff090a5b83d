// bench/kernel_ladder.c - how fast each CPU set's kernels are, beside a plain read of the same memory.
//
//   kernel_ladder [SET [TYPE]]     all sets that this machine has, or one; all types and key/value codecs, or one type
//   kernel_ladder SET attention    key/value codecs only
//
// One thread, thread CPU time. Products of few rows run over copies of one matrix that no cache holds, in turn with the read (64-byte
// loads, each line prefetched 4 KiB ahead: the better of the plain reads); medians of 9. "k rows / 1": time against one row, and of the
// set's second way for many rows (gemm) against one row of the first: where it is the shorter, gemm_rows in the set's slots belongs.
// Matrices for products of many rows fit the cache. Figures of one run compare with each other; a busy machine lowers them all.
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_RUNS = 9, K = 2048, N_OUT = 8192, N_OUT_SMALL = 2048, MOST_ROWS = 512 };
static const size_t few_rows[] = {2, 4, 6, 8, 16, 32};
enum { N_FEW = sizeof few_rows / sizeof *few_rows };
static const size_t FROM_MEMORY = (size_t)256 << 20; // bytes of copies

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *x, size_t n) {
    qsort(x, n, sizeof *x, by_value);
    return x[n / 2];
}
static float noise(uint64_t i) { return (float)(hash_u64(i, 1) >> 40) * 0x1p-23f - 1; }
static void *pages(size_t n) {
    void *const p = mem_pages(n);
    if (!p) {
        fprintf(stderr, "kernel_ladder: out of memory for %zu bytes\n", n);
        exit(1);
    }
    return p;
}

// The plain read: every byte once, as eight words of a line.
static uint64_t read_all(const void *p, size_t n) {
    const uint64_t *const w = p;
    uint64_t x[8] = {0};
    for (size_t i = 0; i < n / 8; i += 8) {
        __builtin_prefetch((const char *)(w + i) + 4096, 0, 2);
        for (size_t j = 0; j < 8; j++) x[j] ^= w[i + j];
    }
    return x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] ^ x[5] ^ x[6] ^ x[7];
}

// Matrix products --------------------------------------------------------------------------------------------------------

struct matrix {
    const struct matmul_ops *ops;
    uint8_t *file, *packed;            // rows as in a file; what the set multiplies with: panels, or the rows again
    size_t row_bytes, bytes, n_copies; // bytes of one copy of `packed`
};

// Row o of random weights. Of a type that is not written any bytes, but without the bit by which an F16 scale is no number.
static void fill_row(enum tensor_type type, size_t o, uint8_t *w, size_t row_bytes) {
    const struct tensor_type_info *const t = tensor_type_info(type);
    float row[K];
    for (size_t i = 0; i < K; i++) row[i] = noise(o * K + i);
    if (t->quantize_row)
        t->quantize_row(row, NULL, w, K);
    else
        for (size_t i = 0; i < row_bytes; i++) w[i] = (uint8_t)(hash_u64(o * row_bytes + i, 2) & 0xbf);
}

static struct matrix make_matrix(const struct kernel_set *set, enum tensor_type type, size_t n_out,
                                 size_t n_copies_bytes) {
    struct matrix m = {.ops = &set->matmul[type]};
    if (!tensor_row_bytes(type, K, &m.row_bytes)) exit(1);
    m.file = pages(m.row_bytes * n_out);
    for (size_t o = 0; o < n_out; o++) fill_row(type, o, m.file + o * m.row_bytes, m.row_bytes);
    const size_t panel_bytes = m.ops->pack ? m.ops->panel_bytes(K) : PANEL_ROWS * m.row_bytes;
    m.bytes = panel_bytes * (n_out / PANEL_ROWS);
    m.n_copies = n_copies_bytes / m.bytes + 1;
    m.packed = pages(m.bytes * m.n_copies);
    for (size_t p = 0; p < n_out / PANEL_ROWS && m.ops->pack; p++)
        m.ops->pack(m.file + p * PANEL_ROWS * m.row_bytes, m.row_bytes, PANEL_ROWS, K, m.packed + p * panel_bytes);
    for (size_t i = m.ops->pack ? 1 : 0; i < m.n_copies; i++)
        memcpy(m.packed + i * m.bytes, m.ops->pack ? m.packed : m.file, m.bytes);
    return m;
}
static void free_matrix(struct matrix *m, size_t n_out) {
    mem_pages_free(m->file, m->row_bytes * n_out);
    mem_pages_free(m->packed, m->bytes * m->n_copies);
}

// Of large pages, as the engine's buffers are: rows of the output lie pages apart.
static const size_t ACT_BYTES = MOST_ROWS * 4 * (K + 256);
static const size_t OUT_BYTES =
    sizeof(float) * (MOST_ROWS * N_OUT_SMALL > 16 * N_OUT ? MOST_ROWS * N_OUT_SMALL : 16 * N_OUT);
static uint8_t *act;
static float *out;
static void *scratch;

enum way { WAY_MATMUL, WAY_GEMM, N_WAYS };

// Time of one product with n_rows rows over all copies.
static double product_ns(const struct kernel_set *set, const struct matrix *m, size_t n_out, size_t n_rows,
                         enum way way) {
    const size_t stride = act_row_stride(m->ops->act, K);
    float row[K];
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t i = 0; i < K; i++) row[i] = noise(r * K + i + 7);
        set->prepare_act[m->ops->act](row, K, act + r * stride);
    }
    const double start = now_ns();
    for (size_t i = 0; i < m->n_copies; i++)
        if (way == WAY_GEMM)
            m->ops->gemm(m->packed + i * m->bytes, n_out, K, act, stride, n_rows, out, n_out, scratch);
        else
            m->ops->matmul(m->packed + i * m->bytes, m->row_bytes, n_out, K, act, stride, n_rows, out, n_out);
    return now_ns() - start;
}

static volatile uint64_t sink;

// Trillions of operations a second in a matrix that fits the cache.
static double many_rows(const struct kernel_set *set, enum tensor_type type, size_t n_rows, enum way way) {
    struct matrix m = make_matrix(set, type, N_OUT_SMALL, 0);
    double many[N_RUNS];
    for (int i = 0; i < N_RUNS; i++) many[i] = product_ns(set, &m, N_OUT_SMALL, n_rows, way);
    const double operations = 2.0 * K * N_OUT_SMALL * (double)n_rows * (double)m.n_copies;
    free_matrix(&m, N_OUT_SMALL);
    return operations / median(many, N_RUNS) / 1e3;
}

static void ladder_type(const struct kernel_set *set, enum tensor_type type) {
    struct matrix m = make_matrix(set, type, N_OUT, set->id == CPU_REF ? 0 : FROM_MEMORY);
    const enum way n_ways = m.ops->gemm ? N_WAYS : WAY_GEMM;
    double read[N_RUNS], one[N_RUNS], few[N_WAYS][N_FEW][N_RUNS];
    scratch = m.ops->gemm ? pages(m.ops->gemm_scratch(K)) : NULL;
    for (int i = 0; i < N_RUNS; i++) {
        const double start = now_ns();
        sink = read_all(m.packed, m.bytes * m.n_copies);
        read[i] = now_ns() - start;
        one[i] = product_ns(set, &m, N_OUT, 1, WAY_MATMUL);
        for (enum way way = 0; way < n_ways; way++)
            for (int j = 0; j < N_FEW; j++) few[way][j][i] = product_ns(set, &m, N_OUT, few_rows[j], way);
    }
    const double bytes = (double)(m.bytes * m.n_copies), r = median(read, N_RUNS), g = median(one, N_RUNS);
    for (enum way way = 0; way < n_ways; way++) {
        printf("%-10s %-6s", way == WAY_GEMM ? "    gemm" : set->name, tensor_type_info(type)->name);
        if (way == WAY_MATMUL)
            printf(" %6.2f %8.2f %6.0f %%", bytes / r, bytes / g, 100 * r / g);
        else
            printf(" %6s %8s %8s", "", "", "");
        for (int j = 0; j < N_FEW; j++) printf(" %5.2f", median(few[way][j], N_RUNS) / g);
        printf(" %8.4f\n", many_rows(set, type, set->id == CPU_REF ? 4 : MOST_ROWS, way));
    }
    free_matrix(&m, N_OUT);
    if (scratch) mem_pages_free(scratch, m.ops->gemm_scratch(K));
}

// Attention --------------------------------------------------------------------------------------------------------------

enum { HEAD_DIM = 64, N_BLOCKS = 128, MOST_Q = 64 }; // 8,192 keys
static const size_t few_queries[] = {1, 4, 8};
enum { N_FEW_Q = sizeof few_queries / sizeof *few_queries };

// One pass of n_q queries over all pages of the cache, 8,192 keys of one head after another: softmax states go on.
static double attention_ns(const struct kernel_set *set, enum kv_codec c, const uint8_t *cache, size_t n_blocks,
                           size_t n_q) {
    static _Alignas(64) uint8_t q[MOST_Q * 4 * HEAD_DIM];
    static float m[MOST_Q], l[MOST_Q], o[MOST_Q * HEAD_DIM];
    const struct kv_codec_ops *const kv = &set->kv[c];
    const size_t key_bytes = kv->key_bytes(HEAD_DIM), pair_bytes = key_bytes + kv->value_bytes(HEAD_DIM),
                 q_stride = act_bytes(kv->act, HEAD_DIM);
    uint8_t lo[MOST_Q], hi[MOST_Q];
    memset(lo, 0, sizeof lo);
    memset(hi, KV_BLOCK, sizeof hi);
    memset(o, 0, sizeof o);
    for (size_t i = 0; i < n_q; i++) {
        float row[HEAD_DIM];
        for (size_t d = 0; d < HEAD_DIM; d++) row[d] = noise(i * HEAD_DIM + d);
        set->prepare_act[kv->act](row, HEAD_DIM, q + i * q_stride);
        m[i] = -100, l[i] = 0;
    }
    const double start = now_ns();
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *const now = cache + b * pair_bytes, *const next = b + 1 < n_blocks ? now + pair_bytes : now;
        kv->attend(&(struct attend_block){.keys = now,
                                          .values = now + key_bytes,
                                          .next_keys = next,
                                          .next_values = next + key_bytes,
                                          .head_dim = HEAD_DIM,
                                          .v_dim = HEAD_DIM,
                                          .q = q,
                                          .q_stride = q_stride,
                                          .n_q = n_q,
                                          .lo = lo,
                                          .hi = hi,
                                          .scale = 0.125f,
                                          .m = m,
                                          .l = l,
                                          .o = o,
                                          .scratch = scratch});
    }
    return now_ns() - start;
}

static void ladder_attention(const struct kernel_set *set, enum kv_codec c) {
    const struct kv_codec_ops *const kv = &set->kv[c];
    const size_t key_bytes = kv->key_bytes(HEAD_DIM), pair_bytes = key_bytes + kv->value_bytes(HEAD_DIM);
    const size_t n_copies = set->id == CPU_REF ? 1 : FROM_MEMORY / (N_BLOCKS * pair_bytes) + 1,
                 n_blocks = n_copies * N_BLOCKS;
    uint8_t *const cache = pages(n_blocks * pair_bytes);
    float row[HEAD_DIM];
    for (size_t j = 0; j < N_BLOCKS * KV_BLOCK; j++) {
        uint8_t *const block = cache + j / KV_BLOCK * pair_bytes;
        for (size_t d = 0; d < HEAD_DIM; d++) row[d] = noise(j * HEAD_DIM + d);
        kv->put_key(block, HEAD_DIM, (int)(j % KV_BLOCK), row);
        kv->put_value(block + key_bytes, HEAD_DIM, (int)(j % KV_BLOCK), row);
    }
    for (size_t i = 1; i < n_copies; i++) memcpy(cache + i * N_BLOCKS * pair_bytes, cache, N_BLOCKS * pair_bytes);
    scratch = pages(attend_scratch(HEAD_DIM));
    double read[N_RUNS], few[N_FEW_Q][N_RUNS], many[N_RUNS];
    for (int i = 0; i < N_RUNS; i++) {
        const double start = now_ns();
        sink = read_all(cache, n_blocks * pair_bytes);
        read[i] = now_ns() - start;
        for (size_t j = 0; j < N_FEW_Q; j++) few[j][i] = attention_ns(set, c, cache, n_blocks, few_queries[j]);
        many[i] = attention_ns(set, c, cache, N_BLOCKS, MOST_Q);
    }
    const double bytes = (double)(n_blocks * pair_bytes), flops = 4.0 * N_BLOCKS * KV_BLOCK * HEAD_DIM * MOST_Q;
    const double r = median(read, N_RUNS);
    printf("%-10s %-5s %6.2f", set->name, kv_codec_name(c), bytes / r);
    for (size_t j = 0; j < N_FEW_Q; j++)
        printf("  %6.2f %4.0f %%", bytes / median(few[j], N_RUNS), 100 * r / few[j][N_RUNS / 2]);
    printf("  %8.4f\n", flops / median(many, N_RUNS) / 1e3);
    mem_pages_free(cache, n_blocks * pair_bytes);
    mem_pages_free(scratch, attend_scratch(HEAD_DIM));
}

static const char usage[] = "usage: kernel_ladder [SET [TYPE|attention]]";

int main(int argc, char **argv) {
    enum cpu_set only = CPU_N_SETS;
    rn_error err = {0};
    const bool attention = argc < 3 || strcmp(argv[2], "attention") == 0, products = argc < 3 || !attention;
    const struct tensor_type_info *const only_type = argc == 3 && !attention ? tensor_type_by_name(argv[2]) : NULL;
    if (argc > 3 || (argc > 1 && cpu_set_by_name(argv[1], &only, &err) != RN_OK) ||
        (argc == 3 && products && !only_type)) {
        fprintf(stderr, "kernel_ladder: %s\n", err.text[0] ? err.text : usage);
        return 2;
    }
    act = pages(ACT_BYTES);
    out = pages(OUT_BYTES);
    const fp_mode mode = fp_mode_enter();
    if (products)
        printf("%d x %d weights    read  one row   share   2, 4, 6, 8, 16, 32 rows / 1      TOPS\n", N_OUT, K);
    for (enum cpu_set s = 0; s < CPU_N_SETS; s++)
        for (int t = 0; t < TENSOR_N_TYPES; t++)
            if (products && cpu_set_available(s) && (only == CPU_N_SETS || only == s) &&
                (!only_type || (int)only_type->type == t))
                ladder_type(kernel_set_get(s), (enum tensor_type)t);
    if (attention)
        printf("\nhead_dim %d        read  1, 4, 8 queries: GB/s of cache, share  %d queries, %d keys: TFLOPS\n",
               HEAD_DIM, MOST_Q, N_BLOCKS * KV_BLOCK);
    for (enum cpu_set s = 0; s < CPU_N_SETS; s++)
        for (enum kv_codec c = 0; c < KV_N_CODECS; c++)
            if (attention && cpu_set_available(s) && (only == CPU_N_SETS || only == s))
                ladder_attention(kernel_set_get(s), c);
    fp_mode_leave(mode);
    mem_pages_free(act, ACT_BYTES);
    mem_pages_free(out, OUT_BYTES);
    return 0;
}
