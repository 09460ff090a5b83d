#!/usr/bin/env python3
"""tests/cli/chat_terminal_test.py - `runnel chat`: a person at a terminal, and lines from a pipe."""
import os
import pathlib
import re
import time

from harness import CTRL_C, Folder, Skip, Terminal, check, environment, equal, main, runnel, screen, test

SUPPRESSIONS = pathlib.Path(__file__).parent / 'libedit.supp'
READY = b'\x1b[?2004h'
CHAT = ('chat', '--chat-template', 'alpaca', '--temp', '0', '-n', '12')


class Chat(Terminal):
    def __init__(self, *args, columns=80, **changed):
        self.folder = Folder()
        state = self.folder.__enter__()
        super().__init__(*CHAT, *args, columns=columns, env=environment(XDG_STATE_HOME=str(state), LANG='C.UTF-8',
                                                                      LSAN_OPTIONS=f'suppressions={SUPPRESSIONS}:print_suppressions=0', **changed))
        self.columns, self.at = columns, 0
        self.read_times(READY, 1)
        self.take()

    def take(self):
        text = self.shown[self.at:].decode()
        self.at = len(self.shown)
        return [line.rstrip() for line in screen(re.sub(r'\x1b\[[0-9;]*m', '', text), self.columns)]

    def say(self, line):
        """What the screen gets for a line, up to the next prompt."""
        n = self.shown.count(READY)
        self.type(line.encode() + b'\r')
        self.read_times(READY, n + 1)
        lines = self.take()     # the prompt itself may come before or behind what was read so far
        typed = max((i for i, shown in enumerate(lines) if line.replace('\t', '')[:6] in shown and shown.startswith('>')), default=0)
        return [shown for shown in lines[typed:] if shown != '>']

    def end(self):
        self.type(b'/quit\r')
        code, shown = super().end()
        self.folder.__exit__()
        return code, shown


def turn(*said):
    """What one turn answers, asked from a pipe."""
    return runnel(*CHAT, '--each-line', stdin='\n'.join(said).encode()).ok().text


FOOTER = r'[\d.]+ tok/s \| first [\d.]+ m?s \| context [\d,]+/[\d,]+ \| prompt \d+ \(\d+ cached\)'


@test
def a_reply_streams_below_its_message_and_figures_below_the_reply():
    chat = Chat()
    lines = chat.say('Once upon a time')
    reply = turn('Once upon a time').split()
    footer = next(i for i, line in enumerate(lines) if 'tok/s' in line)
    equal(' '.join(lines[1:footer - 1]).split(), reply)
    check('/continue resumes it' in lines[footer - 1], lines)
    check(re.fullmatch(FOOTER, lines[footer]), lines[footer])
    equal(chat.end()[0], 0)


@test
def the_second_turn_evaluates_only_what_is_new():
    chat = Chat()
    first = ' '.join(chat.say('Once upon a time'))
    second = ' '.join(chat.say('And then?'))
    held = int(re.search(r'context (\d+)/', first)[1])
    cached = int(re.search(r'\((\d+) cached\)', second)[1])
    equal(cached, held - 1, 'all but the last token made')
    chat.end()


@test
def every_command_answers():
    chat = Chat()
    rows = [
        ('/help', '/continue'), ('/system', 'no system message'), ('/system Be brief.', 'is set'), ('/system', 'Be brief.'),
        ('/system -', 'is removed'), ('/set', 'top_k'), ('/set temp 0.5', '0.5'), ('/set temp 9', 'temp: '), ('/set temq 1', 'did you mean temp'),
        ('/preset', 'greedy'), ('/preset greedy', 'preset greedy: temp 0, top_k 0, top_p 1, min_p 0'), ('/set samplers top_k;temperature', 'top_k;temperature'), ('/set samplers default', 'default'), ('/preset no', 'unknown preset'), ('/regen', 'no reply'),
        ('/undo', 'no message'), ('/continue', 'no reply'), ('/tokens Hello', 'tokens: '), ('Once', 'tok/s'), ('/tokens', '12 tokens'),
        ('/stats', 'template: '), ('/probs', 'from the next reply on'), ('/regen', 'tok/s'), ('/probs', ' %'), ('/probs off', 'not kept'),
        ('/undo', 'removed: Once'), ('/edit', 'no message'), ('/clear', 'is empty'), ('/save', 'needs a file name'),
        ('/load /nowhere/at/all', '/nowhere/at/all'), ('/sed', 'did you mean /se'), ('/hel', '/continue'),
    ]
    for line, part in rows:
        answer = '\n'.join(chat.say(line))
        check(part in answer, f'{line}: {answer!r}')
    equal(chat.end()[0], 0)


