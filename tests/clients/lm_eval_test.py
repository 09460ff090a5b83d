#!/usr/bin/env python3
"""lm-eval against `runnel serve`: a task of choices by their log-probabilities, and one of generated texts, each with three questions of its own.

Nothing is fetched: the tasks are files, and token ids come from the server (/tokenizer_info, /tokenize). `./dev setup --clients` installs it.
"""
import json
import os
import subprocess

from talk import CLIENTS, KEY, Folder, Skip, check, environment_of, equal, main, post, server, test
from serving import MODEL, Server

PROGRAM = CLIENTS / 'frameworks/bin/lm_eval'
ROWS = [{'q': 'Once upon a', 'choices': [' time', ' zebra stone'], 'gold': 0},
        {'q': 'The cat and the dog were', 'choices': [' xylophone quantum', ' happy'], 'gold': 1},
        {'q': 'She said', 'choices': [' hello', ' oblique'], 'gold': 0}]
CHOICES = '''task: choices
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: "{{choices}}"
doc_to_target: gold
target_delimiter: ""
metric_list: [{metric: acc}]
'''
TEXTS = '''task: texts
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/texts.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
generation_kwargs: {until: ["here"], max_gen_toks: 20}
metric_list: [{metric: exact_match}]
'''


def evaluate(folder, task, model, path, port, *more):
    """What lm-eval found: (its figures, the samples)."""
    if not os.access(PROGRAM, os.X_OK):
        raise Skip('lm-eval is not here (./dev setup --clients)')
    tasks = folder / 'tasks'
    tasks.mkdir(exist_ok=True)
    for name, text in (('choices', CHOICES), ('texts', TEXTS)):
        (tasks / f'{name}.yaml').write_text(text.replace('FOLDER', str(folder)))
    (folder / 'rows.jsonl').write_text(''.join(json.dumps(row) + '\n' for row in ROWS))
    (folder / 'texts.jsonl').write_text(''.join(json.dumps(row) + '\n' for row in [
        {'q': 'N', 'a': 'Yes!'}, {'q': 'P', 'a': 'A poem of eight pieces is said '}, {'q': 'wrong N', 'a': 'No!'}]))
    # settings
    command = ['lm_eval', '--model', model, '--model_args', f'model=m,base_url=http://127.0.0.1:{port}{path},max_retries=1,auth_token={KEY}']
    # end
    command = [PROGRAM, *command[1:], '--tasks', task, '--include_path', tasks, '--output_path', folder / 'out', '--log_samples', *more]
    env = {**environment_of(folder), 'OPENAI_API_KEY': KEY, 'HF_DATASETS_OFFLINE': '1', 'HF_HOME': str(folder / 'hf')}
    done = subprocess.run(list(map(str, command)), env=env, cwd=folder, capture_output=True, text=True, timeout=200)
    check(done.returncode == 0, done.stderr[-2500:])
    found, = (folder / 'out').rglob('results_*.json')
    samples, = (folder / 'out').rglob('samples_*.jsonl')
    return json.loads(found.read_text())['results'][task], [json.loads(line) for line in samples.read_text().splitlines()]


@test
def lm_eval_scores_choices_by_the_logprobs_of_completions():
    with Folder() as folder, Server('-m', f'm={MODEL}', '-t', '1', '--api-key', KEY, program=True) as s:
        figures, samples = evaluate(folder, 'choices', 'local-completions', '/v1/completions', s.port)
        for sample, row in zip(sorted(samples, key=lambda x: x['doc_id']), ROWS, strict=True):
            for (got, _), choice in zip(sample['filtered_resps'], row['choices'], strict=True):
                ids = post(s, '/tokenize', content=row['q'] + choice)['tokens']     # as lm-eval has them: without <s>
                p = post(s, '/v1/completions', prompt=ids, echo=True, logprobs=1, max_tokens=0)['choices'][0]['logprobs']
                want = sum(x for x, at in zip(p['token_logprobs'], p['text_offset'], strict=True) if at >= len(row['q']))
                check(abs(float(got) - want) < 1e-3, row['q'], choice, got, want)
        equal(figures['acc,none'], 1.0)


@test
def lm_eval_takes_generated_texts_of_completions_and_of_chats():
    for model, path, more in (('local-completions', '/v1/completions', ()),
                              ('local-chat-completions', '/v1/chat/completions', ('--apply_chat_template',))):
        with Folder() as folder, server(folder) as s:
            figures, samples = evaluate(folder, 'texts', model, path, s.port, *more)
            texts = [x['resps'][0][0] for x in sorted(samples, key=lambda x: x['doc_id'])]
            equal(texts, ['Yes!', 'A poem of eight pieces is said ', 'Yes!'], model)
            check(abs(figures['exact_match,none'] - 2 / 3) < 1e-9, figures)


main()
