// output/output_events.c - emits events for what the output parser has decided.
#include "output/output_state.h"
#include <assert.h>
#include <string.h>

static void give_text(output_parser *p) {
    if (p->text_n) {
        const struct output_event e = {
            .channel = p->channel, .tool = -1, .text = p->bytes + p->text_at, .n_text = p->text_n};
        p->fn(p->user, &e);
    }
    p->text_n = 0;
}

static void give_call(output_parser *p, bool ends, bool broken) {
    struct call_state *const c = &p->call;
    if (!c->begin_pending && !c->n_out && !ends) return;
    const bool with_id = c->n_id && !c->id_given && (c->begin_pending || ends);
    const struct output_event e = {.channel = OUTPUT_TOOL_CALL,
                                   .tool = p->n_calls - 1,
                                   .name = c->begin_pending ? c->name : NULL,
                                   .id = with_id ? c->id : NULL,
                                   .text = c->out,
                                   .n_text = c->n_out,
                                   .ends = ends,
                                   .broken = broken};
    c->id_given |= with_id;
    c->begin_pending = false;
    c->n_out = 0;
    p->fn(p->user, &e);
}

void output_text(output_parser *p, size_t from, size_t to) {
    if (from < p->ghost) from = p->ghost < to ? p->ghost : to;
    if (from == to) return;
    if (p->text_n && p->text_at + p->text_n != from) give_text(p);
    if (!p->text_n) p->text_at = from;
    p->text_n += to - from;
}

void output_flush(output_parser *p) {
    give_text(p);
    if (p->call.begun) give_call(p, false, false);
}

void call_begin(output_parser *p) {
    if (p->call.begun) return;
    give_text(p);
    p->call.begun = p->call.begin_pending = true;
    p->call.name[p->call.n_name] = p->call.id[p->call.n_id] = 0;
    p->accepted.end = 0; // backing up to a tag is no longer possible
    p->start = p->pos;
    p->n_calls++;
    p->said = true;
}

void call_bytes(output_parser *p, const char *s, size_t n) {
    struct call_state *const c = &p->call;
    assert(n <= sizeof c->out);
    if (n > sizeof c->out - c->n_out) {
        call_begin(p); // a key as long as this means that it is a call
        give_call(p, false, false);
    }
    memcpy(c->out + c->n_out, s, n);
    c->n_out += n;
}

void call_string(output_parser *p, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct literal_out out = {.n = 0};
        json_escape(&out, (unsigned char)s[i]);
        call_bytes(p, out.s, out.n);
    }
}

void call_end(output_parser *p, bool broken) {
    p->call.id[p->call.n_id] = 0;
    give_call(p, true, broken);
    p->call.begun = false;
    p->behind_call = !broken;
}
