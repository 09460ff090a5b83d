// pull/pull_meter.c - see pull_meter.h. The speed is that of the last seconds.
#include "pull/pull_meter.h"
#include "app/wrap.h"
#include <stdio.h>

enum { SAMPLE_NS = 250000000 };

void pull_meter_begin(pull_meter *m, uint64_t total) {
    *m = (pull_meter){.total = total, .begin_ns = now_ns()};
    progress_begin(&m->bar);
}

void pull_meter_show(pull_meter *m, uint64_t n_done) {
    const int64_t now = now_ns();
    const size_t last = (m->n_samples + METER_SAMPLES - 1) % METER_SAMPLES;
    if (m->n_samples == 0 || now - m->samples[last].ns >= SAMPLE_NS) {
        m->samples[m->n_samples % METER_SAMPLES].ns = now;
        m->samples[m->n_samples++ % METER_SAMPLES].n_fetched = m->n_fetched;
        const size_t oldest = m->n_samples > METER_SAMPLES ? m->n_samples % METER_SAMPLES : 0;
        const double seconds = (double)(now - m->samples[oldest].ns) * 1e-9;
        const double speed = seconds > 0 ? (double)(m->n_fetched - m->samples[oldest].n_fetched) / seconds : 0;
        char per_second[HUMAN_BYTES], left[HUMAN_BYTES];
        m->note[0] = '\0';
        if (speed >= 1) {
            const uint64_t n_all = m->n_files_done + n_done;
            const bool has_end = m->total != NO_SIZE && m->total > n_all;
            snprintf(m->note, sizeof m->note, "%s/s%s%s", human_size((uint64_t)speed, per_second),
                     has_end ? ", left " : "",
                     has_end ? human_time((double)(m->total - n_all) / speed * 1000, left) : "");
        }
    }
    progress_update(&m->bar, m->label, PROGRESS_BYTES, m->note[0] ? m->note : NULL, m->n_files_done + n_done,
                    m->total == NO_SIZE ? 0 : m->total);
}

void pull_meter_show_check(pull_meter *m, uint64_t n_done, uint64_t n_bytes) {
    progress_update(&m->bar, "checking", PROGRESS_BYTES, m->label, n_done, n_bytes);
}
