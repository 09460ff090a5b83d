// Markdown as models write it: GitHub's, with TeX and footnotes. Tokens only; markdown_nodes.js makes elements of them.
//
// TeX: $$..$$ and \[..\] as blocks or in a line, \(..\), \begin{align} and the like, and $..$ where it is not money: no space inside
// the dollars, no letter or digit outside, no words in between. A `\(` without an end keeps its backslash.
import {Marked} from './vendor/marked.js';
import {slot} from './slots.js';

const TEX_LIMIT = 5000, LABEL = '\\[\\^([^\\]\\s]{1,60})\\]';
const LINE_LIMIT = 5000, STRETCH_LIMIT = 50000;
const DEEP = /^(?:(?:[ \t]*(?:>|[-*+](?=[ \t])|\d+[.)](?=[ \t]))){40}|[ \t]{80,}(?:[-*+>]|\d+[.)]))/;

// [expression, is it displayed, further condition on the TeX]. Alternatives exclude each other, so that matching takes linear time.
const blockForms = [
  [/^ {0,3}\$\$((?:[^$\\]|\\[\s\S])+)\$\$[ \t]*(?:\n+|$)/],
  [/^ {0,3}\\\[((?:[^\\]|\\[^[\]])+)\\\][ \t]*(?:\n+|$)/],
  [/^ {0,3}(\\begin\{((?:equation|align|alignat|gather|multline|aligned|gathered|cases|array|[pbvBV]?matrix)\*?)\}(?:[^\\]|\\(?!end\{\2\}))*\\end\{\2\})[ \t]*(?:\n+|$)/],
];
const isMoney = tex => {
  const rest = tex.replace(/\\[a-z]*(?:\{[^}]*\})?/g, '');
  return /[A-Za-z]{3,}[\s,]+[A-Za-z]{2,}/.test(rest) || /^\d.*\s[A-Za-z]{2,}\s/.test(rest);
};
const inlineForms = [
  [/^\\\(((?:[^\\]|\\[^()])+)\\\)/, false],
  [/^\\\[((?:[^\\]|\\[^[\]])+)\\\]/, true, tex => /[\\^_=]/.test(tex)],
  [/^\$\$((?:[^$\\]|\\[\s\S])+)\$\$/, true],
  [/^\$(?![\s$])((?:[^$\\`\n]|\\[^\n])+)\$(?![\w$])/, false, tex => !/\s$/.test(tex) && !isMoney(tex)],
];

let isGrowing = false;          // the text may go on: what is begun at its end may still be closed

function match(src, forms) {
  for (const [form, isDisplay, holds] of forms) {
    const m = form.exec(src);
    if (m && m[1].length <= TEX_LIMIT && m[1].trim() && (!holds || holds(m[1]))) return {type: 'tex', raw: m[0], tex: m[1].trim(), isDisplay};
  }
  return undefined;
}

const texBlock = {
  name: 'texBlock', level: 'block',
  start: src => { const m = /\n {0,3}(?:\$\$|\\\[|\\begin\{)/.exec(src); return m ? m.index + 1 : undefined; },
  tokenizer(src) {
    const token = match(src, blockForms);
    if (token) return {...token, type: 'texBlock', isDisplay: true};
    // Begun and not closed yet: nothing of it is taken for Markdown meanwhile.
    const isOpen = isGrowing && this.lexer.state.top && src.length <= TEX_LIMIT && /^ {0,3}(?:\$\$(?!\$)|\\\[)[^$]*$/.test(src) && !/\\\]/.test(src);
    return isOpen ? {type: 'texBlock', raw: src, tex: src, isOpen} : undefined;
  },
  renderer: token => slot('tex', token),
};
const texInline = {
  name: 'tex', level: 'inline',
  start: src => { const m = /(?<![\w$\\])\$|\\[([]/.exec(src); return m ? m.index : undefined; },
  tokenizer: src => match(src, inlineForms),
  renderer: token => slot('tex', token),
};

const noteStart = new RegExp(`^ {0,3}${LABEL}:[ \\t]*`);
// A footnote: its first line, lines that follow without a gap, and indented paragraphs.
const note = {
  name: 'note', level: 'block', childTokens: ['tokens'],
  start: src => { const at = src.search(new RegExp(`\\n {0,3}${LABEL}:`)); return at < 0 ? undefined : at + 1; },
  tokenizer(src) {
    const begin = noteStart.exec(src);
    if (!begin) return undefined;
    const lines = src.split(/(?<=\n)/);
    let n = 1;
    while (n < lines.length) {
      const isBlank = !lines[n].trim(), wasBlank = !lines[n - 1].trim();
      if (noteStart.test(lines[n]) || (!isBlank && wasBlank && !/^(?: {2,}|\t)/.test(lines[n]))) break;
      n++;
    }
    const raw = lines.slice(0, n).join(''), body = raw.slice(begin[0].length).replace(/\n(?: {4}|\t| {2,3})/g, '\n');
    return {type: 'note', raw, label: begin[1], tokens: this.lexer.blockTokens(body.trimEnd(), [])};
  },
  renderer(token) { return slot('note', token, this.parser.parse(token.tokens)); },
};
const noteMark = {
  name: 'noteMark', level: 'inline',
  start: src => { const at = src.indexOf('[^'); return at < 0 ? undefined : at; },
  tokenizer: src => { const m = new RegExp(`^${LABEL}`).exec(src); return m ? {type: 'noteMark', raw: m[0], label: m[1]} : undefined; },
  renderer: token => slot('noteMark', token),
};

const marked = new Marked({gfm: true, breaks: false});
marked.use({
  extensions: [texBlock, texInline, note, noteMark],
  renderer: {code: token => slot('code', token)},
  tokenizer: {escape: src => (/^\\[()]/.test(src) ? {type: 'escape', raw: src.slice(0, 2), text: src.slice(0, 2)} : false)},
});

const isHard = line => line.length > LINE_LIMIT || DEEP.test(line);

// Splits a text into the lexer's blocks. Lines that are too hard to parse (isHard) become plain blocks of their
// own, except in code.
export function blocksOf(text, mayGrow) {
  const blocks = [], lines = text.split(/(?<=\n)/);
  let held = '', fence = '', stretch = 0;
  const flush = () => {
    if (held) try { blocks.push(...marked.lexer(held)); } catch { blocks.push({type: 'plain', raw: held}); }
    held = '';
  };
  isGrowing = mayGrow;
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

export const htmlOf = list => marked.parser(list);
