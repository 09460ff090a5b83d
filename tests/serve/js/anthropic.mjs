// tests/serve/js/anthropic.mjs URL NAME [KEY] - one conversation of Anthropic's JavaScript client with a server; anthropic_client_test.py starts both.
//
// The package is looked for in $RUNNEL_TEST_NODE (a folder with node_modules). Exit 0: all held; 1: stderr says what did not; 77: no package.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import path from 'node:path';

const [url, name, key = 'none'] = process.argv.slice(2);
let Anthropic;
try {
  Anthropic = createRequire(path.resolve(process.env.RUNNEL_TEST_NODE ?? '.', 'x.js'))('@anthropic-ai/sdk');
} catch (e) {
  console.error(`no @anthropic-ai/sdk package: ${e.code}`);
  process.exit(77);
}
const ask = (more = {}) => new Anthropic({baseURL: url, apiKey: key, maxRetries: 0, ...more});
const client = ask();
const look = {name: 'look', input_schema: {type: 'object', properties: {at: {type: 'string'}}}};
const few = {model: 'm', messages: [{role: 'user', content: 'Once upon a time'}], max_tokens: 8, seed: 1};
const script = (letter, more) => ({model: 'm', messages: [{role: 'user', content: letter}], max_tokens: 40, temperature: 0, ...more});
const plain = (block) => ({...block, id: undefined});

async function running() {
  const page = await fetch(`${url}/slots`);
  return (await page.json()).filter((slot) => slot.is_processing).length;
}

async function until(holds) {
  while (!(await holds())) await new Promise((done) => setTimeout(done, 20));
}

const tests = {
  async talks() {
    const whole = await client.messages.create(few);
    assert.equal(whole.stop_reason, 'max_tokens');
    const stream = client.messages.stream(few);
    let text = '';
    stream.on('text', (piece) => { text += piece; });
    const final = await stream.finalMessage();
    assert.equal(text, whole.content[0].text);
    assert.deepEqual([final.content[0].text, final.usage], [text, whole.usage]);
    const count = await client.messages.countTokens({model: 'm', messages: few.messages});
    assert.equal(count.input_tokens, whole.usage.input_tokens);
    const models = [];
    for await (const model of client.models.list()) models.push(model.id);
    assert.deepEqual(models, ['m']);
    assert.equal((await client.models.retrieve('m')).type, 'model');
  },

  async blocks() {
    for (const letter of ['T', 'R', 'N']) {
      const whole = await client.messages.create(script(letter, {tools: [look]}));
      const final = await client.messages.stream(script(letter, {tools: [look]})).finalMessage();
      assert.deepEqual(JSON.parse(JSON.stringify(final.content.map(plain))), JSON.parse(JSON.stringify(whole.content.map(plain))));
      assert.deepEqual([final.stop_reason, final.usage], [whole.stop_reason, whole.usage]);
    }
    const called = await client.messages.create(script('T', {tools: [look]}));
    assert.deepEqual(called.content.filter((b) => b.type === 'tool_use').map((b) => b.input), [{at: 'the sky'}, {}]);
  },

  async abort() {
    const endless = {...few, max_tokens: 400, max_tokens_per_second: 1, ignore_eos: true};
    for await (const event of await client.messages.create({...endless, stream: true})) if (event.type === 'content_block_delta') break;
    await until(async () => (await running()) === 0);
    await assert.rejects(client.messages.create(endless, {timeout: 300}), Anthropic.APIConnectionTimeoutError);
    await until(async () => (await running()) === 0);
  },

  async errors() {
    const rows = [
      [Anthropic.BadRequestError, 400, 'invalid_request_error', () => client.messages.create({...few, tools: [look], tool_choice: {type: 'any'}})],
      [Anthropic.NotFoundError, 404, 'not_found_error', () => client.messages.create({...few, model: 'x'})],
      [Anthropic.AuthenticationError, 401, 'authentication_error', () => ask({apiKey: 'wrong-key-of-some-length'}).messages.create(few)],
    ];
    for (const [kind, status, type, call] of rows)
      await assert.rejects(call, (e) => {
        assert.ok(e instanceof kind, `${type}: ${e}`);
        assert.deepEqual([e.status, e.error.error.type], [status, type]);
        assert.ok(e.requestID, 'no request id');
        return true;
      });
  },
};

await tests[name]();
process.exit(0);     // connections that are kept alive would hold it
