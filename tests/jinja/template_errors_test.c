// tests/jinja/template_errors_test.c - templates that are refused, and those that fail: with what, why and where.
#include "tests/jinja/template_rig.h"

struct row {
    const char *template;
    rn_status st;
    const char *want; // begins the sentence
};

static void check_rows(const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct rendering r = render(rows[i].template, "{\"s\": \"abc\", \"n\": 5, \"l\": [1], \"d\": {\"k\": null}}");
        check_note("%s: %s", rows[i].template, r.err.text);
        CHECK_INT(r.st, rows[i].st);
        CHECK(strncmp(r.err.text, rows[i].want, strlen(rows[i].want)) == 0);
        CHECK(r.out.text.n == 0 && r.out.n_segments == 0 && !r.out.raised);
        template_output_free(&r.out);
    }
}

TEST(what_is_no_template_is_refused_with_line_and_column) {
    static const struct row rows[] = {
        {"{{ 1 ", RN_E_FORMAT,
         "t: line 1, column 6: unexpected end of the template, expected the end of the tag '}}'"},
        {"a\n  {% frob %}", RN_E_FORMAT, "t: line 2, column 6: unknown tag 'frob'"},
        {"é{{ é! }}", RN_E_FORMAT, "t: line 1, column 6: unexpected character '!'"},
        {"{% for x in l %}\n{% endif %}", RN_E_FORMAT,
         "t: line 2, column 4: unknown tag 'endif' within 'for' of line 1"},
        {"\n{% if n %}x", RN_E_FORMAT,
         "t: line 2, column 12: the template ends within 'if' of line 2, which 'elif' would close"},
        {"{{ 'abc }}", RN_E_FORMAT, "t: line 1, column 4: a string is not closed"},
        {"{# x", RN_E_FORMAT, "t: line 1, column 1: a comment is not closed"},
        {"{% raw %}x", RN_E_FORMAT, "t: line 1, column 1: a raw block is not closed"},
        {"{{ (1] }}", RN_E_FORMAT, "t: line 1, column 6: unexpected ']', expected ')'"},
        {"{{ 1) }}", RN_E_FORMAT, "t: line 1, column 5: unexpected ')'"},
        {"{{ }}", RN_E_FORMAT, "t: line 1, column 4: unexpected end of the tag, expected an expression"},
        {"{{ 1 + }}", RN_E_FORMAT, "t: line 1, column 8: unexpected end of the tag"},
        {"{{ a b }}", RN_E_FORMAT, "t: line 1, column 6: unexpected 'b', expected the end of the tag '}}'"},
        {"{{ s | nofilter }}", RN_E_FORMAT, "t: line 1, column 8: unknown filter 'nofilter'"},
        {"{{ s is notest }}", RN_E_FORMAT, "t: line 1, column 9: unknown test 'notest'"},
        {"{% break %}", RN_E_FORMAT, "t: line 1, column 4: 'break' outside of a loop"},
        {"{% for i in l %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}", RN_E_FORMAT,
         "t: line 1, column 35: 'continue' outside of a loop"},
        {"{% set 1 = 2 %}", RN_E_FORMAT, "t: line 1, column 8: cannot assign to a constant"},
        {"{% for loop in l %}{% endfor %}", RN_E_FORMAT,
         "t: line 1, column 8: inside a loop, cannot assign to 'loop'"},
        {"{% macro m(a, a) %}{% endmacro %}", RN_E_FORMAT, "t: line 1, column 15: given twice: the parameter 'a'"},
        {"{{ f(a=1, a=2) }}", RN_E_FORMAT, "t: line 1, column 11: argument 'a' is given twice"},
        {"{{ f(a=1, 2) }}", RN_E_FORMAT, "t: line 1, column 11: arguments out of order"},
        {"{% block a %}{% endblock %}{% block a %}{% endblock %}", RN_E_FORMAT,
         "t: line 1, column 31: defined twice: the block 'a'"},
        {"{{ '\\ud800' }}", RN_E_FORMAT, "t: line 1, column 6: in a string: half of a surrogate pair"},
        {"{{ '\\x4' }}", RN_E_FORMAT, "t: line 1, column 6: in a string: an escape with too few digits"},
        {"{{ 999999999999999999999999999999999999999 }}", RN_E_LIMIT,
         "t: line 1, column 4: a number beyond 127 bits"},
        {"x\xff", RN_E_FORMAT, "t: not UTF-8 (at byte 1)"},
    };
    check_rows(rows, N(rows));
}

