// tests/jinja/template_api_test.c - compiled templates and values as objects: failed allocations, threads, what callers may rely on.
#include "base/mem.h"
#include "base/thread.h"
#include "jinja/template_types.h"
#include "tests/jinja/template_rig.h"

// Something of everything that allocates: a compiler's tables, values of each kind, captures, runs, growth.
static const char busy_template[] =
    "{%- macro show(a, b='x') -%}<{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{{ caller() if caller }}>{%- endmacro -%}"
    "{%- set ns = namespace(text='', n=0) -%}"
    "{%- for m in messages if m.role != 'tool' -%}"
    "{%- set ns.text = ns.text + '<|' ~ m.role ~ '|>' + m.content | trim -%}{%- set ns.n = ns.n + loop.length -%}"
    "{{ loop.previtem.role if loop.previtem }}{{ loop.nextitem is defined }}{%- endfor -%}"
    "{{ ns.text }}{{ messages | map(attribute='role') | unique | sort | join(',') }}"
    "{{ messages | tojson(indent=1, sort_keys=true) }}{{ messages | groupby('role') | length }}"
    "{% call(z) show(1, 2, 3, k=[1.5, none, (1,)]) %}in{{ z }}{% endcall %}"
    "{% set cut %}a{{ messages[0].content }}b{% endset %}{{ cut[1:5] ~ cut[::-1] ~ cut | upper | replace('A', 'b') }}"
    "{{ '%s %05d {}' % (cut, 7) }}{{ '{:>9}{}'.format('a', {'k': {1: 2}}) }}{{ dict(a=1, **{'b': 2}) }}{{ strftime_now('%Y') | length }}"
    "{% for a in [[1, [2]]] recursive %}{{ loop(a[1]) if a is iterable else a }}{% endfor %}"
    "{{ range(20) | batch(7, 0) | list }}{{ ('a b c ' * 5) | wordwrap(4) }}{{ [3, 1, 2] | sort(reverse=true) }}{{ '<' | e }}"
    "{% filter upper %}{{ cycler('a', 'b').next() }}{{ joiner('-')() }}{% endfilter %}{{ 2 ** 70 }}{{ 1.5 | round }}{{ 'x' 'y' }}";

