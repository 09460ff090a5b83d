// formats/gguf/gguf_write.c - see gguf_write.h.
#include "formats/gguf/gguf_write.h"
#include "base/checked.h"
#include "base/file_map.h"
#include "base/mem.h"
#include "formats/limits.h"
#include "tensor/half.h"
#include <inttypes.h>
#include <string.h>

enum { GGUF_VERSION = 3, FIRST_ROOM = 4096 };

struct growing {
    uint8_t *data;
    size_t n, room;
};

struct gguf_writer {
    file_out *out;
    size_t alignment;
    struct growing pairs, records; // in the file's format
    uint64_t n_pairs, n_records;
    uint64_t n_items_due; // items that the last array still lacks
    struct growing sizes; // uint64_t: bytes of each record's tensor
    uint64_t data_bytes;  // of all records so far, each padded
    rn_error failed;      // the first failed put; code RN_OK: none
    // While data is written:
    uint64_t i_tensor, n_left; // bytes that tensor i still lacks
};

rn_status gguf_writer_create(const char *path, size_t alignment, gguf_writer **out, rn_error *err) {
    *out = NULL;
    gguf_writer *w = mem_calloc(1, sizeof *w);
    if (!w) return fail(err, RN_E_NOMEM, "%s: out of memory for a writer", path);
    w->alignment = alignment;
    const rn_status st = file_out_begin(path, FILE_BY_UMASK, &w->out, err);
    if (st != RN_OK)
        gguf_writer_abandon(w);
    else
        *out = w;
    return st;
}

void gguf_writer_abandon(gguf_writer *w) {
    if (!w) return;
    file_out_abandon(w->out);
    mem_free(w->pairs.data);
    mem_free(w->records.data);
    mem_free(w->sizes.data);
    mem_free(w);
}

static void add(gguf_writer *w, struct growing *to, const void *data, size_t n) {
    size_t need;
    if (w->failed.code != RN_OK) return;
    if (!size_add(to->n, n, &need)) need = SIZE_MAX; // the allocation will refuse it
    if (need > to->room) {
        size_t room = to->room ? to->room : FIRST_ROOM;
        while (room < need && room <= SIZE_MAX / 2) room *= 2;
        uint8_t *more = mem_realloc(to->data, room < need ? need : room);
        if (!more) {
            fail(&w->failed, RN_E_NOMEM, "out of memory for a file head of %zu bytes", need);
            return;
        }
        to->data = more;
        to->room = room < need ? need : room;
    }
    if (n) memcpy(to->data + to->n, data, n);
    to->n += n;
}

static void add_u32(gguf_writer *w, struct growing *to, uint32_t v) {
    const uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    add(w, to, b, sizeof b);
}
static void add_u64(gguf_writer *w, struct growing *to, uint64_t v) {
    add_u32(w, to, (uint32_t)v);
    add_u32(w, to, (uint32_t)(v >> 32));
}
static void add_string(gguf_writer *w, struct growing *to, const char *s, size_t n) {
    add_u64(w, to, n);
    add(w, to, s, n);
}

// Returns false and records the error if n is over its limit.
static bool within(gguf_writer *w, const char *what, const char *name, size_t n_name, uint64_t n, uint64_t limit) {
    if (w->failed.code != RN_OK) return false;
    if (n <= limit) return true;
    fail(&w->failed, RN_E_LIMIT, "%.*s: %s: %" PRIu64 " is over the limit of %" PRIu64, gguf_shown(name, n_name),
         name, what, n, limit);
    return false;
}

static void no_items_due(gguf_writer *w) {
    if (w->n_items_due && w->failed.code == RN_OK)
        fail(&w->failed, RN_E_INTERNAL, "an array lacks %" PRIu64 " items", w->n_items_due);
}

