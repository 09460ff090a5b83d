// jinja/template_tree.h - a compiled template: a tree of nodes in an arena, with every name bound to a slot.
//
// Names are resolved as Jinja's compiler does it (template_scopes.c): a scope holds the names that it mentions, whatever is executed.
// A *function* (the template, a macro, a call block, a recursive loop) has slots for the names of all its scopes, and a link to the
// enclosing function.
// Ownership: everything is in the template's arena. Threads: immutable once compiled.
#ifndef RN_JINJA_TEMPLATE_TREE_H
#define RN_JINJA_TEMPLATE_TREE_H

#include "jinja/template.h"
#include "jinja/template_types.h"

#define TEMPLATE_MAX_NESTING 250        // of nodes in nodes: Python's compiler stops at 200 parentheses
#define TEMPLATE_NO_SLOT     UINT32_MAX // of a name that is not used

enum node_kind {
    // expressions
    NODE_CONST,
    NODE_NAME,
    NODE_LIST,
    NODE_TUPLE,
    NODE_DICT,
    NODE_NOT,
    NODE_NEGATE,
    NODE_PLUS,
    NODE_BINARY,
    NODE_AND,
    NODE_OR,
    NODE_CONCAT,
    NODE_COMPARE,
    NODE_CHOICE, // x if y else z
    NODE_ATTRIBUTE,
    NODE_ITEM,
    NODE_SLICE,
    NODE_CALL,
    NODE_FILTER,
    NODE_TEST,
    NODE_CAPTURED, // the text of the block that a filter is applied to
    // statements
    NODE_TEXT,
    NODE_PRINT,
    NODE_IF,
    NODE_FOR,
    NODE_SET,
    NODE_SET_BLOCK,
    NODE_WITH,
    NODE_MACRO,
    NODE_CALL_BLOCK,
    NODE_FILTER_BLOCK,
    NODE_SCOPE, // generation, autoescape
    NODE_BLOCK,
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_FOREIGN, // include, import, extends: need other templates
    // targets of assignments, besides NODE_NAME and NODE_TUPLE
    NODE_MEMBER, // of a namespace
    N_NODE_KINDS
};

struct node_list {
    struct node *first, *last; // linked by `next`
    uint32_t n;
};

// An argument of a call: by position, or named.
struct argument {
    struct node *value;
    const tval *name; // NULL: by position
    struct argument *next;
};
struct arguments {
    struct argument *first, *last;
    uint32_t n_pos, n_named;
    struct node *more, *more_named; // *more, **more_named; NULL: none
};

// The location of a name's value: in this slot of the function `hops` levels further out.
struct place {
    uint16_t hops;
    uint32_t slot;
};

// The initial value of a scope's name, set each time the scope is entered.
enum load_kind { LOAD_NOTHING, LOAD_VARIABLE, LOAD_PLACE };
struct load {
    enum load_kind kind;
    uint32_t slot;
    uint32_t name;      // LOAD_VARIABLE: of the template's names
    struct place place; // LOAD_PLACE
};
struct scope_loads {
    const struct load *loads;
    uint32_t n;
};

struct for_loop {
    struct node *target, *iter, *test; // test: NULL
    struct node *test_target;          // a second binding of the target, in the test's scope
    struct node_list body, otherwise;
    struct scope_loads scope, test_scope, else_scope;
    uint32_t loop_slot; // of its special name
    uint32_t n_slots;   // recursive: of its function
    bool recursive;
};

// A body with names of its own.
struct block {
    struct node *target;              // of a set block
    struct node *filter;              // of a set or filter block
    struct node_list targets, values; // of with
    const tval *name;                 // of a named block
    bool is_scoped, is_required;      // of a named block
    struct node_list body;
    struct scope_loads scope;
};

struct macro {
    const tval *name;             // NULL: a call block's
    struct node_list params;      // NODE_NAME
    const struct node **defaults; // of the last n_defaults parameters
    uint32_t n_defaults;
    struct node_list body;
    struct scope_loads scope;
    uint32_t n_slots;
    uint8_t uses;                     // USES_*
    struct place caller, named, more; // of those that it uses
};
enum { USES_CALLER = 1, USES_NAMED = 2, USES_MORE = 4 };

struct node {
    uint8_t kind;   // enum node_kind
    uint8_t op;     // of NODE_BINARY: its character ('f' is //, 'p' is **); NODE_TEST: 1: negated
    uint16_t depth; // nodes on the longest way down
    uint32_t at;    // byte of the source
    struct node *next;
    union {
        const tval *value; // NODE_CONST, NODE_TEXT
        struct {
            uint32_t id; // of the template's names
            struct place place;
        } name;
        struct node_list list; // NODE_LIST, TUPLE, CONCAT; NODE_DICT: keys and values in turn; NODE_PRINT, NODE_SCOPE
        struct {
            struct node *a, *b, *c; // operands; NODE_CHOICE: test, then, else; NODE_SET: target, value
        };
        struct {
            struct node *of;
            struct node_list operands;
            const char *ops; // one character for each operand: < l > g = ! i n
        } compare;
        struct {
            struct node *of, *from, *to, *step; // NULL: not given
        } slice;
        struct {
            struct node *of;
            const tval *name;
            const struct builtin *of_string, *of_dict; // the methods of that name, if there are any
        } attribute;
        struct {
            struct node *of;           // what is called, filtered or tested
            const struct builtin *row; // NODE_FILTER, NODE_TEST; NULL: unknown, which counts where it is reached
            const tval *name;          // of the filter or test
            struct arguments *args;
        } call;
        struct {
            struct node *test;
            struct node_list body, otherwise; // otherwise: an elif is an if alone
        } branch;
        struct for_loop *loop;
        struct block *block; // NODE_SET_BLOCK, WITH, FILTER_BLOCK, SCOPE, BLOCK
        struct {
            struct macro *macro;
            struct node *target; // NODE_MACRO: its name
            struct node *call;   // NODE_CALL_BLOCK
        } macro;
        struct {
            struct node *of; // a NODE_NAME
            const tval *name;
        } member;
        const char *word; // NODE_FOREIGN
    };
};

struct chat_template {
    struct arena arena;
    char *name;
    char *given; // the source as it came, terminated
    size_t n_given;
    char *source; // with newlines normalized; positions are of this one
    size_t n_source;
    struct node_list body;
    struct scope_loads scope;
    uint32_t n_slots;
    const tval **names; // of variables, by id
    uint32_t n_names;
};

// Line and column, both from 1, of a byte of the normalized source. Columns count characters.
void template_position(const chat_template *t, size_t at, size_t *line, size_t *column);

#endif
