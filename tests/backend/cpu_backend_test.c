// tests/backend/cpu_backend_test.c - the CPU's door: the plan says what load takes, load can be stopped and can fail, pages copy.
#include "backend/cpu/cpu_private.h"
#include "base/mem.h"
#include "base/process_memory.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

// A program and threads: what a backend is made from.
struct bench {
    uint8_t *bytes;
    package *pkg;
    struct model *model;
    const struct program *p;
    pool *threads;
    const struct kernel_set *set;
    enum kv_codec codec;
};
static struct backend_sizes sizes_of(const struct bench *b) {
    return (struct backend_sizes){.n_batch = 24, .n_wanted = 6, .n_pages = {5}, .codec = {b->codec}};
}
static struct backend_spec spec_of(const struct bench *b, bool keeps_rows) {
    return (struct backend_spec){.threads = b->threads, .kernels = b->set, .keeps_rows = keeps_rows};
}

static bool bench_open(struct bench *b, enum tensor_type type, enum cpu_set set, enum kv_codec codec, int n_threads) {
    struct tiny_model m = tiny_model_default();
    rn_error err = {0};
    size_t n;
    const bool wide = tensor_type_info(type)->block_len > 32;
    m.n_embd = wide ? 256 : 96, m.n_head = 4, m.n_head_kv = 2, m.n_ff = wide ? 512 : 160, m.n_vocab = 50;
    m.vocab = TINY_NO_VOCAB, m.type = type;
    *b = (struct bench){.bytes = tiny_model_bytes(&m, &n), .set = kernel_set_get(set), .codec = codec};
    if (!CHECK_OK(package_from_bytes("tiny", b->bytes, n, &b->pkg, &err), &err)) return false;
    if (!CHECK_OK(model_build(b->pkg, &b->model, &err), &err)) return false;
    b->p = model_program(b->model);
    return CHECK_OK(pool_create(n_threads, &b->threads, &err), &err);
}

static void bench_close(struct bench *b) {
    pool_destroy(b->threads);
    model_destroy(b->model);
    package_close(b->pkg);
    free(b->bytes);
}

static backend *make(const struct bench *b, bool keeps_rows) {
    const struct backend_spec spec = spec_of(b, keeps_rows);
    rn_error err = {0};
    backend *out = NULL;
    CHECK_OK(backend_open(&spec, &out, &err), &err);
    return out;
}

// A set that repacks some type, or CPU_REF where no set here does.
static enum cpu_set packing_set(enum tensor_type *type) {
    for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++)
        for (*type = 0; cpu_set_available(set) && *type < TENSOR_N_TYPES; ++*type)
            if (kernel_set_get(set)->matmul[*type].pack) return set;
    *type = TENSOR_F32;
    return CPU_REF;
}

// What load has taken of each kind, counted in the backend itself.
static struct backend_memory taken(const struct cpu_backend *b) {
    struct backend_memory t = {.repacked_bytes = b->panels_bytes};
    for (int32_t i = 0; i < b->p->n_buffers; i++)
        t.buffer_bytes +=
            (b->p->rows[i] != ROWS_ALL ? b->sizes.n_wanted : b->sizes.n_batch) * b->stride[i] * sizeof(float);
    for (size_t i = 0; i < b->n_acts; i++) t.buffer_bytes += b->act_rows[i] * b->act_stride[i];
    t.buffer_bytes += b->thread_scratch_bytes * (size_t)pool_n_threads(b->threads);
    for (int32_t i = 0; i < b->p->n_ropes; i++)
        t.buffer_bytes += b->sizes.n_batch * (size_t)b->p->ropes[i].n_rot * sizeof *b->cos_sin[i];
    for (int32_t k = 0; k < b->p->n_kinds; k++) {
        const struct attend_plan *a = &b->attend[k];
        t.buffer_bytes += b->sizes.n_batch * sizeof *a->tasks + a->most_units * sizeof *a->units;
        t.buffer_bytes += a->most_states * ((size_t)b->p->kinds[k].v_dim + 2) * sizeof(float) +
                          a->most_states / 2 * sizeof *a->left;
    }
    for (int32_t g = 0; g < b->p->n_groups; g++)
        t.page_bytes[g] = b->groups[g].pool_bytes / (size_t)b->sizes.n_pages[g];
    t.buffer_bytes += b->copies.bytes * (size_t)pool_n_threads(b->threads);
    return t;
}

