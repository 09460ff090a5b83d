#!/usr/bin/env python3
"""tests/cli/model_names_test.py - models by name: the caches they are found in, `list`, `show` and `rm`, and what `chat` takes without a name."""
import hashlib
import json
import os
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import gguf
from harness import MODEL, Folder, Terminal, check, environment, equal, main, runnel, test

SUPPRESSIONS = pathlib.Path(__file__).parent / 'libedit.supp'
ALL_OF_THEM = ('RUNNEL_MODEL', 'RUNNEL_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'LLAMA_CACHE', 'OLLAMA_MODELS', 'XDG_STATE_HOME')
COMMIT = 'c0ffee' + 34 * '0'


def world(folder, **changes):
    return environment(**{'HOME': str(folder), **{name: None for name in ALL_OF_THEM}, **changes})


@test
def quantize_takes_a_fetched_model_by_its_name():
    with Folder() as folder:
        put(folder, '.cache/runnel/models/small.gguf')
        for name, out in (('small', 'a'), (MODEL, 'b')):
            runnel('quantize', name, folder / out, 'Q4_0', '--allow-requantize', env=world(folder)).ok()
        equal((folder / 'a').read_bytes(), (folder / 'b').read_bytes())
        runnel('quantize', 'none-such', folder / 'c', 'Q4_0', env=world(folder)).fails(1, 'none-such: no such file')


def put(folder, path, content=None):
    """A file of the user's: the model that comes with the program unless other content is given."""
    path = folder / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content) if content is not None else path.symlink_to(MODEL)
    return path


def manifest(folder, name, tag, content=None):
    data = content or MODEL.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    put(folder, f'.ollama/models/blobs/sha256-{digest}', data)
    put(folder, f'.ollama/models/manifests/registry.ollama.ai/{name}/{tag}',
        json.dumps({'layers': [{'mediaType': 'application/vnd.ollama.image.model', 'digest': f'sha256:{digest}', 'size': len(data)}]}).encode())


def fill(folder):
    put(folder, '.cache/runnel/models/small.gguf')
    put(folder, '.cache/runnel/hf/org/tiny-GGUF/main/tiny-Q8_0.gguf')
    put(folder, '.cache/runnel/hf/org/tiny-GGUF/refs%2Fpr%2F1/other.gguf')
    put(folder, '.cache/runnel/ollama/library/tiny/1b/model.gguf')
    put(folder, '.cache/runnel/https/example.com/a/far.gguf')
    put(folder, f'.cache/huggingface/hub/models--them--their-GGUF/snapshots/{COMMIT}/their-Q4_0.gguf')
    put(folder, '.cache/huggingface/hub/models--them--their-GGUF/refs/main', COMMIT.encode())
    put(folder, '.cache/llama.cpp/ggml-org_theirs-GGUF_theirs-Q4_K_M.gguf')
    manifest(folder, 'library/qwen3', 'latest')
    manifest(folder, 'me/tuned', '4b')


NAMES = {   # name -> whose cache
    'small': 'runnel', 'hf:org/tiny-GGUF:Q8_0': 'runnel', 'hf:org/tiny-GGUF@refs/pr/1:other.gguf': 'runnel', 'ollama:tiny:1b': 'runnel',
    'https://example.com/a/far.gguf': 'runnel', 'hf:them/their-GGUF:Q4_0': 'Hugging Face', 'ggml-org_theirs-GGUF_theirs-Q4_K_M': 'llama.cpp',
    'ollama:qwen3': 'Ollama', 'ollama:me/tuned:4b': 'Ollama',
}


@test
def every_cache_is_listed_and_each_name_is_taken():
    with Folder() as folder:
        fill(folder)
        env = world(folder)
        rows = runnel('list', '--json', env=env).ok().lines
        equal({row['name']: row['cache'] for row in rows}, NAMES)
        equal([row['name'] for row in rows], sorted(NAMES))
        equal({row['bytes'] for row in rows}, {MODEL.stat().st_size})
        table = runnel('list', env=env).ok().text.splitlines()
        equal(table[0].split(), ['name', 'size', 'cache', 'of', 'path'])
        equal([line.split()[0] for line in table[1:]], sorted(NAMES))
        want = runnel('run', '-n', '2', '--temp', '0', 'Tom').ok().out
        more = ['hf:ggml-org/theirs-GGUF', 'hf:ggml-org/theirs-GGUF:Q4_K_M', 'hf:org/tiny-GGUF', 'tiny-Q8_0', 'THEIR-Q4_0', 'far', 'hf:them/their-GGUF@main']
        for name in [*NAMES, *more]:
            equal(runnel('run', '-m', name, '-n', '2', '--temp', '0', 'Tom', env=env).ok().out, want, name)
        equal(runnel('list', env=world(folder / 'empty')).ok().out, b'')


