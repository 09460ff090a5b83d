// model/model.h - builds the program that a backend runs from a package and its architecture.
//
// Ownership: model_build() / model_destroy(); the package must outlive the model.
// Threads: immutable once built.
#ifndef RN_MODEL_MODEL_H
#define RN_MODEL_MODEL_H

#include "backend/program.h"
#include "formats/adapter/adapter_file.h"
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
    // (lm_tap()); -1: what the first layer reads.
    const int32_t *taps;
    int32_t n_taps; // 0..PROGRAM_MAX_TAPS
    // [n_adapters] adapters of the package that sequences may use, by their place in this list; they
    // must outlive the model.
    const struct adapter_file *const *adapters;
    size_t n_adapters; // 0..PROGRAM_MAX_ADAPTERS
};
// The same with options. RN_E_ARG: too many taps, or one of a layer that the model does not have.
// RN_E_LIMIT: too many adapters. RN_E_UNSUPPORTED: an adapter changes a tensor that is not
// multiplied with rows.
rn_status model_build_with(const package *p, const struct model_spec *spec, struct model **out, rn_error *err);
// What is built of a package, on top of a model that has been built.
enum part_kind {
    // A next-token-prediction layer after the model's own layers (DeepSeek-V3, GLM-4.5,
    // Qwen3-Next): in the base model's file or folder.
    PART_NEXTN,
    PART_MEDUSA, // a Medusa head (2401.10774)
    PART_EAGLE,  // EAGLE-1's layer (2401.15077)
    // EAGLE-3 (2503.01840) in two parts of one file: the layer, and the matrix that turns three
    // taps of the base model into the layer's input vector.
    PART_EAGLE3,
    PART_EAGLE3_TAPS,
    PART_LAYERS, // some of the base's own layers, between its embedding and its final norm and head
    PART_HEAD    // the model's own head, over a tap
};
struct part_spec {
    enum part_kind kind;
    int32_t number; // which layer (PART_NEXTN) or head (PART_MEDUSA) of the package, from 0; else 0
    // PART_LAYERS: [n_layers] numbers of the base's layers, ascending; copied.
    const int32_t *layers;
    int32_t n_layers;
    struct model_spec model;
};
// Builds a part as a program of its own, over rows that have a token and an input vector of n_embd
// numbers: the base model's lm_hidden() or lm_tap(), or the part's own lm_hidden(). Embedding, head
// and what else the part lacks are the base's; so are hyper-parameters that the shapes of the
// part's tensors do not tell.
//   PART_NEXTN:  x = layer(W [norm_e(embedding); norm_h(vector)]); hidden = norm(x);
//                logits = head(hidden)
//   PART_MEDUSA: x = vector; x += silu(W x + b) for each residual block; hidden = x;
//                logits = own head(hidden). Tokens have no effect.
//   PART_EAGLE:  x = layer(W [embedding; vector] + b), whose attention has no norm; hidden = x;
//                logits = head(hidden)
//   PART_EAGLE3: x = vector + attention([norm_e(embedding); norm_h(vector)]);
//                x += feed-forward(norm(x)); hidden = x; logits = head(norm(x)). The vector is the
//                hidden state of PART_EAGLE3_TAPS, or the part's own where the base has not
//                evaluated the token yet. The head may have fewer tokens than the base: see
//                lm.token_map.
//   PART_EAGLE3_TAPS: hidden = W [tap 0; tap 1; tap 2] of a vector of 3 n_embd numbers. It has no
//                logits, and tokens have no effect. The file does not say which layers are tapped;
//                the paper's code taps 1, n / 2 - 1 and n - 4 of n layers.
//   PART_LAYERS: the base without its other layers, as early exit (LayerSkip, 2404.16710) and Draft &
//                Verify (2309.08168) draft. Its rows have tokens alone. All of its matrices are the
//                base's.
//   PART_HEAD: logits = W vector + b, the base's head without the final norm and without what is
//                done to the model's logits (scales, caps), as transformers' DoLa reads early
//                layers. Tokens have no effect.
// package: NULL stands for the base's own. package and base must outlive the part. *out:
// model_destroy() it; NULL after an error. Errors: as model_build(); RN_E_ARG: no layer or head of
// that number.
rn_status model_build_part(const package *p, const struct part_spec *spec, const struct model *base,
                           struct model **out, rn_error *err);
// Builds the tower or the projector of a vision part (formats/vision/): a program over rows that have an input vector of n_patch
// numbers, and no logits.
//   tower:     x = W vector + b; x += class embedding, in rows of token 1 in place of b; x += position embedding; x = norm(x) where the
//              tower has one; hidden = layers(x), and their norm where the file has one. All rows of a picture see each other.
//   projector: hidden = W_2 gelu(W_1 norm(vector) + b_1) + b_2, the norm where the file has one.
// *out: model_destroy() it; NULL after an error. Errors: as model_build().
// taps: [n_taps] layers of the tower whose rows are wanted, too.
rn_status model_build_vision(const package *p, const int32_t *taps, int32_t n_taps, struct model **out,
                             rn_error *err);
const float *model_newline(
    const struct model *m); // of a projector: the vector behind a line of a map; NULL: it has none
const float *model_places(const struct model *m); // of a tower: [n_places][n_places][n_embd]; NULL: it has none
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
