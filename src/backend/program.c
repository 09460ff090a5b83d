// backend/program.c - names of ops, for profiles and messages.
#include "backend/program.h"

const char *op_kind_name(enum op_kind k) {
    static const char *const names[OP_N_KINDS] = {"embed",  "rms_norm", "linear", "rope",  "store_kv",
                                                  "attend", "silu_mul", "add",    "gather"};
    return k < OP_N_KINDS ? names[k] : "?";
}
