// cli/memory_print.c - see memory_print.h.
#include "cli/memory_print.h"
#include "app/wrap.h"
#include <inttypes.h>
#include <stdio.h>

enum { LABEL_BYTES = 64 };

static const struct {
    const char *member, *label;
} kinds[RN_N_MEMORY_KINDS] = {
    [RN_MEMORY_FILE] = {"file", "used in the file"},         [RN_MEMORY_COPIED] = {"copied", "rows reordered"},
    [RN_MEMORY_REPACKED] = {"repacked", "weights repacked"}, [RN_MEMORY_KV] = {"kv", "keys and values"},
    [RN_MEMORY_BUFFERS] = {"buffers", "row buffers"},        [RN_MEMORY_HEAP] = {"heap", "vocabulary and tables"},
    [RN_MEMORY_ADAPTERS] = {"adapters", "adapters"},
};

static void add_line(bytes *to, const char *label, const char *planned, const char *now) {
    bytes_add_format(to, "%-42s %10s %10s\n", label, planned, now);
}

static void add_sizes(bytes *to, const char *label, uint64_t planned, uint64_t now) {
    char a[HUMAN_BYTES], b[HUMAN_BYTES];
    add_line(to, label, human_size(planned, a), human_size(now, b));
}

void memory_add_table(bytes *to, const rn_engine_info *e, const rn_memory *m) {
    uint64_t planned = 0, now = 0;
    char kv[LABEL_BYTES], text[HUMAN_BYTES];
    snprintf(kv, sizeof kv, "keys and values of %" PRId64 " positions", e->n_kv);
    add_line(to, "memory", "at most", "now");
    for (size_t i = 0; i < RN_N_MEMORY_KINDS; i++) {
        if (m->part[i].planned)
            add_sizes(to, i == RN_MEMORY_KV ? kv : kinds[i].label, m->part[i].planned, m->part[i].resident);
        planned += m->part[i].planned, now += m->part[i].resident;
    }
    if (m->process_bytes > now) {
        add_sizes(to, "program and libraries", m->process_bytes - now, m->process_bytes - now);
        planned += m->process_bytes - now, now = m->process_bytes;
    }
    add_sizes(to, "together", planned, now);
    add_line(to, "limit", human_size(e->limit_bytes, text), "");
    add_line(to, "in huge pages", "", human_size(m->huge_bytes, text));
}

void memory_add_sentence(bytes *to, const rn_memory *m) {
    char text[HUMAN_BYTES];
    uint64_t now = 0;
    for (size_t i = 0; i < RN_N_MEMORY_KINDS; i++) now += m->part[i].resident;
    const uint64_t rest = m->process_bytes > now ? m->process_bytes - now : 0;
    bytes_add_format(to, "memory %s: ", human_size(now + rest, text));
    for (size_t i = 0; i < RN_N_MEMORY_KINDS; i++)
        if (m->part[i].resident)
            bytes_add_format(to, "%s %s, ", kinds[i].label, human_size(m->part[i].resident, text));
    bytes_add_format(to, "program and libraries %s", human_size(rest, text));
}

void memory_put(json_writer *w, const rn_memory *m) {
    json_member_begin(w, "memory", '{');
    for (size_t i = 0; i < RN_N_MEMORY_KINDS; i++) {
        json_member_begin(w, kinds[i].member, '{');
        json_member_u64(w, "planned", m->part[i].planned);
        json_member_u64(w, "resident", m->part[i].resident);
        json_put_end(w, '}');
    }
    json_member_u64(w, "process_resident", m->process_bytes);
    json_member_u64(w, "huge", m->huge_bytes);
    json_put_end(w, '}');
}
