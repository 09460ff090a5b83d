// tests/lm/histories_test.c - what a row gives depends on its prefix alone: never on forks, cuts, scratch trees, cache hits or
// evictions that led to it.
//
// Every answer is compared with the logits of the same tokens evaluated in one step by a rig that has seen nothing else.
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_VOCAB = 50, MOST = 200 };

static const struct kind {
    const char *why;
    enum tensor_type type;
    enum kv_codec codec;
    int n_threads;
    const char *experts; // NULL: none
} kinds[] = {
    {"Q8_0 weights, f16 keys and values", TENSOR_Q8_0, KV_F16, 2},
    {"F32 weights, f32 keys and values", TENSOR_F32, KV_F32, 1},
    {"Q4_1 weights, q8 keys and values", TENSOR_Q4_1, KV_Q8, 3},
    {"experts of Q8_0 weights", TENSOR_Q8_0, KV_F16, 2, "glm4moe"},
};
#define FOR_EACH_KIND(k) for (const struct kind *k = kinds; k < kinds + sizeof kinds / sizeof *kinds; k++)

// Two rigs of one model: one for the history, one for the answers.
struct pair {
    struct rig rig, fresh;
    float *got, *want; // [MOST][N_VOCAB]
};

static struct tiny_model small_model(const struct kind *k) {
    struct tiny_model m = tiny_model_default();
    m.n_embd = 96, m.n_head = 4, m.n_head_kv = 2, m.n_ff = 96; // heads of 24: Q8 keys end in a short group
    m.n_vocab = N_VOCAB, m.vocab = TINY_NO_VOCAB, m.type = k->type;
    if (k->experts) tiny_model_add_experts(&m, k->experts);
    return m;
}

static bool pair_open(struct pair *p, const struct kind *k, int32_t n_pages) {
    const struct tiny_model m = small_model(k);
    struct rig_options o = rig_defaults();
    *p = (struct pair){.got = new_floats(MOST * N_VOCAB), .want = new_floats(MOST * N_VOCAB)};
    o.codec = k->codec;
    const bool ok = rig_open(&p->fresh, &m, &o);
    o.n_threads = k->n_threads;
    o.lm.n_pages = n_pages;
    check_note("%s", k->why);
    return rig_open(&p->rig, &m, &o) && ok;
}

static void pair_close(struct pair *p) {
    rig_close(&p->rig);
    rig_close(&p->fresh);
    free(p->got);
    free(p->want);
}

static bool books_hold(struct pair *p) {
    rn_error err = {0};
    return CHECK_OK(kv_check(lm_real_kv(p->rig.lm), &err), &err);
}

// Appends tokens[from..n) to seq, which holds tokens[0..from), and compares their logits.
static bool goes_on_equal(struct pair *p, int32_t seq, const int32_t *tokens, int32_t from, int32_t n) {
    const size_t skip = (size_t)from * N_VOCAB;
    return CHECK_INT(lm_seq_len(p->rig.lm, seq), from) && rig_eval_fresh(&p->fresh, tokens, n, p->want) &&
           rig_append(&p->rig, seq, tokens + from, n - from, p->got + skip) && books_hold(p) &&
           CHECK_MEM(p->got + skip, p->want + skip, (size_t)(n - from) * N_VOCAB * sizeof(float));
}

TEST(a_prefix_found_in_the_cache_gives_the_bits_of_one_that_was_evaluated) {
    static const int32_t lengths[] = {1, 63, 64, 65, 100, 128, 129, 150};
    int32_t tokens[MOST], other[MOST];
    random_tokens(tokens, MOST, N_VOCAB, 1);
    random_tokens(other, MOST, N_VOCAB, 2);
    FOR_EACH_KIND(k) {
        struct pair p;
        bool ok = pair_open(&p, k, 64);
        for (size_t i = 0; ok && i < sizeof lengths / sizeof *lengths; i++) {
            const int32_t first = rig_seq(&p.rig), n = lengths[i];
            struct lm_prefix found = {.seq = -1};
            rn_error err = {0};
            ok = rig_append(&p.rig, first, tokens, n, NULL);
            lm_seq_free(p.rig.lm, first);
            memcpy(other, tokens, (size_t)n * sizeof *other); // from n on it differs
            other[n] = (tokens[n] + 1) % N_VOCAB;
            ok = ok && CHECK_OK(lm_match_tokens(p.rig.lm, NULL, other, n + 20, &found, &err), &err) &&
                 CHECK_INT(found.n, n);
            ok = ok && goes_on_equal(&p, found.seq, other, n, n + 20);
            if (found.seq >= 0) lm_seq_free(p.rig.lm, found.seq);
            kv_forget(lm_real_kv(p.rig.lm));
        }
        pair_close(&p);
    }
}

