// Full-text search: all words must occur; ignores case and accents.

// Folds character by character, so that indices are the same in the folded and the original (NFC) text.
export const fold = text => Array.from(text.normalize('NFC'), c => {
  const plain = c.normalize('NFD').replace(/\p{M}+/gu, '').toLowerCase();
  return plain.length === c.length ? plain : c;
}).join('');

export const words = question => fold(question).split(/\s+/).filter(Boolean);

// Returns the index of the first match of any word; -1: a word is missing.
export function matchAt(folded, list) {
  let first = -1;
  for (const word of list) {
    const at = folded.indexOf(word);
    if (at < 0) return -1;
    if (first < 0 || at < first) first = at;
  }
  return first;
}

// Returns the text around index `at`, cut at spaces if possible, as pieces [text, isMatch].
export function snippet(text, at, list, width = 90) {
  text = text.normalize('NFC');
  let from = Math.max(0, at - 30), to = Math.min(text.length, from + width);
  if (from > 0) from = Math.max(from, text.lastIndexOf(' ', at - 1) + 1 > from ? text.indexOf(' ', from) + 1 : from);
  const part = text.slice(from, to).replace(/\s/g, ' '), folded = fold(part), pieces = [];
  let done = 0;
  while (done < part.length) {
    const hits = list.map(w => [folded.indexOf(w, done), w.length]).filter(([i]) => i >= 0).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    if (!hits.length) break;
    const [i, n] = hits[0];
    if (i > done) pieces.push([part.slice(done, i), false]);
    pieces.push([part.slice(i, i + n), true]);
    done = i + n;
  }
  if (done < part.length) pieces.push([part.slice(done), false]);
  if (from > 0) pieces.unshift(['… ', false]);
  if (to < text.length) pieces.push([' …', false]);
  return pieces;
}
