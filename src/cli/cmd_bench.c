// cli/cmd_bench.c - `runnel bench`: prompt and generation speed of every combination asked for.
#include "app/files.h"
#include "app/json_write.h"
#include "app/numbers.h"
#include "app/wrap.h"
#include "cli/bench_case.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/memory_print.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_VALUES = 16, COLUMNS = 9 };

typedef struct value_list {
    int32_t v[MAX_VALUES];
    size_t n;
} value_list;

typedef struct bench {
    machine on;
    value_list prompts, gens, depths, threads;
    int32_t n_repeats;
    bool is_json;
    rn_model_info model;
    bytes text; // the answer as JSON
    json_writer json;
    char *cells; // the answer as a table: COLUMNS texts of HUMAN_BYTES a row
    size_t n_rows;
    bytes memory_text; // of the last engine, after its last case
} bench;

static bool take_values(value_list *list, int32_t min, int32_t max, const char *text, char *why) {
    for (;; text++) { // past the comma
        char word[32];
        int64_t v;
        const size_t n = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
        if (!number_read_whole(word, min, max, &v, why)) return false;
        if (list->n == MAX_VALUES) {
            snprintf(why, NUMBER_WHY, "more than %d values", MAX_VALUES);
            return false;
        }
        list->v[list->n++] = (int32_t)v;
        text += n;
        if (!*text) return true;
    }
}

enum { MOST_TOKENS = 1 << 24 };
static bool take_prompts(void *target, const char *text, char *why) {
    return take_values(&((bench *)target)->prompts, 0, MOST_TOKENS, text, why);
}
static bool take_gens(void *target, const char *text, char *why) {
    return take_values(&((bench *)target)->gens, 0, MOST_TOKENS, text, why);
}
static bool take_depths(void *target, const char *text, char *why) {
    return take_values(&((bench *)target)->depths, 0, MOST_TOKENS, text, why);
}
static bool take_threads(void *target, const char *text, char *why) {
    return take_values(&((bench *)target)->threads, 1, 64, text, why);
}

static const option bench_rows[] = {
    {'p', "n-prompt", "N,...", OPTION_EACH, .each = take_prompts,
     .help = "tokens of the prompt (default 512); 0: do not measure it"},
    {'n', "n-gen", "N,...", OPTION_EACH, .each = take_gens,
     .help = "tokens generated (default 64); 0: do not measure it"},
    {'d', "depth", "N,...", OPTION_EACH, .each = take_depths,
     .help = "tokens in the context before either (default 0)"},
    {'t', "threads", "N,...", OPTION_EACH, .each = take_threads,
     .help = "computing threads, 1..64 (default: what CPU quota, affinity and physical cores allow)"},
    {'r', "repeats", "N", OPTION_INT, offsetof(bench, n_repeats), 1, 100,
     .help = "runs of each, 1..100 (default 3); the median counts"},
    {0, "json", NULL, OPTION_FLAG, offsetof(bench, is_json),
     .help = "an array with an object for each configuration"},
};

// From now on the peak counts anew, where the kernel lets us (proc(5), /proc/PID/clear_refs).
static void reset_peak(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

static double peak_mb(void) {
    char line[256];
    long kb = 0;
    struct rusage usage;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kb == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0) kb = strtol(line + 6, NULL, 10);
    if (f) fclose(f);
    if (kb == 0 && getrusage(RUSAGE_SELF, &usage) == 0) kb = usage.ru_maxrss;
    return (double)kb * 1024 / 1e6;
}

static void put_real(json_writer *w, const char *name, double v) {
    json_put_key(w, name);
    json_put_rounded(w, v, 3);
}

static void put_whole(json_writer *w, const char *name, int64_t v) {
    json_put_key(w, name);
    json_put_whole(w, v);
}

