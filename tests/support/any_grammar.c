// tests/support/any_grammar.c - see any_grammar.h.
#include "tests/support/any_grammar.h"
#include "base/philox.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

uint32_t any_grammar_roll(struct any_grammar *g, uint32_t below) {
    return (uint32_t)(philox_uniform(g->seed, 0, g->n_drawn++, PHILOX_TEST) * below);
}

static uint32_t roll(struct any_grammar *g, uint32_t below) { return any_grammar_roll(g, below); }

__attribute__((format(printf, 2, 3))) static void put(struct any_grammar *g, const char *fmt, ...) {
    const size_t left = sizeof g->text - g->n;
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(g->text + g->n, left, fmt, ap);
    va_end(ap);
    g->n += (size_t)n < left ? (size_t)n : left - 1;
}

#define PICK(g, of) ((of)[roll((g), sizeof(of) / sizeof *(of))])

// ---- regular expressions ----

static void any_regex(struct any_grammar *g, int depth, bool has_assertions) {
    static const char *const atoms[] = {"a", "b", "the", " ", "0", "é", "中", "😀", "-", "_", "word", ", "};
    static const char *const classes[] = {
        ".",      "\\d",     "\\w",       "\\s",     "[a-z]", "[^a-z\"\\\\]",   "[0-9A-Fa-f]", "[é-ü_-]",
        "\\p{L}", "\\p{Lu}", "[\\d\\s.]", "\\u00e9", "\\x41", "[^\\x00-\\x7f]", "\\D",         "\\W"};
    static const char *const times[] = {"*",      "+",  "?",  "{2}",     "{0,3}",   "{1,}",
                                        "{2,40}", "*?", "+?", "{0,200}", "{3,5000}"};
    static const char *const assertions[] = {"\\b", "\\B", "(?=[a-z0-9])", "(?!ab)", "(?=.{0,20}$)", "(?!.*  )"};
    const uint32_t kind = roll(g, depth > 0 ? 14 : 7);
    if (kind < 4) {
        put(g, "%s", PICK(g, atoms));
    } else if (kind < 7) {
        put(g, "%s", PICK(g, classes));
    } else if (kind < 9) {
        put(g, "(?:");
        any_regex(g, depth - 1, false);
        put(g, ")%s", PICK(g, times));
    } else if (kind < 11) {
        put(g, "(");
        any_regex(g, depth - 1, has_assertions);
        put(g, "|");
        any_regex(g, depth - 1, has_assertions);
        put(g, ")");
    } else {
        any_regex(g, depth - 1, has_assertions);
        if (has_assertions && roll(g, 5) == 0) put(g, "%s", PICK(g, assertions));
        any_regex(g, depth - 1, has_assertions);
    }
}

// ---- schemas ----

static const char *const names[] = {"a", "b", "name", "is_it", "é", "x y", "q\\\"q", "n\\n", "id", "values"};

static void any_schema(struct any_grammar *g, int depth);

static void any_value(struct any_grammar *g, int depth) {
    static const char *const scalars[] = {"null",   "true",     "false",       "0",          "-1.5",
                                          "12",     "1e3",      "\"\"",        "\"a\"",      "\"the word\"",
                                          "\"é\"",  "\"\\n\"",  "\"\\u0000\"", "\"a\\\"b\"", "1.50",
                                          "100000", "\"name\"", "\"/\"",       "-0.0"};
    const uint32_t kind = roll(g, depth > 0 ? 10 : 8);
    if (kind < 8)
        put(g, "%s", PICK(g, scalars));
    else if (kind == 8) {
        put(g, "[");
        for (uint32_t i = roll(g, 3), first = 1; i > 0; i--, first = 0)
            put(g, "%s", first ? "" : ", "), any_value(g, depth - 1);
        put(g, "]");
    } else {
        const uint32_t from = roll(g, 6), n = roll(g, 3);
        put(g, "{");
        for (uint32_t i = 0; i < n; i++)
            put(g, "%s\"%s\": ", i ? ", " : "", names[from + i]), any_value(g, depth - 1);
        put(g, "}");
    }
}

static void put_key(struct any_grammar *g, const char *key) {
    put(g, "%s\"%s\": ", g->text[g->n - 1] == '{' ? "" : ", ", key);
}

static void any_pattern(struct any_grammar *g) {
    struct any_grammar *const inner = g; // the same numbers
    const size_t begin = inner->n;
    put(g, "%s", roll(g, 2) ? "^" : "");
    any_regex(g, 2, true);
    put(g, "%s", roll(g, 2) ? "$" : "");
    char raw[4096];
    const size_t n = g->n - begin < sizeof raw ? g->n - begin : sizeof raw;
    memcpy(raw, g->text + begin, n);
    g->n = begin;
    for (size_t i = 0; i < n; i++) put(g, raw[i] == '\\' || raw[i] == '"' ? "\\%c" : "%c", raw[i]);
}

