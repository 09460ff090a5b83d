// tests/engine/contrastive_goldens_test.c - contrastive search on real models: the texts of an implementation in PyTorch (goldens/README.md),
// greedy decoding where it is that, and the same text whatever else there is.
#include "fixture.h"
#include <jansson.h>
#include <stdio.h>

enum { MOST_IDS = 64, N_BESIDE = 7 };

static bool open_golden(struct fixture *f, const char *name, int n_threads, int32_t n_states) {
    char rel[64];
    rn_error err = {0};
    rn_engine_options o = engine_options();
    snprintf(rel, sizeof rel, "goldens/%s", name);
    const char *const path = shared_path(rel);
    *f = (struct fixture){0};
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    o.kv_type = RN_KV_F32, o.n_threads = n_threads, o.n_streams = N_BESIDE + 1, o.n_scratch = n_states, o.n_ctx = 256;
    return CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &o, &f->engine, &err), &err);
}

static size_t read_ids(const json_t *list, int32_t out[MOST_IDS]) {
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < MOST_IDS; i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

struct asked {
    rn_request r;
    rn_part part;
    rn_sampling sampling;
    rn_strategy_options options;
    int32_t ids[MOST_IDS], ends[MOST_IDS];
};

static void ask(struct asked *a, const json_t *c) {
    rn_request_init(&a->r);
    rn_sampling_init(&a->sampling);
    rn_strategy_options_init(&a->options);
    a->part = (rn_part){.kind = RN_PART_IDS, .ids = a->ids, .n_ids = read_ids(json_object_get(c, "ids"), a->ids)};
    a->r.parts = &a->part, a->r.n_parts = 1;
    a->r.sampling = &a->sampling, a->r.strategy_options = &a->options, a->r.strategy = "contrastive";
    a->r.max_tokens = (int32_t)json_integer_value(json_object_get(c, "max_new_tokens"));
    a->r.ignore_eos = true;
    a->r.stop_tokens = a->ends, a->r.n_stop_tokens = read_ids(json_object_get(c, "eos_token_id"), a->ends);
    a->options.num_candidates = (int32_t)json_integer_value(json_object_get(c, "top_k"));
    a->options.penalty_alpha = (float)json_number_value(json_object_get(c, "penalty_alpha"));
}

TEST(every_golden_case_has_its_text_and_cases_without_a_penalty_are_greedy) {
    static const char *const models[] = {"small-llama", "qwen2", "gpt2"};
    static struct outcome o, greedy;
    int n_cases = 0, n_greedy = 0;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct fixture f;
        char rel[64];
        if (!open_golden(&f, models[m], 2, 0)) return;
        snprintf(rel, sizeof rel, "goldens/search/%s.json", models[m]);
        json_t *const all = json_load_file(shared_path(rel), 0, NULL), *const cases =
                                                                           json_object_get(all, "contrastive");
        for (size_t i = 0; i < json_array_size(cases); i++, n_cases++) {
            const json_t *const c = json_array_get(cases, i);
            struct asked a;
            int32_t want[MOST_IDS];
            const size_t n = read_ids(json_object_get(c, "sequence"), want);
            ask(&a, c);
            check_note("%s, case %zu", models[m], i);
            if (!run_request(f.engine, &a.r, &o)) break;
            CHECK_INT(o.n_tokens, n);
            CHECK_MEM(o.tokens, want, n * sizeof *want);
            if (a.options.penalty_alpha != 0 && a.options.num_candidates != 1) continue;
            n_greedy++;
            a.r.strategy = NULL, a.r.strategy_options = NULL, a.sampling.temp = 0;
            if (run_request(f.engine, &a.r, &greedy)) same_outcome(&o, &greedy);
        }
        json_decref(all);
        fixture_close(&f);
    }
    CHECK_INT(n_cases, 36);
    CHECK(n_greedy >= 12);
}

static rn_request of_text(struct asked *a, const char *text, int i) {
    static const char *const strategies[] = {"contrastive", NULL};
    rn_request r = text_request(text);
    rn_strategy_options_init(&a->options);
    a->options.num_candidates = 2 + i % 5, a->options.penalty_alpha = (float)(i % 7) / 8;
    r.strategy = strategies[i % 2], r.strategy_options = i % 2 ? NULL : &a->options;
    sampling_of(&r)->temp = (float)i / 4;
    r.max_tokens = 30;
    r.ignore_eos = true;
    r.logprobs = 2;
    return r;
}

