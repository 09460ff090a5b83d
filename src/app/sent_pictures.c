// app/sent_pictures.c - see sent_pictures.h.
#include "app/sent_pictures.h"
#include "app/base64_read.h"
#include "app/content_part.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *type_of(const json_item *part) {
    char why[JSON_WHY];
    json_span type;
    const json_item *const named = json_item_member(part, "type");
    return named && json_item_text(named, &type, why) ? type.data : "";
}

// member: of its address.
static const struct part_type {
    const char *name, *member;
    bool is_video;
} part_types[] = {
    {"image_url", "image_url", false}, {"input_image", "image_url", false}, {"image", NULL, false},
    {"video_url", "video_url", true},  {"input_video", "video_url", true},  {"video", "video", true},
};

static const struct part_type *find_type(const json_item *part) {
    const char *const type = type_of(part);
    for (size_t i = 0; i < sizeof part_types / sizeof *part_types; i++)
        if (strcmp(type, part_types[i].name) == 0) return &part_types[i];
    return NULL;
}

bool sent_pictures_is_part(const json_item *part) { return find_type(part) != NULL; }

bool sent_pictures_is_video(const json_item *part) {
    const struct part_type *const type = find_type(part);
    return type && type->is_video;
}

static bool note(sent_pictures *p, json_span text, bool is_url, const char *place, const char *name, char *why) {
    if (p->n == SENT_PICTURES_MOST) {
        snprintf(why, JSON_WHY / 4, "%s: more than %d pictures in a request", name, SENT_PICTURES_MOST);
        return false;
    }
    sent_picture *const to = &p->sent[p->n++];
    *to = (sent_picture){.text = text, .is_url = is_url, .id = (int64_t)p->n - 1};
    snprintf(to->place, sizeof to->place, "%s%s%s", place, *name ? "." : "", name);
    return true;
}

// Only the beginning is looked at.
static bool note_url(sent_pictures *p, json_span url, const char *place, const char *name, char *why) {
    if (is_data_url(url.data, url.n)) return note(p, url, true, place, name, why);
    if (strncmp(url.data, "http:", 5) != 0 && strncmp(url.data, "https:", 6) != 0) {
        snprintf(why, JSON_WHY / 4, "%s: must be a data: URL with its file as base64, or an http or https address",
                 name);
        return false;
    }
    if (url.n > SENT_PICTURE_URL || memchr(url.data, 0, url.n)) {
        snprintf(why, JSON_WHY / 4, "%s: an address has at most %d bytes, none of them 0", name, SENT_PICTURE_URL);
        return false;
    }
    if (!note(p, url, false, place, name, why)) return false;
    p->sent[p->n - 1].is_remote = true;
    return true;
}

static bool need(const json_item *object, const char *name, const char *shown, json_span *text, char *why) {
    char inner[JSON_WHY] = "";
    const json_item *const value = object ? json_item_member(object, name) : NULL;
    if (value && json_item_text(value, text, inner)) return true;
    snprintf(why, JSON_WHY / 4, "%s: %.80s", shown, value ? inner : "is missing");
    return false;
}

static bool take_source(sent_pictures *p, const json_item *part, const char *place, char *why) {
    json_span type, data, media;
    const json_item *const source = json_item_member(part, "source");
    if (!source || !json_item_is_object(source)) {
        snprintf(why, JSON_WHY / 4, "source: %s", source ? "must be an object" : "is missing");
        return false;
    }
    if (!need(source, "type", "source.type", &type, why)) return false;
    if (strcmp(type.data, "url") == 0)
        return need(source, "url", "source.url", &data, why) && note_url(p, data, place, "source.url", why);
    if (strcmp(type.data, "base64") != 0) {
        p->is_unsupported = true;
        snprintf(why, JSON_WHY / 4, "source.type: '%.40s' is not supported: only base64 is", type.data);
        return false;
    }
    if (!need(source, "media_type", "source.media_type", &media, why) ||
        !need(source, "data", "source.data", &data, why))
        return false;
    if (strncmp(media.data, "image/", 6) != 0) {
        snprintf(why, JSON_WHY / 4, "source.media_type: is '%.40s', must be image/...", media.data);
        return false;
    }
    return note(p, data, false, place, "source.data", why);
}

static bool take_url(sent_pictures *p, const json_item *part, const char *key, const char *place, char *why) {
    char inner[40];
    json_span url;
    const json_item *const name = json_item_member(part, key);
    snprintf(inner, sizeof inner, "%s.url", key);
    if (name && json_item_is_object(name))
        return need(name, "url", inner, &url, why) && note_url(p, url, place, inner, why);
    return need(part, key, key, &url, why) && note_url(p, url, place, key, why);
}

bool sent_pictures_take(sent_pictures *p, const json_item *part, const char *place, char *why) {
    const struct part_type *const type = find_type(part);
    const size_t n = p->n;
    const bool ok = type->member ? take_url(p, part, type->member, place, why) : take_source(p, part, place, why);
    for (size_t i = n; i < p->n; i++) p->sent[i].is_video = type->is_video;
    return ok;
}

