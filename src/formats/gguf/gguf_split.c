// formats/gguf/gguf_split.c - see gguf_split.h.
#include "formats/gguf/gguf_split.h"
#include "formats/gguf/gguf_meta.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// "-00001-of-00003.gguf"
enum { DIGITS = 5, SUFFIX_BYTES = 1 + DIGITS + 4 + DIGITS + 5 };

static bool read_digits(const char *s, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < DIGITS; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        *out = *out * 10 + (uint32_t)(s[i] - '0');
    }
    return true;
}

// Is this the name of one of several parts? If so, sets *count to their number and *n_prefix to the
// bytes before the suffix.
static bool is_part(const char *path, size_t *n_prefix, uint32_t *count) {
    const size_t n = strlen(path);
    uint32_t no;
    if (n < SUFFIX_BYTES) return false;
    *n_prefix = n - SUFFIX_BYTES;
    const char *s = path + *n_prefix;
    return s[0] == '-' && read_digits(s + 1, &no) && memcmp(s + 1 + DIGITS, "-of-", 4) == 0 &&
           read_digits(s + 5 + DIGITS, count) && strcmp(s + 5 + 2 * DIGITS, ".gguf") == 0 && *count > 1 && no >= 1 &&
           no <= *count;
}

static const char *part_path(struct package *p, size_t n_prefix, uint32_t no, uint32_t count) {
    const size_t n = n_prefix + SUFFIX_BYTES;
    char *path = arena_alloc(&p->arena, n + 1);
    if (path) snprintf(path, n + 1, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)n_prefix, p->path, no, count);
    return path;
}

rn_status gguf_open_parts(struct package *p, const struct package_options *o, rn_error *err) {
    size_t n_prefix;
    uint32_t count;
    if (!is_part(p->path, &n_prefix, &count)) return package_open_files(p, &p->path, 1, o, err);
    if (count > GGUF_MAX_PARTS)
        return fail(err, RN_E_LIMIT, "%s: is one of %" PRIu32 " parts, limit %d", package_shown_path(p->path), count,
                    GGUF_MAX_PARTS);
    const char **paths = arena_alloc(&p->arena, count * sizeof(const char *));
    bool ok = paths != NULL;
    for (uint32_t i = 0; ok && i < count; i++) ok = (paths[i] = part_path(p, n_prefix, i + 1, count)) != NULL;
    if (!ok) return fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(p->path));
    p->path = paths[0];
    return package_open_files(p, paths, count, o, err);
}

rn_status gguf_check_part(const struct gguf *g, const struct package *p, size_t i, size_t *n_tensors, rn_error *err) {
    int64_t count = 1, no = 0, total = 0;
    bool has_count, has_no;
    rn_status st = gguf_get_int(g, "split.count", 0, UINT16_MAX, &count, &has_count, err);
    if (st == RN_OK) st = gguf_get_int(g, "split.no", 0, UINT16_MAX, &no, &has_no, err);
    if (st != RN_OK) return st;
    *n_tensors = g->n_tensors;
    if (p->n_files == 1 && count <= 1) return RN_OK;
    if (p->n_files == 1)
        return fail(err, RN_E_UNSUPPORTED,
                    "key split.count: the file is part %" PRId64 " of %" PRId64
                    ", but its name does not end in -%05" PRId64 "-of-%05" PRId64
                    ".gguf, so the other parts cannot be found",
                    no + 1, count, no + 1, count);
    if (!has_count || count != (int64_t)p->n_files)
        return fail(err, RN_E_FORMAT, "key split.count: %" PRId64 ", where its name says %zu", has_count ? count : 0,
                    p->n_files);
    if (!has_no || no != (int64_t)i)
        return fail(err, RN_E_FORMAT, "key split.no: %" PRId64 " (from 0), where its name says %zu", has_no ? no : -1,
                    i);
    st = gguf_get_int(g, "split.tensors.count", 0, GGUF_MAX_TENSORS, &total, NULL, err);
    *n_tensors = (size_t)total;
    return st;
}
