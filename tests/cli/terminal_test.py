#!/usr/bin/env python3
"""tests/cli/terminal_test.py - what a person at a terminal sees: text, figures, bars, Ctrl+C."""
import math
import os
import re
import subprocess
import time

from harness import CTRL_C, TIMEOUT_S, Folder, Terminal, check, environment, equal, main, runnel, screen, shorten, test

PROMPT = 'Once upon a time'
RUN = ('run', PROMPT, '--temp', '0')
LONG = (*RUN, '--ignore-eos', '--cpu', 'ref', '-n', '400')


def seen(shown, columns=200):
    """What is left on the screen, without colours, as lines."""
    return screen(re.sub(r'\x1b\[[0-9;]*m', '', shown).replace('\r\n', '\n'), columns)


FIGURES = r'8 tokens, \d+ tok/s, first after [\d.]+ m?s; prompt 5 \(0 cached\); seed \d+; length: max_tokens 8'


@test
def a_terminal_gets_a_last_line_break_and_figures_on_stderr():
    code, shown = Terminal(*RUN, '-n', '8').end()
    text, figures, rest = seen(shown)
    equal((code, text + '\n', rest), (0, runnel(*RUN, '-n', '8').ok().text, ''))
    check(re.fullmatch(FIGURES, figures), figures)


@test
def figures_say_what_guesses_brought():
    shown = ' '.join(seen(Terminal('run', 'The cat sat on the mat. The dog sat on the mat.', '--temp', '0', '-n', '40', '--ignore-eos', '--draft-min', '4').end()[1]))
    check(re.search(r' cached\); \d+ of \d+ guesses right, \d\.\d\d rows a token(, \d+\.\d\d x as fast as without)?; seed ', shown), shown)


@test
def a_model_without_a_template_ends_after_512_tokens_at_a_terminal_and_says_so():
    long = ('run', PROMPT, '-c', '700', '--ignore-eos', '--temp', '0')
    said = 'the text was cut at 512 tokens'
    code, shown = Terminal(*long).end()
    check(code == 0 and said in shown and '512 tokens, ' in shown, shorten(shown))
    for args in (('-n', '-1'), ('-n', '600')):
        shown = Terminal(*long, *args).end()[1]
        check(said not in shown and '512 tokens, ' not in shown, args, shorten(shown))
    check(said not in Terminal('run', PROMPT, '--temp', '0', '--stop', 'time').end()[1], 'it was not cut')
    equal(runnel(*long, '--json').ok().lines[-1]['finish_detail'].split()[0], 'context')


@test
def figures_begin_a_line_of_their_own_behind_a_pipe():
    for more in ((), ('--no-newline',)):
        check_figures_behind_a_pipe(*more)


def check_figures_behind_a_pipe(*more):
    reads, writes = os.pipe()
    terminal = Terminal(*RUN, '-n', '8', *more, stdout=writes)
    os.close(writes)
    shown = re.sub(r'\x1b\[[0-9;]*[mK]|\r(?!\n)', '', terminal.end()[1])
    text = os.read(reads, 4096)
    os.close(reads)
    equal(text, runnel(*RUN, '-n', '8', *more).ok().out)
    equal((text[-1:] == b'\n', shown.startswith('\r\n')), (not more, bool(more)), shown)


@test
def text_into_a_file_stays_text_while_the_terminal_gets_figures():
    with Folder() as folder:
        with open(folder / 'text', 'wb') as file:
            code, shown = Terminal(*RUN, '-n', '8', stdout=file).end()
        equal(((folder / 'text').read_text(), code), (runnel(*RUN, '-n', '8').ok().text, 0))
        check(re.fullmatch(FIGURES, seen(shown)[0]), shown)


@test
def no_color_is_honoured():
    colour = re.compile(r'\x1b\[[0-9;]*m')
    check(not colour.search(Terminal(*RUN, '-n', '3', env=environment(NO_COLOR='1')).end()[1]), 'colour in spite of NO_COLOR')
    check('\x1b' not in Terminal(*RUN, '-n', '3', env=environment(TERM='dumb')).end()[1], 'a dumb terminal got escapes')
    check(colour.search(Terminal(*RUN, '-n', '3').end()[1]), 'no colour at all')


@test
def show_probs_colours_the_text_by_probability():
    data = [p for line in runnel(*RUN, '-n', '20', '--json', '--logprobs', '0').ok().lines for p in line['logprobs']]
    shades = [next(c for c, least in ((32, 0.75), (33, 0.4), (35, 0.1), (31, 0)) if math.exp(p['logprob']) >= least) for p in data]
    shown = Terminal(*RUN, '-n', '20', '--show-probs').end()[1].split('\x1b[2m')[0]
    parts = re.findall(r'\x1b\[(\d+)m([^\x1b]*)\x1b\[0m', shown)
    equal([int(shade) for shade, _ in parts], shades)
    plain = runnel(*RUN, '-n', '20').ok().text
    equal(''.join(text for _, text in parts) + '\n', plain)
    check(len(set(shades)) > 1, shades)
    equal(runnel(*RUN, '-n', '20', '--show-probs').ok().text, plain, 'into a pipe')
    for more in ({'NO_COLOR': '1'}, {'TERM': 'dumb'}):
        check('\x1b[3' not in Terminal(*RUN, '-n', '20', '--show-probs', env=environment(**more)).end()[1], more)


