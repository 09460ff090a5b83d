// tensor/iq_values.h - the numbers of the IQ types as integers (tensor/iq_blocks.h), and the fractions that go with them.
#ifndef RN_TENSOR_IQ_VALUES_H
#define RN_TENSOR_IQ_VALUES_H

#include <stdint.h>

// What d is multiplied by.
#define IQ2_UNIT     0.125f
#define IQ1_UNIT     0.125f
#define IQ3_XXS_UNIT 0.25f
#define IQ3_S_UNIT   1.0f

// All the numbers q that there are, ascending. The last one repeated fills the table up.
static const int8_t iq2_values[16] = {-43, -25, -8, 8, 25, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43};
static const int8_t iq1_values[16] = {-9, -7, -1, 1, 7, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
static const int8_t iq3_xxs_values[16] = {-62, -52, -44, -36, -28, -20, -12, -4, 4, 12, 20, 28, 36, 44, 52, 62};
static const int8_t iq3_s_values[16] = {-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15};

#endif
