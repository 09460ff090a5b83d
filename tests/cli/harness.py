"""tests/cli/harness.py - runs the program and counts tests, for the scripts beside it.

A test is a function whose name is a sentence that can be false, marked with @test. A script prints `ok NAME`, `FAIL NAME: why` or
`SKIP NAME: why` for each and ends with 0, or 1 when one failed. Arguments: parts of names to run.
The program is $RUNNEL_PROGRAM, else build/release/runnel of this tree.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get('RUNNEL_PROGRAM') or str(ROOT / 'build/release/runnel')
MODEL = ROOT / 'models/stories.gguf'
TIMEOUT_S = 600 if os.environ.get('RUNNEL_TEST_FULL') else 110        # builds with sanitizers are slow, TSan's most of all
CTRL_C = b'\x03'

signal.signal(signal.SIGINT, signal.default_int_handler)    # a shell's background job ignores it, and would hand that on
tests = []


class Skip(Exception):
    pass


def test(fn):
    tests.append(fn)
    return fn


def main():
    wanted = sys.argv[1:]
    failed = 0
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f'{PROGRAM}: there is no such program: build it, or set RUNNEL_PROGRAM')
    for fn in tests:
        if wanted and not any(w in fn.__name__ for w in wanted):
            continue
        try:
            fn()
            print(f'ok {fn.__name__}', flush=True)
        except Skip as e:
            print(f'SKIP {fn.__name__}: {e}', flush=True)
        except Exception as e:
            failed += 1
            if not isinstance(e, AssertionError):
                traceback.print_exc()
            print(f'FAIL {fn.__name__}: ' + ' '.join(str(e).split()), flush=True)
    sys.exit(failed > 0)


def skip_under_tsan(why):
    if b'__tsan_init' in pathlib.Path(PROGRAM).read_bytes():
        raise Skip(why)


def check(holds, *why):
    if not holds:
        raise AssertionError(' '.join(map(str, why)))


def equal(got, want, what=''):
    check(got == want, what, f'got {shorten(got)}, want {shorten(want)}')


def shorten(value):
    text = repr(value)
    return text if len(text) < 600 else text[:300] + ' ... ' + text[-290:]


def environment(**changes):
    """This process's environment without what steers the program (but RUNNEL_CPU), with the default model, and with changes."""
    drop = ('RUNNEL_MODELS', 'NO_COLOR', 'XDG_CACHE_HOME')
    env = {k: v for k, v in os.environ.items() if k not in drop}
    env |= {'RUNNEL_MODEL': str(MODEL), 'RUNNEL_CONFIG': '', 'TERM': 'xterm', **changes}
    return {k: v for k, v in env.items() if v is not None}


class Result:
    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    @property
    def text(self):
        return self.out.decode()

    @property
    def lines(self):
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def ok(self):
        check(self.code == 0, f'{self.args}: ended with {self.code}: {self.err[-500:]}')
        return self

    def fails(self, code, part=''):
        check(self.code == code, f'{self.args}: ended with {self.code}, not {code}: {self.err[-500:]}')
        check(self.err.startswith('runnel: '), f'{self.args}: stderr does not begin with runnel: {self.err[:200]!r}')
        check(part in self.err, f'{self.args}: {part!r} is not in {self.err!r}')
        check(self.err.endswith('\n') and '\n\n' not in self.err, f'{self.args}: untidy message {self.err!r}')
        return self


def runnel(*args, stdin=b'', env=None, cwd=None):
    """Runs to the end; stdin None: /dev/null."""
    given = {'stdin': subprocess.DEVNULL} if stdin is None else {'input': stdin}
    done = subprocess.run([PROGRAM, *map(str, args)], env=env or environment(), cwd=cwd, timeout=TIMEOUT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **given)
    return Result(args, done.returncode, done.stdout, done.stderr.decode())


def smollm2():
    """A real model: by its name where `./dev model` has fetched it, else the file of shared models/get."""
    if runnel('info', 'smollm2-135m', '--json').code == 0:
        return 'smollm2-135m'
    for folder in (os.environ.get('RUNNEL_MODELS'), pathlib.Path.home() / '.cache/runnel-models'):
        file = pathlib.Path(folder or '/nowhere') / 'SmolLM2-135M-Instruct.Q4_1.gguf'
        if file.exists():
            return file
    raise Skip('SmolLM2-135M-Instruct.Q4_1.gguf is not here: ./dev model smollm2-135m')


