// pull/pull_plan.h - what a pull fetches: files with their addresses, sizes and sums, and where they belong.
//
// Ownership: pull_plan_free() frees what the plan holds.
// Threads:   one at a time.
#ifndef RN_PULL_PULL_PLAN_H
#define RN_PULL_PULL_PLAN_H

#include "app/models/model_files.h"
#include "pull/checksum.h"
#include "pull/http_fetch.h"

typedef struct pull_file {
    char *name; // below the plan's folder
    char *url;
    uint64_t n_bytes;          // NO_SIZE: the source does not say
    char sha256[SHA256_HEX];   // "": not known
    char git_oid[GIT_OID_HEX]; // "": not known
} pull_file;

typedef struct pull_plan {
    char *folder;
    char *open; // the path that -m opens
    pull_file *files;
    size_t n_files;
    char commit[PULL_WHY]; // the state of the repository that this is; "": the source has none
    char *endpoint;        // the server that may have the token
} pull_plan;

// Each asks the source for what the name means. False: the error has been printed.
bool pull_plan_make(const model_ref *ref, const char *name, const http_client *client, pull_plan *plan);
bool hub_plan(const model_ref *ref, const char *name, const http_client *client, pull_plan *plan); // hub_plan.c
bool registry_plan(const model_ref *ref, const char *name, const http_client *client,
                   pull_plan *plan); // registry_plan.c

// What the servers answer, as the plan's files; untrusted. False: the reason is in why (MODEL_WHY bytes).
bool hub_read_list(const model_ref *ref, const char *text, size_t n_text, pull_plan *plan, char *why);
bool registry_read_manifest(const model_ref *ref, const char *registry, const char *text, size_t n_text,
                            pull_plan *plan, char *why);

// Adds a file and takes the texts.
pull_file *pull_plan_add(pull_plan *plan, char *name, char *url, uint64_t n_bytes);
void pull_plan_free(pull_plan *plan);

// $HF_ENDPOINT, else https://huggingface.co; without a slash at its end, freed with free().
char *hub_endpoint(void);
// $HF_TOKEN, else what Hugging Face's tools keep in a file; NULL: none. Freed with free().
char *hub_token(void);

#endif
