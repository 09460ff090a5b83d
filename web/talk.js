// The conversation that is shown: its tree, its answers in progress, and its actions. Events: `change` (the
// list of shown messages changed), `message` (one message grew or changed) and `saved`.
import {Answer, emptyData} from './answer.js';
import {postJson} from './api.js';
import {unique} from './dom.js';
import {Generation} from './generate.js';
import {messagesOf, plainText, readTools, requestOf, withDefaults} from './settings_model.js';
import {readData, readMessages, removeMessages, saveConversation, saveMessage} from './store.js';
import {consentOf, handOver, isCalling, mayGoOn, runCall, stopCall, stopCalls, toolsOf} from './tools.js';
import {ROOT, Tree} from './tree.js';
import {t} from './words.js';

// Saves every second, plus a second per 250 tokens, since each save writes all tokens.
const SAVE_MS = 1000, SAVE_TOKENS = 4;
// An answer that was cut longer ago does not go on by itself.
const UNASKED_MS = 600000;

const drawSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

// Answers in progress of all conversations; they continue while another conversation is shown.
export const runs = new Map();      // message id -> {generation, answer, state, words, talk, data}

let clock = 0;
const now = () => { clock = Math.max(clock + 1, Date.now()); return clock; };      // strictly increasing, to keep messages in order

export class Talk extends EventTarget {
  constructor(info, conversation, messages) {
    super();
    this.info = info;       // () => {models: [...], strategies: [...]}
    this.c = conversation || {id: unique(), title: '', created: now(), updated: now(), settings: withDefaults({}), selected: {}};
    this.c.settings = withDefaults(this.c.settings);
    const known = new Set(messages?.map(m => m.id));
    // The parent may have been removed in another tab.
    for (const m of messages || []) if (m.parent !== ROOT && !known.has(m.parent)) m.parent = ROOT;
    this.stored = known;
    this.owners = new Map();        // settings of tools -> {name: {url, tool}}
    this.tree = new Tree(messages || [], this.c.selected);
    this.isNew = !conversation;
    for (const run of runs.values()) if (run.talk.c.id === this.c.id) this.tree.add(run.message);
  }

  static async open(info, conversation) {
    const talk = new Talk(info, conversation, await readMessages(conversation.id));
    for (const run of runs.values()) if (run.talk.c.id === talk.c.id) run.talk = talk;
    handOver(talk);
    for (const m of talk.tree.byId.values()) if (m.state === 'running' && !runs.has(m.id)) talk.takeUp(m);
    return talk;
  }

  say(kind, detail) { this.dispatchEvent(new CustomEvent(kind, {detail})); }

  async save() {
    this.c.updated = now();
    this.isNew = false;
    const saved = saveConversation(this.c);
    if (this.isDeleted) await this.revive();
    await saved;
    this.say('saved');
  }

  // Another tab deleted the conversation: what it has taken is saved again.
  async revive() {
    this.isDeleted = false;
    const there = new Set((await readMessages(this.c.id)).map(m => m.id));
    await Promise.all([...this.tree.byId.values()].filter(m => !there.has(m.id) && !runs.has(m.id)).map(m => saveMessage(m)));
  }

  add(role, parent, more) {
    const message = {id: unique(), conv: this.c.id, parent, role, content: '', created: now(), state: 'done', ...more};
    this.tree.add(message);
    this.tree.select(message.id);
    return message;
  }

  get last() { return this.tree.path().at(-1); }
  isRunning() { return this.isCalling() || [...runs.values()].some(r => r.talk.c.id === this.c.id); }
  isCalling() { return isCalling(this.c.id); }
  model(settings) { return this.info().models.find(m => m.id === settings.model) || this.info().models[0]; }

  // Sends a user message and begins one answer, or one for each of several settings.
  async send(text, parent = this.last?.id || ROOT, several = null, more = {}) {
    const message = this.add('user', parent, {content: text, ...more});
    if (!this.c.title) this.c.title = [...(text.trim() || more.files?.[0]?.name || '').replace(/\s+/g, ' ')].slice(0, 80).join('') || t('Untitled');
    const saved = [this.save(), saveMessage(message)];         // in this order: a purge spares what belongs to a conversation that is there
    const answers = (several || [this.c.settings]).map(s => this.begin(message.id, s, several ? {compare: true} : {}));
    await Promise.all(saved);
    return answers;
  }

