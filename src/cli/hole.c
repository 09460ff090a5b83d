// cli/hole.c - see hole.h.
#include "cli/hole.h"
#include "app/files.h"
#include "app/numbers.h"
#include <stdio.h>
#include <string.h>

static bool take_file(void *target, const char *value, char *why) {
    hole *const h = target;
    if (h->n_others == HOLE_FILES) {
        snprintf(why, NUMBER_WHY, "more than %d files", HOLE_FILES);
        return false;
    }
    h->other_names[h->n_others++] = value;
    return true;
}

const option hole_rows[HOLE_ROWS] = {
    {0, "prefix", "FILE", OPTION_TEXT, offsetof(hole, prefix_file), .help = "the text before the hole; - is stdin"},
    {0, "suffix", "FILE", OPTION_TEXT, offsetof(hole, suffix_file), .help = "the text behind the hole; - is stdin"},
    {0, "marker", "TEXT", OPTION_TEXT, offsetof(hole, marker),
     .help = "in the one FILE, the hole is where this stands, once (default <FILL_ME>)"},
    {0, "at", "LINE:COLUMN", OPTION_TEXT, offsetof(hole, place),
     .help =
         "in the one FILE, the hole is before this character, as editors count, from 1; without :COLUMN at the line's "
         "end"},
    {0, "middle", "TEXT", OPTION_TEXT, offsetof(hole, middle),
     .help = "the middle begins with this text, which is not written again"},
    {0, "infill-order", "published|psm|spm", OPTION_CHOICE, offsetof(hole, order),
     .help = "prefix first (psm) or suffix first (spm); default: as the model's family was published"},
    {0, "context", "FILE", OPTION_EACH, .each = take_file,
     .help = "another file of the repository, which stands in front; repeatable, up to 64"},
    {0, "repo-name", "NAME", OPTION_TEXT, offsetof(hole, repo_name), .help = "name of the repository"},
    {0, "file-name", "NAME", OPTION_TEXT, offsetof(hole, file_name),
     .help = "name of the file with the hole (default with --context: FILE, if there is one)"},
};

static int wrong(const char *text) {
    say("%s", text);
    return EXIT_CODE_USAGE;
}

static void divide(hole *h, size_t at, size_t n_left_out) {
    h->prefix = h->first.data, h->n_prefix = at;
    h->suffix = h->first.data + at + n_left_out, h->n_suffix = h->first.n - at - n_left_out;
}

static int find_marker(hole *h, const char *file) {
    const char *const marker = h->marker ? h->marker : "<FILL_ME>";
    const size_t n = strlen(marker);
    if (n == 0) return wrong("--marker: is empty");
    const char *const at = h->first.n ? memmem(h->first.data, h->first.n, marker, n) : NULL;
    if (!at) {
        say("%s: %s does not stand there: --marker names another text, --at a place", file, marker);
        return EXIT_CODE_FAILED;
    }
    const size_t before = (size_t)(at - h->first.data);
    if (memmem(at + n, h->first.n - before - n, marker, n)) {
        say("%s: %s stands there more than once", file, marker);
        return EXIT_CODE_FAILED;
    }
    divide(h, before, n);
    return EXIT_CODE_OK;
}

static bool read_place(const char *text, int64_t *line, int64_t *column) {
    char why[NUMBER_WHY], first[24];
    const char *const colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    *column = 0;
    if (n >= sizeof first) return false;
    memcpy(first, text, n), first[n] = 0;
    return number_read_whole(first, 1, INT32_MAX, line, why) &&
           (!colon || number_read_whole(colon + 1, 1, INT32_MAX, column, why));
}

