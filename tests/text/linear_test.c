// tests/text/linear_test.c - long runs of one thing cost as much for each byte as short ones, for every kind of model and pattern.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/text/small_vocab.h"
#include "text/pre_patterns.h"
#include "text/tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG = 1 << 17 };

// Processor time of the least of three runs: other programs do not count.
static double seconds_of(const tokenizer *t, const char *text, size_t n) {
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        int32_t *ids = NULL;
        size_t n_ids = 0;
        rn_error err = {0};
        const clock_t begin = clock();
        CHECK_OK(tokenizer_encode(t, text, n, false, false, &ids, &n_ids, NULL, &err), &err);
        const double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (took < best) best = took;
        mem_free(ids);
    }
    return best;
}

static char *run_of(const char *unit, size_t n) {
    char *const text = malloc(n);
    const size_t n_unit = strlen(unit);
    for (size_t i = 0; i < n; i++) text[i] = unit[i % n_unit];
    return text;
}

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
                                    "\xE2\x96\x81"};

// A sixteenth of the text must not take less than a sixtieth of the time: quadratic work would make that 256.
static void check_linear(const tokenizer *t, const char *name) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n_unit = strlen(units[i]), n = LONG / n_unit * n_unit, n_short = LONG / 16 / n_unit * n_unit;
        char *text = run_of(units[i], n);
        text[n - 1] = strlen(units[i]) == 1 ? 'b' : text[n - 1]; // white space whose end is not the text's
        const double whole = seconds_of(t, text, n), part = seconds_of(t, text, n_short);
        check_note("%s, %zu bytes of \"%s\": %.4f s, a sixteenth of it: %.4f s", name, n, units[i], whole, part);
        CHECK(whole < 0.01 || whole < 60 * part);
        free(text);
    }
}

TEST(the_time_of_every_pre_tokenizer_is_linear) {
    static struct small_vocab sv;
    const char *name;
    for (size_t i = 0; (name = pre_rule_name(i)); i++) {
        tokenizer *t = NULL;
        rn_error err = {0};
        small_bpe(&sv, name);
        if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) continue;
        check_linear(t, name);
        tokenizer_destroy(t);
    }
}

static const struct vocab_str block = {"\xE2\x96\x81", 3};

TEST(the_time_of_the_other_models_and_of_normalizers_is_linear) {
    static struct small_vocab sv;
    const struct norm_step norms[] = {
        {.kind = NORM_NFC},
        {.kind = NORM_NFKD},
        {.kind = NORM_LOWERCASE},
        {.kind = NORM_REPLACE, .is_regex = true, .pattern = {" {2,}", 5}, .content = {" ", 1}},
        {.kind = NORM_REPLACE, .pattern = {" ", 1}, .content = block},
    };
    static const enum vocab_model models[] = {VOCAB_SPM, VOCAB_UNIGRAM, VOCAB_CHAR_BPE};
    for (size_t i = 0; i < 3; i++) {
        tokenizer *t = NULL;
        rn_error err = {0};
        small_spm(&sv);
        sv.v.model = models[i];
        sv.v.n_norms = sv.v.n_norms_before = i == 0 ? 0 : 5;
        sv.v.norms = norms;
        if (models[i] == VOCAB_CHAR_BPE) {
            sv.merges[sv.v.n_merges++] = str_of("a a");
            sv.merges[sv.v.n_merges++] = str_of("a b");
        }
        if (!CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err)) continue;
        check_linear(t, i == 0 ? "SPM" : i == 1 ? "unigram" : "characters");
        tokenizer_destroy(t);
    }
}
