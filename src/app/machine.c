// app/machine.c - opens model and engine; shows a progress bar if that takes long and reacts to Ctrl+C.
#include "app/machine.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/memory.h"
#include "app/model_path.h"
#include "app/numbers.h"
#include "app/say.h"
#include "app/wrap.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const option machine_model_rows[1] = {
    {'m', "model", "MODEL", OPTION_TEXT, offsetof(machine, model_name),
     .help = "a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model (default: "
             "$RUNNEL_MODEL, else the program's own)"},
};
const option machine_size_rows[2] = {
    {'c', "ctx", "N", OPTION_INT, offsetof(machine, n_ctx), 1, INT32_MAX,
     .help = "context length in tokens (default: the model's, or the most that fits in memory)"},
    {'t', "threads", "N", OPTION_INT, offsetof(machine, n_threads), 1, 64,
     .help = "compute threads, 1..64 (default: what CPU quota, affinity and physical cores allow)"},
};
// FILE or FILE=SCALE. A name may contain an equals sign, so only a number ends it.
static bool add_adapter(void *target, const char *value, char *why) {
    machine *const m = target;
    const char *const equals = strrchr(value, '=');
    double scale = 1;
    if (m->n_adapters == MACHINE_MAX_ADAPTERS) {
        snprintf(why, NUMBER_WHY, "more than %d adapters", MACHINE_MAX_ADAPTERS);
        return false;
    }
    const bool has_scale = equals && number_read_real(equals + 1, -1000, 1000, &scale, why);
    char *const path = has_scale ? app_text("%.*s", (int)(equals - value), value) : NULL;
    m->adapters[m->n_adapters++] = (machine_adapter){path ? path : value, path, (float)scale};
    return true;
}

const option machine_engine_rows[MACHINE_ENGINE_ROWS] = {
    {0, "kv-type", "f16|f32|q8|bf16", OPTION_CHOICE, offsetof(machine, kv_type),
     .help = "how keys and values are kept (default f16); encoders, which keep none, have f32"},
    {0, "cpu", "SET", OPTION_TEXT, offsetof(machine, cpu),
     .help = "kernel set: ref, avx2, avx512, avx512vnni, amx, neon, neondot, neoni8mm (default: $RUNNEL_CPU, else "
             "the best here); the text is the same with each"},
    {0, "load", "map|read|lock", OPTION_CHOICE, offsetof(machine, load),
     .help = "map the file, read it into memory, or map and lock it there (default map)"},
    {0, "no-repack", NULL, OPTION_FLAG, offsetof(machine, no_repack),
     .help = "use the weights as the file stores them: faster start and less memory, but slower generation; the text "
             "is the same"},
    {'v', "verbose", NULL, OPTION_FLAG, offsetof(machine, is_verbose),
     .help = "print on stderr what was chosen and why"},
    {0, "lora", "FILE[=SCALE]", OPTION_EACH, .each = add_adapter,
     .help = "a LoRA adapter of the model: a PEFT folder or a GGUF file, and how strongly it applies, -1000..1000 "
             "(default 1); may be given several times"},
};

const option machine_mmproj_rows[1] = {
    {0, "mmproj", "FILE", OPTION_TEXT, offsetof(machine, mmproj),
     .help =
         "the vision part of the model, for pictures: a GGUF file as llama.cpp makes it, or a model folder (default: the "
         "model folder's own, or the file mmproj*.gguf beside the model)"},
};

const option machine_draft_rows[2] = {
    {0, "draft", "MODEL", OPTION_TEXT, offsetof(machine, draft_name),
     .help =
         "a smaller model, best with the same vocabulary, which guesses what follows: the same text in fewer steps"},
    {0, "ngram-cache", "FILE", OPTION_TEXT, offsetof(machine, ngram_cache),
     .help = "counts of what followed what in other texts, which guess what follows (runnel ngram-cache, llama.cpp's "
             "lookup caches)"},
};

const option machine_contrast_rows[3] = {
    {0, "amateur", "MODEL", OPTION_TEXT, offsetof(machine, amateur_name),
     .help = "a model with the same vocabulary that knows less, for --strategy contrastive-decoding"},
    {0, "value-model", "MODEL", OPTION_TEXT, offsetof(machine, value_name),
     .help =
         "a model with the same vocabulary that says what texts are worth, for --strategy tree with --value model"},
    {0, "early-layers", "low|high|N,N..", OPTION_TEXT, offsetof(machine, early_layers),
     .help = "layers of the first model that requests with the strategy dola may compare with"},
};

