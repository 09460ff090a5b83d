// tests/base/memory_limit_test.c - how much memory may be planned with, on made-up machines.
#include "base/process_memory.h"
#include "tests/check.h"
#include <string.h>
#include <sys/stat.h>

// Writes text to root/path, making its folders.
static void put(const char *root, const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0755);
        *slash = '/';
    }
    CHECK(write_file(full, text, strlen(text)));
}

TEST(field_2_13_the_plan_sees_what_the_machine_and_its_cgroup_leave) {
    static const struct {
        const char *why, *meminfo, *groups;
        struct {
            const char *path, *text;
        } files[4];
        uint64_t want;
        const char *reason;
    } rows[] = {
        {"no cgroup limit", "MemTotal: 9 kB\nMemAvailable: 2048 kB\n", "0::/\n", {{0}}, 2097152, "available"},
        {"v2 limit below",
         "MemAvailable: 9000000 kB\n",
         "0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/memory.max", "1000000\n"}, {"/sys/fs/cgroup/a/b/memory.current", "400000\n"}},
         600000,
         "cgroup"},
        {"the group above is tighter",
         "MemAvailable: 9000000 kB\n",
         "0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/memory.max", "max\n"}, {"/sys/fs/cgroup/a/memory.max", "5000\n"}},
         5000,
         "cgroup"},
        {"used up",
         "MemAvailable: 9000000 kB\n",
         "0::/\n",
         {{"/sys/fs/cgroup/memory.max", "1000\n"}, {"/sys/fs/cgroup/memory.current", "2000\n"}},
         1,
         "cgroup"},
        {"v1",
         "MemAvailable: 9000000 kB\n",
         "4:memory:/x\n",
         {{"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000\n"},
          {"/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1000\n"}},
         6000,
         "cgroup"},
        {"v1 without a limit",
         "MemAvailable: 4 kB\n",
         "4:memory:/x\n",
         {{"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n"}},
         4096,
         "available"},
        {"a limit above what there is",
         "MemAvailable: 4 kB\n",
         "0::/\n",
         {{"/sys/fs/cgroup/memory.max", "1000000\n"}},
         4096,
         "available"},
        {"nothing is known", "", "", {{0}}, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char root[320];
        struct memory_limit got;
        snprintf(root, sizeof root, "%s/m%zu", temp_dir(), i);
        mkdir(root, 0755);
        put(root, "/proc/meminfo", rows[i].meminfo);
        put(root, "/proc/self/cgroup", rows[i].groups);
        for (size_t f = 0; f < 4 && rows[i].files[f].path; f++)
            put(root, rows[i].files[f].path, rows[i].files[f].text);
        memory_limit_detect(root, &got);
        check_note("%s", rows[i].why);
        CHECK_INT(got.bytes, rows[i].want);
        CHECK_HAS(got.reason, rows[i].reason);
    }
}
