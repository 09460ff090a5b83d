#!/usr/bin/env python3
"""OpenAI's own Python client and curl against the server.

The client runs where it can be imported: in this Python, in the one that $RUNNEL_TEST_PYTHON names, or in the environment of
`./dev setup --clients` (tests/serve/requirements.txt).
"""
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from typing import Literal

from api import STORY, TOOLS, chat, chat_model, good, scripted, serving
from serving import KEY, ROOT, Folder, Skip, check, equal, main, test, wait_until

try:
    import openai
except ImportError:     # a virtual environment beside this one may have it
    python = os.environ.get('RUNNEL_TEST_PYTHON') or str(ROOT / 'build/clients/python/bin/python')
    if os.access(python, os.X_OK) and os.path.abspath(python) != os.path.abspath(sys.executable):
        os.execv(python, [python, *sys.argv])
    openai = None


ENDLESS = {'model': 'm', 'messages': STORY, 'max_tokens': 400, 'extra_body': {'max_tokens_per_second': 1, 'ignore_eos': True}}


def client(server, key='none', kind='OpenAI', **more):
    if not openai:
        raise Skip('the openai package is not here (./dev setup --clients; RUNNEL_TEST_PYTHON names a Python that has it)')
    return getattr(openai, kind)(base_url=f'http://127.0.0.1:{server.port}/v1', api_key=key, **{'max_retries': 0, **more})


def raises(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f'no {kind.__name__}')


def nothing_runs(server):
    wait_until(lambda: not server.working(), 'nothing runs any more')


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
        text = c.completions.create(model='m', prompt='Once upon a time', max_tokens=8, seed=1, logprobs=1).choices[0]
        equal((text.text, ''.join(text.logprobs.tokens)), (want, want))
        echo = c.completions.create(model='m', prompt='Once upon a time', max_tokens=8, seed=1, echo=True, stream=True)
        equal(''.join(k.choices[0].text for k in echo), 'Once upon a time' + want)
        raw = c.chat.completions.with_raw_response.create(**more)
        equal(raw.parse().choices[0].message.content, want)
        check(raw.request_id == raw.headers['x-request-id'])


@test
def the_openai_client_predicts_an_answer():
    with Folder() as folder, serving(chat_model(folder)) as s:
        c = client(s)
        more = {'model': 'm', 'messages': STORY, 'max_completion_tokens': 60, 'temperature': 0, 'extra_body': {'draft_min': 4, 'ignore_eos': True}}
        text = c.chat.completions.create(**more).choices[0].message.content
        for content in (text, [{'type': 'text', 'text': text[:90]}, {'type': 'text', 'text': text[90:]}]):
            answer = c.chat.completions.create(**more, prediction={'type': 'content', 'content': content})
            equal(answer.choices[0].message.content, text)
            counts = answer.usage.completion_tokens_details
            check(counts.accepted_prediction_tokens > 20 and counts.rejected_prediction_tokens >= 0, counts)


@test
def the_openai_client_reads_tool_calls():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        c = client(s)
        more = {'model': 'm', 'messages': [{'role': 'user', 'content': 'T'}], 'temperature': 0, 'tools': TOOLS}
        calls = c.chat.completions.create(**more).choices[0].message.tool_calls
        equal([(k.function.name, json.loads(k.function.arguments)) for k in calls], [('look', {'at': 'the sky'}), ('f', {})])
        with c.chat.completions.stream(**more) as told:
            final = told.get_final_completion()
        equal([k.function.name for k in final.choices[0].message.tool_calls], ['look', 'f'])


@test
def field_3_7_the_openai_client_sees_arguments_as_they_are_written():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        more = {'model': 'm', 'messages': [{'role': 'user', 'content': 'T'}], 'temperature': 0, 'tools': TOOLS}
        with client(s).chat.completions.stream(**more) as told:
            deltas = [e.arguments_delta for e in told if e.type == 'tool_calls.function.arguments.delta']
            calls = told.get_final_completion().choices[0].message.tool_calls
        check(len(deltas) > 2, 'the arguments came in one piece')
        equal(''.join(deltas), ''.join(k.function.arguments for k in calls))


