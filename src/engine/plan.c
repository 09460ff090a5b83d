// engine/plan.c - the memory plan: fits weights, buffers, keys and values, states and streams into the limit before allocating any.
#include "base/checked.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/process_memory.h"
#include "engine/engine.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_BATCH 512
#define LOGITS_BYTES  ((size_t)64 << 20) // logits kept of one step
#define LEAST_RESULTS 8
// Steps of a part are drafts of some streams, or the last rows of a prompt.
#define PART_BATCH        64
#define PART_LOGITS_BYTES ((size_t)16 << 20)
#define LIMIT_SHARE_NUM   9 // share of the available memory; the rest is left to other programs
#define LIMIT_SHARE_DEN   10
#define IDLE_SEQS         64 // sequences of idle sessions
// Sequences whose windows stay cached for later requests, in groups of windowed layers; in addition to two per stream.
#define CACHED_WINDOWS 8
#define STATE_INTERVAL 1024 // positions between two kept states, so at most this many are evaluated again
#define KEPT_BYTES     ((uint64_t)256 << 20) // of recurrent states kept for later requests
#define KEPT_MIN       2
#define KEPT_MAX       64
#define HOST           0 // memory of a backend's plan

// Bytes with a unit, in one of a few rotating buffers.
static const char *human(uint64_t bytes) {
    static _Thread_local char text[8][24];
    static _Thread_local unsigned turn;
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char *out = text[turn++ % 8];
    double v = (double)bytes;
    size_t u = 0;
    for (; v >= 1024.0 && u < 4; u++) v /= 1024.0;
    snprintf(out, sizeof text[0], u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return out;
}

// What every stream may use without reservations of rn_engine_options: sampling, a second sequence and a tree of optional rows.
static const struct stream_room planned = {.n_seqs = 2, .n_scratch = 64, .n_states = 2};

// Pages reserved by rn_engine_options: the last page of each further sequence, and those of scratch nodes.
static size_t reserved_pages(const rn_engine *e) {
    return (size_t)e->opt.n_streams * ((size_t)e->opt.n_seqs + ceil_div((size_t)e->opt.n_scratch, KV_PAGE));
}
static int32_t reserved_states(const rn_engine *e, const struct model_slot *l) {
    return model_program(l->program)->state_bytes ? e->opt.n_streams * (e->opt.n_seqs + e->opt.n_scratch) : 0;
}

// Each running stream may have a partly filled page, and one more is needed while a shared page is copied on write.
static int32_t pages_for(const rn_engine *e, int64_t n_kv) {
    return (int32_t)(ceil_div((size_t)n_kv, KV_PAGE) + (size_t)e->opt.n_streams + 1);
}

// Slots of recurrent state besides the reserved ones: those of running streams, and those kept for later requests.
static int32_t n_states(const rn_engine *e, const struct model_slot *l) {
    const size_t one = model_program(l->program)->state_bytes;
    if (one == 0) return 0;
    const uint64_t fit = KEPT_BYTES / one;
    return planned.n_states * e->opt.n_streams + (int32_t)(fit < KEPT_MIN   ? KEPT_MIN
                                                           : fit > KEPT_MAX ? KEPT_MAX
                                                                            : fit);
}

static uint64_t state_bytes_in(const rn_engine *e, const struct model_slot *l, size_t memory) {
    return (uint64_t)(n_states(e, l) + reserved_states(e, l)) * l->plan.memory[memory].state_bytes;
}
static uint64_t planned_state_bytes_in(const rn_engine *e, const struct model_slot *l, size_t memory) {
    return (uint64_t)n_states(e, l) * l->plan.memory[memory].state_bytes;
}

uint64_t model_slot_state_bytes(const rn_engine *e, const struct model_slot *l) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->plan.n_memories; i++) bytes += state_bytes_in(e, l, i);
    return bytes;
}

int32_t model_slot_n_vocab(const struct model_slot *l) {
    const struct program *p = model_program(l->program);
    return l->lm ? l->lm->n_vocab : (int32_t)p->width[p->logits];
}

size_t model_slot_span(const struct model_slot *l) {
    const struct vision_info *const info = l->vision ? vision_info(l->vision) : NULL;
    return info && info->sees_itself ? (size_t)vision_most_out(info) : 0;
}

