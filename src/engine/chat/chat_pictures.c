// engine/chat/chat_pictures.c - pictures of a conversation: which parts of contents they are, the forms in which templates get them, and where in
// a rendering they stand.
#include "engine/chat/conversation.h"
#include "engine/vision/vision.h"
#include <string.h>

// ---- marks --------------------------------------------------------------------------------------------------------------

static const char common_place[] = "<image>";

// What is written around a picture. in_text: where the template leaves pictures to the text, by what the family's own template writes; always: what
// its processor makes of the template's mark.
static const struct marked_family {
    const char *name, *before_in_text, *after_in_text;
    const char *before[2], *after[2];
} marked_families[] = {
    {.name = "Qwen2-VL", .before_in_text = "<|vision_start|>", .after_in_text = "<|vision_end|>"},
    {.name = "Qwen2.5-VL", .before_in_text = "<|vision_start|>", .after_in_text = "<|vision_end|>"},
    {.name = "Qwen3-VL", .before_in_text = "<|vision_start|>", .after_in_text = "<|vision_end|>"},
    {.name = "Qwen3.5", .before_in_text = "<|vision_start|>", .after_in_text = "<|vision_end|>"},
    {.name = "SmolVLM",
     .before = {"<fake_token_around_image>", "<global-img>"},
     .after = {"<fake_token_around_image>"}},
    {.name = "Idefics3",
     .before = {"<fake_token_around_image>", "<global-img>"},
     .after = {"<fake_token_around_image>"}},
};

static int32_t find_token(const struct vocab *v, const char *spelling) {
    for (int32_t i = v->n_tokens - 1; i >= 0; i--) {
        const struct vocab_token *const t = &v->tokens[i];
        if (t->kind != TOKEN_CONTROL && t->kind != TOKEN_USER_DEFINED) continue;
        if (t->text.n == strlen(spelling) && memcmp(t->text.s, spelling, t->text.n) == 0) return i;
    }
    return -1;
}

static size_t find_tokens(const struct vocab *v, const char *const *spellings, int32_t *ids) {
    size_t n = 0;
    for (size_t i = 0; i < PICTURE_MARK_TOKENS && spellings[i]; i++)
        if ((ids[n] = find_token(v, spellings[i])) >= 0) n++;
    return n;
}

void picture_marks_make(const struct vision_info *info, const struct vocab *v, struct picture_marks *out) {
    *out = (struct picture_marks){.token = info->image_token, .before_in_text = "", .after_in_text = ""};
    if (out->token >= v->n_tokens) out->token = -1;
    out->row_token = out->token >= 0 ? out->token : 0; // as model_picture_token()
    if (out->token >= 0) out->spelling = v->tokens[out->token].text;
    if (info->marks && info->marks->place)
        out->spelling = (struct vocab_str){info->marks->place, (uint32_t)strlen(info->marks->place)};
    for (size_t i = 0; i < sizeof marked_families / sizeof *marked_families; i++) {
        const struct marked_family *const f = &marked_families[i];
        if (strcmp(f->name, info->family) != 0) continue;
        if (f->before_in_text && find_token(v, f->before_in_text) >= 0 && find_token(v, f->after_in_text) >= 0)
            out->before_in_text = f->before_in_text, out->after_in_text = f->after_in_text;
        if (info->marks) continue; // they are those of each view (picture_piece_at())
        out->n_before = find_tokens(v, f->before, out->before);
        out->n_after = find_tokens(v, f->after, out->after);
    }
}

static struct vocab_str place_in_text(const struct picture_marks *m) {
    return m->spelling.n ? m->spelling : (struct vocab_str){common_place, sizeof common_place - 1};
}

// ---- messages -----------------------------------------------------------------------------------------------------------

static bool is_picture(const struct json_node *part) { return json_is(json_member(part, "type"), "image"); }

static size_t count_parts(const struct json_node *message) {
    const struct json_node *const content = json_member(message, "content");
    size_t n = 0;
    if (!content || content->kind != JSON_ARRAY) return 0;
    const struct json_node *part = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part)) n += is_picture(part);
    return n;
}

size_t conversation_n_pictures(const struct conversation *c, int32_t from, int32_t to) {
    size_t n = 0;
    if (c->chat->n_pictures == 0) return 0;
    for (int32_t i = from; i < to; i++) n += count_parts(c->message[i]);
    return n;
}

rn_status chat_pictures_read(const struct conversation *c, rn_error *err) {
    const size_t n_given = c->chat->n_pictures, n = conversation_n_pictures(c, 0, c->n_messages);
    if (n_given && !c->chat->pictures) return fail(err, RN_E_ARG, "pictures: NULL with n_pictures %zu", n_given);
    for (size_t i = 0; i < n_given; i++)
        if (!c->chat->pictures[i]) return fail(err, RN_E_ARG, "pictures[%zu]: NULL", i);
    if (n != n_given)
        return fail(err, RN_E_ARG, "messages: %zu of their parts are pictures, and there are %zu pictures", n,
                    n_given);
    return RN_OK;
}

