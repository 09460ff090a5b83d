#!/usr/bin/env python3
"""tools/check_layers.py [ROOT] - names every include that tools/layers.txt and tools/externals.txt do not allow.

An include is forbidden where the file names it, and where it arrives through other headers: a header that may be included must not bring
along one that may not be, unless tools/layers.txt lists that one as re-exported (the line `+`).
Prints one line for each, with the room that includes and what it included; exit status 1 if there is one.
"""
import functools
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
    """room -> the set of rooms and single headers that it may include; the headers that are re-exported."""
    allowed, everyone, exported = {}, set(), set()
    for n, room, words in read_table(path):
        if room in allowed:
            sys.exit(f'{path.name}:{n}: {room} has a line already')
        for word in words:
            if word.split('/')[0] not in allowed:
                sys.exit(f'{path.name}:{n}: {room} names {word}, which is not on a line above it')
        if room == '*':
            everyone = set(words)
        elif room == '+':
            exported = set(words)
        else:
            allowed[room] = {room, *words, *everyone}
    return allowed, exported


@functools.cache
def includes_of(path):
    """What a file includes by name, as (line, bracket, target); a bracket None: by a macro, with what it says."""
    found = []
    for n, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            target = TARGET.match(include[1])
            found.append((n, target[1], target[2]) if target else (n, None, include[1]))
    return found


def brought_along(root, header, exported, seen):
    """The headers of this tree that `header` includes, and what these include, each with the chain that leads there: but for those that
    are re-exported, with all that they need."""
    path = root / ('include' if header.startswith('runnel/') else 'src') / header
    for _, bracket, target in includes_of(path) if path.is_file() else ():
        if bracket and '/' in target and target not in seen | exported:
            seen.add(target)
            yield [header, target]
            for chain in brought_along(root, target, exported, seen):
                yield [header, *chain]


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


def leak(root, room, target, allowed, exported):
    """Why `room` may not include `target`, which it may name, because of what comes with it; or None. What its own headers bring along is
    reported where they do."""
    if target.split('/')[0] == room:
        return None
    for chain in brought_along(root, target, exported, {target}):
        last = chain[-1]
        owner = last.split('/')[0]
        if owner in allowed and not {owner, last} & allowed[room]:
            return f'{room} gets {last} of {owner}, which it may not include, through {" -> ".join(chain[:-1])}'
    return None


def check_file(root, path, shown, room, allowed, exported, externals):
    for n, bracket, target in includes_of(path):
        why = (violation(room, bracket, target, allowed, externals) if bracket
               else f'{room} includes by a macro, which cannot be checked: {target}')
        why = why or leak(root, room, target, allowed, exported)
        if why:
            yield f'{shown}:{n}: {why}'


def check_tree(root):
    allowed, exported = read_layers(root / 'tools/layers.txt')
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
                yield from check_file(root, path, shown, room, allowed, exported, externals)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = list(check_tree(root))
    print(*found, sep='\n', end='\n' if found else '')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
