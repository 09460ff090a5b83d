#!/usr/bin/env python3
"""llama-server's /completion, in its members and its form, and small routes of vLLM."""
from api import chat_model, events, good, post, scripted, serving, stream, with_holes
from serving import Folder, check, equal, main, test

PATH = '/completion'
SHORT = {'prompt': 'Once upon a time', 'n_predict': 12, 'seed': 3}
PIECE = {'index', 'content', 'tokens', 'id_slot', 'stop', 'tokens_predicted', 'tokens_evaluated'}
LAST = PIECE | {'model', 'generation_settings', 'prompt', 'has_new_line', 'truncated', 'stop_type', 'stopping_word', 'stopped_eos', 'stopped_limit',
                'stopped_word', 'tokens_cached', 'timings'}


def told(server, path=PATH, **body):
    answer = post(server, path, stream=True, **body)
    equal((answer.status, answer.header('content-type')), (200, 'text/event-stream'), answer.body)
    return [d for _, _, d in events(answer.body)]


@test
def a_completion_says_what_v1_completions_says_in_llama_servers_form():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = good(s, '/v1/completions', prompt=SHORT['prompt'], max_tokens=12, seed=3, return_token_ids=True)
        choice = want['choices'][0]
        for path in (PATH, '/completions'):
            got = good(s, path, **SHORT, return_tokens=True)
            equal(set(got), LAST)
            equal((got['content'], got['tokens'], got['stop'], got['prompt']), (choice['text'], choice['token_ids'], True, SHORT['prompt']))
            equal((got['tokens_predicted'], got['tokens_evaluated'], got['tokens_cached']), (12, want['usage']['prompt_tokens'], 12 + 5))
            equal((got['stop_type'], got['stopped_limit'], got['stopped_eos'], got['stopped_word']), ('limit', True, False, False))
            equal((got['generation_settings']['seed'], got['generation_settings']['n_predict']), (3, 12))
        timings = got['timings']
        equal((timings['predicted_n'], timings['prompt_n'] + timings['cache_n']), (12, 5))
        check(timings['predicted_ms'] > 0 and timings['predicted_per_second'] > 0, timings)
        equal(good(s, PATH, **SHORT)['tokens'], [], 'unless they are asked for')
        ids = good(s, '/tokenize', content=SHORT['prompt'], add_special=True)['tokens']
        equal(good(s, PATH, **{**SHORT, 'prompt': ids})['content'], choice['text'])
        check(SHORT['prompt'] in good(s, PATH, **{**SHORT, 'prompt': ids})['prompt'], 'ids are shown as text')


@test
def a_stream_adds_up_to_the_whole_and_has_no_done():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {**SHORT, 'return_tokens': True, 'n_probs': 2}
        want = good(s, PATH, **body)
        data = told(s, **body)
        equal([d['stop'] for d in data], [False] * (len(data) - 1) + [True])
        check(all(set(d) - {'completion_probabilities'} == PIECE for d in data[:-1]) and set(data[-1]) - {'completion_probabilities'} == LAST, data)
        for name, empty in (('content', ''), ('tokens', []), ('completion_probabilities', [])):
            whole = empty
            for d in data:
                whole = whole + d.get(name, empty)
            equal(whole, want[name], name)
        counts = [d['tokens_predicted'] for d in data]
        equal((counts, counts[-1], {d['tokens_evaluated'] for d in data}), (sorted(counts), 12, {5}))
        for got in (want, data[-1]):
            for name in ('generation_settings', 'stop_type', 'prompt'):
                equal(got[name], want[name])


@test
def the_most_probable_tokens_come_by_n_probs():
    with Folder() as folder, serving(chat_model(folder)) as s:
        got = good(s, PATH, **SHORT, n_probs=3, return_tokens=True)
        probs = got['completion_probabilities']
        equal([p['id'] for p in probs], got['tokens'])
        equal(''.join(p['token'] for p in probs), got['content'])
        content = good(s, '/v1/runnel/generate', prompt=SHORT['prompt'], max_tokens=12, seed=3, logprobs=3)['choices'][0]['logprobs']
        equal([p['logprob'] for p in probs], [c['logprob'] for c in content])
        for p in probs:
            equal((len(p['top_logprobs']), bytes(p['bytes']).decode()), (3, p['token']))
            check(p['top_logprobs'][0]['logprob'] >= p['top_logprobs'][2]['logprob'], p)
        check('completion_probabilities' not in good(s, PATH, **SHORT), 'not asked for')
        drawn = good(s, PATH, **SHORT, n_probs=3, post_sampling_probs=True, top_k=3, min_p=0, top_p=1)['completion_probabilities']
        for p in drawn:
            equal(list(p), ['id', 'token', 'bytes', 'prob', 'top_probs'])
            check(abs(sum(t['prob'] for t in p['top_probs']) - 1) < 1e-5 and p['prob'] in [t['prob'] for t in p['top_probs']], p)
        equal(good(s, PATH, **SHORT, post_sampling_probs=True)['content'], got['content'])
        post(s, PATH, **SHORT, sampled_logprobs=2).refuses(400, 'unsupported_parameter', 'sampled_logprobs')


