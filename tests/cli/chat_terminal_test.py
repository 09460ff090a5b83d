#!/usr/bin/env python3
"""tests/cli/chat_terminal_test.py - `runnel chat`: a person at a terminal, and lines from a pipe."""
import fcntl
import json
import os
import pathlib
import re
import struct
import termios
import time

from harness import CTRL_C, MODEL, Folder, Skip, Terminal, check, environment, equal, main, runnel, screen, smollm2, test

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
def a_strategy_is_chosen_by_an_option_or_by_set():
    def reply(*args, said=b'Once upon a time\n'):
        return runnel(*CHAT, '--each-line', *args, stdin=said).ok().text
    beam = reply('--strategy', 'beam', '--num-beams', '3')
    equal(reply('--beams', '3', said=b'/set strategy beam\n/set num-beams 3\nOnce upon a time\n'), beam)
    equal(reply('--strategy', 'beam', '--num-beams', '1'), reply())
    equal(reply('--strategy', 'beam', said=b'/set strategy default\nOnce upon a time\n'), reply())
    check(reply('--strategy', 'dola', '--amateur', str(MODEL)) and reply('--strategy', 'contrastive-decoding', '--amateur', str(MODEL)), 'no answer')
    for said, why in ((b'/set strategy beams\n', "strategy: 'beams' is not one of sample|beam"), (b'/set num_beams 33\n', 'num_beams: 33 is outside 1..32'),
                      (b'/set early_stopping maybe\n', "early_stopping: 'maybe' is not one of false|true|never"),
                      (b'/set num_beams 2\nOnce\n', 'num_beams: is an option of the strategy beam, not of sample'),
                      (b'/set strategy beam\nOnce\n', 'strategy beam: needs 5 sequences for a stream'),
                      (b'/set strategy dola\nOnce\n', 'dola: the model was opened without early layers')):
        answer = runnel(*CHAT, '--each-line', stdin=said)
        equal(answer.code, 1, said)
        check(why in answer.err, said, answer.err)
    with Folder() as folder:
        saved = str(folder / 'chat.json')
        runnel(*CHAT, '--each-line', stdin=f'/set strategy beam\n/set num_beams 3\n/save {saved}\n'.encode()).ok()
        equal(runnel(*CHAT, '--each-line', '--beams', '3', stdin=f'/load {saved}\nOnce upon a time\n'.encode()).ok().text, beam)


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
def ctrl_c_clears_what_is_behind_the_cursor_too():
    chat = Chat()
    chat.type('häßlich, 日本'.encode() + b'\x1b[D' * 5 + CTRL_C)
    chat.read_times(b'\x1b[K', 1)
    lines = chat.say('/tokens x')
    check(any('tokens: ' in line for line in lines), lines)
    equal([line for line in lines if 'lich' in line or '本' in line], [], 'the rest of the line stayed')
    chat.end()


@test
def what_is_typed_while_a_reply_streams_is_the_next_line_and_not_in_the_reply():
    chat = Chat('--ignore-eos', '-n', '200', '--cpu', 'ref')
    n = chat.shown.count(READY)
    chat.type(b'Once upon a time\r')
    chat.read(until=b'the')
    chat.type(b'/tokens Hello')
    chat.read_times(READY, n + 1)
    reply = chat.shown.split(b'Once upon a time')[-1].split(b'tok/s')[0]
    check(b'/tokens' not in reply and b'Hello' not in reply, reply)
    chat.type(b'\r')
    chat.read(until=b'tokens: ')
    chat.read_times(READY, n + 2)
    chat.end()


@test
def lines_between_quotes_are_one_message():
    chat = Chat()
    chat.say('/set max_tokens 1')
    n = chat.shown.count(READY)
    chat.type(b'"""Once\rupon"\r"" a\\\rtime"""\r')
    chat.read_times(READY, n + 1)
    chat.take()
    chat.type(b'/edit\r')
    chat.read(until=b'\r\ntime')
    equal([line.removeprefix('>').strip() for line in chat.take() if line.strip('> ')][-4:], ['Once', 'upon"', '"" a\\', 'time'])
    chat.type(CTRL_C)
    chat.end()


