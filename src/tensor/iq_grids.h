// tensor/iq_grids.h - the points that the IQ types choose from: numbers of the format, as llama.cpp's ggml-common.h and the gguf package have them.
//
// A point is 8 numbers of three magnitudes (2 bits each), in IQ3 4 numbers of eight (3 bits each), the first one in the lowest bits: the place of
// its magnitude in the type's list. Threads: constants.
#ifndef RN_TENSOR_IQ_GRIDS_H
#define RN_TENSOR_IQ_GRIDS_H

#include <stdint.h>

extern const uint16_t iq2_xxs_grid[256], iq2_xs_grid[512], iq2_s_grid[1024]; // of 8, 25, 43
extern const uint16_t iq3_xxs_grid[256];                                     // of 4, 12, 20, 28, 36, 44, 52, 62
extern const uint16_t iq3_s_grid[512];                                       // of 1, 3, .. 15
extern const uint16_t iq1_s_grid[2048];                                      // of -1, 0, 1; IQ1_M has the same

#endif
