#!/usr/bin/env python3
"""GET /openapi.json: it has the routes and members that the server has, says of values what the server says, and schemathesis finds nothing.

The last ones need what tests/serve/requirements.txt pins: they run in the environment of `./dev setup --clients`, or in the Python that
$RUNNEL_TEST_PYTHON names.
"""
import json
import os
import re
import subprocess
import sys

from api import chat_model, error_of, serving, with_holes
from rank_model import reranker
from request_fields import CONVERSATION, COUNT, LLAMA, MESSAGES_OF_ANTHROPIC, OLLAMA_CHAT, RERANK, REFUSED, ROUTES, TOKEN_DATA, TOKEN_IDS
from serving import KEY, ROOT, Folder, Skip, check, equal, main, test

try:
    import jsonschema
    import openapi_spec_validator
    import schemathesis     # noqa: F401
except ImportError:     # a virtual environment beside this one may have them
    python = os.environ.get('RUNNEL_TEST_PYTHON') or str(ROOT / 'build/clients/python/bin/python')
    if os.access(python, os.X_OK) and os.path.abspath(python) != os.path.abspath(sys.executable):
        os.execv(python, [python, *sys.argv])
    jsonschema = None

SAME = {'/rerank': '/v1/rerank', '/v2/rerank': '/v1/rerank', '/v1/score': '/score', '/completions': LLAMA, '/pooling': '/v1/embeddings',
        '/v1/responses/input_tokens': '/v1/responses'}
MANAGING = {f'/api/{name}' for name in ('pull', 'push', 'create', 'copy')}      # refused, whatever they say
# Members that a route reads because others of its kind have them, without a use for them, or refusing them.
OF_OTHERS = {'n', 'ids', 'token_times', 'with_pieces', 'sampled_logprobs', *CONVERSATION, *TOKEN_DATA, *TOKEN_IDS}
OF_ANSWERS = {'logprobs', 'top_logprobs', 'think'}
UNUSED = {LLAMA: OF_OTHERS, '/completions': OF_OTHERS, '/api/embed': OF_ANSWERS, '/api/embeddings': OF_ANSWERS, '/api/show': {'name'},
          '/apply-template': {'truncate'}, '/v1/responses': {'resumable'}, '/v1/responses/input_tokens': {'resumable'},
          COUNT: set(ROUTES[MESSAGES_OF_ANTHROPIC].fields) - set(ROUTES[COUNT].fields) - {'spaces_between_special_tokens'} | {'max_tokens'}}
# Those of /completion are tried there.
UNUSED['/infill'] = (OF_OTHERS | set(ROUTES[LLAMA].fields)) - {*ROUTES['/infill'].fields, *ROUTES['/infill'].least, 'spaces_between_special_tokens', 'image_data'}
OF_THE_MODEL = 'dimensions', 257        # a value in the description's range that this model does not have
FULL = bool(os.environ.get('RUNNEL_TEST_FULL'))
EXAMPLES = 200 if FULL else 5   # random requests for each operation, besides those at the bounds of each member
ENDS = 540      # seconds


def need_packages():
    if not jsonschema:
        raise Skip('schemathesis is not here (./dev setup --clients; RUNNEL_TEST_PYTHON names a Python that has it)')


def once(pairs):
    equal(len({k for k, _ in pairs}), len(pairs), pairs)
    return dict(pairs)


def page(server):
    answer = server.get('/openapi.json')
    equal((answer.status, answer.header('content-type')), (200, 'application/json'))
    return json.loads(answer.body, object_pairs_hook=once)


def body_of(spec, path):
    return spec['paths'][path]['post']['requestBody']['content']['application/json']


def schema_of(spec, path):
    return body_of(spec, path)['schema']


def validator(spec, path):
    return jsonschema.Draft202012Validator({**schema_of(spec, path), 'components': spec['components']}).is_valid


def routes():
    source = (ROOT / 'src/serve/routes.c').read_text()
    return {(m.lower(), p) for m, p in re.findall(r'^    \{"(GET|POST|DELETE)", "([^"]+)"', source, re.M)}