@test
def what_ended_an_answer_has_llama_servers_names():
    with Folder() as folder, serving(scripted(folder)) as s:
        rows = [({'n_predict': 1}, 'limit', ''), ({}, 'eos', ''), ({'stop': ['!']}, 'word', '!'), ({'n_predict': -1, 'stop': 'es"'}, 'eos', '')]
        for more, kind, word in rows:
            for streams in (False, True):
                body = {'prompt': 'N', 'temperature': 0, 'cache_prompt': True, 'id_slot': 1, **more}
                got = told(s, **body)[-1] if streams else good(s, PATH, **body)
                equal((got['stop_type'], got['stopping_word'], got['id_slot']), (kind, word, 1), more)
                equal([got[f'stopped_{k}'] for k in ('limit', 'eos', 'word')], [kind == k for k in ('limit', 'eos', 'word')])
        late = good(s, PATH, prompt='N', temperature=0, t_max_predict_ms=60000)
        equal(late['stop_type'], 'eos')


@test
def what_it_has_not_is_refused_by_name():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for body, code, part in (({}, 'missing_required_parameter', 'prompt'), ({'prompt': ['a', 'b']}, 'invalid_value', 'prompt'),
                                 ({'prompt': 'a', 'n': 2}, 'unsupported_parameter', 'n'), ({'prompt': 'a', 'n_keep': 5}, 'unsupported_parameter', 'n_keep'),
                                 ({'prompt': 'long ' * 900}, 'context_length_exceeded', 'maximum context length is 512 tokens')):
            post(s, PATH, **body).refuses(400, code, part)


