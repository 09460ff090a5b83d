// tests/web/modules.mjs - syntax, event streams at every cut, trees, search, settings, metrics, colours of tokens.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import './mcp_client.mjs';
import {folder, load} from './modules_folder.mjs';
import {assert, run, test} from './rig.mjs';

const {EventReader} = await load('sse.js'), {Tree, ROOT} = await load('tree.js'), {fold, matchAt, snippet, words} = await load('search.js');
const {effective, messagesOf, plainText, requestOf, withDefaults} = await load('settings_model.js'), {commonLength, partingWords} = await load('parting.js'), {Answer, emptyData} = await load('answer.js');
const {blocksOf} = await load('markdown_syntax.js'), {piecesOf} = await load('fences.js'), {linesOf} = await load('code.js');
const {readMetrics} = await load('server_view.js'), {steps} = await load('tokens.js'), {figureWords, gapSummary} = await load('figures.js');

function read(pieces) {
  const events = [], comments = [], reader = new EventReader(e => events.push(e), c => comments.push(c));
  pieces.forEach(p => reader.push(p));
  return {events, comments};
}

test(function every_module_is_javascript() {
  const names = fs.readdirSync(folder).filter(n => n.endsWith('.js'));
  assert.ok(names.length > 20);
  for (const name of names) assert.equal(spawnSync(process.execPath, ['--check', path.join(folder, name)], {encoding: 'utf8'}).stderr, '', name);
});

// What modules give to t(): the texts before the values.
function wordsOf(source) {
  const found = [];
  for (const {index, 0: call} of source.matchAll(/(?<![\w.$])t\(/g)) {
    for (let i = index + call.length; i < source.length && source[i] !== '{' && source[i] !== ')'; i++) {
      if (source[i] !== "'") continue;
      const text = /^'((?:[^'\\]|\\.)*)'/.exec(source.slice(i));
      found.push(text[1].replace(/\\(.)/g, '$1'));
      i += text[0].length - 1;
    }
  }
  return found;
}

test(async function every_language_has_every_text_of_the_interface_with_its_values() {
  const used = new Set(fs.readdirSync(folder).filter(n => n.endsWith('.js') && n !== 'words.js').flatMap(n => wordsOf(fs.readFileSync(path.join(folder, n), 'utf8'))));
  assert.ok(used.size > 200);
  const {languages, t} = await load('words.js');
  for (const code of Object.keys(languages).filter(c => c !== 'en')) {
    const table = (await load(`words/${code}.js`)).default, values = text => [...text.matchAll(/\{\w+\}/g)].map(m => m[0]).sort();
    assert.deepEqual(Object.keys(table).sort(), [...used].sort(), code);
    for (const [text, own] of Object.entries(table)) assert.deepEqual([values(own), own.trim() === own && own !== ''], [values(text), true], `${code} ${text}`);
  }
  assert.equal(t('{n} of {x} {y}', {n: 1, x: '{n}'}), '1 of {n} {y}');
});

test(function an_event_stream_is_read_the_same_however_it_is_cut() {
  for (const end of ['\n', '\r\n', '\r']) {
    const stream = ['\uFEFF: ping prefill 3/9', 'id: s.1', 'data: {"a": 1}', '', 'data:two', 'data: lines', 'event: odd', '', ':', 'unknown: x', 'id: s.\0', 'data', '', 'id: s.2', '',
      'data: : colon', '', 'data: cut off'].join(end);
    const want = {events: [{data: '{"a": 1}', name: 'message', id: 's.1'}, {data: 'two\nlines', name: 'odd', id: 's.1'}, {data: '', name: 'message', id: 's.1'}, {data: ': colon', name: 'message', id: 's.2'}],
      comments: ['ping prefill 3/9', '']};
    assert.deepEqual(read([stream]), want);
    assert.deepEqual(read([...stream]), want);
    for (let a = 0; a <= stream.length; a++)
      for (let b = a; b <= stream.length; b += 7) assert.deepEqual(read([stream.slice(0, a), stream.slice(a, b), stream.slice(b)]), want, `${a} ${b}`);
  }
});

