#!/usr/bin/env python3
"""Anthropic's own clients for Python and JavaScript against the server.

The Python one runs where it can be imported: in this Python, in the one that $RUNNEL_TEST_PYTHON names, or in the environment of `./dev setup --clients`
(tests/serve/requirements.txt).
"""
import os
import re
import sys

from api import LAST, STORY, chat, chat_model, scripted, serving
from js_talk import talk
from serving import KEY, ROOT, Folder, Skip, check, equal, main, test, wait_until

try:
    import anthropic
except ImportError:     # a virtual environment beside this one may have it
    python = os.environ.get('RUNNEL_TEST_PYTHON') or str(ROOT / 'build/clients/python/bin/python')
    if os.access(python, os.X_OK) and os.path.abspath(python) != os.path.abspath(sys.executable):
        os.execv(python, [python, *sys.argv])
    anthropic = None

LOOK = {'name': 'look', 'input_schema': {'type': 'object', 'properties': {'at': {'type': 'string'}}}}
FEW = {'model': 'm', 'messages': STORY, 'max_tokens': 8, 'extra_body': {'seed': 1}}
ENDLESS = {'model': 'm', 'messages': STORY, 'max_tokens': 400, 'extra_body': {'max_tokens_per_second': 1, 'ignore_eos': True}}


def client(server, key='none', **more):
    if not anthropic:
        raise Skip('the anthropic package is not here (./dev setup --clients; RUNNEL_TEST_PYTHON names a Python that has it)')
    return anthropic.Anthropic(base_url=f'http://127.0.0.1:{server.port}', api_key=key, **{'max_retries': 0, **more})


def said(letter, **more):
    return {'model': 'm', 'messages': [{'role': 'user', 'content': letter}], 'max_tokens': 40, 'extra_body': {'temperature': 0}, **more}


def raises(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f'no {kind.__name__}')


def nothing_runs(server):
    wait_until(lambda: not server.working(), 'nothing runs any more')


@test
def the_client_talks_streams_counts_and_lists_models():
    with Folder() as folder, serving(chat_model(folder)) as s:
        c = client(s)
        want = chat(s, max_tokens=8, seed=1)['choices'][0]['message']['content']
        whole = c.messages.create(**FEW)
        equal((whole.content[0].text, whole.stop_reason, whole.usage.output_tokens), (want, 'max_tokens', 8))
        equal(c.messages.count_tokens(model='m', messages=STORY).input_tokens, whole.usage.input_tokens)
        with c.messages.stream(**FEW) as told:
            equal(''.join(told.text_stream), want)
            final = told.get_final_message()
        equal((final.content[0].text, final.stop_reason, final.usage), (want, 'max_tokens', whole.usage))
        kinds = [e.type for e in c.messages.create(**FEW, stream=True)]
        equal(kinds[0], 'message_start')
        equal(kinds[-1], 'message_stop')
        equal([m.id for m in c.models.list()], ['m'])
        model = c.models.retrieve('m')
        equal((model.type, model.display_name), ('model', 'm'))
        raw = c.messages.with_raw_response.create(**FEW)
        check(raw.request_id == raw.headers['x-request-id'] and raw.parse()._request_id == raw.request_id)


@test
def the_client_collects_thinking_and_tool_calls_from_events():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        c = client(s)
        for letter in 'TRN':
            more = said(letter, tools=[LOOK])
            whole = c.messages.create(**more)
            with c.messages.stream(**more) as told:
                final = told.get_final_message()
            for a, b in zip(whole.content, final.content, strict=True):
                equal(a.model_dump(include={'type', 'text', 'thinking', 'name', 'input'}), b.model_dump(include={'type', 'text', 'thinking', 'name', 'input'}))
            equal((whole.stop_reason, whole.stop_sequence, whole.usage), (final.stop_reason, final.stop_sequence, final.usage))
        thought = c.messages.create(**said('R')).content
        equal([(b.type, b.model_dump()[b.type]) for b in thought], [('thinking', 'hm so'), ('text', 'Yes')])
        with c.messages.stream(**said('T', tools=[LOOK])) as told:
            pieces = [e.partial_json for e in told if e.type == 'input_json']
        check(len(pieces) > 2, 'the arguments came in one piece')


