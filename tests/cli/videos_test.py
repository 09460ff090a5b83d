#!/usr/bin/env python3
"""tests/cli/videos_test.py - videos: `run --video`, `score --video`, frames by count and by second, files that are broken or lie, conversations and lines of `batch`.

What a model makes of frames is compared with transformers: an AVI of the frames of tests/engine/seeing, uncompressed, has the logits and the text of its golden.
"""
import base64
import json
import struct
import tempfile
from pathlib import Path

from film_files import array, avi, picture
from harness import PROGRAM, ROOT, Skip, check, main, runnel, test

SEEING = ROOT / 'tests/engine/seeing'
FILMS = ROOT / 'tests/media/films'
FAMILIES = ('qwen2-vl', 'qwen25-vl', 'qwen3-vl', 'qwen35')
TEMPLATE = ("{% for m in messages %}{% for c in m.content %}{% if c.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
            "{% elif c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor %}{% endfor %}")


def need_decoder():
    if not (Path(PROGRAM).parent / 'runnel-video').exists():
        raise Skip('runnel-video is not built: FFmpeg\'s libraries were not there')


def film(names, rate, scale=1):
    frames = [picture(runnel, SEEING / f'{name}.png') for name in names]
    return avi([f[0] for f in frames], frames[0][1], frames[0][2], rate, scale)


def case_of(model, name):
    cases = json.loads((SEEING / model / 'videos.json').read_text())
    row = 0
    for case in cases:
        if case['name'] == name:
            return case, row
        row += len(case['rows'])
    raise AssertionError(name)


def answer(model, *args, n=12, **more):
    lines = runnel('run', '-m', str(model), '--temp', '0', '-n', str(n), '--ignore-eos', '--kv-type', 'f32', '--json', '--parse-special', *args, **more).ok().out.splitlines()
    lines = [json.loads(line) for line in lines]
    return sum((line['tokens'] for line in lines), []), lines[-1]


def seen(model, *args, **more):
    return answer(model, '-p', '<video>', *args, n=1, **more)[1]['usage']['picture_tokens']


@test
def a_file_of_frames_has_the_text_and_the_logits_of_transformers():
    need_decoder()
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / 'film.avi', Path(folder) / 'x.npy'
        for model in FAMILIES:
            case, row = case_of(model, 'film-even')
            path.write_bytes(film(case['frames'], 2))
            tokens, last = answer(SEEING / model, '-p', case['text'], '--video', str(path))
            check(tokens == case['greedy'], model, tokens, case['greedy'])
            token = json.loads((SEEING / model / 'config.json').read_text()).get('video_token_id')
            check(last['usage']['picture_tokens'] == case['ids'].count(token), model, last['usage'])
            runnel('score', '-m', str(SEEING / model), '--parse-special', '-p', case['text'], '--video', str(path), '--kv-type', 'f32', '--logits', str(out)).ok()
            got, (_, n_vocab) = array(out)
            want, _ = array(SEEING / model / 'videos.npy')
            for i, at in enumerate(case['rows']):
                mine, theirs = got[at * n_vocab:(at + 1) * n_vocab], want[(row + i) * n_vocab:(row + i + 1) * n_vocab]
                worst = max(abs(a - b) for a, b in zip(mine, theirs))
                check(len(mine) == n_vocab and worst <= max(2e-4, 10 * case['f64_max_abs_diff']), model, at, worst)


@test
def frames_are_chosen_as_the_processor_has_it_or_as_one_asks():
    need_decoder()
    clip = str(FILMS / 'clip.mp4')  # 12 frames, 4 in a second
    for model in ('qwen2-vl', 'qwen25-vl'):     # where frames do not become smaller as there are more
        model = SEEING / model
        each = seen(model, '--video', clip, '--video-frames', '2')
        check(each > 0, each)
        check(seen(model, '--video', clip) == 3 * each, 'two of each of three seconds')
        check(seen(model, '--video', clip, '--video-fps', '4') == 6 * each, 'all')
        check(seen(model, '--video', clip, '--video-frames', '700') == 6 * each, 'never more than there are')
        check(seen(model, '--video', clip, '--video-fps', '0.1') == 2 * each, 'four at least')