TEST(what_is_not_supported_is_named_with_line_and_column) {
    static const struct row rows[] = {
        {"{% include 'x' %}", RN_E_UNSUPPORTED,
         "t: line 1, column 4: 'include' is not supported: there are no other templates"},
        {"\n {% import 'x' as y %}", RN_E_UNSUPPORTED, "t: line 2, column 5: 'import' is not supported"},
        {"{% from 'x' import y %}", RN_E_UNSUPPORTED, "t: line 1, column 4: 'from' is not supported"},
        {"{% extends 'x' %}", RN_E_UNSUPPORTED, "t: line 1, column 4: 'extends' is not supported"},
        {"{% if n %}{% include 'x' %}{% endif %}", RN_E_UNSUPPORTED,
         "t: line 1, column 14: 'include' is not supported"},
        {"{% autoescape true %}{% endautoescape %}", RN_E_UNSUPPORTED,
         "t: line 1, column 4: 'autoescape' is supported only with false"},
        {"{{ s | urlize }}", RN_E_UNSUPPORTED, "t: line 1, column 8: unsupported filter 'urlize'"},
        {"{% if n %}{{ l | random }}{% endif %}", RN_E_UNSUPPORTED,
         "t: line 1, column 18: 'random' is not supported"},
        {"{{ lipsum() }}", RN_E_UNSUPPORTED, "t: line 1, column 4: 'lipsum' is not supported"},
        {"{{ s.translate({}) }}", RN_E_UNSUPPORTED, "t: line 1, column 5: 'translate' is not supported"},
        {"{{ '\\N{DASH}' }}", RN_E_UNSUPPORTED,
         "t: line 1, column 6: \\N: characters by their names are not supported"},
    };
    check_rows(rows, N(rows));
    struct rendering r =
        render("{% if false %}{% include 'x' %}{{ s | random }}{{ s | nofilter }}{% endif %}ok", "{}");
    CHECK_INT(r.st, RN_OK); // what is never reached does not count, as in Jinja
    CHECK_STR(text_of(&r), "ok");
    template_output_free(&r.out);
}

TEST(values_that_a_template_cannot_work_with_are_named_with_line_and_column) {
    static const struct row rows[] = {
        {"a\nb{{ s + 1 }}", RN_E_ARG, "t: line 2, column 7: TypeError: 'str' + 'int' is not defined"},
        {"{{ nope.x }}", RN_E_ARG, "t: line 1, column 8: UndefinedError: 'nope' is undefined"},
        {"{{ d.a.b }}", RN_E_ARG, "t: line 1, column 7: UndefinedError: dict has no attribute 'a'"},
        {"{{ l[7].b }}", RN_E_ARG, "t: line 1, column 8: UndefinedError: list has no element 7"},
        {"{{ n() }}", RN_E_ARG, "t: line 1, column 4: TypeError: 'int' cannot be called"},
        {"{% for a in n %}{% endfor %}", RN_E_ARG, "t: line 1, column 13: TypeError: 'int' is not iterable"},
        {"{% for a, b in l %}{% endfor %}", RN_E_ARG, "t: line 1, column 8: TypeError: 'int' is not iterable"},
        {"{{ 1 // 0 }}", RN_E_ARG, "t: line 1, column 6: ZeroDivisionError: division by zero"},
        {"{{ l.append(1) }}", RN_E_ARG,
         "t: line 1, column 5: SecurityError: the attribute 'append' of list cannot be used in a template"},
        {"{{ s.__class__.x }}", RN_E_ARG, "t: line 1, column 15: SecurityError: the attribute '__class__' of str"},
        {"{{ s.index('z') }}", RN_E_ARG, "t: line 1, column 5: ValueError: index(): it is not found"},
        {"{{ s | replace('a') }}", RN_E_ARG, "t: line 1, column 8: TypeError: replace() needs 2 arguments"},
        {"{{ s.upper(1) }}", RN_E_ARG, "t: line 1, column 5: TypeError: upper() takes at most 0 arguments, not 1"},
        {"{{ s | trim(z=1) }}", RN_E_ARG, "t: line 1, column 8: TypeError: trim() has no parameter 'z'"},
        {"{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", RN_E_ARG,
         "t: line 1, column 41: TypeError: the macro takes at most 1 arguments, not 2"},
        {"{{ range(100001) }}", RN_E_ARG, "t: line 1, column 4: OverflowError: range(): 100001 items, limit 100000"},
        {"{% set x.a = 1 %}", RN_E_ARG,
         "t: line 1, column 8: TemplateRuntimeError: only a namespace's attributes can be assigned to"},
        {"{{ nope | tojson }}", RN_E_ARG, "t: line 1, column 11: TypeError: 'Undefined' cannot be written as JSON"},
        {"{{ 2 ** 127 }}", RN_E_LIMIT, "t: line 1, column 6: an integer beyond 127 bits"},
    };
    check_rows(rows, N(rows));
}

TEST(what_a_template_raises_is_the_error_alone) {
    struct rendering r = render("a{{ raise_exception('Roles must alternate: ' ~ n) }}b", "{\"n\": 3}");
    CHECK_INT(r.st, RN_E_ARG);
    CHECK(r.out.raised && r.out.text.n == 0 && r.out.text.s == NULL);
    CHECK_STR(r.err.text, "Roles must alternate: 3");
    template_output_free(&r.out);
    r = render("{{ raise_exception('a\nb') }}", "{}");
    CHECK_STR(r.err.text, "a?b"); // an error is one line
    template_output_free(&r.out);
}

TEST(errors_need_no_place_to_go) {
    chat_template *t = NULL;
    struct template_output out = {0};
    CHECK_INT(template_compile("{{ 1 +", 6, "t", &t, NULL), RN_E_FORMAT);
    CHECK(t == NULL);
    CHECK_INT(template_compile("{{ nope.x }}", 12, "t", &t, NULL), RN_OK);
    const struct template_env env = {0};
    CHECK_INT(template_render(t, &env, &out, NULL), RN_E_ARG);
    template_destroy(t);
    template_destroy(NULL);
}
