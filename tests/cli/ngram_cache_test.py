#!/usr/bin/env python3
"""tests/cli/ngram_cache_test.py - `runnel ngram-cache` makes and merges files in the format of llama.cpp's lookup caches, and --ngram-cache guesses from them."""
import collections
import json
import os
import struct

from harness import MODEL, Folder, check, equal, main, runnel, test

PROMPT = 'Once upon a time, there was a little girl named Lily.'


def pack(counts):
    """llama.cpp's format: common/ngram-cache.cpp, common_ngram_cache_save()."""
    out = b''
    for ngram, followers in counts.items():
        out += struct.pack('<4i', *ngram, *[-1] * (4 - len(ngram))) + struct.pack('<i', len(followers))
        for token, count in followers.items():
            out += struct.pack('<ii', token, count)
    return out


def unpack(data):
    counts, at = {}, 0
    while at < len(data):
        *ngram, n = struct.unpack_from('<5i', data, at)
        pairs = [struct.unpack_from('<ii', data, at + 20 + 8 * i) for i in range(n)]
        counts[tuple(t for t in ngram if t != -1)] = dict(pairs)
        at += 20 + 8 * n
    return counts


def count(ids, shortest, longest):
    counts = collections.defaultdict(collections.Counter)
    for n in range(shortest, longest + 1):
        for i in range(n, len(ids)):
            counts[tuple(ids[i - n:i])][ids[i]] += 1
    return {k: dict(v) for k, v in counts.items()}


def ids_of(text):
    return json.loads(runnel('tokenize', '--json', text).ok().out)['ids']


def generate(*more):
    return runnel('run', '-n', '80', '--temp', '0', '--ignore-eos', '--json', *more, PROMPT).ok().lines


def tokens(lines):
    return [t for line in lines for t in line['tokens']]


@test
def the_file_has_the_counts_of_the_texts():
    texts = ['The cat sat on the mat. The cat sat.', 'The cat ran. ' * 5]
    with Folder() as folder:
        for i, text in enumerate(texts):
            (folder / f'{i}.txt').write_text(text)
        for (shortest, longest), more in {(2, 4): [], (2, 2): ['--ngram-max', '2'], (1, 4): ['--ngram-min', '1'], (3, 3): ['--ngram-min', '3', '--ngram-max', '3']}.items():
            done = runnel('ngram-cache', folder / 'out.bin', folder / '0.txt', folder / '1.txt', *more).ok()
            want = collections.defaultdict(collections.Counter)
            for text in texts:
                for ngram, followers in count(ids_of(text), shortest, longest).items():
                    want[ngram].update(followers)
            equal(unpack((folder / 'out.bin').read_bytes()), {k: dict(v) for k, v in want.items()})
            check(f'{len(want)} strings, {sum(map(len, want.values()))} tokens behind them' in done.err, done.err)
        # The same by merging, also in place, and of standard input.
        for text in texts:
            runnel('ngram-cache', folder / 'two.bin', '-', *(['--merge', folder / 'two.bin'] if text != texts[0] else []), '--ngram-min', '3', '--ngram-max', '3',
                   stdin=text.encode()).ok()
        equal((folder / 'two.bin').read_bytes(), (folder / 'out.bin').read_bytes())


@test
def files_in_llama_cpps_format_guess():
    plain = generate('--speculate', 'none')
    answer = tokens(plain)
    ids = ids_of(PROMPT) + answer
    with Folder() as folder:
        for shortest, longest in ((2, 2), (1, 4)):                        # as its static and its dynamic caches are
            (folder / 'llama.bin').write_bytes(pack({k: {t: 5 * n for t, n in v.items()} for k, v in count(ids, shortest, longest).items()}))
            guessed = generate('--ngram-cache', folder / 'llama.bin', '--draft-min', '4', '--draft-max', '4')
            equal(tokens(guessed), answer)
            drafted, accepted = guessed[-1]['speculation']['by_drafter']['ngram-cache']
            check(accepted > 40 and accepted > drafted // 3, longest, drafted, accepted)
            # In lines of batch, too, and beside other drafters.
            line = {'prompt': PROMPT, 'n': 80, 'temp': 0, 'ignore_eos': True, 'draft_min': 4}
            made = runnel('batch', '--ngram-cache', folder / 'llama.bin', stdin=(json.dumps(line) + '\n' + json.dumps({**line, 'speculate': ['ngram-cache', 'suffix']}) + '\n').encode()).ok().lines
            for done in made:
                equal(done['tokens'], answer)
                check('ngram-cache' in done['speculation']['by_drafter'], done)


@test
def without_a_file_the_text_itself_is_counted():
    lines = runnel('run', '-n', '60', '--temp', '0', '--ignore-eos', '--json', '--speculate', 'ngram-cache', '--draft-min', '4', 'The dog ran. ' * 20).ok().lines
    check(lines[-1]['speculation']['by_drafter']['ngram-cache'][1] > 20, lines[-1])


@test
def what_is_no_cache_is_refused():
    with Folder() as folder:
        bad = folder / 'bad.bin'
        for data, why in ((pack({(1, 2): {3: 1}})[:-1], 'offset 0: the file ends inside a record of 1 tokens'), (b'x' * 28, 'outside 0..'),
                          (pack({(1, 2): {1 << 30: 1}}), 'offset 20: token 1073741824 is outside 0..'), (pack({(1, 2): {3: -1}}), 'offset 24: count -1, at least 1'),
                          (pack({(1, 2): {3: 1}}) * 2, 'offset 28: the same 2 tokens stand further up, too')):
            bad.write_bytes(data)
            runnel('run', '--ngram-cache', bad, '-n', '1', 'x').fails(1, why)
            if 'further' not in why:                                     # counts of the same string add up there
                runnel('ngram-cache', folder / 'out.bin', '--merge', bad).fails(1, why)
        runnel('run', '--ngram-cache', folder / 'none.bin', '-n', '1', 'x').fails(1, 'none.bin')
        runnel('ngram-cache', folder / 'out.bin', folder / 'none.txt').fails(1, 'none.txt')
        (folder / 'a.txt').write_text('A text.')
        runnel('ngram-cache', folder / 'a.txt', folder / 'a.txt').fails(2, 'a.txt: is an input file too')
        (folder / 'short.txt').write_text('')
        runnel('ngram-cache', folder / 'out.bin', folder / 'short.txt').fails(2, 'the n-gram cache is empty')
        runnel('ngram-cache', MODEL, folder / 'a.txt').fails(2, 'is an input file too')
        equal(sorted(os.listdir(folder)), ['a.txt', 'bad.bin', 'short.txt'])


main()
