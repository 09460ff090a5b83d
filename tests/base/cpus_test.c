// tests/base/cpus_test.c - the default thread count, judged on made-up machines below a temporary folder.
#include "base/cpus.h"
#include "base/pool.h"
#include "tests/check.h"
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[512];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}
static void drop(const char *part) {
    char path[1024];
    snprintf(path, sizeof path, "%s%s", root, part);
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
static void drop_machine(void) { drop(""); }
static void new_machine(void) {
    snprintf(root, sizeof root, "%s/machine", temp_dir());
    drop_machine();
    mkdir(root, 0700);
}

// Writes root/path, making the folders on the way.
static void put(const char *path, const char *text) {
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    CHECK(write_file(full, text, strlen(text)));
}

// n processors; every n_smt neighbours are threads of one core. n_smt 0: the system does not tell.
static void put_processors(int n, int n_smt) {
    for (int i = 0; i < n && n_smt; i++) {
        char path[128], list[64];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
        const int first = i / n_smt * n_smt;
        if (n_smt == 1)
            snprintf(list, sizeof list, "%d\n", i);
        else
            snprintf(list, sizeof list, "%d-%d\n", first, first + n_smt - 1);
        put(path, list);
    }
}

static cpus judge(int first_cpu, int n_cpus, int step) {
    union {
        cpu_set_t set;
        char bytes[sizeof(cpu_set_t)];
    } allowed;
    CPU_ZERO(&allowed.set);
    for (int i = 0; i < n_cpus; i++) CPU_SET((size_t)(first_cpu + i * step), &allowed.set);
    cpus c;
    cpus_judge(root, &allowed.set, sizeof allowed, &c);
    return c;
}

TEST(field_2_15_thread_count_obeys_cgroup_quota) {
    static const struct {
        const char *why, *groups, *files[4][2];
        double quota;
        int n_threads;
    } rows[] = {
        {"no cgroups at all", "", {{0}}, 0, 16},
        {"version 2, no limit", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "max 100000\n"}}, 0, 16},
        {"version 2, four processors", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "400000 100000\n"}}, 4, 4},
        {"two and a half is two", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "250000 100000\n"}}, 2.5, 2},
        {"half a processor is one thread", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "50000 100000\n"}}, 0.5, 1},
        {"more than there are", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "9900000 100000\n"}}, 99, 16},
        {"a period of its own", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "60000 20000\n"}}, 3, 3},
        {"a period left out", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "300000"}}, 3, 3},
        {"the parent's limit is smaller",
         "0::/a/b/c\n",
         {{"sys/fs/cgroup/a/b/c/cpu.max", "800000 100000"},
          {"sys/fs/cgroup/a/b/cpu.max", "max 100000"},
          {"sys/fs/cgroup/a/cpu.max", "200000 100000"}},
         2,
         2},
        {"the child's limit is smaller",
         "0::/a/b\n",
         {{"sys/fs/cgroup/a/b/cpu.max", "300000 100000"}, {"sys/fs/cgroup/a/cpu.max", "500000 100000"}},
         3,
         3},
        {"a container sees its own group as the root", "0::/\n", {{"sys/fs/cgroup/cpu.max", "200000 100000"}}, 2, 2},
        {"the host's name of a group that is the root here",
         "0::/system.slice/docker-1234.scope\n",
         {{"sys/fs/cgroup/cpu.max", "200000 100000"}},
         2,
         2},
        {"a group outside of what is mounted", "0::/../other\n", {{"sys/fs/cgroup/cpu.max", "200000 100000"}}, 2, 2},
        {"version 1",
         "5:memory:/m\n4:cpu,cpuacct:/app\n0::/\n",
         {{"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us", "300000\n"},
          {"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us", "100000\n"}},
         3,
         3},
        {"version 1, alone and without limit",
         "1:cpu:/app\n",
         {{"sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "-1\n"},
          {"sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n"}},
         0,
         16},
        {"version 1, limit of the parent",
         "1:cpu:/a/b\n",
         {{"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n"}, {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n"}},
         3,
         3},
        {"cpuset and cpuacct are not cpu",
         "2:cpuset:/app\n1:cpuacct:/app\n",
         {{"sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "100000"},
          {"sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000"}},
         0,
         16},
        {"both versions: the smaller",
         "1:cpu:/a\n0::/b\n",
         {{"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "700000"},
          {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"},
          {"sys/fs/cgroup/unified/b/cpu.max", "500000 100000"}},
         5,
         5},
        {"nonsense is no limit", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "many 0\n"}}, 0, 16},
        {"a period of zero is no limit", "0::/app\n", {{"sys/fs/cgroup/app/cpu.max", "5 0\n"}}, 0, 16},
        {"lines that are none", "::\n:\nx\n\n0::/app", {{"sys/fs/cgroup/app/cpu.max", "400000 100000"}}, 4, 4},
    };
    new_machine();
    put_processors(16, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        drop("/proc");
        drop("/sys/fs");
        if (rows[i].groups[0]) put("proc/self/cgroup", rows[i].groups);
        for (int f = 0; f < 4 && rows[i].files[f][0]; f++) put(rows[i].files[f][0], rows[i].files[f][1]);
        const cpus c = judge(0, 16, 1);
        CHECK(c.quota == rows[i].quota);
        CHECK_INT(c.n_threads, rows[i].n_threads);
    }
    drop_machine();
}

TEST(field_2_15_thread_count_obeys_affinity_and_physical_cores) {
    static const struct {
        const char *why;
        int n_there, n_smt, first, n_allowed, step, n_physical, n_threads;
        const char *reason;
    } rows[] = {
        {"all of them", 4, 1, 0, 4, 1, 4, 4, "4: affinity 4, physical cores 4, no cgroup quota"},
        {"two threads on each core", 8, 2, 0, 8, 1, 4, 4, "4: affinity 8, physical cores 4, no cgroup quota"},
        {"one core's two threads", 8, 2, 2, 2, 1, 1, 1, "1: affinity 2, physical cores 1, no cgroup quota"},
        {"the second thread of each core", 8, 2, 1, 4, 2, 4, 4, "4: affinity 4, physical cores 4, no cgroup quota"},
        {"half of two cores each", 8, 2, 3, 2, 1, 2, 2, "2: affinity 2, physical cores 2, no cgroup quota"},
        {"cores unknown", 4, 0, 0, 4, 1, 0, 4, "4: affinity 4, physical cores unknown, no cgroup quota"},
        {"one processor", 1, 1, 0, 1, 1, 1, 1, "1: affinity 1, physical cores 1, no cgroup quota"},
        {"64 of 64", 64, 1, 0, 64, 1, 64, 64, "64: affinity 64, physical cores 64, no cgroup quota"},
        {"more than the pool takes", 80, 1, 0, 80, 1, 80, 64,
         "64: affinity 80, physical cores 80, no cgroup quota, at most 64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        new_machine();
        put_processors(rows[i].n_there, rows[i].n_smt);
        const cpus c = judge(rows[i].first, rows[i].n_allowed, rows[i].step);
        CHECK_INT(c.n_affinity, rows[i].n_allowed);
        CHECK_INT(c.n_physical, rows[i].n_physical);
        CHECK_INT(c.n_threads, rows[i].n_threads);
        CHECK_STR(c.reason, rows[i].reason);
    }
    drop_machine();
}

TEST(the_reason_names_a_quota) {
    new_machine();
    put_processors(2, 1);
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/cpu.max", "150000 100000\n");
    CHECK_STR(judge(0, 2, 1).reason, "1: affinity 2, physical cores 2, cgroup quota 1.50");
    drop_machine();
}

TEST(sibling_lists_of_any_form_are_understood) {
    static const struct {
        const char *why, *list;
        int n_physical;
    } rows[] = {
        {"a comma between far numbers", "0,2\n", 1}, {"ranges and numbers", "0,2-3,9\n", 1},
        {"unreadable: no core", "x\n", 0},           {"a number beyond all", "99999999999999999999\n", 0},
        {"a range that runs down", "3-0\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        new_machine();
        put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", rows[i].list);
        put("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", rows[i].list);
        const cpus c = judge(0, 2, 2);
        CHECK_INT(c.n_physical, rows[i].n_physical);
        CHECK(c.n_threads >= 1);
    }
    drop_machine();
}

TEST(this_machine_has_between_one_and_its_allowed_processors) {
    cpus c;
    cpus_detect("", &c);
    CHECK(c.n_threads >= 1 && c.n_threads <= c.n_affinity && c.n_threads <= POOL_MAX_THREADS);
    CHECK(c.n_physical <= c.n_affinity);
    char head[16];
    snprintf(head, sizeof head, "%d: affinity ", c.n_threads);
    CHECK_HAS(c.reason, head);
}
