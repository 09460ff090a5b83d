// Conversations in IndexedDB, saved message by message; other tabs are notified.
//
// Stores: conversations {id, title, created, updated, settings, selected, deleted}; messages {id, conv, parent, role, content, ...};
// data {id, conv, tokens, data, gaps}: the large part of a message.
import {unique} from './dom.js';
import {recognised} from './import_formats.js';
import {isPictureUrl} from './pictures.js';

const UNDO_LIMIT_MS = 60000;        // another tab may still offer to undo a younger deletion
const NAMES = ['conversations', 'messages', 'data'];
const tab = unique();
const channel = 'BroadcastChannel' in window ? new BroadcastChannel('runnel') : null;
let database = null;
const listeners = [];
export const onStoreError = fn => { listeners.push(fn); };
export const onOtherTab = fn => channel?.addEventListener('message', e => { if (e.data.tab !== tab) fn(e.data); });
const tell = (kind, conv) => channel?.postMessage({kind, conv, tab});

const asPromise = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

export async function openStore() {
  const request = indexedDB.open('runnel', 1);
  request.onupgradeneeded = () => {
    for (const name of NAMES) {
      const store = request.result.createObjectStore(name, {keyPath: 'id'});
      if (name !== 'conversations') store.createIndex('conv', 'conv');
    }
  };
  database = await asPromise(request);
  database.onversionchange = () => database.close();
  for (const c of await all('conversations')) if (c.deleted && Date.now() - c.deleted > UNDO_LIMIT_MS) await purge(c.id, c.deleted);
  navigator.storage?.persist?.().catch(() => {});
}

// Without IndexedDB (some private windows) reads return nothing.
const read = (name, otherwise, ask) => (database ? asPromise(ask(database.transaction(name).objectStore(name))) : Promise.resolve(otherwise));
const all = name => read(name, [], store => store.getAll());
const ofConversation = (name, id) => read(name, [], store => store.index('conv').getAll(id));

const words = e => (e?.name === 'QuotaExceededError'
  ? 'The browser\'s storage for this page is full: new messages are not saved. Export conversations, then delete some.'
  : `Not saved: ${e?.message || e}`);

// Writes in one transaction. Resolves to whether it succeeded; listeners get the error.
function write(names, fill) {
  return new Promise(resolve => {
    const fail = e => { listeners.forEach(fn => fn(words(e))); resolve(false); };
    try {
      const t = database.transaction(names, 'readwrite');
      t.oncomplete = () => resolve(true);
      t.onabort = () => fail(t.error);
      fill(name => t.objectStore(name));
    } catch (e) {
      fail(e);
    }
  });
}

export const listConversations = async () => (await all('conversations')).filter(c => !c.deleted).sort((a, b) => b.updated - a.updated);
export const readConversation = id => read('conversations', undefined, store => store.get(id));
export const readMessages = id => ofConversation('messages', id);
export const readData = id => read('data', undefined, store => store.get(id));
export const allMessages = () => all('messages');

export async function saveConversation(c) {
  const ok = await write(['conversations'], of => of('conversations').put(c));
  if (ok) tell('conversation', c.id);
  return ok;
}

// data null: that part has not changed. Each save increments the revision, so that other tabs ignore older versions.
export async function saveMessage(message, data) {
  message.rev = (message.rev || 0) + 1;
  const names = data ? ['messages', 'data'] : ['messages'];
  const ok = await write(names, of => {
    of('messages').put(message);
    if (data) of('data').put({...data, id: message.id, conv: message.conv});
  });
  if (ok) tell('message', message.conv);
  return ok;
}

export async function removeMessages(conv, ids) {
  if (await write(['messages', 'data'], of => ids.forEach(id => { of('messages').delete(id); of('data').delete(id); }))) tell('message', conv);
}

// Deletes permanently what saveConversation({...c, deleted: stamp}) marked, unless it was taken back or written in since: one
// transaction looks and deletes, so that nothing is taken that another tab saves.
export async function purge(id, stamp) {
  await write(NAMES, of => {
    of('conversations').get(id).onsuccess = ({target: {result: c}}) => {
      if (c?.deleted !== stamp) return;
      of('conversations').delete(id);
      for (const name of ['messages', 'data']) of(name).index('conv').getAllKeys(id).onsuccess = e => e.target.result.forEach(key => of(name).delete(key));
    };
  });
  tell('conversation', id);
}

// Takes a deletion back; what was saved meanwhile stays.
export async function restore(id) {
  await write(['conversations'], of => {
    of('conversations').get(id).onsuccess = ({target: {result: c}}) => { if (c) of('conversations').put({...c, deleted: undefined}); };
  });
  tell('conversation', id);
}

// ---- export and import ----------------------------------------------------------------------------------------------

const FORMAT = 'runnel-conversations';
const noData = {tokens: [], data: [], places: [], gaps: []};
const LIMITS = {conversations: 50000, messages: 100000};

export async function exportConversations(ids) {
  const list = [];
  for (const c of await listConversations()) {
    if (ids && !ids.includes(c.id)) continue;
    list.push({...c, messages: await readMessages(c.id), data: await ofConversation('data', c.id)});
  }
  return {format: FORMAT, version: 1, conversations: list};
}

