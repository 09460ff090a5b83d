#!/usr/bin/env python3
"""What clients may call a model: aliases as hubs and other servers write them, escaped or not; and a model that cannot chat says so."""
import threading
import urllib.parse

from api import STORY, chat_model, good, post, serving
from serving import Folder, MODEL, SANITIZED, Server, check, equal, main, runnel, test

NAMES = ('org/model', 'llama3.1:8b', 'a/b/c:latest', '100%', 'back\\slash', '..', 'ä', 'with?query')


@test
def an_alias_is_another_name_for_the_same_copy():
    with Folder() as folder:
        model = chat_model(folder)
        args = [word for name in NAMES for word in ('--alias', name)]
        with serving(model, '-m', f'second={MODEL}', *args, '--alias', 'other=second', '--alias', 'mine=m') as s:
            listed = s.get('/v1/models').json['data']
            equal([m['id'] for m in listed], ['m', 'second', *NAMES, 'other', 'mine'])
            equal([m['root'] for m in listed], ['m', 'second', *['m'] * len(NAMES), 'second', 'm'])
            told = good(s, '/v1/completions', prompt='Once', max_tokens=4, seed=1)['choices'][0]['text']
            for name in (*NAMES, 'mine'):
                equal(good(s, '/v1/completions', model=name, prompt='Once', max_tokens=4, seed=1)['choices'][0]['text'], told, name)
            equal(good(s, '/v1/completions', model='other', prompt='Once', max_tokens=1)['model'], 'second')
            post(s, '/v1/completions', model='unheard', prompt='Once').refuses(404, 'model_not_found')
            n_models = s.said.count('model m:')
            equal(n_models, 1, 'a second copy')


@test
def a_model_is_found_by_its_name_in_a_path_with_escapes_or_without():
    with Folder() as folder:
        args = [word for name in NAMES for word in ('--alias', name)]
        with serving(chat_model(folder), *args) as s:
            for name in NAMES:
                for safe in ('', '/:', '/'):
                    quoted = urllib.parse.quote(name, safe=safe)
                    if name == '..' and quoted == '..':
                        quoted = '%2e%2E'
                    answer = s.get(f'/v1/models/{quoted}')
                    equal((answer.status, answer.json.get('id')), (200, name), quoted)
            for path in ('/v1/models/unheard', '/v1/models/%00', '/v1/models/m%00', '/v1/models/%zz', '/v1/models/m%2', '/v1/models/' + 'm' * 300,
                         '/v1/models/a%0ab', '/v1/models/..', '/v1/models/../models/m', '/v1/models//m', '/v1%2fmodels/m', '/v1/models%2fm',
                         '/v1/models/%2e%2e/health', '/page/%2e%2e/health', '/v1/responses/%2e%2e'):
                equal(s.get(path).status, 404, path)


@test
def names_that_cannot_be_are_refused_at_start():
    for args, why in ((('--alias', ''), 'the name must have'), (('--alias', 'a b'), 'the name must have'), (('--alias', 'x' * 257), 'the name must have'),
                      (('--alias', 'x=unheard'), 'no model has the name'), (('--alias', 'x='), 'no model has the name'),
                      (('--alias', 'm'), 'another model has this name'), (('--alias', 'x', '--alias', 'x'), 'another model has this name')):
        runnel('serve', '--port', 0, '-m', f'm={MODEL}', *args).fails(2, why)


@test
def a_model_that_cannot_chat_says_so_at_start_and_when_it_is_asked():
    with Server('--port', '0', program=True) as s:
        told = [line for line in s.said.splitlines() if 'cannot chat' in line]
        equal(len(told), 1, s.said)
        for path, body in (('/v1/chat/completions', {'messages': STORY}), ('/v1/responses', {'input': 'x'}),
                           ('/v1/chat/completions', {'messages': STORY, 'stream': True}), ('/v1/runnel/generate', {'messages': STORY})):
            message = post(s, path, **body).refuses(400, 'unsupported_parameter', 'cannot chat').json['error']['message']
            check(message in told[0] and './dev model smollm2-135m' in message and 'runnel serve -m smollm2-135m' in message, message)
        good(s, '/v1/completions', prompt='Once upon a time', max_tokens=2)
    with Server('--chat-template', 'chatml', program=True) as s:
        check('cannot chat' not in s.said, s.said)
        good(s, '/v1/chat/completions', messages=STORY, max_tokens=2)


@test
def a_burst_of_200_requests_to_the_default_server_is_answered_whole():
    n = 100 if SANITIZED else 200       # more than run and 64
    with Server(program=True) as s:
        statuses = []

        def one(i):
            statuses.append(post(s, '/v1/completions', prompt=f'Once upon a time {i}', max_tokens=1).status)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(sorted(statuses), [200] * n)


@test
def a_waiting_stream_takes_150_kib_of_the_plan_and_the_queue_fits_a_small_one():
    def streams_mib(n_queue):
        with Server('--queue', n_queue, program=True) as s:
            words = next(line for line in s.said.splitlines() if line.startswith('streams ')).split()
            equal(words[2], 'MiB')
            return float(words[1])

    each_kib = (streams_mib(2064) - streams_mib(64)) * 1024 / 2000
    check(100 < each_kib <= 150, each_kib)
    for memory, n in ((420, 358), (64000, 1024)):
        with Server('--memory', memory, program=True) as s:
            equal(s.get('/props').json['queue'], n, memory)
    with Server(program=True) as s:
        equal(s.get('/props').json['queue'], 1024)


main()
