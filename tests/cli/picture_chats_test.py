#!/usr/bin/env python3
"""tests/cli/picture_chats_test.py - conversations with pictures at the command line: `run --chat --image`, /image and dropped paths in `chat`, and lines of `batch`."""
import base64
import json
import pathlib

from harness import Folder, Terminal, check, environment, equal, main, runnel, test
from seeing_model import PARTS, ROWS, bmp, make

READY = b'\x1b[?2004h'       # the prompt waits for a line
CAT, DOG = bmp(21, 13, 1), bmp(9, 30, 2)
SUPPRESSIONS = pathlib.Path(__file__).parent / 'libedit.supp'
GREEDY = ('--temp', '0', '-n', '16', '--ignore-eos')


def prompt(content, before=''):
    return f'{before}<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n'


def answer(*args, **more):
    lines = runnel('run', *args, *GREEDY, '--json', **more).ok().lines
    return ''.join(line['text'] for line in lines), lines[-1]['usage']


def seeing(folder, template=None):
    make(folder / 'm', **({'template': template} if template else {}))
    (folder / 'cat.bmp').write_bytes(CAT)
    (folder / 'dog.bmp').write_bytes(DOG)
    return ('-m', folder / 'm'), ('--image', folder / 'cat.bmp'), ('--image', folder / 'dog.bmp')


@test
def run_answers_a_message_with_pictures():
    with Folder() as folder:
        m, cat, dog = seeing(folder)
        for said, written in (('What is this?', '<image>\nWhat is this?'), ('Is <image> it?', 'Is \n<image>\n it?')):
            want = answer(*m, '--parse-special', '-p', prompt(written), *cat)
            equal(answer(*m, '--chat', '-p', said, *cat), want)
            equal(want[1]['picture_tokens'], ROWS)
        equal(answer(*m, '--chat', '-p', '<image> or <image>?', *cat, *dog)[0], answer(*m, '--parse-special', '-p', prompt('<image>\n or \n<image>\n?'), *cat, *dog)[0])
        # As many marks as pictures, else they are text, and the pictures stand before it.
        equal(answer(*m, '--chat', '-p', 'What?', *cat, *dog)[1]['picture_tokens'], 2 * ROWS)
        m, cat, dog = seeing(folder, PARTS)
        equal(answer(*m, '--chat', '-p', 'What?', '--system', 'See.', *cat)[0],
              answer(*m, '--parse-special', '-p', prompt('<image>What?', '<|im_start|>system\nSee.<|im_end|>\n'), *cat)[0])
        equal(runnel('run', *m, '--chat', '-p', '-', '--image', '-', stdin=CAT).code, 0)
        check('leaves pictures out' in runnel('run', *m, '--chat', '-p', 'x', *cat, '--chat-template', write(folder / 'none', 'Hello')).err)


def write(path, text):
    path.write_text(text)
    return path


@test
def a_chat_shows_the_model_pictures_and_keeps_them():
    with Folder() as folder:
        m, cat, _ = seeing(folder)
        one = answer(*m, '--parse-special', '-p', prompt('<image>\nWhat is this?'), *cat)[0]
        two = answer(*m, '--parse-special', '-p', prompt('<image>\nWhat is this?') + one + '<|im_end|>\n' + prompt('Why?'), *cat)[0]
        chat = ('chat', *m, '--each-line', *GREEDY)
        saved = folder / 'saved'
        told = runnel(*chat, stdin=f'/image {folder}/cat.bmp\nWhat is this?\nWhy?\n/save {saved}\n'.encode()).ok()
        check('cat.bmp, 21 x 13 pixels: goes with the next message' in told.err, told.err)
        if '\ufffd' not in one:     # else the text that goes back is not the text that was made
            equal(told.text, f'{one}\n{two}\n')
        check(told.text.startswith(one), told.text, one)
        again = runnel(*chat, stdin=f'/load {saved}\n/regen\n/stats\n'.encode()).ok()
        equal(again.text, told.text[len(one) + 1:])
        for line, part in ((f'/image {folder}/none', 'No such file'), (f'/image {folder}/m/config.json', 'not a picture by its first bytes')):
            bad = runnel(*chat, stdin=line.encode())
            check(bad.code == 1 and part in bad.err, bad.err)
        left = runnel(*chat, stdin=f'/image\n/image {folder}/cat.bmp\n/image\n/image -\nWhat is this?\n'.encode()).ok()
        for part in ('no picture goes', '1 pictures go', '1 pictures are left out'):
            check(part in left.err, part, left.err)
        check(not left.text.startswith(one), left.text)
        blind = runnel('chat', '--chat-template', 'alpaca', '--each-line', stdin=f'/image {folder}/cat.bmp\n'.encode())
        check(blind.code == 1 and 'takes no pictures' in blind.err, blind.err)


