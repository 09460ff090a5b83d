// app/numbers.c - strtoll() and strtod() behind a check of every character.
#include "app/numbers.h"
#include "app/say.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IDS 4194304u

// Restricts the characters: strtod() and strtoll() accept leading spaces, "inf", "nan" and hexadecimal, which
// are not allowed here.
static bool made_of(const char *text, const char *allowed) { return *text && text[strspn(text, allowed)] == '\0'; }

bool number_read_whole(const char *text, int64_t min, int64_t max, int64_t *value, char *why) {
    char *end = NULL;
    errno = 0;
    const long long v = made_of(text, "+-0123456789") ? strtoll(text, &end, 10) : 0;
    if (!end || *end) {
        snprintf(why, NUMBER_WHY, "'%.100s' is not a whole number (%" PRId64 "..%" PRId64 ")", text, min, max);
        return false;
    }
    if (errno == ERANGE || v < min || v > max) {
        snprintf(why, NUMBER_WHY, "%.100s is outside %" PRId64 "..%" PRId64, text, min, max);
        return false;
    }
    *value = v;
    return true;
}

bool number_read_u64(const char *text, uint64_t *value, char *why) {
    char *end = NULL;
    errno = 0;
    const unsigned long long v = made_of(text, "0123456789") ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno == ERANGE) {
        snprintf(why, NUMBER_WHY, "'%.100s' is not a whole number (0..%" PRIu64 ")", text, UINT64_MAX);
        return false;
    }
    *value = v;
    return true;
}

bool number_check(double value, double min, double max, bool is_whole, char *why) {
    if (is_whole && value != floor(value)) {
        snprintf(why, NUMBER_WHY, "%.10g is not a whole number (%.10g..%.10g)", value, min, max);
        return false;
    }
    if (!(value >= min && value <= max)) { // written so that NaN fails too
        snprintf(why, NUMBER_WHY, "%.10g is outside %.10g..%.10g", value, min, max);
        return false;
    }
    return true;
}

bool number_read_real(const char *text, double min, double max, double *value, char *why) {
    char *end = NULL;
    const double v = made_of(text, "+-.0123456789eE") ? strtod(text, &end) : 0;
    if (!end || *end || !isfinite(v)) {
        snprintf(why, NUMBER_WHY, "'%.100s' is not a number (%.10g..%.10g)", text, min, max);
        return false;
    }
    if (!number_check(v, min, max, false, why)) return false;
    *value = v;
    return true;
}

static bool is_gap(char c) { return strchr(" \t\r\n,", c) && c; }

bool id_list_read(const char *text, size_t n_text, id_list *list, char *why) {
    size_t n_room = 0, at = 0;
    *list = (id_list){0};
    while (n_text && is_gap(text[n_text - 1])) n_text--;
    while (at < n_text && is_gap(text[at])) at++;
    if (n_text - at >= 2 && text[at] == '[' && text[n_text - 1] == ']') at++, n_text--;
    for (;;) {
        while (at < n_text && is_gap(text[at])) at++;
        if (at == n_text) return true;
        char word[32] = "";
        const size_t begin = at;
        while (at < n_text && !is_gap(text[at])) at++;
        snprintf(word, sizeof word, "%.*s", (int)(at - begin < sizeof word ? at - begin : sizeof word), text + begin);
        if (strlen(word) != at - begin) { // too long for any id, or with a NUL in it
            snprintf(why, NUMBER_WHY, "'%s...' is not a token id", word);
            break;
        }
        int64_t id;
        if (!number_read_whole(word, 0, INT32_MAX, &id, why)) break;
        if (list->n == MAX_IDS) {
            snprintf(why, NUMBER_WHY, "more than %u ids", MAX_IDS);
            break;
        }
        if (list->n == n_room) {
            n_room = n_room ? n_room * 2 : 64;
            list->ids = app_realloc(list->ids, n_room * sizeof *list->ids);
        }
        list->ids[list->n++] = (int32_t)id;
    }
    free(list->ids);
    *list = (id_list){0};
    return false;
}
