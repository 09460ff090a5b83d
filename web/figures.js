// An answer's figures: tokens per second, time to the first token, cached tokens, guesses, and a small plot of the
// gaps between tokens.
import {h, svg} from './dom.js';
import {t} from './words.js';

const ms = v => (v >= 10000 ? `${(v / 1000).toFixed(1)} s` : v >= 100 ? `${Math.round(v)} ms` : `${v.toFixed(1)} ms`);
export const figureWords = f => [
  f.tokens ? t(f.tokens === 1 ? '{n} token' : '{n} tokens', {n: f.tokens}) : null,
  f.rate ? t('{n} tokens/s', {n: f.rate.toFixed(f.rate < 10 ? 2 : f.rate < 100 ? 1 : 0)}) : null,
  f.first ? t('first after {time}', {time: ms(f.first)}) : f.waiting > 1000 ? t('waiting for {n} s', {n: (f.waiting / 1000).toFixed(0)}) : null,
  f.prompt !== null && f.prompt !== undefined ? t('prompt {n}, {cached} cached', {n: f.prompt, cached: f.cached}) : null,
  f.guesses ? `${f.right} of ${f.guesses} guesses right${f.rows ? `, ${f.rows.toFixed(2)} rows a token` : ''}${f.speedUp ? `, ${f.speedUp.toFixed(2)} times as fast` : ''}` : null,
].filter(Boolean);

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];

export function gapSummary(gaps) {
  const sorted = [...gaps].sort((a, b) => a - b);
  return t('{n} gaps: half below {half}, 99 % below {most}, longest {longest}', {n: gaps.length, half: ms(quantile(sorted, 0.5)), most: ms(quantile(sorted, 0.99)), longest: ms(sorted.at(-1))});
}

const WIDTH = 160, HEIGHT = 28;
// At most 80 bars; each shows the longest gap of its range. Heights are logarithmic, since one long pause would
// flatten all others.
export function plot(gaps) {
  const n = Math.min(gaps.length, WIDTH / 2), bars = [];
  const border = i => Math.floor(i * gaps.length / n);
  for (let i = 0; i < n; i++) bars.push(Math.max(...gaps.slice(border(i), border(i + 1))));
  const top = Math.log(1 + Math.max(...bars, 1)), words = gapSummary(gaps);
  const height = gap => 1 + Math.log(1 + gap) / top * (HEIGHT - 3);
  const d = bars.map((g, i) => `M${(i * WIDTH / n + 0.5).toFixed(1)} ${HEIGHT}v${(-height(g)).toFixed(1)}`).join('');
  const title = svg('title', {});
  title.textContent = words;
  return svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'plot', role: 'img', 'aria-label': words}, title, svg('path', {d}));
}

// One line while the rest is folded.
export const shortFigures = f => [f.tokens ? figureWords(f)[0] : null, f.rate ? figureWords({...f, tokens: 0})[0] : null, !f.tokens && f.waiting > 1000 ? figureWords(f)[0] : null]
  .filter(Boolean).join(', ');

export function figureLine(figures, gaps) {
  return h('.figures', figureWords(figures).map(w => h('span', w)), gaps?.length > 1 ? plot(gaps) : null);
}
