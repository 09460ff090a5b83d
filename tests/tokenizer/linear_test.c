// tests/tokenizer/linear_test.c - long runs of one thing cost as much for each byte as short ones, for every kind of model and pattern,
// and tokens chosen to collide cost no more than others.
#include "base/hash.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/pre_patterns.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef TESTS_SANITIZED // 60 may stand for 16, but no ratio of instrumented code tells 2 from 4
static const bool is_sanitized = true;
enum { MIB = 1 << 17, LONG = 1 << 15 };
#else
static const bool is_sanitized = false;
enum { MIB = 1 << 20, LONG = 1 << 17 };
#endif

// Processor time: other programs do not count.
static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static double seconds_of(const tokenizer *t, const char *text, size_t n) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    const double begin = now();
    CHECK_OK(tokenizer_encode(t, text, n, false, true, &ids, &n_ids, NULL, &err), &err);
    mem_free(ids);
    return now() - begin;
}

static char *run_of(const char *unit, size_t n) {
    char *const text = malloc(n);
    const size_t n_unit = strlen(unit);
    for (size_t i = 0; i < n; i++) text[i] = unit[i % n_unit];
    return text;
}

static double least(double a, double b) { return a < b ? a : b; }

// Does the text take at most `factor` times as long as the first n_part bytes of it? By the least of some tries: what else runs on the
// machine, and the state of its caches, only ever adds.
static void check_factor(const tokenizer *t, const char *name, const char *unit, size_t n, size_t n_part,
                         double factor) {
    const size_t n_unit = strlen(unit);
    double whole = 1e9, part = 1e9;
    bool holds = false;
    n -= n % n_unit, n_part -= n_part % n_unit;
    char *text = run_of(unit, n);
    text[n - 1] = n_unit == 1 ? 'b' : text[n - 1]; // white space whose end is not the text's
    for (int i = 0; i < 8 && !holds; i++) {
        part = least(part, seconds_of(t, text, n_part));
        whole = least(whole, seconds_of(t, text, n));
        holds = whole < 0.01 || whole < factor * part;
    }
    check_note("%s, %zu bytes of \"%s\": %.4f s, %zu of them: %.4f s", name, n, unit, whole, n_part, part);
    CHECK(holds);
    free(text);
}

// A sixteenth of the text must not take less than a sixtieth of the time: quadratic work would make that 256.
static void check_short_and_long(const tokenizer *t, const char *name) {
    static const char *const units[] = {"a",
                                        " ",
                                        "A",
                                        "\n",
                                        " \n",
                                        "1",
                                        "'",
                                        ".",
                                        "aB",
                                        "\t x",
                                        "\xF0\x9F\x98\x80",
                                        "\xCC\x81\xCC\xA3",
                                        "\xE4\xBD\xA0",
                                        "Ab1 ",
                                        "\xE2\x96\x81",
                                        "<",
                                        "\xFF"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) check_factor(t, name, units[i], LONG, LONG / 16, 60);
}

// A mebibyte and half of it: 2 times as long where the time is linear, 4 times where it is quadratic.
static void check_mebibyte(const tokenizer *t, const char *name) {
    static const char *const units[] = {
        "a", " ", "\xF0\x9F\x98\x80",
        "It's 12 o'clock, \xC3\xA9t\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80!\r\n\t "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) check_factor(t, name, units[i], MIB, MIB / 2, 3);
}

typedef void (*check_fn)(const tokenizer *t, const char *name);

static void check_made(const struct vocab *v, const char *name, check_fn check) {
    tokenizer *t = NULL;
    rn_error err = {0};
    if (CHECK_OK(tokenizer_create(v, &t, &err), &err)) check(t, name);
    tokenizer_destroy(t);
}

static struct small_vocab sv; // the running test's

static void check_pre_tokenizers(check_fn check) {
    const char *name;
    for (size_t i = 0; (name = pre_rule_name(i)); i++) {
        small_bpe(&sv, name);
        check_made(&sv.v, name, check);
    }
}

