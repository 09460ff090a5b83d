// cli/chat/code_colours.c - see code_colours.h. A language is a row of a table.
#include "cli/chat/code_colours.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct code_language {
    const char *names;            // between spaces
    const char *line_comments[2]; // NULL: none
    const char *block[2];         // begin and end of a comment; NULL: none
    const char *quotes;           // characters around strings
    const char *long_quotes[2];   // around strings of several lines; NULL: none
    const char *keywords;         // between spaces
    bool ignores_case;
} code_language;

#define C_KEYWORDS                                                                                                   \
    " if else for while do switch case default break continue return goto sizeof typedef struct union enum static "  \
    "const extern void int char float double long short signed unsigned bool inline volatile true false NULL "       \
    "nullptr auto class public private protected virtual override template typename namespace using new delete "     \
    "this throw try catch operator constexpr include define ifdef ifndef endif "

static const code_language languages[] = {
    {" c h cpp c++ cc cxx hpp objc cuda ", {"//"}, {"/*", "*/"}, "\"'", {0}, C_KEYWORDS, false},
    {" java kotlin kt csharp cs c# scala swift dart ",
     {"//"},
     {"/*", "*/"},
     "\"'",
     {"\"\"\""},
     C_KEYWORDS
     "abstract extends implements interface import package final finally throws super instanceof var val fun "
     "func let when is in object null nil string String boolean byte foreach async await yield guard self ",
     false},
    {" javascript js jsx typescript ts tsx node ",
     {"//"},
     {"/*", "*/"},
     "\"'",
     {"`"},
     " if else for while do switch case default break continue return function const let var class extends super this new "
     "delete typeof instanceof in of try catch finally throw async await yield import export from as static get set null "
     "undefined true false void interface type enum implements public private readonly ",
     false},
    {" go golang ",
     {"//"},
     {"/*", "*/"},
     "\"'",
     {"`"},
     " break case chan const continue default defer else fallthrough for func go goto if import interface map package range "
     "return select struct switch type var nil true false string int int64 float64 bool byte error ",
     false},
    {" rust rs ",
     {"//"},
     {"/*", "*/"},
     "\"",
     {0},
     " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub "
     "ref return self Self static struct super trait true type unsafe use where while Some None Ok Err ",
     false},
    {" python py python3 ipython ",
     {"#"},
     {0},
     "\"'",
     {"\"\"\"", "'''"},
     " False None True and as assert async await break class continue def del elif else except finally for from global if "
     "import in is lambda nonlocal not or pass raise return try while with yield match case self print ",
     false},
    {" bash sh shell zsh console fish ",
     {"#"},
     {0},
     "\"'",
     {0},
     " if then else elif fi for while until do done case esac in function return exit local export readonly set unset echo cd "
     "source sudo ",
     false},
    {" ruby rb elixir ",
     {"#"},
     {0},
     "\"'",
     {0},
     " def end if else elsif unless while until for in do begin rescue ensure return yield class module self nil true false "
     "require attr_accessor puts then case when and or not ",
     false},
    {" lua ",
     {"--"},
     {"--[[", "]]"},
     "\"'",
     {0},
     " and break do else elseif end false for function goto if in local nil not or repeat return then true until while ",
     false},
    {" haskell hs ",
     {"--"},
     {"{-", "-}"},
     "\"",
     {0},
     " case class data deriving do else if import in infix instance let module newtype of then type where ",
     false},
    {" sql sqlite mysql postgresql postgres psql ",
     {"--"},
     {"/*", "*/"},
     "'\"",
     {0},
     " select from where and or not insert into values update set delete create table drop alter add join left right inner "
     "outer on group by order having limit offset as distinct union all null is in like between case when then else end "
     "primary key foreign references index view with exists count sum avg min max asc desc ",
     true},
    {" php ", {"//", "#"}, {"/*", "*/"}, "\"'", {0}, C_KEYWORDS "function echo foreach as array null global ", false},
    {" r julia perl pl make makefile dockerfile cmake nix ",
     {"#"},
     {0},
     "\"'",
     {0},
     " if else for while function return end in my sub use our TRUE FALSE NULL FROM RUN COPY CMD ENV WORKDIR ",
     false},
    {" json jsonc json5 ", {"//"}, {0}, "\"", {0}, " true false null ", false},
    {" yaml yml toml ini conf properties ", {"#"}, {0}, "\"'", {0}, " true false null yes no ", false},
    {" css scss less ", {0}, {"/*", "*/"}, "\"'", {0}, " important ", false},
    {" html xml svg vue ", {0}, {"<!--", "-->"}, "\"", {0}, " ", false},
    {" lisp scheme clojure asm ",
     {";"},
     {0},
     "\"",
     {0},
     " define defun let lambda if cond loop defn fn mov add sub jmp ",
     true},
};

