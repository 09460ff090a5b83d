// grammar/regex_tree.h - a parsed regular expression, between regex_parse.c and regex.c.
#ifndef RN_GRAMMAR_REGEX_TREE_H
#define RN_GRAMMAR_REGEX_TREE_H

#include "grammar/regex.h"
#include "grammar/unicode_set.h"

enum regex_kind {
    R_EMPTY,
    R_SET,
    R_CAT,
    R_ALT,
    R_REPEAT,
    R_POSSESSIVE,
    R_BEGIN,
    R_END,
    R_LINE_BEGIN,
    R_LINE_END,
    R_WORD,
    R_NOT_WORD,
    R_LOOK,
    R_NOT_LOOK,
    R_BEHIND,
    R_NOT_BEHIND
};

struct regex_node {
    enum regex_kind kind;
    uint32_t a,
        b; // CAT, ALT: of two. REPEAT, LOOK: of a. SET: the expression a of one character. POSSESSIVE: of the set a
    // REPEAT, POSSESSIVE. SET: ranges min..max-1 of the tree. BEHIND: min is its number in `behinds`
    uint32_t min, max;
    uint16_t depth;
    bool asserts;   // what depends on the text around it
    bool looks;     // a lookahead of more than one character or a possessive quantifier inside
    bool is_next;   // as a lookahead it asks for the next character only
    bool is_looped; // LOOK: within a repetition without end
    bool consumes;  // matches at least one character
    bool is_bare;   // matches no character at all
};

enum { REGEX_MAX_BEHINDS = 4 };

struct regex_behind { // a lookbehind
    uint32_t inner;   // what it looks for
    size_t at;        // of the pattern, where it ends
};

struct regex_flags {
    bool ignore_case, dot_all, multi_line, verbose, ascii;
};

struct regex_tree {
    struct exprs *e;
    const char *s;
    size_t n, at;
    enum coding coding;
    enum regex_dialect dialect;
    struct regex_flags flags;
    struct regex_node *nodes;
    uint32_t n_nodes, max_nodes;
    struct char_range *ranges; // of all sets
    uint32_t n_ranges, max_ranges;
    struct unicode_cases cases;
    struct unicode_table table;
    struct regex_node named[6][2]; // \d \D \w \W \s \S, of ASCII or not, once they have occurred
    struct regex_behind behinds[REGEX_MAX_BEHINDS];
    uint32_t n_behinds;
    int nested;
    bool has_words, words_are_ascii, has_lines; // is \b used, and with which \w; ^ or $ with flag m
    rn_error *err;
    rn_status st;
};

// regex_parse.c. The root; t->st says whether there is one.
uint32_t regex_parse(struct regex_tree *t);
void regex_tree_free(struct regex_tree *t);
uint32_t regex_stop(struct regex_tree *t, rn_status st, const char *why); // once; returns 0
uint32_t regex_node(struct regex_tree *t, struct regex_node x);

// regex_chars.c
bool regex_more(const struct regex_tree *t);
char regex_peek(const struct regex_tree *t);
bool regex_take(struct regex_tree *t, const char *s);
uint32_t regex_read_char(struct regex_tree *t);
// The number of a named class in `named`; -1: the letter names none.
int regex_named_class(char letter);
// After a backslash: a class is added to s (true), or a character is put into *cp.
bool regex_read_escape(struct regex_tree *t, struct char_set *s, uint32_t *cp, bool in_class);
void regex_read_class(struct regex_tree *t, struct char_set *s); // after [
void regex_add_word(struct regex_tree *t, struct char_set *s, bool ascii);
void regex_add_line_ends(struct char_set *s, enum regex_dialect dialect);

#endif