@test
def continue_goes_on_from_the_last_token():
    for template in ('alpaca', 'vicuna', 'mistral'):     # vicuna's and mistral's write a blank before a reply that begins with one
        args = (*CHAT, '--chat-template', template, '--each-line')
        whole = runnel(*args, stdin=b'/set max_tokens 24\nOnce upon a time\n').ok().text
        parts = runnel(*args, stdin=b'Once upon a time\n/continue\n').ok().text
        equal(parts.replace('\n', ''), whole.replace('\n', ''), template)


@test
def edit_brings_the_message_back_and_answers_the_new_one():
    chat = Chat()
    chat.say('Once upon a timf')
    n = chat.shown.count(READY)
    chat.type(b'/edit\r')
    chat.read_times(READY, n + 1)
    time.sleep(0.2)
    lines = chat.say('\x7fe')
    check(any('Once upon a time' in line for line in lines), lines)
    typed = max(i for i, line in enumerate(lines) if 'Once upon a time' in line)
    equal(' '.join(lines[typed + 1:]).split('the reply was cut')[0].split(), turn('Once upon a time').split())
    chat.end()


@test
def ctrl_c_stops_the_reply_and_nothing_else():
    chat = Chat('--ignore-eos', '-n', '400', '--cpu', 'ref')
    n = chat.shown.count(READY)
    chat.type(b'Once upon a time\r')
    chat.read(until=b'the')
    time.sleep(0.1)
    chat.type(CTRL_C)
    chat.read_times(READY, n + 1)
    check(b'stopped; /continue resumes it' in chat.shown, chat.shown[-300:])
    chat.say('/set max_tokens 3')
    check('tok/s' in '\n'.join(chat.say('And?')), 'no reply afterwards')
    equal(chat.end()[0], 0)


@test
def ctrl_c_at_the_prompt_empties_the_line_and_ctrl_d_ends():
    chat = Chat()
    n = chat.shown.count(READY)
    chat.type(b'never said' + CTRL_C + b'/clear\r')
    chat.read(until=b'is empty')
    chat.read_times(READY, n + 1)
    chat.type(b'\x04')
    code, shown = Terminal.end(chat)
    equal(code, 0)
    check('tok/s' not in shown, 'the dropped line was answered')
    chat.folder.__exit__()


@test
def a_paste_is_one_message_with_its_lines():
    chat = Chat()
    n = chat.shown.count(READY)
    chat.type(b'\x1b[200~Once\rupon\x1b[201~ a\x1b\rtime\\\rend\r')
    chat.read_times(READY, n + 1)
    chat.take()
    n = chat.shown.count(b'end')
    chat.type(b'/edit\r')
    chat.read_times(b'end', n + 1)      # the message stands in the line again
    answer = '\n'.join(chat.take())
    for word in ('Once', 'upon a', 'time', 'end'):
        check(word in answer, f'{word}: {answer!r}')
    chat.type(CTRL_C)
    chat.end()


@test
def tab_completes_commands_and_settings():
    chat = Chat()
    check('top_k' in '\n'.join(chat.say('/se\ttop_k\t')), 'no /set')
    check('greedy' in '\n'.join(chat.say('/pre\tgree\t')), 'no /preset')
    chat.end()


@test
def a_saved_chat_goes_on_where_it_was():
    with Folder() as folder:
        for kv in ('', ' kv'):
            file = folder / ('chat' + kv.strip())
            both = runnel(*CHAT, '--each-line', stdin=f'Once upon a time\n/save {file}{kv}\nAnd then?\n'.encode()).ok().text
            rest = runnel(*CHAT, '--each-line', stdin=f'/load {file}\nAnd then?\n'.encode()).ok().text
            check(both.endswith(rest) and rest.strip(), f'{both!r} {rest!r}')
        broken = folder / 'broken'
        broken.write_bytes(file.read_bytes()[:-9])
        bad = runnel(*CHAT, '--each-line', stdin=f'Hello\n/load {broken}\n/tokens a\n'.encode())
        equal(bad.code, 1)
        check('broken' in bad.err and 'tokens: ' in bad.err, bad.err)