@test
def field_3_3_what_the_openai_client_closes_is_cancelled():
    with Folder() as folder, serving(chat_model(folder)) as s:
        c = client(s)
        told = c.chat.completions.create(**ENDLESS, stream=True)
        next(iter(told))
        told.close()
        nothing_runs(s)
        raises(openai.APITimeoutError, lambda: c.with_options(timeout=0.3).chat.completions.create(**ENDLESS))
        nothing_runs(s)
        check(c.chat.completions.create(model='m', messages=STORY, max_tokens=4).choices[0].message.content)


@test
def the_openai_client_parses_answers_by_a_schema():
    with Folder() as folder, serving(scripted(folder), '-m', f'story={chat_model(folder)}') as s:
        c = client(s)
        more = {'model': 'm', 'messages': [{'role': 'user', 'content': 'N'}], 'temperature': 0}
        schema = {'type': 'json_schema', 'json_schema': {'name': 'x', 'schema': {'type': 'objec'}, 'strict': True}}
        e = raises(openai.BadRequestError, lambda: c.chat.completions.create(**more, response_format=schema))
        equal((e.code, e.param), ('invalid_value', 'response_format.json_schema.schema'))
        import pydantic     # the client stands on it
        model = pydantic.create_model('Answer', at=(Literal['the sky', 'the sea'], ...), is_blue=(bool, ...))
        story = {'model': 'story', 'temperature': 0}
        parsed = [c.chat.completions.parse(**story, messages=STORY, response_format=model).choices[0].message.parsed,
                  c.responses.parse(**story, input='Once upon a time', text_format=model).output_parsed]
        with c.chat.completions.stream(**story, messages=STORY, response_format=model) as told:
            parsed.append(told.get_final_completion().choices[0].message.parsed)
        check(all(isinstance(p, model) for p in parsed), parsed)
        equal(parsed[0], parsed[2])
        plain = c.chat.completions.parse(**more).choices[0].message
        equal((plain.content, plain.parsed), ('Yes!', None))


@test
def the_openai_client_tries_again_when_it_was_told_to():
    with Folder() as folder, serving(chat_model(folder), '--key-tokens-per-minute', '6000') as s:
        c = client(s)
        # All of the bucket is reserved, and fills again at 100 tokens a second.
        held = c.chat.completions.create(model='m', messages=STORY, max_tokens=5980, stream=True, extra_body={'max_tokens_per_second': 1})
        more = {'model': 'm', 'messages': STORY, 'max_tokens': 150}
        e = raises(openai.RateLimitError, lambda: c.chat.completions.create(**more))
        check(e.code == 'rate_limit_exceeded' and int(e.response.headers['retry-after']) >= 1, e)
        check(client(s, max_retries=5).chat.completions.create(**more).choices[0].message.content)
        held.close()


@test
def the_openai_client_is_told_that_the_server_ends():
    with Folder() as folder, serving(chat_model(folder), '--drain-seconds', '60') as s:
        c = client(s)
        held = c.chat.completions.create(**ENDLESS, stream=True)
        next(iter(held))
        c.models.list()         # a second connection, which stays open
        s.signal(signal.SIGTERM)
        wait_until(lambda: 'shutting down' in s.said, 'the server ends')
        e = raises(openai.InternalServerError, lambda: c.chat.completions.create(model='m', messages=STORY))
        equal((e.status_code, e.code, e.response.headers['retry-after']), (503, 'shutting_down', '1'))
        held.close()
        equal(s.wait(), 0)


