// Text files beside a message: read, counted in tokens, shown folded, and put before the message in the prompt as fenced code.
import {postJson} from './api.js';
import {CodeBlock} from './code.js';
import {h} from './dom.js';
import {pictureNode, pictureSize} from './pictures.js';
import {number, t} from './words.js';

export const LIMITS = {bytes: 1 << 20, files: 20, pasted: 8000};
const LANGUAGES = {c: 'c', h: 'c', cc: 'cpp', cpp: 'cpp', hpp: 'cpp', cs: 'csharp', css: 'css', diff: 'diff', patch: 'diff', go: 'go', html: 'html', java: 'java', js: 'js', mjs: 'js', json: 'json',
  kt: 'kotlin', lua: 'lua', md: 'markdown', php: 'php', pl: 'perl', py: 'python', r: 'r', rb: 'ruby', rs: 'rust', sh: 'bash', sql: 'sql', swift: 'swift', toml: 'toml', ts: 'ts', tex: 'latex',
  xml: 'xml', yaml: 'yaml', yml: 'yaml', hs: 'haskell', jl: 'julia', scala: 'scala', dart: 'dart', ps1: 'powershell', proto: 'protobuf', cmake: 'cmake', csv: '', txt: ''};
export const languageOf = name => (/^dockerfile$/i.test(name) ? 'dockerfile' : LANGUAGES[/\.(\w+)$/.exec(name)?.[1].toLowerCase()] ?? '');

// Resolves to {name, text}. Rejects with why it is none of text.
export async function readText(file) {
  const name = (file.name || 'pasted.txt').slice(-120);
  if (/^(?:image|audio|video)\//.test(file.type)) throw new Error(t('{name}: only text can be attached', {name}));
  if (file.size > LIMITS.bytes) throw new Error(t('{name}: {n} bytes, {most} are the limit', {name, n: file.size, most: LIMITS.bytes}));
  let text;
  try { text = new TextDecoder('utf-8', {fatal: true}).decode(await file.arrayBuffer()); } catch { throw new Error(t('{name}: not text (UTF-8)', {name})); }
  if (text.includes('\0')) throw new Error(t('{name}: not text, it has NUL bytes', {name}));
  return {name, text: text.replace(/\r\n?/g, '\n')};
}

// What a message says in the prompt: its files, then its text. A fence is longer than any in its file.
export function withFiles({content, files}) {
  const texts = (files || []).filter(f => !f.url);
  if (!texts.length) return content;
  const parts = texts.map(({name, text}) => {
    const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(m => m[0].length)), fence = '`'.repeat(longest + 1);
    return `${name}:\n${fence}${languageOf(name)}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
  });
  return [...parts, content].filter(Boolean).join('\n\n');
}

export async function countTokens(text, model) {
  return (await postJson('tokenize', {content: text, ...(model ? {model} : {})})).tokens.length;
}

export const sizeWords = ({url, text, tokens, ...size}) => (url ? pictureSize(size) : tokens === undefined ? t('{n} characters', {n: number(text.length)}) : t('{n} tokens', {n: number(tokens)}));

export const fileNodes = files => (files || []).map(f => {
  if (f.url) return pictureNode(f);
  const el = h('details.file', h('summary', h('b', f.name), h('span.hint', sizeWords(f))));
  el.addEventListener('toggle', () => { if (el.open && el.children.length === 1) el.append(new CodeBlock(languageOf(f.name), f.text).el); });
  return el;
});
