// Places in HTML that elements of our own are put into after it was cleaned: TeX, footnotes. A place has a name that the text cannot
// know, so that a text's own HTML cannot claim one.
import {unique} from './dom.js';

const secret = unique();
let tokens = [];

export const clearSlots = () => { tokens = []; };

// Returns the HTML of a place for a token; inner: HTML that belongs in it.
export function slot(kind, token, inner) {
  tokens.push([kind, token]);
  const name = `title="${secret} ${tokens.length - 1}"`;
  return inner === undefined ? `<i ${name}></i>` : `<blockquote ${name}>${inner}</blockquote>`;
}

// make: {kind: (token, element) => what replaces the place}.
export function fillSlots(fragment, make) {
  for (const el of fragment.querySelectorAll(`[title^="${secret} "]`)) {
    const [kind, token] = tokens[Number(el.title.slice(secret.length))];
    el.replaceWith(make[kind](token, el));
  }
}
