#!/usr/bin/env python3
"""One table of sampling parameters (src/sampling/params.c): what the server, its description, the command line, the manual, the page, the header and
docs/sampling.md say of each is the same, and the values that they take are."""
import json
import re

from api import chat_model, error_of, good, post, serving
from serving import MODEL, ROOT, Folder, check, equal, main, runnel, test

GENERATE = '/v1/runnel/generate'


def number(text):
    return float(text)


def table(s):
    """(name, is_int, lowest, highest, default) as /props has them, which is where the page gets them from."""
    return [(f['name'], f['is_int'], f['min'], f['max'], f['default']) for f in s.get('/props').json['sampling']]


def of_help():
    page = ' '.join(runnel('run', '--help').ok().text.split())
    sampling = page[page.index('Sampling:'):page.index('--samplers')]
    return [(name.replace('-', '_'), kind == 'N', number(low), number(high), number(value)) for name, kind, low, high, value in
            re.findall(r'--([a-z-]+) ([NX]) (?:(?!--).)*?\((-?[\d.]+?)\.\.(-?[\d.]+), default ([-\d.]+)\)', sampling)]


def of_page():
    return [(name, number(low), number(high), number(value)) for name, low, high, value in
            re.findall(r'^\| `(\w+)` \| (-?[\d.]+?)\.\.(-?[\d.]+) \| (\S+) \|$', (ROOT / 'docs/sampling.md').read_text(), re.M)]


def beyond(is_int, low, high):
    step = 1 if is_int else 0.5
    return low - step, high + step


@test
def everything_that_names_them_names_the_same_ranges_and_defaults():
    with Folder() as folder, serving(chat_model(folder)) as s:
        rows = table(s)
        check(len(rows) > 30, rows)
        equal(of_help(), rows)
        equal(of_page(), [(name, low, high, value) for name, _, low, high, value in rows])
        body = s.get('/openapi.json').json['paths'][GENERATE]['post']['requestBody']['content']['application/json']['schema']
        members = body['properties']
        manual = (ROOT / 'docs/man/runnel.1').read_text()
        header = (ROOT / 'include/runnel/request.h').read_text()
        for name, is_int, low, high, value in rows:
            m = members[name]
            of = m.get('anyOf', [m])[0]
            kind = of['type'] if isinstance(of['type'], str) else of['type'][0]
            least = -1 if name == 'top_k' else low         # another way to say 0, as in other APIs
            equal((kind, of['minimum'], of['maximum'], m['default']), ('integer' if is_int else 'number', least, high, value), name)
            check(re.search(rf'^\.It .*Fl -{name.replace("_", "-")} ', manual, re.M), f'{name} is not in the manual')
            check(re.search(rf'^    (?:float|int32_t) {name};', header, re.M), f'{name} is not in rn_sampling')
        names = re.findall(r'(\w+): (?:t\()?\'', ''.join(re.findall(r'^const (?:MORE_)?NAMES = (\{.*?\});', (ROOT / 'web/settings.js').read_text(), re.M | re.S)))
        equal(sorted(names), sorted(name for name, *_ in rows))


@test
def what_is_in_the_range_is_taken_and_what_is_beyond_is_refused_everywhere():
    with Folder() as folder, serving(chat_model(folder)) as s:
        rows = table(s)
        for name, is_int, low, high, _ in rows:
            for value in (low, high):
                good(s, GENERATE, prompt='Lily', max_tokens=1, seed=1, **{name: value})
            for value in beyond(is_int, low, high):
                if name == 'top_k' and value == -1:
                    continue
                answer = post(s, GENERATE, prompt='Lily', max_tokens=1, **{name: value})
                answer.refuses(400, 'invalid_value')
                equal(error_of(answer.json)['param'], name)
        lines = [{'prompt': 'Lily', 'n': 1, name: value} for name, is_int, low, high, _ in rows for value in (low, high, *beyond(is_int, low, high))]
        answers = runnel('batch', '-m', MODEL, '--in-order', stdin='\n'.join(map(json.dumps, lines)).encode()).lines
        for line, answer in zip(lines, answers):
            name, value = list(line.items())[-1]
            low, high = next((low, high) for n, _, low, high, _ in rows if n == name)
            equal('error' in answer, not low <= value <= high, line)
            if 'error' in answer:
                check(f'{name}: {value:.10g} is outside {low:.10g}..{high:.10g}' in answer['error'], answer)
        for name, is_int, low, high, _ in rows:
            for value in beyond(is_int, low, high):
                option = '--' + name.replace('_', '-')
                runnel('run', option, f'{value:.10g}', 'x').fails(2, f'{option}: {value:.10g} is outside {low:.10g}..{high:.10g}')


main()
