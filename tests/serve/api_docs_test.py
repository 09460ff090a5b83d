#!/usr/bin/env python3
"""The examples of docs/server-api.md and of the dialects' pages, as they stand there."""
import json
import re
import shutil
import subprocess

from api import chat_model, serving
from api_native_streams import Streams
from serving import ROOT, Folder, Skip, check, equal, main, test

PAGE = ''.join((ROOT / f'docs/{name}.md').read_text() for name in ('server-api', 'anthropic-api', 'ollama-api'))


def blocks(language):
    return re.findall(rf'```{language}\n(.*?)```', PAGE, re.S)


def node_says(what, *flags):
    done = subprocess.run(['node', *flags, '-p', what], capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def check_printed(server, block, *flags):
    script = block.replace('127.0.0.1:8080', f'127.0.0.1:{server.port}').replace('MODEL', 'm')
    done = subprocess.run(['node', *flags, '--input-type=module', '-e', script], capture_output=True, text=True, timeout=60)
    check(done.returncode == 0 and done.stdout.strip(), f'{block}: {done.stderr}')
    return done.stdout


@test
def every_shell_example_gets_an_answer_without_an_error():
    if not shutil.which('curl'):
        raise Skip('curl is not here')
    with Folder() as folder, serving(chat_model(folder)) as s:
        for block in blocks('sh'):
            script = block.replace('127.0.0.1:8080', f'127.0.0.1:{s.port}')
            done = subprocess.run(['sh', '-ec', script], capture_output=True, timeout=60)
            out = done.stdout.decode()
            check(done.returncode == 0 and out and '"error": {' not in out and '"error":{' not in out, f'{block}: {out} {done.stderr}')


@test
def every_javascript_example_prints_an_answer():
    if not shutil.which('node'):
        raise Skip('node is not here')
    with Folder() as folder, serving(chat_model(folder)) as s:
        for block in blocks('javascript'):
            if 'from "openai"' not in block and 'WebSocket' not in block:     # js_client_test.py; below
                check_printed(s, block)


@test
def the_javascript_example_of_sockets_prints_what_both_streams_said():
    if not shutil.which('node'):
        raise Skip('node is not here')
    flags = ['--experimental-websocket'] if node_says('typeof WebSocket') == 'undefined' else []
    if node_says('typeof WebSocket', *flags) != 'function':
        raise Skip('this node has no WebSocket')
    block, = (b for b in blocks('javascript') if 'WebSocket' in b)
    with Folder() as folder, serving(chat_model(folder)) as s:
        out = check_printed(s, block, *flags)
        check(re.search(r"a: '.+',\s+b: '.+'", out, re.S), out)


@test
def every_message_of_the_socket_example_is_understood():
    said, heard = (b for b in blocks('json') if '"type"' in b)
    with Folder() as folder, serving(chat_model(folder)) as s:
        w = Streams(s)
        for line in said.splitlines():
            w.socket.send(line)
        kinds = [m['type'] for m in w.until_end('a')['a']]
        check('error' not in kinds and kinds[0] == 'begun' and kinds[-1] == 'cancelled', kinds)
        w.say('generate', id='a', prompt='Once upon a time', max_tokens=2)
        told = w.until_end('a')['a']
        for example in map(json.loads, heard.splitlines()):
            match = next(m for m in told if m['type'] == example['type'])
            equal(set(match), set(example), example)


main()
