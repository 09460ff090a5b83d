#!/usr/bin/env python3
"""tests/cli/peer_types_test.py - files of every type that `runnel quantize` writes, and of NVFP4, give llama.cpp's tokens where its margin decides.

peer_types.json has what llama.cpp made of the default model's files, and the sha256 of these: another quantizer, or another order of
pairs, wants it made again (make_peer_types.py). With RUNNEL_PEER (peer_rule.py) llama.cpp itself is asked, and shows that it loads them;
with RUNNEL_PEER_LIBRARIES, the folder of its libraries, also about files that it wrote."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from harness import MODEL, ROOT, Folder, Skip, check, equal, main, runnel, test
from nvfp4_file import in_nvfp4
from peer_rule import FLOOR, Outcome, command, measure, ours_moved

HERE = pathlib.Path(__file__).parent
TYPES = json.loads((HERE / 'peer_types.json').read_text())['types']
PROMPT = TYPES['Q8_0']['prompt']


def f32_of(folder):
    runnel('quantize', MODEL, folder / 'f32.gguf', 'F32').ok()
    return folder / 'f32.gguf'


def quantize(source, out, kind):
    if kind == 'NVFP4':   # which neither writes
        out.write_bytes(in_nvfp4(source.read_bytes()))
    else:
        runnel('quantize', source, out, kind).ok()


def judge(kind, model, row):
    outcome = Outcome(model, row)
    equal(outcome.wrong, [], f'{kind}: (step, margin) of tokens that differ though the margin decides:')
    check(outcome.n_decided >= len(row['ids']) // 2, f'{kind}: only {outcome.n_decided} steps are decided')


@test
def files_of_every_type_give_the_tokens_that_llama_cpp_gave():
    with Folder() as folder:
        source, model = f32_of(folder), folder / 'q.gguf'
        for kind, row in TYPES.items():
            quantize(source, model, kind)
            equal(hashlib.sha256(model.read_bytes()).hexdigest(), row['sha256'], f'{kind}: the file is not that of the golden:')
            judge(kind, model, row)


def ask_the_peer(quantize, types=TYPES):
    with Folder() as folder:
        source, model, exact = f32_of(folder), folder / 'q.gguf', folder / 'exact.gguf'
        for kind in types:
            quantize(source, model, kind)
            runnel('quantize', model, exact, 'F32').ok()
            row = measure(model, exact, PROMPT, 32, folder)
            judge(kind, model, row)
            rms, _ = ours_moved(model, row, folder)
            check(rms <= 2 * row['rms'] + FLOOR, f'{kind}: rounding moves {rms} here, {row["rms"]} there')


@test
def llama_cpp_runs_files_of_every_type_with_the_same_tokens():
    command()
    ask_the_peer(quantize)


@test
def files_that_llama_cpp_writes_give_its_tokens():
    command()
    libraries = os.environ.get('RUNNEL_PEER_LIBRARIES')
    if not libraries:
        raise Skip('RUNNEL_PEER_LIBRARIES names no folder of libllama')

    def quantize_there(source, out, kind):
        done = subprocess.run([sys.executable, ROOT / 'bench/llama_quantize.py', libraries, source, out, kind],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        equal(done.returncode, 0, done.stderr[-300:])
    ask_the_peer(quantize_there, [kind for kind in TYPES if kind != 'NVFP4'])


main()
