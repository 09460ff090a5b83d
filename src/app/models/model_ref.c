// app/models/model_ref.c - reads names of models that can be fetched.
#include "app/models/model_ref.h"
#include "app/numbers.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HUB_HOST "huggingface.co"

static const struct {
    const char *prefix;
    model_source source;
} schemes[] = {{"hf:", MODEL_FROM_HF},
               {"ollama:", MODEL_FROM_OLLAMA},
               {"https://", MODEL_FROM_URL},
               {"http://", MODEL_FROM_URL}};
enum { N_SCHEMES = sizeof schemes / sizeof *schemes };

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

bool model_ref_is(const char *text) {
    for (size_t i = 0; i < N_SCHEMES; i++)
        if (begins(text, schemes[i].prefix)) return true;
    return false;
}

static bool refuse(char *why, const char *what, const char *text, size_t n) {
    snprintf(why, NUMBER_WHY, "%s: '%.*s'", what, (int)(n < 80 ? n : 80), text);
    return false;
}

// A name of the hub or a registry: letters, digits, dots, dashes and underscores, the first one a letter, a digit or an
// underscore, and no two dots in a row.
static bool take_word(const char *text, size_t n, const char *what, char *to, char *why) {
    char message[64];
    bool is_fine = n > 0 && n < MODEL_REF_PART && text[0] != '.' && text[0] != '-';
    for (size_t i = 0; is_fine && i < n; i++)
        is_fine = (isalnum((unsigned char)text[i]) || (text[i] && strchr("._-", text[i]))) &&
                  !(i && text[i] == '.' && text[i - 1] == '.');
    if (!is_fine) {
        snprintf(message, sizeof message, "is no name of %s", what);
        return refuse(why, message, text, n);
    }
    memcpy(to, text, n);
    to[n] = '\0';
    return true;
}

bool model_path_is_safe(const char *path) {
    enum { NAME_MAX_BYTES = 200 }; // leaves room for the ends of temporary names
    size_t n_part = 0;
    if (!*path || strlen(path) >= MODEL_REF_PATH) return false;
    for (const char *c = path; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '\\') return false;
        if (*c == '/' ? n_part == 0 : n_part == 0 && *c == '.') return false;
        n_part = *c == '/' ? 0 : n_part + 1;
        if (n_part > NAME_MAX_BYTES) return false;
    }
    return n_part > 0;
}

static bool ends_with(const char *text, size_t n, const char *end) {
    const size_t n_end = strlen(end);
    return n > n_end && strncasecmp(text + n - n_end, end, n_end) == 0;
}

// FILE or QUANT.
static bool take_choice(const char *text, model_ref *ref, char *why) {
    const size_t n = strlen(text);
    if (!ends_with(text, n, ".gguf")) return take_word(text, n, "a file (.gguf) or type of weights", ref->quant, why);
    if (!model_path_is_safe(text)) return refuse(why, "is no path of a file in a repository", text, n);
    memcpy(ref->file, text, n + 1);
    return true;
}

static bool parse_hf(const char *text, model_ref *ref, char *why) {
    const size_t n = strcspn(text, ":"), n_repo = strcspn(text, ":@"), n_owner = strcspn(text, "/:@");
    if (text[n_owner] != '/') return refuse(why, "is not ORG/REPO", text, n);
    if (!take_word(text, n_owner, "an organisation", ref->owner, why) ||
        !take_word(text + n_owner + 1, n_repo - n_owner - 1, "a repository", ref->name, why))
        return false;
    snprintf(ref->revision, sizeof ref->revision, "main");
    if (text[n_repo] == '@') {
        const size_t n_revision = n - n_repo - 1;
        if (n_revision >= MODEL_REF_PART) return refuse(why, "is no revision", text + n_repo + 1, n_revision);
        memcpy(ref->revision, text + n_repo + 1, n_revision);
        ref->revision[n_revision] = '\0';
        if (!model_path_is_safe(ref->revision) || strpbrk(ref->revision, "%?#"))
            return refuse(why, "is no revision", text + n_repo + 1, n_revision);
    }
    return text[n] != ':' || take_choice(text + n + 1, ref, why);
}

static bool parse_ollama(const char *text, model_ref *ref, char *why) {
    const size_t n = strcspn(text, ":"), n_owner = strcspn(text, "/:");
    const bool has_owner = text[n_owner] == '/';
    snprintf(ref->owner, sizeof ref->owner, "library");
    snprintf(ref->revision, sizeof ref->revision, "latest");
    if (has_owner && !take_word(text, n_owner, "a namespace", ref->owner, why)) return false;
    const size_t at = has_owner ? n_owner + 1 : 0;
    if (!take_word(text + at, n - at, "a model", ref->name, why)) return false;
    return text[n] != ':' || take_word(text + n + 1, strlen(text + n + 1), "a tag", ref->revision, why);
}

