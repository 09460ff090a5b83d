// tests/engine/folder_test.c - a Hugging Face folder behind the public API: token ids in and out, its end tokens, what is said of it.
#include "tests/check.h"
#include "tests/engine/fixture.h"
#include "tests/support/folder_builder.h"
#include <sys/stat.h>

static char logged[512];
static void keep_log(void *user, rn_log_level level, const char *text) {
    (void)user;
    CHECK_INT(level, RN_LOG_WARN);
    snprintf(logged, sizeof logged, "%s", text);
}

// The sound folder of folder_builder.h, ended by token 2 and by those of generation_config.json.
static bool write_folder(char path[512], const char *name, const char *generation) {
    static const char *const names[] = {"config.json", "model.safetensors", "generation_config.json"};
    struct st_builder b;
    size_t n;
    char file[600];
    char *config = folder_config_with("\"rope_scaling\"", "\"auto_map\": {}, \"rope_scaling\"");
    st_begin(&b);
    b.dtype = "BF16"; // counted bits: all but nothing as numbers, so that token 0 is always the likeliest
    st_model(&b);
    uint8_t *weights = st_finish(&b, &n);
    const void *const bytes[] = {config, weights, generation};
    const size_t sizes[] = {strlen(config), n, strlen(generation)};
    snprintf(path, 512, "%s/%s", temp_dir(), name);
    bool ok = CHECK(mkdir(path, 0700) == 0);
    for (int i = 0; ok && i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        ok = CHECK(write_file(file, bytes[i], sizes[i]));
    }
    free(config);
    free(weights);
    return ok;
}

static bool open_folder(struct fixture *f, const char *path) {
    rn_error err = {0};
    rn_model_options mo;
    const rn_engine_options eo = engine_options();
    rn_model_options_init(&mo);
    mo.log = keep_log;
    *f = (struct fixture){0};
    return CHECK_OK(rn_model_open(path, &mo, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &eo, &f->engine, &err), &err);
}

static rn_request ids_request(const int32_t *ids, size_t n) {
    static rn_part part;
    rn_request r = text_request("");
    part = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = n};
    r.parts = &part;
    r.n_parts = 1;
    r.max_tokens = 6;
    return r;
}

TEST(a_folder_without_a_tokenizer_takes_token_ids_and_stops_at_its_end_tokens) {
    static const int32_t ids[] = {1, 5, 9};
    char path[512];
    struct fixture f;
    struct outcome free_run = {0}, stopped = {0};
    const rn_request r = ids_request(ids, 3);
    if (!write_folder(path, "free", "{}")) return;
    const bool ran = open_folder(&f, path) && run_request(f.engine, &r, &free_run);
    fixture_close(&f);
    check_note("%s", free_run.detail);
    if (!ran || !CHECK_INT(free_run.n_tokens, 6) || !CHECK_INT(free_run.tokens[0], 0)) return;
    if (!write_folder(path, "stopped", "{\"eos_token_id\": [3, 0]}")) return;
    if (open_folder(&f, path) && run_request(f.engine, &r, &stopped)) CHECK_INT(stopped.finish, RN_FINISH_STOP);
    CHECK(stopped.n_tokens <= 1);
    fixture_close(&f);
}

TEST(a_folder_says_what_it_is_and_what_was_left_aside) {
    char path[512];
    struct fixture f;
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (!write_folder(path, "told", "{\"eos_token_id\": [7, 2]}") || !open_folder(&f, path)) return;
    CHECK_STR(logged,
              "config.json: member auto_map: the model needs Python code of its own, which runnel does not run");
    if (CHECK_OK(rn_model_get_info(f.model, &info, &err), &err)) {
        CHECK_STR(info.format, "safetensors");
        CHECK_STR(info.name, "told");
        CHECK(info.has_weights && !info.has_tokenizer && info.n_vocab == 16);
        CHECK(info.file_bytes > 0 && info.mapped_bytes == info.file_bytes);
        CHECK_INT(info.n_end_tokens, 2);
        CHECK(info.end_tokens[0].id == 2 && info.end_tokens[1].id == 7);
        CHECK_STR(info.end_tokens[1].text, "");
    }
    fixture_close(&f);
}
