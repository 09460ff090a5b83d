// tests/convert/convert_architectures_test.c - folders of every architecture, written as GGUF and read again; and the same files with
// each of their numbers spoiled.
#include "base/mem.h"
#include "formats/gguf/gguf.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include "tests/support/same_package.h"
#include <math.h>
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
enum { N_TOKENS = 40, GOLDEN_VOCAB = 288 };

static bool is_there(void) {
    if (shared_path("goldens")) return true;
    test_skip("no shared material: set RUNNEL_SHARED");
    return false;
}

// The golden folder as a GGUF file in `out`; false, and a failed check, when it cannot be converted.
static bool convert_golden(const char *dir, char *out, size_t size) {
    char rel[128];
    rn_error err = {0};
    snprintf(rel, sizeof rel, "goldens/%s", dir);
    snprintf(out, size, "%s/%s.gguf", temp_dir(), dir);
    check_note("%s", dir);
    return CHECK_OK(rn_convert(shared_path(rel), out, NULL, &err), &err);
}

TEST(a_converted_folder_says_the_same_of_its_model) {
    if (!is_there()) return;
    for (size_t i = 0; golden_models[i]; i++) {
        char path[512], rel[128];
        package *folder = NULL, *file = NULL;
        rn_error err = {0};
        if (!convert_golden(golden_models[i], path, sizeof path)) continue;
        snprintf(rel, sizeof rel, "goldens/%s", golden_models[i]);
        CHECK_OK(package_open(shared_path(rel), NULL, &folder, &err), &err);
        CHECK_OK(package_open(path, NULL, &file, &err), &err);
        if (folder && file) {
            check_same_hparams(package_hparams(folder), package_hparams(file));
            check_same_tensors(folder, file);
        }
        package_close(folder);
        package_close(file);
    }
}

static bool evaluate(const char *path, float out[N_TOKENS * GOLDEN_VOCAB]) {
    const struct rig_options o = rig_defaults();
    int32_t tokens[N_TOKENS];
    struct rig r;
    random_tokens(tokens, N_TOKENS, GOLDEN_VOCAB, 5);
    const bool ok = rig_open_file(&r, path, &o) && CHECK_INT(r.lm->n_vocab, GOLDEN_VOCAB) &&
                    rig_append(&r, rig_seq(&r), tokens, N_TOKENS, out);
    rig_close(&r);
    return ok;
}

TEST(a_converted_folder_gives_the_bits_of_the_folder) {
    static float want[N_TOKENS * GOLDEN_VOCAB], got[N_TOKENS * GOLDEN_VOCAB];
    if (!is_there()) return;
    for (size_t i = 0; golden_models[i]; i++) {
        char path[512], rel[128];
        if (!convert_golden(golden_models[i], path, sizeof path)) continue;
        snprintf(rel, sizeof rel, "goldens/%s", golden_models[i]);
        if (!evaluate(shared_path(rel), want) || !evaluate(path, got)) continue;
        check_note("%s", golden_models[i]);
        CHECK_MEM(got, want, sizeof want);
    }
}

TEST(every_architecture_quantizes_and_keeps_what_is_small_or_delicate) {
    static const char *const kept[] = {"ffn_gate_inp", "ssm_conv1d", "shortconv.conv", "_norm", "position_embd"};
    rn_quantize_options opt;
    if (!is_there()) return;
    rn_quantize_options_init(&opt);
    opt.type = "Q8_0";
    for (size_t i = 0; golden_models[i]; i++) {
        char path[512], out[600];
        package *p = NULL;
        rn_error err = {0};
        if (!convert_golden(golden_models[i], path, sizeof path)) continue;
        snprintf(out, sizeof out, "%s.q8", path);
        CHECK_OK(rn_quantize(path, out, &opt, &err), &err);
        CHECK_OK(package_open(out, NULL, &p, &err), &err);
        for (size_t k = 0; p && k < package_n_tensors(p); k++) {
            const struct tensor_view *t = package_tensor_at(p, k);
            bool is_kept = t->n_dims < 2;
            for (size_t j = 0; j < N(kept); j++) is_kept = is_kept || strstr(t->name, kept[j]);
            if (is_kept) check_note("%s: %s", golden_models[i], t->name);
            if (is_kept) CHECK(t->type == TENSOR_F32);
        }
        package_close(p);
    }
}

