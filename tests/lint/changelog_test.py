#!/usr/bin/env python3
"""tests/lint/changelog_test.py - CHANGELOG.md: what is not released comes first, then releases, newest first, up to the project's version."""
import re

from sentences import ROOT, main, test


def number(version):
    return tuple(int(part) for part in version.split('.'))


@test
def releases_stand_newest_first_below_what_is_not_released(folder):
    headings = re.findall(r'^## (.+)$', (ROOT / 'CHANGELOG.md').read_text(), re.M)
    version = re.search(r'project\(runnel VERSION ([\d.]+)', (ROOT / 'CMakeLists.txt').read_text())[1]
    assert headings[0] == 'Unreleased', headings
    assert headings[1:] == sorted(headings[1:], key=number, reverse=True), headings
    assert headings[1] == version, f'the newest release is {headings[1]}, CMakeLists.txt has {version}'


main()
