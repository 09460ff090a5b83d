#!/usr/bin/env python3
"""tests/emulated/x86_test.py - x86-64 processors that have less than this machine, by qemu: the same bits by a lower set, and what they lack by name."""
import platform

from emulation import BUILD, GENERATE, Skip, check_choice, check_kernels, has, need, run
from sentences import main, test

EMULATOR = ['qemu-x86_64']


def need_emulator():
    if platform.machine() != 'x86_64':
        raise Skip(f'the build is for {platform.machine()}')
    need('qemu-x86_64', 'qemu-user')


@test
def avx2_has_the_bits_of_ref_on_a_processor_without_avx512(folder):
    need_emulator()     # plain data: the emulator has faults that the processor has not (tests/kernels/harness.h)
    check_kernels(EMULATOR, 'Haswell', 'avx2', BUILD / 'tests', ['kernels.set_test', 'kernels.check_test'], RUNNEL_CHECK_PLAIN='1')


@test
def a_processor_without_avx2_takes_ref(folder):
    need_emulator()
    check_kernels(EMULATOR, 'core2duo', 'ref', BUILD / 'tests', ['kernels.set_test'])


@test
def the_text_is_the_same_on_lesser_processors_which_say_what_they_lack(folder):
    need_emulator()
    program, text = BUILD / 'runnel', run(BUILD / 'runnel', *GENERATE)
    has(text, ' ')
    for cpu, best, above, lacks in [('Haswell', 'avx2', 'avx512', 'AVX-512F'), ('core2duo', 'ref', 'avx2', 'AVX2')]:
        check_choice(EMULATOR, cpu, program, best, f'{above} needs {lacks}')
        got = run(*EMULATOR, program, *GENERATE, QEMU_CPU=cpu)
        assert got == text, f'{cpu}: {got!r}, here {text!r}'
        said = run(*EMULATOR, program, *GENERATE, '--cpu', above, QEMU_CPU=cpu, fails=True)
        has(said, f'CPU set {above}: this machine lacks {lacks}')


main()
