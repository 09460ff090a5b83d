// engine/engine_open.c - opens and closes an engine: kernel set, threads, plan, weights, keys and values, step thread.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static rn_status check_options(const rn_engine_options *o, size_t n_models, rn_error *err) {
    rn_status st;
    if ((st = check_range("models", (int64_t)n_models, 1, ENGINE_MAX_MODELS, err)) != RN_OK) return st;
    if ((st = check_range("n_threads", o->n_threads, 0, POOL_MAX_THREADS, err)) != RN_OK) return st;
    if ((st = check_range("kv_type", (int)o->kv_type, RN_KV_F16, RN_KV_BF16, err)) != RN_OK) return st;
    if ((st = check_range("n_ctx", o->n_ctx, 0, INT32_MAX / 2, err)) != RN_OK) return st;
    if ((st = check_range("n_streams", o->n_streams, 1, ENGINE_MAX_STREAMS, err)) != RN_OK) return st;
    if ((st = check_range("n_kv", o->n_kv, 0, INT32_MAX / 2, err)) != RN_OK) return st;
    if ((st = check_range("n_batch", o->n_batch, 0, 65536, err)) != RN_OK) return st;
    if ((st = check_range("n_queue", o->n_queue, 0, 1 << 20, err)) != RN_OK) return st;
    if ((st = check_range("n_queue_tokens", o->n_queue_tokens, 0, INT64_MAX / 2, err)) != RN_OK) return st;
    if ((st = check_range("queue_wait_ms", o->queue_wait_ms, 0, INT32_MAX, err)) != RN_OK) return st;
    if ((st = check_range("n_seqs", o->n_seqs, 0, 1024, err)) != RN_OK) return st;
    if ((st = check_range("n_scratch", o->n_scratch, 0, 4096, err)) != RN_OK) return st;
    if (o->output_store_bytes && o->output_store_bytes < OUTPUT_STORE_LEAST)
        return fail(err, RN_E_ARG, "output_store_bytes: %" PRIu64 ", at least %d, or 0", o->output_store_bytes,
                    OUTPUT_STORE_LEAST);
    if (o->output_store_bytes > OUTPUT_STORE_MOST)
        return fail(err, RN_E_LIMIT, "output_store_bytes: %" PRIu64 ", limit %" PRId64, o->output_store_bytes,
                    OUTPUT_STORE_MOST);
    if (o->amateur_model >= n_models)
        return fail(err, RN_E_ARG, "amateur_model: %zu is outside 0..%zu", o->amateur_model, n_models - 1);
    if (o->value_model >= n_models)
        return fail(err, RN_E_ARG, "value_model: %zu is outside 0..%zu", o->value_model, n_models - 1);
    if (o->draft_model >= n_models)
        return fail(err, RN_E_ARG, "draft_model: %zu is outside 0..%zu", o->draft_model, n_models - 1);
    if (o->reserved_bytes > INT64_MAX / 2) // sums of the plan stay in 64 bits
        return fail(err, RN_E_LIMIT, "reserved_bytes: %" PRIu64 ", limit %" PRId64, o->reserved_bytes, INT64_MAX / 2);
    if (o->picture_cache_bytes > INT64_MAX / 4)
        return fail(err, RN_E_LIMIT, "picture_cache_bytes: %" PRIu64 ", limit %" PRId64, o->picture_cache_bytes,
                    INT64_MAX / 4);
    return check_range("target_itl_ms", o->target_itl_ms, 0, 60000, err);
}

static rn_status choose_machine(rn_engine *e, rn_error *err) {
    enum cpu_set set = cpu_set_detect(CPU_N_SETS);
    rn_status st = RN_OK;
    cpu_set_reason(set, cpu_set_lacks, e->cpu_reason, sizeof e->cpu_reason);
    if (e->opt.cpu) {
        snprintf(e->cpu_reason, sizeof e->cpu_reason, "requested; the best here is %s", cpu_set_name(set));
        st = cpu_set_by_name(e->opt.cpu, &set, err);
    }
    if (st != RN_OK) return st;
    e->kernels = kernel_set_get(set);
    cpus_detect("", &e->cpus);
    const int n = e->opt.n_threads ? e->opt.n_threads : e->cpus.n_threads;
    snprintf(e->threads_reason, sizeof e->threads_reason, "%s%s", e->opt.n_threads ? "requested; by default " : "",
             e->cpus.reason);
    return pool_create(n, &e->threads, err);
}

