// grammar/recognizer.h - which bytes may follow a text, by a grammar: Earley's algorithm over lazily made automata.
//
// A config is all that is possible after a text. Equal ones are one, however they were reached, so that loops come back to the same
// config, and whoever remembers something for a config (a mask) finds it again. Items are a terminal's edge, the state within the terminal, the
// config where their rule began (its origin) and the rounds of a counted rule (Earley, "An efficient context-free parsing
// algorithm", 1970; nullable rules as in Aycock and Horspool, "Practical Earley parsing", 2002).
//
// Errors stick in `e->status`; every config is CONFIG_DEAD then. Ownership: recognizer_free(). Threads: one at a time.
#ifndef RN_GRAMMAR_RECOGNIZER_H
#define RN_GRAMMAR_RECOGNIZER_H

#include "grammar/rules.h"

enum { CONFIG_DEAD = 0 }; // the text is no beginning of any text of the grammar
#define CONFIG_UNKNOWN UINT32_MAX

struct item {
    uint32_t edge;   // with KERNEL_NODE: a node that was reached, else an edge over a terminal
    uint32_t state;  // of the dfa, within the terminal
    uint32_t origin; // a config
    uint32_t count;  // rounds of a counted rule
};

struct waiter { // a rule that was called, and where its caller goes on
    uint32_t rule, node, origin, count;
};

struct index { // of an array's elements, by content: index + 1; 0: free
    uint32_t *table;
    uint32_t size;
};

struct config {
    uint32_t kernel, n_kernel; // items that make it this config
    uint32_t items, n_items;   // over terminals: what the next byte is read with
    uint32_t waiters, n_waiters;
    struct byte_set live; // no other byte can follow
    bool accepts;         // the text is whole
};

struct recognizer {
    struct exprs *e;
    struct dfa *d;
    const struct rules *r;
    struct config *configs;
    uint32_t *next; // [n_configs][e->n_classes]
    uint32_t n_configs, max_configs, limit;
    struct item *items; // kernels and items of all configs
    uint32_t n_items, max_items;
    struct waiter *waiters;
    uint32_t n_waiters, max_waiters;
    uint32_t *table; // of kernels: config, 0: free
    uint32_t table_size;
    struct item *places; // scratch of the closure: edge is a node
    uint32_t n_places, max_places;
    struct index places_by;       // of places, by content
    struct index waiters_by;      // of the waiters of the closure, by content
    uint32_t *predicted;          // [n_rules] the config that predicted the rule last
    uint32_t first;               // the config of the empty text
    uint64_t n_steps, most_steps; // places that were looked at; recognizer_begin()
};

// limit: configs at most. r: compiled with d.
rn_status recognizer_init(struct recognizer *p, const struct rules *r, struct dfa *d, uint32_t start, uint32_t limit,
                          rn_error *err);
void recognizer_free(struct recognizer *p);
// From here on so many places of rules may be looked at, then the status is RN_E_LIMIT: each byte of
// a text of an ambiguous grammar may need as many as the text has bytes, squared. Without it there
// is no limit.
void recognizer_begin(struct recognizer *p, uint64_t most_steps);
uint64_t recognizer_bytes(const struct recognizer *p); // that are allocated

uint32_t recognizer_make_next(struct recognizer *p, uint32_t config, uint32_t byte_class);
static inline uint32_t recognizer_next(struct recognizer *p, uint32_t config, uint8_t byte) {
    const uint32_t c = p->e->class_of[byte];
    const uint32_t to = p->next[(size_t)config * p->e->n_classes + c];
    return to != CONFIG_UNKNOWN ? to : recognizer_make_next(p, config, c);
}
static inline const struct byte_set *recognizer_live(const struct recognizer *p, uint32_t config) {
    return &p->configs[config].live;
}
static inline bool recognizer_accepts(const struct recognizer *p, uint32_t config) {
    return p->configs[config].accepts;
}
// A config that is like this one, but within its terminals in the states that state_of() gives.
uint32_t recognizer_with_states(struct recognizer *p, uint32_t config,
                                uint32_t (*state_of)(void *user, uint32_t state), void *user);
// The config after n bytes.
uint32_t recognizer_read(struct recognizer *p, uint32_t config, const char *s, size_t n);

#endif
