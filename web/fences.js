// What the user wrote: shown as it is, with its fenced code as blocks.
import {CodeBlock} from './code.js';
import {h} from './dom.js';

// Returns pieces {text} and {text, language}. A fence that is not closed goes to the end, as in Markdown.
export function piecesOf(text) {
  const pieces = [];
  let held = [], fence = '', language = '';
  const flush = isCode => {
    if (held.length) pieces.push(isCode ? {text: held.join('\n'), language} : {text: held.join('\n')});
    held = [];
  };
  for (const line of text.split(/\r\n?|\n/)) {
    const [, mark, rest] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) || [];
    if (!fence && mark && !(mark[0] === '`' && rest.includes('`'))) {
      flush(false);
      [fence, language] = [mark, rest.trim().split(/[\s{,:]+/)[0].slice(0, 30)];
    } else if (fence && mark?.startsWith(fence) && !rest.trim()) {
      flush(true);
      fence = '';
    } else held.push(line);
  }
  flush(Boolean(fence));
  if (pieces.length < 2) return pieces;
  return pieces.map(p => (p.language === undefined ? {text: p.text.replace(/^\n+|\n+$/g, '')} : p)).filter(p => p.language !== undefined || p.text.trim());
}

export const writtenNodes = text => piecesOf(text).map(p => (p.language === undefined ? h('p.plain', {dir: 'auto'}, p.text) : new CodeBlock(p.language, p.text).el));
