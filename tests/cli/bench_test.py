#!/usr/bin/env python3
"""tests/cli/bench_test.py - bench: what is measured, and how it is reported, compared and drawn. No test judges a time."""
import json
import os
import re
import shutil

from harness import MODEL, Folder, Terminal, check, environment, equal, main, runnel, test

QUICK = ('bench', '-p', '8', '-n', '4', '-r', '2', '--no-limits', '-t', '1')

ROW = {'schema', 'runnel', 'commit', 'machine', 'model', 'architecture', 'type', 'model_bytes', 'parameters', 'cpu', 'arithmetic',
       'threads', 'kv_type', 'depth', 'batch', 'n_prompt', 'n_gen', 'repeats', 'prefill_tok_s', 'decode_tok_s', 'ttft_ms',
       'read_gb_s', 'peak_rss_mb', 'memory', 'limits', 'results'}
MACHINE = {'processor', 'features', 'processors', 'memory_bytes', 'system', 'compiler', 'load'}
FIGURE = {'kind', 'unit', 'streams', 'tokens', 'values', 'median', 'spread', 'read_gb_s', 'int8_tops', 'read_share', 'int8_share',
          'limit', 'vs'}


def rows_of(*args):
    return json.loads(runnel(*args, '--json').ok().out)


def figure(row, kind):
    found, = [f for f in row['results'] if f['kind'] == kind]
    return found


@test
def the_members_of_a_row_are_those_that_are_documented():
    row, = rows_of(*QUICK)
    equal(set(row), ROW)
    equal(set(row['machine']), MACHINE)
    equal((row['schema'], row['threads'], row['kv_type'], row['n_prompt'], row['n_gen'], row['batch'], row['depth'], row['repeats']),
          (1, 1, 'f16', 8, 4, 1, 0, 2))
    equal((row['type'], row['model_bytes'], row['limits']), ('Q8_0', MODEL.stat().st_size, None))
    equal(row['runnel'], runnel('--version').text.split()[1])
    check(row['commit'] is None or re.fullmatch(r'[0-9a-f]{12,40}(-dirty)?', row['commit']), row['commit'])
    prompt, generation = figure(row, 'prompt'), figure(row, 'generation')
    equal(set(prompt), FIGURE)
    equal(set(generation), FIGURE | {'per_stream', 'batch_ratio'})
    for f, rate in ((prompt, 'prefill_tok_s'), (generation, 'decode_tok_s')):
        equal(f['median'], row[rate])
        equal(len(f['values']), 2)
        check(min(f['values']) <= f['median'] <= max(f['values']), f)
        equal((f['read_share'], f['int8_share'], f['limit'], f['vs']), (None, None, None, None))
    equal(generation['batch_ratio'], 1)


@test
def lists_give_every_combination_and_a_prompt_stands_beside_the_first_number_of_streams():
    many = rows_of('bench', '-p', '4,8', '-n', '3,5', '-b', '1,3', '-d', '0,70', '-r', '1', '-t', '2', '--no-limits')
    few = rows_of('bench', '-p', '4', '-n', '3', '-b', '1,3', '--kv-type', 'q8,f32', '-r', '1', '-t', '1,2', '--no-limits')
    want = [(2, 'f16', d, p if b == 1 else 0, n, b) for d in (0, 70) for p in (4, 8) for n in (3, 5) for b in (1, 3)]
    want += [(t, kv, 0, 4 if b == 1 else 0, 3, b) for t in (1, 2) for kv in ('q8', 'f32') for b in (1, 3)]
    rows = many + few
    equal([(r['threads'], r['kv_type'], r['depth'], r['n_prompt'], r['n_gen'], r['batch']) for r in rows], want)
    for r in rows:
        equal([f['kind'] for f in r['results']], ['prompt', 'generation'] if r['n_prompt'] else ['generation'])
        f = figure(r, 'generation')
        check(abs(f['per_stream'] - f['median'] / r['batch']) < 0.001, f)
        check(f['batch_ratio'] > 0 and (r['batch'] > 1 or f['batch_ratio'] == 1), f)


@test
def only_what_is_asked_for_is_measured():
    prompt, = rows_of('bench', '-p', '8', '-n', '0', '-r', '1', '--no-limits')
    generation, = rows_of('bench', '-p', '0', '-n', '3', '-r', '1', '--no-limits')
    equal((prompt['decode_tok_s'], prompt['read_gb_s'], generation['prefill_tok_s'], generation['ttft_ms']), (None,) * 4)
    equal(len(rows_of('bench', '-p', '8', '-n', '0', '-b', '1,2', '-r', '1', '--no-limits')), 1)