static const char busy_json[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \" hi\\u00e9 \"}, {\"role\": \"assistant\", \"content\": \"yo\"},"
    "{\"role\": \"tool\", \"content\": \"7\"}, {\"role\": \"user\", \"content\": \"<|x|>\"}]}";

static rn_status compile_and_render(void *user) {
    struct rendering *const r = user;
    r->st = render_with(busy_template, sizeof busy_template - 1, busy_json, NULL, &r->out, &r->err);
    if (r->st != RN_OK) return r->st;
    template_output_free(&r->out);
    return RN_OK;
}

TEST(every_failed_allocation_is_reported_and_leaks_nothing) {
    struct rendering r = {0};
    CHECK_OK(compile_and_render(&r), &r.err);
    check_each_failed_allocation(compile_and_render, &r, __FILE__, __LINE__);
}

TEST(a_template_keeps_its_source) {
    static const char source[] = "a\r\nb\r{{ x }}\n";
    chat_template *t = NULL;
    size_t n = 0;
    char text[sizeof source];
    memcpy(text, source, sizeof source);
    CHECK_INT(template_compile(text, sizeof source - 1, "model.gguf", &t, NULL), RN_OK);
    memset(text, 0, sizeof text);
    CHECK_STR(template_source(t, &n), source);
    CHECK_INT(n, sizeof source - 1);
    template_destroy(t);
}

TEST(a_template_without_variables_has_none) {
    chat_template *t = NULL;
    struct template_output out = {0};
    const struct template_env env = {0};
    CHECK_INT(template_compile("{{ x is defined }}{{ range(2) | list }}", 39, "t", &t, NULL), RN_OK);
    CHECK_INT(template_render(t, &env, &out, NULL), RN_OK);
    CHECK(out.text.n == 11 && memcmp(out.text.s, "False[0, 1]", 11) == 0);
    template_output_free(&out);
    template_output_free(&out);
    template_destroy(t);
}

// ---- values ---------------------------------------------------------------------------------------------------------

TEST(dictionaries_keep_the_order_of_their_keys_at_any_size) {
    for (size_t n = 0; n < 70; n++) {
        struct arena mem = {0};
        char keys[70][8];
        struct template_value *const d = template_dict(&mem, n);
        for (size_t i = 0; d && i < n; i++) {
            snprintf(keys[i], sizeof keys[i], "k%zu", (i * 37) % 101);
            template_dict_set(d, keys[i], strlen(keys[i]), template_int(&mem, -1));
        }
        for (size_t i = 0; d && i < n; i++)
            template_dict_set(d, keys[i], strlen(keys[i]), template_int(&mem, (int64_t)i));
        check_note("%zu keys", n);
        if (!CHECK(d && d->dict->n == n)) return;
        for (size_t i = 0; i < n; i++) {
            const struct template_value *const v = tv_dict_get(d->dict, keys[i], strlen(keys[i]));
            CHECK(v && v->i == (tv_int)i && tv_str_is(&d->dict->entries[i].key, keys[i]));
        }
        CHECK(tv_dict_get(d->dict, "k", 1) == NULL);
        template_dict_set(d, "one more", 8, template_none()); // than was asked for: ignored
        CHECK_INT(d->dict->n, n);
        arena_free(&mem);
    }
}

TEST(values_made_by_hand_are_what_a_template_reads) {
    struct arena mem = {0};
    struct template_value *const all = template_dict(&mem, 2), *const list = template_list(&mem, 7);
    static const char latin[] = "\xe9\xff";
    template_list_add(list, template_none());
    template_list_add(list, template_bool(true));
    template_list_add(list, template_int(&mem, INT64_MIN));
    template_list_add(list, template_float(&mem, -0.0));
    template_list_add(list, template_string(&mem, "a", 1, false));
    template_list_add(list, template_string(&mem, NULL, 0, true));
    template_list_add(list, template_string(&mem, latin, 2, false)); // no UTF-8: still no crash
    template_dict_set(all, "l", 1, list);
    chat_template *t = NULL;
    struct template_output out = {0};
    const struct template_env env = {.variables = all};
    static const char source[] = "{{ l[:6] }}{{ l[6] | length }}{{ l[6][::-1] | upper | tojson }}{{ l[6] }}";
    static const char want[] = "[None, True, -9223372036854775808, -0.0, 'a', '']2\"\xff\xe9\"\xe9\xff";
    CHECK_INT(template_compile(source, sizeof source - 1, "t", &t, NULL), RN_OK);
    CHECK_INT(template_render(t, &env, &out, NULL), RN_OK);
    CHECK(out.text.n == sizeof want - 1 && memcmp(out.text.s, want, sizeof want - 1) == 0);
    template_output_free(&out);
    template_destroy(t);
    arena_free(&mem);
}

// ---- threads --------------------------------------------------------------------------------------------------------

enum { N_THREADS = 4, N_ROUNDS = 40 };

struct shared_run {
    const chat_template *t;
    struct rendering first;
    bool same;
};

static void *render_again(void *user) {
    struct shared_run *const s = user;
    s->same = true;
    for (int i = 0; i < N_ROUNDS; i++) {
        struct arena mem = {0};
        struct template_env env = {0};
        struct template_output out = {0};
        s->same &= template_context_read(busy_json, sizeof busy_json - 1, NULL, &mem, &env.variables, NULL) == RN_OK;
        s->same &= template_render(s->t, &env, &out, NULL) == RN_OK && out.text.n == s->first.out.text.n &&
                   memcmp(out.text.s, s->first.out.text.s, out.text.n) == 0;
        template_output_free(&out);
        arena_free(&mem);
    }
    return NULL;
}

TEST(one_template_is_rendered_by_several_threads) {
    chat_template *t = NULL;
    struct shared_run runs[N_THREADS] = {0};
    thread threads[N_THREADS];
    struct rendering first = render(busy_template, busy_json);
    CHECK_INT(first.st, RN_OK);
    CHECK_INT(template_compile(busy_template, sizeof busy_template - 1, "t", &t, NULL), RN_OK);
    for (int i = 0; i < N_THREADS; i++) {
        runs[i] = (struct shared_run){.t = t, .first = first};
        CHECK_INT(thread_start(&threads[i], render_again, &runs[i], NULL), RN_OK);
    }
    for (int i = 0; i < N_THREADS; i++) {
        thread_join(threads[i]);
        CHECK(runs[i].same);
    }
    template_output_free(&first.out);
    template_destroy(t);
}
