// tests/formats/gguf_faults_test.c - files cut short, files that shrink, allocations that fail: item 13 of the list of
// malformed inputs, and no memory.
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/bad_gguf.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Bytes that end where a page without access begins: one byte read too far is a fault, without a sanitizer too.
struct guarded {
    uint8_t *pages, *end;
    size_t n_pages;
};
static bool guard_open(struct guarded *g, size_t room) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    g->n_pages = (room + page - 1) / page * page + page;
    g->pages = mmap(NULL, g->n_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->pages == MAP_FAILED) return false;
    g->end = g->pages + g->n_pages - page;
    return mprotect(g->end, page, PROT_NONE) == 0;
}
static const uint8_t *guard_put(const struct guarded *g, const uint8_t *bytes, size_t n) {
    return memcpy(g->end - n, bytes, n);
}

static void check_every_cut(const struct tiny_model *m) {
    size_t n;
    uint8_t *file = tiny_model_bytes(m, &n); // its last tensor ends with the file
    struct guarded g = {0};
    if (!CHECK(guard_open(&g, n))) return;
    const long live = mem_live();
    for (size_t cut = 0; cut <= n; cut++) {
        rn_error err = {0};
        package *p = NULL;
        const rn_status st = package_from_bytes("cut.gguf", guard_put(&g, file, cut), cut, &p, &err);
        check_note("cut at byte %zu of %zu: %s", cut, n, err.text);
        const bool opens = st == RN_OK && p != NULL;
        const bool is_refused = st == RN_E_FORMAT && p == NULL && strncmp(err.text, "cut.gguf: ", 10) == 0;
        CHECK(cut == n ? opens : is_refused);
        package_close(p);
    }
    CHECK_INT(mem_live(), live);
    munmap(g.pages, g.n_pages);
    free(file);
}

TEST(item_13_a_file_cut_at_any_byte_is_refused) {
    struct tiny_model m = bad_gguf_model(TINY_BYTES);
    check_every_cut(&m);
    m = bad_gguf_model(TINY_SPM);
    m.type = TENSOR_Q4_0;
    m.n_vocab = TINY_MIN_VOCAB;
    check_every_cut(&m);
}

TEST(item_13_a_file_that_shrinks_while_open_is_noticed) {
    char path[512];
    const struct tiny_model m = bad_gguf_model(TINY_BYTES);
    snprintf(path, sizeof path, "%s/shrinks.gguf", temp_dir());
    if (!CHECK(tiny_model_write(&m, path))) return;
    package *p;
    rn_error err = {0};
    const struct package_options opt = {.load = FILE_LOAD_MAP};
    if (!CHECK_OK(package_open(path, &opt, &p, &err), &err)) return;
    CHECK_OK(package_check_files(p, &err), &err);
    CHECK(truncate(path, 100) == 0);
    CHECK_FAILS(package_check_files(p, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "shrinks.gguf");
    package_close(p);
}

TEST(item_13_a_file_read_instead_of_mapped_may_shrink) {
    char path[512];
    const struct tiny_model m = bad_gguf_model(TINY_BYTES);
    snprintf(path, sizeof path, "%s/shrinks2.gguf", temp_dir());
    if (!CHECK(tiny_model_write(&m, path))) return;
    package *p;
    rn_error err = {0};
    const struct package_options opt = {.load = FILE_LOAD_READ};
    if (!CHECK_OK(package_open(path, &opt, &p, &err), &err)) return;
    CHECK(truncate(path, 0) == 0);
    size_t n;
    uint8_t *whole = tiny_model_bytes(&m, &n);
    CHECK_INT(package_file_at(p, 0)->size, n);
    CHECK_MEM(package_file_at(p, 0)->data, whole, n);
    free(whole);
    package_close(p);
}

static rn_status open_and_close(void *path) {
    package *p = NULL;
    rn_error err = {0};
    const struct package_options opt = {.load = FILE_LOAD_MAP};
    const rn_status st = package_open(path, &opt, &p, &err);
    CHECK((st == RN_OK) == (p != NULL));
    CHECK((st == RN_OK) == (err.text[0] == 0));
    package_close(p);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    char path[512];
    struct tiny_model m = bad_gguf_model(TINY_BYTES);
    m.n_layer = 8;
    snprintf(path, sizeof path, "%s/nomem.gguf", temp_dir());
    if (!CHECK(tiny_model_write(&m, path))) return;
    check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__);
    m.vocab = TINY_SPM;
    CHECK(tiny_model_write(&m, path));
    check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__);
}

struct file_bytes {
    uint8_t *data;
    size_t n;
};
static rn_status sort_and_close(void *user) {
    const struct file_bytes *file = user;
    package *p = NULL;
    const rn_status st = package_from_bytes("x", file->data, file->n, &p, NULL);
    package_close(p);
    return st;
}

TEST(a_failed_allocation_while_tensors_are_sorted_is_reported) {
    struct gguf_builder b;
    char name[16];
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "other");
    gb_data(&b, NULL, 3000 * 32);
    for (uint64_t i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "t%d", (int)i);
        gb_tensor_at(&b, name, 0, 1, (const uint64_t[]){8}, (2999 - i) * 32);
    }
    struct file_bytes file;
    file.data = gb_finish(&b, &file.n);
    check_each_failed_allocation(sort_and_close, &file, __FILE__, __LINE__);
    free(file.data);
}