static bool begin_pair(gguf_writer *w, const char *key, size_t n_key, enum gguf_type type) {
    no_items_due(w);
    if (!within(w, "bytes of a key", key, n_key, n_key, GGUF_MAX_KEY_BYTES) ||
        !within(w, "pairs", key, n_key, w->n_pairs + 1, GGUF_MAX_PAIRS))
        return false;
    add_string(w, &w->pairs, key, n_key);
    add_u32(w, &w->pairs, type);
    w->n_pairs++;
    return true;
}

void gguf_put_u32(gguf_writer *w, const char *key, uint32_t v) {
    if (begin_pair(w, key, strlen(key), GGUF_U32)) add_u32(w, &w->pairs, v);
}
void gguf_put_f32(gguf_writer *w, const char *key, float v) {
    if (begin_pair(w, key, strlen(key), GGUF_F32)) add_u32(w, &w->pairs, f32_bits(v));
}
void gguf_put_bool(gguf_writer *w, const char *key, bool v) {
    if (begin_pair(w, key, strlen(key), GGUF_BOOL)) add(w, &w->pairs, &(uint8_t){v}, 1);
}
void gguf_put_string(gguf_writer *w, const char *key, struct vocab_str v) {
    if (begin_pair(w, key, strlen(key), GGUF_STRING) &&
        within(w, "bytes of its text", key, strlen(key), v.n, GGUF_MAX_STRING_BYTES))
        add_string(w, &w->pairs, v.s, v.n);
}

void gguf_put_array(gguf_writer *w, const char *key, enum gguf_type item_type, uint64_t n) {
    if (!begin_pair(w, key, strlen(key), GGUF_ARRAY) ||
        !within(w, "items", key, strlen(key), n, GGUF_MAX_ARRAY_ITEMS))
        return;
    add_u32(w, &w->pairs, item_type);
    add_u64(w, &w->pairs, n);
    w->n_items_due = n;
}
static bool begin_item(gguf_writer *w) {
    if (w->failed.code != RN_OK) return false;
    if (w->n_items_due == 0) fail(&w->failed, RN_E_INTERNAL, "an array has more items than announced");
    return w->n_items_due-- > 0;
}
void gguf_put_item_string(gguf_writer *w, struct vocab_str v) {
    if (begin_item(w)) add_string(w, &w->pairs, v.s, v.n);
}
void gguf_put_item_f32(gguf_writer *w, float v) {
    if (begin_item(w)) add_u32(w, &w->pairs, f32_bits(v));
}
void gguf_put_item_i32(gguf_writer *w, int32_t v) {
    if (begin_item(w)) add_u32(w, &w->pairs, (uint32_t)v);
}
void gguf_put_item_bool(gguf_writer *w, bool v) {
    if (begin_item(w)) add(w, &w->pairs, &(uint8_t){v}, 1);
}

void gguf_put_pair(gguf_writer *w, const struct gguf_pair *pair) {
    if (!begin_pair(w, pair->key, pair->n_key, pair->type)) return;
    if (pair->type == GGUF_ARRAY) add_u32(w, &w->pairs, pair->item_type);
    if (pair->type == GGUF_ARRAY || pair->type == GGUF_STRING) add_u64(w, &w->pairs, pair->n);
    add(w, &w->pairs, pair->value, gguf_value_bytes(pair));
}

void gguf_put_record(gguf_writer *w, const char *name, enum tensor_type type, int n_dims, const uint64_t *ne) {
    const size_t n_name = strlen(name);
    size_t n_bytes, padded = 0, end = 0;
    if (!within(w, "bytes of a tensor's name", name, n_name, n_name, GGUF_MAX_TENSOR_NAME_BYTES) ||
        !within(w, "tensors", name, n_name, w->n_records + 1, GGUF_MAX_TENSORS))
        return;
    bool fits = tensor_row_bytes(type, ne[0], &n_bytes);
    for (int d = 1; fits && d < n_dims; d++) fits = ne[d] <= SIZE_MAX && size_mul(n_bytes, (size_t)ne[d], &n_bytes);
    if (!fits || !size_round_up(n_bytes, w->alignment, &padded) || !size_add(w->data_bytes, padded, &end)) {
        fail(&w->failed, RN_E_INTERNAL, "tensor %s: %" PRIu64 " elements are not whole blocks of %s", name, ne[0],
             tensor_type_info(type)->name);
        return;
    }
    add_string(w, &w->records, name, n_name);
    add_u32(w, &w->records, (uint32_t)n_dims);
    for (int d = 0; d < n_dims; d++) add_u64(w, &w->records, ne[d]);
    add_u32(w, &w->records, tensor_type_info(type)->gguf_id);
    add_u64(w, &w->records, w->data_bytes);
    add(w, &w->sizes, &(uint64_t){n_bytes}, sizeof(uint64_t));
    w->data_bytes = end;
    w->n_records++;
}

