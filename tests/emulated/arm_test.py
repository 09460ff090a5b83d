#!/usr/bin/env python3
"""tests/emulated/arm_test.py - the kernel sets of 64-bit Arm, cross-compiled and run by qemu: ref's bits, and this machine's logits.

RUNNEL_TEST_FULL=1 takes all cases and all programs of the rooms that are built for Arm.
"""
import functools
import subprocess

from emulation import BUILD, FULL, GENERATE, MODEL, ROOT, TIMEOUT_S, Skip, check_choice, check_kernels, has, need, run
from sentences import main, test

# A processor that has the set and not the next one.
BEST = {'cortex-a72': 'neon', 'neoverse-n1': 'neondot', 'max': 'neoni8mm'}
LACKS = {'cortex-a72': 'neondot needs the dot product instructions (asimddp)',
         'neoverse-n1': 'neoni8mm needs the 8-bit matrix instructions (i8mm)', 'max': ''}
LIBRARIES = ROOT / 'build/aarch64-libraries'
EMULATOR = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-E',
            f'LD_LIBRARY_PATH={LIBRARIES}/usr/lib/aarch64-linux-gnu:{LIBRARIES}/lib/aarch64-linux-gnu']
PROGRAMS = [f'kernels.{name}_test' for name in ('set', 'check', 'attend', 'sums', 'pack')]


@functools.cache
def build(preset, *targets):
    """The build folder, its targets up to date."""
    need('aarch64-linux-gnu-gcc', 'gcc-aarch64-linux-gnu')
    need('qemu-aarch64', 'qemu-user')
    folder = ROOT / 'build' / preset
    commands = [] if (folder / 'build.ninja').exists() else [['cmake', '--preset', preset]]
    for command in [*commands, ['ninja', '-C', folder, *targets]]:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return folder


def check_set(cpu):
    folder = build('aarch64') / 'tests'
    programs = [p.name for p in sorted(folder.glob('*.*_test'))] if FULL else PROGRAMS
    check_kernels(EMULATOR, cpu, BEST[cpu], folder, programs)


@test
def neon_has_the_bits_of_ref_on_a_cortex_a72(folder):
    check_set('cortex-a72')


@test
def neondot_has_the_bits_of_ref_on_a_neoverse_n1(folder):
    check_set('neoverse-n1')


@test
def neoni8mm_has_the_bits_of_ref_on_a_processor_with_everything(folder):
    check_set('max')


def program():
    if not (LIBRARIES / 'unpacked').exists():
        raise Skip('no libraries for 64-bit Arm: ./dev setup --cross (tools/aarch64_libraries.sh)')
    return build('aarch64-program', 'runnel') / 'runnel'


@test
def the_program_on_arm_writes_this_machines_text_and_says_what_it_lacks(folder):
    there, text = program(), run(BUILD / 'runnel', *GENERATE)
    has(text, ' ')
    for cpu, best in BEST.items():
        check_choice(EMULATOR, cpu, there, best, LACKS[cpu])
        got = run(*EMULATOR, there, *GENERATE, QEMU_CPU=cpu)
        assert got == text, f'{cpu}: {got!r}, here {text!r}'
    said = run(*EMULATOR, there, *GENERATE, '--cpu', 'neondot', QEMU_CPU='cortex-a72', fails=True)
    has(said, 'CPU set neondot: this machine lacks the dot product instructions (asimddp)')


@test
def logits_on_arm_are_this_machines_to_the_last_bit(folder):
    there, text = program(), folder / 'text'
    text.write_text(run(BUILD / 'runnel', *GENERATE))
    for weights, kv in [('Q8_0', 'f16'), ('Q4_0', 'q8'), ('Q4_K_M', 'bf16'), ('F16', 'f32'), ('BF16', 'f16')]:
        model = MODEL
        if weights != 'Q8_0':
            model = folder / f'{weights}.gguf'
            run(BUILD / 'runnel', 'quantize', MODEL, model, weights, '--allow-requantize')
        score = ('score', '-m', model, '--text-file', text, '--kv-type', kv, '-t', '1', '--logits')
        run(BUILD / 'runnel', *score, folder / 'here.npy')
        for cpu in BEST:
            run(*EMULATOR, there, *score, folder / 'there.npy', QEMU_CPU=cpu)
            same = (folder / 'there.npy').read_bytes() == (folder / 'here.npy').read_bytes()
            assert same, f'{weights} with keys and values in {kv} on {cpu}'


main()
