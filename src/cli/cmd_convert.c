// cli/cmd_convert.c - `runnel convert`: converts a Hugging Face folder to a GGUF file.
#include "app/files.h"
#include "app/machine.h"
#include "app/model_path.h"
#include "cli/command.h"
#include "cli/new_file.h"
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

typedef struct adapter_job {
    bool is_adapter;
    const char *model; // NULL: not given
    bool is_heads;
} adapter_job;

static const option convert_rows[] = {
    {0, "type", "TYPE", OPTION_TEXT, offsetof(new_file, opt.type),
     .help = "type of the matrices, see below (default: as in the folder)"},
};
static const option adapter_rows[] = {
    {0, "lora", NULL, OPTION_FLAG, offsetof(adapter_job, is_adapter),
     .help = "FOLDER is a PEFT adapter: makes a GGUF adapter of it, for the model that -m names"},
    {'m', "model", "MODEL", OPTION_TEXT, offsetof(adapter_job, model),
     .help = "with --lora: the model that the adapter changes"},
    {0, "draft-heads", NULL, OPTION_FLAG, offsetof(adapter_job, is_heads),
     .help = "FOLDER has Medusa heads or an EAGLE head, or is the file of these: makes a GGUF file of them"},
};

static int convert_adapter(const adapter_job *j, const options *parsed) {
    rn_error err = {0};
    for (size_t i = 0; i < parsed->n_given; i++)
        if (parsed->given[i] < adapter_rows || parsed->given[i] >= adapter_rows + 2) {
            say("convert: --%s: has no effect with --lora", parsed->given[i]->name);
            return EXIT_CODE_USAGE;
        }
    if (parsed->n_positional != 2 || !j->model) {
        say("convert: needs a model, an adapter and an output file: runnel convert --lora -m MODEL ADAPTER OUT.gguf");
        return EXIT_CODE_USAGE;
    }
    char *const base = model_path_find(j->model);
    if (!base) return EXIT_CODE_FAILED;
    const rn_status st = rn_convert_adapter(parsed->positional[0], base, parsed->positional[1], &err);
    free(base);
    return st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

// OUT.gguf: mmproj-OUT.gguf beside it, where the model finds it by itself.
static char *vision_path(const char *out) {
    const char *const slash = strrchr(out, '/'), *const name = slash ? slash + 1 : out;
    return app_text("%.*smmproj-%s", (int)(name - out), out, name);
}

// What the model made of the folder leaves out says whether there is a vision part.
static bool has_vision(const char *folder) {
    rn_model *model = NULL;
    rn_model_info info = {.struct_size = sizeof info};
    const bool found = rn_model_open(folder, NULL, &model, NULL) == RN_OK &&
                       rn_model_get_info(model, &info, NULL) == RN_OK && info.left_out &&
                       strstr(info.left_out, "vision part");
    rn_model_close(model);
    return found;
}

// A vision part that there is no form for, or that is not whole, leaves the text model alone, which is said.
static int convert_vision(const char *folder, const char *out) {
    rn_error err = {0};
    if (!has_vision(folder)) return EXIT_CODE_OK;
    char *const path = vision_path(out);
    const rn_status st = rn_convert_vision(folder, path, &err);
    const bool has_none = st == RN_E_UNSUPPORTED || st == RN_E_FORMAT;
    if (st == RN_OK)
        say("%s: the vision part, which %s finds by itself", path, out);
    else if (has_none)
        say("%s: has the text model alone: %s", out, err.text);
    free(path);
    return st == RN_OK || has_none ? EXIT_CODE_OK : machine_failed(&err);
}

static int run_convert(new_file *f, const adapter_job *j, const options *parsed) {
    if (j->is_adapter) return convert_adapter(j, parsed);
    if (j->model) {
        say("convert: --model: has no effect without --lora");
        return EXIT_CODE_USAGE;
    }
    if (parsed->n_positional == 2 && j->is_heads)
        return new_file_make(f, rn_convert_draft_heads, parsed->positional[0], parsed->positional[1]);
    if (parsed->n_positional == 2) {
        const int code = new_file_make(f, rn_convert, parsed->positional[0], parsed->positional[1]);
        return code == EXIT_CODE_OK ? convert_vision(parsed->positional[0], parsed->positional[1]) : code;
    }
    say("convert: needs a folder and an output file: runnel convert FOLDER OUT.gguf");
    return EXIT_CODE_USAGE;
}

int cmd_convert(int n_args, char **args) {
    new_file f;
    adapter_job j = {0};
    options parsed;
    new_file_init(&f);
    char *const types = new_file_types_text();
    const option_group groups[] = {
        {"Weights", convert_rows, sizeof convert_rows / sizeof *convert_rows, &f},
        {NULL, new_file_rows, NEW_FILE_ROWS, &f},
        {"Adapters and draft heads", adapter_rows, sizeof adapter_rows / sizeof *adapter_rows, &j},
    };
    const option_spec spec = {
        .command = "convert",
        .usage = "FOLDER OUT.gguf [options]",
        .about = "Convert a Hugging Face folder to one GGUF file: weights, hyper-parameters, "
                 "tokenizer, chat template. The vision part of a model that sees becomes a second file, "
                 "mmproj-OUT.gguf. Nothing is left behind when it fails.",
        .notes = types,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 2,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_convert(&f, &j, &parsed);
    options_free(&parsed);
    new_file_close(&f);
    free(types);
    return code;
}
