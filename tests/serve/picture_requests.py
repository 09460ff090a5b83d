"""tests/serve/picture_requests.py - requests with pictures, for a server of the model that tests/cli/seeing_model.py makes."""
import base64
import json

from serving import KEY, equal
from seeing_model import bmp

CAT, DOG = bmp(21, 13, 1), bmp(9, 30, 2)
CHAT = '/v1/chat/completions'
N = 24
GREEDY = {'temperature': 0, 'max_tokens': N, 'ignore_eos': True}


def base(picture):
    return base64.b64encode(picture).decode()


def url(picture, kind='image/bmp'):
    return f'data:{kind};base64,{base(picture)}'


def part(picture, **more):
    return {'type': 'image_url', 'image_url': {'url': url(picture, **more), 'detail': 'auto'}}


def user(*content):
    return {'role': 'user', 'content': [{'type': 'text', 'text': c} if isinstance(c, str) else part(c) for c in content]}


def post(s, path, body, status=200):
    answer = s.post(path, json.dumps(body), f'Authorization: Bearer {KEY}')
    equal(answer.status, status, answer.body[:800])
    return answer.json


def say(s, *messages, **more):
    found = post(s, CHAT, {'messages': list(messages), **GREEDY, **more})
    return found['choices'][0]['message']['content'], found['usage']
