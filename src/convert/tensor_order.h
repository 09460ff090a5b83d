// convert/tensor_order.h - the order that GGUF files usually have their tensors in: embedding, layer after layer, head.
#ifndef RN_CONVERT_TENSOR_ORDER_H
#define RN_CONVERT_TENSOR_ORDER_H

#include "convert/type_plan.h"

// Sorts a model's tensor plans into that order; tensors with unknown names come last, by name.
void tensor_order(struct tensor_plan *plans, size_t n);

#endif
