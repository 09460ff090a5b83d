// app/models/model_files.c - see model_files.h.
#include "app/models/model_files.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// Tried in this order where a name says no type: about 4.5 bits a weight first, which most people take.
static const char *const usual_types[] = {"Q4_K_M", "Q4_K_S", "Q4_0",    "MXFP4", "Q5_K_M", "Q5_K_S",
                                          "Q6_K",   "Q8_0",   "Q4_K_XL", "BF16",  "F16",    "F32"};

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcasecmp(text + n - n_end, end) == 0;
}

static const char *base_name(const char *name) {
    const char *const slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

// "-00002-of-00005.gguf" at the end of a name: llama.cpp's parts.
#define PART_END "-00001-of-00001.gguf"
static bool part_of(const char *name, int *part, int *n_parts) {
    const size_t n = strlen(name), n_end = strlen(PART_END);
    if (n <= n_end) return false;
    const char *const end = name + n - n_end;
    for (size_t i = 0; i < n_end; i++)
        if (isdigit((unsigned char)PART_END[i]) ? !isdigit((unsigned char)end[i]) : PART_END[i] != end[i])
            return false;
    *part = *n_parts = 0;
    for (int i = 0; i < 5; i++) *part = 10 * *part + end[1 + i] - '0', *n_parts = 10 * *n_parts + end[10 + i] - '0';
    return *part >= 1 && *part <= *n_parts;
}

bool model_file_is_gguf(const char *name) {
    int part, n_parts;
    const char *const base = base_name(name);
    return ends_with(name, ".gguf") && !strcasestr(base, "mmproj") && !strcasestr(base, "imatrix") &&
           (!part_of(name, &part, &n_parts) || part == 1);
}

// Does the name have the type as a word of its own? Q4_K is none in Q4_K_M, and Q4_K_M none in IQ4_K_M.
static bool has_type(const char *name, const char *type) {
    const size_t n = strlen(type);
    for (const char *at = name; (at = strcasestr(at, type)); at++)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    return false;
}

bool model_file_quant(const char *name, char *quant) {
    const char *const base = base_name(name);
    int part, n_parts;
    if (!ends_with(base, ".gguf")) return false;
    const size_t n = strlen(base) - strlen(part_of(base, &part, &n_parts) ? PART_END : ".gguf");
    size_t begin = n;
    while (begin && base[begin - 1] != '-' && base[begin - 1] != '.') begin--;
    const char *const word = base + begin;
    if (begin == 0 || n - begin < 2 || n - begin >= MODEL_REF_PART) return false;
    const bool is_type =
        (strncasecmp(word, "IQ", 2) == 0 || strncasecmp(word, "TQ", 2) == 0 || strncasecmp(word, "BF", 2) == 0)
            ? isdigit((unsigned char)word[2])
            : (strchr("QqFf", word[0]) && isdigit((unsigned char)word[1])) || strncasecmp(word, "MXFP", 4) == 0;
    if (!is_type) return false;
    memcpy(quant, word, n - begin);
    quant[n - begin] = '\0';
    return true;
}

struct pick {
    const char *const *names;
    size_t n;
    bool *chosen;
    char *why;
};

// Adds as many of the GGUF files as the reason has room for.
static void add_candidates(const struct pick *p, const char *type) {
    size_t at = strlen(p->why);
    for (size_t i = 0; i < p->n; i++) {
        if (!model_path_is_safe(p->names[i]) || !model_file_is_gguf(p->names[i]) ||
            (type && !has_type(p->names[i], type)))
            continue;
        const size_t n = strlen(p->names[i]);
        if (at + n + 8 >= MODEL_WHY) {
            snprintf(p->why + at, MODEL_WHY - at, " ...");
            return;
        }
        at += (size_t)snprintf(p->why + at, MODEL_WHY - at, " %s", p->names[i]);
    }
}

// Chooses names[first] and, if it is the first part of a split file, the others.
static bool choose(const struct pick *p, size_t first, model_choice *choice) {
    int part, n_parts;
    const char *const name = p->names[first];
    p->chosen[first] = true;
    *choice = (model_choice){.first = first, .n = 1};
    if (!part_of(name, &part, &n_parts)) return true;
    const size_t n_stem = strlen(name) - strlen(PART_END);
    for (int want = 2; want <= n_parts; want++) {
        char end[32];
        snprintf(end, sizeof end, "-%05d-of-%05d.gguf", want % 100000, n_parts % 100000);
        size_t i = 0;
        while (i < p->n && !(strncmp(p->names[i], name, n_stem) == 0 && strcmp(p->names[i] + n_stem, end) == 0)) i++;
        if (i == p->n) {
            snprintf(p->why, MODEL_WHY, "%s: part %d of %d is not there", name, want, n_parts);
            return false;
        }
        p->chosen[i] = true;
        choice->n++;
    }
    return true;
}

// The GGUF file of a type (NULL: any); n_found: how many there are. Of several the one with the shortest name, if only one is as short.
static size_t find_type(const struct pick *p, const char *type, size_t *n_found) {
    size_t best = p->n, n_best = 0;
    *n_found = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!model_path_is_safe(p->names[i]) || !model_file_is_gguf(p->names[i]) ||
            (type && !has_type(p->names[i], type)))
            continue;
        ++*n_found;
        const size_t n = strlen(p->names[i]), n_least = best < p->n ? strlen(p->names[best]) : (size_t)-1;
        if (n < n_least)
            best = i, n_best = 1;
        else if (n == n_least)
            n_best++;
    }
    return n_best == 1 ? best : p->n;
}

