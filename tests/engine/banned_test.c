// tests/engine/banned_test.c - banned strings, also with a healed prompt and with a negative prompt: streams over the toy model against a plain model of the rule,
// which knows all tokens and looks through the whole text after each one.
#include "base/mem.h"
#include "engine/banned.h"
#include "engine/params.h"
#include "engine/public_structs.h"
#include "kernels/kernels.h"
#include "sampling/guidance.h"
#include "sampling/token_mask.h"
#include "toy_rig.h"
#include <ctype.h>
#include <math.h>

enum { MAX_TOKENS = 160, MAX_BYTES = 2048, MAX_STRINGS = 4, MOST_TRIES = BANNED_MAX_TRIES };

// What one generation asks for.
struct plan {
    const char *banned[MAX_STRINGS], *stop[2];
    size_t n_banned, n_stop;
    bool match_case;
    rn_logit_bias bias[16];
    size_t n_bias;
    rn_sampling sampling;
    uint64_t seed;
    int32_t prompt[TOY_CTX], n_prompt, n_reply, max_tokens;
    bool heals;
    char heal[64]; // bytes of the tokens behind the prompt, which are taken back
    int32_t n_heal, n_healed_tokens;
    float scale; // of guidance; 1: none
    int32_t negative[40], n_negative;
};

// ---- the plain model ------------------------------------------------------------------------------------------------

struct plain {
    int32_t tokens[MAX_TOKENS], n;
    struct {
        int32_t at, token;
    } out[MOST_TRIES + 1];
    int32_t n_out, n_tries, released, n_rewound;
    char text[MAX_BYTES];
    int32_t from[MAX_BYTES]; // the token in which the character of each byte began
    int32_t n_text, unfinished_from;
    rn_finish finish;
    sampler *
        kept; // with mirostat, whose draws depend on those before: accepts and rewinds. NULL: each draw has one of its own
};

// The whole text of the tokens. Single invalid bytes are U+FFFD.
static void spell(const struct toy_rig *g, const struct plan *p, struct plain *m) {
    utf8_assembler u = {0};
    size_t n_hidden = (size_t)p->n_heal;
    m->n_text = 0, m->unfinished_from = -1;
    for (int32_t i = 0; i < m->n; i++) {
        size_t n;
        const char *piece = model_piece(g->model, m->tokens[i], false, &n);
        const int32_t n_before = m->n_text;
        const size_t n_known = n < n_hidden ? n : n_hidden;
        piece += n_known, n -= n_known, n_hidden -= n_known;
        m->n_text += (int32_t)utf8_assembler_push(&u, piece, n, m->text + m->n_text);
        for (int32_t k = n_before, n_chars = 0; k < m->n_text; k++) {
            n_chars += ((uint8_t)m->text[k] & 0xC0) != 0x80;
            m->from[k] = n_chars == 1 && m->unfinished_from >= 0 ? m->unfinished_from : i;
        }
        if (m->n_text > n_before || u.n_held == 0) m->unfinished_from = -1;
        if (u.n_held && m->unfinished_from < 0) m->unfinished_from = i;
    }
}

static int fold(const struct plan *p, const char *s, int32_t i) {
    const uint8_t c = (uint8_t)s[i];
    if (p->match_case) return c;
    if (i > 0 && (uint8_t)s[i - 1] == 0xC3 && c == 0x89) return 0xA9; // the only letter beyond ASCII here
    return c < 0x80 ? tolower(c) : c;
}

static bool is_at(const struct plan *p, const char *text, int32_t at, const char *string, int32_t n, bool folded) {
    for (int32_t i = 0; i < n; i++)
        if (folded ? fold(p, text, at + i) != fold(p, string, i) : text[at + i] != string[i]) return false;
    return true;
}

// The end of the first of the strings in the text, and where the longest one that ends there begins; -1: there is none.
static int32_t find(const struct plan *p, const struct plain *m, const char *const *strings, size_t n, bool folded,
                    int32_t *begins) {
    for (int32_t end = 1; end <= m->n_text; end++) {
        *begins = -1;
        for (size_t i = 0; i < n; i++) {
            const int32_t len = (int32_t)strlen(strings[i]), at = end - len;
            if (at >= 0 && is_at(p, m->text, at, strings[i], len, folded) && (*begins < 0 || at < *begins))
                *begins = at;
        }
        if (*begins >= 0) return end;
    }
    return -1;
}

