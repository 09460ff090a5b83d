// tests/engine/stream_size_test.c - what streams allocate is at most what the memory plan counts for them, whatever a request asks for that
// the plan includes.
#include "base/mem.h"
#include "base/philox.h"
#include "engine/engine.h"
#include "fixture.h"
#include "tests/support/tiny_model.h"

static uint32_t counter;
static int32_t below(int32_t n) { return (int32_t)(philox_uniform(31, 0, counter++, PHILOX_TEST) * n); }
static bool chance(int32_t one_in) { return below(one_in) == 0; }

enum { N_STREAMS = 4, MOST_IDS = 200, N_VOCAB = 300, N_CTX = 32768 };

static rn_request random_request(rn_part *part, int32_t *ids) {
    static const char *const stops[] = {"the end", "\n\n", "zebra"};
    rn_request r = text_request("");
    rn_sampling *s = sampling_of(&r);
    const int32_t n = 1 + below(MOST_IDS);
    for (int32_t i = 0; i < n; i++) ids[i] = below(256);
    *part = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = (size_t)n};
    r.parts = part;
    r.max_tokens = chance(3) ? -1 : below(60); // -1: room for a whole context
    r.timeout_ms = 1;
    r.buffer_tokens = 1 + below(1024);
    r.logprobs = below(2) - 1;
    r.raw_bytes = chance(3);
    r.ignore_eos = chance(2);
    r.n_stop = (size_t)below(3), r.stop = stops;
    s->temp = chance(4) ? 0.0f : 0.5f + (float)below(10) / 10.0f;
    s->top_k = chance(2) ? 0 : below(50);
    s->top_p = chance(2) ? 1.0f : 0.9f;
    s->min_p = chance(2) ? 0.0f : 0.05f;
    s->repeat_penalty = chance(2) ? 1.0f : 1.2f;
    s->frequency_penalty = chance(2) ? 0.0f : 0.3f;
    s->penalty_last_n = chance(2) ? -1 : below(100);
    return r;
}

static size_t heap_since(size_t before) {
    const size_t now = mem_heap_bytes();
    return now > before ? now - before : 0;
}

// A small model with a long context, which is what a sampler's history grows with.
static bool open_long(struct fixture *f) {
    struct tiny_model m = tiny_model_default();
    rn_engine_options o = engine_options();
    rn_error err = {0};
    char path[512];
    m.n_ctx = N_CTX, m.n_vocab = N_VOCAB;
    o.n_streams = N_STREAMS, o.n_kv = N_CTX;
    *f = (struct fixture){0};
    snprintf(path, sizeof path, "%s/long.gguf", temp_dir());
    return CHECK(tiny_model_write(&m, path)) && CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &o, &f->engine, &err), &err);
}

TEST(streams_take_no_more_than_the_plan_counts_for_them) {
    struct fixture f;
    rn_error err = {0};
    size_t most = 0;
    if (!open_long(&f)) return;
    const uint64_t planned = stream_running_bytes(f.engine, &f.engine->model_slots[0]);
    for (int round = 0; round < 100; round++) {
        static int32_t ids[N_STREAMS][MOST_IDS];
        static struct outcome out;
        rn_part parts[N_STREAMS];
        rn_stream *s[N_STREAMS] = {NULL};
        const size_t n = 1 + (size_t)below(N_STREAMS), before = mem_heap_bytes();
        size_t held = 0;
        check_note("round %d", round);
        for (size_t i = 0; i < n; i++) {
            const rn_request r = random_request(&parts[i], ids[i]);
            if (!CHECK_OK(rn_stream_begin(f.engine, &r, &s[i], &err), &err)) break;
        }
        for (size_t i = 0; i < n && s[i]; i++) {
            out = (struct outcome){0};
            if (heap_since(before) > held) held = heap_since(before);
            drain(s[i], &out);
            if (heap_since(before) > held) held = heap_since(before);
        }
        CHECK(held <= n * planned);
        if (held / n > most) most = held / n;
        for (size_t i = 0; i < n; i++) rn_stream_close(s[i]);
    }
    CHECK(most > planned / 3); // without an output parser and a second sequence
    fixture_close(&f);
}

TEST(an_outbox_takes_the_bytes_that_it_states) {
    for (int round = 0; round < 200; round++) {
        const struct outbox_sizes z = {.buffer_tokens = 1 + (uint32_t)below(100),
                                       .chunk_tokens = 1 + (uint32_t)below(100),
                                       .token_text = (size_t)below(300),
                                       .end_text = (size_t)below(300),
                                       .n_echo = (size_t)below(300),
                                       .n_choices = 1 + (uint32_t)below(4),
                                       .n_top = below(5),
                                       .n_logits = chance(2) ? 0 : below(100)};
        struct outbox box;
        rn_error err = {0};
        const size_t before = mem_heap_bytes();
        CHECK_OK(outbox_init(&box, &z, &err), &err);
        const size_t taken = heap_since(before), stated = outbox_bytes(&z);
        CHECK(stated <= taken && taken <= stated + 11 * 48); // malloc rounds up each of its blocks
        outbox_free(&box);
    }
}

TEST(each_place_in_the_queue_is_planned_as_a_waiting_stream) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    if (!fixture_open(&f, &o)) return;
    const uint64_t before = plan_beside_bytes(f.engine), waiting = stream_waiting_bytes(&f.engine->model_slots[0]);
    f.engine->opt.n_queue += 10;
    CHECK(waiting > 0 && waiting < stream_running_bytes(f.engine, &f.engine->model_slots[0]));
    CHECK_INT(plan_beside_bytes(f.engine) - before, 10 * waiting);
    fixture_close(&f);
}

TEST(more_sequences_are_counted_with_a_sampler_each) {
    struct fixture f;
    rn_engine_options o = engine_options();
    uint64_t bytes[2];
    o.n_ctx = 256;
    for (int i = 0; i < 2; i++) {
        o.n_seqs = 3 * i;
        if (!fixture_open(&f, &o)) return;
        const struct model_slot *l = &f.engine->model_slots[0];
        bytes[i] = stream_running_bytes(f.engine, l);
        if (i) CHECK(bytes[1] - bytes[0] >= 3 * (sampler_most_bytes(l->lm->n_vocab, 256) + 256 * sizeof(int32_t)));
        fixture_close(&f);
    }
}
