"""tests/lint/sentences.py - tests in Python that report as tests/check.h does: a test is a sentence that can be false.

    @test
    def an_upward_include_is_refused(folder): ...       # folder: a fresh pathlib.Path, removed afterwards

A test fails by an exception; it is skipped by raising Skip(why). main() runs those that the arguments select.
"""
import pathlib
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = []


class Skip(Exception):
    pass


def test(fn):
    TESTS.append(fn)
    return fn


def write(folder, files):
    """files: path inside folder -> text."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def has(text, *parts):
    for part in parts:
        assert part in text, f'{text!r} lacks {part!r}'


def main():
    chosen, failed = sys.argv[1:], 0
    for fn in TESTS:
        name = fn.__name__
        if chosen and not any(part in name for part in chosen):
            continue
        with tempfile.TemporaryDirectory(prefix='runnel-test.') as folder:
            try:
                fn(pathlib.Path(folder))
                print(f'ok {name}', flush=True)
            except Skip as why:
                print(f'SKIP {name}: {why}', flush=True)
            except Exception:
                traceback.print_exc(file=sys.stdout)
                print(f'FAIL {name}', flush=True)
                failed += 1
    sys.exit(1 if failed else 0)