static void check_plan(const struct bench *b, enum tensor_type type, bool keeps_rows) {
    backend *made = make(b, keeps_rows);
    const struct backend_sizes sizes = sizes_of(b);
    struct backend_plan all_memories;
    rn_error err = {0};
    const bool packs = b->set->matmul[type].pack && !keeps_rows;
    check_note("%s on %s with %s%s", tensor_type_info(type)->name, b->set->name, kv_codec_name(b->codec),
               keeps_rows ? ", rows kept" : "");
    CHECK_OK(backend_get_plan(made, b->p, &sizes, &all_memories, &err), &err);
    CHECK_INT(all_memories.n_memories, 1);
    const struct backend_memory plan = all_memories.memory[0];
    CHECK_STR(plan.name, "host");
    CHECK_OK(backend_load(made, b->p, &sizes, NULL, NULL, &err), &err);
    const struct backend_memory have = taken((struct cpu_backend *)made);
    CHECK_INT(plan.repacked_bytes, have.repacked_bytes);
    CHECK_INT(plan.buffer_bytes, have.buffer_bytes);
    for (int32_t g = 0; g < PROGRAM_MAX_GROUPS; g++) CHECK_INT(plan.page_bytes[g], have.page_bytes[g]);
    // The embedding's rows are read in the file even where the head multiplies by a repacked copy of them.
    uint64_t all = 0, embedding = 0;
    for (size_t i = 0; i < b->p->n_matrices; i++) all += b->p->matrices[i].n_out * b->p->matrices[i].row_bytes;
    embedding =
        b->p->matrices[b->p->ops[0].weights.matrix].n_out * b->p->matrices[b->p->ops[0].weights.matrix].row_bytes;
    CHECK_INT(plan.mapped_bytes, packs ? embedding : all);
    CHECK((plan.repacked_bytes > 0) == packs);
    backend_destroy(made);
}

TEST(the_plan_is_what_load_takes) {
    for (enum tensor_type type = 0; type < TENSOR_N_TYPES;
         type++) { // one model for all sets: to make it takes longer
        struct bench b;
        if (bench_open(&b, type, CPU_REF, (enum kv_codec)(type % KV_N_CODECS), 3))
            for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++) {
                if (!cpu_set_available(set)) continue;
                b.set = kernel_set_get(set);
                check_plan(&b, type, false);
                check_plan(&b, type, true);
            }
        bench_close(&b);
    }
}

// A model of some hundred kilobytes in a file, and the bytes of it that are in this process after load.
static size_t resident_after_load(bool keeps_rows, enum file_load how, struct backend_use *use,
                                  struct backend_plan *plan) {
    struct tiny_model m = tiny_model_four_layers(TENSOR_F32);
    struct bench b = {.set = kernel_set_get(cpu_set_detect(CPU_N_SETS)), .codec = KV_F16};
    struct package_options po = {.load = how};
    char path[512];
    rn_error err = {0};
    size_t resident = 0;
    m.own_head = false;
    snprintf(path, sizeof path, "%s/model", temp_dir());
    if (CHECK(tiny_model_write(&m, path)) && CHECK_OK(package_open(path, &po, &b.pkg, &err), &err) &&
        CHECK_OK(model_build(b.pkg, &b.model, &err), &err) && CHECK_OK(pool_create(2, &b.threads, &err), &err)) {
        const struct file_map *f = package_file_at(b.pkg, 0);
        backend *made = make(&b, keeps_rows);
        const struct backend_sizes sizes = sizes_of(&b);
        b.p = model_program(b.model);
        CHECK_OK(backend_get_plan(made, b.p, &sizes, plan, &err), &err);
        CHECK_OK(backend_load(made, b.p, &sizes, NULL, NULL, &err), &err);
        backend_get_use(made, use);
        resident = mem_resident(f->data, f->size);
        CHECK(resident <= f->size && f->size > (size_t)4 << 20);
        if (how == FILE_LOAD_READ) CHECK_INT(resident, f->size);
        backend_destroy(made);
    }
    bench_close(&b);
    return resident;
}

TEST(repacked_weights_of_a_mapped_file_leave_the_process) {
    enum tensor_type type;
    struct backend_use use;
    struct backend_plan plan;
    if (packing_set(&type) == CPU_REF) {
        test_skip("no CPU set here repacks");
        return;
    }
    const size_t left = resident_after_load(false, FILE_LOAD_MAP, &use, &plan);
    CHECK(left < (size_t)1 << 20); // the head of the file, and what is mapped around a page that is touched
    CHECK_INT(use.repacked_bytes, plan.memory[0].repacked_bytes);
    CHECK(use.page_bytes == 0 && use.buffer_bytes <= plan.memory[0].buffer_bytes);
}

