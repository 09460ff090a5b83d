#!/usr/bin/env python3
"""Pictures in requests: every dialect's form of them gives what `run --image` gives for the rendered prompt, and what is wrong with them is named."""
import base64
import json
import threading

from serving import KEY, Folder, Server, check, equal, main, runnel, test, wait_until
from picture_requests import CAT, CHAT, DOG, GREEDY, N, base, part, post, say, url, user
from seeing_model import EITHER, PARTS, ROWS, make


def prompt(*content, before=''):
    """As the template TEXT writes it: one line for each part."""
    return before + '<|im_start|>user\n' + '\n'.join(c if isinstance(c, str) else '<image>' for c in content) + '<|im_end|>\n<|im_start|>assistant\n'


def told(folder, text, *pictures):
    """What `run --image` says behind a prompt."""
    args = []
    for i, picture in enumerate(pictures):
        path = folder / f'{len(text)}-{i}.bmp'
        path.write_bytes(picture)
        args += ['--image', path]
    lines = runnel('run', '-m', folder / 'm', '-p', text, '--parse-special', *args, '--temp', 0, '-n', N, '--ignore-eos', '--json').ok().lines
    return ''.join(line['text'] for line in lines), lines[-1]['usage']


@test
def every_dialect_gives_what_run_gives_for_the_same_prompt():
    with Folder() as folder:
        make(folder / 'm')
        want, usage = told(folder, prompt(CAT, 'What is this?'), CAT)
        equal((usage['picture_tokens'], usage['prompt_tokens']), (ROWS, len(prompt('What is this?')) - 2 * 11 - 9 + ROWS + 1))
        other, _ = told(folder, prompt(DOG, 'What is this?'), DOG)
        check(want != other, 'another picture is another answer')
        with Server('-m', folder / 'm', program=True) as s:
            ask = user(CAT, 'What is this?')
            said, used = say(s, ask)
            equal((said, used['prompt_tokens'], used['prompt_tokens_details']['picture_tokens']), (want, usage['prompt_tokens'], ROWS))
            streamed = s.post(CHAT, json.dumps({'messages': [ask], 'stream': True, **GREEDY})).body.decode()
            events = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith('data: {')]
            equal(''.join(e['choices'][0]['delta'].get('content', '') for e in events if e['choices']), want)
            item = {'role': 'user', 'content': [{'type': 'input_image', 'image_url': url(CAT)}, {'type': 'input_text', 'text': 'What is this?'}]}
            found = post(s, '/v1/responses', {'input': [item], 'temperature': 0, 'max_output_tokens': N, 'ignore_eos': True})
            equal((found['output'][0]['content'][0]['text'], found['usage']['input_tokens_details']['picture_tokens']), (want, ROWS))
            block = {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/bmp', 'data': base(CAT)}}
            found = post(s, '/v1/messages', {'messages': [{'role': 'user', 'content': [block, {'type': 'text', 'text': 'What is this?'}]}], **GREEDY})
            equal((found['content'][0]['text'], found['usage']['picture_tokens']), (want, ROWS))
            options = {'options': {'temperature': 0, 'num_predict': N, 'ignore_eos': True}, 'stream': False}
            found = post(s, '/api/chat', {'messages': [{'role': 'user', 'content': 'What is this?', 'images': [base(CAT)]}], **options})
            equal((found['message']['content'], found['picture_tokens']), (want, ROWS))
            found = post(s, '/api/generate', {'prompt': 'What is this?', 'images': [base(CAT)], **options})
            equal((found['response'], 'context' in found), (want, False))
            raw = prompt(CAT, 'What is this?')
            equal(post(s, '/api/generate', {'prompt': raw, 'raw': True, 'images': [base(CAT)], **options})['response'], want)
            more = {'temperature': 0, 'n_predict': N, 'ignore_eos': True, 'parse_special': True}
            for body in ({'prompt': raw.replace('<image>', '[img-7]'), 'image_data': [{'data': base(CAT), 'id': 7}]},
                         {'prompt': {'prompt_string': raw.replace('<image>', '<__media__>'), 'multimodal_data': [base(CAT)]}}):
                found = post(s, '/completion', {**body, **more})
                equal((found['content'], found['timings']['picture_tokens']), (want, ROWS))
            body = {'messages': [ask], 'temperature': 0, 'max_tokens': N, 'ignore_eos': True}
            found = post(s, '/v1/runnel/generate', body)['choices'][0]
            equal((found['message']['content'], found['usage']['picture_tokens']), (want, ROWS))
            # Its tokens are counted, and its prompt shown, without an answer.
            equal(post(s, '/v1/responses/input_tokens', {'input': [item]})['input_tokens'], usage['prompt_tokens'])
            equal(post(s, '/v1/messages/count_tokens', {'messages': [{'role': 'user', 'content': [block, {'type': 'text', 'text': 'What is this?'}]}]})['input_tokens'],
                  usage['prompt_tokens'])
            equal(post(s, '/apply-template', {'messages': [ask]})['prompt'], raw)
            equal(len(post(s, '/tokenize', {'messages': [ask]})['tokens']), usage['prompt_tokens'])
            models = post_get(s, '/v1/models')['data']
            equal(([m['meta']['sees'] for m in models], post_get(s, '/props')['modalities']), ([True], {'vision': True, 'audio': False}))
            check('vision' in post(s, '/api/show', {'model': 'm'})['capabilities'])


def post_get(s, path):
    return s.get(path).json


@test
def a_vision_part_that_is_named_is_the_models():
    with Folder() as folder:
        make(folder / 'm')
        want, _ = told(folder, prompt(CAT, 'What is this?'), CAT)
        with Server('-m', folder / 'm', '--mmproj', folder / 'm', program=True) as s:
            equal((say(s, user(CAT, 'What is this?'))[0], s.get('/v1/models', f'Authorization: Bearer {KEY}').json['data'][0]['meta']['sees']), (want, True))
        done = runnel('serve', '-m', folder / 'm', '--mmproj', folder / 'm', '--no-vision')
        equal((done.code, done.err), (2, 'runnel: --mmproj: has no effect with --no-vision\n'))


@test
def several_pictures_stand_where_they_were_sent_and_templates_get_them_in_their_own_form():
    with Folder() as folder:
        make(folder / 'm')
        swapped = [prompt(CAT, 'or', DOG, '?'), prompt(DOG, 'or', CAT, '?')]
        want = [told(folder, swapped[0], CAT, DOG)[0], told(folder, swapped[1], DOG, CAT)[0]]
        inline = prompt('x').replace('x', '<image>or<image>?')
        want_inline = told(folder, inline, CAT, DOG)[0]
        with Server('-m', folder / 'm', program=True) as s:
            equal([say(s, user(CAT, 'or', DOG, '?'))[0], say(s, user(DOG, 'or', CAT, '?'))[0]], want)
            # llama-server's numbers say which is where.
            body = {'prompt': swapped[1].replace('<image>', '[img-5]', 1).replace('<image>', '[img-4]'), 'temperature': 0, 'n_predict': N, 'ignore_eos': True, 'parse_special': True}
            equal(post(s, '/completion', {**body, 'image_data': [{'data': base(CAT), 'id': 4}, {'data': base(DOG), 'id': 5}]})['content'], want[1])
        for template in (PARTS, EITHER):      # without line breaks between parts
            make(folder / 'm', template)
            with Server('-m', folder / 'm', program=True) as s:
                equal(say(s, user(CAT, 'or', DOG, '?'))[0], want_inline)
                # Messages without pictures beside them, and a mark that somebody writes, which is text.
                text = '<|im_start|>system\nSee.<|im_end|>\n' + inline
                seen = say(s, {'role': 'system', 'content': 'See.'}, user(CAT, 'or', DOG, '?'))[0]
                equal(seen, told(folder, text, CAT, DOG)[0])
                equal(post(s, '/apply-template', {'messages': [{'role': 'system', 'content': 'See.'}]})['prompt'], '<|im_start|>system\nSee.<|im_end|>\n<|im_start|>assistant\n')
                check(say(s, user(CAT, 'or <image>', DOG, '?'))[1]['prompt_tokens_details']['picture_tokens'] == 2 * ROWS)


@test
def a_second_question_about_a_picture_reuses_all_before_it():
    with Folder() as folder:
        make(folder / 'm')
        with Server('-m', folder / 'm', program=True) as s:
            first, used = say(s, user(CAT, 'What is this? ' * 9))
            n_first = used['prompt_tokens']
            messages = [user(CAT, 'What is this? ' * 9), {'role': 'assistant', 'content': 'A cat.'}, user('Why?')]
            second, used = say(s, *messages)
            check(used['prompt_tokens_details']['cached_tokens'] >= n_first - 2, used)
            equal(used['prompt_tokens_details']['picture_tokens'], ROWS)
            text = prompt(CAT, 'What is this? ' * 9) + 'A cat.<|im_end|>\n'
            equal(second, told(folder, prompt('Why?', before=text), CAT)[0])
            other = say(s, user(DOG, 'What is this? ' * 9))[1]
            check(other['prompt_tokens_details']['cached_tokens'] < 30, other)
            # So do stored answers, which keep the picture.
            item = {'role': 'user', 'content': [{'type': 'input_image', 'image_url': url(CAT)}, {'type': 'input_text', 'text': 'What is this? ' * 9}]}
            options = {'temperature': 0, 'max_output_tokens': N, 'ignore_eos': True}
            one = post(s, '/v1/responses', {'input': [item], **options})
            two = post(s, '/v1/responses', {'previous_response_id': one['id'], 'input': 'Why?', **options})
            details = two['usage']['input_tokens_details']
            check(details['picture_tokens'] == ROWS and details['cached_tokens'] >= n_first - 2, details)
            items = s.get(f'/v1/responses/{one["id"]}/input_items').json['data']
            equal(items[0]['content'], item['content'])
            # Several answers to one picture.
            found = post(s, CHAT, {'messages': [user(CAT, 'What is this? ' * 9)], 'n': 3, **GREEDY})
            equal(([c['message']['content'] for c in found['choices']], found['usage']['prompt_tokens']), ([first] * 3, n_first))


def content(value):
    return {'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'a'}, value]}]}


def of_url(text):
    return content({'type': 'image_url', 'image_url': {'url': text}})


def block(**source):
    return {'messages': [{'role': 'user', 'content': [{'type': 'image', 'source': source}]}], 'max_tokens': 1}


PLACE = 'messages[0].content[1].image_url.url'
REFUSALS = [
    (CHAT, of_url('https://example.org/cat.png'), PLACE, 'is an address, which only `runnel serve --allow-media-domain` fetches'),
    (CHAT, of_url('http://127.0.0.1/'), PLACE, 'is an address, which only'), (CHAT, of_url('file:///etc/passwd'), 'messages[0]', 'must be a data: URL'),
    (CHAT, of_url(''), 'messages[0]', 'must be a data: URL'), (CHAT, of_url(5), 'messages[0]', 'content[1].image_url.url: must be a string'),
    (CHAT, content({'type': 'image_url'}), 'messages[0]', 'content[1].image_url: is missing'), (CHAT, content({'type': 'image_url', 'image_url': {}}), 'messages[0]', 'url: is missing'),
    (CHAT, of_url('data:'), PLACE, 'is no data: URL of the form'), (CHAT, of_url('data:;base64,AAAA'), PLACE, "of the type '', must be image/"),
    (CHAT, of_url('data:text/html;base64,AAAA'), PLACE, "of the type 'text/html', must be image/"), (CHAT, of_url('data:image/png,AAAA'), PLACE, 'without ;base64'),
    (CHAT, of_url('data:image/png;base64,AA!A'), PLACE, "is no base64: '!' at byte 2"), (CHAT, of_url('data:image/png;base64,AAAAA'), PLACE, 'it ends within four digits'),
    (CHAT, of_url('data:image/png;base64,AA=A'), PLACE, 'is no base64'), (CHAT, of_url('data:image/png;base64,'), PLACE, 'picture: empty'),
    (CHAT, of_url('data:image/png;base64,' + base(b'hello')), PLACE, 'not a picture by its first bytes'),
    (CHAT, of_url(url(CAT[:-9])), PLACE, 'it ends early'), (CHAT, of_url(url(CAT[:18] + b'\xff\x7f' + CAT[20:])), PLACE, 'pictur'),
    (CHAT, {'messages': [user(*[CAT] * 17)]}, 'messages[0]', 'more than 16 pictures in a request'),
    (CHAT, {'messages': [user(CAT, 'a')], 'session': 's'}, 'session', 'keeps no pictures'),
    ('/v1/messages', block(type='base64', media_type='text/plain', data=base(CAT)), 'messages[0]', "source.media_type: is 'text/plain', must be image/"),
    ('/v1/messages', block(type='url', url='https://example.org/a.png'), 'messages[0].content[0].source.url', 'is an address, which only'),
    ('/v1/messages', block(type='file', file_id='a'), 'messages[0]', "source.type: 'file' is not supported"),
    ('/v1/messages', block(type='base64', media_type='image/png', data='*'), 'messages[0].content[0].source.data', "is no base64: '*' at byte 0"),
    ('/v1/responses', {'input': [{'role': 'user', 'content': [{'type': 'input_image', 'file_id': 'a'}]}]}, 'input[0]', 'content[0].image_url: is missing'),
    ('/v1/responses', {'input': [{'role': 'user', 'content': [{'type': 'input_image', 'image_url': 'data:image/png;base64,**'}]}]}, 'input', 'is no base64'),
    ('/completion', {'prompt': '[img-1]', 'image_data': [{'data': base(CAT), 'id': 2}]}, 'prompt', 'has 1 marks of pictures, not one for each of the 1'),
    ('/completion', {'prompt': '<__media__><__media__>', 'image_data': [{'data': base(CAT)}]}, 'prompt', 'marks of pictures'),
    ('/completion', {'prompt': [1, 2], 'image_data': [{'data': base(CAT)}]}, 'prompt', 'must be a text where there are pictures'),
    ('/completion', {'prompt': 'a', 'image_data': [{'data': '!'}]}, 'image_data[0].data', 'is no base64'), ('/completion', {'prompt': 'a', 'image_data': [{}]}, 'image_data[0]', 'data: is missing'),
    ('/completion', {'prompt': {'prompt_string': 'a', 'multimodal_data': ['!']}}, 'prompt.multimodal_data[0]', 'is no base64'),
    ('/completion', {'prompt': {'multimodal_data': []}}, 'prompt', 'prompt_string: is missing'),
]


@test
def what_is_wrong_with_a_picture_is_named_with_its_place():
    with Folder() as folder:
        make(folder / 'm')
        with Server('-m', folder / 'm', program=True) as s:
            for path, body, param, why in REFUSALS:
                error = post(s, path, body, 400)['error']
                check(why in error['message'], path, shown(body), error)
                equal(error.get('param', param), param, (path, shown(body), error))
            for path, images, why in (('/api/chat', ['!'], 'messages[0].images[0]: is no base64'), ('/api/chat', 5, 'images: must be an array'),
                                      ('/api/chat', [5], 'images[0]: must be a string'), ('/api/chat', [base(CAT)] * 17, 'images[16]: more than 16 pictures'),
                                      ('/api/generate', ['!'], 'images[0]: is no base64'), ('/api/generate', 5, 'images: must be an array')):
                more = {'messages': [{'role': 'user', 'content': 'a', 'images': images}]} if 'chat' in path else {'prompt': 'a', 'images': images}
                check(why in post(s, path, more, 400)['error'], path, why, post(s, path, more, 400))
            check('context: excludes images' in post(s, '/api/generate', {'prompt': 'a', 'images': [base(CAT)], 'context': [1]}, 400)['error'])
            # A type that lies about the format is of no consequence: the bytes say what they are. Line breaks, as MIME has them, neither.
            want = say(s, user(CAT, 'a'))[0]
            lying = {'role': 'user', 'content': [part(CAT, kind='image/png'), {'type': 'text', 'text': 'a'}]}
            equal(say(s, lying)[0], want)
            broken = base64.encodebytes(CAT).decode().rstrip('\n=')
            equal(say(s, {'role': 'user', 'content': [{'type': 'image_url', 'image_url': f'DATA:image/bmp;BASE64,{broken}'}, 'a']})[0], want)
        with Server('-m', folder / 'm', '--no-vision', program=True) as s:
            error = post(s, CHAT, {'messages': [user('a', CAT)]}, 400)['error']
            equal((error['message'], error['param']), (f'{PLACE}: model m takes no pictures', PLACE))
            equal(s.get('/v1/models').json['data'][0]['meta']['sees'], False)


def shown(body):
    return json.dumps(body)[:200]


@test
def pictures_beside_streams_without_leave_these_as_they_are():
    with Folder() as folder:
        make(folder / 'm')
        with Server('-m', folder / 'm', '--streams', 4, program=True) as s:
            asked = [user('Tell me more. ' * (1 + i)) if i % 2 else user(CAT if i % 4 else DOG, f'What is this, {i}?') for i in range(8)]
            alone = [say(s, m, max_tokens=40)[0] for m in asked]
            for _ in range(2):
                found = [None] * len(asked)

                def run(i):
                    found[i] = say(s, asked[i], max_tokens=40)[0]
                threads = [threading.Thread(target=run, args=(i,)) for i in range(len(asked))]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                equal(found, alone)
            # A client that leaves: its stream ends, and the next one is answered as before.
            with s.connect() as c:
                c.request('POST', CHAT, 'Content-Type: application/json', body=json.dumps({'messages': [asked[0]], 'stream': True, **GREEDY, 'max_tokens': 1500}))
                c.until(b'data: ')
            wait_until(lambda: not s.working(), 'the stream ends')
            equal(say(s, asked[0], max_tokens=40)[0], alone[0])


main()