@test
def several_models_are_measured_one_after_the_other():
    with Folder() as folder:
        shutil.copy(MODEL, folder / 'other.gguf')
        rows = rows_of(*QUICK, '-m', MODEL, '-m', folder / 'other.gguf')
        equal([os.path.basename(r['model']) for r in rows], [MODEL.name, 'other.gguf'])
        table = runnel(*QUICK, '-m', MODEL, '-m', folder / 'other.gguf').ok().text
        check('other.gguf' in table and 'model' in table, table)
        runnel(*QUICK, '-m', MODEL, '-m', folder / 'none.gguf').fails(1, 'none.gguf')


@test
def wrong_values_end_with_2_and_say_why():
    for args, part in [
        (['-b', '0'], '-b: 0 is outside 1..64'),
        (['-b', '65'], '-b: 65 is outside 1..64'),
        (['-b', '1,x'], "-b: 'x' is not a whole number"),
        (['-d', '-1'], '-d: -1 is outside 0..16777216'),
        (['-t', '0'], '-t: 0 is outside 1..64'),
        (['-r', '101'], '-r: 101 is outside 1..100'),
        (['--kv-type', 'f16,f8'], "--kv-type: 'f8' is not one of f16|f32|q8"),
        (['--kv-type', ''], "--kv-type: '' is not one of"),
        (['-p', ','.join(['1'] * 17)], '-p: more than 16 values'),
        (['-m', 'a'] * 17, '-m: given more than 16 times'),
        (['--fail-on-regression'], '--fail-on-regression: has no effect without --vs'),
        (['-p', '0', '-n', '0'], 'nothing to measure with -p 0 and -n 0'),
    ]:
        runnel('bench', *args).fails(2, part)


@test
def what_cannot_be_read_or_written_is_said_before_anything_is_measured():
    with Folder() as folder:
        files = {'no.json': None, 'text.json': 'x', 'object.json': '{}', 'rows.json': '[3]', 'lacking.json': '[{"model":"m"}]',
                 'rate.json': '[{"model":"m","cpu":"c","kv_type":"k","threads":1,"decode_tok_s":"fast"}]'}
        parts = ['No such file', 'not JSON', 'must be an array, not an object', '[0]: must be an object', '[0]: model, cpu, kv_type or threads is missing',
                 '[0]: decode_tok_s: must be a number, not a string']
        for (name, text), part in zip(files.items(), parts):
            if text is not None:
                (folder / name).write_text(text)
            done = runnel(*QUICK, '--vs', folder / name).fails(1, part)
            check(name in done.err and not done.out, done.err)
        runnel(*QUICK, '--trace', folder / 'none/trace').fails(1, 'none/trace: No such file')
        runnel(*QUICK, '--trace', folder).fails(1, 'is not a regular file')
        runnel('bench', '-d', '600', '--trace', folder / 'trace').fails(1, '--depth: 600 leaves no room in the context of 512')
        equal(sorted(p.name for p in folder.iterdir()), sorted(name for name, text in files.items() if text is not None))


@test
def what_the_context_cannot_hold_is_cut_and_said():
    done = runnel('bench', '-p', '600', '-n', '600', '-b', '2', '-r', '1', '--no-limits', '--json').ok()
    row, = json.loads(done.out)
    equal((row['n_prompt'], row['n_gen']), (511, 508))
    check('prompt cut from 600 to 511 tokens: the context holds 512' in done.err, done.err)
    check('generation cut from 600 to 508 tokens: the context holds 512' in done.err, done.err)


@test
def limits_and_the_share_of_them_are_told():
    row, = rows_of('bench', '-p', '8', '-n', '4', '-r', '1', '-t', '1')
    limits = row['limits']
    check(limits['read_gb_s'] > 0 and limits['int8_tops'] > 0 and limits['read_bytes'] >= 1 << 20, limits)
    for f in row['results']:
        for share, value in (('read_share', 'read_gb_s'), ('int8_share', 'int8_tops')):
            # each of the three is rounded to three places
            check(abs(f[share] * limits[value] - f[value]) < 0.0006 * (1 + f[share] + limits[value]), f, limits)
        equal(f['limit'], 'read' if f['read_share'] >= f['int8_share'] else 'int8')


# Old files --------------------------------------------------------------------------------------------------------------


def scaled(rows, prompt, generation):
    """The rows as if the figures had been that many times as large."""
    rows = json.loads(json.dumps(rows))
    for r in rows:
        r['prefill_tok_s'] *= prompt
        r['decode_tok_s'] *= generation
    return rows