static enum kv_codec codec_of(rn_kv_type t) {
    static const enum kv_codec codecs[] = {
        [RN_KV_F16] = KV_F16, [RN_KV_F32] = KV_F32, [RN_KV_Q8] = KV_Q8, [RN_KV_BF16] = KV_BF16};
    return codecs[t];
}

static struct model_slot *first_of_same_model(rn_engine *e, const struct model_slot *l) {
    for (struct model_slot *t = e->model_slots; t < l; t++)
        if (t->m == l->m || (!t->m->n_adapters && !l->m->n_adapters && !t->m->n_parts && !l->m->n_parts &&
                             package_is_same(t->m->pkg, l->m->pkg)))
            return t;
    return NULL;
}

static rn_status build_program(rn_model *m, struct model **out, rn_error *err) {
    const struct adapter_file *adapters[PROGRAM_MAX_ADAPTERS];
    for (size_t i = 0; i < m->n_adapters; i++) adapters[i] = m->adapters[i].file;
    int32_t taps[PROGRAM_MAX_TAPS];
    _Static_assert(PART_TAPS + EARLY_LAYERS_MOST <= PROGRAM_MAX_TAPS, "each may have its own");
    memcpy(taps, m->taps, sizeof taps);
    for (int32_t i = 0; i < m->n_early; i++) taps[m->n_taps + i] = m->early[i] - 1;
    const struct model_spec spec = {
        .taps = taps, .n_taps = m->n_taps + m->n_early, .adapters = adapters, .n_adapters = m->n_adapters};
    return model_build_with(m->pkg, &spec, out, err);
}

// The program has been built.
static rn_status open_backend(rn_engine *e, struct model_slot *l, rn_error *err) {
    const struct backend_spec spec = {.name = e->opt.backend,
                                      .arithmetic = e->opt.arithmetic,
                                      .threads = e->threads,
                                      .kernels = e->kernels,
                                      .keeps_rows = e->opt.no_repack,
                                      .weights_of = l->weights_of ? l->weights_of->backend : NULL,
                                      .base = l->base ? l->base->backend : NULL};
    rn_status st = backend_open(&spec, &l->backend, err);
    if (st == RN_OK) st = backend_supports(l->backend, model_program(l->program), err);
    if (st != RN_OK) return st;
    const int32_t n_groups = model_program(l->program)->n_groups;
    // An encoder has keys and values for the length of a step, so that nothing is gained by keeping less of them.
    const enum kv_codec codec = model_slot_sees_whole_text(l) ? KV_F32 : codec_of(e->opt.kv_type);
    for (int32_t g = 0; g < n_groups; g++) l->codec[g] = codec;
    kv_codecs_name(l->codec, n_groups, l->kv_name);
    return RN_OK;
}

static rn_status prepare_model_slot(rn_engine *e, struct model_slot *l, rn_model *m, rn_error *err) {
    l->m = m;
    atomic_store(&m->is_open, true);
    l->weights_of = first_of_same_model(e, l);
    rn_status st = RN_OK;
    if (l->weights_of)
        l->program = l->weights_of->program;
    else
        st = build_program(m, &l->program, err);
    return st == RN_OK ? open_backend(e, l, err) : st;
}

// A slot for each part of each model, once per program: streams of all slots of the program use it.
static rn_status prepare_parts(rn_engine *e, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < e->n_models; i++) {
        struct model_slot *const base = &e->model_slots[i];
        if (base->weights_of) continue;
        for (size_t k = 0; st == RN_OK && k < base->m->n_parts; k++) {
            if (e->n_model_slots == ENGINE_MAX_SLOTS)
                return fail(err, RN_E_LIMIT, "models: more than %d with the parts of their draft heads",
                            ENGINE_MAX_SLOTS);
            struct model_slot *const l = &e->model_slots[e->n_model_slots++];
            l->m = base->m, l->part = &base->m->parts[k], l->base = base;
            st = model_build_part(l->part->pkg, &l->part->spec, base->program, &l->program, err);
            if (st == RN_OK) st = open_backend(e, l, err);
        }
    }
    return st;
}

static bool repack_progress(void *user, uint64_t done, uint64_t total) {
    const rn_engine *e = user;
    return e->opt.progress && e->opt.progress(e->opt.progress_user, RN_PHASE_REPACK, done, total);
}

