// tests/tools/picture_bytes.c - what src/media makes of pictures, for tests that compare it with another program.
//
// Commands come on stdin, a line each; an answer is a line, and bytes behind it where it says how many.
//   resize WIDTH HEIGHT NEW_WIDTH NEW_HEIGHT FILTER, then WIDTH * HEIGHT * 3 bytes  ->  as below, of the new size
//   decode PATH    ->  ok WIDTH HEIGHT FORMAT, then WIDTH * HEIGHT * 3 bytes; or: error CODE SENTENCE
#include "media/picture.h"
#include "media/resize.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

static uint8_t *read_whole(const char *path, size_t *n) {
    FILE *const f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    uint8_t *const data = malloc(*n + 1);
    if (data && fread(data, 1, *n, f) != *n) *n = 0;
    fclose(f);
    return data;
}

static void decode(const char *path) {
    struct picture p;
    rn_error err = {0};
    size_t n = 0;
    uint8_t *const file = read_whole(path, &n);
    if (!file) {
        printf("error %d %s: cannot be read\n", RN_E_IO, path);
        return;
    }
    const rn_status st = picture_decode(file, n, &p, &err);
    if (st == RN_OK) {
        printf("ok %u %u %s\n", p.width, p.height, p.format);
        fwrite(p.rgb, 3, (size_t)p.width * p.height, stdout);
    } else {
        printf("error %d %s\n", (int)st, err.text);
    }
    picture_free(&p);
    free(file);
}

static void resize(const char *numbers) {
    unsigned w, h, to_w, to_h, filter;
    if (sscanf(numbers, "%u %u %u %u %u", &w, &h, &to_w, &to_h, &filter) != 5 || filter >= RESIZE_N_FILTERS) {
        printf("error %d resize %s: not five numbers\n", RN_E_ARG, numbers);
        return;
    }
    const size_t n = (size_t)3 * w * h, n_to = (size_t)3 * to_w * to_h;
    uint8_t *const from = malloc(n), *const to = malloc(n_to);
    if (from && to && fread(from, 1, n, stdin) == n &&
        resize_rgb(from, w, h, (enum resize_filter)filter, to, to_w, to_h, NULL) == RN_OK) {
        printf("ok %u %u\n", to_w, to_h);
        fwrite(to, 1, n_to, stdout);
    } else {
        printf("error %d resize\n", RN_E_NOMEM);
    }
    free(from);
    free(to);
}

int main(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "decode ", 7) == 0)
            decode(line + 7);
        else if (strncmp(line, "resize ", 7) == 0)
            resize(line + 7);
        else
            printf("error %d %s: unknown\n", RN_E_ARG, line);
        fflush(stdout);
    }
    return 0;
}