  // Begins a new answer to a message.
  begin(parent, settings, more = {}) {
    const message = this.add('assistant', parent, {settings: structuredClone({...settings}), ...more});
    this.generate(message, emptyData());
    this.say('change');
    return message;
  }

  // Begins another answer, with a random seed if the fixed one would give the same answer.
  regenerate(id) {
    const {parent, settings} = this.tree.get(id);
    this.begin(parent, {...this.c.settings, seed: settings?.seed === this.c.settings.seed ? '' : this.c.settings.seed});
    return this.save();
  }

  edit(id, text) {
    const old = this.tree.get(id);
    if (old.role === 'user') return this.send(text, old.parent, null, old.files ? {files: old.files} : {});
    const message = this.add('assistant', old.parent, {content: text, settings: old.settings, finish: 'edited'});
    this.say('change');
    return Promise.all([saveMessage(message), this.save()]);
  }

  // Continues a message from its tokens, or from its text if there are none.
  async resume(id) {
    const message = this.tree.get(id), data = (await readData(id)) || emptyData();
    for (const name of ['error', 'finish', 'timing', 'usage', 'sequences']) delete message[name];
    this.generate(message, data, {goesOn: true});
    this.say('change');
  }

  // Begins a new answer from the first n tokens of this one and another token.
  async branch(id, n, other) {
    const old = this.tree.get(id), data = await readData(id);
    const tokens = [...data.tokens.slice(0, n), other.id], model = this.model(old.settings || this.c.settings)?.id;
    const text = async (ids, special) => (ids.length ? (await postJson('detokenize', {tokens: ids, special, model})).content : '');
    const isEnd = (await text([other.id], false)) === '' && other.piece !== '';
    const [content, reasoning] = n ? data.places[n - 1] : [0, 0];
    const message = this.add('assistant', old.parent, {settings: {...old.settings, seed: old.seed ?? old.settings?.seed ?? ''}, branched: n});
    const isPlain = !old.reasoning && !old.calls?.length;
    message.content = isPlain ? await text(isEnd ? tokens.slice(0, -1) : tokens, false) : old.content.slice(0, content);
    if (old.reasoning) message.reasoning = old.reasoning.slice(0, reasoning);
    if (!isPlain && !isEnd) {
      const isThought = reasoning < old.reasoning?.length && (data.places[n]?.[1] ?? 0) > reasoning;
      if (isThought) message.reasoning += other.piece;
      else message.content += other.piece;
    }
    const fresh = {...emptyData(), tokens, data: [...data.data.slice(0, n), {...other, top: data.data[n]?.top || []}],
      places: [...data.places.slice(0, n), [message.content.length, (message.reasoning || '').length]]};
    if (isEnd) {
      message.finish = 'stop';
      await saveMessage(message, fresh);
    } else this.generate(message, fresh, {goesOn: true});
    this.say('change');
    await this.save();
  }

  // spent: tokens that count against the limit of an answer that goes on.
  async body(message, data, goesOn, spent = message.branched === undefined ? 0 : data.tokens.length) {
    const settings = withDefaults(message.settings || this.c.settings), body = requestOf(settings, this.info().strategies);
    const above = this.tree.above(message.id), model = this.model(settings);
    if (model) message.model = model.id;
    if (goesOn && message.seed !== undefined) body.seed = message.seed;
    // Drawn here, so that an answer that is cut can go on as it would have.
    message.seed = body.seed ??= drawSeed();
    if (goesOn && body.max_tokens > 0) body.max_tokens = Math.max(1, body.max_tokens - spent);
    if (!model || model.meta.can_chat) {
      const tokens = goesOn ? data.tokens : [], says = goesOn && !tokens.length && message.content;
      body.messages = messagesOf(settings.system, says ? [...above, message] : above);
      const {list} = await this.toolsOf(message);
      if (list.length) body.tools = [...body.tools || [], ...list];
      if (tokens.length) body.reply_tokens = tokens;
      else if (says) body.continue_final_message = true;
      return body;
    }
    for (const name of ['tools', 'chat_template_kwargs', 'truncate']) delete body[name];
    const text = plainText(settings.system, above);
    if (!goesOn) return {...body, prompt: text};
    return data.tokens.length ? {...body, prompt: text, reply_tokens: data.tokens} : {...body, prompt: text + message.content};
  }

