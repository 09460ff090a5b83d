// tests/engine/overflow_test.c - slow readers: whatever a request combines, each chunk has the tokens and the text that an
// unhurried reader of single tokens gets, and what is lost is counted.
//
// The model's vocabulary has a token of 3,000 bytes and pieces of characters; a logits stage chooses the tokens.
#include "tests/engine/long_tokens.h"
#include <math.h>
#include <unistd.h>

enum { MOST_MADE = 480, MOST_TEXT = MOST_MADE * LONG_TEXT };

static uint32_t below(uint64_t *state, size_t n) {
    for (int i = 0; i < 2; i++) *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % n);
}

// Position decides: long tokens, words, whole and broken characters.
static bool choose(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    static const int32_t choices[] = {LONG_TOKEN,   260,           261, BYTE_0 + 0xC3, BYTE_0 + 0xA9, BYTE_0 + 0xFF,
                                      BYTE_0 + 'x', BYTE_0 + 0xE2, 262};
    uint64_t state = n_tokens * 1000003 + *(const uint64_t *)user;
    const int32_t chosen = choices[below(&state, sizeof choices / sizeof *choices)];
    (void)tokens;
    for (int32_t i = 0; i < n_vocab; i++) logits[i] = -1000.0f;
    logits[chosen] = 1000.0f;
    return true;
}

// ---- what an unhurried reader gets -----------------------------------------------------------------------------------

struct reference {
    int32_t ids[MOST_MADE];
    float logprobs[MOST_MADE];
    size_t text_at[MOST_MADE + 1]; // text of token i: text[text_at[i] .. text_at[i + 1])
    size_t n_tokens, n_echo, n_text;
    char *text, echo[256];
    rn_finish finish;
};

static bool read_reference(rn_engine *e, rn_request r, struct reference *ref) {
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    r.overflow = RN_OVERFLOW_PARK, r.stream_interval = 1, r.buffer_tokens = 1024, r.want_logits = false;
    ref->n_tokens = ref->n_echo = ref->n_text = 0;
    if (!CHECK_OK(rn_stream_begin(e, &r, &s, &err), &err)) return false;
    while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) {
        if (!CHECK(c.n_tokens < 2 && ref->n_text + c.n_text <= MOST_TEXT && c.n_dropped == 0)) break;
        if (c.n_tokens == 0 && c.finish_reason == RN_FINISH_NONE) {
            if (!CHECK(ref->n_echo + c.n_text <= sizeof ref->echo)) break;
            if (c.n_text) memcpy(ref->echo + ref->n_echo, c.text, c.n_text);
            ref->n_echo += c.n_text;
            continue;
        }
        memcpy(ref->text + ref->n_text, c.text, c.n_text);
        ref->n_text += c.n_text;
        if (c.n_tokens) {
            ref->ids[ref->n_tokens] = c.tokens[0];
            ref->logprobs[ref->n_tokens] = c.token_data ? c.token_data[0].logprob : 0.0f;
            ref->text_at[++ref->n_tokens] = ref->n_text;
        }
        ref->finish = c.finish_reason;
    }
    rn_stream_close(s);
    return CHECK(ref->finish != RN_FINISH_NONE);
}

// ---- and a slow one --------------------------------------------------------------------------------------------------

struct slow {
    size_t n_tokens, n_dropped, n_taken, n_chunks, n_prompt_data;
    bool has_echo; // still to come
};

static bool same_data(const struct reference *ref, const rn_request *r, const rn_chunk *c, size_t from) {
    for (size_t i = 0; i < c->n_tokens; i++) {
        const rn_token *t = &c->token_data[i];
        double sum = 0.0;
        for (int32_t k = 0; r->want_logits && k < N_VOCAB; k++) sum += (double)t->logits[k];
        if (!CHECK(isfinite(sum)) || !CHECK_INT(t->id, c->tokens[i]) ||
            !CHECK_INT(t->n_top, r->logprobs > 0 ? r->logprobs : 0) ||
            (r->logprobs >= 0 && !CHECK(t->logprob == ref->logprobs[from + i])))
            return false;
    }
    return true;
}

static bool same_chunk(const struct reference *ref, const rn_request *r, struct slow *o, const rn_chunk *c) {
    const size_t from = o->n_tokens + c->n_dropped, to = from + c->n_tokens, n_echo = o->has_echo ? ref->n_echo : 0;
    const bool is_cut = c->finish_reason == RN_FINISH_CANCELLED;
    o->n_dropped += c->n_dropped, o->n_tokens = to, o->n_taken += c->n_tokens, o->n_chunks++;
    o->n_prompt_data += c->n_prompt_data;
    if (!CHECK(to <= ref->n_tokens) || !CHECK(c->n_tokens <= (size_t)r->stream_interval) ||
        !CHECK_MEM(c->tokens, ref->ids + from, c->n_tokens * sizeof *c->tokens) ||
        !CHECK((c->token_data != NULL) == (r->logprobs >= 0 || r->want_logits)) ||
        (c->token_data && !same_data(ref, r, c, from)))
        return false;
    if (!n_echo && c->n_tokens == 0 && c->finish_reason == RN_FINISH_NONE) return CHECK_INT(c->n_text, 0);
    o->has_echo = false;
    const size_t end = c->finish_reason == RN_FINISH_NONE || is_cut ? ref->text_at[to] : ref->n_text,
                 n = end - ref->text_at[from];
    // A stream that was cut gives out what it held back, too.
    return CHECK(is_cut ? c->n_text >= n_echo + n : c->n_text == n_echo + n) &&
           CHECK_MEM(c->text, ref->echo, n_echo) && CHECK_MEM(c->text + n_echo, ref->text + ref->text_at[from], n);
}

