#!/usr/bin/env python3
"""tests/serve/embed_prompts_test.py - /v1/embeddings of an encoder's folder: its prompts and the sizes of its vectors, as `runnel embed` has them."""
from api import good, post, serving
from serving import ROOT, check, equal, main, runnel, test

MODEL = ROOT / 'tests/cli/encoders/embeddinggemma'


def embed(*args):
    return [line['embedding'] for line in runnel('embed', '-m', MODEL, '--json', *args).ok().lines]


def near(got, want):
    check(len(got) == len(want) and all(abs(a - b) < 1e-6 for a, b in zip(got, want)), got, want)


@test
def a_prompt_is_named_and_vectors_are_cut_as_the_program_does_it():
    with serving(MODEL) as s:
        def vectors(**body):
            return [d['embedding'] for d in good(s, '/v1/embeddings', input=['mat', 'a dog'], **body)['data']]
        for body, args in (({}, ()), ({'prompt_name': 'query'}, ('--prompt-name', 'query')), ({'prompt_name': 'document', 'dimensions': 5}, ('--dimensions', 5)),
                           ({'normalize': False, 'dimensions': 3}, ('--no-normalize', '--dimensions', 3))):
            for got, want in zip(vectors(**body), embed(*args, 'mat', 'a dog')):
                near(got, want)
        post(s, '/v1/embeddings', input='a', prompt_name='title').refuses(400, 'invalid_value', "prompt_name: the model has no prompt 'title'; it has query, document")
        post(s, '/v1/embeddings', input='a', dimensions=18).refuses(400, 'invalid_value', 'dimensions: 18 is outside 1..17')
        ids = good(s, '/v1/embeddings', input=[[2, 10, 3]], prompt_name='query')['data'][0]['embedding']      # ids stay as they are
        near(ids, embed('mat')[0])
        near(good(s, '/api/embed', model='', input='mat')['embeddings'][0], embed('mat')[0])


main()
