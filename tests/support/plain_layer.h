// tests/support/plain_layer.h - a decoder layer in plain double arithmetic, and running parts of
// models, to compare the two.
#ifndef RN_TESTS_PLAIN_LAYER_H
#define RN_TESTS_PLAIN_LAYER_H

#include "tests/support/lm_rig.h"

enum { PLAIN_ROWS = 20, PLAIN_EMBD = 256, PLAIN_FF = 768 }; // rows of a sequence, and the largest widths

struct plain_matrix { // w NULL: none
    float *w;
    int32_t k, n_out;
    bool is_bf16; // multiplied rows are rounded to BF16 (docs/arithmetic.md)
};
// A package's tensor; free() w. A failed check where it is absent.
struct plain_matrix plain_weights(const package *p, const char *name);
void plain_multiply(const struct plain_matrix *m, const double *x, double *out);
void plain_rms_norm(double *x, int32_t n, const float *w, double eps);
double plain_silu(double x);

struct plain_layer {
    struct plain_matrix attn_norm, q, k, v, o, ffn_norm, gate, up, down; // attn_norm.w NULL: none
    int32_t n_head, n_head_kv, head_dim;
    bool halves; // rotary pairs are i and i + head_dim / 2
    double theta, eps;
};
void plain_layer_free(struct plain_layer *l);
// x: PLAIN_ROWS rows of the residual stream, in place. attn_in: what queries, keys and values are
// made of; NULL: the (normed) x.
void plain_layer_run(const struct plain_layer *l, double (*attn_in)[2 * PLAIN_EMBD], double (*x)[PLAIN_EMBD],
                     int32_t n_embd);

// The model's hidden states of PLAIN_ROWS tokens. out: [PLAIN_ROWS][n_embd]. false: a failed check.
bool part_hidden_states(struct rig *base, const int32_t *tokens, float *out);
// A part over PLAIN_ROWS rows, each a token and an input vector, in steps of n_step rows. vectors:
// [PLAIN_ROWS][n_vector]; logits: [PLAIN_ROWS][n_vocab], NULL: not wanted; hidden:
// [PLAIN_ROWS][n_embd].
bool part_run(struct rig *part, const int32_t *tokens, const float *vectors, int32_t n_step, float *logits,
              float *hidden);

// The largest absolute difference of PLAIN_ROWS rows, and of the logits that a head gives for them.
double plain_difference(const float *got, double (*want)[PLAIN_EMBD], int32_t n_embd);
double plain_head_difference(const float *got, double (*hidden)[PLAIN_EMBD], const struct plain_matrix *head);

#endif
