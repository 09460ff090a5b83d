// tests/jinja/template_limits_test.c - each limit at its value and one past it, and templates that would never end.
#include "jinja/template_tree.h"
#include "tests/jinja/template_rig.h"
#include "tests/support/work.h"

static rn_status render_limited(const char *source, struct template_limits limits, size_t *n_out, rn_error *err) {
    struct template_output out;
    *err = (rn_error){0};
    const rn_status st = render_with(source, strlen(source), "{\"s\": \"content\"}", &limits, &out, err);
    *n_out = out.text.n;
    template_output_free(&out);
    return st;
}

// ---- at the limit and one past it -----------------------------------------------------------------------------------

TEST(output_is_as_long_as_its_limit_and_no_longer) {
    static const char *const templates[] = {"0123456789{{ s }}", "{{ '0123456789' }}{{ s }}",
                                            "{% for i in range(17) %}x{% endfor %}",
                                            "{% macro m() %}0123456789{{ s }}{% endmacro %}{{ m() }}"};
    for (size_t i = 0; i < N(templates); i++)
        for (size_t max = 16; max <= 18; max++) {
            size_t n;
            rn_error err;
            check_note("%s, at most %zu", templates[i], max);
            CHECK_INT(render_limited(templates[i], (struct template_limits){.output_bytes = max}, &n, &err),
                      max < 17 ? RN_E_LIMIT : RN_OK);
            CHECK_INT(n, max < 17 ? 0 : 17);
            if (max < 17) CHECK_HAS(err.text, "an output of more than 16 bytes");
        }
}