bool sent_pictures_add(sent_pictures *p, const json_item *value, const char *place, char *why) {
    json_span text;
    return json_item_text(value, &text, why) && note(p, text, is_data_url(text.data, text.n), place, "", why);
}

// The bytes of its file. False: why has the reason.
static bool read_file(sent_pictures *p, sent_picture *s, bytes *file, char *why) {
    if (!s->is_remote && s->is_url)
        return data_url_read(s->is_video ? "video" : "image", s->text.data, s->text.n, file, why);
    if (!s->is_remote) return base64_read(s->text.data, s->text.n, file, why);
    *file = s->file, s->file = (bytes){0};
    p->is_unsupported = file->n == 0;
    if (p->is_unsupported)
        snprintf(why, JSON_WHY / 2,
                 "is an address, which only `runnel serve --allow-media-domain` fetches: "
                 "send a data: URL with the %s as base64",
                 s->is_video ? "video" : "picture");
    return file->n > 0;
}

static bool open_one(sent_pictures *p, const sent_picture *s, const bytes *file, const video_opening *video,
                     uint64_t n_pixels_left, rn_picture **out, char *why) {
    rn_error err = {0};
    if (s->is_video && !video) {
        p->is_unsupported = true;
        snprintf(why, JSON_WHY / 2, "is a video, which is not taken here");
        return false;
    }
    if (s->is_video && !video->model) return true;
    if (s->is_video) {
        video_opening o = *video;
        if (n_pixels_left < o.most_pixels) o.most_pixels = n_pixels_left;
        const bool ok = video_open(&o, file->data, file->n, out, why);
        p->is_unsupported = o.is_unsupported, p->lacks_memory = o.lacks_memory;
        return ok;
    }
    if (rn_picture_open(file->data, file->n, out, &err) == RN_OK) return true;
    snprintf(why, JSON_WHY / 2, "%.200s", err.text);
    p->lacks_memory = err.code == RN_E_NOMEM;
    return false;
}

bool sent_pictures_open(sent_pictures *p, const video_opening *video, size_t *failed, char *why) {
    uint64_t n_pixels = 0;
    for (size_t i = 0; i < p->n && !p->are_open; i++) {
        sent_picture *const s = &p->sent[i];
        rn_picture_info info = {.struct_size = sizeof info};
        bytes file = {0};
        *failed = i;
        const bool ok = read_file(p, s, &file, why) &&
                        open_one(p, s, &file, video, SENT_PICTURE_PIXELS - n_pixels, &p->open[i], why);
        bytes_free(&file);
        if (!ok) return false;
        if (p->open[i]) (void)rn_picture_get_info(p->open[i], &info, NULL);
        n_pixels += (uint64_t)info.width * info.height * (info.n_frames ? info.n_frames : 1);
        if (n_pixels > SENT_PICTURE_PIXELS) {
            snprintf(why, JSON_WHY / 2, "with those before it %" PRIu64 " pixels, limit %d in a request", n_pixels,
                     SENT_PICTURE_PIXELS);
            return false;
        }
    }
    p->are_open = true;
    return true;
}

typedef struct message_out {
    sent_pictures *pictures;
    const char *place;
    json_writer w;
} message_out;

static bool put_parts(message_out *out, const json_item *parts, char *why) {
    char place[SENT_PICTURE_PLACE], inner[JSON_WHY] = "";
    json_put_begin(&out->w, '[');
    for (size_t i = 0; i < json_item_count(parts); i++) {
        const json_item *const part = json_item_at(parts, i);
        bytes json = {0};
        snprintf(place, sizeof place, "%s.content[%zu]", out->place, i);
        if (sent_pictures_is_part(part) && !sent_pictures_take(out->pictures, part, place, inner)) {
            snprintf(why, JSON_WHY / 2, "content[%zu].%.200s", i, inner);
            return false;
        }
        if (sent_pictures_is_part(part)) {
            json_put_picture_part(&out->w, sent_pictures_is_video(part));
        } else {
            json_item_add(part, &json);
            json_put_raw(&out->w, json.data);
        }
        bytes_free(&json);
    }
    json_put_end(&out->w, ']');
    return true;
}

static bool put_member(void *target, size_t i, const char *key, const json_item *value, char *why) {
    message_out *const out = target;
    bytes json = {0};
    (void)i;
    json_put_key(&out->w, key);
    if (strcmp(key, "content") == 0 && json_item_is_array(value)) return put_parts(out, value, why);
    json_item_add(value, &json);
    json_put_raw(&out->w, json.data);
    bytes_free(&json);
    return true;
}

bool sent_pictures_add_message(sent_pictures *p, const json_item *message, const char *place, bytes *to, char *why) {
    message_out out = {p, place, {to, to->n > 0}};
    if (!json_item_is_object(message)) {
        snprintf(why, JSON_WHY / 2, "must be an object");
        return false;
    }
    json_put_begin(&out.w, '{');
    if (!json_item_each(message, put_member, &out, why)) return false;
    json_put_end(&out.w, '}');
    return true;
}

void sent_pictures_free(sent_pictures *p) {
    for (size_t i = 0; i < p->n; i++) {
        rn_picture_close(p->open[i]);
        bytes_free(&p->sent[i].file);
    }
    *p = (sent_pictures){0};
}
