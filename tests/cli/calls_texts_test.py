#!/usr/bin/env python3
"""tests/cli/calls_texts_test.py - random tools in every output format that has calls: what a model draws under the grammar is parsed as calls of
these tools, whose arguments Python's jsonschema finds valid.

3 requests for each format; 40 with RUNNEL_TEST_FULL=1. Text is drawn from 49,152 tokens at temperature 1 and 4.
"""
import json
import os
import random
import zlib

from harness import Folder, Skip, check, main, runnel, test
from schema_texts import ENDS, Texts, by_jsonschema, unique

N_REQUESTS = 40 if os.environ.get('RUNNEL_TEST_FULL') else 3
TOOLS = ('get_weather', 'add', 'f', 'my-tool_2', 'functions', 'read_file')
WORDS = ('city', 'unit', 'days', 'is_on', 'a', 'b', 'query')
# What a format cannot write, and schemas that nothing matches or that are refused by name.
REFUSED = ('cannot write', 'can write', 'nothing matches', 'cannot be negated', 'with `contains`', 'beside `contains`', 'more than', 'too many',
           'Properties: is only', 'uniqueItems: is only')


def any_tools(maker):
    r, tools = maker.r, []
    for name in r.sample(TOOLS, r.randint(1, 3)):
        names = r.sample(WORDS, r.randint(0, 3))
        schema = {'type': 'object', 'properties': {n: maker.schema(2) for n in names}, 'required': r.sample(names, r.randint(0, len(names)))}
        if r.random() < .8:
            schema['additionalProperties'] = r.choice([False, False, {'type': 'integer'}])
        if '$ref' in json.dumps(schema):
            schema['$defs'] = {'p': {'type': ['integer', 'string', 'null']}, 'q': {'type': ['object', 'null'], 'properties': {'a': {'$ref': '#/$defs/q'}}}}
        tools.append({'type': 'function', 'function': {'name': name, 'parameters': schema}})
    return tools


def answers(form, template, requests):
    """Answers in the order of the requests. What the model's context has ended is written again, with more bias towards ends."""
    told, wanted = {}, requests
    for pull in (1, 2, 6):
        lines = [{**x, 'logit_bias': {k: max(-100, min(v * pull * x['temp'], 100)) for k, v in ENDS.items()}} for x in wanted]
        done = runnel('batch', '--chat-template', template, '--output-format', form, stdin=''.join(json.dumps(x) + '\n' for x in lines).encode())
        check(len(done.lines) == len(wanted), form, done.err[-300:])
        told.update((a['id'], a) for a in done.lines)
        wanted = [x for x in wanted if told[x['id']].get('finish_reason') == 'length']
        if not wanted:
            break
    return [told[x['id']] for x in requests]


def check_answer(form, request, answer):
    """How many calls, or None."""
    if 'error' in answer:
        return check(any(part in str(answer['error']) for part in REFUSED), form, answer['error'], request['tools'])
    if answer['finish_reason'] == 'length':
        return None
    message, tools = answer['message'], {t['function']['name']: t['function']['parameters'] for t in request['tools']}
    calls = message.get('tool_calls')
    check(calls and not message.get('content'), form, answer)
    check(len(calls) == 1 or (request['parallel_tool_calls'] and request['tool_choice'] == 'required'), form, answer)
    for call in calls:
        name, arguments = call['function']['name'], json.loads(call['function']['arguments'], object_pairs_hook=unique)
        check(name in tools, form, name)
        why = by_jsonschema(tools[name], arguments)
        check(not why, form, why, call, json.dumps(tools[name]))
    return len(calls)


@test
def calls_in_every_format_are_valid():
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        raise Skip('Python package jsonschema is not installed')
    n_calls = n_whole = n_refused = n_all = 0
    with Folder() as folder:
        template = folder / 't.jinja'
        template.write_text('{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{{ messages[-1].content }}')
        known = runnel('run', '--chat', 'x', '--chat-template', template, '--output-format', 'x').err.split('known ones are ')[1].split('\n')[0]
        forms = [f for f in known.split(', ') if f not in ('none', 'think')]
        check(len(forms) > 30, forms)
        for form in forms:
            requests = []
            for k in range(N_REQUESTS):
                maker = Texts(zlib.crc32(f'{form} {k}'.encode()))
                tools = any_tools(maker)
                choice = maker.r.choice(['required', {'type': 'function', 'function': {'name': tools[0]['function']['name']}}])
                requests.append({'id': k, 'messages': [{'role': 'user', 'content': 'Once'}], 'tools': tools, 'tool_choice': choice, 'temp': 1 + 3 * (k % 2),
                                 'n': 500, 'seed': k, 'parallel_tool_calls': maker.r.random() < .7})
            told = answers(form, template, requests)
            found = [check_answer(form, x, a) for x, a in zip(requests, told)]
            n_all += len(found)
            n_refused += sum('error' in a for a in told)
            n_whole += sum(n is not None for n in found)
            n_calls += sum(n or 0 for n in found)
    print(f'# {len(forms)} formats, {n_all} requests: {n_whole} answers are whole, {n_calls} calls; {n_refused} are refused')
    check(n_whole > n_all / 4 and n_calls >= n_whole, n_whole)


main()