test(function a_tree_shows_the_newest_version_until_another_is_chosen() {
  const tree = new Tree([{id: 'u', parent: ROOT, created: 1}, {id: 'a', parent: 'u', created: 2}, {id: 'b', parent: 'u', created: 3}, {id: 'c', parent: 'a', created: 4}]);
  const shown = () => tree.path().map(m => m.id).join('');
  assert.equal(shown(), 'ub');
  tree.select('a');
  assert.equal(shown(), 'uac');
  assert.equal(tree.step('a', 1).id, 'b');
  assert.equal(tree.step('a', -1).id, 'b');
  assert.deepEqual(tree.above('c').map(m => m.id), ['u', 'a']);
  tree.add({id: 'd', parent: 'u', created: 2.5});
  assert.deepEqual(tree.siblings('b').map(m => m.id), ['a', 'd', 'b']);
  assert.deepEqual(tree.remove('a'), ['a', 'c']);
  assert.equal(shown(), 'ub');
  tree.add({id: 'b', parent: 'u', created: 3, again: true});
  assert.equal(tree.siblings('d').length, 2);
  assert.equal(tree.get('b').again, true);
});

test(function a_search_finds_words_whatever_their_case_and_accents_and_cuts_around_them() {
  const text = 'It was a dark and stormy night; Crème BRÛLÉE was served to the last guest of the long evening.';
  const list = words('brulee  DARK');
  const at = matchAt(fold(text), list);
  assert.equal(text.slice(at, at + 4), 'dark');
  assert.equal(matchAt(fold(text), words('dark light')), -1);
  assert.deepEqual(snippet(text, at, list).filter(([, hit]) => hit).map(([t]) => t), ['dark', 'BRÛLÉE']);
  for (let i = 0; i < text.length; i++) assert.equal(snippet(text, i, []).map(([t]) => t).join('').replace(/^… | …$/g, '').length <= 120, true);
  for (const odd of ['ŉ İ ß ﬁ', '😀 ok', '\u0000', 'a'.repeat(5000)]) assert.equal(fold(odd).length, odd.normalize('NFC').length, odd);
});

test(function settings_become_exactly_the_members_that_were_set() {
  const s = withDefaults({alternatives: -1, truncate: 'none'});
  assert.deepEqual(requestOf(s), {token_times: true});
  assert.deepEqual(requestOf(withDefaults({alternatives: -1})), {truncate: 'old', token_times: true});
  const all = requestOf(withDefaults({model: 'm', preset: 'p', values: {temp: 0}, seed: '0', stop: ['x'], max_tokens: '9', tools: '[1]', variables: '{"a": 1}', truncate: 'middle', alternatives: 3}));
  assert.deepEqual(all, {temp: 0, model: 'm', preset: 'p', seed: 0, stop: ['x'], max_tokens: 9, truncate: 'middle', tools: [1], chat_template_kwargs: {a: 1}, logprobs: 3, with_pieces: true, token_times: true});
  assert.throws(() => requestOf(withDefaults({tools: '{}'})), /Tools: an array is due/);
  assert.throws(() => requestOf(withDefaults({variables: '['})), /not JSON/);
  assert.deepEqual(withDefaults({stop: 5, values: {temp: 'x', top_k: 3}, tools: [], seed: 7, model: null}), withDefaults({values: {top_k: 3}}));
  const field = {name: 'temp', default: 1}, presets = [{name: 'p', values: {temp: 2}}];
  assert.deepEqual([effective(s, field, presets), effective({...s, preset: 'p'}, field, presets), effective({...s, preset: 'p', values: {temp: 3}}, field, presets)], [1, 2, 3]);
  const strategies = [{name: 'hot', members: {temp: 4, top_k: 5}}], hot = withDefaults({strategy: 'hot', values: {top_k: 6}, alternatives: -1, truncate: 'none'});
  assert.deepEqual([effective(hot, field, presets, strategies), effective(hot, {name: 'top_k', default: 1}, presets, strategies), effective(hot, field, presets)], [4, 6, 1]);
  assert.deepEqual(requestOf(hot, strategies), {temp: 4, top_k: 6, token_times: true});
  assert.deepEqual(requestOf(withDefaults({strategy: 'unknown'}), strategies).temp, undefined);
});