uint64_t gguf_writer_data_bytes(const gguf_writer *w) { return w->data_bytes; }

static uint64_t tensor_bytes(const gguf_writer *w, uint64_t i) {
    uint64_t n;
    memcpy(&n, w->sizes.data + i * sizeof n, sizeof n);
    return n;
}

static rn_status write_zeros(gguf_writer *w, size_t n, rn_error *err) {
    static const uint8_t zeros[4096];
    rn_status st = RN_OK;
    for (; st == RN_OK && n > 0; n -= n < sizeof zeros ? n : sizeof zeros)
        st = file_out_write(w->out, zeros, n < sizeof zeros ? n : sizeof zeros, err);
    return st;
}

rn_status gguf_write_head(gguf_writer *w, rn_error *err) {
    struct growing head = {0};
    no_items_due(w);
    add(w, &head, "GGUF", 4);
    add_u32(w, &head, GGUF_VERSION);
    add_u64(w, &head, w->n_records);
    add_u64(w, &head, w->n_pairs);
    rn_status st = w->failed.code;
    if (st != RN_OK) fail(err, st, "%s", w->failed.text);
    if (st == RN_OK) st = file_out_write(w->out, head.data, head.n, err);
    if (st == RN_OK) st = file_out_write(w->out, w->pairs.data, w->pairs.n, err);
    if (st == RN_OK) st = file_out_write(w->out, w->records.data, w->records.n, err);
    if (st == RN_OK && w->n_records) {
        const size_t n = head.n + w->pairs.n + w->records.n;
        st = write_zeros(w, round_up(n, w->alignment) - n, err);
        w->n_left = tensor_bytes(w, 0);
    }
    mem_free(head.data);
    return st;
}

// Ends tensor i: writes its padding and goes on to the next one.
static rn_status end_tensor(gguf_writer *w, rn_error *err) {
    const size_t n = (size_t)tensor_bytes(w, w->i_tensor); // a size_t when it was put
    w->i_tensor++;
    w->n_left = w->i_tensor < w->n_records ? tensor_bytes(w, w->i_tensor) : 0;
    return write_zeros(w, round_up(n, w->alignment) - n, err);
}

rn_status gguf_write_data(gguf_writer *w, const void *data, size_t n, rn_error *err) {
    const uint8_t *p = data;
    while (n > 0) {
        if (w->n_left == 0) return fail(err, RN_E_INTERNAL, "writing: more bytes than the tensors have");
        const size_t now = n < w->n_left ? n : (size_t)w->n_left;
        rn_status st = file_out_write(w->out, p, now, err);
        p += now;
        n -= now;
        w->n_left -= now;
        if (st == RN_OK && w->n_left == 0) st = end_tensor(w, err);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

rn_status gguf_writer_preview(gguf_writer *w, const char **path, rn_error *err) {
    return file_out_flush(w->out, path, err);
}

rn_status gguf_writer_commit(gguf_writer *w, rn_error *err) {
    rn_status st;
    if (w->i_tensor < w->n_records) {
        st = fail(err, RN_E_INTERNAL, "writing: tensor %" PRIu64 " of %" PRIu64 " lacks %" PRIu64 " bytes",
                  w->i_tensor, w->n_records, w->n_left);
    } else {
        st = file_out_commit(w->out, err);
        w->out = NULL;
    }
    gguf_writer_abandon(w);
    return st;
}
