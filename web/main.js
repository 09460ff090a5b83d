// The page: creates its parts and decides which conversation and which view is shown.
import {getJson, key, NetworkError, onKeyNeeded, setKey} from './api.js';
import {ChatView} from './chat.js';
import {CompareView} from './compare.js';
import {Composer} from './composer.js';
import {draftOf, keepDraft} from './drafts.js';
import {contextOf, showContext} from './context_meter.js';
import {announce, dialog, fill, find, h, iconButton, toast} from './dom.js';
import {help, listen} from './keyboard.js';
import {keepPage} from './offline.js';
import {ServerView} from './server_view.js';
import {labelled, SettingsForm} from './settings.js';
import {withDefaults} from './settings_model.js';
import {Sidebar} from './sidebar.js';
import {listConversations, onOtherTab, onStoreError, openStore, readConversation, saveConversation} from './store.js';
import {runs, Talk} from './talk.js';
import {setServers} from './tools.js';
import {chooseLanguage, chosenLanguage, language, languages, t} from './words.js';

const LAST = 'runnel-settings';
let models = [], props = {sampling: [], presets: [], strategies: []}, talk = null, view = 'chat';
const info = () => ({models, strategies: props.strategies});
const main = find('main'), narrow = matchMedia('(max-width: 50rem)');

// ---- the server: what it is, and its key ----------------------------------------------------------------------------

onKeyNeeded(() => dialog(t('This server requires an API key'), close => {
  const input = h('input', {type: 'password', autocomplete: 'current-password', required: true, minlength: '16', maxlength: '256'});
  const remember = h('input', {type: 'checkbox', id: 'remember'});
  return h('form', {id: 'key-form', onsubmit: e => { e.preventDefault(); setKey(input.value.trim(), remember.checked); close(true); }},
    key() ? h('p.error', t('The server refused the key it was given.')) : null, labelled(t('Key'), input, t('It is sent to this server only.')),
    h('label.check', remember, t('Remember it in this browser')), h('button.primary', {type: 'submit'}, t('Use it')));
}));

async function ask() {
  const [list, found, adapters] = await Promise.all([getJson('v1/models'), getJson('props'), getJson('lora-adapters')]);
  models = list.data;
  props = {...found, adapters};
  setServers(props.mcp_servers);
  Object.assign(compare, {props, models});
}

// Resolves when the server has answered or is known to be away. Then conversations can be read, and it is asked again.
async function connect() {
  try {
    await ask();
  } catch (e) {
    away(e);
  }
}

const RETRY_MS = 5000;
const notice = h('.notice', {role: 'status', hidden: true});
function away(e) {
  let timer = 0;
  const again = async () => {
    clearTimeout(timer);
    try {
      await ask();
    } catch (other) {
      return away(other);
    }
    notice.hidden = true;
    showModel();
    redraw();
    if (!find('settings').hidden) openSettings(true);
    return null;
  };
  notice.hidden = false;
  fill(notice, h('span', `${e.message} ${t('What is kept in this browser can be read.')}`), h('button', {type: 'button', onclick: again}, t('Try again')));
  // Only what may pass by itself: a refused key does not.
  if (e instanceof NetworkError) timer = setTimeout(again, RETRY_MS);
}

// ---- what is shown --------------------------------------------------------------------------------------------------

const title = h('h1', {id: 'title'}), bar = find('bar');
const viewButtons = [['chat', 'chat', t('Chat')], ['compare', 'columns', t('Compare')], ['server', 'server', t('Server')]]
  .map(([name, icon, label]) => iconButton(icon, label, () => soon(showView, name), {text: true, 'data-view': name}));
