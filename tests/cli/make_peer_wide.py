#!/usr/bin/env python3
"""tests/cli/make_peer_wide.py [NAME ...] - writes peer_wide.json: what llama.cpp makes of every wide model (wide_models.py) in every type.

A line a model: of each type how many rows are decided, and where ours parts from them though they are (peer_rule.py). With NAME only those are
made anew. RUNNEL_PEER names the peer's driver."""
import json
import pathlib
import sys

from harness import Folder, runnel
from wide_models import archs, ask, parted, types_of, write


def rows_of(name, folder):
    rows, told = {}, []
    model, exact = folder / 'model.gguf', folder / 'exact.gguf'
    for kind in types_of(name):
        write(name, kind, model, folder)
        runnel('quantize', model, exact, 'F32').ok()
        best, decided = ask(model, exact, folder)
        wrong = parted(model, best, decided)
        told.append(f'{kind} {decided.count("1")}' + (f' WRONG {wrong}' if wrong else ''))
        rows[kind] = [' '.join(map(str, best)), decided]
    print(f'{name}: decided of {len(decided)}: ' + ', '.join(told), flush=True)
    return rows


def main():
    path = pathlib.Path(__file__).parent / 'peer_wide.json'
    found = json.loads(path.read_text())['models'] if sys.argv[1:] else {}
    with Folder() as folder:
        for name in sys.argv[1:] or archs():
            try:
                found[name] = rows_of(name, folder)
                write_golden(path, found)
            except AssertionError as e:
                print(f'{name}: {e}', flush=True)


def write_golden(path, found):
    text = ',\n'.join(f' {json.dumps(name)}: {{\n' + ',\n'.join(f'  {json.dumps(k)}: {json.dumps(r)}' for k, r in found[name].items()) + '}'
                      for name in archs() if name in found)
    path.write_text(
        f'{{"made_by": "llama.cpp 0.5.0, files of runnel; tests/cli/make_peer_wide.py",\n "archs": {json.dumps(archs())},\n "models": {{\n{text}\n}}}}\n')


main()
