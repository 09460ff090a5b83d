// tokenizer/pattern_syntax.c - translates an expression in one pass; see pattern_syntax.h.
#include "tokenizer/pattern_syntax.h"

// White space as the published tokenizers define it (Unicode's White_Space); PCRE2's \s also matches U+180E.
#define NON_ASCII_WS "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WS           "\\t-\\r " NON_ASCII_WS
#define NO_BREAK     "[\\t\\x{b}\\f " NON_ASCII_WS "]" // white space except line feed and carriage return
#define NO_LF        "[\\t\\x{b}-\\r " NON_ASCII_WS "]"

// Letter classes of the patterns that split at case changes: letters that can only begin a word,
// only continue it, or both.
#define UPPER      "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER      "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BOTH       "[\\p{Lm}\\p{Lo}\\p{M}]"
#define ONLY_UPPER "[\\p{Lu}\\p{Lt}]"
#define SUFFIX     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

// White space up to its last line break, without backtracking over a long run of spaces.
#define LINE_BREAKS "(?:" NO_BREAK "*+[\\r\\n]++)++"
// UPPER*LOWER+ without backtracking: a lower-case letter after the run of UPPER continues the word;
// otherwise it ends at the last letter that is both.
#define UPPER_LOWER "(?:" UPPER "*+\\p{Ll}" LOWER "*+|(?:" ONLY_UPPER "*+" BOTH "++)++)"
// White space up to the end of the text, or before the last line feed in it. No match begins inside
// a run, since it would have begun at the start of the run.
#define SPACES_TO_END                                                                                                \
    "(?<![" WS "])(?:[" WS "]++\\z|(?:" NO_LF "*+\\n(?=" NO_LF "*+\\n))*+" NO_LF "*+(?=\\n)(?<=[" WS "]))"

// Parts of published expressions, including as much of the following text as their meaning depends on.
static const struct {
    const char *published, *linear;
} idioms[] = {
    {"\\s*[\\r\\n]+|", LINE_BREAKS "|"},
    {"\\s*[\r\n]+|", LINE_BREAKS "|"},  // with literal characters
    {"\\s*[\\r\\n]|", LINE_BREAKS "|"}, // equivalent, since \s* matches all line breaks but the last
    {UPPER "*" LOWER "+" SUFFIX "|", UPPER_LOWER SUFFIX "|"},
    {UPPER "+" LOWER "*" SUFFIX "|", UPPER "++" LOWER "*+" SUFFIX "|"},
    {UPPER "*" LOWER "+|", UPPER_LOWER "|"},
    {UPPER "+" LOWER "*|", UPPER "++" LOWER "*+|"},
};

// Escapes that PCRE2 interprets differently, with their replacement; NULL: there is none.
static const struct {
    char letter;
    const char *outside, *in_class;
} escapes[] = {
    {'s', "[" WS "]", WS},
    {'S', "[^" WS "]", "\\S\\x{180e}"},
    {'d', "\\p{Nd}", "\\p{Nd}"},
    {'D', "\\P{Nd}", "\\P{Nd}"},
    {'w', "[\\p{L}\\p{M}\\p{Nd}\\p{Pc}]", "\\p{L}\\p{M}\\p{Nd}\\p{Pc}"},
    {'W', "[^\\p{L}\\p{M}\\p{Nd}\\p{Pc}]", NULL},
    {'h', "[0-9a-fA-F]", "0-9a-fA-F"},
    {'H', "[^0-9a-fA-F]", NULL},
    {'v', "\\x{b}", "\\x{b}"},
};

// Characters after a backslash, digits included, that mean the same in both.
static const char same_outside[] = "pPrntfaexAzZbB123456789", same_in_class[] = "pPrntfaexb";

struct walk {
    const char *s;
    size_t n, at;
    struct text_buf *out;
    rn_error *err;
    bool in_class, class_began; // class_began: at most the ^ of the class was read so far
};

static void put(struct walk *w, const char *text) { text_buf_add(w->out, text, strlen(text)); }

static void copy(struct walk *w, size_t n) {
    text_buf_add(w->out, w->s + w->at, n);
    w->at += n;
}

