#!/usr/bin/env python3
"""tests/cli/memory_test.py - what `info` and `bench` say of memory is what the system counts, and --no-repack changes no text."""
import json
import os
import subprocess

from harness import PROGRAM, Folder, Skip, check, environment, equal, main, runnel, synth_model, test

SHAPE = ('--shape', 'mid')    # 138 million parameters: 67 MB as Q4_0
IDS = '1,427,438,261,399'
KINDS = ('file', 'copied', 'repacked', 'kv', 'buffers', 'heap')
NEAR = 0.05
ROUND = 10 << 20    # repacking holds so much of the file on its way, and gives it back


def skip_instrumented():
    """A sanitizer's own memory is many times the program's."""
    symbols = subprocess.run(['nm', '-D', PROGRAM], capture_output=True, text=True)
    if '__asan_init' in symbols.stdout or '__tsan_init' in symbols.stdout:
        raise Skip('an instrumented program has memory of its own')


def peak_of(*args):
    """(stdout as JSON, what wait4() says was the most in memory) of a run."""
    child = subprocess.Popen([PROGRAM, *map(str, args)], env=environment(), stdout=subprocess.PIPE)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    equal(child.returncode, 0, args)
    return json.loads(out), usage.ru_maxrss * 1024


def accounted(memory):
    return sum(memory[kind]['resident'] for kind in KINDS)


def near(got, want, *what):
    check(want * (1 - NEAR) <= got <= want * (1 + NEAR), *what, f'got {got}, want {want} within {NEAR:.0%}')


def check_memory(memory, peak, what):
    near(accounted(memory), memory['process_resident'], what, 'parts')
    whole = memory['process_resident']
    check(whole * (1 - NEAR) <= peak <= whole * (1 + NEAR) + ROUND, what, 'the whole', whole, peak)
    for kind in KINDS:
        part = memory[kind]
        check(part['resident'] <= part['planned'] * 1.01 + 300000, what, kind, part)


@test
def the_parts_that_bench_and_info_report_are_within_5_percent_of_what_the_system_counts():
    skip_instrumented()
    with Folder() as folder:
        for kind in ('Q4_0', 'Q4_K_M', 'Q8_0', 'F16'):
            model = folder / 'm.gguf'
            synth_model(model, *SHAPE, '--type', kind)
            for more in ([], ['--no-repack'], ['--load', 'read']):
                (row,), peak = peak_of('bench', '-m', model, '-p', 40, '-n', 2, '-r', 1, '--json', *more)
                memory = row['memory']
                check_memory(memory, peak, (kind, more, 'bench'))
                size = model.stat().st_size
                if more == ['--no-repack']:
                    equal(memory['repacked'], {'planned': 0, 'resident': 0})
                    near(memory['file']['resident'], size, kind, 'used in the file')
                elif not more and memory['repacked']['planned']:    # not with --cpu ref
                    equal(memory['repacked']['resident'], memory['repacked']['planned'])
                    check(memory['file']['resident'] < size / 10, kind, 'no second copy is left', memory)
                elif more:
                    equal(memory['file']['resident'], size)
            info, peak = peak_of('info', model, '-c', 64, '--json')
            check_memory(info['engine']['memory'], peak, (kind, 'info'))


@test
def a_folder_is_reported_as_well_and_its_rows_that_were_put_in_order_are_named():
    skip_instrumented()
    folder = stories_folder()
    text = runnel('info', folder, '-c', 64).ok().text
    check('rows put in order' in text and 'copied when the folder was opened' in text, text)
    info, _ = peak_of('info', folder, '-c', 64, '--json')
    memory = info['engine']['memory']
    check(memory['copied']['planned'] == memory['copied']['resident'] == info['engine']['copied_bytes'] > 0, memory)


def stories_folder():
    shared = os.environ.get('RUNNEL_SHARED')
    path = os.path.join(shared or '', 'models/stories/hf')
    if not shared or not os.path.isdir(path):
        raise Skip('no shared material: set RUNNEL_SHARED')
    return path


@test
def info_says_what_is_copied_and_what_stays_in_the_file():
    with Folder() as folder:
        synth_model(folder / 'm.gguf', '--shape', 'tiny', '--type', 'q4_0')
        text = runnel('info', folder / 'm.gguf').ok().text
        check('copied into the layout of ' in text or 'none repacked' in text, text)
        text = runnel('info', folder / 'm.gguf', '--no-repack').ok().text
        check('used in the file, none repacked: --no-repack' in text, text)
        for label in ('used in the file', 'keys and values of', 'row buffers', 'vocabulary and tables', 'together', 'limit',
                      'in huge pages'):
            check(f'\n{label}' in text, label, text)


@test
def without_repacking_the_text_and_every_probability_stay():
    with Folder() as folder:
        for kind in ('Q4_K_M', 'Q5_1', 'BF16', 'IQ4_XS'):
            synth_model(folder / 'm.gguf', '--shape', 'tiny', '--type', kind)
            for args in (['run', '--ids', IDS, '-n', 9, '--seed', 3, '--ignore-eos'], ['score', '--ids', IDS, '--json']):
                command = [*args, '-m', folder / 'm.gguf']
                equal(runnel(*command, '--no-repack').ok().out, runnel(*command).ok().out, (kind, args))


main()
