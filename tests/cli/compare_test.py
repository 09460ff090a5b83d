#!/usr/bin/env python3
"""tests/cli/compare_test.py - `runnel compare`: texts, measures against an independent form, columns at a terminal, Ctrl+C."""
import collections
import fcntl
import html
import json
import math
import re
import struct
import sys
import termios
import unicodedata

from harness import CTRL_C, MODEL, ROOT, Folder, Terminal, check, end, environment, equal, interrupt, main, runnel, screen, start, test

sys.path.insert(0, str(ROOT / 'tests/serve'))
import script_model     # noqa: E402

PROMPT = 'Once upon a time'
SETTINGS = {
    'greedy': ['--temp', '0'],
    'focused': ['--temp', '0.3', '--top-k', '0', '--top-p', '0.9', '--min-p', '0'],
    'balanced': ['--temp', '0.8', '--top-k', '0', '--top-p', '0.9', '--min-p', '0'],
    'creative': ['--temp', '1.2', '--top-k', '50', '--top-p', '1', '--min-p', '0'],
    'wild': ['--temp', '1.5', '--top-k', '100', '--top-p', '1', '--min-p', '0'],
}
# Any token of the vocabulary: invalid bytes and odd characters, too.
NOISE = '{"name": "noise", "temp": 5, "top_k": 0, "top_p": 1, "min_p": 0}'
UNICODE = ['Größe', ' 東京', 'に', '行く', '。', ' naïve', '\t\tcafé', ' e\u0301tude', '\u3000全角', ' 👩\u200d👩\u200d👧', ' “q”', ' a_b-c', '\u2028', 'end\n', '한국어',
           ' \u202eabc\u202c', ' 東京', 'に', '行く']
PLAIN = '{{ messages[-1].content }}'


def utf8(**more):
    return environment(LC_ALL='C.UTF-8', **more)


def compare(*args, **more):
    return runnel('compare', *args, '--json', **more).ok().lines[0]


def flags(names):
    return [part for name in names for part in ('-s', name)]


# ---- the independent form of the measures (docs/compare.md) -----------------------------------------------------------

def words(text):
    out, run = [], ''
    for c in text:
        n = ord(c)
        is_space = n <= 0x20 or 0x80 <= n <= 0xA0 or 0x2000 <= n <= 0x200B or n in (0x2028, 0x2029, 0x3000)
        is_letter = (c.isascii() and c.isalnum()) or 0xC0 <= n <= 0x1FFF or 0x2C00 <= n <= 0x2DFF
        if is_letter:
            run += c
            continue
        if run:
            out.append(run)
        run = ''
        if not is_space:
            out.append(c)
    return out + [run] if run else out


def grams(list_, n):
    return collections.Counter(tuple(list_[i:i + n]) for i in range(len(list_) - n + 1))


def distinct(list_, n):
    all_ = grams(list_, n)
    return len(all_) / sum(all_.values()) if all_ else None


def bleu(texts, i):
    own, others = texts[i], [t for k, t in enumerate(texts) if k != i]
    if not own or not others:
        return None
    total = 0
    for n in range(1, 5):
        most = collections.Counter()
        for t in others:
            most |= grams(t, n)
        found, n_grams = sum((grams(own, n) & most).values()), sum(grams(own, n).values())
        if n > 1:
            found, n_grams = found + 1, n_grams + 1
        if not found:
            return 0
        total += math.log(found / n_grams) / 4
    closest = min((abs(len(t) - len(own)), len(t)) for t in others)[1]
    return math.exp(total + min(0, 1 - closest / len(own)))


def near(got, want, what, off=1e-9):
    check((got is None) == (want is None) and (got is None or abs(got - want) < off), what, got, want)