  async generate(message, data, {goesOn = false, stream = null, mayGoOn = true} = {}) {
    const run = {message, data, talk: this, state: 'waiting', words: '', saved: performance.now()};
    runs.set(message.id, run);
    message.state = 'running';
    delete message.error;
    run.answer = new Answer(message, data);
    const tell = () => run.talk.say('message', message), hadTokens = stream ? 0 : data.tokens.length;
    try {
      const body = stream ? null : await this.body(message, data, goesOn);
      if (run.isStopped) throw new DOMException('stopped', 'AbortError');
      run.generation = new Generation(stream ? {stream} : {body}, {
        named: s => { message.stream = s; this.keep(run); },
        state: (word, words) => { Object.assign(run, {state: word, words}); tell(); },
        again: e => {
          if (!mayGoOn) throw e;
          Object.assign(run, {state: 'gone', words: ''});
          this.cut(run);
          tell();
          return this.body(message, data, true, data.tokens.length - hadTokens);
        },
        chunk: chunk => {
          run.answer.add(chunk);
          run.state = 'open';
          if (performance.now() - run.saved > SAVE_MS + data.tokens.length * SAVE_TOKENS) queueMicrotask(() => this.keep(run));
          tell();
        },
      });
      await run.generation.run();
      message.state = 'done';
    } catch (e) {
      if (run.isAbandoned) return;
      run.answer.cutToSafe();
      message.state = e.name === 'AbortError' || (stream && !mayGoOn) ? 'stopped' : 'failed';
      if (message.state === 'failed') message.error = {message: e.message};
    }
    delete message.stream;
    delete message.rest;
    message.figures = run.answer.figures();
    runs.delete(message.id);
    await saveMessage(message, data);
    run.talk.say('change');
    run.talk.say('ended', message);
    if (message.state === 'done' && message.calls?.length) await run.talk.callAllowed(message);
  }

  // The tools of MCP servers that an answer may call. Those that are compared have none.
  async toolsOf(message) {
    const {mcp = [], tools = ''} = message.settings || {};
    if (!mcp.length || message.compare) return {list: [], owners: new Map()};
    const found = await toolsOf(mcp, readTools(tools) || []);
    this.owners.set(JSON.stringify([mcp, tools]), found.owners);
    return found;
  }

  // Who has the tool of a call: {url, tool}. Undefined: nobody, or it is not known yet; then `change` follows.
  ownerOf(message, call) {
    const {mcp = [], tools = ''} = message.settings || {}, key = JSON.stringify([mcp, tools]);
    if (!mcp.length || message.compare) return undefined;
    if (!this.owners.has(key)) {
      this.owners.set(key, new Map());
      this.toolsOf(message).then(() => this.say('change'), () => { /* the user answers the call */ });
    }
    return this.owners.get(key).get(call.name);
  }

  // The results below an answer's calls that are shown.
  resultsOf(message) {
    const list = [];
    for (let m = this.tree.shownChild(message.id); m?.role === 'tool'; m = this.tree.shownChild(m.id)) list.push(m);
    return list;
  }
  resultOf(message, call) { return this.resultsOf(message).find(m => m.callId === call.id); }

  // Takes the result of a call; once all of an answer's calls have one, the next answer begins.
  answerCall(message, call, text, more = {}) {
    if (!this.tree.get(message.id) || this.resultOf(message, call)) return null;
    const result = this.add('tool', (this.resultsOf(message).at(-1) || message).id, {content: text, callId: call.id, name: call.name, ...more});
    const saved = this.keepMessage(result);
    if (message.calls.every(c => this.resultOf(message, c))) this.begin(result.id, this.c.settings);
    else this.say('change');
    return saved;
  }

  async callTool(message, call) {
    const result = await runCall(this, message, call, this.ownerOf(message, call));
    if (result) await result.talk.answerCall(message, call, result.text, result.isError ? {isError: true} : {});
  }

