// grammar/text/grammar_kind.c - tells GBNF from Lark.
#include "grammar/text/grammar_text.h"

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// After a name: ::= of GBNF; else what may follow a name in Lark.
static bool defines_gbnf(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t')) i++;
    return n - i >= 3 && memcmp(s + i, "::=", 3) == 0;
}

enum grammar_text_kind grammar_text_kind(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) { // the first line that is not empty and no comment of both
        if (s[i] == '#') {
            while (i < n && s[i] != '\n') i++;
        } else if (is_name(s[i])) {
            while (i < n && is_name(s[i])) i++;
            return defines_gbnf(s + i, n - i) ? GRAMMAR_TEXT_GBNF : GRAMMAR_TEXT_LARK;
        } else if (s[i] != ' ' && s[i] != '\t' && s[i] != '\n' && s[i] != '\r') {
            return GRAMMAR_TEXT_LARK; // %, //, ? or !
        }
    }
    return GRAMMAR_TEXT_GBNF;
}
