// app/watermark_form.c - see watermark_form.h.
#include "app/watermark_form.h"
#include "app/bytes.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int64_t SAFE = INT64_C(9007199254740991);

void watermark_form_copy(watermark_form *to, const watermark_form *from) {
    *to = *from;
    if (to->is_given) to->w.keys = to->keys;
}

static bool set_keys(watermark_form *f, const json_item *value, char *why) {
    if (!json_item_is_array(value) || json_item_count(value) < 1 || json_item_count(value) > WATERMARK_KEYS) {
        snprintf(why, JSON_WHY / 2, "keys: must be an array of 1..%d whole numbers", WATERMARK_KEYS);
        return false;
    }
    f->w.keys = f->keys;
    f->w.n_keys = json_item_count(value);
    for (size_t i = 0; i < f->w.n_keys; i++)
        if (!json_item_whole(json_item_at(value, i), -SAFE, SAFE, &f->keys[i], why)) return false;
    return true;
}

static bool set_debug(const json_item *value, char *why) {
    bool is_on;
    if (!json_item_bool(value, &is_on, why)) return false;
    if (is_on) snprintf(why, JSON_WHY / 2, "debug_mode: must be false");
    return !is_on;
}

// Names the member that the reason is about.
static bool fail_named(const char *name, char *why) {
    char text[JSON_WHY / 2];
    snprintf(text, sizeof text, "%s", why);
    snprintf(why, JSON_WHY / 2, "%.40s: %.200s", name, text);
    return false;
}

static bool set_member(void *target, size_t i, const char *key, const json_item *value, char *why) {
    watermark_form *const f = target;
    const struct {
        const char *name;
        int32_t *to;
        int64_t min, max;
    } numbers[] = {{"ngram_len", &f->w.ngram_len, 2, 64},
                   {"context_history_size", &f->w.context_history_size, 0, 1000000},
                   {"sampling_table_size", &f->w.sampling_table_size, 1, 1048576}};
    int64_t v;
    (void)i;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (strcmp(key, numbers[k].name) != 0) continue;
        if (!json_item_whole(value, numbers[k].min, numbers[k].max, &v, why)) return fail_named(key, why);
        *numbers[k].to = (int32_t)v;
        return true;
    }
    if (strcmp(key, "keys") == 0) return set_keys(f, value, why);
    if (strcmp(key, "debug_mode") == 0) return set_debug(value, why);
    if (strcmp(key, "skip_first_ngram_calls") == 0)
        return json_item_bool(value, &f->w.skip_first_ngram_calls, why) || fail_named(key, why);
    if (strcmp(key, "sampling_table_seed") == 0) {
        if (!json_item_whole(value, 0, SAFE, &v, why)) return fail_named(key, why);
        f->w.sampling_table_seed = (uint64_t)v;
        return true;
    }
    snprintf(why, JSON_WHY / 2, "unknown member '%.60s'", key);
    return false;
}

bool watermark_form_set(watermark_form *f, const json_item *value, char *why) {
    f->is_given = true;
    rn_watermark_init(&f->w);
    if (!json_item_each(value, set_member, f, why)) return false;
    if (f->w.n_keys > 0) return true;
    snprintf(why, JSON_WHY / 2, "keys: missing");
    return false;
}

static bool each_watermark(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return watermark_form_set(target, value, why);
}

bool watermark_form_read(watermark_form *f, const char *path, char *why) {
    enum { LIMIT = 65536 };
    static const member row = {"watermark", MEMBER_EACH, .each = each_watermark};
    const member_group group = {&row, 1, f};
    static const char before[] = "{\"watermark\":";
    char text[sizeof before + LIMIT + 1], reason[JSON_WHY];
    json_doc *doc = NULL;
    FILE *const file = fopen(path, "rb");
    if (!file) {
        snprintf(why, JSON_WHY / 2, "%.100s: %s", path, strerror(errno));
        return false;
    }
    memcpy(text, before, sizeof before - 1);
    size_t n = sizeof before - 1;
    n += fread(text + n, 1, LIMIT, file);
    const bool is_read = !ferror(file) && n < sizeof before - 1 + LIMIT;
    fclose(file);
    text[n++] = '}';
    snprintf(reason, sizeof reason, "cannot be read, or is longer than %d bytes", LIMIT - 1);
    const bool ok = is_read && json_doc_parse(text, n, &doc, reason) && json_doc_read(doc, &group, 1, reason);
    json_doc_free(doc);
    if (!ok) snprintf(why, JSON_WHY / 2, "%.80s: %.150s", path, reason);
    return ok;
}