// Is it this machine itself? Only then may a file come over an unencrypted connection.
static bool is_loopback(const char *host, size_t n) {
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n_name = strlen(names[i]);
        if (n >= n_name && strncmp(host, names[i], n_name) == 0 && (n == n_name || host[n_name] == ':')) return true;
    }
    return false;
}

static bool take_host(const char *host, size_t n, model_ref *ref, char *why) {
    bool is_fine = n > 0 && n < MODEL_REF_PART && host[0] != '.';
    for (size_t i = 0; is_fine && i < n; i++)
        is_fine = isalnum((unsigned char)host[i]) || (host[i] && strchr(".-:[]", host[i]));
    if (!is_fine) return refuse(why, "is no host", host, n);
    memcpy(ref->owner, host, n);
    ref->owner[n] = '\0';
    return true;
}

// A link to a file of the hub, as its pages have it: /ORG/REPO/resolve/REVISION/FILE.
static bool is_hub_link(const model_ref *url, model_ref *hf) {
    char text[3 * MODEL_REF_PATH], why[NUMBER_WHY];
    const char *const slash = strchr(url->file, '/'), *const second = slash ? strchr(slash + 1, '/') : NULL;
    if (strcmp(url->owner, HUB_HOST) != 0 || url->is_plain_http || !second) return false;
    const char *const at = begins(second, "/resolve/") ? second + 9 : begins(second, "/blob/") ? second + 6 : NULL;
    const char *const file = at ? strchr(at, '/') : NULL;
    if (!file) return false;
    snprintf(text, sizeof text, "hf:%.*s@%.*s:%s", (int)(second - url->file), url->file, (int)(file - at), at,
             file + 1);
    return model_ref_parse(text, hf, why) && hf->file[0];
}

static bool parse_url(const char *text, bool is_plain, model_ref *ref, char *why) {
    const size_t n_host = strcspn(text, "/?#"), n_path = strcspn(text, "?#"), n = strlen(text);
    model_ref hf = {0};
    ref->is_plain_http = is_plain;
    if (!take_host(text, n_host, ref, why)) return false;
    if (is_plain && !is_loopback(text, n_host))
        return refuse(why, "http:// is not encrypted, and taken from this machine alone: use https://", text, n_host);
    if (n_path == n_host || n_path - n_host - 1 >= MODEL_REF_PATH || !ends_with(text, n_path, ".gguf"))
        return refuse(why, "is no address of a .gguf file", text, n);
    memcpy(ref->file, text + n_host + 1, n_path - n_host - 1);
    ref->file[n_path - n_host - 1] = '\0';
    if (!model_path_is_safe(ref->file))
        return refuse(why, "is no path that a file can be kept under", ref->file, n_path);
    const size_t n_query = strcspn(text + n_path, "#");
    if (n_query >= MODEL_REF_PATH) return refuse(why, "is too long", text + n_path, n_query);
    memcpy(ref->query, text + n_path, n_query);
    ref->query[n_query] = '\0';
    for (const char *c = ref->query; *c; c++)
        if (!isgraph((unsigned char)*c)) return refuse(why, "is no query", ref->query, n_query);
    if (is_hub_link(ref, &hf)) *ref = hf;
    return true;
}

bool model_ref_parse(const char *text, model_ref *ref, char *why) {
    for (size_t i = 0; i < N_SCHEMES; i++) {
        if (!begins(text, schemes[i].prefix)) continue;
        const char *const rest = text + strlen(schemes[i].prefix);
        *ref = (model_ref){.source = schemes[i].source};
        switch (schemes[i].source) {
        case MODEL_FROM_HF: return parse_hf(rest, ref, why);
        case MODEL_FROM_OLLAMA: return parse_ollama(rest, ref, why);
        case MODEL_FROM_URL: return parse_url(rest, begins(text, "http:"), ref, why);
        }
    }
    return refuse(why, "is no name of a model that can be fetched (hf:, ollama:, https://)", text, strlen(text));
}

void model_ref_add(const model_ref *ref, bytes *to) {
    switch (ref->source) {
    case MODEL_FROM_HF:
        bytes_add_format(to, "hf:%s/%s", ref->owner, ref->name);
        if (strcmp(ref->revision, "main") != 0) bytes_add_format(to, "@%s", ref->revision);
        if (ref->file[0] || ref->quant[0]) bytes_add_format(to, ":%s", ref->file[0] ? ref->file : ref->quant);
        break;
    case MODEL_FROM_OLLAMA:
        bytes_add_text(to, "ollama:");
        if (strcmp(ref->owner, "library") != 0) bytes_add_format(to, "%s/", ref->owner);
        bytes_add_text(to, ref->name);
        if (strcmp(ref->revision, "latest") != 0) bytes_add_format(to, ":%s", ref->revision);
        break;
    case MODEL_FROM_URL:
        bytes_add_format(to, "http%s://%s/%s%s", ref->is_plain_http ? "" : "s", ref->owner, ref->file, ref->query);
        break;
    }
}
