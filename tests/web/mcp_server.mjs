// tests/web/mcp_server.mjs - a small MCP server over streamable HTTP on the loopback, which can be told to misbehave. Run by itself it says its
// address in a line and serves until its standard input ends.
import {randomUUID} from 'node:crypto';
import http from 'node:http';
import {pathToFileURL} from 'node:url';

const HEADERS = 'content-type, accept, authorization, mcp-session-id, mcp-protocol-version, last-event-id';
const schema = {type: 'object', properties: {at: {type: 'string'}}};
export const TOOLS = [
  {name: 'look', description: 'Looks at something.', inputSchema: schema},
  {name: 'wait', title: 'Waits', inputSchema: {type: 'object'}},
  {name: 'fail.now', description: 'Fails.', inputSchema: {type: 'object'}},
];
const read = request => new Promise(resolve => {
  let text = '';
  request.on('data', piece => { text += piece; }).on('end', () => resolve(text));
});

// behaviour: {asEvents, token, pageOf, results: {name: result or (params, say) => result}, before(message, response): true where it has answered}.
export async function mcpServer(behaviour = {}) {
  const own = {behaviour, sessions: new Map(), got: [], waiting: []};
  const answer = (response, status, value, more = {}) => {
    response.writeHead(status, {'Content-Type': 'application/json', ...more});
    response.end(value === undefined ? '' : JSON.stringify(value));
  };
  const results = {
    initialize: () => ({protocolVersion: own.behaviour.revision || '2025-11-25', capabilities: {tools: {listChanged: true}}, serverInfo: {name: 'test', version: '1'}}),
    'tools/list': ({cursor}) => {
      const size = own.behaviour.pageOf || TOOLS.length, from = Number(cursor || 0);
      return {tools: (own.behaviour.tools || TOOLS).slice(from, from + size), ...(from + size < TOOLS.length ? {nextCursor: String(from + size)} : {})};
    },
    'tools/call': ({name, arguments: args}) => {
      const given = own.behaviour.results?.[name];
      return given || (name === 'fail.now' ? {content: [{type: 'text', text: 'it broke'}], isError: true} : {content: [{type: 'text', text: `seen: ${args.at}`}]});
    },
  };
  async function post(request, response) {
    const message = JSON.parse(await read(request)), {headers} = request;
    own.got.push({...message, headers});
    if (own.behaviour.token && headers.authorization !== `Bearer ${own.behaviour.token}`) return answer(response, 401, {error: 'invalid_token'});
    if (await own.behaviour.before?.(message, response)) return null;
    const session = headers['mcp-session-id'];
    if (message.method !== 'initialize' && !own.sessions.has(session)) return answer(response, session ? 404 : 400, {jsonrpc: '2.0', id: message.id ?? null, error: {code: -32600, message: 'no such session'}});
    if (message.id === undefined || !message.method) return answer(response, 202);
    if (message.method === 'tools/call' && message.params.name === 'wait') {
      response.writeHead(200, {'Content-Type': 'text/event-stream'});
      response.write(':\n\n');
      own.waiting.push({message, response, end: text => response.end(`data: ${JSON.stringify({jsonrpc: '2.0', id: message.id, result: {content: [{type: 'text', text}]}})}\n\n`)});
      return null;
    }
    const make = results[message.method];
    const out = make ? {jsonrpc: '2.0', id: message.id, result: make(message.params || {})} : {jsonrpc: '2.0', id: message.id, error: {code: -32601, message: `no method ${message.method}`}};
    const more = {};
    if (message.method === 'initialize') own.sessions.set(more['Mcp-Session-Id'] = randomUUID(), true);
    if (!own.behaviour.asEvents) return answer(response, 200, out, more);
    response.writeHead(200, {'Content-Type': 'text/event-stream', ...more});
    for (const each of own.behaviour.events || []) response.write(`data: ${JSON.stringify(each)}\n\n`);
    response.end(`id: 7\ndata: ${JSON.stringify(out)}\n\n`);
    return null;
  }
  const server = http.createServer((request, response) => {
    if (!own.behaviour.isClosed) {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Access-Control-Allow-Headers', HEADERS);
      response.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE');
      response.setHeader('Access-Control-Expose-Headers', 'Mcp-Session-Id');
    }
    if (request.method === 'OPTIONS') return answer(response, 204);
    if (request.method === 'GET') return own.behaviour.resume ? own.behaviour.resume(request, response) : answer(response, 405);
    return post(request, response).catch(e => answer(response, 500, {error: {message: e.message}}));
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  own.url = `http://127.0.0.1:${server.address().port}/mcp`;
  own.close = () => { server.closeAllConnections(); server.close(); };
  return own;
}

// By itself: what a page's test needs. `look` sees what makes the model of the tests say a text of its own.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const own = await mcpServer({asEvents: true, pageOf: 2, results: {look: {content: [{type: 'text', text: 'K'}]}}});
  console.log(own.url);
  process.stdin.on('end', () => process.exit(0)).resume();
}