// Rows that see their whole text, or all of a picture's, are all in one step.
static size_t n_batch_of(const rn_engine *e, const struct model_slot *l) {
    const size_t span = model_slot_span(l),
                 least = model_slot_sees_whole_text(l) && l->n_ctx > 0 ? (size_t)l->n_ctx
                         : span                                        ? span
                                                                       : 1,
                 said = e->opt.n_batch ? (size_t)e->opt.n_batch : DEFAULT_BATCH, n = said > least ? said : least;
    return model_slot_reads_vectors(l) && n > PART_BATCH ? PART_BATCH : n;
}

static size_t n_logits_of(const struct model_slot *l) {
    const struct program *p = model_program(l->program);
    const size_t row_bytes =
        (p->width[p->logits] ? p->width[p->logits] : 1) * sizeof(float); // some parts have no head
    const size_t n = (l->part ? PART_LOGITS_BYTES : LOGITS_BYTES) / row_bytes, span = model_slot_span(l),
                 least =
                     span > LEAST_RESULTS ? span : LEAST_RESULTS; // whoever scores a prompt reads those of all rows
    return n < least ? least : n;
}

struct lm_config model_slot_config(const rn_engine *e, const struct model_slot *l) {
    const size_t n_batch = n_batch_of(e, l), n_logits = n_logits_of(l);
    struct lm_config c = {
        .n_ctx = l->n_ctx,
        .n_batch = (int32_t)n_batch,
        .n_want = (int32_t)n_batch,
        .n_logits = (int32_t)(n_logits < n_batch ? n_logits : n_batch),
        .max_seqs = e->opt.n_streams * (planned.n_seqs + e->opt.n_seqs) + IDLE_SEQS,
        .max_scratch = e->opt.n_scratch > planned.n_scratch ? e->opt.n_scratch : planned.n_scratch,
        .n_pages = pages_for(e, l->n_kv) + (int32_t)reserved_pages(e),
        .n_windows = e->opt.n_streams * (2 + e->opt.n_seqs) + CACHED_WINDOWS,
        .n_states = n_states(e, l) + reserved_states(e, l),
        .state_interval = STATE_INTERVAL,
        .identity = hash_bytes(l->backend->arithmetic, strlen(l->backend->arithmetic) + 1,
                               hash_bytes(package_path(l->m->pkg), strlen(package_path(l->m->pkg)), 0)),
    };
    memcpy(c.codec, l->codec, sizeof c.codec);
    return c;
}

// Bytes of keys and values for n_kv positions in one memory, with or without the reserved pages. Groups of windowed layers need
// fewer pages.
static uint64_t pages_bytes_in(const rn_engine *e, const struct model_slot *l, size_t memory, int64_t n_kv,
                               bool with_reserved) {
    const struct program *p = model_program(l->program);
    struct lm_config c = model_slot_config(e, l);
    c.n_pages = pages_for(e, n_kv) + (with_reserved ? (int32_t)reserved_pages(e) : 0);
    if (!with_reserved) c.n_windows -= e->opt.n_streams * e->opt.n_seqs;
    const struct backend_sizes sizes = lm_real_sizes(p, &c);
    uint64_t bytes = 0;
    for (int32_t g = 0; g < p->n_groups; g++)
        bytes += l->plan.memory[memory].page_bytes[g] * (uint64_t)sizes.n_pages[g];
    return bytes;
}

static uint64_t kv_bytes_in(const rn_engine *e, const struct model_slot *l, size_t memory, int64_t n_kv) {
    return pages_bytes_in(e, l, memory, n_kv, true);
}

// Bytes of the keys, values and states reserved by rn_engine_options.
static uint64_t reserved_bytes_in(const rn_engine *e, const struct model_slot *l, size_t memory) {
    return kv_bytes_in(e, l, memory, l->n_kv) - pages_bytes_in(e, l, memory, l->n_kv, false) +
           (uint64_t)reserved_states(e, l) * l->plan.memory[memory].state_bytes;
}

rn_status model_slot_check_writes(const struct model_slot *l, rn_error *err) {
    if (!model_slot_sees_whole_text(l)) return RN_OK;
    return fail(
        err, RN_E_UNSUPPORTED,
        "%s: an encoder, which sees texts as a whole: it makes embeddings and scores of them, and writes none",
        package_path(l->m->pkg));
}

