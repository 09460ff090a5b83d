// One message on the page: its text, reasoning, tool calls, and the buttons below.
import {CallsView} from './calls.js';
import {announce, copyText, fill, h, iconButton, toast} from './dom.js';
import {writtenNodes} from './fences.js';
import {fileNodes} from './files.js';
import {figureLine, shortFigures} from './figures.js';
import {MarkdownView} from './markdown.js';
import {readData} from './store.js';
import {runs} from './talk.js';
import {tokenView} from './tokens.js';
import {t} from './words.js';

const NAMES = {user: t('You'), assistant: t('Answer'), tool: t('Tool result')};
const STATES = {waiting: t('Waiting for the server'), queued: t('Waiting in the queue'), prefill: t('Reading the prompt'), open: t('Answering'),
  reconnecting: t('The server cannot be reached: trying again'), busy: t('The server is busy: trying again'), gone: t('The server was restarted: going on'), elsewhere: t('This answer is being read in another tab')};
const FINISHES = {length: t('Token limit reached'), cancelled: t('Cancelled'), error: t('Ended with an error'), timeout: t('Timed out')};

export class MessageView {
  // isAsleep: nothing is drawn before wake(), since a long conversation has a thousand messages and a window shows ten.
  constructor(message, talk, {isAsleep = false} = {}) {
    Object.assign(this, {message, talk, isTokens: false, isEditing: false, said: '', isAsleep});
    this.el = h(`article.message.${message.role}`, {'data-id': message.id, tabindex: '-1'});
    if (isAsleep) Object.assign(this.el.dataset, {asleep: '', state: message.state});
    else this.wake();
  }

  build() {
    this.body = h('.body');
    this.thought = h('details.thought', h('summary', t('Thoughts')), h('.thought-text'));
    this.answers = h('details.answers', {hidden: true});
    this.calls = new CallsView(h('.calls'));
    this.state = h('.state');
    this.foot = h('details.foot', {hidden: true}, h('summary', {title: t('Figures')}), h('.foot-all'));
    this.who = h('h2.who');
    this.tools = h('.tools', {role: 'toolbar', 'aria-label': t('Message')});
    this.el.append(this.who, this.thought, this.body, this.answers, this.calls.el, this.state, h('.under', this.tools, this.foot));
    this.thoughtView = new MarkdownView(this.thought.lastChild);
    if (this.message.role === 'assistant') this.markdown = new MarkdownView(this.body);
    this.foot.addEventListener('toggle', () => { if (this.foot.open && !this.run && this.gaps === undefined) this.loadGaps(); });
  }

  wake() {
    this.isAsleep = false;
    delete this.el.dataset.asleep;
    this.build();
    this.update(this.message);
  }

  // Draws anew what is not its text, where it may have changed.
  update(message) {
    if (this.isAsleep) return this.refresh(message);
    const all = this.talk.tree.siblings(message.id);
    const key = [message.rev, message.state, message.finish, Boolean(message.error), all.length, all.indexOf(message)].join();
    if (message === this.message && key === this.key && message.state !== 'running') return this.calls.show(message, this.talk);
    this.key = key;
    return this.refresh(message);
  }

  get run() { return runs.get(this.message.id); }

  // Call after any change other than more text.
  refresh(message = this.message) {
    this.message = message;
    if (this.isEditing || this.isAsleep) return;
    this.grow();
    this.tools.replaceChildren(...this.buttons());
    this.who.textContent = this.name();
    this.el.setAttribute('aria-label', this.name() + this.branchWords());
  }

  // Shows what has arrived since the last frame.
  grow() {
    if (this.isAsleep) return;
    const {message: m, run} = this;
    this.el.setAttribute('aria-busy', String(m.state === 'running'));
    this.el.dataset.state = m.state;
    this.thought.hidden = !m.reasoning;
    if (m.reasoning) {
      this.thought.firstChild.textContent = m.state === 'running' && !m.content ? t('Thinking ...') : t('Thoughts');
      if (this.thought.open || m.state !== 'running') this.thoughtView.set(m.reasoning, m.state !== 'running');
      else this.thought.ontoggle = () => this.thoughtView.set(this.message.reasoning, false);
    }
    if (!this.isTokens) this.text();
    this.showAnswers();
    this.calls.show(m, this.talk);
    this.showState();
    const figures = run ? run.answer.figures() : m.figures;
    this.foot.hidden = !figures || !shortFigures(figures);
    if (figures) this.showFigures(figures, run ? run.data.gaps : this.gaps);
  }

  showFigures(figures, gaps) {
    const [summary, all] = this.foot.children, {seed} = this.message;
    summary.textContent = shortFigures(figures);
    fill(all, figureLine(figures, gaps), seed !== undefined && h('span.seed', t('seed {seed}', {seed})));
  }

  // An answer has the name of its model, a result that of its tool.
  name() {
    if (this.message.role === 'tool' && this.message.name) return t(this.message.isError ? '{name} failed' : 'Result of {name}', {name: this.message.name});
    return (this.message.role === 'assistant' && (this.message.model || this.message.settings?.model)) || NAMES[this.message.role];
  }

  async loadGaps() {
    this.gaps = [];
    this.gaps = (await readData(this.message.id))?.gaps || [];
    if (this.gaps.length > 1) this.grow();
  }

