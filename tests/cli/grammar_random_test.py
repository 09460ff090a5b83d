#!/usr/bin/env python3
"""tests/cli/grammar_random_test.py - random JSON Schemas and documents: `runnel grammar` against Python's jsonschema.

Python's $ also matches before a line's end, which JSON Schema's does not: no text has one.
An invalid document must be refused in whatever order its members stand; a valid one must be accepted in one of them.
"""
import itertools
import json
import os

from grammar_verdicts import MOST_ORDERS, orders, verdicts
from harness import Skip, check, main, test
from random_drafts import DraftMaker, judges
from random_schemas import Maker

FULL = bool(os.environ.get('RUNNEL_TEST_FULL'))
FIRST = int(os.environ.get('RUNNEL_TEST_SEED', '1'))
N_SCHEMAS = 3000 if FULL else 400
N_OF_DRAFTS = 3000 if FULL else 400
REFUSED = ('cannot be negated', 'beside `contains`', 'more than', 'too many', 'minProperties: is only', 'maxProperties: is only')


def documents(judge, values):
    """[(is it valid, its texts)] of values that do not have too many."""
    found = []
    for value in values:
        texts = list(itertools.islice(orders(value), MOST_ORDERS + 1))
        if len(texts) <= MOST_ORDERS:
            found.append((judge.is_valid(value), texts))
    return found


def compare(schemas, truths, known):
    """Returns how many schemas are refused, and documents valid and invalid. schemas: by seed; truths: documents() of each."""
    lines = [{'id': seed, 'schema': s, 'tests': [{'text': x} for _, texts in t for x in texts]} for (seed, s), t in zip(schemas.items(), truths)]
    n_refused = n_valid = n_invalid = 0
    for line, truth, g in zip(lines, truths, verdicts(lines)):
        schema = json.dumps(line['schema'], ensure_ascii=False)
        if g['error'] is not None and 'nothing matches' in g['error']:
            check(not any(t[0] for t in truth), line['id'], schema, 'accepts', [t[1][0] for t in truth if t[0]][:1])
        elif g['error'] is not None:
            check(any(k in g['error'] for k in known), line['id'], schema, g['error'])
            n_refused += 1
        else:
            at = 0
            for is_valid, texts in truth:
                results, at = g['results'][at:at + len(texts)], at + len(texts)
                check(any(results) if is_valid else not any(results), line['id'], schema, texts[0], 'valid' if is_valid else 'invalid', results)
                n_valid, n_invalid = n_valid + is_valid, n_invalid + (not is_valid)
    return n_refused, n_valid, n_invalid


def need_jsonschema():
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        raise Skip('Python package jsonschema is not installed')


@test
def random_schemas_judge_documents_as_jsonschema_does():
    need_jsonschema()
    from jsonschema import Draft202012Validator
    schemas, truths = {}, []
    for seed in range(FIRST, FIRST + N_SCHEMAS):
        maker = Maker(seed)
        # Definitions do not refer to each other, so that no schema applies to the same value for ever.
        schema = {'type': maker.r.choice(['object', 'object', 'array', 'string', 'number'])} if maker.r.random() < .6 else {}
        schema.update(maker.keyword(3) for _ in range(maker.r.randint(1, 4)))
        schema['$defs'] = {'p': {'type': ['integer', 'string', 'null']}, 'q': {'type': ['object', 'null'], 'properties': {'a': {'$ref': '#/$defs/q'}}}}
        schemas[seed] = schema
        truths.append(documents(Draft202012Validator(schema), (maker.value() for _ in range(24))))
    n_refused, n_valid, n_invalid = compare(schemas, truths, REFUSED)
    check(n_refused <= .12 * N_SCHEMAS and n_valid > N_SCHEMAS and n_invalid > N_SCHEMAS, n_refused, n_valid, n_invalid)


@test
def random_schemas_of_all_drafts_judge_documents_as_jsonschema_does():
    need_jsonschema()
    judge_of = judges()
    makers = {seed: DraftMaker(seed) for seed in range(FIRST, FIRST + N_OF_DRAFTS)}
    schemas = {seed: m.document() for seed, m in makers.items()}
    truths = [documents(judge_of[m.draft](m.root), [m.near(m.root) if i % 3 else m.value() for i in range(24)]) for m in makers.values()]
    n_refused, n_valid, n_invalid = compare(schemas, truths, REFUSED)
    check(n_refused <= .2 * N_OF_DRAFTS and n_valid > 4 * N_OF_DRAFTS and n_invalid > 3 * N_OF_DRAFTS, n_refused, n_valid, n_invalid)


if __name__ == '__main__':
    main()
