// tests/decoding/vocab_bridge_test.c - a text in the tokens of two vocabularies: the same bytes whatever is added and taken back, at the same cost
// however long the text is; and guesses, which go back through text.
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/vocab_bridge.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/tiny_model.h"
#include "tests/tokenizer/small_vocab.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_KINDS = 6, MOST_TOKENS = 6000 };
enum { LOSSY = 3 }; // has no capitals and nothing beyond ASCII

struct dice {
    uint64_t seed;
    uint32_t n;
};
static int32_t roll(struct dice *d, int32_t n) {
    return (int32_t)(philox_uniform(d->seed, 0, d->n++, PHILOX_TEST) * n);
}

// ---- vocabularies ---------------------------------------------------------------------------------------------------

struct opened {
    package *pkg;
    tokenizer *tok;
    struct bridge_side side;
};

static bool open_file(const char *path, struct opened *o) {
    rn_error err = {0};
    *o = (struct opened){0};
    if (!CHECK_OK(package_open(path, NULL, &o->pkg, &err), &err)) return false;
    if (!CHECK_OK(tokenizer_create(package_vocab(o->pkg), &o->tok, &err), &err)) return false;
    o->side = (struct bridge_side){o->tok, package_vocab(o->pkg)};
    return true;
}

static void close_file(struct opened *o) {
    tokenizer_destroy(o->tok);
    package_close(o->pkg);
}

static bool open_tiny(enum tiny_vocab vocab, struct opened *o) {
    struct tiny_model tiny = tiny_model_default();
    tiny.vocab = vocab;
    if (!CHECK(tiny_model_write(&tiny, "bridge.gguf"))) return false;
    const bool ok = open_file("bridge.gguf", o);
    remove("bridge.gguf");
    return ok;
}

static bool open_lossy(struct opened *o) {
    static struct small_vocab small;
    rn_error err = {0};
    small_bpe(&small, "gpt-2");
    for (int32_t i = 'A'; i < 256; i++)
        if (i <= 'Z' || i >= 128) small.tokens[i].text = str_of("?!"), small.tokens[i].kind = TOKEN_UNUSED;
    *o = (struct opened){0};
    if (!CHECK_OK(tokenizer_create(&small.v, &o->tok, &err), &err)) return false;
    o->side = (struct bridge_side){o->tok, &small.v};
    return true;
}

// The first four are always there: 256 bytes and a few merges in two kinds, the shipped model's, and one that lacks bytes. Returns how many there are.
static int open_all(struct opened o[N_KINDS]) {
    static const char *const published[] = {"llama-3", "gemma-3"};
    int n = 4;
    if (!open_lossy(&o[LOSSY])) return 0;
    if (!open_tiny(TINY_BYTES, &o[0]) || !open_tiny(TINY_SPM, &o[1]) ||
        !open_file(RUNNEL_SOURCE_DIR "/models/stories.gguf", &o[2]))
        return 0;
    for (int i = 0; i < 2; i++) {
        char rel[64], command[1200];
        snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", published[i]);
        const char *const packed = shared_path(rel);
        if (packed) snprintf(command, sizeof command, "gzip -dc '%s' > bridge.gguf", packed);
        if (!packed || system(command) != 0 || !open_file("bridge.gguf", &o[n])) break;
        n++;
    }
    remove("bridge.gguf");
    return n;
}

// ---- texts ----------------------------------------------------------------------------------------------------------

static char *prose(size_t *n) {
    static char text[40000];
    FILE *f = fopen(RUNNEL_SOURCE_DIR "/docs/sampling.md", "rb");
    *n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    CHECK(*n > 10000);
    return text;
}

static size_t encode(const struct opened *o, const char *text, size_t n, int32_t *out, size_t max) {
    int32_t *ids;
    size_t n_ids;
    rn_error err = {0};
    if (!CHECK_OK(tokenizer_encode_more(o->tok, text, n, false, SIZE_MAX, &ids, &n_ids, &err), &err)) return 0;
    if (n_ids > max) n_ids = max;
    if (n_ids) memcpy(out, ids, n_ids * sizeof *ids);
    mem_free(ids);
    return n_ids;
}

