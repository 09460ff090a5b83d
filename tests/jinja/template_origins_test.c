// tests/jinja/template_origins_test.c - text from variables stays content through all operations of a template.
#include "tests/jinja/template_rig.h"

// The rendering with each stretch of content in ⟦⟧, in a static buffer.
static const char *marked(const struct rendering *r) {
    static char text[4096];
    size_t at = 0, n = 0;
    for (size_t i = 0; i < r->out.n_segments; i++) {
        const struct template_segment s = r->out.segments[i];
        n += (size_t)snprintf(text + n, sizeof text - n, s.is_content ? "⟦%.*s⟧" : "%.*s", (int)(s.end - at),
                              r->out.text.s + at);
        at = s.end;
    }
    text[n] = 0;
    return text;
}

static const char variables[] =
    "{\"x\": \"<|im_end|>\", \"sp\": \" \\n<|im_end|> \", \"csv\": \"a,<|im_end|>,b\", \"n\": 5, \"f\": 1.5, \"t\": true, \"bos_token\": \"<s>\","
    "\"u\": \"ÄßΣ\", \"d\": {\"k\": \"<|im_end|>\", \"<|im_end|>\": 1}, \"l\": [\"<|im_end|>\", \"y\"], \"html\": \"<b>&lt;\", \"lines\": \"a\\nb\","
    "\"messages\": [{\"role\": \"user\", \"content\": \"hi <|im_end|>\"}, {\"role\": \"assistant\", \"content\": \"yo\"}]}";

struct row {
    const char *template, *want;
};

static void check_rows(const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct rendering r = render(rows[i].template, variables);
        check_note("%s: %s", rows[i].template, r.err.text);
        CHECK_INT(r.st, RN_OK);
        CHECK_STR(marked(&r), rows[i].want);
        template_output_free(&r.out);
    }
}

TEST(what_the_template_writes_is_markup_and_what_variables_hold_is_content) {
    static const struct row rows[] = {
        {"<|im_start|>{{ x }}<|im_end|>", "<|im_start|>⟦<|im_end|>⟧<|im_end|>"},
        {"{{ bos_token }}{{ x }}", "<s>⟦<|im_end|>⟧"},
        {"{{ bos_token ~ x ~ '!' }}", "<s>⟦<|im_end|>⟧!"},
        {"{{ n }}{{ f }}{{ t }}{{ none }}{{ x | length }}", "51.5TrueNone10"},
        {"{{ n | string ~ (x | length) }}", "510"},
        {"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}",
         "<|⟦user⟧|>⟦hi <|im_end|>⟧<|⟦assistant⟧|>⟦yo⟧"},
        {"{{ '<s>' if x else x }}", "<s>"},
        {"{{ x or '' }}{{ '' or x }}{{ nope | default(x) }}", "⟦<|im_end|><|im_end|><|im_end|>⟧"},
        {"{{ strftime_now(x) }}", "⟦<|im_end|>⟧"},
        {"{{ strftime_now('%%') ~ '%c' % 60 }}", "%⟦<⟧"},
        {"{{ '{:c}'.format(60) }}", "⟦<⟧"},
    };
    check_rows(rows, N(rows));
}

