#!/usr/bin/env python3
"""Many streams open at once: none is lost or mixed with another, memory stays within the plan and flat, descriptors come back.

200 streams in the quick pass, 1,000 with RUNNEL_TEST_FULL=1. Each text must be that of the same request alone.
"""
import asyncio
import collections
import functools
import json
import os
import re
import resource

from api import events, good, serving
from api_native_streams import Streams
from serving import MODEL, SANITIZED, check, equal, held, main, test, wait_until

N = 1000 if os.environ.get('RUNNEL_TEST_FULL') else 200
N_SOCKETS = 4 if N > 200 else 1         # 256 streams each
TOKENS = 16
NATIVE = '/v1/runnel/generate'
PROMPTS = ('Once upon a time', 'The cat', 'A big dog', 'One day, Lily')
PACES = (8, 2, 0.5, 0.1)                # tokens/s; slower ones where a machine takes long to open them all
GROWTH = 8 << 20                        # of the memory held, from one crowd to the next

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def request(i):
    return {'prompt': PROMPTS[i % len(PROMPTS)], 'seed': i, 'max_tokens': TOKENS, 'ignore_eos': True}


def server():
    # Nothing here is kept for later requests: what the plan has for that would hide that streams take more than they should.
    return serving(MODEL, '--streams', N, '--queue', N, '-c', '64', '--max-connections', N + 16, '--access-log', 'none',
                   '--resume-mib', '1', '--responses-mib', '0')


@functools.cache
def alone_texts():
    """Of a server that has one stream at a time."""
    with serving(MODEL, '--streams', '1', '-c', '64') as s:
        texts = [good(s, NATIVE, **request(i))['choices'][0]['text'] for i in range(N)]
    check(len(set(texts)) > N // 2, 'the texts are alike: a mixture would not show')
    return texts


def planned(s):
    """Bytes of the plan that the server prints at start."""
    number, unit = re.search(r'^together\s+([\d.]+) (\S+)$', s.said, re.M).groups()
    return float(number) * {'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}[unit]


def chunks(body):
    """Of a body in chunks that is all there."""
    while True:
        size, _, body = body.partition(b'\r\n')
        n = int(size, 16)
        yield body[:n]
        if n == 0:
            return
        body = body[n + 2:]


async def read_stream(s, i, pace):
    reader, writer = await asyncio.open_connection(s.host, s.port)
    body = json.dumps({**request(i), 'stream': True, 'max_tokens_per_second': pace}).encode()
    writer.write(b'POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n'
                 b'Content-Length: %d\r\n\r\n%s' % (NATIVE.encode(), len(body), body))
    data = await reader.read()
    writer.close()
    head, _, rest = data.partition(b'\r\n\r\n')
    check(head.startswith(b'HTTP/1.1 200 '), head)
    told = events(b''.join(chunks(rest)))
    equal(told[-1][2] if told else rest, '[DONE]', f'stream {i}')
    return ''.join(d['text'] for _, _, d in told[:-1])


async def crowd(s, pace):
    """(texts, how many ran at once at most)"""
    most, is_over = 0, False

    async def look():
        nonlocal most
        while not is_over:
            most = max(most, await asyncio.to_thread(lambda: len(s.working())))
            await asyncio.sleep(0.05)
    looker = asyncio.create_task(look())
    texts = await asyncio.gather(*(read_stream(s, i, pace) for i in range(N)))
    is_over = True
    await looker
    return texts, most


def all_at_once(s):
    """The texts of a crowd of which all ran at the same time."""
    for pace in PACES:
        texts, most = asyncio.run(crowd(s, pace))
        if most == N:
            return texts
    raise AssertionError(f'{most} of {N} streams ran at once')


@test
def event_streams_of_a_crowd_each_say_what_they_say_alone_and_leave_nothing():
    want = alone_texts()
    with server() as s:
        idle_fds = held(s)[1]
        sizes = []
        for _ in range(3 if N <= 200 else 4):       # pages are touched, and the heap has its size, after all but the last
            equal(all_at_once(s), want)
            wait_until(lambda: held(s)[1] <= idle_fds + 1, 'descriptors come back')
            sizes.append(held(s)[0])
        said = f'{[n >> 20 for n in sizes]} MiB held after each crowd, {planned(s) / 2**20:.0f} MiB planned'
        if not SANITIZED:       # its allocator keeps what was freed for a while
            check(sizes[-1] <= sizes[-2] + GROWTH, said)
            check(sizes[-1] <= planned(s), said)
        equal(s.working(), [])


@test
def a_burst_of_one_other_machine_is_taken_as_it_comes():
    n = N if SANITIZED else 1000        # as llama-server and vLLM take it, with no option set
    with serving(MODEL, '--trusted-proxy', '127.0.0.1', '--access-log', 'none') as s:
        many = [s.connect() for _ in range(n)]
        body = json.dumps({'prompt': 'Once', 'max_tokens': 1})
        for c in many:
            c.request('POST', '/v1/completions', 'Content-Type: application/json', 'X-Forwarded-For: 192.0.2.7', body=body)
        answers = collections.Counter(c.answer().status for c in many)
        equal(answers, {200: n})
        for c in many:
            c.close()


@test
def generations_of_a_crowd_on_few_sockets_each_say_what_they_say_alone():
    want = alone_texts()
    with server() as s:
        sockets = [Streams(s) for _ in range(N_SOCKETS)]
        share = -(-N // N_SOCKETS)
        for k, w in enumerate(sockets):
            for i in range(k * share, min(N, (k + 1) * share)):
                w.say('generate', id=str(i), credit=1, **request(i))       # each waits for more after its first token
        got = [''] * N
        for k, w in enumerate(sockets):
            left = set(range(k * share, min(N, (k + 1) * share)))
            while left:
                m = w.hear()
                if m['type'] == 'chunk':
                    got[int(m['id'])] += m['text']
                    left.discard(int(m['id']))
                else:
                    equal(m['type'], 'begun')
        for k, w in enumerate(sockets):
            mine = range(k * share, min(N, (k + 1) * share))
            for i in mine:
                w.say('credit', id=str(i), tokens=TOKENS)
            for i, messages in w.until_end(*map(str, mine)).items():
                got[int(i)] += ''.join(m['text'] for m in messages if m['type'] == 'chunk')
                equal(messages[-1]['type'], 'end')
        equal(got, want)


if __name__ == '__main__':
    main()
