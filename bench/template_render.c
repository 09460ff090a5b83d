// bench/template_render.c - how long chat templates take over a long conversation with tools.
//
//   template_render FILE.jinja...     one hundred messages; medians of one thread's time
//
// The project has no published model's template: files are the caller's.
#include "base/clock.h"
#include "base/file_map.h"
#include "formats/vocab/template_context.h"
#include "jinja/template.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RUNS = 31, N_MESSAGES = 100 };

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"description\": \"Weather of a city.\", \"parameters\": "
    "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"description\": \"Name of the city\"}, \"unit\": "
    "{\"type\": \"string\", \"enum\": [\"C\", \"F\"]}}, \"required\": [\"city\"]}}}, {\"type\": \"function\", \"function\": {\"name\": "
    "\"add\", \"description\": \"Adds numbers.\", \"parameters\": {\"type\": \"object\", \"properties\": {\"values\": {\"type\": "
    "\"array\", \"items\": {\"type\": \"number\"}}}, \"required\": [\"values\"]}}}]";

// Rounds of four messages: a question, a call, its result, an answer.
static char *conversation(void) {
    static const char *const round[] = {
        "{\"role\": \"user\", \"content\": \"What is the weather in city number %d? Please answer in a full sentence, and say whether "
        "I shall need an umbrella on my way to the station tomorrow morning.\"}",
        "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"id\": \"call%05d\", \"type\": \"function\", \"function\": "
        "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"unit\": \"C\"}}}]}",
        "{\"role\": \"tool\", \"tool_call_id\": \"call%05d\", \"name\": \"get_weather\", \"content\": \"{\\\"temp\\\": 7.5, \\\"sky\\\": "
        "\\\"grey\\\"}\"}",
        "{\"role\": \"assistant\", \"content\": \"It is 7.5 degrees and grey there (answer %d). Rain is not expected before the "
        "evening, so that you can leave the umbrella at home.\"}"};
    char *const text = malloc((size_t)N_MESSAGES * 512 + sizeof tools + 512), *to = text;
    if (!text) abort();
    to += sprintf(
        to,
        "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"add_generation_prompt\": true, \"tools\": %s, \"messages\": [",
        tools);
    for (int i = 0; i < N_MESSAGES; i++) {
        to += sprintf(to, "%s", i ? ", " : "");
        to += sprintf(to, round[i % 4], i / 4 * 4 + 1);
    }
    sprintf(to, "]}");
    return text;
}

static int by_size(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double median(double *ms) {
    qsort(ms, N_RUNS, sizeof *ms, by_size);
    return ms[N_RUNS / 2];
}

static double ms_since(int64_t ns) { return (double)(clock_thread_cpu_ns() - ns) * 1e-6; }

// One run of all three stages; false: the template failed.
static bool run(const char *source, size_t n, const char *json, double ms[3], size_t *n_out, rn_error *err) {
    struct arena mem = {0};
    const struct template_value *variables = NULL;
    struct template_output out = {0};
    chat_template *t = NULL;
    int64_t at = clock_thread_cpu_ns();
    rn_status st = template_compile(source, n, "template", &t, err);
    ms[0] = ms_since(at);
    at = clock_thread_cpu_ns();
    if (st == RN_OK) st = template_context_read(json, strlen(json), template_token_names, &mem, &variables, err);
    ms[1] = ms_since(at);
    const struct template_env env = {.variables = variables};
    at = clock_thread_cpu_ns();
    if (st == RN_OK) st = template_render(t, &env, &out, err);
    ms[2] = ms_since(at);
    *n_out = out.text.n;
    template_output_free(&out);
    template_destroy(t);
    arena_free(&mem);
    return st == RN_OK;
}

static void measure(const char *path, const char *json) {
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    double ms[3][N_RUNS], one[3];
    size_t n_out = 0;
    file_map file = {.fd = -1};
    rn_error err = {0};
    bool ok = file_map_open(path, FILE_LOAD_READ, NULL, NULL, &file, &err) == RN_OK;
    for (int i = 0; ok && i < N_RUNS; i++) {
        ok = run((const char *)file.data, file.size, json, one, &n_out, &err);
        for (int k = 0; k < 3; k++) ms[k][i] = one[k];
    }
    file_map_close(&file);
    if (ok)
        printf("| %s | %zu | %.3f | %.3f | %.3f |\n", name, n_out, median(ms[0]), median(ms[1]), median(ms[2]));
    else
        printf("| %s | %s | | | |\n", name, err.text);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        puts("template_render: give templates: template_render FILE.jinja...");
        return 0;
    }
    char *const json = conversation();
    printf("%d messages, %zu bytes of JSON; milliseconds of one thread, medians of %d\n\n", N_MESSAGES, strlen(json),
           N_RUNS);
    printf("| template | bytes rendered | compile | read the JSON | render |\n|---|---|---|---|---|\n");
    for (int i = 1; i < argc; i++) measure(argv[i], json);
    free(json);
    return 0;
}
