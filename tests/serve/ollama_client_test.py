#!/usr/bin/env python3
"""Ollama's own clients for Python and JavaScript against the server.

The Python one runs where it can be imported: in this Python, in the one that $RUNNEL_TEST_PYTHON names, or in the environment of
`./dev setup --clients` (tests/serve/requirements.txt).
"""
import os
import re
import sys

from api import LAST, STORY, chat, chat_model, scripted, serving
from js_talk import talk
from serving import KEY, ROOT, Folder, Skip, check, equal, main, test, wait_until

try:
    import ollama
except ImportError:     # a virtual environment beside this one may have it
    python = os.environ.get('RUNNEL_TEST_PYTHON') or str(ROOT / 'build/clients/python/bin/python')
    if os.access(python, os.X_OK) and os.path.abspath(python) != os.path.abspath(sys.executable):
        os.execv(python, [python, *sys.argv])
    ollama = None

FEW = {'model': 'm', 'options': {'num_predict': 8, 'seed': 1}}


def client(server, **more):
    if not ollama:
        raise Skip('the ollama package is not here (./dev setup --clients; RUNNEL_TEST_PYTHON names a Python that has it)')
    return ollama.Client(host=f'http://127.0.0.1:{server.port}', **more)


def raises(call):
    try:
        call()
    except ollama.ResponseError as e:
        return e
    raise AssertionError('no ResponseError')


@test
def the_client_chats_generates_and_streams():
    with Folder() as folder, serving(chat_model(folder)) as s:
        c = client(s)
        want = chat(s, max_tokens=8, seed=1)['choices'][0]['message']['content']
        whole = c.chat(messages=STORY, **FEW)
        equal((whole.message.content, whole.done_reason, whole.eval_count), (want, 'length', 8))
        told = list(c.chat(messages=STORY, stream=True, **FEW))
        equal((''.join(k.message.content for k in told), told[-1].done, told[-1].eval_count), (want, True, 8))
        first = c.generate(prompt=STORY[0]['content'], **FEW)
        equal(first.response, want)
        equal(''.join(k.response for k in c.generate(prompt=STORY[0]['content'], stream=True, **FEW)), want)
        check(c.generate(prompt=' The cat', context=first.context, **FEW).response)
        equal(len(c.chat(messages=STORY, logprobs=True, top_logprobs=2, **FEW).logprobs), 8)


@test
def the_client_reads_thinking_and_calls_tools():
    with Folder() as folder, serving(scripted(folder, LAST), '--output-format', 'hermes') as s:
        c = client(s)
        seen = []

        def look(at: str) -> str:
            """Looks.

            Args:
              at: where
            """
            seen.append(at)
            return 'N'
        more = {'model': 'm', 'options': {'temperature': 0}}
        thought = c.chat(messages=[{'role': 'user', 'content': 'R'}], think=True, **more)
        equal((thought.message.thinking, thought.message.content), ('hm so', 'Yes'))
        messages = [{'role': 'user', 'content': 'T'}]
        first = c.chat(messages=messages, tools=[look], **more)
        told = [call for k in c.chat(messages=messages, tools=[look], stream=True, **more) for call in k.message.tool_calls or ()]
        equal(told, first.message.tool_calls)
        equal([call.function.name for call in told], ['look', 'f'])
        messages += [first.message, {'role': 'tool', 'tool_name': 'look', 'content': look(**first.message.tool_calls[0].function.arguments)}]
        equal((c.chat(messages=messages, tools=[look], **more).message.content, seen), ('Yes!', ['the sky']))


@test
def the_client_lists_shows_and_embeds():
    with Folder() as folder, serving(chat_model(folder), '-c', '256') as s:
        c = client(s)
        model, = c.list().models
        equal((model.model, model.details.family, int(model.size)), ('m', 'llama', (folder / 'chat.gguf').stat().st_size))
        equal([(p.model, p.context_length) for p in c.ps().models], [('m', 256)])
        shown = c.show('m:latest')
        equal((shown.capabilities[0], shown.modelinfo['general.architecture']), ('completion', 'llama'))
        vectors = c.embed(model='m', input=['a cat', 'a dog']).embeddings
        equal((len(vectors), len(vectors[0])), (2, len(c.embeddings(model='m', prompt='a cat').embedding)))


@test
def the_client_raises_what_each_refusal_means():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        c = client(s, headers={'Authorization': f'Bearer {KEY}'})
        rows = [(404, 'not found', lambda: c.chat(messages=STORY, model='x')), (400, 'format', lambda: c.chat(messages=STORY, format={'type': 5}, **FEW)),
                (400, 'temperature', lambda: c.generate(model='m', prompt='a', options={'temperature': 9})), (501, 'pull', lambda: c.pull('m')),
                (501, 'delete', lambda: c.delete('m')), (404, 'not found', lambda: c.show('x')), (401, 'key', lambda: client(s).list())]
        for status, word, call in rows:
            e = raises(call)
            check(e.status_code == status and word in e.error, (status, word, e.status_code, e.error))


@test
def what_the_client_closes_is_cancelled():
    with Folder() as folder, serving(chat_model(folder)) as s:
        told = client(s).chat(model='m', messages=STORY, stream=True, options={'num_predict': 400, 'max_tokens_per_second': 1, 'ignore_eos': True})
        next(told)
        told.close()
        wait_until(lambda: not s.working(), 'nothing runs any more')


@test
def the_python_example_of_the_manual_prints_an_answer():
    block, = re.findall(r'```python\n(import ollama.*?)```', (ROOT / 'docs/ollama-api.md').read_text(), re.S)
    with Folder() as folder, serving(chat_model(folder)) as s:
        client(s)
        printed = []
        exec(compile(block.replace('127.0.0.1:8080', f'127.0.0.1:{s.port}').replace('MODEL', 'm'), 'docs/ollama-api.md', 'exec'),
             {'print': lambda *a, **k: printed.append(str(a[0]))})
        check(''.join(printed).strip(), 'nothing was printed')


@test
def the_javascript_client_chats_streams_and_embeds():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'ollama', 'talks')


@test
def the_javascript_client_reads_thinking_and_tool_calls():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        talk(s, 'ollama', 'tools')


@test
def the_javascript_client_raises_what_refusals_say_and_aborts():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'ollama', 'errors')


main()
