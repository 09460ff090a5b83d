// grammar/regex_chars.c - characters, escapes and classes of regular expressions.
#include "grammar/regex_tree.h"

enum { MAX_CLASSES_NESTED = 20 };

bool regex_more(const struct regex_tree *t) { return t->st == RN_OK && t->at < t->n; }
char regex_peek(const struct regex_tree *t) { return t->at < t->n ? t->s[t->at] : 0; }

bool regex_take(struct regex_tree *t, const char *s) {
    const size_t n = strlen(s);
    if (t->st != RN_OK || t->n - t->at < n || memcmp(t->s + t->at, s, n) != 0) return false;
    t->at += n;
    return true;
}

uint32_t regex_read_char(struct regex_tree *t) {
    const uint8_t c = (uint8_t)t->s[t->at++];
    uint32_t cp = c < 0x80 ? c : c < 0xe0 ? c & 0x1f : c < 0xf0 ? c & 0x0f : c & 0x07;
    for (int k = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3; k > 0 && t->at < t->n; k--)
        cp = cp << 6 | ((uint8_t)t->s[t->at++] & 0x3f);
    return cp;
}

// ---- numbers of characters ----

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static uint32_t read_hex(struct regex_tree *t, int n) {
    uint32_t v = 0;
    for (int i = 0; i < n; i++) {
        const int h = t->at < t->n ? hex_value(t->s[t->at]) : -1;
        if (h < 0) return regex_stop(t, RN_E_ARG, "an escape lacks hexadecimal digits");
        v = v * 16 + (uint32_t)h, t->at++;
    }
    if (v > CHAR_MAX_CP) return regex_stop(t, RN_E_ARG, "a code point above 10FFFF");
    return v;
}

// {HEX}, after \x, \u or \U
static uint32_t read_braces(struct regex_tree *t) {
    uint32_t v = 0;
    const size_t begin = t->at;
    for (int h; t->at < t->n && (h = hex_value(t->s[t->at])) >= 0 && v <= CHAR_MAX_CP; t->at++)
        v = v * 16 + (uint32_t)h;
    if (t->at == begin || !regex_take(t, "}") || v > CHAR_MAX_CP)
        return regex_stop(t, RN_E_ARG, "{...} needs a code point up to 10FFFF");
    return v;
}

