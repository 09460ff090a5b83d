// The server's state: queue, streams, KV cache. Polled once per second while the view is open.
import {getJson, request} from './api.js';
import {fill, h} from './dom.js';
import {t} from './words.js';

const EVERY_MS = 1000, ROWS = 200;

// Parses a Prometheus page into {name: [{labels, value}]}.
export function readMetrics(page) {
  const found = {};
  for (const line of page.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match && !Number.isNaN(Number(match[3]))) (found[match[1]] ||= []).push({labels: match[2] || '', value: Number(match[3])});
  }
  return found;
}
const sum = (metrics, name) => (metrics[name] || []).reduce((total, row) => total + row.value, 0);
const ratio = (a, b) => (b > 0 ? a / b : null);
const seconds = v => (v === null ? '-' : v < 1 ? `${(v * 1000).toFixed(0)} ms` : `${v.toFixed(2)} s`);

export class ServerView {
  constructor() {
    this.el = h('section.server', {'aria-label': t('Server')});
    this.body = h('div');
    this.el.append(h('h2', t('Server')), this.body);
    addEventListener('visibilitychange', () => this.look());
  }

  open(isOpen) {
    this.isOpen = isOpen;
    this.look();
  }

  async look() {
    clearTimeout(this.timer);
    if (!this.isOpen || document.hidden || this.isBusy) return;
    this.isBusy = true;
    try {
      const [slots, page, props] = await Promise.all([getJson('slots'), request('metrics').then(r => r.text()), this.props || getJson('props')]);
      this.props = props;
      this.draw(slots, readMetrics(page));
    } catch (e) {
      this.body.replaceChildren(h('p.error', {role: 'alert'}, e.message));
    }
    this.isBusy = false;
    this.timer = setTimeout(() => this.look(), EVERY_MS);
  }

  draw(slots, metrics) {
    const now = performance.now(), made = sum(metrics, 'vllm:generation_tokens_total');
    // Counts tokens while they are generated; the counter above rises only when an answer ends.
    const told = sum(metrics, 'vllm:inter_token_latency_seconds_count');
    const rate = this.before ? (told - this.before.told) / (now - this.before.now) * 1000 : 0;
    this.before = {told, now};
    const mean = name => ratio(sum(metrics, `${name}_sum`), sum(metrics, `${name}_count`));
    const hit = ratio(sum(metrics, 'vllm:prefix_cache_hits_total'), sum(metrics, 'vllm:prefix_cache_queries_total'));
    const figure = (name, value, help) => h('.figure', {title: help}, h('dd', String(value)), h('dt', name));
    const [pages, free, cached] = ['', '_free', '_cached'].map(kind => sum(metrics, `runnel:kv_pages${kind}`)), held = pages - free - cached;
    const rows = slots.filter(slot => slot.is_processing), count = state => rows.filter(slot => slot.state === state).length;
    fill(this.body,
      h('dl.figure-grid', figure(t('running'), rows.length - count('queued'), t('of {n} at once', {n: this.props.total_slots})),
        figure(t('queued'), count('queued'), t('{n} may wait', {n: this.props.queue})),
        figure(t('parked'), count('parked'), t('their readers are slow')), figure('tokens/s', rate.toFixed(1), t('of all streams, in the last second')),
        figure(t('tokens made'), made, t('since the start')),
        figure(t('prefix hits'), hit === null ? '-' : `${(hit * 100).toFixed(0)} %`, t('prompt tokens that were found in the cache')),
        figure(t('first token'), seconds(mean('vllm:time_to_first_token_seconds')), t('mean')),
        figure(t('between tokens'), seconds(mean('vllm:inter_token_latency_seconds')), t('mean'))),
      h('h3', t('Keys and values')),
      pages > 0 ? bar([[t('in use'), held, 'held'], [t('cached'), cached, 'cached'], [t('free'), free, 'free']], pages) : h('p', t('No figures.')),
      rows.length ? h('h3', t('Streams')) : null, rows.length ? table(rows.slice(0, ROWS)) : null,
      h('h3', t('How it runs')), h('dl.facts', Object.entries(this.props)
        .filter(([name, v]) => name !== 'chat_template' && ['string', 'number'].includes(typeof v) && String(v).length < 80)
        .map(([name, v]) => h('div', h('dt', name.replaceAll('_', ' ')), h('dd', String(v))))));
  }
}

function bar(parts, whole) {
  const words = parts.map(([name, n]) => `${n} ${name}`).join(', ');
  const el = h('.kv', {role: 'img', 'aria-label': t('{n} pages: {parts}', {n: whole, parts: words})}, parts.map(([, n, kind]) => {
    const i = h(`i.${kind}`);
    i.style.width = `${n / whole * 100}%`;
    return i;
  }));
  return h('div', el, h('.kv-words', parts.map(([name, n, kind]) => h('span', h(`i.${kind}`), `${n} ${name}`)), h('span', t('of {n} pages', {n: whole}))));
}

const cell = v => (v !== null && typeof v === 'object' ? JSON.stringify(v).slice(0, 60) : String(v).slice(0, 60));
function table(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))].slice(0, 12);
  const head = h('tr', names.map(n => h('th', {scope: 'col'}, n.replaceAll('_', ' '))));
  const body = rows.map(row => h('tr', names.map(n => h('td', n in row ? cell(row[n]) : ''))));
  return h('.table', {tabindex: '0', role: 'region', 'aria-label': t('Streams')}, h('table', h('thead', head), h('tbody', body)));
}
