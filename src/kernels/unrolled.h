// kernels/unrolled.h - for loops over a tile's rows and vectors: taken apart before arrays of sums are given registers. GCC 12 else
// takes nested ones apart too late and stores each sum in every round.
#ifndef RN_KERNELS_UNROLLED_H
#define RN_KERNELS_UNROLLED_H

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

#endif
