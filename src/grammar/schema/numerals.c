// grammar/schema/numerals.c - see numerals.h.
#include "grammar/schema/numerals.h"
#include <stdlib.h>

// Numbers have so many digits at most, so that a weak model does not write zeros without end.
enum { MAX_MULTIPLE = 1000000, MAX_WHOLE = DECIMAL_MAX_DIGITS, MAX_SHORT = 15, MAX_PART = 40, MAX_ZEROS = 3 };

bool decimal_read(struct decimal *d, const char *text, size_t n) {
    char digits[DECIMAL_MAX_DIGITS * 2];
    size_t i = 0, n_digits = 0;
    long point = 0;
    bool after_point = false;
    *d = (struct decimal){0};
    if (i < n && text[i] == '-') d->is_negative = true, i++;
    for (; i < n && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        if (n_digits == sizeof digits) return false;
        digits[n_digits++] = text[i];
        point += !after_point;
    }
    if (i < n) {
        char exponent[8] = {0};
        if (n - i - 1 >= sizeof exponent) return false;
        memcpy(exponent, text + i + 1, n - i - 1);
        point += strtol(exponent, NULL, 10);
    }
    size_t first = 0;
    while (first < n_digits && digits[first] == '0') first++, point--;
    while (n_digits > first && digits[n_digits - 1] == '0') n_digits--;
    const long count = (long)(n_digits - first);
    if (count == 0) {
        d->is_zero = true, d->is_negative = false, d->whole[0] = '0';
        return true;
    }
    if (point > DECIMAL_MAX_DIGITS || count - point > DECIMAL_MAX_DIGITS) return false;
    for (long k = 0; k < point; k++) d->whole[k] = k < count ? digits[first + (size_t)k] : '0';
    if (point <= 0) d->whole[0] = '0';
    for (long k = point; k < count; k++) d->part[k - point] = k < 0 ? '0' : digits[first + (size_t)k];
    return true;
}

static expr_id digits(struct exprs *e, char from, char to) {
    struct byte_set s = {{0}};
    if (from > to) return EXPR_NEVER;
    byte_set_add_range(&s, (uint8_t)from, (uint8_t)to);
    return expr_bytes(e, &s);
}

static expr_id any_digits(struct exprs *e, uint32_t min, uint32_t max) {
    return expr_repeat(e, digits(e, '0', '9'), min, max);
}
static expr_id cat3(struct exprs *e, expr_id a, expr_id b, expr_id c) { return expr_cat(e, a, expr_cat(e, b, c)); }
static expr_id point(struct exprs *e) { return expr_byte(e, '.'); }
static expr_id minus(struct exprs *e, expr_id x) { return expr_cat(e, expr_byte(e, '-'), x); }
static expr_id any_part(struct exprs *e) {
    return expr_optional(e, expr_cat(e, point(e), any_digits(e, 1, MAX_PART)));
}
static expr_id zeros(struct exprs *e, uint32_t most) { return expr_repeat(e, expr_byte(e, '0'), 0, most); }
// Where a text is compared with a number, all zeros that a number may end with count: the opposite must have none of its spellings.
static expr_id zero_part(struct exprs *e, uint32_t most) {
    return expr_optional(e, expr_cat(e, point(e), expr_repeat(e, expr_byte(e, '0'), 1, most)));
}
static expr_id any_whole(struct exprs *e) {
    return expr_or2(e, expr_byte(e, '0'), expr_cat(e, digits(e, '1', '9'), any_digits(e, 0, MAX_WHOLE - 1)));
}
static expr_id unsigned_any(struct exprs *e) { return expr_cat(e, any_whole(e), any_part(e)); }

static expr_id exponent(struct exprs *e, expr_id value) {
    struct byte_set mark = {{0}}, sign = {{0}};
    byte_set_add(&mark, 'e'), byte_set_add(&mark, 'E'), byte_set_add(&sign, '+'), byte_set_add(&sign, '-');
    return cat3(e, expr_bytes(e, &mark), expr_optional(e, expr_bytes(e, &sign)), value);
}

// Parsers make doubles of numbers: one beyond their range would become infinite, or 0. Exponents of 0 to 199 may stand behind all
// digits that a number may have, those of 200 to 307 behind one digit other than 0.
static expr_id scaled(struct exprs *e, expr_id x) {
    const expr_id zeros = expr_repeat(e, expr_byte(e, '0'), 0, 2), one = expr_optional(e, expr_byte(e, '1'));
    return expr_cat(e, x, expr_optional(e, exponent(e, cat3(e, zeros, one, any_digits(e, 1, 2)))));
}
static expr_id large_or_small(struct exprs *e) {
    const expr_id size = expr_or2(e, expr_cat(e, expr_byte(e, '2'), any_digits(e, 2, 2)),
                                  expr_cat(e, expr_text(e, "30", 2), digits(e, '0', '7')));
    return cat3(e, digits(e, '1', '9'), any_part(e), exponent(e, size));
}
static expr_id unsigned_scaled(struct exprs *e) { return expr_or2(e, scaled(e, unsigned_any(e)), large_or_small(e)); }