TEST(bytes_that_were_read_into_memory_stay_when_weights_are_repacked) {
    struct backend_use use;
    struct backend_plan plan;
    resident_after_load(false, FILE_LOAD_READ, &use, &plan);
}

TEST(without_repacking_nothing_is_copied) {
    struct backend_use use;
    struct backend_plan plan;
    resident_after_load(true, FILE_LOAD_MAP, &use, &plan);
    CHECK(use.repacked_bytes == 0 && plan.memory[0].repacked_bytes == 0);
}

struct watch {
    int n_calls, stop_at;
    uint64_t done, total;
    bool ordered;
};

static bool watch_progress(void *user, uint64_t done, uint64_t total) {
    struct watch *w = user;
    w->ordered = w->ordered && done > w->done && done <= total && (w->total == 0 || w->total == total);
    w->done = done, w->total = total;
    return ++w->n_calls == w->stop_at;
}

TEST(progress_of_repacking_ascends_to_the_planned_bytes) {
    enum tensor_type type;
    const enum cpu_set set = packing_set(&type);
    struct bench b;
    if (set == CPU_REF) {
        test_skip("no CPU set here repacks");
        return;
    }
    if (bench_open(&b, type, set, KV_F16, 2)) {
        backend *made = make(&b, false);
        const struct backend_sizes sizes = sizes_of(&b);
        struct watch w = {.ordered = true};
        struct backend_plan plan;
        rn_error err = {0};
        CHECK_OK(backend_get_plan(made, b.p, &sizes, &plan, &err), &err);
        CHECK_OK(backend_load(made, b.p, &sizes, watch_progress, &w, &err), &err);
        CHECK(w.ordered && w.n_calls >= 1);
        CHECK_INT(w.done, plan.memory[0].repacked_bytes);
        CHECK_INT(w.total, plan.memory[0].repacked_bytes);
        backend_destroy(made);
    }
    bench_close(&b);
}

TEST(load_stops_wherever_the_progress_callback_says_so_and_leaks_nothing) {
    enum tensor_type type;
    const enum cpu_set set = packing_set(&type);
    struct bench b;
    if (set == CPU_REF) {
        test_skip("no CPU set here repacks");
        return;
    }
    if (bench_open(&b, type, set, KV_F16, 2)) {
        rn_status st = RN_E_CANCELLED;
        for (int stop_at = 1; st == RN_E_CANCELLED; stop_at++) {
            const long live = mem_live();
            backend *made = make(&b, false);
            const struct backend_sizes sizes = sizes_of(&b);
            struct watch w = {.stop_at = stop_at, .ordered = true};
            rn_error err = {0};
            st = backend_load(made, b.p, &sizes, watch_progress, &w, &err);
            check_note("stop at call %d", stop_at);
            if (w.n_calls == stop_at) {
                char text[128];
                snprintf(text, sizeof text, "stopped after %llu of %llu bytes", (unsigned long long)w.done,
                         (unsigned long long)w.total);
                CHECK_INT(st, RN_E_CANCELLED);
                CHECK_HAS(err.text, text);
            } else {
                CHECK_OK(st, &err);
            }
            backend_destroy(made);
            CHECK_INT(mem_live(), live);
        }
    }
    bench_close(&b);
}

TEST(a_backend_that_loaded_nothing_can_be_destroyed) {
    struct bench b;
    if (bench_open(&b, TENSOR_F32, CPU_REF, KV_F16, 1)) backend_destroy(make(&b, false));
    backend_destroy(NULL);
    bench_close(&b);
}

