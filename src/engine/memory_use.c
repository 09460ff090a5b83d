// engine/memory_use.c - an engine's memory by kind: planned, and resident now.
#include "base/mem.h"
#include "base/process_memory.h"
#include "engine/engine.h"
#include "engine/public_structs.h"

static void add(rn_memory *m, rn_memory_kind kind, uint64_t planned, uint64_t resident) {
    m->part[kind].planned += planned;
    m->part[kind].resident += resident;
}

static const package *files_of(const struct model_slot *l) {
    return l->part && l->part->pkg ? l->part->pkg : l->m->pkg;
}

static bool is_first_of_files(const rn_engine *e, const struct model_slot *l) {
    if (l->weights_of) return false;
    for (const struct model_slot *t = e->model_slots; t < l; t++)
        if (files_of(t) == files_of(l)) return false;
    return true;
}

// Files that were read or locked stay in memory whole. Of mapped ones, everything that is used in place may become resident: the weights
// that are not repacked, and all that is not weights, such as the vocabulary.
static bool is_mapped(const package *p) {
    for (size_t i = 0; i < package_n_files(p); i++)
        if (package_file_at(p, i)->how != FILE_LOAD_MAP) return false;
    return true;
}

// A package's files without weights that are used in place.
static void add_files(rn_memory *m, const package *p) {
    uint64_t file_bytes = 0, tensor_bytes = 0;
    for (size_t i = 0; i < package_n_files(p); i++) {
        const struct file_map *f = package_file_at(p, i);
        file_bytes += f->size;
        add(m, RN_MEMORY_FILE, 0, mem_resident(f->data, f->size));
    }
    for (size_t i = 0; i < package_n_tensors(p); i++)
        if (package_file_of(p, package_tensor_at(p, i)->data)) tensor_bytes += package_tensor_at(p, i)->n_bytes;
    add(m, RN_MEMORY_FILE, is_mapped(p) ? file_bytes - tensor_bytes : file_bytes, 0);
    add(m, RN_MEMORY_COPIED, package_made_bytes(p), package_made_resident(p));
}

rn_status rn_engine_get_memory(const rn_engine *e, rn_memory *memory, rn_error *err) {
    rn_memory m = {.struct_size = sizeof m};
    if (!e) return fail(err, RN_E_ARG, "rn_engine_get_memory: NULL argument");
    const rn_status st = sized_check(&public_memory, memory, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < e->n_model_slots; i++) {
        const struct model_slot *l = &e->model_slots[i];
        struct backend_use use;
        backend_get_use(l->backend, &use);
        if (is_first_of_files(e, l)) add_files(&m, files_of(l));
        if (is_mapped(files_of(l))) add(&m, RN_MEMORY_FILE, l->plan.memory[0].mapped_bytes, 0);
        add(&m, RN_MEMORY_REPACKED, l->plan.memory[0].repacked_bytes, use.repacked_bytes);
        add(&m, RN_MEMORY_ADAPTERS, l->plan.memory[0].adapter_bytes, use.adapter_bytes);
        add(&m, RN_MEMORY_KV, model_slot_kv_bytes(e, l) + model_slot_state_bytes(e, l), use.page_bytes);
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
