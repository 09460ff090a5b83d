"""tests/serve/openapi_hooks.py - what tests/serve/openapi_test.py adds to schemathesis (its setting `hooks`)."""
import json

import jsonschema
import schemathesis


@schemathesis.check
def every_line_fits(ctx, response, case):
    """Ollama's streams: schemathesis knows the form of events, and not of lines."""
    if not response.headers.get('content-type', [''])[0].startswith('application/x-ndjson'):
        return
    answer = case.operation.schema.raw_schema['paths'][case.operation.path][case.operation.method]['responses'][str(response.status_code)]
    fits = jsonschema.Draft202012Validator(answer['content']['application/x-ndjson']['schema']).is_valid
    lines = response.content.decode().splitlines()
    assert lines, 'a stream without lines'
    for line in lines:
        assert fits(json.loads(line)), line


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """A rate is obeyed: at a millionth of a token each second the answer would come after the test."""
    for members in (case.body, case.body.get('options')) if isinstance(case.body, dict) else ():
        rate = members.get('max_tokens_per_second') if isinstance(members, dict) else None
        if isinstance(rate, (int, float)) and 0 < rate < 100:
            members['max_tokens_per_second'] = 100
