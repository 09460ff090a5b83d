// jinja/py_chars.c - see py_chars.h.
#include "jinja/py_chars.h"
#include <utf8proc.h>

// Bytes of the character that begins with this byte; 1 if no character does.
static inline size_t len_by_lead(uint8_t lead) {
    return lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
}

// Bytes of the character at s, by its form only: texts from outside have been validated. A byte
// that does not begin a well-formed character counts as one, so that all functions here count alike
// in invalid text too.
static inline size_t char_len(const char *s, size_t n) {
    const size_t len = len_by_lead((uint8_t)*s);
    if (len > n) return 1;
    for (size_t i = 1; i < len; i++)
        if (((uint8_t)s[i] & 0xC0) != 0x80) return 1;
    return len;
}

size_t py_char_len(const char *s, size_t n) { return char_len(s, n); }

uint32_t py_char(const char *s, size_t n, int *len) {
    static const uint8_t lead_bits[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    *len = (int)char_len(s, n);
    if (*len == 1) return (uint8_t)*s < 0x80 ? (uint8_t)*s : PY_NO_CHAR;
    uint32_t cp = (uint8_t)s[0] & lead_bits[*len];
    for (int i = 1; i < *len; i++) cp = cp << 6 | ((uint8_t)s[i] & 0x3F);
    const bool is_overlong = cp < 0x80 || (*len > 2 && cp < 0x800) || (*len > 3 && cp < 0x10000);
    return is_overlong || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000) ? PY_NO_CHAR : cp;
}

size_t py_char_len_before(const char *s, size_t at) {
    for (size_t n = 2; n <= 4 && n <= at; n++)
        if (((uint8_t)s[at - n] & 0xC0) == 0xC0) return char_len(s + at - n, n) == n ? n : 1;
    return 1;
}

size_t py_count_chars(const char *s, size_t n) {
    size_t n_chars = 0;
    for (size_t i = 0; i < n; i += char_len(s + i, n - i)) n_chars++;
    return n_chars;
}

size_t py_byte_of(const char *s, size_t n, size_t i_char) {
    size_t at = 0;
    for (; at < n && i_char > 0; i_char--) at += char_len(s + at, n - at);
    return at;
}

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

static bool is_letter(utf8proc_category_t c) { return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO; }

// Unicode's White_Space and the ASCII separators.
static bool is_space(uint32_t cp) {
    static const uint16_t others[] = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    if ((cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x1F) || (cp >= 0x2000 && cp <= 0x200A)) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] == cp) return true;
    return false;
}

// Numeric_Type=Digit (UnicodeData.txt, field 7): superscripts, and circled and dotted digits.
static bool is_digit_sign(uint32_t cp) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
        {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
        {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
        {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (cp >= ranges[i].first && cp <= ranges[i].last) return true;
    return false;
}

// Includes Other_Uppercase and Other_Lowercase, which the general category lacks; utf8proc's test
// does as well.
static bool is_upper(uint32_t cp) { return utf8proc_isupper((utf8proc_int32_t)cp); }
static bool is_lower(uint32_t cp) { return utf8proc_islower((utf8proc_int32_t)cp); }

bool py_is(enum py_class k, uint32_t cp) {
    if (cp == PY_NO_CHAR) return false;
    if (k == PY_SPACE) return is_space(cp);
    if (k == PY_UPPER) return is_upper(cp);
    if (k == PY_LOWER) return is_lower(cp);
    const utf8proc_category_t c = category(cp);
    const bool is_decimal = c == UTF8PROC_CATEGORY_ND;
    const bool is_digit = is_decimal || is_digit_sign(cp);
    const bool is_numeric = is_digit || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
    switch (k) {
    case PY_ALPHA: return is_letter(c);
    case PY_DECIMAL: return is_decimal;
    case PY_DIGIT: return is_digit;
    case PY_NUMERIC: return is_numeric;
    case PY_TITLE: return c == UTF8PROC_CATEGORY_LT;
    case PY_WORD: return is_letter(c) || is_numeric || cp == '_';
    default: break;
    }
    return cp == ' ' || !(c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CS ||
                          c == UTF8PROC_CATEGORY_CO || c == UTF8PROC_CATEGORY_CN || c == UTF8PROC_CATEGORY_ZL ||
                          c == UTF8PROC_CATEGORY_ZP || c == UTF8PROC_CATEGORY_ZS);
}

int py_decimal(uint32_t cp) {
    if (cp < 0x80) return cp >= '0' && cp <= '9' ? (int)cp - '0' : -1;
    if (cp == PY_NO_CHAR || category(cp) != UTF8PROC_CATEGORY_ND) return -1;
    uint32_t first = cp; // digits 0-9 are consecutive, and blocks of ten may adjoin
    while (category(first - 1) == UTF8PROC_CATEGORY_ND) first--;
    return (int)((cp - first) % 10);
}

// Full case folding, which utf8proc offers as a decomposition.
static int fold(uint32_t cp, uint32_t out[PY_MAX_CASED]) {
    utf8proc_int32_t buf[8];
    int unused = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)cp, buf, 8, UTF8PROC_CASEFOLD, &unused);
    if (n < 1 || n > PY_MAX_CASED) return out[0] = cp, 1;
    for (int i = 0; i < (int)n; i++) out[i] = (uint32_t)buf[i];
    return (int)n;
}

