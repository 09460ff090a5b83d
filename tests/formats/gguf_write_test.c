// tests/formats/gguf_write_test.c - what is written reads back the same; what fails leaves nothing behind.
#include "base/file_map.h"
#include "formats/gguf/gguf_write.h"
#include "formats/limits.h"
#include "tests/check.h"
#include "tests/support/left_behind.h"
#include "tests/support/tiny_model.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char *out_path(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", temp_dir(), name);
    return path;
}

static size_t bytes_of(const struct gguf_record *t) {
    size_t n = 0;
    tensor_row_bytes(tensor_type_by_gguf_id(t->type)->type, t->dims[0], &n);
    for (uint32_t d = 1; d < t->n_dims; d++) n *= t->dims[d];
    return n;
}

// Writes a file's pairs and tensors anew, its data in pieces of at most `piece` bytes.
static rn_status copy_file(const uint8_t *file, size_t n, const char *path, size_t piece, rn_error *err) {
    struct gguf g = {0};
    gguf_writer *w = NULL;
    rn_status st = gguf_read(&g, file, n, err);
    if (st == RN_OK) st = gguf_writer_create(path, g.alignment, &w, err);
    for (size_t i = 0; st == RN_OK && i < g.n_pairs; i++) gguf_put_pair(w, &g.pairs[i]);
    for (size_t i = 0; st == RN_OK && i < g.n_tensors; i++) {
        char name[GGUF_MAX_TENSOR_NAME_BYTES + 1] = "";
        memcpy(name, g.records[i].name, g.records[i].n_name);
        gguf_put_record(w, name, tensor_type_by_gguf_id(g.records[i].type)->type, (int)g.records[i].n_dims,
                        g.records[i].dims);
    }
    if (st == RN_OK) st = gguf_write_head(w, err);
    for (size_t i = 0; st == RN_OK && i < g.n_tensors; i++) {
        const uint8_t *data = file + g.data_start + g.records[i].offset;
        const size_t n_bytes = bytes_of(&g.records[i]);
        for (size_t at = 0; st == RN_OK && at < n_bytes; at += piece)
            st = gguf_write_data(w, data + at, n_bytes - at < piece ? n_bytes - at : piece, err);
    }
    if (st == RN_OK)
        st = gguf_writer_commit(w, err);
    else
        gguf_writer_abandon(w);
    gguf_free(&g);
    return st;
}

// The builder ends with the last tensor, the writer with its padding, as the format has it.
static void check_same_bytes(const char *path, const uint8_t *want, size_t n_want, size_t alignment) {
    size_t n = 0;
    uint8_t *got = read_file(path, &n);
    if (!got) return;
    CHECK_INT(n, (n_want + alignment - 1) / alignment * alignment);
    if (n >= n_want) CHECK_MEM(got, want, n_want);
    for (size_t i = n_want; i < n; i++) CHECK_INT(got[i], 0);
    free(got);
}

