// The token view: an answer's tokens, coloured by probability, and their alternatives.
import {announce, fill, find, h} from './dom.js';
import {t} from './words.js';

const percent = p => (p >= 0.0995 ? `${(p * 100).toFixed(0)} %` : p >= 0.001 ? `${(p * 100).toFixed(1)} %` : '< 0.1 %');
export const shown = piece => (piece === '' ? '∅' : piece.replace(/\n/g, '⏎\n').replace(/\t/g, '⇥'));
const visible = piece => shown(piece).replace(/^ | $/g, '␣').replace(/\n/g, '') || '␣';

// Ten steps: tenths of probability, or bits of surprisal (10: at most one bit; 1: nine or more).
export const steps = {
  probability: logprob => Math.min(9, Math.floor(Math.exp(logprob) * 10)),
  surprisal: logprob => Math.max(0, 9 - Math.floor(-logprob / Math.LN2)),
};
const legends = {probability: [t('unlikely'), t('certain')], surprisal: [t('9 bits and more'), t('less than 1 bit')]};

let mode = 'probability';
let hideTimer = 0, opener = null;
addEventListener('keydown', e => {
  if (e.key !== 'Escape' || !find('alternatives')) return;
  if (find('alternatives').contains(document.activeElement)) opener.focus();
  hide();
  e.preventDefault();
  e.stopPropagation();
}, {capture: true});

function legend(onmode, hasGuesses) {
  const radio = name => h('input', {type: 'radio', name: 'token-colour', value: name, checked: mode === name, onchange: () => onmode(name)});
  const option = name => h('label', radio(name), name === 'surprisal' ? t('surprisal') : t('probability'));
  return h('.legend', h('span', t('Colour by')), option('probability'), option('surprisal'),
    h('span.scale', h('span', legends[mode][0]), Array.from({length: 10}, (_, i) => h(`i.p${i}`)), h('span', legends[mode][1])),
    hasGuesses ? h('span.guessed', t('guessed')) : null);
}

function hide() {
  clearTimeout(hideTimer);
  find('alternatives')?.remove();
}

function show(button, token, choose) {
  hide();
  opener = button;
  const top = token.top?.length ? token.top : [];
  const row = alt => {
    const p = Math.exp(alt.logprob), title = `token ${alt.id}, log-probability ${alt.logprob?.toFixed(3)}`;
    const go = () => {
      hide();
      choose(alt);
    };
    return h('button', {type: 'button', class: alt.id === token.id ? 'chosen' : null, title, onclick: go},
      h('code', visible(alt.piece)), h('meter', {min: '0', max: '1', value: String(p)}), h('span', percent(p)));
  };
  const el = h('div', {id: 'alternatives', role: 'group', 'aria-label': t('Alternatives')});
  const words = ` ${percent(Math.exp(token.logprob))}, ${(-token.logprob / Math.LN2).toFixed(1)} bits, token ${token.id}${token.drafted ? ', guessed' : ''}`;
  fill(el, h('p', h('code', visible(token.piece)), words),
    top.length ? h('p.hint', t('Continue from another token:')) : h('p.hint', t('No alternatives were recorded (Settings, alternatives).')), top.map(row));
  el.addEventListener('pointerenter', () => clearTimeout(hideTimer));
  el.addEventListener('pointerleave', hideSoon);
  el.addEventListener('keydown', e => {
    const rows = [...el.querySelectorAll('button')], at = rows.indexOf(document.activeElement);
    if (e.key === 'ArrowDown') rows[(at + 1) % rows.length].focus();
    else if (e.key === 'ArrowUp') rows[(at - 1 + rows.length) % rows.length].focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  document.body.append(el);
  const place = button.getBoundingClientRect(), {width, height} = el.getBoundingClientRect();
  el.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8))}px`;
  el.style.top = `${place.bottom + height + 8 < innerHeight ? place.bottom + 4 : Math.max(8, place.top - height - 4)}px`;
  return el;
}
const hideSoon = () => { clearTimeout(hideTimer); hideTimer = setTimeout(hide, 250); };

// Fills el. branch(n, alternative) continues the answer with another token at index n.
export function tokenView(el, data, branch) {
  const list = h('.tokens', {role: 'group', 'aria-label': t('Tokens: arrow keys move, Enter shows alternatives')});
  const draw = () => {
    const onmode = name => { mode = name; draw(); el.querySelector(`input[value=${name}]`)?.focus(); };
    el.replaceChildren(legend(onmode, data.data.some(t => t.drafted)), list);
    list.replaceChildren(...data.data.map((t, i) => h(`button.token.p${steps[mode](t.logprob)}${t.drafted ? '.guessed' : ''}`, {
      type: 'button', tabindex: i ? '-1' : '0', 'data-at': String(i), 'aria-label': `${visible(t.piece)}, ${percent(Math.exp(t.logprob))}${t.drafted ? ', guessed' : ''}`}, shown(t.piece))));
    if (!data.data.length) list.append(h('p.hint', t('No token data was recorded for this answer.')));
  };
  const of = e => e.target.closest?.('.token');
  const open = b => { const at = Number(b.dataset.at); return show(b, data.data[at], alt => branch(at, alt)); };
  list.addEventListener('pointerover', e => { const b = of(e); if (b && e.pointerType === 'mouse') open(b); });
  list.addEventListener('pointerout', e => { if (of(e)) hideSoon(); });
  list.addEventListener('click', e => {
    const b = of(e);
    if (!b) return;
    open(b).querySelector('button')?.focus();
    announce(t('Alternatives'));
  });
  list.addEventListener('keydown', e => {
    const all = [...list.querySelectorAll('.token')], at = all.indexOf(document.activeElement);
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1}[e.key];
    if (to === undefined || at < 0 || !all[to]) return;
    e.preventDefault();
    all[at].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
  draw();
}
