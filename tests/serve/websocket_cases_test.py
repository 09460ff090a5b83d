#!/usr/bin/env python3
"""The cases of Autobahn's WebSocket suite (fuzzingclient 25.10), by their numbers, as a table: what is sent, what must come back.

That suite itself runs on Python 2 only. What differs here is what the server's documents say: binary messages are refused (1003), a frame has
up to 1 MiB and a message up to 1,024 frames (1009), and no extension is negotiated, so there are no cases 12 and 13.
"""
import struct
import time

from serving import Server, Socket, check, equal, main, test

F = Socket.frame
HELLO = 'Hello, world!'
OPEN = 'open'           # the case ends with the client's close frame, which is returned
DROPPED = None          # an end of the connection without a close frame is right, too


class Maybe(list):
    """Frames that may come: answers to what came at once with a frame that ends the connection. The suite calls their lack "non-strict"."""


PAUSE = object()        # 0.1 s, in which what came so far is judged
TOO_BIG, NO_TEXT, PROTOCOL, NOT_UTF8 = (1009,), (1003,), (1002,), (1007,)
server = None


def close(code, reason=b''):
    return F(8, struct.pack('>H', code) + reason)


def fragments(payload, size):
    payload = payload if isinstance(payload, bytes) else payload.encode()
    pieces = [payload[i:i + size] for i in range(0, len(payload), size)] or [b'']
    return b''.join(F(0 if i else 1, p, fin=i == len(pieces) - 1) for i, p in enumerate(pieces))


def text(payload):
    return (1, payload if isinstance(payload, bytes) else payload.encode())


def pong(payload=b''):
    return (10, payload if isinstance(payload, bytes) else payload.encode())


def run(number, sends, frames, end, chop=None):
    """sends: bytes and pauses. frames: those that must come, in order. end: OPEN, or the close codes of which one must come."""
    with server.connect() as c:
        w = Socket(c)
        got, frame = [], (None, b'')
        try:
            for part in sends if isinstance(sends, (list, tuple)) else [sends]:
                if part is PAUSE:
                    time.sleep(0.1)
                    continue
                for i in range(0, len(part), chop or len(part)):
                    c.send(part[i:i + (chop or len(part))])
        except OSError:
            pass            # the server has ended it
        try:
            if end == OPEN:
                while len(got) < len(frames):
                    got.append(w.read())
                c.send(close(1000))
            while True:
                frame = w.read()
                if frame[0] in (8, None):
                    break
                got.append(frame)
            if frame[0] == 8 and end != OPEN:
                c.send(F(8, frame[1]))
        except OSError as e:
            check(not isinstance(e, TimeoutError), number, 'nothing came')
            frame = frame if frame[0] == 8 else (None, b'')
        if got or not isinstance(frames, Maybe):
            equal(got, frames, number)
        code = frame[1] and struct.unpack('>H', frame[1][:2])[0] or None
        check(code in ((1000,) if end == OPEN else end), number, f'ended with {code}, not {end}')
        check(c.is_closed(10), number, 'still open')


# ---- 1 to 5: frames, pings, reserved bits, opcodes, fragments --------------------------------------------------------