const texOf = (text, mayGrow = false) => {
  const list = [], walk = tokens => tokens?.forEach(t => { if (/^tex(?:Block)?$/.test(t.type)) list.push(`${t.isOpen ? 'open ' : t.isDisplay ? 'block ' : ''}${t.tex}`); else walk(t.items || t.tokens); });
  walk(blocksOf(text, mayGrow));
  return list;
};
test(function dollars_and_backslashes_are_formulas_where_they_are_meant() {
  for (const [text, ...want] of [
    ['$x$', 'x'], ['so $x_1$, $y$.', 'x_1', 'y'], ['$y = mx + b$', 'y = mx + b'], ['$f(x) = sin x$', 'f(x) = sin x'], ['($a$)', 'a'], ['$\\text{for all } x$', '\\text{for all } x'],
    ['costs $5 and $10'], ['$5 or 6$ more'], ['US$5 and A$6'], ['$20,000-$30,000'], ['$ x $'], ['$x $'], ['a$b$c'], ['$HOME and $PATH'], ['$5 million and you owe me 7$ today'],
    ['`$x$`'], ['$A, `$B`'], ['\\$x\\$'], ['$$'], ['$x\ny$'], ['$x'],
    ['\\(x\\)', 'x'], ['\\(a \\\\) b\\)', 'a \\\\) b'], ['\\(x'], ['press \\[Enter\\] now'], ['so \\[x^2\\] is', 'block x^2'], ['$$x$$', 'block x'], ['so $$x$$ is', 'block x'],
    ['\\[\n- a\n= b\n\\]', 'block - a\n= b'], ['\\[ a \\\\[2pt] b \\]', 'block a \\\\[2pt] b'], ['a\n$$\nx\n$$\nb', 'block x'], ['- one\n  $$x$$\n- $y$', 'block x', 'y'], ['> \\[x\\]', 'block x'],
    ['\\begin{align*}a &= b\\\\ c &= d\\end{align*}', 'block \\begin{align*}a &= b\\\\ c &= d\\end{align*}'], ['\\begin{document}x\\end{document}'], [`$${'x'.repeat(5001)}$`],
    ['```\n$x$ $$y$$\n```'], ['    $x$'],
  ]) assert.deepEqual(texOf(text), want, text);
  assert.deepEqual([texOf('$$\nx', true), texOf('\\[\nx\n= y', true), texOf('$$\nx'), texOf('- $$\n  x', true)], [['open $$\nx'], ['open \\[\nx\n= y'], [], []]);
  for (const odd of ['$'.repeat(20000), '\\('.repeat(10000), '\\[x'.repeat(5000), '\\begin{align}'.repeat(300), '[^a]: x\n'.repeat(2000), '[^'.repeat(8000)]) blocksOf(odd, true);
});

test(function what_a_user_fences_is_code() {
  for (const [text, want] of [['a\nb', [{text: 'a\nb'}]], ['\n a ', [{text: '\n a '}]], ['```js\nx\n\ny\n```', [{text: 'x\n\ny', language: 'js'}]],
    ['a\n\n~~~~ c++ {.x}\n```\n~~~\n~~~~\n\nb', [{text: 'a'}, {text: '```\n~~~', language: 'c++'}, {text: 'b'}]], ['``` `x`\nb', [{text: '``` `x`\nb'}]], ['```\nopen', [{text: 'open', language: ''}]], ['```\n```', []]])
    assert.deepEqual(piecesOf(text), want, text);
});

test(function coloured_code_is_cut_into_lines_that_stand_alone() {
  assert.deepEqual(linesOf('a<span class="x">b\n<span class="y">c\n</span>d</span>\n'), ['a<span class="x">b\n</span>', '<span class="x"><span class="y">c\n</span></span>', '<span class="x"><span class="y"></span>d</span>\n']);
  assert.deepEqual(linesOf(''), ['']);
});

test(function texts_part_between_whole_characters() {
  for (const [a, b, n] of [['', '', 0], ['abc', 'abd', 2], ['abc', 'abc', 3], ['abc', 'ab', 2], ['x\u{1F600}', 'x\u{1F601}', 1], ['\u{1F600}!', '\u{1F600}?', 2]]) assert.equal(commonLength(a, b), n, `${a} ${b}`);
  assert.equal(partingWords({common: 1, isSame: false}), 'Goes on otherwise than column 1 after 1 character.');
  assert.equal(partingWords({common: 5, isSame: true}), 'The same text as in column 1.');
  assert.equal(partingWords(null), '');
});

