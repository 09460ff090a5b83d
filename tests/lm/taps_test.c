// tests/lm/taps_test.c - the residual stream after tapped layers: the same as a model cut off there, whatever else the rows request.
#include "base/pool.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 70, N_VOCAB = 50, N_EMBD = 64 };

// Opens a model of the first n_layer layers of a subject; n_layer 0: of all.
static bool open_subject(struct rig *r, size_t s, int n_layer, const struct model_spec *spec, int n_threads) {
    struct arch_model m = arch_subjects[s].m;
    struct rig_options o = rig_defaults();
    char keys[1200];
    size_t n_bytes;
    const char *count = strstr(m.keys, "block_count=");
    m.n_vocab = N_VOCAB, m.type = TENSOR_F32, m.seed = 5;
    if (n_layer > 0) {
        snprintf(keys, sizeof keys, "%.*sblock_count=%d %s", (int)(count - m.keys), m.keys, n_layer,
                 strchr(count, ' ') + 1);
        m.keys = keys;
    }
    o.n_threads = n_threads;
    o.spec = spec;
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    return rig_open_bytes(r, bytes, n_bytes, &o);
}

static int layers_of(size_t s) {
    return atoi(strstr(arch_subjects[s].m.keys, "block_count=") + strlen("block_count="));
}

// The op that makes the hidden state of what the layers leave.
static const struct op *final_norm(const struct program *p) {
    for (size_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].dst == p->hidden) return &p->ops[i];
    return NULL;
}

struct norming {
    const struct program *p;
    const float *x;
    float *out;
};
static void norm_on_thread(void *ctx, int i_thread,
                           int n_threads) { // in the floating-point mode of the pool's threads
    const struct norming *c = ctx;
    const struct op *o = final_norm(c->p);
    const struct kernel_set *k = kernel_set_get(CPU_REF);
    (void)i_thread, (void)n_threads;
    if (o->kind == OP_LAYER_NORM)
        k->layer_norm(c->x, o->weights.vec, o->weights.vec2, N_EMBD, c->p->norm_eps, c->out);
    else
        k->rms_norm(c->x, o->weights.vec, N_EMBD, c->p->norm_eps, c->out);
}

// Rows that want all, taps alone, logits alone and nothing take turns.
static bool run(struct rig *r, const int32_t *tokens, int32_t n_step, const uint32_t *wants, size_t n_wants,
                int32_t n_taps, float *taps) {
    const int32_t seq = rig_seq(r);
    rn_error err = {0};
    for (int32_t at = 0; at < N; at += n_step) {
        struct lm_row rows[N];
        const int32_t n = N - at < n_step ? N - at : n_step;
        for (int32_t i = 0; i < n; i++)
            rows[i] = (struct lm_row){seq, tokens[at + i], LM_APPEND, wants[(size_t)(at + i) % n_wants]};
        if (!CHECK_OK(lm_step(r->lm, rows, (size_t)n, NULL, &err), &err)) return false;
        for (int32_t i = 0; i < n; i++)
            for (int32_t k = 0; k < n_taps; k++) {
                const float *tap = lm_tap(r->lm, (size_t)i, k);
                if (!(rows[i].want & LM_WANT_TAPS)) continue;
                if (!CHECK(tap != NULL)) return false;
                memcpy(taps + ((size_t)k * N + (size_t)(at + i)) * N_EMBD, tap, N_EMBD * sizeof *tap);
            }
    }
    return true;
}

static const uint32_t all_taps[] = {LM_WANT_TAPS};
static const uint32_t mixed[] = {LM_WANT_TAPS | LM_WANT_LOGITS, LM_WANT_TAPS, LM_WANT_TAPS | LM_WANT_HIDDEN};

TEST(a_tap_is_what_a_model_cut_off_there_leaves) {
    static const char *const names[] = {"llama",   "gemma2", "deepseek2/1", "olmo2",
                                        "gptneox", "phi2",   "qwen3",       "stablelm"};
    static const int32_t layers[] = {0, 1, 2, 3};
    float *taps = new_floats(4 * N * N_EMBD), *again = new_floats(4 * N * N_EMBD), normed[N_EMBD];
    int32_t tokens[N];
    random_tokens(tokens, N, N_VOCAB, 3);
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        const size_t s = arch_subject_named(names[m]);
        const int n_layer = s < N_ARCH_SUBJECTS ? layers_of(s) : 0;
        const struct model_spec spec = {layers, n_layer};
        struct rig whole;
        check_note("%s", names[m]);
        if (!CHECK(n_layer > 0) || !open_subject(&whole, s, 0, &spec, 1) ||
            !run(&whole, tokens, N, all_taps, 1, n_layer, taps) ||
            !run(&whole, tokens, 3, mixed, 3, n_layer, again)) {
            rig_close(&whole);
            continue;
        }
        CHECK(memcmp(taps, again, (size_t)(n_layer * N * N_EMBD) * sizeof *taps) == 0);
        for (int l = 0; l < n_layer; l++) {
            struct rig cut;
            struct lm_row rows[N];
            rn_error err = {0};
            check_note("%s, layer %d", names[m], l);
            if (open_subject(&cut, s, l + 1, NULL, 1)) {
                const int32_t seq = rig_seq(&cut);
                for (int32_t i = 0; i < N; i++) rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_HIDDEN};
                CHECK_OK(lm_step(cut.lm, rows, N, NULL, &err), &err);
                for (int32_t i = 0; i < N; i++) {
                    struct norming c = {model_program(cut.model), taps + ((size_t)l * N + (size_t)i) * N_EMBD,
                                        normed};
                    pool_run(cut.threads, norm_on_thread, &c);
                    if (!CHECK(memcmp(normed, lm_hidden(cut.lm, (size_t)i), sizeof normed) == 0)) break;
                }
            }
            rig_close(&cut);
        }
        rig_close(&whole);
    }
    free(taps);
    free(again);
}

