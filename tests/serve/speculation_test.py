#!/usr/bin/env python3
"""tests/serve/speculation_test.py - a model that drafts, through the server's interfaces: the same answers, and what is refused."""
import struct

from api import chat_model, good, post, serving, stream
from serving import MODEL, ROOT, Folder, check, equal, main, test

GENERATE = '/v1/runnel/generate'
ASKED = {'prompt': 'Once upon a time', 'max_tokens': 40, 'ignore_eos': True, 'seed': 5}
DRAFTS = {'speculate': 'draft', 'draft_min': 3}


@test
def requests_name_the_model_that_drafts():
    with Folder() as folder:
        model = chat_model(folder)
        with serving(model, '--draft', model, '--streams', '4') as s:
            equal(len(s.get('/v1/models').json['data']), 1)
            for temperature in (0, 1):
                for path in (GENERATE, '/v1/completions'):
                    asked = {**ASKED, 'temperature': temperature}
                    plain, drafted = (post(s, path, **asked, **more).json for more in ({}, DRAFTS))
                    equal(drafted['choices'][0]['text'], plain['choices'][0]['text'], path)
            figures = [post(s, path, **ASKED, **DRAFTS, temperature=0).json for path in (GENERATE, '/v1/completions')]
            figures = [figures[0]['choices'][0]['speculation'], figures[1]['choices'][0]['runnel']['speculation']]
            check(all(f['accepted'] >= 20 and sum(n for n, _ in f['by_depth']) == f['drafted'] for f in figures), figures)
            told = s.get('/metrics').body.decode()
            for name, member in (('draft', 'drafted'), ('accepted', 'accepted')):
                n = int(told.split('vllm:spec_decode_num_%s_tokens_total{model_name="m"} ' % name)[1].split('\n')[0])
                check(n >= sum(f[member] for f in figures), (name, n, figures))
                by = 'runnel:draft_%stokens_total{model_name="m",drafter="%%s"} ' % ('accepted_' if name == 'accepted' else '')
                of = {d: int(told.split(by % d)[1].split('\n')[0]) for d in ('draft', 'suffix', 'ngram')}
                check(of['draft'] >= sum(f[member] for f in figures) and of['ngram'] == 0 and sum(of.values()) == n, of)
                by = 'runnel:draft_tokens_per_pos_total' if name == 'draft' else 'vllm:spec_decode_num_accepted_tokens_per_pos_total'
                at = [int(told.split('%s{model_name="m",position="%d"} ' % (by, i))[1].split('\n')[0]) for i in range(16)]
                check(sum(at) == n and at[0] >= at[1] > 0, at)
            whole = post(s, '/completion', prompt='Once', n_predict=40, ignore_eos=True, temperature=0, **DRAFTS).json['timings']
            check(whole['draft_n'] >= whole['draft_n_accepted'] >= 20, whole)
            chat = {'messages': [{'role': 'user', 'content': 'Hello'}], 'max_tokens': 20, 'temperature': 0}
            plain, drafted = (post(s, '/v1/chat/completions', **chat, **more).json for more in ({}, DRAFTS))
            equal(drafted['choices'][0]['message'], plain['choices'][0]['message'])
        with serving(model) as s:
            refused = post(s, GENERATE, **ASKED, **DRAFTS)
            equal(refused.status, 400)
            check('draft needs a model' in refused.body.decode(), refused.body.decode())


@test
def chunks_say_which_of_their_tokens_were_guessed():
    with Folder() as folder:
        model = chat_model(folder)
        with serving(model, '--draft', model) as s:
            for interval in (1, 3):
                asked = {**ASKED, **DRAFTS, 'temperature': 0, 'logprobs': 0, 'stream_interval': interval}
                told = stream(s, GENERATE, **asked)
                guessed = [i for d in told for i in d.get('drafted', ())]
                check(guessed and all(0 <= i < len(d['tokens']) for d in told for i in d.get('drafted', ())), told)
                equal(len(guessed), told[-1]['speculation']['accepted'])
                whole = good(s, GENERATE, **asked)['choices'][0]
                equal([t for d in told for t in d['logprobs']], whole['logprobs'])
                check('drafted' not in whole, whole)
            plain = stream(s, GENERATE, **ASKED, speculate='none', logprobs=0)
            check(not any('drafted' in d for d in plain), plain)


@test
def what_has_no_effect_is_refused_as_at_the_command_line():
    with serving(MODEL) as s:
        for path in (GENERATE, '/v1/completions', '/completion'):
            for name, more, why in (('spec_verify', {'spec_verify': 'typical', 'speculate': 'none'}, 'without speculation'), ('draft_max', {'draft_max': 4, 'speculate': 'none'}, 'without speculation'),
                                    ('prediction', {'prediction': 'a', 'speculate': 'none'}, 'without speculation'), ('draft_min_p', {'draft_min_p': 0.5}, 'without the drafters draft or layer-skip')):
                refused = post(s, path, **{**ASKED, **more})
                equal((refused.status, f'{name}: has no effect {why}' in refused.body.decode()), (400, True), f'{path} {refused.body}')
        told = post(s, GENERATE, **ASKED, speculate='hydra').body.decode()
        check("'hydra' is not one of none|ngram|suffix|ngram-cache|lookahead|draft|mtp|medusa|eagle|layer-skip" in told, told)


@test
def an_n_gram_cache_guesses_for_requests_that_name_it():
    with Folder() as folder:
        asked = {**ASKED, 'temperature': 0, 'want_tokens': True}
        with serving(MODEL) as s:
            plain = good(s, GENERATE, **asked, speculate='none')['choices'][0]
        ids = plain['tokens']
        pairs = {tuple(ids[i - 2:i]): ids[i] for i in range(2, len(ids))}
        (folder / 'cache.bin').write_bytes(b''.join(struct.pack('<7i', *pair, -1, -1, 1, token, 9) for pair, token in pairs.items()))
        with serving(MODEL, '--ngram-cache', folder / 'cache.bin') as s:
            guessed = good(s, GENERATE, **asked, speculate='ngram-cache', draft_min=3, draft_max=3)['choices'][0]
            equal(guessed['text'], plain['text'])
            check(guessed['speculation']['by_drafter']['ngram-cache'][1] > 10, guessed['speculation'])


if __name__ == '__main__':
    main()
