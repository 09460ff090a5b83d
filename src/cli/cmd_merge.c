// cli/cmd_merge.c - `runnel merge`: writes a model with LoRA adapters merged into its matrices.
#include "app/machine.h"
#include "cli/command.h"
#include "cli/new_file.h"
#include <stdlib.h>
#include <sys/stat.h>

typedef struct merge_job {
    new_file f;
    machine on; // its adapters alone
} merge_job;

static const option merge_rows[] = {
    {0, "type", "TYPE", OPTION_TEXT, offsetof(new_file, opt.type),
     .help = "type of the matrices, see below (default: as in the model)"},
};

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int run_merge(merge_job *j, const options *parsed) {
    rn_merge merges[MACHINE_MAX_ADAPTERS];
    if (parsed->n_positional != 2 || j->on.n_adapters == 0) {
        say("merge: needs a model, an output file and adapters: runnel merge MODEL OUT.gguf --lora FILE");
        return EXIT_CODE_USAGE;
    }
    for (size_t i = 0; i < j->on.n_adapters; i++)
        merges[i] = (rn_merge){j->on.adapters[i].path, j->on.adapters[i].scale};
    j->f.opt.merges = merges, j->f.opt.n_merges = j->on.n_adapters;
    const char *const in = parsed->positional[0];
    return new_file_make(&j->f, is_folder(in) ? rn_convert : rn_quantize, in, parsed->positional[1]);
}

int cmd_merge(int n_args, char **args) {
    merge_job j;
    options parsed;
    new_file_init(&j.f);
    machine_init(&j.on);
    char *const types = new_file_types_text();
    const option_group groups[] = {
        {"Adapters", machine_lora_rows, 1, &j.on},
        {"Weights", merge_rows, sizeof merge_rows / sizeof *merge_rows, &j.f},
        {NULL, new_file_rows, NEW_FILE_ROWS, &j.f},
    };
    const option_spec spec = {
        .command = "merge",
        .usage = "MODEL OUT.gguf --lora FILE[=SCALE] [options]",
        .about =
            "Write a model with LoRA adapters merged into its matrices. MODEL is a GGUF file or a Hugging Face folder. "
            "Matrices keep their types; those that are quantized and changed are quantized again. Nothing is left "
            "behind when it fails.",
        .notes = types,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 2,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_merge(&j, &parsed);
    options_free(&parsed);
    new_file_close(&j.f);
    machine_close(&j.on);
    free(types);
    return code;
}
