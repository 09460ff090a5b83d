// backend/program.c - names of ops, for profiles and messages.
#include "backend/program.h"

const char *op_kind_name(enum op_kind k) {
    static const char *const names[OP_N_KINDS] = {[OP_EMBED] = "embed",
                                                  [OP_VECTOR] = "vector",
                                                  [OP_EMBED_POS] = "embed_pos",
                                                  [OP_RMS_NORM] = "rms_norm",
                                                  [OP_LAYER_NORM] = "layer_norm",
                                                  [OP_LINEAR] = "linear",
                                                  [OP_ROPE] = "rope",
                                                  [OP_STORE_KV] = "store_kv",
                                                  [OP_ATTEND] = "attend",
                                                  [OP_ACTIVATE] = "activate",
                                                  [OP_GATE] = "gate",
                                                  [OP_ADD] = "add",
                                                  [OP_SCALE] = "scale",
                                                  [OP_SOFTCAP] = "softcap",
                                                  [OP_TEMPERATURE] = "temperature",
                                                  [OP_COPY] = "copy",
                                                  [OP_ROUTE] = "route",
                                                  [OP_SPREAD] = "spread",
                                                  [OP_EXPERTS] = "experts",
                                                  [OP_EXPERTS_SUM] = "experts_sum",
                                                  [OP_GATE_OAI] = "gate_oai",
                                                  [OP_SCALE_BY] = "scale_by",
                                                  [OP_MUL] = "mul",
                                                  [OP_CONV] = "conv",
                                                  [OP_SSM] = "ssm",
                                                  [OP_DELTA] = "delta",
                                                  [OP_GATHER] = "gather"};
    return k < OP_N_KINDS ? names[k] : "?";
}
