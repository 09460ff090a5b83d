// cli/compare/lane_columns.h - shows lanes while they grow: side by side at a terminal, one after another in a pipe.
//
// At a terminal a row is printed for good when every lane of it has gone on to the next row; the rows below it are drawn again as the
// lanes grow. Nothing is left to be restored if the program ends in between. Where a lane is further than the screen is high, the rest
// of it appears as the others follow. Lanes that have no room beside the others come below them: on a narrow terminal one by one.
//
// Ownership: `struct lane_columns` is the caller's; lane_columns_free(). Lanes are borrowed.
// Threads:   one at a time.
#ifndef RN_CLI_LANE_COLUMNS_H
#define RN_CLI_LANE_COLUMNS_H

#include "app/files.h"
#include "cli/compare/compare_lane.h"

typedef struct lane_columns {
    output *out;
    const compare_lane *lanes;
    size_t n;
    bool names_models; // several are compared
    bool is_terminal;
    bool is_drawn; // at a terminal that can erase; else lanes come one after another
    bool has_colour;
    const char *bar;  // between columns
    int width;        // the terminal's
    int column;       // columns of a lane
    size_t n_across;  // lanes side by side
    size_t first;     // lane of those that are shown now
    bool has_head;    // their names have been printed
    bool has_printed; // anything
    size_t n_seen;    // of the lanes, in the last call
    size_t *n_shown;  // [n] bytes of each text that are printed for good
    size_t n_rows;    // that will be drawn again
    bytes frame;
} lane_columns;

// Looks at stdout. Needs setlocale() for the widths of characters.
void lane_columns_begin(lane_columns *c, output *out, const compare_lane *lanes, size_t n, bool names_models);
// Shows what the lanes have now. False: stdout is closed.
bool lane_columns_show(lane_columns *c);
void lane_columns_free(lane_columns *c);

#endif
