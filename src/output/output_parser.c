// output/output_parser.c - see output_parser.h: text, tags, and where calls begin and end.
// output_state.h shows the buffer.
#include "base/mem.h"
#include "output/output_state.h"
#include <assert.h>
#include <string.h>

enum { NOT_TICKS = 255 };

// ---- text ---------------------------------------------------------------------------------------

// Tracks fenced code: a line that begins with three backticks opens or closes it.
static void watch_fence(output_parser *p, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n')
            p->ticks = 0;
        else if (s[i] != '`' && !(s[i] == ' ' && p->ticks == 0))
            p->ticks = NOT_TICKS;
        else if (s[i] == '`' && p->ticks != NOT_TICKS && ++p->ticks == 3) {
            p->in_fence = !p->in_fence;
            p->ticks = NOT_TICKS;
        }
    }
}

static bool all_space(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && is_space((unsigned char)s[i])) i++;
    return i == n;
}

// Emits bytes[start..to) as text.
static void release(output_parser *p, size_t to) {
    assert(p->start <= to && to <= p->pos);
    const bool blank = all_space(p->bytes + p->start, to - p->start);
    output_text(p, p->start, to);
    if (p->channel == OUTPUT_CONTENT) watch_fence(p, p->bytes + p->start, to - p->start);
    p->start = to;
    if (blank) return;
    p->said = true;
    p->fresh = p->echo = p->behind_call = false;
    p->items = NULL;
}

static void set_channel(output_parser *p, enum output_channel channel) {
    if (p->channel != channel) output_flush(p);
    p->channel = channel;
    p->fresh = true;
    p->items = NULL;
}

// Backs up: the first byte of a possible tag or call becomes text.
static void take_back(output_parser *p) {
    p->mode = MODE_TEXT;
    release(p, p->tag_at + 1);
    p->pos = p->start;
}

// ---- effects of tags ----------------------------------------------------------------------------

static void apply_tag(output_parser *p) {
    const struct live_tag *const t = &p->accepted.tag;
    p->mode = MODE_TEXT;
    p->start = p->pos = p->accepted.end;
    p->skip_breaks = t->kind == TAG_BLOCK_OPEN || t->kind == TAG_BLOCK_CLOSE || t->kind == TAG_FRAMING;
    switch (t->kind) {
    case TAG_BLOCK_OPEN:
        set_channel(p, OUTPUT_REASONING);
        p->block = t->index;
        p->echo = false;
        break;
    case TAG_TAIL: p->items = t->form; break;
    case TAG_CALLS_CLOSE: p->items = NULL; break;
    default: set_channel(p, OUTPUT_CONTENT); break;
    }
}

static enum body_result (*const body_steps[])(output_parser *, unsigned char) = {
    [BODY_OBJECTS] = calls_step,     [BODY_KEYED] = calls_step, [BODY_ARGUMENTS] = calls_step,
    [BODY_PYTHON] = calls_step,      [BODY_BARE] = calls_step,  [BODY_PARAMETERS] = params_step,
    [BODY_ELEMENTS] = elements_step,
};

static void break_body(output_parser *p) {
    if (p->call.form->body == BODY_PARAMETERS)
        params_break(p);
    else if (p->call.form->body == BODY_ELEMENTS)
        elements_break(p);
    else
        calls_break(p);
}

// The body does not match at the byte before pos, or the output ended within it.
static void body_failed(output_parser *p) {
    struct call_state *const c = &p->call;
    if (!c->begun) c->n_out = 0;
    if (!c->begun && !c->is_next) {
        if (p->accepted.end) return apply_tag(p);
        return take_back(p);
    }
    if (c->begun) {
        break_body(p);
        call_end(p, !c->args_done);
    }
    p->mode = MODE_TEXT;
    p->pos = p->start;
    set_channel(p, OUTPUT_CONTENT);
}

static void body_done(output_parser *p) {
    p->mode = MODE_TEXT;
    set_channel(p, OUTPUT_CONTENT);
    p->items = p->call.form;
}

static void body_step(output_parser *p) {
    const enum body_result r = body_steps[p->call.form->body](p, (unsigned char)p->bytes[p->pos - 1]);
    if (r == BODY_FAILED)
        body_failed(p);
    else if (r == BODY_DONE)
        body_done(p);
}

