// tests/engine/chat_match_test.c - where a prompt goes along with a session's tokens: against all places tried one by one.
#include "base/philox.h"
#include "engine/chat/chat.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"

enum { HE = 257, START = 276, END = 277, NAMELESS = 300, MOST = 16, N_TURNS = 20000 };

static struct small_vocab sv;

static size_t draw(uint32_t turn, uint32_t at, size_t n) {
    return (size_t)(philox_uniform(11, turn, at, PHILOX_TEST) * (double)n);
}

// A text of n symbols as tokens, of which "h" and "e" are one token or two, as it comes.
static size_t cut(const int32_t *text, size_t n, uint32_t turn, uint32_t seed, int32_t out[MOST]) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const bool joins = i + 1 < n && text[i] == 'h' && text[i + 1] == 'e' && draw(turn, seed + (uint32_t)i, 2);
        out[at++] = joins ? HE : text[i];
        i += joins;
    }
    return at;
}

// Bytes as they are, control tokens as numbers that no byte has.
static size_t stream_of(const int32_t *ids, size_t n, int32_t out[2 * MOST]) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        out[at++] = ids[i] == HE ? 'h' : ids[i];
        if (ids[i] == HE) out[at++] = 'e';
    }
    return at;
}

static bool says_the_same(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b) {
    int32_t x[2 * MOST], y[2 * MOST];
    const size_t n = stream_of(a, n_a, x), m = stream_of(b, n_b, y);
    return n == m && (n == 0 || memcmp(x, y, n * sizeof *x) == 0);
}

TEST(the_match_is_the_longest_place_where_both_say_the_same_at_a_border) {
    static const int32_t symbols[] = {'t', 'h', 'e', 'h', 'e', START, END, NAMELESS};
    tokenizer *t = NULL;
    rn_error err = {0};
    size_t n_whole = 0, n_parted = 0;
    small_bpe(&sv, "gpt-2");
    if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) return;
    for (uint32_t turn = 0; turn < N_TURNS; turn++) {
        int32_t text[MOST], a[MOST], b[MOST];
        const size_t n = draw(turn, 0, MOST), changed = draw(turn, 1, 2 * MOST);
        for (size_t i = 0; i < n; i++) text[i] = symbols[draw(turn, (uint32_t)(2 + i), 8)];
        const size_t n_a = cut(text, n, turn, 100, a);
        if (changed < n) text[changed] = symbols[draw(turn, 99, 8)];
        const size_t n_b = cut(text, n - (n ? draw(turn, 98, n) / 4 : 0), turn, 200, b);
        size_t want_a = 0, want_b = 0;
        for (size_t i = 0; i <= n_a; i++)
            for (size_t k = 0; k <= n_b; k++)
                if (says_the_same(a, i, b, k)) want_a = i, want_b = k;
        struct chat_match m;
        chat_match(t, &sv.v, a, n_a, b, n_b, &m);
        check_note("turn %u", turn);
        if (!CHECK_INT(m.n_held, want_a) || !CHECK_INT(m.n_ids, want_b)) break;
        const bool ends = want_a == n_a || want_b == n_b;
        if (!CHECK((strcmp(m.why, "") == 0) == ends)) break;
        n_whole += ends, n_parted += !ends;
    }
    CHECK(n_whole > N_TURNS / 10 && n_parted > N_TURNS / 10);
    tokenizer_destroy(t);
}

TEST(a_control_token_is_not_its_spelling) {
    static const int32_t held[] = {START, 'a'},
                         spelled[] = {'<', '|', 'i', 'm', '_', 's', 't', 'a', 'r', 't', '|', '>', 'a'};
    tokenizer *t = NULL;
    rn_error err = {0};
    struct chat_match m;
    small_bpe(&sv, "gpt-2");
    if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) return;
    chat_match(t, &sv.v, held, 2, spelled, 13, &m);
    CHECK_INT(m.n_held, 0);
    CHECK_STR(m.why,
              "differs at token 0: the session holds 276 \"<|im_start|>\", the chat template writes 60 \"<\" there");
    tokenizer_destroy(t);
}
