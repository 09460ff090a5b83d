#!/usr/bin/env python3
"""DoLa and contrastive decoding beside transformers, where RUNNEL_TRANSFORMERS names a Python that has it: cases drawn anew
(tests/engine/make_contrast.py), and each greedy text must be the same. engine.contrast_published_test has frozen ones for everybody.
"""
import json
import os
import pathlib
import subprocess

from harness import ROOT, Skip, equal, main, runnel, test

GOLDENS = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared', 'goldens')
MAKER = ROOT / 'tests/engine/make_contrast.py'
N_CASES = 300 if os.environ.get('RUNNEL_TEST_FULL') else 30
SEED = os.environ.get('RUNNEL_TEST_SEED', '1')


def text_of(case):
    of_kind = (['dola', '--dola-layers', case['dola_layers']] if 'dola_layers' in case else
               ['contrastive-decoding', '--amateur', GOLDENS / case['amateur'], '--amateur-model', '1', '--amateur-temperature', case['amateur_temperature']])
    penalty = ['--repeat-penalty', case['repeat_penalty'], '--penalty-last-n', '-1'] if case['repeat_penalty'] != 1 else []
    done = runnel('run', '-m', GOLDENS / case['model'], '--ids', ','.join(map(str, case['ids'])), '--relative-top', case['relative_top'],
                  '--temp', '0', '--ignore-eos', '-n', len(case['tokens']), '--kv-type', 'f32', '--json', '--strategy', *of_kind, *penalty).ok()
    return [token for line in done.text.splitlines() for token in json.loads(line)['tokens']]


@test
def texts_of_random_settings_are_those_of_transformers():
    python = os.environ.get('RUNNEL_TRANSFORMERS')
    if not python:
        raise Skip('RUNNEL_TRANSFORMERS names no Python that has transformers')
    if not GOLDENS.is_dir():
        raise Skip('no shared material')
    cases = json.loads(subprocess.run([python, MAKER, GOLDENS, '--random', SEED, str(N_CASES)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    equal(len(cases), 2 * N_CASES)
    for case in cases:
        equal(text_of(case), case['tokens'], case)


if __name__ == '__main__':
    main()
