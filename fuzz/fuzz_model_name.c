// fuzz/fuzz_model_name.c - names of models and the choice among files. The input's first line is a name, the others are files. A name that is
// taken is written and read again as itself; whatever is chosen lies below its folder, and what is opened is chosen.
#include "app/models/model_cache.h"
#include "app/numbers.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    enum { MOST = 4096, MOST_NAMES = 64 };
    static char text[MOST + 1];
    char *names[MOST_NAMES], why[MODEL_WHY];
    bool chosen[MOST_NAMES];
    model_ref ref, again;
    model_choice choice;
    size_t n_names = 0, n_chosen = 0;
    if (n > MOST) return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    char *const end = strchr(text, '\n');
    for (char *line = end; line && n_names < MOST_NAMES; line = strchr(line, '\n')) {
        *line++ = '\0';
        names[n_names++] = line;
    }
    if (!model_ref_parse(text, &ref, why)) return 0;
    bytes name = {0}, second = {0};
    model_ref_add(&ref, &name);
    must(model_ref_is(name.data) && model_ref_parse(name.data, &again, why));
    model_ref_add(&again, &second);
    must(strcmp(name.data, second.data) == 0);
    char *const place = model_cache_place(&ref);
    must(!strstr(place, "/../") && !strstr(place, "/./"));
    if (model_files_pick(&ref, (const char *const *)names, n_names, chosen, &choice, why)) {
        must(choice.first < n_names && chosen[choice.first]);
        for (size_t i = 0; i < n_names; i++) {
            must(!chosen[i] || model_path_is_safe(names[i]));
            n_chosen += chosen[i];
        }
        must(n_chosen == choice.n);
    }
    free(place);
    bytes_free(&second);
    bytes_free(&name);
    return 0;
}
