"""tests/cli/random_drafts.py - random JSON Schemas of drafts 4 to 2020-12, with what only that draft has, and values that nearly satisfy them.

Definitions refer to each other and to the whole schema, also through dynamic anchors, but no schema applies to the same value for ever. Formats and
multiples are judged here: validators differ on them.
"""
import random
from fractions import Fraction

NAMES = ['a', 'b', 'ab', 'c']
FORMATS = {
    'date': ['2024-02-29', '1999-12-31'],
    'time': ['01:02:03.5+01:00'],
    'date-time': ['2024-02-29T01:02:03Z'],
    'ipv4': ['127.0.0.1'],
    'uuid': ['2eb8aa08-aa98-11ea-b4aa-73b441d16380'],
    'email': ['a@b.c'],
}
OF_NO_FORMAT = ['2023-02-29', '256.0.0.1', '2eb8aa08', '2024-02-29T25:02:03Z', 'a@', '01:02']
TEXTS = ['', 'a', 'b', 'ab', 'ba', 'abc', '\t', 'é"', '\U0001f600', '1', 'a1', '\\', '/', 'a b', *sum(FORMATS.values(), []), *OF_NO_FORMAT]
NUMBERS = [0, 1, 2, 3, -1, 1.5, 2.5, 6, 12, -7, 0.3, 0.1, 0.25, 100, 1.0, 99.99, -0.5, 1000000]
STEPS = [1, 2, 3, .5, 1.5, .1, .01, .25, 7, .3, 12]
PATTERNS = ['a', '^a', 'b$', '^ab?$', '[^a]', '^(?!a)', '^.?$', 'é|c', '^(?!.*b).*$', '^[ab]{2,3}$', '^\\d', '(?<=a)b', '^(a|b)+$', '\\s', '^.{2,}$', '\\bb', '^[0-9]']
TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']
ADDRESSES = {4: 'http://json-schema.org/draft-04/schema#', 6: 'http://json-schema.org/draft-06/schema#', 7: 'http://json-schema.org/draft-07/schema#',
             2019: 'https://json-schema.org/draft/2019-09/schema', 2020: 'https://json-schema.org/draft/2020-12/schema'}
ROOT = 'http://e.org/root'


def judges():
    """jsonschema's validators by draft, with formats and multiples that are judged here."""
    import jsonschema
    checker = jsonschema.FormatChecker(formats=())
    for name, good in FORMATS.items():
        checker.checks(name)(lambda value, good=good: not isinstance(value, str) or value in good)

    def multiple(validator, step, value, _):
        if validator.is_type(value, 'number') and Fraction(str(value)) % Fraction(str(step)) != 0:
            yield jsonschema.ValidationError(f'{value} is no multiple of {step}')

    drafts = {4: jsonschema.Draft4Validator, 6: jsonschema.Draft6Validator, 7: jsonschema.Draft7Validator,
              2019: jsonschema.Draft201909Validator, 2020: jsonschema.Draft202012Validator}
    made = {draft: jsonschema.validators.extend(judge, {'multipleOf': multiple}) for draft, judge in drafts.items()}
    return {draft: lambda schema, judge=judge: judge(schema, format_checker=checker) for draft, judge in made.items()}


