// engine/chat/chat_prompt.c - converts a conversation to token ids that fit the context; drops whole turns on request.
#include "base/mem.h"
#include "engine/chat/conversation.h"
#include "engine/picture_handle.h"
#include <string.h>

#define MORE_ROOM "set a larger context (n_ctx), or truncate to old or middle to drop turns"

void chat_prompt_free(struct chat_prompt *p) {
    mem_free(p->ids.ids);
    prompt_pictures_free(&p->pictures);
    text_buf_free(&p->text);
    *p = (struct chat_prompt){0};
}

static rn_status add_id_first(struct id_list *l, int32_t id, rn_error *err) {
    if (!id_list_add(l, id)) return fail(err, RN_E_NOMEM, "prompt: out of memory for %zu tokens", l->n);
    memmove(l->ids + 1, l->ids, (l->n - 1) * sizeof *l->ids);
    l->ids[0] = id;
    return RN_OK;
}

// The segments of a rendering that come from the template rather than from a variable.
static rn_status list_markup(const struct template_output *o, bool all, struct text_range **ranges, size_t *n,
                             rn_error *err) {
    struct text_range *const list = mem_calloc(o->n_segments + 1, sizeof *list);
    size_t begin = 0;
    *n = 0;
    if (!list) return fail(err, RN_E_NOMEM, "prompt: out of memory for %zu segments", o->n_segments);
    if (all) list[(*n)++] = (struct text_range){0, o->text.n};
    for (size_t i = 0; !all && i < o->n_segments; begin = o->segments[i++].end)
        if (!o->segments[i].is_content) list[(*n)++] = (struct text_range){begin, o->segments[i].end};
    *ranges = list;
    return RN_OK;
}

// The token ids of a rendering. A begin token is added if the rendering has none and the model requires one, so there is never
// a second one and never none.
static rn_status tokenize(const struct chat_prompt_plan *plan, const struct template_output *o,
                          struct chat_kept_pictures kept, struct prompt_pictures *pictures, struct id_list *ids,
                          rn_error *err) {
    const bool truncates = plan->chat->truncate != RN_TRUNCATE_NONE;
    const size_t max_ids = truncates ? SIZE_MAX : (size_t)plan->n_ctx;
    struct text_range *markup = NULL;
    size_t n_markup = 0;
    const struct vocab *const v = plan->vocab;
    rn_status st = list_markup(o, plan->chat->parse_special, &markup, &n_markup, err);
    if (st == RN_OK && pictures->n)
        st = chat_tokens_with_pictures(plan, o, markup, n_markup, max_ids, kept, pictures, ids, err);
    else if (st == RN_OK) {
        st = tokenizer_encode_marked(plan->tok, o->text.n ? o->text.s : "", o->text.n, markup, n_markup, max_ids,
                                     &ids->ids, &ids->n, err);
        ids->cap = ids->n;
    }
    mem_free(markup);
    if (st == RN_E_LIMIT && ids->n > max_ids)
        st = fail(err, st, "prompt: at least %zu tokens leave no room in the context of %d: " MORE_ROOM, ids->n,
                  plan->n_ctx);
    if (st != RN_OK) {
        mem_free(ids->ids);
        *ids = (struct id_list){0};
    }
    const bool wants_bos = plan->puts_bos && v->add_bos && v->bos >= 0 && (ids->n == 0 || ids->ids[0] != v->bos);
    if (st == RN_OK && wants_bos) st = add_id_first(ids, v->bos, err);
    if (st == RN_OK && wants_bos) prompt_pictures_move(pictures, 1);
    if (st == RN_OK && ids->n == 0) st = fail(err, RN_E_ARG, "chat: the template writes nothing");
    return st;
}

// Appends the tokens of a prefilled answer to the prompt.
static rn_status add_reply(const struct chat_prompt_plan *plan, struct chat_prompt *p, rn_error *err) {
    char *text = NULL;
    size_t n = 0;
    if (plan->n_reply == 0) return RN_OK;
    rn_status st = tokenizer_decode(plan->tok, plan->reply, plan->n_reply, true, &text, &n, err);
    if (st != RN_OK) return fail_in(err, st, "reply");
    if (!id_list_append(&p->ids, plan->reply, plan->n_reply))
        st = fail(err, RN_E_NOMEM, "reply: out of memory for %zu tokens", plan->n_reply);
    p->text.max = 0; // the limit for a template's output
    if (st == RN_OK) text_buf_add(&p->text, text, n);
    if (st == RN_OK && p->text.failed) st = fail(err, RN_E_NOMEM, "reply: out of memory for %zu bytes", n);
    mem_free(text);
    return st;
}

// The output parser starts with what the template wrote after the last message's text.
static size_t find_answer(const struct template_output *o) {
    const size_t n = o->n_segments;
    if (n == 0 || o->segments[n - 1].is_content) return o->text.n;
    return n > 1 ? o->segments[n - 2].end : 0;
}

struct fitting {
    const struct chat_prompt_plan *plan;
    const struct conversation *c;
    struct chat_prompt *p;
};

// Finds the prefilled answer: it starts where this rendering first differs from the rendering that requests an answer.
static rn_status find_reply(const struct fitting *f, int32_t from, int32_t to, rn_error *err) {
    struct chat_prompt *const p = f->p;
    struct template_output o = {0};
    const rn_status st = conversation_render_open(f->c, f->plan->tmpl, from, to, &o, err);
    if (st == RN_E_NOMEM) return st;
    p->reply_from = p->text.n;
    if (st == RN_OK) // if the template cannot request an answer here, the position stays
        for (p->reply_from = 0; p->reply_from < p->text.n && p->reply_from < o.text.n; p->reply_from++)
            if (p->text.s[p->reply_from] != o.text.s[p->reply_from]) break;
    p->answer_from = 0;
    template_output_free(&o);
    return RN_OK;
}

