// engine/memory_use.c - where an engine's memory is: what was planned, and what of it is there now.
#include "base/mem.h"
#include "base/mem_use.h"
#include "engine/engine.h"

static bool is_first_lane_of(const rn_engine *e, size_t lane) {
    for (size_t i = 0; i < lane; i++)
        if (e->lanes[i].m == e->lanes[lane].m) return false;
    return true;
}

static void add(rn_memory *m, rn_memory_kind kind, uint64_t planned, uint64_t resident) {
    m->part[kind].planned += planned;
    m->part[kind].resident += resident;
}

// The file's bytes of a model. Mapped ones come and go; of those that were read or locked all stay.
static void add_files(rn_memory *m, const struct lane *l) {
    bool all = false;
    for (size_t i = 0; i < package_n_files(l->m->pkg); i++) {
        const struct file_map *f = package_file_at(l->m->pkg, i);
        all = all || f->how != FILE_LOAD_MAP;
        add(m, RN_MEMORY_FILE, f->how == FILE_LOAD_MAP ? 0 : f->size, mem_resident(f->data, f->size));
    }
    if (!all) add(m, RN_MEMORY_FILE, l->plan.mapped_bytes, 0);
    add(m, RN_MEMORY_COPIED, package_made_bytes(l->m->pkg), package_made_resident(l->m->pkg));
}

rn_status rn_engine_get_memory(const rn_engine *e, rn_memory *memory, rn_error *err) {
    if (!e || !memory || memory->struct_size != sizeof *memory)
        return fail(err, RN_E_ARG, "rn_engine_get_memory: NULL argument or struct_size not set");
    rn_memory m = {.struct_size = sizeof m};
    for (size_t i = 0; i < e->n_lanes; i++) {
        const struct lane *l = &e->lanes[i];
        struct backend_use use;
        rn_engine_info info = {.struct_size = sizeof info};
        const rn_status st = rn_engine_get_info(e, i, &info, err);
        if (st != RN_OK) return st;
        backend_get_use(l->backend, &use);
        if (is_first_lane_of(e, i)) add_files(&m, l);
        add(&m, RN_MEMORY_REPACKED, l->plan.repacked_bytes, use.repacked_bytes);
        add(&m, RN_MEMORY_KV, info.kv_bytes, use.page_bytes);
        add(&m, RN_MEMORY_BUFFERS, l->plan.buffer_bytes, use.buffer_bytes);
    }
    struct process_use process;
    process_use_read(&process);
    add(&m, RN_MEMORY_HEAP, mem_heap_bytes(), mem_heap_bytes());
    m.process_bytes = process.resident;
    m.huge_bytes = process.huge;
    *memory = m;
    return RN_OK;
}