struct stream_room model_slot_room(const rn_engine *e, const struct model_slot *l) {
    const struct lm_config c = model_slot_config(e, l);
    return (struct stream_room){
        .n_seqs = planned.n_seqs + e->opt.n_seqs,
        .n_scratch = c.max_scratch,
        .n_states = c.n_states ? planned.n_states + reserved_states(e, l) / e->opt.n_streams : 0,
        .n_results = c.n_logits,
    };
}

rn_status model_slot_check_needs(const rn_engine *e, const struct model_slot *l, const char *name,
                                 const struct strategy_needs *needs, rn_error *err) {
    const struct stream_room room = model_slot_room(e, l);
    const int32_t n_seqs = needs->n_seqs ? needs->n_seqs : 1;
    const struct {
        const char *what, *more;
        int32_t needs, has;
    } rows[] = {
        {"sequences", "n_seqs reserves more (serve: --beams N; batch: --strategy beam --num-beams N)", n_seqs,
         room.n_seqs},
        {"scratch nodes", "n_scratch reserves more", needs->n_scratch, room.n_scratch},
        {"slots of recurrent state", "n_seqs and n_scratch reserve more",
         strategy_needs_states(n_seqs, needs->n_scratch), room.n_states ? room.n_states : INT32_MAX},
        {"rows with logits in a step", "a larger n_batch may hold more", needs->n_results, room.n_results},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].needs > rows[i].has)
            return fail(err, RN_E_LIMIT, "strategy %s: needs %d %s for a stream, %d are planned for %s: %s", name,
                        rows[i].needs, rows[i].what, rows[i].has, package_path(l->m->pkg), rows[i].more);
    return RN_OK;
}

uint64_t model_slot_kv_bytes(const rn_engine *e, const struct model_slot *l) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->plan.n_memories; i++) bytes += kv_bytes_in(e, l, i, l->n_kv);
    return bytes;
}

uint64_t model_slot_copied_bytes(const struct model_slot *l) {
    return l->weights_of || l->part ? 0 : package_made_bytes(l->m->pkg);
}

// Bytes of a model slot in one memory besides keys and values.
static uint64_t fixed_bytes_in(const rn_engine *e, const struct model_slot *l, size_t memory) {
    const struct backend_memory *m = &l->plan.memory[memory];
    return m->mapped_bytes + m->repacked_bytes + m->adapter_bytes + m->buffer_bytes + state_bytes_in(e, l, memory) +
           (memory == HOST ? model_slot_copied_bytes(l) : 0);
}

// Bytes of running and queued streams, all counted like those of the model slot with the largest streams.
static uint64_t streams_bytes(const rn_engine *e) {
    uint64_t runs = 0, waits = 0;
    for (size_t i = 0; i < e->n_models; i++) {
        const uint64_t running = stream_running_bytes(e, &e->model_slots[i]),
                       waiting = stream_waiting_bytes(&e->model_slots[i]);
        runs = running > runs ? running : runs;
        waits = waiting > waits ? waiting : waits;
    }
    return (uint64_t)e->opt.n_streams * runs + (uint64_t)e->opt.n_queue * waits;
}

// Bytes outside of model slots: allocations before the plan, streams, finished answers, and the caller's reserved bytes.
uint64_t plan_beside_bytes(const rn_engine *e) {
    return e->tables_bytes + streams_bytes(e) + e->opt.output_store_bytes + e->opt.reserved_bytes +
           engine_vision_bytes(e);
}

struct table {
    char *out;
    size_t n, size;
    bool in_lines; // columns on lines of their own, else one sentence
};

static void add_row(struct table *t, const char *name, uint64_t bytes) {
    const char *between = t->n == 0 ? "" : t->in_lines ? "\n" : "; ";
    if (t->n >= t->size) return;
    t->n += (size_t)snprintf(t->out + t->n, t->size - t->n, t->in_lines ? "%s%-42s %10s" : "%s%s %s", between, name,
                             human(bytes));
}