@test
def caches_may_be_elsewhere():
    with Folder() as folder:
        put(folder, 'a/hf/org/repo/main/m.gguf')
        put(folder, f'b/models--o--r/snapshots/{COMMIT}/m-F16.gguf')
        put(folder, 'b/models--o--r/refs/main', COMMIT.encode() + b'\n')
        put(folder, f'c/hub/models--p--q/snapshots/{COMMIT}/n-F16.gguf')
        put(folder, 'c/hub/models--p--q/refs/main', COMMIT.encode())
        put(folder, 'd/x.gguf')
        names = lambda **changes: [row['name'] for row in runnel('list', '--json', env=world(folder, **changes)).ok().lines]
        equal(names(), [])
        equal(names(RUNNEL_CACHE=str(folder / 'a'), HF_HUB_CACHE=str(folder / 'b'), LLAMA_CACHE=str(folder / 'd')), ['hf:o/r:F16', 'hf:org/repo:m.gguf', 'x'])
        equal(names(HF_HOME=str(folder / 'c')), ['hf:p/q:F16'])


@test
def what_is_cut_or_hostile_in_a_cache_is_no_model():
    with Folder() as folder:
        put(folder, '.cache/runnel/hf/org/a/main/m-Q8_0.gguf.part', b'GGUF')
        put(folder, '.cache/runnel/hf/org/b/main/m-Q8_0-00001-of-00002.gguf', b'GGUF')       # a part is missing
        put(folder, '.cache/runnel/hf/org/c/main/model.safetensors', b'x')                   # config.json comes last
        put(folder, '.cache/huggingface/hub/models--o--r/refs/main', b'../../../../etc')
        put(folder, '.cache/huggingface/hub/models--no-dashes/refs/main', COMMIT.encode())
        put(folder, '.ollama/models/manifests/registry.ollama.ai/library/bad/latest',
            b'{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../x"}]}')
        put(folder, '.ollama/models/manifests/registry.ollama.ai/library/worse/latest', b'[' * 10000)
        equal(runnel('list', env=world(folder)).ok().out, b'')
        for name in ('hf:org/a', 'hf:org/b:Q8_0', 'hf:org/c', 'hf:o/r', 'ollama:bad', 'ollama:worse'):
            runnel('run', '-m', name, 'x', env=world(folder)).fails(1, f'`runnel pull {name}` fetches it')


@test
def show_says_where_a_model_came_from():
    with Folder() as folder:
        fill(folder)
        put(folder, '.cache/runnel/hf/org/tiny-GGUF/main/.pulled/tiny-Q8_0.gguf', b'url https://hub/x\nbytes 5\nsha256 ' + b'a' * 64 + b'\n')
        env = world(folder)
        for name in ('hf:org/tiny-GGUF:Q8_0', 'hf:org/tiny-GGUF', 'tiny-Q8_0'):
            shown = runnel('show', name, '--json', env=env).ok().lines[0]
            path = str(folder / '.cache/runnel/hf/org/tiny-GGUF/main/tiny-Q8_0.gguf')
            equal(shown, {'name': 'hf:org/tiny-GGUF:Q8_0', 'path': path, 'cache': 'runnel', 'bytes': MODEL.stat().st_size,
                          'files': [{'path': path, 'bytes': MODEL.stat().st_size, 'url': 'https://hub/x', 'sha256': 'a' * 64}]})
        page = runnel('show', 'small', env=env).ok().text
        check('name     small\n' in page and 'cache    runnel\n' in page and 'sha256' not in page, page)
        runnel('show', 'nothing', env=env).fails(1, 'nothing: no fetched model of that name')
        runnel('show', env=env).fails(2, 'MODEL: none given')