@test
def top_probs_are_a_table_that_fits_the_terminal():
    piped = runnel(*RUN, '-n', '12', '--top-probs', '5').ok().text.splitlines()
    for columns in (40, 60, 80, 200):
        shown = re.sub(r'\x1b\[[0-9;]*m', '', Terminal(*RUN, '-n', '12', '--top-probs', '5', columns=columns).end()[1]).split('\r\n')[:-2]
        check(all(len(line) <= columns for line in shown), shown)
        joined, cell = '\n'.join(shown).replace('\n' + 20 * ' ', '').split('\n'), r'[\d.]+% "(?:[^"\\]|\\.)*"'
        equal([re.findall(cell, line) for line in joined], [re.findall(cell, line) for line in piped], columns)
        places = {m.end() - len('100.00%') for line in shown for m in re.finditer(r'[\d.]+%', line)}
        check(all(place % 20 == 0 for place in places), (columns, places))


@test
def ctrl_c_at_the_terminal_ends_with_what_was_made():
    terminal = Terminal(*LONG)
    terminal.read(until=b'girl')
    terminal.type(CTRL_C)
    code, shown = terminal.end()
    equal(code, 130)
    check('cancelled' in shown, shown)


@test
def a_second_ctrl_c_ends_it_at_once():
    with subprocess.Popen(['sleep', '60'], stdout=subprocess.PIPE) as reader:   # never reads nor closes: the pipe stays full
        read_end, write_end = os.pipe()
        terminal = Terminal(*LONG, '--json', '--logprobs', '20', stdout=write_end)
        os.close(write_end)
        reader.kill()
    os.set_blocking(read_end, True)
    while len(os.read(read_end, 1)) == 0:
        pass
    terminal.type(CTRL_C)
    deadline = time.monotonic() + TIMEOUT_S
    while terminal.child.poll() is None and time.monotonic() < deadline:    # two that come too close are one signal
        time.sleep(0.2)
        terminal.type(CTRL_C)
    check(terminal.child.wait(timeout=TIMEOUT_S) in (-2, 130), terminal.child.returncode)
    os.close(read_end)


@test
def field_2_22_a_terminal_without_a_prompt_is_told_how_to_give_one():
    for args, word in ((['run'], 'prompt'), (['batch'], 'requests'), (['tokenize'], 'text'), (['score'], 'text'), (['embed'], 'texts'), (['detokenize'], 'ids')):
        code, shown = Terminal(*args).end()
        equal(code, 2, args)
        check(shown.startswith(f'runnel: {word}: none') and 'runnel ' + args[0] in shown, shown)


def long_batch(folder):
    """A file of requests that takes a second and more, so that a bar is drawn, however fast the build is."""
    line = '{"prompt": "Once", "n": 20, "ignore_eos": true}\n'
    begin = time.monotonic()
    runnel('batch', stdin=line.encode() * 8).ok()
    n_lines = 8 / (time.monotonic() - begin)
    requests = folder / 'requests'
    requests.write_text(line * max(4, min(4000, int(4 * n_lines))))     # start-up is part of what was measured
    return requests


@test
def at_40_columns_bars_never_wrap_and_are_erased():
    with Folder() as folder:
        requests = long_batch(folder)
        for columns in (40, 132):
            with open(folder / 'out', 'wb') as file:
                code, shown = Terminal('batch', requests, '--parallel', '4', stdout=file, columns=columns).end()
            equal(code, 0)
            drawn = re.findall(r'\r\x1b\[K([^\r\x1b]+)', shown)
            check(drawn, 'no bar was drawn')
            check(all(len(line) < columns for line in drawn), max(drawn, key=len))
            check(any(line.startswith('batch') and '%' in line for line in drawn), drawn[-1])
            equal(screen(shown, columns), [''], 'left on the screen')


@test
def a_bar_is_drawn_at_most_ten_times_a_second():
    with Folder() as folder:
        requests = long_batch(folder)
        begin = time.monotonic()
        with open(folder / 'out', 'wb') as file:
            _, shown = Terminal('batch', requests, stdout=file).end()
        seconds = time.monotonic() - begin
        check(len(re.findall(r'\x1b\[K[a-z]', shown)) <= 10 * seconds + 1, shorten(shown), 'in', seconds)


@test
def a_model_cannot_steer_the_terminal():
    ids = runnel('tokenize', '--json', '\x1b\x07').ok().lines[0]['ids']
    bias = [word for id in ids[-2:] for word in ('--logit-bias', f'{id}=100')]
    code, shown = Terminal('run', 'x', '-n', '6', '--seed', '1', *bias, env=environment(NO_COLOR='1')).end()
    text = seen(shown)[0]
    equal((code, set(text)), (0, {'\ufffd'}))
    check('\x07' not in shown and not re.search('\x1b(?!\\[K)', shown), repr(shown))


main()
