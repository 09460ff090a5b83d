// pull/pull_main.c - the program runnel-pull, which `runnel pull` executes: fetches models by name. A program of its own, since loading what
// TLS and HTTP need would make every start of `runnel` slower.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/models/catalogue.h"
#include "app/models/model_cache.h"
#include "app/models/model_names.h"
#include "app/numbers.h"
#include "app/options.h"
#include "app/process.h"
#include "app/say.h"
#include "app/settings.h"
#include "app/term.h"
#include "app/wrap.h"
#include "pull/download.h"
#include "pull/picture_fetch.h"
#include "pull/pull_plan.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct pull {
    int32_t n_connections, timeout_s;
    bool is_dry;
    output out;
} pull;

static const option pull_rows[] = {
    {'j', "connections", "N", OPTION_INT, offsetof(pull, n_connections), 1, 16,
     .help = "connections to fetch a file over, 1..16 (default 4)"},
    {0, "timeout", "SECONDS", OPTION_INT, offsetof(pull, timeout_s), 1, 3600,
     .help = "seconds after which a connection that brings nothing is given up and made anew, 1..3600 (default 30)"},
    {0, "dry-run", NULL, OPTION_FLAG, offsetof(pull, is_dry),
     .help = "say which files would be fetched, and fetch none"},
};

static const char *const notes = "NAME is a name of that list, or one of\n"
                                 "  hf:ORG/REPO[@REVISION][:FILE | :QUANT]\n"
                                 "      a repository of the Hugging Face hub: one of its GGUF files with all parts\n"
                                 "      (QUANT: Q8_0, ...; Q4_K_M first if there is none), or its folder\n"
                                 "  ollama:[NAMESPACE/]NAME[:TAG]\n"
                                 "      a model of Ollama's registry\n"
                                 "  https://HOST/PATH/FILE.gguf\n"
                                 "      a file\n"
                                 "\n"
                                 "-m takes the same names then. Files go below $RUNNEL_CACHE, else\n"
                                 "~/.cache/runnel. A pull that was interrupted goes on where it stopped, and what\n"
                                 "came is compared with the sha256 that the source announces. HF_TOKEN is sent to\n"
                                 "HF_ENDPOINT (default https://huggingface.co) and nowhere else; https_proxy and\n"
                                 "no_proxy count.\n"
                                 "\n"
                                 "  runnel pull hf:Qwen/Qwen3-0.6B-GGUF:Q8_0\n"
                                 "  runnel run -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 \"Once upon a time\"";

static uint64_t total_bytes(const pull_plan *plan) {
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n_files; i++) {
        if (plan->files[i].n_bytes == NO_SIZE || n > NO_SIZE / 2) return NO_SIZE;
        n += plan->files[i].n_bytes;
    }
    return n;
}

static void print_plan(pull *p, const pull_plan *plan) {
    bytes text = {0};
    char size[HUMAN_BYTES];
    for (size_t i = 0; i < plan->n_files; i++) {
        const pull_file *const f = &plan->files[i];
        bytes_add_format(&text, "%10s  %s\n", f->n_bytes == NO_SIZE ? "?" : human_size(f->n_bytes, size), f->name);
    }
    output_write(&p->out, text.data, text.n);
    bytes_free(&text);
}

static void say_fetched(const pull_meter *m) {
    char size[HUMAN_BYTES], time[HUMAN_BYTES], speed[HUMAN_BYTES];
    const double ms = (double)(now_ns() - m->begin_ns) * 1e-6;
    if (!m->n_fetched || !term_is(STDERR_FILENO)) return;
    say("fetched %s in %s, %s/s", human_size(m->n_fetched, size), human_time(ms, time),
        human_size((uint64_t)((double)m->n_fetched / (ms + 1) * 1000), speed));
}

static int fetch_all(pull *p, const http_client *client, const char *name, const pull_plan *plan) {
    pull_meter meter;
    int code = EXIT_CODE_OK;
    pull_meter_begin(&meter, total_bytes(plan));
    for (size_t i = 0; code == EXIT_CODE_OK && i < plan->n_files; i++) {
        const pull_file *const f = &plan->files[i];
        switch (download_file(f, plan->folder, client, p->n_connections, &meter)) {
        case DOWNLOAD_FETCHED:
        case DOWNLOAD_WAS_THERE: break;
        case DOWNLOAD_INTERRUPTED:
            progress_hide(&meter.bar);
            say("%s: interrupted: the next `runnel pull` goes on from here", name);
            code = EXIT_CODE_INTERRUPTED;
            break;
        case DOWNLOAD_FAILED: code = EXIT_CODE_FAILED; break;
        }
        if (f->n_bytes != NO_SIZE) meter.n_files_done += f->n_bytes;
    }
    progress_end(&meter.bar);
    if (code != EXIT_CODE_OK) return code;
    say_fetched(&meter);
    char *const line = app_text("%s\n", plan->open);
    output_write(&p->out, line, strlen(line));
    free(line);
    return code;
}