// Bytes of a model in memories other than the host's, with their limits.
static void add_devices(const rn_engine *e, const struct model_slot *l, struct table *t) {
    for (size_t i = HOST + 1; i < l->plan.n_memories; i++) {
        const struct backend_memory *m = &l->plan.memory[i];
        const struct {
            const char *what;
            bool always;
            uint64_t bytes;
        } rows[] = {{"weights", true, m->mapped_bytes + m->repacked_bytes},
                    {"adapters", false, m->adapter_bytes},
                    {"row buffers", true, m->buffer_bytes},
                    {"keys and values", true, pages_bytes_in(e, l, i, l->n_kv, false)},
                    {"recurrent states", false, planned_state_bytes_in(e, l, i)},
                    {"drafts and beams (n_seqs, n_scratch)", false, reserved_bytes_in(e, l, i)},
                    {"limit", false, m->limit_bytes}};
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            char name[64];
            snprintf(name, sizeof name, "%s: %s", m->name, rows[r].what);
            if (rows[r].always || rows[r].bytes) add_row(t, name, rows[r].bytes);
        }
    }
}

// The plan, a row for each part.
static void write_table(const rn_engine *e, bool in_lines, char *out, size_t size) {
    struct table t = {.out = out, .size = size, .in_lines = in_lines};
    uint64_t mapped = 0, made = 0, repacked = 0, adapters = 0, buffers = 0, pages = 0, states = 0, reserved = 0;
    int64_t n_kv = 0;
    for (size_t i = 0; i < e->n_model_slots; i++) {
        const struct model_slot *const l = &e->model_slots[i];
        const struct backend_memory *const host = &l->plan.memory[HOST];
        mapped += host->mapped_bytes, made += model_slot_copied_bytes(l), repacked += host->repacked_bytes;
        adapters += host->adapter_bytes, buffers += host->buffer_bytes;
        pages += pages_bytes_in(e, l, HOST, l->n_kv, false), states += planned_state_bytes_in(e, l, HOST);
        reserved += reserved_bytes_in(e, l, HOST);
        n_kv += l->n_kv;
    }
    char kv_name[64];
    snprintf(kv_name, sizeof kv_name, "keys and values of %" PRId64 " positions", n_kv);
    const struct {
        const char *name;
        bool always; // false: only if not 0
        uint64_t bytes;
    } rows[] = {
        {"weights used in the file", true, mapped},
        {"rows reordered", false, made},
        {"weights repacked", true, repacked},
        {"adapters", false, adapters},
        {"row buffers", true, buffers},
        {kv_name, true, pages},
        {"recurrent states", false, states},
        {"drafts and beams (n_seqs, n_scratch)", false, reserved},
        {"vocabulary and tables", true, e->tables_bytes},
        {"streams", true, streams_bytes(e)},
        {"finished answers, for drafts", false, e->opt.output_store_bytes},
        {"vision towers, and vectors of pictures", false, engine_vision_bytes(e)},
        {"the program and its connections", false, e->opt.reserved_bytes},
        {"together", true,
         mapped + made + repacked + adapters + buffers + pages + states + reserved + plan_beside_bytes(e)},
        {"limit", true, e->limit_bytes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].always || rows[i].bytes) add_row(&t, rows[i].name, rows[i].bytes);
    for (size_t i = 0; i < e->n_model_slots; i++) add_devices(e, &e->model_slots[i], &t);
}

static rn_status refuse(const rn_engine *e, const char *what, int64_t asked, int64_t fits, rn_error *err) {
    char table[448], most[64] = "nor do fewer";
    write_table(e, false, table, sizeof table);
    if (fits > 0) snprintf(most, sizeof most, "%" PRId64 " would", fits);
    return fail(err, RN_E_LIMIT, "%s: %" PRId64 " tokens do not fit into memory, %s: %s", what, asked, most, table);
}

// Positions that a model would have if memory were unlimited.
static int64_t wanted_ctx(const rn_engine *e, const struct model_slot *l) {
    return e->opt.n_ctx ? e->opt.n_ctx : package_hparams(l->m->pkg)->n_ctx_train;
}
// A context for each stream, and for each text of its own that a strategy of one of them may have.
static int64_t wanted_kv(const rn_engine *e, const struct model_slot *l) {
    return e->opt.n_kv ? e->opt.n_kv : wanted_ctx(e, l) * (e->opt.n_streams + e->opt.n_seqs);
}

// Bytes of all models in the memory of that name: weights, buffers, states, and keys and values of at most n_kv positions each.
static uint64_t bytes_on(const rn_engine *e, const char *name, int64_t n_kv) {
    uint64_t bytes = 0;
    for (const struct model_slot *l = e->model_slots; l < e->model_slots + e->n_model_slots; l++)
        for (size_t m = 0; m < l->plan.n_memories; m++) {
            const int64_t wanted = wanted_kv(e, l);
            if (strcmp(l->plan.memory[m].name, name) == 0)
                bytes += fixed_bytes_in(e, l, m) + kv_bytes_in(e, l, m, n_kv < wanted ? n_kv : wanted);
        }
    return bytes;
}

