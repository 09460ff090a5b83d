"""tests/serve/js_talk.py - conversations of JavaScript clients with a server: scripts of tests/serve/js, run by node.

`./dev setup --clients` installs the packages that tests/serve/js/package.json pins; $RUNNEL_TEST_NODE names another folder with node_modules.
"""
import os
import shutil
import subprocess

from serving import ROOT, Skip, check

CLIENTS = os.environ.get('RUNNEL_TEST_NODE') or str(ROOT / 'build/clients')


def talk(server, script, name, *key):
    """Runs one conversation of tests/serve/js/SCRIPT.mjs, which exits with 77 where its package is missing."""
    if not shutil.which('node'):
        raise Skip('node is not here')
    env = os.environ | {'RUNNEL_TEST_NODE': CLIENTS}
    done = subprocess.run(['node', ROOT / f'tests/serve/js/{script}.mjs', f'http://127.0.0.1:{server.port}', name, *key], env=env,
                          capture_output=True, text=True, timeout=100)
    if done.returncode == 77:
        raise Skip(f'the JavaScript package of {script}.mjs is not here (./dev setup --clients)')
    check(done.returncode == 0, done.stderr[-1500:])