static void wait_until_ended(rn_engine *e) {
    rn_engine_stats st = {sizeof st};
    do {
        usleep(500);
        rn_engine_get_stats(e, &st, NULL);
    } while (st.n_running + st.n_queued);
}

static bool read_slowly(rn_engine *e, const rn_request *r, const struct reference *ref, bool late) {
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    struct slow o = {.has_echo = ref->n_echo > 0};
    if (!CHECK_OK(rn_stream_begin(e, r, &s, &err), &err)) return false;
    if (late) wait_until_ended(e);
    bool ok = true;
    while (ok && c.finish_reason == RN_FINISH_NONE)
        ok = CHECK_OK(rn_stream_next(s, -1, &c, &err), &err) && same_chunk(ref, r, &o, &c);
    if (ok && r->overflow != RN_OVERFLOW_CANCEL)
        ok = CHECK_INT(c.finish_reason, ref->finish) && CHECK_INT(o.n_tokens, ref->n_tokens);
    if (ok)
        ok = CHECK_INT(o.n_taken + o.n_dropped, c.usage->completion_tokens) &&
             CHECK(o.n_dropped == 0 || r->overflow == RN_OVERFLOW_DROP_OLDEST) &&
             CHECK_INT(o.n_prompt_data, r->prompt_logprobs < 0 ? 0 : c.usage->prompt_tokens);
    rn_stream_close(s);
    return ok;
}

// ---- requests --------------------------------------------------------------------------------------------------------

static const char held_by_x[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx!";
static const char *const never[] = {held_by_x}, *const soon[] = {"w261w260", held_by_x};
static const int32_t prompt_ids[] = {1, 260, BYTE_0 + 0xC3, BYTE_0 + 0xA9, BYTE_0 + 0xE2, LONG_TOKEN + 5};

// Request number i of the sweep.
static rn_request sweep_request(uint64_t i, uint64_t *choice_seed) {
    static const int32_t intervals[] = {1, 2, 7, 64, 1023, 1024}, buffers[] = {1, 2, 15, 1023, 1024, 65536},
                         logprobs[] = {-1, -1, 0, 20}, counts[] = {MOST_MADE, MOST_MADE, 40, 1};
    static const rn_overflow overflows[] = {RN_OVERFLOW_DROP_OLDEST, RN_OVERFLOW_PARK, RN_OVERFLOW_CANCEL};
    static const rn_part part = {
        .kind = RN_PART_IDS, .ids = prompt_ids, .n_ids = sizeof prompt_ids / sizeof *prompt_ids};
    rn_request r = text_request("");
#define PICK(list) (list)[below(&i, sizeof(list) / sizeof *(list))]
    r.parts = &part;
    r.overflow = overflows[i % 3];
    *choice_seed = i;
    r.stream_interval = PICK(intervals), r.buffer_tokens = PICK(buffers);
    r.logprobs = PICK(logprobs), r.prompt_logprobs = PICK(logprobs);
    r.max_tokens = PICK(counts);
    r.want_logits = below(&i, 3) == 0, r.echo = below(&i, 2), r.raw_bytes = below(&i, 2);
    r.stop = below(&i, 8) ? never : soon;
    r.n_stop = below(&i, 3) == 0 ? 0 : r.stop == soon ? 2 : 1;
    r.ignore_eos = true;
    sampling_of(&r)->stage = choose, sampling_of(&r)->stage_user = choice_seed;
#undef PICK
    return r;
}

static bool run_sweep(rn_engine *e, struct reference *ref, uint64_t i) {
    uint64_t choice_seed;
    const rn_request r = sweep_request(i, &choice_seed);
    check_note(
        "%llu: overflow %d interval %d buffer %d logprobs %d prompt_logprobs %d logits %d echo %d raw %d stops %zu "
        "max_tokens %d",
        (unsigned long long)i, r.overflow, r.stream_interval, r.buffer_tokens, r.logprobs, r.prompt_logprobs,
        r.want_logits, r.echo, r.raw_bytes, r.n_stop, r.max_tokens);
    return read_reference(e, r, ref) && read_slowly(e, &r, ref, false) &&
           (r.overflow == RN_OVERFLOW_PARK || read_slowly(e, &r, ref, true));
}

TEST(every_rule_for_slow_readers_keeps_text_and_counts_with_every_interval_buffer_and_kind_of_data) {
    struct fixture f;
    struct reference ref = {.text = malloc(MOST_TEXT)};
    const uint64_t n = getenv("RUNNEL_TEST_FULL") ? 1500 : 90;
    if (!ref.text) abort();
    bool ok = long_fixture_open(&f);
    for (uint64_t i = 0; ok && i < n; i++) ok = run_sweep(f.engine, &ref, i);
    fixture_close(&f);
    free(ref.text);
}

TEST(a_chunk_longer_than_the_buffer_is_delivered_whole_where_the_oldest_are_dropped) {
    struct fixture f;
    struct outcome alone, o;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 480;
    r.ignore_eos = true;
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &alone)) return;
    r.overflow = RN_OVERFLOW_DROP_OLDEST, r.stream_interval = 1024, r.buffer_tokens = 1;
    if (run_request(f.engine, &r, &o)) {
        same_outcome(&o, &alone);
        CHECK_INT(o.n_chunks, 1);
        CHECK_INT(o.n_dropped, 0);
    }
    fixture_close(&f);
}
