#!/usr/bin/env python3
"""tests/cli/tokens_test.py - `runnel tokenize`, `detokenize` and `info`."""
import json
import os
import random
import struct
import subprocess

from harness import MODEL, PROGRAM, Folder, check, environment, equal, main, runnel, test

TEXTS = [b'Once upon a time', b'', b' ', b'  two  spaces ', b'\n', b'line\nline\r\n\ttab', b'a\x00b', 'Zürich 東京 👩‍👩‍👧 ﷺ'.encode(),
         b'</s><s>', b'1234567890' * 20, b'x' * 3000]


@test
def detokenize_undoes_tokenize():
    for text in TEXTS:
        for form in ((), ('--json',)):
            ids = runnel('tokenize', *form, stdin=text).ok().out
            back = runnel('detokenize', stdin=ids).ok().out
            equal(back.removeprefix(b' ') if not text.startswith(b' ') else back, text, form)


@test
def tokenize_reads_a_file_as_it_reads_stdin():
    with Folder() as folder:
        for text in TEXTS:
            (folder / 'text').write_bytes(text)
            equal(runnel('tokenize', '-f', folder / 'text', stdin=b'x').ok().out, runnel('tokenize', stdin=text).ok().out)
        equal(runnel('tokenize', '-f', '-', stdin=b'Tom').ok().out, runnel('tokenize', 'Tom').ok().out)


def gguf_file(*keys):
    def text(t):
        return struct.pack('<Q', len(t)) + t.encode()
    kinds = {int: (4, lambda v: struct.pack('<I', v)), float: (6, lambda v: struct.pack('<f', v)), str: (8, text), bool: (7, lambda v: bytes([v])),
             list: (9, lambda v: struct.pack('<IQ', 8, len(v)) + b''.join(map(text, v)))}
    body = b''.join(text(k) + struct.pack('<I', kinds[type(v)][0]) + kinds[type(v)][1](v) for k, v in keys)
    return b'GGUF' + struct.pack('<IQQ', 3, 0, len(keys)) + body


@test
def info_says_what_other_files_are():
    with Folder() as folder:
        file = folder / 'file'
        (folder / 'text').write_text(TEXTS[0].decode())
        runnel('imatrix', '-f', folder / 'text', '-o', folder / 'imatrix').ok()
        runnel('chat', '--chat-template', 'alpaca', '-n', '3', '--each-line', stdin=f'Hi\n/save {folder}/session kv\n'.encode()).ok()
        made = [('imatrix', (folder / 'imatrix').read_bytes(), 'imatrix.'), ('session', (folder / 'session').read_bytes(), 'tokens'),
                ('adapter', gguf_file(('general.type', 'adapter'), ('adapter.lora.alpha', 8.0), ('x', ['a', 'b']), ('y', True)), 'adapter.lora.alpha'),
                ('mmproj', gguf_file(('general.architecture', 'clip'), ('clip.n', 3)), 'clip.n'),
                ('eagle', b'\x12\0\0\0\0\0\0\0{"fc.weight": {} }' + bytes(8), ''), ('medusa', b'\x1a\0\0\0\0\0\0\0{"0.0.linear.weight": {}  }' + bytes(8), '')]
        for kind, data, fact in made:
            file.write_bytes(data)
            got, = runnel('info', file, '--json').ok().lines
            equal((got['kind'], got['bytes']), (kind, len(data)))
            page = runnel('info', file).ok().text
            check(any(fact in key for key in got['facts']) or not fact, kind, got)
            check(fact in page and str(file) in page, page)
            rng = random.Random(kind)
            for _ in range(20):     # cut and changed ones are either described or refused
                cut = bytearray(data[:rng.randrange(len(data))] if rng.random() < 0.5 else data)
                for _ in range(3 * bool(cut)):
                    cut[rng.randrange(min(len(cut), 200))] = rng.randrange(256)
                file.write_bytes(cut)
                check(runnel('info', file, '--json').code in (0, 1), cut[:200])


@test
def odd_bytes_pass_through_unharmed():
    rng = random.Random(11)
    for text in (b'\xff\xfe', b'\xe6\x9d', b'ab\xf0\x9f\x91cd', bytes(rng.randrange(256) for _ in range(500))):
        back = runnel('detokenize', stdin=runnel('tokenize', stdin=text).ok().out).ok().out
        equal(back.removeprefix(b' '), text.removeprefix(b' '))


