// jinja/template_render.c - runs a rendering from beginning to end; see template.h.
#include "jinja/template_render.h"
#include "base/mem.h"
#include "jinja/template_eval.h"

// Far more than a conversation needs; a hostile template is stopped within a fraction of a second
// (docs/limits.md).
static const struct template_limits defaults = {
    .steps = 2000000,
    .output_bytes = 16 << 20,
    .memory_bytes = 64 << 20,
    .depth = 200,
};

static struct template_limits limits_of(const struct template_limits *given) {
    return (struct template_limits){
        .steps = given->steps ? given->steps : defaults.steps,
        .output_bytes = given->output_bytes ? given->output_bytes : defaults.output_bytes,
        .memory_bytes = given->memory_bytes ? given->memory_bytes : defaults.memory_bytes,
        .depth = given->depth > 0 ? given->depth : defaults.depth,
    };
}

void template_output_free(struct template_output *o) {
    text_buf_free(&o->text);
    mem_free(o->segments);
    *o = (struct template_output){0};
}

static void run(struct render *r) {
    r->variables = tr_alloc(r, r->t->n_names, sizeof *r->variables);
    r->frame = tr_activation(r, NULL, r->t->n_slots);
    if (r->variables && r->frame && tr_load(r, &r->t->scope)) tr_run(r, &r->t->body);
}

rn_status template_render(const chat_template *t, const struct template_env *env, struct template_output *out,
                          rn_error *err) {
    rn_error unread = {0};
    struct render r = {.t = t, .env = env, .err = err ? err : &unread, .limits = limits_of(&env->limits)};
    // Limit of nested nodes: about twenty for each macro call, plus those of the template itself.
    const int32_t most = (INT32_MAX - TEMPLATE_MAX_NESTING) / 20;
    r.max_nested = TEMPLATE_MAX_NESTING + 20 * (r.limits.depth < most ? r.limits.depth : most);
    *out = (struct template_output){0};
    run(&r);
    arena_free(&r.arena);
    out->raised = r.raised;
    out->text = r.text;
    out->segments = r.segments;
    out->n_segments = r.n_segments;
    if (r.st != RN_OK) {
        template_output_free(out);
        out->raised = r.raised;
    }
    return r.st;
}
