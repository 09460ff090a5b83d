// grammar/schema/text.c - strings and names as expressions.
#include "grammar/regex.h"
#include "grammar/schema/context.h"
#include "text/utf8.h"
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
    size_t n;
    const char *s = schema_name(name, &n);
    for (int len; n > 0; s += len, n -= (size_t)len) {
        const uint32_t cp = utf8_decode(s, n, &len);
        x = chars_derive(c->e, x, cp, c->now->coding);
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
