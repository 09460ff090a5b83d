// sampling/repeats.c - see repeats.h.
#include "sampling/repeats.h"
#include "kernels/rowmath.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

void repeat_lengths(const int32_t *tokens, size_t n, int32_t *lengths) {
    const int32_t *const last = tokens + n - 1; // last[-i] is the i-th of the tokens in reverse
    size_t left = 0, right = 0;                 // [left, right) equals the beginning, and ends last of those seen
    if (n > 0) lengths[0] = (int32_t)n;
    for (size_t i = 1; i < n; i++) {
        size_t length = 0;
        if (i < right) {
            length = (size_t)lengths[i - left];
            if (length > right - i) length = right - i;
        }
        while (i + length < n && last[-(ptrdiff_t)length] == last[-(ptrdiff_t)(i + length)]) length++;
        lengths[i] = (int32_t)length;
        if (i + length > right) left = i, right = i + length;
    }
}

// The first breaker of a token, or where it would stand.
static size_t find_breaker(const struct dry *dry, int32_t token) {
    size_t low = 0, high = dry->n_breakers;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (dry->breakers[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The longest tail, in tokens, of a breaker whose first token is the i-th last one; -1: there is none.
static ptrdiff_t broken_at(const struct dry *dry, const int32_t *tokens, size_t n, size_t i) {
    const int32_t token = tokens[n - 1 - i];
    ptrdiff_t longest = -1;
    for (size_t b = find_breaker(dry, token); b < dry->n_breakers && dry->breakers[b].token == token; b++) {
        const struct dry_breaker *const breaker = &dry->breakers[b];
        size_t same = 0;
        if (breaker->n_tail > i) continue;
        while (same < breaker->n_tail && breaker->tail[same] == tokens[n - i + same]) same++;
        if (same == breaker->n_tail && (ptrdiff_t)same > longest) longest = (ptrdiff_t)same;
    }
    return longest;
}

static bool is_breaker_alone(const struct dry *dry, int32_t token) {
    for (size_t b = find_breaker(dry, token); b < dry->n_breakers && dry->breakers[b].token == token; b++)
        if (dry->breakers[b].n_tail == 0) return true;
    return false;
}

// Tokens after the last breaker, of which a repeat may consist.
static size_t unbroken(const struct dry *dry, const int32_t *tokens, size_t n) {
    for (size_t i = 0; dry->n_breakers > 0 && i < n; i++) {
        const ptrdiff_t tail = broken_at(dry, tokens, n, i);
        if (tail >= 0) return i - (size_t)tail;
    }
    return n;
}

// Finite, as llama.cpp has it: the power is at most the largest float.
static double penalty(const struct dry *dry, int32_t length) {
    static const double LOG_FLT_MAX = 88.7228391;
    const double log_base = log_f64((double)dry->base);
    double power = (double)(length - dry->allowed_length);
    if (dry->base > 1.000001f) power = fmin(power, floor(LOG_FLT_MAX / log_base));
    return (double)dry->multiplier * exp_f64(power * log_base);
}

void stage_dry(float *row, const struct dry *dry, const int32_t *tokens, size_t n, int32_t *lengths, int32_t *most) {
    const size_t allowed = (size_t)dry->allowed_length;
    if (n <= allowed) return;
    const size_t limit = unbroken(dry, tokens, n);
    if (limit < allowed) return;
    repeat_lengths(tokens, n, lengths);
    for (size_t i = 1; i < n; i++) most[tokens[n - i]] = -1;
    for (size_t i = 1; i < n; i++) {
        const int32_t length = lengths[i] < (int32_t)limit ? lengths[i] : (int32_t)limit;
        if ((size_t)length >= allowed && length > most[tokens[n - i]]) most[tokens[n - i]] = length;
    }
    for (size_t i = 1; i < n; i++) {
        const int32_t token = tokens[n - i], length = most[token];
        if (length < 0) continue;
        most[token] = -1; // once for each token
        if (is_breaker_alone(dry, token) || row[token] == -INFINITY) continue;
        row[token] = (float)fmax((double)row[token] - penalty(dry, length), (double)-FLT_MAX);
    }
}

void stage_no_repeat_ngram(float *row, int32_t size, const int32_t *tokens, size_t n, int32_t *lengths) {
    if (n < (size_t)size) return;
    if (size == 1) row[tokens[0]] = -INFINITY; // nothing stands before it that could recur
    repeat_lengths(tokens, n, lengths);
    for (size_t i = 1; i < n; i++)
        if (lengths[i] >= size - 1) row[tokens[n - i]] = -INFINITY;
}
