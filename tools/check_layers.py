#!/usr/bin/env python3
"""tools/check_layers.py [ROOT] - names every include that tools/layers.txt and tools/externals.txt do not allow.

Prints one line for each, with the room that includes and what it included; exit status 1 if there is one.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*(.*)')
TARGET = re.compile(r'(["<])([^">]+)[">]')


def read_table(path):
    """Rows `name : word word ...` of a table with comments, in order."""
    for n, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split('#')[0].strip()
        if not line:
            continue
        name, colon, words = line.partition(':')
        if not colon:
            sys.exit(f'{path.name}:{n}: no colon: {line}')
        yield n, name.strip(), words.split()


def read_layers(path):
    """room -> the set of rooms and single headers that it may include."""
    allowed, everyone = {}, set()
    for n, room, words in read_table(path):
        if room in allowed:
            sys.exit(f'{path.name}:{n}: {room} has a line already')
        for word in words:
            if word.split('/')[0] not in allowed:
                sys.exit(f'{path.name}:{n}: {room} names {word}, which is not on a line above it')
        if room == '*':
            everyone = set(words)
        else:
            allowed[room] = {room, *words, *everyone}
    return allowed


def violation(room, brackets, target, allowed, externals):
    """Why `room` may not include `target`, or None."""
    owner = target.split('/')[0]
    if '/' in target and owner in allowed:
        if not {owner, target} & allowed[room]:
            may = ' '.join(sorted(allowed[room] - {room})) or 'nothing else of the house'
            return f'{room} may not include {target} of {owner}; it may include: {may}'
        if (brackets == '<') != (owner == 'runnel'):
            return f'{room} includes {target} in the wrong brackets: <runnel/...>, but "room/file.h"'
        return None
    if brackets == '"' or target not in externals:
        return f'{room} includes {target}, which is neither room/file.h nor in tools/externals.txt'
    if not {room, '*'} & externals[target]:
        return f'{room} may not include {target}, which is for: {" ".join(sorted(externals[target]))}'
    return None


def check_file(path, shown, room, allowed, externals):
    for n, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        target = TARGET.match(include[1])
        why = (violation(room, target[1], target[2], allowed, externals) if target
               else f'{room} includes by a macro, which cannot be checked: {include[1]}')
        if why:
            yield f'{shown}:{n}: {why}'


def check_tree(root):
    allowed = read_layers(root / 'tools/layers.txt')
    externals = {name: set(rooms) for _, name, rooms in read_table(root / 'tools/externals.txt')}
    for folder in ('include', 'src'):
        for path in sorted((root / folder).rglob('*')):
            if path.suffix not in ('.c', '.h', '.inc') or not path.is_file():
                continue
            shown = path.relative_to(root)
            room = shown.parts[1]
            if len(shown.parts) < 3 or room not in allowed:
                yield f'{shown}: room {room} is not in tools/layers.txt'
            else:
                yield from check_file(path, shown, room, allowed, externals)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = list(check_tree(root))
    print(*found, sep='\n', end='\n' if found else '')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
