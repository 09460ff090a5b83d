// cli/compare/compare_settings.h - `compare -s`: a named way of generating, a preset, or a JSON object, for a lane.
//
// Threads: one at a time.
#ifndef RN_CLI_COMPARE_SETTINGS_H
#define RN_CLI_COMPARE_SETTINGS_H

#include "cli/compare/compare_lane.h"

// Sets the lane's name, words, settings and generation, with what they leave out from `defaults`. False: text is neither a known name
// nor a JSON object of a request's members; it has been said, with the option's name.
bool compare_settings_read(compare_lane *l, const char *text, const generation *defaults,
                           const generation_members *members);
// Compiles the form of the lane's answer, if its settings give one, for its model. False: refused, and said.
bool compare_settings_compile(compare_lane *l);

#endif
