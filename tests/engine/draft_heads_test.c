// tests/engine/draft_heads_test.c - draft heads that are added to a model: what they take of memory, what is refused.
#include "saved_rig.h"
#include "tests/support/draft_heads.h"
#include "tests/support/folder_builder.h"

static rn_model *open_model(const char *path) {
    rn_error err = {0};
    rn_model *m = NULL;
    CHECK_OK(rn_model_open(path, NULL, &m, &err), &err);
    return m;
}

// A file of heads for the default model; NULL: a failed check.
static const char *write_heads(rn_draft_head kind, bool own) {
    package *pkg;
    rn_error err = {0};
    size_t n = 0;
    if (!CHECK_OK(package_open(stories(), NULL, &pkg, &err), &err)) return NULL;
    uint8_t *const bytes = kind == RN_DRAFT_HEAD_MEDUSA ? made_medusa(pkg, 3, 1, &n) : made_eagle(pkg, own, 1, &n);
    const char *const path = saved_path(kind == RN_DRAFT_HEAD_MEDUSA ? "medusa.safetensors" : "eagle.safetensors");
    const bool ok = CHECK(write_file(path, bytes, n));
    free(bytes);
    package_close(pkg);
    return ok ? path : NULL;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Of an engine with the default model and, where path is given, heads; and what it answers.
static bool memory_with(rn_draft_head kind, const char *path, rn_memory *memory, struct outcome *o) {
    rn_model *m = open_model(stories());
    rn_engine *e = NULL;
    rn_error err = {0};
    rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    *memory = (rn_memory){.struct_size = sizeof *memory};
    opt.n_streams = 2;
    r.max_tokens = 8, r.logprobs = 0;
    bool ok = m && (!path || CHECK_OK(rn_model_add_draft_heads(m, kind, path, &err), &err)) &&
              CHECK_OK(rn_engine_open(&m, 1, &opt, &e, &err), &err) && run_request(e, &r, o) &&
              CHECK_OK(rn_engine_get_memory(e, memory, &err), &err);
    rn_engine_info info = {.struct_size = sizeof info};
    CHECK_FAILS(rn_engine_get_info(e, 1, &info, &err), RN_E_ARG, &err); // parts are no models
    r.model = 1;
    rn_stream *s;
    CHECK_FAILS(rn_stream_begin(e, &r, &s, &err), RN_E_ARG, &err);
    rn_engine_close(e);
    rn_model_close(m);
    return ok;
}

TEST(heads_take_the_memory_of_what_they_do_not_borrow) {
    // F32 matrices of the heads, which panels hold as they are, of widths that are multiples of 16
    enum { N = 256, V = 4096, Q = 128, KV = 64, FF = 96 };
    static const struct {
        rn_draft_head kind;
        uint64_t repacked;
    } cases[] = {{RN_DRAFT_HEAD_MEDUSA, 3 * 4 * (N * N + V * N)},
                 {RN_DRAFT_HEAD_EAGLE, 4 * (2 * N * N + 2 * N * Q + 2 * N * KV + 3 * N * FF)}};
    static struct outcome plain, with;
    rn_memory without, memory;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const path = write_heads(cases[i].kind, false);
        memset(&plain, 0, sizeof plain), memset(&with, 0, sizeof with);
        if (!path || !memory_with(0, NULL, &without, &plain) || !memory_with(cases[i].kind, path, &memory, &with))
            return;
        check_note("kind %d", (int)cases[i].kind);
        same_outcome(&with, &plain);
        CHECK_INT(memory.part[RN_MEMORY_REPACKED].planned - without.part[RN_MEMORY_REPACKED].planned,
                  cases[i].repacked);
        CHECK(memory.part[RN_MEMORY_REPACKED].resident - without.part[RN_MEMORY_REPACKED].resident <=
              cases[i].repacked + 65536); // of whole pages
    }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

static void without_bias(struct st_builder *b) { st_random(b, "0.0.linear.weight", 1, 256, 256); }
static void too_wide(struct st_builder *b) {
    st_random(b, "0.0.linear.weight", 1, 128, 128);
    st_random(b, "0.1.weight", 1, 4096, 128);
}
static void more_words(struct st_builder *b) {
    st_random(b, "0.0.linear.weight", 1, 256, 256);
    st_random(b, "0.1.weight", 1, 4097, 256);
}
static void something(struct st_builder *b) { st_random(b, "lora.weight", 1, 256, 256); }
static void nine_heads(struct st_builder *b) {
    for (int i = 0; i < 9; i++) {
        char name[2][32];
        snprintf(name[0], sizeof name[0], "%d.0.linear.weight", i);
        snprintf(name[1], sizeof name[1], "%d.1.weight", i);
        st_random(b, name[0], 1, 256, 256);
        st_random(b, name[1], 1, 4096, 256);
    }
}

TEST(files_that_are_no_heads_of_the_model_are_refused) {
    static const struct {
        rn_draft_head kind;
        void (*fill)(struct st_builder *b);
        rn_status status;
        const char *says;
    } cases[] = {
        {RN_DRAFT_HEAD_MEDUSA, without_bias, RN_E_FORMAT, "tensor 0.1.weight"},
        {RN_DRAFT_HEAD_MEDUSA, too_wide, RN_E_FORMAT, "tensor 0.0.linear.weight"},
        {RN_DRAFT_HEAD_MEDUSA, more_words, RN_E_FORMAT, "tensor 0.1.weight"},
        {RN_DRAFT_HEAD_MEDUSA, something, RN_E_ARG, "no tensor 0.0.linear.weight: the file has no Medusa head 0"},
        {RN_DRAFT_HEAD_MEDUSA, nine_heads, RN_E_LIMIT, "more than 8 draft heads of one model"},
        {RN_DRAFT_HEAD_EAGLE, something, RN_E_FORMAT, "no tensor layers.0.self_attn.q_proj.weight"},
    };
    rn_model *m = open_model(stories());
    const char *const path = saved_path("no-heads.safetensors");
    for (size_t i = 0; m && i < sizeof cases / sizeof *cases; i++) {
        struct st_builder b;
        rn_error err = {0};
        size_t n;
        st_begin(&b);
        cases[i].fill(&b);
        uint8_t *const bytes = st_finish(&b, &n);
        check_note("case %d", (int)i);
        if (CHECK(write_file(path, bytes, n)) &&
            CHECK_FAILS(rn_model_add_draft_heads(m, cases[i].kind, path, &err), cases[i].status, &err)) {
            CHECK_HAS(err.text, cases[i].says);
            CHECK_HAS(err.text, "no-heads.safetensors");
        }
        free(bytes);
    }
    rn_model_close(m);
}

// The default model has too few layers for those that the paper's code reads.
TEST(an_eagle_3_head_reads_the_layers_that_its_config_names) {
    static const struct {
        const char *config, *says; // NULL: it is taken
    } cases[] = {{"{\"eagle_aux_hidden_state_layer_ids\": [1, 3, 6]}", NULL},
                 {"{\"eagle_aux_hidden_state_layer_ids\": [1, 3, 7]}", "reads the input of layer 7 of a model of 6"},
                 {"{\"norm_before_fc\": true, \"eagle_aux_hidden_state_layer_ids\": [1, 3, 6]}",
                  "tensor input_norm.weight: missing, where norm_before_fc is set"},
                 {"{}", "EAGLE-3 reads three layers, of a model of at least 10; it has 6"}};
    package *pkg;
    rn_error err = {0};
    size_t n;
    if (!CHECK_OK(package_open(stories(), NULL, &pkg, &err), &err)) return;
    uint8_t *const bytes = made_eagle3(pkg, 1, &n);
    const char *const path = saved_path("eagle3.safetensors"), *const config = saved_path("config.json");
    package_close(pkg);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rn_model *const m = open_model(stories());
        CHECK(write_file(path, bytes, n) && write_file(config, cases[i].config, strlen(cases[i].config)));
        check_note("%s", cases[i].config);
        const rn_status st = rn_model_add_draft_heads(m, RN_DRAFT_HEAD_EAGLE, path, &err);
        if (!cases[i].says)
            CHECK_OK(st, &err);
        else if (CHECK(st != RN_OK))
            CHECK_HAS(err.text, cases[i].says);
        rn_model_close(m);
    }
    remove(config);
    free(bytes);
}

