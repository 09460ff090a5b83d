// cli/bench_options.c - the options of `bench`; most take lists of values.
#include "cli/bench_options.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "cli/bench_case.h"
#include <stdio.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 24 };

// Reads one value of a comma-separated list.
typedef bool (*read_value)(const char *word, int32_t min, int32_t max, int32_t *v, char *why);

static bool read_number(const char *word, int32_t min, int32_t max, int32_t *v, char *why) {
    int64_t whole;
    if (!number_read_whole(word, min, max, &whole, why)) return false;
    *v = (int32_t)whole;
    return true;
}

// Reads a word of --kv-type. The option table in machine.c lists them in the order of rn_kv_type.
static bool read_kv_type(const char *word, int32_t min, int32_t max, int32_t *v, char *why) {
    (void)min, (void)max;
    const char *const list = machine_engine_rows[0].arg;
    const size_t n = strlen(word);
    *v = 0;
    for (const char *w = list; *w; ++*v) {
        const size_t n_w = strcspn(w, "|");
        if (n_w == n && memcmp(w, word, n) == 0) return true;
        w += n_w + (w[n_w] != '\0');
    }
    snprintf(why, NUMBER_WHY, "'%.100s' is not one of %s", word, list);
    return false;
}

static bool take_list(bench_list *list, read_value read, int32_t min, int32_t max, const char *text, char *why) {
    for (;; text++) { // past the comma
        char word[32];
        const size_t n = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
        if (list->n == BENCH_MOST_VALUES) {
            snprintf(why, NUMBER_WHY, "more than %d values", BENCH_MOST_VALUES);
            return false;
        }
        if (!read(word, min, max, &list->v[list->n], why)) return false;
        list->n++;
        text += n;
        if (!*text) return true;
    }
}

static bool take_models(void *target, const char *text, char *why) {
    bench_options *const b = target;
    if (b->n_models == BENCH_MOST_MODELS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", BENCH_MOST_MODELS);
        return false;
    }
    b->models[b->n_models++] = text;
    return true;
}
static bool take_prompts(void *target, const char *text, char *why) {
    return take_list(&((bench_options *)target)->prompts, read_number, 0, MOST_TOKENS, text, why);
}
static bool take_gens(void *target, const char *text, char *why) {
    return take_list(&((bench_options *)target)->gens, read_number, 0, MOST_TOKENS, text, why);
}
static bool take_depths(void *target, const char *text, char *why) {
    return take_list(&((bench_options *)target)->depths, read_number, 0, MOST_TOKENS, text, why);
}
static bool take_batches(void *target, const char *text, char *why) {
    return take_list(&((bench_options *)target)->batches, read_number, 1, BENCH_MOST_BATCH, text, why);
}
static bool take_threads(void *target, const char *text, char *why) {
    return take_list(&((bench_options *)target)->threads, read_number, 1, 64, text, why);
}
static bool take_kv_types(void *target, const char *text, char *why) {
    return take_list(&((bench_options *)target)->kv_types, read_kv_type, 0, 0, text, why);
}

const option bench_model_rows[BENCH_MODEL_ROWS] = {
    {'m', "model", "MODEL", OPTION_EACH, .each = take_models,
     .help = "a GGUF file, or the name of a fetched model (default: $RUNNEL_MODEL, else the program's own); "
             "repeatable, up to 16"},
};
const option bench_measured_rows[BENCH_MEASURED_ROWS] = {
    {'p', "n-prompt", "N,...", OPTION_EACH, .each = take_prompts,
     .help = "prompt tokens (default 512); 0: do not measure prefill"},
    {'n', "n-gen", "N,...", OPTION_EACH, .each = take_gens,
     .help = "generated tokens (default 64); 0: do not measure decode"},
    {'b', "batch", "N,...", OPTION_EACH, .each = take_batches, .help = "streams that run at once, 1..64 (default 1)"},
    {'d', "depth", "N,...", OPTION_EACH, .each = take_depths,
     .help = "tokens in each context beforehand (default 0)"},
    {'t', "threads", "N,...", OPTION_EACH, .each = take_threads,
     .help = "compute threads, 1..64 (default: what CPU quota, affinity and physical cores allow)"},
    {0, "kv-type", "TYPE,...", OPTION_EACH, .each = take_kv_types,
     .help = "how keys and values are kept: f16, f32, q8 (default f16)"},
    {'r', "repeats", "N", OPTION_INT, offsetof(bench_options, n_repeats), 1, BENCH_MOST_REPEATS,
     .help = "runs of each, 1..100 (default 3); the median is reported"},
    {0, "no-limits", NULL, OPTION_FLAG, offsetof(bench_options, wants_no_limits),
     .help = "do not measure the machine's memory bandwidth and arithmetic"},
};
const option bench_answer_rows[BENCH_ANSWER_ROWS] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(bench_options, is_json),
     .help = "write a JSON array with an object for each configuration"},
    {0, "html", "FILE", OPTION_TEXT, offsetof(bench_options, html_path),
     .help = "also write a page: rates by depth and by streams, beside the machine's limits, and with --profile by "
             "operation"},
    {0, "vs", "FILE", OPTION_TEXT, offsetof(bench_options, vs_path),
     .help = "compare with a file that --json wrote; changes over 3 % are flagged"},
    {0, "fail-on-regression", NULL, OPTION_FLAG, offsetof(bench_options, fails_when_slower),
     .help = "with --vs: exit with 1 when a figure is more than 3 % slower"},
    {0, "profile", NULL, OPTION_FLAG, offsetof(bench_options, wants_profile),
     .help = "one more run of each, with its time by operation and by layer"},
    {0, "trace", "FILE", OPTION_TEXT, offsetof(bench_options, trace_path),
     .help = "one more run of each as a timeline in Chrome's trace format (open it in Perfetto)"},
};

static void use_default(bench_list *list, int32_t v) {
    if (list->n == 0) *list = (bench_list){{v}, 1};
}

void bench_options_complete(bench_options *w) {
    use_default(&w->prompts, 512);
    use_default(&w->gens, 64);
    use_default(&w->depths, 0);
    use_default(&w->batches, 1);
    use_default(&w->threads, 0);
    use_default(&w->kv_types, 0);
    if (w->n_repeats == 0) w->n_repeats = 3;
    if (w->n_models == 0) w->models[w->n_models++] = NULL;
}