TEST(a_prefix_longer_than_the_context_ends_where_the_cache_does) {
    struct pair p;
    int32_t tokens[300];
    struct lm_prefix found = {.seq = -1};
    rn_error err = {0};
    random_tokens(tokens, 300, N_VOCAB, 1);
    if (pair_open(&p, &kinds[0], 64)) {
        const int32_t seq = rig_seq(&p.rig);
        CHECK(rig_append(&p.rig, seq, tokens, 256, NULL)); // n_ctx
        CHECK_OK(lm_match_tokens(p.rig.lm, NULL, tokens, 300, &found, &err), &err);
        CHECK_INT(found.n, 256);
        CHECK_INT(found.miss, LM_MISS_END);
    }
    pair_close(&p);
}

TEST(a_running_sequence_shares_its_full_pages_with_one_that_begins_alike) {
    struct pair p;
    int32_t tokens[MOST];
    struct lm_prefix found = {.seq = -1};
    rn_error err = {0};
    random_tokens(tokens, MOST, N_VOCAB, 1);
    if (pair_open(&p, &kinds[0], 64)) {
        const int32_t seq = rig_seq(&p.rig);
        CHECK(rig_append(&p.rig, seq, tokens, 130, NULL));
        CHECK_OK(lm_match_tokens(p.rig.lm, NULL, tokens, 140, &found, &err), &err);
        CHECK_INT(found.n, 128);
        CHECK(goes_on_equal(&p, found.seq, tokens, found.n, 140));
        CHECK(goes_on_equal(&p, seq, tokens, 130, 150)); // and the first does not notice
    }
    pair_close(&p);
}

TEST(a_fork_and_its_source_go_on_as_if_each_were_alone) {
    static const int32_t lengths[] = {1, 40, 63, 64, 65, 127};
    int32_t tokens[MOST], other[MOST];
    random_tokens(tokens, MOST, N_VOCAB, 5);
    random_tokens(other, MOST, N_VOCAB, 6);
    FOR_EACH_KIND(k) {
        struct pair p;
        bool ok = pair_open(&p, k, 64);
        for (size_t i = 0; ok && i < sizeof lengths / sizeof *lengths; i++) {
            const int32_t n = lengths[i], seq = rig_seq(&p.rig);
            ok = goes_on_equal(&p, seq, tokens, 0, n);
            const int32_t fork = rig_fork(&p.rig, seq);
            memcpy(other, tokens, (size_t)n * sizeof *other);
            ok = ok && goes_on_equal(&p, fork, other, n, n + 3) && goes_on_equal(&p, seq, tokens, n, n + 10) &&
                 goes_on_equal(&p, fork, other, n + 3, n + 12);
            lm_seq_free(p.rig.lm, seq);
            lm_seq_free(p.rig.lm, fork);
        }
        pair_close(&p);
    }
}