@test
def special_tokens_come_only_when_asked_for():
    ids = lambda *args: runnel('tokenize', '--json', *args, stdin=b'hi</s>').ok().lines[0]['ids']
    plain = ids()
    equal(ids('--add-special'), [1, *plain])
    equal(ids('--parse-special')[-1], 2)
    check(2 not in plain and 1 not in plain, plain)
    ids_text = b'1 ' + ' '.join(map(str, ids('--parse-special'))).encode()
    check(b'</s>' not in runnel('detokenize', stdin=ids_text).ok().out, 'control tokens are shown')
    shown = runnel('detokenize', '--special', stdin=ids_text).ok().out
    check(shown.startswith(b'<s>') and shown.endswith(b'</s>'), shown)


@test
def text_and_ids_may_be_arguments():
    want = runnel('tokenize', stdin=b'Tom ran').ok().text
    equal(runnel('tokenize', 'Tom ran', stdin=None).ok().text, want)
    text = runnel('detokenize', stdin=want.encode()).ok().out
    for args in (want.split(), [','.join(want.split())], ['[' + ', '.join(want.split()) + ']'], [json.dumps({'ids': [int(i) for i in want.split()]})]):
        equal(runnel('detokenize', *args, stdin=None).ok().out, text, args)


@test
def ids_that_are_none_are_refused():
    for ids, part in ((b'1 2 x', "'x' is not a whole number"), (b'-1', '-1'), (b'1.5', '1.5'), (b'{"ids": [1, "2"]}', 'ids[1]'),
                      (b'{"tokens": [1]}', 'tokens: unknown member'), (b'1\x002', 'not a'), (b'99999999999', '99999999999')):
        runnel('detokenize', stdin=ids).fails(2, part)
    runnel('detokenize', '99999').fails(2, '99999')


@test
def info_describes_file_model_and_machine():
    info, = runnel('info', MODEL, '--json').ok().lines
    equal(info['file_bytes'], MODEL.stat().st_size)
    for key, want in (('architecture', 'llama'), ('n_vocab', 4096), ('n_ctx_train', 512), ('n_layer', 6), ('bos', 1), ('add_bos', True),
                      ('end_tokens', [{'id': 2, 'text': '</s>'}]), ('n_params', 5770496), ('chat_template', None)):
        equal(info[key], want, key)
    check(info['resident_bytes'] <= info['mapped_bytes'], info)
    equal(sum(t['bytes'] for t in info['types']) <= info['file_bytes'], True)
    engine = info['engine']
    equal(engine['kv_bytes_per_1000_tokens'], 1000 * engine['kv_bytes_per_token'])
    check(engine['cpu'] and engine['cpu_reason'] and engine['threads_reason'] and engine['n_threads'] >= 1, engine)
    page = runnel('info', MODEL).ok().text
    for part in (str(MODEL), 'Q8_0', '</s>', engine['cpu'], '1,000 tokens', '5,770,496'):
        check(part in page, f'{part} is not in the page')
    equal(runnel('info', '-m', MODEL, '--json').ok().lines[0]['n_params'], info['n_params'])


@test
def a_file_name_that_is_not_utf_8_still_gives_json():
    with Folder() as folder:
        path = os.fsencode(folder) + b'/\xff"\n.gguf'
        os.symlink(MODEL, path)
        done = subprocess.run([PROGRAM, 'info', path, '--json'], env=environment(), stdout=subprocess.PIPE, check=True)
        equal(json.loads(done.stdout)['path'], f'{folder}/\ufffd"\n.gguf')


@test
def info_follows_the_engine_options():
    engine = lambda *args: runnel('info', '--json', *args).ok().lines[0]['engine']
    equal(engine('--cpu', 'ref')['cpu'], 'ref')
    equal(engine('-t', '1')['n_threads'], 1)
    equal(engine('-c', '100')['n_ctx'], 100)
    check(engine('--kv-type', 'f32')['kv_bytes_per_token'] == 2 * engine()['kv_bytes_per_token'], 'f32 takes twice the bytes')


@test
def info_names_what_is_wrong_with_a_bad_file():
    content = MODEL.read_bytes()
    with Folder() as folder:
        for name, data in (('empty', b''), ('text', b'hello'), ('magic', b'GGUF'), ('page', b'<html>'), ('zip', b'PK\x03\x04' + bytes(60)),
                           ('header', content[:1000]), ('short', content[:-1])):
            path = folder / name
            path.write_bytes(data)
            done = runnel('info', path).fails(1, name)
            equal(done.out, b'', name)
        runnel('info', folder / 'none').fails(1, 'none')
        runnel('info', folder).fails(1, str(folder))


main()
