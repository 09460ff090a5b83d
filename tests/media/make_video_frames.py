#!/usr/bin/env python3
"""tests/media/make_video_frames.py - writes tests/media/video_frames.h: which frames transformers 5.23 takes of videos of random lengths and rates."""
import ast
import importlib.util
import logging
import math
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np


class Ints(np.ndarray):
    def int(self):
        return self.astype(int)


class Arange:
    """torch.arange() without its vectors, which round by the processor's width of them."""
    @staticmethod
    def arange(start, stop, step):
        return np.array([np.float32(start + i * step) for i in range(math.ceil((stop - start) / step))]).view(Ints)


def method(module):
    """sample_frames() of a processor's module, which itself needs torchvision."""
    path = Path(importlib.util.find_spec('transformers').origin).parent / 'models' / module
    found = next(node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef) and node.name == 'sample_frames')
    names = {'torch': Arange, 'np': np, 'math': math, 'logger': logging.getLogger(), 'VideoMetadata': None}
    exec(compile(ast.Module([found], []), path, 'exec'), names)
    return names['sample_frames']


METHODS = (method('qwen2_vl/video_processing_qwen2_vl.py'), method('qwen3_vl/video_processing_qwen3_vl.py'))
DEFAULTS = {'temporal_patch_size': 2, 'min_frames': 4, 'max_frames': 768, 'num_frames': None}

rng = random.Random(7)
rows = []
for i in range(160):
    n_all = rng.choice([rng.randint(4, 40), rng.randint(41, 900), rng.randint(901, 60000)])
    fps = rng.choice([24, 25, 30, 30000 / 1001, 24000 / 1001, 10, 50, 60, 12.5, 4])
    kind, how = i % 2, i // 2 % 3
    want_fps, want_n = (rng.choice([0.5, 1, 2, 3.3, 4]), 0) if how == 1 else (0, rng.randint(2, min(n_all, 768))) if how == 2 else (0, 0)
    if kind == 0 and round(want_n / 2) * 2 > n_all:     # which it refuses
        continue
    kept = SimpleNamespace(**DEFAULTS, fps=None if want_n else 2)
    at = METHODS[kind](kept, SimpleNamespace(total_num_frames=n_all, fps=fps), num_frames=want_n or None, fps=want_fps or None)
    at = [int(k) for k in at if k < n_all]  # one more than asked for, where a quotient is rounded: there is no such frame
    total = 0
    for k in at:
        total = (total * 31 + k) % 2**64
    rows.append(f'    {{{"true" if kind else "false"}, {n_all}, {fps!r}, {float(want_fps)!r}, {want_n}, {len(at)}, {total}u}},')
Path(__file__).with_name('video_frames.h').write_text(
    '// tests/media/video_frames.h - made by make_video_frames.py. sum: of the frames, each time 31 times what was before.\n'
    'static const struct frames_case {\n    bool from_end_to_end;\n    uint32_t n_all;\n    double fps, want_fps;\n    uint32_t want_n;\n    size_t n;\n    uint64_t sum;\n} cases[] = {\n'
    + '\n'.join(rows) + '\n};\n')
