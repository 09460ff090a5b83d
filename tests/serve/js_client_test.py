#!/usr/bin/env python3
"""OpenAI's own JavaScript client against the server: tests/serve/js/client.mjs says what, this script starts the servers."""
import os
import re
import subprocess

from api import chat_model, scripted, serving
from js_talk import CLIENTS, talk
from serving import KEY, ROOT, Folder, Skip, check, main, test


@test
def the_javascript_client_chats_streams_completes_and_sees_ids_and_logprobs():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'client', 'chat')


@test
def the_javascript_client_reads_tool_calls_and_their_streamed_arguments():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        talk(s, 'client', 'tools')


@test
def the_javascript_client_hears_by_name_that_a_schema_cannot_be_kept():
    with Folder() as folder, serving(scripted(folder)) as s:
        talk(s, 'client', 'parse')


@test
def field_3_3_what_the_javascript_client_aborts_is_cancelled():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'client', 'abort')


@test
def field_3_5_the_javascript_client_raises_what_each_refusal_means():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        talk(s, 'client', 'errors', KEY)


@test
def the_javascript_client_tries_again_when_it_was_told_to():
    with Folder() as folder, serving(chat_model(folder), '--key-tokens-per-minute', '6000') as s:
        talk(s, 'client', 'retries')


@test
def the_javascript_client_reads_embeddings_in_either_encoding():
    with Folder() as folder, serving(chat_model(folder)) as s:
        talk(s, 'client', 'embeddings')


@test
def the_javascript_client_reads_responses_and_their_events():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        talk(s, 'client', 'responses')


@test
def the_javascript_client_example_of_the_manual_prints_an_answer():
    block, = re.findall(r'```javascript\n(import OpenAI .*?)```', (ROOT / 'docs/server-api.md').read_text(), re.S)
    if not os.path.isdir(os.path.join(CLIENTS, 'node_modules/openai')):
        raise Skip('the openai package for JavaScript is not here (./dev setup --clients)')
    with Folder() as folder, serving(chat_model(folder)) as s:
        script = block.replace('127.0.0.1:8080', f'127.0.0.1:{s.port}').replace('MODEL', 'm')
        done = subprocess.run(['node', '--input-type=module', '-e', script], capture_output=True, text=True, timeout=60, cwd=CLIENTS)
        check(done.returncode == 0 and done.stdout.strip(), done.stderr)


main()