test(function a_conversation_is_sent_as_it_was_said() {
  const said = [{role: 'user', content: 'a'}, {role: 'assistant', content: '', reasoning: 'hm', calls: [{id: '1', name: 'f', arguments: '{}'}]}, {role: 'tool', content: 'r', callId: '1', name: 'f'}];
  assert.deepEqual(messagesOf(' ', said), [{role: 'user', content: 'a'},
    {role: 'assistant', content: '', reasoning_content: 'hm', tool_calls: [{id: '1', type: 'function', function: {name: 'f', arguments: '{}'}}]}, {role: 'tool', content: 'r', tool_call_id: '1', name: 'f'}]);
  const answer = (content, more) => ({role: 'assistant', content, ...more}), [a, b] = ['a', 'b'].map(content => ({role: 'user', content}));
  for (const left of [answer('half', {state: 'failed'}), answer(' ', {state: 'done'}), answer('', {state: 'stopped', reasoning: 'hm'})]) {
    assert.deepEqual(messagesOf('', [a, left, b]), [{role: 'user', content: 'a\n\nb'}]);
    assert.equal(plainText('', [a, left, b]), 'ab');
  }
  assert.equal(messagesOf('', [a, answer('half', {state: 'stopped'}), b]).length, 3);
  assert.equal(messagesOf('sys', []).length, 1);
  assert.equal(plainText('', said.slice(0, 1)), 'a');
});

test(function an_answer_that_is_cut_goes_back_to_its_last_whole_text() {
  const m = {id: 'abcdef', content: ''}, d = emptyData(), a = new Answer(m, d, 0);
  const chunk = (text, tokens, more = {}) => ({text, deltas: text ? [{channel: 'content', text}] : [], tokens, ...more});
  a.add(chunk('Hi', [1]), 10);
  a.add(chunk('', [2]), 20);
  a.add(chunk('', [3]), 40);
  assert.deepEqual([d.tokens, d.gaps, d.places], [[1, 2, 3], [10, 20], [[2, 0], [2, 0], [2, 0]]]);
  a.cutToSafe();
  assert.deepEqual([m.content, d.tokens, d.places], ['Hi', [1], [[2, 0]]]);
  a.add(chunk('', [2]), 50);
  a.add(chunk('\uFFFD', [], {finish_reason: 'length', timing: {decode_ms: 10}, usage: {}}), 60);
  a.cutToSafe();
  assert.deepEqual([m.content, d.tokens], ['Hi', [1]]);
});

test(function answers_of_a_search_are_kept_and_its_speed_counts_from_the_prompts_end() {
  const timing = {queue_ms: 5, prefill_ms: 15, first_token_ms: 120, decode_ms: 0}, chunk = {text: 'ab', tokens: [1, 2, 3], finish_reason: 'length', usage: {}, timing};
  const add = more => { const m = {id: 'a', content: ''}, a = new Answer(m, emptyData()); a.add({...chunk, ...more}); return [m, a.figures()]; };
  const sequences = [{text: 'ab', score: -1, logprob: -3, tokens: [1, 2, 3], finish_reason: 'length'}, {text: 'c', score: -2, logprob: -4, tokens: [4], finish_reason: 'stop'}];
  const [m, figures] = add({sequences});
  assert.deepEqual(m.sequences, [{text: 'ab', score: -1}, {text: 'c', score: -2}]);
  assert.equal(figures.rate, 2 / 100 * 1000);
  const [one, others] = add({sequences: sequences.slice(0, 1)});
  assert.deepEqual([one.sequences, others.rate], [undefined, null]);
});

