// formats/vocab/tokenizer_build.h - a vocabulary under construction from tokenizer.json. Private to formats/vocab/tokenizer_*.c.
#ifndef RN_FORMATS_VOCAB_TOKENIZER_BUILD_H
#define RN_FORMATS_VOCAB_TOKENIZER_BUILD_H

#include "formats/json/json_tree.h"
#include "formats/limits.h"
#include "formats/name_index.h"
#include "tokenizer/vocab.h"

struct tokenizer_build {
    struct arena *mem;
    struct vocab *v;
    struct vocab_token *tokens; // v's tokens, writable
    struct name_index ids;      // by text
    struct arena work;          // memory of the index

    struct norm_step norms[VOCAB_MAX_STEPS], pre_norms[VOCAB_MAX_STEPS]; // of the normalizer; of pre-tokenizers
    struct split_step splits[VOCAB_MAX_STEPS];
    struct vocab_replace replaces[VOCAB_MAX_STEPS];
    int n_norms, n_pre_norms, n_splits, n_replaces;
    bool is_byte_level;     // a pre-tokenizer maps bytes to GPT-2's alphabet
    bool writes_byte_level; // the decoder maps them back
    bool has_decoder;
    bool splits_behind_bytes; // a split comes after the byte-level step
};

static inline int shown_bytes(uint32_t n) {
    return n < 60 ? (int)n : 60;
} // how much of a file's text a message shows

// A copy in mem; s NULL: out of memory.
struct vocab_str tokenizer_build_copy(struct tokenizer_build *b, const char *text, uint32_t n);

// tokenizer_model_json.c: the object "model" and the list "added_tokens".
rn_status tokenizer_read_model(struct tokenizer_build *b, const struct json_node *model,
                               const struct json_node *added_tokens, rn_error *err);
// tokenizer_norms.c, tokenizer_splits.c, tokenizer_decoders.c, tokenizer_posts.c: one step each, or a Sequence of them; NULL: none.
rn_status tokenizer_read_normalizer(struct tokenizer_build *b, const struct json_node *step, rn_error *err);
rn_status tokenizer_read_pre_tokenizer(struct tokenizer_build *b, const struct json_node *step, rn_error *err);
rn_status tokenizer_read_decoder(struct tokenizer_build *b, const struct json_node *step, rn_error *err);
rn_status tokenizer_read_post_processor(struct tokenizer_build *b, const struct json_node *step, rn_error *err);

// ---- steps (tokenizer_step.c): objects with a "type" -------------------------------------------------------------------

typedef rn_status (*step_fn)(struct tokenizer_build *b, const struct json_node *step, rn_error *err);
struct step_kind {
    const char *type;
    const char *members; // members besides "type", each between two bars: "|pattern|content|"
    step_fn read;        // NULL: a Sequence, whose steps are in its only member
};
// Reads `step` with the row of its type. what: "normalizer" ... Errors name the unknown type or member.
rn_status tokenizer_read_step(struct tokenizer_build *b, const char *what, const struct step_kind *kinds,
                              size_t n_kinds, const struct json_node *step, rn_error *err);
// Errors: RN_E_UNSUPPORTED (a member that is not listed).
rn_status step_check_members(const struct json_node *step, const struct step_kind *kind, rn_error *err);
// Members of a step. Absent or null: `value` is unchanged. Errors: `member NAME: WHY`.
rn_status step_bool(const struct json_node *step, const char *name, bool *value, rn_error *err);
rn_status step_int(const struct json_node *step, const char *name, int64_t min, int64_t max, int64_t *value,
                   rn_error *err);
// A string that must be there, copied into mem.
rn_status step_text(struct tokenizer_build *b, const struct json_node *step, const char *name,
                    struct vocab_str *value, rn_error *err);
// {"String": text} or {"Regex": text}.
rn_status step_pattern(struct tokenizer_build *b, const struct json_node *step, struct vocab_str *pattern,
                       bool *is_regex, rn_error *err);
// The index of a string in names[0..n). Absent: `value` is unchanged.
rn_status step_choice(const struct json_node *step, const char *name, const char *const *names, int n, int *value,
                      rn_error *err);

#endif