// The token in which the earliest string begins that is still possible; m->n: none.
static int32_t possible_from(const struct plan *p, const struct plain *m) {
    int32_t from = m->n;
    for (int32_t at = m->n_text - 1; at >= 0; at--)
        for (size_t i = 0; i < p->n_banned; i++) {
            const int32_t len = (int32_t)strlen(p->banned[i]), rest = m->n_text - at;
            if (rest < len && is_at(p, m->text, at, p->banned[i], rest, true)) from = m->from[at];
        }
    return m->unfinished_from >= 0 && m->unfinished_from < from ? m->unfinished_from : from;
}

// The row from that of the negative prompt with the same answer, or of the prompt's last token.
static bool guide(const struct toy_rig *g, const struct plan *p, const struct plain *m, float *logits) {
    int32_t all[TOY_CTX + 41];
    float negative[TOY_VOCAB], mixed[TOY_VOCAB];
    rn_error err = {0};
    int32_t n = p->n_negative;
    const int32_t n_own = p->n_prompt - p->n_reply;
    memcpy(all, p->negative, (size_t)n * sizeof *all);
    if (n == 0) all[n++] = p->prompt[n_own - 1];
    memcpy(all + n, p->prompt + n_own, (size_t)p->n_reply * sizeof *all);
    memcpy(all + n + p->n_reply, m->tokens, (size_t)m->n * sizeof *all);
    toy_lm_expect(&g->config, all, n + p->n_reply + m->n, negative);
    if (!CHECK_OK(guidance_mix(&kernel_set_get(CPU_REF)->row, logits, negative, TOY_VOCAB, p->scale, mixed, &err),
                  &err))
        return false;
    memcpy(logits, mixed, sizeof mixed);
    return true;
}

// Where the answer must still spell what was taken off the prompt: tokens that go on with it, or begin with all that is left.
static bool heal_mask(const struct toy_rig *g, const struct plan *p, const struct plain *m, uint64_t *mask) {
    char spelled[MAX_BYTES], with[MAX_BYTES];
    size_t n_spelled = 0;
    memset(mask, 0xff, (TOY_VOCAB + 63) / 64 * sizeof *mask);
    for (int32_t i = 0; i < m->n; i++) {
        size_t n;
        const char *piece = model_piece(g->model, m->tokens[i], false, &n);
        memcpy(spelled + n_spelled, piece, n);
        n_spelled += n;
    }
    if (n_spelled >= (size_t)p->n_heal) return false;
    for (int32_t i = 0; i < TOY_VOCAB; i++) {
        size_t n;
        const char *piece = model_piece(g->model, i, false, &n);
        memcpy(with, spelled, n_spelled);
        memcpy(with + n_spelled, piece, n);
        const size_t n_with = n_spelled + n, n_same = n_with < (size_t)p->n_heal ? n_with : (size_t)p->n_heal;
        if (n == 0 || memcmp(with, p->heal, n_same) != 0) mask[i / 64] &= ~(UINT64_C(1) << i % 64);
    }
    return true;
}

static bool draw(const struct toy_rig *g, const struct plan *p, struct plain *m, int32_t *token) {
    const struct rowmath *rm = &kernel_set_get(CPU_REF)->row;
    float logits[TOY_VOCAB];
    int32_t all[TOY_CTX + 1];
    uint64_t mask[(TOY_VOCAB + 63) / 64];
    struct logit_bias bias[16];
    struct sampling_params s;
    uint32_t n_tried = 0;
    sampler *own;
    rn_error err = {0};
    memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
    memcpy(all + p->n_prompt, m->tokens, (size_t)m->n * sizeof *all);
    toy_lm_expect(&g->config, all, p->n_prompt + m->n, logits);
    if (p->scale != 1 && !guide(g, p, m, logits)) return false;
    const bool is_healing = heal_mask(g, p, m, mask);
    for (int32_t i = 0; i < m->n_out; i++) {
        if (m->out[i].at != m->n) continue;
        mask[m->out[i].token / 64] &= ~(UINT64_C(1) << m->out[i].token % 64);
        n_tried++;
    }
    sampling_from_public(&p->sampling, &s);
    s.seed = p->seed, s.masked = true;
    for (size_t i = 0; i < p->n_bias; i++) bias[i] = (struct logit_bias){p->bias[i].token, p->bias[i].bias};
    s.bias = bias, s.n_bias = p->n_bias;
    own = m->kept;
    if (!own) {
        if (!CHECK_OK(sampler_create(&s, rm, TOY_VOCAB, TOY_CTX, &own, &err), &err)) return false;
        sampler_see_prompt(own, p->prompt, (size_t)(p->n_prompt - p->n_reply));
        for (int32_t i = p->n_prompt - p->n_reply; i < p->n_prompt + m->n; i++) sampler_accept(own, all[i]);
    }
    sampler_set_tried(own, n_tried);
    const rn_status st = sampler_draw_masked(own, logits, (uint32_t)(p->n_reply + m->n),
                                             n_tried || is_healing ? mask : NULL, token, &err);
    if (p->sampling.mirostat) {
        m->kept = own;
        if (st == RN_OK) sampler_accept(own, *token);
    } else {
        sampler_destroy(own);
    }
    if (st != RN_OK) m->finish = RN_FINISH_ERROR; // no token is left
    return true;
}

