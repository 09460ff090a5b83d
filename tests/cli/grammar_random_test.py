#!/usr/bin/env python3
"""tests/cli/grammar_random_test.py - random JSON Schemas and documents: `runnel grammar` against Python's jsonschema.

Python's $ also matches before a line's end, which JSON Schema's does not: no text has one.
An invalid document must be refused in whatever order its members stand; a valid one must be accepted in one of them.
"""
import itertools
import json
import os
import random

from harness import Skip, check, main, runnel, test

N_SCHEMAS = 3000 if os.environ.get('RUNNEL_TEST_FULL') else 400
NAMES = ['a', 'b', 'ab', 'c']
WORDS = ['', 'a', 'b', 'ab', 'ba', 'abc', '\t', 'é"']
NUMBERS = [0, 1, 2, 3, -1, 1.5, 2.5, 6, 12]
PATTERNS = ['a', '^a', 'b$', '^ab?$', '[^a]', '^(?!a)', '^.?$', 'é|c', '^(?!.*b).*$', '^[ab]{2,3}$']
MOST_ORDERS = 120


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def scalar(self):
        return self.r.choice([None, True, False, *NUMBERS, *WORDS])

    def value(self, depth=2):
        kind = self.r.random()
        if depth == 0 or kind < .4:
            return self.scalar()
        if kind < .65:
            return [self.value(depth - 1) for _ in range(self.r.randrange(4))]
        return {name: self.value(depth - 1) for name in self.r.sample([*NAMES, 'x'], self.r.randrange(4))}

    def schemas(self, depth, least=1, most=3):
        return [self.schema(depth) for _ in range(self.r.randint(least, most))]

    def some(self):
        return self.r.sample(NAMES, self.r.randint(1, 2))

    def keyword(self, depth):
        r = self.r
        plain = {
            'type': lambda: r.choice([r.choice(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']),
                                      r.sample(['null', 'boolean', 'integer', 'string', 'array', 'object'], 3)]),
            'enum': lambda: [self.value(1) for _ in range(r.randint(1, 4))], 'const': lambda: self.value(1),
            'minLength': lambda: r.randrange(3), 'maxLength': lambda: r.randrange(4), 'pattern': lambda: r.choice(PATTERNS),
            'minimum': lambda: r.choice(NUMBERS), 'maximum': lambda: r.choice(NUMBERS), 'exclusiveMinimum': lambda: r.choice(NUMBERS),
            'exclusiveMaximum': lambda: r.choice(NUMBERS), 'multipleOf': lambda: r.choice([1, 2, 3, .5, 1.5]),
            'required': self.some, 'minProperties': lambda: r.choice((0, 1, 1, 2)), 'maxProperties': lambda: r.randrange(4),
            'minItems': lambda: r.randrange(3), 'maxItems': lambda: r.randrange(4),
            'dependentRequired': lambda: {r.choice(NAMES): self.some()},
        }
        nested = {
            'properties': lambda: {name: self.schema(depth - 1) for name in self.some()},
            'patternProperties': lambda: {r.choice(PATTERNS): self.schema(depth - 1)},
            'additionalProperties': lambda: self.schema(depth - 1), 'propertyNames': lambda: {r.choice(['pattern', 'pattern', 'not']): None},
            'items': lambda: self.schema(depth - 1), 'prefixItems': lambda: self.schemas(depth - 1),
            'contains': lambda: self.schema(depth - 1), 'minContains': lambda: r.randrange(3), 'maxContains': lambda: r.randrange(1, 3),
            'dependentSchemas': lambda: {r.choice(NAMES): self.schema(depth - 1)},
            'allOf': lambda: self.schemas(depth - 1), 'anyOf': lambda: self.schemas(depth - 1), 'oneOf': lambda: self.schemas(depth - 1, 2),
            'not': lambda: self.schema(depth - 1), 'if': lambda: self.schema(depth - 1), 'then': lambda: self.schema(depth - 1),
            'else': lambda: self.schema(depth - 1), '$ref': lambda: '#/$defs/' + r.choice('pq'),
            'unevaluatedProperties': lambda: r.choice([False, False, self.schema(0)]),
            'unevaluatedItems': lambda: r.choice([False, False, self.schema(0)]),
        }
        if r.random() < .04:    # other unique items are refused
            return 'allOf', [{'uniqueItems': True, 'items': {'enum': r.sample([None, True, 1, 2, 'a', 'b'], 3)}}]
        name = r.choice(list(plain) if depth == 0 else list(plain) + 2 * list(nested))
        value = (plain.get(name) or nested[name])()
        if name == 'propertyNames':
            value = {'pattern': r.choice(PATTERNS)} if 'pattern' in value else {'not': {'pattern': r.choice(PATTERNS)}}
        return name, value

    def schema(self, depth):
        if self.r.random() < .04:
            return self.r.random() < .7
        return dict(self.keyword(depth) for _ in range(self.r.randint(1, 3 if depth < 3 else 4)))


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