TEST(a_sequence_cut_back_goes_on_as_if_the_rest_had_never_been) {
    static const int32_t cuts[] = {149, 129, 128, 127, 65, 64, 63, 1, 0};
    int32_t tokens[MOST], other[MOST];
    random_tokens(tokens, MOST, N_VOCAB, 7);
    FOR_EACH_KIND(k) {
        struct pair p;
        bool ok = pair_open(&p, k, 64);
        for (size_t i = 0; ok && i < sizeof cuts / sizeof *cuts; i++) {
            const int32_t cut = cuts[i], seq = rig_seq(&p.rig);
            random_tokens(other, MOST, N_VOCAB, 100 + (uint64_t)i);
            memcpy(other, tokens, (size_t)cut * sizeof *other);
            ok = rig_append(&p.rig, seq, tokens, 150, NULL) && CHECK_INT(lm_truncate(p.rig.lm, seq, cut), cut) &&
                 goes_on_equal(&p, seq, other, cut, cut + 20) && CHECK_INT(lm_truncate(p.rig.lm, seq, cut), cut) &&
                 goes_on_equal(&p, seq, tokens, cut, cut + 5);
            lm_seq_free(p.rig.lm, seq);
        }
        pair_close(&p);
    }
}

// Scratch trees. A tree below position `len`: a chain of `depth` nodes, with a wrong sibling and a wrong grandchild at each step,
// in one step of the lm or row by row.
struct tree {
    struct lm_row rows[64];
    int32_t n, chain[16]; // chain: node numbers of the path that the text takes
};

static struct tree make_tree(int32_t seq, const int32_t *text, int32_t depth) {
    struct tree t = {0};
    int32_t parent = LM_ROOT;
    for (int32_t d = 0; d < depth; d++) {
        const int32_t wrong = t.n++;
        t.rows[wrong] = (struct lm_row){seq, (text[d] + 1) % N_VOCAB, parent, LM_WANT_LOGITS};
        t.rows[t.n++] = (struct lm_row){seq, text[d], wrong, LM_WANT_LOGITS};
        t.chain[d] = t.n++;
        t.rows[t.chain[d]] = (struct lm_row){seq, text[d], parent, LM_WANT_LOGITS};
        parent = t.chain[d];
    }
    return t;
}

static bool step_tree(struct pair *p, const struct tree *t, bool row_by_row, float *out) {
    rn_error err = {0};
    for (int32_t i = 0, n; i < t->n; i += n) {
        n = row_by_row ? 1 : t->n;
        if (!CHECK_OK(lm_step(p->rig.lm, t->rows + i, (size_t)n, NULL, &err), &err)) return false;
        for (int32_t j = 0; j < n; j++)
            memcpy(out + (size_t)(i + j) * N_VOCAB, lm_logits(p->rig.lm, (size_t)j), N_VOCAB * sizeof *out);
    }
    return true;
}

// The tokens of the prefix and of a node's path.
static int32_t spell(const struct tree *t, int32_t node, const int32_t *prefix, int32_t len, int32_t *out) {
    int32_t depth = 0;
    for (int32_t i = node; i >= 0; i = t->rows[i].parent) depth++;
    memcpy(out, prefix, (size_t)len * sizeof *out);
    for (int32_t i = node, d = depth; i >= 0; i = t->rows[i].parent) out[len + --d] = t->rows[i].token;
    return len + depth;
}

static bool check_tree(struct pair *p, const int32_t *text, int32_t len, int32_t depth, int32_t n_keep,
                       bool row_by_row) {
    float *got = new_floats(64 * N_VOCAB);
    int32_t path[MOST];
    const int32_t seq = rig_seq(&p->rig);
    const struct tree t = make_tree(seq, text + len, depth);
    rn_error err = {0};
    bool ok = rig_append(&p->rig, seq, text, len, NULL) && step_tree(p, &t, row_by_row, got);
    for (int32_t i = 0; ok && i < t.n; i++) {
        const int32_t n = spell(&t, i, text, len, path);
        ok = rig_eval_fresh(&p->fresh, path, n, p->want) &&
             CHECK_MEM(got + (size_t)i * N_VOCAB, p->want + (size_t)(n - 1) * N_VOCAB, N_VOCAB * sizeof *got);
    }
    ok = ok && CHECK_OK(lm_keep(p->rig.lm, seq, t.chain, n_keep, &err), &err) && books_hold(p) &&
         goes_on_equal(p, seq, text, len + n_keep, len + n_keep + 8);
    lm_seq_free(p->rig.lm, seq);
    free(got);
    return ok;
}