@test
def the_client_runs_a_loop_of_tools():
    with Folder() as folder, serving(scripted(folder, LAST), '--output-format', 'hermes') as s:
        c = client(s)
        messages = [{'role': 'user', 'content': 'T'}]
        first = c.messages.create(**said('T', tools=[LOOK]))
        equal(first.stop_reason, 'tool_use')
        results = [{'type': 'tool_result', 'tool_use_id': b.id, 'content': 'N'} for b in first.content if b.type == 'tool_use']
        equal(len(results), 2)
        messages += [{'role': 'assistant', 'content': first.content}, {'role': 'user', 'content': results}]
        last = c.messages.create(**{**said('T', tools=[LOOK]), 'messages': messages})
        equal((last.stop_reason, last.content[0].text), ('end_turn', 'Yes!'))


@test
def the_client_runs_tools_by_itself():
    with Folder() as folder, serving(scripted(folder, LAST), '--output-format', 'hermes') as s:
        c = client(s)
        seen = []

        def look(at: str = '') -> str:
            """Looks."""
            seen.append(at)
            return 'N'

        def f() -> str:
            """Does nothing."""
            return 'N'
        runner = c.beta.messages.tool_runner(**said('T', tools=[anthropic.beta_tool(look), anthropic.beta_tool(f)]))
        equal((runner.until_done().content[0].text, seen), ('Yes!', ['the sky']))


@test
def what_the_client_closes_is_cancelled():
    with Folder() as folder, serving(chat_model(folder)) as s:
        c = client(s)
        with c.messages.stream(**ENDLESS) as told:
            next(iter(told.text_stream))
        nothing_runs(s)
        raises(anthropic.APITimeoutError, lambda: c.with_options(timeout=0.3).messages.create(**ENDLESS))
        nothing_runs(s)
        check(c.messages.create(**FEW).content[0].text)


@test
def the_client_raises_what_each_refusal_means():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        c = client(s, KEY)
        rows = [
            (anthropic.BadRequestError, 400, 'invalid_request_error', 'tool_choice', lambda: c.messages.create(**FEW, tools=[LOOK], tool_choice={'type': 'tool', 'name': 'x'})),
            (anthropic.BadRequestError, 400, 'invalid_request_error', 'source.url', lambda: c.messages.create(**{**FEW, 'messages': [
                {'role': 'user', 'content': [{'type': 'image', 'source': {'type': 'url', 'url': 'x'}}]}]})),
            (anthropic.NotFoundError, 404, 'not_found_error', 'model', lambda: c.messages.create(**{**FEW, 'model': 'x'})),
            (anthropic.NotFoundError, 404, 'not_found_error', 'model', lambda: c.models.retrieve('x')),
            (anthropic.NotFoundError, 404, 'not_found_error', 'path', lambda: list(c.messages.batches.list())),
            (anthropic.AuthenticationError, 401, 'authentication_error', 'key', lambda: client(s, 'wrong-key-of-some-length').messages.create(**FEW)),
        ]
        for kind, status, name, word, call in rows:
            e = raises(kind, call)
            equal((e.status_code, e.body['error']['type']), (status, name))
            check(word in e.body['error']['message'] and e.request_id, e)
        raises(anthropic.APIConnectionError, anthropic.Anthropic(base_url='http://127.0.0.1:1', api_key='x', max_retries=0).models.list)


@test
def the_client_tries_again_when_it_was_told_to():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue', '0') as s:
        c = client(s)
        with c.messages.stream(**{**ENDLESS, 'max_tokens': 3}) as told:
            next(iter(told.text_stream))
            e = raises(anthropic.RateLimitError, lambda: c.messages.create(**FEW))
            check(int(e.response.headers['retry-after']) >= 1 and e.body['error']['type'] == 'rate_limit_error', e.body)
            check(client(s, max_retries=20).messages.create(**FEW).content[0].text)


@test
def the_python_example_of_the_manual_prints_an_answer():
    block, = re.findall(r'```python\n(import anthropic.*?)```', (ROOT / 'docs/anthropic-api.md').read_text(), re.S)
    with Folder() as folder, serving(chat_model(folder)) as s:
        client(s)
        printed = []
        exec(compile(block.replace('127.0.0.1:8080', f'127.0.0.1:{s.port}').replace('MODEL', 'm'), 'docs/anthropic-api.md', 'exec'),
             {'print': lambda *a, **k: printed.append(str(a[0]))})
        check(''.join(printed).strip(), 'nothing was printed')


@test
def the_javascript_client_talks_streams_counts_and_lists_models():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'anthropic', 'talks')


@test
def the_javascript_client_collects_thinking_and_tool_calls_from_events():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        talk(s, 'anthropic', 'blocks')


@test
def what_the_javascript_client_aborts_is_cancelled():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'anthropic', 'abort')


@test
def the_javascript_client_raises_what_each_refusal_means():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        talk(s, 'anthropic', 'errors', KEY)


main()