// ---- spoiled numbers ------------------------------------------------------------------------------------------------

// An error or a package, nothing left behind either way.
static long n_opened;
static void open_spoiled(const uint8_t *bytes, size_t n) {
    n_opened++;
    package *p = NULL;
    rn_error err = {0};
    const long live = mem_live();
    const rn_status st = package_from_bytes("spoiled.gguf", bytes, n, &p, &err);
    CHECK((st == RN_OK) == (p != NULL) && (st == RN_OK) == (err.text[0] == 0));
    package_close(p);
    CHECK_INT(mem_live(), live);
}

// The type of a pair stands before its value.
static uint8_t *type_of(uint8_t *file, const struct gguf *g, const struct gguf_pair *pair) {
    const size_t at = (size_t)(pair->value - g->data);
    return file + at - (pair->type == GGUF_ARRAY ? 16 : 4);
}

static void spoil_pair(uint8_t *file, size_t n, const struct gguf *g, const struct gguf_pair *pair) {
    static const uint32_t ints[] = {0, 1, 2, 3, 7, UINT32_MAX, INT32_MAX, 1u << 31, 65536, 1u << 20};
    static const float floats[] = {0, 1, -1, 1e30f, -1e30f, 1e-30f, INFINITY, -INFINITY, NAN};
    uint8_t *value = file + (pair->value - g->data), *type = type_of(file, g, pair);
    const enum gguf_type of_items = pair->type == GGUF_ARRAY ? pair->item_type : pair->type;
    const uint64_t n_items = pair->type == GGUF_ARRAY ? pair->n : 1;
    const uint32_t size = gguf_types[of_items].n_bytes;
    uint8_t before[8];
    for (uint64_t item = 0; size == 4 && item < n_items; item++) {
        uint8_t *at = value + item * size;
        memcpy(before, at, 4);
        for (size_t i = 0; i < (of_items == GGUF_F32 ? N(floats) : N(ints)); i++) {
            memcpy(at, of_items == GGUF_F32 ? (const void *)&floats[i] : (const void *)&ints[i], 4);
            open_spoiled(file, n);
        }
        memcpy(at, before, 4);
    }
    for (uint64_t item = 0; size == 1 && item < n_items; item++) {
        value[item] ^= 1;
        open_spoiled(file, n);
        value[item] ^= 1;
    }
    if (pair->type == GGUF_ARRAY || size != 4) return;
    memcpy(before, type, 4); // other types of as many bytes, and one of none
    for (uint8_t other = GGUF_U32; other <= GGUF_F32; other++) {
        type[0] = other;
        open_spoiled(file, n);
    }
    memcpy(type, before, 4);
}

TEST(a_spoiled_number_of_any_architecture_is_an_error_or_a_model) {
    n_opened = 0;
    if (!is_there()) return;
    for (size_t i = 0; golden_models[i]; i++) {
        char path[512];
        size_t n;
        struct gguf g = {0};
        rn_error err = {0};
        if (!convert_golden(golden_models[i], path, sizeof path)) continue;
        uint8_t *file = read_file(path, &n);
        if (CHECK_OK(gguf_read(&g, file, n, &err), &err))
            for (size_t k = 0; k < g.n_pairs; k++) {
                const struct gguf_pair *pair = &g.pairs[k];
                const bool of_model = memchr(pair->key, '.', pair->n_key) && strncmp(pair->key, "general.", 8) != 0 &&
                                      strncmp(pair->key, "tokenizer.", 10) != 0;
                check_note("%s: %.*s", golden_models[i], (int)pair->n_key, pair->key);
                if (of_model) spoil_pair(file, n, &g, pair);
            }
        gguf_free(&g);
        free(file);
    }
    CHECK(n_opened > 9000);
}
