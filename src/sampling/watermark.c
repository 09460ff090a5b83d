// sampling/watermark.c - see watermark.h.
#include "sampling/watermark.h"
#include "base/mem.h"
#include "kernels/rowmath.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// ---- hashes and bits -------------------------------------------------------------------------------------------------

// newlib's generator, which transformers takes for its hash.
#define MULTIPLIER UINT64_C(6364136223846793005)
static uint64_t hash_more(uint64_t hash, uint64_t data) { return (hash + data) * MULTIPLIER + 1; }

// The context of a token that has n before it.
static uint64_t hash_context(const struct watermark_params *p, const int32_t *tokens, size_t n) {
    const size_t n_context = (size_t)p->ngram_len - 1;
    uint64_t hash = 1;
    for (size_t i = 0; i < n_context; i++) {
        const bool is_there = n + i >= n_context;
        hash = hash_more(hash, is_there ? (uint64_t)tokens[n + i - n_context] : 0);
    }
    return hash;
}

// The remainder, which is not negative, of a hash as a signed number, as torch has it.
static size_t place(const struct watermark_params *p, uint64_t hash) {
    const uint64_t size = (uint64_t)p->table_size;
    const uint64_t rest = hash >> 63 ? (size - (-hash % size)) % size : hash % size;
    return (size_t)rest;
}

static unsigned table_bit(const uint8_t *table, size_t i) { return (unsigned)table[i / 8] >> (i % 8) & 1U; }
// The bits of an n-gram, the first key's lowest. With the usual table sizes a remainder is a mask.
static uint64_t bits_of(const struct watermark_params *p, const uint8_t *table, uint64_t ngram) {
    const size_t n = p->n_keys;
    const uint64_t mask = (uint64_t)p->table_size - 1;
    uint64_t bits = 0;
    if (((uint64_t)p->table_size & mask) == 0)
        for (size_t k = 0; k < n; k++)
            bits |= (uint64_t)table_bit(table, (size_t)(hash_more(ngram, (uint64_t)p->keys[k]) & mask)) << k;
    else
        for (size_t k = 0; k < n; k++)
            bits |= (uint64_t)table_bit(table, place(p, hash_more(ngram, (uint64_t)p->keys[k]))) << k;
    return bits;
}

// The lowest bits of the Mersenne Twister's numbers, which are torch.randint(0, 2) on a CPU.
static uint8_t *make_table(const struct watermark_params *p) {
    enum { N = 624, M = 397 };
    uint32_t state[N];
    const size_t n = (size_t)p->table_size;
    uint8_t *const table = mem_calloc(1, watermark_table_bytes(p));
    if (!table) return NULL;
    state[0] = (uint32_t)p->table_seed;
    for (uint32_t i = 1; i < N; i++) state[i] = 1812433253U * (state[i - 1] ^ state[i - 1] >> 30) + i;
    for (size_t k = 0; k < n; k++) {
        const size_t i = k % N;
        const uint32_t joined = (state[i] & 0x80000000U) | (state[(i + 1) % N] & 0x7fffffffU);
        state[i] = state[(i + M) % N] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfU : 0);
        uint32_t y = state[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680U;
        y ^= y << 15 & 0xefc60000U;
        y ^= y >> 18;
        table[k / 8] = (uint8_t)(table[k / 8] | (y & 1) << (k % 8));
    }
    return table;
}

