// Footnotes: a mark becomes a number once its note is there; until then it is the text that was written.
import {h} from './dom.js';
import {t} from './words.js';

export const noteMark = ({label, raw}) => h('span.note-mark', {'data-label': label}, raw);

export function noteOf({label}, el) {
  const body = h('.note-body');
  body.append(...el.childNodes);
  return h('.note', {'data-label': label, tabindex: '-1'}, h('span.note-number', `${label}.`), body);
}

const go = el => {
  el.scrollIntoView({block: 'nearest'});
  el.focus({preventScroll: true});
};

// Numbers follow the order of the marks, and notes that nothing names come last.
export function linkNotes(root) {
  const marks = [...root.querySelectorAll('.note-mark')], notes = new Map([...root.querySelectorAll('.note')].map(n => [n.dataset.label, n]));
  const order = [...new Set([...marks.map(m => m.dataset.label), ...notes.keys()])].filter(label => notes.has(label));
  for (const mark of marks) {
    const n = order.indexOf(mark.dataset.label) + 1, note = notes.get(mark.dataset.label);
    if (!note || mark.dataset.n === String(n)) continue;
    mark.dataset.n = n;
    mark.replaceChildren(h('button', {type: 'button', 'aria-label': t('Footnote {n}', {n}), onclick: () => go(note)}, String(n)));
  }
  for (const [label, note] of notes) {
    const n = order.indexOf(label) + 1, mark = marks.find(m => m.dataset.label === label);
    if (note.dataset.n === String(n)) continue;
    note.dataset.n = n;
    note.firstChild.replaceChildren(mark ? h('button', {type: 'button', 'aria-label': t('Back from footnote {n}', {n}), onclick: () => go(mark.firstChild)}, `${n}.`) : `${n}.`);
  }
}
