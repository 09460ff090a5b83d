// cli/other_file.h - what a file is that runnel reads beside models: importance matrices, adapters, projectors, draft heads, saved chats.
//
// Only what says so is read: a GGUF file's keys, a safetensors file's names, a session's head. Files are not trusted.
//
// Threads: any.
#ifndef RN_CLI_OTHER_FILE_H
#define RN_CLI_OTHER_FILE_H

#include "app/bytes.h"
#include <stdint.h>

typedef struct other_file {
    const char *name, *use; // "imatrix"; what it is and for what, a sentence's part. NULL: none of these files
    uint64_t n_bytes;
    bytes facts; // lines "key<tab>value", of plain text
} other_file;

// False: the file is none of these, malformed or not there, and k is empty: the reader of models says what is wrong.
bool other_file_read(const char *path, other_file *k);
void other_file_free(other_file *k);

#endif
