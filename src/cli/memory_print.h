// cli/memory_print.h - prints an engine's memory use as a table and as JSON.
#ifndef RN_CLI_MEMORY_PRINT_H
#define RN_CLI_MEMORY_PRINT_H

#include "app/bytes.h"
#include "app/json_write.h"
#include <runnel/runnel.h>

// Lines with planned and resident bytes of each part, their sums, and the limit.
void memory_add_table(bytes *to, const rn_engine_info *e, const rn_memory *m);
// One sentence with the resident bytes of each part.
void memory_add_sentence(bytes *to, const rn_memory *m);
// Writes the member "memory": {"file": {"planned": .., "resident": ..}, .., "process_resident", "huge"}.
void memory_put(json_writer *w, const rn_memory *m);

#endif
