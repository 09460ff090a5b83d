// formats/package_build.h - a package under construction: what the readers of all formats share.
// Private to formats/.
//
// Tensors of every format are added with package_add_tensor(), which checks the invariants of
// package.h.
#ifndef RN_FORMATS_PACKAGE_BUILD_H
#define RN_FORMATS_PACKAGE_BUILD_H

#include "base/arena.h"
#include "formats/folder/hf_wrappers.h"
#include "formats/name_index.h"
#include "formats/package.h"

struct package_file {
    struct file_map map;
    const char *path; // for messages
    bool is_ours;     // opened here; else the caller's bytes
};

// A text file of a folder that was read and closed again.
struct package_text {
    const char *path;
    const struct package_text *before;
};

struct package {
    struct arena arena;
    // files that hold tensors; the first part of a split GGUF file has the keys
    struct package_file *files;
    size_t n_files;
    const struct package_text *last_text; // NULL: none was read
    uint8_t *made;                        // tensors built in memory
    size_t n_made, max_made;
    const char *path; // in the arena
    const char *format, *note, *left_out;
    size_t n_aside[HF_N_PARTS]; // ignored tensors, by part (vision, audio, next-token layers)
    const char *nextn_left_out; // why next-token layers were; NULL: none were
    struct hparams hparams;
    struct vocab vocab;
    size_t n_tensors, max_tensors;
    struct tensor_view *tensors;
    struct name_index tensor_names;
    struct {
        char type[32]; // adapter.type
        float alpha;   // adapter.lora.alpha; 0: none
        bool is_activated;
    } adapter;          // of a GGUF file whose general.type is "adapter"
    int32_t *token_map; // [n_token_map] of a part; NULL: none
    size_t n_token_map;
    struct part_options part;
    bool has_adjacent_rope;         // a part's query and key rows are in the order of adjacent rotary pairs
    struct vocab_str chat_template; // s NULL: none
    struct vocab_str rerank_template;
    struct package_prompt *prompts; // [n_prompts]
    size_t n_prompts;
    const char *default_prompt; // NULL: none
    bool leaves_prompts_out;    // of what is pooled
};

// package.c: an empty one; package_close() it. path: copied.
rn_status package_create(const char *path, struct package **out, rn_error *err);

// ---- files (package_files.c) --------------------------------------------------------------------

// Further files that a reader may add to those: of sentence-transformers' modules.
enum { PACKAGE_MORE_FILES = 2 };
// Maps the files at these paths, in order, with one progress report over all of them.
// package_close() closes them.
rn_status package_open_files(struct package *p, const char *const *paths, size_t n, const struct package_options *o,
                             rn_error *err);
// The same for bytes of the caller.
rn_status package_take_bytes(struct package *p, const struct package_bytes *files, size_t n, rn_error *err);
void package_file_close(struct package_file *f);
// the end of a long path, so that an error has room for its text
const char *package_shown_path(const char *path);
// Puts the file's path in front of an error; returns st.
rn_status package_in_file(const char *path, rn_status st, rn_error *err);
// Copies as many whole characters as fit, and a terminator.
void package_copy_text(char *dst, size_t size, struct vocab_str s);

// ---- tensors (tensors.c) ------------------------------------------------------------------------

// A tensor as a file describes it, not checked yet.
struct tensor_claim {
    const char *name; // n_name bytes
    uint32_t n_name;
    enum tensor_type type;
    int n_dims; // 1..PACKAGE_MAX_DIMS
    const uint64_t *dims;
    const struct file_map *file; // the file that holds it; NULL: built in memory, see below
    uint64_t offset;             // from the beginning of the file
};

rn_status package_reserve_tensors(struct package *p, size_t n, rn_error *err);
// Errors: RN_E_FORMAT (`tensor NAME: WHY`), RN_E_NOMEM.
rn_status package_add_tensor(struct package *p, const struct tensor_claim *claim, rn_error *err);
// Replaces the list of tensors by an empty one with room for n. The old items stay valid: the
// caller adds those to keep with package_keep_tensor().
rn_status package_begin_anew(struct package *p, size_t n, rn_error *err);
void package_keep_tensor(struct package *p, const struct tensor_view *t);
// Call after the last tensor of a file: checks that tensors from index `first` on do not overlap.
rn_status package_check_overlap(struct package *p, size_t first, const struct file_map *file, rn_error *err);

// Allocates memory for tensors that are built here: n_bytes in total, package_made_size() bytes for
// each. After that, package_add_tensor() with file NULL places them one after the other, and
// package_made_data() points to the last one.
rn_status package_reserve_made(struct package *p, size_t n_bytes, rn_error *err);
bool package_made_size(uint64_t n_bytes, size_t *out); // false: overflow
uint8_t *package_made_data(struct package *p);

// ---- readers ------------------------------------------------------------------------------------

// Each fills p, whose path is set. After a failure package_close() frees what was added.

rn_status gguf_load(struct package *p, rn_error *err); // p's files are its parts
// part_file.c: a safetensors file's tensors as they are named; o: where p has no files yet.
rn_status part_file_load(struct package *p, const struct package_options *o, rn_error *err);
// gguf_older.c: converts tensors of older files to the current form. hp: checked, with layers.
rn_status gguf_renew(struct package *p, const struct hparams *hp, rn_error *err);

#endif