@test
def infill_says_what_stands_between_a_prefix_and_a_suffix():
    with Folder() as folder, serving(with_holes(folder)) as s:
        body = {'input_prefix': 'a <s>', 'input_suffix': ' z', 'temperature': 0}
        got = good(s, '/infill', **body, return_tokens=True)
        equal((got['content'], got['stop_type'], set(got)), ('the hole', 'eos', LAST))
        equal(got['prompt'], '<s><|fim_prefix|>a <s><|fim_suffix|> z<|fim_middle|>')
        # The tokens are those of the same text in one piece, where the texts spell no control tokens.
        whole = good(s, '/completion', prompt='<|fim_prefix|>a<|fim_suffix|> z<|fim_middle|>', parse_special=True, temperature=0, n_predict=1)
        few = good(s, '/infill', **{**body, 'input_prefix': 'a', 'n_predict': 1})
        equal((few['tokens_evaluated'], few['prompt']), (whole['tokens_evaluated'], '<s>' + whole['prompt']))
        data = told(s, '/infill', **body)
        equal((''.join(d['content'] for d in data), data[-1]['stop']), ('the hole', True))
        equal(good(s, '/infill', **body, prompt='b')['prompt'], '<s><|fim_prefix|>a <s>b<|fim_suffix|> z<|fim_middle|>')
        extra = [{'filename': 'f.c', 'text': 'int f;'}, {'text': 'int g;'}]
        equal(good(s, '/infill', **body, input_extra=extra)['prompt'],
              '<s>\n\n--- snippet ---\n\nint f;\n\n--- snippet ---\n\nint g;<|fim_prefix|>a <s><|fim_suffix|> z<|fim_middle|>')
        post(s, '/infill', **body, input_extra=[{'text': ''}] * 65).refuses(400, 'invalid_value', 'input_extra')
        # What the context of 512 has no room for is left out: of what is in front, the beginning; then the far ends.
        whole = good(s, '/infill', **body, input_extra=[{'text': ''}] * 64)
        check(whole['truncated'] and whole['prompt'].endswith('--- snippet ---\n\n<|fim_prefix|>a <s><|fim_suffix|> z<|fim_middle|>'), whole)
        equal((whole['content'], whole['tokens_evaluated']), ('the hole', 512 - 128))
        long = good(s, '/infill', **{**body, 'input_prefix': 'a' * 600 + 'b', 'input_suffix': 'z' * 600}, n_predict=2)
        before, behind = long['prompt'].removeprefix('<s><|fim_prefix|>').removesuffix('<|fim_middle|>').split('<|fim_suffix|>')
        equal((before, behind, long['truncated'], got['truncated']), ('a' * (len(before) - 1) + 'b', 'z' * len(behind), True, False))
        equal((len(before), len(behind), long['tokens_evaluated']), (506 * 3 // 4, 506 - 506 * 3 // 4, 510))
        for missing in ('input_prefix', 'input_suffix'):
            post(s, '/infill', **{k: v for k, v in body.items() if k != missing}).refuses(400, 'missing_required_parameter', missing)
        equal(good(s, '/infill', **body, infill_order='spm')['prompt'], '<s><|fim_suffix|> z<|fim_prefix|>a <s><|fim_middle|>')
        post(s, '/infill', **body, infill_order='mps').refuses(400, 'invalid_value', 'infill_order')
        post(s, '/infill', **body, stop_tokens=list(range(300, 428))).refuses(400, 'invalid_value', 'stop_tokens')
        post(s, '/infill', **body, prompt=[5]).refuses(400, 'invalid_value', 'prompt')
        post(s, '/infill', **body, input_extra=[{'filename': 'a'}]).refuses(400, 'invalid_value', 'input_extra')
        post(s, '/infill', **body, messages=[{'role': 'user', 'content': 'a'}]).refuses(400, 'unsupported_parameter', 'messages')
    with Folder() as folder, serving(with_holes(folder, '<|file_sep|>', '<|repo_name|>')) as s:
        behind = '<|file_sep|>f.c\nint f;<|file_sep|>tmp\nint g;<|file_sep|>{}\n<|fim_prefix|>a <s><|fim_suffix|> z<|fim_middle|>'
        equal(good(s, '/infill', **body, input_extra=extra)['prompt'], '<s><|repo_name|>myproject\n' + behind.format('filename'))
        equal(good(s, '/infill', **body, input_extra=extra, repo_name='r', file_name='h.c')['prompt'], '<s><|repo_name|>r\n' + behind.format('h.c'))
    with Folder() as folder, serving(chat_model(folder)) as s:
        post(s, '/infill', **body).refuses(400, 'unsupported_parameter', 'no tokens for a prompt with a hole')


@test
def a_suffix_makes_a_hole_of_a_completion():
    with Folder() as folder, serving(with_holes(folder)) as s:
        body = {'suffix': ' z', 'temperature': 0, 'model': 'm'}
        many = good(s, '/v1/completions', **body, prompt=['a', 'b'], n=2, return_token_ids=True, logprobs=2)
        equal([(c['text'], c['finish_reason']) for c in many['choices']], [('the hole', 'stop')] * 4)
        prompts = [good(s, '/detokenize', tokens=c['prompt_token_ids'], special=True)['content'] for c in many['choices']]
        equal(prompts, [f'<s><|fim_prefix|>{c}<|fim_suffix|> z<|fim_middle|>' for c in 'aabb'])
        equal(''.join(d['choices'][0]['text'] for d in stream(s, '/v1/completions', **body, prompt='a')), 'the hole')
        # An end of the middle that the model writes ends the answer, whatever the request's own end tokens are.
        equal(good(s, '/v1/completions', **body, prompt='a', ignore_eos=True, max_tokens=4, stop_token_ids=[5])['choices'][0]['text'][:8], 'the hole')
        for more, code, part in (({'echo': True}, 'unsupported_parameter', 'echo'), ({'truncate_prompt_tokens': 5}, 'unsupported_parameter', 'suffix'),
                                 ({'prompt': [5, 6]}, 'invalid_value', 'a prompt that is text'), ({'suffix': 'z' * 600}, 'context_length_exceeded', '512')):
            post(s, '/v1/completions', **{**body, 'prompt': 'a', **more}).refuses(400, code, part)
        equal(good(s, '/api/generate', model='m', prompt='a', suffix=' z', stream=False, options={'temperature': 0})['response'], 'the hole')
        for member in ({'raw': True}, {'system': 'a'}, {'context': [5]}):
            answer = post(s, '/api/generate', model='m', prompt='a', suffix=' z', **member)
            equal((answer.status, answer.json['error']), (400, f'{next(iter(member))}: excludes suffix'))
    with Folder() as folder, serving(chat_model(folder)) as s:
        post(s, '/v1/completions', prompt='a', suffix='b').refuses(400, 'unsupported_parameter', 'no tokens for a prompt with a hole')
        equal(good(s, '/v1/completions', prompt='a', suffix='', max_tokens=1)['choices'][0]['finish_reason'], 'length')


@test
def pooling_gives_the_vectors_of_embeddings():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for more in ({}, {'pooling': 'mean', 'dimensions': 8}, {'encoding_format': 'base64'}):
            want = good(s, '/v1/embeddings', input=['a cat', 'a dog'], **more)
            got = good(s, '/pooling', input=['a cat', 'a dog'], **more)
            equal([(d['object'], d['index'], d['data']) for d in got['data']], [('pooling', d['index'], d['embedding']) for d in want['data']])
            equal(got['usage'], want['usage'])
        post(s, '/pooling', input=[]).refuses(400, 'invalid_value', 'input')


@test
def the_server_tells_its_version_and_its_tokenizer():
    with Folder() as folder, serving(chat_model(folder)) as s:
        equal(list(s.get('/version').json), ['version'])
        equal(s.get('/version').json['version'], s.get('/props').json['build_info'])
        info = s.get('/tokenizer_info').json
        equal((info['bos_token'], info['eos_token'], info['model_max_length']), ('<s>', '</s>', 512))
        check(info['vocab_size'] == 4096 and 'messages' in info['chat_template'], info)


main()