@test
def changes_against_an_old_file_are_flagged_both_ways():
    with Folder() as folder:
        old = folder / 'old.json'
        old.write_text(json.dumps(scaled(rows_of(*QUICK), 1e-3, 1e3)))
        row, = rows_of(*QUICK, '--vs', old)
        faster, slower = figure(row, 'prompt')['vs'], figure(row, 'generation')['vs']
        equal((faster['verdict'], slower['verdict']), ('faster', 'slower'))
        check(faster['ratio'] > 1.03 and slower['ratio'] < 0.97, faster, slower)
        table = runnel(*QUICK, '--vs', old).ok().text
        check('faster' in table and 'slower' in table and 'vs old' in table, table)
        equal(runnel(*QUICK, '--vs', old, '--fail-on-regression').code, 1)
        old.write_text(json.dumps(scaled(rows_of(*QUICK), 1e-3, 1e-3)))
        equal(runnel(*QUICK, '--vs', old, '--fail-on-regression').code, 0)


@test
def figures_that_only_one_side_has_are_named():
    with Folder() as folder:
        old = folder / 'old.json'
        old.write_text(json.dumps(rows_of(*QUICK, '-b', '1,2')))
        done = runnel(*QUICK[:3], *QUICK[5:], '-n', '6', '-b', '2,1', '--vs', old).ok()
        for part in ('has no generation 6, stories.gguf', 'depth 0, batch 2', 'not measured now: generation 4, stories.gguf, cpu '):
            check(part in done.err, part, done.err)
        check('prompt' not in done.err, done.err)   # that is there


@test
def files_of_other_versions_and_machines_are_compared():
    with Folder() as folder:
        old = folder / 'old.json'
        row, = rows_of(*QUICK)
        before = {k: row[k] for k in ('model', 'cpu', 'threads', 'kv_type', 'depth', 'n_prompt', 'n_gen', 'prefill_tok_s', 'decode_tok_s')}
        old.write_text(json.dumps([{**before, 'peak_rss_mb': None, 'of later versions': {'x': [1]}}]))
        done = runnel(*QUICK, '--vs', old).ok()
        equal(done.err, '')
        check('vs old' in done.text, done.text)
        row['machine']['processor'] = 'An abacus'
        old.write_text(json.dumps([row]))
        check('was measured on another processor (An abacus)' in runnel(*QUICK, '--vs', old).ok().err)


# Where the time goes ----------------------------------------------------------------------------------------------------


