// tests/support/folder_builder.h - small Hugging Face folders in memory, sound ones and, on request, spoiled ones.
//
// The sound one: a Llama of one layer, 8 wide, 2 heads over 1, n_ff 12, 16 tokens, F32; its elements count up from 0, so that each
// one shows where it was. Nothing is checked: types, shapes and offsets are written as given. Out of memory aborts.
#ifndef RN_TESTS_FOLDER_BUILDER_H
#define RN_TESTS_FOLDER_BUILDER_H

#include "formats/package.h"
#include "tests/support/gguf_builder.h"

// Writes a safetensors file.
struct st_builder {
    struct gb_bytes header, data;
    const char *omit;  // the tensor of this name is left out; NULL: none
    const char *dtype; // of tensors that follow
    uint32_t next;     // what the next element counts
    bool biases, head; // the sound model with biases, with a head of its own
    int n_layer;
};
void st_begin(struct st_builder *b);
void st_tensor(struct st_builder *b, const char *name, int n_dims, uint64_t d0,
               uint64_t d1); // counted elements, behind the others
// A tensor of bytes as they are; shape: "2,3".
void st_bytes(struct st_builder *b, const char *name, const char *dtype, const char *shape, const void *data,
              size_t n);
// Random F32 numbers, the same for the same seed: of a matrix d0 x d1 in -0.125..0.125, of a vector
// (d1 0) in 0.75..1.25.
void st_random(struct st_builder *b, const char *name, uint64_t seed, uint64_t d0, uint64_t d1);
void st_entry(struct st_builder *b, const char *json);     // a member of the header, as it is: "\"x\":{...}"
void st_model(struct st_builder *b);                       // all tensors of the sound model
uint8_t *st_finish(struct st_builder *b, size_t *n_bytes); // the builder is empty again; free() it
// The same with a header of one's own.
uint8_t *st_file(const char *header, size_t n_header, const void *data, size_t n_data, size_t *n_bytes);

extern const char folder_config[]; // config.json of the sound model

// What differs from the sound folder.
struct bad_folder {
    const char *why;
    const char *omit;                        // tensor left out; NULL: none
    void (*add)(struct st_builder *b);       // what comes after it; NULL: nothing
    void (*spoil)(uint8_t *file, size_t *n); // changes the finished safetensors file, may shorten it; NULL: not
    const char *from, *to;                   // in config.json: this text becomes that; NULL: as it is
    const char *generation;                  // generation_config.json; NULL: none
    const char *want;                        // part of the error; NULL: the folder must open
};
// Each row must be refused with its error, which begins with the folder's name, and leave nothing behind (or open).
void check_bad_folders(const struct bad_folder *rows, size_t n_rows);

// config.json with the first `from` replaced; aborts when it is not there. free() it.
char *folder_config_with(const char *from, const char *to);

#endif