  allowTool(message, call) {
    consentOf(this.c.id).allow(this.ownerOf(message, call));
    return this.callAllowed(message);
  }

  // Calls what the user has allowed for the conversation, unless it went on for long without a word from them.
  async callAllowed(message) {
    if (await this.toolsOf(message).catch(() => null) === null) return;
    const consent = consentOf(this.c.id), open = message.calls.filter(c => !this.resultOf(message, c));
    const allowed = open.filter(c => { const owner = this.ownerOf(message, c); return owner && consent.allows(owner); });
    if (mayGoOn([...this.tree.above(message.id), message])) await Promise.all(allowed.map(c => this.callTool(message, c)));
  }

  // An answer whose stream is gone goes on from its last whole text, or from the beginning where calls of tools had begun.
  cut(run) {
    const {message, data} = run;
    run.answer.cutToSafe();
    delete message.rest;
    if (message.calls?.length) {
      Object.assign(message, {content: '', reasoning: undefined, calls: undefined});
      Object.assign(data, emptyData());
    }
    run.answer = new Answer(message, data);
  }

  // Saves an answer in progress together with the number of its last event.
  keep(run) {
    run.saved = performance.now();
    if (run.message.stream) run.message.stream.at = Date.now();
    run.message.rest = run.answer.rest;
    saveMessage(run.message, run.data);
  }

  // Resumes an answer that was running when its page was closed, if the server still has its stream.
  async takeUp(message) {
    const data = (await readData(message.id)) || emptyData();
    if (message.stream) return this.generate(message, data, {stream: {...message.stream}, mayGoOn: Date.now() - message.stream.at < UNASKED_MS});
    message.state = 'stopped';
    await saveMessage(message);
    this.say('change');
  }

  // Restarts a failed answer.
  async again(id) {
    const message = this.tree.get(id);
    Object.assign(message, {content: '', reasoning: undefined, calls: undefined, seed: undefined});
    this.generate(message, emptyData());
    this.say('change');
  }

  keepMessage(message) { return Promise.all([saveMessage(message), this.save()]); }

  stop(id) {
    const run = runs.get(id);
    if (!run) return;
    run.isStopped = true;
    run.generation?.stop();
  }
  stopAll() {
    stopCalls(this.c.id);
    for (const [id, run] of runs) if (run.talk.c.id === this.c.id) this.stop(id);
  }

  select(id) {
    this.tree.select(id);
    this.say('change');
    return this.isNew || this.isDeleted ? null : saveConversation(this.c);
  }

  // Resolves to a function that undoes the removal.
  async remove(id) {
    const below = [this.tree.get(id)];
    for (let i = 0; i < below.length; i++) below.push(...this.tree.children(below[i].id));
    for (const m of below) {
      this.stop(m.id);
      m.calls?.forEach(c => stopCall(m, c));
    }
    const data = await Promise.all(below.map(m => readData(m.id))), selected = {...this.c.selected};
    this.tree.remove(id);
    this.say('change');
    await Promise.all([removeMessages(this.c.id, below.map(m => m.id)), this.save()]);
    return async () => {
      below.forEach(m => this.tree.add(m));
      Object.assign(this.c.selected, selected);
      this.say('change');
      await Promise.all([...below.map((m, i) => saveMessage(m, data[i])), this.save()]);
    };
  }

  // Merges another tab's changes. Answers in progress here stay, and the shown messages stay selected.
  async merge() {
    const list = await readMessages(this.c.id);
    for (const m of this.tree.path()) this.c.selected[m.parent] = m.id;
    const known = new Set(list.map(m => m.id));
    for (const id of this.stored) {
      if (known.has(id) || !this.tree.get(id)) continue;
      this.stop(id);
      this.tree.remove(id);
    }
    this.stored = known;
    for (const m of list) {
      const run = runs.get(m.id);
      if (run?.state === 'elsewhere' && m.state !== 'running') {        // the other tab has read it to the end
        run.isAbandoned = true;
        runs.delete(m.id);
        run.generation.abandon();
      } else if (run) continue;
      if ((m.rev || 0) > (this.tree.get(m.id)?.rev ?? -1)) this.tree.add(m);
    }
    this.say('change');
  }
}
