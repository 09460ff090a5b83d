// tests/engine/outbox_test.c - the ring between the step thread and a reader, against a model of it: lists of what was pushed.
#include "engine/outbox.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1500, MOST_TEXT = 1 << 19, MOST_CHUNKS = MOST_TOKENS + 3, MOST_TOP = 3, MOST_LOGITS = 5 };

static uint32_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}
static uint32_t below(uint64_t *state, uint32_t n) { return random_bits(state) % n; }

// What the writer pushed, never forgotten: chunk i has tokens [tokens_at, tokens_end) and text [text_at, text_end).
struct pushed_chunk {
    size_t tokens_at, tokens_end, text_at, text_end;
    bool has_echo, has_prompt;
};
struct rig {
    uint64_t seed, random;
    struct outbox_sizes size;
    struct outbox box;
    char echo[64];
    rn_token prompt[2];
    // The model.
    char *text;
    bool *has_logits; // [MOST_TOKENS]
    size_t n_text, n_tokens;
    struct pushed_chunk *chunks; // [MOST_CHUNKS]
    size_t n_chunks, tail;       // chunks before tail were taken or dropped
    struct pushed_chunk open;
    size_t n_dropped; // not reported yet
    bool ended;
};

// Attributes of token i follow from its number.
static struct outbox_token token_of(const struct rig *r, size_t i) {
    return (struct outbox_token){.id = (int32_t)i,
                                 .logprob = -(float)i,
                                 .n_top = r->size.n_top ? (int32_t)i % (r->size.n_top + 1) : 0,
                                 .rank = (int32_t)i + 1,
                                 .drafted = i % 3 == 0};
}
static rn_top top_of(size_t i, int32_t k) { return (rn_top){(int32_t)i + k, (float)i / (float)(k + 1)}; }
static float logit_of(size_t i, int32_t k) { return (float)i * 8.0f + (float)k; }

// ---- the model -------------------------------------------------------------------------------------------------------

static size_t waiting_tokens(const struct rig *r) {
    return r->open.tokens_end - (r->tail < r->n_chunks ? r->chunks[r->tail].tokens_at : r->open.tokens_at);
}
static size_t waiting_text(const struct rig *r) {
    return r->open.text_end - (r->tail < r->n_chunks ? r->chunks[r->tail].text_at : r->open.text_at);
}

// What outbox.h promises: besides the longest chunk there is room for buffer_tokens tokens of 16 bytes.
static bool model_has_room(const struct rig *r) {
    const struct outbox_sizes *z = &r->size;
    const size_t text = outbox_chunk_text(z) + z->token_text + z->end_text + (size_t)16 * z->buffer_tokens;
    return waiting_tokens(r) + 1 <= (size_t)z->buffer_tokens + z->chunk_tokens &&
           waiting_text(r) + z->token_text + z->end_text <= text;
}

static void model_drop(struct rig *r) {
    while (!model_has_room(r) && r->tail < r->n_chunks) {
        const struct pushed_chunk c = r->chunks[r->tail++];
        struct pushed_chunk *const next = r->tail < r->n_chunks ? &r->chunks[r->tail] : &r->open;
        r->n_dropped += c.tokens_end - c.tokens_at;
        next->has_echo |= c.has_echo, next->has_prompt |= c.has_prompt;
    }
}

static void model_close(struct rig *r) {
    r->chunks[r->n_chunks++] = r->open;
    r->open = (struct pushed_chunk){r->n_tokens, r->n_tokens, r->n_text, r->n_text, false, false};
}

// ---- the writer, as the engine is one ---------------------------------------------------------------------------------

static bool push_text(struct rig *r, size_t n) {
    char *const text = r->text + r->n_text;
    for (size_t i = 0; i < n; i++) text[i] = (char)('!' + random_bits(&r->random) % 90);
    if (!CHECK(outbox_push_text(&r->box, text, n))) return false;
    r->n_text += n;
    r->open.text_end = r->n_text;
    return true;
}

// As long as it may be, often; else short.
static size_t length_of_text(struct rig *r, size_t most) {
    if (most == 0 || below(&r->random, 4) == 0) return 0;
    const size_t cap = below(&r->random, 3) == 0 || most < 9 ? most : 9;
    return below(&r->random, 3) ? below(&r->random, (uint32_t)cap + 1) : cap;
}

