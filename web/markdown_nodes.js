// Makes elements of Markdown's blocks. All HTML goes through DOMPurify; code is inserted as text. External images become links.
import DOMPurify from './vendor/purify.js';
import {CodeBlock} from './code.js';
import {h} from './dom.js';
import {htmlOf} from './markdown_syntax.js';
import {mathOf} from './math.js';
import {noteMark, noteOf} from './notes.js';
import {clearSlots, fillSlots} from './slots.js';
import {t} from './words.js';

const BLOCK_LIMIT = 240000;
const plainValues = ['align', 'start', 'type', 'checked', 'disabled', 'open'];
const RULES = {
  ALLOWED_TAGS: ['a', 'b', 'blockquote', 'br', 'code', 'del', 'details', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i',
    'img', 'input', 'kbd', 'li', 'mark', 'ol', 'p', 'pre', 's', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
  ALLOWED_ATTR: ['href', 'src', 'alt', 'title', ...plainValues],
  // The expression below is for addresses. DOMPurify holds every attribute to it that is not listed here.
  ADD_URI_SAFE_ATTR: plainValues,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);base64,)/i,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

function mend(fragment) {
  fillSlots(fragment, {tex: mathOf, note: noteOf, noteMark, code: t => new CodeBlock(languageOf(t), t.text).el});
  for (const img of fragment.querySelectorAll('img')) {
    const src = img.getAttribute('src') || '', words = img.getAttribute('alt') || 'picture';
    if (/^data:image\//i.test(src)) continue;
    img.replaceWith(/^https?:/i.test(src) ? h('a', {href: src}, `${words} (picture: not loaded)`) : h('span', `${words} (picture)`));
  }
  for (const a of fragment.querySelectorAll('a')) {
    if (/^data:/i.test(a.getAttribute('href') || '')) a.removeAttribute('href');
    if (!a.getAttribute('href')) continue;
    a.target = '_blank';
    a.rel = 'noopener noreferrer nofollow';
    a.title = a.getAttribute('href').slice(0, 300);
  }
  for (const input of fragment.querySelectorAll('input')) {        // task lists
    if (input.getAttribute('type') !== 'checkbox') {
      input.remove();
      continue;
    }
    input.disabled = true;
    input.setAttribute('aria-label', input.checked ? t('done') : t('to do'));
    input.closest('li')?.classList.add('task');
  }
  for (const table of fragment.querySelectorAll('table')) {
    const box = h('.table', {tabindex: '0', role: 'region', 'aria-label': t('Table')});
    table.replaceWith(box);
    box.append(table);
  }
  for (const pre of fragment.querySelectorAll('pre:not(.code pre)')) pre.replaceWith(new CodeBlock('', pre.textContent.replace(/\n$/, '')).el);
  return fragment;
}

export const languageOf = token => (token.lang || '').trim().split(/[\s{,:]+/)[0].slice(0, 30);
const plain = text => h('p.plain', text);

// Returns {el, code: its CodeBlock where it is one}.
export function nodeOf(token, isOver) {
  if (token.type === 'code') {
    const code = new CodeBlock(languageOf(token), token.text, isOver);
    return {el: code.el, code};
  }
  if (token.type === 'plain' || token.raw.length > BLOCK_LIMIT) return {el: plain(token.raw)};
  const list = [token];
  list.links = token.links || {};
  clearSlots();
  try {
    return {el: h('.block', {dir: 'auto'}, mend(DOMPurify.sanitize(htmlOf(list), RULES)))};
  } catch {
    return {el: plain(token.raw)};
  }
}
