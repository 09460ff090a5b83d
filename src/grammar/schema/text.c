// grammar/schema/text.c - strings and names as expressions.
#include "grammar/regex.h"
#include "grammar/schema/context.h"
#include <stdio.h>
#include <string.h>

expr_id schema_quoted(struct context *c, expr_id content) {
    const expr_id quote = c->now->quote;
    return expr_cat(c->e, quote, expr_cat(c->e, content, quote));
}

expr_id schema_name_expr(struct context *c, const struct json_node *name) {
    size_t n;
    const char *const s = schema_name(name, &n);
    return chars_text(c->e, s, n, c->now->coding);
}

bool schema_matches(struct context *c, expr_id x, const struct json_node *name) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    size_t n;
    const char *const s = schema_name(name, &n);
    for (size_t i = 0; i < n; i++) { // as JSON writes it
        if (c->now->coding == CODING_UTF8) {
            x = expr_derive(c->e, x, (uint8_t)s[i]);
            continue;
        }
        char coded[8] = {s[i]};
        const char *const at = s[i] ? strchr(from, s[i]) : NULL;
        if (at)
            snprintf(coded, sizeof coded, "\\%c", to[at - from]);
        else if ((uint8_t)s[i] < 0x20)
            snprintf(coded, sizeof coded, "\\u%04x", (unsigned)s[i]);
        for (const char *k = coded; *k; k++) x = expr_derive(c->e, x, (uint8_t)*k);
    }
    return schema_ok(c) && expr_nullable(c->e, x);
}

// Surrogates only in pairs.
expr_id schema_free_text(struct context *c) {
    struct exprs *const e = c->e;
    expr_id x = EXPR_NEVER;
    static const char escapes[] =
        "\\\\(?:[\"\\\\/bfnrt]|u(?:[0-9A-Ca-cE-Fe-f][0-9A-Fa-f]{3}|[Dd](?:[0-7][0-9A-Fa-f]{2}|"
        "[89ABab][0-9A-Fa-f]{2}\\\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})))";
    const rn_status st = regex_expr(e, escapes, strlen(escapes), REGEX_WHOLE, CODING_UTF8, &x, NULL);
    if (st != RN_OK) return schema_stop(c, st, NULL, "out of memory"), EXPR_NEVER;
    struct char_range plain[] = {{' ', '!'}, {'#', '['}, {']', 0xd7ff}, {0xe000, CHAR_MAX_CP}};
    x = expr_or2(e, x, chars_expr(e, &(struct char_set){.ranges = plain, .n = 4, .max = 4}, CODING_UTF8));
    return expr_repeat(e, x, 0, EXPR_NO_MAX);
}