static bool push_token(struct rig *r) {
    const size_t i = r->n_tokens;
    const struct outbox_token t = token_of(r, i);
    rn_top top[MOST_TOP];
    float logits[MOST_LOGITS];
    for (int32_t k = 0; k < t.n_top; k++) top[k] = top_of(i, k);
    for (int32_t k = 0; k < r->size.n_logits; k++) logits[k] = logit_of(i, k);
    r->has_logits[i] = r->size.n_logits && below(&r->random, 4) > 0;
    if (!CHECK(outbox_push_token(&r->box, &t, top, r->has_logits[i] ? logits : NULL))) return false;
    r->open.tokens_end = ++r->n_tokens;
    return push_text(r, length_of_text(r, r->size.token_text));
}

static void close_chunk(struct rig *r) {
    outbox_close_chunk(&r->box);
    model_close(r);
}

static bool end(struct rig *r) {
    const rn_chunk last = {.finish_reason = RN_FINISH_LENGTH, .finish_detail = "over"};
    if (!push_text(r, length_of_text(r, r->size.end_text))) return false;
    outbox_end(&r->box, &last);
    model_close(r);
    r->ended = true;
    return true;
}

// One step of a stream: room is made as its overflow rule says, a token, and a full chunk is closed.
static bool step(struct rig *r, rn_overflow overflow) {
    const bool had_room = model_has_room(r);
    if (!CHECK_INT(outbox_has_room(&r->box), had_room)) return false;
    if (!had_room && overflow == RN_OVERFLOW_CANCEL) return end(r);
    if (!had_room && overflow == RN_OVERFLOW_PARK) {
        if (outbox_open_tokens(&r->box)) close_chunk(r);
        return CHECK(r->tail < r->n_chunks); // the reader has a chunk to take, so the stream will continue
    }
    outbox_drop_oldest(&r->box);
    model_drop(r);
    if (!CHECK(model_has_room(r)) || !CHECK(outbox_has_room(&r->box)) || !push_token(r)) return false;
    const bool is_last =
        r->n_tokens + 1 >= MOST_TOKENS || r->n_text + r->size.token_text + r->size.end_text > MOST_TEXT;
    if (is_last || below(&r->random, 300) == 0) return end(r);
    if (outbox_chunk_is_full(&r->box)) close_chunk(r);
    return true;
}

// ---- the reader ------------------------------------------------------------------------------------------------------

static bool same_token(const struct rig *r, const rn_token *got, size_t i) {
    const struct outbox_token want = token_of(r, i);
    bool ok = CHECK_INT(got->id, want.id) && CHECK(got->logprob == want.logprob) && CHECK_INT(got->rank, want.rank) &&
              CHECK_INT(got->drafted, want.drafted) && CHECK_INT(got->n_top, want.n_top) &&
              CHECK((got->top != NULL) == (want.n_top > 0)) && CHECK((got->logits != NULL) == r->has_logits[i]);
    for (int32_t k = 0; ok && k < want.n_top; k++)
        ok = CHECK_INT(got->top[k].id, top_of(i, k).id) && CHECK(got->top[k].logprob == top_of(i, k).logprob);
    for (int32_t k = 0; ok && r->has_logits[i] && k < r->size.n_logits; k++)
        ok = CHECK(got->logits[k] == logit_of(i, k));
    return ok;
}

static bool same_chunk(struct rig *r, const rn_chunk *got) {
    const struct pushed_chunk want = r->chunks[r->tail++];
    const size_t n_tokens = want.tokens_end - want.tokens_at, n_echo = want.has_echo ? r->size.n_echo : 0,
                 n_text = want.text_end - want.text_at;
    const bool is_last = r->ended && r->tail == r->n_chunks;
    bool ok = CHECK_INT(got->n_tokens, n_tokens) && CHECK_INT(got->n_text, n_echo + n_text) &&
              CHECK_MEM(got->text, r->echo, n_echo) &&
              CHECK_MEM(got->text + n_echo, r->text + want.text_at, n_text) &&
              CHECK_INT(got->n_dropped, r->n_dropped) && CHECK_INT(got->n_prompt_data, want.has_prompt ? 2 : 0) &&
              CHECK(got->prompt_data == (want.has_prompt ? r->prompt : NULL)) &&
              CHECK((got->token_data != NULL) == r->size.has_data) &&
              CHECK_INT(got->finish_reason, is_last ? RN_FINISH_LENGTH : RN_FINISH_NONE) &&
              CHECK_STR(got->finish_detail, is_last ? "over" : "");
    r->n_dropped = 0;
    for (size_t i = 0; ok && i < n_tokens; i++)
        ok = CHECK_INT(got->tokens[i], (int32_t)(want.tokens_at + i)) &&
             (!r->size.has_data || same_token(r, &got->token_data[i], want.tokens_at + i));
    return ok;
}

