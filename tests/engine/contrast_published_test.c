// tests/engine/contrast_published_test.c - DoLa and contrastive decoding on real models: the texts of contrast.json (make_contrast.py), and
// the same text whatever else there is.
#include "fixture.h"
#include <jansson.h>
#include <stdio.h>

enum { MOST_IDS = 256, N_BESIDE = 7 };

static const char *golden(const char *name) {
    char rel[64];
    snprintf(rel, sizeof rel, "goldens/%s", name);
    const char *const path = shared_path(rel);
    if (!path) test_skip("no shared material: set RUNNEL_SHARED");
    return path;
}

struct rig {
    rn_model *models[2];
    rn_engine *engine;
};

// amateur NULL: none; layers NULL: no early ones.
static bool open_rig(struct rig *g, const char *name, const char *amateur, const char *layers, int n_threads) {
    rn_error err = {0};
    rn_engine_options o = engine_options();
    *g = (struct rig){0};
    o.kv_type = RN_KV_F32, o.n_threads = n_threads, o.n_streams = N_BESIDE + 1, o.n_ctx = 256;
    o.n_batch = 64; // so that prompts are longer than a step
    const char *const paths[] = {golden(name), amateur ? golden(amateur) : NULL};
    if (!paths[0]) return false;
    for (int i = 0; i < 2 && paths[i]; i++)
        if (!CHECK_OK(rn_model_open(paths[i], NULL, &g->models[i], &err), &err)) return false;
    if (layers && !CHECK_OK(rn_model_add_early_layers(g->models[0], layers, &err), &err)) return false;
    return CHECK_OK(rn_engine_open(g->models, amateur ? 2 : 1, &o, &g->engine, &err), &err);
}

static void close_rig(struct rig *g) {
    rn_engine_close(g->engine);
    for (int i = 0; i < 2; i++) rn_model_close(g->models[i]);
}

static size_t read_ids(const json_t *list, int32_t out[MOST_IDS]) {
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < MOST_IDS; i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

static const char *text_of(const json_t *c, const char *name) { return json_string_value(json_object_get(c, name)); }
static float number_of(const json_t *c, const char *name) {
    return (float)json_number_value(json_object_get(c, name));
}

static void check_case(const json_t *c) {
    static struct outcome o;
    struct rig g;
    int32_t ids[MOST_IDS], want[MOST_IDS];
    const char *const layers = text_of(c, "dola_layers"), *const amateur = text_of(c, "amateur");
    const size_t n = read_ids(json_object_get(c, "tokens"), want);
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = read_ids(json_object_get(c, "ids"), ids)};
    rn_strategy_options options;
    rn_request r = text_request("");
    rn_strategy_options_init(&options);
    if (!open_rig(&g, text_of(c, "model"), amateur, layers, 1)) return;
    r.parts = &part;
    r.strategy = layers ? "dola" : "contrastive-decoding", r.strategy_options = &options;
    if (layers) {
        options.dola_layers = layers;
    } else {
        options.amateur_model = 1;
        options.amateur_temperature = number_of(c, "amateur_temperature");
        options.relative_top = number_of(c, "relative_top");
    }
    sampling_of(&r)->repeat_penalty = number_of(c, "repeat_penalty"), sampling_of(&r)->penalty_last_n = -1;
    r.max_tokens = (int32_t)n, r.ignore_eos = true;
    if (run_request(g.engine, &r, &o) && CHECK_INT(o.n_tokens, n)) CHECK_MEM(o.tokens, want, n * sizeof *want);
    close_rig(&g);
}

TEST(every_published_case_has_its_text) {
    static const char *const kinds[] = {"dola", "contrast"};
    json_t *const all = json_load_file(tests_path("engine/contrast.json"), 0, NULL);
    size_t n = 0;
    if (!golden("llama")) return;
    for (int k = 0; k < 2; k++) {
        const json_t *const cases = json_object_get(all, kinds[k]);
        for (size_t i = 0; i < json_array_size(cases); i++, n++) {
            const json_t *const c = json_array_get(cases, i);
            check_note("%s, case %zu: %s", kinds[k], i, text_of(c, "model"));
            check_case(c);
        }
    }
    CHECK_INT(n, 155);
    json_decref(all);
}

static rn_request of_text(rn_strategy_options *options, int i) {
    static const char *const strategies[] = {"dola", "contrastive-decoding", "contrastive", NULL}, *const layers[] = {
                                                                                                       "low", "high",
                                                                                                       "0,1,2", "1"};
    rn_request r = text_request("Once upon a time there was");
    rn_strategy_options_init(options);
    if (i % 4 == 0) options->dola_layers = layers[i / 4 % 4];
    if (i % 4 == 1) options->amateur_model = 1;
    if (i % 4 < 2) options->relative_top = 0.05F * (float)(i + 1);
    r.strategy = strategies[i % 4], r.strategy_options = options;
    sampling_of(&r)->temp = (float)i / 4;
    r.max_tokens = 30, r.ignore_eos = true, r.logprobs = 2;
    r.speculate = r.strategy ? NULL : "ngram";
    return r;
}

