// tests/web/mcp_client.mjs - the page's client of MCP against servers on the loopback that answer as JSON and as events, and that fail.
import {load} from './modules_folder.mjs';
import {mcpServer, TOOLS} from './mcp_server.mjs';
import {assert, test} from './rig.mjs';

const {McpClient, MOST, resultText} = await load('mcp.js');
const names = list => list.map(f => f.name);
const methods = server => server.got.map(m => m.method || 'answer');

// Runs with a server and a client of it.
async function between(behaviour, fn, options = {}) {
  const server = await mcpServer(behaviour);
  try {
    await fn(new McpClient(server.url, {againMs: 1, ...options}), server);
  } finally {
    server.close();
  }
}

test(async function a_session_begins_with_initialize_and_its_name_goes_with_all_that_follows() {
  for (const asEvents of [false, true])
    await between({asEvents, pageOf: 2}, async (client, server) => {
      assert.deepEqual(names(await client.listTools()), names(TOOLS));
      assert.deepEqual(methods(server), ['initialize', 'notifications/initialized', 'tools/list', 'tools/list']);
      const [first, second, third, fourth] = server.got, [session] = server.sessions.keys();
      assert.deepEqual([first.params.protocolVersion, first.params.capabilities, first.params.clientInfo.name], ['2025-11-25', {}, 'runnel']);
      assert.deepEqual([first.headers['mcp-session-id'], first.headers['mcp-protocol-version']], [undefined, undefined]);
      for (const m of [second, third, fourth]) assert.deepEqual([m.headers['mcp-session-id'], m.headers['mcp-protocol-version']], [session, '2025-11-25']);
      assert.equal(first.headers.accept, 'application/json, text/event-stream');
      assert.deepEqual([third.params, fourth.params], [{}, {cursor: '2'}]);
      assert.deepEqual(await client.callTool('look', {at: 'x'}), {text: 'seen: x', isError: false});
      assert.deepEqual(await client.callTool('fail.now', {}), {text: 'it broke', isError: true});
      await client.listTools();
      assert.equal(server.got.length, 6, 'tools that are known were asked for again');
    });
});

test(async function an_older_revision_is_spoken_and_an_unknown_one_is_refused() {
  await between({revision: '2025-03-26'}, async (client, server) => {
    await client.listTools();
    assert.equal(server.got.at(-1).headers['mcp-protocol-version'], '2025-03-26');
  });
  await between({revision: '1999-01-01'}, client => assert.rejects(client.listTools(), /speaks revision 1999-01-01/));
});

test(async function a_session_that_is_over_is_begun_again_once() {
  await between({}, async (client, server) => {
    await client.listTools();
    server.sessions.clear();
    const [one, two] = await Promise.all([client.callTool('look', {at: '1'}), client.callTool('look', {at: '2'})]);
    assert.deepEqual([one.text, two.text], ['seen: 1', 'seen: 2']);
    assert.equal(methods(server).filter(m => m === 'initialize').length, 2, 'one session for both');
    server.behaviour.before = (message, response) => { if (message.method === 'tools/call') { response.writeHead(404).end(); return true; } return false; };
    await assert.rejects(client.callTool('look', {}), /session is over/);
    assert.equal(methods(server).filter(m => m === 'initialize').length, 3, 'not for ever');
  });
});

test(async function what_the_server_says_in_between_is_heard_and_answered() {
  const events = [{jsonrpc: '2.0', method: 'notifications/progress', params: {progress: 1}}, {jsonrpc: '2.0', id: 's1', method: 'ping'},
    {jsonrpc: '2.0', id: 's2', method: 'sampling/createMessage', params: {}}, {jsonrpc: '2.0', method: 'notifications/tools/list_changed'}, {jsonrpc: '2.0', id: 999, result: {}}, 7];
  await between({asEvents: true}, async (client, server) => {
    await client.listTools();
    server.behaviour.events = events;
    assert.equal((await client.callTool('look', {at: 'x'})).text, 'seen: x');
    server.behaviour.events = [];
    await client.listTools();
    assert.equal(methods(server).filter(m => m === 'tools/list').length, 2, 'a list that changed is not asked for again');
    const answers = server.got.filter(m => !m.method);
    assert.deepEqual(answers.map(m => [m.id, m.result, m.error?.code]).sort(), [['s1', {}, undefined], ['s2', undefined, -32601]]);
  });
});

