// Renders growing Markdown block by block, so that finished blocks are not rendered again. Text that would take
// the parser too long (a line of more than 5,000 characters, 50,000 without a blank line, deep nesting) is
// shown as plain text.
import {nodeOf} from './markdown_nodes.js';
import {blocksOf} from './markdown_syntax.js';
import {linkNotes} from './notes.js';

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
    const now = blocksOf(text.slice(from), !isLast).filter(t => t.type !== 'space' && t.type !== 'def');
    const made = now.map((token, i) => this.reuse(old[i], token, isLast || i < now.length - 1));
    old.slice(made.length).forEach(b => b.el.remove());
    this.blocks = [...before, ...made];
    this.text = text;
    if (text.includes('[^')) linkNotes(this.el);
    return this.settle(text, from, isLast);
  }

  reuse(there, token, isOver) {
    if (there && there.raw === token.raw && there.type === token.type && Boolean(there.isOpen) === Boolean(token.isOpen)) {
      if (there.code && isOver && !there.isOver) there.code.set(token.text, there.isOver = true);
      return there;
    }
    if (there?.code && token.type === 'code' && there.lang === token.lang) {
      there.code.set(token.text, isOver);
      return Object.assign(there, {raw: token.raw, isOver});
    }
    const {el, code} = nodeOf(token, isOver);
    if (there) there.el.replaceWith(el);
    else this.el.append(el);
    return {raw: token.raw, type: token.type, lang: token.lang, isOpen: token.isOpen, el, code, isOver, isSettled: false};
  }

  // All blocks except the last two are final: a list may still absorb what follows one blank line.
  settle(text, from, isLast) {
    const open = isLast ? 0 : 2;
    let at = from, said = '';
    for (const b of this.blocks.slice(this.blocks.filter(x => x.isSettled && !isLast).length, Math.max(0, this.blocks.length - open))) {
      const place = text.indexOf(b.raw, at);
      if (place < 0) break;
      at = place + b.raw.length;
      if (!b.isSettled) said += `${b.code ? 'Code block. ' : ''}${b.el.textContent}\n`;
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
