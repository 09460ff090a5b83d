#!/usr/bin/env python3
"""Every member of every request: the table of tests/serve/request_fields.py is complete, and the server does what it says."""
import json
import os
import random
import re

from api import chat_model, error_of, serving, with_holes
from rank_model import reranker
from request_fields import CONTROLS, REFUSED, ROUTES, SOCKET
from serving import ROOT, Folder, check, equal, main, test

PAGE = (ROOT / 'docs/server-api.md').read_text()
DIALECTS = [(ROOT / f'docs/{name}.md').read_text() for name in ('anthropic-api', 'ollama-api')]       # their members: the first cells of `## Requests`
# What stands in the page's prose between backticks and is no member of a request: members of answers, values, error codes, programs.
NO_MEMBERS = set('''
    begun cancelled choices chunk code completion_probabilities data decoded_token deltas document drafted dropped end error finish_detail finish_reason
    generation_settings index input_tokens logprob n_ctx n_evaluated message n_prompt n_prompt_tokens param position progress prompt_token_ids reasoning_content
    relevance_score results runnel score sequences state stop_type stopping_word timings token_id token_ids tokens_evaluated tokens_predicted usage
    after auto base64 base_url bytes cancel compact custom drop-oldest dumps free json_object eos first float function_call function_call_output generate high last length limit low mcp mean
    middle model_provider namespace none normal old order park prefill queued rank replace_from replace_text_from separate tags required web_search word
    response.completed response.created response.failed response.function_call_arguments.delta response.incomplete response.output_item.added
    response.output_text.delta response.reasoning_text.delta published psm spm myproject tmp truncated'''.split())
NO_MEMBERS |= set(re.findall(r'= \{\d+, .*"(\w+)"\},', (ROOT / 'src/serve/api/api_error.c').read_text()))      # codes of errors
OPTIONS = {'num_predict', 'num_ctx'}         # members of Ollama's `options`
INSIDE = {'include_usage', 'text', 'filename', 'schema', 'strict', 'json', 'choice', 'json_object', 'format', 'structures', 'triggers', 'disable_any_whitespace', 'whitespace_pattern'}       # members of members, and a name for several


def known():
    names = {name for route in ROUTES.values() for name in route.fields} | {name for rows in REFUSED.values() for name in rows}
    return names | set(SOCKET) | {name for rows in CONTROLS.values() for name in rows} | INSIDE


def documented():
    """Words between backticks, of a dotted one the first; not paths, headers, options, commands and files."""
    prose = re.sub(r'```.*?```', '', PAGE, flags=re.S)
    for page in DIALECTS:
        prose += '\n'.join(re.findall(r'^\| (`.*?) \|', re.search(r'^## Requests$(.*?)(?=^## |\Z)', page, re.M | re.S)[1], re.M))
    words = {re.split(r'[\[*:]', text)[0] for text in re.findall(r'`([^`]+)`', prose)}
    words = {w for w in words if re.fullmatch(r'[a-z][a-z0-9_.-]*', w) and not w.startswith(('x-', 'api_', 'js_')) and not w.endswith('.py')}
    return {w if w in NO_MEMBERS else w.split('.')[0] for w in words}


@test
def the_table_names_every_member_that_the_page_documents():
    words = documented()
    check(len(words) > 100, words)
    equal(sorted(words - known() - NO_MEMBERS - OPTIONS), [])
    equal(sorted(NO_MEMBERS - words), [], 'no longer on the page')


@test
def the_table_and_the_page_name_every_member_that_the_server_reads():
    source = ''.join(p.read_text() for p in sorted((ROOT / 'src/serve').rglob('*.c')) + [ROOT / 'src/app/generation_members.c'])
    sampling = (ROOT / 'src/sampling/params.c').read_text() + (ROOT / 'src/decoding/strategy_options.c').read_text()
    read = set(re.findall(r'\{"([a-z_]+)", MEMBER_', source)) | set(re.findall(r'\{FIELD\((\w+)\)', sampling))
    read |= set(re.findall(r'^    \{"(\w+)", "\w+"\},$', (ROOT / 'src/serve/api/api_generation.c').read_text(), re.M))     # other names
    read -= {'output'}       # of an answer that was stored
    check(len(read) > 60, read)
    equal(sorted(read - known() - OPTIONS), [])
    equal(sorted(read - OPTIONS - documented() - set(re.findall(r'"(\w+)":', PAGE))), [])     # also in an example


def post(server, path, body):
    return server.post(path, json.dumps(body))


def wrong_answer(server, path, body, name, is_good):
    """What is wrong about the answer to a body with one value of this member; None: nothing."""
    answer = post(server, path, body)
    if is_good:
        return None if answer.status == 200 and b'"error": {' not in answer.body and b'"error":{' not in answer.body else answer.body[:200]
    if answer.status != 400:
        return f'{answer.status}'
    error = error_of(answer.json)
    return None if name in f'{error["param"]} {error["message"]}' else f'it is not named: {error}'


def values_of(path):
    """(name, value, body, is it good) of each field's values alone, beside the least that the route wants."""
    least, fields = ROUTES[path]
    for name, field in fields.items():
        for values, is_good in ((field.good, True), (field.bad, False)):
            for value in values:
                yield name, value, {**least, **field.needs, name: value}, is_good


@test
def each_member_takes_its_values_and_refuses_others_by_name():
    wrong, seen, n = [], set(), 0
    with Folder() as folder, Folder() as other, serving(
            model := chat_model(folder), '--draft', model, '-m', f'r={reranker(other)}', '-m', f'h={with_holes(other)}', '-c', '256', '--queue', '64') as s:
        for path in ROUTES:
            for name, value, body, is_good in values_of(path):
                # What routes share is tried on one of them; with --full on each.
                key = name, repr(value), is_good
                if key in seen and not os.environ.get('RUNNEL_TEST_FULL'):
                    continue
                seen.add(key)
                n += 1
                if path == '/v1/runnel/generate' and name == 'messages':
                    del body['prompt']
                found = wrong_answer(s, path, body, name, is_good)
                if found:
                    wrong.append(f'{path} {name}={str(value)[:80]!r} {"" if is_good else "(bad) "}: {found}')
    check(n > 700, n)
    check(not wrong, f'{len(wrong)}:', '\n'.join(wrong))


@test
def members_that_are_not_honoured_are_refused_by_name():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, rows in REFUSED.items():
            for name, value in rows.items():
                answer = post(s, path, {**ROUTES[path].least, name: value})
                error = error_of(answer.json)
                equal((answer.status, error['code'] or 'unsupported_parameter'), (400, 'unsupported_parameter'), answer.body)
                equal(error['param'] or error['message'].split(':')[0], name, path)


main()