// The characters whose upper case has several code points (SpecialCasing.txt) are those whose case
// folding has, except upper-case letters; their upper case is that of each code point of the
// folding.
static int upper(uint32_t cp, uint32_t out[PY_MAX_CASED]) {
    const int n = category(cp) == UTF8PROC_CATEGORY_LU ? 1 : fold(cp, out);
    if (n == 1) return out[0] = (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp), 1;
    for (int i = 0; i < n; i++) out[i] = (uint32_t)utf8proc_toupper((utf8proc_int32_t)out[i]);
    return n;
}

// As upper case, but for the first letter only; in Greek letters with iota subscript the iota stays
// a subscript.
static int title(uint32_t cp, uint32_t out[PY_MAX_CASED]) {
    enum { GREEK_FIRST = 0x1F80, GREEK_LAST = 0x1FFC, IOTA = 0x3B9, IOTA_BELOW = 0x345 };
    const uint32_t one = (uint32_t)utf8proc_totitle((utf8proc_int32_t)cp);
    const bool is_greek = cp >= GREEK_FIRST && cp <= GREEK_LAST;
    const int n = category(cp) == UTF8PROC_CATEGORY_LU || category(cp) == UTF8PROC_CATEGORY_LT ? 1 : fold(cp, out);
    if (n == 1 || (is_greek && one != cp)) return out[0] = one, 1;
    bool is_done = false;
    for (int i = 0; i < n; i++) {
        const uint32_t big = (uint32_t)utf8proc_toupper((utf8proc_int32_t)out[i]);
        if (is_greek && i > 0 && out[i] == IOTA) out[i] = IOTA_BELOW;
        if (!is_done && big != out[i]) out[i] = big, is_done = true;
    }
    return n;
}

int py_recase(enum py_case k, uint32_t cp, uint32_t out[PY_MAX_CASED]) {
    if (cp < 0x80) {
        const bool is_small = cp >= 'a' && cp <= 'z', is_big = cp >= 'A' && cp <= 'Z';
        const bool up = k == PY_TO_UPPER || k == PY_TO_TITLE;
        out[0] = up && is_small ? cp - 32 : !up && is_big ? cp + 32 : cp;
        return 1;
    }
    if (cp == PY_NO_CHAR) return out[0] = cp, 1;
    if (k == PY_FOLD) return fold(cp, out);
    if (k == PY_TO_LOWER) {
        const bool is_dotted_i = cp == 0x130; // the only character whose lower case is longer
        out[0] = is_dotted_i ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
        out[1] = 0x307;
        return is_dotted_i ? 2 : 1;
    }
    return k == PY_TO_TITLE ? title(cp, out) : upper(cp, out);
}

bool py_is_cased(uint32_t cp) {
    return cp != PY_NO_CHAR && (is_upper(cp) || is_lower(cp) || category(cp) == UTF8PROC_CATEGORY_LT);
}

// Case_Ignorable (Unicode, D136): marks, format characters, modifiers, and Word_Break=MidLetter and
// the like.
bool py_is_case_ignorable(uint32_t cp) {
    static const uint16_t middle[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                      0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    if (cp == PY_NO_CHAR) return false;
    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++)
        if (middle[i] == cp) return true;
    const utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_LM || c == UTF8PROC_CATEGORY_SK;
}