static uint32_t read_unicode(struct regex_tree *t) {
    const uint32_t high = read_hex(t, 4);
    if (t->dialect != REGEX_ECMA || high < 0xd800 || high > 0xdbff || !regex_take(t, "\\u")) return high;
    const uint32_t low = read_hex(t, 4);
    if (low < 0xdc00 || low > 0xdfff) return regex_stop(t, RN_E_ARG, "half of a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

// ---- named classes ----

static const struct char_range ascii_digits[] = {{'0', '9'}},
                               ascii_words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                               ascii_spaces[] = {{9, 13}, {' ', ' '}},
                               ecma_spaces[] = {{9, 13},          {' ', ' '},       {0xa0, 0xa0},
                                                {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                                                {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
                                                {0xfeff, 0xfeff}},
                               // Alphabetic but neither letters nor marks; joiners
    rust_words[] = {{0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}, {0x200c, 0x200d}};

#define ADD_ALL(s, of)                                                                                               \
    for (size_t i_ = 0; i_ < sizeof(of) / sizeof *(of); i_++) char_set_add(s, (of)[i_].from, (of)[i_].to)

static void add_categories(struct regex_tree *t, struct char_set *s, const char *const *names) {
    for (; *names; names++) unicode_add_category(&t->table, s, (struct unicode_name){*names, strlen(*names), false});
}

static void add_digit(struct regex_tree *t, struct char_set *s, bool ascii) {
    if (ascii || t->dialect == REGEX_ECMA)
        ADD_ALL(s, ascii_digits);
    else
        add_categories(t, s, (const char *const[]){"Nd", NULL});
}

static void add_space(struct regex_tree *t, struct char_set *s, bool ascii) {
    if (ascii) {
        ADD_ALL(s, ascii_spaces);
    } else if (t->dialect == REGEX_ECMA) {
        ADD_ALL(s, ecma_spaces);
    } else {
        unicode_add_property(&t->table, s, (struct unicode_name){"White_Space", 11, false});
        if (t->dialect == REGEX_PYTHON) char_set_add(s, 0x1c, 0x1f); // str.isspace()
    }
}

void regex_add_word(struct regex_tree *t, struct char_set *s, bool ascii) {
    static const char *const python[] = {"L", "N", NULL}, *const rust[] = {"L", "M", "Nd", "Nl", "Pc", NULL};
    char_set_add(s, '_', '_');
    if (ascii || t->dialect == REGEX_ECMA) {
        ADD_ALL(s, ascii_words);
        return;
    }
    add_categories(t, s, t->dialect == REGEX_PYTHON ? python : rust);
    if (t->dialect == REGEX_RUST) ADD_ALL(s, rust_words);
}

void regex_add_line_ends(struct char_set *s, enum regex_dialect dialect) {
    char_set_add(s, '\n', '\n');
    if (dialect != REGEX_ECMA) return;
    char_set_add(s, '\r', '\r');
    char_set_add(s, 0x2028, 0x2029);
}

static const struct {
    char letter;
    void (*add)(struct regex_tree *t, struct char_set *s, bool ascii);
} named_classes[] = {{'d', add_digit}, {'w', regex_add_word}, {'s', add_space}};

int regex_named_class(char letter) {
    for (int i = 0; i < 3; i++)
        if (named_classes[i].letter == (letter | 0x20)) return 2 * i + !(letter & 0x20);
    return -1;
}

// \d and the like, of either case. False: the letter names no class.
static bool add_class(struct regex_tree *t, struct char_set *s, char letter) {
    const int i = regex_named_class(letter);
    struct char_set c = {0};
    if (i < 0) return false;
    named_classes[i / 2].add(t, &c, t->flags.ascii);
    if (i % 2) char_set_invert(&c);
    char_set_add_set(s, &c);
    char_set_free(&c);
    return true;
}

static bool is_one_of(struct unicode_name name, const char *a, const char *b) {
    return unicode_same_name(a, name) || unicode_same_name(b, name);
}

// What stands in \p{...}. False: it names no set of characters that is known.
static bool add_named(struct regex_tree *t, struct char_set *c, const char *s, size_t n) {
    const char *const eq = memchr(s, '=', n);
    const bool is_rust = t->dialect == REGEX_RUST;
    const struct unicode_name key = {s, eq ? (size_t)(eq - s) : 0, is_rust},
                              name = {eq ? eq + 1 : s, eq ? n - key.n - 1 : n, is_rust};
    if (!eq)
        return unicode_add_category(&t->table, c, name) || unicode_add_property(&t->table, c, name) ||
               (is_rust && unicode_add_script(c, name));
    if (is_one_of(key, "General_Category", "gc")) return unicode_add_category(&t->table, c, name);
    return is_one_of(key, "Script", "sc") && unicode_add_script(c, name);
}

// \p{Name}, \p{Name=Value}, \P{Name}, \pL
static void read_property(struct regex_tree *t, struct char_set *s) {
    struct char_set c = {0};
    bool is_inverted = t->s[t->at++] == 'P';
    size_t begin = t->at, end = t->at + 1;
    if (regex_take(t, "{")) {
        if (regex_take(t, "^")) is_inverted = !is_inverted;
        for (begin = end = t->at; end < t->n && t->s[end] != '}';) end++;
        t->at = end;
        if (!regex_take(t, "}")) regex_stop(t, RN_E_ARG, "\\p{ without its }");
    } else if (regex_more(t)) {
        t->at++;
    } else {
        regex_stop(t, RN_E_ARG, "\\p without a name");
    }
    if (t->st == RN_OK && !add_named(t, &c, t->s + begin, end - begin))
        regex_stop(t, RN_E_UNSUPPORTED,
                   "of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported");
    if (is_inverted) char_set_invert(&c);
    char_set_add_set(s, &c);
    char_set_free(&c);
}

// ---- escapes ----

enum { ECMA = 1, PYTHON = 2, RUST = 4, ALL = 7 };

static const struct {
    char letter;
    uint8_t dialects;
    char means;
} simple_escapes[] = {{'t', ALL, '\t'}, {'n', ALL, '\n'}, {'v', ALL, '\v'},
                      {'f', ALL, '\f'}, {'r', ALL, '\r'}, {'a', PYTHON | RUST, '\a'}};

static bool read_simple_escape(struct regex_tree *t, char c, uint32_t *cp) {
    for (size_t i = 0; i < sizeof simple_escapes / sizeof *simple_escapes; i++)
        if (simple_escapes[i].letter == c && (simple_escapes[i].dialects & 1 << t->dialect))
            return t->at++, *cp = (uint8_t)simple_escapes[i].means, true;
    return false;
}

static bool is_octal(const struct regex_tree *t, size_t at) {
    return at < t->n && t->s[at] >= '0' && t->s[at] <= '7';
}
static bool is_digit(const struct regex_tree *t, size_t at) {
    return at < t->n && t->s[at] >= '0' && t->s[at] <= '9';
}

// \0, Python's \012 and \123. Anything else that begins with a digit refers back.
static uint32_t read_digits(struct regex_tree *t, bool in_class) {
    const bool has_three = is_octal(t, t->at) && is_octal(t, t->at + 1) && is_octal(t, t->at + 2);
    if (t->dialect == REGEX_PYTHON && (t->s[t->at] == '0' || has_three || (in_class && is_octal(t, t->at)))) {
        uint32_t v = 0;
        for (int i = 0; i < 3 && is_octal(t, t->at); i++) v = v * 8 + (uint32_t)(t->s[t->at++] - '0');
        return v > 0377 ? regex_stop(t, RN_E_ARG, "an octal escape above 377") : v;
    }
    if (t->dialect == REGEX_ECMA && t->s[t->at] == '0' && !is_digit(t, t->at + 1)) return t->at++, 0;
    return regex_stop(t, RN_E_UNSUPPORTED, "back references are not supported");
}

static uint32_t read_number_escape(struct regex_tree *t, char c) {
    t->at++;
    if (t->dialect != REGEX_PYTHON && (c == 'u' || t->dialect == REGEX_RUST) && regex_take(t, "{"))
        return read_braces(t);
    return c == 'x' ? read_hex(t, 2) : c == 'u' ? read_unicode(t) : read_hex(t, 8);
}

bool regex_read_escape(struct regex_tree *t, struct char_set *s, uint32_t *cp, bool in_class) {
    *cp = 0;
    if (!regex_more(t)) return regex_stop(t, RN_E_ARG, "a backslash at the end"), true;
    const char c = t->s[t->at], next = t->at + 1 < t->n ? t->s[t->at + 1] : 0;
    if (add_class(t, s, c)) return t->at++, true;
    if (c == 'p' || c == 'P') return read_property(t, s), true;
    if (read_simple_escape(t, c, cp)) return false;
    if (c == 'b' && in_class) return t->at++, *cp = '\b', false;
    if (c >= '0' && c <= '9') {
        *cp = read_digits(t, in_class);
    } else if (c == 'x' || c == 'u' || (c == 'U' && t->dialect != REGEX_ECMA)) {
        *cp = read_number_escape(t, c);
    } else if (c == 'c' && t->dialect == REGEX_ECMA && ((next | 0x20) >= 'a' && (next | 0x20) <= 'z')) {
        *cp = (uint32_t)next & 31, t->at += 2;
    } else if (c == 'k' && t->dialect == REGEX_ECMA) {
        regex_stop(t, RN_E_UNSUPPORTED, "back references are not supported");
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        regex_stop(t, RN_E_ARG, "an unknown escape");
    } else if ((c == '<' || c == '>') && t->dialect == REGEX_RUST) {
        regex_stop(t, RN_E_UNSUPPORTED, "\\< and \\> are not supported: write < and >, or \\b");
    } else {
        *cp = regex_read_char(t);
    }
    return false;
}

// ---- classes ----

static void fold(struct regex_tree *t, struct char_set *s) {
    if (!t->flags.ignore_case) return;
    if (!t->cases.pairs && !unicode_cases_init(&t->cases)) s->failed = true;
    char_set_settle(s);
    unicode_fold(&t->cases, s);
}

// [:alpha:] of Rust
static bool take_posix(struct regex_tree *t, struct char_set *s) {
    static const struct {
        const char *name;
        struct char_range of[4];
    } posix[] = {
        {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
        {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
        {"ascii", {{0, 127}}},
        {"blank", {{'\t', '\t'}, {' ', ' '}}},
        {"cntrl", {{0, 31}, {127, 127}}},
        {"digit", {{'0', '9'}}},
        {"graph", {{'!', '~'}}},
        {"lower", {{'a', 'z'}}},
        {"print", {{' ', '~'}}},
        {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
        {"space", {{9, 13}, {' ', ' '}}},
        {"upper", {{'A', 'Z'}}},
        {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
        {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
    };
    const size_t begin = t->at;
    const bool is_inverted = regex_take(t, "[:^");
    if (!is_inverted && !regex_take(t, "[:")) return false;
    for (size_t i = 0; i < sizeof posix / sizeof *posix; i++) {
        if (!regex_take(t, posix[i].name)) continue;
        if (!regex_take(t, ":]")) break;
        struct char_set c = {0};
        for (int k = 0; k < 4; k++)
            if (k == 0 || posix[i].of[k].to) char_set_add(&c, posix[i].of[k].from, posix[i].of[k].to);
        if (is_inverted) char_set_invert(&c);
        char_set_add_set(s, &c);
        char_set_free(&c);
        return true;
    }
    t->at = begin;
    return false;
}

static void read_nested_class(struct regex_tree *t, struct char_set *s) {
    struct char_set c = {0};
    if (++t->nested > MAX_CLASSES_NESTED) regex_stop(t, RN_E_LIMIT, "more than 20 classes within each other");
    if (t->st == RN_OK) regex_read_class(t, &c);
    t->nested--;
    char_set_add_set(s, &c);
    char_set_free(&c);
}

// a, a-z, \d ...
static void read_item(struct regex_tree *t, struct char_set *s) {
    uint32_t from = 0, to;
    const bool is_class =
        regex_take(t, "\\") ? regex_read_escape(t, s, &from, true) : (from = regex_read_char(t), false);
    const bool has_range = regex_peek(t) == '-' && t->at + 1 < t->n && t->s[t->at + 1] != ']';
    if (is_class && (t->dialect == REGEX_ECMA || !has_range)) return;
    if (is_class && t->st == RN_OK) regex_stop(t, RN_E_ARG, "a range of characters begins with a class");
    to = from;
    if (has_range && !(t->dialect == REGEX_RUST && t->s[t->at + 1] == '-')) {
        t->at++;
        if (!regex_take(t, "\\")) {
            to = regex_read_char(t);
        } else if (regex_read_escape(t, s, &to, true)) { // a-\d: three things
            if (t->dialect != REGEX_ECMA) regex_stop(t, RN_E_ARG, "a range of characters ends with a class");
            char_set_add(s, '-', '-');
            to = from;
        }
        if (to < from) regex_stop(t, RN_E_ARG, "a range of characters is in the wrong order");
    }
    char_set_add(s, from, to);
}

// Rust's operators between all that was read and the rest.
static bool read_operator(struct regex_tree *t, struct char_set *s) {
    const char *const of[] = {"&&", "--", "~~"};
    for (int i = 0; i < 3; i++) {
        if (t->dialect != REGEX_RUST || !regex_take(t, of[i])) continue;
        struct char_set right = {0};
        while (regex_more(t) && regex_peek(t) != ']' && t->st == RN_OK) { // up to the next operator
            const bool is_next =
                t->n - t->at > 1 && (memcmp(t->s + t->at, "&&", 2) == 0 || memcmp(t->s + t->at, "--", 2) == 0 ||
                                     memcmp(t->s + t->at, "~~", 2) == 0);
            if (is_next) break;
            if (take_posix(t, &right)) continue;
            if (regex_take(t, "["))
                read_nested_class(t, &right);
            else
                read_item(t, &right);
        }
        if (i == 2) { // in one of the two
            struct char_set both = {0};
            char_set_settle(s), char_set_settle(&right);
            char_set_add_set(&both, s);
            char_set_and(&both, &right);
            char_set_add_set(s, &right), char_set_free(&right);
            right = both;
        }
        if (i > 0)
            char_set_invert(&right);
        else
            char_set_settle(&right);
        char_set_settle(s);
        char_set_and(s, &right);
        char_set_free(&right);
        return true;
    }
    return false;
}

void regex_read_class(struct regex_tree *t, struct char_set *s) {
    const bool is_inverted = regex_take(t, "^");
    bool is_first = t->dialect != REGEX_ECMA; // there ] may come first
    for (; regex_more(t) && (regex_peek(t) != ']' || is_first); is_first = false) {
        if (t->dialect == REGEX_RUST) {
            const char c = regex_peek(t);
            if (t->flags.verbose && (c == ' ' || (c >= '\t' && c <= '\r'))) {
                t->at++;
                continue;
            }
            if (read_operator(t, s) || take_posix(t, s)) continue;
            if (regex_take(t, "[")) {
                read_nested_class(t, s);
                continue;
            }
        }
        read_item(t, s);
    }
    if (!regex_take(t, "]")) regex_stop(t, RN_E_ARG, "a [ without its ]");
    fold(t, s);
    if (is_inverted) char_set_invert(s);
}
