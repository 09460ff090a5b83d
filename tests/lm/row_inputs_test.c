// tests/lm/row_inputs_test.c - rows that bring more than a token: an input vector in place of the embedding or on top of it; what a
// sequence is made for.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 90, N_VOCAB = 50, MOST_EMBD = 128 };

// Returns the op that reads tokens' embeddings; NULL, with a failed check, if there is none.
static const struct op *embedding_op(const struct program *p) {
    for (size_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == OP_EMBED && p->ops[i].embed.takes_vector) return &p->ops[i];
    CHECK(false);
    return NULL;
}

// What the op makes of a token.
static void embedding_of(const struct program *p, const struct op *o, int32_t token, float *out) {
    const struct matrix *m = &p->matrices[o->weights.matrix];
    tensor_type_info(m->type)->dequantize_row(m->data + (size_t)token * m->row_bytes, out, m->k);
    for (size_t i = 0; i < m->k; i++) out[i] *= o->embed.factor;
}

// Rows of a text as vectors: row i has inputs[i] and vectors + i * n_vector.
struct inputs {
    struct lm_row rows[N];
    struct lm_input inputs[N];
    float *vectors;
    int32_t n_vector;
};

static void make_inputs(struct inputs *in, struct rig *r, int32_t seq, const int32_t *tokens) {
    in->n_vector = r->lm->n_vector;
    in->vectors = new_floats((size_t)(N * in->n_vector));
    for (int32_t i = 0; i < N; i++) {
        in->inputs[i] = (struct lm_input){
            .vector = in->vectors + (size_t)(i * in->n_vector), .key = 1000 + (uint64_t)i, .see_to = -1};
        in->rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_LOGITS, &in->inputs[i]};
    }
}

static bool run(struct rig *r, const struct lm_row *rows, int32_t n, int32_t n_step, float *out) {
    rn_error err = {0};
    for (int32_t at = 0; at < n; at += n_step) {
        const int32_t n_now = n - at < n_step ? n - at : n_step;
        if (!CHECK_OK(lm_step(r->lm, rows + at, (size_t)n_now, NULL, &err), &err)) return false;
        for (int32_t i = 0; i < n_now; i++)
            memcpy(out + (size_t)(at + i) * N_VOCAB, lm_logits(r->lm, (size_t)i), N_VOCAB * sizeof *out);
    }
    return true;
}

static bool open_subject(struct rig *r, size_t s, int n_threads) {
    struct arch_model m = arch_subjects[s].m;
    struct rig_options o = rig_defaults();
    size_t n_bytes;
    m.n_vocab = N_VOCAB, m.type = TENSOR_F32, m.seed = 5;
    o.n_threads = n_threads;
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    return rig_open_bytes(r, bytes, n_bytes, &o);
}

TEST(a_vector_equal_to_the_embedding_gives_the_tokens_logits_in_every_architecture) {
    int32_t tokens[N];
    float *want = new_floats(N * N_VOCAB), *got = new_floats(N * N_VOCAB);
    random_tokens(tokens, N, N_VOCAB, 3);
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++) {
        char name[ARCH_SUBJECT_NAME];
        struct inputs in = {0};
        struct rig r;
        arch_subject_name(s, name);
        check_note("%s", name);
        if (open_subject(&r, s, 2) && rig_eval_fresh(&r, tokens, N, want)) {
            const struct op *o = embedding_op(model_program(r.model));
            make_inputs(&in, &r, rig_seq_for(&r, N), tokens);
            for (int32_t i = 0; o && i < N; i++)
                embedding_of(model_program(r.model), o, tokens[i], in.vectors + (size_t)(i * in.n_vector));
            if (o && run(&r, in.rows, N, 7, got)) CHECK(memcmp(got, want, N * N_VOCAB * sizeof *got) == 0);
        }
        rig_close(&r);
        free(in.vectors);
    }
    free(want);
    free(got);
}

TEST(a_vector_is_added_to_the_embedding_or_replaces_it) {
    int32_t tokens[N];
    float *added = new_floats(N * N_VOCAB), *replaced = new_floats(N * N_VOCAB), *plain = new_floats(N * N_VOCAB);
    struct inputs adds = {0}, replaces = {0};
    struct rig r;
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_subject(&r, arch_subject_named("granite"), 1) &&
        rig_eval_fresh(&r, tokens, N, plain)) { // scales embeddings
        const struct op *o = embedding_op(model_program(r.model));
        make_inputs(&adds, &r, rig_seq(&r), tokens);
        make_inputs(&replaces, &r, rig_seq(&r), tokens);
        for (int32_t i = 0; o && i < N; i++) {
            float *sum = replaces.vectors + (size_t)(i * replaces.n_vector);
            float *term = adds.vectors + (size_t)(i * adds.n_vector);
            embedding_of(model_program(r.model), o, tokens[i], sum);
            for (int32_t k = 0; k < adds.n_vector; k++) term[k] = (float)(k % 7) / 8 - 0.5f, sum[k] += term[k];
            adds.inputs[i].adds = true;
            replaces.rows[i].token = 0; // it does not count
        }
        if (run(&r, adds.rows, N, N, added) && run(&r, replaces.rows, N, 1, replaced)) {
            CHECK(memcmp(added, replaced, N * N_VOCAB * sizeof *added) == 0);
            CHECK(memcmp(added, plain, N * N_VOCAB * sizeof *added) != 0);
        }
    }
    rig_close(&r);
    free(adds.vectors);
    free(replaces.vectors);
    free(added);
    free(replaced);
    free(plain);
}