void machine_init(machine *m) {
    const char *cpu = getenv("RUNNEL_CPU");
    *m = (machine){.cpu = cpu && *cpu ? cpu : NULL, .n_streams = 1};
    progress_begin(&m->bar);
}

bool machine_take_positional(machine *m, const options *parsed, int *code) {
    if (parsed->n_positional && m->model_name) {
        say("model: given twice: as %s, and with -m", parsed->positional[0]);
        *code = EXIT_CODE_USAGE;
        return false;
    }
    if (parsed->n_positional) m->model_name = parsed->positional[0];
    return true;
}

int machine_failed(const rn_error *err) {
    if (err->code == RN_E_CANCELLED && interrupt_came()) return EXIT_CODE_INTERRUPTED;
    say("%s", err->text);
    return err->code == RN_E_ARG ? EXIT_CODE_USAGE : EXIT_CODE_FAILED;
}

rn_status machine_next_chunk(machine *m, rn_stream *stream, rn_chunk *chunk, rn_error *err) {
    enum { LOOK_NS = 50000000 }; // how often to check for Ctrl+C while no token arrives
    rn_status st;
    do {
        st = rn_stream_next(stream, LOOK_NS, chunk, err);
        if (interrupt_came()) rn_stream_cancel(stream); // cancelling again does nothing
    } while (st == RN_E_AGAIN);
    progress_hide(&m->bar);
    return st;
}

bool machine_progress(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    static const struct {
        const char *label;
        progress_unit unit;
    } phases[] = {[RN_PHASE_LOAD] = {"loading", PROGRESS_BYTES},
                  [RN_PHASE_REPACK] = {"preparing", PROGRESS_BYTES},
                  [RN_PHASE_PREFILL] = {"reading the prompt", PROGRESS_COUNT},
                  [RN_PHASE_WRITE] = {"writing", PROGRESS_BYTES}};
    machine *const m = user;
    progress_update(&m->bar, phases[phase].label, phases[phase].unit, NULL, done, total);
    return interrupt_came();
}

static void print_log(void *user, rn_log_level level, const char *text) {
    machine *const m = user;
    if (level > RN_LOG_WARN && !m->is_verbose) return;
    progress_hide(&m->bar);
    say("%s%s", level == RN_LOG_WARN ? "warning: " : "", text);
}

