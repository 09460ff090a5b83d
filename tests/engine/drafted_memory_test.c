// tests/engine/drafted_memory_test.c - what a stream leaves in memory after any history of guesses, right and wrong, is what a fresh evaluation of its tokens leaves:
// the saved session is the same file, byte for byte, for each kind of memory and type of keys and values.
#include "any_guesses.h"
#include "saved_rig.h"

enum { N_CTX = 224, N_VOCAB = 280, MOST_IDS = 60, N_TURNS = 2 };

#if defined(TESTS_SANITIZED)
enum { N_SEEDS = 1 };
#else
enum { N_SEEDS = 3 };
#endif

static rn_engine_options options(rn_kv_type type) {
    rn_engine_options o = engine_options();
    o.kv_type = type, o.n_ctx = N_CTX, o.n_scratch = 12;
    return o;
}

// Two engines, of which one never guesses and reads prompts in other pieces.
struct pair {
    struct fixture drafted, fresh;
};

static bool open_pair(struct pair *p, const struct arch_model *of, rn_kv_type type) {
    struct arch_model m = *of;
    const rn_engine_options o = options(type);
    rn_engine_options other = o;
    m.has_vocab = true, m.n_vocab = N_VOCAB;
    other.n_batch = 13;
    *p = (struct pair){0};
    return open_arch(&p->drafted, &m, &o) && open_arch(&p->fresh, &m, &other);
}

static void close_pair(struct pair *p) {
    fixture_close(&p->drafted);
    fixture_close(&p->fresh);
}

// A turn: two to five letters are likely, some of whose strings are taken back.
struct turn {
    int32_t ids[MOST_IDS];
    rn_part part;
    rn_sampling sampling;
    rn_logit_bias bias[5];
    const char *banned[2];
    rn_request r;
};

static void make_turn(struct turn *t, uint64_t seed, int n) {
    uint32_t at = 0;
    *t = (struct turn){.banned = {"ab", "ca"}};
    rn_request_init(&t->r);
    rn_sampling_init(&t->sampling);
    const int32_t n_ids = 1 + (int32_t)(philox_uniform(seed, (uint32_t)n, at++, PHILOX_TEST) * 60);
    for (int32_t i = 0; i < n_ids; i++)
        t->ids[i] = (int32_t)(philox_uniform(seed, (uint32_t)n, at++, PHILOX_TEST) * N_VOCAB);
    for (int32_t i = 0; i < 5; i++) t->bias[i] = (rn_logit_bias){'a' + i, 30};
    t->part = (rn_part){.kind = RN_PART_IDS, .ids = t->ids, .n_ids = (size_t)n_ids};
    t->sampling.logit_bias = t->bias, t->sampling.n_logit_bias = 2 + seed % 4;
    t->r.parts = &t->part, t->r.n_parts = 1, t->r.sampling = &t->sampling;
    t->r.banned_strings = t->banned, t->r.n_banned_strings = seed % 2 ? 2 : 0;
    t->r.add_special = false, t->r.ignore_eos = true, t->r.has_seed = true, t->r.seed = seed;
    t->r.max_tokens = 40, t->r.logprobs = 0, t->r.speculate = "none";
    t->r.draft_min = 4 - (int32_t)(seed % 3), t->r.draft_max = 12;
}

// What the session holds after its turns.
static uint8_t *saved_bytes(rn_session *s, size_t *n) {
    *n = 0;
    return save_session(s, saved_path("memory"), NULL, true) ? read_file(saved_path("memory"), n) : NULL;
}

