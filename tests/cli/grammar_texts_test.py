#!/usr/bin/env python3
"""tests/cli/grammar_texts_test.py - texts that a model writes under a schema parse and validate: with Python's jsonschema and JavaScript's ajv.

100 random schemas that are not refused, and every 60th of MaskBench's; 1,000 and all 1,200 of them with RUNNEL_TEST_FULL=1. Each is written at temperature 1 and 5. A
bias towards quotes and brackets keeps them within the model's context.
"""
import json
import os
import random
import shutil
import subprocess

from grammar_verdicts import verdicts
from harness import ROOT, Skip, check, environment, main, runnel, test
from schema_texts import ENDS, Texts, by_jsonschema, unique

FULL = bool(os.environ.get('RUNNEL_TEST_FULL'))
SHARED = os.environ.get('RUNNEL_SHARED') or str(ROOT / '../shared')
NODE = os.environ.get('RUNNEL_TEST_NODE') or str(ROOT / 'build/clients')
SPACES = ('dumps', 'compact', 'free')
AJV = ROOT / 'tests/cli/ajv_verdicts.mjs'


def answers(schemas, wanted, pull):
    """Answers of the model for pairs (schema's number, temperature), with a bias of so many logits towards ends."""
    requests = [{'id': n, 'prompt': 'Once', 'n': 500, 'seed': i + pull, 'temp': t, 'json_schema': schemas[i], 'json_space': SPACES[i % 3],
                 'logit_bias': {k: max(-100, min(v * pull * t, 100)) for k, v in ENDS.items()}} for n, (i, t) in enumerate(wanted)]
    done = runnel('batch', stdin=''.join(json.dumps(x) + '\n' for x in requests).encode(), env=environment())
    check(len(done.lines) == len(requests), len(done.lines), done.err[-300:])
    return [(wanted[a['id']], a) for a in done.lines]


def write(schemas):
    """[(schema, text)] of the answers that are whole, and [error]. What the model's context has ended is written again, with more bias."""
    whole, errors, wanted = [], [], [(i, t) for i in range(len(schemas)) for t in (1, 5)]
    for pull in (1, 2, 6):
        cut = []
        for (i, t), a in answers(schemas, wanted, pull) if wanted else ():
            if 'error' in a:
                errors.append(str(a['error']))
            elif a['finish_reason'] == 'stop':
                whole.append((schemas[i], a['text']))
            else:
                check(a['finish_reason'] == 'length', a['finish_reason'], a.get('finish_detail'), schemas[i])
                cut.append((i, t))
        wanted = cut
    return whole, errors, len(wanted)


def ref_hides(schema):
    """Up to draft 7 $ref hides what stands beside it, which ajv looks at."""
    return isinstance(schema, dict) and any(f'draft-0{n}' in str(schema.get('$schema')) for n in range(3, 8)) and '$ref' in schema and len(schema) > 1


def by_ajv(pairs):
    done = subprocess.run(['node', AJV], input=''.join(json.dumps({'schema': s, 'text': t}) + '\n' for s, t in pairs).encode(), capture_output=True,
                          env=os.environ | {'RUNNEL_TEST_NODE': NODE})
    if done.returncode == 77:
        raise Skip('the JavaScript package ajv is not here (./dev setup --clients)')
    check(done.returncode == 0, done.stderr[-500:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def need():
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        raise Skip('Python package jsonschema is not installed')
    if not shutil.which('node'):
        raise Skip('node is not here')
    by_ajv([])


def check_texts(schemas, known_errors, least_whole, differ=()):
    need()
    whole, errors, n_cut = write(schemas)
    for error in errors:
        check(any(k in error for k in known_errors), error)
    judged = 0
    for (schema, text), js in zip(whole, by_ajv(whole)):
        why = by_jsonschema(schema, json.loads(text, object_pairs_hook=unique))
        if why or js['is_valid'] is False:
            check(not why and (any(d in str(js['why']) for d in differ) or ref_hides(schema)), text[:300], 'jsonschema:', why, 'ajv:', js['why'], json.dumps(schema)[:600])
        judged += js['is_valid'] is True
    print(f'# {len(schemas)} schemas: {len(whole)} texts are whole and {n_cut} are not, {judged} valid by ajv, {len(errors)} answers with an error')
    check(len(whole) >= least_whole * len(schemas), len(whole))


def any_schema(seed):
    maker = Texts(random.Random(seed).randrange(1 << 30))
    schema = {'type': maker.r.choice(['object', 'object', 'array', 'string', 'number'])} if maker.r.random() < .6 else {}
    schema.update(maker.keyword(3) for _ in range(maker.r.randint(1, 4)))
    return schema | {'$defs': {'p': {'type': ['integer', 'string', 'null']}, 'q': {'type': ['object', 'null'], 'properties': {'a': {'$ref': '#/$defs/q'}}}}}


@test
def texts_under_random_schemas_are_valid():
    n = 1000 if FULL else 100
    known = ('nothing matches', 'cannot be negated', 'with `contains`', 'beside `contains`', 'more than', 'too many', 'Properties: is only')
    schemas = []
    for i, got in enumerate(verdicts([{'id': seed, 'schema': any_schema(seed), 'tests': []} for seed in range(2 * n)])):
        check(got['error'] is None or any(k in got['error'] for k in known), got['error'])
        schemas += [any_schema(i)] if got['error'] is None else []
    check(len(schemas) >= n, len(schemas))
    check_texts(schemas[:n], ('too much work',), 1.5)


@test
def texts_under_real_schemas_are_valid():
    path = os.path.join(SHARED, 'vectors/json-schema/maskbench.jsonl')
    if not os.path.exists(path):
        raise Skip('no shared material: set RUNNEL_SHARED')
    with open(path) as lines:
        schemas = [json.loads(x)['schema'] for x in lines][::1 if FULL else 60]
    known = ('uniqueItems: is only', 'back references', 'there is no #/definitions', 'too much work', 'Properties: is only', 'cannot be negated')
    # RFC 3986 allows an empty path behind a scheme; ajv divides doubles.
    check_texts(schemas, known, 1.5, differ=('must match format "uri"', 'must be multiple of 0.'))


if __name__ == '__main__':
    main()