static size_t join(const struct opened *o, const int32_t *ids, int32_t n, char *out, size_t max) {
    size_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        size_t n_piece;
        const char *const piece = tokenizer_piece(o->tok, ids[i], false, &n_piece);
        if (at + n_piece > max) return at;
        memcpy(out + at, piece, n_piece);
        at += n_piece;
    }
    return at;
}

// Words of the text, or any tokens.
static int32_t any_tokens(const struct opened *o, struct dice *r, int32_t *out, int32_t max) {
    size_t n_text, from, n;
    const char *const text = prose(&n_text);
    if (roll(r, 4) == 0) {
        for (n = 0; n < (size_t)max && n < 12;) {
            size_t n_piece;
            out[n] = roll(r, o->side.vocab->n_tokens);
            const char *const piece = tokenizer_piece(o->tok, out[n], false, &n_piece);
            if (utf8_valid(piece, n_piece) || roll(r, 300) == 0) n++;
        }
        return (int32_t)n;
    }
    from = (size_t)roll(r, (int32_t)n_text - 300);
    return (int32_t)encode(o, text + from, (size_t)(1 + roll(r, 40)), out, (size_t)max);
}

// ---- the text in both -----------------------------------------------------------------------------------------------

static int n_compared;

static bool check_followed(const struct opened *main, const struct opened *other, const struct vocab_bridge *b,
                           const int32_t *text, int32_t n, bool has_all_bytes) {
    static char want[1 << 16], got[1 << 16];
    const size_t n_joined = join(main, text, n, want, sizeof want), n_want = n_joined - b->n_held,
                 n_got = join(other, b->ids, (int32_t)b->n, got, sizeof got);
    if (!CHECK_INT(b->n_text, n) || !CHECK(b->n_held <= 3)) return false;
    if (!has_all_bytes || !utf8_valid(want, n_want)) return true; // some tokenizers read other bytes as U+FFFD
    n_compared++;
    return CHECK_INT(n_got, n_want) && CHECK_MEM(got, want, n_want);
}

static bool any_history(const struct opened *main, const struct opened *other, uint64_t seed, bool has_all_bytes) {
    struct dice r = {seed, 0};
    struct vocab_bridge b;
    int32_t text[600], old[4000], n = 0;
    bool ok = true;
    vocab_bridge_init(&b, &main->side, &other->side);
    for (int step = 0; step < 40 && ok && n < 500; step++) {
        int32_t n_same, n_old = (int32_t)b.n, more[24];
        rn_error err = {0};
        memcpy(old, b.ids ? b.ids : more, (size_t)n_old * sizeof *old);
        if (roll(&r, 5) == 0 && n > 0) vocab_bridge_cut(&b, n -= roll(&r, n < 30 ? n : 30));
        const int32_t n_more = any_tokens(main, &r, more, 1 + roll(&r, 24));
        for (int32_t i = 0; i < n_more; i++) text[n++] = more[i];
        check_note("%d tokens by %d, seed %d, step %d", main->side.vocab->n_tokens, other->side.vocab->n_tokens,
                   (int)seed, step);
        ok = CHECK_OK(vocab_bridge_follow(&b, text, n, &n_same, &err), &err) &&
             check_followed(main, other, &b, text, n, has_all_bytes) && CHECK(n_same <= n_old) &&
             CHECK_MEM(b.ids ? b.ids : old, old, (size_t)n_same * sizeof *old) && CHECK(b.n < 4000);
        if (ok && n_same < n_old && n_same < (int32_t)b.n) ok = CHECK(b.ids[n_same] != old[n_same]);
    }
    vocab_bridge_free(&b);
    return ok;
}