TEST(more_heads_on_a_key_head_than_a_task_holds_are_refused) {
    struct bench b;
    if (bench_open(&b, TENSOR_F32, CPU_REF, KV_F16, 1)) {
        struct program p = *b.p;
        backend *made = make(&b, false);
        const struct backend_sizes sizes = sizes_of(&b);
        rn_error err = {0};
        p.kinds[0].n_head = (ATTEND_MAX_QUERIES + 1) * p.kinds[0].n_head_kv;
        CHECK_FAILS(backend_load(made, &p, &sizes, NULL, NULL, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "257 query heads share a key head, limit 256");
        backend_destroy(made);
    }
    bench_close(&b);
}

static rn_status create_and_load(void *user) {
    const struct bench *b = user;
    const struct backend_spec spec = spec_of(b, false);
    const struct backend_sizes sizes = sizes_of(b);
    backend *made = NULL;
    rn_status st = backend_open(&spec, &made, NULL);
    if (st == RN_OK) st = backend_load(made, b->p, &sizes, NULL, NULL, NULL);
    backend_destroy(made);
    return st;
}

TEST(every_failed_allocation_of_create_and_load_is_reported_and_leaks_nothing) {
    enum tensor_type type;
    const enum cpu_set set = packing_set(&type);
    struct bench b;
    if (bench_open(&b, type, set, KV_Q8, 2))
        CHECK(check_each_failed_allocation(create_and_load, &b, __FILE__, __LINE__));
    bench_close(&b);
}

// Pages.

static void check_copy(enum kv_codec codec) {
    struct bench b;
    if (bench_open(&b, TENSOR_F32, CPU_REF, codec, 1)) {
        backend *made = make(&b, false);
        const struct backend_sizes sizes = sizes_of(&b);
        struct cpu_backend *cpu = (struct cpu_backend *)made;
        rn_error err = {0};
        CHECK_OK(backend_load(made, b.p, &sizes, NULL, NULL, &err), &err);
        const struct kv_codec_ops *ops = &b.set->kv[codec];
        const struct page_group *g = &b.p->groups[0];
        const size_t head_dim = (size_t)g->head_dim, key_bytes = cpu->groups[0].key_bytes;
        float in[24], out[24 * KV_BLOCK];
        check_note("%s", kv_codec_name(codec));
        for (int32_t layer = 0; layer < b.p->n_layer; layer++)
            for (int32_t head = 0; head < g->n_head_kv; head++)
                for (int slot = 0; slot < KV_BLOCK; slot++) {
                    for (size_t d = 0; d < head_dim; d++) in[d] = (float)(layer * 64 + head * 32 + slot);
                    ops->put_key(cpu_key_block(cpu, layer, head, 1), head_dim, slot, in);
                    ops->put_value(cpu_key_block(cpu, layer, head, 1) + key_bytes, head_dim, slot, in);
                }
        const struct kv_copy copy = {.group = 0, .src = 1, .slot_src = 10, .dst = 3, .slot_dst = 20, .n = 5};
        CHECK_OK(backend_copy(made, &copy, &err), &err);
        for (int32_t layer = 0; layer < b.p->n_layer; layer++)
            for (int32_t head = 0; head < g->n_head_kv; head++) {
                const uint8_t *block = cpu_key_block(cpu, layer, head, 3);
                ops->get_values(block + key_bytes, head_dim, KV_BLOCK, out);
                for (int slot = 0; slot < KV_BLOCK; slot++) { // F16 and Q8 are exact for such a row up to their scale
                    const bool copied = slot >= 20 && slot < 25;
                    const float want = copied ? (float)(layer * 64 + head * 32 + slot - 10) : 0.0f;
                    CHECK(out[(size_t)slot * head_dim] > want * 0.999f - 0.001f &&
                          out[(size_t)slot * head_dim] < want * 1.001f + 0.001f);
                }
                ops->get_keys(block, head_dim, KV_BLOCK, out);
                CHECK(out[19] == 0 && out[20] != 0 && out[24] != 0 && out[25] == 0);
            }
        CHECK_INT(cpu_key_block(cpu, 1, 1, 4) + key_bytes + cpu->groups[0].value_bytes - cpu->groups[0].pages,
                  cpu->groups[0].pool_bytes);
        backend_destroy(made);
    }
    bench_close(&b);
}

TEST(a_copy_moves_its_slots_in_every_layer_and_head_and_no_others) {
    for (enum kv_codec codec = 0; codec < KV_N_CODECS; codec++) check_copy(codec);
}

TEST(every_kind_of_op_has_a_name) {
    for (enum op_kind k = 0; k < OP_N_KINDS; k++) {
        CHECK(op_kind_name(k) && op_kind_name(k)[0] != '?');
        for (enum op_kind j = 0; j < k; j++) CHECK(strcmp(op_kind_name(j), op_kind_name(k)) != 0);
    }
    CHECK_STR(op_kind_name(OP_N_KINDS), "?");
}
