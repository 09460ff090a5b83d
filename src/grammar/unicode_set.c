// grammar/unicode_set.c - see unicode_set.h; categories and cases are utf8proc's.
#include "grammar/unicode_set.h"
#include "base/mem.h"
#include "grammar/unicode_properties.h"
#include <stdlib.h>
#include <utf8proc.h>

enum { LAST_LETTER = 0x1ffff }; // nothing beyond has case

static const struct {
    const char *name, *long_name;
    utf8proc_category_t from, to; // inclusive
} categories[] = {
    {"L", "Letter", UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO},
    {"Lu", "Uppercase_Letter", UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LU},
    {"Ll", "Lowercase_Letter", UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LL},
    {"Lt", "Titlecase_Letter", UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LT},
    {"LC", "Cased_Letter", UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT},
    {"Lm", "Modifier_Letter", UTF8PROC_CATEGORY_LM, UTF8PROC_CATEGORY_LM},
    {"Lo", "Other_Letter", UTF8PROC_CATEGORY_LO, UTF8PROC_CATEGORY_LO},
    {"M", "Mark", UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME},
    {"Mn", "Nonspacing_Mark", UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MN},
    {"Mc", "Spacing_Mark", UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_MC},
    {"Me", "Enclosing_Mark", UTF8PROC_CATEGORY_ME, UTF8PROC_CATEGORY_ME},
    {"N", "Number", UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO},
    {"Nd", "Decimal_Number", UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_ND},
    {"Nl", "Letter_Number", UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NL},
    {"No", "Other_Number", UTF8PROC_CATEGORY_NO, UTF8PROC_CATEGORY_NO},
    {"P", "Punctuation", UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO},
    {"Pc", "Connector_Punctuation", UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PC},
    {"Pd", "Dash_Punctuation", UTF8PROC_CATEGORY_PD, UTF8PROC_CATEGORY_PD},
    {"Ps", "Open_Punctuation", UTF8PROC_CATEGORY_PS, UTF8PROC_CATEGORY_PS},
    {"Pe", "Close_Punctuation", UTF8PROC_CATEGORY_PE, UTF8PROC_CATEGORY_PE},
    {"Pi", "Initial_Punctuation", UTF8PROC_CATEGORY_PI, UTF8PROC_CATEGORY_PI},
    {"Pf", "Final_Punctuation", UTF8PROC_CATEGORY_PF, UTF8PROC_CATEGORY_PF},
    {"Po", "Other_Punctuation", UTF8PROC_CATEGORY_PO, UTF8PROC_CATEGORY_PO},
    {"S", "Symbol", UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO},
    {"Sm", "Math_Symbol", UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SM},
    {"Sc", "Currency_Symbol", UTF8PROC_CATEGORY_SC, UTF8PROC_CATEGORY_SC},
    {"Sk", "Modifier_Symbol", UTF8PROC_CATEGORY_SK, UTF8PROC_CATEGORY_SK},
    {"So", "Other_Symbol", UTF8PROC_CATEGORY_SO, UTF8PROC_CATEGORY_SO},
    {"Z", "Separator", UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP},
    {"Zs", "Space_Separator", UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZS},
    {"Zl", "Line_Separator", UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZL},
    {"Zp", "Paragraph_Separator", UTF8PROC_CATEGORY_ZP, UTF8PROC_CATEGORY_ZP},
    {"Cc", "Control", UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CC},
    {"Cf", "Format", UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_CF},
    {"Co", "Private_Use", UTF8PROC_CATEGORY_CO, UTF8PROC_CATEGORY_CO},
};

