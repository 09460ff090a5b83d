#!/usr/bin/env python3
"""Adapters over HTTP: named as `model` or in `lora`, alone and in one batch, their scales for all, and what is refused."""
import sys
import threading

from api import STORY, chat_model, good, post, serving
from serving import Folder, MODEL, check, equal, main, runnel, test

sys.path.insert(0, str(MODEL.parent.parent / 'tests' / 'cli'))
import lora_file                     # noqa: E402

ASK = {'prompt': 'Once upon a time', 'max_tokens': 16, 'seed': 3}


def adapters(folder):
    return (lora_file.write(folder / 'first.gguf', MODEL), lora_file.write(folder / 'second.gguf', MODEL, only='ffn', seed=2, size=0.4))


def told(s, **body):
    return good(s, '/v1/completions', **{**ASK, **body})['choices'][0]['text']


@test
def a_request_names_adapters_by_model_or_in_a_list():
    with Folder() as folder:
        first, second = adapters(folder)
        with serving(chat_model(folder), '--lora', f'{first}=0', '--lora', f'{second}=0', '-v') as s:
            plain, one, two = told(s), told(s, model='first'), told(s, model='second')
            equal(len({plain, one, two}), 3, (plain, one, two))
            equal(told(s, lora=[{'id': 0, 'scale': 1}]), one)
            equal(told(s, lora=[{'name': 'first'}]), one)
            equal(told(s, lora=[{'id': 0, 'scale': 0}, {'id': 1}]), two)
            equal(told(s, lora=[]), plain)
            equal(told(s, model='m'), plain)
            both = told(s, lora=[{'id': 1}, {'id': 0, 'scale': 0.5}])
            check(both not in (plain, one, two))
            equal(told(s, lora=[{'id': 0, 'scale': 0.5}, {'id': 1}]), both)
            equal(good(s, '/v1/completions', **ASK, model='first')['model'], 'first')
            chat = good(s, '/v1/chat/completions', messages=STORY, max_tokens=4, model='second')
            equal(chat['model'], 'second')
            llama = good(s, '/completion', prompt=ASK['prompt'], n_predict=16, seed=3, lora=[{'id': 0, 'scale': 1}])
            check(llama['content'])
            rows = [good(s, '/v1/embeddings', input='a text', **more)['data'][0]['embedding'] for more in ({}, {'model': 'first'})]
            check(rows[0] != rows[1])
            for lora, want in (([{'id': 0}], rows[1]), ([{'name': 'first', 'scale': 0}], rows[0]), ([], rows[0])):
                equal([good(s, path, input='a text', lora=lora)['data'][0][name] for path, name in (('/v1/embeddings', 'embedding'), ('/pooling', 'data'))], [want] * 2)
            post(s, '/v1/embeddings', input='a', lora=[{'id': 2}]).refuses(400, 'invalid_value', 'lora[0]: there is no such adapter')


@test
def streams_with_different_adapters_run_together_and_have_their_own_texts():
    with Folder() as folder:
        first, second = adapters(folder)
        bodies = [{}, {'model': 'first'}, {'model': 'second'}, {'lora': [{'id': 0, 'scale': -0.5}]}, {'lora': [{'id': 0}, {'id': 1}]}]
        with serving(chat_model(folder), '--lora', f'{first}=0', '--lora', f'{second}=0', '--streams', '5') as s:
            alone = [told(s, **body) for body in bodies]
            got = [None] * len(bodies)

            def ask(i):
                got[i] = told(s, **bodies[i])

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            equal(got, alone)


@test
def scales_for_requests_that_name_none_are_set_at_start_and_later():
    with Folder() as folder:
        first, second = adapters(folder)
        with serving(chat_model(folder), '--lora', first, '--lora', f'{second}=0') as s:
            one = told(s)
            equal(told(s, lora=[{'id': 0}]), one)
            listed = s.get('/lora-adapters').json
            equal([(a['id'], a['name'], a['path'], a['scale'], a['rank']) for a in listed],
                  [(0, 'first', 'first.gguf', 1, 2), (1, 'second', 'second.gguf', 0, 2)])
            equal(s.post('/lora-adapters', '[{"id": 1, "scale": 1}]').json, {'success': True})
            equal([a['scale'] for a in s.get('/lora-adapters').json], [0, 1])
            two = told(s)
            equal(told(s, model='second'), two)
            good(s, '/lora-adapters', adapters=[])
            equal([a['scale'] for a in s.get('/lora-adapters').json], [0, 0])
            check(told(s) not in (one, two))


@test
def adapters_are_listed_among_the_models():
    with Folder() as folder:
        first, _ = adapters(folder)
        with serving(chat_model(folder), '--lora', first) as s:
            models = s.get('/v1/models').json['data']
            equal([(m['id'], m['root'], m.get('parent')) for m in models], [('m', 'm', None), ('first', 'm', 'm')])
            equal(s.get('/v1/models/first').json['id'], 'first')


@test
def what_is_no_adapter_is_refused():
    with Folder() as folder:
        first, _ = adapters(folder)
        with serving(chat_model(folder), '--lora', first) as s:
            for lora, why in (([{'id': 1}], 'lora[0]: there is no such adapter'), ([{'name': 'x'}], 'lora[0]: there is no such adapter'),
                              ([{'id': 0}, {'name': 'first'}], 'lora[1]: adapter 0 is named twice'), ([{'id': 0, 'scale': 1001}], 'scale'),
                              ([{}], 'either id or name'), ([1], 'either id or name'), ({'id': 0}, 'must be an array'),
                              ([{'id': 0, 'name': 'first'}], 'either id or name')):
                answer = post(s, '/v1/completions', **ASK, lora=lora)
                equal(answer.status, 400, lora)
                check('1001 is outside' in answer.json['error']['message'] if why == 'scale' else why in answer.json['error']['message'], answer.json)
            for body in ('[{"id": 3}]', '{}', '[', '{"adapters": 1}', '[{"id": 0, "scale": 1}, {"id": 0}]'):
                equal(s.post('/lora-adapters', body).status, 400, body)
        with serving(chat_model(folder), '--lora', first, '--api-key', 'k' * 20) as s:
            key = f"authorization: Bearer {'k' * 20}"
            equal(good(s, '/v1/completions', key, **ASK, lora=[{'id': 0}])['choices'][0]['text'], good(s, '/v1/completions', key, **ASK)['choices'][0]['text'])
            post(s, '/lora-adapters', key, adapters=[]).refuses(400, 'unsupported_parameter', 'with API keys')
        runnel('serve', '--port', 0, '-m', f'first={MODEL}', '--lora', first).fails(2, "its name, 'first', is a model's")
        runnel('run', '-m', MODEL, '--lora', MODEL, 'x').fails(1, "expected 'adapter'")
        runnel('run', '-m', MODEL, '--lora', first, '--lora', first, 'x').fails(2, 'adapter first: the model has one of this name')


if __name__ == '__main__':
    main()
