// decoding/draft/draft.c - see draft.h.
#include "decoding/draft/draft.h"

void draft_cut(struct draft *d, int32_t most, int32_t deepest) {
    int32_t depth[DRAFT_MOST], place[DRAFT_MOST], n = 0;
    for (int32_t i = 0; i < d->n && n < most; i++) {
        const int32_t parent = d->parents[i];
        depth[i] = parent == DRAFT_ROOT ? 1 : depth[parent] + 1;
        if (depth[i] > deepest) continue; // and so are its children
        place[i] = n;
        d->tokens[n] = d->tokens[i], d->classes[n] = d->classes[i], d->predicted[n] = d->predicted[i];
        d->sources[n] = d->sources[i];
        d->parents[n++] = parent == DRAFT_ROOT ? DRAFT_ROOT : place[parent];
    }
    d->n = n;
}
