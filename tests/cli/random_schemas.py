"""tests/cli/random_schemas.py - random JSON Schemas and values: every keyword, in small schemas that often contradict themselves."""
import random

NAMES = ['a', 'b', 'ab', 'c']
WORDS = ['', 'a', 'b', 'ab', 'ba', 'abc', '\t', 'é"']
NUMBERS = [0, 1, 2, 3, -1, 1.5, 2.5, 6, 12]
PATTERNS = ['a', '^a', 'b$', '^ab?$', '[^a]', '^(?!a)', '^.?$', 'é|c', '^(?!.*b).*$', '^[ab]{2,3}$']


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
