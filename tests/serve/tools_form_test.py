#!/usr/bin/env python3
"""tests/serve/tools_form_test.py - tools with models whose templates have none: the built-in form, in the dialect of each client."""
import json

import script_model
from api import PLAIN, SCRIPTS, TOOLS, good, joined, post, serving, stream
from serving import Folder, check, equal, main, test

CHAT = '/v1/chat/completions'
FUNCTION = TOOLS[0]['function']
CALLS = [('look', {'at': 'the sky'}), ('f', {})]
TEMPLATES = {
    'it has system messages': PLAIN,
    'it has none': "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% endfor %}" + PLAIN,
    'roles alternate': "{% for m in messages if m.role != 'system' %}{% if m.role != ('user', 'assistant')[loop.index0 % 2] %}"
                       "{{ raise_exception('alternate') }}{% endif %}{% endfor %}" + PLAIN,
}


def model(folder, template):
    """Behind a result of a tool, which ends with `>`, it says Blue."""
    path = folder / 'script.gguf'
    path.write_bytes(script_model.make({**SCRIPTS, '>': ['Blue', '.']}, template, 2048))
    return path


def of_openai(calls):
    return [(c['function']['name'], json.loads(c['function']['arguments'])) for c in calls]


@test
def calls_come_out_in_every_dialect():
    said = [{'role': 'user', 'content': 'T'}]
    own = [{'name': 'look', 'input_schema': FUNCTION['parameters']}]
    for why, template in TEMPLATES.items():
        with Folder() as folder, serving(model(folder, template)) as s:
            body = {'messages': said, 'tools': TOOLS, 'temperature': 0}
            whole = good(s, CHAT, **body)['choices'][0]
            equal((of_openai(whole['message']['tool_calls']), whole['message']['content'], whole['finish_reason']), (CALLS, 'Wait', 'tool_calls'), why)
            told, finish = joined(stream(s, CHAT, **body))
            equal((of_openai(told['tool_calls']), finish), (CALLS, 'tool_calls'), why)
            plain = good(s, CHAT, messages=said, temperature=0)['choices'][0]['message']
            check('tool_calls' not in plain and plain['content'].startswith('Wait <tool_call>'), 'without tools the template is as it was', plain)

            output = good(s, '/v1/responses', input='T', tools=[{'type': 'function', **FUNCTION}], temperature=0)['output']
            equal([(o['name'], json.loads(o['arguments'])) for o in output if o['type'] == 'function_call'], CALLS, why)
            blocks = good(s, '/v1/messages', model='m', messages=said, tools=own, temperature=0, max_tokens=100)
            equal([(b['name'], b['input']) for b in blocks['content'] if b['type'] == 'tool_use'], CALLS, why)
            equal(blocks['stop_reason'], 'tool_use')
            ollama = good(s, '/api/chat', model='m', messages=said, tools=TOOLS, stream=False, options={'temperature': 0})['message']
            equal([(c['function']['name'], c['function']['arguments']) for c in ollama['tool_calls']], CALLS, why)


@test
def results_of_tools_are_read_in_every_dialect():
    own = [{'name': 'look', 'input_schema': FUNCTION['parameters']}]
    for why, template in TEMPLATES.items():
        with Folder() as folder, serving(model(folder, template)) as s:
            talk = [{'role': 'user', 'content': 'T'}]
            first = good(s, CHAT, messages=talk, tools=TOOLS, temperature=0)['choices'][0]['message']
            talk += [first, *({'role': 'tool', 'tool_call_id': c['id'], 'content': 'blue'} for c in first['tool_calls'])]
            equal(good(s, CHAT, messages=talk, tools=TOOLS, temperature=0)['choices'][0]['message']['content'], 'Blue.', why)
            # More behind the results is one message with them.
            talk.append({'role': 'user', 'content': 'N'})
            equal(good(s, CHAT, messages=talk, tools=TOOLS, temperature=0)['choices'][0]['message']['content'], 'Yes!', why)

            more = {'tools': [{'type': 'function', **FUNCTION}], 'temperature': 0}
            first = good(s, '/v1/responses', input='T', **more)
            results = [{'type': 'function_call_output', 'call_id': o['call_id'], 'output': 'blue'} for o in first['output'] if o['type'] == 'function_call']
            last = good(s, '/v1/responses', input=results, previous_response_id=first['id'], **more)
            equal(last['output'][0]['content'][0]['text'], 'Blue.', why)

            more = {'model': 'm', 'tools': own, 'temperature': 0, 'max_tokens': 100}
            first = good(s, '/v1/messages', messages=[{'role': 'user', 'content': 'T'}], **more)['content']
            results = [{'type': 'tool_result', 'tool_use_id': b['id'], 'content': 'blue'} for b in first if b['type'] == 'tool_use']
            last = good(s, '/v1/messages', messages=[{'role': 'user', 'content': 'T'}, {'role': 'assistant', 'content': first},
                                                     {'role': 'user', 'content': results}], **more)
            equal(last['content'][0]['text'], 'Blue.', why)


@test
def the_description_stays_when_turns_are_left_out():
    for why, template in TEMPLATES.items():
        with Folder() as folder, serving(model(folder, template)) as s:
            talk = [{'role': ('user', 'assistant')[i % 2], 'content': 'word ' * 30} for i in range(30)] + [{'role': 'user', 'content': 'T'}]
            whole = good(s, CHAT, messages=talk, tools=TOOLS, temperature=0, truncate='old')
            equal(of_openai(whole['choices'][0]['message']['tool_calls']), CALLS, why)
            check(800 < whole['usage']['prompt_tokens'] < 2048, why, whole['usage'])


@test
def reasoning_is_read_beside_calls_and_an_output_format_of_the_callers_stays():
    with Folder() as folder, serving(model(folder, PLAIN)) as s:
        body = {'messages': [{'role': 'user', 'content': 'R'}], 'tools': TOOLS, 'temperature': 0}
        whole = good(s, CHAT, **body)['choices'][0]['message']
        equal((whole['reasoning_content'], whole['content']), ('hm so', 'Yes'))
    with Folder() as folder, serving(model(folder, PLAIN), '--output-format', 'none') as s:
        whole = good(s, CHAT, messages=[{'role': 'user', 'content': 'T'}], tools=TOOLS, temperature=0)['choices'][0]['message']
        check('tool_calls' not in whole and whole['content'].startswith('Wait <tool_call>'), whole)


@test
def tools_that_fit_nowhere_are_refused_by_name():
    with Folder() as folder, serving(model(folder, 'Hello')) as s:
        answer = post(s, CHAT, messages=[{'role': 'user', 'content': 'T'}], tools=TOOLS)
        check(answer.status in (400, 422, 501), answer.status)
        error = answer.json['error']
        check(error['message'].endswith('tools: the chat template leaves them out, and a description of them, too'), error)


main()
