// cli/cmd_bench.c - `runnel bench`: measures prompt and generation speed of each combination and compares it
// with the machine's limits.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/machine.h"
#include "cli/bench_old.h"
#include "cli/bench_options.h"
#include "cli/bench_print.h"
#include "cli/bench_trace.h"
#include "cli/command.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct bench {
    machine on;
    bench_options opt;
    bench_old *old; // NULL: none
    bench_trace trace;
    bench_machine here;
    out_file html;
    rn_model_info model; // the open model
    rn_limits limits;    // of the open engine
    bench_ground ground;
    bench_row *rows;
    size_t n_rows;
} bench;

// Resets the process's peak memory, if the kernel allows it (proc(5), /proc/PID/clear_refs).
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

static bench_row *add_row(bench *b, const rn_engine_info *e, const bench_case *c) {
    b->rows = app_realloc(b->rows, (b->n_rows + 1) * sizeof *b->rows);
    bench_row *r = &b->rows[b->n_rows++];
    *r = (bench_row){
        .model = app_copy_text(b->model.path),
        .architecture = app_copy_text(b->model.architecture),
        .type = app_copy_text(b->model.n_types ? b->model.types[0].type : ""),
        .model_bytes = b->model.file_bytes,
        .n_params = b->model.n_params,
        .n_threads = e->n_threads,
        .c = *c,
        .limits = b->limits,
        .memory = {.struct_size = sizeof(rn_memory)},
    };
    snprintf(r->cpu, sizeof r->cpu, "%s", e->cpu);
    snprintf(r->arithmetic, sizeof r->arithmetic, "%s", e->arithmetic);
    snprintf(r->kv_type, sizeof r->kv_type, "%s", e->kv_type);
    return r;
}

// Computes the row's rate relative to the same generation with a single stream, if that was measured.
static void find_batch_1(bench *b, bench_row *row) {
    for (const bench_row *r = b->rows; r <= row; r++)
        if (r->c.n_batch == 1 && r->c.depth == row->c.depth && r->c.n_gen == row->c.n_gen &&
            r->n_threads == row->n_threads && strcmp(r->model, row->model) == 0 &&
            strcmp(r->kv_type, row->kv_type) == 0 && r->figures[BENCH_GENERATION].n_values)
            row->batch_ratio = row->figures[BENCH_GENERATION].median / r->figures[BENCH_GENERATION].median;
}

static void keep_profile(bench *b, bench_row *row, bench_kind kind) {
    rn_profile *const p = row->figures[kind].profile;
    if (!p) return;
    char label[BENCH_LABEL_BYTES];
    bench_row_label(row, kind, label);
    char *name = app_text("%s, %s, %d threads, %s", bench_base_name(row->model), label, row->n_threads, row->kv_type);
    progress_hide(&b->on.bar);
    if (b->opt.wants_profile) bench_sums_make(&row->sums[kind], p);
    if (b->opt.trace_path) bench_trace_add(&b->trace, name, p);
    free(name);
    rn_profile_free(p);
    row->figures[kind].profile = NULL;
}

static int say_no_room(const bench_case *c, int32_t n_ctx) {
    say("--depth: %d leaves no room in the context of %d", c->depth, n_ctx);
    return EXIT_CODE_FAILED;
}

static int cut_case(bench *b, bench_case *c, int32_t n_ctx) {
    const bench_case requested = *c;
    if (!bench_case_cut(c, n_ctx)) return say_no_room(c, n_ctx);
    progress_hide(&b->on.bar);
    if (c->n_prompt != requested.n_prompt)
        say("prompt cut from %d to %d tokens: the context holds %d", requested.n_prompt, c->n_prompt, n_ctx);
    if (c->n_gen != requested.n_gen)
        say("generation cut from %d to %d tokens: the context holds %d", requested.n_gen, c->n_gen, n_ctx);
    return EXIT_CODE_OK;
}

