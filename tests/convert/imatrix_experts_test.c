// tests/convert/imatrix_experts_test.c - what experts' matrices are multiplied with: observed, summed expert by expert, and used.
#include "convert/imatrix_file.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/tiny_model.h"
#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>

static const int32_t ids[] = {116, 104, 101, 32, 99, 97, 116, 44, 32, 97, 110, 100, 10, 104, 105, 115, 32};
enum { N_IDS = sizeof ids / sizeof *ids, N_EXPERTS = 6, N_USED = 3, N_LAYERS = 4, FF = 64, EMBD = 64 };

static const char *at(const char *name) {
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir(), name);
    return path;
}

struct machine {
    rn_model *model;
    rn_engine *engine;
};
static bool machine_open(struct machine *m, int n_threads, bool fused) {
    struct tiny_model tiny = tiny_model_default();
    rn_engine_options o;
    rn_error err = {0};
    *m = (struct machine){0};
    tiny.n_ff = FF;
    tiny_model_add_experts(&tiny, "llama");
    tiny.experts.fused = fused;
    rn_engine_options_init(&o);
    o.n_threads = n_threads;
    return CHECK(tiny_model_write(&tiny, at("experts.gguf"))) &&
           CHECK_OK(rn_model_open(at("experts.gguf"), NULL, &m->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&m->model, 1, &o, &m->engine, &err), &err);
}
static void machine_free(struct machine *m) {
    rn_engine_close(m->engine);
    rn_model_close(m->model);
}

// Of the gates of layer 1, and of what is multiplied once for each row.
struct seen {
    int n_gate, n_down, n_router, n_of[N_EXPERTS];
    const float *last;
    bool same_row; // the experts of a row read the same
};
static bool take(void *user, const rn_input *in) {
    struct seen *s = user;
    const bool is_experts = strstr(in->name, "_exps.") != NULL;
    check_note("%s: expert %d of %d", in->name, in->expert, in->n_experts);
    CHECK(in->expert >= 0 && in->expert < in->n_experts);
    CHECK_INT(in->n_experts, is_experts ? N_EXPERTS : 1);
    CHECK_INT(in->k, strstr(in->name, "ffn_down_exps") ? FF : EMBD);
    if (strcmp(in->name, "blk.1.ffn_gate_exps.weight") == 0) {
        if (s->n_gate % N_USED) s->same_row = s->same_row && in->x == s->last;
        s->last = in->x;
        s->n_gate++;
        s->n_of[in->expert]++;
    }
    s->n_down += strcmp(in->name, "blk.1.ffn_down_exps.weight") == 0;
    s->n_router += strcmp(in->name, "blk.1.ffn_gate_inp.weight") == 0;
    return false;
}

TEST(each_expert_of_a_row_is_shown) {
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        struct machine m;
        struct seen s = {.same_row = true};
        rn_error err = {0};
        int n_met = 0;
        if (!machine_open(&m, n_threads, false)) return;
        CHECK_OK(rn_observe(m.engine, 0, ids, N_IDS, take, &s, &err), &err);
        CHECK_INT(s.n_gate, N_IDS * N_USED);
        CHECK_INT(s.n_down, N_IDS * N_USED);
        CHECK_INT(s.n_router, N_IDS);
        CHECK(s.same_row);
        for (int e = 0; e < N_EXPERTS; e++) n_met += s.n_of[e] > 0;
        CHECK(n_met > N_USED); // rows differ
        machine_free(&m);
    }
}

static const struct imatrix_entry *load(struct imatrix *im, const char *name) {
    rn_error err = {0};
    *im = (struct imatrix){0};
    CHECK_OK(imatrix_load(im, at("im.gguf"), &err), &err);
    return imatrix_find(im, name);
}

static bool measure(struct machine *m) {
    rn_imatrix_options o;
    rn_error err = {0};
    rn_imatrix_options_init(&o);
    return CHECK_OK(rn_imatrix(m->engine, 0, ids, N_IDS, at("im.gguf"), &o, &err), &err);
}

TEST(an_importance_matrix_has_sums_for_each_expert) {
    static const struct {
        const char *name;
        size_t k, n;
    } rows[] = {{"blk.3.ffn_gate_exps.weight", EMBD, N_EXPERTS},
                {"blk.3.ffn_up_exps.weight", EMBD, N_EXPERTS},
                {"blk.3.ffn_down_exps.weight", FF, N_EXPERTS},
                {"blk.3.attn_q.weight", EMBD, 1},
                {"blk.3.ffn_gate_inp.weight", EMBD, 1}};
    struct machine m;
    if (!machine_open(&m, 2, false) || !measure(&m)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct imatrix im;
        const struct imatrix_entry *e = load(&im, rows[i].name);
        check_note("%s", rows[i].name);
        if (CHECK(e)) {
            CHECK_INT(e->k, rows[i].k);
            CHECK_INT(e->n, rows[i].n);
        }
        imatrix_free(&im);
    }
    machine_free(&m);
}

TEST(gate_and_up_in_one_tensor_are_summed_once) {
    struct machine m;
    struct imatrix im;
    if (!machine_open(&m, 1, true) || !measure(&m)) return;
    const struct imatrix_entry *e = load(&im, "blk.0.ffn_gate_up_exps.weight");
    CHECK(e && e->k == EMBD && e->n == N_EXPERTS);
    imatrix_free(&im);
    machine_free(&m);
}

TEST(experts_are_rounded_by_it_and_the_router_is_not_rounded) {
    struct machine m;
    rn_quantize_options o;
    rn_error err = {0};
    package *p = NULL;
    if (!machine_open(&m, 1, false) || !measure(&m)) return;
    machine_free(&m);
    rn_quantize_options_init(&o);
    o.type = "Q4_0";
    o.imatrix = at("im.gguf");
    CHECK_OK(rn_quantize(at("experts.gguf"), at("q4.gguf"), &o, &err), &err);
    if (!CHECK_OK(package_open(at("q4.gguf"), NULL, &p, &err), &err)) return;
    const struct tensor_view *gate = package_tensor(p, "blk.1.ffn_gate_exps.weight"),
                             *router = package_tensor(p, "blk.1.ffn_gate_inp.weight");
    CHECK(gate && gate->type == TENSOR_Q4_0 && gate->ne[2] == N_EXPERTS);
    CHECK(router && router->type == TENSOR_F32);
    package_close(p);
}
