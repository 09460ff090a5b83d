// tests/formats/shard_index_test.c - folders in shards: an index that agrees with its files, and item 16 of the list of malformed inputs.
#include "base/mem.h"
#include "formats/folder/shard_index.h"
#include "formats/limits.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
#define INDEX   "model.safetensors.index.json"
#define NORM    "model.norm.weight"

// The sound model in two shards: b.safetensors holds the final norm, a.safetensors the rest.
static uint8_t *shard_a(size_t *n) {
    struct st_builder b;
    st_begin(&b);
    b.omit = NORM;
    st_model(&b);
    return st_finish(&b, n);
}
static uint8_t *shard_b(size_t *n) {
    struct st_builder b;
    st_begin(&b);
    st_tensor(&b, NORM, 1, 8, 0);
    return st_finish(&b, n);
}

// The index: one entry replaced by `instead`, which may be empty; free() it.
static char *index_with(const char *tensor, const char *instead) {
    static const char *const layer[] = {"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                                        "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                                        "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
    struct gb_bytes text = {0};
    char name[128], entry[256];
    gb_put(&text, "{\"metadata\":{},\"weight_map\":{", 29);
    for (size_t i = 0; i < N(layer) + 2; i++) {
        if (i < N(layer))
            snprintf(name, sizeof name, "model.layers.0.%s.weight", layer[i]);
        else
            snprintf(name, sizeof name, "%s", i == N(layer) ? NORM : "model.embed_tokens.weight");
        int n =
            snprintf(entry, sizeof entry, "\"%s\":\"%s\",", name, i == N(layer) ? "b.safetensors" : "a.safetensors");
        if (tensor && strcmp(name, tensor) == 0) n = snprintf(entry, sizeof entry, "%s", instead);
        gb_put(&text, entry, (size_t)n);
    }
    text.n--; // the last comma
    gb_put(&text, "}}", 3);
    return (char *)text.data;
}

TEST(item_16_an_index_and_its_files_must_agree) {
    static const struct {
        const char *why, *tensor, *instead, *want;
    } rows[] = {
        {"sound", NULL, NULL, NULL},
        {"a missing shard", NORM, "\"" NORM "\":\"c.safetensors\",",
         "dir/c.safetensors: missing, though " INDEX " names it"},
        {"present, but unlisted", NORM, "",
         "dir/a.safetensors: tensor model.embed_tokens.weight: the index does not list it"},
        {"listed in another", NORM, "\"" NORM "\":\"a.safetensors\",",
         "dir: tensor " NORM ": listed in a.safetensors, which does not hold it"},
        {"the others listed in another", "model.embed_tokens.weight",
         "\"model.embed_tokens.weight\":\"b.safetensors\",",
         "dir/a.safetensors: tensor model.embed_tokens.weight: the index says that it lies in b.safetensors"},
        {"listed, but absent", NORM, "\"" NORM "\":\"b.safetensors\",\"lm_head.weight\":\"b.safetensors\",",
         "dir: tensor lm_head.weight: listed in b.safetensors, which does not hold it"},
        {"listed twice", NORM, "\"" NORM "\":\"b.safetensors\",\"" NORM "\":\"a.safetensors\",",
         "member \"" NORM "\" is given twice"},
        {"a number for a file", NORM, "\"" NORM "\":1,",
         "dir/" INDEX ": member weight_map: " NORM ": is a number, must be a file name"},
        {"an empty file name", NORM, "\"" NORM "\":\"\",", "member weight_map: " NORM ": a name of 0 bytes: 1..256"},
        {"an empty tensor name", NORM, "\"\":\"b.safetensors\",", "member weight_map: a name of 0 bytes: 1..256"},
        {"a NUL in a file name", NORM, "\"" NORM "\":\"b.safe\\u0000\",", "a NUL byte in a name"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        size_t n_a, n_b;
        uint8_t *a = shard_a(&n_a), *b = shard_b(&n_b);
        char *index = index_with(rows[i].tensor, rows[i].instead);
        if (i == 2)
            memmove(strstr(index, ",\"model.embed_tokens.weight"), "}}", 3); // leaves the embedding out as well
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
                                              {INDEX, (const uint8_t *)index, strlen(index)},
                                              {"a.safetensors", a, n_a},
                                              {"b.safetensors", b, n_b}};
        package *p = NULL;
        rn_error err = {0};
        const long live = mem_live();
        const rn_status st = package_from_folder_bytes("dir", files, N(files), &p, &err);
        check_note("%s", rows[i].why);
        CHECK((st == RN_OK) == (rows[i].want == NULL));
        if (rows[i].want) CHECK_HAS(err.text, rows[i].want);
        if (p) {
            CHECK_INT(package_n_files(p), 2);
            CHECK_STR(package_format(p), "safetensors in 2 shards");
            CHECK_STR(package_tensor_at(p, 0)->name,
                      "token_embd.weight"); // of a.safetensors, whatever the index's order
        }
        package_close(p);
        CHECK_INT(mem_live(), live);
        free(a), free(b), free(index);
    }
}

TEST(item_16_two_shards_with_one_tensor_are_refused_whichever_the_index_names) {
    for (int named = 0; named < 2; named++) {
        struct st_builder whole;
        size_t n_a, n_b;
        st_begin(&whole);
        st_model(&whole);
        uint8_t *a = st_finish(&whole, &n_a), *b = shard_b(&n_b);
        char *index = index_with(NORM, named ? "\"" NORM "\":\"a.safetensors\",\"x\":\"b.safetensors\","
                                             : "\"" NORM "\":\"b.safetensors\",");
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
                                              {INDEX, (const uint8_t *)index, strlen(index)},
                                              {"a.safetensors", a, n_a},
                                              {"b.safetensors", b, n_b}};
        package *p = NULL;
        rn_error err = {0};
        CHECK_FAILS(package_from_folder_bytes("dir", files, N(files), &p, &err), RN_E_FORMAT, &err);
        CHECK_STR(err.text, named ? "dir/b.safetensors: tensor " NORM ": the index says that it lies in a.safetensors"
                                  : "dir/a.safetensors: tensor " NORM
                                    ": the index says that it lies in b.safetensors");
        free(a), free(b), free(index);
    }
}

