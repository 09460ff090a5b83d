// cli/other_file.c - see other_file.h. GGUF: github.com/ggml-org/ggml/blob/master/docs/gguf.md; safetensors: github.com/huggingface/safetensors.
#include "cli/other_file.h"
#include "app/term.h"
#include <inttypes.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST_KEYS = 4096,
    MOST_STRING = 1 << 20,
    MOST_SHOWN = 200,
    MOST_FACTS = 40,
    MOST_HEADER = 8 << 20,
    KEY_BYTES = 128,
    HUMAN_TEXT = 32
};

static const struct {
    const char *type, *name, *use;
} gguf_kinds[] = {
    {"imatrix", "imatrix", "an importance matrix, for `runnel quantize --imatrix`"},
    {"adapter", "adapter", "a LoRA adapter, for `--lora` and `runnel merge`"},
    {"mmproj", "mmproj", "the vision part of a model, for `--mmproj` and beside the model's file"},
    {"clip-vision", "mmproj", "the vision part of a model, for `--mmproj` and beside the model's file"},
};

// ---- GGUF ------------------------------------------------------------------------------------------------------------

// Types of values: 0..12, of which 8 is a string and 9 an array.
enum { GGUF_STRING = 8, GGUF_ARRAY = 9 };
static const uint8_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static bool take(FILE *f, void *to, size_t n) { return fread(to, 1, n, f) == n; }
static bool skip(FILE *f, uint64_t n) { return n <= INT32_MAX && fseek(f, (long)n, SEEK_CUR) == 0; }

// A string, of which the first n_text - 1 bytes are kept.
static bool take_string(FILE *f, char *text, size_t n_text) {
    uint64_t n;
    if (!take(f, &n, sizeof n) || n > MOST_STRING) return false;
    const size_t n_kept = n < n_text ? (size_t)n : n_text - 1;
    if (!take(f, text, n_kept) || !skip(f, n - n_kept)) return false;
    for (size_t i = 0; i < n_kept; i++)
        if (text[i] == '\0') text[i] = ' ';
    text[n_kept] = '\0';
    return true;
}

static bool skip_array(FILE *f) {
    uint32_t type;
    uint64_t n;
    char none[1];
    if (!take(f, &type, sizeof type) || !take(f, &n, sizeof n) || n > INT32_MAX) return false;
    if (type == GGUF_STRING) {
        for (uint64_t i = 0; i < n; i++)
            if (!take_string(f, none, sizeof none)) return false;
        return true;
    }
    return type < sizeof value_bytes && value_bytes[type] && skip(f, n * value_bytes[type]);
}

static void add_fact(bytes *to, const char *key, const char *value) {
    term_add_plain(to, key, strcspn(key, "\t\n"));
    bytes_add_text(to, "\t");
    term_add_plain(to, value, strcspn(value, "\n"));
    bytes_add_text(to, "\n");
}

// Writes a number as text. raw: its bytes, little-endian as this machine's.
static void number_text(uint32_t type, const void *raw, char *text, size_t n_text) {
    static const bool is_signed[] = {false, true,  false, true,  false, true, false,
                                     false, false, false, false, true,  false};
    uint64_t whole = 0;
    float real4;
    double real8;
    memcpy(&whole, raw, value_bytes[type]);
    memcpy(&real4, raw, sizeof real4);
    memcpy(&real8, raw, sizeof real8);
    const int n_free = 64 - 8 * value_bytes[type];
    if (type == 6)
        snprintf(text, n_text, "%g", (double)real4);
    else if (type == 12)
        snprintf(text, n_text, "%g", real8);
    else if (type == 7)
        snprintf(text, n_text, "%s", whole ? "true" : "false");
    else if (is_signed[type])
        snprintf(text, n_text, "%" PRId64, (int64_t)(whole << n_free) >> n_free);
    else
        snprintf(text, n_text, "%" PRIu64, whole);
}

static bool take_key(FILE *f, other_file *k, size_t *n_facts, char *type_of, char *architecture) {
    char key[KEY_BYTES], value[MOST_SHOWN];
    uint32_t type;
    unsigned char raw[8] = {0};
    if (!take_string(f, key, sizeof key) || !take(f, &type, sizeof type) || type >= sizeof value_bytes) return false;
    if (type == GGUF_ARRAY) return skip_array(f);
    if (type == GGUF_STRING) {
        if (!take_string(f, value, sizeof value)) return false;
    } else {
        if (!take(f, raw, value_bytes[type])) return false;
        number_text(type, raw, value, sizeof value);
    }
    if (strcmp(key, "general.type") == 0) snprintf(type_of, MOST_SHOWN, "%s", value);
    if (strcmp(key, "general.architecture") == 0) snprintf(architecture, MOST_SHOWN, "%s", value);
    if ((*n_facts)++ < MOST_FACTS) add_fact(&k->facts, key, value);
    return true;
}

