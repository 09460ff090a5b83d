// bench/tokenizer_ladder.c - what it costs to tokenize a long run of one thing, against prose, by vocabulary.
//
//   tokenizer_ladder [--mib N] FILE...     vocabularies: GGUF files or folders; texts of N MiB (default 15)
//
// Thread CPU time of one call each, in nanoseconds a byte; in brackets the ratio to prose. "refused": a limit of the pre-tokenizer.
#include "base/hash.h"
#include "base/mem.h"
#include "formats/package.h"
#include "tokenizer/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name, *unit;
} texts[] = {
    {"prose",
     "It was late in the year 1871 when the ship's captain, who'd never once been wrong about the weather, said: "
     "\"We shall not see land before Tuesday.\"\n"},
    {"a", "a"},
    {"spaces", " "},
    {"newlines", "\n"},
    {"digits", "7"},
    {"ab", "ab"},
    {"word", "thequickbrownfoxjumpsoverthelazydog"},
    {"dots", "."},
    {"CJK", "\xE4\xBD\xA0\xE5\xA5\xBD\xE4\xB8\x96\xE7\x95\x8C"},
    {"emoji", "\xF0\x9F\x98\x80"},
    {"\\xFF", "\xFF"},
    {"rare", "\xF0\x92\x80\x80"},
    {"blocks", "\xE2\x96\x81"},
    {"random letters", NULL},
};
enum { N_TEXTS = sizeof texts / sizeof *texts };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const tokenizer *t, char *text, size_t n) {
    double prose = 0;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *const unit = texts[i].unit;
        const size_t n_unit = unit ? strlen(unit) : 1;
        int32_t *ids;
        size_t n_ids;
        rn_error err = {0};
        for (size_t k = 0; k < n; k++) text[k] = unit ? unit[k % n_unit] : (char)('a' + hash_u64(k, 1) % 26);
        const double begin = now_ns();
        const rn_status st = tokenizer_encode(t, text, n - n % n_unit, false, false, &ids, &n_ids, NULL, &err);
        const double took = (now_ns() - begin) / (double)n;
        if (i == 0) prose = took;
        printf("  %s %.0f%s", texts[i].name, took, st != RN_OK ? " refused" : "");
        if (i) printf(" (%.1f)", took / prose);
        fflush(stdout);
        mem_free(ids);
    }
    printf("\n");
}

int main(int n_args, char **args) {
    size_t n = 15 << 20;
    int at = 1;
    if (n_args > 2 && strcmp(args[1], "--mib") == 0) n = (size_t)(strtod(args[2], NULL) * (1 << 20)), at = 3;
    char *const text = malloc(n);
    for (; text && at < n_args; at++) {
        package *p = NULL;
        tokenizer *t = NULL;
        rn_error err = {0};
        const struct package_options opt = {.load = FILE_LOAD_READ};
        printf("%s:", args[at]);
        if (package_open(args[at], &opt, &p, &err) != RN_OK || tokenizer_create(package_vocab(p), &t, &err) != RN_OK)
            printf(" %s\n", err.text);
        else
            measure(t, text, n);
        tokenizer_destroy(t);
        package_close(p);
    }
    free(text);
    return 0;
}
