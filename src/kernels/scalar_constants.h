// kernels/scalar_constants.h - the constants that define log_f32, tanh_f32 and erf_f32, for their
// scalar and vector implementations. docs/arithmetic.md.
#ifndef RN_KERNELS_SCALAR_CONSTANTS_H
#define RN_KERNELS_SCALAR_CONSTANTS_H

// Polynomials: coefficients in ascending order of powers.
#define LOG_SQRT_HALF 0x3f3504f3u  // the bits of sqrt(1/2)
#define LOG_LN2_HI    0x1.62e4p-1f // e * this is exact: 15 bits by 8
#define LOG_LN2_LO    0x1.7f7d1cp-20f
#define LOG_P                                                                                                        \
    {0x1.555554p-2f,  -0x1.fffffcp-3f, 0x1.999d5ap-3f,  -0x1.555b4ap-3f, 0x1.23d21ap-3f,                             \
     -0x1.fcf4c6p-4f, 0x1.dea282p-4f,  -0x1.d635bcp-4f, 0x1.1d8ea6p-4f}

#define TANH_SMALL 0.625f // below this, a series avoids cancellation
#define TANH_P     {-0x1.555552p-2f, 0x1.110e1cp-3f, -0x1.b9258ap-5f, 0x1.58048ep-6f, -0x1.8f8de4p-8f}

#define ERF_SMALL 0.875f
#define ERF_LARGE 4.0f // erf is 1 from here on
#define ERF_P     {0x1.06eba6p-3f, -0x1.81270ep-2f, 0x1.ce218ep-4f, -0x1.b6f9c4p-6f, 0x1.49eebap-8f, -0x1.45d2cp-11f}
#define ERF_G                                                                                                        \
    {-0x1.4a768cp-12f, 0x1.215606p+0f,   0x1.4380dap-1f,  0x1.c2dab2p-4f,  -0x1.b0dd94p-6f,                          \
     0x1.37f858p-8f,   -0x1.391452p-11f, 0x1.82e04ap-15f, -0x1.b88886p-20f}

#endif
