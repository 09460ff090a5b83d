// tests/lm/modality_test.c - a complete small modality: gray pictures beside text. CONTRIBUTING.md explains it.
#include "base/hash.h"
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

// ---- from pixels to vectors: the encoder ----------------------------------------------------------------------------

enum { GRID = 3, PATCH = 4, SIDE = GRID * PATCH, N_PATCHES = GRID * GRID };

struct picture {
    uint8_t pixels[SIDE * SIDE];
};

// vectors: [N_PATCHES][n_vector]. A real encoder is a model of its own; this one spreads a patch's pixels over the vector.
static void picture_encode(const struct picture *p, int32_t n_vector, float *vectors) {
    memset(vectors, 0, (size_t)(N_PATCHES * n_vector) * sizeof *vectors);
    for (int32_t y = 0; y < SIDE; y++)
        for (int32_t x = 0; x < SIDE; x++) {
            const int32_t patch = y / PATCH * GRID + x / PATCH, in_patch = y % PATCH * PATCH + x % PATCH;
            vectors[patch * n_vector + in_patch % n_vector] += (float)p->pixels[y * SIDE + x] / 255 - 0.5f;
        }
}

// ---- from vectors to rows -------------------------------------------------------------------------------------------

enum { PICTURE_TOKEN = 7 }; // what the chat template writes for a picture

// The rows of a picture that begins at position `first` of the sequence. Patches see each other, and have the place of their row and
// column as rope coordinates. inputs and vectors are read by lm_step().
static void picture_rows(const float *vectors, int32_t n_vector, int32_t seq, int32_t first,
                         struct lm_input inputs[N_PATCHES], struct lm_row rows[N_PATCHES]) {
    const uint64_t content = hash_bytes(vectors, (size_t)(N_PATCHES * n_vector) * sizeof *vectors, 0);
    for (int32_t i = 0; i < N_PATCHES; i++) {
        inputs[i] = (struct lm_input){
            .vector = vectors + i * n_vector,
            .key = hash_u64(content, (uint64_t)i), // equal pictures share cached prefixes
            .has_coord = true,
            .coord = {first, first + i / GRID, first + i % GRID},
            .see_to = first + N_PATCHES - 1,
        };
        rows[i] = (struct lm_row){seq, PICTURE_TOKEN, LM_APPEND, 0, &inputs[i]};
    }
}

// ---- tests ----------------------------------------------------------------------------------------------------------

enum { N_BEFORE = 5, N_AFTER = 4, N = N_BEFORE + N_PATCHES + N_AFTER, N_VOCAB = 50 };

struct prompt {
    struct lm_row rows[N];
    struct lm_input inputs[N_PATCHES];
    float *vectors;
};

static void prompt_init(struct prompt *p, struct rig *r, int32_t seq, const struct picture *picture) {
    const int32_t n_vector = r->lm->n_vector;
    p->vectors = new_floats((size_t)(N_PATCHES * n_vector));
    picture_encode(picture, n_vector, p->vectors);
    for (int32_t i = 0; i < N; i++) p->rows[i] = (struct lm_row){seq, 10 + i, LM_APPEND, 0, NULL};
    picture_rows(p->vectors, n_vector, seq, N_BEFORE, p->inputs, p->rows + N_BEFORE);
    p->rows[N - 1].want = LM_WANT_LOGITS;
}

static bool open_model(struct rig *r) {
    const struct arch_model m = {
        "qwen2vl",
        "block_count=2 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
        "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5 rope.dimension_sections=(2,3,3,0)",
        .n_vocab = N_VOCAB, .type = TENSOR_F32, .seed = 3};
    const struct rig_options o = rig_defaults();
    size_t n_bytes;
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    return rig_open_bytes(r, bytes, n_bytes, &o);
}

// Logits after text, picture and text, in a sequence of its own.
static void evaluate(struct rig *r, const struct picture *picture, float logits[N_VOCAB]) {
    struct prompt p;
    rn_error err = {0};
    prompt_init(&p, r, rig_seq(r), picture);
    if (CHECK_OK(lm_step(r->lm, p.rows, N, NULL, &err), &err))
        memcpy(logits, lm_logits(r->lm, N - 1), N_VOCAB * sizeof *logits);
    lm_seq_free(r->lm, p.rows[0].seq);
    free(p.vectors);
}

TEST(the_text_behind_a_picture_depends_on_each_of_its_patches) {
    struct rig r;
    if (open_model(&r)) {
        const struct picture black = {{0}};
        float want[N_VOCAB] = {0}, got[N_VOCAB] = {0};
        evaluate(&r, &black, want);
        evaluate(&r, &black, got);
        CHECK(memcmp(want, got, sizeof want) == 0);
        for (int32_t patch = 0; patch < N_PATCHES; patch++) {
            struct picture dotted = black;
            dotted.pixels[patch / GRID * PATCH * SIDE + patch % GRID * PATCH] = 255;
            check_note("patch %d", patch);
            evaluate(&r, &dotted, got);
            CHECK(memcmp(want, got, sizeof want) != 0);
        }
    }
    rig_close(&r);
}

TEST(a_prompt_with_the_same_picture_is_found_in_the_cache_and_one_with_another_up_to_it) {
    struct rig r;
    if (open_model(&r)) {
        const struct picture black = {{0}}, white = {{255}};
        const struct picture *const pictures[] = {&black, &white};
        float logits[N_VOCAB];
        evaluate(&r, &black, logits);
        for (size_t k = 0; k < 2; k++) {
            struct prompt p;
            struct lm_prefix found;
            uint64_t keys[N];
            rn_error err = {0};
            prompt_init(&p, &r, 0, pictures[k]);
            for (size_t i = 0; i < N; i++) keys[i] = lm_row_key(&p.rows[i]);
            CHECK_OK(lm_match_prefix(r.lm, NULL, keys, N, &found, &err), &err);
            CHECK_INT(found.n, k == 0 ? N : N_BEFORE);
            lm_seq_free(r.lm, found.seq);
            free(p.vectors);
        }
    }
    rig_close(&r);
}