static void add_json(bench *b, const rn_engine_info *e, const rn_memory *memory, const bench_case *c,
                     const bench_result *r, double read_gb_s, double peak) {
    json_writer *const w = &b->json;
    json_put_begin(w, '{');
    json_put_key(w, "model");
    json_put_string(w, b->model.path);
    json_put_key(w, "cpu");
    json_put_string(w, e->cpu);
    put_whole(w, "threads", e->n_threads);
    json_put_key(w, "kv_type");
    json_put_string(w, e->kv_type);
    put_whole(w, "depth", c->depth);
    put_whole(w, "n_prompt", c->n_prompt);
    put_whole(w, "n_gen", c->n_gen);
    put_whole(w, "repeats", c->n_repeats);
    put_real(w, "prefill_tok_s", r->prefill_tok_s);
    put_real(w, "decode_tok_s", r->decode_tok_s);
    put_real(w, "ttft_ms", r->ttft_ms);
    put_real(w, "read_gb_s", read_gb_s);
    put_real(w, "peak_rss_mb", peak);
    memory_put(w, memory);
    json_put_end(w, '}');
}

static void add_cell(bench *b, size_t column, double v, int n_digits) {
    char *cell = b->cells + ((b->n_rows - 1) * COLUMNS + column) * HUMAN_BYTES;
    if (isnan(v))
        snprintf(cell, HUMAN_BYTES, "-");
    else
        snprintf(cell, HUMAN_BYTES, "%.*f", n_digits, v);
}

static void add_row(bench *b, const rn_engine_info *e, const bench_case *c, const bench_result *r, double read_gb_s,
                    double peak) {
    b->n_rows++;
    b->cells = app_realloc(b->cells, b->n_rows * COLUMNS * HUMAN_BYTES);
    const struct {
        double v;
        int n_digits;
    } cells[COLUMNS] = {{e->n_threads, 0},     {c->depth, 0},   {c->n_prompt, 0},
                        {r->prefill_tok_s, 1}, {r->ttft_ms, 1}, {c->n_gen, 0},
                        {r->decode_tok_s, 1},  {read_gb_s, 2},  {peak, 0}};
    for (size_t i = 0; i < COLUMNS; i++) add_cell(b, i, cells[i].v, cells[i].n_digits);
}

static void add_table(const bench *b, bytes *to) {
    static const char *const heads[COLUMNS] = {"threads", "depth", "prompt",    "tok/s",  "first ms",
                                               "gen",     "tok/s", "read GB/s", "peak MB"};
    const char **cells = app_alloc((b->n_rows + 1) * COLUMNS * sizeof *cells);
    memcpy(cells, heads, sizeof heads);
    for (size_t i = 0; i < b->n_rows * COLUMNS; i++) cells[COLUMNS + i] = b->cells + i * HUMAN_BYTES;
    table_add(to, cells, b->n_rows + 1, COLUMNS);
    free(cells);
}

static int measure(bench *b, bench_case c) {
    rn_engine_info engine = {.struct_size = sizeof engine};
    rn_memory memory = {.struct_size = sizeof memory};
    rn_error err = {0};
    bench_result result;
    if (rn_engine_get_info(b->on.engine, 0, &engine, &err) != RN_OK) return machine_failed(&err);
    const bench_case wish = c;
    if (!bench_case_cut(&c, engine.n_ctx)) {
        say("--depth: %d leaves no room in the context of %d", c.depth, engine.n_ctx);
        return EXIT_CODE_FAILED;
    }
    if (c.n_prompt != wish.n_prompt)
        say("prompt cut from %d to %d tokens: the context holds %d", wish.n_prompt, c.n_prompt, engine.n_ctx);
    if (c.n_gen != wish.n_gen)
        say("generation cut from %d to %d tokens: the context holds %d", wish.n_gen, c.n_gen, engine.n_ctx);
    progress_update(&b->on.bar, "measuring", PROGRESS_COUNT, NULL, b->n_rows, 0);
    reset_peak();
    if (bench_case_run(b->on.engine, b->model.n_vocab, &c, &result, &err) != RN_OK) return machine_failed(&err);
    const double peak = peak_mb();
    if (rn_engine_get_memory(b->on.engine, &memory, &err) != RN_OK) return machine_failed(&err);
    // A generated token needs every weight once.
    const double read_gb_s = (double)(engine.mapped_bytes + engine.repacked_bytes) * result.decode_tok_s / 1e9;
    add_json(b, &engine, &memory, &c, &result, read_gb_s, peak);
    b->memory_text.n = 0;
    memory_add_table(&b->memory_text, &engine, &memory);
    add_row(b, &engine, &c, &result, read_gb_s, peak);
    return EXIT_CODE_OK;
}