// ---- values -------------------------------------------------------------------------------------------------------------

const struct template_value *chat_text_part(struct chat_maker *m, const struct template_value *text) {
    struct template_value *const list = chat_list(m, 1), *const part = chat_dict(m, 2);
    chat_set(part, "type", 4, chat_text(m, "text", 4, true));
    chat_set(part, "text", 4, text);
    chat_add(list, part);
    return list;
}

static const struct template_value *url_part(struct chat_maker *m) {
    struct template_value *const part = chat_dict(m, 2), *const url = chat_dict(m, 1);
    chat_set(url, "url", 3, chat_text(m, "", 0, true));
    chat_set(part, "type", 4, chat_text(m, "image_url", 9, true));
    chat_set(part, "image_url", 9, url);
    return part;
}

const struct template_value *chat_url_parts(struct chat_maker *m, const struct json_node *content) {
    struct template_value *const list = chat_list(m, content->n_items);
    const struct json_node *part = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part))
        chat_add(list, is_picture(part) ? url_part(m) : chat_value(m, part, false));
    return list;
}

// A text that is being joined, in an arena; runs[] has the ends of its pieces.
struct joined {
    char *s;
    size_t n;
    struct template_run *runs;
    size_t n_runs;
};

static void join(struct joined *to, const char *s, size_t n, bool is_markup) {
    if (n == 0) return;
    memcpy(to->s + to->n, s, n);
    to->n += n;
    if (to->n_runs && to->runs[to->n_runs - 1].is_markup == is_markup)
        to->runs[to->n_runs - 1].end = to->n;
    else
        to->runs[to->n_runs++] = (struct template_run){to->n, is_markup};
}

static struct vocab_str text_of(const struct json_node *part) {
    const struct json_node *const text = part->kind == JSON_STRING ? part : json_member(part, "text");
    return text && text->kind == JSON_STRING ? (struct vocab_str){text->text, text->n_text}
                                             : (struct vocab_str){"", 0};
}

const struct template_value *chat_joined_parts(struct chat_maker *m, const struct picture_marks *marks,
                                               const struct json_node *content, const char *end) {
    const struct vocab_str place = place_in_text(marks);
    const size_t n_before = strlen(marks->before_in_text), n_after = strlen(marks->after_in_text),
                 n_end = strlen(end);
    size_t n_room = n_end + 1;
    const struct json_node *part = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part))
        n_room += is_picture(part) ? n_before + place.n + n_after + 1 : text_of(part).n + 1;
    struct joined to = {.s = arena_alloc(m->arena, n_room),
                        .runs = arena_alloc(m->arena, (2 * (size_t)content->n_items + 2) * sizeof *to.runs)};
    if (!to.s || !to.runs) {
        fail(&m->why, RN_E_NOMEM, "chat: out of memory for %zu bytes", n_room);
        return NULL;
    }
    part = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part)) {
        if (i) join(&to, "\n", 1, false);
        if (is_picture(part)) {
            join(&to, marks->before_in_text, n_before, true);
            join(&to, place.s, place.n, true);
            join(&to, marks->after_in_text, n_after, true);
        } else
            join(&to, text_of(part).s, text_of(part).n, false);
    }
    join(&to, end, n_end, false);
    if (to.n_runs == 0) return chat_text(m, "", 0, false);
    const struct template_value *const made = template_string_of_runs(m->arena, to.s, to.n, to.runs, to.n_runs);
    if (!made) fail(&m->why, RN_E_NOMEM, "chat: out of memory for %zu bytes", n_room);
    return made;
}

// ---- renderings ---------------------------------------------------------------------------------------------------------

static size_t find_spelled(const struct template_output *o, struct vocab_str what, size_t *at, size_t most) {
    size_t n = 0;
    for (size_t i = 0, begin = 0; i < o->n_segments; begin = o->segments[i++].end) {
        if (o->segments[i].is_content) continue;
        const char *from = o->text.s + begin, *const end = o->text.s + o->segments[i].end;
        const char *found;
        while (from < end && (found = memmem(from, (size_t)(end - from), what.s, what.n)) != NULL) {
            if (at && n < most) at[n] = (size_t)(found - o->text.s);
            n++;
            from = found + what.n;
        }
    }
    return n;
}

bool chat_find_places(const struct picture_marks *m, const struct template_output *o, size_t n, size_t *at,
                      struct vocab_str *spelled) {
    const struct vocab_str ways[2] = {m->spelling, {common_place, sizeof common_place - 1}};
    for (int i = 0; i < 2; i++)
        if (ways[i].n && find_spelled(o, ways[i], at, n) == n) {
            *spelled = ways[i];
            return true;
        }
    return false;
}
