#!/usr/bin/env python3
"""Samplers against llama.cpp's own, where it is: fresh random rows, which tests/engine/llama_samplers_test.c compares."""
import os
import pathlib
import subprocess
import tempfile

import llama_samplers
from harness import PROGRAM, ROOT, Skip, check, main, test


@test
def rows_are_left_as_llama_cpp_leaves_them():
    lib, why = llama_samplers.library(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared')
    if not lib:
        raise Skip(why)
    with tempfile.TemporaryDirectory() as folder:
        cases = pathlib.Path(folder) / 'cases.json'
        llama_samplers.write(lib, cases, 250, 2)
        done = subprocess.run([pathlib.Path(PROGRAM).parent / 'tests/engine.llama_samplers_test', 'more_rows'], env={**os.environ, 'RUNNEL_SAMPLER_CASES': str(cases)},
                              capture_output=True, text=True, timeout=300, check=False)
        check(done.returncode == 0 and 'ok more_rows' in done.stdout, done.stdout + done.stderr)


main()