static void check_other_models(check_fn check) {
    static const struct vocab_str block = {"\xE2\x96\x81", 3};
    const struct norm_step norms[] = {
        {.kind = NORM_NFC},
        {.kind = NORM_NFKD},
        {.kind = NORM_LOWERCASE},
        {.kind = NORM_REPLACE, .is_regex = true, .pattern = {" {2,}", 5}, .content = {" ", 1}},
        {.kind = NORM_REPLACE, .pattern = {" ", 1}, .content = block},
    };
    static const struct {
        const char *name;
        enum vocab_model model;
        bool normalizes;
    } models[] = {{"SPM", VOCAB_SPM, false},
                  {"unigram", VOCAB_UNIGRAM, false},
                  {"unigram, normalized", VOCAB_UNIGRAM, true},
                  {"characters, normalized", VOCAB_CHAR_BPE, true}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        small_spm(&sv);
        sv.v.model = models[i].model;
        sv.v.n_norms = sv.v.n_norms_before = models[i].normalizes ? 5 : 0;
        sv.v.norms = norms;
        if (models[i].model == VOCAB_CHAR_BPE) {
            sv.merges[sv.v.n_merges++] = str_of("a a");
            sv.merges[sv.v.n_merges++] = str_of("a b");
        }
        check_made(&sv.v, models[i].name, check);
    }
}

TEST(the_time_of_every_pre_tokenizer_is_linear) { check_pre_tokenizers(check_short_and_long); }
TEST(the_time_of_the_other_models_and_of_normalizers_is_linear) { check_other_models(check_short_and_long); }
TEST(field_2_25_a_mebibyte_takes_every_pre_tokenizer_twice_as_long_as_half_of_it) {
    if (is_sanitized)
        test_skip("instrumented code: times are no measure");
    else
        check_pre_tokenizers(check_mebibyte);
}
TEST(field_2_25_a_mebibyte_takes_the_other_models_twice_as_long_as_half_of_it) {
    if (is_sanitized)
        test_skip("instrumented code: times are no measure");
    else
        check_other_models(check_mebibyte);
}

// ---- tokens that collide --------------------------------------------------------------------------------------------

enum { N_TOKENS = 20000, LOW_BITS = 20 };

// base/hash.c's mixing, backwards: each step is a bijection.
static uint64_t unmix(uint64_t z) {
    z = (z ^ (z >> 31) ^ (z >> 62)) * 0x319642b2d24d8ec3u;
    z = (z ^ (z >> 27) ^ (z >> 54)) * 0x96de1b173f119089u;
    return z ^ (z >> 30) ^ (z >> 60);
}

// Token i: 8 bytes whose hash with the seed 0 ends in the same 20 bits as all the others', or any 8 bytes.
static uint64_t token_bytes(uint64_t i, bool collides) {
    const uint64_t wanted = collides ? i << LOW_BITS : i * 0x2545f4914f6cdd1du;
    return hash_u64(8, 0) ^ unmix(unmix(wanted) - 0x9e3779b97f4a7c15u);
}

static double seconds_of_table(bool collide) {
    static uint64_t bytes[N_TOKENS];
    static struct vocab_token tokens[N_TOKENS];
    struct vocab v = {.model = VOCAB_SPM, .tokens = tokens, .n_tokens = N_TOKENS};
    struct pieces p = {0};
    struct token_table t = {0};
    rn_error err = {0};
    for (uint64_t i = 0; i < N_TOKENS; i++) {
        bytes[i] = token_bytes(i, collide);
        tokens[i] = (struct vocab_token){.text = {(const char *)&bytes[i], 8}, .kind = TOKEN_NORMAL};
        if (collide) CHECK_INT(hash_bytes(&bytes[i], 8, 0) & ((1 << LOW_BITS) - 1), 0);
    }
    CHECK_OK(pieces_init(&p, &v, &err), &err);
    const double begin = now();
    CHECK_OK(token_table_init(&t, &v, &p, &err), &err);
    for (int32_t i = 0; i < N_TOKENS; i++) CHECK_INT(token_table_find(&t, (const char *)&bytes[i], 8), i);
    const double took = now() - begin;
    token_table_free(&t);
    pieces_free(&p);
    return took;
}

TEST(tokens_that_collide_under_a_known_seed_cost_no_more_than_others) {
    const double others = seconds_of_table(false), chosen = seconds_of_table(true);
    check_note("chosen tokens: %.4f s, others: %.4f s", chosen, others);
    CHECK(chosen < 0.01 || chosen < 20 * others); // one after the other: 10,000 times
}