TEST(a_model_written_anew_has_the_bytes_it_was_read_from) {
    static const enum tensor_type types[] = {TENSOR_F32, TENSOR_BF16, TENSOR_Q8_0, TENSOR_Q4_0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (enum tiny_vocab vocab = TINY_BYTES; vocab <= TINY_SPM; vocab++) {
            struct tiny_model m = tiny_model_default();
            m.vocab = vocab;
            m.type = types[i];
            m.rope_freqs = m.biases = m.own_head = true;
            size_t n;
            uint8_t *file = tiny_model_bytes(&m, &n);
            rn_error err = {0};
            check_note("type %d, vocabulary %d", (int)types[i], (int)vocab);
            CHECK_OK(copy_file(file, n, out_path("again"), SIZE_MAX, &err), &err);
            check_same_bytes(out_path("again"), file, n, 32);
            free(file);
        }
}

// Every value type, alone and in arrays, with bytes that mean nothing.
static uint8_t *file_of_all_types(uint32_t alignment, size_t *n) {
    static const uint8_t noise[64] = {0xff, 0x7f, 0x80, 1, 2, 3, 0xc0, 0xfe};
    static const char *const words[] = {"", "one", "\xc3\xa9"};
    struct gguf_builder b;
    gb_begin(&b, 3);
    b.alignment = alignment;
    gb_u32(&b, "general.alignment", alignment);
    for (uint32_t type = GGUF_U8; type < GGUF_N_TYPES; type++) {
        char key[32];
        if (type == GGUF_STRING || type == GGUF_ARRAY) continue;
        snprintf(key, sizeof key, "x.%u", type);
        gb_value(&b, key, type, type == GGUF_BOOL ? &(uint8_t){1} : noise, gguf_types[type].n_bytes);
        snprintf(key, sizeof key, "x.%u.list", type);
        const uint8_t flags[] = {1, 0, 1};
        gb_array(&b, key, (enum gb_type)type, type == GGUF_BOOL ? flags : noise, 3, gguf_types[type].n_bytes);
        snprintf(key, sizeof key, "x.%u.empty", type);
        gb_array(&b, key, (enum gb_type)type, noise, 0, gguf_types[type].n_bytes);
    }
    gb_str(&b, "x.text", "caf\xc3\xa9");
    gb_str_n(&b, "x.bytes", "a\0b\xff", 4);
    gb_str_array(&b, "x.words", words, 3);
    gb_str_array(&b, "x.no_words", words, 0);
    gb_tensor(&b, "three", 0, 2, (uint64_t[]){3, 1}, noise, 12); // a gap follows
    gb_tensor(&b, "four_dims", 0, 4, (uint64_t[]){1, 2, 1, 3}, noise, 24);
    return gb_finish(&b, n);
}

TEST(pairs_of_every_type_and_any_alignment_are_carried_over_as_they_stand) {
    static const uint32_t alignments[] = {8, 32, 64, 4096};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        size_t n;
        uint8_t *file = file_of_all_types(alignments[i], &n);
        rn_error err = {0};
        check_note("alignment %u", alignments[i]);
        CHECK_OK(copy_file(file, n, out_path("types"), SIZE_MAX, &err), &err);
        check_same_bytes(out_path("types"), file, n, alignments[i]);
        free(file);
    }
}

TEST(data_may_be_cut_anywhere) {
    size_t n;
    uint8_t *file = file_of_all_types(32, &n);
    for (size_t piece = 1; piece <= 25; piece++) {
        rn_error err = {0};
        check_note("pieces of %zu", piece);
        CHECK_OK(copy_file(file, n, out_path("cut"), piece, &err), &err);
        check_same_bytes(out_path("cut"), file, n, 32);
    }
    free(file);
}

TEST(numbers_texts_and_lists_read_back) {
    gguf_writer *w;
    rn_error err = {0};
    struct gguf g = {0};
    size_t n = 0;
    if (!CHECK_OK(gguf_writer_create(out_path("puts"), 32, &w, &err), &err)) return;
    gguf_put_u32(w, "u", 0xfffffffe);
    gguf_put_f32(w, "f", -1.5f);
    gguf_put_bool(w, "b", true);
    gguf_put_string(w, "s", (struct vocab_str){"x\xc3\xa9", 3});
    gguf_put_array(w, "words", GGUF_STRING, 2);
    gguf_put_item_string(w, (struct vocab_str){"", 0});
    gguf_put_item_string(w, (struct vocab_str){"two", 3});
    gguf_put_array(w, "numbers", GGUF_I32, 2);
    gguf_put_item_i32(w, -7);
    gguf_put_item_i32(w, 7);
    gguf_put_array(w, "reals", GGUF_F32, 1);
    gguf_put_item_f32(w, 0.25f);
    CHECK_OK(gguf_write_head(w, &err), &err);
    CHECK_OK(gguf_writer_commit(w, &err), &err);
    uint8_t *file = read_file(out_path("puts"), &n);
    if (!file || !CHECK_OK(gguf_read(&g, file, n, &err), &err)) return;
    CHECK_INT(g.n_pairs, 7);
    CHECK_INT(gguf_load_u32(gguf_find(&g, "u")->value), 0xfffffffe);
    CHECK_INT(gguf_load_u32(gguf_find(&g, "f")->value), 0xbfc00000);
    CHECK_INT(gguf_find(&g, "b")->value[0], 1);
    CHECK_MEM(gguf_find(&g, "s")->value, "x\xc3\xa9", 3);
    CHECK_INT(gguf_find(&g, "words")->n, 2);
    CHECK_INT(gguf_load_u32(gguf_find(&g, "numbers")->value), (uint32_t)-7);
    CHECK_INT(gguf_load_u32(gguf_find(&g, "reals")->value), 0x3e800000);
    gguf_free(&g);
    free(file);
}

