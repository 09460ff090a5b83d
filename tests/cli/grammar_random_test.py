#!/usr/bin/env python3
"""tests/cli/grammar_random_test.py - random JSON Schemas and documents: `runnel grammar` against Python's jsonschema.

Python's $ also matches before a line's end, which JSON Schema's does not: no text has one.
An invalid document must be refused in whatever order its members stand; a valid one must be accepted in one of them.
"""
import itertools
import json
import os

from harness import Skip, check, main, runnel, test
from random_schemas import Maker

N_SCHEMAS = 3000 if os.environ.get('RUNNEL_TEST_FULL') else 400
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


@test
def random_schemas_judge_documents_as_jsonschema_does():
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        raise Skip('Python package jsonschema is not installed')
    first = int(os.environ.get('RUNNEL_TEST_SEED', '1'))
    lines, valid = [], []
    for seed in range(first, first + N_SCHEMAS):
        maker = Maker(seed)
        # Definitions do not refer to each other, so that no schema applies to the same value for ever.
        schema = {'type': maker.r.choice(['object', 'object', 'array', 'string', 'number'])} if maker.r.random() < .6 else {}
        schema.update(maker.keyword(3) for _ in range(maker.r.randint(1, 4)))
        schema['$defs'] = {'p': {'type': ['integer', 'string', 'null']}, 'q': {'type': ['object', 'null'], 'properties': {'a': {'$ref': '#/$defs/q'}}}}
        tests, truth = [], []
        judge = Draft202012Validator(schema)
        for number in range(24):
            value = maker.value()
            texts = list(itertools.islice(orders(value), MOST_ORDERS + 1))
            if len(texts) > MOST_ORDERS:
                continue
            truth.append((judge.is_valid(value), len(texts), texts[0]))
            tests += [{'text': t} for t in texts]
        lines.append({'id': seed, 'schema': schema, 'tests': tests})
        valid.append(truth)
    got = runnel('grammar', '--cases', stdin=''.join(json.dumps(x) + '\n' for x in lines).encode()).ok().lines
    n_refused = n_valid = n_invalid = 0
    for line, truth, g in zip(lines, valid, got):
        schema = json.dumps(line['schema'], ensure_ascii=False)
        if g['error'] is not None and 'nothing matches' in g['error']:
            check(not any(t[0] for t in truth), line['id'], schema, 'accepts', [t[2] for t in truth if t[0]][:1])
        elif g['error'] is not None:
            known = ('cannot be negated', 'with `contains`', 'beside `contains`', 'more than', 'too many', 'minProperties: is only', 'maxProperties: is only')
            check(any(k in g['error'] for k in known), line['id'], schema, g['error'])
            n_refused += 1
        else:
            at = 0
            for is_valid, n, text in truth:
                results, at = g['results'][at:at + n], at + n
                check(any(results) if is_valid else not any(results), line['id'], schema, text, 'valid' if is_valid else 'invalid', results)
                n_valid, n_invalid = n_valid + is_valid, n_invalid + (not is_valid)
    check(n_refused <= .12 * N_SCHEMAS and n_valid > N_SCHEMAS and n_invalid > N_SCHEMAS, n_refused, n_valid, n_invalid)


if __name__ == '__main__':
    main()
