#!/usr/bin/env python3
"""tests/lint/run_tests_test.py - the test runner loses no failure: crashes, hangs and silent programs are counted."""
import os
import shutil
import subprocess
import sys

from sentences import ROOT, Skip, has, main, test, write

# Programs of a make-believe build folder. ok, FAIL and SKIP are what tests/check.h prints.
GOOD = 'echo "ok a_holds"; echo "noise"; echo "ok b_holds"'
SKIPS = 'echo "ok a_holds"; echo "SKIP c_holds: no shared material"'
FAILS = 'echo "ok a_holds"; echo "  x.c:3: got 1, want 2"; echo "FAIL d_holds (1)"; exit 1'
CRASHES = 'echo "ok a_holds"; echo "last words" >&2; kill -SEGV $$'


def run(folder, programs, *args, env=None, passes=('',)):
    """programs: name -> shell text. The status and output of the runner over one build folder."""
    if not shutil.which('ctest'):
        raise Skip('no ctest')
    build = folder / 'release'
    lines = []
    for name, text in programs.items():
        label, _, name = name.rpartition('/')
        write(build, {f'{name}.sh': text})
        lines.append(f'add_test({name} "/bin/bash" "{build}/{name}.sh")\n')
        if label:
            lines.append(f'set_tests_properties({name} PROPERTIES LABELS "{label}")\n')
    write(build, {'CTestTestfile.cmake': ''.join(lines), 'CMakeCache.txt': 'RUNNEL_SANITIZE:STRING=\n'})
    kept = {k: v for k, v in os.environ.items() if k not in ('RUNNEL_TEST_STRICT', 'RUNNEL_TEST_ALLOW')}
    result = subprocess.run([sys.executable, ROOT / 'tools/run_tests.py', *args, *(f'{build}{p}' for p in passes)],
                            capture_output=True, text=True, env={**kept, **(env or {})})
    return result.returncode, result.stdout, result.stderr


def last(text):
    return text.splitlines()[-1]


@test
def the_last_line_counts_every_test_of_every_program(folder):
    status, out, _ = run(folder, {'one_test': GOOD, 'two_test': SKIPS})
    assert (status, last(out)) == (0, '3 passed, 0 failed'), out
    has(out, 'SKIP two_test: c_holds: no shared material')


@test
def skips_that_a_package_would_end_are_counted_in_one_line_and_fail_a_strict_run(folder):
    programs = {'one_test': SKIPS, 'base.mem_use_test': 'echo "SKIP a_figure: no /proc/self/smaps_rollup here"'}
    status, out, _ = run(folder, programs)
    assert (status, last(out)) == (0, '1 passed, 0 failed'), out
    has(out, '\n1 tests were skipped: ./dev setup --all installs what they need\n')
    status, out, _ = run(folder, programs, env={'RUNNEL_TEST_STRICT': '1'})
    assert (status, last(out)) == (1, '1 passed, 1 failed'), out
    has(out, 'FAIL one_test: c_holds: no shared material', 'tests/allowed_skips.txt', 'SKIP base.mem_use_test: a_figure')
    status, out, _ = run(folder, programs, env={'RUNNEL_TEST_STRICT': '1', 'RUNNEL_TEST_ALLOW': '*: no node|*: no shared material'})
    assert (status, last(out)) == (0, '1 passed, 0 failed'), out


@test
def every_allowed_skip_names_programs_of_this_tree_and_its_reason(folder):
    programs = {f'{p.parent.name}.{p.stem}' for pattern in ('*_test.c', '*_test.py') for p in (ROOT / 'tests').rglob(pattern)}
    for line in (ROOT / 'tests/allowed_skips.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            pattern, _, reason = line.partition('  ')
            assert reason.strip() and pattern.count(': ') >= 2, line
            assert pattern.startswith('*: ') or pattern.split(':')[0] in programs, line


@test
def a_failed_test_is_counted_and_shown_with_its_own_output(folder):
    status, out, _ = run(folder, {'one_test': GOOD, 'two_test': FAILS})
    assert (status, last(out)) == (1, '3 passed, 1 failed'), out
    has(out, 'FAIL two_test: d_holds (1)', 'got 1, want 2')


@test
def a_crash_is_one_failed_test_named_by_the_program(folder):
    status, out, _ = run(folder, {'one_test': CRASHES})
    assert (status, last(out)) == (1, '1 passed, 1 failed'), out
    has(out, 'FAIL one_test: one_test', 'last words', 'SIGSEGV')


@test
def a_status_that_no_line_explains_is_a_failed_test(folder):   # a leak found at exit, say
    status, out, _ = run(folder, {'one_test': GOOD + '; echo "leaked 16 bytes"; exit 23'})
    assert (status, last(out)) == (1, '2 passed, 1 failed'), out
    has(out, 'leaked 16 bytes', 'status 23')


@test
def a_program_that_does_not_end_is_stopped_with_its_children(folder):
    mark = folder / 'child_lives'
    status, out, _ = run(folder, {'one_test': f'echo "ok a_holds"; (sleep 2; touch {mark}) & sleep 60'}, '--timeout', '1')
    assert (status, last(out)) == (1, '1 passed, 1 failed'), out
    has(out, 'not finished after 1 s')
    subprocess.run(['sleep', '1.5'], check=True)
    assert not mark.exists()


@test
def a_program_that_cannot_be_started_is_a_failed_test(folder):
    run(folder, {})   # makes the folder
    write(folder / 'release', {'CTestTestfile.cmake': 'add_test(one_test "/nowhere/one_test")\n'})
    result = subprocess.run([sys.executable, ROOT / 'tools/run_tests.py', folder / 'release'], capture_output=True, text=True)
    assert (result.returncode, last(result.stdout)) == (1, '0 passed, 1 failed'), result.stdout


@test
def a_program_without_result_lines_is_one_test(folder):        # a fuzz target replaying its corpus
    status, out, _ = run(folder, {'fuzz_a': 'true', 'fuzz_b': 'echo bad; exit 1'})
    assert (status, last(out)) == (1, '1 passed, 1 failed'), out


@test
def several_passes_make_one_sum_and_tree_programs_run_once(folder):
    tells = 'echo "ok a_holds"; test "$RUNNEL_CPU" != ref || { echo "FAIL b_holds"; exit 1; }'
    status, out, _ = run(folder, {'one_test': tells, 'tree/two_test': GOOD}, passes=('', ':RUNNEL_CPU=ref'))
    assert (status, last(out)) == (1, '4 passed, 1 failed'), out
    has(out, 'release: ', 'release RUNNEL_CPU=ref: ', 'FAIL one_test: b_holds (release RUNNEL_CPU=ref)')


@test
def a_filter_selects_programs_by_name_and_tests_by_argument(folder):
    echoes = 'echo "ok got_$1"'
    status, out, _ = run(folder, {'one_test': echoes, 'two_test': echoes, 'fuzz_a': 'echo "ok fuzz"'}, '--filter', 'one')
    assert (status, last(out)) == (0, '2 passed, 0 failed'), out
    status, out, err = run(folder, {'two_test': 'true'}, '--filter', 'nothing')
    assert status == 2, out
    has(err, 'dev: test: ', "'nothing'")


@test
def an_empty_build_is_an_error_not_a_success(folder):
    status, out, err = run(folder, {})
    assert (status, out) == (2, ''), out


main()