static bool take(struct rig *r) {
    rn_chunk c;
    if (r->tail < r->n_chunks) return CHECK_INT(outbox_take(&r->box, 0, &c), RN_OK) && same_chunk(r, &c);
    return CHECK_INT(outbox_take(&r->box, 0, &c), r->ended ? RN_E_END : RN_E_AGAIN);
}

// ---- runs ------------------------------------------------------------------------------------------------------------

static uint32_t some_count(struct rig *r) {
    static const uint32_t counts[] = {1, 2, 3, 16, 64, 1023, 1024};
    return below(&r->random, 2) ? 1 + below(&r->random, 12)
                                : counts[below(&r->random, sizeof counts / sizeof *counts)];
}

static void draw_sizes(struct rig *r) {
    static const size_t texts[] = {0, 1, 7, 40, 313, 5000};
    struct outbox_sizes *z = &r->size;
    z->buffer_tokens = some_count(r), z->chunk_tokens = some_count(r);
    z->token_text = texts[below(&r->random, 6)], z->end_text = texts[below(&r->random, 5)];
    z->n_echo = below(&r->random, 2) ? below(&r->random, sizeof r->echo) : 0;
    z->n_top = (int32_t)below(&r->random, MOST_TOP + 1);
    z->n_logits = below(&r->random, 2) ? (int32_t)below(&r->random, MOST_LOGITS + 1) : 0;
    z->has_data = z->n_top || z->n_logits || below(&r->random, 2);
    check_note("seed %llu: buffer %u chunk %u text %zu end %zu echo %zu top %d logits %d",
               (unsigned long long)r->seed, z->buffer_tokens, z->chunk_tokens, z->token_text, z->end_text, z->n_echo,
               z->n_top, z->n_logits);
}

// What a stream delivers before its first token: the echo, the prompt's log-probabilities, or both in one chunk.
static void push_prompt(struct rig *r) {
    const bool has_scores = below(&r->random, 2);
    if (r->size.n_echo) {
        outbox_push_echo(&r->box, r->echo);
        r->open.has_echo = true;
        if (!has_scores) close_chunk(r);
    }
    if (!has_scores) return;
    outbox_push_prompt(&r->box, r->prompt, 2);
    r->open.has_prompt = true;
    close_chunk(r);
}

static bool run(struct rig *r) {
    rn_error err = {0};
    const rn_overflow overflow = (rn_overflow)below(&r->random, RN_OVERFLOW_CANCEL + 1);
    const uint32_t reads = below(&r->random, 4); // chunks taken for each step, of three
    draw_sizes(r);
    memset(r->echo, 'e', sizeof r->echo);
    bool ok = CHECK_OK(outbox_init(&r->box, &r->size, &err), &err);
    if (ok) push_prompt(r);
    for (int i = 0; ok && !r->ended && i < 3 * MOST_TOKENS; i++) {
        ok = step(r, overflow);
        // Who never reads a parked stream would wait for ever.
        if (ok && (below(&r->random, 3) < reads || overflow == RN_OVERFLOW_PARK)) ok = take(r);
    }
    if (ok && !r->ended) ok = end(r);
    while (ok && r->tail < r->n_chunks) ok = take(r);
    ok = ok && take(r); // RN_E_END
    outbox_free(&r->box);
    return ok;
}

TEST(random_pushes_takes_drops_and_ends_give_what_lists_of_them_give) {
    char *const text = malloc(MOST_TEXT);
    bool *const has_logits = malloc(MOST_TOKENS * sizeof *has_logits);
    struct pushed_chunk *const chunks = malloc(MOST_CHUNKS * sizeof *chunks);
    if (!text || !has_logits || !chunks) abort();
    bool ok = true;
    for (uint64_t seed = 1; ok && seed <= 400; seed++) {
        struct rig r = {.seed = seed, .random = seed, .text = text, .has_logits = has_logits, .chunks = chunks};
        ok = run(&r);
    }
    free(text);
    free(has_logits);
    free(chunks);
}

// ---- bounds ----------------------------------------------------------------------------------------------------------

static bool open_box(struct outbox *o, const struct outbox_sizes *z) {
    rn_error err = {0};
    return CHECK_OK(outbox_init(o, z, &err), &err);
}

