// cli/chat/chat_image.c - /image, and pictures that are dropped on the terminal.
#include "app/base64_write.h"
#include "app/file_names.h"
#include "app/files.h"
#include "app/pictures.h"
#include "app/say.h"
#include "cli/chat/chat_state.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static void fail(chat *c, const char *what, const char *why) {
    chat_note(c, "%s: %s", what, why);
    if (!c->editor) c->code = EXIT_CODE_FAILED;
}

static bool attach(chat *c, const char *path) {
    rn_error err = {0};
    rn_picture *p = NULL;
    rn_picture_info info = {.struct_size = sizeof info};
    bytes file = {0}, url = {0};
    const char *const slash = strrchr(path, '/');
    if (c->on.blind) {
        fail(c, "/image", c->on.blind);
        return false;
    }
    if (!file_read(path, PICTURE_FILE_LIMIT, &file)) {
        if (!c->editor) c->code = EXIT_CODE_FAILED;
        return false;
    }
    const bool ok =
        rn_picture_open(file.data, file.n, &p, &err) == RN_OK && rn_picture_get_info(p, &info, &err) == RN_OK;
    if (ok) {
        char type[16];
        snprintf(type, sizeof type, "%s", info.format);
        for (char *at = type; *at; at++) *at = (char)tolower((unsigned char)*at);
        bytes_add_format(&url, "data:image/%s;base64,", type);
        base64_add(&url, (const uint8_t *)file.data, file.n);
        message_add_picture(&c->shown, p, &url);
        chat_note(c, "%s, %u x %u pixels: goes with the next message", slash ? slash + 1 : path, info.width,
                  info.height);
    } else {
        rn_picture_close(p);
        fail(c, path, err.text);
    }
    bytes_free(&file);
    bytes_free(&url);
    return ok;
}

void chat_run_image(chat *c, const char *args) {
    const size_t n = c->shown.n_seen;
    if (!*args && n) {
        chat_note(c, "%zu pictures go with the next message; /image - leaves them out", n);
    } else if (!*args) {
        chat_note(c, "%s", c->on.blind ? c->on.blind : "no picture goes with the next message: /image PATH adds one");
    } else if (strcmp(args, "-") == 0) {
        chat_note(c, "%zu pictures are left out", n);
        message_drop_pictures(&c->shown);
    } else {
        char *const path = file_name_meant(args);
        attach(c, path);
        free(path);
    }
}

static bool is_picture_name(const char *name) {
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"};
    const char *const dot = strrchr(name, '.');
    struct stat st;
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot, ends[i]) == 0) return stat(name, &st) == 0 && S_ISREG(st.st_mode);
    return false;
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
    const bool is_taken = path.n && path.data[0] == '/' && is_picture_name(path.data) && attach(c, path.data);
    bytes_free(&path);
    return is_taken ? rest + strspn(rest, " \n") : line;
}
