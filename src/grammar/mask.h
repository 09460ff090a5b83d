// grammar/mask.h - which tokens of a vocabulary may follow a text.
//
// A token is allowed iff the text with its bytes is the beginning of a text of the grammar (docs/structured-output.md). Masks are
// remembered by config (recognizer.h) up to a number of bytes.
// Ownership: masker_free(); recognizer and trie are borrowed. Threads: one at a time.
#ifndef RN_GRAMMAR_MASK_H
#define RN_GRAMMAR_MASK_H

#include "grammar/char_depth.h"
#include "grammar/recognizer.h"
#include "grammar/vocab_trie.h"

struct masker {
    struct recognizer *p;
    const struct vocab_trie *v;
    struct char_depths depths;
    uint32_t *mask_of;  // [n_known] by config: a mask + 1; 0: none
    uint32_t *alike_of; // [n_known] by config: the one whose mask it shares; CONFIG_UNKNOWN: not known yet
    uint32_t n_known;
    uint64_t *masks;     // [n_masks][v->n_words]
    uint32_t *config_of; // [n_masks] whose mask it is
    uint32_t n_masks, max_masks, hand;
    uint32_t *stack; // [v->max_depth + 1] configs on the way into the trie
};

// max_masks: masks remembered, at least 1; v->n_words * 8 bytes each.
rn_status masker_init(struct masker *m, struct recognizer *p, const struct vocab_trie *v, uint32_t max_masks,
                      rn_error *err);
void masker_free(struct masker *m);
uint64_t masker_bytes(const struct masker *m); // that are allocated

// The mask of a config, v->n_words words; valid until the next call. NULL after an error (p->e->status).
const uint64_t *masker_get(struct masker *m, uint32_t config);

// Does a token of the vocabulary begin with these bytes, have more, and may the rest follow in this config?
bool masker_goes_beyond(struct masker *m, uint32_t config, const char *s, size_t n);

#endif