class DraftMaker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.draft = self.r.choice([4, 6, 7, 2019, 2020, 2020, 2020])
        self.definitions = '$defs' if self.draft >= 2019 else 'definitions'
        self.focus = self.r.choice(['any', 'any', 'object', 'array', 'string', 'number'])
        self.is_dynamic = self.draft >= 2019 and self.r.random() < .3
        self.within, self.own = False, 'pqr'    # a member or item of the value that a definition is about; definitions that may apply to the value itself

    # ---- values ----

    def value(self, depth=2):
        r, kind = self.r, self.r.random()
        if depth == 0 or kind < .35:
            return r.choice([None, True, False, *r.sample(NUMBERS, 6), *r.sample(TEXTS, 6)])
        if kind < .6:
            return [self.value(depth - 1) for _ in range(r.randrange(4))]
        return {name: self.value(depth - 1) for name in r.sample([*NAMES, 'x', 'é'], r.randrange(4))}

    def object_of(self, s, parts, depth):
        r, named = self.r, {}
        for part in [s, *(p for p in parts if isinstance(p, dict))]:
            named |= part.get('properties', {})
        names = [n for n in named if r.random() < .6] + [n for n in s.get('required', []) if n not in named or r.random() < .5]
        if r.random() < .3:
            names.append(r.choice([*NAMES, 'x', 'é']))
        return {n: self.near(named.get(n, s.get('additionalProperties', True)), depth - 1) for n in dict.fromkeys(names)}

    def array_of(self, s, depth):
        items = s.get('items', True)
        first = s.get('prefixItems', items if isinstance(items, list) else [])
        rest = s.get('additionalItems', s.get('contains', True)) if isinstance(items, list) else items
        return [self.near(first[i] if i < len(first) else self.r.choice([rest, s.get('contains', rest)]), depth - 1) for i in range(self.r.randrange(4))]

    def near(self, s, depth=4):
        """A value that may satisfy the schema."""
        r = self.r
        if not isinstance(s, dict) or depth == 0 or r.random() < .08:
            return self.value(1)
        if 'const' in s or 'enum' in s:
            return s['const'] if 'const' in s else r.choice(s['enum'])
        if '$ref' in s:
            name = s['$ref'].rpartition('#')[2].rpartition('/')[2]
            return self.near(self.root[self.definitions].get(name, self.root) if name else self.root, depth - 1)
        parts = sum((s.get(k, []) for k in ('allOf', 'anyOf', 'oneOf')), []) + [s[k] for k in ('if', 'then', 'else') if k in s]
        kind = r.choice(s['type']) if isinstance(s.get('type'), list) else s.get('type')
        if parts and kind is None and r.random() < .6:
            return self.near(r.choice(parts), depth - 1)
        hints = {'object': ('properties', 'required', 'patternProperties', 'additionalProperties', 'dependencies', 'unevaluatedProperties'),
                 'array': ('items', 'prefixItems', 'contains', 'unevaluatedItems'), 'string': ('pattern', 'minLength', 'format'),
                 'number': ('minimum', 'maximum', 'multipleOf')}
        kind = kind or next((k for k, words in hints.items() if set(words) & set(s)), None)
        if kind == 'object':
            return self.object_of(s, parts, depth)
        if kind == 'array':
            return self.array_of(s, depth)
        if kind == 'string':
            return r.choice(FORMATS[s['format']] if 'format' in s and r.random() < .7 else TEXTS)
        return {'integer': lambda: r.choice([n for n in NUMBERS if isinstance(n, int)]), 'number': lambda: r.choice(NUMBERS), 'null': lambda: None,
                'boolean': lambda: r.random() < .5}.get(kind, lambda: self.value(1))()

    # ---- schemas ----

    def some(self):
        return self.r.sample(NAMES, self.r.randint(1, 2))

    def part(self, depth, boolean=.05):
        """A schema of a member or item."""
        before, self.within = self.within, True
        made = self.schema(depth, boolean)
        self.within = before
        return made

    def schemas(self, depth, least=1):
        return [self.schema(depth) for _ in range(self.r.randint(least, 3))]

    def reference(self):
        names = [f'#/{self.definitions}/{k}' for k in ('pqr' if self.within else self.own)]
        return (ROOT if self.is_dynamic else '') + self.r.choice(['#', *4 * names] if self.within else names)

    def keywords(self, depth):
        """(of any value, by the kind of value), each (plain, with schemas within): makers of values by keyword."""
        r, draft = self.r, self.draft
        one, several = lambda: self.schema(depth - 1), lambda: self.schemas(depth - 1)
        part, parts = lambda: self.part(depth - 1), lambda: [self.part(depth - 1) for _ in range(r.randint(1, 3))]
        any_value = ({'type': lambda: r.choice([r.choice(TYPES), r.sample(TYPES, 3)]), 'enum': lambda: [self.value(1) for _ in range(r.randint(1, 4))]},
                     {'allOf': several, 'anyOf': several, 'oneOf': lambda: self.schemas(depth - 1, 2), 'not': one})
        bound = (lambda: r.random() < .5) if draft == 4 else lambda: r.choice(NUMBERS)
        number = {'minimum': lambda: r.choice(NUMBERS), 'maximum': lambda: r.choice(NUMBERS), 'multipleOf': lambda: r.choice(STEPS),
                  'exclusiveMinimum': bound, 'exclusiveMaximum': bound}
        string = {'minLength': lambda: r.randrange(3), 'maxLength': lambda: r.randrange(5), 'pattern': lambda: r.choice(PATTERNS), 'format': lambda: r.choice(list(FORMATS))}
        object_ = ({'required': self.some, 'minProperties': lambda: r.choice((0, 1, 1, 2)), 'maxProperties': lambda: r.randrange(4)},
                   {'properties': lambda: {n: part() for n in r.sample(NAMES, r.randint(1, 3))},
                    'patternProperties': lambda: {p: part() for p in r.sample(PATTERNS, r.randint(1, 2))},
                    'additionalProperties': lambda: self.part(depth - 1, .3)})
        array = ({'minItems': lambda: r.randrange(3), 'maxItems': lambda: r.randrange(4)}, {'items': part})
        if draft < 2020:
            array[1].update(items=lambda: r.choice([part, parts])(), additionalItems=lambda: self.part(depth - 1, .3))
        if draft <= 7:
            object_[1]['dependencies'] = lambda: {r.choice(NAMES): r.choice([self.some, one])()}
        if draft >= 6:
            any_value[0]['const'] = lambda: self.value(1)
            array[1]['contains'] = part
            object_[1]['propertyNames'] = lambda: r.choice([{'pattern': r.choice(PATTERNS)}, {'maxLength': 1}, {'minLength': 2}, {'enum': self.some()},
                                                            {'not': {'pattern': r.choice(PATTERNS)}}])
        if draft >= 7:
            any_value[1].update({'if': one, 'then': one, 'else': one})
        if draft >= 2019:
            object_[0]['dependentRequired'] = lambda: {n: self.some() for n in self.some()}
            object_[1]['dependentSchemas'] = lambda: {r.choice(NAMES): one()}
            array[0].update(minContains=lambda: r.randrange(3), maxContains=lambda: r.randrange(1, 3))
        if draft >= 2020:   # jsonschema's own for 2019-09 differ from that draft: they look past additionalProperties, and into contains
            object_[1]['unevaluatedProperties'] = lambda: self.part(0, .6)
            array[1].update(unevaluatedItems=lambda: self.part(0, .6), prefixItems=parts)
        if self.own or self.within:
            any_value[1]['$ref'] = self.reference
        if self.is_dynamic and self.within:
            any_value[1].update([('$dynamicRef', lambda: '#n') if draft == 2020 else ('$recursiveRef', lambda: '#')])
        return any_value, {'object': object_, 'array': array, 'string': (string, {}), 'number': (number, {})}

    def keyword(self, depth):
        r = self.r
        (plain, nested), kinds = self.keywords(depth)
        of = [kinds[self.focus]] if self.focus != 'any' and r.random() < .7 else kinds.values()
        for words, with_schemas in of:
            plain, nested = plain | words, nested | with_schemas
        name = r.choice(list(plain) if depth <= 0 else [*plain, *2 * list(nested)])
        made = {name: (plain | nested)[name]()}
        if self.draft == 4 and name.startswith('exclusive'):
            made[name[9:].lower()] = r.choice(NUMBERS)
        if name == 'if':
            made |= {k: self.schema(depth - 1) for k in ('then', 'else') if r.random() < .7}
        if name == 'additionalItems' and r.random() < .8:
            made['items'] = [self.part(depth - 1)]
        if name in ('minContains', 'maxContains') and r.random() < .8:
            made['contains'] = self.part(depth - 1)
        return made

    def schema(self, depth, boolean=.05):
        if (self.draft >= 6 or boolean > .05) and self.r.random() < boolean:
            return self.r.random() < .5
        return self.members(depth, 3)

    def members(self, depth, most):
        made = {}
        for _ in range(self.r.randint(1, most)):
            made |= self.keyword(depth)
        return made

    def document(self):
        """A whole schema; near() is about the last one."""
        r = self.r
        s = {'type': r.choice(['object', 'array']) if self.focus == 'any' else self.focus} if r.random() < .5 else {}
        s |= self.members(3, 4)
        s['$schema'] = ADDRESSES[self.draft]
        s[self.definitions] = own = {}
        for self.own in ('qr', 'r', ''):
            own['pqr'[len(own)]] = self.schema(1)
        self.own = 'pqr'
        if self.is_dynamic:
            s['$id'] = ROOT
            ref, anchor = ({'$dynamicRef': '#n'}, {}) if self.draft == 2020 else ({'$recursiveRef': '#'}, {'$recursiveAnchor': True})
            own['o'] = {'$id': 'other', **anchor, 'items': ref, 'additionalProperties': ref}
            if self.draft == 2020:
                own['n'] = {'$dynamicAnchor': 'n', **self.members(1, 3)}
                own['o']['$defs'] = {'n': {'$dynamicAnchor': 'n', **self.members(1, 3)}}
            elif r.random() < .7:
                s |= anchor
            if r.random() < .7:
                s['anyOf'] = [{'$ref': 'other'}, self.schema(1)]
        self.root = s
        return s