SIZES = (0, 125, 126, 127, 128, 65535, 65536)
CASES = [
    *[(f'1.1.{i + 1}', F(1, '*' * n), [text('*' * n)], OPEN) for i, n in enumerate(SIZES)],
    *[(f'1.2.{i + 1}', F(2, b'\xfe' * n), [], NO_TEXT) for i, n in enumerate(SIZES)],
    ('2.1', F(9, ''), [pong()], OPEN),
    ('2.2', F(9, HELLO), [pong(HELLO)], OPEN),
    ('2.3', F(9, b'\x00\xff\xfe\xfd\xfc\xfb\x00\xff'), [pong(b'\x00\xff\xfe\xfd\xfc\xfb\x00\xff')], OPEN),
    ('2.4', F(9, b'\xfe' * 125), [pong(b'\xfe' * 125)], OPEN),
    ('2.5', F(9, b'\xfe' * 126), [], (1002, DROPPED)),
    ('2.7', F(10, ''), [], OPEN),
    ('2.8', F(10, 'unsolicited'), [], OPEN),
    ('2.9', F(10, 'unsolicited') + F(9, 'ping'), [pong('ping')], OPEN),
    ('2.10', b''.join(F(9, f'payload-{i}') for i in range(10)), [pong(f'payload-{i}') for i in range(10)], OPEN),
    *[(f'3.{rsv}', F(1, HELLO) + F(1, HELLO, rsv=rsv) + F(9, ''), Maybe([text(HELLO)]), PROTOCOL) for rsv in (1, 2, 3, 4)],
    ('3.5', F(2, b'\x00\xff', rsv=5), [], PROTOCOL),
    ('3.6', F(9, HELLO, rsv=6), [], PROTOCOL),
    ('3.7', F(8, struct.pack('>H', 1000), rsv=7), [], PROTOCOL),
    *[(f'4.1.{i + 1}', F(1, HELLO) + F(opcode, HELLO) + F(9, ''), Maybe([text(HELLO)]), PROTOCOL) for i, opcode in enumerate((3, 4, 5, 6, 7))],
    *[(f'4.2.{i + 1}', F(1, HELLO) + F(opcode, HELLO) + F(9, ''), Maybe([text(HELLO)]), PROTOCOL) for i, opcode in enumerate((11, 12, 13, 14, 15))],
    ('5.1', F(9, 'fragment1', fin=False) + F(0, 'fragment2'), [], (1002, DROPPED)),
    ('5.2', F(10, 'fragment1', fin=False) + F(0, 'fragment2'), [], (1002, DROPPED)),
    ('5.3', fragments('fragment1fragment2', 9), [text('fragment1fragment2')], OPEN),
    ('5.6', F(1, 'a', fin=False) + F(9, 'ping') + F(0, 'b'), [pong('ping'), text('ab')], OPEN),
    ('5.9', F(0, 'nothing') + F(1, HELLO), [], PROTOCOL),
    ('5.12', F(0, 'nothing', fin=False) + F(1, HELLO), [], PROTOCOL),
    ('5.15', fragments('ab', 1) + F(0, 'c', fin=False) + F(1, 'd'), Maybe([text('ab')]), PROTOCOL),
    ('5.16', (F(0, 'a', fin=False) + F(1, 'b', fin=False) + F(0, 'c')) * 2, [], PROTOCOL),
    ('5.17', (F(0, 'a') + F(1, 'b', fin=False) + F(0, 'c')) * 2, [], PROTOCOL),
    ('5.18', F(1, 'a', fin=False) + F(1, 'b'), [], PROTOCOL),
    ('5.19', [F(1, 'a', fin=False) + F(0, 'b', fin=False) + F(9, 'one'), PAUSE, F(0, 'c', fin=False) + F(0, 'd', fin=False) + F(9, 'two') + F(0, 'e')],
     [pong('one'), pong('two'), text('abcde')], OPEN),
]
# The suite's cases that send others' bytes one by one.
CHOPPED = {'2.4': '2.6', '2.10': '2.11', '3.2': '3.3', '5.3': '5.5', '5.6': '5.8', '5.9': '5.11', '5.12': '5.14', '5.19': '5.20', '1.1.7': '1.1.8'}


def sweep(cases):
    global server
    with Server('--max-body', 2) as s:
        server = s
        for case in cases:
            run(*case)
        equal(s.get('/health').status, 200)


@test
def autobahn_1_to_5_frames_pings_reserved_bits_opcodes_and_fragments():
    chopped = [(CHOPPED[c[0]], *c[1:], 997 if len(c[1]) > 60000 else 1) for c in CASES if c[0] in CHOPPED]
    equal(len(chopped), len(CHOPPED))
    sweep(CASES + chopped)


# ---- 6: UTF-8 --------------------------------------------------------------------------------------------------------

WORD = b'\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5'
PREFIXES = {2, 5, 7, 9, 11}           # of WORD, in bytes, that end where a character does
CUT = [b'\xc0', b'\xe0\x80', b'\xf0\x80\x80', b'\xf8\x80\x80\x80', b'\xfc\x80\x80\x80\x80',
       b'\xdf', b'\xef\xbf', b'\xf7\xbf\xbf', b'\xfb\xbf\xbf\xbf', b'\xfd\xbf\xbf\xbf\xbf']


def surrogate(*codes):
    return b''.join(chr(c).encode('utf-8', 'surrogatepass') for c in codes)