const isText = v => typeof v === 'string', isNumber = Number.isFinite, isObject = v => Boolean(v) && typeof v === 'object' && !Array.isArray(v);
const isNumbers = v => isObject(v) && Object.values(v).every(x => x === null || isNumber(x));
const isList = of => v => Array.isArray(v) && v.every(of);
const isAlternative = v => isObject(v) && isNumber(v.id) && isText(v.piece) && (isNumber(v.logprob) || v.logprob === null);
const messageKinds = {
  id: isText, role: isText, content: isText, reasoning: isText, finish: isText, detail: isText, name: isText, model: isText, callId: isText,
  seed: isNumber, branched: isNumber, dropped: isNumber, compare: v => v === true, isError: v => v === true,
  settings: isObject, usage: isNumbers, timing: isNumbers, figures: isNumbers, error: v => isObject(v) && isText(v.message),
  files: isList(f => isObject(f) && isText(f.name) && (f.url === undefined ? isText(f.text) && (f.tokens === undefined || isNumber(f.tokens)) : isPictureUrl(f.url) && isNumber(f.width) && isNumber(f.height))),
  sequences: isList(q => isObject(q) && isText(q.text) && Number.isFinite(q.score)),
  calls: isList(c => isObject(c) && isText(c.id) && isText(c.name) && isText(c.arguments)),
};
const dataKinds = {
  tokens: isList(isNumber), gaps: isList(isNumber), places: isList(isList(isNumber)),
  data: isList(t => isAlternative(t) && isList(isAlternative)(t.top)),
};
// Copies the members that have the right type.
function pick(from, kinds) {
  const right = Object.keys(kinds).filter(name => from[name] !== undefined && kinds[name](from[name]));
  return Object.fromEntries(right.map(name => [name, from[name]]));
}

const need = (holds, what) => { if (!holds) throw new Error(`import: ${what}`); };
const needList = (list, most, what) => need(Array.isArray(list) && list.length <= most, `${what}: an array of at most ${most} is due`);

function checkMessages(messages, where) {
  const parents = new Map(), sound = new Set(['']);
  messages.forEach((m, k) => {
    const isRight = isObject(m) && isText(m.id) && isText(m.content) && ['user', 'assistant', 'tool'].includes(m.role);
    need(isRight, `${where}.messages[${k}]: id, role or content is wrong`);
    need(!parents.has(m.id), `${where}.messages[${k}]: its id occurs twice`);
    parents.set(m.id, m.parent || '');
  });
  for (const m of messages) {        // every message must lead to the root, without cycles
    const chain = [];
    for (let at = m.id; !sound.has(at); at = parents.get(at))
      need(parents.has(at) && chain.push(at) <= parents.size, `${where}: message ${m.id.slice(0, 40)} has no way to the first`);
    chain.forEach(at => sound.add(at));
  }
}

function checked(file) {
  need(isObject(file) && file.format === FORMAT && file.version === 1, `not a ${FORMAT} file of version 1, nor an export of ChatGPT or Open WebUI (conversations.json)`);
  needList(file.conversations, LIMITS.conversations, 'conversations');
  file.conversations.forEach((c, i) => {
    const where = `conversations[${i}]`;
    need(isObject(c) && isText(c.id) && isText(c.title), `${where}: id or title is missing`);
    needList(c.messages, LIMITS.messages, `${where}.messages`);
    checkMessages(c.messages, where);
  });
  return file.conversations;
}

// Imports under new ids, so that existing conversations stay. Resolves to the number of conversations.
export async function importConversations(text) {
  let file;
  try { file = recognised(JSON.parse(text)); } catch (e) { throw new Error(`import: not JSON: ${e.message}`); }
  const list = checked(file);
  for (const c of list) {
    const conv = unique(), ids = new Map(c.messages.map(m => [m.id, unique()])), rename = id => (id ? ids.get(id) || '' : '');
    const number = v => (Number.isFinite(v) ? v : Date.now());
    const selected = Object.entries(isObject(c.selected) ? c.selected : {}).map(([p, m]) => [rename(p), rename(m)]);
    const ok = await write(NAMES, of => {
      of('conversations').put({id: conv, title: c.title.slice(0, 200), created: number(c.created), updated: number(c.updated),
        settings: isObject(c.settings) ? c.settings : {}, selected: Object.fromEntries(selected)});
      for (const m of c.messages) {
        const state = m.state === 'done' || m.state === 'failed' ? m.state : 'stopped';
        of('messages').put({...pick(m, messageKinds), state, id: ids.get(m.id), conv, parent: rename(m.parent), created: number(m.created)});
      }
      for (const d of Array.isArray(c.data) ? c.data : [])
        if (isObject(d) && ids.has(d.id)) of('data').put({...noData, ...pick(d, dataKinds), id: ids.get(d.id), conv});
    });
    if (!ok) throw new Error('import: not all of it could be saved');
    tell('conversation', conv);
  }
  return list.length;
}
