"""tests/cli/grammar_verdicts.py - verdicts of `runnel grammar --cases`, and documents with their members in other orders."""
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


def lists_of_properties(schema):
    """The names of each `properties` anywhere in a schema."""
    if isinstance(schema, dict) and isinstance(schema.get('properties'), dict):
        yield list(schema['properties'])
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from lists_of_properties(part)


def orders_of_schema(value, lists):
    """The values that a value is with the members of its objects as one of these lists names them, or two of them, one behind the other."""
    if isinstance(value, list):
        for parts in itertools.islice(itertools.product(*(list(orders_of_schema(v, lists)) for v in value)), MOST_ORDERS // 2):
            yield list(parts)
    elif isinstance(value, dict):
        near = sorted(lists, key=lambda names: (-len(value.keys() & names), len(names)))[:8]
        wanted = dict.fromkeys(tuple(dict.fromkeys(n for n in (*first, *second, *value) if n in value))
                               for first, second in (*((x, x) for x in near), *itertools.permutations(near, 2)))
        found = (dict(zip(names, parts)) for names in itertools.islice(wanted, MOST_ORDERS // 5)
                 for parts in itertools.islice(itertools.product(*(list(itertools.islice(orders_of_schema(value[n], lists), 24)) for n in names)), 24))
        yield from itertools.islice(found, 400)
    else:
        yield value


def verdicts(lines):
    return runnel('grammar', '--cases', stdin=''.join(json.dumps(x) + '\n' for x in lines).encode()).ok().lines
