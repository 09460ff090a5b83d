#!/usr/bin/env python3
"""tests/cli/make_peer_chats.py - writes peer_chats.json: what llama.cpp replies, greedily, in conversations with SmolLM2-135M-Instruct.

Each turn is rendered by `runnel template`, tokenized and answered by llama.cpp; its own reply stands in the next turn's messages.
RUNNEL_PEER names the peer's driver."""
import json
import pathlib
import tempfile

from harness import runnel
from peer_rule import PLAIN, peer

CHATS = [
    ['Hello! Who are you?', 'What can you do for me?', 'Thank you!'],
    ['Name three fruits.', 'Which of them is yellow?'],
    ['Write one sentence about the sea.', 'Now one about mountains.', 'And one about both.'],
    ['What is 2 + 2?', 'And 3 + 3?'],
    ['Say "yes" if you can hear me.', 'Now say "no".'],
    ['Translate "good morning" into French.', 'And into Spanish?'],
]
N = 32


def main():
    model = runnel('info', 'smollm2-135m', '--json').ok().lines[0]['path']
    chats = []
    for questions in CHATS:
        messages, turns = [], []
        for question in questions:
            messages.append({'role': 'user', 'content': question})
            context = json.dumps({'messages': messages, 'add_generation_prompt': True})
            prompt = runnel('template', '-m', 'smollm2-135m', stdin=context.encode()).ok().out
            with tempfile.NamedTemporaryFile() as file:
                file.write(prompt)
                file.flush()
                told = peer('greedy', model, '--file', file.name, '--no-add-special', '--parse-special', '-n', N, '--stop-eog', *PLAIN)
            turns.append({'messages': list(messages), 'prompt_ids': told['prompt_ids'], 'ids': told['ids'],
                          'margins': [round(t[1] - t[3], 4) for t in told['top2']]})
            messages.append({'role': 'assistant', 'content': told['text'].removesuffix('<|im_end|>')})
        chats.append(turns)
    text = ',\n'.join(' [\n' + ',\n'.join('  ' + json.dumps(t) for t in turns) + ']' for turns in chats)
    made_by = 'llama.cpp 0.5.0: greedy, one thread, KV F32, weights not repacked, flash attention off; tests/cli/make_peer_chats.py'
    (pathlib.Path(__file__).parent / 'peer_chats.json').write_text(f'{{"made_by": "{made_by}",\n "chats": [\n{text}\n]}}\n')


main()