TEST(item_16_an_index_that_is_none_is_refused) {
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{", "dir/" INDEX ": not JSON"},
        {"[]", "dir/" INDEX ": member weight_map: missing, empty, or no object"},
        {"{}", "member weight_map: missing, empty, or no object"},
        {"{\"weight_map\":{}}", "member weight_map: missing, empty, or no object"},
        {"{\"weight_map\":[]}", "member weight_map: missing, empty, or no object"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
                                              {INDEX, (const uint8_t *)rows[i].text, strlen(rows[i].text)}};
        package *p = NULL;
        rn_error err = {0};
        check_note("%s", rows[i].text);
        CHECK_FAILS(package_from_folder_bytes("dir", files, 2, &p, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, rows[i].want);
    }
}

static rn_status read_shards(size_t n_shards, size_t n_tensors, rn_error *err) {
    struct gb_bytes text = {0};
    struct shard_index x = {0};
    struct arena mem = {0};
    char entry[64];
    gb_put(&text, "{\"weight_map\":{", 15);
    for (size_t i = 0; i < n_tensors; i++)
        gb_put(&text, entry, (size_t)sprintf(entry, "%s\"t%zu\":\"s%zu\"", i ? "," : "", i, i % n_shards));
    gb_put(&text, "}}", 2);
    const rn_status st = shard_index_read(&x, (const char *)text.data, text.n, &mem, err);
    if (st == RN_OK) CHECK(x.n_shards == n_shards && x.n_entries == n_tensors);
    for (size_t i = 1; st == RN_OK && i < x.n_shards; i++) CHECK(strcmp(x.shards[i - 1], x.shards[i]) < 0);
    arena_free(&mem);
    free(text.data);
    return st;
}

TEST(shards_and_tensors_of_an_index_are_read_up_to_their_limits) {
    rn_error err = {0};
    CHECK_OK(read_shards(SAFETENSORS_MAX_SHARDS - 1, 2000, &err), &err);
    CHECK_OK(read_shards(SAFETENSORS_MAX_SHARDS, 2000, &err), &err);
    CHECK_FAILS(read_shards(SAFETENSORS_MAX_SHARDS + 1, 2000, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "more than 1024 shards");
    CHECK_OK(read_shards(3, SAFETENSORS_MAX_TENSORS, &err), &err);
    CHECK_FAILS(read_shards(3, SAFETENSORS_MAX_TENSORS + 1, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "member weight_map: 65537 tensors, limit 65536");
}

TEST(an_index_is_read_up_to_its_limit_of_bytes) {
    char *index = index_with(NULL, NULL), *padded = malloc(FOLDER_MAX_INDEX_BYTES + 1);
    size_t n_a, n_b;
    uint8_t *a = shard_a(&n_a), *b = shard_b(&n_b);
    if (!padded) abort();
    memset(padded, ' ', FOLDER_MAX_INDEX_BYTES + 1);
    memcpy(padded, index, strlen(index));
    for (size_t n = FOLDER_MAX_INDEX_BYTES - 1; n <= FOLDER_MAX_INDEX_BYTES + 1; n++) {
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
                                              {INDEX, (const uint8_t *)padded, n},
                                              {"a.safetensors", a, n_a},
                                              {"b.safetensors", b, n_b}};
        package *p = NULL;
        rn_error err = {0};
        check_note("%zu bytes", n);
        CHECK_INT(package_from_folder_bytes("dir", files, N(files), &p, &err),
                  n <= FOLDER_MAX_INDEX_BYTES ? RN_OK : RN_E_LIMIT);
        if (!p) CHECK_STR(err.text, "dir/" INDEX ": 16777217 bytes, limit 16777216");
        package_close(p);
    }
    free(a), free(b), free(index), free(padded);
}

// ---- on disk --------------------------------------------------------------------------------------------------------

static void path_at(char out[600], const char *folder, const char *name) {
    snprintf(out, 600, "%s/%s%s%s", temp_dir(), folder, *name ? "/" : "", name);
}
static bool put(const char *folder, const char *name, const void *bytes, size_t n) {
    char path[600];
    path_at(path, folder, name);
    return CHECK(write_file(path, bytes, n));
}

// b.safetensors is left for the test to put there; the index names `shard` in its place.
static bool make_folder(const char *folder, const char *shard) {
    char path[600], entry[300];
    size_t n;
    path_at(path, folder, "");
    snprintf(entry, sizeof entry, "\"" NORM "\":\"%s\",", shard);
    char *index = index_with(NORM, entry);
    uint8_t *a = shard_a(&n);
    const bool ok = CHECK(mkdir(path, 0700) == 0) &&
                    put(folder, "config.json", folder_config, strlen(folder_config)) &&
                    put(folder, INDEX, index, strlen(index)) && put(folder, "a.safetensors", a, n);
    free(index);
    free(a);
    return ok;
}
static bool put_b(const char *folder, const char *name) {
    size_t n;
    uint8_t *b = shard_b(&n);
    const bool ok = put(folder, name, b, n);
    free(b);
    return ok;
}

static void check_opens(const char *folder, const char *want) {
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    path_at(path, folder, "");
    const rn_status st = package_open(path, NULL, &p, &err);
    check_note("%s: %s", folder, err.text);
    CHECK((st == RN_OK) == (want == NULL));
    if (want) CHECK_HAS(err.text, want);
    package_close(p);
}

TEST(item_16_names_of_shards_stay_in_the_folder) {
    static const struct {
        const char *folder, *shard, *want;
    } rows[] = {
        {"up", "../b.safetensors", "up: \"../b.safetensors\" is not a plain file name"},
        {"absolute", "/etc/passwd", "absolute: \"/etc/passwd\" is not a plain file name"},
        {"below", "sub/b.safetensors", "below: \"sub/b.safetensors\" is not a plain file name"},
        {"itself", ".", "itself: \".\" is not a plain file name"},
        {"parent", "..", "parent: \"..\" is not a plain file name"},
    };
    put_b(".", "b.safetensors");
    for (size_t i = 0; i < N(rows); i++)
        if (make_folder(rows[i].folder, rows[i].shard)) check_opens(rows[i].folder, rows[i].want);
}

TEST(item_16_links_of_shards_stay_in_the_folder) {
    char path[600];
    if (!make_folder("inside", "b.safetensors") || !make_folder("outside", "b.safetensors") ||
        !make_folder("gone", "b.safetensors"))
        return;
    put_b("inside", "c.safetensors");
    path_at(path, "inside", "b.safetensors");
    CHECK(symlink("c.safetensors", path) == 0);
    check_opens("inside", NULL);
    path_at(path, "outside", "b.safetensors");
    CHECK(symlink("../inside/c.safetensors", path) == 0);
    check_opens("outside", "outside: b.safetensors: is a symbolic link that leaves the folder");
    path_at(path, "gone", "b.safetensors");
    CHECK(symlink("d.safetensors", path) == 0);
    check_opens("gone", "gone: b.safetensors: is a symbolic link to a missing file");
}

// The shape of a Hugging Face cache: every file of a snapshot is a link to a blob.
TEST(a_snapshot_in_a_hugging_face_cache_opens) {
    static const char *const folders[] = {"hub", "hub/snapshots", "hub/blobs"};
    static const char *const names[] = {"config.json", INDEX, "a.safetensors", "b.safetensors"};
    char path[600], blob[600], link_path[600], target[100];
    for (size_t i = 0; i < N(folders); i++) {
        path_at(path, folders[i], "");
        CHECK(mkdir(path, 0700) == 0);
    }
    if (!make_folder("hub/snapshots/r1", "b.safetensors") || !put_b("hub/snapshots/r1", "b.safetensors")) return;
    for (size_t i = 0; i < N(names); i++) {
        snprintf(target, sizeof target, "../../blobs/blob%zu", i);
        path_at(link_path, "hub/snapshots/r1", names[i]);
        path_at(blob, "hub/blobs", strrchr(target, '/') + 1);
        CHECK(rename(link_path, blob) == 0 && symlink(target, link_path) == 0);
    }
    check_opens("hub/snapshots/r1", NULL);
}

struct seen {
    uint64_t done, total;
    int n;
};
static bool watch(void *user, uint64_t done, uint64_t total) {
    struct seen *s = user;
    CHECK(done >= s->done && done <= total && (s->n == 0 || total == s->total));
    *s = (struct seen){done, total, s->n + 1};
    return false;
}
static bool stop_at_second(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return ++*(int *)user == 2;
}

TEST(progress_over_shards_goes_to_the_sum_of_their_bytes_and_may_stop_in_between) {
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    struct seen s = {0};
    size_t n_a, n_b;
    int n_calls = 0;
    free(shard_a(&n_a));
    free(shard_b(&n_b));
    if (!make_folder("watched", "b.safetensors") || !put_b("watched", "b.safetensors")) return;
    path_at(path, "watched", "");
    CHECK_OK(package_open(path, &(struct package_options){FILE_LOAD_READ, watch, &s}, &p, &err), &err);
    CHECK(s.n == 2 && s.done == n_a + n_b && s.total == n_a + n_b);
    package_close(p);
    const long live = mem_live();
    CHECK_FAILS(package_open(path, &(struct package_options){FILE_LOAD_MAP, stop_at_second, &n_calls}, &p, &err),
                RN_E_CANCELLED, &err);
    CHECK_INT(mem_live(), live);
}

static rn_status open_and_close(void *path) {
    package *p = NULL;
    const rn_status st = package_open(path, NULL, &p, NULL);
    package_close(p);
    return st;
}

TEST(any_failed_allocation_over_shards_is_reported_and_leaks_nothing) {
    char path[600];
    path_at(path, "nomem", "");
    if (make_folder("nomem", "b.safetensors") && put_b("nomem", "b.safetensors"))
        check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__);
}
