// runnel/tools.h - model files made from model files: convert a folder, quantize, measure which weights matter. Converting and quantizing
// need no engine.
//
// Files are written whole or not at all: under a temporary name beside OUT, then put in its place. The same input and options give the
// same bytes, whatever the number of threads.
#ifndef RUNNEL_TOOLS_H
#define RUNNEL_TOOLS_H

#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

// A type that files are quantized to: one element type, or a mix that gives the matrices that matter more bits ("Q4_K_M").
// Never grows.
typedef struct rn_quantization {
    const char *name, *help;
} rn_quantization;
RN_API size_t rn_n_quantizations(void);
RN_API bool rn_quantization_at(size_t i, rn_quantization *q); // false: i is past the end

// What became of one tensor. The library's, valid during the call.
typedef struct rn_tensor_report {
    size_t struct_size;
    size_t index, n_tensors;
    const char *name;
    const char *type_before, *type_after; // "BF16", "Q4_K"
    uint64_t n_elements, bytes_before, bytes_after;
    double error;     // root of (sum of squared differences / sum of squares); 0: it is carried over
    const char *note; // why it is not of the type asked for: "rows of 576 are no multiple of 256"; NULL: it is
} rn_tensor_report;
typedef void (*rn_tensor_report_fn)(void *user, const rn_tensor_report *report); // on the calling thread

// Matrices whose whole name matches the pattern (`*` stands for any text, `?` for any one character) get this element type. Of several
// patterns that match the last one counts. Never grows.
typedef struct rn_type_rule {
    const char *pattern, *type;
} rn_type_rule;

typedef struct rn_quantize_options {
    size_t struct_size;
    const char *
        type; // a name of rn_quantization_at(), without regard to case. NULL: rn_convert() keeps matrices as they are
    const rn_type_rule *keep; // n_keep rules that go before `type`
    size_t n_keep;
    const char *imatrix; // a file of rn_imatrix() or of llama.cpp (GGUF); NULL: all columns matter alike
    bool
        allow_requantize; // also matrices that are quantized already, which loses more than starting from the original
    int32_t n_threads;    // 0: as in rn_engine_options; 1..64
    rn_log_fn log;        // warnings; NULL: none
    void *log_user;
    rn_progress_fn progress; // RN_PHASE_LOAD, then RN_PHASE_WRITE: bytes of tensors written
    void *progress_user;
    rn_tensor_report_fn report;
    void *report_user;
} rn_quantize_options;
RN_API void rn_quantize_options_init_sized(rn_quantize_options *o, size_t struct_size);
static inline void rn_quantize_options_init(rn_quantize_options *o) { rn_quantize_options_init_sized(o, sizeof *o); }

/**
 * Make a GGUF file of a Hugging Face folder: weights, hyper-parameters, tokenizer, chat template. Other programs read it too.
 *
 * Norms and biases become F32. Matrices become what `opt` says, or stay as they are.
 *
 * @param dir  the folder; a GGUF file is refused (rn_quantize() is for those).
 * @param out  the file to write.
 * @param opt  NULL: defaults.
 * @return RN_OK; RN_E_ARG (unknown type; a rule that matches no matrix, or whose type its rows do not fit); RN_E_IO, RN_E_FORMAT
 *         (malformed: which file, what; a weight that is not finite), RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM, RN_E_CANCELLED.
 */
RN_API rn_status rn_convert(const char *dir, const char *out, const rn_quantize_options *opt, rn_error *err);

/**
 * Write a GGUF file's weights with fewer bits (or more). Every metadata pair is carried over, also those nobody here knows.
 *
 * Vectors stay as they are. Rows that are no multiple of a type's block fall back: Q4_K to Q5_0, Q5_K to Q5_1, Q6_K to Q8_0, and what
 * these cannot hold to F16; the report says so.
 *
 * @param in   a GGUF file, or the first of its parts.
 * @param out  the file to write; not `in`.
 * @param opt  `type` must be given.
 * @return as rn_convert(); RN_E_ARG also when a matrix is quantized already and opt does not allow it, or when the importance matrix is of
 *         another model or guides nothing.
 */
RN_API rn_status rn_quantize(const char *in, const char *out, const rn_quantize_options *opt, rn_error *err);

typedef struct rn_imatrix_options {
    size_t struct_size;
    int32_t n_chunk;     // tokens evaluated as one text, 2 to the context; 0: 512, or the context where it is less
    int32_t begin_token; // that each chunk begins with (rn_model_info); -1, the default: none
    const char *dataset; // name of the text, noted in the file; NULL: none
    rn_progress_fn progress; // RN_PHASE_PREFILL: tokens
    void *progress_user;
} rn_imatrix_options;
RN_API void rn_imatrix_options_init_sized(rn_imatrix_options *o, size_t struct_size);
static inline void rn_imatrix_options_init(rn_imatrix_options *o) { rn_imatrix_options_init_sized(o, sizeof *o); }

/**
 * Measure which columns of a model's matrices matter: the mean of their squared inputs over a text.
 *
 * The text is cut into chunks, each evaluated by itself.
 *
 * @param out  a GGUF file with a pair of tensors for each matrix, NAME.in_sum2 and NAME.counts, as llama.cpp reads and writes it.
 *             Whatever has that name is replaced: rn_model_reads() tells whether it belongs to the model.
 * @return RN_OK; RN_E_ARG (no ids; an id outside the vocabulary), RN_E_LIMIT, RN_E_FORMAT (an input is not finite: of which matrix),
 *         RN_E_IO, RN_E_NOMEM, RN_E_CANCELLED.
 */
RN_API rn_status rn_imatrix(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, const char *out,
                            const rn_imatrix_options *opt, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
