// bench/price_ladder.c - what equal bits cost: matrix kernels beside ones of the same instructions that add in whatever order is the fastest.
//
//   price_ladder     the set avx512vnni; needs a machine that has it
//
// The free kernels read rows as files have them, with lanes along k, several sums for each output that are added up at the end, and four
// rows of activations at a time; their activations are prepared like ours. One thread, thread CPU time, in turn, medians of 9: one row
// over copies of a matrix that no cache holds, and 16 rows in the second-level cache. Price: our time by theirs.
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tensor/k_blocks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { N_RUNS = 9, K = 2048, N_OUT = 8192, N_OUT_CACHED = 256, MANY_ROWS = 16, AT_ONCE = 4 };
static const size_t FROM_MEMORY = (size_t)256 << 20; // bytes of copies

#define FREE static inline __attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512vnni,f16c,fma")))

// Dot products of one row of weights with n rows of activations, which are `stride` bytes apart.
typedef void (*free_dot_fn)(const uint8_t *w, const uint8_t *x, size_t stride, int n, float *out);

FREE float half(const uint8_t *p) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_loadu_si16(p))); }
// What one row from memory reads later, as our kernels do.
FREE void fetch(const uint8_t *w) { _mm_prefetch((const char *)w + 4096, _MM_HINT_T0); }

FREE float sum_8(__m256 x) { return _mm512_reduce_add_ps(_mm512_zextps256_ps512(x)); }

FREE __m512 load_f16(const uint8_t *w) { return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)w)); }
FREE __m512 load_bf16(const uint8_t *w) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)w)), 16));
}

// Eight chains for each output of one row, two where there are more rows: the chains of all rows hide what an addition takes.
FREE void dot_plain(const uint8_t *w, const uint8_t *x, size_t stride, int n, float *out, bool bf16) {
    const int n_chains = n == 1 ? 8 : 2;
    __m512 acc[AT_ONCE][8];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n_chains; c++) acc[r][c] = _mm512_setzero_ps();
    for (size_t i = 0; i < K; i += 16 * (size_t)n_chains)
        for (int c = 0; c < n_chains; c++) {
            const size_t at = i + 16 * (size_t)c;
            if (n == 1 && c % 2 == 0) fetch(w + 2 * at);
            const __m512 weights = bf16 ? load_bf16(w + 2 * at) : load_f16(w + 2 * at);
            for (int r = 0; r < n; r++) {
                const uint8_t *const row = x + (size_t)r * stride;
                const __m512 a = bf16 ? load_bf16(row + 2 * at) : _mm512_loadu_ps(row + 4 * at);
                acc[r][c] = _mm512_fmadd_ps(weights, a, acc[r][c]);
            }
        }
    for (int r = 0; r < n; r++) {
        for (int c = 1; c < n_chains; c++) acc[r][0] = _mm512_add_ps(acc[r][0], acc[r][c]);
        out[r] = _mm512_reduce_add_ps(acc[r][0]);
    }
}

// Bytes times bytes, one factor without signs: |w| and a with the sign of w.
FREE void dot_q8_0(const uint8_t *w, const uint8_t *x, size_t stride, int n, float *out) {
    __m256 acc[AT_ONCE][2];
    for (int r = 0; r < n; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < K / 32; b++) {
        const __m256i q = _mm256_loadu_si256((const void *)(w + 34 * b + 2)), magnitude = _mm256_abs_epi8(q);
        const float d = half(w + 34 * b);
        if (n == 1) fetch(w + 34 * b);
        for (int r = 0; r < n; r++) {
            const struct act_q8 a = act_q8_view(x + (size_t)r * stride, K);
            const __m256i by = _mm256_sign_epi8(_mm256_loadu_si256((const void *)(a.a + 32 * b)), q);
            const __m256i sums = _mm256_dpbusd_epi32(_mm256_setzero_si256(), magnitude, by);
            acc[r][b % 2] = _mm256_fmadd_ps(_mm256_set1_ps(d * a.d[b]), _mm256_cvtepi32_ps(sums), acc[r][b % 2]);
        }
    }
    for (int r = 0; r < n; r++) out[r] = sum_8(_mm256_add_ps(acc[r][0], acc[r][1]));
}

FREE __m256i eight_bytes(const void *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(p)); }