@test
def the_openai_clients_asynchronous_twin_talks_to_several_at_once():
    async def talk(s):
        async with client(s, kind='AsyncOpenAI') as c:
            async def one(seed):
                told = await c.chat.completions.create(model='m', messages=STORY, max_tokens=8, seed=seed, stream=True)
                return ''.join([k.choices[0].delta.content or '' async for k in told if k.choices])
            return await asyncio.gather(*map(one, range(8)))
    with Folder() as folder, serving(chat_model(folder)) as s:
        client(s)
        told = asyncio.run(talk(s))
        equal(told, [chat(s, max_tokens=8, seed=i)['choices'][0]['message']['content'] for i in range(8)])


@test
def the_openai_client_reads_responses_and_embeddings():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        c = client(s)
        whole = c.responses.create(model='m', input='N', temperature=0)
        equal((whole.output_text, whole.status), ('Yes!', 'completed'))
        told = list(c.responses.create(model='m', input='N', temperature=0, stream=True))
        equal(''.join(e.delta for e in told if e.type == 'response.output_text.delta'), 'Yes!')
        equal(told[-1].response.output_text, 'Yes!')
        equal(c.responses.retrieve(whole.id).output_text, 'Yes!')
        on = c.responses.create(model='m', input='N', temperature=0, previous_response_id=whole.id)
        equal((on.output_text, on.previous_response_id), ('Yes!', whole.id))
        check(on.usage.input_tokens > whole.usage.input_tokens)
        c.responses.delete(whole.id)
        equal(raises(openai.NotFoundError, lambda: c.responses.retrieve(whole.id)).code, 'response_not_found')
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = good(s, '/v1/embeddings', input=['a', 'b'])['data']
        for more in ({}, {'encoding_format': 'float'}):     # base64 by default
            got = client(s).embeddings.create(model='m', input=['a', 'b'], **more).data
            check(all(abs(x - y) < 1e-6 for g, w in zip(got, want) for x, y in zip(g.embedding, w['embedding'], strict=True)))


@test
def the_openai_client_raises_what_each_refusal_means():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        c = client(s, KEY)
        rows = [(openai.BadRequestError, {'temperature': 9}, 'invalid_value', 'temperature'),
                (openai.BadRequestError, {'messages': []}, 'missing_required_parameter', 'messages'),
                (openai.BadRequestError, {'messages': [{'role': 'user', 'content': 'long ' * 5000}]}, 'context_length_exceeded', 'messages'),
                (openai.BadRequestError, {'logit_bias': {'999999': 1}}, 'invalid_token', 'logit_bias'),
                (openai.BadRequestError, {'tools': TOOLS, 'tool_choice': 'required'}, 'unsupported_parameter', 'tool_choice'),
                (openai.NotFoundError, {'model': 'x'}, 'model_not_found', 'model')]
        for kind, body, code, param in rows:
            e = raises(kind, lambda: c.chat.completions.create(**{'model': 'm', 'messages': STORY, **body}))     # noqa: B023
            equal((e.code, e.param), (code, param), body)
            check(e.request_id, 'no request id')
        equal(raises(openai.NotFoundError, c.files.list).code, 'unknown_url')
        equal(raises(openai.AuthenticationError, client(s, 'wrong-key-of-some-length').models.list).code, 'invalid_api_key')
        raises(openai.APIConnectionError, c.with_options(base_url='http://127.0.0.1:1/v1').models.list)


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

        def curl(body, *declared):
            return subprocess.run(['curl', '-sN', url, *declared, '-d', json.dumps(body)], capture_output=True, check=True, timeout=60).stdout.decode()
        want = chat(s, max_tokens=5, seed=1)['choices'][0]['message']['content']
        equal(json.loads(curl({'messages': STORY, 'max_tokens': 5, 'seed': 1}))['choices'][0]['message']['content'], want)
        streamed = curl({'messages': STORY, 'max_tokens': 5, 'seed': 1, 'stream': True}, '-H', 'Content-Type: application/json')
        lines = [k[6:] for k in streamed.splitlines() if k.startswith('data: ')]
        equal(lines[-1], '[DONE]')
        equal(''.join(json.loads(k)['choices'][0]['delta'].get('content', '') for k in lines[:-1]), want)


main()
