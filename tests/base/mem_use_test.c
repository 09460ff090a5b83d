// tests/base/mem_use_test.c - memory counts when it was touched, and no longer when it was given back.
#include "base/file_map.h"
#include "base/mem.h"
#include "base/process_memory.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, MIB = 1 << 20 };

TEST(memory_that_was_not_touched_does_not_count) {
    uint8_t *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(p != MAP_FAILED)) return;
    madvise(p, MIB, MADV_NOHUGEPAGE);
    CHECK_INT(mem_resident(p, MIB), 0);
    memset(p + 8 * PAGE, 1, 2 * PAGE);
    CHECK_INT(mem_resident(p, MIB), 2 * PAGE);
    CHECK_INT(mem_resident(p + 8 * PAGE + 1, PAGE), PAGE);
    CHECK_INT(mem_resident(p + 9 * PAGE + 100, MIB - 9 * PAGE - 100), PAGE - 100);
    CHECK_INT(mem_resident(p + 8 * PAGE, 0), 0);
    munmap(p, MIB);
}

TEST(the_process_is_as_large_as_what_it_touches) {
    struct process_use before, after;
    process_use_read(&before);
    if (before.resident == 0) {
        test_skip("no /proc/self/smaps_rollup here");
        return;
    }
    uint8_t *p = mem_pages(64 * (size_t)MIB);
    if (!CHECK(p)) return;
    memset(p, 1, 64 * (size_t)MIB);
    process_use_read(&after);
    CHECK_INT(mem_resident(p, 64 * (size_t)MIB), 64 * (size_t)MIB);
    CHECK(after.resident - before.resident >= 63 * (size_t)MIB);
    CHECK(after.huge <= after.resident);
    mem_pages_free(p, 64 * (size_t)MIB);
}

TEST(a_mapped_file_that_was_read_counts_until_it_is_forgotten) {
    char path[512];
    rn_error err = {0};
    file_map m;
    uint8_t *bytes = malloc(MIB);
    snprintf(path, sizeof path, "%s/file", temp_dir());
    if (!CHECK(bytes)) return;
    for (size_t i = 0; i < MIB; i++) bytes[i] = (uint8_t)(i * 7);
    if (CHECK(write_file(path, bytes, MIB)) &&
        CHECK_OK(file_map_open(path, FILE_LOAD_MAP, NULL, NULL, &m, &err), &err)) {
        CHECK_MEM(m.data, bytes, MIB);
        CHECK_INT(mem_resident(m.data, MIB), MIB);
        file_map_forget(&m, 100, MIB / 2 - 100);
        CHECK(mem_resident(m.data, MIB) <= MIB / 2);
        file_map_forget(&m, MIB / 2, MIB / 2);
        CHECK_INT(mem_resident(m.data, MIB), 0);
        CHECK_MEM(m.data, bytes, MIB);
        file_map_close(&m);
    }
    free(bytes);
}

TEST(bytes_read_into_memory_are_never_forgotten) {
    char path[512];
    rn_error err = {0};
    file_map m;
    static const enum file_load ways[] = {FILE_LOAD_READ, FILE_LOAD_LOCK};
    snprintf(path, sizeof path, "%s/file", temp_dir());
    if (!CHECK(write_file(path, "twelve bytes", 12))) return;
    for (size_t i = 0; i < 2; i++) {
        if (file_map_open(path, ways[i], NULL, NULL, &m, &err) != RN_OK) continue; // no locking here
        file_map_forget(&m, 0, 12);
        CHECK_MEM(m.data, "twelve bytes", 12);
        file_map_close(&m);
    }
}

TEST(the_heap_counts_what_is_allocated_and_not_freed) {
    const size_t before = mem_heap_bytes();
    void *p = mem_alloc(100000);
    CHECK(mem_heap_bytes() - before >= 100000 && mem_heap_bytes() - before < 120000);
    p = mem_realloc(p, 300000);
    CHECK(mem_heap_bytes() - before >= 300000 && mem_heap_bytes() - before < 320000);
    void *q = mem_aligned(1000);
    mem_free(p);
    CHECK(mem_heap_bytes() - before >= 1000 && mem_heap_bytes() - before < 3000);
    mem_free(q);
    CHECK_INT(mem_heap_bytes(), before);
}
