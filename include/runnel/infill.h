// runnel/infill.h - prompts with a hole (fill in the middle): a text before it, a text behind it,
// and the model writes what is between them. docs/infill.md has the prompt of each model family.
#ifndef RUNNEL_INFILL_H
#define RUNNEL_INFILL_H

#include <runnel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rn_infill_order {
    RN_INFILL_PUBLISHED = 0, // as the model's family was published
    RN_INFILL_PSM = 1,       // prefix, suffix, middle
    RN_INFILL_SPM = 2        // suffix, prefix, middle
} rn_infill_order;

// Another file of the repository. Strings need no terminator. Never grows.
typedef struct rn_infill_file {
    const char *name, *text;
    size_t n_name, n_text; // bytes
} rn_infill_file;

// Texts are UTF-8 and need no terminator; control tokens spelled in them stay text. NULL with
// length 0 is an empty text.
typedef struct rn_infill {
    size_t struct_size;
    const char *prefix, *suffix; // what is before and behind the hole
    size_t n_prefix, n_suffix;   // bytes
    const char *middle;          // the middle's beginning, which is not generated again
    size_t n_middle;
    rn_infill_order order;
    // What the model is told of the repository, in front of the rest; nothing where there are no
    // files and neither name is given. A model without tokens for it is given the files' texts.
    const rn_infill_file *files; // [n_files], at most 1,024
    size_t n_files;
    const char *repo_name, *file_name; // NULL: "myproject"; of the file with the hole: "filename"
    size_t n_repo_name, n_file_name;
    // Most token ids of the prompt; 0: no limit. Beyond it the beginning of what is in front is
    // left out, then, so that three quarters of what remains are the prefix's, the beginning of the
    // prefix and the end of the suffix.
    size_t max_ids;
} rn_infill;
RN_API void rn_infill_init_sized(rn_infill *s, size_t struct_size);
static inline void rn_infill_init(rn_infill *s) { rn_infill_init_sized(s, sizeof *s); }

enum { RN_INFILL_STOP_TOKENS = 16 };
// Begun as `rn_infill_prompt p = {sizeof p};`.
typedef struct rn_infill_prompt {
    size_t struct_size;
    int32_t *ids; // [n_ids] the prompt, begin token included; freed by the caller with rn_free()
    size_t n_ids;
    size_t n_left_out; // token ids that were left out because of max_ids
    // Tokens that end a middle, besides the model's end tokens: for rn_request.stop_tokens.
    int32_t stop_tokens[RN_INFILL_STOP_TOKENS];
    size_t n_stop_tokens;
    const char
        *family; // "Qwen Coder"; "unknown": the file names its tokens, with unknown spellings
    rn_infill_order order; // RN_INFILL_PSM or RN_INFILL_SPM
} rn_infill_prompt;

/**
 * Makes the prompt of a text with a hole, for a request of one RN_PART_IDS.
 *
 * @param prompt  filled on RN_OK, else its ids are NULL.
 * @return RN_OK; RN_E_UNSUPPORTED: the model has no tokens for such prompts, or no tokenizer;
 *         RN_E_LIMIT: max_ids has no room for the tokens alone, or a limit of the tokenizer;
 *         RN_E_ARG; RN_E_NOMEM. Threads: any.
 */
RN_API rn_status rn_infill_make(const rn_model *model, const rn_infill *infill,
                                rn_infill_prompt *prompt, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