expr_id numerals_any(struct exprs *e) { return expr_cat(e, expr_optional(e, expr_byte(e, '-')), unsigned_scaled(e)); }

// Of so many digits no two make the same double.
static expr_id unsigned_short(struct exprs *e) {
    expr_id all[MAX_SHORT];
    for (uint32_t n = 1; n <= MAX_SHORT; n++) {
        const expr_id whole = expr_cat(e, digits(e, n > 1 ? '1' : '0', '9'), any_digits(e, n - 1, n - 1));
        const expr_id more =
            n < MAX_SHORT ? expr_cat(e, any_digits(e, 1, MAX_SHORT - n), zeros(e, MAX_ZEROS)) : EXPR_NEVER;
        all[n - 1] = expr_cat(e, whole, expr_or2(e, zero_part(e, MAX_ZEROS), expr_cat(e, point(e), more)));
    }
    return expr_or(e, all, MAX_SHORT);
}

expr_id numerals_plain(struct exprs *e, bool is_short) {
    return expr_cat(e, expr_optional(e, expr_byte(e, '-')), is_short ? unsigned_short(e) : unsigned_any(e));
}

expr_id numerals_whole(struct exprs *e, bool with_zeros) {
    const expr_id part = with_zeros ? zero_part(e, MAX_PART) : (expr_id)EXPR_EMPTY;
    return cat3(e, expr_optional(e, expr_byte(e, '-')), any_whole(e), part);
}

expr_id numerals_integer(struct exprs *e) {
    const expr_id size = expr_cat(e, digits(e, '1', '9'), any_digits(e, 0, MAX_WHOLE - 1));
    return expr_or2(e, expr_byte(e, '0'), expr_cat(e, expr_optional(e, expr_byte(e, '-')), size));
}

// Digits above the point: more than `whole`. And fewer.
static expr_id whole_above(struct exprs *e, const char *whole) {
    const uint32_t n = (uint32_t)strlen(whole);
    expr_id x = expr_cat(e, digits(e, '1', '9'), any_digits(e, n, MAX_WHOLE));
    for (uint32_t k = 0; k < n; k++) {
        const expr_id rest = expr_cat(e, digits(e, (char)(whole[k] + 1), '9'), any_digits(e, n - k - 1, n - k - 1));
        if (whole[k] < '9') x = expr_or2(e, x, expr_cat(e, expr_text(e, whole, k), rest));
    }
    return x;
}

static expr_id whole_below(struct exprs *e, const char *whole) {
    const uint32_t n = (uint32_t)strlen(whole);
    expr_id x = EXPR_NEVER;
    if (n > 1) x = expr_or2(e, expr_byte(e, '0'), expr_cat(e, digits(e, '1', '9'), any_digits(e, 0, n - 2)));
    for (uint32_t k = 0; k < n; k++) {
        const char least = k == 0 && n > 1 ? '1' : '0';
        if (whole[k] <= least) continue;
        const expr_id rest = expr_cat(e, digits(e, least, (char)(whole[k] - 1)), any_digits(e, n - k - 1, n - k - 1));
        x = expr_or2(e, x, expr_cat(e, expr_text(e, whole, k), rest));
    }
    return x;
}

static expr_id some_nonzero(struct exprs *e) {
    return cat3(e, zeros(e, MAX_PART), digits(e, '1', '9'), any_digits(e, 0, MAX_PART));
}

// The rest of a number whose whole part equals the bound's: at least, or at most, .part
static expr_id part_least(struct exprs *e, const char *part, bool is_exclusive) {
    const uint32_t n = (uint32_t)strlen(part);
    if (n == 0) return is_exclusive ? expr_cat(e, point(e), some_nonzero(e)) : any_part(e);
    expr_id x = expr_cat(e, expr_text(e, part, n), is_exclusive ? some_nonzero(e) : any_digits(e, 0, MAX_PART));
    for (uint32_t k = 0; k < n; k++)
        if (part[k] < '9')
            x = expr_or2(
                e, x,
                cat3(e, expr_text(e, part, k), digits(e, (char)(part[k] + 1), '9'), any_digits(e, 0, MAX_PART)));
    return expr_cat(e, point(e), x);
}