// The same tokens in one prompt that no other has been seen of, of which the last one is drawn since nothing else can be.
static uint8_t *bytes_of_fresh(const struct fixture *f, int32_t *all, int32_t n_all, size_t *n) {
    static struct outcome o;
    static uint64_t salt;
    rn_session *const s = new_session(f);
    rn_sampling sampling;
    rn_request r;
    const int32_t last = all[n_all - 1];
    const rn_part part = {.kind = RN_PART_IDS, .ids = all, .n_ids = (size_t)n_all - 1};
    const rn_logit_bias only = {last, 100};
    rn_request_init(&r);
    rn_sampling_init(&sampling);
    sampling.logit_bias = &only, sampling.n_logit_bias = 1;
    r.parts = &part, r.n_parts = 1, r.sampling = &sampling, r.session = s, r.speculate = "none";
    r.add_special = false, r.ignore_eos = true, r.max_tokens = 1, r.cache_salt = ++salt;
    *n = 0;
    const bool ok = run_request(f->engine, &r, &o) && CHECK_INT(o.n_tokens, 1) && CHECK_INT(o.tokens[0], last) &&
                    CHECK_INT(o.usage.cached_tokens, 0);
    uint8_t *const bytes = ok ? saved_bytes(s, n) : NULL;
    rn_session_close(s);
    return bytes;
}

struct sums {
    int64_t n_drafted, n_accepted, n_rewound;
};

// Turns of a session, each with guesses of this kind behind the answer that comes without.
static void compare(struct pair *p, uint64_t seed, enum guesses guesses, struct sums *sums) {
    static struct outcome plain, drafted;
    static struct turn t;
    int32_t all[N_CTX], n_all = 0;
    rn_session *const a = new_session(&p->drafted), *const b = new_session(&p->fresh);
    bool ok = a && b;
    for (int i = 0; ok && i < N_TURNS; i++) {
        make_turn(&t, seed, i);
        t.r.session = b;
        ok = run_request(p->fresh.engine, &t.r, &plain);
        t.r.session = a;
        foe_knows(&plain, guesses, seed);
        ok = ok && run_with_foe(p->drafted.engine, &t.r, &drafted) && same_outcome(&drafted, &plain);
        for (size_t k = 0; ok && k < t.part.n_ids; k++) all[n_all++] = t.ids[k];
        for (size_t k = 0; ok && k < drafted.n_tokens; k++) all[n_all++] = drafted.tokens[k];
        sums->n_drafted += drafted.usage.drafted_tokens, sums->n_accepted += drafted.usage.accepted_tokens;
        sums->n_rewound += drafted.usage.rewound_tokens;
    }
    if (ok) {
        size_t n, n_fresh;
        uint8_t *const bytes = saved_bytes(a, &n), *const fresh = bytes_of_fresh(&p->fresh, all, n_all, &n_fresh);
        if (CHECK(bytes && fresh) && CHECK_INT(n, n_fresh)) CHECK_MEM(bytes, fresh, n);
        free(bytes);
        free(fresh);
    }
    rn_session_close(a);
    rn_session_close(b);
}

TEST(after_any_guesses_memory_is_that_of_a_fresh_evaluation_byte_for_byte) {
    for (int i = 0; i < N_SAVED_SUBJECTS; i++)
        for (rn_kv_type type = RN_KV_F16; type <= RN_KV_BF16; type++) {
            struct pair p;
            struct sums sums = {0};
            if (open_pair(&p, &saved_subjects[i].m, type)) {
                foe.n_vocab = N_VOCAB, foe.end_token = p.drafted.model->end_ids[0];
                for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
                    for (int k = 0; k < N_GUESSES; k++) {
                        check_note("%s, type %d, seed %d, guesses %d", saved_subjects[i].why, (int)type, (int)seed,
                                   k);
                        compare(&p, seed, (enum guesses)k, &sums);
                    }
                check_note("%s, type %d: %d guesses, %d right, %d taken back", saved_subjects[i].why, (int)type,
                           (int)sums.n_drafted, (int)sums.n_accepted, (int)sums.n_rewound);
                CHECK(sums.n_drafted > 250 * N_SEEDS && sums.n_accepted > 75 * N_SEEDS &&
                      sums.n_rewound > 10 * N_SEEDS);
            }
            close_pair(&p);
        }
}