TEST(a_text_has_the_same_bytes_in_both_whatever_is_added_and_taken_back) {
    struct opened o[N_KINDS];
    const int n = open_all(o);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (uint64_t seed = 1; seed <= 25; seed++)
                if (!any_history(&o[i], &o[k], seed, i != LOSSY && k != LOSSY)) return;
    CHECK(n_compared > 2000);
    for (int i = 0; i < n; i++) close_file(&o[i]);
}

// Token by token, as it is generated. Words are cut as in the whole text, and the cost of a token does not depend on how many are before it.
TEST(a_text_that_grows_is_cut_as_the_whole_one_at_a_cost_of_its_end) {
    static int32_t text[MOST_TOKENS], whole[4 * MOST_TOKENS];
    static char joined[1 << 18];
    struct opened o[N_KINDS];
    const int n_kinds = open_all(o);
    size_t n_prose;
    const char *const words = prose(&n_prose);
    for (int i = 0; i < n_kinds; i++)
        for (int k = 0; k < n_kinds; k++) {
            struct vocab_bridge b;
            rn_error err = {0};
            const int32_t n = (int32_t)encode(&o[i], words, n_prose, text, MOST_TOKENS / 3);
            const size_t n_joined = join(&o[i], text, n, joined, sizeof joined);
            const size_t n_whole = encode(&o[k], joined, n_joined, whole, 4 * MOST_TOKENS);
            int32_t n_same;
            vocab_bridge_init(&b, &o[i].side, &o[k].side);
            for (int32_t m = 1; m <= n; m++)
                if (!CHECK_OK(vocab_bridge_follow(&b, text, m, &n_same, &err), &err)) return;
            const size_t n_bos = b.n > 0 && o[k].side.vocab->add_bos ? 1 : 0;
            check_note("%d by %d: %d tokens, %d bytes, %.0f bytes cut for each token", i, k, n, (int)n_joined,
                       (double)b.n_cut / n);
            CHECK(b.n_cut < (int64_t)n * (i != LOSSY && k != LOSSY ? 200 : 600));
            if (i != LOSSY && k != LOSSY && CHECK_INT(b.n - n_bos, n_whole))
                CHECK_MEM(b.ids + n_bos, whole, n_whole * sizeof *whole);
            vocab_bridge_free(&b);
        }
    for (int i = 0; i < n_kinds; i++) close_file(&o[i]);
}

TEST(a_text_without_white_space_costs_no_more) {
    static int32_t text[MOST_TOKENS];
    static char letters[MOST_TOKENS];
    struct opened o[N_KINDS];
    const int n_kinds = open_all(o);
    for (size_t i = 0; i < sizeof letters; i++) letters[i] = "abcdefgh"[i * i / 7 % 8];
    for (int i = 0; i < n_kinds; i++)
        for (int k = 0; k < n_kinds; k++) {
            struct vocab_bridge b;
            rn_error err = {0};
            const int32_t n = (int32_t)encode(&o[i], letters, sizeof letters, text, MOST_TOKENS);
            int32_t n_same;
            vocab_bridge_init(&b, &o[i].side, &o[k].side);
            for (int32_t m = 1; m <= n; m++)
                if (!CHECK_OK(vocab_bridge_follow(&b, text, m, &n_same, &err), &err)) return;
            check_note("%d by %d", i, k);
            CHECK(b.n_cut < (int64_t)n * 700);
            vocab_bridge_free(&b);
        }
    for (int i = 0; i < n_kinds; i++) close_file(&o[i]);
}

// ---- guesses --------------------------------------------------------------------------------------------------------