TEST(taps_change_no_logits_and_are_the_same_for_every_batch_and_number_of_threads_in_every_architecture) {
    static const int32_t layers[] = {0, 1};
    const struct model_spec spec = {layers, 2};
    float *plain = new_floats(N * N_VOCAB), *tapped = new_floats(N * N_VOCAB);
    float *taps = new_floats(2 * N * N_EMBD), *again = new_floats(2 * N * N_EMBD);
    int32_t tokens[N];
    random_tokens(tokens, N, N_VOCAB, 3);
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++) {
        char name[ARCH_SUBJECT_NAME];
        struct rig without, one, three;
        arch_subject_name(s, name);
        check_note("%s", name);
        const bool ok = open_subject(&without, s, 0, NULL, 1) & open_subject(&one, s, 0, &spec, 1) &
                        open_subject(&three, s, 0, &spec, 3);
        if (ok && rig_eval_fresh(&without, tokens, N, plain) && rig_eval_fresh(&three, tokens, N, tapped) &&
            run(&one, tokens, N, all_taps, 1, 2, taps) && run(&three, tokens, 2, mixed, 3, 2, again)) {
            CHECK(memcmp(plain, tapped, N * N_VOCAB * sizeof *plain) == 0);
            CHECK(memcmp(taps, again, 2 * N * N_EMBD * sizeof *taps) == 0);
        }
        rig_close(&without);
        rig_close(&one);
        rig_close(&three);
    }
    free(plain);
    free(tapped);
    free(taps);
    free(again);
}

TEST(only_rows_that_want_taps_have_them_and_a_step_may_want_nothing) {
    static const int32_t layers[] = {0};
    const struct model_spec spec = {layers, 1};
    struct rig r;
    rn_error err = {0};
    if (open_subject(&r, arch_subject_named("qwen3"), 0, &spec, 2)) {
        const int32_t seq = rig_seq(&r);
        const struct lm_row none[] = {{seq, 1, LM_APPEND, 0}, {seq, 2, LM_APPEND, 0}};
        const struct lm_row some[] = {{seq, 1, LM_APPEND, 0}, {seq, 2, LM_APPEND, LM_WANT_TAPS}};
        CHECK_INT(r.lm->n_taps, 1);
        CHECK_OK(lm_step(r.lm, none, 2, NULL, &err), &err);
        CHECK(lm_tap(r.lm, 1, 0) == NULL);
        CHECK_OK(lm_step(r.lm, some, 2, NULL, &err), &err);
        CHECK(lm_tap(r.lm, 0, 0) == NULL && lm_tap(r.lm, 1, 0) != NULL);
        CHECK(lm_tap(r.lm, 1, 1) == NULL && lm_tap(r.lm, 1, -1) == NULL);
        CHECK(lm_logits(r.lm, 1) == NULL);
    }
    rig_close(&r);
}

TEST(taps_of_layers_that_are_not_there_are_refused) {
    static const int32_t beyond[] = {0, 2}, before[] = {-2}, many[PROGRAM_MAX_TAPS + 1] = {0};
    static const struct {
        const char *message;
        struct model_spec spec;
    } rows[] = {{"taps: layer 2 is outside -1..1", {beyond, 2}},
                {"taps: layer -2 is outside -1..1", {before, 1}},
                {"taps: 17 layers, 0..16 are possible", {many, PROGRAM_MAX_TAPS + 1}}};
    struct rig r;
    rn_error err = {0};
    if (open_subject(&r, arch_subject_named("qwen3"), 0, NULL, 1)) {
        const struct lm_row row = {rig_seq(&r), 1, LM_APPEND, LM_WANT_TAPS};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct model *m;
            CHECK_INT(model_build_with(r.pkg, &rows[i].spec, &m, &err), RN_E_ARG);
            CHECK_STR(err.text, rows[i].message);
        }
        CHECK_INT(lm_step(r.lm, &row, 1, NULL, &err), RN_E_ARG);
        CHECK_STR(err.text, "row 0: wants taps, but no layer of the model is tapped");
    }
    rig_close(&r);
}