static expr_id part_most(struct exprs *e, const char *part, bool is_exclusive) {
    const uint32_t n = (uint32_t)strlen(part);
    if (n == 0) return is_exclusive ? (expr_id)EXPR_NEVER : zero_part(e, MAX_PART);
    expr_id x = is_exclusive ? (expr_id)EXPR_NEVER : expr_cat(e, expr_text(e, part, n), zeros(e, MAX_PART));
    for (uint32_t k = 0; k < n; k++) {
        if (part[k] > '0')
            x = expr_or2(
                e, x,
                cat3(e, expr_text(e, part, k), digits(e, '0', (char)(part[k] - 1)), any_digits(e, 0, MAX_PART)));
        if (k > 0) x = expr_or2(e, x, expr_text(e, part, k));
    }
    return expr_optional(e, expr_cat(e, point(e), x));
}

static expr_id size_least(struct exprs *e, const struct decimal *d, bool is_exclusive) {
    return expr_or2(e, expr_cat(e, whole_above(e, d->whole), any_part(e)),
                    expr_cat(e, expr_text(e, d->whole, strlen(d->whole)), part_least(e, d->part, is_exclusive)));
}

static expr_id size_most(struct exprs *e, const struct decimal *d, bool is_exclusive) {
    return expr_or2(e, expr_cat(e, whole_below(e, d->whole), any_part(e)),
                    expr_cat(e, expr_text(e, d->whole, strlen(d->whole)), part_most(e, d->part, is_exclusive)));
}

expr_id numerals_equal(struct exprs *e, const struct decimal *d) {
    const size_t n = strlen(d->part);
    const expr_id part = n ? cat3(e, point(e), expr_text(e, d->part, n), zeros(e, MAX_PART)) : zero_part(e, MAX_PART);
    const expr_id size = expr_cat(e, expr_text(e, d->whole, strlen(d->whole)), part);
    if (d->is_zero) return expr_cat(e, expr_optional(e, expr_byte(e, '-')), size);
    return d->is_negative ? minus(e, size) : size;
}

expr_id numerals_shortest(struct exprs *e, const struct decimal *d) {
    const size_t n = strlen(d->part);
    const expr_id part = n ? expr_cat(e, point(e), expr_text(e, d->part, n)) : (expr_id)EXPR_EMPTY;
    const expr_id size = expr_cat(e, expr_text(e, d->whole, strlen(d->whole)), part);
    return d->is_negative ? minus(e, size) : size;
}

static expr_id zero(struct exprs *e) { return scaled(e, expr_cat(e, expr_byte(e, '0'), zero_part(e, MAX_PART))); }

static expr_id above_zero(struct exprs *e) { // 1.5, 0.01, 0.5e3
    const expr_id from_one = expr_cat(e, expr_cat(e, digits(e, '1', '9'), any_digits(e, 0, MAX_PART)), any_part(e));
    const expr_id below_one = cat3(e, expr_byte(e, '0'), point(e), some_nonzero(e));
    return expr_or2(e, scaled(e, expr_or2(e, from_one, below_one)), large_or_small(e));
}

expr_id numerals_least(struct exprs *e, const struct decimal *d, bool is_exclusive) {
    if (d->is_zero)
        return is_exclusive ? above_zero(e) : expr_or(e, (expr_id[]){above_zero(e), zero(e), minus(e, zero(e))}, 3);
    if (!d->is_negative) return size_least(e, d, is_exclusive);
    return expr_or2(e, unsigned_scaled(e), minus(e, size_most(e, d, is_exclusive)));
}

expr_id numerals_most(struct exprs *e, const struct decimal *d, bool is_exclusive) {
    if (d->is_zero)
        return is_exclusive ? minus(e, above_zero(e))
                            : expr_or(e, (expr_id[]){minus(e, above_zero(e)), zero(e), minus(e, zero(e))}, 3);
    if (d->is_negative) return minus(e, size_least(e, d, is_exclusive));
    return expr_or2(e, minus(e, unsigned_scaled(e)), size_most(e, d, is_exclusive));
}

expr_id numerals_multiple(struct exprs *e, const struct decimal *d) {
    char all[2 * DECIMAL_MAX_DIGITS + 1] = {0};
    const size_t n_whole = strlen(d->whole), n_part = strlen(d->part);
    if (d->is_zero || d->is_negative) return EXPR_NEVER;
    memcpy(all, d->whole, n_whole), memcpy(all + n_whole, d->part, n_part);
    size_t first = 0;
    while (all[first] == '0') first++;
    if (n_whole + n_part - first > 7) return EXPR_NEVER;
    const unsigned long of = strtoul(all + first, NULL, 10);
    if (of == 0 || of > MAX_MULTIPLE) return EXPR_NEVER;
    return expr_multiple(e, (uint32_t)of, (uint32_t)n_part);
}