@test
def a_gif_is_a_video_and_a_file_may_come_by_stdin_or_as_a_url():
    need_decoder()
    data = (FILMS / 'clip.gif').read_bytes()
    model = SEEING / 'qwen2-vl'
    want, last = answer(model, '-p', 'a <video> b', '--video', str(FILMS / 'clip.gif'))
    check(last['usage']['picture_tokens'] > 0 and last['timing']['pictures_ms'] > 0, last)
    check(answer(model, '-p', 'a <video> b', '--video', '-', stdin=data)[0] == want, 'stdin')
    check(answer(model, '-p', 'a <video> b', '--video', 'data:video/gif;base64,' + base64.b64encode(data).decode())[0] == want, 'data: URL')
    # Pictures and videos have places of their own, each kind in its order.
    picture_file = str(SEEING / 'wide.png')
    both, last = answer(model, '-p', '<video> and <image>', '--image', picture_file, '--video', str(FILMS / 'clip.gif'))
    check(last['usage']['picture_tokens'] > seen(model, '--video', str(FILMS / 'clip.gif')), last)
    check(answer(model, '-p', '<video> and <image>', '--video', str(FILMS / 'clip.gif'), '--image', picture_file)[0] == both, 'the order of options')


@test
def what_cannot_be_a_video_is_refused_by_name():
    need_decoder()
    clip, model = str(FILMS / 'clip.mp4'), str(SEEING / 'qwen2-vl')
    with tempfile.TemporaryDirectory() as folder:
        def file(name, data):
            (Path(folder) / name).write_bytes(data)
            return str(Path(folder) / name)

        gif = (FILMS / 'clip.gif').read_bytes()
        black = avi([bytes(3 * 8 * 8)] * 2, 8, 8, 2)
        at = black.index(b'strf') + 12
        lists = [(['--video', file('a.txt', b'hello')], 1, 'not a video of a format that is read'), (['--video', file('empty', b'')], 1, 'not a video of a format'),
                 (['--video', file('m3u8', b'#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n/etc/passwd\n#EXT-X-ENDLIST\n')], 1, 'not a video of a format'),
                 (['--video', file('list', b"ffconcat version 1.0\nfile '/etc/passwd'\n")], 1, 'not a video of a format'),
                 (['--video', file('wide.avi', black[:at] + struct.pack('<ii', 100000, 100000) + black[at + 8:])], 1, 'video: has no size'),
                 (['--video', file('long.avi', black[:at] + struct.pack('<ii', 4000, 1) + black[at + 8:])], 1, 'at most 16384 and 200 times the other one'),
                 (['--video', file('large.gif', gif[:6] + b'\xff\xff\xff\xff' + gif[10:])], 1, 'video: has no size'),
                 (['--video', folder + '/none'], 1, 'No such file'),
                 (['--video', 'data:video/mp4;base64,!'], 1, "is no base64: '!' at byte 0"), (['--video', 'data:image/png;base64,AAAA'], 1, "must be video/..."),
                 (['--video-fps', '1'], 2, '--video-fps: has no effect without --video'), (['--video-frames', '1'], 2, '--video-frames: has no effect without --video'),
                 (['--video', clip, '--video-fps', '1', '--video-frames', '2'], 2, '--video-frames: has no effect with --video-fps'),
                 (['--video', clip, '--video-fps', '0'], 2, '--video-fps'), (['--video', clip, '--video-frames', '769'], 2, '--video-frames'),
                 (['--video', clip] * 17, 2, 'more than 16 pictures'), (['--video', clip, '--video', clip], 2, 'has 1 places for videos (<video>), and there are 2 of --video')]
        for args, code, why in lists:
            r = runnel('run', '-m', model, '-p', '<video> x', '-n', '1', *args)
            check(r.code == code and why in r.err, args, r.code, r.err)
    r = runnel('run', '-m', model, '--ids', '1 2', '--video', clip)
    check(r.code == 2 and '--video: has no place among --ids' in r.err, r.err)
    r = runnel('run', '-m', str(SEEING / 'llava-next'), '-p', 'x', '--video', clip)
    check(r.code == 1 and 'models of the family LLaVA-NeXT take pictures, but no videos here' in r.err, r.err)


