// Global keyboard shortcuts, and the dialog that lists them.
import {dialog, h} from './dom.js';
import {t} from './words.js';

const MAC = navigator.platform.startsWith('Mac');
const isTyping = e => /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.isContentEditable;

// [keys, description, name of the action]. Single letters work only outside of text fields.
const rows = [
  ['Enter', t('Send the message'), null], ['Shift+Enter', t('Start a new line'), null], ['Escape', t('Stop the answer; close what is open'), 'stop'],
  ['Alt+N', t('New conversation'), 'fresh'], ['Control+K', t('Search conversations'), 'search'], ['Alt+ArrowUp', t('Conversation above'), 'above'],
  ['Alt+ArrowDown', t('Conversation below'), 'below'], ['Alt+1', t('Chat'), 'chat'], ['Alt+2', t('Compare'), 'compare'], ['Alt+3', t('Server'), 'server'],
  ['Alt+S', t('Settings'), 'settings'], ['/', t('Go to the message box'), 'write'], ['r', t('Another answer'), 'regenerate'],
  ['t', t('Tokens of the last answer'), 'tokens'], ['?', t('This list'), 'help'],
];

function nameOf(e) {
  const parts = [(MAC ? e.metaKey : e.ctrlKey) && 'Control', e.altKey && 'Alt', e.shiftKey && e.key.length > 1 && 'Shift'].filter(Boolean);
  const plain = e.altKey && /^(?:Key|Digit)(.)$/.exec(e.code)?.[1];        // Alt gives other characters on some keyboards
  return [...parts, plain || (e.key.length === 1 && parts.length ? e.key.toUpperCase() : e.key)].join('+');
}

export function listen(actions) {
  addEventListener('keydown', e => {
    if (e.defaultPrevented || e.isComposing) return;
    const name = nameOf(e), row = rows.find(([keys, , action]) => action && keys === name);
    if (!row || (row[0].length === 1 && isTyping(e)) || (document.querySelector('dialog[open]') && row[2] !== 'stop')) return;
    if (row[2] === 'stop' && document.querySelector('dialog[open]')) return;
    if (actions[row[2]]() !== false) e.preventDefault();
  });
}

const shown = key => ({Control: MAC ? 'Cmd' : 'Ctrl', ArrowUp: 'Up', ArrowDown: 'Down'}[key] || key);
const keyList = keys => keys.split('+').map((key, i) => [i ? '+' : '', h('kbd', shown(key))]);
export const help = () => dialog(t('Keys'), () => h('dl.keys', rows.map(([keys, what]) => h('div', h('dt', keyList(keys)), h('dd', what)))));