static void take_back(struct plain *m, int32_t at) {
    while (m->n_out && m->out[m->n_out - 1].at > at) m->n_out--;
    m->out[m->n_out].at = at, m->out[m->n_out++].token = m->tokens[at];
    m->n_rewound += m->n - at;
    if (m->kept) sampler_rewind(m->kept, (size_t)(m->n - at));
    m->n = at;
    if (++m->n_tries > MOST_TRIES) m->finish = RN_FINISH_ERROR;
}

static void release(struct plain *m, int32_t to) {
    int32_t n = 0;
    if (to <= m->released) return;
    m->released = to;
    for (int32_t i = 0; i < m->n_out; i++)
        if (m->out[i].at >= to) m->out[n++] = m->out[i];
    m->n_out = m->n_tries = n;
}

static bool enumerate(const struct toy_rig *g, const struct plan *p, struct plain *m) {
    *m = (struct plain){.finish = RN_FINISH_NONE};
    while (m->finish == RN_FINISH_NONE) {
        int32_t begins, stop_begins;
        if (!draw(g, p, m, &m->tokens[m->n])) return false;
        if (m->finish != RN_FINISH_NONE) break;
        m->n++;
        spell(g, p, m);
        const int32_t end = find(p, m, p->banned, p->n_banned, true, &begins),
                      stop_end = find(p, m, p->stop, p->n_stop, false, &stop_begins);
        if (end >= 0 && (stop_end < 0 || end < stop_end)) {
            const int32_t from = m->from[begins];
            take_back(m, from > m->released ? from : m->released);
            continue;
        }
        release(m, possible_from(p, m));
        if (stop_end >= 0) m->finish = RN_FINISH_STOP, m->n_text = stop_begins;
        if (m->finish == RN_FINISH_NONE && m->n == p->max_tokens) m->finish = RN_FINISH_LENGTH;
    }
    sampler_destroy(m->kept);
    if (m->finish != RN_FINISH_STOP) spell(g, p, m);
    // A character that is not finished at the end is one U+FFFD.
    if (m->finish != RN_FINISH_STOP && m->unfinished_from >= 0)
        memcpy(m->text + m->n_text, "\xEF\xBF\xBD", 3), m->n_text += 3;
    m->text[m->n_text] = 0;
    return true;
}

// ---- streams --------------------------------------------------------------------------------------------------------

static rn_request request_of(struct plan *p, rn_part part[2]) {
    rn_request r;
    rn_request_init(&r);
    *part = (rn_part){
        .kind = RN_PART_IDS, .ids = p->prompt, .n_ids = (size_t)(p->n_prompt - p->n_reply + p->n_healed_tokens)};
    r.token_healing = p->heals;
    part[1] = (rn_part){.kind = RN_PART_IDS, .ids = p->negative, .n_ids = (size_t)p->n_negative};
    r.guidance_scale = p->scale;
    r.negative_prompt = part + 1, r.n_negative_prompt = p->n_negative > 0;
    p->sampling.logit_bias = p->bias, p->sampling.n_logit_bias = p->n_bias;
    r.parts = part, r.n_parts = 1;
    r.reply = p->prompt + p->n_prompt - p->n_reply, r.n_reply = (size_t)p->n_reply;
    r.sampling = &p->sampling;
    r.has_seed = true, r.seed = p->seed;
    r.max_tokens = p->max_tokens;
    r.ignore_eos = true;
    r.banned_strings = p->banned, r.n_banned_strings = p->n_banned, r.banned_match_case = p->match_case;
    r.stop = p->stop, r.n_stop = p->n_stop;
    any_drafts(&r, p->seed);
    return r;
}

