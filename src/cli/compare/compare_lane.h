// cli/compare/compare_lane.h - one of the generations that are compared: its settings, its stream, its text and tokens.
//
// Ownership: `struct compare_lane` is the caller's; compare_lane_free(), before the engine is closed.
// Threads:   one at a time.
#ifndef RN_CLI_COMPARE_LANE_H
#define RN_CLI_COMPARE_LANE_H

#include "app/bytes.h"
#include "app/generation.h"
#include "cli/compare/text_measures.h"
#include <runnel/runnel.h>

// A generated token, and the text that came with it.
typedef struct lane_token {
    int32_t id, rank;
    float logprob, entropy; // nats; NaN: unknown
    size_t at, n_text;      // in the lane's text
    size_t first_top;       // in the lane's tops
    int32_t n_top;
} lane_token;

// A whole answer that a search found (rn_sequence).
typedef struct lane_sequence {
    bytes text;
    id_list tokens;
    double score, logprob;
    rn_finish finish;
} lane_sequence;

typedef struct compare_lane {
    char *name, *words; // words: the settings, for people
    char *label;        // the name in one line without control characters
    char *settings;     // as JSON
    size_t model;
    const rn_model *on;
    const char *model_name; // the file's, with as much of its folder as tells it from the others
    json_doc *doc;          // what g points into
    generation *g;
    rn_grammar *grammar; // NULL: of any form
    rn_stream *stream;
    bool is_revised; // the text is a search's best one at the moment until it is done (rn_request.accept_revisions)

    bytes text;
    size_t n_revisions; // times that something of it was replaced
    lane_token *tokens;
    size_t n_tokens, room_tokens;
    rn_top *tops;
    size_t n_tops, room_tops;
    bool is_done;
    rn_finish finish;
    char *detail; // terminated; NULL until the end
    uint64_t seed;
    rn_usage usage;
    double read_ms, first_ms,
        decode_ms;            // the prompt was read, the first token came, and how long after it the last one
    lane_sequence *sequences; // of a search, best first
    size_t n_sequences;

    // compare_measure() fills these. NaN: there are too few words or tokens.
    double logprob, entropy; // means over its tokens, nats
    double distinct[3], repetition, bleu;
    double self_bleu; // of its sequences
} compare_lane;

// Takes all chunks that are there. False: an error that has been printed.
bool compare_lane_read(compare_lane *l);
double compare_lane_rate(const compare_lane *l); // tokens/s after the first one, since the prompt was read; NaN: none
text_span compare_lane_text(const compare_lane *l);
void compare_lane_free(compare_lane *l);

// The measures of n lanes that have ended, and the mean of their BLEU (self-BLEU); NaN: none has one.
double compare_measure(compare_lane *lanes, size_t n);

#endif
