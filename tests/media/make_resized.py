"""tests/media/make_resized.py - writes tests/media/resized.bin: a picture that a formula gives, resized by Pillow 13.0.0 to several sizes with each filter.
A record: filter, width, height, new width, new height as bytes, then the new picture's RGB. tests/media/resize_test.c compares them."""
from pathlib import Path

from PIL import Image

SIZES = [(13, 9, 7, 5), (13, 9, 26, 18), (9, 13, 3, 20), (1, 70, 5, 7), (70, 1, 4, 3), (17, 5, 17, 2), (5, 17, 2, 17), (2, 2, 3, 3), (40, 30, 1, 1)]


def source(w, h):
    return bytes((i * i * 7 + 31 * i // 3) & 255 for i in range(3 * w * h))


out = b''
for w, h, to_w, to_h in SIZES:
    for resample in range(6):
        out += bytes([resample, w, h, to_w, to_h]) + Image.frombytes('RGB', (w, h), source(w, h)).resize((to_w, to_h), resample).tobytes()
(Path(__file__).parent / 'resized.bin').write_bytes(out)
