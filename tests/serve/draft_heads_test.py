#!/usr/bin/env python3
"""Draft heads of the server's model: requests name them in `speculate`, and are refused where there are none."""
import os
import pathlib

from api import good, post, serving
from serving import MODEL, ROOT, Skip, check, equal, main, test

SHARED = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared') / 'models/stories'
ASK = {'prompt': 'Once upon a time', 'max_tokens': 24, 'seed': 3}


@test
def requests_name_the_heads_of_the_server():
    if not SHARED.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    with serving(MODEL, '--draft-heads', f'medusa={SHARED}/medusa', '--draft-heads', f'eagle={SHARED}/eagle') as s:
        plain = good(s, '/v1/completions', **ASK)['choices'][0]['text']
        for more in ({'speculate': 'medusa', 'draft_min': 4}, {'speculate': 'eagle', 'draft_min': 4}, {'speculate': ['ngram', 'medusa']}):
            equal(good(s, '/v1/completions', **ASK, **more)['choices'][0]['text'], plain)


@test
def some_of_the_models_own_layers_draft():
    with serving(MODEL, '--draft-heads', 'layer-skip=4') as s:
        plain = good(s, '/v1/completions', **ASK, speculate='none')['choices'][0]['text']
        drafted = good(s, '/v1/completions', **ASK, speculate='layer-skip', draft_min=4)['choices'][0]
        equal(drafted['text'], plain)
        check(drafted['runnel']['speculation']['by_drafter']['layer-skip'][0] > 20, drafted)


@test
def heads_that_the_server_does_not_have_are_refused():
    with serving(MODEL) as s:
        answer = post(s, '/v1/completions', **ASK, speculate='medusa')
        check(400 <= answer.status < 500, answer)
        check('speculate: medusa: no such draft heads were added to' in str(answer.json), answer.json)


main()
