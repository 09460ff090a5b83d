"""tests/media/pillow_pictures.py TOOL FOLDER SEED N - random pictures that Pillow writes, and what TOOL (tests/tools/picture_bytes.c) reads of them.

Every mode and format, sizes 1 to 70, EXIF's and XMP's orientations, transparency of each kind, interlaced, progressive, animated. Prints a line for each
difference; the last line is the number of pictures. Run by tests/cli/pictures_test.py with a Python that has Pillow."""
import random
import subprocess
import sys
from pathlib import Path

from PIL import Image, ImageOps


class Tool:
    def __init__(self, path):
        self.at = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line, data=b''):
        """(words of the answer, its bytes)"""
        self.at.stdin.write(line.encode() + b'\n' + data)
        self.at.stdin.flush()
        words = self.at.stdout.readline().decode().split()
        return words, self.at.stdout.read(int(words[1]) * int(words[2]) * 3) if words[0] == 'ok' else b''


def reference(path):
    """Pillow's pixels as src/media/picture.h defines them. Of 16 bits the upper 8: Pillow's own convert('RGB') cuts at 255."""
    im = Image.open(path)
    im = ImageOps.exif_transpose(im)
    if im.mode == 'I;16':
        seen = im.info.get('transparency')
        wide = im
        im = Image.frombytes('L', wide.size, wide.tobytes()[1::2])
        if seen is not None:
            alpha = Image.frombytes('L', wide.size, bytes(0 if v == seen else 255 for v in memoryview(wide.tobytes()).cast('H')))
            im = Image.merge('LA', (im, alpha))
    if im.mode in ('LA', 'La', 'PA', 'RGBA', 'RGBa') or 'transparency' in im.info:
        im = im.convert('RGBA')
        white = Image.new('RGBA', im.size, 'white')
        white.alpha_composite(im)
        im = white
    return im.convert('RGB')