static int measure(bench *b, bench_case c) {
    rn_engine_info engine = {.struct_size = sizeof engine};
    rn_error err = {0};
    rn_status st = RN_OK;
    if (rn_engine_get_info(b->on.engine, 0, &engine, &err) != RN_OK) return machine_failed(&err);
    const int code = cut_case(b, &c, engine.n_ctx);
    if (code != EXIT_CODE_OK) return code;
    progress_update(&b->on.bar, "measuring", PROGRESS_COUNT, NULL, b->n_rows, 0);
    reset_peak();
    bench_row *row = add_row(b, &engine, &c);
    for (bench_kind k = 0; k < BENCH_N_KINDS && st == RN_OK; k++) {
        if (!bench_row_tokens(row, k)) continue;
        st = bench_case_run(&b->ground, &c, k, b->opt.wants_profile || b->opt.trace_path,
                            b->opt.trace_path ? BENCH_TRACE_EVENTS : 0, &row->figures[k], &err);
        if (st == RN_OK) keep_profile(b, row, k);
    }
    if (st != RN_OK) return machine_failed(&err);
    row->peak_mb = peak_mb();
    if (rn_engine_get_memory(b->on.engine, &row->memory, &err) != RN_OK) return machine_failed(&err);
    find_batch_1(b, row);
    progress_hide(&b->on.bar);
    if (b->old) bench_old_find(b->old, row);
    return EXIT_CODE_OK;
}

// Calls visit() for each combination. Prompts use one stream, so they are measured only with the first value of
// --batch.
static int for_each_case(bench *b, int (*visit)(bench *, bench_case)) {
    int code = EXIT_CODE_OK;
    for (size_t d = 0; d < b->opt.depths.n; d++)
        for (size_t p = 0; p < b->opt.prompts.n; p++)
            for (size_t g = 0; g < b->opt.gens.n; g++)
                for (size_t s = 0; s < b->opt.batches.n && code == EXIT_CODE_OK; s++) {
                    const bench_case c = {b->opt.depths.v[d], s == 0 ? b->opt.prompts.v[p] : 0, b->opt.gens.v[g],
                                          b->opt.batches.v[s], b->opt.n_repeats};
                    if (s == 0 || c.n_gen) code = visit(b, c);
                }
    return code;
}

// Sets the context to what the largest case needs rather than to the model's limit, to save memory.
static int widen(bench *b, bench_case c) {
    const int32_t n = bench_case_positions(&c);
    if (n > b->on.n_ctx) b->on.n_ctx = n;
    if (b->model.n_ctx_train > 0 && b->on.n_ctx > b->model.n_ctx_train) b->on.n_ctx = b->model.n_ctx_train;
    if (c.n_batch > b->on.n_streams) b->on.n_streams = c.n_batch;
    if (c.n_prompt == 0 && c.n_gen == 0) {
        say("bench: nothing to measure with -p 0 and -n 0");
        return EXIT_CODE_USAGE;
    }
    const int32_t n_ctx = b->model.n_ctx_train;
    return n_ctx <= 0 || bench_case_cut(&c, n_ctx) ? EXIT_CODE_OK : say_no_room(&c, n_ctx);
}

