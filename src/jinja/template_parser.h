// jinja/template_parser.h - shared by the parser of statements and the parser of expressions.
//
// Both follow Jinja's grammar and recurse no deeper than TEMPLATE_MAX_NESTING.
// Ownership: nodes are in the template's arena. Threads: one at a time.
#ifndef RN_JINJA_TEMPLATE_PARSER_H
#define RN_JINJA_TEMPLATE_PARSER_H

#include "jinja/template_lexer.h"

struct parser {
    chat_template *t;
    struct lexer lexer;
    struct token now, next; // one token of lookahead
    rn_error *err;
    rn_status st; // of the first failure
    int depth;
    int n_loops;           // enclosing loops within the function: break is allowed if > 0
    bool in_target;        // parsing the target of an assignment
    uint8_t uses, assigns; // USES_* of the current macro, and those that it assigns itself
    struct tv_dict *names; // variable names: an entry's index is the name's id
    const char *open_tag;  // the innermost open tag
    size_t n_open_tag;
    size_t open_tag_at;
};

// Parses the whole source into t's tree; names are not bound yet.
rn_status template_parse(chat_template *t, rn_error *err);
// Binds every name to its slot, and filters and tests to their rows.
rn_status template_bind(chat_template *t, rn_error *err);

// ---- within the parser: NULL or false: failed, p->st says how --------------------------------------------------------

__attribute__((format(printf, 4, 5))) void *parse_fail(struct parser *p, size_t at, rn_status code, const char *fmt,
                                                       ...);
void *parse_no_memory(struct parser *p, size_t at);
void *parse_unexpected(struct parser *p,
                       const char *wanted); // error at the current token; wanted: what was expected, or NULL

bool parse_step(struct parser *p); // advances to the next token
static inline bool at_op(const struct parser *p, char op) { return p->now.kind == TOKEN_OPERATOR && p->now.op == op; }
static inline bool token_is(const struct token *t, const char *name) {
    return t->kind == TOKEN_NAME && t->n == strlen(name) && memcmp(t->s, name, t->n) == 0;
}
static inline bool at_name(const struct parser *p, const char *name) { return token_is(&p->now, name); }
bool parse_op(struct parser *p, char op);                // expects it
bool parse_kind(struct parser *p, enum token_kind kind); // expects it
// Skips the operator or name where it is next: *found says so.
bool parse_maybe_op(struct parser *p, char op, bool *found);
bool parse_maybe_name(struct parser *p, const char *name, bool *found);

void *parse_alloc(struct parser *p, size_t n_bytes);
struct node *parse_node(struct parser *p, enum node_kind kind, size_t at);
struct node *parse_block_node(struct parser *p, enum node_kind kind);              // with its block
bool parse_adopt(struct parser *p, struct node *parent, const struct node *child); // child: NULL is none
bool parse_add(struct parser *p, struct node *parent, struct node_list *list,
               struct node *child);                                // child: NULL fails
const tval *parse_text(struct parser *p, const char *s, size_t n); // a string of the template
struct node *parse_name_node(struct parser *p, const struct token *name, bool is_store);

enum tuple_flags { TUPLE_NO_CHOICE = 1, TUPLE_IN_BRACKETS = 2, TUPLE_SIMPLE = 4, TUPLE_MEMBERS = 8 };

struct node *parse_expression(struct parser *p);
// One expression, or several with commas between.
struct node *parse_tuple(struct parser *p, unsigned flags);
// Filters with bars between; on: what they are applied to. starts: the first has no bar.
struct node *parse_filters(struct parser *p, struct node *on, bool starts);

#endif