def utf8_rows():
    """(case, bytes, whether they are UTF-8), by the groups of Kuhn's tests."""
    spaced = [b' '.join(bytes([b]) for b in range(*r)) + b' ' for r in ((0xc0, 0xdf), (0xe0, 0xef), (0xf0, 0xf7), (0xf8, 0xfb), (0xfc, 0xfd))]
    none = [chr(plane << 16 | last).encode() for plane in range(17) for last in (0xfffe, 0xffff)]
    groups = [
        ('6.5', True, [b'hello$world', 'hello¢world'.encode(), 'hello€world'.encode(), 'hello𤭢world'.encode(), WORD]),
        ('6.6 whole', True, [WORD[:n] for n in sorted(PREFIXES)]),
        ('6.6 cut', False, [WORD[:n] for n in range(1, 12) if n not in PREFIXES]),
        ('6.7', True, [b'\x00', b'\xc2\x80', b'\xe0\xa0\x80', b'\xf0\x90\x80\x80']),
        ('6.8', False, [b'\xf8\x88\x80\x80\x80', b'\xfc\x84\x80\x80\x80\x80']),
        ('6.9', True, [b'\x7f', b'\xdf\xbf', b'\xef\xbf\xbf', b'\xf4\x8f\xbf\xbf']),
        ('6.10', False, [b'\xf7\xbf\xbf\xbf', b'\xfb\xbf\xbf\xbf\xbf', b'\xfd\xbf\xbf\xbf\xbf\xbf']),
        ('6.11', True, [b'\xed\x9f\xbf', b'\xee\x80\x80', b'\xef\xbf\xbd', b'\xf4\x8f\xbf\xbf']),
        ('6.11.5', False, [b'\xf4\x90\x80\x80']),
        ('6.12', False, [b'\x80', b'\xbf', *[(b'\x80\xbf' * 3)[:n] for n in range(2, 7)], bytes(range(0x80, 0xbf))]),
        ('6.13', False, spaced),
        ('6.14', False, CUT),
        ('6.15', False, [b''.join(CUT)]),
        ('6.16', False, [b'\xfe', b'\xff', b'\xfe\xfe\xff\xff']),
        ('6.17', False, [b'\xc0\xaf', b'\xe0\x80\xaf', b'\xf0\x80\x80\xaf', b'\xf8\x80\x80\x80\xaf', b'\xfc\x80\x80\x80\x80\xaf']),
        ('6.18', False, [b'\xc1\xbf', b'\xe0\x9f\xbf', b'\xf0\x8f\xbf\xbf', b'\xf8\x87\xbf\xbf\xbf', b'\xfc\x83\xbf\xbf\xbf\xbf']),
        ('6.19', False, [b'\xc0\x80', b'\xe0\x80\x80', b'\xf0\x80\x80\x80', b'\xf8\x80\x80\x80\x80', b'\xfc\x80\x80\x80\x80\x80']),
        ('6.20', False, [surrogate(c) for c in (0xd800, 0xdb7f, 0xdb80, 0xdbff, 0xdc00, 0xdf80, 0xdfff)]),
        ('6.21', False, [surrogate(a, b) for a in (0xd800, 0xdb7f, 0xdb80, 0xdbff) for b in (0xdc00, 0xdfff)]),
        ('6.22', True, none),
        ('6.23', True, [chr(c).encode() for c in range(0xfff9, 0x10000)]),
    ]
    return [(f'{name} {data.hex()}', data, valid) for name, valid, rows in groups for data in rows]


@test
def autobahn_6_utf_8_whole_and_cut_at_each_byte():
    cases = []
    for name, data, valid in utf8_rows():
        frames, end = ([text(data)], OPEN) if valid else ([], NOT_UTF8)
        cases += [(name, F(1, data), frames, end), (f'{name} in frames of one byte', fragments(data, 1), frames, end)]
    cases += [
        ('6.1.1', F(1, ''), [text('')], OPEN),
        ('6.1.2', F(1, '', fin=False) + F(0, '', fin=False) + F(0, ''), [text('')], OPEN),
        ('6.1.3', F(1, '', fin=False) + F(0, 'middle', fin=False) + F(0, ''), [text('middle')], OPEN),
        ('6.2.1', F(1, WORD * 3), [text(WORD * 3)], OPEN),
        ('6.2.2', fragments(WORD * 2, len(WORD)), [text(WORD * 2)], OPEN),
        ('6.2.3', fragments(WORD * 2, 1), [text(WORD * 2)], OPEN),
        ('6.2.4', fragments(WORD, 1), [text(WORD)], OPEN),
        ('6.3.1', F(1, WORD + surrogate(0xd800) + b'edited'), [], NOT_UTF8),
        ('6.3.2', fragments(WORD + surrogate(0xd800) + b'edited', 1), [], NOT_UTF8),
    ]
    sweep(cases)