static int pull_model(pull *p, const char *name) {
    char *const token = hub_token(), *const endpoint = hub_endpoint();
    const http_client client = {token, endpoint, p->timeout_s};
    model_ref ref;
    pull_plan plan = {0};
    char why[NUMBER_WHY];
    int code = EXIT_CODE_FAILED;
    if (!model_ref_parse(model_name_meant(name), &ref, why)) {
        say("%s: %s", name, why);
        code = EXIT_CODE_USAGE;
    } else if (pull_plan_make(&ref, name, &client, &plan)) {
        code = EXIT_CODE_OK;
        if (p->is_dry)
            print_plan(p, &plan);
        else
            code = fetch_all(p, &client, name, &plan);
    } else if (interrupt_came()) {
        code = EXIT_CODE_INTERRUPTED;
    }
    pull_plan_free(&plan);
    free(token);
    free(endpoint);
    return output_exit(&p->out, code);
}

// The catalogue, with what is fetched already and what this machine has memory for.
static int print_catalogue(pull *p) {
    enum { N_COLUMNS = 7 };
    static const char *const titles[N_COLUMNS] = {"name", "size", "memory", "here", "licence", "for", "from"};
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const char **const cells = app_alloc((n_catalogue + 1) * N_COLUMNS * sizeof *cells);
    char(*const sizes)[2][HUMAN_BYTES] = app_alloc(n_catalogue * sizeof *sizes);
    bytes text = {0};
    memcpy(cells, titles, sizeof titles);
    for (size_t i = 0; i < n_catalogue; i++) {
        const catalogue_row *const row = &catalogue[i];
        const char **const c = cells + (i + 1) * N_COLUMNS;
        model_ref ref;
        char why[MODEL_WHY];
        char *const path = model_ref_parse(row->reference, &ref, why) ? model_cache_find(&ref, why) : NULL;
        c[0] = row->name;
        c[1] = human_size((uint64_t)row->megabytes * 1000000, sizes[i][0]);
        c[2] = human_size(catalogue_memory(row), sizes[i][1]);
        c[3] = path ? "fetched" : catalogue_memory(row) <= memory ? "fits" : "too large";
        c[4] = row->licence, c[5] = row->use, c[6] = row->reference;
        free(path);
    }
    table_add(&text, cells, n_catalogue + 1, N_COLUMNS);
    bytes_add_text(&text, "\nrunnel pull NAME fetches one of these, or any other: runnel pull --help\n");
    output_write(&p->out, text.data, text.n);
    bytes_free(&text);
    free(sizes);
    free(cells);
    return output_exit(&p->out, EXIT_CODE_OK);
}

static bool refuse_options(const options *parsed) {
    for (size_t i = 0; i < sizeof pull_rows / sizeof *pull_rows; i++)
        if (options_refuse(parsed, pull_rows[i].name, "without a NAME")) return true;
    return false;
}

static int run(int n_args, char **args) {
    pull p = {.n_connections = 4, .timeout_s = 30};
    options parsed;
    int code;
    const option_group groups[] = {{"Fetching", pull_rows, sizeof pull_rows / sizeof *pull_rows, &p}};
    const option_spec spec = {
        .command = "pull",
        .usage = "[NAME] [options]",
        .about =
            "Fetch a model by name, and print its path. Without NAME: show models that are worth a try, and which of "
            "them this machine has memory for.",
        .notes = notes,
        .groups = groups,
        .n_groups = 1,
        .max_positional = 1,
    };
    if (options_parse(&spec, n_args, args, &parsed, &code)) {
        interrupt_catch();
        if (!settings_load())
            code = EXIT_CODE_USAGE;
        else if (parsed.n_positional)
            code = pull_model(&p, parsed.positional[0]);
        else
            code = refuse_options(&parsed) ? EXIT_CODE_USAGE : print_catalogue(&p);
    }
    options_free(&parsed);
    return code;
}

int main(int argc, char **argv) {
    process_begin();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const bool is_picture = argc > 1 && strcmp(argv[1], "--picture") == 0; // for the server, not for people
    const int code = is_picture ? picture_fetch(argc - 2, argv + 2) : run(argc - 1, argv + 1);
    curl_global_cleanup();
    return process_end(code);
}
