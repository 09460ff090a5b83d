"""tests/emulated/emulation.py - what the tests on emulated processors share: the programs of a build, run by qemu as if they had another CPU."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'lint'))
from sentences import ROOT, Skip, has      # noqa: E402

BUILD = pathlib.Path(os.environ.get('RUNNEL_BUILD') or ROOT / 'build/release')     # for this machine
MODEL = ROOT / 'models/stories.gguf'
FULL = bool(os.environ.get('RUNNEL_TEST_FULL'))
EVERY = '1' if FULL else '31'       # of the kernel checks' cases
TIMEOUT_S = 600      # tools/run_tests.py has a shorter one for the whole
GENERATE = ('run', '-m', MODEL, '--seed', '3', '-n', '24', '-t', '1', 'Once upon a time')


def need(tool, packages):
    if not shutil.which(tool):
        raise Skip(f'{tool} is not here: install {packages}, or ./dev setup --cross')


def run(*command, fails=False, **env):
    """stdout; with fails: what a command that must fail said."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith('RUNNEL_') or k == 'RUNNEL_SHARED'}
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=TIMEOUT_S, env={**kept, **env})
    said = f'{command} ended with {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}'
    assert (done.returncode != 0) == fails, said
    return done.stdout + done.stderr if fails else done.stdout


def check_kernels(emulator, cpu, best, folder, programs, **env):
    """The test programs in folder on that processor, which must take `best` for its best set; each has to end well and to have run a test."""
    for program in programs:
        out = run(*emulator, folder / program, QEMU_CPU=cpu, RUNNEL_CHECK_EVERY=EVERY, RUNNEL_EXPECT_CPU=best, **env)
        has(out, 'ok ')
        assert 'FAIL' not in out, out


def check_choice(emulator, cpu, program, best, reason):
    """`info` names the best set, and why it is no better one."""
    lines = run(*emulator, program, 'info', '-m', MODEL, QEMU_CPU=cpu).splitlines()
    has('\n'.join(line for line in lines if line.startswith('kernels')), f'{best}: the best that this build has', reason)