@test
def every_route_is_described_and_no_other():
    with Folder() as folder, serving(chat_model(folder)) as s:
        spec = page(s)
    described = {(method, path) for path, methods in spec['paths'].items() for method in methods}
    equal({(method, re.sub(r'\{.*', '', path)) for method, path in described}, routes())
    equal([path for path in spec['paths'] if path.endswith('/') and path != '/'], [])
    for path, methods in spec['paths'].items():
        for method, row in methods.items():
            check(row['summary'], path)
            check('400' in row['responses'] and '503' in row['responses'], path)
            check('200' in row['responses'] or '204' in row['responses'] or '101' in row['responses'] or path in MANAGING or path == '/api/delete', path)


@test
def every_member_is_described_and_no_other():
    with Folder() as folder, serving(chat_model(folder)) as s:
        spec = page(s)
    paths = {p for m, p in routes() if m == 'post'} - MANAGING
    equal(paths, set(ROUTES) | set(SAME))
    for path in paths:
        own = SAME.get(path, path)
        schema = schema_of(spec, path)
        least, fields = ROUTES[own]
        read, refused = set(schema['properties']), set(schema.get('x-runnel-refused', ()))
        equal(sorted((set(least) | set(fields)) - read - refused), [], path)
        equal(sorted(read - set(least) - set(fields)), sorted(UNUSED.get(path, ())), path)
        equal(sorted(set(REFUSED.get(own, ())) - read - refused), [], path)


@test
def ranges_and_defaults_are_the_servers():
    with Folder() as folder, serving(chat_model(folder)) as s:
        spec = page(s)
        sampling = {f['name']: f for f in s.get('/props').json['sampling']}
    chat = schema_of(spec, '/v1/chat/completions')['properties']
    for name, field in sampling.items():
        if name in chat and 'minimum' in chat[name]:
            equal((chat[name]['minimum'], chat[name]['maximum'], chat[name]['default']), (field['min'], field['max'], field['default']), name)
    equal(chat['temperature'], chat['temp'])
    equal((chat['n']['default'], chat['n']['maximum'], chat['stream']['default'], chat['cache_prompt']['default']), (1, 128, False, True))
    equal(schema_of(spec, '/v1/completions')['properties']['max_tokens']['default'], 16)
    equal(schema_of(spec, '/api/chat')['properties']['stream']['default'], True)
    check('default' not in chat['timeout'], chat['timeout'])
    query = {p['name']: p['schema'] for path in spec['paths'].values() for p in path.get('get', {}).get('parameters', ()) if p['in'] == 'query'}
    equal((query['last_event_id'], query['limit']['maximum'], set(query)), ({'type': 'string'}, 100, {'last_event_id', 'limit', 'order', 'after'}))     # NAME.5
    check(len([p for p in chat.values() if p == {}]) == 4, [n for n, p in chat.items() if p == {}])


@test
def members_that_are_required_are_the_ones_that_the_server_misses():
    with Folder() as folder, Folder() as other, serving(chat_model(folder), '-m', f'r={reranker(other)}', '-m', f'h={with_holes(other)}') as s:
        spec = page(s)
        for path, (least, _) in ROUTES.items():
            schema = schema_of(spec, path)
            any_of = [choice['required'][0] for choice in schema.get('anyOf', ())]
            for names in [[name] for name in schema.get('required', ())] + [any_of] * bool(any_of):
                answer = s.post(path, json.dumps({k: v for k, v in least.items() if k not in names}))
                equal((answer.status, error_of(answer.json)['code'] or 'missing_required_parameter'), (400, 'missing_required_parameter'), answer.body)
                check(names[0] in answer.body.decode(), answer.body)


@test
def a_validator_of_openapi_accepts_it():
    need_packages()
    with Folder() as folder, serving(chat_model(folder)) as s:
        openapi_spec_validator.validate(page(s))


@test
def values_that_are_answered_fit_and_numbers_that_are_refused_do_not():
    need_packages()
    with Folder() as folder, serving(chat_model(folder)) as s:
        spec = page(s)
    wrong = []
    for path, (least, fields) in ROUTES.items():
        valid = validator(spec, path)
        check(valid(least), path)
        for name, field in fields.items():
            wrong += [f'{path} {name}={v!r:.80}' for v in field.good if not valid({**least, **field.needs, name: v})]
            if 'minimum' in schema_of(spec, path)['properties'].get(name, ()):
                wrong += [f'{path} {name}={v!r:.80} (bad)' for v in field.bad if (name, v) != OF_THE_MODEL and valid({**least, **field.needs, name: v})]
    check(not wrong, '\n'.join(wrong))