rn_status watermark_check(const struct watermark_params *p, rn_error *err) {
    const struct {
        const char *name;
        int64_t value, min, max;
    } rows[] = {{"keys", (int64_t)p->n_keys, 1, WATERMARK_MAX_KEYS},
                {"ngram_len", p->ngram_len, 2, WATERMARK_MAX_NGRAM},
                {"context_history_size", p->history_size, 0, WATERMARK_MAX_HISTORY},
                {"sampling_table_size", p->table_size, 1, WATERMARK_MAX_TABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < rows[i].min || rows[i].value > rows[i].max)
            return fail(err, RN_E_ARG, "watermark: %s: %lld is outside %lld..%lld", rows[i].name,
                        (long long)rows[i].value, (long long)rows[i].min, (long long)rows[i].max);
    return p->keys ? RN_OK : fail(err, RN_E_ARG, "watermark: keys: NULL");
}

size_t watermark_table_bytes(const struct watermark_params *p) { return ((size_t)p->table_size + 7) / 8; }

// ---- generation ------------------------------------------------------------------------------------------------------

rn_status watermark_init(struct watermark *w, const struct watermark_params *p, size_t cap, rn_error *err) {
    *w = (struct watermark){.cap = cap, .n = 1};
    w->table = make_table(p);
    w->contexts = mem_alloc(watermark_bytes(cap));
    if (!w->table || !w->contexts) {
        watermark_free(w);
        return fail(err, RN_E_NOMEM, "watermark: out of memory");
    }
    w->contexts[0] = hash_context(p, NULL, 0);
    return RN_OK;
}

void watermark_copy(struct watermark *to, const struct watermark *from) {
    if (from->n == 0) return;
    memcpy(to->contexts, from->contexts, from->n * sizeof *from->contexts);
    to->n = from->n;
}

void watermark_free(struct watermark *w) {
    mem_free(w->table);
    mem_free(w->contexts);
    *w = (struct watermark){0};
}

size_t watermark_bytes(size_t cap) { return (cap + 1) * sizeof(uint64_t); }

void watermark_accept(struct watermark *w, const struct watermark_params *p, const int32_t *tokens, size_t n) {
    if (!w->contexts) return;
    assert(n == w->n && n <= w->cap);
    w->contexts[w->n++] = hash_context(p, tokens, n);
}

void watermark_rewind(struct watermark *w, size_t n) {
    if (!w->contexts) return;
    assert(n < w->n);
    w->n -= n;
}

// Is the i-th context, counted from `first` on, among the history_size before it? The history begins with zeros.
static bool is_repeated(const uint64_t *contexts, size_t first, size_t i, int32_t history_size) {
    const size_t size = (size_t)history_size, from = i - first > size ? i - size : first;
    for (size_t k = from; k < i; k++)
        if (contexts[k] == contexts[i]) return true;
    return contexts[i] == 0 && i - first < size;
}

// Element i adds to sum i mod 8, so that the sums do not wait for each other.
enum { PARTS = 8 };
static double add_parts(const double parts[PARTS]) {
    double sum = 0;
    for (int i = 0; i < PARTS; i++) sum += parts[i];
    return sum;
}

// Probabilities and bits of the tokens whose logits are finite. Returns how many there are.
static size_t gather(const float *row, int32_t n_vocab, float max, const struct watermark *w,
                     const struct watermark_params *p, const struct watermark_scratch *t) {
    const uint64_t context = w->contexts[w->n - 1];
    size_t n = 0;
    double parts[PARTS] = {0};
    for (int32_t i = 0; i < n_vocab; i++) {
        if (row[i] == -INFINITY) continue;
        t->ids[n] = i;
        t->probs[n] = exp_f32(row[i] - max);
        parts[n % PARTS] += (double)t->probs[n];
        n++;
    }
    const double total = add_parts(parts);
    for (size_t i = 0; i < n; i++) {
        const uint64_t ngram = hash_more(context, (uint64_t)t->ids[i]);
        t->probs[i] = (float)((double)t->probs[i] / total);
        t->bits[i] = bits_of(p, w->table, ngram);
    }
    return n;
}

static void play_round(const struct watermark_scratch *t, size_t n, size_t k) {
    double parts[PARTS] = {0};
    for (size_t i = 0; i < n; i++) parts[i % PARTS] += (double)(t->bits[i] >> k & 1) * (double)t->probs[i];
    const double mass = add_parts(parts);
    const float factors[] = {(float)(1 - mass), (float)(2 - mass)};
    for (size_t i = 0; i < n; i++) t->probs[i] *= factors[t->bits[i] >> k & 1];
}

void stage_watermark(float *row, int32_t n_vocab, float max, const struct watermark *w,
                     const struct watermark_params *p, const struct watermark_scratch *t) {
    const size_t first = p->skip_first ? (size_t)p->ngram_len - 1 : 0, i = w->n - 1;
    if (i < first || is_repeated(w->contexts, first, i, p->history_size)) return;
    const size_t n = gather(row, n_vocab, max, w, p, t);
    for (size_t k = 0; k < p->n_keys; k++) play_round(t, n, k);
    for (size_t k = 0; k < n; k++) row[t->ids[k]] = t->probs[k] > 0 ? (float)log_f64((double)t->probs[k]) : -INFINITY;
}

// ---- detection -------------------------------------------------------------------------------------------------------

static double weight_of(const struct watermark_params *p, size_t key) {
    const double last = (double)(p->n_keys - 1);
    return last > 0 ? 10 - 9 * (double)key / last : 10;
}

// Bits of keys that have the same place in the table are equal.
static double deviation_of(const struct watermark_params *p, double expected, double n_scored, double n_weights) {
    double sum = 0;
    for (size_t i = 0; i < p->n_keys; i++)
        for (size_t k = 0; k < p->n_keys; k++)
            if (place(p, (uint64_t)p->keys[i]) == place(p, (uint64_t)p->keys[k]))
                sum += weight_of(p, i) * weight_of(p, k);
    return sqrt(expected * (1 - expected) * sum / n_scored) / n_weights;
}

static void add_up(const struct watermark_params *p, const uint8_t *table, const uint64_t *contexts,
                   const int32_t *tokens, size_t n_contexts, struct watermark_score *out) {
    const size_t n_before = (size_t)p->ngram_len - 1;
    double sum = 0, weighted = 0, weights = 0, ones = 0;
    for (size_t k = 0; k < p->n_keys; k++) weights += weight_of(p, k);
    for (int32_t i = 0; i < p->table_size; i++) ones += table_bit(table, (size_t)i);
    *out = (struct watermark_score){.expected = ones / (double)p->table_size};
    for (size_t i = 0; i < n_contexts; i++) {
        if (is_repeated(contexts, 0, i, p->history_size)) continue;
        const uint64_t ngram = hash_more(contexts[i], (uint64_t)tokens[i + n_before]);
        const uint64_t bits = bits_of(p, table, ngram);
        out->n_scored++;
        for (size_t k = 0; k < p->n_keys; k++) {
            const double g = (double)(bits >> k & 1);
            sum += g, weighted += g * weight_of(p, k);
        }
    }
    if (out->n_scored == 0) return;
    const double n = (double)out->n_scored;
    out->mean = sum / n / (double)p->n_keys;
    out->weighted_mean = weighted / n / weights;
    out->deviation = deviation_of(p, out->expected, n, weights);
}

rn_status watermark_score(const struct watermark_params *p, const int32_t *tokens, size_t n_tokens,
                          struct watermark_score *out, rn_error *err) {
    const size_t n_before = (size_t)p->ngram_len - 1, n = n_tokens > n_before ? n_tokens - n_before : 0;
    uint8_t *const table = make_table(p);
    uint64_t *const contexts = mem_alloc((n + 1) * sizeof *contexts);
    if (table && contexts) {
        for (size_t i = 0; i < n; i++) contexts[i] = hash_context(p, tokens, i + n_before);
        add_up(p, table, contexts, tokens, n, out);
    }
    const bool ok = table && contexts;
    mem_free(table);
    mem_free(contexts);
    return ok ? RN_OK : fail(err, RN_E_NOMEM, "watermark: out of memory");
}
