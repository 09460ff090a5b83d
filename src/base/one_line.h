// base/one_line.h - foreign text made fit for one line on a terminal or in a log..
#ifndef RN_BASE_ONE_LINE_H
#define RN_BASE_ONE_LINE_H

#include <stdbool.h>
#include <stddef.h>

// Replaces control characters (C0, DEL, C1) and bytes that are no UTF-8 by '?', in place and without growing.
// was_cut: the text was cut at its buffer's end; a character begun there is then dropped instead.
void one_line(char *text, bool was_cut);

#endif
