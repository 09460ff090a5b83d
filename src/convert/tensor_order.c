// convert/tensor_order.c - see tensor_order.h.
#include "convert/tensor_order.h"
#include <stdlib.h>
#include <string.h>

// Names before the layers, within a layer (without "blk.N."), and after the layers.
static const char *const names[] = {
    "token_embd.", "rope_freqs.", "attn_norm.", "attn_q.",   "attn_k.",      "attn_v.", "attn_output.",
    "ffn_norm.",   "ffn_gate.",   "ffn_up.",    "ffn_down.", "output_norm.", "output.",
};
enum { N_NAMES = sizeof names / sizeof *names, N_BEFORE = 2 };

struct place {
    long section, layer, at; // section 0: before the layers, 1: within one, 2: after them
};

static struct place place_of(const char *name) {
    struct place p = {2, 0, N_NAMES};
    if (strncmp(name, "blk.", 4) == 0) {
        char *end;
        p.section = 1;
        p.layer = strtol(name + 4, &end, 10);
        name = *end == '.' ? end + 1 : end;
    }
    for (int i = 0; i < N_NAMES && p.at == N_NAMES; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) p.at = i;
    if (p.section == 2 && p.at < N_BEFORE) p.section = 0;
    return p;
}

static int compare(const void *a, const void *b) {
    const char *x = ((const struct tensor_plan *)a)->t->name, *y = ((const struct tensor_plan *)b)->t->name;
    const struct place p = place_of(x), q = place_of(y);
    if (p.section != q.section) return p.section < q.section ? -1 : 1;
    if (p.layer != q.layer) return p.layer < q.layer ? -1 : 1;
    if (p.at != q.at) return p.at < q.at ? -1 : 1;
    return strcmp(y, x); // "attn_q.weight" before "attn_q.bias"; names are unique, so the order is total
}

void tensor_order(struct tensor_plan *plans, size_t n) { qsort(plans, n, sizeof *plans, compare); }
