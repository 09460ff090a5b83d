#!/usr/bin/env python3
"""The examples of docs/server-api.md, as they stand there."""
import json
import re
import shutil
import subprocess

from api import chat_model, serving
from api_native_streams import Streams
from serving import ROOT, Folder, Skip, check, equal, main, test

PAGE = (ROOT / 'docs/server-api.md').read_text()


def blocks(language):
    return re.findall(rf'```{language}\n(.*?)```', PAGE, re.S)


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
            script = block.replace('127.0.0.1:8080', f'127.0.0.1:{s.port}')
            done = subprocess.run(['node', '--input-type=module', '-e', script], capture_output=True, timeout=60)
            check(done.returncode == 0 and done.stdout.strip(), f'{block}: {done.stderr}')


@test
def every_message_of_the_socket_example_is_understood():
    said, heard = blocks('json')
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