@test
def a_path_that_is_dropped_on_the_terminal_is_a_picture():
    with Folder() as folder:
        make(folder / 'm')
        (folder / 'my cat.bmp').write_bytes(CAT)
        chat = Terminal('chat', '-m', folder / 'm', *GREEDY, columns=200, env=environment(XDG_STATE_HOME=str(folder / 'state'), LANG='C.UTF-8',
                                                                                                    LSAN_OPTIONS=f'suppressions={SUPPRESSIONS}:print_suppressions=0'))

        def say(line):
            n, at = chat.shown.count(READY), len(chat.shown)
            chat.type(line.encode() + b'\r')
            chat.read_times(READY, n + 1)
            return chat.shown[at:].decode(errors='replace')
        chat.read_times(READY, 1)
        for i, line in enumerate((f"'{folder}/my cat.bmp'", f'{folder}/my\\ cat.bmp ', f'file://{folder}/my%20cat.bmp')):
            said = say(line)
            check('my cat.bmp, 21 x 13 pixels' in said, line, said)
            said = say('/image')
            check(f'{i + 1} pictures go' in said, said)
        say('/image -')
        said = say(f"'{folder}/my cat.bmp' What is this?")
        check('21 x 13 pixels' in said and 'tok/s' in said, said)
        check('no picture goes' in say('/image'))      # it went with the message behind it
        check('unknown command' in say(f'{folder}/none.png'))
        chat.type(b'/quit\r')
        equal(chat.end()[0], 0)


@test
def lines_of_a_batch_bring_pictures():
    with Folder() as folder:
        m, cat, dog = seeing(folder)

        def part(picture):
            return {'type': 'image_url', 'image_url': {'url': 'data:image/bmp;base64,' + base64.b64encode(picture).decode()}}
        messages = [{'role': 'user', 'content': [part(CAT), {'type': 'text', 'text': 'or'}, part(DOG)]}]
        want = answer(*m, '--parse-special', '-p', prompt('<image>\nor\n<image>'), *cat, *dog)
        lines = [{'id': 'a', 'messages': messages}, {'id': 'b', 'messages': [{'role': 'user', 'content': 'Hello'}]},
                 {'custom_id': 'c', 'method': 'POST', 'url': '/v1/chat/completions', 'body': {'messages': messages, 'temperature': 0, 'max_tokens': 16}},
                 {'id': 'd', 'messages': [{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,A'}}]}]},
                 {'id': 'e', 'messages': [{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'https://example.org/a.png'}}]}]}]
        done = runnel('batch', *m, '--in-order', *GREEDY, stdin='\n'.join(map(json.dumps, lines)).encode())
        equal(done.code, 1)
        a, b, c, d, e = done.lines
        equal((a['text'], a['usage']['picture_tokens']), (want[0], 2 * ROWS))
        check('picture_tokens' not in b['usage'] and b['text'], b)
        equal(c['response']['body']['choices'][0]['message']['content'], want[0])
        check('messages[0].content[0].image_url.url: is no base64' in d['error'], d)
        check('messages[0].content[0].image_url.url: is an address, which only' in e['error'], e)
        blind = runnel('batch', '--chat-template', 'alpaca', stdin=json.dumps(lines[0]).encode())
        check(blind.code == 1 and 'takes none here' in blind.lines[0]['error'], blind.out)


main()
