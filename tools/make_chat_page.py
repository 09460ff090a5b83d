#!/usr/bin/env python3
"""tools/make_chat_page.py MODEL - writes docs/chat.md: its transcripts are what build/release/runnel says, typed at a terminal of 80 columns.

MODEL: SmolLM2-135M-Instruct (`./dev model smollm2-135m` prints its path). Text between transcripts is here."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests/cli'))
from harness import Folder, Terminal, environment, screen  # noqa: E402

PAGE = '''# Talking with a model

`runnel chat` holds a conversation with any model whose file has a chat template, or with one of runnel's own
(`--chat-template NAME`). This page is written by `tools/make_chat_page.py`; the transcripts are a terminal's.

{first}

The line below a reply: speed, time to the first token, tokens of the context in use, tokens of the prompt and how many of
them were reused from the cache. In a narrow terminal only the first of these are shown. `/stats` has more:

{stats}

`/continue` resumes a cut reply from its last token, `/regen` makes another reply:

{cut}

Messages can be removed, edited, and shown as tokens:

{edit}

## Commands

{help}

Tab completes commands, settings, presets, fetched models and file names; a leading `~` is the home folder. A message that begins with a slash is
written with a space before it. Alt+Enter, or a backslash before Enter, starts a new line; pasted text keeps its line breaks. Ctrl+C at the prompt
clears the message. While a reply streams, Ctrl+C stops it and keeps what has arrived; before the first token, it returns the message for editing.
What is typed meanwhile is not shown: it is the beginning of the next message. `/bye` and `/exit` end the chat too. With `NO_COLOR`, reasoning is
not dimmed but marked with `(thinking)` and `(answer)`.

`/file PATH` puts a text file before the next message, as a fenced block below its name, and says how many tokens it has; several files may go
together. `/tools FILE` reads an array of tool definitions as OpenAI's API takes it, and `/result TEXT` answers the calls of a reply, one after the
other; runnel itself runs no tools.

## Markdown

At a terminal with colours a reply's Markdown is drawn while it streams: headings, bold and italic text, lists, task boxes, quotes, tables as wide as
the terminal, and code in colours. Line breaks are kept as the model wrote them; links show where they lead; HTML is shown as text. Code lines are
never broken, so that they are copied as they are. Into a pipe, with `NO_COLOR`, `--plain` or `/set markdown off`, the text comes as it was written.

## Conversations are kept

After each turn at a terminal the conversation is written to `${{XDG_STATE_HOME:-~/.local/state}}/runnel/chats`, a file of mode 0600 for each;
`--no-history` keeps none. `/clear` and `/load` begin another one. Settings are not kept with it: those of the command line and of the
[settings file](settings.md) are in force.

```sh
runnel chat --continue              # the last conversation, with its model
runnel chats                        # all of them, the last one first; runnel chats TEXT: those in which TEXT occurs
runnel chat --resume 20261124-1523  # one of them, by its ID or how that begins
runnel chats --show ID              # as Markdown; --json: lines of JSON with all messages
runnel chats --delete ID            # or all
```

## Saved chats

`/save FILE` writes messages, settings and tokens, `/save FILE kv` keys and values too. At a terminal it asks before it overwrites a file that
is not this chat's own. `/load FILE` continues the chat, also with another
model: then the messages are rendered with its template. [sessions.md](sessions.md) has the file's format.

{save}

## When the context is full

Nothing is left out in silence. A message that does not fit is an error that names both lengths, and stays on the line for editing;
`/undo` and `/clear` free context, `/set truncate old` leaves out the oldest turns from then on, `/set truncate middle` those after the first, and each
time says how many.

## From a pipe

All of stdin is one message, and stdout gets the reply alone. With `--each-line` every line is a message or a command; what
commands say goes to stderr. Exit 1 when a reply or a command failed.

```sh
runnel chat -m MODEL --system "Answer in one word." < question.txt
printf '%s\\n' 'Hello!' /regen | runnel chat -m MODEL --each-line
```

`runnel run --chat` is one turn for scripts, `runnel template` shows the prompt itself ([chat-api.md](chat-api.md), [templates.md](templates.md)).
'''


def main():
    model = sys.argv[1]
    with Folder() as folder:
        env = environment(XDG_STATE_HOME=str(folder), NO_COLOR='1', LANG='C.UTF-8')
        terminal = Terminal('chat', '-m', model, '--temp', '0', '-n', '40', '-t', '2', columns=80, env=env)
        parts, begin = {}, 0

        def typed(*lines):
            nonlocal begin
            for line in lines:
                n_prompts = terminal.shown.count(b'\x1b[?2004h')
                terminal.type(line.encode() + b'\r')
                terminal.read_times(b'\x1b[?2004h', n_prompts + 1)
            text, begin = ('> ' if begin else '') + terminal.shown[begin:].decode(), len(terminal.shown)
            lines = screen(text, 80)
            while lines and lines[-1].strip() in ('', '>'):
                lines.pop()
            return '```\n' + '\n'.join(line.rstrip() for line in lines).replace(str(folder), '/tmp').replace(model, 'smollm2-135m') + '\n```'

        terminal.read_times(b'\x1b[?2004h', 1)
        parts['first'] = typed('Hello! Who are you?', 'What can you help me with?')
        parts['stats'] = typed('/stats')
        parts['cut'] = typed('Tell me about rivers.', '/continue', '/set temp 0.8', '/set seed 7', '/regen')
        parts['edit'] = typed('/undo', '/tokens Hello world', '/edit What is a river?')
        parts['help'] = typed('/help')
        parts['save'] = typed(f'/save {folder}/rivers.chat kv', '/clear', f'/load {folder}/rivers.chat')
        terminal.type(b'/quit\r')
        terminal.end()
    (ROOT / 'docs/chat.md').write_text(PAGE.format(**parts))


main()
