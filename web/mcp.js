// A client of the Model Context Protocol over streamable HTTP (modelcontextprotocol.io, revision 2025-11-25, section "Transports"): one
// server's session, its tools and calls of them. It knows nothing of the page.
import {EventReader} from './sse.js';

const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];       // the first is asked for
const LIST_MS = 30000, CALL_MS = 120000, AGAIN_MS = 1000, RESUMES = 3;
export const MOST = {pages: 32, tools: 128, bytes: 8 << 20};
const METHOD_NOT_FOUND = -32601;

export class McpError extends Error {}
class Expired extends McpError {}
class Late extends Error {}

const isObject = v => Boolean(v) && typeof v === 'object' && !Array.isArray(v);
const isTool = v => isObject(v) && typeof v.name === 'string' && v.name !== '' && v.name.length <= 128 && isObject(v.inputSchema);
const pause = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, {once: true});
});

// Reads an answer piece by piece, so that one without an end cannot fill the memory.
async function readPieces(response, take) {
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let n = 0;
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return take(decoder.decode());
      n += value.length;
      if (n > MOST.bytes) throw new McpError(`its answer is longer than ${MOST.bytes} bytes`);
      if (take(decoder.decode(value, {stream: true}))) return true;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

export class McpClient {
  // token(): what to send as a bearer token, '' for none. listMs, callMs: how long an answer may take without a sign of progress.
  constructor(url, {token = () => '', listMs = LIST_MS, callMs = CALL_MS, againMs = AGAIN_MS} = {}) {
    Object.assign(this, {url, token, listMs, callMs, againMs, number: 0});
    this.forget();
  }

  forget() { Object.assign(this, {session: '', revision: '', ready: null, tools: null}); }

  headers(more) {
    const token = this.token();
    return {Accept: 'application/json, text/event-stream', ...(token ? {Authorization: `Bearer ${token}`} : {}), ...(this.session ? {'Mcp-Session-Id': this.session} : {}),
      ...(this.revision ? {'MCP-Protocol-Version': this.revision} : {}), ...more};
  }

  async fetch(method, headers, body, signal) {
    const used = this.session;
    let response;
    try {
      response = await fetch(this.url, {method, headers: this.headers(headers), body, signal, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer'});
    } catch (e) {
      if (signal?.aborted) throw signal.reason;
      throw new McpError('it cannot be reached, or it does not let this page ask it (CORS)');
    }
    if (response.ok) return response;
    const words = await response.json().then(v => v?.error?.message, () => null);
    if (response.status === 404 && used) throw new Expired('its session is over');
    if (response.status === 401 || response.status === 403) throw new McpError(`it wants a token (${response.status})`);
    throw new McpError(typeof words === 'string' ? words : `it answered with status ${response.status}`);
  }

  post(message, signal) {
    return this.fetch('POST', {'Content-Type': 'application/json'}, JSON.stringify({jsonrpc: '2.0', ...message}), signal);
  }

  // Tells the server something that has no answer. It may be gone.
  tell(message) { this.post(message).then(r => r.body?.cancel(), () => {}); }

  // One message from the server. True: it is the answer to request `id`, which is put into `found`.
  take(message, id, found, alive) {
    if (!isObject(message)) return false;
    if (typeof message.method === 'string') {
      alive();
      if (message.method === 'notifications/tools/list_changed') this.tools = null;
      if (message.id === undefined) return false;
      this.tell(message.method === 'ping' ? {id: message.id, result: {}} : {id: message.id, error: {code: METHOD_NOT_FOUND, message: 'not supported'}});
      return false;
    }
    if (message.id !== id) return false;
    found.message = message;
    return true;
  }

  // Reads the events of one stream up to the answer. Returns the number of the last event, with which a stream can be resumed.
  async readEvents(response, id, found, alive) {
    let last = '', failure = null;
    const events = new EventReader(e => {
      last = e.id;
      if (!e.data || found.message) return;        // an event without data only gives its number
      try { this.take(JSON.parse(e.data), id, found, alive); } catch (e2) { failure = new McpError(`an event is not JSON: ${e2.message}`); }
    });
    try {
      await readPieces(response, text => {
        events.push(text);
        if (failure) throw failure;
        return Boolean(found.message);
      });
    } catch (e) {
      if (!(e instanceof TypeError)) throw e;        // the connection broke
    }
    return last;
  }

  async readJson(response, id, found, alive) {
    let text = '', value;
    await readPieces(response, piece => { text += piece; });
    try { value = JSON.parse(text); } catch (e) { throw new McpError(`its answer is not JSON: ${e.message}`); }
    for (const message of Array.isArray(value) ? value : [value]) this.take(message, id, found, alive);
  }

  async answerTo(response, id, signal, alive) {
    const found = {}, session = response.headers.get('mcp-session-id') || '';
    for (let tries = 0; ;) {
      const type = (response.headers.get('content-type') || '').split(';')[0].trim().toLowerCase();
      if (type === 'application/json') await this.readJson(response, id, found, alive);
      else if (type !== 'text/event-stream') throw new McpError(`its answer is ${type || 'of no type'}, not JSON or an event stream`);
      if (type !== 'text/event-stream') break;
      const last = await this.readEvents(response, id, found, alive);
      if (found.message || !last || tries++ === RESUMES) break;
      await pause(this.againMs, signal);
      response = await this.fetch('GET', {Accept: 'text/event-stream', 'Last-Event-ID': last}, undefined, signal);
    }
    if (!found.message) throw new McpError('its answer ended early');
    const {error, result} = found.message;
    if (error) throw new McpError(typeof error.message === 'string' ? error.message : `error ${error.code}`);
    if (!isObject(result)) throw new McpError('its answer has no result');
    return {result, session};
  }

  // One request. `signal` stops it; it is late `ms` after the last sign of progress. Either way the server is told.
  async ask(method, params, {ms = this.listMs, signal} = {}) {
    signal?.throwIfAborted();
    const id = ++this.number, control = new AbortController(), stop = () => control.abort(signal.reason);
    let timer = 0;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => control.abort(new Late()), ms);
    };
    signal?.addEventListener('abort', stop, {once: true});
    alive();
    try {
      return await this.answerTo(await this.post({id, method, params}, control.signal), id, control.signal, alive);
    } catch (e) {
      if (!control.signal.aborted) throw e;
      if (method !== 'initialize') this.tell({method: 'notifications/cancelled', params: {requestId: id}});
      throw control.signal.reason instanceof Late ? new McpError(`no answer within ${Math.round(ms / 1000)} s`) : control.signal.reason;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  async initialize() {
    const {result, session} = await this.ask('initialize', {protocolVersion: REVISIONS[0], capabilities: {}, clientInfo: {name: 'runnel', version: '1'}});
    if (!REVISIONS.includes(result.protocolVersion)) throw new McpError(`it speaks revision ${String(result.protocolVersion).slice(0, 40)} of the protocol, not one of ${REVISIONS.join(', ')}`);
    Object.assign(this, {session, revision: result.protocolVersion});
    const response = await this.post({method: 'notifications/initialized'});
    response.body?.cancel();
  }

  // A request within the session. One whose session is over has another, once.
  async request(method, params, options) {
    for (let tries = 0; ; tries++) {
      const mine = this.ready ??= this.initialize();
      try {
        await mine;
        return (await this.ask(method, params, options)).result;
      } catch (e) {
        const isOver = e instanceof Expired;
        if (this.ready === mine && (isOver || !this.revision)) this.forget();
        if (!isOver || tries) throw e;
      }
    }
  }

  // [{name, description, inputSchema, ...}], from all pages.
  async listTools(options) {
    if (this.tools) return this.tools;
    const list = [], seen = new Set();
    for (let cursor; ;) {
      const {tools, nextCursor} = await this.request('tools/list', cursor === undefined ? {} : {cursor}, options);
      if (!Array.isArray(tools) || !tools.every(isTool)) throw new McpError('a tool has no name or no inputSchema');
      list.push(...tools);
      if (list.length > MOST.tools) throw new McpError(`it has more than ${MOST.tools} tools`);
      if (typeof nextCursor !== 'string') break;
      if (seen.has(nextCursor) || seen.size === MOST.pages) throw new McpError('its list of tools does not end');
      seen.add(cursor = nextCursor);
    }
    this.tools = list;
    return list;
  }

  // {text, isError}: what the tool answered, as text.
  async callTool(name, args, options) {
    const result = await this.request('tools/call', {name, arguments: args}, {ms: this.callMs, ...options});
    return {text: resultText(result), isError: result.isError === true};
  }
}

const RESULT_MOST = 200000;         // characters of a result that reach the model

// What a tool answers is a list of parts, of which a model without eyes and ears reads the texts.
export function resultText({content, structuredContent}) {
  const list = (Array.isArray(content) ? content : []).filter(isObject).map(part => {
    if (part.type === 'text') return String(part.text ?? '');
    if (part.type === 'resource' && isObject(part.resource)) return typeof part.resource.text === 'string' ? part.resource.text : `[${part.resource.uri}: no text]`;
    if (part.type === 'resource_link') return `${part.title || part.name || 'resource'}: ${part.uri}`;
    return `[${part.type || 'part'}${part.mimeType ? ` ${part.mimeType}` : ''}: no text]`;
  });
  const text = list.length ? list.join('\n') : structuredContent === undefined ? '' : JSON.stringify(structuredContent);
  return text.length > RESULT_MOST ? `${text.slice(0, RESULT_MOST)}\n[cut: ${text.length} characters, ${RESULT_MOST} are the limit]` : text;
}