// ---- what cannot be -------------------------------------------------------------------------------------------------

static char long_name[GGUF_MAX_KEY_BYTES + 2];
static void put_key_at_limit(gguf_writer *w) { gguf_put_u32(w, long_name + 1, 1); }
static void put_key_past_limit(gguf_writer *w) { gguf_put_u32(w, long_name, 1); }
static void put_name_at_limit(gguf_writer *w) {
    gguf_put_record(w, long_name + sizeof long_name - 1 - GGUF_MAX_TENSOR_NAME_BYTES, TENSOR_F32, 1, (uint64_t[]){1});
    gguf_write_head(w, NULL);
    gguf_write_data(w, "1234", 4, NULL);
}
static void put_name_past_limit(gguf_writer *w) {
    gguf_put_record(w, long_name + sizeof long_name - 2 - GGUF_MAX_TENSOR_NAME_BYTES, TENSOR_F32, 1, (uint64_t[]){1});
}
static void put_half_a_block(gguf_writer *w) { gguf_put_record(w, "t", TENSOR_Q8_0, 1, (uint64_t[]){16}); }
static void put_too_many_rows(gguf_writer *w) {
    gguf_put_record(w, "t", TENSOR_F32, 2, (uint64_t[]){1u << 30, (uint64_t)1 << 33});
}
static void put_text_past_limit(gguf_writer *w) {
    gguf_put_string(w, "s", (struct vocab_str){long_name, GGUF_MAX_STRING_BYTES + 1}); // never read
}
static void put_list_past_limit(gguf_writer *w) { gguf_put_array(w, "a", GGUF_I32, GGUF_MAX_ARRAY_ITEMS + 1); }
static void put_too_few_items(gguf_writer *w) {
    gguf_put_array(w, "a", GGUF_I32, 2);
    gguf_put_item_i32(w, 1);
}
static void put_too_many_items(gguf_writer *w) {
    gguf_put_array(w, "a", GGUF_I32, 1);
    gguf_put_item_i32(w, 1);
    gguf_put_item_i32(w, 1);
}
static void put_pairs_to_limit(gguf_writer *w) {
    char key[16];
    for (int i = 0; i < GGUF_MAX_PAIRS; i++) {
        snprintf(key, sizeof key, "k%d", i);
        gguf_put_bool(w, key, false);
    }
}
static void put_pairs_past_limit(gguf_writer *w) {
    put_pairs_to_limit(w);
    gguf_put_bool(w, "one more", false);
}

TEST(what_could_not_be_read_back_is_not_written) {
    static const struct {
        const char *why;
        void (*put)(gguf_writer *w);
        rn_status want; // of gguf_write_head()
        const char *text;
    } rows[] = {
        {"key of 65,535 bytes", put_key_at_limit, RN_OK, ""},
        {"key of 65,536 bytes", put_key_past_limit, RN_E_LIMIT, "bytes of a key: 65536 is over the limit of 65535"},
        {"name of 65 bytes", put_name_past_limit, RN_E_LIMIT, "bytes of a tensor's name: 65 is over the limit of 64"},
        {"half a block", put_half_a_block, RN_E_INTERNAL, "tensor t: 16 elements are not whole blocks of Q8_0"},
        {"2^65 bytes", put_too_many_rows, RN_E_INTERNAL, "tensor t"},
        {"text of 16 MiB and one", put_text_past_limit, RN_E_LIMIT, "s: bytes of its text"},
        {"one item over", put_list_past_limit, RN_E_LIMIT, "a: items"},
        {"an item is missing", put_too_few_items, RN_E_INTERNAL, "lacks 1 items"},
        {"an item too many", put_too_many_items, RN_E_INTERNAL, "more items than announced"},
        {"65,536 pairs", put_pairs_to_limit, RN_OK, ""},
        {"65,537 pairs", put_pairs_past_limit, RN_E_LIMIT, "one more: pairs: 65537"},
    };
    memset(long_name, 'k', sizeof long_name - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_writer *w;
        rn_error err = {0};
        check_note("%s", rows[i].why);
        if (!CHECK_OK(gguf_writer_create(out_path("limits"), 32, &w, &err), &err)) return;
        rows[i].put(w);
        CHECK_INT(gguf_write_head(w, &err), rows[i].want);
        CHECK_HAS(err.text, rows[i].text);
        gguf_writer_abandon(w);
        CHECK_INT(n_files_in(temp_dir(), "limits"), 0);
    }
    gguf_writer *w;
    CHECK_OK(gguf_writer_create(out_path("limits"), 32, &w, NULL), NULL);
    put_name_at_limit(w);
    CHECK_OK(gguf_writer_commit(w, NULL), NULL);
}

