// tests/serve/js/ollama.mjs URL NAME - one conversation of Ollama's JavaScript client with a server; ollama_client_test.py starts both.
//
// The package is looked for in $RUNNEL_TEST_NODE (a folder with node_modules). Exit 0: all held; 1: stderr says what did not; 77: no package.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import path from 'node:path';

const [url, name] = process.argv.slice(2);
let Ollama;
try {
  ({Ollama} = createRequire(path.resolve(process.env.RUNNEL_TEST_NODE ?? '.', 'x.js'))('ollama'));
} catch (e) {
  console.error(`no ollama package: ${e.code}`);
  process.exit(77);
}
const client = new Ollama({host: url});
const few = {model: 'm', messages: [{role: 'user', content: 'Once upon a time'}], options: {num_predict: 8, seed: 1}};
const look = {type: 'function', function: {name: 'look', description: '', parameters: {type: 'object', properties: {at: {type: 'string'}}}}};
const script = (letter) => ({model: 'm', messages: [{role: 'user', content: letter}], options: {temperature: 0}, tools: [look]});

async function all(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

const tests = {
  async talks() {
    const whole = await client.chat(few);
    assert.deepEqual([whole.done_reason, whole.eval_count], ['length', 8]);
    const told = await all(await client.chat({...few, stream: true}));
    assert.equal(told.map((k) => k.message.content).join(''), whole.message.content);
    assert.equal((await client.generate({model: 'm', prompt: 'Once upon a time', options: few.options})).response, whole.message.content);
    assert.deepEqual((await client.list()).models.map((m) => m.name), ['m']);
    assert.deepEqual((await client.ps()).models.map((m) => m.name), ['m']);
    assert.equal((await client.show({model: 'm'})).capabilities[0], 'completion');
    assert.equal((await client.embed({model: 'm', input: ['a', 'b']})).embeddings.length, 2);
    assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
  },

  async tools() {
    const thought = await client.chat({...script('R'), think: true});
    assert.deepEqual([thought.message.thinking, thought.message.content], ['hm so', 'Yes']);
    const called = await client.chat(script('T'));
    assert.deepEqual(called.message.tool_calls.map((k) => [k.function.name, k.function.arguments]), [['look', {at: 'the sky'}], ['f', {}]]);
    const told = await all(await client.chat({...script('T'), stream: true}));
    assert.deepEqual(told.flatMap((k) => k.message.tool_calls ?? []).map((k) => k.function), called.message.tool_calls.map((k) => k.function));
  },

  async errors() {
    await assert.rejects(client.chat({...few, model: 'x'}), (e) => e.status_code === 404 && e.error.includes('not found'));
    await assert.rejects(client.chat({...few, format: {type: 5}}), (e) => e.status_code === 400 && e.error.startsWith('format: '));
    const stream = await client.chat({...few, stream: true, options: {num_predict: 400, max_tokens_per_second: 1, ignore_eos: true}});
    await assert.rejects(async () => { for await (const _ of stream) stream.abort(); }, {name: 'AbortError'});
    while ((await (await fetch(`${url}/slots`)).json()).some((slot) => slot.is_processing)) await new Promise((done) => setTimeout(done, 20));
  },
};

await tests[name]();
process.exit(0);
