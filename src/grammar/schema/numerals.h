// grammar/schema/numerals.h - the texts of JSON numbers that are whole, in a range or multiples of
// a number.
//
// Comparing texts with a bound is done for numbers without an exponent, and bounds other than 0
// allow no other.
#ifndef RN_GRAMMAR_SCHEMA_NUMERALS_H
#define RN_GRAMMAR_SCHEMA_NUMERALS_H

#include "grammar/expr.h"

enum { DECIMAL_MAX_DIGITS = 64 };

struct decimal { // a number as digits without needless zeros: whole . part
    bool is_negative, is_zero;
    char whole[DECIMAL_MAX_DIGITS + 1],
        part[DECIMAL_MAX_DIGITS + 1]; // whole: "0" or no leading zero; part: no trailing zero
};

// text: n bytes of a JSON number. False: it has too many digits.
bool decimal_read(struct decimal *d, const char *text, size_t n);

expr_id numerals_any(struct exprs *e);                    // every JSON number
expr_id numerals_plain(struct exprs *e, bool is_short);   // without an exponent; up to 15 digits, and then zeros
expr_id numerals_integer(struct exprs *e);                // whole numbers without `.0`, and 0 without a sign
expr_id numerals_whole(struct exprs *e, bool with_zeros); // whole numbers, -0 too; with `.0` too
expr_id numerals_equal(struct exprs *e, const struct decimal *d);    // every spelling without an exponent
expr_id numerals_shortest(struct exprs *e, const struct decimal *d); // one spelling
expr_id numerals_least(struct exprs *e, const struct decimal *d, bool is_exclusive);
expr_id numerals_most(struct exprs *e, const struct decimal *d, bool is_exclusive);
// Of numbers without an exponent (numerals_plain()); beyond them, it does not say.
// EXPR_NEVER without a status: the number has too many digits, or is not positive.
expr_id numerals_multiple(struct exprs *e, const struct decimal *d);

#endif