static void any_string_words(struct any_grammar *g) {
    static const char *const formats[] = {"date", "time",  "date-time",     "duration",
                                          "uuid", "email", "ipv4",          "hostname",
                                          "ipv6", "uri",   "uri-reference", "json-pointer"};
    static const uint32_t lengths[] = {0, 1, 2, 5, 40, 127, 129, 300, 5000};
    const uint32_t kind = roll(g, 6);
    put_key(g, "type"), put(g, "\"string\"");
    if (kind == 0 || kind == 1) put_key(g, "maxLength"), put(g, "%u", PICK(g, lengths));
    if (kind == 1 || kind == 2) put_key(g, "minLength"), put(g, "%u", roll(g, 4));
    if (kind == 3 || kind == 4) {
        put_key(g, "pattern"), put(g, "\"");
        any_pattern(g);
        put(g, "\"");
        if (roll(g, 3) == 0) put_key(g, "maxLength"), put(g, "%u", PICK(g, lengths));
    }
    if (kind == 5) put_key(g, "format"), put(g, "\"%s\"", PICK(g, formats));
}

static void any_number_words(struct any_grammar *g) {
    static const char *const bounds[] = {"0", "1", "-3", "2.5", "100", "1e3", "-0.001", "99999999999"};
    static const char *const parts[] = {"1", "5", "0.01", "0.25", "3", "7"};
    static const char *const low[] = {"minimum", "exclusiveMinimum"}, *const high[] = {"maximum", "exclusiveMaximum"};
    put_key(g, "type"), put(g, "\"%s\"", roll(g, 2) ? "integer" : "number");
    if (roll(g, 2)) put_key(g, PICK(g, low)), put(g, "%s", PICK(g, bounds));
    if (roll(g, 2)) put_key(g, PICK(g, high)), put(g, "%s", PICK(g, bounds));
    if (roll(g, 4) == 0) put_key(g, "multipleOf"), put(g, "%s", PICK(g, parts));
}

static void any_schemas(struct any_grammar *g, int depth, uint32_t n) {
    put(g, "[");
    for (uint32_t i = 0; i < n; i++) put(g, "%s", i ? ", " : ""), any_schema(g, depth - 1);
    put(g, "]");
}

static void any_array_words(struct any_grammar *g, int depth) {
    put_key(g, "type"), put(g, "\"array\"");
    if (roll(g, 12) == 0) {
        put_key(g, "items"), put(g, "{\"enum\": [1, 2, \"a\", null]}"), put_key(g, "uniqueItems"), put(g, "true");
        return;
    }
    if (roll(g, 4)) put_key(g, "items"), any_schema(g, depth - 1);
    if (roll(g, 4) == 0) put_key(g, "prefixItems"), any_schemas(g, depth, 1 + roll(g, 3));
    if (roll(g, 3) == 0) put_key(g, "minItems"), put(g, "%u", roll(g, 3));
    if (roll(g, 3) == 0) put_key(g, "maxItems"), put(g, "%u", roll(g, 200));
    if (roll(g, 8) == 0) {
        put_key(g, "contains"), any_schema(g, depth - 1);
        if (roll(g, 3) == 0) put_key(g, "maxContains"), put(g, "%u", 1 + roll(g, 3));
    }
}

static void any_object_words(struct any_grammar *g, int depth) {
    const uint32_t from = roll(g, 6), n = roll(g, 4);
    put_key(g, "type"), put(g, "\"object\"");
    if (n) {
        put_key(g, "properties"), put(g, "{");
        for (uint32_t i = 0; i < n; i++)
            put(g, "%s\"%s\": ", i ? ", " : "", names[from + i]), any_schema(g, depth - 1);
        put(g, "}");
    }
    if (roll(g, 2)) put_key(g, "required"), put(g, "[\"%s\"]", names[from + roll(g, 3)]);
    if (roll(g, 3) == 0)
        put_key(g, "additionalProperties"), any_schema(g, depth - 1);
    else if (roll(g, 2))
        put_key(g, "additionalProperties"), put(g, "false");
    if (roll(g, 8) == 0) {
        put_key(g, "patternProperties"), put(g, "{\"");
        any_pattern(g);
        put(g, "\": "), any_schema(g, depth - 1), put(g, "}");
    }
    if (roll(g, 10) == 0) put_key(g, "propertyNames"), put(g, "{\"maxLength\": %u}", 1 + roll(g, 8));
    if (roll(g, 8) == 0) put_key(g, "minProperties"), put(g, "%u", roll(g, 3));
    if (roll(g, 8) == 0) put_key(g, "maxProperties"), put(g, "%u", 1 + roll(g, 4));
    if (roll(g, 12) == 0) put_key(g, "dependentRequired"), put(g, "{\"%s\": [\"%s\"]}", names[from], names[from + 1]);
    if (roll(g, 12) == 0) put_key(g, "unevaluatedProperties"), put(g, "false");
}