static bool all_fit(const rn_engine *e, int64_t n_kv) {
    for (const struct model_slot *l = e->model_slots; l < e->model_slots + e->n_model_slots; l++)
        for (size_t m = 0; m < l->plan.n_memories; m++) {
            const struct backend_memory *const at = &l->plan.memory[m];
            const uint64_t limit = m == HOST ? e->limit_bytes : at->limit_bytes ? at->limit_bytes : UINT64_MAX;
            const uint64_t beside = m == HOST ? plan_beside_bytes(e) : 0;
            if (beside > limit || bytes_on(e, at->name, n_kv) > limit - beside) return false;
        }
    return true;
}

// How many positions each model can hold besides all weights and buffers: the same number for all; a model that needs fewer takes
// fewer. So a small draft model gets the context of its target, not half of the memory. Whole pages, found by binary search.
static int64_t positions_that_fit(const rn_engine *e) {
    int64_t fit = 0, too_many = INT32_MAX / KV_PAGE;
    if (!all_fit(e, 0)) return 0;
    while (too_many - fit > 1) {
        const int64_t half = fit + (too_many - fit) / 2;
        if (all_fit(e, half * KV_PAGE))
            fit = half;
        else
            too_many = half;
    }
    return fit * KV_PAGE;
}

static rn_status plan_model_slot(rn_engine *e, struct model_slot *l, int64_t fits, rn_error *err) {
    const int32_t n_ctx_train = package_hparams(l->m->pkg)->n_ctx_train;
    const int64_t n_ctx = wanted_ctx(e, l), n_kv = wanted_kv(e, l);
    l->n_ctx = (int32_t)n_ctx;
    l->n_kv = n_kv;
    if (e->opt.n_ctx && n_ctx > fits) return refuse(e, "n_ctx", n_ctx, fits, err);
    if (e->opt.n_kv && n_kv > fits) return refuse(e, "n_kv", n_kv, fits, err);
    if (fits < (n_ctx < KV_PAGE ? n_ctx : KV_PAGE))
        return refuse(e, "context", n_ctx < KV_PAGE ? n_ctx : KV_PAGE, fits, err);
    if (n_ctx > fits) l->n_ctx = (int32_t)fits;
    if (n_ctx > fits && !l->part)
        log_to(&e->log, LOG_WARN, "context: %d tokens, the most that fits into memory (the model has %d)", l->n_ctx,
               n_ctx_train);
    if (n_ctx > n_ctx_train && !l->part)
        log_to(&e->log, LOG_WARN, "context: %d tokens are more than the model was trained for (%d)", l->n_ctx,
               n_ctx_train);
    if (l->n_kv > fits) l->n_kv = fits;
    if (l->n_kv < l->n_ctx)
        return fail(err, RN_E_ARG, "n_kv: %" PRId64 " is less than one stream's context of %d", l->n_kv, l->n_ctx);
    return RN_OK;
}

rn_status engine_plan(rn_engine *e, rn_error *err) {
    struct memory_limit have;
    rn_status st = RN_OK;
    memory_limit_detect("", &have);
    e->limit_bytes = e->opt.memory_limit ? e->opt.memory_limit : have.bytes / LIMIT_SHARE_DEN * LIMIT_SHARE_NUM;
    if (e->limit_bytes == 0) e->limit_bytes = (uint64_t)1 << 40; // the system does not say: allocation decides
    e->tables_bytes = mem_heap_bytes();
    for (size_t i = 0; i < e->n_model_slots && st == RN_OK; i++) {
        struct model_slot *l = &e->model_slots[i];
        const struct lm_config c = model_slot_config(e, l);
        const struct backend_sizes sizes = lm_real_sizes(model_program(l->program), &c);
        st = backend_get_plan(l->backend, model_program(l->program), &sizes, &l->plan, err);
    }
    const int64_t fits = st == RN_OK ? positions_that_fit(e) : 0;
    for (size_t i = 0; i < e->n_model_slots && st == RN_OK; i++)
        st = plan_model_slot(e, &e->model_slots[i], fits, err);
    if (st == RN_OK) write_table(e, true, e->plan_text, sizeof e->plan_text);
    return st;
}
