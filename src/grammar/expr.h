// grammar/expr.h - regular expressions over bytes: built bottom-up, equal ones are one, and derived
// by a byte.
//
// The derivative of an expression by a byte b describes what may follow b (Brzozowski, "Derivatives
// of regular expressions", 1964; Owens, Reppy and Turon, "Regular-expression derivatives
// re-examined", 2009). Intersection and complement cost nothing extra, so that a string may have to
// match several patterns and none of a list of names.
//
// Errors stick: after an allocation failed or a limit was reached, `status` says so and every
// result is EXPR_NEVER.
// Ownership: exprs_free() releases all. Threads: one at a time.
#ifndef RN_GRAMMAR_EXPR_H
#define RN_GRAMMAR_EXPR_H

#include "base/status.h"
#include "grammar/byte_set.h"
#include <stddef.h>

typedef uint32_t expr_id;
enum { EXPR_NEVER, EXPR_EMPTY, EXPR_ANY }; // no text at all; the empty text; every text
#define EXPR_NO_MAX UINT32_MAX             // of expr_repeat()
#define EXPR_LARGE  128

enum expr_kind {
    EXPR_KIND_NEVER,
    EXPR_KIND_EMPTY,
    EXPR_KIND_BYTES,
    EXPR_KIND_CAT,
    EXPR_KIND_OR,
    EXPR_KIND_AND,
    EXPR_KIND_NOT,
    EXPR_KIND_REPEAT,
    EXPR_KIND_MULTIPLE
};

struct expr {
    uint8_t kind;
    bool is_nullable; // matches the empty text
    bool is_finite;   // matches a limited number of texts
    bool is_large;    // has a repetition of more than EXPR_LARGE
    // neither intersection nor complement inside: not empty, and `first` has no byte too many
    bool is_exact;
    uint16_t depth; // how deep expr_derive() goes
    // CAT: first and rest. NOT, REPEAT: a. BYTES: a is the set. OR, AND: b kids from a.
    // MULTIPLE: of a; the remainder is b so far.
    uint32_t a, b;
    // REPEAT. MULTIPLE: min digits may follow the point; max 1: it was read.
    uint32_t min, max;
    uint32_t shortest;     // no text of it has fewer bytes, as far as is easily told
    struct byte_set first; // no text of the expression begins with any other byte
};

struct derivative {
    expr_id of, is;
    uint32_t byte;
};

struct exprs {
    struct expr *nodes;
    uint32_t n_nodes, max_nodes;
    expr_id *kids;
    uint32_t n_kids, max_kids;
    struct byte_set *sets;
    uint32_t n_sets, max_sets;
    uint32_t *table; // [table_size] node + 1; 0: free
    uint32_t table_size;
    uint32_t limit; // nodes at most
    // kids of alternatives and intersections that were looked at; limited, too
    uint64_t work;
    struct derivative *derived; // a cache: parts that expressions share are derived once
    uint32_t derived_size;
    // Bytes that no set tells apart are one class; exprs_classes() makes them.
    uint8_t class_of[256], class_byte[256]; // class of a byte; one byte of a class
    uint32_t n_classes, n_classed_sets;
    // no text of it begins another, so that its repetitions intersect by their bounds; EXPR_NEVER:
    // none
    expr_id unit;
    rn_status status; // RN_OK, RN_E_NOMEM or RN_E_LIMIT
    const char *why;  // which limit; NULL: that of expressions
};

// limit: the most expressions that may be made, derivatives included.
rn_status exprs_init(struct exprs *e, uint32_t limit, rn_error *err);
void exprs_free(struct exprs *e);
uint64_t exprs_bytes(const struct exprs *e); // that are allocated
// Fills err from `status`.
rn_status exprs_status(const struct exprs *e, rn_error *err);

expr_id expr_bytes(struct exprs *e, const struct byte_set *set);
expr_id expr_byte(struct exprs *e, uint8_t b);
expr_id expr_text(struct exprs *e, const char *s, size_t n);
expr_id expr_cat(struct exprs *e, expr_id a, expr_id b);
expr_id expr_or(struct exprs *e, const expr_id *kids, size_t n);  // n 0: EXPR_NEVER
expr_id expr_and(struct exprs *e, const expr_id *kids, size_t n); // n 0: EXPR_ANY
expr_id expr_or2(struct exprs *e, expr_id a, expr_id b);
expr_id expr_and2(struct exprs *e, expr_id a, expr_id b);
expr_id expr_not(struct exprs *e, expr_id a);
expr_id expr_repeat(struct exprs *e, expr_id a, uint32_t min, uint32_t max);
expr_id expr_optional(struct exprs *e, expr_id a);
// Decimal numbers that are multiples of of * 10^-n_digits, of > 0. Signs are passed over; what is
// no number is not told apart.
expr_id expr_multiple(struct exprs *e, uint32_t of, uint32_t n_digits);

// An expression that treats texts of at most n_bytes as x does: what they lead to is nullable, and
// matches something, where x's does. So "at most 5,000 characters" is the same as "at most 4,999".
expr_id expr_within(struct exprs *e, expr_id x, uint32_t n_bytes);
expr_id expr_derive(struct exprs *e, expr_id a, uint8_t b);
// Drops alternatives that match no text but those that another one of them matches too, as far as
// their repetitions tell; returns how many are left.
uint32_t expr_drop_included(const struct exprs *e, expr_id *kids, uint32_t n);
// Does one of them exclude all that another one matches?
bool expr_excludes(const struct exprs *e, const expr_id *kids, uint32_t n);
static inline bool expr_nullable(const struct exprs *e, expr_id a) { return e->nodes[a].is_nullable; }
static inline bool expr_starts(const struct exprs *e, expr_id a, uint8_t b) {
    return byte_set_has(&e->nodes[a].first, b);
}

// Does the expression match no text at all? Looks at up to `most` derivatives; false: it may match
// one.
bool expr_surely_never(struct exprs *e, expr_id a, uint32_t most);

// Groups the bytes into classes, anew if sets were added since the last call.
void exprs_classes(struct exprs *e);

#endif