int machine_open_file(machine *m, const char *name, char **path, rn_model **model) {
    rn_model_options opt;
    rn_error err = {0};
    rn_model_options_init(&opt);
    opt.load = (rn_load)m->load;
    opt.log = print_log;
    opt.progress = machine_progress;
    opt.log_user = opt.progress_user = m;
    *path = model_path_find(name);
    if (!*path) return EXIT_CODE_FAILED;
    const rn_status st = rn_model_open(*path, &opt, model, &err);
    progress_hide(&m->bar);
    return st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

int machine_add_parts(machine *m, rn_model *model) {
    rn_error err = {0};
    for (size_t i = 0; i < m->n_adapters; i++)
        if (rn_model_add_adapter(model, m->adapters[i].path, NULL, &err) != RN_OK) return machine_failed(&err);
    if (m->ngram_cache && rn_model_add_ngram_cache(model, m->ngram_cache, &err) != RN_OK) return machine_failed(&err);
    if (m->early_layers && rn_model_add_early_layers(model, m->early_layers, &err) != RN_OK)
        return machine_failed(&err);
    if ((m->sees || m->mmproj) && rn_model_add_vision(model, m->mmproj, &err) != RN_OK) return machine_failed(&err);
    if (m->may_see && !m->sees && !m->mmproj) {
        free(m->blind);
        m->blind = rn_model_add_vision(model, NULL, &err) == RN_OK ? NULL : app_copy_text(err.text);
    }
    return draft_heads_add(m->heads, model, &err) == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

int machine_set_adapters(machine *m, rn_engine *engine) {
    rn_adapter list[MACHINE_MAX_ADAPTERS];
    rn_error err = {0};
    for (size_t i = 0; i < m->n_adapters; i++) list[i] = (rn_adapter){i, m->adapters[i].scale};
    return rn_engine_set_adapters(engine, 0, list, m->n_adapters, &err) == RN_OK ? EXIT_CODE_OK
                                                                                 : machine_failed(&err);
}

int machine_open_model(machine *m) {
    const int code = machine_open_file(m, m->model_name, &m->path, &m->model);
    return code == EXIT_CODE_OK ? machine_add_parts(m, m->model) : code;
}
int machine_open_reference(machine *m, const char *name) {
    return machine_open_file(m, name, &m->reference_path, &m->reference);
}

int machine_open_helpers(machine *m) {
    int code = EXIT_CODE_OK;
    if (m->draft_name) code = machine_open_file(m, m->draft_name, &m->draft_path, &m->draft);
    if (code == EXIT_CODE_OK && m->amateur_name)
        code = machine_open_file(m, m->amateur_name, &m->amateur_path, &m->amateur);
    if (code == EXIT_CODE_OK && m->value_name) code = machine_open_file(m, m->value_name, &m->value_path, &m->value);
    return code;
}

size_t machine_add_helpers(const machine *m, rn_model **models, size_t n, rn_engine_options *opt) {
    if (m->draft) opt->draft_model = n, models[n++] = m->draft;
    if (m->amateur) opt->amateur_model = n, models[n++] = m->amateur;
    if (m->value) opt->value_model = n, models[n++] = m->value;
    return n;
}

int machine_check_output(const machine *m, const char *text_file, const char *out) {
    if (!rn_model_reads(m->model, out) && !rn_model_reads(m->reference, out) &&
        !(text_file && file_is_same(text_file, out)))
        return EXIT_CODE_OK;
    say("%s: is an input file too: give the output another name", out);
    return EXIT_CODE_USAGE;
}

static void say_choices(const machine *m) {
    rn_engine_info e = {.struct_size = sizeof e};
    char kv[HUMAN_BYTES], all[HUMAN_BYTES];
    if (rn_engine_get_info(m->engine, 0, &e, NULL) != RN_OK) return;
    say("model: %s", m->path);
    say("kernels: %s: %s", e.cpu, e.cpu_reason);
    say("threads: %s", e.threads_reason);
    say("context: %d tokens, keys and values as %s, %s of %s", e.n_ctx, e.kv_type, human_size(e.kv_bytes, kv),
        human_size(e.limit_bytes, all));
}

void machine_engine_options(machine *m, rn_engine_options *opt) {
    rn_engine_options_init(opt);
    opt->cpu = m->cpu;
    opt->n_ctx = m->n_ctx;
    opt->n_threads = m->n_threads;
    opt->kv_type = (rn_kv_type)m->kv_type;
    opt->n_streams = m->n_streams;
    opt->n_seqs = m->n_seqs;
    opt->output_store_bytes = (uint64_t)m->outputs_mib << 20;
    opt->no_repack = m->no_repack;
    opt->log = print_log;
    opt->progress = machine_progress;
    opt->log_user = opt->progress_user = m;
}

int machine_open_engine(machine *m) {
    rn_engine_options opt;
    rn_error err = {0};
    const int code = machine_open_helpers(m);
    if (code != EXIT_CODE_OK) return code;
    machine_engine_options(m, &opt);
    rn_model *models[2 + MACHINE_HELPERS] = {m->model};
    size_t n = 1;
    if (m->reference) models[n++] = m->reference;
    n = machine_add_helpers(m, models, n, &opt);
    const rn_status st = rn_engine_open(models, n, &opt, &m->engine, &err);
    progress_hide(&m->bar);
    if (st != RN_OK) return machine_failed(&err);
    if (m->is_verbose) say_choices(m);
    return machine_set_adapters(m, m->engine);
}

void machine_close_engine(machine *m) {
    if (m->engine) rn_engine_close(m->engine);
    m->engine = NULL;
}

void machine_close_models(machine *m) {
    machine_close_engine(m);
    rn_model_close(m->model);
    rn_model_close(m->reference);
    rn_model_close(m->draft);
    rn_model_close(m->amateur);
    rn_model_close(m->value);
    free(m->path);
    free(m->reference_path);
    free(m->draft_path);
    free(m->amateur_path);
    free(m->value_path);
    free(m->blind);
    m->blind = NULL;
    m->model = m->reference = m->draft = m->amateur = m->value = NULL;
    m->path = m->reference_path = m->draft_path = m->amateur_path = m->value_path = NULL;
}

void machine_close(machine *m) {
    progress_end(&m->bar);
    machine_close_models(m);
    for (size_t i = 0; i < m->n_adapters; i++) free(m->adapters[i].own_path);
}
