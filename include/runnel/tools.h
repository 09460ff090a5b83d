// runnel/tools.h - makes model files: converts folders, quantizes, measures importance matrices.
// Converting and quantizing need no engine.
//
// Output files are complete or absent: they are written under a temporary name in the same folder
// and then renamed. The same input and options give the same bytes, with any number of threads.
#ifndef RUNNEL_TOOLS_H
#define RUNNEL_TOOLS_H

#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

// A quantization: one element type, or a mix that gives important matrices more bits ("Q4_K_M").
// Never grows.
typedef struct rn_quantization {
    const char *name, *help;
} rn_quantization;
// The quantizations.
RN_API size_t rn_n_quantizations(void);
RN_API bool rn_quantization_at(size_t i, rn_quantization *q); // false: i is past the end

// The result for one tensor. Owned by the library, valid during the call.
typedef struct rn_tensor_report {
    size_t struct_size;
    size_t index, n_tensors;
    const char *name;
    const char *type_before, *type_after; // "BF16", "Q4_K"
    uint64_t n_elements, bytes_before, bytes_after;
    // Relative error: sqrt(sum of squared differences / sum of squares); 0 if the tensor was
    // copied.
    double error;
    // Why it does not have the requested type: "rows of 576 are not a multiple of 256"; NULL: it
    // has.
    const char *note;
} rn_tensor_report;
typedef void (*rn_tensor_report_fn)(void *user,
                                    const rn_tensor_report *report); // on the calling thread

// Matrices whose whole name matches the pattern (`*`: any text, `?`: any character) get this
// element type. The last matching rule counts. Never grows.
typedef struct rn_type_rule {
    const char *pattern, *type;
} rn_type_rule;

// An adapter to merge, and the factor of its own scale: 1 as it was trained. Never grows.
typedef struct rn_merge {
    const char *path;
    float scale;
} rn_merge;

typedef struct rn_quantize_options {
    size_t struct_size;
    // A name of rn_quantization_at(), in upper or lower case. NULL: rn_convert() keeps the types.
    const char *type;
    // n_keep rules with precedence over `type`.
    const rn_type_rule *keep;
    size_t n_keep;
    // A file of rn_imatrix() or of llama.cpp (GGUF); NULL: all columns have equal weight.
    const char *imatrix;
    // Also quantize matrices that are quantized already, which loses more precision than starting
    // from the original.
    bool allow_requantize;
    // 1..64; 0: as in rn_engine_options.
    int32_t n_threads;
    // Receives warnings; NULL: none.
    rn_log_fn log;
    void *log_user;
    // RN_PHASE_LOAD, then RN_PHASE_WRITE in bytes of tensors written. NULL: none.
    rn_progress_fn progress;
    void *progress_user;
    rn_tensor_report_fn report;
    void *report_user;
    // n_merges LoRA adapters (rn_model_add_adapter()), at most 64, whose changes are added to the
    // matrices: W + scale * B A. rn_quantize() then keeps the types where `type` is NULL; matrices
    // that were quantized are quantized again to the same type.
    const rn_merge *merges;
    size_t n_merges;
} rn_quantize_options;
RN_API void rn_quantize_options_init_sized(rn_quantize_options *o, size_t struct_size);
static inline void rn_quantize_options_init(rn_quantize_options *o) {
    rn_quantize_options_init_sized(o, sizeof *o);
}

/**
 * Converts a Hugging Face folder to a GGUF file: weights, hyper-parameters, tokenizer, chat
 * template.
 *
 * Norms and biases become F32. Matrices get the types that `opt` asks for, or keep theirs.
 *
 * @param dir  the folder. A GGUF file is refused; use rn_quantize().
 * @param out  the file to write.
 * @param opt  NULL: defaults.
 * @return RN_OK; RN_E_ARG (unknown type; a rule that matches no matrix, or whose type does not fit
 *         the row length); RN_E_IO; RN_E_FORMAT (malformed; names the file; a weight that is not
 *         finite); RN_E_UNSUPPORTED; RN_E_LIMIT; RN_E_NOMEM; RN_E_CANCELLED.
 */
RN_API rn_status rn_convert(const char *dir, const char *out, const rn_quantize_options *opt,
                            rn_error *err);

/**
 * Writes the vision part of a Hugging Face folder as a mmproj file, in the form of llama.cpp's,
 * which rn_model_add_vision() reads. Matrices keep their types; norms, biases, positions and the
 * matrix of patches become F32.
 *
 * @return as rn_convert(); RN_E_UNSUPPORTED: the folder has no vision part, of a family that is not
 *         supported, or one for which such files have no form (VILA's projectors), by name.
 */
RN_API rn_status rn_convert_vision(const char *dir, const char *out, rn_error *err);

/**
 * Quantizes a GGUF file. All metadata pairs are copied, including unknown ones.
 *
 * Vectors are copied unchanged. If a row length is not a multiple of a type's block, a fallback
 * type is used and reported: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K, and F16 if that does not
 * fit either.
 *
 * @param in   a GGUF file, or the first of its parts.
 * @param out  the file to write; not `in`.
 * @param opt  `type` is required, unless there are merges.
 * @return as rn_convert(); RN_E_ARG also if a matrix is quantized already and opt does not allow
 *         that, or if the importance matrix is of another model or matches no matrix.
 */
