// pull/hub_plan.c - a model of the Hugging Face hub: its list of files with sizes and sums (GET /api/models/ORG/REPO/revision/REVISION).
#include "app/files.h"
#include "app/json_read.h"
#include "app/say.h"
#include "pull/pull_plan.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HUB "https://huggingface.co"
enum { LIST_LIMIT = 32 << 20, MOST_FILES = 20000 };

static const char *non_empty(const char *variable) {
    const char *v = getenv(variable);
    return v && *v ? v : NULL;
}

char *hub_endpoint(void) {
    char *const endpoint = app_copy_text(non_empty("HF_ENDPOINT") ? getenv("HF_ENDPOINT") : HUB);
    for (size_t n = strlen(endpoint); n && endpoint[n - 1] == '/'; n--) endpoint[n - 1] = '\0';
    return endpoint;
}

char *hub_token(void) {
    enum { TOKEN_LIMIT = 4096 };
    const char *const home = non_empty("HOME"), *const hf_home = non_empty("HF_HOME");
    bytes text = {0};
    if (non_empty("HF_TOKEN")) return app_copy_text(getenv("HF_TOKEN"));
    char *const path =
        hf_home ? app_text("%s/token", hf_home) : app_text("%s/.cache/huggingface/token", home ? home : "");
    if (access(path, R_OK) == 0 && !file_read(path, TOKEN_LIMIT, &text)) bytes_free(&text);
    free(path);
    if (text.n) text.data[strcspn(text.data, " \t\r\n")] = '\0';
    if (text.n && text.data[0]) return text.data;
    bytes_free(&text);
    return NULL;
}

struct hub_file {
    char *name;
    uint64_t n_bytes;
    char sha256[SHA256_HEX], git_oid[GIT_OID_HEX];
};
struct hub_list {
    const char *commit;
    struct hub_file *files;
    size_t n;
};

static void take_hex(const json_item *value, int n, char *to) {
    json_span text;
    char why[JSON_WHY];
    if (value && json_item_text(value, &text, why) && checksum_is_hex(text.data, n))
        memcpy(to, text.data, (size_t)n + 1);
}

// {"rfilename", "size", "blobId", "lfs": {"sha256", "size"}}. What is not of this form is left out.
static bool take_file(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct hub_list *const list = target;
    struct hub_file f = {.n_bytes = NO_SIZE};
    json_span name;
    (void)key;
    if (i >= MOST_FILES) {
        snprintf(why, JSON_WHY / 2, "more than %d files", MOST_FILES);
        return false;
    }
    const json_item *const named = json_item_member(value, "rfilename"), *const size =
                                                                             json_item_member(value, "size");
    const json_item *const lfs = json_item_member(value, "lfs");
    if (!named || !json_item_text(named, &name, why) || strlen(name.data) != name.n || !model_path_is_safe(name.data))
        return true;
    if (size && !json_item_u64(size, &f.n_bytes, why)) return false;
    if (lfs) {
        const json_item *const oid = json_item_member(lfs, "sha256");
        take_hex(oid ? oid : json_item_member(lfs, "oid"), SHA256_HEX - 1, f.sha256);
    } else {
        take_hex(json_item_member(value, "blobId"), GIT_OID_HEX - 1, f.git_oid);
    }
    f.name = app_copy_text(name.data);
    list->files = app_realloc(list->files, (list->n + 1) * sizeof *list->files);
    list->files[list->n++] = f;
    return true;
}

static bool skip(void *user, const char *name, const json_item *value, char *why) {
    (void)user, (void)name, (void)value, (void)why;
    return true;
}

static bool say_refused(const char *name, const char *endpoint, const http_head *head, const char *token,
                        const char *why) {
    const bool may_be_gated = head->status == 401 || head->status == 403;
    say("%s: %s: %s%s", name, endpoint, why,
        may_be_gated && token ? ": the token is not allowed to read it"
        : may_be_gated        ? ": there is no such repository, or it needs a token: HF_TOKEN"
        : head->status == 404 ? ": there is no such repository or revision"
                              : "");
    return false;
}

