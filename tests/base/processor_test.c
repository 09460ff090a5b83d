// tests/base/processor_test.c - the size of the largest cache, on made-up machines.
#include "base/processor.h"
#include "tests/check.h"
#include <string.h>
#include <sys/stat.h>

// Makes root/sys/devices/system/cpu/cpu0/cache/indexN/size.
static void put_size(const char *root, int i, const char *text) {
    static const char *const folders[] = {"", "/sys", "/devices", "/system", "/cpu", "/cpu0", "/cache"};
    char path[512];
    size_t n = 0;
    n += (size_t)snprintf(path, sizeof path, "%s", root);
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        n += (size_t)snprintf(path + n, sizeof path - n, "%s", folders[k]);
        mkdir(path, 0755);
    }
    n += (size_t)snprintf(path + n, sizeof path - n, "/index%d", i);
    mkdir(path, 0755);
    snprintf(path + n, sizeof path - n, "/size");
    CHECK(write_file(path, text, strlen(text)));
}

TEST(the_largest_cache_is_found_whatever_its_unit) {
    static const struct {
        const char *why, *sizes[4];
        uint64_t want;
    } rows[] = {
        {"no folder at all", {NULL}, 0},
        {"the usual three", {"48K\n", "2048K\n", "491520K\n"}, (uint64_t)491520 << 10},
        {"the last is not the largest", {"32K\n", "4096K\n", "1024K\n"}, 4 << 20},
        {"megabytes and gigabytes", {"8M\n", "1G\n"}, 1 << 30},
        {"plain bytes", {"65536\n"}, 65536},
        {"no number", {"many\n", "16K\n"}, 16 << 10},
        {"more than there can be", {"18446744073709551615K\n", "16K\n"}, 16 << 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char root[256];
        snprintf(root, sizeof root, "%s/machine%zu", temp_dir(), i);
        for (int k = 0; rows[i].sizes[k]; k++) put_size(root, k, rows[i].sizes[k]);
        check_note("%s", rows[i].why);
        CHECK_INT(caches_largest(root), rows[i].want);
    }
}
