// engine/chat/chat_template.c - chat templates of the public API (compiled, built-in, or the model's own) and output formats by name.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/chat/conversation.h"
#include "engine/engine.h"
#include "jinja/builtin_templates.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- templates ------------------------------------------------------------------------------------------------------

__attribute__((format(printf, 6, 7))) static rn_status make_template(const char *source, size_t n, const char *name,
                                                                     rn_template **out, rn_error *err,
                                                                     const char *origin, ...) {
    char text[512];
    va_list args;
    rn_template *const t = mem_calloc(1, sizeof *t);
    *out = NULL;
    if (!t) return fail(err, RN_E_NOMEM, "%s: out of memory", name);
    va_start(args, origin);
    vsnprintf(text, sizeof text, origin, args);
    va_end(args);
    rn_status st = template_compile(source, n, name, &t->compiled, err);
    if (st == RN_OK && !(t->origin = mem_strndup(text, strlen(text))))
        st = fail(err, RN_E_NOMEM, "%s: out of memory", name);
    if (st == RN_OK && !(t->tools = mem_calloc(1, sizeof *t->tools)))
        st = fail(err, RN_E_NOMEM, "%s: out of memory", name);
    if (t->tools) t->tools->are_known = memmem(source, n, "tools", 5) != NULL;
    t->format = output_format_of_template(source, n);
    if (st == RN_OK) st = output_format_with_calls(t->format, output_format_named("hermes"), &t->tools->format, err);
    if (st == RN_OK)
        *out = t;
    else
        rn_template_close(t);
    return st;
}

rn_status rn_template_compile(const char *source, size_t n_source, const char *name, rn_template **tmpl,
                              rn_error *err) {
    if (tmpl) *tmpl = NULL;
    if (!tmpl || (!source && n_source)) return fail(err, RN_E_ARG, "rn_template_compile: NULL argument");
    if (!name) name = "template";
    return make_template(n_source ? source : "", n_source, name, tmpl, err, "%s", name);
}

static void list_builtin(char *to, size_t n_room) {
    size_t n = 0;
    for (size_t i = 0; i < n_builtin_templates && n < n_room; i++)
        n += (size_t)snprintf(to + n, n_room - n, "%s%s", i ? ", " : "", builtin_templates[i].name);
}

static rn_status make_builtin(const struct builtin_template *b, const char *why, rn_template **tmpl, rn_error *err) {
    const rn_status st = make_template(b->source, strlen(b->source), b->name, tmpl, err, "built-in %s%s%s", b->name,
                                       *why ? ": " : "", why);
    if (st == RN_OK) (*tmpl)->tools->are_known = false; // it refuses them
    return st;
}

rn_status rn_template_builtin(const char *name, rn_template **tmpl, rn_error *err) {
    char names[512];
    if (tmpl) *tmpl = NULL;
    if (!name || !tmpl) return fail(err, RN_E_ARG, "rn_template_builtin: NULL argument");
    const struct builtin_template *const b = builtin_template_named(name);
    if (b) return make_builtin(b, "", tmpl, err);
    list_builtin(names, sizeof names);
    return fail(err, RN_E_ARG, "chat template: no built-in one is called %.64s; there are %s", name, names);
}

size_t rn_n_builtin_templates(void) { return n_builtin_templates; }

const char *rn_builtin_template_name(size_t i, const char **help) {
    if (i >= n_builtin_templates) return NULL;
    if (help) *help = builtin_templates[i].help;
    return builtin_templates[i].name;
}

static bool has_token(const struct vocab *v, const char *spelling) {
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_token *const t = &v->tokens[i];
        if (t->kind != TOKEN_CONTROL && t->kind != TOKEN_USER_DEFINED) continue;
        if (t->text.n == strlen(spelling) && memcmp(t->text.s, spelling, t->text.n) == 0) return true;
    }
    return false;
}

rn_status model_make_template(const rn_model *m, rn_template **tmpl, rn_error *err) {
    const struct vocab *const v = package_vocab(m->pkg);
    char names[512];
    size_t n;
    const char *const source = package_chat_template(m->pkg, &n);
    if (source)
        return make_template(source, n, "chat template", tmpl, err, "the chat template of %s", package_path(m->pkg));
    if (has_token(v, "<|im_start|>") && has_token(v, "<|im_end|>"))
        return make_builtin(builtin_template_named("chatml"),
                            "the file has no chat template, and its vocabulary has ChatML's tokens", tmpl, err);
    list_builtin(names, sizeof names);
    *tmpl = NULL;
    return fail(err, RN_E_UNSUPPORTED,
                "%s: has no chat template, and its vocabulary does not say which one fits: give one with "
                "--chat-template FILE or NAME; names are %s",
                package_path(m->pkg), names);
}