// Every combination, for the engine that is open.
static int for_each_case(bench *b, int (*visit)(bench *, bench_case)) {
    int code = EXIT_CODE_OK;
    for (size_t d = 0; d < b->depths.n; d++)
        for (size_t p = 0; p < b->prompts.n; p++)
            for (size_t g = 0; g < b->gens.n && code == EXIT_CODE_OK; g++)
                code = visit(b, (bench_case){b->depths.v[d], b->prompts.v[p], b->gens.v[g], b->n_repeats});
    return code;
}

// The context is as large as the largest case needs, not as the model allows: memory is for what is measured.
static int widen(bench *b, bench_case c) {
    const int32_t n = bench_case_positions(&c);
    if (n > b->on.n_ctx) b->on.n_ctx = n;
    if (b->model.n_ctx_train > 0 && b->on.n_ctx > b->model.n_ctx_train) b->on.n_ctx = b->model.n_ctx_train;
    if (c.n_prompt || c.n_gen) return EXIT_CODE_OK;
    say("bench: nothing to measure with -p 0 and -n 0");
    return EXIT_CODE_USAGE;
}

static int run_bench(bench *b) {
    rn_error err = {0};
    output out = {0};
    interrupt_catch();
    int code = machine_open_model(&b->on);
    if (code != EXIT_CODE_OK) return code;
    if (rn_model_get_info(b->on.model, &b->model, &err) != RN_OK) return machine_failed(&err);
    code = for_each_case(b, widen);
    json_put_begin(&b->json, '[');
    for (size_t t = 0; t < b->threads.n && code == EXIT_CODE_OK; t++) {
        b->on.n_threads = b->threads.v[t];
        code = machine_open_engine(&b->on);
        if (code == EXIT_CODE_OK) code = for_each_case(b, measure);
        machine_close_engine(&b->on);
    }
    if (code != EXIT_CODE_OK) return code;
    progress_hide(&b->on.bar);
    json_put_end(&b->json, ']');
    bytes_add_text(&b->text, "\n");
    if (!b->is_json) {
        b->text.n = 0;
        add_table(b, &b->text);
        bytes_add_text(&b->text, "\n");
        bytes_add(&b->text, b->memory_text.data, b->memory_text.n);
    }
    output_write(&out, b->text.data, b->text.n);
    return output_exit(&out, EXIT_CODE_OK);
}

static void use_default(value_list *list, int32_t v) {
    if (list->n == 0) *list = (value_list){{v}, 1};
}

int cmd_bench(int n_args, char **args) {
    bench b = {.n_repeats = 3, .model = {.struct_size = sizeof b.model}};
    options parsed;
    machine_init(&b.on);
    b.json.out = &b.text;
    const option_group groups[] = {
        {"Measured", bench_rows, sizeof bench_rows / sizeof *bench_rows, &b},
        MACHINE_MODEL_GROUP(&b.on),
        MACHINE_ENGINE_GROUP(&b.on),
    };
    const option_spec spec = {
        .command = "bench",
        .usage = "[-m MODEL] [-p N] [-n N] [-d N] [-t N] [options]",
        .about =
            "Measure how fast a prompt is read and text is made, each in a context of its own. Lists of values give every "
            "combination. What the model's context cannot hold is cut, and said.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
    };
    const option_outcome outcome = options_parse(&spec, n_args, args, &parsed);
    int code = outcome == OPTIONS_SHOWN ? EXIT_CODE_OK : EXIT_CODE_USAGE;
    if (outcome == OPTIONS_PARSED) {
        use_default(&b.prompts, 512);
        use_default(&b.gens, 64);
        use_default(&b.depths, 0);
        use_default(&b.threads, 0);
        code = run_bench(&b);
    }
    options_free(&parsed);
    bytes_free(&b.text);
    bytes_free(&b.memory_text);
    free(b.cells);
    machine_close(&b.on);
    return code;
}