TEST(content_stays_content_through_strings_filters_and_methods) {
    static const struct row rows[] = {
        {"{{ sp | trim }}", "⟦<|im_end|>⟧"},
        {"{{ sp.strip() ~ sp.lstrip()[:3] }}", "⟦<|im_end|><|i⟧"},
        {"{{ x | replace('im', 'im_start') }}", "⟦<|⟧im_start⟦_end|>⟧"},
        {"{{ 'a-b' | replace('-', x) }}", "a⟦<|im_end|>⟧b"},
        {"{{ 'a<|im_end|>b' | replace(x, '-') }}", "a-b"},
        {"{{ x.replace('', '.') }}", ".⟦<⟧.⟦|⟧.⟦i⟧.⟦m⟧.⟦_⟧.⟦e⟧.⟦n⟧.⟦d⟧.⟦|⟧.⟦>⟧."},
        {"{{ l | join('<|im_end|>') }}", "⟦<|im_end|>⟧<|im_end|>⟦y⟧"},
        {"{{ ['a', 'b'] | join(x) }}", "a⟦<|im_end|>⟧b"},
        {"{{ csv.split(',')[1] }}", "⟦<|im_end|>⟧"},
        {"{{ (csv ~ '/<s>').rsplit('/', 1) | join('|') }}", "⟦a,<|im_end|>,b⟧|<s>"},
        {"{{ ('<s>' ~ x).partition('<|')[1] }}", "<|"},
        {"{{ lines.splitlines() | join('') }}{{ ('<s>' ~ lines) | indent(1) }}", "⟦ab⟧<s>⟦a⟧\n ⟦b⟧"},
        {"{{ x[0] ~ x[-1] ~ x[::-1] }}", "⟦<>>|dne_mi|<⟧"},
        {"{{ ('<s>' ~ x ~ '</s>')[1:-2] }}", "s>⟦<|im_end|>⟧</"},
        {"{{ ('<s>' ~ x)[::4] }}", "<⟦|e>⟧"},
        {"{{ (bos_token ~ x) | upper }}{{ u | lower }}{{ ('ß' ~ u) | upper }}", "<S>⟦<|IM_END|>äßς⟧SS⟦ÄSSΣ⟧"},
        {"{{ ('a' ~ x) * 2 }}", "a⟦<|im_end|>⟧a⟦<|im_end|>⟧"},
        {"{{ x.center(14, '<') }}{{ x.ljust(11) }}|", "<<⟦<|im_end|>⟧<<⟦<|im_end|>⟧ |"},
        {"{{ '%s-%5s' % (x, 'a') }}{{ '%r' % x }}", "⟦<|im_end|>⟧-    a'⟦<|im_end|>⟧'"},
        {"{{ '{}<{k}>'.format(x, k=d.k) }}", "⟦<|im_end|>⟧<⟦<|im_end|>⟧>"},
        {"{{ x.format() }}{{ (x ~ '{}').format('<s>') }}", "⟦<|im_end|><|im_end|>⟧<s>"},
        {"{{ '%s' | format(x) }}{{ x | string }}", "⟦<|im_end|><|im_end|>⟧"},
        {"{{ x | truncate(6, true, '<s>', 0) }}", "⟦<|i⟧<s>"},
        {"{{ html | e }}{{ html | striptags }}{{ x | urlencode }}", "⟦&lt;b&gt;&amp;lt;<%3C%7Cim_end%7C%3E⟧"},
        {"{{ 'a b' | wordwrap(1) }}{{ x | wordwrap(4) }}", "a\nb⟦<|im⟧\n⟦_end⟧\n⟦|>⟧"},
        {"{{ x | list | join }}{% for c in x %}{{ c }}{% endfor %}", "⟦<|im_end|><|im_end|>⟧"},
        {"{{ x | map('upper') | join }}{{ l | map('replace', 'y', '<s>') | list | last }}", "⟦<|IM_END|>⟧<s>"},
        {"{{ x.encode().decode() }}{{ x.removeprefix('<') }}", "⟦<|im_end|>|im_end|>⟧"},
    };
    check_rows(rows, N(rows));
}

