// tests/engine/burst_test.c - strategies that emit many tokens in a step: up to row_list.n_tokens of them fit, whatever the buffer, the
// interval, the rule for slow readers, the number of choices and the revisions.
#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "tests/engine/long_tokens.h"
#include <unistd.h>

enum { MAX_CHOICES = 3, MOST_TOKENS = 120, N_PROMPT = 4 };

// ---- the strategy ----------------------------------------------------------------------------------------------------

struct plan {
    uint64_t seed;
    int32_t n_choices;
    bool first_first; // choice 0 has all its tokens before the others have any
    int32_t told;     // row_list.n_tokens while choice 0 had ended and no other had begun; 0: never
};
struct burst {
    strategy base;
    struct plan *plan;
    uint64_t state;
    int32_t n[MAX_CHOICES]; // tokens of each choice
    bool ended[MAX_CHOICES];
    int32_t room;
    bool has_begun;
};

static uint32_t below(uint64_t *state, uint32_t n) {
    *state = hash_u64(*state, 1);
    return (uint32_t)(*state >> 33) % n;
}

// Token i of a choice.
static int32_t token_at(const struct plan *p, int32_t choice, int32_t i) {
    static const int32_t tokens[] = {LONG_TOKEN,    260,          261,           BYTE_0 + 0xC3, BYTE_0 + 0xA9,
                                     BYTE_0 + 0xFF, BYTE_0 + 'x', BYTE_0 + 0xE2, 262,           263};
    return tokens[hash_u64(p->seed + (uint64_t)choice, (uint64_t)i) % (sizeof tokens / sizeof *tokens)];
}

static int32_t prompt_from(const strategy *base) { return N_PROMPT - !((const struct burst *)base)->has_begun; }
static uint32_t prompt_wants(const strategy *base, int32_t at) {
    (void)base;
    return at == N_PROMPT - 1 ? LM_WANT_LOGITS : 0;
}

// A scratch row: what it gives is only there to be attached to tokens.
static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct burst *s = (struct burst *)base;
    (void)err;
    s->room = rows->n_tokens;
    if (s->ended[0] && s->n[1] == 0) s->plan->told = s->room;
    rows->rows[0] = (struct lm_row){.seq = STRATEGY_MAIN, .token = 260, .parent = LM_ROOT, .want = LM_WANT_LOGITS};
    rows->n = 1;
    return RN_OK;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct burst *s = (struct burst *)base;
    const struct strategy_env *env = base->env;
    const bool is_prompt = r->at != RESULTS_OF_PROPOSAL;
    s->has_begun = true;
    for (int32_t c = 0; is_prompt && !s->plan->first_first && c < s->plan->n_choices; c++) {
        const struct emission e = {
            .token = token_at(s->plan, c, 0), .logits = results_logits(r, r->n - 1), .choice = c};
        s->n[c] = 1;
        s->ended[c] = !out->ops->emit(out->user, &e);
    }
    if (!is_prompt) {
        // As many as there is room for, or fewer; a choice may be revised first.
        const int32_t n = 1 + (int32_t)below(&s->state, 4 * (uint32_t)s->room) % s->room;
        for (int32_t i = 0; i < n; i++) {
            const bool only_first = s->plan->first_first && !s->ended[0];
            const int32_t c = only_first ? 0 : (int32_t)below(&s->state, (uint32_t)s->plan->n_choices);
            struct emission e = {.choice = c, .logits = below(&s->state, 8) ? results_logits(r, r->n - 1) : NULL};
            if (s->ended[c]) continue;
            if (env->accepts_revisions && s->n[c] > 0 && below(&s->state, 6) == 0)
                e.n_replaced = 1 + (int32_t)below(&s->state, (uint32_t)(s->n[c] < 9 ? s->n[c] : 9));
            s->n[c] -= e.n_replaced;
            e.token = token_at(s->plan, c, s->n[c]);
            s->n[c]++;
            if (!out->ops->emit(out->user, &e)) s->ended[c] = true;
            if (only_first && s->ended[0]) break;
        }
    }
    return is_prompt ? RN_OK : env->ops->seq_keep(env->user, STRATEGY_MAIN, NULL, 0, err);
}