TEST(guesses_go_back_as_the_text_would_be_cut) {
    enum { N_GUESSES = 10, MOST_BACK = 63 };
    static int32_t text[MOST_TOKENS];
    static char rest[1 << 17];
    struct opened o[N_KINDS];
    const int n_kinds = open_all(o);
    size_t n_prose;
    const char *const words = prose(&n_prose);
    for (int i = 0; i < n_kinds; i++)
        for (int k = 0; k < n_kinds; k++) {
            const int32_t n = (int32_t)encode(&o[i], words, n_prose, text, MOST_TOKENS / 2);
            struct dice r = {(uint64_t)(100 + 10 * i + k), 0};
            int n_right = 0, n_made = 0;
            check_note("%d by %d", i, k);
            for (int round = 0; round < 60; round++) {
                const int32_t at = 1 + roll(&r, n - 40);
                const size_t n_rest = join(&o[i], text + at, n - at, rest, 200);
                int32_t chain[N_GUESSES], n_same, n_back;
                struct bridge_guess back[MOST_BACK];
                struct vocab_bridge b;
                rn_error err = {0};
                char joined[600];
                size_t n_joined = 0;
                const int32_t n_chain = (int32_t)encode(&o[k], rest, n_rest, chain, N_GUESSES);
                vocab_bridge_init(&b, &o[i].side, &o[k].side);
                if (!CHECK_OK(vocab_bridge_follow(&b, text, at, &n_same, &err), &err) ||
                    !CHECK_OK(vocab_bridge_back(&b, text, chain, n_chain, back, MOST_BACK, &n_back, &err), &err))
                    return;
                for (int32_t g = 0, end = 0; g < n_back; g++) {
                    CHECK(back[g].first == end && back[g].end >= end && back[g].end <= n_chain);
                    end = back[g].end;
                    n_joined += join(&o[i], &back[g].token, 1, joined + n_joined, sizeof joined - n_joined);
                    n_right += g < n_back - 1 && back[g].token == text[at + g];
                    n_made += g < n_back - 1;
                }
                if (i != LOSSY && k != LOSSY) CHECK_MEM(joined, rest, n_joined);
                vocab_bridge_free(&b);
            }
            check_note("%d by %d: %d of %d guesses as the text goes on", i, k, n_right, n_made);
            if (i != LOSSY && k != LOSSY) CHECK(n_made > 100 && n_right > n_made * 9 / 10);
        }
    for (int i = 0; i < n_kinds; i++) close_file(&o[i]);
}

TEST(control_tokens_go_by_spelling_or_role_and_end_guesses) {
    struct opened bytes, spm;
    struct vocab_bridge b;
    rn_error err = {0};
    if (!open_tiny(TINY_BYTES, &bytes) || !open_tiny(TINY_SPM, &spm)) return;
    const int32_t eos = bytes.side.vocab->eos, other_eos = spm.side.vocab->eos, bos = bytes.side.vocab->bos;
    const int32_t text[] = {bos, 'a', 'b', eos, 'c'};
    int32_t n_same, n;
    vocab_bridge_init(&b, &bytes.side, &spm.side);
    if (!CHECK_OK(vocab_bridge_follow(&b, text, 5, &n_same, &err), &err)) return;
    int32_t n_ends = 0;
    for (uint32_t i = 0; i < b.n; i++) n_ends += b.ids[i] == other_eos;
    CHECK_INT(n_ends, 1);
    CHECK(b.ids[0] == spm.side.vocab->bos && b.ids[1] != spm.side.vocab->bos);
    int32_t chain[8];
    const int32_t n_chain = (int32_t)encode(&spm, " d", 2, chain, 4);
    struct bridge_guess back[8];
    chain[n_chain] = other_eos, chain[n_chain + 1] = chain[0];
    if (!CHECK_OK(vocab_bridge_back(&b, text, chain, n_chain + 2, back, 8, &n, &err), &err)) return;
    CHECK(n >= 2 && back[n - 1].token == eos && back[n - 1].end == n_chain + 1); // nothing behind it
    vocab_bridge_free(&b);
    close_file(&bytes), close_file(&spm);
}

