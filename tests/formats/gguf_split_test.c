// tests/formats/gguf_split_test.c - GGUF models in several files: found by any part's name, checked against each other (items 5, 6).
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/tiny_model.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
enum { N_PARTS = 3 };

static package *open_whole(uint8_t **bytes) {
    struct tiny_model m = tiny_model_default();
    package *p = NULL;
    rn_error err = {0};
    size_t n;
    *bytes = tiny_model_bytes(&m, &n);
    CHECK_OK(package_from_bytes("whole.gguf", *bytes, n, &p, &err), &err);
    return p;
}

static void put_keys(struct gguf_builder *b, const struct hparams *h) {
    gb_str(b, "general.architecture", h->arch);
    gb_u32(b, "llama.block_count", (uint32_t)h->n_layer);
    gb_u32(b, "llama.context_length", (uint32_t)h->n_ctx_train);
    gb_u32(b, "llama.embedding_length", (uint32_t)h->n_embd);
    gb_u32(b, "llama.feed_forward_length", (uint32_t)h->n_ff);
    gb_u32(b, "llama.attention.head_count", (uint32_t)h->n_head);
    gb_u32(b, "llama.attention.head_count_kv", (uint32_t)h->n_head_kv);
    gb_f32(b, "llama.attention.layer_norm_rms_epsilon", h->norm_eps);
}

// What a part says of itself; -1: its key is absent. The tensors of the whole model go round the parts.
struct part {
    int no, count, n_tensors;
};
// also: a tensor beside them; NULL: none.
static bool write_part(const char *path, const package *whole, int i, struct part keys, const char *also) {
    struct gguf_builder b;
    size_t n;
    gb_begin(&b, 3);
    if (i == 0) put_keys(&b, package_hparams(whole));
    if (keys.no >= 0) gb_u16(&b, "split.no", (uint16_t)keys.no);
    if (keys.count >= 0) gb_u16(&b, "split.count", (uint16_t)keys.count);
    if (keys.n_tensors >= 0) gb_i32(&b, "split.tensors.count", keys.n_tensors);
    for (size_t t = (size_t)i; t < package_n_tensors(whole); t += N_PARTS) {
        const struct tensor_view *v = package_tensor_at(whole, t);
        gb_tensor(&b, v->name, 0, (uint32_t)v->n_dims, v->ne, v->data, v->n_bytes);
    }
    if (also) gb_tensor(&b, also, 0, 1, (const uint64_t[]){8}, NULL, 32);
    uint8_t *bytes = gb_finish(&b, &n);
    const bool ok = CHECK(write_file(path, bytes, n));
    free(bytes);
    return ok;
}

static void part_path(char out[600], const char *name, int no, int count) {
    snprintf(out, 600, "%s/%s-%05d-of-%05d.gguf", temp_dir(), name, no, count);
}

// All parts; the one numbered `odd` says `keys` of itself.
static bool write_parts(const char *name, int odd, struct part keys) {
    uint8_t *bytes;
    package *whole = open_whole(&bytes);
    bool ok = whole != NULL;
    for (int i = 0; ok && i < N_PARTS; i++) {
        char path[600];
        const struct part sound = {i, N_PARTS, (int)package_n_tensors(whole)};
        part_path(path, name, i + 1, N_PARTS);
        ok = write_part(path, whole, i, i == odd ? keys : sound, NULL);
    }
    package_close(whole);
    free(bytes);
    return ok;
}

TEST(any_part_opens_the_whole_model) {
    uint8_t *bytes;
    char first[600];
    if (!write_parts("sound", -1, (struct part){0})) return;
    package *whole = open_whole(&bytes);
    part_path(first, "sound", 1, N_PARTS);
    for (int i = 1; i <= N_PARTS; i++) {
        char path[600];
        package *p = NULL;
        rn_error err = {0};
        part_path(path, "sound", i, N_PARTS);
        check_note("part %d", i);
        if (!CHECK_OK(package_open(path, NULL, &p, &err), &err)) continue;
        CHECK_STR(package_path(p), first);
        CHECK_STR(package_format(p), "GGUF v3 in 3 parts");
        CHECK_INT(package_n_files(p), N_PARTS);
        CHECK_INT(package_made_bytes(p), 0);
        CHECK(package_hparams(p)->is_checked && package_hparams(p)->n_layer == 2);
        CHECK_INT(package_n_tensors(p), package_n_tensors(whole));
        for (size_t t = 0; t < package_n_tensors(whole); t++) {
            const struct tensor_view *want = package_tensor_at(whole, t), *got = package_tensor(p, want->name);
            CHECK(got && got->n_bytes == want->n_bytes && memcmp(got->data, want->data, want->n_bytes) == 0);
        }
        package_close(p);
    }
    package_close(whole);
    free(bytes);
}

