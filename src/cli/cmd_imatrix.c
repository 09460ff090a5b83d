// cli/cmd_imatrix.c - `runnel imatrix`: measures which weights of a model matter for a text.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/machine.h"
#include "cli/command.h"
#include <string.h>

typedef struct imatrix_job {
    machine on;
    const char *text_file, *out;
    int32_t n_chunk;
} imatrix_job;

static const option imatrix_rows[] = {
    {'f', "file", "FILE", OPTION_TEXT, offsetof(imatrix_job, text_file), .help = "the text; - is stdin"},
    {'o', "out", "OUT.gguf", OPTION_TEXT, offsetof(imatrix_job, out), .help = "the file to write"},
    {0, "chunk", "N", OPTION_INT, offsetof(imatrix_job, n_chunk), 2, INT32_MAX,
     .help = "tokens in each chunk of text (default 512, at most the context)"},
};

static bool show_progress(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    imatrix_job *const j = user;
    (void)phase;
    progress_update(&j->on.bar, "measuring", PROGRESS_COUNT, NULL, done, total);
    return interrupt_came();
}

static const char *last_name(const char *path) {
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int measure(imatrix_job *j, const int32_t *ids, size_t n_ids) {
    rn_imatrix_options opt;
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    rn_imatrix_options_init(&opt);
    rn_status st = rn_model_get_info(j->on.model, &info, &err);
    if (st != RN_OK) return machine_failed(&err);
    opt.n_chunk = j->n_chunk;
    opt.begin_token = info.add_bos ? info.bos : -1;
    opt.dataset = strcmp(j->text_file, "-") == 0 ? NULL : last_name(j->text_file);
    opt.progress = show_progress;
    opt.progress_user = j;
    st = rn_imatrix(j->on.engine, 0, ids, n_ids, j->out, &opt, &err);
    progress_hide(&j->on.bar);
    return st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

static int run_imatrix(imatrix_job *j) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    bytes text = {0};
    int code = EXIT_CODE_FAILED;
    if (!j->text_file || !j->out) {
        say("imatrix: needs -f FILE and -o OUT.gguf");
        return EXIT_CODE_USAGE;
    }
    interrupt_catch();
    if (file_read(j->text_file, TEXT_LIMIT, &text) && (code = machine_open_model(&j->on)) == EXIT_CODE_OK &&
        (code = machine_check_output(&j->on, j->text_file, j->out)) == EXIT_CODE_OK) {
        const rn_status st = rn_tokenize(j->on.model, text.data, text.n, true, false, &ids, &n_ids, &err);
        code = st == RN_OK ? machine_open_engine(&j->on) : machine_failed(&err);
    }
    bytes_free(&text);
    if (code == EXIT_CODE_OK) code = measure(j, ids, n_ids);
    rn_free(ids);
    return code;
}

int cmd_imatrix(int n_args, char **args) {
    imatrix_job j = {0};
    options parsed;
    machine_init(&j.on);
    const option_group groups[] = {
        {"Text", imatrix_rows, sizeof imatrix_rows / sizeof *imatrix_rows, &j},
        MACHINE_MODEL_GROUP(&j.on),
        MACHINE_SIZE_GROUP(&j.on),
        MACHINE_ENGINE_GROUP(&j.on),
    };
    const option_spec spec = {
        .command = "imatrix",
        .usage = "[-m MODEL] -f FILE -o OUT.gguf [options]",
        .about = "Measure which columns of a model's matrices matter: the mean of their squared "
                 "inputs over a text. `quantize --imatrix` keeps those more exact. A few hundred "
                 "thousand characters of typical text are enough.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_imatrix(&j);
    options_free(&parsed);
    machine_close(&j.on);
    return code;
}
