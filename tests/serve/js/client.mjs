// tests/serve/js/client.mjs URL NAME - one conversation of OpenAI's JavaScript client with a server; tests/serve/js_client_test.py starts both.
//
// The package is looked for in $RUNNEL_TEST_NODE (a folder with node_modules). Exit 0: all held; 1: stderr says what did not; 77: no package.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import path from 'node:path';

const [url, name, key = 'none'] = process.argv.slice(2);
let OpenAI;
try {
  const inFolder = createRequire(path.resolve(process.env.RUNNEL_TEST_NODE ?? '.', 'x.js'));
  OpenAI = inFolder('openai');
} catch (e) {
  console.error(`no openai package: ${e.code}`);
  process.exit(77);
}
const ask = (more = {}) => new OpenAI({baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, ...more});
const client = ask();
const story = [{role: 'user', content: 'Once upon a time'}];
const look = {type: 'function', function: {name: 'look', parameters: {type: 'object'}}};
const script = (letter, more) => ({model: 'm', messages: [{role: 'user', content: letter}], temperature: 0, ...more});
const few = {model: 'm', messages: story, max_completion_tokens: 8, seed: 1};

async function all(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

async function until(holds) {
  while (!(await holds())) await new Promise((done) => setTimeout(done, 20));
}

async function running() {
  const page = await fetch(`${url}/slots`, {headers: {Authorization: `Bearer ${key}`}});
  return (await page.json()).filter((slot) => slot.is_processing).length;
}

const tests = {
  async chat() {
    assert.deepEqual((await all(client.models.list())).map((m) => m.id), ['m']);
    const whole = await client.chat.completions.create({...few, n: 2, logprobs: true, top_logprobs: 1});
    const want = whole.choices[0].message.content;
    assert.equal(whole.choices[0].finish_reason, 'length');
    assert.equal(whole.choices[0].logprobs.content.map((t) => t.token).join(''), want);
    const told = await all(await client.chat.completions.create({...few, stream: true, stream_options: {include_usage: true}}));
    assert.equal(told.map((k) => k.choices[0]?.delta.content ?? '').join(''), want);
    assert.equal(told.at(-1).usage.completion_tokens, 8);
    const text = await client.completions.create({model: 'm', prompt: 'Once upon a time', max_tokens: 8, seed: 1, logprobs: 1});
    assert.equal(text.choices[0].text, want);
    assert.equal(text.choices[0].logprobs.tokens.join(''), want);
    const {data, response} = await client.chat.completions.create(few).withResponse();
    assert.equal(data.choices[0].message.content, want);
    assert.ok(response.headers.get('x-request-id'));
    assert.equal(data._request_id, response.headers.get('x-request-id'));
  },

  async tools() {
    const whole = await client.chat.completions.create(script('T', {tools: [look]}));
    const calls = whole.choices[0].message.tool_calls;
    assert.deepEqual(calls.map((k) => k.function.name), ['look', 'f']);
    assert.deepEqual(JSON.parse(calls[0].function.arguments), {at: 'the sky'});
    const deltas = [];
    const runner = client.chat.completions.stream(script('T', {tools: [look]}));
    runner.on('tool_calls.function.arguments.delta', (d) => deltas.push(d.arguments_delta));
    const final = await runner.finalChatCompletion();
    assert.deepEqual(final.choices[0].message.tool_calls.map((k) => k.function.arguments), calls.map((k) => k.function.arguments));
    assert.equal(deltas.join(''), calls.map((k) => k.function.arguments).join(''));
    assert.ok(deltas.length > 2, 'the arguments came in one piece');
    let seen;
    const run = client.chat.completions.runTools(script('T', {
      tools: [{type: 'function', function: {name: 'look', parameters: {type: 'object'}, parse: JSON.parse,
                                            function: (args) => { seen = args; return 'blue'; }}}],
    }), {maxChatCompletions: 1});
    await run.done().catch(() => {});     // it calls f, too, which nobody has
    assert.deepEqual(seen, {at: 'the sky'});
  },

  async parse() {
    const format = {type: 'json_schema', json_schema: {name: 'x', schema: {type: 'objec'}, strict: true}};
    await assert.rejects(client.chat.completions.parse(script('N', {response_format: format})), (e) => {
      assert.ok(e instanceof OpenAI.BadRequestError);
      assert.deepEqual([e.param, e.code], ['response_format.json_schema.schema', 'invalid_value']);
      return true;
    });
    const plain = await client.chat.completions.parse(script('N', {response_format: {type: 'text'}}));
    assert.equal(plain.choices[0].message.parsed, null);
  },

  async abort() {
    const endless = {model: 'm', messages: story, max_tokens: 400, max_tokens_per_second: 1, ignore_eos: true, stream: true};
    const stream = await client.chat.completions.create(endless);
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;     // which aborts the request
    await until(async () => (await running()) === 0);
    const controller = new AbortController();
    const whole = client.chat.completions.create({...endless, stream: false}, {signal: controller.signal});
    const refused = assert.rejects(whole, OpenAI.APIUserAbortError);
    await until(async () => (await running()) === 1);
    controller.abort();
    await refused;
    await until(async () => (await running()) === 0);
    await assert.rejects(client.chat.completions.create({...endless, stream: false}, {timeout: 300}), OpenAI.APIConnectionTimeoutError);
    await until(async () => (await running()) === 0);
    assert.ok((await client.chat.completions.create(few)).choices[0].message.content);
  },

  async errors() {
    const rows = [
      [OpenAI.BadRequestError, 400, 'invalid_value', 'temperature', () => client.chat.completions.create({...few, temperature: 9})],
      [OpenAI.BadRequestError, 400, 'missing_required_parameter', 'messages', () => client.chat.completions.create({model: 'm'})],
      [OpenAI.BadRequestError, 400, 'unsupported_parameter', 'tool_choice',
        () => client.chat.completions.create({...few, tools: [look], tool_choice: 'required'})],
      [OpenAI.NotFoundError, 404, 'model_not_found', 'model', () => client.chat.completions.create({...few, model: 'x'})],
      [OpenAI.NotFoundError, 404, 'unknown_url', null, () => client.files.list()],
      [OpenAI.AuthenticationError, 401, 'invalid_api_key', null, () => ask({apiKey: 'wrong-key-of-some-length'}).models.list()],
    ];
    for (const [kind, status, code, param, call] of rows)
      await assert.rejects(call, (e) => {
        assert.ok(e instanceof kind, `${code}: ${e}`);
        assert.deepEqual([e.status, e.code, e.param], [status, code, param]);
        assert.ok(e.requestID, 'no request id');
        return true;
      });
    await assert.rejects(ask({baseURL: 'http://127.0.0.1:1/v1'}).models.list(), OpenAI.APIConnectionError);
  },

  // The key's bucket is all reserved by a running answer, and fills again at 100 tokens a second.
  async retries() {
    const held = await client.chat.completions.create({model: 'm', messages: story, max_tokens: 5980, max_tokens_per_second: 1, stream: true});
    const more = {...few, max_completion_tokens: 150};
    await assert.rejects(client.chat.completions.create(more), (e) => {
      assert.ok(e instanceof OpenAI.RateLimitError);
      assert.equal(e.code, 'rate_limit_exceeded');
      assert.ok(Number(e.headers.get('retry-after')) >= 1);
      return true;
    });
    assert.ok((await ask({maxRetries: 5}).chat.completions.create(more)).choices[0].message.content);
    held.controller.abort();
  },

  async embeddings() {
    const input = ['a cat', 'a dog'];
    const floats = await client.embeddings.create({model: 'm', input, encoding_format: 'float'});
    const decoded = await client.embeddings.create({model: 'm', input});     // asks for base64
    assert.deepEqual(decoded.data.map((d) => [...d.embedding]), floats.data.map((d) => [...new Float32Array(d.embedding)]));
    assert.equal((await client.embeddings.create({model: 'm', input, dimensions: 8})).data[0].embedding.length, 8);
  },

  async responses() {
    const ask1 = {model: 'm', input: 'N', temperature: 0};
    const whole = await client.responses.create(ask1);
    assert.deepEqual([whole.output_text, whole.status], ['Yes!', 'completed']);
    const told = await all(await client.responses.create({...ask1, stream: true}));
    assert.equal(told.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), 'Yes!');
    assert.deepEqual(told.map((e) => e.sequence_number), told.map((_, i) => i));
    assert.equal(told.at(-1).type, 'response.completed');
    const final = await client.responses.stream(ask1).finalResponse();
    assert.equal(final.output.flatMap((o) => o.content.map((c) => c.text)).join(''), 'Yes!');
    const {function: f} = look;
    const called = await client.responses.create({...ask1, input: 'T', tools: [{type: 'function', strict: false, ...f}]});
    assert.deepEqual(called.output.filter((o) => o.type === 'function_call').map((o) => o.name), ['look', 'f']);
  },
};

await tests[name]();
process.exit(0);     // connections that are kept alive would hold it
