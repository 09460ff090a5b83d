// tests/jinja/template_rig.h - renders a template over variables given as JSON, for the tests of templates.
#ifndef RN_TESTS_TEXT_TEMPLATE_RIG_H
#define RN_TESTS_TEXT_TEMPLATE_RIG_H

#include "formats/vocab/template_context.h"
#include "jinja/template.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

struct rendering {
    rn_status st;
    rn_error err;
    struct template_output out;
};

static inline rn_status render_with(const char *source, size_t n, const char *json,
                                    const struct template_limits *limits, struct template_output *out,
                                    rn_error *err) {
    struct arena mem = {0};
    struct template_env env = {.limits = limits ? *limits : (struct template_limits){0}};
    chat_template *t = NULL;
    *out = (struct template_output){0};
    rn_status st = template_context_read(json, strlen(json), template_token_names, &mem, &env.variables, err);
    if (st == RN_OK) st = template_compile(source, n, "t", &t, err);
    if (st == RN_OK) st = template_render(t, &env, out, err);
    template_destroy(t);
    arena_free(&mem);
    return st;
}

static inline struct rendering render(const char *source, const char *json) {
    struct rendering r = {0};
    r.st = render_with(source, strlen(source), json, NULL, &r.out, &r.err);
    return r;
}

// Terminated; in a static buffer.
static inline const char *text_of(const struct rendering *r) {
    static char text[65536];
    const size_t n = r->out.text.n < sizeof text ? r->out.text.n : sizeof text - 1;
    if (n) memcpy(text, r->out.text.s, n);
    text[n] = 0;
    return text;
}

// A Friday in July, in local time.
static inline int64_t reference_clock(void) {
    struct tm t = {.tm_year = 125, .tm_mon = 6, .tm_mday = 4, .tm_hour = 9, .tm_min = 5, .tm_sec = 6, .tm_isdst = -1};
    return (int64_t)mktime(&t);
}

#endif