static void check_outcome(const struct toy_rig *g, const struct plan *p, const struct plain *m,
                          const struct outcome *o, bool has_logprobs) {
    int32_t all[TOY_CTX + 1];
    float logits[TOY_VOCAB];
    if (!CHECK_INT(o->finish, m->finish)) CHECK_STR(o->detail, "");
    if (!CHECK_INT(o->n_tokens, m->n) || !CHECK_MEM(o->tokens, m->tokens, (size_t)m->n * sizeof *m->tokens)) return;
    CHECK_STR(o->text, m->text);
    CHECK_INT(o->usage.completion_tokens, m->n);
    CHECK_INT(o->usage.rewound_tokens, m->n_rewound);
    memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
    memcpy(all + p->n_prompt, m->tokens, (size_t)m->n * sizeof *all);
    for (int32_t i = 0; has_logprobs && i < m->n; i++) {
        toy_lm_expect(&g->config, all, p->n_prompt + i, logits);
        const float want =
            token_logprobs(&kernel_set_get(CPU_REF)->row, logits, TOY_VOCAB, m->tokens[i], 0, NULL, NULL);
        CHECK(o->logprobs[i] == want);
    }
}

// Tokens behind the prompt that are a longer one's beginning, and a control token before, beyond which nothing is taken back.
static void add_healed(const struct toy_rig *g, struct plan *p, struct toy_random *r) {
    static const struct {
        const char *bytes, *pieces[4];
    } ends[] = {{"a", {"a"}},       {"an", {"an"}}, {"an", {"a", "n"}}, {"i", {"i"}},
                {"in", {"i", "n"}}, {"th", {"th"}}, {"th", {"t", "h"}}, {"b", {"b"}}};
    const int k = toy_below(r, 8);
    p->n_reply = 0;
    p->prompt[p->n_prompt - 1] = TINY_BYTES_PAD;
    for (int i = 0; ends[k].pieces[i]; i++)
        p->prompt[p->n_prompt + p->n_healed_tokens++] = toy_token(g, ends[k].pieces[i], strlen(ends[k].pieces[i]));
    if (k == 7) { // no token is longer
        p->n_prompt += p->n_healed_tokens, p->n_healed_tokens = 0;
        return;
    }
    p->n_heal = (int32_t)strlen(ends[k].bytes);
    memcpy(p->heal, ends[k].bytes, (size_t)p->n_heal);
}

// Few tokens, strings that they form often, and everything else a request can say, at random.
static void make_plan(const struct toy_rig *g, struct plan *p, uint64_t seed, size_t most_banned) {
    static const char *const pieces[] = {"a", "b", "c", "A", "B", " ", "\xC3", "\xA9", "\x89"};
    static const char *const strings[] = {"ab",
                                          "abc",
                                          "b",
                                          "cab",
                                          "a b",
                                          "aab",
                                          "bca",
                                          "\xC3\xA9",
                                          "a\xC3\x89",
                                          "abcab",
                                          " ",
                                          "AbA",
                                          "\xC3\xA9\xC3\xA9",
                                          "cc",
                                          "c ca",
                                          "abcabcabc"};
    struct toy_random r = {seed, 0};
    *p = (struct plan){.seed = seed, .match_case = toy_below(&r, 3) == 0};
    rn_sampling_init(&p->sampling);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        p->bias[p->n_bias++] =
            (rn_logit_bias){toy_token(g, pieces[i], strlen(pieces[i])), toy_below(&r, 4) ? 100 : -INFINITY};
    p->bias[0].bias = 100, p->bias[2].bias = 100; // two letters at least
    p->sampling.temp = toy_below(&r, 3) ? 0.5F + (float)toy_below(&r, 9) / 2 : 0;
    p->sampling.top_k = toy_below(&r, 3) ? toy_below(&r, 12) : 0;
    p->sampling.top_p = toy_below(&r, 2) ? 1 : 0.9F;
    p->sampling.min_p = toy_below(&r, 2) ? 0 : 0.01F;
    p->sampling.repeat_penalty = toy_below(&r, 3) ? 1 : 1.3F;
    static const char *const no_breakers[] = {""};
    p->sampling.dry_multiplier = toy_below(&r, 3) ? 0 : 2;
    p->sampling.dry_sequence_breakers = no_breakers;
    p->sampling.xtc_probability = toy_below(&r, 3) ? 0 : 0.5F;
    p->sampling.no_repeat_ngram_size = toy_below(&r, 4) ? 0 : 4;
    p->sampling.typical_p = toy_below(&r, 4) ? 1 : 0.9F;
    p->sampling.top_n_sigma = toy_below(&r, 4) ? 0 : 1;
    p->sampling.dynatemp_range = toy_below(&r, 4) ? 0 : 0.4F;
    p->n_banned = (size_t)toy_below(&r, (int32_t)most_banned + 1);
    for (size_t i = 0; i < p->n_banned; i++) p->banned[i] = strings[toy_below(&r, 16)];
    p->n_stop = (size_t)toy_below(&r, 3);
    for (size_t i = 0; i < p->n_stop; i++) p->stop[i] = strings[toy_below(&r, 16)];
    p->n_prompt = 1 + toy_below(&r, 40);
    for (int32_t i = 0; i < p->n_prompt; i++) p->prompt[i] = toy_below(&r, 256);
    p->n_reply = toy_below(&r, 3) ? 0 : toy_below(&r, p->n_prompt);
    p->max_tokens = 1 + toy_below(&r, MAX_TOKENS - 1);
    p->sampling.mirostat = toy_below(&r, 4) ? 0 : 1 + toy_below(&r, 2);
    if (p->sampling.mirostat) p->n_reply = 0; // it goes on from no reply
    p->scale = 1;
    if (toy_below(&r, 2)) {
        p->scale = (float)toy_below(&r, 9) / 2;
        if (p->scale == 1) p->scale = 1.5F;
        p->n_negative = toy_below(&r, 3) ? toy_below(&r, 40) : 0;
        for (int32_t i = 0; i < p->n_negative; i++) p->negative[i] = toy_below(&r, 256);
    }
    p->heals = toy_below(&r, 2);
    if (p->heals) add_healed(g, p, &r);
}

