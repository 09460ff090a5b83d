// kernels/panels/panel_iq.h - packed weights of the IQ and ternary types, in units of other types: panel_k.h.
//
//   IQ2_XXS, IQ2_XS, IQ2_S, IQ1_S, IQ1_M   as Q3_K: scales of parts of 16, numbers of 3 bits. A number is a place in the table iq2_values or
//                                          iq1_values (tensor/iq_values.h), a scale 2 s + 1; parts of 32 have theirs twice
//   IQ3_XXS, IQ3_S                         as IQ4_XS: scales of parts of 32, numbers of 4 bits, places in iq3_xxs_values and iq3_s_values
//   TQ1_0, TQ2_0                           as Q2_K, which is what they are: scales and minimums of 1
//
// No lookup in a grid is left, and one code serves all types of a table: 3.4 bits a number for 1.6 to 2.6 in the file, 4.25 for 3.1 and 3.4, 2.6
// for 1.7 and 2.1. d stays as it is in the file; kernels multiply it by the type's fraction.
#ifndef RN_KERNELS_PANELS_PANEL_IQ_H
#define RN_KERNELS_PANELS_PANEL_IQ_H

#include "kernels/panels/panel_k.h"
#include "tensor/iq_values.h"

// Sizes, of IQ2 and IQ1 by the name of the table.
size_t panel_iq2_bytes(size_t k);
size_t panel_iq1_bytes(size_t k);
size_t panel_iq3_xxs_bytes(size_t k);
size_t panel_iq3_s_bytes(size_t k);

#define PANEL_IQ_PACK(type)                                                                                          \
    void panel_##type##_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel)
PANEL_IQ_PACK(tq1_0);
PANEL_IQ_PACK(tq2_0);
PANEL_IQ_PACK(iq2_xxs);
PANEL_IQ_PACK(iq2_xs);
PANEL_IQ_PACK(iq2_s);
PANEL_IQ_PACK(iq3_xxs);
PANEL_IQ_PACK(iq3_s);
PANEL_IQ_PACK(iq1_s);
PANEL_IQ_PACK(iq1_m);

#endif
