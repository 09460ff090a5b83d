#!/usr/bin/env python3
"""tests/cli/make_peer_archs.py [FOLDER ...] - writes peer_archs.json: what llama.cpp makes of every golden model that it loads, in several types.

Each folder of the shared goldens (RUNNEL_SHARED) becomes a GGUF file by `runnel convert`, and one of each type by `runnel quantize`. A line a
file says how far rounding moved the peer, how many of its steps are decided, and where ours parts from them (peer_rule.py). Folders that the peer
does not load are left out, with what it says; with FOLDER only those are tried, and nothing is written. RUNNEL_PEER names the peer's driver."""
import json
import os
import pathlib
import sys

from harness import Folder, runnel
from hf_folder import copy_folder
from peer_rule import Outcome, least_margin, measure

TYPES = 'F32 F16 BF16 Q8_0 Q4_0'.split()
PROMPT = [84, 104, 101, 32, 257, 97, 120, 33, 10, 65, 200, 7]
N = 16
# Where llama.cpp reads a file otherwise than transformers its folder, whose logits this engine gives from both: what it does. docs/models.md
# shows it. Each was found in its graph and shown by a model without the difference, whose logits are the same.
PARTS = {'exaone4': 'gives windows only to models of 64 layers; there its tokens are these',
         'gemma2': 'scales attention by the width of a head (by n_embd / n_head in models of 46 layers): no key says it. The folder has '
                   'query_pre_attn_scalar 20 for heads of 24; published models have what it takes',
         'gemma3': 'the same, with 62 layers',
         'gpt-oss': "rounds the ends of YaRN's ramp, which OpenAI's code and transformers do not (truncate: false)",
         'llama4': 'attends in chunks of 8192 and heats queries by steps of 8192 positions, whatever the file says',
         'mistral': 'has no windows in files of `llama`',
         'opt': 'does not know `opt`',
         'phi3': "chooses LongRoPE's factors by the size of its context, here by what the text may grow to (docs/rope.md)",
         'qwen2-moe': 'wants experts in every layer of `qwen2moe`; the folder has a dense one',
         'starcoder2': 'has no windows in files of `starcoder2`'}
LEFT_OUT = {'exaone4', 'gemma2', 'gemma3', 'gpt-oss', 'phi3'}    # of which its tokens differ within a short text
# Rounding turns the choice of an expert here: no margin of logits shows that.
ROUTED = {('qwen3-moe', 'Q8_0')}


def rows_of(golden, folder):
    source, model, exact = folder / 'source.gguf', folder / 'model.gguf', folder / 'exact.gguf'
    with Folder() as other:     # its name goes into the file, and llama.cpp takes what is called phi3 for Microsoft's
        runnel('convert', copy_folder(golden, other / 'model'), source).ok()
    rows = {}
    for kind in TYPES:
        runnel('quantize', source, model, kind).ok()
        runnel('quantize', model, exact, 'F32').ok()
        row = rows[kind] = measure(model, exact, PROMPT, N, folder)
        outcome = Outcome(model, row)
        print(f'{golden.name} {kind}: moved {row["moved"]:.4f}, least {least_margin(row):.4f}, decided {outcome.n_decided}/{N}, alone equal for '
              f'{outcome.n_free}, parted {outcome.parted}' + (f'  WRONG: {outcome.wrong}' if outcome.wrong else ''), flush=True)
    return rows


def main():
    goldens = pathlib.Path(os.environ['RUNNEL_SHARED'], 'goldens')
    found = {}
    with Folder() as folder:
        for path in sorted(goldens / name for name in sys.argv[1:] or os.listdir(goldens)):
            if not (path / 'cases.json').exists():
                continue
            try:
                found[path.name] = rows_of(path, folder)
            except AssertionError as e:
                print(f'{path.name}: {e}', flush=True)
    if sys.argv[1:]:
        return
    kept = {name: {kind: {key: row[key] for key in ('ids', 'margins', 'moved')} for kind, row in rows.items() if (name, kind) not in ROUTED}
            for name, rows in found.items() if name not in LEFT_OUT}
    text = ',\n'.join(f' {json.dumps(name)}: {{\n' + ',\n'.join(f'  {json.dumps(k)}: {json.dumps(r)}' for k, r in rows.items()) + '}'
                      for name, rows in kept.items())
    (pathlib.Path(__file__).parent / 'peer_archs.json').write_text(
        '{"made_by": "llama.cpp 0.5.0, files of runnel; tests/cli/make_peer_archs.py", '
        f'"prompt": {json.dumps(PROMPT)},\n "parts": {json.dumps(PARTS, indent=2)},\n "models": {{\n{text}\n}}}}\n')


main()
