// tests/engine/strategy_room_test.c - the room that strategies have is planned by name, and one that needs more is refused by name.
#include "engine/engine.h"
#include "fixture.h"
#include "tests/support/arch_subjects.h"

static rn_model *open_recurrent(void) {
    char path[512];
    size_t n;
    rn_model *model = NULL;
    rn_error err = {0};
    struct arch_model m = arch_subjects[arch_subject_named("mamba2")].m;
    m.n_vocab = 64, m.type = TENSOR_F32, m.seed = 1;
    uint8_t *bytes = arch_model_bytes(&m, &n);
    snprintf(path, sizeof path, "%s/recurrent.gguf", temp_dir());
    if (CHECK(write_file(path, bytes, n))) CHECK_OK(rn_model_open(path, NULL, &model, &err), &err);
    free(bytes);
    return model;
}

static rn_engine_info info_of(rn_engine *e) {
    rn_error err = {0};
    rn_engine_info info = {.struct_size = sizeof info};
    CHECK_OK(rn_engine_get_info(e, 0, &info, &err), &err);
    return info;
}

TEST(further_sequences_and_scratch_nodes_have_pages_of_their_own_in_the_plan) {
    struct fixture f;
    rn_engine_options opt = engine_options();
    struct outcome o, same;
    opt.n_streams = 3;
    opt.n_ctx = 128;
    if (!fixture_open(&f, &opt)) return;
    const rn_engine_info plain = info_of(f.engine);
    CHECK_INT(plain.n_seqs, 2);
    CHECK_INT(plain.n_scratch, 64);
    CHECK_INT(plain.n_states, 0);
    CHECK(plain.n_results >= 8);
    CHECK(!strstr(plain.plan, "drafts and beams"));
    const rn_request r = text_request("Once upon a time");
    run_request(f.engine, &r, &o);
    fixture_close(&f);
    opt.n_seqs = 5;
    opt.n_scratch = 65; // two pages
    if (!fixture_open(&f, &opt)) return;
    const rn_engine_info more = info_of(f.engine);
    CHECK_INT(more.n_seqs, 7);
    CHECK_INT(more.n_scratch, 65);
    CHECK_INT(more.n_kv - plain.n_kv, 5 * 128);
    CHECK_INT(more.kv_bytes - plain.kv_bytes, (3 * (5 + 2) * 64 + 5 * 128) * more.kv_bytes_per_token);
    CHECK_HAS(more.plan, "drafts and beams (n_seqs, n_scratch)");
    run_request(f.engine, &r, &same);
    same_outcome(&o, &same);
    lm *const m = f.engine->model_slots[0].lm; // nothing runs
    int32_t seqs[3 * 7 + 64], n = 0;
    while (n < 3 * 7 + 64 && lm_seq_new(m, &(struct lm_seq_spec){0}, &seqs[n], NULL) == RN_OK) n++;
    CHECK_INT(n, 3 * 7 + 64);
    while (n > 0) lm_seq_free(m, seqs[--n]);
    fixture_close(&f);
}

TEST(a_recurrent_model_reserves_a_slot_of_state_for_each_of_them) {
    rn_error err = {0};
    rn_engine *e;
    rn_engine_stats plain = {.struct_size = sizeof plain}, more = plain;
    rn_model *model = open_recurrent();
    rn_engine_options opt = engine_options();
    opt.n_streams = 2;
    if (!model) return;
    if (CHECK_OK(rn_engine_open(&model, 1, &opt, &e, &err), &err)) {
        CHECK_INT(info_of(e).n_states, 2);
        rn_engine_get_stats(e, &plain, &err);
        rn_engine_close(e);
    }
    opt.n_seqs = 3;
    opt.n_scratch = 4;
    if (CHECK_OK(rn_engine_open(&model, 1, &opt, &e, &err), &err)) {
        CHECK_INT(info_of(e).n_states, 2 + 3 + 4);
        rn_engine_get_stats(e, &more, &err);
        CHECK_INT(more.states - plain.states, 2 * (3 + 4));
        rn_engine_close(e);
    }
    rn_model_close(model);
}

TEST(a_strategy_that_needs_more_than_was_planned_is_refused_with_what_reserves_it) {
    static const struct {
        struct strategy_needs needs;
        const char *want; // NULL: there is room
    } cases[] = {
        {{.n_seqs = 1, .n_results = 1}, NULL},
        {{0}, NULL}, // as the row before
        {{.n_seqs = 3, .n_results = 1}, "strategy beam: needs 3 sequences for a stream, 2 are planned for "},
        {{.n_seqs = 1, .n_scratch = 65, .n_results = 1},
         "strategy beam: needs 65 scratch nodes for a stream, 64 are planned for "},
        {{.n_seqs = 1, .n_scratch = 8, .n_results = 1},
         "strategy beam: needs 10 slots of recurrent state for a stream, 2 are planned for "},
        {{.n_seqs = 1, .n_results = 1 << 20},
         "strategy beam: needs 1048576 rows with logits in a step for a stream, "},
    };
    rn_error err = {0};
    rn_engine *e;
    rn_model *model = open_recurrent();
    const rn_engine_options opt = engine_options();
    if (!model) return;
    if (CHECK_OK(rn_engine_open(&model, 1, &opt, &e, &err), &err)) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            err = (rn_error){0};
            const rn_status st = model_slot_check_needs(e, &e->model_slots[0], "beam", &cases[i].needs, &err);
            CHECK_INT(st, cases[i].want ? RN_E_LIMIT : RN_OK);
            if (cases[i].want) CHECK_HAS(err.text, cases[i].want);
        }
        rn_engine_close(e);
    }
    rn_model_close(model);
}

TEST(reservations_outside_their_range_are_refused) {
    struct fixture f;
    rn_error err = {0};
    rn_engine_options opt = engine_options();
    CHECK_OK(rn_model_open(stories(), NULL, &f.model, &err), &err);
    opt.n_seqs = 1025;
    CHECK_FAILS(rn_engine_open(&f.model, 1, &opt, &f.engine, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "n_seqs: 1025 is outside 0..1024");
    opt.n_seqs = 0;
    opt.n_scratch = -1;
    CHECK_FAILS(rn_engine_open(&f.model, 1, &opt, &f.engine, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "n_scratch: -1 is outside 0..4096");
    rn_model_close(f.model);
}

TEST(step_times_are_zero_before_the_first_step_and_then_what_was_measured) {
    struct fixture f;
    rn_error err = {0};
    struct outcome o;
    rn_step_time t = {.struct_size = sizeof t}, more = t;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt)) return;
    CHECK_OK(rn_engine_get_step_time(f.engine, 0, 1, &t, &err), &err);
    CHECK(t.ms == 0.0 && t.prefill_row_ms == 0.0);
    const rn_request r = text_request("Once upon a time");
    run_request(f.engine, &r, &o);
    CHECK_OK(rn_engine_get_step_time(f.engine, 0, 1, &t, &err), &err);
    CHECK_OK(rn_engine_get_step_time(f.engine, 0, 5, &more, &err), &err);
    CHECK(t.ms > 0.0 && t.prefill_row_ms > 0.0);
    CHECK(more.ms > t.ms); // four rows more than were measured
    CHECK_FAILS(rn_engine_get_step_time(f.engine, 1, 1, &t, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "model: 1 is outside 0..0");
    fixture_close(&f);
}
