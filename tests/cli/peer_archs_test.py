#!/usr/bin/env python3
"""tests/cli/peer_archs_test.py - files of every architecture that llama.cpp loads give its tokens where its margin decides.

peer_archs.json has what llama.cpp made of them (make_peer_archs.py). With RUNNEL_PEER (peer_rule.py) llama.cpp itself is asked, about one
type of each."""
import json
import math
import os
import pathlib

from harness import Folder, Skip, check, equal, main, runnel, test
from hf_folder import copy_folder, padded_folder
from peer_rule import PLAIN, Outcome, Rows, command, listed, measure, peer

HERE = pathlib.Path(__file__).parent
GOLDEN = json.loads((HERE / 'peer_archs.json').read_text())


# Members of config.json without which llama.cpp reads a folder's file as transformers reads the folder: `parts` of the golden says why. (gpt-oss: a
# base of rotation by which the ramp's ends are whole pairs.)
ALIKE = {'deepseek-v3': {}, 'exaone4': {'sliding_window': None, 'layer_types': ['full_attention'] * 4}, 'gemma2': {'query_pre_attn_scalar': 24},
         'gemma3': {'query_pre_attn_scalar': 24}, 'gpt-oss': {'rope_theta': math.exp(16 * math.log(64 / math.tau) / 2 / 3.9999999)},
         'llama4': {'attention_chunk_size': 8192, 'floor_scale': 8192}, 'mistral': {'sliding_window': None},
         'phi3': {'original_max_position_embeddings': 300}, 'phi3-partial': {}, 'starcoder2': {'sliding_window': None}}


def shared(name):
    path = pathlib.Path(os.environ.get('RUNNEL_SHARED') or HERE.parents[2] / 'shared', 'goldens', name)
    if not path.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return path


def converted(name, folder, **changed):
    path = shared(name)
    with Folder() as other:     # its name goes into the file: make_peer_archs.py
        runnel('convert', copy_folder(path, other / 'model', **changed), folder / 'source.gguf').ok()
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


@test
def without_what_llama_cpp_reads_otherwise_its_logits_are_the_same():
    command()
    ids = GOLDEN['prompt'] + [(i * 37 + 11) % 256 for i in range(40)]    # beyond the windows
    with Folder() as folder:
        for name, changed in ALIKE.items():
            model = converted(name, folder, **changed)
            peer('logits', model, '--ids', listed(ids), '--out', folder / 'peer.npy', *PLAIN)
            runnel('score', '-m', model, '--ids', listed(ids), '--kv-type', 'f32', '--logits', folder / 'ours.npy').ok()
            pairs = zip(Rows(folder / 'peer.npy', len(ids)).x, Rows(folder / 'ours.npy', len(ids)).x)
            # Deviation is 4, and what is read otherwise moves logits by more than 1; llama.cpp's GELU is a table of F16, which moves them by 0.01.
            check(max(abs(a - b) for a, b in pairs) < 0.05, name)


@test
def an_embedding_with_rows_beyond_the_tokens_stays_that_of_the_folder():
    ids = listed(GOLDEN['prompt'] + [290, 292])
    with Folder() as folder:
        for name in GOLDEN['models']:
            source, file = padded_folder(shared(name), folder / name, 5), folder / 'padded.gguf'
            runnel('convert', source, file).ok()
            infos = [runnel('info', '-m', model, '--json').ok().lines[0] for model in (source, file)]
            equal(infos[1]['n_vocab'], infos[0]['n_vocab'], name)
            for model, out in ((source, 'folder.npy'), (file, 'file.npy')):
                runnel('score', '-m', model, '--ids', ids, '--kv-type', 'f32', '--logits', folder / out).ok()
            equal((folder / 'file.npy').read_bytes(), (folder / 'folder.npy').read_bytes(), name)


@test
def llama_cpp_loads_files_with_rows_beyond_the_tokens():
    command()
    ids = listed(GOLDEN['prompt'])
    for name in GOLDEN['models'] | ALIKE:
        with Folder() as folder:
            file = folder / 'padded.gguf'
            runnel('convert', padded_folder(shared(name), folder / 'model', 5, **ALIKE.get(name, {})), file).ok()
            peer('logits', file, '--ids', ids, '--out', folder / 'peer.npy', *PLAIN)
            runnel('score', '-m', file, '--ids', ids, '--kv-type', 'f32', '--logits', folder / 'ours.npy').ok()
            ours, theirs = (Rows(folder / x, len(GOLDEN['prompt'])).x for x in ('ours.npy', 'peer.npy'))
            equal(len(theirs), len(ours), name)
            worst = max(abs(a - b) for a, b in zip(ours, theirs))
            check(worst < 0.05, name, worst)


main()