TEST(the_text_is_the_same_alone_and_beside_others_on_any_threads) {
    static struct outcome alone[N_BESIDE + 1], o[N_BESIDE + 1];
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        struct rig g;
        rn_strategy_options options[N_BESIDE + 1];
        rn_stream *s[N_BESIDE + 1] = {NULL};
        if (!open_rig(&g, "llama", "small-llama", "0,1,2", n_threads)) return;
        for (int i = 0; i <= N_BESIDE; i++) {
            const rn_request r = of_text(&options[i], i);
            check_note("stream %d, %d threads", i, n_threads);
            if (!run_request(g.engine, &r, &o[i])) return;
            if (n_threads > 1) same_outcome(&o[i], &alone[i]);
            alone[i] = o[i];
        }
        for (int i = 0; i <= N_BESIDE; i++) {
            rn_error err = {0};
            const rn_request r = of_text(&options[i], i);
            o[i] = (struct outcome){0};
            CHECK_OK(rn_stream_begin(g.engine, &r, &s[i], &err), &err);
        }
        for (int i = 0; i <= N_BESIDE; i++) {
            check_note("stream %d, %d threads, beside others", i, n_threads);
            if (s[i] && drain(s[i], &o[i])) same_outcome(&o[i], &alone[i]);
            rn_stream_close(s[i]);
        }
        close_rig(&g);
    }
}

// The grammar leaves digits alone, which are seldom among the tokens that relative_top leaves.
TEST(an_answer_has_its_form_where_the_contrast_leaves_none_of_its_tokens) {
    static struct outcome o;
    struct rig g;
    rn_grammar_source source;
    rn_grammar *form = NULL;
    rn_error err = {0};
    if (!open_rig(&g, "llama", "small-llama", "0,1,2", 1)) return;
    rn_grammar_source_init(&source);
    source.kind = RN_GRAMMAR_REGEX, source.text = "[0-9]{12}", source.n_text = 9;
    if (!CHECK_OK(rn_grammar_compile(g.models[0], &source, &form, &err), &err)) return;
    for (int i = 0; i < 8; i += i % 4 ? 3 : 1) {
        rn_strategy_options options;
        rn_request r = of_text(&options, i);
        options.relative_top = 0.5F;
        r.grammar = form;
        check_note("%s", r.strategy);
        if (!run_request(g.engine, &r, &o)) break;
        CHECK_STR(o.detail, "grammar");
        CHECK_INT(o.n_text, 12);
        CHECK_INT(strspn(o.text, "0123456789"), 12);
    }
    rn_grammar_close(form);
    close_rig(&g);
}

TEST(early_layers_that_cannot_be_are_refused_by_name) {
    static const struct {
        const char *of_model, *of_request, *why;
    } rows[] = {
        {"1", "2", "dola_layers: the model was not opened with layer 2"},
        {"1", "3", "dola_layers: layer 3 is outside 0..2"},
        {"1", "1,1", "dola_layers: layer 1 is named twice"},
        {"1", "middle", "dola_layers: \"middle\" is neither low nor high nor a list of layers"},
        {"1", "", "dola_layers: \"\" is neither"},
        {"1", "1,", "dola_layers: \"1,\" is neither"},
        {"3", NULL, "dola_layers: layer 3 is outside 0..2"},
        {"x", NULL, "dola_layers: \"x\" is neither"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_model *m = NULL;
        rn_error err = {0};
        const char *const path = golden("llama");
        if (!path || !CHECK_OK(rn_model_open(path, NULL, &m, &err), &err)) return;
        check_note("row %zu", i);
        rn_status st = rn_model_add_early_layers(m, rows[i].of_model, &err);
        if (rows[i].of_request) {
            rn_engine *e = NULL;
            rn_stream *s = NULL;
            rn_engine_options o = engine_options();
            rn_strategy_options options;
            rn_request r = text_request("x");
            CHECK_OK(st, &err);
            CHECK_FAILS(rn_model_add_early_layers(m, "0", &err), RN_E_STATE, &err);
            CHECK_OK(rn_engine_open(&m, 1, &o, &e, &err), &err);
            rn_strategy_options_init(&options);
            options.dola_layers = rows[i].of_request;
            r.strategy = "dola", r.strategy_options = &options;
            st = rn_stream_begin(e, &r, &s, &err);
            rn_engine_close(e);
        }
        CHECK_INT(st, RN_E_ARG);
        CHECK_HAS(err.text, rows[i].why);
        rn_model_close(m);
    }
}
