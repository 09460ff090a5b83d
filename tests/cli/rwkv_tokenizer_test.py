#!/usr/bin/env python3
"""tests/cli/rwkv_tokenizer_test.py - text prompts of RWKV models: folders with RWKV's own vocabulary file, and GGUF files made of them."""
import json
import pathlib
import random

from formula_folder import write_formula_folder
from harness import Folder, check, equal, main, runnel, test
from peer_rule import command, peer

ROWS = json.loads((pathlib.Path(__file__).parent / 'published.json').read_text())['models']
END = '<|rwkv_tokenizer_end_of_text|>'
WORDS = [b'\n\n', b'\t\t', b'\\\\', b'th', b'the', b' the', b' the ', b"it's", b'"\'', b'ab', b'abcde', b'bc', b'<s', '\u3000'.encode(), 'é'.encode(), b'\xe2\x80',
         '\u2019'.encode(), '😀'.encode(), b'\x80\x99', b'a\x00b', b'  ', b'    ', 'User'.encode()]
TOKENS = [b''] + [bytes([b]) for b in range(256)] + WORDS
N_VOCAB = len(TOKENS) + 13      # padded as published embeddings are
CONFIG = {'tokenizer_class': 'RwkvTokenizer', 'auto_map': {'AutoTokenizer': ['hf_rwkv_tokenizer.RwkvTokenizer', None]}, 'bos_token': END, 'eos_token': '\n\n',
          'pad_token': END, 'unk_token': END, 'added_tokens_decoder': {'0': {'content': END, 'special': True}},
          'chat_template': "{{ '" + END + "' }}{% for m in messages %}{{ 'User: ' + m['content'] + '\\n\\n' }}{% endfor %}{{ 'Assistant:' }}"}


def literal(token):
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


def rwkv_folder(path, name='rwkv7', config=CONFIG):
    row = ROWS[name]
    shapes = {x: [N_VOCAB if n == 48 else n for n in s] for x, s in row['shapes'].items()}
    write_formula_folder(path, row['config'] | {'vocab_size': N_VOCAB, 'bos_token_id': 0, 'eos_token_id': 0}, shapes)
    lines = [f'{i} {literal(t)} {len(t)}\n' for i, t in enumerate(TOKENS) if i > 0]
    (path / 'rwkv_vocab_v20230424.txt').write_text(''.join(lines), newline='')
    if config is not None:
        (path / 'tokenizer_config.json').write_text(json.dumps(config))
    return path


def longest(text):
    ids, at = [], 0
    while at < len(text):
        ids.append(max((i for i in range(1, len(TOKENS)) if text.startswith(TOKENS[i], at)), key=lambda i: len(TOKENS[i])))
        at += len(TOKENS[ids[-1]])
    return ids


def random_text(n):
    pick = random.Random(7)
    return b''.join(pick.choice(TOKENS) if pick.random() < 0.3 else pick.choice(WORDS)[:pick.randrange(1, 4)] for _ in range(n))


def ids_of(model, text, *args):
    return runnel('tokenize', '-m', model, '--json', *args, stdin=text).ok().lines[0]['ids']


@test
def folder_and_file_have_the_ids_of_a_plain_search_and_give_any_bytes_back():
    text = random_text(6000)
    want = longest(text)
    with Folder() as folder:
        source, made = rwkv_folder(folder / 'source'), folder / 'made.gguf'
        runnel('convert', source, made, '--type', 'F32').ok()
        for model in (source, made):
            equal(ids_of(model, text), want)
            equal(runnel('detokenize', '-m', model, stdin=' '.join(map(str, want)).encode()).ok().out, text)
            equal(ids_of(model, (END + 'User').encode(), '--parse-special'), [0, TOKENS.index(b'User')])
            equal(ids_of(model, END.encode()), longest(END.encode()))
            equal(ids_of(model, b'a', '--add-special'), longest(b'a'), 'nothing is added to a text')


@test
def a_file_spells_tokens_as_python_does_and_names_its_end_tokens():
    with Folder() as folder:
        made = folder / 'made.gguf'
        runnel('convert', rwkv_folder(folder / 'source'), made, '--type', 'F32').ok()
        data = made.read_bytes()
        for token in (t for t in TOKENS[1:] if b"'" not in t or b'"' not in t):     # of both kinds of quotes Python escapes one, as it may
            spelled = repr(token)[2:-1].encode()
            check(len(spelled).to_bytes(8, 'little') + spelled in data, token)
        for key, number in (('bos', 0), ('eos', 0), ('eot', TOKENS.index(b'\n\n'))):
            check(f'tokenizer.ggml.{key}_token_id'.encode() + (4).to_bytes(4, 'little') + number.to_bytes(4, 'little') in data, key)
        check(b'\x14\0\0\0\0\0\0\0tokenizer.ggml.model\x08\0\0\0\x04\0\0\0\0\0\0\0rwkv' in data, 'the model')
        check(b'tokenizer.ggml.scores' not in data, 'scores, which nobody reads')


@test
def text_prompts_run():
    for name in ('rwkv7', 'rwkv6'):
        with Folder() as folder:
            source, made = rwkv_folder(folder / 'source', name), folder / 'made.gguf'
            runnel('convert', source, made, '--type', 'F32').ok()
            ran = [runnel('run', '-m', m, '-n', '12', '--temperature', '0', "it's the ").ok().out for m in (source, made)]
            check(ran[0], 'no text')
            equal(ran[1], ran[0], name)
            said = [runnel('run', '-m', m, '--chat', '-n', '4', '--temperature', '0', 'the').ok().out for m in (source, made)]
            equal(said[1], said[0], name)


@test
def a_folder_without_a_tokenizer_config_has_the_usual_end():
    with Folder() as folder:
        source = rwkv_folder(folder / 'source', config=None)
        equal(ids_of(source, END.encode(), '--parse-special'), [0])


@test
def a_spoilt_vocabulary_is_refused_by_its_line():
    with Folder() as folder:
        source = rwkv_folder(folder / 'source')
        vocab = source / 'rwkv_vocab_v20230424.txt'
        lines = vocab.read_text().splitlines(keepends=True)
        vocab.write_text(''.join(lines[:98] + lines[99:]))
        runnel('tokenize', '-m', source, 'a').fails(1, 'rwkv_vocab_v20230424.txt: line 99: has id 100, where 99 is next')


@test
def llama_cpp_has_the_same_ids():
    command()
    with Folder() as folder:
        made, text = folder / 'made.gguf', random_text(6000)
        runnel('convert', rwkv_folder(folder / 'source'), made, '--type', 'F32').ok()
        (folder / 'text').write_bytes(text)
        equal(peer('tokenize', made, '--file', folder / 'text')['ids'], longest(text))


main()
