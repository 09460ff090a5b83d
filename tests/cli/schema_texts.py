"""tests/cli/schema_texts.py - schemas for texts that a model writes, and Python's jsonschema as their judge."""
from random_schemas import Maker

# Tokens of the default model's vocabulary, and logits: what ends strings, objects and arrays, and commas.
ENDS = {'37': 3, '96': 6, '128': 6, '4062': 3, '4061': -2, '3893': -2}
# Formats of which ajv and jsonschema know just what the standards say.
FORMATS = ['date', 'date-time', 'uuid', 'ipv4', 'ipv6']


class Texts(Maker):
    """Schemas whose texts come to an end by themselves more often."""

    def schema(self, depth):
        r = self.r
        kind = r.random()
        if kind < .1:
            return {'type': 'string', 'format': r.choice(FORMATS)}
        if kind < .2:
            return {'type': 'string', 'pattern': r.choice(['^[a-f]{2,5}$', '^(yes|no)!?$', '^\\d{3}-\\d{4}$', '^[^"\\\\]{0,6}$']), 'maxLength': 9}
        if kind < .3:
            return {'type': 'integer', 'minimum': r.randint(-50, 0), 'maximum': r.randint(1, 500)}
        return super().schema(depth)


def unique(pairs):
    """An object of a text. A name that is not declared may stand twice: the last value counts."""
    return dict(pairs)


def by_jsonschema(schema, value):
    """None: valid, or it is not known; else why it is not."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    judge = validator_for(schema, default=Draft202012Validator)
    try:
        errors = judge(schema, format_checker=judge.FORMAT_CHECKER).iter_errors(value)
        error = next((e for e in errors if not is_pythons_own(e)), None)
    except Exception:       # references to other documents, expressions that Python's re does not read
        return None
    return error and f'{error.message} at {list(error.schema_path)}'


def is_pythons_own(error):
    """Python's $ also matches before the last line's end, its dates have no year 0, and 3.33 / 0.01 is no whole number."""
    text = str(error.instance)
    return (error.validator in ('pattern', 'not', 'oneOf') and '\n' in text or error.validator == 'format' and text.startswith('0000-') or
            error.validator == 'multipleOf' and isinstance(error.validator_value, float))