FREE void dot_q4_k(const uint8_t *w, const uint8_t *x, size_t stride, int n, float *out) {
    __m256 acc[AT_ONCE], least[AT_ONCE];
    for (int r = 0; r < n; r++) acc[r] = least[r] = _mm256_setzero_ps();
    for (size_t b = 0; b < K / 256; b++, w += Q4_K_BYTES) {
        int8_t scale[8];
        uint8_t min[8];
        q4_k_scales(w + 4, scale, min);
        const float d = half(w), dmin = half(w + 2);
        for (size_t line = 0; n == 1 && line < Q4_K_BYTES; line += 64) fetch(w + line);
        __m256i sums[AT_ONCE];
        for (int r = 0; r < n; r++) sums[r] = _mm256_setzero_si256();
        for (size_t part = 0; part < 8; part++) {
            const __m256i both = _mm256_loadu_si256((const void *)(w + 16 + part / 2 * 32));
            const __m256i q = _mm256_and_si256(part % 2 ? _mm256_srli_epi16(both, 4) : both, _mm256_set1_epi8(15));
            for (int r = 0; r < n; r++) {
                const int8_t *const a = (const int8_t *)x + (size_t)r * stride + 256 * b + 32 * part;
                const __m256i dots =
                    _mm256_dpbusd_epi32(_mm256_setzero_si256(), q, _mm256_loadu_si256((const void *)a));
                sums[r] = _mm256_add_epi32(sums[r], _mm256_mullo_epi32(dots, _mm256_set1_epi32(scale[part])));
            }
        }
        for (int r = 0; r < n; r++) {
            const struct act_q8_k a = act_q8_k_view(x + (size_t)r * stride, K);
            const __m256i in_32 =
                _mm256_add_epi32(_mm256_slli_epi32(eight_bytes(a.b32 + 16 * b), 7), eight_bytes(a.b32 + 16 * b + 8));
            const __m256 by_min = _mm256_cvtepi32_ps(_mm256_mullo_epi32(in_32, eight_bytes(min)));
            acc[r] = _mm256_fmadd_ps(_mm256_set1_ps(d * a.d[b]), _mm256_cvtepi32_ps(sums[r]), acc[r]);
            least[r] = _mm256_fmadd_ps(_mm256_set1_ps(dmin * a.d[b]), by_min, least[r]);
        }
    }
    for (int r = 0; r < n; r++) out[r] = sum_8(_mm256_sub_ps(acc[r], least[r]));
}

FREE void dot_f16(const uint8_t *w, const uint8_t *x, size_t stride, int n, float *out) {
    dot_plain(w, x, stride, n, out, false);
}
FREE void dot_bf16(const uint8_t *w, const uint8_t *x, size_t stride, int n, float *out) {
    dot_plain(w, x, stride, n, out, true);
}

// out[r][o], as matmul_ops.matmul has it.
typedef void (*free_product_fn)(const uint8_t *w, size_t row_bytes, size_t n_out, const uint8_t *x, size_t stride,
                                size_t n_rows, float *out);
#define FREE_PRODUCT(type)                                                                                           \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,f16c,fma"))) static void free_##type(                \
        const uint8_t *w, size_t row_bytes, size_t n_out, const uint8_t *x, size_t stride, size_t n_rows,            \
        float *out) {                                                                                                \
        float dots[AT_ONCE];                                                                                         \
        for (size_t o = 0; o < n_out; o++, w += row_bytes) {                                                         \
            if (n_rows == 1) dot_##type(w, x, stride, 1, out + o);                                                   \
            for (size_t r = 0; r + AT_ONCE <= n_rows; r += AT_ONCE) {                                                \
                dot_##type(w, x + r * stride, stride, AT_ONCE, dots);                                                \
                for (size_t i = 0; i < AT_ONCE; i++) out[(r + i) * n_out + o] = dots[i];                             \
            }                                                                                                        \
        }                                                                                                            \
    }
FREE_PRODUCT(f16)
FREE_PRODUCT(bf16)
FREE_PRODUCT(q8_0)
FREE_PRODUCT(q4_k)

static const struct contest {
    enum tensor_type type;
    free_product_fn product;
} contests[] = {{TENSOR_F16, free_f16}, {TENSOR_BF16, free_bf16}, {TENSOR_Q8_0, free_q8_0}, {TENSOR_Q4_K, free_q4_k}};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static float noise(uint64_t i) { return (float)(hash_u64(i, 1) >> 40) * 0x1p-23f - 1; }
static void *pages(size_t n) {
    void *const p = mem_pages(n);
    if (p) return p;
    fprintf(stderr, "price_ladder: out of memory for %zu bytes\n", n);
    exit(1);
}

struct prices {
    double ours, theirs; // ns
    double worst;        // difference of their results, beside the largest of ours
};

