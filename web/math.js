// TeX as MathML, which browsers draw: by Temml, which is loaded when the first formula comes. Until then, and where a formula has a
// mistake, its TeX is shown.
import DOMPurify from './vendor/purify.js';
import {h} from './dom.js';
import {t} from './words.js';

const RULES = {USE_PROFILES: {mathMl: true}, ADD_TAGS: ['span'], ADD_ATTR: ['style', 'class'], FORBID_ATTR: ['id', 'href', 'xlink:href', 'src'], IN_PLACE: true};
const OPTIONS = {throwOnError: true, trust: false, maxSize: [40, 400], maxExpand: 500};
let loading = null, isLooked = false;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const at = name => new URL(`page/${name}`, document.baseURI).href;
    document.head.append(h('link', {rel: 'stylesheet', href: at('math.css')}), h('script', {src: at('vendor/temml.js'), onload: resolve, onerror: reject}));
  });
  return loading.then(() => { if (!isLooked) lookAtFont(); isLooked = true; });
}

// A font without tables for mathematics has no distance for subscripts, and they would stand on the line: markdown.css lowers them.
function lookAtFont() {
  const probe = h('span.math.unseen');
  globalThis.temml.render('x_0', probe, OPTIONS);
  document.body.append(probe);
  const [letter, index] = ['mi', 'mn'].map(name => probe.querySelector(name).getBoundingClientRect());
  document.documentElement.classList.toggle('plain-math', index.bottom - letter.bottom < letter.height * 0.1);
  probe.remove();
}

function draw(el, {tex, isDisplay}) {
  const made = h('span');
  try {
    globalThis.temml.render(tex, made, {...OPTIONS, displayMode: Boolean(isDisplay)});
    DOMPurify.sanitize(made, RULES);
    el.replaceChildren(...made.childNodes);
    el.classList.remove('raw');
    el.title = tex.slice(0, 500);
  } catch (e) {
    el.title = String(e.message).slice(0, 200);
  }
}

export function mathOf(token) {
  const el = h(token.isDisplay ? 'span.math.display.raw' : 'span.math.raw', token.isOpen ? {'aria-busy': 'true'} : {}, token.raw.trim());
  if (token.isDisplay) Object.assign(el, {tabIndex: 0, role: 'group', ariaLabel: t('Formula')});
  if (token.isOpen) return el;
  if (globalThis.temml) draw(el, token);
  else load().then(() => draw(el, token), () => { loading = null; });
  return el;
}
