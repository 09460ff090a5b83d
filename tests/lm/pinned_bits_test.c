// tests/lm/pinned_bits_test.c - the bits of the default arithmetic, written down: they are the same on every machine, and when they
// change, the arithmetic's name must (docs/design.md section 6).
//
// Each number is a hash of all logits of one text on one random model. A change that is meant to move bits brings new numbers
// (a failing run prints them) and a new name in the same commit; any other change that lands here is a bug.
#include "base/hash.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { LONGEST = 1100 };

static const struct pin {
    const char *why;
    enum tensor_type type;
    enum kv_codec codec;
    int n_embd, n_vocab, n_layer;
    int32_t n;
    uint64_t hash;
    bool any_bytes; // weights that no search of a quantizer has a part in
} pins[] = {
    {"F32 weights", TENSOR_F32, KV_F32, 96, 40, 2, 70, 0x877a03959b11a8c3u},
    {"F16 weights", TENSOR_F16, KV_F16, 96, 40, 2, 70, 0x9df06e1c0225e655u},
    {"BF16 weights", TENSOR_BF16, KV_Q8, 96, 40, 2, 70, 0x313d780f1dccb3ecu},
    {"Q8_0 weights", TENSOR_Q8_0, KV_F16, 96, 40, 2, 70, 0xae2ccc6086c3bdcdu},
    {"Q4_0 weights", TENSOR_Q4_0, KV_F32, 96, 40, 2, 70, 0x3357d3e2fd3e7225u},
    {"Q4_1 weights", TENSOR_Q4_1, KV_Q8, 96, 40, 2, 70, 0x291198be1c99102bu},
    {"Q5_0 weights", TENSOR_Q5_0, KV_F16, 96, 40, 2, 70, 0x636657d608833cc8u, true},
    {"Q5_1 weights", TENSOR_Q5_1, KV_F16, 96, 40, 2, 70, 0xa0ee555737e858e1u, true},
    {"IQ4_NL weights", TENSOR_IQ4_NL, KV_F16, 96, 40, 2, 70, 0xbb2cba8bc1d5b95bu, true},
    {"MXFP4 weights", TENSOR_MXFP4, KV_F16, 96, 40, 2, 70, 0x32b0376bf3f9434fu, true},
    {"Q2_K weights", TENSOR_Q2_K, KV_F16, 256, 40, 2, 70, 0x9163aeef81c0281fu, true},
    {"Q3_K weights", TENSOR_Q3_K, KV_F16, 256, 40, 2, 70, 0xab773fb56286306fu, true},
    {"Q4_K weights", TENSOR_Q4_K, KV_F16, 256, 40, 2, 70, 0xede934bc93bf4830u, true},
    {"Q5_K weights", TENSOR_Q5_K, KV_F16, 256, 40, 2, 70, 0xee6f949afca6cb5cu, true},
    {"Q6_K weights", TENSOR_Q6_K, KV_F16, 256, 40, 2, 70, 0x89c2eb67bed7c38du, true},
    {"IQ4_XS weights", TENSOR_IQ4_XS, KV_F16, 256, 40, 2, 70, 0x2d76a669185c191du, true},
    {"TQ1_0 weights", TENSOR_TQ1_0, KV_F16, 256, 40, 2, 70, 0xdc2ec27259bda550u, true},
    {"TQ2_0 weights", TENSOR_TQ2_0, KV_F16, 256, 40, 2, 70, 0x7ac2e57896ae48f9u, true},
    {"IQ2_XXS weights", TENSOR_IQ2_XXS, KV_F16, 256, 40, 2, 70, 0xace5c2a3f7035fb2u, true},
    {"IQ2_XS weights", TENSOR_IQ2_XS, KV_F16, 256, 40, 2, 70, 0x52cffd65ba72e75eu, true},
    {"IQ2_S weights", TENSOR_IQ2_S, KV_F16, 256, 40, 2, 70, 0x1b2b91a549e35123u, true},
    {"IQ3_XXS weights", TENSOR_IQ3_XXS, KV_F16, 256, 40, 2, 70, 0x790dad68d7edb2abu, true},
    {"IQ3_S weights", TENSOR_IQ3_S, KV_F16, 256, 40, 2, 70, 0xfe87769a73d6fdc3u, true},
    {"IQ1_S weights", TENSOR_IQ1_S, KV_F16, 256, 40, 2, 70, 0x522a9ebd52764335u, true},
    {"IQ1_M weights", TENSOR_IQ1_M, KV_F16, 256, 40, 2, 70, 0xf14ed7aebf693e67u, true},
    {"Q1_0 weights", TENSOR_Q1_0, KV_F16, 256, 40, 2, 70, 0xdfa4388885c75e14u, true},
    {"Q2_0 weights", TENSOR_Q2_0, KV_F16, 256, 40, 2, 70, 0xc6701b7fff64415du, true},
    {"NVFP4 weights", TENSOR_NVFP4, KV_F16, 256, 40, 2, 70, 0x1deffcc39b26b174u, true},
    {"BF16 keys and values", TENSOR_Q8_0, KV_BF16, 96, 40, 2, 70, 0xc55ea37afcbc1479u},
    {"more than 1,024 keys", TENSOR_Q8_0, KV_F16, 32, 4, 1, LONGEST, 0x6d66392054b5e8b4u},
};

TEST(the_bits_of_the_default_arithmetic_are_those_written_down) {
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
        const struct pin *pin = &pins[i];
        struct tiny_model m = tiny_model_default();
        struct rig_options o = rig_defaults();
        struct rig r;
        int32_t text[LONGEST];
        const size_t n_floats = (size_t)(pin->n * pin->n_vocab);
        float *logits = new_floats(n_floats);
        m.n_embd = pin->n_embd, m.n_ff = pin->n_embd, m.n_layer = pin->n_layer;
        m.n_vocab = pin->n_vocab, m.vocab = TINY_NO_VOCAB, m.type = pin->type, m.n_ctx = LONGEST;
        m.any_bytes = pin->any_bytes;
        o.codec = pin->codec;
        o.lm.n_ctx = o.lm.n_batch = o.lm.n_want = LONGEST;
        random_tokens(text, pin->n, pin->n_vocab, 1);
        if (rig_open(&r, &m, &o) && rig_eval_fresh(&r, text, pin->n, logits)) {
            const uint64_t hash = hash_bytes(logits, n_floats * sizeof *logits, 0);
            check_note("%s, keys and values %s: 0x%016" PRIx64, pin->why, kv_codec_name(pin->codec), hash);
            CHECK(isfinite(logits[n_floats - 1]) && hash == pin->hash);
        }
        rig_close(&r);
        free(logits);
    }
}