rn_status rn_template_of_model(const rn_model *model, rn_template **tmpl, rn_error *err) {
    if (tmpl) *tmpl = NULL;
    if (!model || !tmpl) return fail(err, RN_E_ARG, "rn_template_of_model: NULL argument");
    return model_make_template(model, tmpl, err);
}

void rn_template_close(rn_template *t) {
    if (!t) return;
    template_destroy(t->compiled);
    mem_free(t->origin);
    if (t->tools) output_format_free(t->tools->format);
    mem_free(t->tools);
    mem_free(t);
}

const char *rn_template_source(const rn_template *t) {
    size_t n;
    return t ? template_source(t->compiled, &n) : NULL;
}
const char *rn_template_origin(const rn_template *t) { return t ? t->origin : NULL; }

// ---- output formats -------------------------------------------------------------------------------------------------

size_t rn_n_output_formats(void) { return output_n_formats(); }

const char *rn_output_format_name(size_t i, const char **help) {
    return i < output_n_formats() ? output_format_name(output_format_at(i, help)) : NULL;
}

const char *rn_output_format_of_template(const rn_template *t) { return t ? output_format_name(t->format) : NULL; }

// ---- rendering ------------------------------------------------------------------------------------------------------

struct rn_rendering {
    struct template_output output;
    rn_segment *segments;
};

// The variables of a context. Strings are content, except the model's own tokens and the roles.
static rn_status context_value(struct arena *a, const struct json_node *root, const struct template_value **out,
                               rn_error *err) {
    struct chat_maker m = {.arena = a};
    struct template_value *const dict = chat_dict(&m, root->n_items);
    const struct json_node *v = json_first(root);
    for (uint32_t i = 0; i < root->n_items; i++, v = json_next(v)) {
        const bool is_messages = v->n_name == 8 && memcmp(v->name, "messages", 8) == 0 && v->kind == JSON_ARRAY;
        chat_set(dict, v->name, v->n_name,
                 is_messages ? chat_messages_as_given(&m, v)
                             : chat_value(&m, v, chat_is_token_name(v->name, v->n_name)));
    }
    *out = dict;
    return m.why.code == RN_OK ? RN_OK : fail(err, m.why.code, "%s", m.why.text);
}

static rn_status list_segments(rn_rendering *r, rn_error *err) {
    size_t begin = 0;
    r->segments = mem_calloc(r->output.n_segments + 1, sizeof *r->segments);
    if (!r->segments) return fail(err, RN_E_NOMEM, "rendering: out of memory for %zu segments", r->output.n_segments);
    for (size_t i = 0; i < r->output.n_segments; begin = r->output.segments[i++].end)
        r->segments[i] = (rn_segment){r->output.text.s + begin, r->output.segments[i].end - begin,
                                      r->output.segments[i].is_content};
    return RN_OK;
}

rn_status rn_template_render(const rn_template *tmpl, const char *context, size_t n_context, int64_t now,
                             rn_rendering **rendering, rn_error *err) {
    struct json_tree tree = {0};
    struct arena made = {0};
    if (rendering) *rendering = NULL;
    if (!tmpl || !context || !rendering) return fail(err, RN_E_ARG, "rn_template_render: NULL argument");
    rn_rendering *const r = mem_calloc(1, sizeof *r);
    if (!r) return fail(err, RN_E_NOMEM, "rendering: out of memory");
    struct template_env env = {.now = now < 0 ? clock_wall_s() : now};
    rn_status st = json_read(&tree, context, n_context, err);
    if (st != RN_OK) st = fail_in(err, st, "context");
    if (st == RN_OK && tree.nodes[0].kind != JSON_OBJECT)
        st = fail(err, RN_E_FORMAT, "context: %s, must be an object", json_kind_name(&tree.nodes[0]));
    if (st == RN_OK) st = context_value(&made, &tree.nodes[0], &env.variables, err);
    if (st == RN_OK) st = template_render(tmpl->compiled, &env, &r->output, err);
    if (st == RN_OK) st = list_segments(r, err);
    arena_free(&made);
    json_free(&tree);
    if (st == RN_OK)
        *rendering = r;
    else
        rn_rendering_free(r);
    return st;
}

const char *rn_rendering_text(const rn_rendering *r, size_t *n_text) {
    if (n_text) *n_text = r ? r->output.text.n : 0;
    return r && r->output.text.n ? r->output.text.s : "";
}

const rn_segment *rn_rendering_segments(const rn_rendering *r, size_t *n_segments) {
    if (n_segments) *n_segments = r ? r->output.n_segments : 0;
    return r ? r->segments : NULL;
}

void rn_rendering_free(rn_rendering *r) {
    if (!r) return;
    template_output_free(&r->output);
    mem_free(r->segments);
    mem_free(r);
}
