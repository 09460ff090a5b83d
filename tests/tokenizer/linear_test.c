// tests/tokenizer/linear_test.c - the work for a long run of one thing grows as its length does, for every kind of model and
// pattern, and tokens chosen to collide cost no more than others. Work is counted, not timed (tests/support/work.h).
#include "base/hash.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/work.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/pre_patterns.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"
#include <stdlib.h>
#include <string.h>

#ifdef TESTS_SANITIZED // the counts are the same, and take longer
enum { LONGEST = 1 << 15, LONG = 1 << 13 };
#else
enum { LONGEST = 1 << 20, LONG = 1 << 15 };
#endif

static uint64_t work_of(const tokenizer *t, const char *text, size_t n) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    const uint64_t before = work_done();
    CHECK_OK(tokenizer_encode(t, text, n, false, true, &ids, &n_ids, NULL, &err), &err);
    mem_free(ids);
    return work_done() - before;
}

static char *run_of(const char *unit, size_t n) {
    char *const text = malloc(n);
    const size_t n_unit = strlen(unit);
    for (size_t i = 0; i < n; i++) text[i] = unit[i % n_unit];
    return text;
}

// Does the text take at most `factor` times the work of its first n_part bytes?
static void check_factor(const tokenizer *t, const char *name, const char *unit, size_t n, size_t n_part,
                         double factor) {
    const size_t n_unit = strlen(unit);
    n -= n % n_unit, n_part -= n_part % n_unit;
    char *text = run_of(unit, n);
    text[n - 1] = n_unit == 1 ? 'b' : text[n - 1]; // white space whose end is not the text's
    const uint64_t part = work_of(t, text, n_part), whole = work_of(t, text, n);
    check_note("%s, %zu bytes of \"%s\": %llu units of work, %zu of them: %llu", name, n, unit,
               (unsigned long long)whole, n_part, (unsigned long long)part);
    CHECK(part > n_part / n_unit / 16); // what is not counted would pass
    CHECK((double)whole < factor * (double)part);
    free(text);
}

// 16 times as long: 16 times the work where it is linear, 256 times where it is quadratic.
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
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) check_factor(t, name, units[i], LONG, LONG / 16, 20);
}

// A mebibyte and half of it: 2 times the work where it is linear, 4 times where it is quadratic.
static void check_mebibyte(const tokenizer *t, const char *name) {
    static const char *const units[] = {
        "a", " ", "\xF0\x9F\x98\x80",
        "It's 12 o'clock, \xC3\xA9t\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80!\r\n\t "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        check_factor(t, name, units[i], LONGEST, LONGEST / 2, 2.2);
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
    small_longest(&sv);
    check_made(&sv.v, "the longest tokens", check);
}

TEST(the_work_of_every_pre_tokenizer_is_linear) { check_pre_tokenizers(check_short_and_long); }
TEST(the_work_of_the_other_models_and_of_normalizers_is_linear) { check_other_models(check_short_and_long); }
TEST(field_2_25_a_mebibyte_takes_every_pre_tokenizer_twice_the_work_of_half_of_it) {
    check_pre_tokenizers(check_mebibyte);
}
TEST(field_2_25_a_mebibyte_takes_the_other_models_twice_the_work_of_half_of_it) {
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

static uint64_t work_of_table(bool collide) {
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
    const uint64_t before = work_done();
    CHECK_OK(token_table_init(&t, &v, &p, &err), &err);
    for (int32_t i = 0; i < N_TOKENS; i++) CHECK_INT(token_table_find(&t, (const char *)&bytes[i], 8), i);
    const uint64_t work = work_done() - before;
    token_table_free(&t);
    pieces_free(&p);
    return work;
}

TEST(tokens_that_collide_under_a_known_seed_cost_no_more_than_others) {
    const uint64_t others = work_of_table(false), chosen = work_of_table(true);
    check_note("chosen tokens: %llu units of work, others: %llu", (unsigned long long)chosen,
               (unsigned long long)others);
    CHECK(others > N_TOKENS);
    CHECK(chosen < 2 * others); // one after the other: 10,000 times
}
