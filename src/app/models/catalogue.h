// app/models/catalogue.h - a short list of models that are worth a try: a name, where it is, how large, under which licence, what for.
//
// Threads: any; constant.
#ifndef RN_APP_CATALOGUE_H
#define RN_APP_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

typedef struct catalogue_row {
    const char *name;      // what -m and `pull` take
    const char *reference; // hf:... (model_ref.h)
    uint32_t megabytes;    // of its files, in 10^6 bytes, about
    const char *licence, *use;
} catalogue_row;

extern const catalogue_row catalogue[];
extern const size_t n_catalogue;

const catalogue_row *catalogue_find(const char *name); // NULL: not there
// The memory that a model of so many bytes takes with a context of some thousand tokens: its weights and a quarter, and 300 MB.
uint64_t catalogue_memory(const catalogue_row *row);

#endif
