// app/machine.h - the options that choose a model and how this machine runs it, and the opening of both.
//
// Ownership: `struct machine` is the caller's; machine_init() first, machine_close() last.
// Threads:   one at a time.
#ifndef RN_APP_MACHINE_H
#define RN_APP_MACHINE_H

#include "app/head_files.h"
#include "app/options.h"
#include "app/progress.h"
#include <runnel/runnel.h>

// An adapter, as --lora gives it.
typedef struct machine_adapter {
    const char *path;
    char *own_path; // the path where FILE=SCALE was given, freed by machine_close()
    float scale;
} machine_adapter;
enum { MACHINE_MAX_ADAPTERS = 64 };

typedef struct machine {
    const char *model_name;   // -m: a path or a name; NULL: the default model
    const char *draft_name;   // --draft; NULL: none
    const char *amateur_name; // --amateur; NULL: none
    const char *value_name;   // --value-model, or of --value model:FILE; NULL: none
    const char *early_layers; // --early-layers, or those of the command's strategy; NULL: none
    const char *cpu;
    int32_t n_ctx, n_threads; // 0: the engine's choice
    int32_t kv_type, load;    // of rn_kv_type, rn_load
    bool no_repack, is_verbose;
    int32_t n_seqs;                                 // sequences beside each stream's own; set by the command
    int32_t n_streams;                              // set by the command
    int32_t outputs_mib;                            // finished answers that drafts look in; set by the command
    machine_adapter adapters[MACHINE_MAX_ADAPTERS]; // of model 0
    size_t n_adapters;
    const char *ngram_cache;  // --ngram-cache, of model 0; NULL: none
    const draft_heads *heads; // of model 0, set by the command; NULL: none
    // Model 0's vision part is opened; may_see: where it has one that is supported. Set by the command.
    bool sees, may_see;
    char *blind;        // of may_see: why it is none; NULL: it sees
    const char *mmproj; // --mmproj: where the vision part is, and it is opened; NULL: with the model
    progress bar;
    char *path, *reference_path, *draft_path, *amateur_path, *value_path;
    rn_model *model;     // the engine's model 0
    rn_model *reference; // its model 1; NULL: none
    rn_model *draft;     // which drafts for the others; NULL: none
    rn_model *amateur;   // that contrastive decoding takes off; NULL: none
    rn_model *value;     // that says what texts are worth in tree search; NULL: none
    rn_engine *engine;
} machine;

// -m alone, for commands that need only the vocabulary; -c and -t; the other engine options.
enum { MACHINE_ENGINE_ROWS = 6, MACHINE_OUTPUTS_MIB = 16 };
extern const option machine_model_rows[1], machine_size_rows[2], machine_engine_rows[MACHINE_ENGINE_ROWS];
#define machine_lora_rows       (machine_engine_rows + MACHINE_ENGINE_ROWS - 1) // --lora alone
#define MACHINE_MODEL_GROUP(m)  {"Model", machine_model_rows, 1, (m)}
#define MACHINE_SIZE_GROUP(m)   {NULL, machine_size_rows, 2, (m)}
#define MACHINE_ENGINE_GROUP(m) {NULL, machine_engine_rows, MACHINE_ENGINE_ROWS, (m)}
#define MACHINE_REST_GROUP(m)                                                                                        \
    {NULL, machine_engine_rows + 1, MACHINE_ENGINE_ROWS - 1, (m)} // without --kv-type, which comes first

// --mmproj, where prompts may have pictures.
extern const option machine_mmproj_rows[1];
#define MACHINE_MMPROJ_GROUP(m) {NULL, machine_mmproj_rows, 1, (m)}

// --draft and --ngram-cache, where streams are generated.
extern const option machine_draft_rows[2];
#define MACHINE_DRAFT_GROUP(m) {"Speculation", machine_draft_rows, 2, (m)}

// --amateur, --value-model and --early-layers; --amateur alone, where the strategy of the command line says which layers and values.
extern const option machine_contrast_rows[3];
#define MACHINE_CONTRAST_GROUP(m) {NULL, machine_contrast_rows, 3, (m)}
#define MACHINE_AMATEUR_GROUP(m)  {NULL, machine_contrast_rows, 1, (m)}

void machine_init(machine *m);
// For commands whose one argument is the model: takes it as -m would. False: given in both ways, which has been printed; *code is set.
bool machine_take_positional(machine *m, const options *parsed, int *code);
// Each returns EXIT_CODE_OK, or an exit code after saying why.
int machine_open_model(machine *m);
int machine_open_reference(machine *m, const char *name); // a second model for the engine, after the first
int machine_open_engine(machine *m);  // after the models; opens those of --draft, --amateur and --value-model
int machine_open_helpers(machine *m); // for a command that opens its engine itself
// Adds what machine_open_helpers() opened to the engine's n models; there is room for MACHINE_HELPERS.
enum { MACHINE_HELPERS = 3 };
size_t machine_add_helpers(const machine *m, rn_model **models, size_t n, rn_engine_options *opt);
// Call after the models are open: refuses an output path that is one of the files being read. text_file: NULL for none.
int machine_check_output(const machine *m, const char *text_file, const char *out);
void machine_close_engine(machine *m);
void machine_close_models(machine *m); // and the engine; others may be opened then
void machine_close(machine *m);

// For a command with more than two models: opens one file, and fills the engine options. `path` is the caller's.
int machine_open_file(machine *m, const char *name, char **path, rn_model **model);
void machine_engine_options(machine *m, rn_engine_options *opt);
// Adds the adapters of --lora, the draft heads and the n-gram cache to a model, before its engine is opened; then sets their scales for requests that name none.
int machine_add_parts(machine *m, rn_model *model);
int machine_set_adapters(machine *m, rn_engine *engine);

// Prints err's text and returns the exit code for its status: 2 for arguments, 130 after Ctrl+C, else 1.
int machine_failed(const rn_error *err);
// Takes the next chunk with the progress bar hidden. Ctrl+C cancels the stream, which then delivers its last chunk. Otherwise as
// rn_stream_next(), but never RN_E_AGAIN.
rn_status machine_next_chunk(machine *m, rn_stream *stream, rn_chunk *chunk, rn_error *err);
// For rn_request: prefill on the machine's bar; user is the machine.
bool machine_progress(void *user, rn_phase phase, uint64_t done, uint64_t total);

#endif