// The least limit that a template needs: one less is refused, one more gives the same.
static uint64_t least(const char *source, bool of_memory) {
    uint64_t low = 1, high = 1 << 20;
    size_t n;
    rn_error err;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        const struct template_limits l = {.steps = of_memory ? 0 : mid, .memory_bytes = of_memory ? mid : 0};
        if (render_limited(source, l, &n, &err) == RN_OK)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

TEST(steps_and_memory_are_as_many_as_their_limits_and_no_more) {
    static const char source[] = "{% for i in range(50) %}{{ s ~ i }}{{ [i, s] | tojson }}{% endfor %}";
    for (int of_memory = 0; of_memory < 2; of_memory++) {
        const uint64_t at = least(source, of_memory);
        for (int more = -1; more <= 1; more++) {
            const uint64_t max = at + (uint64_t)(int64_t)more;
            const struct template_limits l = {.steps = of_memory ? 0 : max, .memory_bytes = of_memory ? max : 0};
            size_t n;
            rn_error err;
            check_note("%llu of %llu", (unsigned long long)max, (unsigned long long)at);
            CHECK_INT(render_limited(source, l, &n, &err), more < 0 ? RN_E_LIMIT : RN_OK);
            if (more < 0) CHECK_HAS(err.text, of_memory ? "values of more than" : "the template takes more than");
        }
    }
}

TEST(macros_loops_and_values_nest_as_deep_as_their_limit_and_no_deeper) {
    static const char *const templates[] = {
        "{% macro m(n) %}{% if n > 1 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(DEPTH) }}",
        "{% for n in [DEPTH] recursive %}{% if n > 1 %}{{ loop([n - 1]) }}{% endif %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(DEPTH) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=1) %}{% for i in range(DEPTH) %}{% set ns.x = {'k': ns.x} %}{% endfor %}{{ ns.x | tojson }}",
        "{% set ns = namespace(x=1, y=1) %}{% for i in range(DEPTH) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
        "{% macro m(n) %}{{ caller() if n > 999 }}{% if n > 1 %}{% call m(n - 1) %}{% endcall %}{% endif %}{% endmacro %}{{ m(DEPTH) }}",
    };
    for (size_t i = 0; i < N(templates); i++)
        for (int depth = 19; depth <= 21; depth++) {
            char source[512];
            size_t n;
            rn_error err;
            const char *const at = strstr(templates[i], "DEPTH");
            snprintf(source, sizeof source, "%.*s%d%s", (int)(at - templates[i]), templates[i], depth, at + 5);
            check_note("%s", source);
            CHECK_INT(render_limited(source, (struct template_limits){.depth = 20}, &n, &err),
                      depth <= 20 ? RN_OK : RN_E_LIMIT);
            if (depth > 20) CHECK_HAS(err.text, "macros, calls or values within each other deeper than 20");
        }
}

// The deepest templates that compile also run, with macros as deep as they may be: the stack suffices.
TEST(the_deepest_nesting_fits_the_stack) {
    char *const source = malloc(1 << 16), *to = source;
    size_t n;
    rn_error err;
    if (!source) abort();
    to += sprintf(to, "{%% macro m(n) %%}");
    for (int i = 0; i < 60; i++) to += sprintf(to, "{%% if true %%}");
    to += sprintf(to, "{{ ");
    for (int i = 0; i < 150; i++) to += sprintf(to, "0 + ");
    to += sprintf(to, "(m(n + 1) | length) }}");
    for (int i = 0; i < 60; i++) to += sprintf(to, "{%% endif %%}");
    sprintf(to, "{%% endmacro %%}{{ m(0) }}");
    CHECK_INT(render_limited(source, (struct template_limits){0}, &n, &err), RN_E_LIMIT);
    CHECK_HAS(err.text, "within each other deeper than 200");
    free(source);
}

static rn_status compile_repeated(const char *open, const char *mid, const char *close, int n, rn_error *err) {
    char *const source = malloc((size_t)n * (strlen(open) + strlen(close)) + strlen(mid) + 32), *to = source;
    chat_template *t = NULL;
    if (!source) abort();
    *err = (rn_error){0};
    for (int i = 0; i < n; i++) to += sprintf(to, "%s", open);
    to += sprintf(to, "%s", mid);
    for (int i = 0; i < n; i++) to += sprintf(to, "%s", close);
    const rn_status st = template_compile(source, (size_t)(to - source), "t", &t, err);
    template_destroy(t);
    free(source);
    return st;
}

TEST(templates_nest_as_deep_as_their_limit_and_no_deeper) {
    static const struct {
        const char *open, *mid, *close;
    } rows[] = {
        {"{% if x %}", "", "{% endif %}"},
        {"{% for x in y %}", "", "{% endfor %}"},
        {"{% with %}", "", "{% endwith %}"},
        {"{% set x %}", "", "{% endset %}"},
    };
    for (size_t i = 0; i < N(rows); i++)
        for (int n = TEMPLATE_MAX_NESTING - 3; n <= TEMPLATE_MAX_NESTING + 3; n++) {
            rn_error err;
            const rn_status st = compile_repeated(rows[i].open, rows[i].mid, rows[i].close, n, &err);
            check_note("%d x %s: %s", n, rows[i].open, err.text);
            if (n <= TEMPLATE_MAX_NESTING - 2) CHECK_INT(st, RN_OK);
            if (n > TEMPLATE_MAX_NESTING) CHECK_INT(st, RN_E_LIMIT);
            if (st != RN_OK) CHECK_HAS(err.text, "nested deeper than 250");
        }
}

TEST(deep_nesting_of_any_kind_is_refused_without_a_deep_stack) {
    static const struct {
        const char *open, *mid, *close;
    } rows[] = {
        {"(", "", ""},          {"{{ (", "", ""},       {"{{ [", "1", ""}, {"-", "", ""},
        {"{% if x %}", "", ""}, {"{{ x|upper", "", ""}, {"{{- ", "x", ""}, {"{% macro m() %}", "", "{% endmacro %}"},
    };
    static const char *const prefixes[] = {"{{ 1", "{{ ", "{{ ", "{{ x", "{{ 1", "{% set a = 1"};
    static const char *const units[] = {" + 1", "- ", "not ", ".x", " if 1 else 1", "|abs"};
    rn_error err;
    for (size_t i = 0; i < N(rows); i++) compile_repeated(rows[i].open, rows[i].mid, rows[i].close, 20000, &err);
    for (size_t i = 0; i < N(units); i++) {
        char *const source = malloc(300000), *to = source;
        chat_template *t = NULL;
        if (!source) abort();
        to += sprintf(to, "%s", prefixes[i]);
        for (int k = 0; k < 20000; k++) to += sprintf(to, "%s", units[i]);
        to += sprintf(to, " }}");
        check_note("%s", units[i]);
        CHECK_INT(template_compile(source, (size_t)(to - source), "t", &t, &err), RN_E_LIMIT);
        CHECK_HAS(err.text, "nested deeper than 250");
        free(source);
    }
}

TEST(a_source_is_as_long_as_its_limit_and_no_longer) {
    char *const source = malloc(TEMPLATE_MAX_SOURCE + 1);
    if (!source) abort();
    memset(source, 'x', TEMPLATE_MAX_SOURCE + 1);
    for (size_t n = TEMPLATE_MAX_SOURCE - 1; n <= TEMPLATE_MAX_SOURCE + 1; n++) {
        chat_template *t = NULL;
        rn_error err = {0};
        CHECK_INT(template_compile(source, n, "t", &t, &err), n <= TEMPLATE_MAX_SOURCE ? RN_OK : RN_E_LIMIT);
        if (n > TEMPLATE_MAX_SOURCE) CHECK_STR(err.text, "t: a template of 1048577 bytes, limit 1048576");
        template_destroy(t);
    }
    free(source);
}

// ---- templates that would never end ---------------------------------------------------------------------------------

static const char *const hostile[] = {
    "{% for i in range(100000) %}{% for j in range(100000) %}{% for k in range(100000) %}x{% endfor %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "{% set ns = namespace(s='é') %}{% for i in range(100000) %}{% set ns.s = ns.s + 'é' %}{{ ns.s[-1] }}{% endfor %}",
    "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "{% for i in range(100000) recursive %}{{ loop(range(100000)) }}{% endfor %}",
    "{{ 'x' * 1000000000 }}",
    "{{ ('x' * 1000000) * 1000000 }}",
    "{{ [1] * 1000000000 }}",
    "{{ 2 ** 1000000000 }}",
    "{{ 'x'.center(10 ** 9) }}",
    "{{ 'x' | center(10 ** 9) }}",
    "{{ 'x'.ljust(10 ** 9) }}",
    "{{ 'x'.zfill(10 ** 9) }}",
    "{{ '\\t'.expandtabs(10 ** 9) }}",
    "{{ 'x' | indent(10 ** 9, true) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%0*d' % (10 ** 9, 1) }}",
    "{{ '%.1000000000f' % 1 }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:01000000000,}'.format(1) }}",
    "{% set s = 'a' * 30000 %}{{ s.replace('a', s) }}",
    "{% set s = 'a' * 1000000 %}{{ s.replace('', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') }}",
    "{% set l = range(100000) | list %}{% for i in range(1000) %}{{ l | sort | length }}{% endfor %}",
    "{% set l = range(100000) | list %}{% for i in range(100000) %}{{ i in l }}{% endfor %}",
    "{% set l = range(100000) | list %}{% for i in range(100000) %}{{ (l + l) | length }}{% endfor %}",
    "{% set l = ['a' * 100000] * 1000 %}{{ l | tojson | length }}",
    "{% set l = ['a' * 100000] * 1000 %}{{ l | string | length }}",
    "{% set l = ['é' * 50000] * 10000 %}{{ l | map('upper') | list | length }}",
    "{% set l = ['é' * 50000] * 10000 %}{{ l | map('length') | list | length }}",
    "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x, ns.y = [ns.x, ns.x], [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
    "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
    "{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{{ 'c' in s }}{% endfor %}",
    "{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{{ s.rfind('q') }}{% endfor %}",
    "{% set s = 'a b' * 1000000 %}{% for i in range(100000) %}{{ s.split() | length }}{% endfor %}",
    "{% set s = 'a' * 100000 %}{% for i in range(100000) %}{{ s.strip(s) }}{% endfor %}",
    "{{ ('-' * 1000000) | wordwrap(10) }}",
    "{{ strftime_now('%c' * 1000000) }}",
    "{{ range(100000) | batch(10 ** 9, 'x') | list }}",
    "{{ [] | slice(10 ** 9) | list }}",
    "{{ 5 | tojson(indent=10 ** 9) }}",
    "{% for i in range(100000) %}{{ '%.900f' % 1.1 }}{% endfor %}",
    "{% for i in range(100000) %}{{ 1.23456789 | round(300) }}{% endfor %}",
    "{% for i in range(100000) %}{% set x %}{% for j in range(100) %}aaaaaaaaaaaaaaaaaaaa{% endfor %}{% endset %}{% endfor %}",
    "{% for i in range(100000) %}{{ range(100000) | sum }}{% endfor %}",
};

// The work that a template makes until it is stopped.
static uint64_t work_to_limit(const char *source) {
    size_t n;
    rn_error err;
    const uint64_t before = work_done();
    const rn_status st = render_limited(source, (struct template_limits){0}, &n, &err);
    const uint64_t work = work_done() - before;
    check_note("%s: %s", source, err.text);
    CHECK_INT(st, RN_E_LIMIT);
    CHECK_INT(n, 0);
    return work;
}

// All kinds of steps take about the same work, so none takes much longer than an empty loop, which takes 40 ms on an idle machine
// (docs/performance.md).
TEST(templates_that_would_never_end_stop_at_a_limit_after_no_more_work_than_four_empty_loops) {
    static const char loop[] = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}";
    const uint64_t of_loop = work_to_limit(loop);
    CHECK(of_loop > 1000000); // what is not counted would pass
    for (size_t i = 0; i < N(hostile); i++) {
        const uint64_t work = work_to_limit(hostile[i]);
        check_note("%s: %llu units of work, an empty loop %llu", hostile[i], (unsigned long long)work,
                   (unsigned long long)of_loop);
        CHECK(work <= 4 * of_loop);
    }
}
