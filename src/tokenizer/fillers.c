// tokenizer/fillers.c - see fillers.h.
#include "tokenizer/fillers.h"
#include <stdio.h>
#include <string.h>

struct filler filler_of(int32_t id) {
    struct filler f;
    snprintf(f.text, sizeof f.text, "[PAD%d]", id);
    return f;
}

static bool is_special(const struct vocab *v, int32_t id) {
    const int32_t ids[] = {v->bos, v->eos, v->eot, v->eom, v->unk, v->pad};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i] == id) return true;
    for (size_t i = 0; i < VOCAB_N_INFILL; i++)
        if (v->infill[i] == id + 1) return true;
    return false;
}

int32_t fillers_begin(const struct vocab *v) {
    int32_t n = v->n_tokens;
    for (; n > 0; n--) {
        const struct vocab_token *t = &v->tokens[n - 1];
        const struct filler f = filler_of(n - 1);
        if (t->kind != TOKEN_UNUSED || t->text.n != strlen(f.text) || memcmp(t->text.s, f.text, t->text.n) != 0)
            break;
        if (is_special(v, n - 1)) break;
    }
    return n;
}
