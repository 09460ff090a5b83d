// A block of code: its language, a button that copies it, and colours by highlight.js, which is loaded with the first block. Code that
// grows is coloured anew, but only the lines that changed are drawn again.
import DOMPurify from './vendor/purify.js';
import {copyText, h, iconButton} from './dom.js';
import {t} from './words.js';

const RULES = {ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], RETURN_DOM_FRAGMENT: true};
const SIZE_LIMIT = 100000, GROWING_LIMIT = 20000;
// Languages in files of their own, by the names that models write.
const OTHERS = {cmake: [], dart: [], dockerfile: ['docker', 'containerfile'], elixir: ['ex', 'exs'], haskell: ['hs'], julia: ['jl'], latex: ['tex'], matlab: ['octave'], nginx: [],
  ocaml: ['ml'], powershell: ['ps1', 'pwsh', 'ps'], protobuf: ['proto'], scala: []};
const fileOf = name => Object.keys(OTHERS).find(file => file === name || OTHERS[file].includes(name));

let library = null, loading = null;
const files = new Map();
async function load(name) {
  loading ??= import('./vendor/highlight/highlight.js').then(m => { library = m.default; });
  await loading;
  const file = !library.getLanguage(name) && fileOf(name);
  if (!file) return;
  if (!files.has(file)) files.set(file, import(`./vendor/highlight/${file}.js`).then(m => library.registerLanguage(file, m.default)));
  await files.get(file);
  if (name !== file) library.registerAliases(name, {languageName: file});
}

// Cuts highlight.js's HTML (text and nested spans) into lines that each stand alone.
export function linesOf(html) {
  const lines = [], open = [];
  for (const line of html.split(/(?<=\n)/)) {
    const before = open.join('');
    for (const [tag] of line.matchAll(/<span[^>]*>|<\/span>/g)) {
      if (tag === '</span>') open.pop();
      else open.push(tag);
    }
    lines.push(before + line + '</span>'.repeat(open.length));
  }
  return lines;
}

export class CodeBlock {
  constructor(language, text = '', isOver = true) {
    Object.assign(this, {language: language.toLowerCase(), lines: []});
    const name = language || 'text';
    this.code = h('code');
    const copy = iconButton('copy', t('Copy code'), () => copyText(this.code.textContent, copy));
    this.el = h('.code', h('.code-head', h('span', name), copy), h('pre', {tabindex: '0', role: 'region', 'aria-label': t('Code: {name}', {name})}, this.code));
    this.set(text, isOver);
  }

  set(text, isOver) {
    this.text = text;
    const limit = isOver ? SIZE_LIMIT : GROWING_LIMIT;
    if (!this.language || text.length > limit || /[^\n]{2000}/.test(text)) return this.plain();
    if (library?.getLanguage(this.language)) return this.colour();
    this.plain();
    if (this.isAsked) return null;
    this.isAsked = true;
    return load(this.language).then(() => { if (this.text.length <= SIZE_LIMIT && library.getLanguage(this.language)) this.colour(); }, () => { this.isAsked = false; });
  }

  plain() {
    const there = this.code.textContent;
    this.lines = [];
    if (this.text.startsWith(there) && !this.code.firstElementChild) this.code.append(this.text.slice(there.length));
    else this.code.textContent = this.text;
    this.code.normalize();
  }

  colour() {
    const lines = linesOf(library.highlight(this.text, {language: this.language, ignoreIllegals: true}).value);
    if (!this.lines.length) this.code.replaceChildren();
    let same = 0;
    while (same < lines.length && lines[same] === this.lines[same]) same++;
    while (this.code.childNodes.length > same) this.code.lastChild.remove();
    const html = lines.slice(same).map(line => `<span class="line">${line}</span>`).join('');
    this.code.append(DOMPurify.sanitize(html, RULES));
    this.lines = lines;
  }
}
