#!/usr/bin/env python3
"""GET /metrics against the rules of Prometheus' text format 0.0.4, before and after the server was used."""
import json
import math
import re

from api import chat_model, good, post, serving
from serving import Folder, Server, check, equal, main, test, wait_until

JSON = 'Content-Type: application/json'

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf'({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)')
OF_HISTOGRAM = ('_bucket', '_sum', '_count')


def parse(page):
    """{family: (kind, {(name, labels): value})}; what breaks a rule of the format fails."""
    families, current = {}, None
    check(page.endswith('\n'), 'the last line does not end')
    for line in page[:-1].split('\n'):
        if found := re.fullmatch(rf'# HELP ({NAME}) (\S.*)', line):
            check(found[1] not in families, line, ': a family comes once, in one piece')
            families[found[1]], current = [None, {}], found[1]
        elif found := re.fullmatch(rf'# TYPE ({NAME}) (counter|gauge|histogram)', line):
            equal(found[1], current, 'TYPE without its HELP before it')
            equal(families[current], [None, {}], 'TYPE twice, or after samples')
            families[current][0] = found[2]
        else:
            found = SAMPLE.fullmatch(line)
            check(found, repr(line), ': no line of this format')
            kind, samples = families[current]
            allowed = {current + s for s in OF_HISTOGRAM} if kind == 'histogram' else {current}
            check(found[1] in allowed, line, f'is not of {current}')
            labels = tuple(sorted(re.findall(rf'({NAME})="((?:[^"\\]|\\.)*)"', found[2] or '')))
            equal(len(dict(labels)), len(labels), 'a label twice')
            check((found[1], labels) not in samples, line, ': twice')
            samples[found[1], labels] = float(found[3])
    return families


def check_family(name, kind, samples):
    check(kind, f'{name} has no TYPE')
    check(not any(math.isnan(v) for v in samples.values()), name)
    if kind == 'counter':
        check(name.endswith('_total'), f'{name}: a counter ends in _total')
        check(all(v >= 0 and v == int(v) for v in samples.values()), name)
    if kind != 'histogram':
        return
    series = {}
    for (part, labels), value in samples.items():
        rest = tuple(p for p in labels if p[0] != 'le')
        if part.endswith('_bucket'):
            series.setdefault(rest, []).append((float(dict(labels)['le']), value))
    check(series, f'{name} has no buckets')
    for rest, buckets in series.items():
        equal(buckets, sorted(buckets), f'{name}: bounds and counts rise')
        check([n for _, n in buckets] == sorted(n for _, n in buckets), f'{name}: counts add up')
        equal(buckets[-1], (math.inf, samples[name + '_count', rest]), f'{name}: +Inf is the count')
        check(samples[name + '_sum', rest] >= 0 and (samples[name + '_count', rest] > 0 or samples[name + '_sum', rest] == 0), name)


def page_of(s):
    answer = s.get('/metrics')
    equal((answer.status, answer.header('content-type')), (200, 'text/plain; version=0.0.4; charset=utf-8'))
    families = parse(answer.body.decode())
    for name, (kind, samples) in families.items():
        check_family(name, kind, samples)
    return {key: value for _, samples in families.values() for key, value in samples.items()}


@test
def the_page_of_metrics_keeps_the_rules_of_its_format_and_its_counters_only_rise():
    with Folder() as folder, serving(chat_model(folder)) as s:
        before = page_of(s)
        post(s, '/v1/completions', prompt='Once upon a time', max_tokens=5, ignore_eos=True)
        post(s, '/v1/completions', prompt=[1, 'x'])
        s.get('/nothing')
        after = page_of(s)
        model = (('model_name', 'm'),)
        for name, want in (('vllm:generation_tokens_total', 5), ('vllm:time_to_first_token_seconds_count', 1),
                           ('vllm:request_generation_tokens_sum', 5)):
            equal(after[name, model] - before[name, model], want, name)
        for code in ('unknown_url', 'invalid_value'):
            equal(after['runnel:errors_total', (('code', code),)], 1, code)
        for (name, labels), value in before.items():
            if re.search('_total$|_bucket$|_sum$|_count$', name):
                check(after[name, labels] >= value, name, labels)


@test
def generations_count_by_how_they_ended_also_those_whose_client_left():
    slow = {'prompt': 'Once upon a time', 'max_tokens': 400, 'ignore_eos': True, 'max_tokens_per_second': 1}

    def ended(s):
        return [page_of(s)['vllm:request_success_total', (('finished_reason', reason), ('model_name', 'm'))]
                for reason in ('stop', 'length', 'abort', 'error')]
    with Folder() as folder, serving(chat_model(folder), '--streams', 1) as s:
        good(s, '/v1/completions', prompt='Once upon a time', max_tokens=2, ignore_eos=True)
        good(s, '/v1/completions', prompt='Once upon a time', max_tokens=40, stop=['e', 'a', ' '])
        equal(ended(s), [1, 1, 0, 0])
        with s.connect() as running, s.connect() as queued:
            running.request('POST', '/v1/completions', JSON, body=json.dumps({**slow, 'stream': True}))
            running.head()
            running.chunk()
            queued.request('POST', '/v1/completions', JSON, body=json.dumps(slow))
            wait_until(lambda: page_of(s)['vllm:num_requests_waiting', (('model_name', 'm'),)] == 1, 'one runs, one waits')
            with s.connect() as session:
                session.request('POST', '/v1/runnel/generate', JSON, body=json.dumps({**slow, 'session': 'a'}))
                wait_until(lambda: page_of(s)['vllm:num_requests_waiting', (('model_name', 'm'),)] == 2, 'another waits')
        wait_until(lambda: ended(s) == [1, 1, 3, 0], 'all three are counted')


@test
def a_model_by_an_odd_name_leaves_the_page_in_its_format():
    name = 'a "quoted" back\\slash, {brace}'
    with Folder() as folder:
        path = chat_model(folder).rename(folder / f'{name}.gguf')
        with Server('-m', path, '-t', '1', program=True) as s:
            label = name.replace('\\', '\\\\').replace('"', '\\"')
            check(('vllm:prompt_tokens_total', (('model_name', label),)) in page_of(s))


main()
