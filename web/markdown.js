// Renders growing Markdown block by block, so that finished blocks are not rendered again.
//
// All HTML goes through DOMPurify; code is inserted as text. External images become links. Text that would take
// the parser too long (a line of more than 5,000 characters, 50,000 without a blank line, deep nesting) is
// shown as plain text.
import {Marked} from './vendor/marked.js';
import DOMPurify from './vendor/purify.js';
import {copyText, h, iconButton} from './dom.js';

const LINE_LIMIT = 5000, STRETCH_LIMIT = 50000, BLOCK_LIMIT = 240000;
const DEEP = /^(?:(?:[ \t]*(?:>|[-*+](?=[ \t])|\d+[.)](?=[ \t]))){40}|[ \t]{80,}(?:[-*+>]|\d+[.)]))/;
const marked = new Marked({gfm: true, breaks: false});
const RULES = {
  ALLOWED_TAGS: ['a', 'b', 'blockquote', 'br', 'code', 'del', 'details', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i',
    'img', 'input', 'kbd', 'li', 'mark', 'ol', 'p', 'pre', 's', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
  ALLOWED_ATTR: ['href', 'src', 'alt', 'title', 'align', 'start', 'type', 'checked', 'disabled', 'open'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);base64,)/i,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

function mend(fragment) {
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
    if (input.getAttribute('type') !== 'checkbox') input.remove();
    else input.disabled = true;
  }
  for (const table of fragment.querySelectorAll('table')) {
    const box = h('.table', {tabindex: '0', role: 'region', 'aria-label': 'Table'});
    table.replaceWith(box);
    box.append(table);
  }
  for (const pre of fragment.querySelectorAll('pre')) pre.replaceWith(codeBlock(pre.textContent, ''));
  return fragment;
}

function codeBlock(text, language) {
  const code = h('code', text);
  const copy = iconButton('copy', 'Copy code', () => copyText(code.textContent, copy));
  const name = language || 'text', box = h('pre', {tabindex: '0', role: 'region', 'aria-label': `Code: ${name}`}, code);
  return h('.code', h('.code-head', h('span', name), copy), box);
}

const language = token => (token.lang || '').trim().split(/\s+/)[0].slice(0, 30);
const plain = text => h('p.plain', text);

const isHard = line => line.length > LINE_LIMIT || DEEP.test(line);

// Splits a text into the lexer's blocks. Lines that are too hard to parse (isHard) become plain blocks of their
// own, except in code.
function blocksOf(text) {
  const blocks = [], lines = text.split(/(?<=\n)/);
  let held = '', fence = '', stretch = 0;
  const flush = () => {
    if (held) try { blocks.push(...marked.lexer(held)); } catch { blocks.push({type: 'plain', raw: held}); }
    held = '';
  };
  for (const line of lines) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (!fence && mark) fence = mark;
    else if (fence && mark?.startsWith(fence)) fence = '';
    stretch = fence || !line.trim() ? 0 : stretch + line.length;
    if (fence || (stretch <= STRETCH_LIMIT && !isHard(line))) {
      held += line;
      continue;
    }
    flush();
    if (blocks.at(-1)?.type === 'plain') blocks.at(-1).raw += line;
    else blocks.push({type: 'plain', raw: line});
  }
  flush();
  return blocks;
}

function render(token) {
  if (token.type === 'code') return codeBlock(token.text, language(token));
  if (token.type === 'plain') return plain(token.raw);
  if (token.raw.length > BLOCK_LIMIT) return plain(token.raw);
  const list = [token];
  list.links = token.links || {};
  try {
    const fragment = mend(DOMPurify.sanitize(marked.parser(list), RULES));
    return h('.block', {dir: 'auto'}, fragment);
  } catch {
    return plain(token.raw);
  }
}

// A view of one text. Call set() with the whole text whenever it has grown.
export class MarkdownView {
  constructor(el) {
    Object.assign(this, {el, blocks: [], text: '', settled: 0});        // settled: number of characters in final blocks
    el.classList.add('markdown');
  }

  // Returns the text of the blocks that became final in this call, for screen readers.
  set(text, isLast) {
    text = text.replace(/\r\n?/g, '\n');
    if (text === this.text && !isLast) return '';
    if (!text.startsWith(this.text.slice(0, this.settled))) this.clear();
    const kept = this.blocks.filter(b => b.isSettled), from = isLast ? 0 : this.settled;
    const before = isLast ? [] : kept, old = isLast ? this.blocks : this.blocks.slice(kept.length);
    const now = blocksOf(text.slice(from)).filter(t => t.type !== 'space' && t.type !== 'def');
    const made = now.map((token, i) => this.reuse(old[i], token));
    old.slice(made.length).forEach(b => b.el.remove());
    this.blocks = [...before, ...made];
    this.text = text;
    return this.settle(text, from, isLast);
  }

  reuse(there, token) {
    if (there && there.raw === token.raw && there.type === token.type) return there;
    if (there && there.type === 'code' && token.type === 'code' && there.lang === token.lang) {
      const code = there.el.querySelector('code');
      if (token.text.startsWith(code.textContent)) code.append(token.text.slice(code.textContent.length));
      else code.textContent = token.text;
      code.normalize();
      return Object.assign(there, {raw: token.raw});
    }
    const el = render(token);
    if (there) there.el.replaceWith(el);
    else this.el.append(el);
    return {raw: token.raw, type: token.type, lang: token.lang, el, isSettled: false};
  }

  // All blocks except the last two are final: a list may still absorb what follows one blank line.
  settle(text, from, isLast) {
    const open = isLast ? 0 : 2;
    let at = from, said = '';
    for (const b of this.blocks.slice(this.blocks.filter(x => x.isSettled && !isLast).length, Math.max(0, this.blocks.length - open))) {
      const place = text.indexOf(b.raw, at);
      if (place < 0) break;
      at = place + b.raw.length;
      if (!b.isSettled) said += `${b.el.querySelector('code')?.textContent ? 'Code block. ' : ''}${b.el.textContent}\n`;
      b.isSettled = true;
      this.settled = at;
    }
    return said;
  }

  clear() {
    this.el.replaceChildren();
    Object.assign(this, {blocks: [], text: '', settled: 0});
  }
}