const picker = h('select', {id: 'model', 'aria-label': t('Model'), onchange: () => pickModel(picker.value)});
const menuButton = iconButton('menu', t('Conversations'), () => openSide(true), {id: 'open-side', 'aria-expanded': 'false'});
const settingsButton = iconButton('tune', t('Settings'), () => soon(toggleSettings), {id: 'open-settings', 'aria-expanded': 'false'});
bar.append(menuButton, h('.heading', title, picker), h('.views', {role: 'group', 'aria-label': t('View')}, viewButtons),
  iconButton('keys', t('Keys (?)'), help, {id: 'open-keys'}), settingsButton);

const chat = new ChatView(main), server = new ServerView();
let compare = null;
const composer = new Composer(find('composer'), {onSend: send, onStop: () => talk?.stopAll(), onInput: text => keepDraft(draftName(), text),
  modelOf: () => talk?.model(talk.c.settings)?.id});
const draftName = () => (talk && !talk.isNew ? talk.c.id : '');
const sidebar = new Sidebar(find('sidebar'), {
  onOpen: (id, message) => soon(open, id, message), onNew: () => soon(fresh), onClose: () => openSide(false),
});
sidebar.onDeleted = id => { for (const [message, run] of runs) if (run.talk.c.id === id) run.talk.stop(message); };
sidebar.onChanged = async c => {
  if (c.id === talk.c.id) Object.assign(talk.c, {title: c.title});
  await saveConversation(c.id === talk.c.id ? talk.c : c);
  showTitle();
};

const empty = () => {
  const model = talk.model(talk.c.settings), canChat = model?.meta.can_chat !== false;
  return h('.empty', h('p.big', canChat ? t('Ask something.') : t('Begin a story.')),
    h('p', model ? t(canChat ? '{model} answers.' : '{model} answers: it has no chat template, so it continues your text.', {model: model.id}) : ''),
    h('p.hint', t('Everything stays between this browser and this server. ? lists the keys.')));
};

function languageBox() {
  const box = h('select', {onchange: () => { chooseLanguage(box.value); location.reload(); }}, h('option', {value: ''}, t('as the browser')),
    Object.entries(languages).map(([code, name]) => h('option', {value: code, lang: code}, name)));
  box.value = chosenLanguage();
  return box;
}

function showModel() {
  fill(picker, models.map(m => h('option', {value: m.id}, m.id)));
  picker.value = talk.model(talk.c.settings)?.id ?? '';
  picker.disabled = models.length < 2;
  composer.attached.look(talk.model(talk.c.settings)?.meta.sees);
  showContext(composer.context, contextOf(talk.tree.path(), talk.model(talk.c.settings)));
}

function pickModel(id) {
  Object.assign(talk.c.settings, {model: id, lora: {}});
  keepSettings(talk.c.settings);
  if (!find('settings').hidden) openSettings(true);
  picker.focus();
}

function keepSettings(settings) {
  try { localStorage.setItem(LAST, JSON.stringify(settings)); } catch { /* for this conversation only */ }
  if (!talk.isNew && !talk.isDeleted) saveConversation(talk.c);
  showModel();
}

function showTitle() {
  title.textContent = talk.c.title || t('New conversation');
  document.title = talk.c.title ? `${talk.c.title} - runnel` : 'runnel';
}

function showView(name) {
  view = name;
  for (const b of viewButtons) b.setAttribute('aria-pressed', String(b.dataset.view === name));
  fill(main, {chat: chat.el, compare: compare.el, server: server.el}[name], name === 'chat' ? chat.down : null);
  main.setAttribute('aria-label', {chat: t('Conversation'), compare: t('Compare'), server: t('Server')}[name]);
  document.body.dataset.view = name;
  server.open(name === 'server');
  if (name === 'chat') chat.draw();
  if (name === 'compare') compare.show(talk);
  showRunning();
}

function showRunning() {
  composer.running(talk.isRunning());
  const n = [...runs.values()].filter(r => r.talk.c.id !== talk.c.id).length;
  composer.hint.textContent = n ? t(n === 1 ? '{n} answer in other conversations' : '{n} answers in other conversations', {n}) : '';
}