static bool holds_banned(const struct plan *p, const char *text) {
    static struct plain m;
    int32_t begins;
    m.n_text = (int32_t)strlen(text);
    memcpy(m.text, text, (size_t)m.n_text);
    return find(p, &m, p->banned, p->n_banned, true, &begins) >= 0;
}

// A reader that leaves off: what was held back when the stream ended is shown, and is no banned string.
static void check_cancelled(const struct plan *p, rn_stream *s, int n_chunks) {
    struct outcome o = {0};
    rn_error err = {0};
    while (o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (n_chunks-- == 0) rn_stream_cancel(s);
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) return;
        outcome_add(&o, &c);
    }
    CHECK(!holds_banned(p, o.text));
}

// Groups of streams at once; with few pages they are preempted.
static void attack(int32_t n_pages, int32_t n_states, int n_threads, uint64_t first, uint64_t n_rounds) {
    enum { N_STREAMS = 4 };
    static struct plan p[N_STREAMS];
    static struct plain m;
    static struct outcome o[N_STREAMS];
    struct toy_rig g;
    rn_engine_stats stats = {.struct_size = sizeof stats};
    int64_t n_rewound = 0, n_accepted = 0;
    int n_ends[5] = {0};
    if (!toy_rig_open(&g, n_pages, n_states, N_STREAMS, n_threads)) return;
    for (uint64_t round = first; round < first + n_rounds; round++) {
        rn_stream *s[N_STREAMS] = {NULL};
        struct toy_random more = {round, 1000};
        bool logprobs[N_STREAMS];
        for (int i = 0; i < N_STREAMS; i++) {
            rn_part part[2];
            rn_error err = {0};
            make_plan(&g, &p[i], round * N_STREAMS + (uint64_t)i, MAX_STRINGS);
            rn_request r = request_of(&p[i], part);
            r.stream_interval = 1 + toy_below(&more, 5);
            r.buffer_tokens = toy_below(&more, 2) ? 1 + toy_below(&more, 4) : 1024;
            r.logprobs = (logprobs[i] = toy_below(&more, 2)) ? toy_below(&more, 4) : -1;
            r.prompt_logprobs = toy_below(&more, 4) ? -1 : 1;
            o[i] = (struct outcome){0};
            CHECK_OK(rn_stream_begin(g.engine, &r, &s[i], &err), &err);
        }
        for (int i = 0; i < N_STREAMS; i++) {
            check_note("round %d, stream %d", (int)round, i);
            if (s[i] && toy_below(&more, 8) == 0) {
                check_cancelled(&p[i], s[i], toy_below(&more, 40));
            } else if (s[i] && drain(s[i], &o[i]) && enumerate(&g, &p[i], &m)) {
                check_outcome(&g, &p[i], &m, &o[i], logprobs[i]);
                n_rewound += m.n_rewound, n_accepted += o[i].usage.accepted_tokens;
                n_ends[m.finish]++;
            }
            rn_stream_close(s[i]);
        }
    }
    rn_engine_get_stats(g.engine, &stats, NULL);
    CHECK(n_rewound > (int64_t)n_rounds && n_accepted > (int64_t)n_rounds);
    CHECK(n_ends[RN_FINISH_LENGTH] > (int)n_rounds / 2);
    CHECK(n_ends[RN_FINISH_STOP] > (int)n_rounds / 2);
    CHECK((stats.n_preempted > 0) == (n_pages < 16));
    toy_rig_close(&g);
}

