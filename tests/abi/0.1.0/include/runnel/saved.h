// runnel/saved.h - sessions as files: a caller's note (messages, settings), the tokens, and on request their keys and values.
#ifndef RUNNEL_SAVED_H
#define RUNNEL_SAVED_H

#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RN_SAVED_MAX_NOTE (16u << 20) // bytes

typedef struct rn_save_options {
    size_t struct_size;
    const void *note; // n_note bytes that come back as they are, at most RN_SAVED_MAX_NOTE; NULL: none
    size_t n_note;
    bool with_kv; // keys, values and states too: the next turn then evaluates only what is new. Default false
} rn_save_options;
RN_API void rn_save_options_init_sized(rn_save_options *o, size_t struct_size);
static inline void rn_save_options_init(rn_save_options *o) { rn_save_options_init_sized(o, sizeof *o); }

/**
 * Write a session to a file, whole or not at all.
 *
 * With keys and values the session may go on meanwhile, and so may all other streams: what is written is the session as it was when the
 * call began. Positions that were not evaluated yet, or were given up for want of room, are saved as tokens alone.
 *
 * @param path  replaced where it is there.
 * @param opt   NULL: defaults.
 * @return RN_OK; RN_E_ARG (a file of a model of this engine), RN_E_STATE (a stream of the session is running), RN_E_LIMIT (note; with
 *         keys and values: all sequences are in use), RN_E_IO, RN_E_NOMEM.
 */
RN_API rn_status rn_session_save(rn_session *session, const char *path, const rn_save_options *opt, rn_error *err);

// What a file holds, and what of it became a session. Texts are terminated, printable and on one line, whoever made the file.
typedef struct rn_saved {
    size_t struct_size;
    char *note; // n_note bytes and a terminator, freed with rn_free(). A stranger's bytes as far as anybody knows
    size_t n_note;
    char model[128], architecture[64]; // of the model it was saved with: its name, or its file's
    uint64_t fingerprint;              // of that model: the same number, the same model
    char arithmetic[32], kv_type[32];
    size_t n_tokens;    // in the file
    size_t n_positions; // of these the first ones, whose keys and values are there too
    uint64_t file_bytes;
    size_t n_loaded, n_restored; // of these, in the session
    char reason[512];            // why they are fewer; "" where they are not
} rn_saved;
RN_API void rn_saved_init_sized(rn_saved *s, size_t struct_size);
static inline void rn_saved_init(rn_saved *s) { rn_saved_init_sized(s, sizeof *s); }

/**
 * Make a session of a file.
 *
 * A file of another model gives an empty session, and one longer than the context too: the note is there and `reason` says why; a chat
 * renders its messages again. Keys and values of another type or arithmetic, or that there is no room for now, are left aside: the next
 * turn evaluates the tokens. Whatever is restored continues with the bits it would have had.
 *
 * The file is checked whole before any of it is used, and never trusted: what its keys and values make of a turn stays in this
 * session, shared with nobody and never served from the prefix cache. Numbers that no model made at most end a stream with an error.
 *
 * @param session  filled on RN_OK, else NULL. Closed with rn_session_close().
 * @param saved    after rn_saved_init(); filled on RN_OK, and its note is then the caller's to free.
 * @return RN_OK; RN_E_ARG; RN_E_IO; RN_E_FORMAT (not such a file, damaged: where), RN_E_UNSUPPORTED (of a newer version), RN_E_LIMIT
 *         (note), RN_E_NOMEM.
 *
 * @code
 *   rn_save_options o;
 *   rn_save_options_init(&o);
 *   o.note = json, o.n_note = strlen(json), o.with_kv = true;
 *   if (rn_session_save(session, "talk.rns", &o, &err) != RN_OK) fprintf(stderr, "%s\n", err.text);
 *
 *   rn_saved saved;
 *   rn_saved_init(&saved);
 *   if (rn_session_load(engine, 0, "talk.rns", &session, &saved, &err) == RN_OK) {
 *       show_messages(saved.note, saved.n_note);
 *       if (saved.reason[0]) printf("%s\n", saved.reason);
 *       rn_free(saved.note);
 *   }
 * @endcode
 */
RN_API rn_status rn_session_load(rn_engine *engine, size_t model, const char *path, rn_session **session,
                                 rn_saved *saved, rn_error *err);
/**
 * What a file holds, for lists of files: reads its beginning and the note alone, without an engine.
 *
 * Fills what rn_session_load() does; n_loaded and n_restored are 0. Of a file damaged further on it still tells the note.
 */
RN_API rn_status rn_session_peek(const char *path, rn_saved *saved, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
