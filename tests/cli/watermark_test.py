#!/usr/bin/env python3
"""`runnel watermark` finds the texts that `run` and `batch` marked, and no others."""
import json

from harness import MODEL, Folder, check, equal, main, runnel, test

KEYS = {'keys': [654, 400, 836, 123, 340, 443, 597, 160, 57, 29, 590, 639, 13, 715, 468], 'ngram_len': 5, 'context_history_size': 1024,
        'sampling_table_seed': 0, 'sampling_table_size': 65536, 'skip_first_ngram_calls': False, 'debug_mode': False}
PROMPT = 'Lily saw a cat. The cat'


def keys_in(folder, keys, name='keys.json'):
    path = folder / name
    path.write_text(keys if isinstance(keys, str) else json.dumps(keys))
    return str(path)


def detect(path, *args, **given):
    return runnel('watermark', '--json', '--watermark', path, *args, **given).ok().lines[0]


@test
def a_marked_text_is_found_by_its_keys():
    with Folder() as folder:
        path, other = keys_in(folder, KEYS), keys_in(folder, {'keys': list(range(15))}, 'other.json')
        for seed in range(4):
            args = ['run', '-m', MODEL, PROMPT, '-n', '150', '--temp', '1', '--seed', str(seed)]
            marked, plain = (runnel(*args, *more).ok().text for more in (['--watermark', path], []))
            check(marked != plain, seed)
            found = detect(path, '-m', str(MODEL), marked)
            check(found['watermarked'] and found['p_value'] < 1e-4 and found['z'] > 3.5, found)
            check(found['scored'] > 100 and found['tokens'] >= found['scored'] + 4, found)
            for result in (detect(path, '-m', str(MODEL), plain), detect(other, '-m', str(MODEL), marked)):
                check(not result['watermarked'] and abs(result['z']) < 4 and 0.4 < result['mean'] < 0.6, result)


@test
def text_arguments_stdin_and_ids_are_the_same_text():
    with Folder() as folder:
        path = keys_in(folder, KEYS)
        answer = runnel('run', '-m', MODEL, PROMPT, '-n', '80', '--temp', '1', '--seed', '5', '--json', '--watermark', path).ok().lines
        ids = [i for line in answer for i in line.get('tokens', [])]
        text = ''.join(line.get('text', '') for line in answer)
        by_ids = detect(path, '--ids', ' '.join(map(str, ids)))
        check(by_ids['watermarked'], by_ids)
        equal(detect(path, '-m', str(MODEL), text), detect(path, '-m', str(MODEL), stdin=text.encode()))
        told = runnel('watermark', '--watermark', path, '--ids', ' '.join(map(str, ids))).ok().text
        check('watermark      yes' in told and f'tokens         {by_ids["tokens"]}, of which {by_ids["scored"]} count' in told, told)
        check('watermark      not found' in runnel('watermark', '--watermark', path, '--ids', '5 6 7').ok().text, 'three tokens')


@test
def what_is_no_watermark_is_refused_by_name():
    rows = [('{"keys": []}', 'keys: must be an array of 1..64 whole numbers'), ('{"keys": [0.5]}', 'keys'), ('{"ngram_len": 5}', 'keys: missing'),
            ('{"keys": [1], "ngram_len": 1}', 'ngram_len: 1 is outside 2..64'), ('{"keys": [1], "x": 1}', "unknown member 'x'"),
            ('{"keys": [1], "debug_mode": true}', 'debug_mode: must be false'), ('{"keys": [1], "sampling_table_size": 1048577}', 'is outside 1..1048576'),
            ('[1]', 'must be an object'), ('', ''), ('{"keys": [1]', ''), (' ' * 70000, 'longer than 65535 bytes'), ('{"keys": [9007199254740992]}', 'is outside')]
    with Folder() as folder:
        for text, want in rows:
            path = keys_in(folder, text)
            runnel('watermark', '--watermark', path, 'x').fails(2, want)
            runnel('run', '--watermark', path, 'x').fails(2, want)
        path = keys_in(folder, KEYS)
        runnel('run', '-m', MODEL, '--temp', '0', '--watermark', path, 'x').fails(2, 'watermark: needs a temp above 0')
        runnel('run', '-m', MODEL, '--mirostat', '2', '--watermark', path, 'x').fails(2, 'watermark: excludes mirostat and adaptive_target')
    runnel('run', '--watermark', '/nonexistent/keys', 'x').fails(2, '/nonexistent/keys: No such file or directory')
    runnel('watermark', 'x').fails(2, 'needs --watermark FILE')


main()