TEST(streams_with_banned_strings_equal_the_plain_model) { attack(64, 0, 1, 1, 150); }
TEST(preempted_ones_equal_it_too) { attack(9, 0, 2, 1000, 400); }
TEST(those_of_a_recurrent_model_equal_it_too) { attack(64, 24, 1, 2000, 100); }

// Turn by turn, each with new bans: what a session holds is what it would hold if each turn had evaluated everything.
TEST(a_session_holds_the_tokens_that_stayed) {
    static struct plan p;
    static struct plain m;
    static struct outcome o;
    struct toy_rig g;
    rn_session *session = NULL;
    rn_error err = {0};
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        int32_t held[TOY_CTX], n_held = 0;
        CHECK_OK(rn_session_open(g.engine, 0, &session, &err), &err);
        for (uint64_t turn = 0; turn < 4; turn++) {
            rn_part part[2];
            make_plan(&g, &p, seed * 16 + turn, MAX_STRINGS);
            p.n_reply = p.n_healed_tokens = p.n_heal = 0, p.n_prompt = 3, p.max_tokens = 25;
            p.heals = false;
            rn_request r = request_of(&p, part);
            r.session = session;
            check_note("seed %d, turn %d", (int)seed, (int)turn);
            if (!run_request(g.engine, &r, &o)) break;
            memmove(p.prompt + n_held, p.prompt, 3 * sizeof *p.prompt);
            memcpy(p.prompt, held, (size_t)n_held * sizeof *held);
            p.n_prompt += n_held;
            if (!enumerate(&g, &p, &m)) break;
            check_outcome(&g, &p, &m, &o, false);
            memcpy(held, p.prompt, (size_t)p.n_prompt * sizeof *held);
            memcpy(held + p.n_prompt, m.tokens, (size_t)m.n * sizeof *held);
            n_held = p.n_prompt + m.n;
        }
        rn_session_close(session);
    }
    toy_rig_close(&g);
}

// Only these pieces can be drawn, the later the less likely.
static void restrict_to(const struct toy_rig *g, rn_logit_bias *bias, const char *pieces) {
    for (int32_t i = 0; i < TOY_VOCAB; i++) bias[i] = (rn_logit_bias){i, -INFINITY};
    for (int32_t i = 0; pieces[i]; i++) bias[toy_token(g, pieces + i, 1)].bias = (float)(100 - 20 * i);
}

TEST(a_text_that_has_no_way_on_ends_with_an_error_and_what_was_shown_stays) {
    static struct outcome o;
    static rn_logit_bias bias[TOY_VOCAB];
    static const char *const banned[] = {"a", "b"};
    static const int32_t prompt[] = {1, 2};
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    restrict_to(&g, bias, "abc");
    rn_request r = text_request("");
    rn_sampling *const s = sampling_of(&r);
    const rn_part part = {.kind = RN_PART_IDS, .ids = prompt, .n_ids = 2};
    r.parts = &part;
    r.banned_strings = banned, r.n_banned_strings = 2;
    s->logit_bias = bias, s->n_logit_bias = TOY_VOCAB;
    r.max_tokens = 3;
    if (run_request(g.engine, &r, &o)) CHECK_STR(o.text, "ccc");
    static const char *const more[] = {"a", "b", "ccc"};
    r.banned_strings = more, r.n_banned_strings = 3;
    for (r.sampled_logprobs = -1; r.sampled_logprobs <= 0;
         r.sampled_logprobs++) // and where the distribution is shown
        if (run_request(g.engine, &r, &o)) {
            CHECK_INT(o.finish, RN_FINISH_ERROR);
            CHECK_HAS(o.detail, "3 tokens were tried here and taken back: position 0: logits after");
            CHECK_STR(o.text, "");
        }
    static const char *const only[] = {"a"};
    r.banned_strings = only, r.n_banned_strings = 1;
    restrict_to(&g, bias, "a");
    if (run_request(g.engine, &r, &o)) CHECK_HAS(o.detail, "1 token was tried here and taken back: position 0: ");
    toy_rig_close(&g);
}