// Beside weights and config.json a folder has tokenizers, templates and settings: small files of these kinds.
static bool is_of_folder(const char *name, bool has_model_files) {
    static const char *const ends[] = {".json", ".safetensors", ".model", ".jinja", ".txt", ".tiktoken"};
    if (strchr(name, '/') || (has_model_files && strncmp(name, "consolidated", 12) == 0)) return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i])) return true;
    return false;
}

static bool pick_folder(const struct pick *p, model_choice *choice) {
    size_t config = p->n, n_weights = 0, n_model_files = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (strchr(p->names[i], '/') || !model_path_is_safe(p->names[i])) continue;
        if (strcmp(p->names[i], "config.json") == 0) config = i;
        n_weights += ends_with(p->names[i], ".safetensors");
        n_model_files += ends_with(p->names[i], ".safetensors") && strncmp(p->names[i], "model", 5) == 0;
    }
    if (config == p->n || !n_weights) {
        snprintf(p->why, MODEL_WHY, "neither a GGUF file nor config.json with .safetensors files is there");
        return false;
    }
    *choice = (model_choice){.is_folder = true, .first = config};
    for (size_t i = 0; i < p->n; i++) {
        p->chosen[i] = model_path_is_safe(p->names[i]) && is_of_folder(p->names[i], n_model_files > 0);
        choice->n += p->chosen[i];
    }
    return true;
}

bool model_files_pick(const model_ref *ref, const char *const *names, size_t n, bool *chosen, model_choice *choice,
                      char *why) {
    const struct pick p = {names, n, chosen, why};
    size_t n_all, n_found = 0, found = n;
    for (size_t i = 0; i < n; i++) chosen[i] = false;
    if (ref->file[0]) {
        for (size_t i = 0; i < n; i++)
            if (strcmp(names[i], ref->file) == 0 && model_path_is_safe(names[i])) return choose(&p, i, choice);
        snprintf(why, MODEL_WHY, "no such file: %s; GGUF files there:", ref->file);
        add_candidates(&p, NULL);
        return false;
    }
    found = find_type(&p, NULL, &n_all);
    if (ref->quant[0]) {
        found = find_type(&p, ref->quant, &n_found);
        if (found < n) return choose(&p, found, choice);
        snprintf(why, MODEL_WHY,
                 n_found ? "several files of the type %s, give one of them:"
                         : "no GGUF file of the type %s; there are:",
                 ref->quant);
        add_candidates(&p, n_found ? ref->quant : NULL);
        return false;
    }
    if (n_all == 0) return pick_folder(&p, choice);
    if (n_all == 1) return choose(&p, found, choice);
    for (size_t i = 0; i < sizeof usual_types / sizeof *usual_types; i++)
        if ((found = find_type(&p, usual_types[i], &n_found)) < n) return choose(&p, found, choice);
    snprintf(why, MODEL_WHY, "several GGUF files, give one of them:");
    add_candidates(&p, NULL);
    return false;
}
