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