@test
def the_examples_are_answered():
    with Folder() as folder, Folder() as other, serving(chat_model(folder), '-m', f'r={reranker(other)}', '-m', f'h={with_holes(other)}') as s:
        spec = page(s)
        for path in sorted({p for m, p in routes() if m == 'post'} - MANAGING - {'/api/show'}):
            model = {'model': 'r'} if SAME.get(path, path) in (RERANK, '/score') else {'model': 'h'} if path == '/infill' else {}
            answer = s.post(path, json.dumps({**body_of(spec, path)['example'], **model}))
            equal(answer.status, 200, f'{path}: {answer.body}')


@test
def the_options_of_ollama_are_described():
    with Folder() as folder, serving(chat_model(folder)) as s:
        options = page(s)['components']['schemas']['ollama_options']
    read, refused = set(options['properties']), set(options['x-runnel-refused'])
    for value in (*ROUTES[OLLAMA_CHAT].fields['options'].good, *ROUTES[OLLAMA_CHAT].fields['options'].bad):
        if isinstance(value, dict):
            equal(sorted(set(value) - read - refused - {'num_thread'}), [], value)     # an unknown one is ignored, with a header
    equal((options['properties']['num_predict']['anyOf'][0]['minimum'], options['properties']['temperature']['maximum']), (-2, 5))


@test
def a_key_is_in_it_where_one_is_needed():
    with Folder() as folder, serving(chat_model(folder)) as s:
        equal(page(s)['security'], [])
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        equal(s.get('/openapi.json').status, 401)
        spec = s.get('/openapi.json', f'Authorization: Bearer {KEY}').json
        for name in [name for choice in spec['security'] for name in choice]:
            scheme = spec['components']['securitySchemes'][name]
            header = f'Authorization: Bearer {KEY}' if scheme['type'] == 'http' else f'{scheme["name"]}: {KEY}'
            equal(s.get('/v1/models', header).status, 200, name)
        for path, methods in spec['paths'].items():
            for method, row in methods.items():
                with s.connect() as c:
                    answer = c.ask(method.upper(), path.replace('{file}', 'app.css').replace('{', '').replace('}', ''), body='{}' if method == 'post' else None)
                equal(answer.status == 401, row.get('security') != [], f'{method} {path}: {answer.status}')


def find_nothing(folder, server, *args, without=()):
    """Schemathesis's own checks, with one left out: that whatever fits the schema is answered, since members exclude each other, refer to
    earlier answers and depend on the model. 501 is the right answer for methods that HTTP does not know, and for what Ollama does with models."""
    config = folder / 'schemathesis.toml'
    config.write_text('hooks = "openapi_hooks"\n[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", "501"]\n'
                      '[parameters]\nmodel = "m"\nfile = "app.css"\n')
    ran = subprocess.run(
        [sys.executable, '-m', 'schemathesis.cli', '--config-file', config, 'run', f'http://127.0.0.1:{server.port}/openapi.json',
         '--max-examples', str(EXAMPLES), '--seed', '1', '--workers', '1', '--no-color', '--warnings', 'off', '--request-timeout', '60',
         '--exclude-checks', 'positive_data_acceptance', *(a for path in without for a in ('--exclude-path', path)), *args],
        capture_output=True, text=True, timeout=ENDS, cwd=folder, env={**os.environ, 'PYTHONPATH': str(ROOT / 'tests/serve')})
    check(ran.returncode == 0, ran.stdout[:9000], ran.stderr[-2000:])
    check(server.child.poll() is None, server.said)
    return int(re.search(r'Tested: +(\d+)$', ran.stdout, re.M)[1])


@test
def schemathesis_finds_nothing():
    """Each member's bounds and wrong types, missing and superfluous members, other methods, requests in a row, and random ones."""
    need_packages()
    without = [] if FULL else [*SAME, COUNT]      # they read what another path reads
    with Folder() as folder, serving(chat_model(folder), '-c', '256', '--queue', '64') as s:
        tested = find_nothing(folder, s, without=[*without, RERANK, '/score'])
    # One row of the table is two paths, and schemathesis leaves out the description's own.
    equal(tested, len(routes()) - len({*without, RERANK, '/score'}))


@test
def schemathesis_finds_nothing_in_rankings():
    need_packages()
    with Folder() as folder, serving(reranker(folder), '-c', '256') as s:
        equal(find_nothing(folder, s, '--include-path-regex', 'rank|score' if FULL else f'^({RERANK}|/score)$'), 5 if FULL else 2)


main()