test(async function a_stream_that_breaks_is_taken_up_with_its_last_number() {
  let asked = [];
  const rest = result => (request, response) => {
    asked.push(request.headers['last-event-id']);
    response.writeHead(200, {'Content-Type': 'text/event-stream', 'Access-Control-Allow-Origin': '*'});
    response.end(asked.length < 2 ? 'id: b\ndata:\n\n' : `data: ${JSON.stringify({jsonrpc: '2.0', id: 2, result})}\n\n`);
  };
  const before = (message, response) => {
    if (message.method !== 'tools/call') return false;
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.end('id: a\ndata: \n\n');
    return true;
  };
  await between({before, resume: rest({content: [{type: 'text', text: 'whole'}]})}, async client => {
    assert.equal((await client.callTool('look', {})).text, 'whole');
    assert.deepEqual(asked, ['a', 'b']);
  });
  asked = [];
  await between({before}, client => assert.rejects(client.callTool('look', {}), /status 405/));
  await between({before: (message, response) => { if (message.method === 'tools/list') response.writeHead(200, {'Content-Type': 'text/event-stream'}).end(':\n\n'); return message.method === 'tools/list'; }},
    client => assert.rejects(client.listTools(), /ended early/));
});

test(async function what_goes_wrong_is_said() {
  const say = (status, type, body) => ({before: (message, response) => { response.writeHead(status, {'Content-Type': type}).end(body); return true; }});
  const json = 'application/json', events = 'text/event-stream';
  for (const [behaviour, why] of [
    [say(500, json, '{"error": {"message": "on fire"}}'), /^on fire$/], [say(503, 'text/html', 'no'), /status 503/], [say(404, json, '{}'), /status 404/],
    [say(200, 'text/html', '<p>'), /is text\/html, not JSON or an event stream/], [say(200, json, '{'), /not JSON/], [say(200, events, 'data: {\n\n'), /not JSON/],
    [say(200, json, '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "inside"}}'), /^inside$/], [say(200, json, '{"jsonrpc": "2.0", "id": 1, "error": {"code": -5}}'), /error -5/],
    [say(200, json, '{"jsonrpc": "2.0", "id": 1, "result": 7}'), /no result/], [say(200, json, '[]'), /ended early/], [say(202, json, ''), /not JSON/],
    [say(200, json, `"${'x'.repeat(MOST.bytes)}"`), /longer than 8388608 bytes/], [{token: 'secret'}, /wants a token \(401\)/],
    [{tools: [{name: 'x'}]}, /no inputSchema/], [{tools: [{name: '', inputSchema: {}}]}, /no name/], [{tools: Array(200).fill(TOOLS[0]), pageOf: 200}, /more than 128 tools/],
  ])
    await between(behaviour, async client => {
      await assert.rejects(client.listTools(), e => { assert.match(e.message, why); return true; });
    });
  await between({pageOf: 1, before: (message, response) => { if (message.method === 'tools/list') response.writeHead(200, {'Content-Type': json}).end(JSON.stringify({id: message.id, result: {tools: [], nextCursor: 'x'}})); return message.method === 'tools/list'; }},
    client => assert.rejects(client.listTools(), /does not end/));
  const gone = await mcpServer();
  gone.close();
  await assert.rejects(new McpClient(gone.url).listTools(), /cannot be reached, or it does not let this page ask it/);
});

test(async function a_token_is_sent_and_after_a_failure_it_is_tried_again() {
  let token = '';
  await between({token: 'secret'}, async client => {
    await assert.rejects(client.listTools(), /wants a token/);
    token = 'secret';
    assert.equal((await client.listTools()).length, 3);
  }, {token: () => token});
});

