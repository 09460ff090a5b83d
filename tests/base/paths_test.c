// tests/base/paths_test.c - folders, files and links: what lies in a folder and what only seems to.
#include "base/paths.h"
#include "tests/check.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *at(const char *rel) {
    static char path[8][512];
    static int turn;
    char *out = path[turn++ % 8];
    snprintf(out, sizeof path[0], "%s/%s", temp_dir(), rel);
    return out;
}

// model/a, model/sub/b, model/in -> a, model/out -> ../outside, model/gone -> nothing; outside
static void lay_out(void) {
    static bool done;
    if (done) return;
    done = true;
    CHECK(mkdir(at("model"), 0700) == 0 && mkdir(at("model/sub"), 0700) == 0);
    CHECK(write_file(at("model/a"), "12345", 5) && write_file(at("model/sub/b"), "1", 1) &&
          write_file(at("outside"), "1", 1));
    CHECK(write_file(at("model2"), "1", 1));
    CHECK(symlink("a", at("model/in")) == 0 && symlink("../outside", at("model/out")) == 0);
    CHECK(symlink("/etc/hostname", at("model/absolute")) == 0 && symlink("nothing", at("model/gone")) == 0);
    CHECK(symlink("../model2", at("model/neighbour")) == 0 && symlink("sub/b", at("model/below")) == 0);
    CHECK(symlink("circle", at("model/circle")) == 0 && symlink("model", at("link")) == 0);
}

TEST(folders_files_and_their_sizes_are_told_apart) {
    lay_out();
    CHECK(path_is_folder(at("model")) && path_is_folder(at("link")));
    CHECK(!path_is_folder(at("model/a")) && !path_is_folder(at("nowhere")));
    CHECK_INT(path_file_bytes(at("model/a")), 5);
    CHECK_INT(path_file_bytes(at("model")) + path_file_bytes(at("nowhere")), 0);
    CHECK_STR(path_last_name("/a/b.gguf"), "b.gguf");
    CHECK_STR(path_last_name("b.gguf"), "b.gguf");
    CHECK_STR(path_last_name("a/"), "");
}

TEST(a_folder_has_its_own_name_through_links_and_dots) {
    char name[PATH_BYTES];
    lay_out();
    path_folder_name(at("link"), name);
    CHECK_STR(name, "model");
    path_folder_name(at("model/sub/.."), name);
    CHECK_STR(name, "model");
    path_folder_name(at("nowhere"), name);
    CHECK_STR(name, "");
}

TEST(item_16_a_file_of_a_folder_lies_in_it) {
    static const struct {
        const char *why, *folder, *name;
        rn_status status;
        bool found;
        const char *want; // of the error
    } rows[] = {
        {"a file", "model", "a", RN_OK, true, ""},
        {"no file", "model", "b", RN_OK, false, ""},
        {"through a link to the folder", "link", "a", RN_OK, true, ""},
        {"a link inside", "model", "in", RN_OK, true, ""},
        {"a link to a file of a folder inside", "model", "below", RN_OK, true, ""},
        {"a link outside", "model", "out", RN_E_FORMAT, false, "out: is a symbolic link that leaves the folder"},
        {"an absolute link", "model", "absolute", RN_E_FORMAT, false, "is a symbolic link that leaves the folder"},
        {"a link to a neighbour whose name begins alike", "model", "neighbour", RN_E_FORMAT, false,
         "leaves the folder"},
        {"a link to nothing", "model", "gone", RN_E_FORMAT, false, "gone: is a symbolic link to a missing file"},
        {"a link in a circle", "model", "circle", RN_E_IO, false, "cannot be examined"},
        {"empty", "model", "", RN_E_FORMAT, false, "\"\" is not a plain file name"},
        {"a dot", "model", ".", RN_E_FORMAT, false, "\".\" is not a plain file name"},
        {"two dots", "model", "..", RN_E_FORMAT, false, "\"..\" is not a plain file name"},
        {"up", "model", "../outside", RN_E_FORMAT, false, "\"../outside\" is not a plain file name"},
        {"down", "model", "sub/b", RN_E_FORMAT, false, "\"sub/b\" is not a plain file name"},
        {"absolute", "model", "/etc/hostname", RN_E_FORMAT, false, "is not a plain file name"},
        {"no folder", "nowhere", "a", RN_E_IO, false, "nowhere: cannot be examined: No such file"},
    };
    lay_out();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[PATH_BYTES];
        bool found = false;
        rn_error err = {0};
        check_note("%s", rows[i].why);
        const rn_status st = path_in_folder(at(rows[i].folder), NULL, rows[i].name, path, &found, &err);
        CHECK_INT(st, rows[i].status);
        CHECK(found == rows[i].found);
        CHECK_HAS(err.text, rows[i].want);
        if (found) CHECK(path_file_bytes(path) > 0);
    }
}