test(function guessed_tokens_are_marked_and_counted() {
  const m = {id: 'a', content: ''}, a = new Answer(m, emptyData());
  const token = id => ({id, logprob: 0, top: []}), chunk = (ids, more) => ({text: 'x', tokens: ids, logprobs: ids.map(token), ...more});
  a.add(chunk([1, 2, 3], {drafted: [0, 2]}));
  a.add(chunk([4]));
  a.add(chunk([5, 6], {drafted: [1], finish_reason: 'stop', timing: {decode_ms: 10}, usage: {}, speculation: {drafted: 8, accepted: 3, rows_per_token: 1.833, speed_up: 1.456}}));
  assert.deepEqual(a.data.data.map(t => Boolean(t.drafted)), [true, false, true, false, false, true]);
  assert.ok(figureWords(a.figures()).includes('3 of 8 guesses right, 1.83 rows a token, 1.46 times as fast'));
  a.add({text: '', tokens: [], finish_reason: 'stop', timing: {decode_ms: 10}, usage: {}, speculation: {drafted: 0, accepted: 0, by_depth: [], rows_per_token: 1}});
  assert.deepEqual(figureWords(a.figures()).filter(w => /guess|rows/.test(w)), []);
});

test(function what_was_held_back_for_a_tag_comes_out_when_the_answer_is_cut() {
  const plain = {id: 'a', content: 'so '}, a = new Answer(plain, {...emptyData(), tokens: [9]});
  a.add({text: 'it ', deltas: [{channel: 'content', text: 'it'}], tokens: [1]});
  a.add({text: 'is ', deltas: [{channel: 'content', text: ' is'}], tokens: [2]});
  a.cutToSafe();
  assert.deepEqual([plain.content, a.data.tokens], ['so it is ', [9, 1, 2]]);
  const thinks = {id: 'b', content: ''}, b = new Answer(thinks, emptyData());
  b.add({text: '<think>hm', deltas: [{channel: 'reasoning', text: 'hm'}], tokens: [1, 2]});
  b.add({text: ' so ', deltas: [{channel: 'reasoning', text: ' so'}], tokens: [3]});
  b.cutToSafe();
  assert.deepEqual([thinks.reasoning, b.data.tokens], ['hm', [1, 2]]);
});

test(function thoughts_and_calls_are_gathered_apart() {
  const m = {id: 'abcdef', content: ''}, a = new Answer(m, emptyData());
  const deltas = [{channel: 'reasoning', text: 'h'}, {channel: 'reasoning', text: 'm'}, {channel: 'content', text: 'Yes'}, {channel: 'tool_call', tool: 0, name: 'f', text: ''},
    {channel: 'tool_call', tool: 0, text: '{"a"'}, {channel: 'tool_call', tool: 0, text: ': 1}'}, {channel: 'tool_call', tool: 1, name: 'g', id: 'x', text: '{}'}];
  for (const d of deltas) a.add({text: d.text, deltas: [d], tokens: [1]});
  assert.deepEqual([m.reasoning, m.content, m.calls], ['hm', 'Yes', [{id: 'call_abcdef_0', name: 'f', arguments: '{"a": 1}'}, {id: 'x', name: 'g', arguments: '{}'}]]);
});

test(function metrics_are_read_in_every_form() {
  const found = readMetrics('# HELP a b\n# TYPE a counter\na{m="x y",le="+Inf"} 3\na{m="z"} 4.5\nb 1e3\n\nodd line\n');
  assert.deepEqual(found, {a: [{labels: 'm="x y",le="+Inf"', value: 3}, {labels: 'm="z"', value: 4.5}], b: [{labels: '', value: 1000}]});
});

test(function colours_rise_with_probability_and_fall_with_surprisal() {
  assert.deepEqual([0, 0.05, 0.95, 1].map(p => steps.probability(Math.log(p))), [0, 0, 9, 9]);
  assert.deepEqual([0, -0.5, -1.5, -100, -Infinity].map(bits => steps.surprisal(bits * Math.LN2)), [9, 9, 8, 0, 0]);
});

test(function figures_say_what_is_known_and_nothing_else() {
  assert.deepEqual(figureWords({tokens: 0, first: 0, rate: null, waiting: 2500, prompt: null, cached: null}), ['waiting for 3 s']);
  assert.deepEqual(figureWords({tokens: 1, first: 12.34, rate: null, waiting: 0, prompt: 5, cached: 4}), ['1 token', 'first after 12.3 ms', 'prompt 5, 4 cached']);
  assert.equal(gapSummary([1, 2, 3, 100]), '4 gaps: half below 3.0 ms, 99 % below 100 ms, longest 100 ms');
});

await run();
