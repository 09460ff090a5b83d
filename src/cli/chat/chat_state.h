// cli/chat/chat_state.h - state shared by the files of `runnel chat`: conversation, settings, last reply.
//
// Threads: one; the engine has its own.
#ifndef RN_CLI_CHAT_STATE_H
#define RN_CLI_CHAT_STATE_H

#include "app/chat_message.h"
#include "app/chat_options.h"
#include "app/generation.h"
#include "app/grammar_options.h"
#include "app/machine.h"
#include "cli/chat/dialogue.h"
#include "cli/chat/line_editor.h"
#include "cli/chat/reply_screen.h"

enum { CHAT_TOP = 5 }; // candidates of each token that /probs shows

// A token of the last reply, as /tokens and /probs show it.
typedef struct reply_token {
    int32_t id, n_top;
    float logprob; // NaN: not requested
    rn_top top[CHAT_TOP];
} reply_token;

typedef struct chat_reply {
    reply_token *tokens;
    size_t n, n_room;
    rn_usage usage;
    rn_timing timing;
    uint64_t seed;
    rn_finish finish;
    char detail[256], miss[256];
} chat_reply;

typedef struct chat {
    machine on;
    generation g;
    grammar_options form;
    rn_grammar *grammar; // that every reply follows; NULL: none
    // Options.
    chat_options options; // system message, template, output format
    int32_t truncate;     // rn_truncate
    int32_t n_beams;      // that there is room for; 0: those of the command line's strategy
    bool is_each_line, has_no_history, is_plain, is_continued;
    const char *resume; // --resume: a kept conversation; NULL: the last one
    int32_t reasoning;  // -1: shown at a terminal; 0 shown, 1 hidden

    rn_template *tmpl; // in use: the option's, else the model's
    rn_session *session;
    dialogue talk;
    reply_screen screen;
    line_editor *editor; // NULL: not at a terminal
    int32_t thinking;    // the template's `enable_thinking`: -1 not given, 0 false, 1 true
    bool wants_probs;
    chat_reply last;
    uint64_t n_prompt, n_cached, n_made;        // tokens of all replies
    char *strategy_texts[STRATEGY_OPTIONS + 1]; // that /set gave: of the strategy, then of its options; NULL: none
    char *prefill;                              // initial text of the next input line; NULL: none
    bytes attached;                             // files before the next message's text, as Markdown
    size_t n_attached;
    message shown;     // pictures before the next message's text
    char *tools;       // JSON, an array of definitions; NULL: none
    char *kept_path;   // where this conversation is kept; NULL: nowhere yet
    uint64_t kept_sum; // of what is kept there
    bool cannot_keep;  // which has been said
    char *file;        // that this chat was loaded from or saved in: /save need not ask; NULL: none
    bool is_over;
    int code; // exit code so far
} chat;

// chat_reply.c: generates a reply to the conversation and shows it. goes_on: continues the last message, an assistant's.
// False: there is no reply, the error has been printed, and the conversation is unchanged.
bool chat_answer(chat *c, bool goes_on);
void chat_reply_free(chat_reply *r);

// chat_commands.c: runs a line that begins with a slash; its output goes to stdout.
void chat_command(chat *c, const char *line);
const char *const *chat_complete(void *user, const char *line, size_t n_line, size_t *start);
// Adds a user's message and generates the reply to it.
void chat_say(chat *c, const char *text, size_t n);

// chat_settings.c: /set and /preset
void chat_run_set(chat *c, const char *args);
void chat_run_preset(chat *c, const char *args);
const char *const *chat_setting_names(void);
// Write the settings as members of a JSON object, and read them back.
void chat_settings_write(const chat *c, json_writer *w);
bool chat_settings_read(chat *c, const char *line, size_t n, char *why);

// chat_keep.c: writes the conversation if it has changed, where conversations are kept.
void chat_keep(chat *c);
// Takes the messages of the kept conversation that --continue or --resume means. *model: its model's path where it is still there, the
// caller's. False: there is none, which has been printed.
bool chat_take_kept(chat *c, char **model);
void chat_show_kept(chat *c); // how it ends

// chat_inputs.c: /file, /editor, /tools, /result
void chat_run_file(chat *c, const char *args);
void chat_run_editor(chat *c, const char *args);
void chat_run_tools(chat *c, const char *args);
void chat_run_result(chat *c, const char *args);

// chat_image.c: /image, /video
void chat_run_image(chat *c, const char *args);
void chat_run_video(chat *c, const char *args);
// A line that begins with the path of a picture, as terminals write what is dropped on them: notes the picture, and returns the rest of the line.
const char *chat_take_dropped(chat *c, const char *line);

// chat_switch.c: /model, and the names of models that may be typed
void chat_run_model(chat *c, const char *args);
const char *const *chat_model_names(const chat *c, const char *typed, size_t n);

// chat_file.c: /save and /load
void chat_run_save(chat *c, const char *args);
void chat_run_load(chat *c, const char *args);

// Says which model this is.
void chat_greet(const chat *c);
// A notice between messages: dimmed at a terminal, on stderr in a pipe.
__attribute__((format(printf, 2, 3))) void chat_note(const chat *c, const char *fmt, ...);

#endif