RN_API rn_status rn_quantize(const char *in, const char *out, const rn_quantize_options *opt,
                             rn_error *err);

/**
 * Converts a LoRA adapter, such as a PEFT folder, to a GGUF adapter.
 *
 * @param adapter  as for rn_model_add_adapter().
 * @param base     the model that it changes: a GGUF file or a folder. Only its shapes are used.
 * @param out      the file to write. Its matrices are F32, but for those in blocks of a GGUF
 *                 adapter. It has one alpha: where matrices are scaled differently, B has the
 *                 quotient.
 * @return RN_OK; the errors of rn_model_open() and rn_model_add_adapter(); RN_E_ARG (out is an
 *         input file).
 */
RN_API rn_status rn_convert_adapter(const char *adapter, const char *base, const char *out,
                                    rn_error *err);

/**
 * Converts draft heads (rn_model_add_draft_heads()) to a GGUF file, possibly with smaller weights:
 * guesses change a little then, the text does not.
 *
 * Norms and biases become F32. Tensors keep the names of the checkpoint.
 *
 * @param heads  a safetensors file of Medusa or EAGLE heads, the folder that holds it, or a GGUF
 *               file of such heads.
 * @param out    the file to write.
 * @param opt    NULL: defaults. Without imatrix and merges.
 * @return as rn_convert().
 */
RN_API rn_status rn_convert_draft_heads(const char *heads, const char *out,
                                        const rn_quantize_options *opt, rn_error *err);

/**
 * An n-gram cache: which tokens followed strings of 1 to 4 tokens, and how often. It is filled from
 * texts and files, written once, and then guesses what follows (rn_model_add_ngram_cache()).
 * Ownership: the caller's, closed with rn_ngram_cache_close(). Threads: one at a time.
 */
typedef struct rn_ngram_cache rn_ngram_cache;
/**
 * Makes an empty one.
 *
 * @param model  whose tokens are counted; must outlive it.
 * @return RN_OK; RN_E_ARG; RN_E_NOMEM.
 */
RN_API rn_status rn_ngram_cache_new(const rn_model *model, rn_ngram_cache **cache, rn_error *err);
/**
 * Counts what follows each string of `shortest` to `longest` tokens of a text. llama.cpp's static
 * caches have strings of 2, dynamic ones of 1 to 4.
 *
 * @return RN_OK; RN_E_ARG (not 1 <= shortest <= longest <= 4; a token that the model does not
 *         have); RN_E_LIMIT (a file of more than 1 GiB would follow); RN_E_NOMEM. After an error
 *         the text may be counted in part.
 */
RN_API rn_status rn_ngram_cache_add_text(rn_ngram_cache *cache, const int32_t *ids, size_t n_ids,
                                         int32_t shortest, int32_t longest, rn_error *err);
// Adds the counts of a file. Errors as above, and those of rn_model_add_ngram_cache().
RN_API rn_status rn_ngram_cache_add_file(rn_ngram_cache *cache, const char *path, rn_error *err);
// How many strings there are, and how many different tokens behind them; NULL: not asked for.
RN_API void rn_ngram_cache_size(rn_ngram_cache *cache, size_t *n_strings, size_t *n_pairs);
/**
 * Writes the file, in llama.cpp's format; the same counts give the same bytes.
 *
 * @return RN_OK; RN_E_ARG (it is empty); RN_E_IO; RN_E_NOMEM.
 */
RN_API rn_status rn_ngram_cache_write(rn_ngram_cache *cache, const char *path, rn_error *err);
RN_API void rn_ngram_cache_close(rn_ngram_cache *cache); // NULL is fine

typedef struct rn_imatrix_options {
    size_t struct_size;
    // Tokens per chunk, 2 to the context length; 0: 512, or the context length if that is less.
    int32_t n_chunk;
    // Token that each chunk begins with (rn_model_info.bos); -1 (default): none.
    int32_t begin_token;
    // Name of the text, stored in the file; NULL: none.
    const char *dataset;
    // RN_PHASE_PREFILL, in tokens. NULL: none.
    rn_progress_fn progress;
    void *progress_user;
} rn_imatrix_options;
RN_API void rn_imatrix_options_init_sized(rn_imatrix_options *o, size_t struct_size);
static inline void rn_imatrix_options_init(rn_imatrix_options *o) {
    rn_imatrix_options_init_sized(o, sizeof *o);
}

/**
 * Measures an importance matrix: for each column of each matrix the mean of its squared inputs over
 * a text. The text is split into chunks that are evaluated separately.
 *
 * @param out  a GGUF file with two tensors per matrix, NAME.in_sum2 and NAME.counts, which
 *             llama.cpp reads and writes too. An existing file is replaced; check with
 *             rn_model_reads() that it does not belong to the model.
 * @return RN_OK; RN_E_ARG (no ids; an id outside the vocabulary); RN_E_LIMIT; RN_E_FORMAT (an input
 *         that is not finite; names the matrix); RN_E_IO; RN_E_NOMEM; RN_E_CANCELLED.
 */
RN_API rn_status rn_imatrix(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                            const char *out, const rn_imatrix_options *opt, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
