#!/usr/bin/env python3
"""tests/cli/peer_wide_test.py - random weights of every architecture and type give llama.cpp's tokens where its margin decides.

peer_wide.json has llama.cpp's best token of each row that is compared, and which ones its margin decides (make_peer_wide.py). A quarter of
the files is looked at, each type and each architecture among them; with RUNNEL_TEST_FULL all are, and by instrumented programs, which are
slow, every 16th. With RUNNEL_PEER (peer_rule.py) llama.cpp itself is asked, about one type of each architecture."""
import json
import os
import pathlib

from harness import PROGRAM, Folder, check, equal, main, runnel, test
from peer_rule import command
from wide_models import archs, ask, parted, types_of, write

WIDE = json.loads((pathlib.Path(__file__).parent / 'peer_wide.json').read_text())
GOLDEN = WIDE['models']
IS_INSTRUMENTED = any(mark in pathlib.Path(PROGRAM).read_bytes() for mark in (b'__asan_init', b'__tsan_init'))
EVERY = 16 if IS_INSTRUMENTED else 1 if os.environ.get('RUNNEL_TEST_FULL') else 4


def judge(name, kind, model, best, decided):
    equal(parted(model, best, decided), [], f'{name} {kind}: rows whose token differs though the margin decides:')
    return decided.count('1')


@test
def every_type_of_every_architecture_gives_the_tokens_that_llama_cpp_gave():
    n_rows = n_decided = 0
    with Folder() as folder:
        for i, (name, rows) in enumerate(GOLDEN.items()):
            for k, (kind, row) in enumerate(rows.items()):
                if (i + k) % EVERY == 0 or (len(rows) == 1 and not IS_INSTRUMENTED):
                    write(name, kind, folder / 'model.gguf', folder)
                    n_decided += judge(name, kind, folder / 'model.gguf', [int(t) for t in row[0].split()], row[1])
                    n_rows += len(row[1])
    check(n_decided > n_rows // 2, f'only {n_decided} of {n_rows} rows are decided')


@test
def every_wide_model_is_in_the_golden():
    equal(archs(), WIDE['archs'])
    equal([(name, types_of(name)) for name in archs()], [(name, [*rows]) for name, rows in GOLDEN.items()])


@test
def llama_cpp_loads_every_wide_model_and_gives_the_same_tokens():
    command()
    with Folder() as folder:
        model, exact = folder / 'model.gguf', folder / 'exact.gguf'
        for i, (name, rows) in enumerate(GOLDEN.items()):
            kind = [*rows][i % len(rows)]
            write(name, kind, model, folder)
            runnel('quantize', model, exact, 'F32').ok()
            judge(name, kind, model, *ask(model, exact, folder))


main()