// column 0: the line's end.
static int find_place(hole *h, const char *file) {
    int64_t line, column;
    size_t at = 0;
    if (!read_place(h->place, &line, &column)) {
        say("--at: %s: is not LINE or LINE:COLUMN, whole numbers from 1 on", h->place);
        return EXIT_CODE_USAGE;
    }
    const char *const text = h->first.data;
    for (int64_t i = 1; i < line; i++) {
        const char *const end = at < h->first.n ? memchr(text + at, '\n', h->first.n - at) : NULL;
        if (!end) {
            say("--at: %s: %s has %lld lines", h->place, file, (long long)i);
            return EXIT_CODE_FAILED;
        }
        at = (size_t)(end - text) + 1;
    }
    for (int64_t i = 1; i < column || column == 0; i++) {
        if (at == h->first.n || text[at] == '\n' ||
            (text[at] == '\r' && at + 1 < h->first.n && text[at + 1] == '\n')) {
            if (column == 0) break;
            say("--at: %s: the line has %lld characters", h->place, (long long)(i - 1));
            return EXIT_CODE_FAILED;
        }
        for (at++; at < h->first.n && ((unsigned char)text[at] & 0xC0) == 0x80;) at++;
    }
    divide(h, at, 0);
    return EXIT_CODE_OK;
}

static int read_one(hole *h, const char *file) {
    if (h->prefix_file || h->suffix_file) return wrong("FILE: excludes --prefix and --suffix");
    if (h->marker && h->place) return wrong("--marker: excludes --at");
    if (!file_read(file, TEXT_LIMIT, &h->first)) return EXIT_CODE_FAILED;
    if (!h->file_name && h->n_others && strcmp(file, "-") != 0) h->file_name = file;
    return h->place ? find_place(h, file) : find_marker(h, file);
}

static int read_two(hole *h, const options *parsed) {
    if (!h->prefix_file || !h->suffix_file)
        return wrong("infill: needs --prefix and --suffix, or FILE with <FILL_ME> where the hole is");
    if (options_refuse(parsed, "marker", "without FILE") || options_refuse(parsed, "at", "without FILE"))
        return EXIT_CODE_USAGE;
    if (strcmp(h->prefix_file, "-") == 0 && strcmp(h->suffix_file, "-") == 0)
        return wrong("--suffix: stdin is the prefix");
    if (!file_read(h->prefix_file, TEXT_LIMIT, &h->first) || !file_read(h->suffix_file, TEXT_LIMIT, &h->second))
        return EXIT_CODE_FAILED;
    h->prefix = h->first.data, h->n_prefix = h->first.n;
    h->suffix = h->second.data, h->n_suffix = h->second.n;
    return EXIT_CODE_OK;
}

int hole_read(hole *h, const options *parsed) {
    const int code = parsed->n_positional ? read_one(h, parsed->positional[0]) : read_two(h, parsed);
    if (code != EXIT_CODE_OK) return code;
    for (size_t i = 0; i < h->n_others; i++)
        if (!file_read(h->other_names[i], TEXT_LIMIT, &h->others[i])) return EXIT_CODE_FAILED;
    return EXIT_CODE_OK;
}

static size_t length_of(const char *text) { return text ? strlen(text) : 0; }

void hole_apply(hole *h, rn_infill *in) {
    rn_infill_init(in);
    in->prefix = h->prefix, in->n_prefix = h->n_prefix;
    in->suffix = h->suffix, in->n_suffix = h->n_suffix;
    in->middle = h->middle, in->n_middle = length_of(h->middle);
    in->repo_name = h->repo_name, in->n_repo_name = length_of(h->repo_name);
    in->file_name = h->file_name, in->n_file_name = length_of(h->file_name);
    in->order = (rn_infill_order)h->order;
    for (size_t i = 0; i < h->n_others; i++)
        h->files[i] = (rn_infill_file){.name = h->other_names[i],
                                       .text = h->others[i].data,
                                       .n_name = strlen(h->other_names[i]),
                                       .n_text = h->others[i].n};
    in->files = h->files, in->n_files = h->n_others;
}

void hole_free(hole *h) {
    for (size_t i = 0; i < HOLE_FILES; i++) bytes_free(&h->others[i]);
    bytes_free(&h->first);
    bytes_free(&h->second);
}
