// formats/folder/hf_experts.c - expert matrices that a folder stores in several tensors: one tensor
// for each expert, or MXFP4 blocks and their scales in two tensors; see hf_reader.h.
#include "base/checked.h"
#include "formats/folder/hf_reader.h"
#include "tensor/blocks.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- one tensor for each expert -----------------------------------------------------------------

static uint64_t n_numbers(const struct safetensors_record *t) {
    uint64_t n = 1;
    for (int d = 0; d < t->n_dims; d++) n *= t->dims[d]; // no overflow: the tensor is in a file
    return n;
}

static bool is_like(const struct safetensors_record *a, const struct safetensors_record *b, int n_dims) {
    return a->n_dims == n_dims && b->n_dims == n_dims && a->dims[0] == b->dims[0] &&
           (n_dims == 1 || a->dims[1] == b->dims[1]) && a->type == b->type;
}

// How many there are: matrices of experts, or vectors of heads.
static int32_t n_stacked(const struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer) {
    const struct layer_hparams *l = hf_layer(r, layer);
    return row->form == HF_STACKED_QUERIES  ? l->n_head
           : row->form == HF_STACKED_MIXES  ? (r->traits & HF_WKV_GATE ? 6 : 5)
           : row->form == HF_STACKED_KEYS   ? l->n_head_kv
           : row->form == HF_STACKED_CHUNKS ? r->c->raw.hp.n_expert / r->c->raw.hp.n_expert_per_chunk
                                            : r->c->raw.hp.n_expert;
}
static int dims_stacked(const struct hf_tensor_row *row) {
    return row->form == HF_STACKED || row->form == HF_STACKED_CHUNKS ? 2 : 1;
}

// Checks that all experts' tensors exist and have one shape and type; *first is the first expert's.
static rn_status check_stack(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer,
                             struct hf_found **first) {
    for (int32_t e = 0; e < n_stacked(r, row, layer); e++) {
        struct hf_found *f = hf_look_up(r, hf_tensor_name(r, row->name, layer, e).text);
        if (!f) return hf_missing(r, row, layer, e);
        if (e == 0) *first = f;
        const rn_status st = hf_check_type(r, f);
        if (st != RN_OK) return st;
        const bool fits = row->form == HF_STACKED_MIXES
                              ? n_numbers((*first)->t) == n_numbers(f->t) && (*first)->t->type == f->t->type
                              : is_like((*first)->t, f->t, dims_stacked(row));
        if (!fits)
            return hf_in_tensor(r, f,
                                fail(r->err, RN_E_FORMAT, "has another shape or type than %s", (*first)->t->name));
        f->used = true;
    }
    return RN_OK;
}

rn_status hf_stack(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer) {
    struct hf_found *first = NULL;
    const int32_t n = n_stacked(r, row, layer);
    const int n_dims = dims_stacked(row);
    rn_status st = check_stack(r, row, layer, &first);
    if (st != RN_OK) return st;
    const size_t n_each = (size_t)(first->t->end - first->t->begin);
    size_t n_bytes;
    if (!size_mul(n_each, (size_t)n, &n_bytes))
        return fail(r->err, RN_E_FORMAT, "tensors: the size of all overflows");
    if (r->counts) return hf_count(r, n_bytes);
    const struct hf_name name = hf_name_of(row->gguf, layer, 0);
    const uint64_t *d = first->t->dims,
                   ne[] = {n_dims == 2 ? d[1] : d[0], n_dims == 2 ? d[0] : (uint64_t)n, (uint64_t)n};
    const uint64_t of_mixes[] = {n_numbers(first->t), 1, 1, (uint64_t)n};
    const bool mixes = row->form == HF_STACKED_MIXES;
    const struct tensor_claim claim =
        hf_claim_of(&name, first->t->type->type, mixes ? 4 : n_dims + 1, mixes ? of_mixes : ne);
    if ((st = package_add_tensor(r->p, &claim, r->err)) != RN_OK) return hf_in_tensor(r, first, st);
    for (int32_t e = 0; e < n; e++) {
        const struct hf_found *f = hf_look_up(r, hf_tensor_name(r, row->name, layer, e).text);
        const struct file_map *file = &r->p->files[f->shard].map;
        memcpy(package_made_data(r->p) + (size_t)e * n_each, file->data + f->t->begin, n_each);
        file_map_forget(file, (size_t)f->t->begin, n_each);
    }
    return RN_OK;
}

// ---- MXFP4 (OCP Microscaling Formats 1.0; transformers: integrations/mxfp4.py) ------------------

// A folder has matrices [expert][row][group] of 32 numbers: blocks of 16 bytes with number 2i in
// the lower half of byte i and number 2i + 1 in its upper half, and scales of one byte. In GGUF the
// scale comes before its block, and the upper half of byte i has number i + 16.
enum { HALF = BLOCK_32 / 2 };

struct mxfp4 {
    struct hf_found *blocks, *scales;
    uint64_t n_mats, n_rows, n_groups;
    uint64_t row_from, row_step, rows_taken;
};