// Also a recurrent model, whose candidates each take a slot of state.
TEST(the_text_is_the_same_alone_and_beside_others_on_any_threads_and_with_a_cached_prompt) {
    static const char *const models[] = {"qwen2", "granitemoehybrid", "gemma3"};
    static struct outcome alone[N_BESIDE + 1], o[N_BESIDE + 1];
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int n_threads = 1; n_threads <= 2; n_threads++) {
            struct fixture f;
            static struct asked a[N_BESIDE + 1];
            rn_stream *s[N_BESIDE + 1] = {NULL};
            if (!open_golden(&f, models[m], n_threads, 8)) return;
            for (int i = 0; i <= N_BESIDE; i++) {
                const rn_request r = of_text(&a[i], "Once upon a time there was", i);
                if (!run_request(f.engine, &r, &o[i])) return;
                check_note("%s, stream %d, %d threads", models[m], i, n_threads);
                if (n_threads > 1) same_outcome(&o[i], &alone[i]);
                alone[i] = o[i];
            }
            for (int i = 0; i <= N_BESIDE; i++) {
                rn_error err = {0};
                const rn_request r = of_text(&a[i], "Once upon a time there was", i);
                o[i] = (struct outcome){0};
                CHECK_OK(rn_stream_begin(f.engine, &r, &s[i], &err), &err);
            }
            for (int i = 0; i <= N_BESIDE; i++) {
                check_note("%s, stream %d, %d threads, beside others", models[m], i, n_threads);
                if (s[i] && drain(s[i], &o[i])) same_outcome(&o[i], &alone[i]);
                rn_stream_close(s[i]);
            }
            fixture_close(&f);
        }
}

TEST(a_recurrent_model_without_room_for_states_is_refused_by_name) {
    struct fixture f;
    static struct asked a;
    rn_stream *s = NULL;
    rn_error err = {0};
    if (!open_golden(&f, "mamba2", 1, 0)) return;
    const rn_request r = of_text(&a, "Once", 0);
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "strategy contrastive: needs 4 slots of recurrent state for a stream, 2 are planned");
    fixture_close(&f);
}

// A second turn finds no hidden states of the first one, and has the text of a prompt that is evaluated whole.
TEST(a_turn_of_a_session_has_the_text_of_its_whole_prompt) {
    struct fixture f;
    static struct asked a;
    static struct outcome first, turn, whole;
    rn_session *session = NULL;
    rn_error err = {0};
    int32_t ids[128];
    if (!open_golden(&f, "qwen2", 1, 0)) return;
    rn_request r = of_text(&a, "Once upon a time", 2);
    CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err);
    r.session = session;
    if (!run_request(f.engine, &r, &first)) return;
    const rn_part more = {.kind = RN_PART_TEXT, .text = "and then", .n_text = 8};
    r.parts = &more;
    if (!run_request(f.engine, &r, &turn)) return;
    int32_t *prompt = NULL;
    size_t n_prompt = 0, n_more = 0;
    CHECK_OK(rn_tokenize(f.model, "Once upon a time", 16, true, false, &prompt, &n_prompt, &err), &err);
    memcpy(ids, prompt, n_prompt * sizeof *ids);
    memcpy(ids + n_prompt, first.tokens, first.n_tokens * sizeof *ids);
    rn_free(prompt);
    CHECK_OK(rn_tokenize(f.model, "and then", 8, false, false, &prompt, &n_more, &err), &err);
    memcpy(ids + n_prompt + first.n_tokens, prompt, n_more * sizeof *ids);
    rn_free(prompt);
    const rn_part all = {.kind = RN_PART_IDS, .ids = ids, .n_ids = n_prompt + first.n_tokens + n_more};
    r.session = NULL, r.parts = &all;
    if (run_request(f.engine, &r, &whole)) same_outcome(&turn, &whole);
    rn_session_close(session);
    fixture_close(&f);
}
