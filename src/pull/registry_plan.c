// pull/registry_plan.c - a model of Ollama's registry: its manifest names layers by their SHA-256 (GET /v2/NAMESPACE/NAME/manifests/TAG).
#include "app/json_read.h"
#include "app/say.h"
#include "pull/pull_plan.h"
#include <stdlib.h>
#include <string.h>

#define REGISTRY      "https://registry.ollama.ai"
#define MANIFEST_TYPE "application/vnd.docker.distribution.manifest.v2+json"
enum { MANIFEST_LIMIT = 1 << 20 };

// The layers that are kept, and the names of their files. A model without the first one is none; adapters and picture encoders are not
// used by runnel under such a name.
static const struct {
    const char *type, *file;
} layers[] = {{"application/vnd.ollama.image.model", "model.gguf"},
              {"application/vnd.ollama.image.system", "system.txt"},
              {"application/vnd.ollama.image.params", "params.json"},
              {"application/vnd.ollama.image.license", "license.txt"}};
enum { N_LAYERS = sizeof layers / sizeof *layers };

struct manifest {
    char digest[N_LAYERS][SHA256_HEX]; // "": the layer is not there
    uint64_t n_bytes[N_LAYERS];
    bool has_adapter;
};

static bool take_layer(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct manifest *const m = target;
    json_span type, digest;
    uint64_t n_bytes;
    const json_item *const t = json_item_member(value, "mediaType"), *const d = json_item_member(value, "digest");
    const json_item *const size = json_item_member(value, "size");
    (void)i, (void)key;
    if (!t || !d || !size || !json_item_text(t, &type, why) || !json_item_text(d, &digest, why)) return true;
    m->has_adapter |= strcmp(type.data, "application/vnd.ollama.image.adapter") == 0;
    for (size_t k = 0; k < N_LAYERS; k++) {
        if (strcmp(type.data, layers[k].type) != 0 || m->digest[k][0]) continue;
        if (strncmp(digest.data, "sha256:", 7) != 0 || !checksum_is_hex(digest.data + 7, SHA256_HEX - 1)) {
            snprintf(why, JSON_WHY / 2, "'%.80s' is no sha256 digest", digest.data);
            return false;
        }
        if (!json_item_u64(size, &n_bytes, why)) return false;
        memcpy(m->digest[k], digest.data + 7, SHA256_HEX);
        m->n_bytes[k] = n_bytes;
    }
    return true;
}

static bool skip(void *user, const char *name, const json_item *value, char *why) {
    (void)user, (void)name, (void)value, (void)why;
    return true;
}

bool registry_read_manifest(const model_ref *ref, const char *registry, const char *text, size_t n_text,
                            pull_plan *plan, char *why) {
    static const member rows[] = {{.name = "layers", .kind = MEMBER_EACH, .shape = SHAPE_ARRAY, .each = take_layer}};
    struct manifest m = {0};
    const member_group group = {rows, 1, &m};
    char param[JSON_WHY], reason[JSON_WHY];
    json_doc *doc = NULL;
    const bool ok =
        json_doc_parse(text, n_text, &doc, reason) && json_doc_read_open(doc, &group, 1, skip, NULL, param, reason);
    json_doc_free(doc);
    if (!ok || !m.digest[0][0] || m.has_adapter) {
        snprintf(why, MODEL_WHY, "%s%s",
                 !ok             ? "the manifest cannot be read: "
                 : m.has_adapter ? "has an adapter of its own, which is not applied"
                                 : "the manifest has no layer with a GGUF model",
                 ok ? "" : reason);
        return false;
    }
    for (size_t k = N_LAYERS; k--;) { // the model last: with it the model is there
        if (!m.digest[k][0]) continue;
        char *const url = app_text("%s/v2/%s/%s/blobs/sha256:%s", registry, ref->owner, ref->name, m.digest[k]);
        pull_file *const f = pull_plan_add(plan, app_copy_text(layers[k].file), url, m.n_bytes[k]);
        memcpy(f->sha256, m.digest[k], SHA256_HEX);
    }
    plan->open = app_text("%s/%s", plan->folder, layers[0].file);
    return true;
}

bool registry_plan(const model_ref *ref, const char *name, const http_client *client, pull_plan *plan) {
    const char *const own = getenv("RUNNEL_OLLAMA_REGISTRY");
    char *const registry = app_copy_text(own && *own ? own : REGISTRY);
    const http_client anonymous = {.timeout_s = client->timeout_s}; // the hub's token is not for others
    char why[PULL_WHY];
    bytes text = {0};
    http_head head;
    for (size_t n = strlen(registry); n && registry[n - 1] == '/'; n--) registry[n - 1] = '\0';
    char *const url = app_text("%s/v2/%s/%s/manifests/%s", registry, ref->owner, ref->name, ref->revision);
    const http_verdict verdict = http_fetch_text(&anonymous, url, MANIFEST_TYPE, MANIFEST_LIMIT, &text, &head, why);
    char list_why[MODEL_WHY] = "";
    const bool ok = verdict == HTTP_FINE &&
                    registry_read_manifest(ref, registry, text.data ? text.data : "", text.n, plan, list_why);
    if (!ok)
        say("%s: %s: %s%s", name, registry, list_why[0] ? list_why : why,
            head.status == 404 ? ": there is no such model or tag" : "");
    bytes_free(&text);
    free(registry);
    free(url);
    return ok;
}
