// Where texts that are shown part: the first character that differs, marked in the page by the CSS Custom Highlight API, which
// leaves the text's elements alone. A browser without it shows the words alone.
import {t} from './words.js';

function* textNodes(el) {
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) yield walker.currentNode;
}

// Whole characters that both texts begin with, in UTF-16 units.
export function commonLength(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  const last = n ? a.charCodeAt(n - 1) : 0;
  return last >= 0xD800 && last <= 0xDBFF ? n - 1 : n;
}

// The word around a place of an element's text, or behind it where there is none, as a range.
function rangeAt(el, text, place) {
  const at = place - /\S*$/.exec(text.slice(0, place))[0].length, rest = /^\s*\S*/.exec(text.slice(at))[0].length, range = new Range();
  let before = 0, isSet = false;
  for (const node of textNodes(el)) {
    const end = before + node.length;
    if (!isSet && at < end) {
      range.setStart(node, at - before);
      isSet = true;
    }
    if (isSet && at + rest <= end) {
      range.setEnd(node, at + rest - before);
      return range;
    }
    before = end;
  }
  return null;
}

// bodies: elements, or undefined. Returns for each {common: characters, isSame} beside the first; null: there is nothing to compare.
export function markParting(bodies) {
  const texts = bodies.map(b => b?.textContent ?? null), ranges = [];
  const partings = texts.map((text, i) => {
    if (i === 0 || !text || !texts[0]) return null;
    const common = commonLength(texts[0], text), isSame = text === texts[0];
    for (const k of [0, i]) {
      const range = common < texts[k].length ? rangeAt(bodies[k], texts[k], common) : null;
      if (range) ranges.push(range);
    }
    return {common: [...text.slice(0, common)].length, isSame};
  });
  if (globalThis.Highlight && CSS.highlights) CSS.highlights.set('parting', new Highlight(...ranges));
  return partings;
}

export function partingWords(p) {
  if (!p) return '';
  return p.isSame ? t('The same text as in column 1.') : t(p.common === 1 ? 'Goes on otherwise than column 1 after {n} character.' : 'Goes on otherwise than column 1 after {n} characters.', {n: p.common});
}
