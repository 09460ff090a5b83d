// tests/engine/infill_published_test.c - prompts with a hole have the token ids of the published prompt, as llama.cpp and mistral-common
// tokenize it (tests/cli/make_peer_infill.py).
#include "fixture.h"
#include <jansson.h>
#include <stdio.h>

static rn_model *open_vectors(const char *vocab) {
    char rel[128], path[512], command[1200];
    rn_model *m = NULL;
    rn_error err = {0};
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", vocab);
    const char *const packed = shared_path(rel);
    if (!packed) return test_skip("no shared material: set RUNNEL_SHARED"), NULL;
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), vocab);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
    if (system(command) != 0) return test_skip("no gzip"), NULL;
    rn_model_options opt;
    rn_model_options_init(&opt);
    opt.load = RN_LOAD_READ;
    CHECK_OK(rn_model_open(path, &opt, &m, &err), &err);
    remove(path);
    return m;
}

static void check_published(const rn_model *m, const json_t *c) {
    static const rn_infill_file files[] = {{"util/math.py", "PI = 3\n", 12, 7},
                                           {"README.md", "# Sums\n\nAdds.\n", 9, 14}};
    const json_t *const want = json_object_get(c, "ids");
    const char *const order = json_string_value(json_object_get(c, "order"));
    rn_infill in;
    rn_infill_prompt p = {sizeof p};
    rn_error err = {0};
    rn_infill_init(&in);
    in.prefix = json_string_value(json_object_get(c, "prefix")), in.n_prefix = strlen(in.prefix);
    in.suffix = json_string_value(json_object_get(c, "suffix")), in.n_suffix = strlen(in.suffix);
    in.order = strcmp(order, "spm") == 0 ? RN_INFILL_SPM : RN_INFILL_PSM;
    if (json_is_true(json_object_get(c, "files"))) {
        in.files = files, in.n_files = 2;
        in.repo_name = "sums", in.n_repo_name = 4, in.file_name = "main.py", in.n_file_name = 7;
    }
    check_note("%s %s '%s' '%s'", json_string_value(json_object_get(c, "vocab")), order, in.prefix, in.suffix);
    if (!CHECK_OK(rn_infill_make(m, &in, &p, &err), &err)) return;
    if (CHECK_INT(p.n_ids, json_array_size(want)))
        for (size_t i = 0; i < p.n_ids; i++) CHECK_INT(p.ids[i], json_integer_value(json_array_get(want, i)));
    rn_free(p.ids);
}

TEST(ids_are_those_of_the_published_prompt) {
    json_t *const cases = json_load_file(RUNNEL_SOURCE_DIR "/tests/engine/infill.json", 0, NULL);
    const char *open = "";
    rn_model *m = NULL;
    if (!CHECK(json_array_size(cases) > 80)) return;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *const c = json_array_get(cases, i);
        const char *const vocab = json_string_value(json_object_get(c, "vocab"));
        if (strcmp(vocab, open) != 0) {
            rn_model_close(m);
            if (!(m = open_vectors(vocab))) break;
            open = vocab;
        }
        check_published(m, c);
    }
    rn_model_close(m);
    json_decref(cases);
}
