#!/usr/bin/env python3
"""tests/cli/peer_archs_test.py - files of every architecture that llama.cpp loads give its tokens where its margin decides.

peer_archs.json has what llama.cpp made of them (make_peer_archs.py). With RUNNEL_PEER (peer_rule.py) llama.cpp itself is asked, about one
type of each."""
import json
import os
import pathlib

from harness import Folder, Skip, check, equal, main, runnel, test
from peer_rule import Outcome, command, measure

HERE = pathlib.Path(__file__).parent
GOLDEN = json.loads((HERE / 'peer_archs.json').read_text())


def converted(name, folder):
    path = pathlib.Path(os.environ.get('RUNNEL_SHARED') or HERE.parents[2] / 'shared', 'goldens', name)
    if not path.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    runnel('convert', path, folder / 'source.gguf').ok()
    return folder / 'source.gguf'


def judge(name, kind, model, row):
    """The number of steps that the margin decides."""
    outcome = Outcome(model, row)
    equal(outcome.wrong, [], f'{name} {kind}: (step, margin) of tokens that differ though the margin decides:')
    return outcome.n_decided


@test
def every_architecture_gives_the_tokens_that_llama_cpp_gave():
    with Folder() as folder:
        for name, rows in GOLDEN['models'].items():
            source, model = converted(name, folder), folder / 'model.gguf'
            n_decided = 0
            for kind, row in rows.items():
                runnel('quantize', source, model, kind).ok()
                n_decided += judge(name, kind, model, {'prompt': GOLDEN['prompt'], **row})
            n_steps = sum(len(row['ids']) for row in rows.values())
            check(n_decided >= n_steps // 3, f'{name}: only {n_decided} of {n_steps} steps are decided')


@test
def llama_cpp_loads_files_of_every_architecture_and_gives_the_same_tokens():
    command()
    with Folder() as folder:
        for i, (name, rows) in enumerate(GOLDEN['models'].items()):
            kind, model, exact = [*rows][i % len(rows)], folder / 'model.gguf', folder / 'exact.gguf'
            runnel('quantize', converted(name, folder), model, kind).ok()
            runnel('quantize', model, exact, 'F32').ok()
            judge(name, kind, model, measure(model, exact, GOLDEN['prompt'], 16, folder))


main()