// Of 92 letters each is tried at each of nine places, while the text may still become the longest string.
TEST(a_stream_gives_up_after_a_thousand_tries) {
    static struct outcome o;
    static rn_logit_bias bias[TOY_VOCAB];
    static char letters[96][2];
    static const char *banned[96];
    static const int32_t prompt[] = {1, 2};
    struct toy_rig g;
    size_t n = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (int32_t i = 0; i < TOY_VOCAB; i++) bias[i] = (rn_logit_bias){i, -INFINITY};
    for (char c = '!'; c < 0x7f; c++) {
        letters[n][0] = c;
        bias[toy_token(&g, &c, 1)].bias = c == 'x' || c == 'X' ? -100 : 0;
        if (c != 'x' && c != 'X') banned[n] = letters[n], n++;
    }
    banned[n++] = "xxxxxxxxxxxxxxxxxxxxy";
    rn_request r = text_request("");
    rn_sampling *const s = sampling_of(&r);
    const rn_part part = {.kind = RN_PART_IDS, .ids = prompt, .n_ids = 2};
    r.parts = &part;
    r.banned_strings = banned, r.n_banned_strings = n;
    s->logit_bias = bias, s->n_logit_bias = TOY_VOCAB;
    s->temp = 1, s->top_k = 0, s->min_p = 0, s->top_p = 1;
    if (run_request(g.engine, &r, &o)) {
        CHECK_INT(o.finish, RN_FINISH_ERROR);
        CHECK_HAS(
            o.detail,
            "banned_strings: 1001 tokens were ruled out after token 0 without a way on, limit 1000; the last one "
            "completed \"");
        CHECK(o.n_tokens > 5 && o.n_tokens < 20);
        CHECK(strspn(o.text, "xX") == strlen(o.text));
    }
    toy_rig_close(&g);
}

struct forced {
    int32_t first, then;
};
static bool force(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    const struct forced *f = user;
    (void)tokens;
    for (int32_t i = 0; i < n_vocab; i++)
        if (i != (n_tokens == 2 ? f->first : f->then)) logits[i] = -INFINITY;
    return true;
}

// Tokens without text could be held back for ever.
TEST(as_many_tokens_are_held_back_as_there_is_room_for) {
    static struct outcome o;
    static const char *const banned[] = {"ab"};
    static const int32_t prompt[] = {1, 2};
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    struct forced f = {toy_token(&g, "a", 1), TINY_BYTES_PAD};
    for (int32_t n = 24; n <= 25; n++) {
        rn_request r = text_request("");
        const rn_part part = {.kind = RN_PART_IDS, .ids = prompt, .n_ids = 2};
        r.parts = &part;
        r.banned_strings = banned, r.n_banned_strings = 1;
        r.ignore_eos = true;
        r.max_tokens = n;
        sampling_of(&r)->stage = force, sampling_of(&r)->stage_user = &f;
        if (!run_request(g.engine, &r, &o)) break;
        CHECK_INT(o.n_tokens, n);
        CHECK_STR(o.text, "a");
        CHECK_STR(o.detail,
                  n == 24
                      ? "max_tokens 24"
                      : "banned_strings: 25 tokens are held back whose text may become a banned string, limit 24");
    }
    toy_rig_close(&g);
}

// The rule is one of probabilities: a token that began a banned string is drawn again with a number of its own.
TEST(draws_after_a_ban_have_the_distribution_without_the_banned_token) {
    enum { N_RUNS = 4000 };
    static struct outcome o;
    static rn_logit_bias bias[TOY_VOCAB];
    static const char *const banned[] = {"a", "bc"};
    static const int32_t prompt[] = {9, 8, 7};
    struct toy_rig g;
    float logits[TOY_VOCAB];
    int n[3] = {0};
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    restrict_to(&g, bias, "abcd");
    toy_lm_expect(&g.config, prompt, 3, logits);
    // P(a) = .5, P(b) = .2, P(c) = .2, P(d) = .1 at the first place
    static const double p[] = {.5, .2, .2, .1};
    for (int i = 0; i < 4; i++) {
        const int32_t token = toy_token(&g, "abcd" + i, 1);
        bias[token].bias = (float)log(p[i]) - logits[token];
    }
    rn_request r = text_request("");
    rn_sampling *const s = sampling_of(&r);
    const rn_part part = {.kind = RN_PART_IDS, .ids = prompt, .n_ids = 3};
    r.parts = &part;
    r.max_tokens = 1;
    r.banned_strings = banned, r.n_banned_strings = 1;
    s->logit_bias = bias, s->n_logit_bias = TOY_VOCAB;
    s->temp = 1, s->top_k = 0, s->min_p = 0, s->top_p = 1;
    for (r.seed = 0; r.seed < N_RUNS && run_request(g.engine, &r, &o); r.seed++) n[o.text[0] - 'b']++;
    // Four standard deviations.
    for (int i = 0; i < 3; i++) {
        const double want = N_RUNS * p[i + 1] / .5;
        check_note("%c: %d of %.0f", 'b' + i, n[i], want);
        CHECK(fabs(n[i] - want) < 4 * sqrt(want));
    }
    toy_rig_close(&g);
}