// A guess that ends within a character is left out.
TEST(bytes_of_a_character_that_is_not_whole_are_no_guess) {
    struct opened bytes, spm;
    struct vocab_bridge b;
    rn_error err = {0};
    if (!open_tiny(TINY_BYTES, &bytes) || !open_tiny(TINY_SPM, &spm)) return;
    int32_t text[8], chain[8], n_same, n;
    const int32_t n_text = (int32_t)encode(&bytes, "x", 1, text, 8);
    const int32_t n_chain = (int32_t)encode(&spm, "y\xE2\x82\xAC", 4, chain, 8);
    struct bridge_guess back[8];
    vocab_bridge_init(&b, &bytes.side, &spm.side);
    if (!CHECK_OK(vocab_bridge_follow(&b, text, n_text, &n_same, &err), &err)) return;
    for (int32_t k = 1; k <= n_chain; k++) {
        char joined[16];
        size_t n_joined = 0;
        if (!CHECK_OK(vocab_bridge_back(&b, text, chain, k, back, 8, &n, &err), &err)) return;
        for (int32_t i = 0; i < n; i++) n_joined += join(&bytes, &back[i].token, 1, joined + n_joined, 4);
        check_note("%d of %d guesses", k, n_chain);
        CHECK_INT(n_joined, k == n_chain ? 4 : 1);
    }
    vocab_bridge_free(&b);
    close_file(&bytes), close_file(&spm);
}

// A text that ends within a character: guesses are to begin with its bytes, and are what is behind them.
TEST(guesses_go_on_within_a_character) {
    struct opened bytes, spm;
    struct vocab_bridge b;
    rn_error err = {0};
    if (!open_tiny(TINY_BYTES, &bytes) || !open_tiny(TINY_SPM, &spm)) return;
    int32_t text[8], chain[8], n_same, n;
    const int32_t n_text = (int32_t)encode(&bytes, "x\xE2\x82\xAC", 4, text, 8) - 1;
    for (int i = 0; i < 2; i++) {
        struct bridge_guess back[8];
        const int32_t n_chain = (int32_t)encode(&spm, i ? "\xE2\x82\xACy" : "\xE2\x84\xACy", 4, chain, 8);
        vocab_bridge_init(&b, &bytes.side, &spm.side);
        if (!CHECK_OK(vocab_bridge_follow(&b, text, n_text, &n_same, &err), &err) ||
            !CHECK_OK(vocab_bridge_back(&b, text, chain, n_chain, back, 8, &n, &err), &err))
            return;
        CHECK_INT(b.n_held, 2);
        CHECK_INT(n, i ? 2 : 0);
        if (i && n == 2) {
            CHECK(back[0].token == text[n_text] || back[0].token != 0);
            CHECK(back[0].first == 0 && back[0].end == n_chain - 1 && back[1].end == n_chain);
        }
        vocab_bridge_free(&b);
    }
    close_file(&bytes), close_file(&spm);
}

struct failing {
    struct opened from, to;
    int32_t text[400], n;
};

static rn_status bridge_once(void *user) {
    const struct failing *const f = user;
    struct vocab_bridge b;
    struct bridge_guess back[8];
    int32_t n_same, n;
    vocab_bridge_init(&b, &f->from.side, &f->to.side);
    rn_status st = vocab_bridge_follow(&b, f->text, f->n, &n_same, NULL);
    if (st == RN_OK) st = vocab_bridge_back(&b, f->text, b.ids, 5, back, 8, &n, NULL);
    vocab_bridge_free(&b);
    return st;
}

TEST(each_failed_allocation_is_reported_and_leaks_nothing) {
    static struct failing f;
    size_t n_prose;
    const char *const words = prose(&n_prose);
    if (!open_tiny(TINY_BYTES, &f.from) || !open_tiny(TINY_SPM, &f.to)) return;
    f.n = (int32_t)encode(&f.from, words, 600, f.text, 400);
    CHECK(check_each_failed_allocation(bridge_once, &f, __FILE__, __LINE__));
    close_file(&f.from), close_file(&f.to);
}