static void destroy(strategy *base) { mem_free(base); }
static const struct strategy_ops ops = {.prompt_from = prompt_from,
                                        .prompt_wants = prompt_wants,
                                        .propose = propose,
                                        .absorb = absorb,
                                        .destroy = destroy};

static rn_status create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct burst *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "burst: out of memory");
    s->plan = (struct plan *)(uintptr_t)spec->params;
    s->state = s->plan->seed;
    s->base = (strategy){.ops = &ops, .n_choices = s->plan->n_choices};
    *out = &s->base;
    return RN_OK;
}
static const struct strategy_kind burst = {"burst", create};

static rn_stream *begin(rn_engine *e, const rn_request *r, struct plan *p) {
    struct own_request own;
    rn_error err = {0};
    rn_stream *s = NULL;
    rn_status st = own_request_read(r, &own, &err);
    if (st == RN_OK) st = stream_create(e, &own.r, &burst, p, &s, &err);
    if (st == RN_OK) st = stream_submit(s, &err);
    return CHECK_OK(st, &err) ? s : NULL;
}

// ---- what a reader gets ----------------------------------------------------------------------------------------------

struct got {
    char *text; // of MOST_TOKENS + 1 long tokens
    size_t n_text, n_tokens, n_dropped;
    int32_t tokens[MOST_TOKENS];
    rn_finish finish;
};
enum { MOST_TEXT = (MOST_TOKENS + 1) * LONG_TEXT };

// The chunk's tokens follow those that its choice has, those that were dropped among them.
static bool take(const struct plan *p, const rn_request *r, struct got *all, const rn_chunk *c) {
    struct got *g = &all[c->choice];
    if (c->replace_from >= 0) {
        if (!CHECK(r->accept_revisions && c->replace_from <= (int64_t)g->n_tokens)) return false;
        g->n_tokens = (size_t)c->replace_from, g->n_text = (size_t)c->replace_text_from;
    }
    g->n_tokens += c->n_dropped, g->n_dropped += c->n_dropped;
    if (!CHECK(g->n_tokens + c->n_tokens <= (size_t)r->max_tokens && g->n_text + c->n_text <= MOST_TEXT))
        return false;
    for (size_t i = 0; i < c->n_tokens; i++, g->n_tokens++)
        if (!CHECK_INT(c->tokens[i], token_at(p, c->choice, (int32_t)g->n_tokens))) return false;
    memcpy(g->text + g->n_text, c->text, c->n_text);
    g->n_text += c->n_text;
    g->finish = c->finish_reason;
    return CHECK(c->n_tokens <= (size_t)r->stream_interval);
}

static void wait_until_idle(rn_stream *s) {
    rn_stream_state st = {.struct_size = sizeof st};
    while (rn_stream_get_state(s, &st, NULL) == RN_OK && !st.is_parked && st.phase != RN_STREAM_ENDED) usleep(200);
}

static rn_finish read_all(rn_engine *e, const rn_request *r, struct plan *p, int n_late, struct got *all) {
    rn_error err = {0};
    rn_status st = RN_OK;
    rn_finish last = RN_FINISH_NONE;
    for (int32_t i = 0; i < MAX_CHOICES; i++)
        all[i].n_text = all[i].n_tokens = all[i].n_dropped = 0, all[i].finish = RN_FINISH_NONE;
    rn_stream *s = begin(e, r, p);
    if (!s) return last;
    for (bool ok = true; ok;) {
        rn_chunk c = new_chunk();
        if (n_late-- > 0) wait_until_idle(s);
        if ((st = rn_stream_next(s, 60000000000, &c, &err)) == RN_E_END) break;
        ok = CHECK_OK(st, &err) && take(p, r, all, &c);
        last = c.finish_reason;
        if (last == RN_FINISH_ERROR) check_note("%s", c.finish_detail);
    }
    rn_stream_close(s);
    return st == RN_E_END ? last : RN_FINISH_NONE;
}

