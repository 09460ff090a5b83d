"""tests/cli/formula_folder.py - folders whose weights a formula makes, so that only their shapes need be kept.

A tensor's numbers follow from its name alone: the same on every machine, exact in float32."""
import array
import json
import sys
import zlib

from hf_folder import write_tensors

M = 0x7fffffff


def uniform(name, n):
    """n numbers in [-1, 1), multiples of 2^-15."""
    x, out = zlib.crc32(name.encode()) & M | 1, array.array('f', bytes(4 * n))
    for i in range(n):
        x = x * 48271 % M       # minimal standard generator
        out[i] = (x >> 15) / 32768 - 1
    return out


def numbers(name, shape):
    """As F32 bytes. Norms lie around 1, or around 0 where 1 is added to them; matrices keep the size of what goes through them."""
    n = 1
    for d in shape:
        n *= d
    u = uniform(name, n)
    if len(shape) < 2:
        around, spread = (0.75, 0.25) if 'norm' in name and not name.endswith('bias') else (0, 0.25)
    else:
        steps = shape[-2] if name.endswith(('gate_up_proj', 'experts.down_proj')) and len(shape) == 3 else shape[-1]
        around, spread = 0, 2.0 if any(part in name for part in ('embed', 'lm_head', 'wte')) else (3 / steps) ** 0.5
    spread = round(spread * 1024) / 1024
    for i in range(n):
        u[i] = around + spread * u[i]
    if sys.byteorder == 'big':
        u.byteswap()
    return u.tobytes()


def write_formula_folder(path, config, shapes):
    path.mkdir()
    (path / 'config.json').write_text(json.dumps(config))
    write_tensors(path / 'model.safetensors', {name: ('F32', shape, numbers(name, shape)) for name, shape in shapes.items()})
    return path
