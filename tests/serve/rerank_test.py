#!/usr/bin/env python3
"""/v1/rerank: documents in the order of their scores, which are those of `runnel embed --query`."""
import json
import math
import re

from api import chat_model, good, post, serving
from serving import ROOT, Folder, check, equal, main, runnel, test
from rank_model import reranker

DOCUMENTS = ['A cat.', 'Dogs bark.', '', 'The moon is far', 'cats and cats']


def scores_of(model, query, texts):
    lines = runnel('embed', '-m', model, '--json', '--query', query, *texts).ok().lines
    return [line['embedding'][0] for line in lines], sum(line['n_tokens'] for line in lines)


def rank(s, **body):
    return good(s, '/v1/rerank', **{'query': 'cats', 'documents': DOCUMENTS, **body})


@test
def documents_come_in_the_order_of_the_scores_that_the_program_gives():
    with Folder() as folder:
        model = reranker(folder)
        want, n_tokens = scores_of(model, 'cats', DOCUMENTS)
        with serving(model) as s:
            answer = rank(s)
            equal(set(answer), {'id', 'object', 'model', 'usage', 'results'})
            equal(answer['usage'], {'prompt_tokens': n_tokens, 'total_tokens': n_tokens})
            equal([(r['index'], r['relevance_score']) for r in answer['results']],
                  sorted(enumerate(want), key=lambda r: (-r[1], r[0])))
            for path in ('/rerank', '/v2/rerank'):
                equal(good(s, path, query='cats', documents=DOCUMENTS)['results'], answer['results'])
            equal(rank(s, documents=[{'text': d} for d in DOCUMENTS])['results'], answer['results'])
            for n in (1, 2, 5, 6):
                equal(rank(s, top_n=n)['results'], answer['results'][:n])
            told = rank(s, return_documents=True)['results']
            equal([r['document'] for r in told], [{'text': DOCUMENTS[r['index']]} for r in told])


@test
def score_gives_the_same_numbers_in_the_order_of_the_texts():
    with Folder() as folder, serving(reranker(folder)) as s:
        want = {r['index']: r['relevance_score'] for r in rank(s)['results']}
        for path in ('/score', '/v1/score'):
            answer = good(s, path, text_1='cats', text_2=DOCUMENTS)
            equal(set(answer), {'id', 'object', 'created', 'model', 'usage', 'data'})
            equal(answer['data'], [{'index': i, 'object': 'score', 'score': want[i]} for i in range(len(DOCUMENTS))])
            equal(answer['usage'], rank(s)['usage'])
        equal(good(s, '/score', text_1='cats', text_2=DOCUMENTS[0])['data'], answer['data'][:1], 'one text')
        for body, code, part in (({'text_2': ['a']}, 'missing_required_parameter', 'text_1'), ({'text_1': 'a'}, 'missing_required_parameter', 'text_2'),
                                 ({'text_1': ['a'], 'text_2': ['b']}, 'invalid_value', 'text_1'), ({'text_1': 'a', 'text_2': [5]}, 'unsupported_parameter', 'text_2'),
                                 ({'text_1': 'a', 'text_2': ['b', 'long ' * 3000]}, 'context_length_exceeded', 'text_2[1]')):
            error = post(s, '/score', **body).json['error']
            equal((error['code'] == code or code == 'unsupported_parameter', error['param'].startswith(part)), (True, True), error)


@test
def an_encoder_reads_pairs_of_texts():
    model = ROOT / 'tests/cli/encoders/bert-pairs'
    golden = {(g['query'], g['text']): 1 / (1 + math.exp(-g['out'][0])) for g in json.loads((model / 'golden.json').read_text()) if 'query' in g}
    with serving(model) as s:
        for (query, text), want in golden.items():
            other = 'the mat'
            ranked = {r['index']: r['relevance_score'] for r in rank(s, query=query, documents=[other, text])['results']}
            scored = [d['score'] for d in good(s, '/score', text_1=query, text_2=[other, text])['data']]
            check(abs(ranked[1] - want) < 1e-4 and scored == [ranked[0], ranked[1]], query, ranked, want)
        post(s, '/v1/rerank', query='the ' * 30, documents=['a', 'the ' * 30]).refuses(400, 'context_length_exceeded', 'documents[1]')


@test
def a_long_list_of_documents_is_no_long_queue():
    with Folder() as folder:
        model = reranker(folder)
        texts = [f'number {i}' for i in range(100)]
        want, _ = scores_of(model, 'cats', texts)
        with serving(model, '--streams', '2', '--queue', '16') as s:
            answer = rank(s, documents=texts)
            equal({r['index']: r['relevance_score'] for r in answer['results']}, dict(enumerate(want)))


@test
def there_are_at_most_1000_documents():
    with Folder() as folder, serving(reranker(folder)) as s:
        equal(len(rank(s, documents=['x'] * 1000)['results']), 1000)
        post(s, '/v1/rerank', query='q', documents=['x'] * 1001).refuses(400, 'invalid_value', 'more than 1000 documents')


@test
def the_example_of_the_manual_is_answered():
    block, = re.findall(r'```json\n(\{"query".*?)```', (ROOT / 'docs/server-api.md').read_text(), re.S)
    with Folder() as folder, serving(reranker(folder)) as s:
        equal(len(good(s, '/v1/rerank', **json.loads(block))['results']), 1)


REFUSED = [
    ({'query': None}, 'missing_required_parameter', 'query'),
    ({'documents': None}, 'missing_required_parameter', 'documents'),
    ({'documents': []}, 'missing_required_parameter', 'documents'),
    ({'documents': 'x'}, 'invalid_value', 'documents'),
    ({'documents': ['x', 1]}, 'invalid_value', 'documents[1]'),
    ({'documents': [{'image': 'x'}]}, 'unsupported_parameter', 'documents[0]'),
    ({'documents': ['x', 'long ' * 3000]}, 'context_length_exceeded', 'documents[1]'),
    ({'documents': ['x'] * 40 + ['long ' * 3000]}, 'context_length_exceeded', 'documents[40]'),
    ({'top_n': 0}, 'invalid_value', 'top_n'),
    ({'max_tokens_per_doc': 4}, 'unsupported_parameter', 'max_tokens_per_doc'),
]


@test
def field_3_5_what_cannot_be_ranked_is_refused_by_name():
    with Folder() as folder, serving(reranker(folder)) as s:
        for change, code, param in REFUSED:
            body = {k: v for k, v in {'query': 'q', 'documents': ['x'], **change}.items() if v is not None}
            answer = post(s, '/v1/rerank', **body).refuses(400, code)
            equal(answer.json['error']['param'], param, json.dumps(change)[:100])
        equal(len(rank(s)['results']), len(DOCUMENTS))
    with Folder() as folder, serving(reranker(folder, None)) as s:
        equal(post(s, '/v1/rerank', query='q', documents=['x']).refuses(400, 'unsupported_parameter').json['error']['param'], 'model')
    with Folder() as folder, serving(chat_model(folder)) as s:
        check('reranker' in post(s, '/v1/rerank', query='q', documents=['x']).refuses(400, 'unsupported_parameter').json['error']['message'])


main()