test(async function a_call_is_given_up_when_it_is_stopped_or_late_and_the_server_is_told() {
  await between({}, async (client, server) => {
    await client.listTools();
    const control = new AbortController(), call = client.callTool('wait', {}, {signal: control.signal});
    while (!server.waiting.length) await new Promise(resolve => setTimeout(resolve, 1));
    control.abort(new DOMException('stopped', 'AbortError'));
    await assert.rejects(call, {name: 'AbortError'});
    await assert.rejects(client.callTool('wait', {}, {signal: control.signal}), {name: 'AbortError'});
    await assert.rejects(client.callTool('wait', {}, {ms: 20}), /no answer within 0 s/);
    while (methods(server).filter(m => m === 'notifications/cancelled').length < 2) await new Promise(resolve => setTimeout(resolve, 1));
    const [told] = server.got.filter(m => m.method === 'notifications/cancelled');
    assert.equal(told.params.requestId, server.waiting[0].message.id);
    const late = client.number, other = client.callTool('wait', {}), its = () => server.waiting.find(w => w.message.id > late);
    while (!its()) await new Promise(resolve => setTimeout(resolve, 1));
    its().end('in time');
    assert.equal((await other).text, 'in time');
  });
});

test(function results_are_their_texts_and_what_is_none_is_named() {
  for (const [result, text] of [
    [{content: [{type: 'text', text: 'a'}, {type: 'text', text: 'b'}]}, 'a\nb'], [{content: [{type: 'image', data: 'xx', mimeType: 'image/png'}]}, '[image image/png: no text]'],
    [{content: [{type: 'resource', resource: {uri: 'file:///x', text: 'inside'}}]}, 'inside'], [{content: [{type: 'resource', resource: {uri: 'file:///x', blob: 'xx'}}]}, '[file:///x: no text]'],
    [{content: [{type: 'resource_link', uri: 'file:///y', name: 'y'}]}, 'y: file:///y'], [{content: [], structuredContent: {n: 1}}, '{"n":1}'], [{}, ''], [{content: [null, 7, {type: 'text'}]}, ''],
  ]) assert.equal(resultText(result), text);
  assert.match(resultText({content: [{type: 'text', text: 'x'.repeat(200001)}]}), /^x{200000}\n\[cut: 200001 characters, 200000 are the limit\]$/);
});

const {Consent, mayGoOn, serverName, servers, setServers, toolsOf} = await load('tools.js');

test(async function tools_of_several_servers_have_names_that_models_take_and_each_its_own() {
  const odd = [{name: 'look', inputSchema: {}}, {name: 'a.b/c', title: 'T', inputSchema: {}}, {name: 'a b_c', inputSchema: {}}, {name: 'x'.repeat(100), inputSchema: {}}];
  await between({tools: odd, pageOf: 9}, async (one, a) => {
    await between({}, async (two, b) => {
      setServers([a.url, b.url]);
      assert.deepEqual(servers(), [a.url, b.url]);
      const {list, owners} = await toolsOf([a.url, 'http://unknown.example/', b.url], [{type: 'function', function: {name: 'look'}}]);
      assert.deepEqual(list.map(f => f.function.name), ['look_2', 'a_b_c', 'a_b_c_2', 'x'.repeat(64), 'look_3', 'wait', 'fail_now']);
      assert.deepEqual([list[1].function, list[4].function.description], [{name: 'a_b_c', description: 'T', parameters: {}}, 'Looks at something.']);
      assert.deepEqual([owners.get('look_3').url, owners.get('look_3').tool.name, owners.get('a_b_c_2').tool.name], [b.url, 'look', 'a b_c']);
      const consent = new Consent(), owner = owners.get('look_3');
      consent.allow(owner);
      assert.deepEqual([consent.allows(owner), consent.allows(owners.get('look_2')), consent.allows({...owner, tool: {...owner.tool, description: 'Deletes everything.'}})], [true, false, false]);
      setServers([]);
      assert.deepEqual((await toolsOf([a.url])).list, []);
    });
  });
  assert.deepEqual([serverName('https://h.example/'), serverName('http://127.0.0.1:9/mcp?key=secret')], ['h.example', '127.0.0.1:9/mcp']);
});

test(function calls_go_on_by_themselves_for_twenty_rounds_since_the_user_wrote() {
  const round = [{role: 'assistant', calls: [{}]}, {role: 'tool'}], rounds = n => Array.from({length: n}, () => round).flat();
  const ask = n => mayGoOn([{role: 'user'}, ...rounds(30), {role: 'user'}, ...rounds(n)]);
  assert.deepEqual([ask(1), ask(20), ask(21)], [true, true, false]);
});