def noise(r, n):
    """Bytes with runs and all levels, so that every coder has something to do."""
    kind = r.randrange(3)
    if kind == 0:
        return r.randbytes(n)
    if kind == 1:
        return bytes((i * r.randrange(1, 7) // 3 + 40) & 255 for i in range(n))
    out = b''
    while len(out) < n:
        out += bytes([r.randrange(256)]) * r.randrange(1, 40)
    return out[:n]


def any_picture(r, mode):
    w, h = r.randint(1, 70), r.randint(1, 70)
    if mode == '1':
        return Image.frombytes('L', (w, h), noise(r, w * h)).point(lambda v: 255 * (v > 128)).convert('1')
    bands = {'L': 1, 'P': 1, 'LA': 2, 'I;16': 2, 'RGB': 3, 'RGBA': 4, 'CMYK': 4}[mode]
    data = noise(r, w * h * bands)
    if mode == 'P':
        n = r.choice([2, 3, 16, 200, 256])
        im = Image.frombytes('P', (w, h), bytes(v % n for v in data))
        im.putpalette(r.randbytes(3 * n))
        return im
    return Image.frombytes(mode, (w, h), data)


def turned(r, im, options, form):
    """An orientation, in EXIF or, where Pillow writes it, XMP."""
    kind = r.randrange(4)
    if kind == 0 or form not in ('JPEG', 'PNG', 'WEBP'):
        return
    if kind == 1 and form in ('JPEG', 'WEBP'):
        text = r.choice(['<x tiff:Orientation="%d"/>', '<tiff:Orientation>%d</tiff:Orientation>']) % r.randint(1, 8)
        options['xmp'] = ('<x:xmpmeta>' + text + '</x:xmpmeta>').encode()
        return
    exif = Image.Exif()
    exif[0x010E] = 'a description'
    exif[0x0112] = r.randint(0, 9)
    options['exif'] = exif


def png(r):
    im = any_picture(r, r.choice(['1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'I;16']))
    o = {'compress_level': r.randrange(10), 'optimize': r.random() < 0.2}
    if r.random() < 0.4:
        if im.mode == 'P':
            o['transparency'] = r.choice([r.randrange(2), r.randbytes(2)])
        elif im.mode == '1':
            o['transparency'] = r.choice([0, 255])
        elif im.mode == 'L':
            o['transparency'] = im.getpixel((0, 0))
        elif im.mode == 'I;16':
            o['transparency'] = im.getpixel((0, 0))
        elif im.mode == 'RGB':
            o['transparency'] = im.getpixel((0, 0))
    return im, o


def jpeg(r):
    im = any_picture(r, r.choice(['1', 'L', 'RGB', 'RGB', 'RGB', 'CMYK']))
    o = {'quality': r.randint(1, 100), 'progressive': r.random() < 0.4, 'optimize': r.random() < 0.3}
    if im.mode == 'RGB':
        o['subsampling'] = r.choice(['4:4:4', '4:2:2', '4:2:0'])
        o['keep_rgb'] = r.random() < 0.1
    if r.random() < 0.2:
        o['restart_marker_blocks'] = r.randint(1, 5)
    return im, o


def webp(r):
    im = any_picture(r, r.choice(['L', 'LA', 'P', 'RGB', 'RGB', 'RGBA', 'RGBA']))
    o = {'quality': r.randint(0, 100), 'lossless': r.random() < 0.4, 'method': r.randrange(5), 'exact': r.random() < 0.5}
    if r.random() < 0.2:
        o['save_all'], o['append_images'] = True, [any_picture(r, 'RGBA').resize(im.size) for _ in range(2)]
    return im, o


def gif(r):
    im = any_picture(r, r.choice(['1', 'L', 'P', 'RGB', 'RGBA', 'LA']))
    o = {'interlace': r.randrange(2), 'optimize': r.random() < 0.5}
    if im.mode in ('L', 'P') and r.random() < 0.4:
        o['transparency'] = im.getpixel((0, 0))
    if r.random() < 0.3:
        o.update(save_all=True, append_images=[any_picture(r, im.mode).resize(im.size) for _ in range(2)], disposal=r.randrange(4))
    return im, o


def bmp(r):
    return any_picture(r, r.choice(['1', 'L', 'P', 'RGB', 'RGBA'])), {}


FORMATS = {'PNG': png, 'JPEG': jpeg, 'WEBP': webp, 'GIF': gif, 'BMP': bmp}


def moved_gif(data, r):
    """The first frame of a GIF elsewhere on its screen, also beyond it: the descriptor's corner."""
    at = data.index(b',' + bytes(4) + data[6:10])
    return data[:at + 1] + bytes([r.randrange(9), 0, r.randrange(9), 0]) + data[at + 5:]


def main():
    tool, folder, seed, n = Tool(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    Image.MAX_IMAGE_PIXELS = None
    n_wrong = 0
    for i in range(seed, seed + n):
        r = random.Random(i)
        form = r.choice(list(FORMATS))
        im, options = FORMATS[form](r)
        turned(r, im, options, form)
        path = folder / f'{i}.{form.lower()}'
        try:
            im.save(path, form, **options)
        except (OSError, ValueError):
            continue # a combination that Pillow does not write
        if form == 'GIF' and r.random() < 0.3:
            path.write_bytes(moved_gif(path.read_bytes(), r))
        want = reference(path)
        words, rgb = tool.ask(f'decode {path}')
        if words[0] != 'ok' or (int(words[1]), int(words[2])) != want.size or rgb != want.tobytes():
            n_wrong += 1
            far = [(a, b, k) for k, (a, b) in enumerate(zip(rgb, want.tobytes())) if a != b]
            print(f'{path.name}: {im.mode} {im.size} {options}: {" ".join(words)}, Pillow {want.size}; {len(far)} bytes differ, first (ours, its, at): {far[:3]}')
        else:
            path.unlink()
    print(n)
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
