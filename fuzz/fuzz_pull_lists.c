// fuzz/fuzz_pull_lists.c - what a hub and a registry answer, as JSON of anybody's. Files that are planned lie below the folder, are asked for
// at the server, and have sums that are sums.
#include "app/memory.h"
#include "pull/pull_plan.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char *const server = "https://example.com";
    const model_ref hf = {.source = MODEL_FROM_HF, .owner = "o", .name = "r", .revision = "main"};
    const model_ref ollama = {.source = MODEL_FROM_OLLAMA, .owner = "library", .name = "m", .revision = "latest"};
    char why[MODEL_WHY];
    for (int i = 0; i < 2; i++) {
        pull_plan plan = {.folder = app_copy_text("/folder"), .endpoint = app_copy_text(server)};
        why[0] = '\0';
        const bool ok = i ? hub_read_list(&hf, (const char *)data, n, &plan, why)
                          : registry_read_manifest(&ollama, server, (const char *)data, n, &plan, why);
        must(ok ? plan.n_files > 0 && plan.open : why[0] != '\0');
        for (size_t k = 0; k < plan.n_files; k++) {
            const pull_file *const f = &plan.files[k];
            must(model_path_is_safe(f->name) && strncmp(f->url, server, strlen(server)) == 0 &&
                 f->url[strlen(server)] == '/');
            must(!f->sha256[0] || checksum_is_hex(f->sha256, SHA256_HEX - 1));
            must(!f->git_oid[0] || checksum_is_hex(f->git_oid, GIT_OID_HEX - 1));
        }
        pull_plan_free(&plan);
    }
    return 0;
}
