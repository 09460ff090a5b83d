// Compares two to four settings on one prompt, side by side, with one seed. The answers are versions of one message, so
// keeping one does not lose the others.
import {fill, h, iconButton} from './dom.js';
import {MessageView} from './message.js';
import {Painter} from './paint.js';
import {markParting, partingWords} from './parting.js';
import {SettingsForm} from './settings.js';
import {withDefaults} from './settings_model.js';
import {t} from './words.js';

const NAME = 'runnel-columns', MOST = 4, LEAST = 2;

// The settings that each column has of its own.
const column = ({model, strategy, preset, values, seed, max_tokens, stop, lora}) => ({model, strategy, preset, values, seed, max_tokens, stop, lora});

function readColumns() {
  try {
    const list = JSON.parse(localStorage.getItem(NAME));
    if (Array.isArray(list) && list.length >= LEAST && list.length <= MOST) return list.map(c => column(withDefaults(c)));
  } catch { /* none were kept */ }
  return ['greedy', 'creative'].map(strategy => column(withDefaults({strategy})));
}

export function summary(s) {
  const parts = [s.model, s.strategy, s.preset, ...Object.entries({...s.values, ...s.lora}).map(([name, v]) => `${name} ${v}`), s.seed && t('seed {seed}', {seed: s.seed})];
  return parts.filter(Boolean).join(', ') || 'defaults';
}

export class CompareView {
  constructor({props, models, onKeep}) {
    Object.assign(this, {props, models, onKeep, columns: readColumns(), views: new Map(), shown: []});
    this.painter = new Painter(ids => {
      ids.forEach(id => this.views.get(id)?.grow());
      this.mark();
    });
    this.grid = h('.columns');
    this.prompt = h('p.compare-prompt', {dir: 'auto'});
    this.add = iconButton('plus', t('Add a column'), () => this.change(() => this.columns.push(structuredClone(this.columns.at(-1)))), {text: true});
    const hint = h('p.hint', t('One prompt, several settings, one seed unless a column has its own. The answers are versions of one message.'));
    this.el = h('section.compare', {'aria-label': t('Compare')}, h('.compare-head', h('h2', t('Compare')), hint, this.add), this.prompt, this.grid);
  }

  keep() { try { localStorage.setItem(NAME, JSON.stringify(this.columns)); } catch { /* for this visit only */ } }

  change(how) {
    how();
    this.keep();
    this.draw();
  }

  settings(base) {
    const seed = base.seed || String(crypto.getRandomValues(new Uint32Array(1))[0]);
    return this.columns.map(c => ({...withDefaults(base), ...structuredClone(c), seed: c.seed || seed}));
  }

  show(talk) {
    this.talk = talk;
    const asked = talk.tree.path().filter(m => m.role === 'user').at(-1);
    const answers = asked ? talk.tree.children(asked.id).filter(m => m.compare) : [];
    this.shown = answers.slice(-Math.min(this.columns.length, answers.length));
    this.prompt.textContent = this.shown.length ? asked.content : '';
    this.draw();
  }

  started(asked, answers) {
    this.prompt.textContent = asked;
    this.shown = answers;
    this.draw();
  }

  draw() {
    const views = new Map(this.shown.map(m => [m.id, this.views.get(m.id) || new MessageView(m, this.talk)]));
    this.views = views;
    for (const v of views.values()) v.refresh(this.talk.tree.get(v.message.id) || v.message);
    this.add.disabled = this.columns.length === MOST;
    this.grid.style.setProperty('--columns', this.columns.length);
    const open = [...this.grid.querySelectorAll('details.column-settings')].map(d => d.open);
    fill(this.grid, this.columns.map((c, i) => this.column(c, i, views.get(this.shown[i]?.id), open[i])));
    this.mark();
  }

  // Marks where each text goes on otherwise than that of the first column.
  mark() {
    const bodies = this.shown.map(m => this.views.get(m.id)?.el.querySelector('.body'));
    const partings = markParting(bodies);
    this.grid.querySelectorAll('.parting').forEach((p, i) => { p.textContent = i ? partingWords(partings[i]) : ''; });
  }

  column(c, i, view, isOpen) {
    const words = h('span', summary(c));
    const form = new SettingsForm(this.props, this.models, c, () => { words.textContent = summary(c); this.keep(); }, {isColumn: true});
    const settings = h('details.column-settings', {open: Boolean(isOpen)}, h('summary', h('b', `${i + 1}`), words), form.el);
    const remove = this.columns.length > LEAST &&
      iconButton('close', t('Remove column {n}', {n: i + 1}), () => this.change(() => this.columns.splice(i, 1)));
    return h('section.column', {'aria-label': t('Column {n}', {n: i + 1})}, h('.column-head', settings, remove),
      view ? view.el : h('p.hint', t('Nothing yet.')), h('p.hint.parting'),
      view ? h('button.keep', {type: 'button', onclick: () => this.onKeep(view.message.id)}, t('Keep this one')) : null);
  }

  has(id) { return this.views.has(id); }
  grow(message) { if (this.views.has(message.id)) this.painter.due(message.id); }
}