@test
def a_note_that_is_no_chat_is_refused_and_the_chat_stays():
    with Folder() as folder:
        file = folder / 'chat'
        runnel(*CHAT, '--each-line', stdin=f'Hello\n/save {file}\n'.encode()).ok()
        equal(os.stat(file).st_mode & 0o777, 0o600, "a saved chat is its owner's alone")
        data = bytearray(file.read_bytes())
        at = data.index(b'"settings"')
        data[at + 1:at + 3] = b'zz'
        file.write_bytes(data)
        bad = runnel(*CHAT, '--each-line', stdin=f'/load {file}\n'.encode())
        equal((bad.code, bad.out), (1, b''))


@test
def at_40_columns_words_are_kept_whole():
    for columns in (40, 200):
        chat = Chat('-n', '120', '--ignore-eos', columns=columns)
        lines = chat.say('Once upon a time')
        equal([line for line in lines if len(line) >= columns], [], columns)
        told = runnel(*CHAT, '-n', '120', '--ignore-eos', stdin=b'Once upon a time').ok()
        words = set(told.text.split())
        shown = ' '.join(lines[1:]).split('the reply was cut')[0].split()
        equal([w for w in shown if w not in words], [], columns)
        chat.end()


@test
def no_color_leaves_colours_out():
    chat = Chat(NO_COLOR='1')
    chat.say('Once')
    check(not re.search(rb'\x1b\[[0-9;]*m', chat.shown), chat.shown[-200:])
    chat.end()


@test
def a_pipe_is_one_message_and_stdout_gets_the_reply_alone():
    told = runnel(*CHAT, stdin=b'Once upon a time\n').ok()
    equal(told.text, turn('Once upon a time'))
    run = runnel('run', '--chat', *CHAT[1:], 'Once upon a time').ok()
    equal(told.text.rstrip('\n'), run.text.rstrip('\n'))
    runnel(*CHAT, stdin=b'').fails(2, 'stdin: empty')


@test
def a_full_context_is_said_with_both_lengths_and_truncated_only_on_request():
    said = ('word ' * 60 + '\n') * 3
    full = runnel(*CHAT, '--each-line', '-c', '256', stdin=said.encode())
    equal(full.code, 1)
    check(re.search(r'\d+ tokens', full.err) and '256' in full.err, full.err)
    cut = runnel(*CHAT, '--each-line', '-c', '256', '--truncate', 'old', stdin=said.encode()).ok()
    check('messages were left out' in cut.err, cut.err)


@test
def a_model_without_a_template_asks_for_one():
    told = runnel('chat', stdin=b'Hello')
    check(told.code == 1 and '--chat-template' in told.err, told.err)


@test
def field_2_7_what_a_user_types_never_becomes_a_control_token():
    told = runnel(*CHAT, '--each-line', stdin=b'/tokens </s><s>[INST]\n').ok()
    check('tokens: ' in told.err and ' 1:' not in told.err and ' 2:' not in told.err, told.err)


def smollm2():
    for folder in (os.environ.get('RUNNEL_MODELS'), pathlib.Path.home() / '.cache/runnel-models'):
        file = pathlib.Path(folder or '/nowhere') / 'SmolLM2-135M-Instruct.Q4_1.gguf'
        if file.exists():
            return file
    raise Skip('SmolLM2-135M-Instruct.Q4_1.gguf is not here: shared models/get smollm2-135m')


@test
def ten_turns_with_smollm2_evaluate_what_is_new_alone():
    questions = ['Hello!', 'Name a river.', 'Where does it flow?', 'How long is it?', 'Is it deep?', 'Name another one.', 'Which is longer?',
                 'Thank you.', 'What did I ask first?', 'Goodbye.']
    told = runnel('chat', '-m', smollm2(), '--temp', '0', '-n', '24', '--each-line',
                  stdin='\n'.join(q + '\n/stats' for q in questions).encode()).ok()
    rows = [(int(m[1]), int(m[2]), int(m[3])) for m in
            re.finditer(r'last reply: (\d+) tokens .*? a prompt of (\d+) in .*?, (\d+) of them', told.err)]
    equal(len(rows), 10)
    for (made, prompt, _), (_, _, cached) in zip(rows, rows[1:]):
        check(cached >= prompt + made - 1, f'{cached} cached, {prompt} + {made} were held')


main()
