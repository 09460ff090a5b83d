// cli/cmd_ngram_cache.c - `runnel ngram-cache`: counts which tokens follow which in texts, for guesses.
#include "app/files.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "cli/command.h"
#include <runnel/tools.h>
#include <stdio.h>

enum { MOST_MERGED = 256 };

typedef struct ngram_job {
    machine on;
    const char *merged[MOST_MERGED];
    size_t n_merged;
    int32_t shortest, longest;
    bool parse_special;
    rn_ngram_cache *cache;
} ngram_job;

static bool take_merged(void *target, const char *value, char *why) {
    ngram_job *const j = target;
    if (j->n_merged == MOST_MERGED) {
        snprintf(why, NUMBER_WHY, "given more than %d times", MOST_MERGED);
        return false;
    }
    j->merged[j->n_merged++] = value;
    return true;
}

static const option ngram_rows[] = {
    {0, "merge", "CACHE", OPTION_EACH, .each = take_merged,
     .help = "add the counts of this cache, of runnel or llama.cpp; repeatable, up to 256"},
    {0, "ngram-min", "N", OPTION_INT, offsetof(ngram_job, shortest), 1, 4,
     .help = "tokens of the shortest strings that are counted in texts (default 2)"},
    {0, "ngram-max", "N", OPTION_INT, offsetof(ngram_job, longest), 1, 4,
     .help = "tokens of the longest ones (default 4)"},
    {0, "parse-special", NULL, OPTION_FLAG, offsetof(ngram_job, parse_special),
     .help = "parse control tokens in texts (default: they are plain text)"},
};

static int add_text(ngram_job *j, const char *path) {
    bytes text = {0};
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    int code = EXIT_CODE_FAILED;
    if (file_read(path, TEXT_LIMIT, &text)) {
        rn_status st = rn_tokenize(j->on.model, text.data, text.n, false, j->parse_special, &ids, &n_ids, &err);
        if (st == RN_OK) st = rn_ngram_cache_add_text(j->cache, ids, n_ids, j->shortest, j->longest, &err);
        code = st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
    }
    rn_free(ids);
    bytes_free(&text);
    return code;
}

static int write_cache(ngram_job *j, const char *out) {
    size_t n_strings, n_pairs;
    rn_error err = {0};
    if (rn_ngram_cache_write(j->cache, out, &err) != RN_OK) return machine_failed(&err);
    rn_ngram_cache_size(j->cache, &n_strings, &n_pairs);
    say("%s: %zu strings, %zu tokens behind them", out, n_strings, n_pairs);
    return EXIT_CODE_OK;
}

static int run_ngram_cache(ngram_job *j, const options *parsed) {
    rn_error err = {0};
    if (parsed->n_positional == 0 || (parsed->n_positional == 1 && j->n_merged == 0)) {
        say("ngram-cache: needs a file to write and texts: runnel ngram-cache OUT TEXT.txt");
        return EXIT_CODE_USAGE;
    }
    if (j->shortest > j->longest) {
        say("--ngram-min: %d, more than --ngram-max, %d", j->shortest, j->longest);
        return EXIT_CODE_USAGE;
    }
    int code = machine_open_model(&j->on);
    if (code == EXIT_CODE_OK && rn_ngram_cache_new(j->on.model, &j->cache, &err) != RN_OK)
        code = machine_failed(&err);
    for (size_t i = 0; code == EXIT_CODE_OK && i < j->n_merged; i++)
        if (rn_ngram_cache_add_file(j->cache, j->merged[i], &err) != RN_OK) code = machine_failed(&err);
    for (size_t i = 1; code == EXIT_CODE_OK && i < parsed->n_positional; i++)
        if ((code = machine_check_output(&j->on, parsed->positional[i], parsed->positional[0])) == EXIT_CODE_OK)
            code = add_text(j, parsed->positional[i]);
    return code == EXIT_CODE_OK ? write_cache(j, parsed->positional[0]) : code;
}

int cmd_ngram_cache(int n_args, char **args) {
    ngram_job j = {.shortest = 2, .longest = 4};
    options parsed;
    machine_init(&j.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&j.on),
        {"Counts", ngram_rows, sizeof ngram_rows / sizeof *ngram_rows, &j},
    };
    const option_spec spec = {
        .command = "ngram-cache",
        .usage = "OUT [TEXT.txt ...] [-m MODEL] [options]",
        .about =
            "Count which tokens of the model follow strings of up to four tokens in texts (- is stdin), and write "
            "the counts to OUT in the format of llama.cpp's lookup caches. With --ngram-cache OUT they guess what "
            "follows. OUT may be one of the caches that are merged.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 4096,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_ngram_cache(&j, &parsed);
    options_free(&parsed);
    rn_ngram_cache_close(j.cache);
    machine_close(&j.on);
    return code;
}