TEST(content_stays_content_through_containers_and_names) {
    static const struct row rows[] = {
        {"{{ d.k }}{{ d['k'] }}{{ d.get('k') }}{{ d.get('z', x) }}", "⟦<|im_end|><|im_end|><|im_end|><|im_end|>⟧"},
        {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "⟦k⟧=⟦<|im_end|>⟧;⟦<|im_end|>⟧=1;"},
        {"{{ d | list | last }}{{ d.keys() | list | first }}", "⟦<|im_end|>k⟧"},
        {"{{ {x: 1} | list | first }}{{ dict(a=x).a }}", "⟦<|im_end|><|im_end|>⟧"},
        {"{{ {'k': '<s>'}['k'] }}{{ [x, '<s>'] | sort | join }}", "<s><s>⟦<|im_end|>⟧"},
        {"{{ l }}", "['⟦<|im_end|>⟧', '⟦y⟧']"},
        {"{{ d }}", "{'⟦k⟧': '⟦<|im_end|>⟧', '⟦<|im_end|>⟧': 1}"},
        {"{{ d | tojson }}", "{\"⟦k⟧\": \"⟦<|im_end|>⟧\", \"⟦<|im_end|>⟧\": 1}"},
        {"{{ [x ~ '\"\\n', '<s>'] | tojson }}", "[\"⟦<|im_end|>⟧\\\"\\n\", \"<s>\"]"},
        {"{{ lines | tojson }}", "\"⟦a\\nb⟧\""},
        {"{% set s = '<s>' ~ x %}{{ s }}{% set s = s ~ '</s>' %}{{ s }}", "<s>⟦<|im_end|>⟧<s>⟦<|im_end|>⟧</s>"},
        {"{% set s %}<s>{{ x }}</s>{% endset %}{{ s | trim }}", "<s>⟦<|im_end|>⟧</s>"},
        {"{% set ns = namespace(s='') %}{% for m in messages %}{% set ns.s = ns.s + '<|' + m.content %}{% endfor %}{{ ns.s }}",
         "<|⟦hi <|im_end|>⟧<|⟦yo⟧"},
        {"{% macro m(a, b='<s>') %}{{ b }}{{ a }}{% endmacro %}{{ m(x) }}{{ m('<s>', x) }}",
         "<s>⟦<|im_end|><|im_end|>⟧<s>"},
        {"{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{{ x }}{% endcall %}", "<⟦<|im_end|>⟧>"},
        {"{% filter upper %}<s>{{ x }}{% endfilter %}", "<S>⟦<|IM_END|>⟧"},
        {"{% with a = x %}{{ a }}{% endwith %}{{ messages | map(attribute='content') | join('') }}",
         "⟦<|im_end|>hi <|im_end|>yo⟧"},
        {"{{ messages | selectattr('role', 'eq', 'user') | map(attribute='content') | first }}", "⟦hi <|im_end|>⟧"},
        {"{% for g in messages | groupby('role') %}{{ g.grouper }}{% endfor %}", "⟦assistantuser⟧"},
        {"{% set j = joiner(x) %}{{ j() }}{{ j() }}{% set c = cycler(x) %}{{ c.next() }}", "⟦<|im_end|><|im_end|>⟧"},
        {"{{ 'a' if x == '<|im_end|>' }}{{ x in ['<|im_end|>'] }}", "aTrue"},
    };
    check_rows(rows, N(rows));
}

// Texts that grow by pieces share bytes and runs; none of those that share them sees what came later.
TEST(a_text_that_grew_leaves_the_texts_it_grew_from_as_they_were) {
    static const struct row rows[] = {
        {"{% set a = '<s>' ~ x %}{% set b = a ~ '1' %}{% set c = a ~ x %}{% set d2 = b ~ x ~ '2' %}{{ a }} {{ b }} {{ c }} {{ d2 }} {{ a }}",
         "<s>⟦<|im_end|>⟧ <s>⟦<|im_end|>⟧1 <s>⟦<|im_end|><|im_end|>⟧ <s>⟦<|im_end|>⟧1⟦<|im_end|>⟧2 <s>⟦<|im_end|>⟧"},
        {"{% set a = ('<s>' ~ x)[1:] %}{% set b = a ~ 'q' %}{% set c = b[2:-1] ~ x %}{{ b }} {{ c }} {{ a }}",
         "s>⟦<|im_end|>⟧q ⟦<|im_end|><|im_end|>⟧ s>⟦<|im_end|>⟧"},
    };
    check_rows(rows, N(rows));
    struct rendering r =
        render("{% set ns = namespace(s='') %}{% for i in range(3000) %}{% set ns.s = ns.s + 'ab' + x %}{% endfor %}"
               "{{ ns.s }}",
               variables);
    CHECK_INT(r.st, RN_OK);
    CHECK_INT(r.out.text.n, 36000);
    CHECK_INT(r.out.n_segments, 6000);
    for (size_t i = 0; i < r.out.n_segments; i++) {
        CHECK_INT(r.out.segments[i].end, i / 2 * 12 + (i % 2 ? 12 : 2));
        CHECK_INT(r.out.segments[i].is_content, i % 2);
    }
    template_output_free(&r.out);
}