static rn_request random_request(uint64_t *state, struct plan *p) {
    static const rn_overflow overflows[] = {RN_OVERFLOW_PARK, RN_OVERFLOW_DROP_OLDEST, RN_OVERFLOW_CANCEL};
    static const int32_t ids[N_PROMPT] = {1, 260, 261, 262}, sizes[] = {1, 1, 1, 2, 7, 30, 1024};
    static const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = N_PROMPT};
    rn_request r = text_request("");
    r.parts = &part;
    r.ignore_eos = true;
    p->seed = hash_u64(*state, 2);
    p->n_choices = 1 + (int32_t)below(state, MAX_CHOICES);
    r.max_tokens = 1 + (int32_t)below(state, MOST_TOKENS);
    r.accept_revisions = below(state, 2);
    r.overflow = overflows[below(state, 3)];
    if (r.overflow == RN_OVERFLOW_DROP_OLDEST) r.accept_revisions = false, p->n_choices = 1;
    r.stream_interval = sizes[below(state, 7)];
    r.buffer_tokens = sizes[below(state, 7)];
    r.logprobs = (int32_t)below(state, 3) - 1;
    r.want_logits = below(state, 4) == 0;
    r.raw_bytes = below(state, 2);
    return r;
}

static bool check_round(rn_engine *e, uint64_t round, struct got *want, struct got *got) {
    uint64_t state = hash_u64(round, 77);
    struct plan p = {0};
    const rn_request r = random_request(&state, &p);
    rn_request plain = r;
    plain.overflow = RN_OVERFLOW_PARK, plain.buffer_tokens = 1024, plain.stream_interval = 1;
    plain.accept_revisions = plain.want_logits = false;
    check_note("round %llu: overflow %d interval %d buffer %d choices %d revisions %d", (unsigned long long)round,
               r.overflow, r.stream_interval, r.buffer_tokens, p.n_choices, r.accept_revisions);
    if (!CHECK_INT(read_all(e, &plain, &p, 0, want), RN_FINISH_LENGTH)) return false;
    const rn_finish last = read_all(e, &r, &p, (int)below(&state, 2) * 40, got);
    if (r.overflow == RN_OVERFLOW_CANCEL && last == RN_FINISH_CANCELLED) return true; // take() saw a beginning
    if (!CHECK_INT(last, RN_FINISH_LENGTH)) return false;
    for (int32_t c = 0; c < p.n_choices; c++) {
        if (!CHECK_INT(got[c].n_tokens, r.max_tokens)) return false;
        if (r.overflow == RN_OVERFLOW_DROP_OLDEST && got[c].n_dropped) continue; // the text of dropped tokens is lost
        if (!CHECK_INT(got[c].n_dropped, 0) || !CHECK_INT(got[c].n_text, want[c].n_text) ||
            !CHECK_MEM(got[c].text, want[c].text, got[c].n_text))
            return false;
    }
    return true;
}

TEST(as_many_tokens_as_a_step_may_emit_fit_in_every_buffer) {
    struct fixture f;
    struct got all[2][MAX_CHOICES];
    bool ok = long_fixture_open(&f);
    for (int i = 0; i < 2 * MAX_CHOICES; i++)
        if (!(all[i / MAX_CHOICES][i % MAX_CHOICES].text = malloc(MOST_TEXT))) abort();
    for (uint64_t round = 0; ok && round < 250; round++) ok = check_round(f.engine, round, all[0], all[1]);
    for (int i = 0; i < 2 * MAX_CHOICES; i++) free(all[i / MAX_CHOICES][i % MAX_CHOICES].text);
    fixture_close(&f);
}

// The tokens that a step may emit are those of all choices that go on, not only of the first one.
TEST(choices_that_go_on_have_room_after_the_first_one_has_ended) {
    struct fixture f;
    struct got all[MAX_CHOICES];
    uint64_t state = 5;
    struct plan p = {0};
    for (int i = 0; i < MAX_CHOICES; i++)
        if (!(all[i].text = malloc(MOST_TEXT))) abort();
    if (!long_fixture_open(&f)) return;
    rn_request r = random_request(&state, &p);
    p = (struct plan){.seed = 3, .n_choices = 2, .first_first = true};
    r.overflow = RN_OVERFLOW_PARK, r.stream_interval = 1, r.buffer_tokens = 1024;
    r.accept_revisions = r.want_logits = false;
    r.max_tokens = 5;
    CHECK_INT(read_all(f.engine, &r, &p, 0, all), RN_FINISH_LENGTH);
    CHECK_INT(p.told, 5);
    fixture_close(&f);
    for (int i = 0; i < MAX_CHOICES; i++) free(all[i].text);
}