@test
def a_profile_names_operations_and_layers_and_adds_up():
    row, = rows_of(*QUICK, '--profile')
    info = runnel('info', '--json').ok().lines[0]
    for kind, n_rows in (('prompt', 8), ('generation', 5)):
        p = figure(row, kind)['profile']
        equal(p['rows'], n_rows)
        equal(p['steps'], 1 if kind == 'prompt' else 5)
        for member in ('calls', 'ns', 'wait_ns', 'bytes', 'products'):
            equal(sum(o[member] for o in p['ops']), sum(o[member] for o in p['layers']), member)
        equal([layer['layer'] for layer in p['layers']], [None, *range(info['n_layer'])])
        check(sum(o['ns'] + o['wait_ns'] for o in p['ops']) <= p['ns'], p)
        ops = {o['op']: o for o in p['ops']}
        n = info['n_layer'] * p['steps']
        equal(ops['linear ffn_down']['calls'], n)
        equal(ops['linear ffn_down']['products'], info['n_layer'] * n_rows * info['n_ff'] * info['n_embd'])
        equal(ops['linear ffn_down']['bytes'], n * info['n_ff'] * info['n_embd'] // 32 * 34)    # Q8_0
    text = runnel(*QUICK, '--profile').ok().text
    for part in ('prompt 8, 1 thread: 1 step of', 'generate 4, 1 thread: 5 steps of', 'linear ffn_down', 'attend', 'outside'):
        check(part in text, part, text)


@test
def a_profile_at_a_terminal_has_a_bar_for_each_operation():
    for columns, has_bars in ((100, True), (60, True), (40, False)):
        code, shown = Terminal(*QUICK, '--profile', columns=columns, env=environment(LANG='C.UTF-8')).end()
        equal(code, 0)
        rows = [line for line in re.sub(r'\x1b\[[0-9;]*m', '', shown).split('\r\n') if re.match(r'linear ffn_down|attend ', line)]
        check(len(rows) == 4 and all(len(line) <= columns for line in rows), columns, rows)
        equal([bool(re.search('[\u2588-\u258f]', line)) for line in rows], [has_bars] * 4, (columns, rows))
    check('\u2588' not in runnel(*QUICK, '--profile').ok().text, 'bars in a file')


@test
def the_trace_is_what_chrome_and_perfetto_read():
    with Folder() as folder:
        path = folder / 'trace.json'
        row, = rows_of('bench', '-p', '8', '-n', '4', '-r', '1', '-t', '2', '--no-limits', '--profile', '--trace', path)
        trace = json.loads(path.read_text())
        events = trace['traceEvents']
        spans = [e for e in events if e['ph'] == 'X']
        names = {(e['name'], e['pid'], e['tid']): e['args']['name'] for e in events if e['ph'] == 'M'}
        equal(len(spans) + len(names), len(events))
        equal({e['pid'] for e in spans}, {1, 2})
        equal({e['tid'] for e in spans}, {0, 1})
        equal(names['process_name', 1, 0], 'stories.gguf, prompt 8, 2 threads, f16')
        equal(names['thread_name', 2, 1], 'thread 1')
        for pid, kind in ((1, 'prompt'), (2, 'generation')):
            calls = sum(o['calls'] for o in figure(row, kind)['profile']['ops'])
            for tid in (0, 1):
                own = [e for e in spans if (e['pid'], e['tid']) == (pid, tid)]
                equal(len(own), calls)
                check(all(a['ts'] + a['dur'] <= b['ts'] + 0.002 for a, b in zip(own, own[1:])), 'events of a thread overlap')
                check(all(isinstance(e['name'], str) and e['ts'] >= 0 and e['dur'] >= 0 for e in own))
        check('profile' not in figure(rows_of(*QUICK, '--trace', path)[0], 'prompt'), 'a trace alone prints no profile')
        equal([p.name for p in folder.iterdir()], ['trace.json'])


# What people see --------------------------------------------------------------------------------------------------------


def drawn(columns, *more, **env):
    code, shown = Terminal(*QUICK, '-b', '1,4', '-d', '0,70', *more, columns=columns, env=environment(**env)).end()
    equal(code, 0)
    return re.sub(r'\r\x1b\[K[^\r\x1b]*', '', shown).replace('\r', '').split('\n')


@test
def bars_fit_a_terminal_of_40_to_200_columns():
    for columns in (40, 57, 80, 132, 200):
        lines = drawn(columns, NO_COLOR='1', LC_ALL='C.UTF-8')
        check(all(len(line) <= columns for line in lines), columns, max(lines, key=len))
        bars = [line for line in lines if '█' in line or '▏' in line]
        labels = ['prompt 8', 'generate 4', 'generate 4 x4', 'prompt 8 @70', 'generate 4 @70', 'generate 4 x4 @70']
        equal(len(bars), 6, lines)
        for bar, label in zip(bars, labels):
            check(bar.startswith(label + ' '), bar)
            check(re.search(r' \d+(\.\d)?( tok/s)?$', bar), bar)
        equal(any(line.startswith('threads') for line in lines), columns >= 132, lines)


@test
def bars_are_plain_where_the_terminal_or_the_locale_is():
    plain = '\n'.join(drawn(80, NO_COLOR='1', LC_ALL='C'))
    check(plain.isascii() and '####' in plain and '\x1b' not in plain, plain)
    for locale, is_utf8 in (({'LANG': 'de_DE.UTF-8'}, True), ({'LANG': 'de_DE.utf8', 'LC_CTYPE': 'C'}, False), ({'LC_ALL': 'POSIX'}, False)):
        env = {'NO_COLOR': '1', 'LANG': None, 'LC_ALL': None, 'LC_CTYPE': None, **locale}
        equal('█' in '\n'.join(drawn(80, **env)), is_utf8, locale)
    check('\x1b[36m' in '\n'.join(drawn(80)), 'no colour')
    dumb = '\n'.join(drawn(200, TERM='dumb'))
    check('####' not in dumb and '█' not in dumb and 'threads' in dumb, dumb)


@test
def into_a_file_goes_the_table_alone():
    text = runnel(*QUICK, '-b', '1,2').ok().text
    check(text.isascii() and '##' not in text and '\x1b' not in text, text)
    head, *rows = text.split('\n\n')[1].splitlines()
    equal(head.split(), 'threads prompt tok/s +-% first ms gen batch tok/s +-% each x batch 1 read GB/s peak MB'.split())
    equal(len(rows), 2)
    equal(len({len(line) for line in (head, *rows)}), 1, text)


main()