TEST(a_step_that_takes_tokens_back_allocates_nothing) {
    static struct plan p;
    struct toy_rig g;
    int64_t n_rewound = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rn_part part[2];
        rn_stream *s;
        rn_error err = {0};
        rn_chunk c = new_chunk();
        make_plan(&g, &p, seed, MAX_STRINGS);
        p.scale = 1, p.n_negative = 0; // a second sequence is opened when the stream begins to run
        rn_request r = request_of(&p, part);
        r.logprobs = 2;
        if (!CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err)) break;
        const long before = mem_count();
        while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) {
        }
        CHECK_INT(mem_count(), before);
        n_rewound += c.usage->rewound_tokens;
        rn_stream_close(s);
    }
    CHECK(n_rewound > 20);
    toy_rig_close(&g);
}

TEST(banned_strings_that_cannot_be_are_refused_by_name) {
    static const char *many[BANNED_MAX_STRINGS + 1], *const null[] = {"a", NULL};
    static char longest[BANNED_MAX_BYTES + 2];
    struct toy_rig g;
    for (size_t i = 0; i <= BANNED_MAX_STRINGS; i++) many[i] = "a";
    memset(longest, 'a', BANNED_MAX_BYTES + 1);
    const char *const too_long[] = {longest}, *const empty[] = {"a", ""}, *const bytes[] = {"\xC3"},
                      *const unknown[] = {"a\xEF\xBF\xBD"};
    const struct {
        const char *const *strings;
        size_t n;
        bool want_logits;
        rn_status code;
        const char *text;
    } bad[] = {
        {NULL, 1, false, RN_E_ARG, "banned_strings: NULL with n_banned_strings 1"},
        {null, 2, false, RN_E_ARG, "banned_strings[1]: NULL"},
        {many, BANNED_MAX_STRINGS + 1, false, RN_E_ARG, "banned_strings: 513 strings, limit 512"},
        {too_long, 1, false, RN_E_ARG, "banned_strings[0]: 257 bytes, at most 256 are allowed"},
        {empty, 2, false, RN_E_ARG, "banned_strings[1]: empty: every text begins with it"},
        {bytes, 1, false, RN_E_ARG, "banned_strings[0]: is not UTF-8"},
        {unknown, 1, false, RN_E_ARG, "banned_strings[0]: contains U+FFFD"},
        {many, 1, true, RN_E_UNSUPPORTED, "banned_strings: excludes want_logits"},
    };
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rn_request r = text_request("a");
        rn_stream *s = NULL;
        rn_error err = {0};
        r.banned_strings = bad[i].strings, r.n_banned_strings = bad[i].n, r.want_logits = bad[i].want_logits;
        CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), bad[i].code, &err);
        CHECK_HAS(err.text, bad[i].text);
    }
    toy_rig_close(&g);
}

static rn_status begin_once(void *user) {
    struct toy_rig *const g = user;
    static const char *const banned[] = {"ab", "\xC3\x89tude"};
    rn_request r = text_request("a");
    rn_stream *s = NULL;
    r.banned_strings = banned, r.n_banned_strings = 2;
    const rn_status st = rn_stream_begin(g->engine, &r, &s, NULL);
    CHECK((s == NULL) == (st != RN_OK));
    rn_stream_close(s);
    return st;
}

TEST(each_failed_allocation_of_a_stream_with_banned_strings_is_reported_and_leaks_nothing) {
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    CHECK(check_each_failed_allocation(begin_once, &g, __FILE__, __LINE__));
    toy_rig_close(&g);
}
