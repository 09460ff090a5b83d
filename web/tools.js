// Tools of MCP servers in conversations: which servers there are, what their tools are called in a request, and calls that run.
//
// A server is one that `runnel serve --mcp` named: the page's policy lets it ask no other. It is asked once a conversation has it on, and
// a tool is called once the user has agreed to that call, or to all of this tool while the page is open.
import {McpClient} from './mcp.js';
import {t} from './words.js';

const ROUNDS = 20;              // calls one after the other that a user's agreement is good for without a word from them
const NAME_MOST = 64;
const TOKENS = 'runnel-mcp-tokens';

const clients = new Map();      // URL -> McpClient, as the server lists them
const running = new Map();      // "message call" -> {control, talk}
const consents = new Map();     // conversation -> Consent

function tokens() {
  try { return JSON.parse(sessionStorage.getItem(TOKENS)) || {}; } catch { return {}; }
}
export const tokenOf = url => String(tokens()[url] || '');
// Kept for the visit, as a key is.
export function setToken(url, token) {
  try { sessionStorage.setItem(TOKENS, JSON.stringify({...tokens(), [url]: token})); } catch { /* for nothing */ }
  clients.get(url)?.forget();
}

export function setServers(urls = []) {
  for (const url of clients.keys()) if (!urls.includes(url)) clients.delete(url);
  for (const url of urls) if (!clients.has(url)) clients.set(url, new McpClient(url, {token: () => tokenOf(url)}));
}
export const servers = () => [...clients.keys()];
// "host/path" of an address: what may be secret in it is left out.
export const serverName = url => { const u = new URL(url); return u.host + (u.pathname === '/' ? '' : u.pathname); };

const about = async (url, promise) => {
  try { return await promise; } catch (e) { throw e.name === 'AbortError' ? e : new Error(t('MCP server {name}: {why}', {name: serverName(url), why: e.message})); }
};
export const listTools = url => about(url, clients.get(url).listTools());

// A model's tools have names of letters, digits, _ and -: others are replaced, and what is there twice gets a number.
function freeName(name, taken) {
  const plain = name.replace(/[^\w-]/g, '_').slice(0, NAME_MOST);
  for (let i = 1; ; i++) {
    const suffix = i > 1 ? `_${i}` : '', free = plain.slice(0, NAME_MOST - suffix.length) + suffix;
    if (!taken.has(free)) return free;
  }
}

// {list: the tools of these servers as a request has them, owners: {name in the request: {url, tool}}}. own: the conversation's other tools.
export async function toolsOf(urls, own = []) {
  const taken = new Set(own.map(f => f?.function?.name)), owners = new Map(), list = [];
  const known = urls.filter(url => clients.has(url)), all = await Promise.all(known.map(listTools));
  known.forEach((url, i) => all[i].forEach(tool => {
    const name = freeName(tool.name, taken);
    taken.add(name);
    owners.set(name, {url, tool});
    list.push({type: 'function', function: {name, description: tool.description || tool.title || '', parameters: tool.inputSchema}});
  }));
  return {list, owners};
}

const nameOf = ({url, tool}) => `${url} ${tool.name}`;

// Agreements to all calls of a tool: for one conversation, while the page is open, and for the tool as it was shown.
export class Consent {
  constructor() { this.tools = new Map(); }
  allow(owner) { this.tools.set(nameOf(owner), JSON.stringify(owner.tool)); }
  allows(owner) { return this.tools.get(nameOf(owner)) === JSON.stringify(owner.tool); }
}

// The answers with calls that came since the user wrote.
const roundsOf = path => path.slice(path.findLastIndex(m => m.role === 'user') + 1).filter(m => m.calls?.length).length;
export const mayGoOn = path => roundsOf(path) <= ROUNDS;

const keyOf = (message, call) => `${message.id} ${call.id}`;
export const isRunning = (message, call) => running.has(keyOf(message, call));
export const stopCall = (message, call) => running.get(keyOf(message, call))?.control.abort(new DOMException('stopped', 'AbortError'));

const callsOf = conv => [...running.values()].filter(r => r.talk.c.id === conv);
export const isCalling = conv => callsOf(conv).length > 0;
export const stopCalls = conv => callsOf(conv).forEach(r => r.control.abort(new DOMException('stopped', 'AbortError')));
// The conversation was opened anew: what comes is this one's.
export const handOver = talk => callsOf(talk.c.id).forEach(r => { r.talk = talk; });
export function consentOf(conv) {
  if (!consents.has(conv)) consents.set(conv, new Consent());
  return consents.get(conv);
}

async function call(owner, words, signal) {
  let args;
  try { args = JSON.parse(words || '{}'); } catch (e) { return {text: `the arguments are not JSON: ${e.message}`, isError: true}; }
  return about(owner.url, clients.get(owner.url).callTool(owner.tool.name, args, {signal}));
}

// Runs a call: {text, isError, talk}, the result as text for the model, errors too, and the conversation that it is for. Null: it was
// stopped, or runs already.
export async function runCall(talk, message, asked, owner) {
  const key = keyOf(message, asked), run = {control: new AbortController(), talk};
  if (running.has(key)) return null;
  running.set(key, run);
  talk.say('change');
  let result = null;
  try {
    result = await call(owner, asked.arguments, run.control.signal);
  } catch (e) {
    if (!run.control.signal.aborted) result = {text: e.message, isError: true};
  }
  running.delete(key);
  run.talk.say('change');
  return result && {...result, talk: run.talk};
}