// Renders the prompt again without messages [from, to).
static rn_status make_cut(const struct fitting *f, int32_t from, int32_t to, rn_error *err) {
    struct template_output o = {0};
    struct id_list ids = {0};
    enum chat_tools tools = CHAT_TOOLS_GIVEN;
    rn_status st = conversation_render(f->c, f->plan->tmpl, from, to, &o, &tools, err);
    const bool is_text = f->plan->is_text && f->plan->chat->truncate == RN_TRUNCATE_NONE;
    const struct chat_kept_pictures kept = {.n = conversation_n_pictures(f->c, 0, from) +
                                                 conversation_n_pictures(f->c, to, f->c->n_messages),
                                            .n_before = conversation_n_pictures(f->c, 0, from),
                                            .n_left_out = conversation_n_pictures(f->c, from, to)};
    if (st == RN_OK && !is_text) st = tokenize(f->plan, &o, kept, &f->p->pictures, &ids, err);
    if (st == RN_OK) {
        mem_free(f->p->ids.ids);
        text_buf_free(&f->p->text);
        f->p->ids = ids;
        f->p->answer_from = find_answer(&o);
        f->p->reply_from = o.text.n;
        f->p->text = o.text;
        f->p->n_dropped = to - from;
        f->p->has_own_tools = tools != CHAT_TOOLS_GIVEN;
        o.text = (struct text_buf){0};
        ids = (struct id_list){0};
    }
    mem_free(ids.ids);
    template_output_free(&o);
    if (st == RN_OK) st = add_reply(f->plan, f->p, err);
    return st == RN_OK && f->c->chat->continue_final ? find_reply(f, from, to, err) : st;
}

static rn_status too_long(const struct chat_prompt *p, int32_t n_ctx, const char *rest, rn_error *err) {
    return fail(err, RN_E_LIMIT, "prompt: %zu tokens leave no room in the context of %d: %s", p->ids.n, n_ctx, rest);
}

// Finds the fewest turns to drop by binary search: each dropped turn shortens the prompt.
static rn_status fit(const struct fitting *f, const int32_t *turns, size_t n_turns, size_t most, rn_error *err) {
    size_t low = 1, high = n_turns - 1; // numbers of dropped turns; `high` fits if any does
    rn_status st = RN_OK;
    while (low < high && st == RN_OK) {
        const size_t middle = low + (high - low) / 2;
        st = make_cut(f, turns[0], turns[middle], err);
        if (f->p->ids.n <= most)
            high = middle;
        else
            low = middle + 1;
    }
    return st == RN_OK ? make_cut(f, turns[0], turns[high], err) : st;
}

static rn_status truncate_turns(const struct fitting *f, size_t most, rn_error *err) {
    const int32_t n_ctx = f->plan->n_ctx;
    int32_t *turns = NULL;
    size_t n = 0;
    rn_status st = conversation_turns(f->c, f->c->chat->truncate, &turns, &n, err);
    if (st == RN_OK && n > 1) st = fit(f, turns, n, most, err);
    mem_free(turns);
    if (st == RN_OK && f->p->ids.n >= (size_t)n_ctx)
        st = too_long(f->p, n_ctx, "the last turn and the messages that are always kept do not fit", err);
    return st;
}

// Reserves room for the answer: max_tokens, at most half of the context; an eighth of the context if max_tokens is not set.
static size_t most_tokens(int32_t n_ctx, int32_t max_tokens) {
    const int32_t half = n_ctx / 2, room = max_tokens < 0 ? n_ctx / 8 : max_tokens < half ? max_tokens : half;
    return (size_t)(n_ctx - (room > 0 ? room : 1));
}

// What the model's processor makes of the pictures, in their order, and so how many rows each takes.
static rn_status process_pictures(const struct chat_prompt_plan *plan, struct chat_prompt *p, rn_error *err) {
    const rn_chat *const chat = plan->chat;
    rn_status st = RN_OK;
    if (plan->is_text && chat->truncate == RN_TRUNCATE_NONE) return RN_OK;
    for (size_t i = 0; st == RN_OK && i < chat->n_pictures; i++)
        if ((st = prompt_pictures_add(&p->pictures, plan->vision, &chat->pictures[i]->p, chat->n_pictures == 1,
                                      err)) != RN_OK)
            st = fail_in(err, st, "messages: picture %zu", i);
    return st;
}

rn_status chat_prompt_make(const struct chat_prompt_plan *plan, struct chat_prompt *p, rn_error *err) {
    struct conversation c = {.marks = &plan->marks};
    const struct fitting f = {plan, &c, p};
    const int32_t n_ctx = plan->n_ctx;
    const size_t most = most_tokens(n_ctx, plan->max_tokens);
    rn_status st = conversation_read(plan->chat, plan->vocab, &c, err);
    if (st == RN_OK) st = process_pictures(plan, p, err);
    if (st == RN_OK) st = make_cut(&f, 0, 0, err);
    p->untruncated = (int64_t)p->ids.n;
    if (st == RN_OK && plan->chat->truncate != RN_TRUNCATE_NONE && p->ids.n > most)
        st = truncate_turns(&f, most, err);
    else if (st == RN_OK && (p->ids.n > (size_t)n_ctx || (p->ids.n == (size_t)n_ctx && plan->max_tokens != 0)))
        st = too_long(p, n_ctx, MORE_ROOM, err);
    prompt_pictures_drop(&p->pictures);
    conversation_free(&c);
    return st;
}
