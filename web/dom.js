// Creates and finds elements, icons, notifications and dialogs.
import {t} from './words.js';

const present = parts => parts.flat(9).filter(p => p !== null && p !== undefined && p !== false);

// h('button.small', {onclick, title, 'aria-label': ...}, children ...): attributes by name, properties where they are functions or booleans.
export function h(tag, ...parts) {
  const [name, ...classes] = tag.split('.');
  const el = document.createElement(name || 'div');
  if (classes.length) el.className = classes.join(' ');
  for (const part of parts) {
    if (part && typeof part === 'object' && !(part instanceof Node) && !Array.isArray(part)) set(el, part);
    else el.append(...present([part]));
  }
  return el;
}

// Replaces an element's children, skipping null.
export function fill(el, ...parts) {
  el.replaceChildren(...present(parts));
  return el;
}

export function set(el, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function' || typeof value === 'boolean' || name === 'value' || name === 'htmlFor') el[name] = value;
    else if (value === null || value === undefined) el.removeAttribute(name);
    else el.setAttribute(name, value);
  }
  return el;
}

export const find = id => document.getElementById(id);

const paths = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  plus: 'M12 5v14M5 12h14',
  send: 'M5 12h14M13 6l6 6-6 6',
  stop: 'M7 7h10v10H7z',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  redo: 'M4 12a8 8 0 1 1 2.5 5.8M4 20v-5h5',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  next: 'M9 6l6 6-6 6',
  back: 'M15 6l-6 6 6 6',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  search: 'M11 5a6 6 0 1 0 0 12a6 6 0 0 0 0-12M16 16l4 4',
  tune: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  chat: 'M4 5h16v11H9l-5 4z',
  columns: 'M4 5h7v14H4zM13 5h7v14h-7z',
  server: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  tokens: 'M4 7h6v4H4zM12 7h8v4h-8zM4 13h9v4H4zM15 13h5v4h-5z',
  play: 'M7 5l11 7-11 7z',
  keys: 'M3 7h18v10H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  down: 'M12 5v13M6 13l6 6 6-6',
  attach: 'M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 5 5l-8.5 8.5a1.7 1.7 0 0 1-2.5-2.5L15 7',
  camera: 'M4 8h4l2-3h4l2 3h4v11H4zM12 10a3.5 3.5 0 1 0 0 7a3.5 3.5 0 0 0 0-7',
  check: 'M5 12l5 5 9-10',
};
const SVG = 'http://www.w3.org/2000/svg';
export function svg(name, attributes, ...children) {
  const el = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) el.setAttribute(key, value);
  el.append(...children);
  return el;
}
export const icon = name => svg('svg', {viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true'}, svg('path', {d: paths[name]}));

// A button with an icon. The label is its accessible name; it is shown if `text` is set.
export function iconButton(name, label, onclick, {text = false, ...more} = {}) {
  const button = h('button', {type: 'button', title: label, onclick, ...more}, icon(name), text ? h('span', label) : null);
  button.classList.add(text ? 'with-text' : 'bare');
  if (!text) button.setAttribute('aria-label', label);
  return button;
}

// A notification that disappears by itself, with an optional action. Errors stay until they are closed.
export function toast(text, {action, onaction, isError = false, ms = 8000} = {}) {
  const close = () => { clearTimeout(timer); el.remove(); };
  const el = h(isError ? '.toast.error' : '.toast', {role: isError ? 'alert' : null}, h('span', text),
    action ? h('button', {type: 'button', onclick: () => { close(); onaction(); }}, action) : null,
    iconButton('close', t('Close'), close));
  const timer = isError ? 0 : setTimeout(close, ms);
  find('toasts').append(el);
  while (find('toasts').children.length > 4) find('toasts').firstChild.remove();
  return close;
}

// A modal dialog. Resolves to the value passed to close(), or to undefined for Escape.
export function dialog(title, build) {
  return new Promise(resolve => {
    let value;
    const el = h('dialog', {'aria-label': title});
    const close = v => { value = v; el.close(); };
    el.append(h('.dialog-head', h('h2', title), iconButton('close', t('Close'), () => close())), build(close));
    el.addEventListener('close', () => { el.remove(); resolve(value); });
    el.addEventListener('click', e => { if (e.target === el) close(); });
    document.body.append(el);
    el.showModal();
  });
}

export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {            // the clipboard API is not available over plain HTTP, except on localhost
    const area = h('textarea.unseen', {value: text, readonly: ''});
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  if (!button) return;
  button.replaceChildren(icon('check'));
  setTimeout(() => button.replaceChildren(icon('copy')), 1500);
  announce(t('Copied'));
}

// Announces complete pieces of text to screen readers.
export function announce(text) {
  const live = find('live');
  live.append(h('p', text));
  while (live.children.length > 20) live.firstChild.remove();
}

export const unique = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, '0')).join('');