TEST(item_5_split_keys_that_contradict_file_names_or_each_other_are_refused) {
    static const struct {
        const char *why;
        int odd;
        struct part keys;
        const char *want;
    } rows[] = {
        {"a part that says another number",
         1,
         {2, 3, 20},
         "00002-of-00003.gguf: key split.no: 2 (from 0), where its name says 1"},
        {"the first says it is the second",
         0,
         {1, 3, 20},
         "00001-of-00003.gguf: key split.no: 1 (from 0), where its name says 0"},
        {"another count", 2, {2, 4, 20}, "00003-of-00003.gguf: key split.count: 4, where its name says 3"},
        {"a part of nothing", 1, {1, 0, 20}, "key split.count: 0, where its name says 3"},
        {"no count", 1, {1, -1, 20}, "key split.count: 0, where its name says 3"},
        {"no number", 1, {-1, 3, 20}, "key split.no: -1 (from 0), where its name says 1"},
        {"no number of tensors", 0, {0, 3, -1}, "00001-of-00003.gguf: key split.tensors.count: missing"},
        {"another number of tensors",
         1,
         {1, 3, 21},
         "00002-of-00003.gguf: key split.tensors.count: 21, where the first part says 20"},
        {"too few of them", 0, {0, 3, 6}, "key split.tensors.count: 6, where the parts up to this one hold 7"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        char name[16], path[600];
        package *p = NULL;
        rn_error err = {0};
        snprintf(name, sizeof name, "bad%zu", i);
        if (!write_parts(name, rows[i].odd, rows[i].keys)) return;
        part_path(path, name, 1, N_PARTS);
        check_note("%s", rows[i].why);
        const long live = mem_live();
        CHECK(package_open(path, NULL, &p, &err) == RN_E_FORMAT && p == NULL);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_INT(mem_live(), live);
    }
}

// One tensor more than there are, in the third part; NULL: promised and not there.
static void check_one_more(const char *name, const char *also, const char *want) {
    char path[600];
    package *p = NULL, *whole;
    rn_error err = {0};
    uint8_t *bytes;
    if (!(whole = open_whole(&bytes))) return;
    const int n = (int)package_n_tensors(whole) + 1;
    for (int i = 0; i < N_PARTS; i++) {
        part_path(path, name, i + 1, N_PARTS);
        write_part(path, whole, i, (struct part){i, N_PARTS, n}, i == 2 ? also : NULL);
    }
    CHECK_FAILS(package_open(path, NULL, &p, &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, want);
    package_close(whole);
    free(bytes);
}

TEST(item_5_a_number_of_tensors_that_no_part_reaches_is_refused) {
    check_one_more("few", NULL, "few-00001-of-00003.gguf: key split.tensors.count: 21, where all parts hold 20");
}

TEST(item_6_a_tensor_in_two_parts_is_refused) {
    check_one_more("twice", "token_embd.weight",
                   "twice-00003-of-00003.gguf: tensor token_embd.weight: named twice (tensors 0 and 20)");
}

TEST(a_part_that_is_missing_or_no_gguf_is_named) {
    char path[600], third[600];
    package *p = NULL;
    rn_error err = {0};
    if (!write_parts("torn", -1, (struct part){0})) return;
    part_path(path, "torn", 2, N_PARTS);
    part_path(third, "torn", 3, N_PARTS);
    CHECK(write_file(third, "<html>", 6));
    CHECK_FAILS(package_open(path, NULL, &p, &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, "torn-00003-of-00003.gguf: not a GGUF file: it is a web page");
    CHECK(unlink(third) == 0);
    CHECK_FAILS(package_open(path, NULL, &p, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "torn-00003-of-00003.gguf: cannot be opened");
}

TEST(a_part_by_another_name_says_how_parts_are_found) {
    char path[600], other[600];
    package *p = NULL;
    rn_error err = {0};
    if (!write_parts("renamed", -1, (struct part){0})) return;
    part_path(path, "renamed", 2, N_PARTS);
    static const char *const names[] = {"part2.gguf", "renamed-2-of-3.gguf", "renamed-00002-of-00003.bin",
                                        "renamed-00004-of-00003.gguf", "renamed-00000-of-00003.gguf"};
    CHECK_FAILS(package_open(path, NULL, &p, &err), RN_OK, &err);
    package_close(p);
    snprintf(other, sizeof other, "%s/%s", temp_dir(), names[0]);
    CHECK(rename(path, other) == 0);
    for (size_t i = 0; i < N(names); i++) {
        snprintf(path, sizeof path, "%s/%s", temp_dir(), names[i]);
        CHECK(rename(other, path) == 0);
        memcpy(other, path, sizeof other);
        check_note("%s", names[i]);
        CHECK_FAILS(package_open(path, NULL, &p, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text,
                  "key split.count: the file is part 2 of 3, but its name does not end in -00002-of-00003.gguf");
    }
}

TEST(a_name_of_too_many_parts_is_refused_before_any_is_opened) {
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    part_path(path, "many", 1, 1024);
    CHECK_FAILS(package_open(path, NULL, &p, &err), RN_E_IO, &err);
    part_path(path, "many", 1, 1025);
    CHECK_FAILS(package_open(path, NULL, &p, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "many-00001-of-01025.gguf: is one of 1025 parts, limit 1024");
}

TEST(one_part_of_one_is_a_whole_file) {
    uint8_t *bytes;
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    struct tiny_model m = tiny_model_default();
    part_path(path, "single", 1, 1);
    if (!CHECK(tiny_model_write(&m, path))) return;
    CHECK_OK(package_open(path, NULL, &p, &err), &err);
    if (p) CHECK_STR(package_format(p), "GGUF v3");
    package_close(p);
    package_close(open_whole(&bytes));
    free(bytes);
}

TEST(every_part_is_watched) {
    char path[600];
    package *p = NULL;
    rn_error err = {0};
    if (!write_parts("watched", -1, (struct part){0})) return;
    part_path(path, "watched", 3, N_PARTS);
    if (!CHECK_OK(package_open(path, NULL, &p, &err), &err)) return;
    CHECK_OK(package_check_files(p, &err), &err);
    CHECK(truncate(path, 64) == 0);
    CHECK_FAILS(package_check_files(p, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "watched-00003-of-00003.gguf: shrank");
    package_close(p);
}

static rn_status open_and_close(void *path) {
    package *p = NULL;
    const rn_status st = package_open(path, NULL, &p, NULL);
    package_close(p);
    return st;
}

TEST(any_failed_allocation_over_parts_is_reported_and_leaks_nothing) {
    char path[600];
    part_path(path, "nomem", 1, N_PARTS);
    if (write_parts("nomem", -1, (struct part){0}))
        check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__);
}
