// app/pictures.c - see pictures.h.
#include "app/pictures.h"
#include "app/base64_read.h"
#include "app/files.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/say.h"
#include "app/video_talk.h"
#include <stdio.h>
#include <string.h>

static const struct mark {
    const char *text, *option, *plural;
} marks[2] = {{"<image>", "image", "pictures"}, {"<video>", "video", "videos"}};

static bool take(pictures *p, const char *path, bool is_video, char *why) {
    if (p->n == PICTURES_MOST) {
        snprintf(why, NUMBER_WHY, "more than %d pictures", PICTURES_MOST);
        return false;
    }
    p->are_videos[p->n] = is_video;
    p->paths[p->n++] = path;
    return true;
}

static bool take_image(void *target, const char *value, char *why) { return take(target, value, false, why); }
static bool take_video(void *target, const char *value, char *why) { return take(target, value, true, why); }

static bool take_fps(void *target, const char *value, char *why) {
    pictures *const p = target;
    return number_read_real(value, 0.001, 1000, &p->choice.fps, why);
}

const option pictures_rows[PICTURES_ROWS] = {
    {0, "image", "FILE", OPTION_EACH, .each = take_image,
     .help =
         "a picture in the prompt, for models that see: PNG, JPEG, WebP, GIF or BMP; repeatable, - is stdin. It stands in "
         "place of \"<image>\", each in its turn, or before the prompt where that has none"},
    {0, "video", "FILE", OPTION_EACH, .each = take_video,
     .help =
         "a video in the prompt, for models that take some (Qwen2-VL, Qwen2.5-VL, Qwen3-VL, Qwen3.5): MP4, Matroska, "
         "WebM, AVI, MPEG, a GIF or what else FFmpeg decodes; or its data: URL; repeatable, - is stdin. It stands in place "
         "of \"<video>\""},
    {0, "video-fps", "X", OPTION_EACH, .each = take_fps,
     .help = "look at X frames of each second of a video (default: as the model's processor, mostly 2)"},
    {0, "video-frames", "N", OPTION_INT, offsetof(pictures, choice.n), 1, RN_VIDEO_MOST_FRAMES,
     .help = "look at N frames of a video, whatever its length"},
};

const char *pictures_read_stdin(const pictures *p) {
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->paths[i], "-") == 0) return marks[p->are_videos[i]].option;
    return NULL;
}

static bool has_video(const pictures *p) {
    for (size_t i = 0; i < p->n; i++)
        if (p->are_videos[i]) return true;
    return false;
}

bool pictures_check(const pictures *p, const options *parsed) {
    if (!has_video(p) && (options_refuse(parsed, "video-fps", "without --video") ||
                          options_refuse(parsed, "video-frames", "without --video")))
        return false;
    return !(p->choice.fps > 0 && options_refuse(parsed, "video-frames", "with --video-fps"));
}

bool picture_file_open(const char *path, rn_picture **out) {
    bytes file = {0};
    rn_error err = {0};
    if (!file_read(path, PICTURE_FILE_LIMIT, &file)) return false;
    const rn_status st = rn_picture_open(file.data, file.n, out, &err);
    bytes_free(&file);
    if (st != RN_OK) say("%s: %s", path, err.text);
    return st == RN_OK;
}

static bool read_video(const char *path, bytes *file, char *why) {
    if (!is_data_url(path, strlen(path))) return file_read(path, VIDEO_FILE_BYTES, file);
    if (data_url_read("video", path, strlen(path), file, why)) return true;
    say("--video: %s", why);
    return false;
}

static bool video_file_open(const char *path, const rn_model *model, video_choice choice, rn_picture **out) {
    video_opening o = {.model = model, .choice = choice, .most_pixels = VIDEO_OPEN_PIXELS};
    char why[VIDEO_OPEN_WHY] = "";
    bytes file = {0};
    const bool is_read = read_video(path, &file, why);
    const bool ok = is_read && video_open(&o, file.n ? file.data : "", file.n, out, why);
    bytes_free(&file);
    if (is_read && !ok) say("%.80s: %s", path, why);
    return ok;
}

int pictures_open(pictures *p) {
    for (size_t i = 0; i < p->n; i++)
        if (!p->are_videos[i] && !picture_file_open(p->paths[i], &p->open[i])) return EXIT_CODE_FAILED;
    return EXIT_CODE_OK;
}

int pictures_open_videos(pictures *p, const rn_model *model) {
    for (size_t i = 0; i < p->n; i++)
        if (p->are_videos[i] && !video_file_open(p->paths[i], model, p->choice, &p->open[i])) return EXIT_CODE_FAILED;
    return EXIT_CODE_OK;
}

static void add_part(pictures *p, rn_part part) { p->parts[p->n_parts++] = part; }
static void add_picture(pictures *p, size_t i) {
    add_part(p, (rn_part){.kind = RN_PART_PICTURE, .picture = p->open[i]});
}

static int refuse_count(const pictures *p, const char *where, bool is_video, size_t n) {
    size_t n_given = 0;
    for (size_t i = 0; i < p->n; i++) n_given += p->are_videos[i] == is_video;
    say("%s: has %zu places for %s (%s), and there are %zu of --%s", where, n, marks[is_video].plural,
        marks[is_video].text, n_given, marks[is_video].option);
    return EXIT_CODE_USAGE;
}

