// fuzz/fuzz_template.c - any bytes as a chat template, and behind the first NUL as the JSON of its variables: compiling and rendering
// within limits must end, twice with the same bytes, and no byte of a variable may come out as markup.
#include "formats/vocab/template_context.h"
#include "jinja/template.h"
#include <stdlib.h>
#include <string.h>

#define MUST(c)                                                                                                      \
    do {                                                                                                             \
        if (!(c)) abort();                                                                                           \
    } while (0)

// 0x01 occurs in no template here and is written by no filter: where it comes out it is a variable's.
static const char usual[] =
    "{\"x\": \"a\\u0001b \\u0001\", \"n\": 3, \"f\": 2.5, \"l\": [1, \"\\u0001\", null], \"d\": {\"k\\u0001\": \"v\\u0001\"},"
    "\"bos_token\": \"<s>\", \"messages\": [{\"role\": \"user\", \"content\": \"hi \\u0001\"}]}";

static void check_origins(const struct template_output *out, bool marks_content) {
    size_t at = 0;
    for (size_t i = 0; i < out->n_segments; i++) {
        const struct template_segment s = out->segments[i];
        MUST(s.end > at && s.end <= out->text.n);
        MUST(i == 0 || s.is_content != out->segments[i - 1].is_content);
        if (marks_content && !s.is_content) MUST(!memchr(out->text.s + at, 1, s.end - at));
        at = s.end;
    }
    MUST(at == out->text.n);
}

static void render_twice(const chat_template *t, const struct template_env *env, bool marks_content) {
    struct template_output a = {0}, b = {0};
    rn_error err = {0};
    const rn_status st = template_render(t, env, &a, &err);
    MUST((st == RN_OK) == (err.text[0] == 0) || a.raised);
    MUST(template_render(t, env, &b, NULL) == st);
    MUST(a.text.n == b.text.n && (a.text.n == 0 || memcmp(a.text.s, b.text.s, a.text.n) == 0));
    if (st == RN_OK) check_origins(&a, marks_content);
    if (st != RN_OK) MUST(a.text.n == 0 && a.n_segments == 0);
    template_output_free(&a);
    template_output_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *const source = (const char *)data;
    const char *const nul = size ? memchr(source, 0, size) : NULL;
    const size_t n = nul ? (size_t)(nul - source) : size;
    const char *const json = nul ? nul + 1 : usual;
    const size_t n_json = nul ? size - n - 1 : sizeof usual - 1;
    struct arena mem = {0};
    struct template_env env = {
        .limits = {.steps = 20000, .output_bytes = 1 << 18, .memory_bytes = 1 << 22, .depth = 40}};
    chat_template *t = NULL;
    rn_error err = {0};
    const rn_status st = template_compile(source, n, "t", &t, &err);
    MUST((st == RN_OK) == (t != NULL) && (st == RN_OK || err.text[0] != 0));
    // A template that spells the mark itself, as it is or by an escape or entity, says nothing about origins.
    const bool marks = !nul && !memchr(source, 1, n) && !memchr(source, '\\', n) && !memmem(source, n, "&#", 2);
    if (t && template_context_read(json, n_json, template_token_names, &mem, &env.variables, NULL) == RN_OK)
        render_twice(t, &env, marks);
    template_destroy(t);
    arena_free(&mem);
    return 0;
}
