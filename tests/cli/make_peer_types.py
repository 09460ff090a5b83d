#!/usr/bin/env python3
"""tests/cli/make_peer_types.py [--golden] [--peer-files LIBRARIES] [-n 64] SOURCE.gguf PROMPT [TYPE ...] - compares files of every type with llama.cpp.

SOURCE in F32 or F16 is quantized to each TYPE (default: all that are written), by runnel or, with --peer-files, by llama.cpp
(bench/llama_quantize.py). A line a file says how far rounding moved the two best tokens against each other, how many steps of the peer's text its
margin decides, and where tokens part with which margin (tests/cli/peer_rule.py has the rule). --golden writes peer_types.json, which peer_types_test.py reads: SOURCE must then be the
default model as F32 (`runnel quantize models/stories.gguf SOURCE.gguf F32`). RUNNEL_PEER names the peer's driver."""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

from harness import ROOT, Folder, runnel
from nvfp4_file import in_nvfp4
from peer_rule import Outcome, least_margin, measure, ours_moved

TYPES = 'F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 IQ4_NL Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ4_XS Q3_K_M Q2_K IQ3_M IQ3_S TQ2_0 TQ1_0 Q2_0 Q1_0 NVFP4'.split()


def quantize(a, kind, out):
    if kind == 'NVFP4':   # which neither writes
        out.write_bytes(in_nvfp4(pathlib.Path(a.source).read_bytes()))
    elif a.peer_files:
        subprocess.run([sys.executable, ROOT / 'bench/llama_quantize.py', a.peer_files, a.source, out, kind], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        runnel('quantize', a.source, out, kind).ok()


def line(kind, row, ours, outcome):
    parted = ', '.join(f'step {i} (margin {m:.4f})' for i, m in outcome.parted) or 'none'
    return (f'{kind:7} moved {row["moved"]:.4f}, rms {row["rms"]:.4f} (ours {ours[1]:.4f}, {ours[0]:.4f})  least {least_margin(row):.4f}  decided {outcome.n_decided}/{len(row["ids"])}  '
            f'alone equal for {outcome.n_free}  parted: {parted}' + (f'  WRONG: {outcome.wrong}' if outcome.wrong else ''))


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('--golden', action='store_true')
    ap.add_argument('--peer-files')
    ap.add_argument('-n', type=int, default=64)
    ap.add_argument('source')
    ap.add_argument('prompt')
    ap.add_argument('types', nargs='*', default=TYPES)
    a = ap.parse_args()
    prompt = json.loads(runnel('tokenize', '-m', a.source, '--add-special', '--json', a.prompt).ok().text)['ids']
    golden, wrong = {}, 0
    with Folder() as folder:
        for kind in a.types or TYPES:
            quantize(a, kind, folder / 'q.gguf')
            runnel('quantize', folder / 'q.gguf', folder / 'f32.gguf', 'F32').ok()
            row = measure(folder / 'q.gguf', folder / 'f32.gguf', prompt, a.n, folder)
            outcome = Outcome(folder / 'q.gguf', row)
            print(line(kind, row, ours_moved(folder / 'q.gguf', row, folder), outcome), flush=True)
            wrong += bool(outcome.wrong)
            golden[kind] = {'sha256': hashlib.sha256((folder / 'q.gguf').read_bytes()).hexdigest(),
                            **{key: row[key] for key in ('prompt', 'ids', 'margins', 'moved')}}
    if a.golden:
        rows = ',\n'.join(f' {json.dumps(kind)}: {json.dumps(row)}' for kind, row in golden.items())
        text = '{"made_by": "llama.cpp 0.5.0, files of runnel; tests/cli/make_peer_types.py --golden", "types": {\n' + rows + '\n}}\n'
        (pathlib.Path(__file__).parent / 'peer_types.json').write_text(text)
    sys.exit(wrong > 0)


main()
