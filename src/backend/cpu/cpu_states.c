// backend/cpu/cpu_states.c - recurrent states: a slot holds the states of all layers, in the program's layout.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/mem.h"

// Slots are aligned to cache lines.
size_t cpu_state_bytes(const struct program *p) { return round_up(p->state_bytes, 64); }

rn_status cpu_states_load(struct cpu_backend *b, rn_error *err) {
    struct cpu_page_group *states = &b->states;
    if (b->p->state_bytes == 0) return RN_OK;
    states->page_bytes = cpu_state_bytes(b->p);
    if (!size_mul(states->page_bytes, (size_t)b->sizes.n_states, &states->pool_bytes) ||
        !(states->pages = mem_pages(states->pool_bytes)))
        return fail(err, RN_E_NOMEM, "states: out of memory for %d of %zu bytes", b->sizes.n_states,
                    states->page_bytes);
    return RN_OK;
}

void cpu_states_free(struct cpu_backend *b) {
    if (b->states.pages) mem_pages_free(b->states.pages, b->states.pool_bytes);
}

uint8_t *cpu_state(const struct cpu_backend *b, int32_t slot) {
    return b->states.pages + (size_t)slot * b->states.page_bytes;
}
