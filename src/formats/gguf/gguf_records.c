// formats/gguf/gguf_records.c - see gguf_records.h.
#include "formats/gguf/gguf_records.h"
#include "base/checked.h"
#include <inttypes.h>
#include <stdio.h>

// Lists the supported tensor types: "F32, F16, ...".
static void list_types(char *text, size_t size) {
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; i < TENSOR_N_TYPES && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", tensor_type_info((enum tensor_type)i)->name);
}

rn_status gguf_record_claim(const struct gguf *g, const struct gguf_record *t, struct tensor_claim *claim,
                            rn_error *err) {
    const struct tensor_type_info *type = tensor_type_by_gguf_id(t->type);
    size_t offset;
    if (!type) {
        const char *name = tensor_gguf_id_name(t->type);
        char types[256];
        list_types(types, sizeof types);
        if (name) return fail(err, RN_E_UNSUPPORTED, "type %s is not supported; %s are", name, types);
        return fail(err, RN_E_FORMAT, "type %" PRIu32 " is not a GGUF tensor type; %s are read", t->type, types);
    }
    if (t->offset % g->alignment != 0)
        return fail(err, RN_E_FORMAT, "offset %" PRIu64 " is not a multiple of the alignment %zu", t->offset,
                    g->alignment);
    if (!size_add(g->data_start, t->offset, &offset))
        return fail(err, RN_E_FORMAT, "offset %" PRIu64 " overflows", t->offset);
    *claim = (struct tensor_claim){.name = t->name,
                                   .n_name = t->n_name,
                                   .type = type->type,
                                   .n_dims = (int)t->n_dims,
                                   .dims = t->dims,
                                   .offset = offset};
    return RN_OK;
}
