// grammar/text/lark_param.c - see lark_param.h.
#include "grammar/text/lark_param.h"

static uint64_t mask_of(const struct param_node *x) {
    const unsigned n = (unsigned)x->to - x->from;
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

uint64_t param_value(const struct param_list *l, uint32_t at, uint64_t self) {
    const struct param_node *const x = &l->nodes[at];
    const uint64_t field = self >> x->from & mask_of(x), one = (uint64_t)1 << x->from;
    switch ((enum param_kind)x->kind) {
    case PARAM_CONST: return x->value;
    case PARAM_INCR: return field == mask_of(x) ? self : self + one; // saturates
    case PARAM_DECR: return field == 0 ? self : self - one;
    case PARAM_BIT_AND: return self & x->value;
    case PARAM_BIT_OR: return self | x->value;
    default: return self;
    }
}

static bool relates(const struct param_node *x, uint64_t value) {
    return x->relation & (value == x->value ? PARAM_EQ : value < x->value ? PARAM_LT : PARAM_GT);
}

bool param_holds(const struct param_list *l, uint32_t at, uint64_t self) {
    const struct param_node *const x = &l->nodes[at];
    const uint64_t field = self >> x->from & mask_of(x);
    switch ((enum param_kind)x->kind) {
    case PARAM_COMPARE: return relates(x, field);
    case PARAM_COUNT: return relates(x, (uint64_t)__builtin_popcountll(field));
    case PARAM_AND: return param_holds(l, x->a, self) && param_holds(l, x->b, self);
    case PARAM_OR: return param_holds(l, x->a, self) || param_holds(l, x->b, self);
    case PARAM_NOT: return !param_holds(l, x->a, self);
    default: return true;
    }
}