def synth_model(*args):
    """bench/synth_model of the program's own build."""
    program = pathlib.Path(PROGRAM).parent / 'bench/synth_model'
    if not program.exists():
        raise Skip(f'{program}: there is no such program')
    subprocess.run([program, *map(str, args)], check=True, timeout=TIMEOUT_S, capture_output=True)


def start(*args, stdin=subprocess.DEVNULL):
    return subprocess.Popen([PROGRAM, *map(str, args)], env=environment(), bufsize=0, stdin=stdin,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(child):
    """(code, rest of stdout, stderr) of a started program."""
    out, err = child.communicate(timeout=TIMEOUT_S)
    return child.returncode, out, err.decode()


class Terminal:
    """The program with stdin, stdout and stderr, or some of them, on a terminal of its own."""

    def __init__(self, *args, columns=80, stdin=None, stdout=None, env=None):
        try:
            self.master, slave = pty.openpty()
        except OSError as e:
            raise Skip(f'no pseudo-terminal here: {e}') from e
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        self.child = subprocess.Popen([PROGRAM, *map(str, args)], env=env or environment(), start_new_session=True,
                                      stdin=slave if stdin is None else stdin, stdout=slave if stdout is None else stdout,
                                      stderr=slave, preexec_fn=self.take_terminal(slave))
        os.close(slave)
        self.shown = b''

    @staticmethod
    def take_terminal(slave):
        return lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def read(self, until=None):
        """What the terminal shows, up to the end or until the text is there."""
        limit = time.monotonic() + TIMEOUT_S
        while until is None or until not in self.shown:
            check(time.monotonic() < limit, f'nothing more came; shown: {shorten(self.shown)}')
            if not select.select([self.master], [], [], 1)[0]:
                continue
            try:
                more = os.read(self.master, 65536)
            except OSError:     # how Linux says that the other side is closed
                break
            if not more:
                break
            self.shown += more
        return self.shown.decode(errors='replace')

    def read_times(self, text, n):
        """Until the text has been shown n times."""
        limit = time.monotonic() + TIMEOUT_S
        while self.shown.count(text) < n:
            check(time.monotonic() < limit and self.child.poll() is None, f'nothing more came; shown: {shorten(self.shown)}')
            if select.select([self.master], [], [], 1)[0]:
                try:
                    self.shown += os.read(self.master, 65536)
                except OSError:
                    break
        return self.shown.decode(errors='replace')

    def type(self, keys):
        os.write(self.master, keys)

    def end(self):
        shown = self.read()
        code = self.child.wait(timeout=TIMEOUT_S)
        os.close(self.master)
        return code, shown


def screen(shown, columns):
    """The lines a terminal of that width holds after these bytes: text, CR, LF, colours, erasing, and cursor moves within a line and up."""
    lines, row, at = [[]], 0, 0
    for part in re.findall(r'\x1b\[[?0-9;]*[A-Za-z]|.|\n', shown.replace('\r\n', '\n'), re.S):
        n = int(part[2:-1] or 1) if re.fullmatch(r'\x1b\[[0-9]*[ADGP]', part) else 0
        if part == '\n':
            row += 1
            at = 0
        elif part == '\r':
            at = 0
        elif part == '\x07':
            continue
        elif part == '\x1b[K':
            del lines[row][at:]
        elif part == '\x1b[J':
            del lines[row][at:], lines[row + 1:]
        elif part[0] == '\x1b' and part[-1] == 'A':
            row -= n
        elif part[0] == '\x1b' and part[-1] == 'D':
            at -= n
        elif part[0] == '\x1b' and part[-1] == 'G':
            at = n - 1
        elif part[0] == '\x1b' and part[-1] == 'P':
            del lines[row][at:at + n]
        elif part[0] != '\x1b':
            width = 0 if unicodedata.category(part) in ('Mn', 'Me', 'Cf') else 2 if unicodedata.east_asian_width(part) in 'WF' else 1
            if at + width > columns:
                row += 1
                at = 0
            lines += [[] for _ in range(row + 1 - len(lines))]
            lines[row] += [' '] * (at - len(lines[row]))
            if width == 0 and at > 0:
                lines[row][at - 1] += part
            lines[row][at:at + width] = [part] + [''] * (width - 1) if width else lines[row][at:at]
            at += width
        lines += [[] for _ in range(row + 1 - len(lines))]
    return [''.join(line) for line in lines]


class Folder:
    """A temporary folder: with Folder() as path."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix='runnel-test.'))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def interrupt(child):
    child.send_signal(signal.SIGINT)
