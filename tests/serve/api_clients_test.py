#!/usr/bin/env python3
"""OpenAI's own Python client and curl against the server. The client runs where it can be imported (tests/serve/requirements.txt)."""
import json
import os
import re
import shutil
import subprocess
import sys

from api import STORY, TOOLS, chat, chat_model, good, scripted, serving
from serving import KEY, ROOT, Folder, Skip, check, equal, main, test

try:
    import openai
except ImportError:     # a virtual environment beside this one may have it
    python = os.environ.get('RUNNEL_TEST_PYTHON')
    if python and os.path.abspath(python) != os.path.abspath(sys.executable):
        os.execv(python, [python, *sys.argv])
    openai = None


def client(server, key='none'):
    if not openai:
        raise Skip('the openai package is not here (tests/serve/requirements.txt; RUNNEL_TEST_PYTHON names a Python that has it)')
    return openai.OpenAI(base_url=f'http://127.0.0.1:{server.port}/v1', api_key=key, max_retries=0)


@test
def the_openai_client_chats_streams_and_lists_models():
    with Folder() as folder, serving(chat_model(folder)) as s:
        c = client(s)
        equal([m.id for m in c.models.list()], ['m'])
        equal(c.models.retrieve('m').object, 'model')
        want = chat(s, max_tokens=8, seed=1)['choices'][0]['message']['content']
        more = {'model': 'm', 'messages': STORY, 'max_completion_tokens': 8, 'seed': 1}
        answer = c.chat.completions.create(**more, logprobs=True, top_logprobs=1, n=2)
        equal((answer.choices[0].message.content, answer.choices[0].finish_reason), (want, 'length'))
        equal(''.join(t.token for t in answer.choices[0].logprobs.content), want)
        told = list(c.chat.completions.create(**more, stream=True, stream_options={'include_usage': True}))
        equal(''.join(k.choices[0].delta.content or '' for k in told if k.choices), want)
        equal(told[-1].usage.completion_tokens, 8)
        equal(c.completions.create(model='m', prompt='Once upon a time', max_tokens=8, seed=1).choices[0].text, want)


@test
def the_openai_client_reads_tool_calls_and_stops_in_the_middle():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        c = client(s)
        more = {'model': 'm', 'messages': [{'role': 'user', 'content': 'T'}], 'temperature': 0, 'tools': TOOLS}
        calls = c.chat.completions.create(**more).choices[0].message.tool_calls
        equal([(k.function.name, json.loads(k.function.arguments)) for k in calls], [('look', {'at': 'the sky'}), ('f', {})])
        with c.chat.completions.stream(**more) as told:
            final = told.get_final_completion()
        equal([k.function.name for k in final.choices[0].message.tool_calls], ['look', 'f'])
        told = c.chat.completions.create(**more, stream=True)
        next(iter(told))
        told.close()
        equal(c.chat.completions.create(**more).choices[0].finish_reason, 'tool_calls')


@test
def the_openai_client_reads_responses_and_embeddings():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        c = client(s)
        whole = c.responses.create(model='m', input='N', temperature=0)
        equal((whole.output_text, whole.status), ('Yes!', 'completed'))
        told = list(c.responses.create(model='m', input='N', temperature=0, stream=True))
        equal(''.join(e.delta for e in told if e.type == 'response.output_text.delta'), 'Yes!')
        equal(told[-1].response.output_text, 'Yes!')
    with Folder() as folder, serving(chat_model(folder)) as s:
        vector = client(s).embeddings.create(model='m', input='hello').data[0].embedding    # asks for base64
        check(len(vector) == len(good(s, '/v1/embeddings', input='hello')['data'][0]['embedding']))


@test
def the_openai_client_raises_what_each_refusal_means():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        c = client(s, KEY)
        rows = [(openai.BadRequestError, {'temperature': 9}, 'temperature'), (openai.NotFoundError, {'model': 'x'}, 'model')]
        for kind, body, param in rows:
            try:
                c.chat.completions.create(**{'model': 'm', 'messages': STORY, **body})
                check(False, f'{param}: no error')
            except kind as e:
                equal(e.param, param)
                check(e.request_id, 'no request id')
        try:
            client(s, 'wrong-key-of-some-length').models.list()
            check(False, 'a wrong key: no error')
        except openai.AuthenticationError as e:
            equal(e.code, 'invalid_api_key')


@test
def the_python_example_of_the_manual_prints_an_answer():
    page = (ROOT / 'docs/server-api.md').read_text()
    with Folder() as folder, serving(chat_model(folder)) as s:
        client(s)
        for block in re.findall(r'```python\n(.*?)```', page, re.S):
            script = block.replace('127.0.0.1:8080', f'127.0.0.1:{s.port}').replace('MODEL', 'm')
            done = subprocess.run([sys.executable, '-c', script], capture_output=True, timeout=60)
            check(done.returncode == 0 and done.stdout, done.stderr)


@test
def curl_gets_an_answer_and_a_stream():
    if not shutil.which('curl'):
        raise Skip('curl is not here')
    with Folder() as folder, serving(chat_model(folder)) as s:
        url = f'http://127.0.0.1:{s.port}/v1/chat/completions'

        def curl(body):
            return subprocess.run(['curl', '-sN', url, '-H', 'Content-Type: application/json', '-d', json.dumps(body)],
                                  capture_output=True, check=True, timeout=60).stdout.decode()
        want = chat(s, max_tokens=5, seed=1)['choices'][0]['message']['content']
        equal(json.loads(curl({'messages': STORY, 'max_tokens': 5, 'seed': 1}))['choices'][0]['message']['content'], want)
        lines = [k[6:] for k in curl({'messages': STORY, 'max_tokens': 5, 'seed': 1, 'stream': True}).splitlines() if k.startswith('data: ')]
        equal(lines[-1], '[DONE]')
        equal(''.join(json.loads(k)['choices'][0]['delta'].get('content', '') for k in lines[:-1]), want)


main()
