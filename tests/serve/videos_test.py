#!/usr/bin/env python3
"""Videos in requests: the parts that vLLM's and Qwen's clients send give what `run --chat --video` gives, and what is wrong with them is named."""
import base64
from pathlib import Path

from serving import ROOT, Folder, Server, check, equal, main, runnel, test
from harness import PROGRAM, Skip
from picture_requests import CHAT, GREEDY, N, post, say

SEEING = ROOT / 'tests/engine/seeing'
CLIP = (ROOT / 'tests/media/films/clip.gif').read_bytes()
URL = 'data:video/gif;base64,' + base64.b64encode(CLIP).decode()
TEMPLATE = ("{% for m in messages %}{% for c in m.content %}{% if c.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
            "{% elif c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor %}{% endfor %}")
FORMS = ({'type': 'video_url', 'video_url': {'url': URL}}, {'type': 'input_video', 'video_url': URL}, {'type': 'video', 'video': URL})


def need_decoder():
    if not (Path(PROGRAM).parent / 'runnel-video').exists():
        raise Skip('runnel-video is not built: FFmpeg\'s libraries were not there')


def ask(form, text='What?'):
    return {'role': 'user', 'content': [form, {'type': 'text', 'text': text}]}


@test
def a_video_in_a_message_is_what_run_makes_of_it():
    need_decoder()
    with Folder() as folder:
        (folder / 't.jinja').write_text(TEMPLATE)
        (folder / 'clip.gif').write_bytes(CLIP)
        lines = runnel('run', '-m', SEEING / 'qwen2-vl', '--chat', '--chat-template', folder / 't.jinja', '--video', folder / 'clip.gif', '--temp', 0, '-n', N, '--ignore-eos', '--json',
                       'What?').ok().lines
        n_tokens = lines[-1]['usage']['picture_tokens']
        check(n_tokens > 0, lines[-1])
        with Server('-m', SEEING / 'qwen2-vl', '--chat-template', folder / 't.jinja', program=True) as s:
            answers = []
            for form in FORMS:
                said, usage = say(s, ask(form))
                answers.append(said)
                equal((usage['prompt_tokens'], usage['prompt_tokens_details']['picture_tokens']), (lines[-1]['usage']['prompt_tokens'], n_tokens))
            check(len(set(answers)) == 1, answers)
            item = {'role': 'user', 'content': [FORMS[1], {'type': 'input_text', 'text': 'What?'}]}
            found = post(s, '/v1/responses', {'input': [item], 'temperature': 0, 'max_output_tokens': N, 'ignore_eos': True})
            equal(found['usage']['input_tokens_details']['picture_tokens'], n_tokens)
            for form, why in (({'type': 'video_url', 'video_url': {'url': 'https://host.example/a.mp4'}}, 'is an address, which only `runnel serve --allow-media-domain` fetches'),
                              ({'type': 'video_url', 'video_url': {'url': 'data:image/gif;base64,AAAA'}}, 'must be video/...'),
                              ({'type': 'video_url', 'video_url': {'url': URL[:200]}}, 'video: '), ({'type': 'video_url'}, 'video_url: is missing')):
                error = post(s, CHAT, {'messages': [ask(form)], **GREEDY}, 400)['error']
                check(why in error['message'] and 'content[0]' in error['message'], error)


@test
def a_model_that_takes_pictures_alone_says_so():
    need_decoder()
    with Server('-m', SEEING / 'llava-next', '--chat-template', 'chatml', program=True) as s:
        error = post(s, CHAT, {'messages': [ask(FORMS[0])], **GREEDY}, 400)['error']
        check('models of the family LLaVA-NeXT take pictures, but no videos here' in error['message'], error)


main()