TEST(tree_rows_and_what_follows_a_kept_path_give_the_bits_of_a_chain) {
    static const struct {
        const char *why;
        int32_t len, depth, n_keep;
    } rows[] = {
        {"inside a page", 10, 5, 3},
        {"the tree's first node ends a page", 63, 3, 2},
        {"over a page's end: positions 62..66", 62, 5, 5},
        {"over a page's end, kept up to it", 62, 5, 2},
        {"over a page's end, kept one past it", 62, 5, 3},
        {"the tree begins a page", 64, 4, 4},
        {"all of it dropped", 61, 5, 0},
        {"over the second page's end", 126, 5, 4},
        {"at the very beginning", 0, 3, 2},
    };
    int32_t text[MOST];
    random_tokens(text, MOST, N_VOCAB, 8);
    FOR_EACH_KIND(k) {
        struct pair p;
        bool ok = pair_open(&p, k, 64);
        for (size_t i = 0; ok && i < 2 * (sizeof rows / sizeof *rows); i++) {
            const size_t r = i / 2;
            check_note("%s, %s, %s", k->why, rows[r].why, i % 2 ? "row by row" : "in one step");
            ok = check_tree(&p, text, rows[r].len, rows[r].depth, rows[r].n_keep, i % 2);
        }
        pair_close(&p);
    }
}

TEST(a_chain_of_scratch_rows_longer_than_a_page_gives_the_bits_of_a_chain) {
    enum { LEN = 60, DEPTH = 70 };
    int32_t text[MOST], path[DEPTH];
    random_tokens(text, MOST, N_VOCAB, 9);
    FOR_EACH_KIND(k) {
        struct pair p;
        rn_error err = {0};
        bool ok = pair_open(&p, k, 64) && rig_eval_fresh(&p.fresh, text, LEN + DEPTH, p.want);
        const int32_t seq = rig_seq(&p.rig);
        ok = ok && rig_append(&p.rig, seq, text, LEN, NULL);
        for (int32_t d = 0; ok && d < DEPTH; d++) {
            path[d] = d;
            ok = rig_scratch(&p.rig, seq, text[LEN + d], d - 1, p.got) &&
                 CHECK_MEM(p.got, p.want + (size_t)(LEN + d) * N_VOCAB, N_VOCAB * sizeof(float));
        }
        ok = ok && CHECK_OK(lm_keep(p.rig.lm, seq, path, DEPTH, &err), &err);
        if (ok) goes_on_equal(&p, seq, text, LEN + DEPTH, LEN + DEPTH + 10);
        pair_close(&p);
    }
}

TEST(scratch_rows_below_rows_of_the_same_step_see_them) {
    FOR_EACH_KIND(k) {
        struct pair p;
        int32_t text[MOST];
        struct lm_row rows[8];
        rn_error err = {0};
        random_tokens(text, MOST, N_VOCAB, 10);
        bool ok = pair_open(&p, k, 64) && rig_eval_fresh(&p.fresh, text, 68, p.want);
        const int32_t seq = rig_seq(&p.rig);
        ok = ok && rig_append(&p.rig, seq, text, 60, NULL);
        for (int32_t i = 0; i < 8; i++) // four appended, a chain of four below them
            rows[i] = (struct lm_row){seq, text[60 + i], i < 4 ? LM_APPEND : i - 5, LM_WANT_LOGITS};
        ok = ok && CHECK_OK(lm_step(p.rig.lm, rows, 8, NULL, &err), &err);
        for (size_t i = 0; ok && i < 8; i++)
            ok = CHECK_MEM(lm_logits(p.rig.lm, i), p.want + (60 + i) * N_VOCAB, N_VOCAB * sizeof(float));
        pair_close(&p);
    }
}

