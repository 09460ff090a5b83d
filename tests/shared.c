// tests/shared.c - where tests find reference material and put temporary files; see check.h.
#include "tests/check.h"
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *join(const char *dir, const char *rel) {
    static char paths[8][1024];
    static unsigned turn;
    char *p = paths[turn++ % 8];
    snprintf(p, sizeof paths[0], "%s/%s", dir, rel);
    return p;
}

const char *shared_dir(void) {
    const char *dir = getenv("RUNNEL_SHARED");
    if (!dir) dir = RUNNEL_SOURCE_DIR "/../shared";
    return access(join(dir, "goldens"), R_OK) == 0 ? dir : NULL;
}

const char *shared_path(const char *rel) {
    const char *dir = shared_dir();
    const char *path = dir ? join(dir, rel) : NULL;
    return path && access(path, R_OK) == 0 ? path : NULL;
}

const char *tests_path(const char *rel) { return join(RUNNEL_SOURCE_DIR "/tests", rel); }

static char temp[256];
static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}
static void remove_temp(void) { nftw(temp, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

const char *temp_dir(void) {
    if (temp[0]) return temp;
    const char *base = getenv("TMPDIR");
    snprintf(temp, sizeof temp, "%s/runnel-test.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(temp)) abort();
    atexit(remove_temp);
    return temp;
}

uint8_t *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    check_note("%s", path);
    if (!CHECK(f != NULL)) return NULL;
    check_note("%s", "");
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc((size_t)size + 1);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) abort();
    fclose(f);
    data[size] = 0;
    if (n) *n = (size_t)size;
    return data;
}

bool write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    const bool ok = fwrite(data, 1, n, f) == n;
    return fclose(f) == 0 && ok;
}
