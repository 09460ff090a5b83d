#!/usr/bin/env python3
"""tests/serve/prediction_test.py - guesses and predictions, through the server's interfaces: the same text, and what came of them."""
import json

from api import chat_model, good, post, serving
from serving import Folder, check, equal, main, test

CHAT, TEXT, GENERATE = '/v1/chat/completions', '/v1/completions', '/v1/runnel/generate'
STORY = [{'role': 'user', 'content': 'Once upon a time'}]
SETTINGS = {'temperature': 0, 'max_tokens': 60, 'ignore_eos': True, 'seed': 1}


def of_openai(text):
    half = len(text) // 2
    return (text, {'type': 'content', 'content': text},
            {'type': 'content', 'content': [{'type': 'text', 'text': text[:half]}, {'type': 'text', 'text': text[half:]}]})


@test
def a_prediction_is_looked_in_and_usage_says_what_came_of_it():
    with Folder() as folder, serving(chat_model(folder)) as s:
        plain = post(s, CHAT, messages=STORY, **SETTINGS).json
        check('accepted_prediction_tokens' not in plain['usage']['completion_tokens_details'], plain['usage'])
        text = plain['choices'][0]['message']['content']
        for prediction in of_openai(text):
            body = {'messages': STORY, 'prediction': prediction, 'draft_min': 4, **SETTINGS}
            answer = post(s, CHAT, **body).json
            equal(answer['choices'][0]['message'], plain['choices'][0]['message'])
            counts = answer['usage']['completion_tokens_details']
            check(counts['accepted_prediction_tokens'] > 20 and counts['rejected_prediction_tokens'] >= 0, counts)
            equal(answer['usage']['completion_tokens'], 60)  # rejected ones are not counted
            told = post(s, CHAT, **body, stream=True, stream_options={'include_usage': True}).body.decode()
            parts = [json.loads(line[6:]) for line in told.splitlines() if line.startswith('data: {')]
            equal(''.join(p['choices'][0]['delta'].get('content') or '' for p in parts if p['choices']), text)
            check(parts[-1]['usage']['completion_tokens_details']['accepted_prediction_tokens'] > 20, parts[-1])
        wrong = post(s, CHAT, messages=STORY, prediction='no', draft_min=4, **SETTINGS).json
        equal(wrong['choices'][0]['message'], plain['choices'][0]['message'])
        equal(wrong['usage']['completion_tokens_details']['accepted_prediction_tokens'], 0)


@test
def a_prediction_works_with_what_openai_refuses_beside_it():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for more in ({'n': 2}, {'logprobs': True, 'top_logprobs': 2}, {'presence_penalty': 1, 'frequency_penalty': 0.5}, {'temperature': 1}):
            body = {'messages': STORY, **SETTINGS, **more}
            plain = post(s, CHAT, **body).json
            answer = post(s, CHAT, **body, draft_min=4, prediction=plain['choices'][0]['message']['content']).json
            equal(*([(c['message'], c['logprobs']) for c in a['choices']] for a in (answer, plain)))
            check(answer['usage']['completion_tokens_details']['accepted_prediction_tokens'] > 5, answer['usage'])


@test
def other_interfaces_take_a_prediction_and_any_drafter():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, of in ((TEXT, lambda a: a['choices'][0]['text']), (GENERATE, lambda a: a['choices'][0]['text']),
                         ('/completion', lambda a: a['content'])):
            text = of(post(s, path, prompt='Once', **SETTINGS).json)
            for more in ({'prediction': text}, {'speculate': 'ngram', 'prediction': text[9:]}, {'speculate': ['suffix', 'ngram']}, {'speculate': 'none'}):
                equal(of(post(s, path, prompt='Once', draft_min=0 if 'none' in more.values() else 4, **SETTINGS, **more).json), text, (path, more))


def of_openai_usage(answer):
    return answer['usage']['completion_tokens_details']


def of_other_usage(answer):
    return answer['usage']['output_tokens_details']


def of_figures(answer):
    figures = answer.get('speculation', {})
    return {f'{name}_tokens': figures[name] for name in ('accepted_prediction', 'rejected_prediction') if name in figures}


