// The calls of tools of one answer: what is called with what, and how its result comes: from an MCP server once the user agrees, else
// from the user.
import {h, iconButton} from './dom.js';
import {isRunning, serverName, stopCall} from './tools.js';
import {t} from './words.js';

function pretty(json) {
  try { return JSON.stringify(JSON.parse(json), null, 2); } catch { return json; }
}

export class CallsView {
  constructor(el) { Object.assign(this, {el, key: ''}); }

  // Draws anew where something changed, so that what is written into a form stays.
  show(message, talk) {
    const calls = (message.calls || []).filter(Boolean), isOver = message.state !== 'running';
    const states = calls.map(c => (!isOver ? 'coming' : talk.resultOf(message, c) ? 'answered' : isRunning(message, c) ? 'running' : talk.ownerOf(message, c) ? 'asked' : 'open'));
    const key = JSON.stringify([calls, states]);
    if (key === this.key) return;
    this.key = key;
    const hadFocus = this.el.contains(document.activeElement);
    const last = {answered: () => null, coming: () => null, running: c => this.working(message, c), asked: c => this.question(message, talk, c), open: c => this.form(message, talk, c)};
    this.el.replaceChildren(...calls.map((c, i) => h('details.call', {open: states[i] !== 'answered'}, h('summary', t('Calls {name}', {name: c.name || '...'})),
      h('pre', {tabindex: '0'}, h('code', pretty(c.arguments))), last[states[i]](c))));
    if (hadFocus) (this.el.querySelector('button') || this.el.closest('.message'))?.focus({preventScroll: true});
  }

  form(message, talk, call) {
    const send = e => {
      e.preventDefault();
      talk.answerCall(message, call, new FormData(e.target).get('result'));
    };
    return h('form.result', {onsubmit: send}, h('label', t('Result of {name}', {name: call.name}), h('textarea', {rows: '2', name: 'result', required: true})),
      h('button', {type: 'submit'}, t('Send result')));
  }

  working(message, call) {
    return h('.row.consent', h('span.working.loud', {role: 'status'}, t('The tool is at work')), iconButton('stop', t('Stop the tool'), () => stopCall(message, call), {text: true}));
  }

  question(message, talk, call) {
    const {url} = talk.ownerOf(message, call), button = (name, words, onclick) => h(name, {type: 'button', onclick}, words);
    return h('.consent', {role: 'group', 'aria-label': t('May it be called?')},
      h('p', t('{server} would get this call. May it be called?', {server: serverName(url)})),
      h('.row', button('button.primary', t('Call it'), () => talk.callTool(message, call)),
        button('button', t('Always in this conversation'), () => talk.allowTool(message, call)),
        button('button', t('Refuse'), () => talk.answerCall(message, call, 'The user refused this call.', {isError: true}))));
  }
}