TEST(prefixes_of_vectors_are_found_by_the_keys_of_their_content) {
    int32_t tokens[N];
    float *out = new_floats(N * N_VOCAB);
    struct inputs in = {0};
    struct rig r;
    struct lm_prefix found;
    rn_error err = {0};
    uint64_t keys[N];
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_subject(&r, arch_subject_named("granite"), 1)) {
        make_inputs(&in, &r, rig_seq(&r), tokens);
        for (int32_t i = 0; i < 20; i++) in.rows[i].input = NULL; // text, then what is shown
        for (int32_t i = 0; i < N; i++) keys[i] = lm_row_key(&in.rows[i]);
        CHECK(run(&r, in.rows, N, N, out));
        lm_seq_free(r.lm, in.rows[0].seq);
        CHECK_OK(lm_match_prefix(r.lm, NULL, keys, N, &found, &err), &err);
        CHECK_INT(found.n, N);
        lm_seq_free(r.lm, found.seq);
        in.inputs[70].key++; // another picture
        keys[70] = lm_row_key(&in.rows[70]);
        CHECK_OK(lm_match_prefix(r.lm, NULL, keys, N, &found, &err), &err);
        CHECK_INT(found.n, 70);
        lm_seq_free(r.lm, found.seq);
        CHECK_OK(lm_match_tokens(r.lm, NULL, tokens, N, &found, &err), &err); // the tokens' own text
        CHECK_INT(found.n, 20);
    }
    rig_close(&r);
    free(in.vectors);
    free(out);
}

TEST(a_rows_key_is_its_token_or_a_hash_of_all_that_it_brings) {
    const float vector[1] = {0};
    const struct lm_input inputs[] = {
        {.vector = vector, .key = 5, .see_to = -1},
        {.vector = vector, .key = 6, .see_to = -1},
        {.vector = vector, .key = 5, .adds = true, .see_to = -1},
        {.vector = vector, .key = 5, .see_to = 9},
        {.vector = vector, .key = 5, .see_to = 8},
        {.key = 5, .see_to = 9},
        {.vector = vector, .key = 5, .has_coord = true, .see_to = -1},
        {.vector = vector, .key = 5, .has_coord = true, .coord = {1}, .see_to = -1},
        {.vector = vector, .key = 5, .has_coord = true, .coord = {0, 1}, .see_to = -1},
        {.vector = vector, .key = 5, .has_coord = true, .coord = {0, 0, 1}, .see_to = -1},
        {.has_coord = true, .see_to = -1}};
    const size_t n = sizeof inputs / sizeof *inputs;
    const struct lm_input none = {.see_to = -1};
    CHECK(lm_row_key(&(struct lm_row){.token = 7}) == 7);
    CHECK(lm_row_key(&(struct lm_row){.token = 7, .input = &none}) == 7);
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = lm_row_key(&(struct lm_row){.token = 7, .input = &inputs[i]});
        check_note("input %zu", i);
        CHECK(key >> 63 == 1);
        for (size_t k = 0; k < i; k++) CHECK(key != lm_row_key(&(struct lm_row){.token = 7, .input = &inputs[k]}));
    }
    // The token counts unless it is replaced.
    CHECK(lm_row_key(&(struct lm_row){.token = 7, .input = &inputs[0]}) ==
          lm_row_key(&(struct lm_row){.token = 8, .input = &inputs[0]}));
    CHECK(lm_row_key(&(struct lm_row){.token = 7, .input = &inputs[2]}) !=
          lm_row_key(&(struct lm_row){.token = 8, .input = &inputs[2]}));
}

TEST(sequences_of_different_salts_share_no_prefix) {
    int32_t tokens[N];
    struct rig r;
    struct lm_prefix found;
    rn_error err = {0};
    int32_t seq;
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_subject(&r, arch_subject_named("granite"), 1) &&
        CHECK_OK(lm_seq_new(r.lm, &(struct lm_seq_spec){.salt = 4}, &seq, &err), &err) &&
        rig_append(&r, seq, tokens, N, NULL)) {
        static const uint64_t salts[] = {0, 4, 5};
        for (size_t i = 0; i < 3; i++) {
            const struct lm_seq_spec spec = {.salt = salts[i]};
            CHECK_OK(lm_match_tokens(r.lm, &spec, tokens, N, &found, &err), &err);
            CHECK_INT(found.n, salts[i] == 4 ? KV_PAGE : 0); // a running sequence's full pages
            CHECK(lm_seq_fits(r.lm, seq, &spec) == (salts[i] == 4));
            lm_seq_free(r.lm, found.seq);
        }
    }
    rig_close(&r);
}

TEST(a_sequence_for_adapters_that_are_not_loaded_is_refused_by_name) {
    const struct lm_seq_spec spec = {.adapters = {1, {{3, 1}}}};
    static const int32_t tokens[] = {1, 2, 3};
    struct rig r;
    struct lm_prefix found;
    rn_error err = {0};
    int32_t seq;
    if (open_subject(&r, arch_subject_named("granite"), 1)) {
        CHECK_INT(lm_seq_new(r.lm, &spec, &seq, &err), RN_E_UNSUPPORTED);
        CHECK_STR(err.text, "adapter 3: the model has 0");
        CHECK_INT(lm_match_tokens(r.lm, &spec, tokens, 3, &found, &err), RN_E_UNSUPPORTED);
        CHECK_INT(lm_seq_restore(r.lm, &spec, lm_token_keys(r.lm, tokens, 3), 3, &seq, &err), RN_E_UNSUPPORTED);
        CHECK(!lm_seq_fits(r.lm, rig_seq(&r), &spec));
    }
    rig_close(&r);
}