static int measure_limits(bench *b) {
    rn_error err = {0};
    b->limits = (rn_limits){0};
    if (b->opt.wants_no_limits) return EXIT_CODE_OK;
    b->limits.struct_size = sizeof b->limits;
    progress_update(&b->on.bar, "measuring the machine", PROGRESS_COUNT, NULL, 0, 0);
    return rn_measure_limits(b->on.engine, &b->limits, &err) == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

static int open_model(bench *b, size_t i) {
    rn_error err = {0};
    b->on.model_name = b->opt.models[i];
    const int code = machine_open_model(&b->on);
    if (code != EXIT_CODE_OK) return code;
    return rn_model_get_info(b->on.model, &b->model, &err) == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

static int run_engine(bench *b) {
    int code = machine_open_engine(&b->on);
    if (code == EXIT_CODE_OK) code = measure_limits(b);
    b->ground = (bench_ground){.engine = b->on.engine, .n_vocab = b->model.n_vocab};
    if (code == EXIT_CODE_OK) code = for_each_case(b, measure);
    bench_ground_clear(&b->ground);
    machine_close_engine(&b->on);
    return code;
}

static int run_model(bench *b, size_t i) {
    int code = open_model(b, i);
    b->on.n_ctx = 0;
    if (code == EXIT_CODE_OK) code = for_each_case(b, widen);
    for (size_t t = 0; t < b->opt.threads.n; t++)
        for (size_t k = 0; k < b->opt.kv_types.n && code == EXIT_CODE_OK; k++) {
            b->on.n_threads = b->opt.threads.v[t];
            b->on.kv_type = b->opt.kv_types.v[k];
            code = run_engine(b);
        }
    machine_close_models(&b->on);
    return code;
}

static bool write_page(bench *b) {
    bytes text = {0};
    bench_print_html(b->rows, b->n_rows, &b->here, &text);
    out_file_write(&b->html, text.data, text.n);
    bytes_free(&text);
    return out_file_commit(&b->html);
}

static int answer(bench *b) {
    bytes text = {0};
    output out = {0};
    int code = EXIT_CODE_OK;
    progress_hide(&b->on.bar);
    if (b->old) bench_old_say_rest(b->old, b->here.processor);
    if (b->opt.trace_path && !bench_trace_commit(&b->trace)) code = EXIT_CODE_FAILED;
    if (b->opt.html_path && !write_page(b)) code = EXIT_CODE_FAILED;
    if (b->opt.is_json)
        bench_print_json(b->rows, b->n_rows, &b->here, &text);
    else
        bench_print_text(b->rows, b->n_rows, &b->here, &text);
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    for (size_t i = 0; i < b->n_rows && b->opt.fails_when_slower; i++)
        for (bench_kind k = 0; k < BENCH_N_KINDS; k++) {
            const char *verdict = bench_row_verdict(&b->rows[i], k);
            if (verdict && strcmp(verdict, "slower") == 0) code = EXIT_CODE_FAILED;
        }
    return output_exit(&out, code);
}

// Finds errors before anything is measured: in the models, the file to compare with, and the trace file's path.
static int check_all(bench *b) {
    int code = EXIT_CODE_OK;
    for (size_t i = 0; i < b->opt.n_models && code == EXIT_CODE_OK; i++) {
        code = open_model(b, i);
        if (code == EXIT_CODE_OK) code = for_each_case(b, widen);
        if (code == EXIT_CODE_OK && b->opt.html_path)
            code = machine_check_output(&b->on, b->opt.vs_path, b->opt.html_path);
        machine_close_models(&b->on);
    }
    if (code == EXIT_CODE_OK && b->opt.vs_path && !(b->old = bench_old_read(b->opt.vs_path))) code = EXIT_CODE_FAILED;
    if (code == EXIT_CODE_OK && b->opt.trace_path && !bench_trace_open(&b->trace, b->opt.trace_path))
        code = EXIT_CODE_FAILED;
    if (code == EXIT_CODE_OK && b->opt.html_path && !out_file_open(&b->html, b->opt.html_path))
        code = EXIT_CODE_FAILED;
    return code;
}

static int run_bench(bench *b) {
    interrupt_catch();
    bench_machine_read(&b->here);
    int code = check_all(b);
    for (size_t i = 0; i < b->opt.n_models && code == EXIT_CODE_OK; i++) code = run_model(b, i);
    return code == EXIT_CODE_OK ? answer(b) : code;
}

static int start(bench *b, const options *parsed) {
    if (!b->opt.vs_path && options_refuse(parsed, "fail-on-regression", "without --vs")) return EXIT_CODE_USAGE;
    bench_options_complete(&b->opt);
    return run_bench(b);
}

int cmd_bench(int n_args, char **args) {
    bench b = {.model = {.struct_size = sizeof b.model}};
    options parsed;
    machine_init(&b.on);
    const option_group groups[] = {
        {"What to measure", bench_measured_rows, BENCH_MEASURED_ROWS, &b.opt},
        {"Output", bench_answer_rows, BENCH_ANSWER_ROWS, &b.opt},
        {"Model", bench_model_rows, BENCH_MODEL_ROWS, &b.opt},
        MACHINE_REST_GROUP(&b.on),
    };
    const option_spec spec = {
        .command = "bench",
        .usage = "[-m MODEL]... [-p N] [-n N] [-b N] [-d N] [-t N] [options]",
        .about = "Measure prefill and decode speed, and the machine's memory bandwidth and arithmetic "
                 "speed for comparison. Lists of values are combined in every way. What does not fit "
                 "the model's context is cut, with a message.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = start(&b, &parsed);
    options_free(&parsed);
    for (size_t i = 0; i < b.n_rows; i++) bench_row_free(&b.rows[i]);
    free(b.rows);
    bench_trace_drop(&b.trace);
    out_file_drop(&b.html);
    bench_old_free(b.old);
    machine_close(&b.on);
    return code;
}
