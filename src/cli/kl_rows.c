// cli/kl_rows.c - see kl_rows.h.
#include "cli/kl_rows.h"
#include "app/say.h"
#include "cli/score_rows.h"
#include <math.h>
#include <stdlib.h>

void kl_rows_reserve(kl_rows *k, size_t n) { k->kl = app_realloc(k->kl, n * sizeof *k->kl); }

void kl_rows_add(kl_rows *k, const float *logits, const float *reference, int32_t n_vocab) {
    const double norm = row_nll(logits, n_vocab, 0) + (double)logits[0]; // log of the sum of exponentials
    const double ref_norm = row_nll(reference, n_vocab, 0) + (double)reference[0];
    double sum = 0;
    for (int32_t i = 0; i < n_vocab; i++) {
        const double log_p = (double)logits[i] - norm, log_ref = (double)reference[i] - ref_norm;
        sum += exp(log_ref) * (log_ref - log_p);
    }
    k->kl[k->n++] = sum > 0 ? sum : 0; // negative only by rounding
    k->n_same_top += row_argmax(logits, n_vocab) == row_argmax(reference, n_vocab);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

kl_result kl_rows_result(kl_rows *k) {
    double sum = 0;
    for (size_t i = 0; i < k->n; i++) sum += k->kl[i];
    qsort(k->kl, k->n, sizeof *k->kl, by_size);
    const size_t rank = (99 * k->n + 99) / 100; // p99, counted from 1
    return (kl_result){sum / (double)k->n, k->kl[rank - 1], (double)k->n_same_top / (double)k->n};
}

void kl_rows_free(kl_rows *k) { free(k->kl); }