// Reduces functions.NAME, functions.NAME:3 and NAME.call to NAME, depending on the form. false: not
// a valid name.
static bool clean_name(struct call_state *c) {
    static const char scope[] = "functions.", call[] = ".call";
    const size_t n_scope = sizeof scope - 1, n_call = sizeof call - 1;
    const enum name_kind kind = c->form->name;
    if (kind == NAME_CALLED) {
        if (c->n_name <= n_call || memcmp(c->name + c->n_name - n_call, call, n_call) != 0) return false;
        c->n_name -= n_call;
    }
    if (kind == NAME_COUNTED) {
        memcpy(c->id, c->name, c->n_id = c->n_name);
        const char *const colon = memrchr(c->name, ':', c->n_name);
        if (colon) c->n_name = (size_t)(colon - c->name);
    }
    if ((kind == NAME_COUNTED || kind == NAME_SCOPED) && c->n_name > n_scope && memcmp(c->name, scope, n_scope) == 0)
        memmove(c->name, c->name + n_scope, c->n_name -= n_scope);
    return c->n_name > 0;
}

static void begin_body(output_parser *p, const struct live_tag *t) {
    struct call_state *const c = &p->call;
    const char *const at = p->bytes + p->tag_at;
    c->form = t->form;
    c->begun = c->args_done = c->id_given = c->begin_pending = c->is_next = false;
    c->n_out = 0;
    memcpy(c->name, at + t->m.name.at, c->n_name = t->m.name.n);
    memcpy(c->id, at + t->m.id.at, c->n_id = t->m.id.n);
    p->mode = MODE_BODY;
    const enum call_body body = c->form->body;
    if (body != BODY_OBJECTS && body != BODY_KEYED && !clean_name(c)) return body_failed(p);
    if (body == BODY_PARAMETERS)
        params_begin(p);
    else if (body == BODY_ELEMENTS)
        elements_begin(p);
    else
        calls_begin(p, t->in_list);
    if (body != BODY_PYTHON && body != BODY_BARE) body_step(p); // the tag's last byte is the body's first
}

// ---- steps --------------------------------------------------------------------------------------

static void tag_mode_step(output_parser *p, unsigned char c) {
    struct live_tag call;
    if (live_step(p, c, &call)) return begin_body(p, &call);
    if (p->n_live) return;
    if (p->accepted.end)
        apply_tag(p);
    else
        take_back(p);
}

static void text_mode_step(output_parser *p, unsigned char c) {
    const bool holds = p->channel == OUTPUT_REASONING ? is_break(c) : is_space(c);
    if (p->skip_breaks && is_break(c)) {
        p->start = p->pos;
    } else if (holds || (p->items && p->items->sep && c == (unsigned char)p->items->sep)) {
        p->skip_breaks = false; // the next byte decides whether it belongs to a tag or to the text
        if (p->pos - p->start > OUTPUT_MAX_SPACE) release(p, p->pos);
    } else {
        p->skip_breaks = false;
        p->mode = MODE_TAG;
        live_begin(p);
        tag_mode_step(p, c);
    }
}

// The limit of held bytes is reached: what is being read becomes text.
static void release_held(output_parser *p) {
    if (p->mode == MODE_TAG)
        take_back(p);
    else if (!p->call.begun || !p->call.in_value)
        body_failed(p);
    else {
        value_is_string(p);
        p->start = p->pos - p->call.n_end - p->call.break_held;
    }
}

static void read_bytes(output_parser *p) {
    while (p->pos < p->n) {
        if (p->mode != MODE_TEXT && p->pos - p->start >= OUTPUT_MAX_HELD) release_held(p);
        const unsigned char c = (unsigned char)p->bytes[p->pos++];
        if (p->mode == MODE_TEXT)
            text_mode_step(p, c);
        else if (p->mode == MODE_TAG)
            tag_mode_step(p, c);
        else
            body_step(p);
    }
}

// ---- buffer, push, finish -----------------------------------------------------------------------

static size_t less(size_t a, size_t b) { return a < b ? 0 : a - b; }

