#!/usr/bin/env python3
"""What a client is told names no folder of the server: models that cannot do what is asked, in every dialect."""
import json
import os

from api import STORY, post, serving
from serving import Folder, MODEL, Socket, check, equal, main, test
import gguf

ASKED = (('/tokenize', {'content': 'x'}), ('/detokenize', {'tokens': [1]}), ('/v1/completions', {'prompt': 'x'}),
         ('/v1/completions', {'prompt': 'x', 'stream': True}), ('/v1/chat/completions', {'messages': STORY}),
         ('/v1/responses', {'input': 'x'}), ('/v1/embeddings', {'input': 'x'}), ('/v1/embeddings', {'input': [1], 'pooling': 'rank'}),
         ('/v1/rerank', {'query': 'x', 'documents': ['y']}), ('/apply-template', {'messages': STORY}),
         ('/v1/runnel/generate', {'prompt': 'x'}), ('/v1/runnel/generate', {'prompt': 'x', 'session': 'a', 'stream': True}))


def check_all(s, folder, refused):
    for path, body in ASKED:
        a = post(s, path, **body)
        check(str(folder).encode() not in a.body and os.path.realpath(folder).encode() not in a.body, (path, a.body))
        if a.status != 200 and refused in a.body:
            yield path
    with s.connect() as c:
        w = Socket(c, '/v1/stream').send(json.dumps({'type': 'generate', 'id': 'x', 'prompt': 'x'}))
        said = w.text()
        check(str(folder) not in said, said)


@test
def a_model_whose_tokenizer_is_not_known_is_named_by_its_file():
    with Folder() as folder:
        path = folder / 'odd.gguf'
        path.write_bytes(gguf.with_string(MODEL.read_bytes(), 'tokenizer.ggml.model', 'unheard-of'))
        with serving(path) as s:
            refused = set(check_all(s, folder, b'odd.gguf: '))
            equal({'/tokenize', '/v1/completions'} - refused, set(), 'these name the file')


@test
def templates_that_fail_and_models_that_cannot_rank_name_no_folder_either():
    with Folder() as folder:
        for name, template in (('bad', '{{ raise_exception("no") }}'), ('none', '')):
            path = folder / f'{name}.gguf'
            path.write_bytes(gguf.with_string(MODEL.read_bytes(), 'tokenizer.chat_template', template))
            with serving(path) as s:
                list(check_all(s, folder, b''))


@test
def a_guess_at_the_servers_folder_is_not_confirmed():
    with Folder() as folder:
        path = folder / 'm.gguf'
        path.write_bytes(MODEL.read_bytes())
        with serving(path) as s:
            for guess in (f'{folder}/x', '/no/such/folder/x'):
                message = post(s, '/v1/completions', model=guess, prompt='x').refuses(404, 'model_not_found').json['error']['message']
                check(guess[:64] in message, message)


main()
