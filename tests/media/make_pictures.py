"""tests/media/make_pictures.py - writes tests/media/pictures/: small files of each kind, and beside each the pixels that Pillow reads of it (NAME.rgb:
width and height as 16 bits, little-endian, then RGB). Pillow 13.0.0; tests/media/picture_test.c compares them."""
import struct
from pathlib import Path

from PIL import Image
from pillow_pictures import reference

OUT = Path(__file__).parent / 'pictures'


def picture(mode, w=13, h=9):
    bands = {'1': 1, 'L': 1, 'P': 1, 'LA': 2, 'I;16': 2, 'RGB': 3, 'RGBA': 4, 'CMYK': 4}[mode]
    data = bytes((i * i * 7 + 31 * i // 3) & 255 for i in range(w * h * bands))
    if mode == '1':
        return Image.frombytes('L', (w, h), data).point(lambda v: 255 * (v > 128)).convert('1')
    im = Image.frombytes(mode, (w, h), data)
    if mode == 'P':
        im.putpalette(bytes((i * 5 + i // 7) & 255 for i in range(768)))
    return im


def exif(orientation):
    e = Image.Exif()
    e[0x0112] = orientation
    return e


def write(name, mode, size=(13, 9), **options):
    path = OUT / name
    picture(mode, *size).save(path, **options)
    im = reference(path)
    path.with_suffix(path.suffix + '.rgb').write_bytes(struct.pack('<HH', *im.size) + im.tobytes())


OUT.mkdir(exist_ok=True)
for mode in ('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'I;16'):
    write(f'{mode.lower().replace(";", "")}.png', mode)
write('palette-alpha.png', 'P', transparency=bytes(range(256)))
write('rgb-transparent.png', 'RGB', transparency=picture('RGB').getpixel((0, 0)))
write('gray16-transparent.png', 'I;16', transparency=picture('I;16').getpixel((0, 0)))
write('turned.png', 'RGB', exif=exif(6))
for mode in ('L', 'RGB', 'CMYK'):
    write(f'{mode.lower()}.jpeg', mode, quality=80)
write('progressive.jpeg', 'RGB', (40, 21), progressive=True, subsampling='4:2:0')
for orientation in range(2, 9):
    write(f'orientation-{orientation}.jpeg', 'RGB', (11, 5), exif=exif(orientation), quality=60)
write('xmp.jpeg', 'L', (6, 4), xmp=b'<x:xmpmeta><x tiff:Orientation="8"/></x:xmpmeta>')
write('lossy.webp', 'RGB', quality=50)
write('lossless-alpha.webp', 'RGBA', lossless=True, exact=True, exif=exif(3))
write('film.webp', 'RGBA', (7, 7), save_all=True, append_images=[picture('RGB', 7, 7)])
write('plain.gif', 'P')
write('transparent.gif', 'P', transparency=picture('P').getpixel((0, 0)), interlace=1)
write('film.gif', 'P', (5, 5), save_all=True, append_images=[picture('L', 5, 5)])
for mode in ('1', 'L', 'P', 'RGB', 'RGBA'):
    write(f'{mode.lower()}.bmp', mode)