static char *resolve_url(const model_ref *ref, const char *endpoint, const char *commit, const char *file) {
    char *const path = curl_easy_escape(NULL, file, 0);
    bytes url = {0};
    bytes_add_format(&url, "%s/%s/%s/resolve/%s/", endpoint, ref->owner, ref->name, commit);
    for (const char *c = path ? path : ""; *c; c++) { // slashes stay
        const bool is_slash = strncmp(c, "%2F", 3) == 0;
        bytes_add(&url, is_slash ? "/" : c, 1);
        if (is_slash) c += 2;
    }
    curl_free(path);
    return url.data;
}

// Adds the chosen files: weights first, config.json last, since a folder that has it counts as complete.
static bool add_files(const model_ref *ref, struct hub_list *list, pull_plan *plan, char *why) {
    const char **const names = app_alloc(list->n * sizeof *names);
    bool *const chosen = app_alloc(list->n * sizeof *chosen);
    model_choice choice;
    for (size_t i = 0; i < list->n; i++) names[i] = list->files[i].name;
    const bool ok = model_files_pick(ref, names, list->n, chosen, &choice, why);
    for (size_t k = 0; ok && k <= list->n; k++) {
        const size_t i = k == list->n ? choice.first : k;
        if (k < list->n && (!chosen[k] || (choice.is_folder && k == choice.first))) continue;
        if (k == list->n && !choice.is_folder) continue;
        struct hub_file *const f = &list->files[i];
        pull_file *const to = pull_plan_add(plan, app_copy_text(f->name),
                                            resolve_url(ref, plan->endpoint, plan->commit, f->name), f->n_bytes);
        memcpy(to->sha256, f->sha256, sizeof to->sha256);
        memcpy(to->git_oid, f->git_oid, sizeof to->git_oid);
    }
    if (ok)
        plan->open =
            choice.is_folder ? app_copy_text(plan->folder) : app_text("%s/%s", plan->folder, names[choice.first]);
    free(names);
    free(chosen);
    return ok;
}

bool hub_read_list(const model_ref *ref, const char *text, size_t n_text, pull_plan *plan, char *why) {
    static const member rows[] = {
        {.name = "sha", .kind = MEMBER_NAME, .offset = offsetof(struct hub_list, commit)},
        {.name = "siblings", .kind = MEMBER_EACH, .shape = SHAPE_ARRAY, .each = take_file},
    };
    struct hub_list list = {0};
    const member_group group = {rows, sizeof rows / sizeof *rows, &list};
    char param[JSON_WHY], reason[JSON_WHY];
    json_doc *doc = NULL;
    bool ok =
        json_doc_parse(text, n_text, &doc, reason) && json_doc_read_open(doc, &group, 1, skip, NULL, param, reason);
    if (!ok) {
        snprintf(why, MODEL_WHY, "the list of files cannot be read: %s", reason);
    } else {
        // Files are asked for by the commit, so that a push meanwhile cannot mix two states.
        const bool has_commit = list.commit && checksum_is_hex(list.commit, GIT_OID_HEX - 1);
        snprintf(plan->commit, sizeof plan->commit, "%s", has_commit ? list.commit : ref->revision);
        ok = add_files(ref, &list, plan, why);
    }
    for (size_t i = 0; i < list.n; i++) free(list.files[i].name);
    free(list.files);
    json_doc_free(doc);
    return ok;
}

bool hub_plan(const model_ref *ref, const char *name, const http_client *client, pull_plan *plan) {
    char why[PULL_WHY];
    bytes text = {0};
    http_head head;
    plan->endpoint = hub_endpoint();
    char *const revision = curl_easy_escape(NULL, ref->revision, 0);
    char *const url = app_text("%s/api/models/%s/%s/revision/%s?blobs=true", plan->endpoint, ref->owner, ref->name,
                               revision ? revision : "main");
    const http_verdict verdict = http_fetch_text(client, url, "application/json", LIST_LIMIT, &text, &head, why);
    char list_why[MODEL_WHY] = "";
    const bool ok = verdict == HTTP_FINE ? hub_read_list(ref, text.data ? text.data : "", text.n, plan, list_why)
                                         : say_refused(name, plan->endpoint, &head, client->token, why);
    if (list_why[0]) say("%s: %s: %s", name, plan->endpoint, list_why);
    bytes_free(&text);
    curl_free(revision);
    free(url);
    return ok;
}
