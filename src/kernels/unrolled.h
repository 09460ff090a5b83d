// kernels/unrolled.h - for loops over a tile's rows and vectors: unrolls them before register
// allocation, so that arrays of sums stay in registers. Without it GCC 12 unrolls nested loops too
// late and stores each sum in every iteration.
#ifndef RN_KERNELS_UNROLLED_H
#define RN_KERNELS_UNROLLED_H

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

#endif