static rn_status load_model_slot(rn_engine *e, struct model_slot *l, rn_error *err) {
    const struct program *p = model_program(l->program);
    const struct lm_config c = model_slot_config(e, l);
    const struct backend_sizes sizes = lm_real_sizes(p, &c);
    rn_status st = RN_OK;
    if (!l->lm) {
        st = backend_load(l->backend, p, &sizes, repack_progress, e, err);
        if (st == RN_OK) st = lm_real_create(p, l->backend, &c, &l->lm, err);
        if (st != RN_OK) return st;
        l->kv = lm_real_kv(l->lm);
        l->n_scratch = c.max_scratch;
    }
    l->n_ctx = l->lm->n_ctx;
    l->rows = mem_calloc((size_t)l->lm->n_batch, sizeof *l->rows);
    l->parts = mem_calloc((size_t)l->lm->n_batch, sizeof *l->parts);
    l->order = mem_calloc((size_t)e->opt.n_streams, sizeof *l->order);
    const bool has_inputs = l->vision || model_slot_sees_whole_text(l);
    if (has_inputs) l->inputs = mem_calloc((size_t)l->lm->n_batch, sizeof *l->inputs);
    model_slot_show(l);
    return l->rows && l->parts && l->order && (l->inputs || !has_inputs)
               ? RN_OK
               : fail(err, RN_E_NOMEM, "engine: out of memory for steps of %d rows", l->lm->n_batch);
}

// Does the engine leave a processor to the masks?
static bool has_processor_left(const rn_engine *e) {
    const int n = pool_n_threads(e->threads);
    return n < e->cpus.n_affinity && (e->cpus.quota == 0 || n + 1 <= e->cpus.quota);
}

static rn_status start_thread(rn_engine *e, rn_error *err) {
    rn_status st = mutex_init(&e->lock, err);
    e->lock_made = st == RN_OK;
    if (st == RN_OK) e->wake_made = (st = condvar_init(&e->wake, err)) == RN_OK;
    if (st == RN_OK) e->changed_made = (st = condvar_init(&e->changed, err)) == RN_OK;
    if (st == RN_OK) e->thread_started = (st = thread_start(&e->step_thread, engine_step_thread, e, err)) == RN_OK;
    return st;
}

static void destroy_given(const struct given_lm *lms, size_t n) {
    for (size_t i = 0; lms && i < n; i++) lm_destroy(lms[i].lm);
}

rn_status engine_open_lms(rn_model *const *models, const struct given_lm *lms, size_t n_models,
                          const rn_engine_options *opt, rn_engine **engine, rn_error *err) {
    rn_engine_options o;
    if (engine) *engine = NULL;
    if (!models || !engine) return fail(err, RN_E_ARG, "rn_engine_open: NULL argument");
    rn_status st = sized_read(&public_engine_options, opt, &o, err);
    if (st == RN_OK) st = check_options(&o, n_models, err);
    for (size_t i = 0; st == RN_OK && i < n_models; i++)
        if (!models[i]) st = fail(err, RN_E_ARG, "models[%zu]: NULL", i);
    rn_engine *e = st == RN_OK ? mem_calloc(1, sizeof *e) : NULL;
    if (!e) {
        destroy_given(lms, n_models);
        return st != RN_OK ? st : fail(err, RN_E_NOMEM, "engine: out of memory");
    }
    e->opt = o;
    e->log = (log_sink){NULL, NULL, LOG_DEBUG};
    if (o.log) e->log = (log_sink){(void (*)(void *, int, const char *))o.log, o.log_user, LOG_DEBUG};
    e->calls_end = &e->calls;
    e->n_models = e->n_model_slots = n_models;
    e->min_parallel_read = lms ? 0 : MIN_PARALLEL_READ; // models of tests are tiny
    for (size_t i = 0; lms && i < n_models; i++)
        e->model_slots[i].lm = lms[i].lm, e->model_slots[i].kv = lms[i].kv,
        e->model_slots[i].n_scratch = lms[i].n_scratch;
    st = choose_machine(e, err);
    for (size_t i = 0; st == RN_OK && i < n_models; i++)
        st = prepare_model_slot(e, &e->model_slots[i], models[i], err);
    if (st == RN_OK) st = prepare_parts(e, err);
    if (st == RN_OK) st = engine_prepare_visions(e, err);
    if (st == RN_OK) st = engine_plan(e, err);
    for (size_t i = 0; st == RN_OK && i < e->n_model_slots; i++) st = load_model_slot(e, &e->model_slots[i], err);
    if (st == RN_OK) st = engine_load_visions(e, err);
    for (size_t i = 0; st == RN_OK && i < n_models; i++) model_slot_fill_slots(e, &e->model_slots[i]);
    if (st == RN_OK && e->opt.output_store_bytes)
        st = output_store_create(e->opt.output_store_bytes, &e->outputs, err);
    if (st == RN_OK)
        st = masks_ahead_init(&e->masks_ahead, lms || has_processor_left(e), (size_t)e->opt.n_streams, err);
    if (st == RN_OK) st = start_thread(e, err);
    if (st == RN_OK)
        *engine = e;
    else
        rn_engine_close(e);
    return st;
}