static bool read_gguf(FILE *f, other_file *k) {
    uint32_t version;
    uint64_t n_tensors, n_keys;
    size_t n_facts = 0;
    char type[MOST_SHOWN] = "", architecture[MOST_SHOWN] = "", count[HUMAN_TEXT];
    if (!take(f, &version, sizeof version) || !take(f, &n_tensors, sizeof n_tensors) ||
        !take(f, &n_keys, sizeof n_keys) || version < 2 || version > 3 || n_keys > MOST_KEYS)
        return false;
    snprintf(count, sizeof count, "%" PRIu64, n_tensors);
    add_fact(&k->facts, "tensors", count);
    for (uint64_t i = 0; i < n_keys; i++)
        if (!take_key(f, k, &n_facts, type, architecture)) return false;
    if (strcmp(architecture, "clip") == 0) strcpy(type, "mmproj");
    for (size_t i = 0; i < sizeof gguf_kinds / sizeof *gguf_kinds; i++)
        if (strcmp(gguf_kinds[i].type, type) == 0) k->name = gguf_kinds[i].name, k->use = gguf_kinds[i].use;
    return k->name != NULL;
}

// ---- safetensors -----------------------------------------------------------------------------------------------------

// Names of tensors that only such a file has; the first row that fits counts.
static const struct {
    const char *name, *part, *without, *use;
} tensor_kinds[] = {
    {"adapter", ".lora_A.", NULL, "a LoRA adapter, for `--lora FOLDER` with its adapter_config.json beside it"},
    {"medusa", "\"0.0.linear.weight\"", NULL, "Medusa heads, for `--speculate medusa=FILE`"},
    {"medusa", "\"medusa_head.0.0.linear.weight\"", NULL, "Medusa heads, for `--speculate medusa=FILE`"},
    {"eagle", "\"fc.weight\"", "embed_positions", "an EAGLE head, for `--speculate eagle=FILE`"},
};

static bool read_safetensors(FILE *f, uint64_t n_header, other_file *k) {
    bytes header = {0};
    char *const to = n_header <= MOST_HEADER ? bytes_reserve(&header, (size_t)n_header + 1) : NULL;
    if (to && take(f, to, (size_t)n_header) && to[0] == '{' && !memchr(to, '\0', (size_t)n_header)) {
        to[n_header] = '\0';
        for (size_t i = 0; !k->name && i < sizeof tensor_kinds / sizeof *tensor_kinds; i++)
            if (strstr(to, tensor_kinds[i].part) && !(tensor_kinds[i].without && strstr(to, tensor_kinds[i].without)))
                k->name = tensor_kinds[i].name, k->use = tensor_kinds[i].use;
    }
    bytes_free(&header);
    return k->name != NULL;
}

// ---- sessions --------------------------------------------------------------------------------------------------------

static bool read_session(const char *path, other_file *k) {
    rn_saved saved;
    char text[HUMAN_TEXT];
    rn_saved_init(&saved);
    if (rn_session_peek(path, &saved, NULL) != RN_OK) return false;
    k->name = "session", k->use = "a saved session, for `/load` in `runnel chat`";
    add_fact(&k->facts, "model", saved.model);
    add_fact(&k->facts, "architecture", saved.architecture);
    snprintf(text, sizeof text, "%zu", saved.n_tokens);
    add_fact(&k->facts, "tokens", text);
    snprintf(text, sizeof text, "%zu", saved.n_positions);
    add_fact(&k->facts, "with keys and values", text);
    if (saved.n_positions) add_fact(&k->facts, "as", saved.kv_type);
    snprintf(text, sizeof text, "%zu", saved.n_note);
    add_fact(&k->facts, "bytes of note", text);
    rn_free(saved.note);
    return true;
}

bool other_file_read(const char *path, other_file *k) {
    struct stat at;
    uint64_t first = 0;
    *k = (other_file){0};
    if (stat(path, &at) != 0 || !S_ISREG(at.st_mode)) return false;
    k->n_bytes = (uint64_t)at.st_size;
    FILE *const f = fopen(path, "rbe");
    bool ok = f && take(f, &first, sizeof first);
    if (ok && memcmp(&first, "GGUF", 4) == 0)
        ok = fseek(f, 4, SEEK_SET) == 0 && read_gguf(f, k);
    else if (ok && first < k->n_bytes)
        ok = read_safetensors(f, first, k);
    else
        ok = false;
    if (f) fclose(f);
    if (!ok) {
        other_file_free(k);
        k->n_bytes = (uint64_t)at.st_size;
        ok = read_session(path, k);
    }
    if (!ok) other_file_free(k);
    return ok;
}

void other_file_free(other_file *k) {
    bytes_free(&k->facts);
    *k = (other_file){0};
}
