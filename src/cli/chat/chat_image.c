// cli/chat/chat_image.c - /image, /video, and pictures and videos that are dropped on the terminal.
#include "app/base64_write.h"
#include "app/file_names.h"
#include "app/files.h"
#include "app/pictures.h"
#include "app/say.h"
#include "cli/chat/chat_state.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static void fail(chat *c, const char *what, const char *why) {
    chat_note(c, "%s: %s", what, why);
    if (!c->editor) c->code = EXIT_CODE_FAILED;
}

static bool decode(const chat *c, const bytes *file, bool is_video, rn_picture **out, char *why) {
    rn_error err = {0};
    video_opening o = {.model = c->on.model, .most_pixels = VIDEO_OPEN_PIXELS};
    if (is_video) return video_open(&o, file->n ? file->data : "", file->n, out, why);
    const bool ok = rn_picture_open(file->data, file->n, out, &err) == RN_OK;
    if (!ok) snprintf(why, VIDEO_OPEN_WHY, "%.300s", err.text);
    return ok;
}

// The type of its data: URL. What a video is, its bytes say.
static void begin_url(bytes *url, const rn_picture_info *info) {
    char type[16];
    snprintf(type, sizeof type, "%s", info->format);
    for (char *at = type; *at; at++) *at = (char)tolower((unsigned char)*at);
    if (info->n_frames)
        bytes_add_text(url, "data:video/mp4;base64,");
    else
        bytes_add_format(url, "data:image/%s;base64,", type);
}

static bool attach(chat *c, const char *path, bool is_video) {
    rn_picture *p = NULL;
    rn_picture_info info = {.struct_size = sizeof info};
    char why[VIDEO_OPEN_WHY] = "";
    bytes file = {0}, url = {0};
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    if (c->on.blind) {
        fail(c, is_video ? "/video" : "/image", c->on.blind);
        return false;
    }
    if (!file_read(path, PICTURE_FILE_LIMIT, &file)) {
        if (!c->editor) c->code = EXIT_CODE_FAILED;
        return false;
    }
    const bool ok = decode(c, &file, is_video, &p, why) && rn_picture_get_info(p, &info, NULL) == RN_OK;
    if (ok) {
        begin_url(&url, &info);
        base64_add(&url, (const uint8_t *)file.data, file.n);
        message_add_picture(&c->shown, p, &url, is_video);
        if (is_video)
            chat_note(c, "%s, %u frames of %u x %u pixels: goes with the next message", name, info.n_frames,
                      info.width, info.height);
        else
            chat_note(c, "%s, %u x %u pixels: goes with the next message", name, info.width, info.height);
    } else {
        rn_picture_close(p);
        fail(c, path, why);
    }
    bytes_free(&file);
    bytes_free(&url);
    return ok;
}

static void run(chat *c, const char *args, bool is_video) {
    const size_t n = c->shown.n_seen;
    if (!*args && n) {
        chat_note(c, "%zu pictures go with the next message; /image - leaves them out", n);
    } else if (!*args) {
        chat_note(c, "%s",
                  c->on.blind ? c->on.blind
                              : "no picture goes with the next message: /image PATH adds one, /video PATH a video");
    } else if (strcmp(args, "-") == 0) {
        chat_note(c, "%zu pictures are left out", n);
        message_drop_pictures(&c->shown);
    } else {
        char *const path = file_name_meant(args);
        attach(c, path, is_video);
        free(path);
    }
}

void chat_run_image(chat *c, const char *args) { run(c, args, false); }
void chat_run_video(chat *c, const char *args) { run(c, args, true); }

static bool has_ending(const char *name, const char *const *ends) {
    const char *const dot = strrchr(name, '.');
    struct stat st;
    for (size_t i = 0; dot && ends[i]; i++)
        if (strcasecmp(dot, ends[i]) == 0) return stat(name, &st) == 0 && S_ISREG(st.st_mode);
    return false;
}

static bool is_picture_name(const char *name) {
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", NULL};
    return has_ending(name, ends);
}

static bool is_video_name(const char *name) {
    static const char *const ends[] = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", NULL};
    return has_ending(name, ends);
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The path that the line begins with, in quotes, with backslashes before spaces, or as a file: URL. Returns where the line goes on.
static const char *read_path(const char *line, bytes *path) {
    static const char url[] = "file://";
    const char quote = *line == '\'' || *line == '"' ? *line : '\0';
    const bool is_url = strncmp(line, url, sizeof url - 1) == 0;
    const char *at = line + (quote ? 1 : is_url ? sizeof url - 1 : 0);
    for (; *at && (quote ? *at != quote : *at != ' ' && *at != '\n'); at++) {
        char c = *at;
        if (!quote && c == '\\' && at[1]) c = *++at;
        if (is_url && c == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
            c = (char)(hex(at[1]) * 16 + hex(at[2]));
            at += 2;
        }
        bytes_add(path, &c, 1);
    }
    return at + (quote && *at == quote);
}

const char *chat_take_dropped(chat *c, const char *line) {
    bytes path = {0};
    const char *const from = line + strspn(line, " ");
    const bool may_be = *from == '/' || *from == '\'' || *from == '"' || strncmp(from, "file://", 7) == 0;
    const char *const rest = may_be ? read_path(from, &path) : line;
    const bool is_path = path.n && path.data[0] == '/';
    const bool is_taken = is_path && ((is_picture_name(path.data) && attach(c, path.data, false)) ||
                                      (is_video_name(path.data) && attach(c, path.data, true)));
    bytes_free(&path);
    return is_taken ? rest + strspn(rest, " \n") : line;
}
