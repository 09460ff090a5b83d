// tests/support/npy.h - reads golden arrays: NumPy's .npy, version 1.0, little-endian float32 in C order.
#ifndef RN_TESTS_NPY_H
#define RN_TESTS_NPY_H

#include <stdbool.h>
#include <stddef.h>

enum { NPY_MAX_DIMS = 4 };

struct npy {
    int n_dims;
    size_t shape[NPY_MAX_DIMS]; // unused ones are 1
    float *data;
};

bool npy_read(const char *path, struct npy *out); // false, and a failed check, for anything else; then data is NULL
void npy_free(struct npy *a);

#endif