function openSide(isOpen) {
  document.body.classList.toggle('side-open', isOpen);
  menuButton.setAttribute('aria-expanded', String(isOpen));
  find('shade').hidden = !isOpen;
  if (narrow.matches) (isOpen ? sidebar.search : menuButton).focus();
}
find('shade').addEventListener('click', () => { openSide(false); openSettings(false); });

function toggleSettings() { openSettings(find('settings').hidden); }

function openSettings(isOpen) {
  const panel = find('settings');
  const hadFocus = panel.contains(document.activeElement);
  panel.hidden = !isOpen;
  settingsButton.setAttribute('aria-expanded', String(isOpen));
  if (narrow.matches) find('shade').hidden = !isOpen;
  if (!isOpen) {
    if (hadFocus) settingsButton.focus();
    return;
  }
  const form = new SettingsForm(props, models, talk.c.settings, keepSettings);
  const theme = h('select', {onchange: () => runnelTheme.set(theme.value)}, [['system', t('as the system')], ['light', t('light')], ['dark', t('dark')]].map(([value, words]) => h('option', {value}, words)));
  theme.value = runnelTheme.get();
  const forget = () => {
    setKey('', false);
    openSettings(true);
  };
  fill(panel, h('.panel-head', h('h2', {tabindex: '-1'}, t('Settings')), iconButton('close', t('Close the settings'), () => openSettings(false))), form.el,
    h('fieldset', h('legend', t('This browser')), labelled(t('Language'), languageBox()), labelled(t('Theme'), theme), key() && h('button', {type: 'button', onclick: forget}, t('Forget the key'))));
  panel.querySelector('h2').focus();
}

// ---- conversations --------------------------------------------------------------------------------------------------

let setBegun = null;
const begun = new Promise(resolve => { setBegun = resolve; });      // there is a conversation: the server was reached

// Keys and buttons work from the page's first moment: what they do needs a conversation, and waits for it.
function soon(action, ...args) { begun.then(() => action(...args)); }

function use(next, message) {
  const early = talk ? '' : composer.area.value;       // written before the server answered
  if (early) keepDraft('', '');
  talk = next;
  if (early) keepDraft(draftName(), early);
  composer.set(draftOf(draftName()));
  setBegun();
  const mine = fn => e => { if (talk === next) fn(e.detail); };
  next.addEventListener('change', mine(() => { redraw(); showRunning(); showModel(); }));
  next.addEventListener('message', mine(m => { chat.grow(m); compare.grow(m); }));
  next.addEventListener('saved', mine(() => { showTitle(); sidebar.current = talk.c.id; address(); sidebar.draw(); }));
  next.addEventListener('ended', () => showRunning());
  sidebar.current = next.isNew ? '' : next.c.id;
  showTitle();
  showModel();
  address();
  chat.show(next, empty);
  showView(view === 'server' || message ? 'chat' : view);
  if (!find('settings').hidden) openSettings(true);
  if (message) {
    if (next.tree.get(message)) next.select(message);
    chat.showMessage(message);
  }
  sidebar.draw();
}

function redraw() {
  if (view === 'chat') chat.draw();
  if (view === 'compare') compare.draw();
}

const address = () => history.replaceState(null, '', talk.isNew ? location.pathname + location.search : `#${talk.c.id}`);

function lastSettings() {
  try { return withDefaults(JSON.parse(localStorage.getItem(LAST))); } catch { return withDefaults({}); }
}

function fresh() {
  const next = new Talk(info, null, null);
  next.c.settings = {...lastSettings()};
  use(next);
  openSide(false);
  composer.focus();
}

async function open(id, message) {
  const c = id === talk?.c.id && !talk.isNew ? talk.c : await readConversation(id);
  if (!c || c.deleted) return fresh();
  use(await Talk.open(info, c), message);
  if (narrow.matches) openSide(false);
  if (!message) composer.focus();
  return null;
}