TEST(a_file_without_all_its_bytes_is_not_put_in_place) {
    for (size_t n = 0; n <= 13; n++) {
        gguf_writer *w;
        rn_error err = {0};
        check_note("%zu of 12 bytes", n);
        if (!CHECK_OK(gguf_writer_create(out_path("short"), 32, &w, &err), &err)) return;
        gguf_put_record(w, "a", TENSOR_F32, 1, (uint64_t[]){1});
        gguf_put_record(w, "b", TENSOR_F32, 1, (uint64_t[]){2});
        CHECK_OK(gguf_write_head(w, &err), &err);
        if (n <= 12) {
            CHECK_OK(gguf_write_data(w, "0123456789abc", n, &err), &err);
            CHECK_INT(gguf_writer_commit(w, &err), n == 12 ? RN_OK : RN_E_INTERNAL);
        } else {
            CHECK_FAILS(gguf_write_data(w, "0123456789abc", n, &err), RN_E_INTERNAL, &err);
            gguf_writer_abandon(w);
        }
        CHECK_INT(n_files_in(temp_dir(), "short"), n == 12);
        remove(out_path("short"));
    }
}

TEST(a_place_that_cannot_be_written_is_known_before_the_work) {
    gguf_writer *w;
    rn_error err = {0};
    CHECK_FAILS(gguf_writer_create("/nowhere/x.gguf", 32, &w, &err), RN_E_IO, &err);
    CHECK(w == NULL);
    CHECK_HAS(err.text, "/nowhere/x.gguf: cannot be created");
}

// The disk is full at every place: in the head, at its end, in the data, in the padding, in the last piece.
TEST(a_full_disk_leaves_the_old_file_and_nothing_else) {
    size_t n;
    uint8_t *file = file_of_all_types(4096, &n);
    const size_t n_out = (n + 4095) / 4096 * 4096;
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    write_file(out_path("full"), "old", 3);
    for (size_t room = 0; room <= n_out; room += room > 64 && room < n_out - 1100 ? 997 : 101) {
        rn_error err = {0};
        if (room > n_out - 101) room = n_out;
        check_note("room for %zu of %zu bytes", room, n_out);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){room, before.rlim_max});
        const rn_status st = copy_file(file, n, out_path("full"), 7, &err);
        setrlimit(RLIMIT_FSIZE, &before);
        if (room == n_out) CHECK_OK(st, &err);
        if (room == n_out) break;
        CHECK_FAILS(st, RN_E_IO, &err);
        CHECK_HAS(err.text, "full: cannot be written: File too large");
        check_same_bytes(out_path("full"), (const uint8_t *)"old", 3, 1);
        if (!CHECK_INT(n_files_in(temp_dir(), "full"), 1)) break;
    }
    check_same_bytes(out_path("full"), file, n, 4096);
    signal(SIGXFSZ, handler);
    free(file);
}

static rn_status copy_small(void *user) {
    size_t n;
    uint8_t *file = file_of_all_types(32, &n);
    const rn_status st = copy_file(file, n, user, SIZE_MAX, NULL);
    free(file);
    return st;
}
TEST(each_failed_allocation_is_reported_and_leaves_nothing) {
    char path[1024];
    snprintf(path, sizeof path, "%s", out_path("nomem"));
    CHECK(check_each_failed_allocation(copy_small, path, __FILE__, __LINE__));
    CHECK_INT(n_files_in(temp_dir(), "nomem"), 1); // of the last run, in which none failed
}