// At depth 0 without members, items or other schemas.
static void any_schema(struct any_grammar *g, int depth) {
    static const char *const lists[] = {"anyOf", "anyOf", "oneOf", "allOf"};
    const uint32_t kind = roll(g, depth > 0 ? 20 : 9);
    put(g, "{");
    if (kind < 3) {
        any_string_words(g);
    } else if (kind < 5) {
        any_number_words(g);
    } else if (kind < 7) {
        put_key(g, "enum"), put(g, "[");
        for (uint32_t i = 0, n = 1 + roll(g, 4); i < n; i++) put(g, "%s", i ? ", " : ""), any_value(g, 1);
        put(g, "]");
    } else if (kind == 7) {
        put_key(g, "type"), put(g, roll(g, 2) ? "[\"null\", \"boolean\"]" : "[\"integer\", \"string\"]");
    } else if (kind == 8) {
        if (roll(g, 3)) put_key(g, "const"), any_value(g, 2); // else any value
    } else if (kind < 14) {
        any_object_words(g, depth);
    } else if (kind < 17) {
        any_array_words(g, depth);
    } else if (kind == 17) {
        put_key(g, PICK(g, lists)), any_schemas(g, depth, 1 + roll(g, 3));
    } else if (kind == 18) {
        put_key(g, "if"), any_schema(g, depth - 1), put_key(g, "then"), any_schema(g, depth - 1);
    } else {
        put_key(g, "$ref"), put(g, "\"#/$defs/%s\"", roll(g, 2) ? "tree" : "node");
    }
    if (depth > 0 && roll(g, 16) == 0) put_key(g, "not"), any_schema(g, depth - 1);
    put(g, "}");
}

static void any_root(struct any_grammar *g) {
    put(g,
        "{\"$defs\": {\"tree\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/tree\"}}, \"node\": {\"properties\": "
        "{\"value\": {\"type\": \"integer\"}, \"next\": {\"$ref\": \"#/$defs/node\"}}, \"required\": [\"value\"]}}, "
        "\"allOf\": [");
    any_schema(g, 3);
    put(g, "]}");
}

// ---- GBNF and Lark ----

enum { N_RULES = 4 };

static void any_body(struct any_grammar *g, bool is_lark, int depth) {
    static const char *const literals[] = {"\"a\"", "\"the \"", "\"{\"",   "\"}\"",   "\", \"",
                                           "\"é\"", "\"0\"",    "\"\\n\"", "\"word\""};
    static const char *const classes[] = {"[a-z]", "[0-9]", "[^\"\\\\]", "[ \\t]", "[a-zA-Z_]", "[é-ü]"};
    static const char *const times[] = {"*", "+", "?"};
    const uint32_t kind = roll(g, depth > 0 ? 12 : 6);
    if (kind < 3) {
        put(g, "%s ", PICK(g, literals));
    } else if (kind < 5) {
        put(g, is_lark ? "/%s/ " : "%s ", PICK(g, classes));
    } else if (kind == 5) {
        if (is_lark && roll(g, 2))
            put(g, "T%u ", roll(g, 3));
        else
            put(g, "r%u ", roll(g, N_RULES));
    } else if (kind < 8) {
        put(g, "(");
        any_body(g, is_lark, depth - 1);
        put(g, "| ");
        any_body(g, is_lark, depth - 1);
        put(g, ")");
    } else if (kind < 10) {
        put(g, "(");
        any_body(g, is_lark, depth - 1);
        if (roll(g, 3))
            put(g, ")%s ", PICK(g, times));
        else
            put(g, is_lark ? ")~%u..%u " : "){%u,%u} ", roll(g, 3), 3 + roll(g, 30));
    } else {
        any_body(g, is_lark, depth - 1);
        any_body(g, is_lark, depth - 1);
    }
}

static void any_gbnf(struct any_grammar *g) {
    put(g, "root ::= "), any_body(g, false, 3), put(g, "\n");
    for (uint32_t i = 0; i < N_RULES; i++)
        put(g, "r%u ::= ", i), any_body(g, false, 2), put(g, "| \"%c\"\n", 'w' + (char)i);
}

static void any_lark(struct any_grammar *g) {
    put(g, "start: "), any_body(g, true, 3), put(g, "\n");
    for (uint32_t i = 0; i < N_RULES; i++)
        put(g, "r%u: ", i), any_body(g, true, 2), put(g, "| \"%c\"\n", 'w' + (char)i);
    for (uint32_t i = 0; i < 3; i++) {
        put(g, "T%u: /", i);
        any_regex(g, 2, false);
        put(g, "/%s\n", roll(g, 4) == 0 ? " & /[^b]*/" : "");
    }
    if (roll(g, 3) == 0) put(g, "%%ignore / /\n");
    if (roll(g, 4) == 0) {
        put(g, "start2: r0\nr9: %%json ");
        any_schema(g, 1);
        put(g, "\n");
    }
}

void any_grammar(struct any_grammar *g, uint64_t seed, enum any_grammar_kind kind) {
    g->seed = seed * ANY_N_KINDS + (uint64_t)kind;
    g->n_drawn = 0, g->n = 0;
    switch (kind) {
    case ANY_SCHEMA: any_root(g); break;
    case ANY_REGEX: any_regex(g, 4, true); break;
    case ANY_GBNF: any_gbnf(g); break;
    case ANY_LARK: any_lark(g); break;
    case ANY_N_KINDS: break;
    }
    g->text[g->n] = 0;
}
