// grammar/byte_set.h - sets of byte values.
#ifndef RN_GRAMMAR_BYTE_SET_H
#define RN_GRAMMAR_BYTE_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct byte_set {
    uint64_t bits[4];
};

static inline bool byte_set_has(const struct byte_set *s, uint8_t b) { return s->bits[b >> 6] >> (b & 63) & 1; }
static inline void byte_set_add(struct byte_set *s, uint8_t b) { s->bits[b >> 6] |= UINT64_C(1) << (b & 63); }
static inline void byte_set_add_range(struct byte_set *s, uint8_t from, uint8_t to) {
    for (int b = from; b <= to; b++) byte_set_add(s, (uint8_t)b);
}
static inline void byte_set_or(struct byte_set *s, const struct byte_set *t) {
    for (int i = 0; i < 4; i++) s->bits[i] |= t->bits[i];
}
static inline void byte_set_and(struct byte_set *s, const struct byte_set *t) {
    for (int i = 0; i < 4; i++) s->bits[i] &= t->bits[i];
}
static inline bool byte_set_empty(const struct byte_set *s) {
    return !(s->bits[0] | s->bits[1] | s->bits[2] | s->bits[3]);
}
// Has it one byte alone?
static inline bool byte_set_one(const struct byte_set *s, uint8_t *byte) {
    int n = 0;
    for (int i = 0; i < 4; i++) {
        if (!s->bits[i]) continue;
        n += __builtin_popcountll(s->bits[i]);
        *byte = (uint8_t)(i * 64 + __builtin_ctzll(s->bits[i]));
    }
    return n == 1;
}
static inline bool byte_set_equal(const struct byte_set *s, const struct byte_set *t) {
    return memcmp(s, t, sizeof *s) == 0;
}
static inline struct byte_set byte_set_all(void) {
    return (struct byte_set){{~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)}};
}

#endif