static bool next_is(const struct walk *w, const char *text) {
    const size_t n = strlen(text);
    return n <= w->n - w->at && memcmp(w->s + w->at, text, n) == 0;
}

static rn_status unsupported(const struct walk *w, size_t n, const char *why) {
    if (n > w->n - w->at) n = w->n - w->at;
    return fail(w->err, RN_E_UNSUPPORTED, "byte %zu \"%.*s\": %s", w->at, (int)n, w->s + w->at, why);
}

static rn_status translate_escape(struct walk *w) {
    if (w->n - w->at < 2) return unsupported(w, 1, "nothing after the backslash");
    const char c = w->s[w->at + 1];
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        if (escapes[i].letter != c) continue;
        const char *const said = w->in_class ? escapes[i].in_class : escapes[i].outside;
        if (!said) return unsupported(w, 2, "an unsupported escape in brackets");
        put(w, said);
        w->at += 2;
        return RN_OK;
    }
    const bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c == 'u' && w->n - w->at >= 6) { // \uHHHH; PCRE2 rejects invalid digits
        put(w, "\\x{");
        w->at += 2;
        copy(w, 4);
        put(w, "}");
        return RN_OK;
    }
    if (is_alnum && !strchr(w->in_class ? same_in_class : same_outside, c))
        return unsupported(w, 2, "an unsupported escape");
    const bool has_more_bytes = (uint8_t)c >= 0x80; // the first byte of an escaped non-ASCII character
    if (has_more_bytes)
        w->at++;
    else
        copy(w, 2);
    return RN_OK;
}

static rn_status translate_in_class(struct walk *w) {
    const char c = w->s[w->at];
    const bool began = w->class_began;
    w->class_began = false;
    if (c == '\\') return translate_escape(w);
    if (c == '[') return unsupported(w, 2, "brackets inside brackets");
    if (next_is(w, "&&")) return unsupported(w, 2, "an intersection of classes");
    if (c == ']' && !began) w->in_class = false;
    copy(w, 1);
    return RN_OK;
}

static void begin_class(struct walk *w) {
    copy(w, next_is(w, "[^") ? 2 : 1);
    w->in_class = w->class_began = true;
}

static bool translate_idiom(struct walk *w) {
    for (size_t i = 0; i < sizeof idioms / sizeof *idioms; i++) {
        if (!next_is(w, idioms[i].published)) continue;
        put(w, idioms[i].linear);
        w->at += strlen(idioms[i].published);
        return true;
    }
    if (!next_is(w, "\\s+$") || w->n - w->at != 4) return false;
    put(w, SPACES_TO_END);
    w->at = w->n;
    return true;
}

// (?i) and (?i:...) mean the same in both; other options differ (Oniguruma's (?m) lets a dot match a line feed).
static rn_status translate_group(struct walk *w) {
    static const char *const same[] = {"(?:", "(?=", "(?!", "(?<", "(?>", "(?i:", "(?-i:", "(?i)"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (next_is(w, same[i])) {
            copy(w, strlen(same[i]));
            return RN_OK;
        }
    return unsupported(w, 4, "an unsupported group");
}

static rn_status translate_outside(struct walk *w) {
    const char c = w->s[w->at];
    if (translate_idiom(w)) return RN_OK;
    if (c == '\\') return translate_escape(w);
    if (c == '[')
        begin_class(w);
    else if (next_is(w, "(?"))
        return translate_group(w);
    else if (next_is(w, "(*"))
        return unsupported(w, 2, "an unsupported group");
    else if (next_is(w, "{,")) // a lower bound of 0; PCRE2 10.42 takes {,n} literally
        put(w, "{0"), w->at++;
    else
        copy(w, 1);
    return RN_OK;
}

rn_status pattern_translate(struct vocab_str text, struct text_buf *out, rn_error *err) {
    struct walk w = {.s = text.s, .n = text.n, .out = out, .err = err};
    rn_status st = RN_OK;
    while (st == RN_OK && w.at < w.n) st = w.in_class ? translate_in_class(&w) : translate_outside(&w);
    return st;
}
