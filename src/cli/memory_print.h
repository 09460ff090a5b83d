// cli/memory_print.h - where an engine's memory is, as a table and as JSON.
#ifndef RN_CLI_MEMORY_PRINT_H
#define RN_CLI_MEMORY_PRINT_H

#include "app/bytes.h"
#include "app/json_write.h"
#include <runnel/runnel.h>

// Lines with what is planned and what is there now, their sums and the limit.
void memory_add_table(bytes *to, const rn_engine_info *e, const rn_memory *m);
// One sentence: what is there now, part by part.
void memory_add_sentence(bytes *to, const rn_memory *m);
// A member "memory" of the object that is being written: {"file": {"planned": .., "resident": ..}, .., "process_resident", "huge"}.
void memory_put(json_writer *w, const rn_memory *m);

#endif
