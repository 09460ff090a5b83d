"""tests/install/building.py - what the tests of an installation share: the build folder, its installation, and running things."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'lint'))
from sentences import ROOT, Skip      # noqa: E402

BUILD = pathlib.Path(os.environ.get('RUNNEL_BUILD') or ROOT / 'build/release')
PROGRAM = BUILD / 'runnel'
PROMPT = 'Once upon a time'
TIMEOUT_S = 120

# Only for as long as the process runs.
scratch = tempfile.TemporaryDirectory(prefix='runnel-install.')


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f'{tool} is not here')


def cached(key):
    return re.search(rf'^{key}:\w+=(.*)$', (BUILD / 'CMakeCache.txt').read_text(), re.M)[1]


def environment(**changes):
    """This process's environment without the variables that show programs where runnel or its model is."""
    drop = ('RUNNEL_MODEL', 'RUNNEL_MODELS', 'XDG_CACHE_HOME', 'DESTDIR', 'PKG_CONFIG_PATH', 'CMAKE_PREFIX_PATH', 'LD_LIBRARY_PATH')
    return {**{k: v for k, v in os.environ.items() if k not in drop}, **changes}


def run(*args, fails=False, **options):
    """stdout; with fails: what a command that must fail said."""
    env = environment(**options.pop('env', {}))
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=TIMEOUT_S, env=env, **options)
    assert (done.returncode != 0) == fails, f'{args} ended with {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}'
    return done.stdout + done.stderr if fails else done.stdout


@functools.cache
def prefix():
    """An installation that was moved after it was made; into a folder with a blank in its name."""
    need('cmake')
    made, moved = pathlib.Path(scratch.name) / 'made', pathlib.Path(scratch.name) / 'moved to'
    run('cmake', '--install', BUILD, '--prefix', made)
    made.rename(moved)
    return moved


def libdir():
    return prefix() / cached('CMAKE_INSTALL_LIBDIR')