TEST(calls_that_are_wrong_are_refused) {
    rn_model *m = open_model(stories());
    rn_engine *e = NULL;
    rn_error err = {0};
    const rn_engine_options opt = engine_options();
    const char *const path = write_heads(RN_DRAFT_HEAD_MEDUSA, false);
    if (!m || !path) return;
    CHECK_FAILS(rn_model_add_draft_heads(NULL, RN_DRAFT_HEAD_MEDUSA, path, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, (rn_draft_head)3, path, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MEDUSA, NULL, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MTP, path, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MTP, NULL, &err), RN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "the model has no next-token-prediction layers");
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MEDUSA, "/nowhere/medusa", &err), RN_E_IO, &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MEDUSA, temp_dir(), &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "holds no medusa_lm_head.safetensors");
    CHECK_OK(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MEDUSA, path, &err), &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_MEDUSA, path, &err), RN_E_STATE, &err);
    CHECK_OK(rn_engine_open(&m, 1, &opt, &e, &err), &err);
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_EAGLE, path, &err), RN_E_STATE, &err);
    CHECK_HAS(err.text, "add draft heads before");
    rn_engine_close(e);
    rn_model_close(m);
}

// ---- allocations ----------------------------------------------------------------------------------------------------

static rn_status open_with_heads(void *user) {
    rn_model *m = NULL;
    rn_engine *e = NULL;
    rn_error err = {0};
    const rn_engine_options o = engine_options();
    rn_status st = rn_model_open(stories(), NULL, &m, &err);
    if (st == RN_OK) st = rn_model_add_draft_heads(m, RN_DRAFT_HEAD_EAGLE, user, &err);
    if (st == RN_OK) st = rn_engine_open(&m, 1, &o, &e, &err);
    rn_engine_close(e);
    rn_model_close(m);
    return st;
}
TEST(every_failed_allocation_while_heads_are_added_is_reported_and_leaks_nothing) {
    const char *const path = write_heads(RN_DRAFT_HEAD_EAGLE, true);
    if (path) check_each_failed_allocation(open_with_heads, (void *)path, __FILE__, __LINE__);
}