// How the Hugging Face cache keeps a model: REPO/snapshots/REVISION/NAME -> ../../blobs/HASH
TEST(links_of_a_cache_snapshot_may_lead_to_its_blobs_and_nowhere_else) {
    static const struct {
        const char *why, *name;
        rn_status status;
    } rows[] = {
        {"a blob", "model", RN_OK},
        {"a blob of another model", "foreign", RN_E_FORMAT},
        {"below the blobs", "deep", RN_E_FORMAT},
        {"beside the blobs", "beside", RN_E_FORMAT},
    };
    static const char *const folders[] = {"hub",         "hub/x",         "hub/x/snapshots", "hub/x/snapshots/r1",
                                          "hub/x/blobs", "hub/x/blobs/d", "hub/y",           "hub/y/blobs"};
    static const char *const files[] = {"hub/x/blobs/h", "hub/x/blobs/d/h", "hub/y/blobs/h", "hub/x/blobs2"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) CHECK(mkdir(at(folders[i]), 0700) == 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) CHECK(write_file(at(files[i]), "1", 1));
    CHECK(symlink("../../blobs/h", at("hub/x/snapshots/r1/model")) == 0);
    CHECK(symlink("../../../y/blobs/h", at("hub/x/snapshots/r1/foreign")) == 0);
    CHECK(symlink("../../blobs/d/h", at("hub/x/snapshots/r1/deep")) == 0);
    CHECK(symlink("../../blobs2", at("hub/x/snapshots/r1/beside")) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[PATH_BYTES];
        bool found;
        rn_error err = {0};
        check_note("%s", rows[i].why);
        CHECK_INT(path_in_folder(at("hub/x/snapshots/r1"), NULL, rows[i].name, path, &found, &err), rows[i].status);
    }
}

TEST(a_file_of_a_folder_inside_lies_in_it_too) {
    static const struct {
        const char *why, *sub, *name;
        rn_status status;
        bool found;
        const char *want;
    } rows[] = {
        {"a file", "sub", "b", RN_OK, true, ""},
        {"no file", "sub", "c", RN_OK, false, ""},
        {"no folder", "nowhere", "b", RN_OK, false, ""},
        {"a link within the outer folder", "sub", "up", RN_OK, true, ""},
        {"a link outside", "sub", "out", RN_E_FORMAT, false, "out: is a symbolic link that leaves the folder"},
        {"a folder outside", "away", "hostname", RN_E_FORMAT, false, "leaves the folder"},
        {"up", "..", "outside", RN_E_FORMAT, false, "\"..\" is not a plain folder name"},
        {"two steps down", "sub/sub", "b", RN_E_FORMAT, false, "\"sub/sub\" is not a plain folder name"},
        {"absolute", "/etc", "hostname", RN_E_FORMAT, false, "is not a plain folder name"},
        {"empty", "", "a", RN_E_FORMAT, false, "\"\" is not a plain folder name"},
        {"a name that goes up", "sub", "../a", RN_E_FORMAT, false, "\"../a\" is not a plain file name"},
    };
    lay_out();
    CHECK(symlink("../a", at("model/sub/up")) == 0 && symlink("../../outside", at("model/sub/out")) == 0);
    CHECK(symlink("/etc", at("model/away")) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[PATH_BYTES];
        bool found = !rows[i].found;
        rn_error err = {0};
        check_note("%s", rows[i].why);
        CHECK_INT(path_in_folder(at("model"), rows[i].sub, rows[i].name, path, &found, &err), rows[i].status);
        CHECK(found == rows[i].found);
        CHECK_HAS(err.text, rows[i].want);
    }
}

TEST(a_path_up_to_the_systems_limit_is_taken) {
    char folder[PATH_BYTES], name[PATH_BYTES], path[PATH_BYTES];
    bool found;
    rn_error err = {0};
    snprintf(folder, sizeof folder, "%s", temp_dir());
    const size_t n = strlen(folder);
    while (strlen(folder) < PATH_BYTES - 300) strcat(folder, "/././././././././././././././././.");
    const size_t room = PATH_BYTES - 1 - strlen(folder) - 1; // for the name
    memset(name, 'x', sizeof name);
    name[room < 255 ? room : 255] = 0;
    CHECK_OK(path_in_folder(folder, NULL, name, path, &found, &err), &err);
    CHECK(!found && n > 0);
    memset(name, 'x', room + 1);
    name[room + 1] = 0;
    CHECK_FAILS(path_in_folder(folder, NULL, name, path, &found, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "its path has 4096 bytes, limit 4095");
}

TEST(one_file_by_two_names_is_one_file) {
    char a[512], b[512], c[512], gone[512];
    snprintf(a, sizeof a, "%s/same-a", temp_dir());
    snprintf(b, sizeof b, "%s/same-b", temp_dir());
    snprintf(c, sizeof c, "%s/same-c", temp_dir());
    snprintf(gone, sizeof gone, "%s/same-gone", temp_dir());
    write_file(a, "x", 1);
    write_file(c, "x", 1);
    CHECK(symlink(a, b) == 0);
    CHECK(path_is_same_file(a, a) && path_is_same_file(a, b) && path_is_same_file(b, a));
    CHECK(!path_is_same_file(a, c) && !path_is_same_file(a, gone) && !path_is_same_file(gone, gone));
    unlink(a);
    CHECK(!path_is_same_file(a, b));
}
