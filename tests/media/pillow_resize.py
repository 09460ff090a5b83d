"""tests/media/pillow_resize.py TOOL SEED N - random resizes: Pillow's Image.resize() against TOOL (tests/tools/picture_bytes.c), byte by byte.

Sides of 1, ratios up to 1:70, factors whose steps fall on halves, one side that stays. The last line is the number of resizes. Run by
tests/cli/pictures_test.py with a Python that has Pillow."""
import random
import sys

from PIL import Image
from pillow_pictures import Tool, noise


def side(r):
    return r.choice([1, 2, r.randint(1, 9), r.randint(1, 70), r.randint(1, 300)])


def main():
    tool, seed, n = Tool(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    n_wrong = 0
    for i in range(seed, seed + n):
        r = random.Random(i)
        w, h = side(r), side(r)
        to_w, to_h = r.choice([(side(r), side(r)), (w, side(r)), (side(r), h), (2 * w, 2 * h), (max(1, w // 2), max(1, h // 2)), (w * 3, max(1, h // 3))])
        resample = r.randrange(6)
        data = noise(r, 3 * w * h)
        want = Image.frombytes('RGB', (w, h), data).resize((to_w, to_h), resample).tobytes()
        words, got = tool.ask(f'resize {w} {h} {to_w} {to_h} {resample}', data)
        if words[0] != 'ok' or got != want:
            n_wrong += 1
            far = [(a, b, k) for k, (a, b) in enumerate(zip(got, want)) if a != b]
            print(f'{i}: {w} x {h} to {to_w} x {to_h}, filter {resample}: {" ".join(words)}; {len(far)} bytes differ, first (ours, its, at): {far[:3]}')
    print(n)
    return 1 if n_wrong else 0


sys.exit(main())