def check_measures(result):
    texts = [words(lane['text']) for lane in result['lanes']]
    blues = []
    for i, lane in enumerate(result['lanes']):
        m, data = lane['measures'], lane['logprobs']
        for n in (1, 2, 3):
            near(m[f'distinct_{n}'], distinct(texts[i], n), f'{lane["name"]} distinct-{n}')
        four = distinct(texts[i], 4)
        near(m['repetition'], None if four is None else 1 - four, f'{lane["name"]} repetition')
        near(m['bleu'], bleu(texts, i), f'{lane["name"]} BLEU')
        near(m['mean_logprob'], math.fsum(d['logprob'] for d in data) / len(data), 'log-probability', 1e-6)
        near(m['mean_entropy'], math.fsum(d['entropy'] for d in data) / len(data), 'entropy', 1e-6)      # JSON has the shortest digits of floats
        if m['bleu'] is not None:
            blues.append(m['bleu'])
        common = [len(shared(lane['text'], other['text']).encode()) for other in result['lanes']]
        equal(lane['common'], common, lane['name'])
    near(result['self_bleu'], sum(blues) / len(blues) if blues else None, 'self-BLEU')


def shared(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


@test
def texts_are_those_of_run_with_the_same_settings_and_seed():
    result = compare('-n', '40', '--seed', '11', *flags(SETTINGS), PROMPT)
    equal([lane['name'] for lane in result['lanes']], list(SETTINGS))
    for lane in result['lanes']:
        own, = runnel('batch', stdin=json.dumps({'prompt': PROMPT, 'n': 40, 'seed': 11, **lane['settings']}).encode()).ok().lines
        equal((lane['text'], lane['tokens'], lane['seed']), (own['text'], own['tokens'], 11), lane['name'])
        equal(runnel('run', '--no-newline', PROMPT, '-n', '40', '--seed', '11', *SETTINGS[lane['name']]).ok().text, lane['text'], lane['name'])
    check(len({lane['text'] for lane in result['lanes']}) == len(SETTINGS), 'they are all different')


@test
def measures_equal_those_of_an_independent_form():
    check_measures(compare('-n', '100', '--seed', '5', *flags([*SETTINGS, NOISE]), PROMPT))
    check_measures(compare('-n', '60', '--seed', '6', *flags([NOISE, NOISE.replace('noise', 'b').replace('}', ', "seed": 7}'), 'greedy']), PROMPT))
    check_measures(compare('-n', '3', *flags(['greedy', 'wild']), PROMPT))        # fewer words than n-grams take
    check_measures(compare('-n', '30', '-s', 'greedy', PROMPT))                     # no others
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(script_model.make({'U': UNICODE, 'V': UNICODE[7:] + UNICODE[:3]}, PLAIN))
        for seed in range(3):
            hot = json.dumps({'temp': 2, 'seed': seed})
            check_measures(compare('-m', folder / 'm.gguf', '-n', '30', *flags(['greedy', hot]), 'U'))
            check_measures(compare('-m', folder / 'm.gguf', '-n', '30', *flags(['greedy', hot]), 'V'))


@test
def a_repeated_text_is_what_it_is_measured_to_be():
    # Known by hand: 12 words of which 3 are different; equal texts have a BLEU of 1.
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(script_model.make({'A': ['one', ' two', ' three '] * 4, 'B': ['x']}, PLAIN))
        a, b = compare('-m', folder / 'm.gguf', *flags(['greedy', '{"name": "again", "temp": 0}']), 'A')['lanes']
    m = a['measures']
    equal(a['text'].split(), ['one', 'two', 'three'] * 4)
    near(m['distinct_1'], 3 / 12, 'distinct-1')
    near(m['distinct_2'], 3 / 11, 'distinct-2')
    near(m['distinct_3'], 3 / 10, 'distinct-3')
    near(m['repetition'], 1 - 3 / 9, 'repetition')
    near(m['bleu'], 1, 'BLEU')
    equal(a['common'], [len(a['text'])] * 2)


@test
def model_rows_are_those_of_the_prompt_and_the_answer():
    plain = '{"temp": 0.9, "speculate": ["none"]}'
    guided = '{"temp": 0.9, "speculate": ["none"], "guidance_scale": 1.5}'
    drafted = '{"temp": 0, "speculate": ["ngram"], "draft_min": 4}'
    one, two, three = compare('-n', '50', *flags([plain, guided, drafted]), 'Tim had a big red car. Tim liked his big red car. One day Tim had a')['lanes']
    rows = [lane['measures']['model_rows'] for lane in (one, two, three)]
    evaluated = [lane['usage']['prompt_tokens'] - lane['usage']['cached_tokens'] + lane['usage']['completion_tokens'] - 1 for lane in (one, two, three)]
    equal(rows[0], evaluated[0])
    # The prompt's last token again, the same as the negative prompt, and the answer in both sequences.
    equal(rows[1], evaluated[1] + 1 + 1 + 49)
    equal(rows[2], evaluated[2] + three['speculation']['drafted'] - three['speculation']['accepted'])
    check(three['speculation']['drafted'] > three['speculation']['accepted'] > 0, three['speculation'])


@test
def one_seed_is_shared_unless_settings_have_their_own():
    a, b, c = compare('-n', '5', *flags(['wild', 'wild', '{"name": "other", "temp": 1.5, "seed": 3}']), PROMPT)['lanes']
    equal((a['seed'], a['text'], c['seed']), (b['seed'], b['text'], 3))
    check(a['seed'] != compare('-n', '5', PROMPT)['lanes'][0]['seed'], 'drawn anew each time')
    check('seed 9\n' in runnel('compare', '-n', '5', '--seed', '9', PROMPT).ok().text, 'the seed is told')


@test
def what_settings_leave_out_is_taken_from_the_command_line():
    a, b = compare('-n', '9', '--temp', '0', '--repeat-penalty', '1.3', *flags(['{"n": 4}', '{"preset": "code", "temp": 0}']), PROMPT)['lanes']
    equal((len(a['tokens']), len(b['tokens'])), (4, 9))
    equal(a['text'], runnel('run', '--no-newline', PROMPT, '-n', '4', '--temp', '0', '--repeat-penalty', '1.3').ok().text)


@test
def several_models_and_forms_of_answers_are_compared():
    with Folder() as folder:
        (folder / 'script.gguf').write_bytes(script_model.make({'e': ['two', ' words']}, PLAIN))
        form = '{"name": "form", "temp": 0, "choices": ["yes", "no"]}'
        result = compare('-m', MODEL, '-m', folder / 'script.gguf', '-n', '10', '-s', 'greedy', PROMPT)
        equal([(lane['name'], lane['model']) for lane in result['lanes']], [('greedy', MODEL.name), ('greedy', 'script.gguf')])
        equal(result['lanes'][1]['text'], 'two words')
        equal(result['lanes'][0]['text'], runnel('run', '--no-newline', PROMPT, '-n', '10', '--temp', '0').ok().text)
        check_measures(result)
        check(compare('-n', '10', '-s', form, PROMPT)['lanes'][0]['text'] in ('yes', 'no'), 'the form holds')
        text = runnel('compare', '-m', MODEL, '-m', folder / 'script.gguf', '-n', '10', PROMPT).ok().text
    check(text.startswith(f'# greedy: the most probable token ({MODEL.name})\n') and '\n# greedy: the most probable token (script.gguf)\ntwo words\n' in text, text)


@test
def beams_are_compared_with_samples_in_one_batch():
    greedy, beam, wild = compare('-n', '20', '--seed', '3', *flags(['greedy', 'beam', 'wild']), PROMPT)['lanes']
    own = runnel('run', PROMPT, '-n', '20', '--strategy', 'beam', '--num-beams', '4', '--json').ok().lines
    equal(beam['text'], ''.join(line['text'] for line in own))
    check(sum(t['logprob'] for t in beam['logprobs']) >= sum(t['logprob'] for t in greedy['logprobs']), 'the search found no worse text')
    # The prompt's rows and one for each beam and step.
    check(beam['measures']['model_rows'] > 3 * wild['measures']['model_rows'], beam['measures'], wild['measures'])


@test
def other_strategies_stand_beside_them_by_name():
    lanes = compare('-n', '15', '--seed', '3', *flags(['contrastive', 'tree', 'beam', 'wild']), PROMPT)['lanes']
    for lane in lanes[:2]:
        own = runnel('run', '--no-newline', PROMPT, '-n', '15', '--seed', '3', '--strategy', lane['name']).ok().text
        equal(lane['text'], own, lane['name'])


@test
def tokens_of_a_search_have_the_entropies_of_their_rows():
    best = '{"name": "best", "strategy": "best-of", "best_of": 3}'
    ids = [int(i) for i in runnel('tokenize', '--add-special', PROMPT).ok().text.split()]
    lanes = compare('-n', '10', '--seed', '3', *flags(['beam', 'contrastive', 'tree', best]), PROMPT)['lanes']
    for lane in lanes:
        near(lane['measures']['mean_entropy'], sum(t['entropy'] for t in lane['logprobs']) / 10, lane['name'], 1e-6)
        for i in (0, 4, 9):
            before = ','.join(map(str, ids + lane['tokens'][:i]))
            row = runnel('run', '--ids', before, '-n', '1', '--temp', '0', '--logprobs', '0', '--sampled-logprobs', '0', '--json').ok().lines[0]['logprobs'][0]
            equal((lane['logprobs'][i]['entropy'], lane['logprobs'][i]['rank'] == 1), (row['entropy'], lane['tokens'][i] == row['id']), (lane['name'], i))


@test
def an_amateur_and_early_layers_stand_beside_them_by_name():
    lanes = compare('-n', '12', '--seed', '3', '--amateur', str(MODEL), *flags(['contrastive-decoding', 'dola', 'greedy']), PROMPT)['lanes']
    for lane, more in zip(lanes, (['--amateur', str(MODEL)], ['--repeat-penalty', '1.2'])):
        own = runnel('run', '--no-newline', PROMPT, '-n', '12', '--seed', '3', '--strategy', lane['name'], *more).ok().text
        equal(lane['text'], own, lane['name'])
    tree = '{"name": "valued", "strategy": "tree", "simulations": 8, "value": "model:' + str(MODEL) + '"}'
    lanes = compare('-n', '6', '-s', tree, '-s', '{"strategy": "tree", "simulations": 8}', PROMPT)['lanes']
    equal(lanes[0]['text'], lanes[1]['text'])  # the same model says the same
    for args, why in ((('--amateur', str(MODEL)), '--amateur: has no effect without -s contrastive-decoding'),
                      (('-s', 'contrastive-decoding'), 'contrastive-decoding: amateur_model: the strategy needs the number of another model'),
                      (('-s', 'dola', '-s', '{"strategy": "dola", "dola_layers": "high"}'), '--dola-layers: high beside low: there can be one of them')):
        runnel('compare', *args, PROMPT).fails(2, why)


@test
def answers_of_a_search_are_measured_against_each_other():
    settings = '{"name": "three", "strategy": "beam", "num_beams": 4, "num_return_sequences": 3, "n": 25}'
    lane, other = compare('-s', settings, '-s', 'greedy', PROMPT)['lanes']
    own = runnel('run', PROMPT, '-n', '25', '--strategy', 'beam', '--num-beams', '4', '--num-return-sequences', '3', '--json').ok().lines[-1]
    equal(lane['sequences'], own['sequences'])
    texts = [words(q['text']) for q in lane['sequences']]
    near(lane['measures']['self_bleu'], sum(bleu(texts, i) for i in range(3)) / 3, 'self-BLEU of the answers')
    check('sequences' not in other and 'self_bleu' not in other['measures'], other.keys())


@test
def a_conversation_is_answered():
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(script_model.make({'Q': ['An', ' answer']}, PLAIN))
        equal(compare('-m', folder / 'm.gguf', '--chat', '--system', 'Be brief.', '-s', 'greedy', 'Q')['lanes'][0]['text'], 'An answer')


@test
def in_a_pipe_texts_come_one_after_another_and_the_table_last():
    args = ('-n', '30', '--seed', '4', *flags(['greedy', 'wild']), PROMPT)
    lanes = compare(*args)['lanes']
    out = runnel('compare', *args).ok().text
    first, second, table = re.fullmatch(r'# greedy: the most probable token\n(.*)\n\n# wild: temp 1.5, top-k 100\n(.*)\n\n( .*)', out, re.S).groups()
    equal([first, second], [lane['text'] for lane in lanes])
    head, *rows, last = table.splitlines()
    equal(head.split(), 'tokens tok/s rows logprob entropy dist-1 dist-2 dist-3 repeat BLEU end'.split())
    for row, lane in zip(rows, lanes):
        cells, m = row.split(), lane['measures']
        want = [lane['name'], '30', None, str(m['model_rows']), f'{m["mean_logprob"]:.3f}', f'{m["mean_entropy"]:.3f}', *(f'{m[f"distinct_{n}"]:.2f}' for n in (1, 2, 3)),
                f'{m["repetition"]:.2f}', f'{m["bleu"]:.2f}', 'length']
        equal([c for c, w in zip(cells, want) if w], [w for w in want if w])
    check(re.fullmatch(r'self-BLEU 0\.\d\d, seed 4', last), last)


# ---- at a terminal ----------------------------------------------------------------------------------------------------

def lines_of(shown, columns):
    return screen(re.sub(r'\x1b\[[0-9;]*m', '', shown), columns)


def width(text):
    return sum(0 if unicodedata.category(c) in ('Mn', 'Me', 'Cf') else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)


def squeeze(text):
    return re.sub(r'\s+', '', text)


@test
def texts_stand_side_by_side_as_far_as_there_is_room():
    lanes = compare('-n', '60', '--seed', '7', PROMPT)['lanes']
    for columns, n_across in ((200, 3), (80, 3), (60, 2), (40, 1), (20, 1)):
        code, shown = Terminal('compare', '-n', '60', '--seed', '7', PROMPT, columns=columns, env=utf8()).end()
        lines = lines_of(shown, columns)
        equal(code, 0)
        equal(next(line for line in lines if line.strip()).count('│') + 1, n_across, columns)
        columns_of, at = [''] * 3, 0
        band = n_across
        for line in lines[:lines.index(next(line for line in lines if re.match(r' +(greedy|tokens)', line)))]:
            if not line.strip():
                at += band
                continue
            for k, part in enumerate(line.split('│')):
                columns_of[min(at + k, 2)] += part
        check(max(width(line) for line in lines if '│' in line or columns < 60) < columns or columns == 20, columns, lines)
        for lane, text in zip(lanes, columns_of):
            check(squeeze(text).endswith(squeeze(lane['text'])), columns, lane['name'], text)


@test
def wide_and_joined_characters_stay_in_their_columns():
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(script_model.make({'U': UNICODE * 2}, PLAIN))
        for columns in (70, 51):
            code, shown = Terminal('compare', '-m', folder / 'm.gguf', *flags(['greedy', '{"name": "b", "temp": 0}']), 'U', columns=columns, env=utf8()).end()
            equal(code, 0)
            rows = [line for line in lines_of(shown, columns) if '│' in line]
            # The bar stands in one column of every row.
            equal({width(row[:row.index('│')]) for row in rows}, {(columns - 1 - 3) // 2 + 1}, columns)
            check('\u202e' not in shown and '\u202c' not in shown, 'nothing turns the row around')
            joined = [''.join(row.split('│')[k] for row in rows) for k in (0, 1)]
            equal(squeeze(joined[0]).removeprefix('greedythemostprobabletoken'), squeeze(joined[1]).removeprefix('btemp0'))


@test
def texts_go_on_after_the_terminal_was_resized():
    args = ('compare', '--ignore-eos', '-n', '400', '--cpu', 'ref', '--seed', '7', *flags(['greedy', 'wild']), PROMPT)
    lanes = compare(*args[1:])['lanes']
    for before, after in ((100, 60), (60, 120), (100, 30)):
        terminal = Terminal(*args, columns=before, env=utf8())
        terminal.read(until=b'One day')
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack('HHHH', 24, after, 0, 0))
        code, shown = terminal.end()
        equal(code, 0)
        lines = lines_of(shown, max(before, after))
        heads = [i for i, line in enumerate(lines) if line.startswith('greedy')]
        check(len(heads) >= 2, 'the names are shown again at their new places', lines)
        # Nothing is lost: each text stands there whole, its beginning above and the rest of it below the names.
        n = [line.count('│') for line in lines[heads[0]:heads[0] + 9]][0] + 1
        text = ''
        for k in range(n):
            text += ''.join(line.split('│')[k] for line in lines[:heads[1]] if line.count('│') == n - 1 and line.strip())
        check(squeeze(lanes[0]['text'])[:20] in squeeze(text), text)
        rest = squeeze(''.join(line.split('│')[0] for line in lines[heads[1]:]))
        check(squeeze(lanes[0]['text'])[-40:] in rest, rest)
        rest = squeeze(''.join(line.split('│')[-1] for line in lines[heads[1]:]))
        check(squeeze(lanes[1]['text'])[-40:] in rest, rest)


@test
def a_text_that_is_a_screen_ahead_of_the_others_is_shown_whole():
    with Folder() as folder:
        (folder / 'a.gguf').write_bytes(script_model.make({'A': [f'line{i}\n' for i in range(90)]}, PLAIN))
        (folder / 'b.gguf').write_bytes(script_model.make({'A': [f' word{i}' for i in range(110)] + ['\n\n', 'end']}, PLAIN))
        for first, second in (('a', 'b'), ('b', 'a')):
            code, shown = Terminal('compare', '-m', folder / f'{first}.gguf', '-m', folder / f'{second}.gguf', '-s', 'greedy', 'A', columns=80, env=utf8()).end()
            rows = [line.split('│') for line in lines_of(shown, 80) if '│' in line]
            equal(code, 0)
            column = {first: [row[0].strip() for row in rows], second: [row[1].strip() for row in rows]}
            equal([line for line in column['a'] if line.startswith('line')], [f'line{i}' for i in range(90)])
            equal([word for line in column['b'] for word in line.split() if word.startswith('word')], [f'word{i}' for i in range(110)])
            equal(len(rows), 3 + 90, 'each row once')


@test
def ctrl_c_ends_all_texts_and_their_measures_are_shown():
    terminal = Terminal('compare', '--ignore-eos', '-n', '-1', '--cpu', 'ref', '--seed', '7', PROMPT, columns=90, env=utf8())
    terminal.read(until=b'One day')
    terminal.type(CTRL_C)
    code, shown = terminal.end()
    lines = lines_of(shown, 90)
    equal(code, 130)
    table = '\n'.join(lines[-8:])
    equal(table.count('cancelled'), 3)
    check('seed 7' in table, table)


@test
def ctrl_c_leaves_the_best_text_so_far_of_a_search():
    best = '{"name": "best", "strategy": "best-of", "best_of": 8}'
    child = start('compare', '--ignore-eos', '-n', '400', '--cpu', 'ref', '--seed', '7', *flags(['greedy', 'beam', best]), PROMPT)
    begin = b''
    while len(begin) < 100:
        begin += child.stdout.read(100)
    interrupt(child)
    code, out, _ = end(child)
    equal(code, 130)
    greedy, beam, best, table = re.fullmatch(r'# greedy: [^\n]*\n(.*)\n\n# beam: [^\n]*\n(.*)\n\n# best: [^\n]*\n(.*)\n\n( .*)', (begin + out).decode(), re.S).groups()
    n_greedy, n_beam, n_best = (int(row.split()[1]) for row in table.splitlines()[1:4])
    equal(table.count(' cancelled'), 3)
    # A step has a token of each text; a lane may have begun some steps before another one.
    check(abs(n_beam - n_greedy) <= 8 and abs(n_best - n_greedy) <= 8 and n_best > 5, table)
    seeds = [runnel('run', '--no-newline', PROMPT, '--ignore-eos', '-n', n_best, '--seed', 7 + i, '--speculate', 'none').ok().text for i in range(8)]
    check(best in seeds and beam and greedy, best, seeds)



@test
def texts_of_a_search_are_cut_by_its_tokens_on_the_page():
    best = '{"name": "best-of", "strategy": "best-of", "best_of": 4}'
    with Folder() as folder:
        lanes = json.loads(runnel('compare', '-n', '25', '--seed', '3', '--json', '--html', folder / 'page.html', *flags(['beam', best]), PROMPT).ok().out)['lanes']
        page = (folder / 'page.html').read_text()
    shown = ''.join(html.unescape(part) for part in re.findall(r'<span class="t [^>]*>(.*?)<span class="alt">', page, re.S))
    equal(squeeze(re.sub('<[^>]*>', '', shown)), squeeze(''.join(lane['text'] for lane in lanes)))



@test
def plain_terminals_get_no_escapes():
    colour = re.compile(r'\x1b\[[0-9;]*m')
    check(not colour.search(Terminal('compare', '-n', '3', PROMPT, env=utf8(NO_COLOR='1')).end()[1]), 'colour in spite of NO_COLOR')
    check('\x1b' not in Terminal('compare', '-n', '3', PROMPT, env=utf8(TERM='dumb')).end()[1], 'a dumb terminal got escapes')
    check(colour.search(Terminal('compare', '-n', '3', PROMPT, env=utf8()).end()[1]), 'no colour at all')
    check('G| ' in Terminal('compare', '-n', '3', PROMPT, env=environment(LC_ALL='C', NO_COLOR='1')).end()[1], 'a bar of ASCII where the locale has no other')


@test
def a_name_is_shown_in_one_line_that_steers_no_terminal():
    hostile = '{"name": "\\u001b]0;PWN\\u0007x\\u202ey\\r\\nz\\u009b31m", "temp": 0}'
    shown = '\ufffd]0;PWN\ufffdxy\ufffd z\ufffd31m'
    out = runnel('compare', '-n', '3', '-s', hostile, PROMPT).ok().text
    check(not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]', out), repr(out))
    check(out.startswith(f'# {shown}: ') and f'\n{shown} ' in out, repr(out))
    terminal = Terminal('compare', '-n', '3', '-s', hostile, PROMPT, columns=120, env=utf8(NO_COLOR='1')).end()[1]
    check(']0;PWN\ufffd' in terminal and '\x1b]' not in terminal and '\x07' not in terminal and '\u202e' not in terminal, repr(terminal))
    equal(compare('-n', '3', '-s', hostile, PROMPT)['lanes'][0]['name'], '\x1b]0;PWN\x07x\u202ey\r\nz\x9b31m')    # programs get what they gave
    said = runnel('compare', '-n', '3', '-s', hostile.replace('"temp"', '"stop_tokens": [999999], "temp"'), PROMPT).fails(2)
    equal(said.err.count('\n'), 1)
    check('\x1b' not in said.err and '\u202e' not in said.err, repr(said.err))


@test
def settings_without_a_name_are_called_what_they_set():
    long = '{"strategy": "beam", "num_beams": 2, "length_penalty": 0.5, "num_return_sequences": 2}'
    lanes = compare('-n', '3', '-s', '{"temp": 0.5, "top_k": 7}', '-s', long, '-s', '{}', '-s', '{"preset": "code", "name": ""}', PROMPT)['lanes']
    equal([lane['name'] for lane in lanes], ['temp 0.5, top_k 7', 'beam, num_beams 2, length_penalty 0.5', 'the defaults', 'code'])
    out = runnel('compare', '-n', '3', '-s', '{"temp": 0.5}', '-s', long, PROMPT).ok().text
    check(out.startswith('# temp 0.5\n') and f'\n# beam, num_beams 2, length_penalty 0.5: beam, num_beams 2, length_penalty 0.5, num_return_sequences 2\n' in out, out)


@test
def models_of_one_name_are_told_apart():
    with Folder() as folder:
        for path, word in (('a/m.gguf', 'one'), ('b/m.gguf', 'two'), ('b/a/m.gguf', 'three')):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(script_model.make({'e': [word]}, PLAIN))
        models = [part for path in ('a/m.gguf', 'b/m.gguf', 'b/a/m.gguf') for part in ('-m', folder / path)]
        lanes = compare(*models, '-m', MODEL, '-n', '5', '-s', 'greedy', PROMPT)['lanes']
        equal([lane['model'] for lane in lanes], [f'{folder.name}/a/m.gguf', 'b/m.gguf', 'b/a/m.gguf', MODEL.name])
        out = runnel('compare', *models, '-n', '5', '-s', 'greedy', PROMPT).ok().text
        check(f'({folder.name}/a/m.gguf)\none\n' in out and '(b/m.gguf)\ntwo\n' in out and '(b/a/m.gguf)\nthree\n' in out, out)
        same = 'Some-Model-3.1-8B-Instruct-abliterated-long-'
        for end in ('Q8_0', 'Q4_K_M'):
            (folder / f'{same}{end}.gguf').write_bytes((folder / 'a/m.gguf').read_bytes())
        out = runnel('compare', '-m', folder / f'{same}Q8_0.gguf', '-m', folder / f'{same}Q4_K_M.gguf', '-n', '5', '-s', 'greedy', PROMPT).ok().text
        check('greedy Some-Model-3.1-8B-I..ated-long-Q8_0.gguf ' in out and 'greedy Some-Model-3.1-8B-I..ed-long-Q4_K_M.gguf ' in out, out)


WRONG = [
    (['-s', 'gredy'], "--settings: 'gredy' is not one of greedy, focused, balanced, creative, wild, beam, best-of, contrastive, contrastive-decoding, dola, tree, code, chat, story, summary, nor a JSON object: did you mean greedy?"),
    (['-s', '{"temp": 9}'], '--settings: {"temp": 9}: temp: 9 is outside 0..5'),
    (['-s', '{"temp": 1'], '--settings: {"temp": 1: '),
    (['-s', '{"strength": 1}'], 'strength: unknown member'),
    (['-s', '{"preset": "dull"}'], "'dull' is not one of"),
    (['-s', '{"regex": "("}'], '{"regex": "("}: regex: '),
    (['-s', 'greedy'] * 17, '-s: given more than 16 times'),
    (['-m', 'x'] * 9, '-m: given more than 8 times'),
    (['--system', 'x'], '--system: has no effect without --chat'),
]


@test
def what_is_wrong_is_refused_by_name():
    for args, why in WRONG:
        result = runnel('compare', *args, PROMPT)
        check(result.code in (1, 2), args, result.code)
        result.fails(result.code, why)
    equal(runnel('compare', '-s', '{"preset": "dull"}', PROMPT).out, b'')


@test
def a_lane_that_fails_is_named_and_the_others_are_shown():
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(script_model.make({'B': ['so', ' far', script_model.BROKEN], 'A': ['all', ' is', ' well']}, PLAIN))
        broken = runnel('compare', '-m', folder / 'm.gguf', '-m', MODEL, '-n', '5', '-s', 'greedy', 'B').fails(1, 'greedy: ')
    check('so far' in broken.text and ' error' in broken.text and ' length' in broken.text, broken.text)


if __name__ == '__main__':
    main()