// Pages for two texts at a time, and many texts: what is cached is evicted again and again.
TEST(evictions_do_not_change_what_is_evaluated_after_them) {
    enum { N_TEXTS = 5, LEN = 130 };
    FOR_EACH_KIND(k) {
        struct pair p;
        bool ok = pair_open(&p, k, 6);
        for (int32_t round = 0; ok && round < 3 * N_TEXTS; round++) {
            int32_t text[LEN];
            struct lm_prefix found = {.seq = -1};
            rn_error err = {0};
            random_tokens(text, LEN, N_VOCAB, (uint64_t)(round * 2 % N_TEXTS));
            ok = CHECK_OK(lm_match_tokens(p.rig.lm, NULL, text, LEN - 1, &found, &err), &err) &&
                 goes_on_equal(&p, found.seq, text, found.n, LEN);
            if (found.seq >= 0) lm_seq_free(p.rig.lm, found.seq);
        }
        struct kv_stats stats = {0};
        if (ok) kv_stats_get(lm_real_kv(p.rig.lm), &stats);
        CHECK(!ok || stats.n_evicted > 0);
        pair_close(&p);
    }
}

// A token whose embedding is NaN: its keys and values are NaN, and so is all that follows it in its sequence.
enum { NAN_TOKEN = 7 };
static bool open_with_nan(struct rig *r, const struct kind *k, int32_t n_pages) {
    const struct tiny_model m = small_model(&(struct kind){.type = TENSOR_F32});
    struct rig_options o = rig_defaults();
    size_t n;
    uint8_t *bytes = tiny_model_bytes(&m, &n);
    package *pkg = NULL;
    rn_error err = {0};
    if (!CHECK_OK(package_from_bytes("tiny", bytes, n, &pkg, &err), &err)) return false;
    const struct tensor_view *t = package_tensor(pkg, "token_embd.weight");
    memset(bytes + (t->data - bytes) + NAN_TOKEN * t->row_bytes, 0xff, t->row_bytes);
    package_close(pkg);
    o.codec = k->codec;
    o.n_threads = k->n_threads;
    o.lm.n_pages = n_pages;
    return rig_open_bytes(r, bytes, n, &o);
}

TEST(a_sequence_that_became_nan_spoils_neither_its_mates_nor_whoever_gets_its_pages) {
    enum { LEN = 70 };
    FOR_EACH_KIND(k) {
        struct rig r;
        int32_t text[LEN], bad[LEN];
        float *want = new_floats(LEN * N_VOCAB), *got = new_floats(LEN * N_VOCAB);
        struct lm_row rows[2 * LEN];
        rn_error err = {0};
        random_tokens(text, LEN, N_VOCAB, 11);
        for (int32_t i = 0; i < LEN; i++) {
            if (text[i] == NAN_TOKEN) text[i] = 0;
            bad[i] = i == 3 ? NAN_TOKEN : text[i];
        }
        check_note("%s", k->why);
        if (open_with_nan(&r, k, 4) && rig_eval_fresh(&r, text, LEN, want)) {
            const int32_t mate = rig_seq(&r), seq = rig_seq(&r);
            for (int32_t i = 0; i < 2 * LEN; i++)
                rows[i] = (struct lm_row){i % 2 ? seq : mate, (i % 2 ? text : bad)[i / 2], LM_APPEND, LM_WANT_LOGITS};
            CHECK_OK(lm_step(r.lm, rows, 2 * LEN, NULL, &err), &err);
            CHECK(isnan(lm_logits(r.lm, 2 * LEN - 2)[0]));
            for (size_t i = 0; i < LEN; i++)
                CHECK_MEM(lm_logits(r.lm, 2 * i + 1), want + i * N_VOCAB, N_VOCAB * sizeof *want);
            lm_seq_free(r.lm, mate);
            lm_seq_free(r.lm, seq);
            for (int i = 0; i < 2; i++) // in all four pages
                if (rig_eval_fresh(&r, text, LEN, got)) CHECK_MEM(got, want, LEN * N_VOCAB * sizeof *want);
            const int32_t tree = rig_seq(&r);
            CHECK(rig_append(&r, tree, text, 10, NULL)); // below it a block is assembled
            if (rig_scratch(&r, tree, text[10], LM_ROOT, got))
                CHECK_MEM(got, want + 10 * N_VOCAB, N_VOCAB * sizeof *want);
        }
        rig_close(&r);
        free(want);
        free(got);
    }
}