@test
def a_resized_line_is_drawn_anew_from_its_first_row():
    chat = Chat()

    def read_words():       # to the last one's end, so that nothing of it comes behind the next size
        chat.read_times(b'd ', chat.shown.count(b'd ') + 20)
    chat.type(b'word ' * 20)
    read_words()
    for columns, rows in ((40, 2), (100, 1), (200, 0)):
        at = len(chat.shown)
        fcntl.ioctl(chat.master, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        read_words()
        begin = (b'\x1b[%dA' % rows if rows else b'') + b'\r\x1b[J'
        check(chat.shown[at:].startswith(begin), columns, chat.shown[at:at + 40])
        drawn = chat.shown[at + len(begin):].decode().replace(' \x08', '')     # how libedit reaches the next row
        equal(''.join(screen(drawn, columns)).count('wo'), 20, columns)
    chat.type(CTRL_C)
    chat.end()


@test
def a_file_goes_with_the_next_message():
    with Folder() as folder:
        note = folder / 'note `a`.txt'
        note.write_text('Once upon a time\n```\nthere was')
        whole = 'note `a`.txt:\n````\nOnce upon a time\n```\nthere was\n````\n\nAnd then?'
        said = runnel(*CHAT, stdin=whole.encode()).ok().text
        told = runnel(*CHAT, '--each-line', stdin=f'/file {note}\nAnd then?\nAnd then?\n'.encode()).ok()
        check('goes with the next message' in told.err, told.err)
        check(told.text.startswith(said.rstrip('\n')) and said.strip(), (told.text, said))
        (folder / 'bad').write_bytes(b'a\0b')
        (folder / 'empty').touch()
        for line, part in ((f'/file {folder}/bad', 'byte 1'), (f'/file {folder}/none', 'No such file'), (f'/file {folder}/empty', 'is empty'), (f'/file {folder}', 'Is a directory')):
            bad = runnel(*CHAT, '--each-line', stdin=line.encode())
            check(bad.code == 1 and part in bad.err, bad.err)
        chat = Chat(HOME=str(folder))
        check('goes with the next' in '\n'.join(chat.say('/file ~/no\t')), chat.shown[-300:])
        check('1 files' in '\n'.join(chat.say('/file')), chat.shown[-300:])
        check('left out' in '\n'.join(chat.say('/file -')), chat.shown[-300:])
        check('no file goes' in '\n'.join(chat.say('/file')), chat.shown[-300:])
        chat.end()


@test
def an_editor_writes_a_message():
    with Folder() as folder:
        program = folder / 'editor'
        program.write_text('#!/bin/sh\nstty -a > "$0.stty"\nprintf " a time" >> "$2"\n')
        program.chmod(0o755)
        chat = Chat(VISUAL=f'{program} --wait')
        lines = ' '.join(chat.say('/editor Once upon'))
        check(' '.join(turn('Once upon a time').split()) in lines, lines)
        check(re.search(r'[^-]icanon', (folder / 'editor.stty').read_text()), 'the editor got a terminal that is not as it was')
        program.write_text('#!/bin/sh\nexit 3\n')
        check('did not end well' in ' '.join(chat.say('/editor')), chat.shown[-300:])
        chat.end()
    check('needs a terminal' in runnel(*CHAT, '--each-line', stdin=b'/editor\n').err, 'no word from a pipe')


@test
def the_chat_goes_on_with_another_model():
    with Folder() as folder:
        (folder / 'other.gguf').symlink_to(MODEL)
        chat = Chat(RUNNEL_MODELS=str(folder), RUNNEL_CACHE=str(folder))
        chat.say('Once upon a time')
        check('fetched: other' in ' '.join(chat.say('/model')), chat.shown[-300:])
        check('context' in ' '.join(chat.say('/model oth\t')), chat.shown[-300:])
        check('2 messages' in ' '.join(chat.say('/stats')), chat.shown[-300:])
        check('tok/s' in ' '.join(chat.say('And then?')), chat.shown[-300:])
        check('tok/s' in ' '.join(chat.say('/model none-such') + chat.say('And?')), chat.shown[-300:])
        chat.end()
    bad = runnel(*CHAT, '--each-line', stdin=b'/model none-such\nHello\n')
    check(bad.code == 1 and 'none-such' in bad.err and bad.out, bad.err)


@test
def tools_reach_the_template_and_results_answer_calls():
    with Folder() as folder:
        tools = [{'type': 'function', 'function': {'name': f'f{i}', 'description': 'x', 'parameters': {'type': 'object'}}} for i in range(2)]
        (folder / 'tools.json').write_text(json.dumps(tools))
        tmpl = folder / 't.jinja'
        tmpl.write_text('{% if tools %}{{ raise_exception("tools: " ~ tools | map(attribute="function") | map(attribute="name") | join(" ") ~ " of " ~ messages[-1].role) }}'
                        '{% endif %}{{ messages[-1].content }}')
        args = ('chat', '--chat-template', tmpl, '--temp', '0', '-n', '4', '--each-line')
        told = runnel(*args, stdin=f'/tools {folder}/tools.json\nHello\n/tools\n/tools -\nHello\n/result x\n'.encode())
        for part in ('tools: f0, f1; a call', 'tools: f0 f1 of user', 'tools: f0, f1; /tools -', 'are taken away', '/result: the last reply has no call'):
            check(part in told.err, part, told.err)
        check(told.text.strip(), 'no reply without the tools')
        for text in ('{}', '[1]', '[{"function": {}}]', ''):
            (folder / 'bad.json').write_text(text)
            bad = runnel(*args, stdin=f'/tools {folder}/bad.json\n'.encode())
            check(bad.code == 1 and 'bad.json' in bad.err, text, bad.err)


@test
def saving_asks_before_another_file_is_overwritten():
    with Folder() as folder:
        chat = Chat(HOME=str(folder))
        (folder / 'there').write_text('mine')
        chat.type(b'/save ~/there\r')
        chat.read(until=b'[y/N]')
        check('not saved' in ' '.join(chat.say('n')), chat.shown[-300:])
        equal((folder / 'there').read_text(), 'mine')
        chat.type(b'/save ~/there\r')
        chat.read_times(b'[y/N]', 2)
        check('saved 0 messages' in ' '.join(chat.say('y')), chat.shown[-300:])
        check('saved 0 messages' in ' '.join(chat.say('/save ~/there')), 'its own file is saved again unasked')
        check('saved 0 messages' in ' '.join(chat.say('/save ~/new')), chat.shown[-300:])
        chat.end()


@test
def other_programs_names_end_the_chat_and_explain():
    for word in ('/bye', '/exit'):
        chat = Chat()
        check('/continue' in ' '.join(chat.say('/?')), 'no help')
        chat.type(word.encode() + b'\r')
        equal(Terminal.end(chat)[0], 0)
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
def a_dumb_terminal_has_prompts_and_no_escapes():
    terminal = Terminal(*CHAT, env=environment(TERM='dumb', XDG_STATE_HOME='/dev/null/none'))
    terminal.read(until=b'\n> ')
    terminal.type(b'Once upon a time\n')
    terminal.read_times(b'\n> ', 2)
    terminal.type(b'/tokens a\n')
    terminal.read_times(b'\n> ', 3)
    terminal.type(b'/quit\n')
    code, shown = terminal.end()
    check(code == 0 and 'context 512' in shown and 'tokens: ' in shown and turn('Once upon a time').strip() in shown.replace('\r', ''), shown)
    check('\x1b' not in shown, shown)


def chats(folder, *args):
    return runnel('chats', *args, env=environment(XDG_STATE_HOME=str(folder)))


@test
def conversations_are_kept_and_found_again():
    chat = Chat()
    folder = pathlib.Path(chat.folder.path)
    chats(folder).ok()
    chat.say('Once upon a time')
    chat.say('And then?')
    chat.say('/clear')
    chat.say('Another one')
    chat.type(b'/quit\r')
    Terminal.end(chat)
    kept = sorted((folder / 'runnel/chats').iterdir())
    equal([(file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) for file in kept], [(0o600, 0o700)] * 2)
    rows = chats(folder, '--json').ok().lines
    equal([[m['content'] for m in row['messages'] if m['role'] == 'user'] for row in sorted(rows, key=lambda row: row['id'])],
          [['Once upon a time', 'And then?'], ['Another one']])
    check(all(os.path.samefile(row['model'], MODEL) for row in rows), rows)
    found, = chats(folder, 'UPON').ok().text.splitlines()
    check('Once upon a time' in found and 'stories' in found, found)
    id = found.split()[0]
    page = chats(folder, '--show', id).ok().text
    check(page.startswith('**user**\n\nOnce upon a time\n\n**assistant**\n\n'), page)
    check('no conversation that' in chats(folder, 'nowhere said').ok().err, 'nothing is said of nothing found')
    chats(folder, '--show', 'x').fails(1, 'x: no conversation of that name')
    chats(folder, '--show', id, '--delete', id).fails(2, 'exclude each other')

    env = environment(XDG_STATE_HOME=str(folder), RUNNEL_MODEL=None, LANG='C.UTF-8')
    resumed = Terminal(*CHAT, '--resume', id, env=env)
    resumed.read_times(READY, 1)
    check(b'goes on behind 4 messages' in resumed.shown and b'And then?' in resumed.shown, resumed.shown)
    resumed.type(b'The end.\r')
    resumed.read_times(READY, 2)
    resumed.type(b'/quit\r')
    resumed.end()
    equal(len(next(row for row in chats(folder, '--json').ok().lines if row['id'] == id)['messages']), 6)
    told = runnel(*CHAT, '--continue', '--no-history', '--each-line', stdin=b'/stats\n', env=env).ok()
    check('6 messages' in told.err, told.err)
    check('deleted 1 conversation' in chats(folder, '--delete', id).ok().err, 'nothing said')
    equal(len(chats(folder, '--json').ok().lines), 1)
    chats(folder, '--delete', 'all').ok()
    runnel(*CHAT, '--continue', stdin=b'x', env=env).fails(1, 'no conversation is kept')
    chat.folder.__exit__()


@test
def without_history_no_conversation_is_kept():
    chat = Chat('--no-history')
    chat.say('Once upon a time')
    chat.type(b'/quit\r')
    Terminal.end(chat)
    equal([file for file in pathlib.Path(chat.folder.path).rglob('*') if file.is_file()], [])
    runnel(*CHAT, stdin=b'Once', env=environment(XDG_STATE_HOME=str(chat.folder.path))).ok()
    equal([file for file in pathlib.Path(chat.folder.path).rglob('*') if file.is_file()], [], 'from a pipe')
    chat.folder.__exit__()


@test
def a_broken_kept_conversation_is_named_and_left_out():
    with Folder() as folder:
        (folder / 'runnel/chats').mkdir(parents=True)
        file = folder / 'runnel/chats/20260101-000000.jsonl'
        good = '{"model":"/x"}\n{"role":"user","content":"hi"}\n'
        for text, part in ((good + '{', 'line 3'), ('[]\n', 'line 1'), (good[:-1] + '\n{"role":"user"}\n', 'line 3')):
            file.write_text(text)
            told = chats(folder).ok()
            check(part in told.err and file.name in told.err, told.err)
        file.write_text(good)
        check('hi' in chats(folder).ok().text, 'a good one')


MARKDOWN = '# Head\n\nSome **bold** text\n\n- one\n- two\n\n```py\nif x: # no\n```'
DRAWN = ['Head', '', 'Some bold text', '', '• one', '• two', '', '```py', 'if x: # no', '```']


def answer_of(chat, text='go'):
    lines = chat.say(text)
    return lines[1:next(i for i, line in enumerate(lines) if 'tok/s' in line)]


@test
def markdown_is_drawn_at_a_terminal_with_colours_alone():
    choice = ('-n', '200', '--choice', MARKDOWN)
    equal(runnel(*CHAT, *choice, stdin=b'go').ok().text, MARKDOWN + '\n', 'into a pipe')
    chat = Chat(*choice)
    if re.search(r'markdown +off ', ' '.join(chat.say('/set markdown'))):
        raise Skip('built without md4c')
    equal(answer_of(chat), DRAWN)
    check(b'\x1b[0;1mbold' in chat.shown and b'\x1b[0;35mif' in chat.shown, chat.shown[-600:])
    chat.say('/set markdown off')
    equal(answer_of(chat), MARKDOWN.split('\n'))
    chat.end()
    for args, changed in (((), {'NO_COLOR': '1'}), (('--plain',), {})):
        chat = Chat(*choice, *args, **changed)
        equal(answer_of(chat), MARKDOWN.split('\n'), str((args, changed)))
        chat.end()


@test
def figures_begin_a_line_of_their_own_even_behind_open_code():
    for args in ((), ('--plain',)):
        chat = Chat('-n', '200', '--choice', 'a\n```\ncode', *args)
        lines = chat.say('go')
        check(re.fullmatch(FOOTER, next(line for line in lines if 'tok/s' in line)), args, lines)
        chat.end()


@test
def figures_say_what_guesses_brought():
    guesses = r'\d+ of \d+ guesses right, \d\.\d\d rows a token(, \d+\.\d\d x as fast as without)?'
    for columns, between in ((80, '\n'), (200, ' | ')):
        chat = Chat('-n', '40', '--ignore-eos', '--draft-min', '4', columns=columns)
        shown = '\n'.join(chat.say('The cat sat on the mat. The dog sat on the mat.'))
        check(re.search(f'^{FOOTER}{re.escape(between)}{guesses}$', shown, re.M), columns, shown)
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
