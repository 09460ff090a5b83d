"""tests/cli/grammar_verdicts.py - verdicts of `runnel grammar --cases`, and documents with their members in every order."""
import itertools
import json

from harness import runnel

MOST_ORDERS = 120


def orders(value):
    """The texts of a value with its members in every order."""
    if isinstance(value, list):
        for parts in itertools.product(*(list(orders(v)) for v in value)):
            yield '[' + ', '.join(parts) + ']'
    elif isinstance(value, dict):
        for names in itertools.permutations(value):
            for parts in itertools.product(*(list(orders(value[n])) for n in names)):
                yield '{' + ', '.join(json.dumps(n, ensure_ascii=False) + ': ' + p for n, p in zip(names, parts)) + '}'
    else:
        yield json.dumps(value, ensure_ascii=False)


def verdicts(lines):
    return runnel('grammar', '--cases', stdin=''.join(json.dumps(x) + '\n' for x in lines).encode()).ok().lines
