#!/usr/bin/env python3
"""tools/run_tests.py [--filter TEXT] [--jobs N] [--timeout S] PASS... - runs the test programs of build folders and counts their tests.

PASS is BUILD_DIR[:quick][:VARIABLE=VALUE...]: all programs that ctest knows there, run with those variables; `quick`
leaves out the programs of tests/slow.txt and those with the ctest label `slow`; `clients` takes the programs with the ctest label `clients`,
which no other pass has. Programs that test the source tree, or what is installed of it (ctest label `tree`), run in the first pass only.

A program prints `ok NAME`, `FAIL NAME ...` or `SKIP NAME: why` for each of its tests (tests/check.h). One that prints none of
these is itself one test. One that crashes, hangs or ends with a status that its lines do not explain is a failed test
of its own name. The last line is `N passed, N failed`; exit status 1 if any failed, 2 if there was nothing to run.

tests/allowed_skips.txt lists what a machine itself may lack. With RUNNEL_TEST_STRICT=1 any other skip is a failed test;
RUNNEL_TEST_ALLOW adds patterns, with | between them.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of one program, by its build's RUNNEL_SANITIZE: above what the longest ones allow themselves on a machine that others use, too.
TIMEOUT_S = {'': 600, 'address,undefined': 900, 'thread': 1200}
FULL_FACTOR = 6            # for RUNNEL_TEST_FULL=1
SHOWN_LINES = 60           # of a failed test's output
SHOWN_SLOWEST = 15
SANITIZER_ENV = {
    # An allocation too large is a NULL that the code must handle, not the sanitizer's business.
    'ASAN_OPTIONS': 'detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1',
    'UBSAN_OPTIONS': 'print_stacktrace=1:halt_on_error=1',
    'TSAN_OPTIONS': 'halt_on_error=1:allocator_may_return_null=1',
}
RESULT = re.compile(r'(ok|FAIL|SKIP) (.+)')

Program = collections.namedtuple('Program', 'title name command cwd env timeout')
Outcome = collections.namedtuple('Outcome', 'program seconds passed failed skipped')   # failed: [(test, [line])], skipped: [text]


def cache_value(build, key):
    found = re.search(rf'^{key}:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.M)
    return found[1] if found else ''


def slow_programs():
    lines = (ROOT / 'tests/slow.txt').read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith('#')}


@functools.cache
def allowed_skips():
    """The patterns of tests/allowed_skips.txt."""
    lines = (ROOT / 'tests/allowed_skips.txt').read_text().splitlines()
    more = os.environ.get('RUNNEL_TEST_ALLOW', '').split('|')
    return [line.split('  ')[0] for line in lines if line and not line.startswith('#')] + more


def is_allowed(skip):
    return any(fnmatch.fnmatchcase(skip, pattern) for pattern in allowed_skips())


def fixed_addresses():
    """Some kernels place mappings where older sanitizer run times do not expect them: run without random addresses."""
    prefix = ['setarch', '-R']
    works = shutil.which(prefix[0]) and subprocess.run([*prefix, 'true'], capture_output=True).returncode == 0
    return prefix if works else []


def programs_of(spec, first, text, timeout):
    """The programs of one PASS, those that `text` selects."""
    folder, *words = spec.split(':')
    build = pathlib.Path(folder)
    sanitize = cache_value(build, 'RUNNEL_SANITIZE')
    prefix = fixed_addresses() if sanitize else []
    settings = dict(w.split('=', 1) for w in words if '=' in w)
    left_out = slow_programs() if 'quick' in words else set()
    title = ' '.join([build.name, *(w for w in words if '=' in w)])
    timeout = timeout or TIMEOUT_S.get(sanitize, 300) * (FULL_FACTOR if os.environ.get('RUNNEL_TEST_FULL') else 1)
    known = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], check=True, capture_output=True, text=True)
    for test in json.loads(known.stdout)['tests']:
        properties = {p['name']: p['value'] for p in test['properties']}
        name = test['name']
        command = test.get('command') or [name]     # ctest gives none for a program that is not there
        labels = properties.get('LABELS', [])
        if ('clients' in labels) != ('clients' in words):
            continue
        if name in left_out or ('slow' in labels and 'quick' in words) or ('tree' in labels and not first):
            continue
        if text not in name:
            if not name.endswith('_test'):
                continue            # takes no names of tests
            command = [*command, text]
        given = dict(w.split('=', 1) for w in properties.get('ENVIRONMENT', []))
        env = {**os.environ, **(SANITIZER_ENV if sanitize else {}), **given, **settings}
        yield Program(title, name, [*prefix, *command], properties.get('WORKING_DIRECTORY', folder), env, timeout)


def run(program, selected):
    """Outcome of one program; `selected`: it may rightly have no test to run."""
    begin = time.monotonic()
    try:
        child = subprocess.Popen(program.command, cwd=program.cwd, env=program.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as e:
        return Outcome(program, 0.0, 0, [(program.name, [f'cannot be started: {e}'])], [])
    try:
        output, trouble = child.communicate(timeout=program.timeout)[0], ''
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)        # with whatever it started
        output, trouble = child.communicate()[0], f'not finished after {program.timeout} s'
    if not trouble and child.returncode < 0:
        trouble = f'ended by {signal.Signals(-child.returncode).name}'

    passed, failed, skipped, lines = 0, [], [], []
    for line in output.decode(errors='replace').splitlines():
        result = RESULT.fullmatch(line)
        if not result:
            lines.append(line)
            continue
        if result[1] == 'ok':
            passed += 1
        elif result[1] == 'SKIP':
            skipped.append(result[2])
        else:
            failed.append((result[2], lines))
        lines = []
    if not trouble and child.returncode and not failed:
        trouble = f'ended with status {child.returncode}'
    if trouble:
        failed.append((program.name, [*lines, trouble]))
    elif not (passed or failed or skipped or selected):
        passed = 1
    return Outcome(program, time.monotonic() - begin, passed, failed, skipped)


def run_and_tell(program, selected):
    """The same; a failure is told at once."""
    outcome = run(program, selected)
    for test, _ in outcome.failed:
        print(f'dev: test: FAIL {program.name}: {test} ({program.title})', file=sys.stderr, flush=True)
    return outcome


def fail_skips(outcome):
    """The outcome with its skips that are not allowed as failed tests."""
    wrong = [text for text in outcome.skipped if not is_allowed(f'{outcome.program.name}: {text}')]
    return outcome._replace(skipped=[text for text in outcome.skipped if text not in wrong],
                            failed=outcome.failed + [(text, ['skipped, and not in tests/allowed_skips.txt']) for text in wrong])


def report(outcomes):
    for title in dict.fromkeys(o.program.title for o in outcomes):
        of_pass = [o for o in outcomes if o.program.title == title]
        print(f'{title}: {len(of_pass)} programs, {sum(o.passed for o in of_pass)} ok, '
              f'{sum(len(o.failed) for o in of_pass)} FAIL, {sum(len(o.skipped) for o in of_pass)} SKIP, '
              f'{sum(o.seconds for o in of_pass):.1f} s of program time')
    print('slowest:')
    for o in sorted(outcomes, key=lambda o: -o.seconds)[:SHOWN_SLOWEST]:
        print(f'  {o.seconds:7.2f} s  {o.program.name} ({o.program.title})')
    skipped = collections.defaultdict(list)
    for o in outcomes:
        for text in o.skipped:
            skipped[f'{o.program.name}: {text}'].append(o.program.title)
    for text, titles in skipped.items():
        print(f'SKIP {text} ({", ".join(titles)})')
    n_missing = sum(not is_allowed(text) for text in skipped)
    if n_missing:
        print(f'{n_missing} tests were skipped: ./dev setup --all installs what they need')
    for o in outcomes:
        for test, lines in o.failed:
            print(f'FAIL {o.program.name}: {test} ({o.program.title})')
            cut = len(lines) - SHOWN_LINES
            if cut > 0:
                print(f'    ... {cut} lines before')
            print(*(f'    {line}' for line in lines[-SHOWN_LINES:]), sep='\n')


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--filter', default='')
    parser.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--timeout', type=int, help='seconds for each program')
    parser.add_argument('passes', nargs='+')
    args = parser.parse_args()

    programs = [p for i, spec in enumerate(args.passes) for p in programs_of(spec, i == 0, args.filter, args.timeout)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as workers:
        outcomes = list(workers.map(lambda p: run_and_tell(p, bool(args.filter)), programs))
    outcomes = [o for o in outcomes if o.passed or o.failed or o.skipped]
    if not outcomes:
        print(f'dev: test: no program and no test has {args.filter!r} in its name', file=sys.stderr)
        return 2
    if os.environ.get('RUNNEL_TEST_STRICT') == '1':
        outcomes = [fail_skips(o) for o in outcomes]
    report(outcomes)
    n_failed = sum(len(o.failed) for o in outcomes)
    print(f'{sum(o.passed for o in outcomes)} passed, {n_failed} failed')
    return 1 if n_failed else 0


if __name__ == '__main__':
    sys.exit(main())