rn_status rn_engine_open(rn_model *const *models, size_t n_models, const rn_engine_options *opt, rn_engine **engine,
                         rn_error *err) {
    return engine_open_lms(models, NULL, n_models, opt, engine, err);
}

void rn_engine_close(rn_engine *e) {
    if (!e) return;
    if (e->thread_started) {
        mutex_lock(&e->lock);
        e->stopping = true;
        engine_wake(e);
        mutex_unlock(&e->lock);
        thread_join(e->step_thread);
    }
    for (size_t i = e->n_model_slots; i-- > 0;) { // before the one whose weights it uses, or on which it stands
        struct model_slot *l = &e->model_slots[i];
        lm_destroy(l->lm);
        backend_destroy(l->backend);
        if (!l->weights_of) model_destroy(l->program);
        mem_free(l->rows);
        mem_free(l->parts);
        mem_free(l->order);
        mem_free(l->inputs);
    }
    engine_close_visions(e);
    masks_ahead_free(&e->masks_ahead);
    output_store_destroy(e->outputs);
    pool_destroy(e->threads);
    if (e->changed_made) condvar_destroy(&e->changed);
    if (e->wake_made) condvar_destroy(&e->wake);
    if (e->lock_made) mutex_destroy(&e->lock);
    mem_free(e);
}

rn_status rn_engine_get_info(const rn_engine *e, size_t model, rn_engine_info *info, rn_error *err) {
    if (!e) return fail(err, RN_E_ARG, "rn_engine_get_info: NULL argument");
    const rn_status st = sized_check(&public_engine_info, info, err);
    if (st != RN_OK) return st;
    if (model >= e->n_models) return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, e->n_models - 1);
    const struct model_slot *l = &e->model_slots[model];
    const struct backend_memory *const host = &l->plan.memory[0];
    const struct stream_room room = model_slot_room(e, l);
    uint64_t page_bytes = 0;
    for (size_t i = 0; i < l->plan.n_memories; i++)
        for (int32_t g = 0; g < PROGRAM_MAX_GROUPS; g++) page_bytes += l->plan.memory[i].page_bytes[g];
    const rn_engine_info own = {
        .cpu = e->kernels->name,
        .cpu_reason = e->cpu_reason,
        .arithmetic = l->backend->arithmetic,
        .n_threads = pool_n_threads(e->threads),
        .threads_reason = e->threads_reason,
        .n_ctx = l->n_ctx,
        .n_kv = l->n_kv,
        .kv_type = l->kv_name,
        .mapped_bytes = host->mapped_bytes,
        .copied_bytes = model_slot_copied_bytes(l),
        .repacked_bytes = host->repacked_bytes,
        .buffer_bytes = host->buffer_bytes,
        .other_bytes = plan_beside_bytes(e),
        .kv_bytes = model_slot_kv_bytes(e, l) + model_slot_state_bytes(e, l),
        .kv_bytes_per_token = page_bytes / KV_PAGE,
        .limit_bytes = e->limit_bytes,
        .plan = e->plan_text,
        .no_repack = e->opt.no_repack,
        .weights_of = (size_t)((l->weights_of ? l->weights_of : l) - e->model_slots),
        .n_seqs = room.n_seqs,
        .n_scratch = room.n_scratch,
        .n_states = room.n_states,
        .n_results = room.n_results,
        .backend = l->backend->ops->name,
        .adapter_bytes = host->adapter_bytes,
    };
    sized_write(&public_engine_info, &own, info);
    return RN_OK;
}