DIALECTS = (    # route, members, the counts of a whole answer and of a stream's last object, the object that has `speculation`
    (CHAT, {'messages': STORY, 'stream_options': {'include_usage': True}, **SETTINGS}, of_openai_usage, lambda a: a['choices'][0]['runnel']),
    (TEXT, {'prompt': 'Once', 'stream_options': {'include_usage': True}, **SETTINGS}, of_openai_usage, lambda a: a['choices'][0]['runnel']),
    ('/v1/responses', {'input': 'Once', 'max_output_tokens': 60, 'temperature': 0, 'ignore_eos': True, 'seed': 1}, of_other_usage, lambda a: a['runnel']),
    ('/v1/messages', {'messages': STORY, **SETTINGS}, of_other_usage, lambda a: a['runnel']),
    ('/api/generate', {'prompt': 'Once', 'raw': True, 'options': {'temperature': 0, 'num_predict': 60, 'seed': 1}}, of_figures, lambda a: a),
)
SAID = (lambda a: a['choices'][0]['message']['content'], lambda a: a['choices'][0]['text'], lambda a: a['output'][0]['content'][0]['text'],
        lambda a: a['content'][0]['text'], lambda a: a['response'])


def with_members(body, **more):
    """Ollama's have them in `options`."""
    body = {'model': 'm', **body}
    return {**body, 'options': {**body['options'], **more}} if 'options' in body else {**body, **more}


def last_object(s, path, body):
    """What a stream says at its end; the response itself where events are about one."""
    lines = s.post(path, json.dumps({**body, 'stream': True})).body.decode().splitlines()
    told = [json.loads(line.removeprefix('data: ')) for line in lines if line.startswith(('data: {', '{'))]
    told = [t.get('response', t) if isinstance(t.get('response'), dict) else t for t in told]
    return next(t for t in reversed(told) if t.get('usage') or t.get('done'))


@test
def every_dialect_says_what_came_of_a_prediction_streamed_and_whole():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for (path, body, counts_of, rest_of), said in zip(DIALECTS, SAID):
            of_whole = {k: v for k, v in body.items() if k != 'stream_options'} | {'stream': False}
            plain = good(s, path, **with_members(of_whole, speculate='none'))
            drafted = {'prediction': said(plain), 'draft_min': 4}
            check('accepted_prediction_tokens' not in counts_of(plain) and 'speculation' not in rest_of(plain), path, plain)
            whole = good(s, path, **with_members(of_whole, **drafted))
            equal(said(whole), said(plain), path)
            counts = counts_of(whole)
            check(counts['accepted_prediction_tokens'] > 20 and counts['rejected_prediction_tokens'] >= 0, path, counts)
            figures = rest_of(whole)['speculation']
            equal(*((counts['accepted_prediction_tokens'], counts['rejected_prediction_tokens']), (figures['accepted_prediction'], figures['rejected_prediction'])), path)
            check(figures['drafted'] >= figures['accepted'] >= figures['accepted_prediction'], path, figures)
            last = last_object(s, path, with_members(body, **drafted))
            check(counts_of(last)['accepted_prediction_tokens'] > 20, path, last)
            if path == '/v1/messages':
                equal((last['type'], last['runnel']['seed'], last['runnel']['finish_detail']), ('message_delta', 1, 'max_tokens 60'))


@test
def predictions_are_refused_by_name():
    with Folder() as folder, serving(chat_model(folder), '--ctx', '128') as s:
        for value in (5, [], ['a'], {}, True, {'type': 'content'}, {'type': 'text', 'content': 'a'}, {'type': 'content', 'content': 5},
                      {'type': 'content', 'content': [{'type': 'text'}]}, {'type': 'content', 'content': 'a', 'more': 1},
                      {'type': 'content', 'content': [{'type': 'text', 'text': 'a'}] * 65}):
            post(s, CHAT, messages=STORY, prediction=value).refuses(400, 'invalid_value', 'prediction')
        post(s, CHAT, messages=STORY, prediction='a', speculate='none').refuses(400, 'invalid_value', 'prediction')
        post(s, CHAT, messages=STORY, prediction='many words ' * 200).refuses(400, 'invalid_value', 'prediction')


@test
def answers_of_one_key_are_not_drafted_from_those_of_another():
    bearers = [f'Authorization: Bearer {letter * 16}' for letter in 'ab']
    body = {'prompt': 'Once', 'speculate': 'suffix', 'draft_min': 4, 'draft_max': 4, **SETTINGS}

    def right(s, bearer, **more):
        return good(s, GENERATE, bearer, **body, **more)['choices'][0].get('speculation', {}).get('accepted', 0)

    with Folder() as folder:
        keys = ['--api-key', 'a' * 16, '--api-key', 'b' * 16]
        for more in ([], ['--share-prefixes']):
            with serving(chat_model(folder), *keys, *more) as s:
                first, again = right(s, bearers[0]), right(s, bearers[0])
                check(again > first + 30, (first, again))
                equal([right(s, bearers[1]), right(s, bearers[0], cache_salt='x'), right(s, bearers[0], cache_prompt=False)], [first] * 3)
        with serving(chat_model(folder), '--outputs-mib', '0') as s:
            equal([right(s, bearers[0]) for _ in range(2)], [first] * 2)


if __name__ == '__main__':
    main()
