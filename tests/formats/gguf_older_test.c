// tests/formats/gguf_older_test.c - tensors of older GGUF files: their numbers after conversion to the current form.
// (That a model made of them gives the same bits: tests/cli/older_gguf_test.py.)
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/gguf_builder.h"
#include <stdlib.h>
#include <string.h>

enum { N_EXPERT = 3, N_EMBD = 32, N_FF = 64 };

// A llama of one layer whose experts lie one by one, each matrix's bytes its expert's number.
static uint8_t *single_experts(uint32_t type, size_t row_bytes_32, size_t *n_bytes) {
    static const char *const names[] = {"gate", "up", "down"};
    struct gguf_builder b;
    char name[64];
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_u32(&b, "llama.block_count", 1);
    gb_u32(&b, "llama.context_length", 64);
    gb_u32(&b, "llama.embedding_length", N_EMBD);
    gb_u32(&b, "llama.feed_forward_length", N_FF);
    gb_u32(&b, "llama.attention.head_count", 4);
    gb_f32(&b, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gb_u32(&b, "llama.expert_count", N_EXPERT);
    gb_u32(&b, "llama.expert_used_count", 2);
    gb_tensor(&b, "token_embd.weight", 0, 2, (const uint64_t[]){N_EMBD, 16}, NULL, N_EMBD * 16 * 4);
    for (uint8_t e = 0; e < N_EXPERT; e++)
        for (uint8_t k = 0; k < 3; k++) {
            const uint64_t ne[] = {k < 2 ? N_EMBD : N_FF, k < 2 ? N_FF : N_EMBD};
            const size_t n = row_bytes_32 * (N_EMBD / 32) * N_FF;
            uint8_t *data = malloc(n);
            if (!data) abort();
            memset(data, 10 * k + e, n);
            snprintf(name, sizeof name, "blk.0.ffn_%s.%d.weight", names[k], e);
            gb_tensor(&b, name, type, 2, ne, data, n);
            free(data);
        }
    return gb_finish(&b, n_bytes);
}

TEST(experts_one_by_one_come_one_behind_the_other_in_whatever_type) {
    static const enum tensor_type types[] = {TENSOR_F32, TENSOR_BF16, TENSOR_Q8_0, TENSOR_Q4_0};
    static const char *const names[] = {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight",
                                        "blk.0.ffn_down_exps.weight"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct tensor_type_info *type = tensor_type_info(types[i]);
        size_t n;
        uint8_t *const file = single_experts(type->gguf_id, 32 / type->block_len * type->block_bytes, &n);
        package *p = NULL;
        rn_error err = {0};
        check_note("%s", type->name);
        if (CHECK_OK(package_from_bytes("old", file, n, &p, &err), &err)) {
            CHECK_INT(package_n_tensors(p), 4);
            for (uint8_t k = 0; k < 3; k++) {
                const struct tensor_view *t = package_tensor(p, names[k]);
                if (!CHECK(t && t->type == types[i] && t->ne[2] == N_EXPERT && t->ne[0] == (k < 2 ? N_EMBD : N_FF)))
                    continue;
                for (size_t at = 0, each = t->n_bytes / N_EXPERT; at < t->n_bytes; at += each)
                    CHECK(t->data[at] == 10 * k + at / each && t->data[at + each - 1] == t->data[at]);
            }
        }
        package_close(p);
        free(file);
    }
}

struct file {
    uint8_t *bytes;
    size_t n;
};
static rn_status open_and_close(void *user) {
    const struct file *f = user;
    package *p = NULL;
    const rn_status st = package_from_bytes("old", f->bytes, f->n, &p, NULL);
    package_close(p);
    return st;
}

TEST(an_older_file_survives_each_failed_allocation) {
    struct file f;
    f.bytes = single_experts(0, 128, &f.n);
    CHECK(check_each_failed_allocation(open_and_close, &f, __FILE__, __LINE__));
    free(f.bytes);
}
