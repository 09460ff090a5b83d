// engine/chat/chat_pictures.c - pictures of a conversation: which parts of contents they are, the forms in which templates get them, and where in
// a rendering they stand.
#include "engine/chat/conversation.h"
#include "engine/picture_handle.h"
#include "engine/vision/vision.h"
#include <string.h>

// ---- marks --------------------------------------------------------------------------------------------------------------

static const char common_place[] = "<image>", common_video_place[] = "<video>";

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
    out->video_token = info->video && info->video_token < v->n_tokens ? info->video_token : -1;
    if (out->video_token >= 0) out->video_spelling = v->tokens[out->video_token].text;
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

static const struct vocab_str common_places[2] = {{common_place, sizeof common_place - 1},
                                                  {common_video_place, sizeof common_video_place - 1}};

static struct vocab_str place_in_text(const struct picture_marks *m, bool is_video) {
    const struct vocab_str own = is_video ? m->video_spelling : m->spelling;
    return own.n ? own : common_places[is_video];
}

// ---- messages -----------------------------------------------------------------------------------------------------------

static bool is_video(const struct json_node *part) { return json_is(json_member(part, "type"), "video"); }
static bool is_picture(const struct json_node *part) {
    return json_is(json_member(part, "type"), "image") || is_video(part);
}

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

// Each part is of the kind of its picture. *at: the first one's.
static rn_status check_kinds(const struct conversation *c, const struct json_node *content, size_t *at,
                             rn_error *err) {
    const struct json_node *part = content && content->kind == JSON_ARRAY ? json_first(content) : NULL;
    for (uint32_t i = 0; part && i < content->n_items; i++, part = json_next(part)) {
        if (!is_picture(part)) continue;
        const bool has_frames = c->chat->pictures[*at]->p.n_frames > 0;
        if (has_frames != is_video(part))
            return fail(err, RN_E_ARG, "messages: picture %zu is %s, and its part of the type %s", *at,
                        has_frames ? "a video" : "none with frames", has_frames ? "image" : "video");
        ++*at;
    }
    return RN_OK;
}

rn_status chat_pictures_read(const struct conversation *c, rn_error *err) {
    const size_t n_given = c->chat->n_pictures, n = conversation_n_pictures(c, 0, c->n_messages);
    if (n_given && !c->chat->pictures) return fail(err, RN_E_ARG, "pictures: NULL with n_pictures %zu", n_given);
    for (size_t i = 0; i < n_given; i++)
        if (!c->chat->pictures[i]) return fail(err, RN_E_ARG, "pictures[%zu]: NULL", i);
    if (n != n_given)
        return fail(err, RN_E_ARG, "messages: %zu of their parts are pictures, and there are %zu pictures", n,
                    n_given);
    rn_status st = RN_OK;
    size_t at = 0;
    for (int32_t i = 0; n && st == RN_OK && i < c->n_messages; i++)
        st = check_kinds(c, json_member(c->message[i], "content"), &at, err);
    return st;
}

// ---- values -------------------------------------------------------------------------------------------------------------

const struct template_value *chat_text_part(struct chat_maker *m, const struct template_value *text) {
    struct template_value *const list = chat_list(m, 1), *const part = chat_dict(m, 2);
    chat_set(part, "type", 4, chat_text(m, "text", 4, true));
    chat_set(part, "text", 4, text);
    chat_add(list, part);
    return list;
}

static const struct template_value *url_part(struct chat_maker *m, const char *type) {
    struct template_value *const part = chat_dict(m, 2), *const url = chat_dict(m, 1);
    chat_set(url, "url", 3, chat_text(m, "", 0, true));
    chat_set(part, "type", 4, chat_text(m, type, strlen(type), true));
    chat_set(part, type, strlen(type), url);
    return part;
}

const struct template_value *chat_url_parts(struct chat_maker *m, const struct json_node *content) {
    struct template_value *const list = chat_list(m, content->n_items);
    const struct json_node *part = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part))
        chat_add(list, is_picture(part) ? url_part(m, is_video(part) ? "video_url" : "image_url")
                                        : chat_value(m, part, false));
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
    const size_t n_before = strlen(marks->before_in_text), n_after = strlen(marks->after_in_text),
                 n_end = strlen(end);
    size_t n_room = n_end + 1;
    const struct json_node *part = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part))
        n_room +=
            is_picture(part) ? n_before + place_in_text(marks, is_video(part)).n + n_after + 1 : text_of(part).n + 1;
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
            join(&to, place_in_text(marks, is_video(part)).s, place_in_text(marks, is_video(part)).n, true);
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

// The next place in s[0..n): where it begins, or n.
static size_t find_next(const char *s, size_t n, const struct vocab_str what[2], struct chat_place *out) {
    size_t found = n;
    for (int i = 0; i < 2; i++) {
        const char *const at = what[i].n ? memmem(s, n, what[i].s, what[i].n) : NULL;
        if (at && (size_t)(at - s) < found)
            found = (size_t)(at - s), *out = (struct chat_place){.n = what[i].n, .is_video = i == 1};
    }
    return found;
}

static size_t find_spelled(const struct template_output *o, const struct vocab_str what[2], struct chat_place *places,
                           size_t most) {
    size_t n = 0;
    for (size_t i = 0, begin = 0; i < o->n_segments; begin = o->segments[i++].end) {
        struct chat_place found = {0};
        if (o->segments[i].is_content) continue;
        for (size_t from = begin; from < o->segments[i].end; from = found.at + found.n) {
            const size_t n_left = o->segments[i].end - from, at = find_next(o->text.s + from, n_left, what, &found);
            if (at == n_left) break;
            found.at = from + at;
            if (places && n < most) places[n] = found;
            n++;
        }
    }
    return n;
}

bool chat_find_places(const struct picture_marks *m, const struct template_output *o, size_t n,
                      struct chat_place *places, bool *are_tokens) {
    const struct vocab_str own[2] = {m->spelling, m->video_spelling};
    *are_tokens = find_spelled(o, own, places, n) == n;
    return *are_tokens || find_spelled(o, common_places, places, n) == n;
}