  text() {
    const {message: m} = this;
    if (!this.markdown) {
      if (this.shown !== m.content || !this.body.firstChild) this.body.replaceChildren(...(m.role === 'user' ? [...fileNodes(m.files), ...writtenNodes(m.content)] : [h('p.plain', {dir: 'auto', tabindex: '0'}, m.content)]));
      this.shown = m.content;
      return;
    }
    const isOver = m.state !== 'running', done = this.markdown.set(m.content, isOver);
    if (!this.run && !this.wasRunning) return;      // finished messages are not announced
    this.wasRunning = true;
    this.said += done;
    if (this.said.trim() && (isOver || this.said.length > 80)) {
      announce(this.said.trim().slice(0, 2000));
      this.said = '';
    }
    if (isOver) {
      this.wasRunning = false;
      announce(m.state === 'done' ? t('The answer is complete.') : t('The answer ended early.'));
    }
  }

  // What else a search found, once: an answer that has ended stays as it is.
  showAnswers() {
    const list = this.message.sequences;
    if (Boolean(list) !== this.answers.hidden) return;
    this.answers.hidden = !list;
    if (!list) return;
    this.answers.replaceChildren(h('summary', t('{n} answers, the best first', {n: list.length})),
      h('ol', list.map(q => h('li', h('span.hint', t('score {score}', {score: q.score.toFixed(4)})), h('p.plain', {dir: 'auto'}, q.text.trim())))));
  }

  showState() {
    const {message: m, run} = this, list = [];
    if (run) list.push(h('span.working', `${STATES[run.state] || ''}${run.words && (run.state === 'prefill' ? ` (${run.words})` : ` ${run.words}`)}`));
    if (run && run.state !== 'open') list[0].classList.add('loud');
    const again = () => iconButton('redo', m.content ? t('Go on') : t('Try again'), () => this.retry(), {text: true});
    if (m.error) list.push(h('p.error', {role: 'alert'}, m.error.message), again());
    else if (m.state === 'stopped') list.push(h('span', t('Stopped')));
    else if (!run && FINISHES[m.finish]) list.push(h('span', FINISHES[m.finish]));
    if (m.dropped) list.push(h('span', t(m.dropped === 1 ? '{n} earlier message did not fit and went unread' : '{n} earlier messages did not fit and went unread', {n: m.dropped})));
    const key = list.map(n => n.textContent).join('|');
    if (key !== this.stateKey) this.state.replaceChildren(...list);
    this.stateKey = key;
  }

  retry() { return this.message.content || this.message.reasoning ? this.talk.resume(this.message.id) : this.talk.again(this.message.id); }

  branchWords() {
    const all = this.talk.tree.siblings(this.message.id);
    return all.length > 1 ? `, ${t('{at} of {n}', {at: all.indexOf(this.message) + 1, n: all.length})}` : '';
  }

  buttons() {
    const {message: m, talk} = this, all = talk.tree.siblings(m.id), at = all.indexOf(m), list = [];
    const isOver = m.state !== 'running', isAnswer = m.role === 'assistant';
    const step = (n, icon, label, action) => iconButton(icon, label, () => talk.select(talk.tree.step(m.id, n).id), {'data-do': action});
    if (all.length > 1) list.push(h('span.branches', step(-1, 'back', t('Previous version'), 'previous'),
      h('span', `${at + 1}/${all.length}`), step(1, 'next', t('Next version'), 'following')));
    if (!isOver) return list;
    const copy = iconButton('copy', t('Copy'), () => copyText(m.content, copy), {'data-do': 'copy'});
    list.push(copy);
    const isCut = m.state === 'stopped' || m.state === 'failed' || m.finish === 'length' || m.finish === 'edited';
    if (isAnswer && isCut && (m.content || m.reasoning) && !m.calls?.length)
      list.push(iconButton('play', t('Continue'), () => talk.resume(m.id), {text: true, 'data-do': 'continue'}));
    if (isAnswer) list.push(iconButton('redo', t('Another answer'), () => talk.regenerate(m.id), {'data-do': 'regenerate'}));
    if (m.role !== 'tool') list.push(iconButton('edit', t('Edit'), () => this.edit(), {'data-do': 'edit'}));
    if (isAnswer) list.push(iconButton('tokens', t('Tokens'), () => this.toggleTokens(), {'data-do': 'tokens', 'aria-pressed': String(this.isTokens)}));
    list.push(iconButton('trash', t('Delete from here'), () => this.remove(), {'data-do': 'delete'}));
    return list;
  }

  edit() {
    this.isEditing = true;
    const rows = String(Math.min(20, this.message.content.split('\n').length + 2));
    const area = h('textarea', {value: this.message.content, 'aria-label': t('Edit the message'), rows});
    const end = () => {
      this.isEditing = false;
      this.body.replaceChildren();
      this.markdown?.clear();
      this.refresh();
      this.tools.querySelector('[data-do=edit]')?.focus();
    };
    const save = async () => {
      const text = area.value;
      end();
      if ((text.trim() || this.message.files) && text !== this.message.content) await this.talk.edit(this.message.id, text);
    };
    area.addEventListener('keydown', e => {
      if (e.key === 'Escape') { e.stopPropagation(); end(); }
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) save();
    });
    const button = (name, words, onclick) => h(name, {type: 'button', onclick}, words);
    const words = this.message.role === 'user' ? t('Send') : t('Save');
    this.body.replaceChildren(area, h('.row', button('button.primary', words, save), button('button', t('Cancel'), end)));
    this.tools.replaceChildren();
    area.focus();
  }

  async remove() {
    const restore = await this.talk.remove(this.message.id);
    toast(t('Deleted, with what came after it.'), {action: t('Undo'), onaction: restore});
  }

  async toggleTokens() {
    this.isTokens = !this.isTokens;
    this.body.replaceChildren();
    this.markdown.clear();
    if (this.isTokens) tokenView(this.body, (await readData(this.message.id)) || {data: []}, (n, alt) => this.talk.branch(this.message.id, n, alt));
    this.refresh();
    this.tools.querySelector('[data-do=tokens]')?.focus();
  }
}