TEST(a_push_that_does_not_fit_says_so_and_changes_nothing) {
    const struct outbox_sizes z = {.buffer_tokens = 2, .chunk_tokens = 2, .token_text = 4, .end_text = 3, .n_top = 1};
    const struct outbox_token t = {.id = 5}, crowded = {.id = 6, .n_top = 2};
    const rn_top top[2] = {{0}};
    char text[256];
    struct outbox o;
    rn_chunk c;
    memset(text, 'x', sizeof text);
    if (!open_box(&o, &z)) return;
    CHECK(!outbox_push_token(&o, &crowded, top, NULL)); // more candidates than a token has room for
    CHECK(outbox_push_token(&o, &t, NULL, NULL));
    CHECK(outbox_push_token(&o, &t, NULL, NULL));
    CHECK(!outbox_push_token(&o, &t, NULL, NULL)); // the chunk is full
    const size_t longest = outbox_chunk_text(&z) + z.token_text + z.end_text;
    CHECK(outbox_push_text(&o, text, longest - 1));
    CHECK(!outbox_push_text(&o, text, 2)); // the longest chunk that a reader's copy holds
    CHECK(outbox_push_text(&o, text, 1));
    outbox_close_chunk(&o);
    CHECK(!outbox_push_text(&o, text, o.cap_text - longest + 1)); // the ring
    CHECK(outbox_push_token(&o, &t, NULL, NULL));
    CHECK(outbox_push_token(&o, &t, NULL, NULL));
    outbox_close_chunk(&o);
    CHECK(!outbox_push_token(&o, &t, NULL, NULL)); // all tokens that may wait
    outbox_end(&o, &(rn_chunk){.finish_reason = RN_FINISH_STOP, .finish_detail = ""});
    CHECK(!outbox_push_text(&o, text, 1)); // after the end
    CHECK_INT(outbox_take(&o, 0, &c), RN_OK);
    CHECK_INT(c.n_tokens, 2);
    CHECK_INT(c.n_text, longest);
    CHECK(memchr(c.text, 'x', c.n_text) && !memchr(c.text, 0, c.n_text));
    CHECK_INT(outbox_take(&o, 0, &c), RN_OK);
    CHECK_INT(c.n_tokens, 2);
    CHECK_INT(c.finish_reason, RN_FINISH_NONE);
    CHECK_INT(outbox_take(&o, 0, &c), RN_OK);
    CHECK_INT(c.finish_reason, RN_FINISH_STOP);
    CHECK_INT(outbox_take(&o, 0, &c), RN_E_END);
    outbox_free(&o);
}

TEST(chunks_that_find_no_place_stay_open_and_the_end_always_has_one) {
    const struct outbox_sizes z = {.buffer_tokens = 1, .chunk_tokens = 1, .token_text = 4, .end_text = 3};
    const struct outbox_token t = {.id = 5};
    struct outbox o;
    rn_chunk c;
    if (!open_box(&o, &z)) return;
    for (int i = 0; i < 20; i++) outbox_close_chunk(&o); // empty ones
    CHECK(outbox_push_token(&o, &t, NULL, NULL));
    outbox_close_chunk(&o);
    CHECK_INT(outbox_open_tokens(&o), 1);
    outbox_end(&o, &(rn_chunk){.finish_reason = RN_FINISH_STOP, .finish_detail = ""});
    size_t n_tokens = 0;
    do {
        if (!CHECK_INT(outbox_take(&o, 0, &c), RN_OK)) break;
        n_tokens += c.n_tokens;
    } while (c.finish_reason == RN_FINISH_NONE);
    CHECK_INT(n_tokens, 1);
    outbox_free(&o);
}

TEST(a_token_without_logits_has_none_in_its_chunk) {
    const struct outbox_sizes z = {.buffer_tokens = 1, .chunk_tokens = 2, .n_logits = 2, .has_data = true};
    const struct outbox_token t = {.id = 5, .logprob = NAN};
    const float logits[] = {1.0f, 2.0f};
    struct outbox o;
    rn_chunk c;
    if (!open_box(&o, &z)) return;
    CHECK(outbox_push_token(&o, &t, NULL, logits));
    CHECK(outbox_push_token(&o, &t, NULL, NULL));
    outbox_close_chunk(&o);
    if (CHECK_INT(outbox_take(&o, 0, &c), RN_OK) && CHECK_INT(c.n_tokens, 2)) {
        CHECK(c.token_data[0].logits && c.token_data[0].logits[1] == 2.0f);
        CHECK(c.token_data[1].logits == NULL);
    }
    outbox_free(&o);
}
