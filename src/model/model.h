// model/model.h - builds the program that a backend runs from a package and its architecture.
//
// Ownership: model_build() / model_destroy(); the package must outlive the model.
// Threads: immutable once built.
#ifndef RN_MODEL_MODEL_H
#define RN_MODEL_MODEL_H

#include "backend/program.h"
#include "formats/package.h"

struct model;
// Binds the package's tensors and writes the program. *out: NULL after an error.
// RN_E_UNSUPPORTED: an unknown architecture (names it, the file's type and those supported), or a
// file without a model. RN_E_FORMAT: a tensor that is missing, has the wrong shape or is not used.
// RN_E_NOMEM.
rn_status model_build(const package *p, struct model **out, rn_error *err);
// Options of a build.
struct model_spec {
    // [n_taps] layers, from 0, after which the residual stream of rows that want it is kept
    // (lm_tap()).
    const int32_t *taps;
    int32_t n_taps; // 0..PROGRAM_MAX_TAPS
};
// The same with options. RN_E_ARG: too many taps, or one of a layer that the model does not have.
rn_status model_build_with(const package *p, const struct model_spec *spec, struct model **out, rn_error *err);
// What is built of a package, on top of a model that has been built.
enum part_kind {
    // A layer behind the model's own that predicts the token after the next one (DeepSeek-V3, GLM-4.5): in the base's GGUF file.
    PART_NEXTN,
    PART_MEDUSA, // a head of Medusa (2401.10774)
    PART_EAGLE,  // EAGLE-1's layer (2401.15077)
    // EAGLE-3 (2503.01840), two parts of one file: the layer, and the matrix that makes its input vector of three taps.
    PART_EAGLE3,
    PART_EAGLE3_TAPS
};
struct part_spec {
    enum part_kind kind;
    int32_t number; // which of the package's layers (PART_NEXTN) or heads (PART_MEDUSA), from 0
    struct model_spec model;
};
// A program of its own over tokens and input vectors of n_embd numbers: the base's lm_hidden() or lm_tap(), or the part's own lm_hidden(). It
// takes the embedding, the head and what else it lacks from the base, and has its numbers where its tensors' shapes do not say otherwise.
//   PART_NEXTN:  x = layer(W [norm_e(embedding); norm_h(vector)]); hidden = norm(x); logits = head(hidden)
//   PART_EAGLE:  x = layer(W [embedding; vector] + b), its attention without a norm; hidden = x; logits = head(hidden)
//   PART_EAGLE3: x = vector + attention of [norm_e(embedding); norm_h(vector)]; x += feed-forward(norm(x)); hidden = x; logits = head(norm(x)).
//                The head may have fewer tokens than the base: lm.token_map has the base's token of each logit. The vector is the hidden
//                state of PART_EAGLE3_TAPS, or the part's own where the base has not evaluated the token yet.
//   PART_EAGLE3_TAPS: hidden = W [tap 0; tap 1; tap 2], from an input vector of 3 n_embd numbers; no logits, tokens do not count. Which
//                layers are tapped is not in the file; the paper's code taps 1, n / 2 - 1 and n - 4 of n layers.
//   PART_MEDUSA: x = vector; x += silu(W x + b) for each residual block; hidden = x; logits = own head(hidden); tokens do not count
// package: NULL is the base's own. package and base must outlive the part. Errors: as of model_build(); RN_E_ARG: the model has no layer
// or head of that number.
rn_status model_build_part(const package *p, const struct part_spec *spec, const struct model *base,
                           struct model **out, rn_error *err);
// NULL: does nothing.
void model_destroy(struct model *m);
const struct program *model_program(const struct model *m);
const struct hparams *model_hparams(const struct model *m);

// Angle of one position for each rotated pair i: rope_theta^(-2i / n_rot), with the scaling of
// hparams applied, divided by factors[i] where factors is not NULL. out: [n_rot / 2]. RoFormer
// (2104.09864), section 3.4.2; scaling: docs/rope.md. Llama 3's factors come as a tensor.
void rope_inv_freq(const struct hparams *h, const float *factors, float *out);
// Factor of cosines and sines: 1 except with YaRN, and where the file gives one.
float rope_magnitude(const struct hparams *h);

#endif