static const struct char_range white_space[] = {
    {9, 13},          {' ', ' '},       {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

static utf8proc_category_t category_of(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

bool char_is_space(uint32_t cp) {
    for (size_t i = 0; i < sizeof white_space / sizeof *white_space; i++)
        if (white_space[i].from <= cp && cp <= white_space[i].to) return true;
    return false;
}

bool char_is_alphanumeric(uint32_t cp) {
    const utf8proc_category_t c = category_of(cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
           (c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO);
}

void unicode_table_free(struct unicode_table *t) {
    mem_free(t->runs);
    *t = (struct unicode_table){0};
}

static bool add_run(struct unicode_table *t, uint32_t from, uint32_t category) {
    if (t->n > 0 && t->runs[t->n - 1].category == category) return true;
    if (!mem_grow(&t->runs, t->n, &t->max, 4096, sizeof *t->runs)) return false;
    t->runs[t->n++] = (struct unicode_run){from, category};
    return true;
}

static bool make_table(struct unicode_table *t) {
    bool ok = true;
    for (uint32_t cp = 0; cp <= CHAR_MAX_CP && ok; cp++) {
        if (cp == 0x40000) ok = add_run(t, cp, UTF8PROC_CATEGORY_CN), cp = 0xe0000; // planes without a character
        ok = ok && add_run(t, cp, category_of(cp));
    }
    ok = ok && add_run(t, CHAR_MAX_CP + 1, UINT32_MAX);
    if (!ok) unicode_table_free(t);
    return ok;
}

static void add_category(struct unicode_table *t, struct char_set *s, uint32_t from, uint32_t to) {
    if (!t->n && !make_table(t)) s->failed = true;
    for (uint32_t i = 0; i + 1 < t->n; i++)
        if (t->runs[i].category >= from && t->runs[i].category <= to)
            char_set_add(s, t->runs[i].from, t->runs[i + 1].from - 1);
}

static bool is_separator(char c) { return c == '_' || c == '-' || c == ' '; }
static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

bool unicode_same_name(const char *a, struct unicode_name b) {
    size_t i = 0;
    if (!b.is_loose) return strlen(a) == b.n && memcmp(a, b.s, b.n) == 0;
    for (; *a; a++) {
        if (is_separator(*a)) continue;
        while (i < b.n && is_separator(b.s[i])) i++;
        if (i == b.n || lower(*a) != lower(b.s[i++])) return false;
    }
    return i == b.n;
}

bool unicode_add_category(struct unicode_table *t, struct char_set *s, struct unicode_name name) {
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (unicode_same_name(categories[i].name, name) || unicode_same_name(categories[i].long_name, name)) {
            add_category(t, s, categories[i].from, categories[i].to);
            return true;
        }
    return false;
}

static void add_ranges(struct char_set *s, const struct char_range *r, size_t n) {
    for (size_t i = 0; i < n; i++) char_set_add(s, r[i].from, r[i].to);
}

bool unicode_add_property(struct unicode_table *t, struct char_set *s, struct unicode_name name) {
    if (unicode_same_name("Any", name)) return char_set_add(s, 0, CHAR_MAX_CP), true;
    if (unicode_same_name("ASCII", name)) return char_set_add(s, 0, 0x7f), true;
    if (unicode_same_name("White_Space", name) || unicode_same_name("space", name))
        return add_ranges(s, white_space, sizeof white_space / sizeof *white_space), true;
    for (int i = 0; i < UNICODE_PROPERTIES; i++) {
        const struct unicode_property *const p = &unicode_properties[i];
        if (!unicode_same_name(p->name, name) && !unicode_same_name(p->alias, name)) continue;
        for (int k = 0; k < 2; k++)
            unicode_add_category(t, s, (struct unicode_name){p->categories[k], strlen(p->categories[k]), false});
        add_ranges(s, unicode_property_ranges + p->first, p->n);
        return true;
    }
    return false;
}

bool unicode_add_script(struct char_set *s, struct unicode_name name) {
    uint32_t k = 0;
    while (k < UNICODE_SCRIPTS && !unicode_same_name(unicode_scripts[k].name, name) &&
           !unicode_same_name(unicode_scripts[k].alias, name))
        k++;
    for (uint32_t i = 0; k < UNICODE_SCRIPTS && i < UNICODE_SCRIPT_RUNS; i++)
        if ((unicode_script_runs[i] & 255) == k)
            char_set_add(s, unicode_script_runs[i] >> 8,
                         i + 1 < UNICODE_SCRIPT_RUNS ? (unicode_script_runs[i + 1] >> 8) - 1 : CHAR_MAX_CP);
    return k < UNICODE_SCRIPTS;
}

// ---- case ----

static int by_first(const void *a, const void *b) {
    const struct unicode_pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static bool add_pair(struct unicode_cases *c, uint32_t a, uint32_t b) {
    if (a == b) return true;
    if (!mem_grow(&c->pairs, c->n + 1, &c->max, 4096, sizeof *c->pairs)) return false; // for two
    c->pairs[c->n++] = (struct unicode_pair){a, b}, c->pairs[c->n++] = (struct unicode_pair){b, a};
    return true;
}

bool unicode_cases_init(struct unicode_cases *c) {
    bool ok = true;
    *c = (struct unicode_cases){0};
    for (uint32_t cp = 0; cp <= LAST_LETTER && ok; cp++) {
        const utf8proc_int32_t x = (utf8proc_int32_t)cp;
        ok = add_pair(c, cp, (uint32_t)utf8proc_tolower(x)) && add_pair(c, cp, (uint32_t)utf8proc_toupper(x)) &&
             add_pair(c, cp, (uint32_t)utf8proc_totitle(x));
    }
    if (ok)
        qsort(c->pairs, c->n, sizeof *c->pairs, by_first);
    else
        unicode_cases_free(c);
    return ok;
}

void unicode_cases_free(struct unicode_cases *c) {
    mem_free(c->pairs);
    *c = (struct unicode_cases){0};
}

// The first pair of a letter at or after cp.
static uint32_t find(const struct unicode_cases *c, uint32_t cp) {
    uint32_t low = 0, high = c->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (c->pairs[mid].a < cp)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void unicode_fold(const struct unicode_cases *c, struct char_set *s) {
    for (int round = 0; round < 3; round++) { // k, K, Kelvin sign: at most two steps
        const uint32_t n = s->n;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = find(c, s->ranges[i].from); k < c->n && c->pairs[k].a <= s->ranges[i].to; k++)
                char_set_add(s, c->pairs[k].b, c->pairs[k].b);
        char_set_settle(s);
    }
}
