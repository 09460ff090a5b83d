// tests/kernels/kv_codec_test.c - what the reference's KV codecs keep of a row: all of it, an F16, or 8 bits and a scale.
#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tensor/half.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_DIM = 40 }; // the last group of a Q8 row holds 8
static float keys[HEAD_DIM * KV_BLOCK], values[KV_BLOCK * HEAD_DIM];

static float noise(uint64_t i, uint64_t seed) { return (float)(hash_u64(i, seed) >> 40) * 0x1p-23f - 1; }

// Stores one row as key and value of `slot` in fresh blocks and reads both back.
static void round_trip(enum kv_codec c, int slot, const float *row, float *key, float *value) {
    const struct kv_codec_ops *const ops = &kernel_set_get(CPU_REF)->kv[c];
    void *const key_block = calloc(1, ops->key_bytes(HEAD_DIM)), *const value_block =
                                                                     calloc(1, ops->value_bytes(HEAD_DIM));
    ops->put_key(key_block, HEAD_DIM, slot, row);
    ops->put_value(value_block, HEAD_DIM, slot, row);
    ops->get_keys(key_block, HEAD_DIM, slot + 1, keys);
    ops->get_values(value_block, HEAD_DIM, slot + 1, values);
    for (int d = 0; d < HEAD_DIM; d++) key[d] = keys[d * KV_BLOCK + slot], value[d] = values[slot * HEAD_DIM + d];
    free(key_block);
    free(value_block);
}

TEST(f32_keeps_every_bit_and_f16_rounds_once) {
    float row[HEAD_DIM], key[HEAD_DIM], value[HEAD_DIM];
    for (int slot = 0; slot < KV_BLOCK; slot += 9) {
        for (int d = 0; d < HEAD_DIM; d++) row[d] = noise((uint64_t)d, (uint64_t)slot) * (d < 4 ? 1e-6f : 100);
        round_trip(KV_F32, slot, row, key, value);
        CHECK_MEM(key, row, sizeof row);
        CHECK_MEM(value, row, sizeof row);
        round_trip(KV_F16, slot, row, key, value);
        for (int d = 0; d < HEAD_DIM; d++) CHECK(key[d] == f16_to_f32(f16_from_f32(row[d])) && value[d] == key[d]);
    }
}

TEST(q8_is_within_half_a_step_of_its_stored_scale) {
    const fp_mode mode = fp_mode_enter();
    static const float sizes[] = {1, 1e-3f, 1e4f, 1e-5f, 1e-6f}; // the last ones have scales that are denormal in F16
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float row[HEAD_DIM], key[HEAD_DIM], value[HEAD_DIM];
        for (int d = 0; d < HEAD_DIM; d++) row[d] = noise((uint64_t)d, 50 + i) * sizes[i];
        round_trip(KV_Q8, 17, row, key, value);
        for (int first = 0; first < HEAD_DIM; first += 32) {
            float amax = 0;
            for (int d = first; d < HEAD_DIM && d < first + 32; d++) amax = fmaxf(amax, fabsf(row[d]));
            const double step = (double)f16_to_f32(f16_from_f32(amax / 127));
            for (int d = first; d < HEAD_DIM && d < first + 32; d++) {
                // Half a step, and a rounding; a scale that was rounded down clips the largest by what it lacks.
                const double clipped = fmax(0, fabs((double)row[d]) - 127.5 * step);
                const double bound = step * 0.5 + clipped + 0x1p-23 * fabs((double)row[d]);
                check_note("size %g channel %d: %g is %g", (double)sizes[i], d, (double)row[d], (double)key[d]);
                CHECK(fabs((double)key[d] - (double)row[d]) <= bound && key[d] == value[d]);
            }
        }
    }
    fp_mode_leave(mode);
}

TEST(q8_shows_what_it_cannot_hold_as_nan_in_that_group_alone) {
    static const struct {
        const char *why;
        float x;
        bool is_nan;
    } rows[] = {
        {"zero", 0, false},
        {"denormal", 1e-40f, false},
        {"largest scale that F16 holds", 65504.0f * 127, false},
        {"a scale that F16 rounds to infinity", 65520.0f * 127, true},
        {"infinity", INFINITY, true},
        {"NaN", NAN, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float row[HEAD_DIM] = {0}, key[HEAD_DIM], value[HEAD_DIM];
        row[3] = rows[i].x;
        row[35] = 1;
        round_trip(KV_Q8, 0, row, key, value);
        check_note("%s", rows[i].why);
        for (int d = 0; d < 32; d++) CHECK(isnan(key[d]) == rows[i].is_nan && isnan(value[d]) == rows[i].is_nan);
        CHECK(key[35] == f16_to_f32(f16_from_f32(1.0f / 127)) * 127 && key[36] == 0 && value[39] == 0);
    }
}

TEST(copied_positions_keep_their_bits_and_touch_no_other_slot) {
    for (enum kv_codec c = 0; c < KV_N_CODECS; c++) {
        const struct kv_codec_ops *const ops = &kernel_set_get(CPU_REF)->kv[c];
        const size_t n = ops->key_bytes(HEAD_DIM), m = ops->value_bytes(HEAD_DIM);
        uint8_t *const a = calloc(1, n), *const b = calloc(1, n), *const v = calloc(1, m), *const w = calloc(1, m);
        float row[HEAD_DIM];
        check_note("codec %s", kv_codec_name(c));
        for (int d = 0; d < HEAD_DIM; d++) row[d] = noise((uint64_t)d, 70);
        ops->put_key(a, HEAD_DIM, 11, row);
        ops->put_value(v, HEAD_DIM, 11, row);
        ops->copy_key(b, 63, a, 11, HEAD_DIM);
        ops->copy_value(w, 0, v, 11, HEAD_DIM);
        ops->get_keys(b, HEAD_DIM, KV_BLOCK, keys);
        ops->get_values(w, HEAD_DIM, KV_BLOCK, values);
        float back[HEAD_DIM];
        ops->get_values(v, HEAD_DIM, 12, values + 20 * HEAD_DIM); // the source's slot 11 lands at row 31
        memcpy(back, values + 31 * HEAD_DIM, sizeof back);
        CHECK_MEM(values, back, sizeof back);
        for (int d = 0; d < HEAD_DIM; d++) CHECK(keys[d * KV_BLOCK + 63] == back[d]);
        ops->copy_key(b, 63, b, 0, HEAD_DIM); // an empty slot over the only full one: all zeros again
        ops->copy_value(w, 0, w, 1, HEAD_DIM);
        for (size_t i = 0; i < n; i++) CHECK(b[i] == 0);
        for (size_t i = 0; i < m; i++) CHECK(w[i] == 0);
        free(a), free(b), free(v), free(w);
    }
}
