// engine/memory_use.c - an engine's memory by kind: planned, and resident now.
#include "base/mem.h"
#include "base/process_memory.h"
#include "engine/engine.h"
#include "engine/public_structs.h"

static void add(rn_memory *m, rn_memory_kind kind, uint64_t planned, uint64_t resident) {
    m->part[kind].planned += planned;
    m->part[kind].resident += resident;
}

// A model's files. Files that were read or locked stay in memory whole. Of mapped ones, everything that is used in place may become
// resident: the weights that are not repacked, and all that is not weights, such as the vocabulary.
static void add_files(rn_memory *m, const struct model_slot *l) {
    const package *p = l->m->pkg;
    uint64_t file_bytes = 0, tensor_bytes = 0;
    bool is_mapped = true;
    for (size_t i = 0; i < package_n_files(p); i++) {
        const struct file_map *f = package_file_at(p, i);
        is_mapped = is_mapped && f->how == FILE_LOAD_MAP;
        file_bytes += f->size;
        add(m, RN_MEMORY_FILE, 0, mem_resident(f->data, f->size));
    }
    for (size_t i = 0; i < package_n_tensors(p); i++)
        if (package_file_of(p, package_tensor_at(p, i)->data)) tensor_bytes += package_tensor_at(p, i)->n_bytes;
    add(m, RN_MEMORY_FILE, is_mapped ? file_bytes - tensor_bytes + l->plan.memory[0].mapped_bytes : file_bytes, 0);
    add(m, RN_MEMORY_COPIED, package_made_bytes(p), package_made_resident(p));
}

rn_status rn_engine_get_memory(const rn_engine *e, rn_memory *memory, rn_error *err) {
    rn_memory m = {.struct_size = sizeof m};
    if (!e) return fail(err, RN_E_ARG, "rn_engine_get_memory: NULL argument");
    rn_status st = sized_check(&public_memory, memory, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < e->n_model_slots; i++) {
        const struct model_slot *l = &e->model_slots[i];
        struct backend_use use;
        rn_engine_info info = {.struct_size = sizeof info};
        if ((st = rn_engine_get_info(e, i, &info, err)) != RN_OK) return st;
        backend_get_use(l->backend, &use);
        if (!l->weights_of) add_files(&m, l);
        add(&m, RN_MEMORY_REPACKED, l->plan.memory[0].repacked_bytes, use.repacked_bytes);
        add(&m, RN_MEMORY_ADAPTERS, l->plan.memory[0].adapter_bytes, use.adapter_bytes);
        add(&m, RN_MEMORY_KV, info.kv_bytes, use.page_bytes);
        add(&m, RN_MEMORY_BUFFERS, l->plan.memory[0].buffer_bytes, use.buffer_bytes);
    }
    struct process_use process;
    process_use_read(&process);
    add(&m, RN_MEMORY_HEAP, mem_heap_bytes(), mem_heap_bytes());
    m.process_bytes = process.resident;
    m.huge_bytes = process.huge;
    sized_write(&public_memory, &m, memory);
    return RN_OK;
}
