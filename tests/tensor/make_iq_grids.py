#!/usr/bin/env python3
"""tests/tensor/make_iq_grids.py OUT.c - writes src/tensor/iq_grids.c: the grids of the IQ types as numbers, taken from the gguf package (0.19.0).

A grid is a set of points, 4 or 8 numbers of a few magnitudes each; a point is written as one integer, a number's place among the magnitudes in
2 bits (3 where there are eight of them), the first number in the lowest bits."""
import sys

import gguf.quants
import numpy

GRIDS = ['IQ2_XXS', 'IQ2_XS', 'IQ2_S', 'IQ3_XXS', 'IQ3_S', 'IQ1_S']


def points(name):
    quant = getattr(gguf.quants, name)
    quant.init_grid()
    grid = quant.grid.reshape(quant.grid_shape).astype(int)
    places = {value: i for i, value in enumerate(quant.grid_map)}
    bits = 3 if len(places) == 8 else 2
    return [sum(places[v] << bits * i for i, v in enumerate(point)) for point in grid.tolist()]


def main():
    out = ['// tensor/iq_grids.c - the points of the IQ types: see iq_grids.h. Made by tests/tensor/make_iq_grids.py.',
           '#include "tensor/iq_grids.h"', '', '// clang-format off']
    for name in GRIDS:
        values = points(name)
        out.append(f'const uint16_t {name.lower()}_grid[{len(values)}] = {{')
        for i in range(0, len(values), 20):
            out.append('    ' + ' '.join(f'{v},' for v in values[i:i + 20]))
        out.append('};')
    out += ['// clang-format on', '']
    with open(sys.argv[1], 'w', encoding='utf-8') as f:
        f.write('\n'.join(out))


main()