@test
def a_file_that_ends_early_is_an_answer_or_an_error():
    need_decoder()
    model = str(SEEING / 'qwen2-vl')
    for name, step in (('clip.mp4', 401), ('clip.gif', 307)):
        data = (FILMS / name).read_bytes()
        for n in range(0, len(data), step):
            r = runnel('run', '-m', model, '-p', '<video>', '-n', '1', '--video', '-', stdin=data[:n])
            check(r.code in (0, 1) and (r.code == 0 or r.err.startswith('runnel: -: video: ')), name, n, r.code, r.err)


@test
def conversations_take_videos():
    need_decoder()
    model, clip = SEEING / 'qwen2-vl', FILMS / 'clip.gif'
    url = 'data:video/gif;base64,' + base64.b64encode(clip.read_bytes()).decode()
    with tempfile.TemporaryDirectory() as folder:
        template, lines, saved = Path(folder) / 't.jinja', Path(folder) / 'lines', Path(folder) / 'saved'
        template.write_text(TEMPLATE)
        greedy = ('--temp', '0', '--ignore-eos', '-n', '8', '--chat-template', str(template))
        # As the same prompt in parts.
        raw = runnel('run', '-m', str(model), '--parse-special', '--temp', '0', '--ignore-eos', '-n', '8', '-p', '<|vision_start|><video><|vision_end|>What?', '--video', str(clip)).ok().out
        check(runnel('run', '-m', str(model), '--chat', *greedy, '--video', str(clip), 'What?').ok().out == raw, 'run --chat')
        forms = [{'type': 'video_url', 'video_url': {'url': url}}, {'type': 'video_url', 'video_url': url}, {'type': 'input_video', 'video_url': url}, {'type': 'video', 'video': url}]
        text = {'type': 'text', 'text': 'What?'}
        lines.write_text(''.join(json.dumps({'messages': [{'role': 'user', 'content': [form, text]}]}) + '\n' for form in forms)
                         + json.dumps({'messages': [{'role': 'user', 'content': [{'type': 'video_url', 'video_url': 'https://host.example/a.mp4'}]}]}) + '\n'
                         + json.dumps({'messages': [{'role': 'user', 'content': [{'type': 'video_url', 'video_url': url[:90]}]}]}) + '\n')
        r = runnel('batch', '-m', str(model), *greedy, str(lines))
        found = sorted((json.loads(line) for line in r.out.splitlines()), key=lambda line: line['line'])
        check([line.get('text') for line in found[:4]] == [raw.decode().rstrip('\n')] * 4, found[:4], raw)
        check('messages[0].content[0].video_url: is an address' in json.dumps(found[4]), found[4])
        check('messages[0].content[0].video_url: video: ' in json.dumps(found[5]), found[5])
        chat = ('chat', str(model), *greedy, '--each-line')
        told = runnel(*chat, stdin=f'/video {clip}\nWhat?\n/save {saved}\n'.encode()).ok()
        check('clip.gif, ' in told.err and 'frames of 48 x 32 pixels: goes with the next message' in told.err, told.err)
        check(b'"type":"video_url"' in saved.read_bytes() and b'data:video/' in saved.read_bytes(), saved.read_bytes()[:300])
        again = runnel(*chat, stdin=f'/load {saved}\n/regen\n'.encode()).ok()
        check(again.out == told.out and told.out, again.out, told.out)


main()
