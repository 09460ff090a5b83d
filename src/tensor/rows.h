// tensor/rows.h - the row conversions in the type table of types.c; call them through
// tensor_type_info().
//
// Threads: pure functions. Contract: as in struct tensor_type_info.
#ifndef RN_TENSOR_ROWS_H
#define RN_TENSOR_ROWS_H

#include <stddef.h>

void f32_dequantize_row(const void *src, float *dst, size_t n);
void f16_dequantize_row(const void *src, float *dst, size_t n);
void bf16_dequantize_row(const void *src, float *dst, size_t n);
void q8_0_dequantize_row(const void *src, float *dst, size_t n);
void q4_0_dequantize_row(const void *src, float *dst, size_t n);
void q4_1_dequantize_row(const void *src, float *dst, size_t n);
void q5_0_dequantize_row(const void *src, float *dst, size_t n);
void q5_1_dequantize_row(const void *src, float *dst, size_t n);
void iq4_nl_dequantize_row(const void *src, float *dst, size_t n);
void mxfp4_dequantize_row(const void *src, float *dst, size_t n);
void q2_k_dequantize_row(const void *src, float *dst, size_t n);
void q3_k_dequantize_row(const void *src, float *dst, size_t n);
void q4_k_dequantize_row(const void *src, float *dst, size_t n);
void q5_k_dequantize_row(const void *src, float *dst, size_t n);
void q6_k_dequantize_row(const void *src, float *dst, size_t n);
void iq4_xs_dequantize_row(const void *src, float *dst, size_t n);
void tq1_0_dequantize_row(const void *src, float *dst, size_t n);
void tq2_0_dequantize_row(const void *src, float *dst, size_t n);
void iq2_xxs_dequantize_row(const void *src, float *dst, size_t n);
void iq2_xs_dequantize_row(const void *src, float *dst, size_t n);
void iq2_s_dequantize_row(const void *src, float *dst, size_t n);
void iq3_xxs_dequantize_row(const void *src, float *dst, size_t n);
void iq3_s_dequantize_row(const void *src, float *dst, size_t n);
void iq1_s_dequantize_row(const void *src, float *dst, size_t n);
void iq1_m_dequantize_row(const void *src, float *dst, size_t n);
void q1_0_dequantize_row(const void *src, float *dst, size_t n);
void q2_0_dequantize_row(const void *src, float *dst, size_t n);
void nvfp4_dequantize_row(const void *src, float *dst, size_t n);

void f32_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void f16_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void bf16_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q8_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q4_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q4_1_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q5_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q5_1_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq4_nl_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void mxfp4_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q2_k_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q3_k_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q4_k_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q5_k_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q6_k_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq4_xs_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void tq1_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void tq2_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq2_xxs_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq2_xs_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq2_s_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq3_xxs_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq3_s_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq1_s_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void iq1_m_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q1_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);
void q2_0_quantize_row(const float *src, const float *importance, void *dst, size_t n);

#endif