@test
def rm_deletes_what_is_runnels_own_and_no_more():
    with Folder() as folder:
        fill(folder)
        put(folder, '.cache/runnel/hf/org/tiny-GGUF/main/.pulled/tiny-Q8_0.gguf', b'url x\n')
        env = world(folder)
        for name, cache in NAMES.items():
            if cache != 'runnel':
                runnel('rm', name, env=env).fails(1, f'is in the cache of {cache}, which runnel only reads')
        done = runnel('rm', 'hf:org/tiny-GGUF', env=env)
        equal((done.code, done.out), (0, b''), done.err)
        check(done.err.startswith('runnel: removed hf:org/tiny-GGUF:Q8_0: '), done.err)
        check(not (folder / '.cache/runnel/hf/org/tiny-GGUF/main').exists() and (folder / '.cache/runnel/hf/org/tiny-GGUF').exists())
        for name, cache in NAMES.items():
            if cache == 'runnel' and name != 'hf:org/tiny-GGUF:Q8_0':
                equal(runnel('rm', name, env=env).code, 0, name)
        equal({row['name'] for row in runnel('list', '--json', env=env).ok().lines}, {name for name, cache in NAMES.items() if cache != 'runnel'})
        equal(list((folder / '.cache/runnel').iterdir()), [], 'empty folders are removed')
        check(MODEL.exists(), 'a link was followed')
        runnel('rm', 'small', env=env).fails(1, 'small: no fetched model of that name')


@test
def a_short_name_of_two_models_is_refused_with_both():
    with Folder() as folder:
        put(folder, '.cache/runnel/hf/a/r/main/same.gguf')
        put(folder, '.cache/runnel/hf/b/r/main/same.gguf')
        for args in (['run', '-m', 'same', 'x'], ['rm', 'same']):
            runnel(*args, env=world(folder)).fails(1, 'same: several models are called so: hf:a/r:same.gguf hf:b/r:same.gguf')


def chat(folder, *args, **changes):
    return runnel('chat', *args, '--temp', '0', '-n', '3', stdin=b'Tom', env=world(folder, **changes))


@test
def chat_without_a_model_takes_the_only_chat_model_or_says_what_to_type():
    with Folder() as folder:
        put(folder, '.cache/runnel/models/story.gguf')      # no chat model
        done = chat(folder).fails(1, 'model: none given, and no chat model is fetched: `runnel pull ')
        check('`runnel pull` shows others' in done.err, done.err)
        talks = gguf.with_string(MODEL.read_bytes(), 'tokenizer.chat_template', '{{ messages[-1].content }}')
        put(folder, '.cache/runnel/models/one.gguf', talks)
        want = chat(folder, '-m', 'one').ok().out
        equal(chat(folder).ok().out, want)
        equal(chat(folder, 'one').ok().out, want, 'the name as an argument')
        put(folder, '.cache/runnel/models/two.gguf', talks)
        chat(folder).fails(1, 'several chat models are fetched: runnel chat NAME, with one of one, two')
        equal(chat(folder, RUNNEL_MODEL='two').ok().out, want)
        chat(folder, 'one', '-m', 'two').fails(2, 'model: given twice')
        chat(folder, 'three').fails(1, 'three: no such file, and no fetched model of that name')


@test
def chat_without_a_model_takes_the_one_of_the_last_talk_at_a_terminal():
    with Folder() as folder:
        talks = gguf.with_string(MODEL.read_bytes(), 'tokenizer.chat_template', '{{ messages[-1].content }}')
        for name in ('one', 'two'):
            put(folder, f'.cache/runnel/models/{name}.gguf', talks)
        chat(folder, 'one').ok()
        chat(folder).fails(1, 'several chat models')        # a pipe is not remembered
        for args, is_kept in ((['two', '--no-history'], False), (['two'], True)):
            person = Terminal('chat', *args, env=world(folder, LANG='C.UTF-8', LSAN_OPTIONS=f'suppressions={SUPPRESSIONS}:print_suppressions=0'))
            person.read_times(b'\x1b[?2004h', 1)
            person.type(b'/quit\r')
            equal(person.end()[0], 0)
            equal(chat(folder).code == 0, is_kept)
        os.remove(folder / '.cache/runnel/models/two.gguf')
        equal(chat(folder).code, 0, 'the only one that is left')


main()
