// The server's API: sends requests with the key; errors have the server's message.
import {t} from './words.js';

export class ApiError extends Error {
  constructor(status, error, retryAfter) {
    super(error?.message || `the server answered with status ${status}`);
    Object.assign(this, {status, code: error?.code || null, param: error?.param || null, retryAfter});
  }
}

export class NetworkError extends Error {
  constructor() { super(t('The server cannot be reached.')); }
}
// Replaces the TypeError of fetch and its readers.
export const onNetwork = promise => promise.catch(e => { throw e instanceof TypeError ? new NetworkError() : e; });

const NAME = 'runnel-key';
const stores = () => [() => sessionStorage, () => localStorage].flatMap(get => { try { return [get()]; } catch { return []; } });
let askKey = null;      // set by main.js: shows a question, returns {key, remember}
let asking = null;
export const onKeyNeeded = ask => { askKey = ask; };
export const key = () => stores().map(s => s.getItem(NAME)).find(Boolean) || '';
export function setKey(value, remember) {
  for (const s of stores()) s.removeItem(NAME);
  const to = stores()[remember ? 1 : 0];
  if (value) to?.setItem(NAME, value);
}

const address = path => new URL(path, document.baseURI);

async function errorOf(response) {
  let error = null;
  try { error = (await response.json()).error; } catch { /* the answer is a proxy's */ }
  return new ApiError(response.status, error, Number(response.headers.get('retry-after')) || 0);
}

// Asks for the key only once, even if several requests were refused.
async function ask(used) {
  if (key() !== used && key()) return true;
  asking ??= askKey().finally(() => { asking = null; });
  return Boolean(await asking);
}

// Resolves to a successful response; rejects with an ApiError, or as fetch does.
export async function request(path, {method = 'GET', body, headers = {}, signal, keepalive = false} = {}) {
  for (;;) {
    const used = key();
    const response = await onNetwork(fetch(address(path), {
      method, signal, keepalive, cache: 'no-store', redirect: 'error', credentials: 'omit',
      headers: {...headers, ...(body ? {'Content-Type': 'application/json'} : {}), ...(used ? {Authorization: `Bearer ${used}`} : {})},
      body: body ? JSON.stringify(body) : undefined,
    }));
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 401 || !askKey || !await ask(used)) throw error;
  }
}
export const getJson = async (path, more) => (await request(path, more)).json();
export const postJson = async (path, body, more) => (await request(path, {method: 'POST', body, ...more})).json();