// The next mark of the kinds that are looked for; text + n: there is none.
static const char *find_mark(const char *text, const char *end, const bool *looks_for, bool *is_video) {
    const char *found = end;
    for (int i = 0; i < 2; i++) {
        const char *const at =
            looks_for[i] ? memmem(text, (size_t)(end - text), marks[i].text, strlen(marks[i].text)) : NULL;
        if (at && at < found) found = at, *is_video = i == 1;
    }
    return found;
}

// Those of the places' order: of each kind one after the other.
static void sort(pictures *p, const picture_place *places) {
    pictures given = *p;
    size_t next[2] = {0, 0};
    for (size_t i = 0; i < p->n; i++) {
        size_t *const from = &next[places[i].is_video];
        while (given.are_videos[*from] != places[i].is_video) ++*from;
        p->open[i] = given.open[*from], p->paths[i] = given.paths[*from];
        p->are_videos[i] = places[i].is_video;
        ++*from;
    }
}

bool pictures_find_places(pictures *p, const char *text, size_t n, picture_place *places, bool *is_video,
                          size_t *n_marks) {
    const char *const end = text + n;
    const bool both[2] = {true, true};
    size_t n_given[2] = {0, 0}, n_found[2] = {0, 0}, n_places = 0;
    bool looks_for[2];
    for (size_t i = 0; i < p->n; i++) n_given[p->are_videos[i]]++;
    for (const char *at = text; (at = find_mark(at, end, both, is_video)) < end; at += strlen(marks[*is_video].text))
        n_found[*is_video]++;
    for (int i = 0; i < 2; i++) {
        looks_for[i] = n_found[i] && n_given[i];
        *is_video = i == 1, *n_marks = n_found[i];
        if (n_given[i] && n_found[i] && n_found[i] != n_given[i]) return false;
    }
    for (size_t i = 0; i < p->n; i++) // in the order in which they were given
        if (!looks_for[p->are_videos[i]]) places[n_places++] = (picture_place){.is_video = p->are_videos[i]};
    for (const char *at = text; n_places < p->n; at += places[n_places++].n) {
        bool kind = false;
        at = find_mark(at, end, looks_for, &kind);
        places[n_places] = (picture_place){(size_t)(at - text), strlen(marks[kind].text), kind};
    }
    sort(p, places);
    return true;
}

int pictures_in_text(pictures *p, const rn_part *text) {
    picture_place places[PICTURES_MOST];
    size_t from = 0, n_marks;
    bool is_video;
    p->n_parts = 0;
    if (!pictures_find_places(p, text->text, text->n_text, places, &is_video, &n_marks))
        return refuse_count(p, "prompt", is_video, n_marks);
    for (size_t i = 0; i <= p->n; i++) {
        const size_t to = i < p->n ? places[i].at : text->n_text;
        rn_part part = *text;
        part.text = text->text + from, part.n_text = to - from;
        if (part.n_text || p->n == 0) add_part(p, part);
        if (i == p->n) break;
        add_picture(p, i);
        from = to + places[i].n;
    }
    return EXIT_CODE_OK;
}

// What of ids at `at`, where the token for pictures stands, is the picture: all of its tokens, marks included, or the token alone.
struct place {
    size_t from, n;
};
static bool find_place(const rn_model *model, const rn_picture *picture, size_t n_pictures, int32_t token,
                       const int32_t *ids, size_t n, size_t at, struct place *out, rn_error *err) {
    int32_t *own = NULL;
    size_t n_own = 0, n_before = 0;
    *out = (struct place){at, 1};
    if (rn_picture_tokens(model, picture, n_pictures, &own, &n_own, err) != RN_OK) return false;
    while (n_before < n_own && own[n_before] != token) n_before++;
    if (n_before <= at && n_own <= n - (at - n_before) && memcmp(ids + at - n_before, own, n_own * sizeof *own) == 0)
        *out = (struct place){at - n_before, n_own};
    rn_free(own);
    return true;
}

int pictures_in_ids(pictures *p, const rn_model *model, const int32_t *ids, size_t n) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    size_t i_picture = 0, from = 0;
    p->n_parts = 0;
    if (rn_model_get_info(model, &info, &err) != RN_OK) return machine_failed(&err);
    if (has_video(p)) {
        say("--video: has no place among --ids");
        return EXIT_CODE_USAGE;
    }
    for (size_t i = 0; i < n && p->n;) {
        struct place place;
        if (ids[i] != info.picture_token) {
            i++;
            continue;
        }
        if (i_picture == p->n) return refuse_count(p, "--ids", false, i_picture + 1);
        if (!find_place(model, p->open[i_picture], p->n, info.picture_token, ids, n, i, &place, &err))
            return machine_failed(&err);
        if (place.from > from)
            add_part(p, (rn_part){.kind = RN_PART_IDS, .ids = ids + from, .n_ids = place.from - from});
        add_picture(p, i_picture++);
        i = from = place.from + place.n;
    }
    if (i_picture != p->n) return refuse_count(p, "--ids", false, i_picture);
    if (n > from) add_part(p, (rn_part){.kind = RN_PART_IDS, .ids = ids + from, .n_ids = n - from});
    return EXIT_CODE_OK;
}

void pictures_free(pictures *p) {
    for (size_t i = 0; i < p->n; i++) rn_picture_close(p->open[i]);
}
