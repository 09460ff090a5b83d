// app/npy.h - writes NumPy's .npy files, version 1.0: numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Threads: one at a time.
#ifndef RN_APP_NPY_H
#define RN_APP_NPY_H

#include "app/files.h"
#include <stdint.h>

// The head of a float32 array [n_rows][n_columns] in C order; the rows follow as they are in memory
// (little-endian).
bool npy_write_head(out_file *to, uint64_t n_rows, uint64_t n_columns);

#endif