@test
def autobahn_6_4_a_frame_that_makes_a_message_invalid_ends_it_before_its_end():
    sweep([
        ('6.4.1', [F(1, WORD, fin=False), PAUSE, F(0, b'\xf4\x90\x80\x80', fin=False)], [], NOT_UTF8),
        ('6.4.2', [F(1, WORD + b'\xf4', fin=False), PAUSE, F(0, b'\x90', fin=False)], [], NOT_UTF8),
        # Within a frame it is judged at its end, which the suite takes for right ("non-strict").
        ('6.4.3', [F(1, WORD + b'\xf4\x90\x80\x80' + b'edited')[:20], PAUSE, F(1, WORD + b'\xf4\x90\x80\x80' + b'edited')[20:]], [], NOT_UTF8),
        ('6.4.4', [F(1, WORD + b'\xf4\x90\x80\x80' + b'edited')[:19], PAUSE, F(1, WORD + b'\xf4\x90\x80\x80' + b'edited')[19:]], [], NOT_UTF8),
    ])


# ---- 7: the end ------------------------------------------------------------------------------------------------------

@test
def autobahn_7_close_frames_and_what_follows_them():
    done = close(1000)
    sweep([
        ('7.1.1', F(1, HELLO), [text(HELLO)], OPEN),
        ('7.1.2', done + done, [], (1000,)),
        ('7.1.3', done + F(9, ''), [], (1000,)),
        ('7.1.4', done + F(1, HELLO), [], (1000,)),
        ('7.1.5', F(1, 'a', fin=False) + done + F(0, 'b'), [], (1000,)),
        ('7.3.1', F(8, ''), [], (1000, 1005, DROPPED)),
        ('7.3.2', F(8, b'a'), [], (1002, DROPPED)),
        ('7.3.3', done, [], (1000,)),
        ('7.3.4', close(1000, b'Hello World!'), [], (1000,)),
        ('7.3.5', close(1000, b'*' * 123), [], (1000,)),
        ('7.3.6', close(1000, b'*' * 124), [], (1002, DROPPED)),
        ('7.5.1', close(1000, WORD + surrogate(0xd800) + b'edited'), [], (1002, 1007, DROPPED)),
        *[(f'7.7 {code}', close(code), [], (1000, code)) for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999)],
        *[(f'7.9 {code}', close(code), [], (1002, DROPPED)) for code in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999)],
        *[(f'7.13 {code}', close(code), [], (1000, 1002, code, DROPPED)) for code in (5000, 65535)],
    ])


@test
def autobahn_7_1_6_a_large_message_and_a_close_frame_at_once():
    large = 'BAsd7&jh23' * 26214
    with Server('--max-body', 2) as s, s.connect() as c:
        w = Socket(c)
        c.send(F(1, large) + F(1, HELLO) + close(1000) + F(9, ''))
        got = []
        while (frame := w.read())[0] not in (8, None):
            got.append(frame)
        check(got in ([], [text(large)], [text(large), text(HELLO)]), len(got))     # any of these is right
        equal(frame, (8, struct.pack('>H', 1000)))


# ---- 9 and 10: sizes, up to the server's limits ----------------------------------------------------------------------

@test
def autobahn_9_and_10_messages_fragments_and_chops_of_all_sizes_up_to_the_limits():
    cases = [(f'9.1 {n}', F(1, '*' * n), [text('*' * n)], OPEN) for n in (1 << 16, 1 << 18, 1 << 20)]
    cases += [(f'9.1 {n}', F(1, '*' * n), [], TOO_BIG) for n in ((1 << 20) + 1, 1 << 21)]
    whole = '*' * (1 << 21)
    cases += [(f'9.3 {size}', fragments(whole, size), [text(whole)], OPEN) for size in (2048, 4096, 16384, 65536, 1 << 18, 1 << 20)]
    cases += [(f'9.3 {size}', fragments(whole, size), [], TOO_BIG) for size in (64, 256, 1024)]
    mega = 'BAsd7&jh23' * 104857
    cases += [(f'9.5 chops of {chop}', F(1, mega), [text(mega)], OPEN, chop) for chop in (64, 128, 256, 512, 1024, 2048)]
    cases += [('10.1.1', fragments('*' * 65536, 1300), [text('*' * 65536)], OPEN)]
    sweep(cases)


@test
def autobahn_9_7_a_thousand_round_trips_of_each_size():
    with Server('--max-body', 2) as s, s.connect() as c:
        w = Socket(c)
        for n in (0, 16, 64, 256, 1024, 4096):
            for _ in range(1000):
                equal(len(w.send('*' * n).text()), n)


main()
