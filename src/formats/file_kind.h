// formats/file_kind.h - recognizes common file types by their first bytes, so that an error can name what was given instead of a model.
//
// Threads: pure function.
#ifndef RN_FORMATS_FILE_KIND_H
#define RN_FORMATS_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_kind {
    const char *what; // "a ZIP archive (a PyTorch checkpoint is one too)"; never NULL
    bool is_gguf;
};
struct file_kind file_kind_of(const uint8_t *data, size_t n);

#endif
