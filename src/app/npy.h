// app/npy.h - writes NumPy's .npy files, version 1.0: numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Threads: one at a time.
#ifndef RN_APP_NPY_H
#define RN_APP_NPY_H

#include "app/files.h"
#include <stdint.h>

enum { NPY_MAX_DIMS = 4 };

// The head of an array in C order; its numbers follow as they are in memory. descr: NumPy's name of their type, "<f4" for
// float32, "|u1" for bytes. shape: 1 to NPY_MAX_DIMS sizes, the outermost first.
bool npy_write_head(out_file *to, const char *descr, const uint64_t *shape, size_t n_dims);

#endif
