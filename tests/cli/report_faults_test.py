#!/usr/bin/env python3
"""tests/cli/report_faults_test.py - pages of `compare`, `score` and `bench` where something fails: the page is whole or absent, and it is said why."""
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys

from harness import MODEL, PROGRAM, ROOT, TIMEOUT_S, Folder, Skip, Terminal, check, end, environment, equal, interrupt, main, runnel, start, test

sys.path.insert(0, str(ROOT / 'tests/serve'))
import script_model     # noqa: E402

PROMPT, FULL = 'Once upon a time', 'No space left on device'
FORM = '{"name": "form", "temp": 0, "regex": "[a-z ]+"}'
THREE = '{"name": "three", "strategy": "beam", "num_beams": 3, "num_return_sequences": 3}'
COMPARE = ['compare', '-t', '1', '-n', '4', '--seed', '1', '-s', 'greedy', '-s', THREE, '-s', FORM, PROMPT]
WRITERS = (COMPARE, ['score', '-t', '1', '--ids', '1,5,9,7'], ['bench', '-t', '1', '-p', '2', '-n', '2', '-r', '1', '--no-limits'])


def is_whole(path):
    return path.read_bytes().endswith(b'</body>\n</html>\n')


@test
def every_allocation_that_fails_leaves_a_whole_page_or_none():
    if any(mark in pathlib.Path(PROGRAM).read_bytes() for mark in (b'__asan_init', b'__tsan_init')):
        raise Skip('sanitizers have allocations of their own')
    compiler = shutil.which('cc') or shutil.which('gcc')
    if not compiler:
        raise Skip('there is no C compiler')
    most = 1000000 if os.environ.get('RUNNEL_TEST_FULL') else 25
    with Folder() as folder:
        fault, log, room = folder / 'fault.so', folder / 'log', folder / 'room'
        room.mkdir()
        subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', fault, ROOT / 'tests/cli/allocation_fault.c'], check=True)

        def run(args, at):
            env = environment(LD_PRELOAD=str(fault), FAIL_AT=str(at), FAIL_LOG=str(log))
            return subprocess.run([PROGRAM, *args, '--html', str(room / 'page.html')], env=env, capture_output=True, text=True, timeout=TIMEOUT_S)

        for args in WRITERS:
            equal(run(args, 0).returncode, 0, args)
            n = int(log.read_text())
            check(n > 100, n)
            for at in sorted(random.Random(5).sample(range(1, n + 1), min(n, most))):
                (room / 'page.html').unlink(missing_ok=True)
                done, left = run(args, at), os.listdir(room)
                if done.returncode == 0:    # what failed was not needed, as a hint of the system's
                    check(left == ['page.html'] and is_whole(room / 'page.html'), args[0], at, left)
                else:
                    check(done.returncode == 1 and done.stderr.startswith('runnel: '), args[0], at, done.returncode, done.stderr[-300:])
                    check(left in ([], ['page.html']) and (not left or is_whole(room / 'page.html')), args[0], at, left)


@test
def a_file_system_without_room_leaves_the_old_page():
    with Folder() as folder:
        page = folder / 'page.html'
        for room in (0, 1, 4096, 8192):
            for args in WRITERS:
                page.write_bytes(b'old')
                done = subprocess.run([PROGRAM, *args, '--html', page], env=environment(), capture_output=True, text=True,
                                      preexec_fn=lambda room=room: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
                check(done.returncode == 1 and 'page.html: ' in done.stderr and 'File too large' in done.stderr, args, done)
                equal((os.listdir(folder), page.read_bytes()), (['page.html'], b'old'), args[0])


@test
def a_full_stdout_is_told_and_the_page_is_whole():
    with Folder() as folder:
        for more in ((), ('--json',)):
            with open('/dev/full', 'wb') as full:
                done = subprocess.run([PROGRAM, *COMPARE, *more, '--html', folder / 'page.html'], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
            check(done.returncode == 1 and f'stdout: {FULL}' in done.stderr, more, done)
            check(not (folder / 'page.html').exists() or is_whole(folder / 'page.html'), 'the page')
            equal([f for f in os.listdir(folder) if f != 'page.html'], [])


@test
def a_reader_that_closes_the_pipe_is_no_error():
    with Folder() as folder:
        for args in (COMPARE, [*COMPARE, '--json']):
            child = start(*args, '--html', folder / 'page.html')
            child.stdout.close()
            err = child.stderr.read()
            equal((child.wait(), err), (0, b''), args)
            check(not (folder / 'page.html').exists() or is_whole(folder / 'page.html'), 'the page')
            equal([f for f in os.listdir(folder) if f != 'page.html'], [])


@test
def ctrl_c_in_the_middle_writes_what_there_is():
    with Folder() as folder:
        page = folder / 'page.html'
        child = start('compare', '--ignore-eos', '-n', '-1', '--cpu', 'ref', '--seed', '7', '-s', 'greedy', '-s', 'beam', PROMPT, '--html', page)
        while b'there' not in child.stdout.read(64):
            check(child.poll() is None, 'it ended')
        interrupt(child)
        code, _, err = end(child)
        equal((code, err, os.listdir(folder)), (130, '', ['page.html']))
        check(is_whole(page) and b'cancelled' in page.read_bytes(), 'whole, and says why the texts end')


@test
def a_second_model_that_cannot_be_opened_is_named_and_nothing_is_written():
    with Folder() as folder:
        (folder / 'cut.gguf').write_bytes(MODEL.read_bytes()[:100000])
        (folder / 'room').mkdir()
        for second, why in (('cut.gguf', 'cut.gguf: '), ('none.gguf', 'No such file'), ('room', 'room')):
            done = runnel('compare', '-m', MODEL, '-m', folder / second, '-n', '2', PROMPT, '--html', folder / 'room/page.html').fails(1, why)
            equal((done.out, os.listdir(folder / 'room')), (b'', []), second)


ODD = ['\x1b[31mred', '\x1b]0;title\x07', '\x9b2J', ' \u202eabc\u202c', ' \u2067rtl', ' שלום', ' مرحبا', ' 👩\u200d👩\u200d👧', ' 東京', '\x00', '\x08\x08', '\r', ' e\u0301', '\ufeff', '\u2028', ' end']


@test
def nothing_that_a_text_says_reaches_a_pipe_changed_or_a_terminal_as_a_command():
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(script_model.make({'A': ODD}, '{{ messages[-1].content }}'))
        args = ('compare', '-m', folder / 'm.gguf', '-s', 'greedy', '-s', json.dumps({'name': '\x1b[5mblink\u202e', 'temp': 0}), 'A')
        lane, _ = runnel(*args, '--json').ok().lines[0]['lanes']
        for odd in ODD:
            check(odd.strip() in lane['text'], repr(odd), repr(lane['text']))
        for columns, term in ((40, 'xterm'), (80, 'xterm'), (200, 'xterm'), (80, 'dumb')):
            code, shown = Terminal(*args, columns=columns, env=environment(LC_ALL='C.UTF-8', TERM=term)).end()
            equal(code, 0)
            # A text on lines of its own keeps its direction.
            for bad in ('\x1b[31m', '\x1b]', '\x9b', '\x1b[5m', '\x08', '\x00', '\x07', *(('\u202e', '\u2067') if term == 'xterm' else ())):
                check(bad not in shown, columns, repr(bad), repr(shown))


if __name__ == '__main__':
    main()