// Is text[0..n) a word of the list?
static bool has_word(const char *list, const char *text, size_t n, bool ignores_case) {
    for (const char *at = list + 1; *at;) {
        const size_t n_word = strcspn(at, " ");
        if (n_word == n && (ignores_case ? strncasecmp(at, text, n) : strncmp(at, text, n)) == 0) return true;
        at += n_word + 1;
    }
    return false;
}

void code_colours_begin(code_colours *c, const char *name, size_t n) {
    *c = (code_colours){0};
    for (size_t i = 0; n && i < sizeof languages / sizeof *languages; i++)
        if (has_word(languages[i].names, name, n, true)) c->language = &languages[i];
}

static bool begins(const char *at, size_t n, const char *with) {
    return with && *with && strlen(with) <= n && memcmp(at, with, strlen(with)) == 0;
}

// The length of text[0..n) up to and with `end`, or all of it. *is_open: the end is missing.
static size_t up_to(const char *text, size_t n, const char *end, bool has_escapes, bool *is_open) {
    for (size_t i = 0; i < n; i++) {
        if (has_escapes && text[i] == '\\')
            i++;
        else if (begins(text + i, n - i, end))
            return *is_open = false, i + strlen(end);
    }
    *is_open = true;
    return n;
}

static size_t string_length(code_colours *c, const char *line, size_t n) {
    const code_language *const l = c->language;
    bool is_open;
    for (size_t i = 0; i < 2; i++) {
        const char *const q = l->long_quotes[i];
        if (!begins(line, n, q)) continue;
        const size_t n_string = strlen(q) + up_to(line + strlen(q), n - strlen(q), q, true, &is_open);
        if (is_open) strcpy(c->quote, q); // a quote of the table, which fits
        return n_string;
    }
    if (!strchr(l->quotes, line[0])) return 0;
    const char quote[2] = {line[0], '\0'};
    const size_t n_string = 1 + up_to(line + 1, n - 1, quote, true, &is_open);
    return is_open && line[0] == '\'' ? 0 : n_string; // an apostrophe
}

static bool is_word_part(char c) { return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }

void code_colours_add(code_colours *c, const char *line, size_t n, styled_text *to) {
    const code_language *const l = c->language;
    for (size_t i = 0, n_part; i < n; i += n_part) {
        const char *const at = line + i;
        const size_t left = n - i;
        uint8_t style = 0;
        n_part = 1;
        if (!l) {
            n_part = left;
        } else if (c->is_comment) {
            n_part = up_to(at, left, l->block[1], false, &c->is_comment);
            style = STYLE_DIM;
        } else if (c->quote[0]) {
            bool is_open;
            n_part = up_to(at, left, c->quote, true, &is_open);
            if (!is_open) c->quote[0] = '\0';
            style = STYLE_GREEN;
        } else if (begins(at, left, l->block[0])) {
            const size_t n_begin = strlen(l->block[0]);
            n_part = n_begin + up_to(at + n_begin, left - n_begin, l->block[1], false, &c->is_comment);
            style = STYLE_DIM;
        } else if (begins(at, left, l->line_comments[0]) || begins(at, left, l->line_comments[1])) {
            n_part = left;
            style = STYLE_DIM;
        } else if (string_length(c, at, left)) {
            n_part = string_length(c, at, left);
            style = STYLE_GREEN;
        } else if (is_word_part(*at)) {
            while (n_part < left && is_word_part(at[n_part])) n_part++;
            style = isdigit((unsigned char)*at)                          ? STYLE_CYAN
                    : has_word(l->keywords, at, n_part, l->ignores_case) ? STYLE_MAGENTA
                                                                         : 0;
        }
        styled_add(to, at, n_part, style);
    }
}