static void put_block(const uint8_t *nibbles, uint8_t scale, uint8_t *to) {
    *to++ = scale;
    for (int i = 0; i < HALF / 2; i++) {
        const uint8_t low = nibbles[i], high = nibbles[i + HALF / 2];
        *to++ = (uint8_t)((low & 15) | (high & 15) << 4);
        *to++ = (uint8_t)(low >> 4 | (high & 0xf0));
    }
}

static rn_status find_part(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer, const char *part,
                           int n_dims, struct hf_found **out) {
    struct hf_name name = hf_tensor_name(r, row->name, layer, 0);
    const size_t n = strlen(name.text);
    snprintf(name.text + n, sizeof name.text - n, "_%s", part);
    *out = hf_look_up(r, name.text);
    if (!*out)
        return package_in_file(r->p->path,
                               fail(r->err, RN_E_FORMAT,
                                    "tensor %s%s: missing, where config.json says quantization mxfp4",
                                    r->c->arch->prefix, name.text),
                               r->err);
    const struct safetensors_record *t = (*out)->t;
    bool is_empty = t->begin == t->end;
    (*out)->used = true;
    if (strcmp(t->type->name, "U8") == 0 && t->n_dims == n_dims && !is_empty) return RN_OK;
    return hf_in_tensor(r, *out,
                        fail(r->err, RN_E_FORMAT, "is %s of %d dimensions, where mxfp4 has U8 of %d, none of them 0",
                             t->type->name, t->n_dims, n_dims));
}

static rn_status find_mxfp4(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer, struct mxfp4 *q) {
    rn_status st = find_part(r, row, layer, "blocks", 4, &q->blocks);
    if (st == RN_OK) st = find_part(r, row, layer, "scales", 3, &q->scales);
    if (st != RN_OK) return st;
    const uint64_t *d = q->blocks->t->dims, *s = q->scales->t->dims;
    if (d[0] != s[0] || d[1] != s[1] || d[2] != s[2] || d[3] != HALF)
        return hf_in_tensor(r, q->blocks,
                            fail(r->err, RN_E_FORMAT,
                                 "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "] blocks for [%" PRIu64
                                 ", %" PRIu64 ", %" PRIu64 "] scales, where a scale has a block of %d bytes",
                                 d[0], d[1], d[2], d[3], s[0], s[1], s[2], HALF));
    const bool whole = row->form == HF_MXFP4;
    if (!whole && d[1] % 2 != 0)
        return hf_in_tensor(r, q->blocks,
                            fail(r->err, RN_E_FORMAT, "%" PRIu64 " rows, where two halves are expected", d[1]));
    q->n_mats = d[0], q->n_rows = d[1], q->n_groups = d[2];
    q->row_from = row->form == HF_MXFP4_ODD ? 1 : 0;
    q->row_step = whole ? 1 : 2;
    q->rows_taken = whole ? d[1] : d[1] / 2;
    return RN_OK;
}

static void run_mxfp4(const struct mxfp4 *q, const uint8_t *blocks, const uint8_t *scales, uint8_t *to) {
    for (uint64_t m = 0; m < q->n_mats; m++)
        for (uint64_t i = 0; i < q->rows_taken; i++) {
            const uint64_t first = (m * q->n_rows + q->row_from + i * q->row_step) * q->n_groups;
            for (uint64_t g = first; g < first + q->n_groups; g++, to += MXFP4_BYTES)
                put_block(blocks + g * HALF, scales[g], to);
        }
}

rn_status hf_take_mxfp4(struct hf_reader *r, const struct hf_tensor_row *row, int32_t layer) {
    struct mxfp4 q = {0};
    rn_status st = find_mxfp4(r, row, layer, &q);
    if (st != RN_OK) return st;
    // These are sizes of a tensor in a file, so the product of its dimensions cannot overflow.
    if (r->counts) return hf_count(r, q.n_mats * q.rows_taken * q.n_groups * MXFP4_BYTES);
    const struct hf_name name = hf_name_of(row->gguf, layer, 0);
    const uint64_t ne[] = {q.n_groups * BLOCK_32, q.rows_taken, q.n_mats};
    const struct tensor_claim claim = hf_claim_of(&name, TENSOR_MXFP4, 3, ne);
    if ((st = package_add_tensor(r->p, &claim, r->err)) != RN_OK) return hf_in_tensor(r, q.blocks, st);
    const struct file_map *of_blocks = &r->p->files[q.blocks->shard].map,
                          *of_scales = &r->p->files[q.scales->shard].map;
    const struct safetensors_record *b = q.blocks->t, *s = q.scales->t;
    run_mxfp4(&q, of_blocks->data + b->begin, of_scales->data + s->begin, package_made_data(r->p));
    file_map_forget(of_blocks, (size_t)b->begin, (size_t)(b->end - b->begin)); // the copy is used from here on
    file_map_forget(of_scales, (size_t)s->begin, (size_t)(s->end - s->begin));
    return RN_OK;
}
