#!/usr/bin/env python3
"""tests/cli/schema_suite_test.py - the JSON Schema Test Suite, draft 7 and 2020-12: each document is judged as the suite does, or its schema is
refused with the pointer of the keyword, but for what is listed here with its reason. What is listed has to occur, just as often.
"""
import collections
import itertools
import json
import os
import pathlib

from grammar_verdicts import MOST_ORDERS, orders, verdicts
from harness import Skip, check, equal, main, test

SHARED = pathlib.Path(os.environ.get('RUNNEL_SHARED', pathlib.Path(__file__).parents[3] / 'shared'))
DRAFT_7 = 'http://json-schema.org/draft-07/schema#'

# Schemas that are refused: the keyword at the end of the pointer, what the error says of it, and how many there are.
REFUSED = {
    ('$ref', 'is not in this document, and nothing is fetched'): 37,
    ('format', 'regex is not supported'): 16,
    ('format', 'idn-hostname is not supported'): 6,
    ('pattern', 'of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported'): 2,
    ('patternProperties', 'of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported'): 2,
    ('uniqueItems', 'is only supported where `enum` or the like lists the items, or bounds integers'): 4,
    ('minProperties', 'is only supported where `properties` names all members, or all but one of so many are required'): 3,
    ('multipleOf', 'only multiples of positive numbers of up to 6 digits'): 2,
    ('unevaluatedProperties', 'cannot be negated'): 2,
}

# Documents that are judged otherwise than in the suite: where (its part, and its schema's name), what is said of them, and why.
CONTENT = 'content* are annotations; the suite has this as an option'
FORMATS = 'formats are enforced'
PUNYCODE = 'labels of other scripts would have to be decoded to be checked'
NUMBERS = 'beside multipleOf numbers have no exponent'
META = 'a meta-schema that leaves keywords out is not fetched'
LEAP = 'leap seconds are those of UTC'
OTHERWISE = [
    (4, 'draft7/optional/content', '', CONTENT),
    (17, 'draft2020-12/format', 'is only an annotation by default', FORMATS),
    (2, '/optional/format/date-time', 'leap second, with minus offset', LEAP),
    (8, '/optional/format/time', 'valid leap second, ', LEAP),
    (30, '/optional/format/hostname', '', PUNYCODE),
    (2, '/optional/float-overflow', 'valid if optional overflow handling is implemented', NUMBERS),
    (1, 'draft2020-12/vocabulary', 'no validation: invalid number', META),
]
# Valid documents that are refused since their members do not stand in the order of `properties`.
N_ORDERED = 8


def suite():
    path = SHARED / 'vectors/json-schema/test-suite.jsonl'
    if not path.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    lines = [json.loads(x) for x in path.open()]
    for x in lines:
        if x['id'].startswith('draft7/') and isinstance(x['schema'], dict):         # the draft is that of the suite's folder
            x['schema'] = {'$schema': DRAFT_7, **x['schema']}
    return lines


def in_some_order(schema, text):
    """Is the document accepted with its members in another order?"""
    texts = [{'text': t} for t in itertools.islice(orders(json.loads(text)), MOST_ORDERS)]
    return len(texts) > 1 and any(verdicts([{'id': 0, 'schema': schema, 'tests': texts}])[0]['results'])


def refusal(error):
    """(keyword, why) of an error `POINTER: WHY`, where the pointer ends with the keyword, or a member of its."""
    pointer, why = error.split(': ', 1)
    for keyword, reason in REFUSED:
        if reason in why and pointer.startswith('/') and keyword in pointer.split('/')[-2:]:
            return keyword, reason
    check(False, 'a refusal that is not listed:', error)


def known(where, note):
    for i, (_, part, said, _) in enumerate(OTHERWISE):
        if part in where.split(': ')[0] and said in note:
            return i
    check(False, 'a verdict that is not listed:', where, note)


@test
def the_test_suite_is_judged_or_refused_by_name():
    lines = suite()
    refused, otherwise, n_judged, n_nothing, n_ordered = collections.Counter(), collections.Counter(), 0, 0, 0
    for want, g in zip(lines, verdicts(lines), strict=True):
        equal(g['id'], want['id'])
        if g['error'] is None:
            equal(len(g['results']), len(want['tests']))
            n_judged += len(g['results'])
            for t in (t for t, result in zip(want['tests'], g['results']) if result != t['valid']):
                if t['valid'] and in_some_order(want['schema'], t['text']):
                    n_ordered += 1
                else:
                    otherwise[known(want['id'], t['note'])] += 1
        elif g['error'].endswith(': nothing matches'):
            check(not any(t['valid'] for t in want['tests']), want['id'], g['error'])
            n_nothing += 1
        else:
            refused[refusal(g['error'])] += 1
    print(f'# {len(lines)} schemas: {sum(refused.values())} are refused and {n_nothing} match nothing; of {n_judged} documents {n_ordered} are refused for the '
          f'order of their members and {sum(otherwise.values())} are judged otherwise')
    equal(dict(refused), REFUSED)
    equal([(otherwise[i], *rest) for i, (_, *rest) in enumerate(OTHERWISE)], OTHERWISE)
    equal(n_ordered, N_ORDERED)


if __name__ == '__main__':
    main()
