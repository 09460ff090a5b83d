// runnel/saved.h - sessions in files: a note of the caller's (messages, settings), the tokens, and
// optionally their keys and values.
#ifndef RUNNEL_SAVED_H
#define RUNNEL_SAVED_H

#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RN_SAVED_MAX_NOTE (16u << 20) // bytes

typedef struct rn_save_options {
    size_t struct_size;
    // n_note bytes, at most RN_SAVED_MAX_NOTE, that are returned unchanged; NULL: none.
    const void *note;
    size_t n_note;
    // Also save keys, values and states, so that the next turn evaluates only new tokens. Default
    // false.
    bool with_kv;
} rn_save_options;
RN_API void rn_save_options_init_sized(rn_save_options *o, size_t struct_size);
static inline void rn_save_options_init(rn_save_options *o) {
    rn_save_options_init_sized(o, sizeof *o);
}

/**
 * Writes a session to a file. The file is complete or absent.
 *
 * The file has the session as it was when the call began; the session and all streams may continue
 * meanwhile. Positions that are not in the KV cache are saved as tokens only.
 *
 * @param path  an existing file is replaced.
 * @param opt   NULL: defaults.
 * @return RN_OK; RN_E_ARG (the path is a file of a model of this engine); RN_E_STATE (a stream of
 *         the session is running); RN_E_LIMIT (the note is too long; with_kv: all sequences are in
 *         use); RN_E_IO; RN_E_NOMEM.
 */
RN_API rn_status rn_session_save(rn_session *session, const char *path, const rn_save_options *opt,
                                 rn_error *err);

// The contents of a file, and how much of it is in the session. Texts are terminated, printable and
// on one line, whatever the file contains.
typedef struct rn_saved {
    size_t struct_size;
    // n_note bytes and a terminator, freed with rn_free(). Untrusted, like the whole file.
    char *note;
    size_t n_note;
    // Name (or file name) and architecture of the model that the session was saved with.
    char model[128], architecture[64];
    // Identifies that model: equal fingerprints mean the same model.
    uint64_t fingerprint;
    char arithmetic[32], kv_type[32];
    // Tokens in the file; the first n_positions of them have keys and values.
    size_t n_tokens;
    size_t n_positions;
    uint64_t file_bytes;
    // How many of these are in the session, and why not all; "" if all are.
    size_t n_loaded, n_restored;
    char reason[512];
} rn_saved;
RN_API void rn_saved_init_sized(rn_saved *s, size_t struct_size);
static inline void rn_saved_init(rn_saved *s) { rn_saved_init_sized(s, sizeof *s); }

/**
 * Creates a session from a file.
 *
 * A file of another model, or one longer than the context, gives an empty session: the note is
 * returned and `reason` says why; a chat can render its messages again. Keys and values of another
 * type or arithmetic, or for which there is no room now, are ignored: the next turn evaluates the
 * tokens. A restored session continues with the same bits as if it had never been saved.
 *
 * The whole file is checked before any of it is used. It is untrusted: keys and values from a file
 * are used by this session only and never enter the prefix cache. Forged values can at worst end a
 * stream of this session with an error.
 *
 * @param session  set on RN_OK, else NULL. Closed with rn_session_close().
 * @param saved    initialized with rn_saved_init(); filled on RN_OK, and its note is then freed by
 *                 the caller.
 * @return RN_OK; RN_E_ARG; RN_E_IO; RN_E_FORMAT (not a session file, or damaged; names the place);
 *         RN_E_UNSUPPORTED (a newer version of the format); RN_E_LIMIT (note); RN_E_NOMEM.
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
RN_API rn_status rn_session_load(rn_engine *engine, size_t model, const char *path,
                                 rn_session **session, rn_saved *saved, rn_error *err);
/**
 * Reads the header and the note of a session file, without an engine.
 *
 * Fills *saved as rn_session_load() does, with n_loaded and n_restored 0. Works also if later parts
 * of the file are damaged.
 */
RN_API rn_status rn_session_peek(const char *path, rn_saved *saved, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
