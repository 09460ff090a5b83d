// kernels/exp_constants.h - the constants that define exp_f32, for its scalar and vector
// implementations. docs/arithmetic.md.
#ifndef RN_KERNELS_EXP_CONSTANTS_H
#define RN_KERNELS_EXP_CONSTANTS_H

#define EXP_MAX    0x1.62e42ep+6f  // 88.72283: the largest x whose exp is finite
#define EXP_MIN    -0x1.5d589ep+6f // -87.33654: the smallest x whose exp is at least FLT_MIN
#define EXP_LOG2E  0x1.715476p+0f
#define EXP_SHIFT  0x1.8p+23f    // adding it rounds to an integer (to nearest, ties to even)
#define EXP_LN2_HI 0x1.62e43p-1f // n * this is exact in the fused x - n * hi that follows
#define EXP_LN2_LO -0x1.05c61p-29f
// exp(r) = 1 + r + C2 r^2 + ... + C6 r^6 on |r| <= ln 2 / 2
#define EXP_C2 0x1p-1f
#define EXP_C3 0x1.5554dcp-3f
#define EXP_C4 0x1.555518p-5f
#define EXP_C5 0x1.120be2p-7f
#define EXP_C6 0x1.6d117cp-10f

#endif