// Both over n_copies copies of a matrix of n_out rows.
static struct prices measure(const struct kernel_set *set, const struct contest *c, size_t n_out, size_t n_rows,
                             size_t n_copies) {
    const struct matmul_ops *const ops = &set->matmul[c->type];
    const size_t stride = act_row_stride(ops->act, K), n_panels = n_out / PANEL_ROWS, panel = ops->panel_bytes(K);
    size_t row_bytes;
    if (!tensor_row_bytes(c->type, K, &row_bytes)) exit(1);
    uint8_t *const file = pages(n_copies * n_out * row_bytes), *const packed = pages(n_copies * n_panels * panel);
    uint8_t *const act = pages(n_rows * stride);
    float *const ours = pages(sizeof(float) * n_out * n_rows), *const theirs = pages(sizeof(float) * n_out * n_rows);
    float row[K];
    for (size_t o = 0; o < n_copies * n_out; o++) {
        for (size_t i = 0; i < K; i++) row[i] = noise(o % n_out * K + i);
        tensor_type_info(c->type)->quantize_row(row, NULL, file + o * row_bytes, K);
    }
    for (size_t p = 0; p < n_copies * n_panels; p++)
        ops->pack(file + p * PANEL_ROWS * row_bytes, row_bytes, PANEL_ROWS, K, packed + p * panel);
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t i = 0; i < K; i++) row[i] = noise(r * K + i + 7);
        set->prepare_act[ops->act](row, K, act + r * stride);
    }
    double a[N_RUNS], b[N_RUNS];
    for (int run = 0; run < N_RUNS; run++) {
        double start = now_ns();
        for (size_t i = 0; i < n_copies; i++)
            ops->matmul(packed + i * n_panels * panel, row_bytes, n_out, K, act, stride, n_rows, ours, n_out);
        a[run] = now_ns() - start;
        start = now_ns();
        for (size_t i = 0; i < n_copies; i++)
            c->product(file + i * n_out * row_bytes, row_bytes, n_out, act, stride, n_rows, theirs);
        b[run] = now_ns() - start;
    }
    struct prices p = {0};
    float most = 0, apart = 0;
    for (size_t i = 0; i < n_out * n_rows; i++) {
        if (fabsf(ours[i]) > most) most = fabsf(ours[i]);
        if (fabsf(ours[i] - theirs[i]) > apart) apart = fabsf(ours[i] - theirs[i]);
    }
    qsort(a, N_RUNS, sizeof *a, by_value), qsort(b, N_RUNS, sizeof *b, by_value);
    p.ours = a[N_RUNS / 2], p.theirs = b[N_RUNS / 2], p.worst = (double)(apart / most);
    mem_pages_free(file, n_copies * n_out * row_bytes), mem_pages_free(packed, n_copies * n_panels * panel);
    mem_pages_free(act, n_rows * stride);
    mem_pages_free(ours, sizeof(float) * n_out * n_rows), mem_pages_free(theirs, sizeof(float) * n_out * n_rows);
    return p;
}

int main(void) {
    if (!cpu_set_available(CPU_AVX512VNNI)) {
        printf("price_ladder: skipped: this machine lacks %s\n", cpu_set_lacks(CPU_AVX512VNNI));
        return 0;
    }
    const fp_mode mode = fp_mode_enter();
    const struct kernel_set *const set = kernel_set_get(CPU_AVX512VNNI);
    printf("type    one row from memory: GB/s, free, price    16 rows in cache: GOPS, free, price    differ by\n");
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++) {
        const struct contest *const c = &contests[i];
        size_t row_bytes;
        if (!tensor_row_bytes(c->type, K, &row_bytes)) return 1;
        const size_t n_copies = FROM_MEMORY / (N_OUT * row_bytes) + 1;
        const struct prices one = measure(set, c, N_OUT, 1, n_copies),
                            many = measure(set, c, N_OUT_CACHED, MANY_ROWS, 8);
        const double bytes = (double)(n_copies * N_OUT * row_bytes), ops = 2.0 * 8 * N_OUT_CACHED * K * MANY_ROWS;
        printf("%-6s  %23.2f %6.2f %6.2f  %24.0f %6.0f %6.2f    %.1e\n", tensor_type_info(c->type)->name,
               bytes / one.ours, bytes / one.theirs, one.ours / one.theirs, ops / many.ours, ops / many.theirs,
               many.ours / many.theirs, many.worst);
    }
    fp_mode_leave(mode);
    return 0;
}

#else
int main(void) {
    printf("price_ladder: skipped: this is not x86-64\n");
    return 0;
}
#endif
