"""tests/cli/published.py - the models of published.json as folders, and what llama.cpp makes of them (peer_rule.py)."""
import array

from formula_folder import write_formula_folder
from harness import runnel
from peer_rule import PLAIN, listed, peer

FAR = 2e-3      # sums in another order come to 2e-4; a model that is another one to more than 1


def floats(npy):
    return array.array('f', npy[10 + int.from_bytes(npy[8:10], 'little'):])


def logits(model, ids, folder):
    runnel('score', '-m', model, '--ids', listed(ids), '--kv-type', 'f32', '--logits', folder / 'logits.npy').ok()
    return (folder / 'logits.npy').read_bytes()


def peer_difference(row, folder):
    """The largest difference of a logit of the converted file from llama.cpp."""
    write_formula_folder(folder / 'source', row['config'], row['shapes'])
    made = folder / 'made.gguf'
    runnel('convert', folder / 'source', made, '--type', 'F32').ok()
    peer('logits', made, '--ids', listed(row['ids']), '--out', folder / 'peer.npy', *PLAIN)
    ours = floats(logits(made, row['ids'], folder))
    return max(abs(a - b) for a, b in zip(ours, floats((folder / 'peer.npy').read_bytes()), strict=True))