async function send(text, files, taken) {
  await begun;
  if (!models.length) {
    notice.firstChild.textContent = t('The server cannot be reached: what you wrote stays here.');
    return;
  }
  if (talk.last?.state === 'running' || talk.isCalling()) {
    toast(t('The answer is still coming: wait for it, or stop it (Escape).'));
    return;
  }
  const name = draftName(), more = files.length ? {files} : {}, isCompared = view === 'compare';
  try {
    const sent = talk.send(text, undefined, isCompared ? compare.settings(talk.c.settings) : undefined, more);
    taken();
    keepDraft(name, '');
    announce(t('The answer begins.'));
    chat.toEnd();           // now: who scrolls up while the message is saved stays there
    const answers = await sent;
    if (isCompared) compare.started(text, answers);
    showRunning();
  } catch (e) {
    toast(e.message, {isError: true});
  }
}

async function neighbour(n) {
  const list = await listConversations(), at = list.findIndex(c => c.id === talk.c.id), to = list[at < 0 ? 0 : at + n];
  if (to) open(to.id);
}

// ---- begin ----------------------------------------------------------------------------------------------------------

listen({
  stop: () => {
    if (document.body.classList.contains('side-open') && narrow.matches) openSide(false);
    else if (!find('settings').hidden && find('settings').contains(document.activeElement)) openSettings(false);
    else if (talk?.isRunning()) talk.stopAll();
    else return false;
    return true;
  },
  help, fresh: () => soon(fresh), above: () => soon(neighbour, -1), below: () => soon(neighbour, 1), write: () => composer.focus(),
  search: () => { if (narrow.matches) openSide(true); sidebar.search.focus(); sidebar.search.select(); },
  chat: () => soon(showView, 'chat'), compare: () => soon(showView, 'compare'), server: () => soon(showView, 'server'),
  settings: () => soon(toggleSettings),
  regenerate: () => { const last = chat.lastAnswer(); if (last && !last.run) talk.regenerate(last.message.id); },
  tokens: () => { const last = chat.lastAnswer(); if (last && !last.run) last.toggleTokens(); },
});
// Another tab deleted the conversation that is shown: it stays readable here, and comes back when one writes in it.
function gone() {
  if (talk.isDeleted) return;
  talk.isDeleted = true;
  talk.stopAll();
  const mine = talk;
  toast(t('This conversation was deleted in another tab. It comes back if you write in it.'), {ms: 60000, action: t('Keep it'), onaction: () => mine.save()});
}

onStoreError(text => toast(text, {isError: true}));
onOtherTab(async ({conv}) => {
  sidebar.draw();
  if (conv !== talk?.c.id || talk.isNew) return;
  const c = await readConversation(conv);
  if (talk.c.id !== conv) return;
  if (!c || c.deleted) return gone();
  talk.isDeleted = false;
  talk.c.title = c.title;
  await talk.merge();
  showTitle();
});
setInterval(() => { for (const [id, run] of runs) if (run.talk === talk) { chat.grow({id}); compare?.grow({id}); } }, 1000);

// What index.html says itself.
function translate() {
  document.documentElement.lang = language;
  document.querySelector('.skip').textContent = t('Skip to the message box');
  for (const [id, words] of [['sidebar', t('Conversations')], ['main', t('Conversation')], ['settings', t('Settings')]]) find(id).setAttribute('aria-label', words);
}

async function begin() {
  translate();
  fill(main);
  try {
    await openStore();
  } catch (e) {
    toast(t('Conversations cannot be kept in this browser: {why}', {why: e.message}), {isError: true});
  }
  sidebar.draw();
  compare = new CompareView({props, models, onKeep: id => { talk.select(id); showView('chat'); chat.showMessage(id); }});
  find('composer').prepend(notice);
  await connect();
  const id = location.hash.slice(1);
  if (id) await open(id);
  else fresh();
  keepPage();
}
begin();