// Emits what is decided and removes it from the buffer.
static void compact(output_parser *p) {
    output_flush(p);
    const size_t gone = p->start;
    memmove(p->bytes, p->bytes + gone, p->n - gone);
    p->n -= gone;
    p->pos -= gone;
    p->start = 0;
    p->ghost = less(p->ghost, gone);
    p->tag_at = less(p->tag_at, gone);
    p->accepted.end = less(p->accepted.end, gone);
    p->call.piece.end = less(p->call.piece.end, gone);
    p->call.object_at = less(p->call.object_at, gone);
    p->call.piece_at = less(p->call.piece_at, gone);
    p->call.value_at = less(p->call.value_at, gone);
}

rn_status output_parser_push(output_parser *p, const char *text, size_t n, output_fn fn, void *user, rn_error *err) {
    (void)err;
    p->fn = fn;
    p->user = user;
    for (size_t done = 0; done < n;) {
        const size_t k = n - done < OUTPUT_SLICE ? n - done : OUTPUT_SLICE;
        memcpy(p->bytes + p->n, text + done, k);
        p->n += k;
        done += k;
        read_bytes(p);
        compact(p);
    }
    return RN_OK;
}

rn_status output_parser_finish(output_parser *p, output_fn fn, void *user, rn_error *err) {
    (void)err;
    p->fn = fn;
    p->user = user;
    for (; p->mode != MODE_TEXT; read_bytes(p)) {
        if (p->mode == MODE_BODY && p->call.form->body == BODY_PARAMETERS && params_settle(p)) continue;
        if (p->mode == MODE_BODY)
            body_failed(p);
        else if (p->accepted.end)
            apply_tag(p);
        else
            take_back(p);
    }
    const bool blank = all_space(p->bytes + p->start, p->n - p->start);
    if (!p->behind_call || !blank) release(p, p->n);
    p->start = p->n;
    compact(p);
    return RN_OK;
}

static bool ends_with(const char *s, size_t n, const char *end, size_t n_end) {
    return n_end && n_end <= n && memcmp(s + n - n_end, end, n_end) == 0;
}

// If the prompt ends with this tag, puts it into the buffer, so that the output continues after it.
static void continue_tag(output_parser *p, const char *s, size_t n, size_t n_bare, const char *tag) {
    const size_t n_tag = tag ? tag_fixed(tag) : 0, n_read = n_tag + n - n_bare;
    if (!ends_with(s, n_bare, tag, n_tag) || n_read <= p->n || n_read > OUTPUT_SLICE) return;
    memcpy(p->bytes, s + n - n_read, n_read);
    p->n = n_read;
}

static void read_prompt(output_parser *p, const char *s, size_t n) {
    size_t n_bare = n; // without trailing white space
    while (n_bare && is_space((unsigned char)s[n_bare - 1])) n_bare--;
    for (int i = 0; i < FORMAT_BLOCKS && p->f->reasoning[i].open; i++) {
        const char *const open = p->f->reasoning[i].open, *const close = p->f->reasoning[i].close;
        p->skip_breaks |= ends_with(s, n_bare, close, strlen(close));
        if (!ends_with(s, n_bare, open, strlen(open))) continue;
        p->skip_breaks = p->echo = true;
        p->channel = OUTPUT_REASONING;
        p->block = i;
        return;
    }
    if (p->skip_breaks) return;
    for (int i = 0; i < FORMAT_TAGS && p->f->framing[i]; i++) continue_tag(p, s, n, n_bare, p->f->framing[i]);
    for (int i = 0; i < FORMAT_FORMS && p->f->forms[i].body; i++) {
        const struct call_form *const f = &p->f->forms[i];
        continue_tag(p, s, n, n_bare, f->open);
        continue_tag(p, s, n, n_bare, f->head);
    }
    p->ghost = p->n;
    read_bytes(p);
}

rn_status output_parser_create(const output_format *f, const struct output_tools *tools, const char *prompt, size_t n,
                               output_parser **out, rn_error *err) {
    output_parser *p = NULL;
    *out = NULL;
    if (!(p = mem_calloc(1, sizeof *p)) || !(p->bytes = mem_alloc(OUTPUT_MAX_HELD + OUTPUT_SLICE))) {
        output_parser_destroy(p);
        return fail(err, RN_E_NOMEM, "output parser: out of memory");
    }
    p->f = f;
    if (tools) p->tools = *tools;
    p->fresh = true;
    read_prompt(p, prompt, n);
    *out = p;
    return RN_OK;
}

void output_parser_destroy(output_parser *p) {
    if (p) mem_free(p->bytes);
    mem_free(p);
}
