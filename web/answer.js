// Joins the chunks of /v1/runnel/generate into a message and its data (tokens, probabilities, times).

export const emptyData = () => ({tokens: [], data: [], places: [], gaps: []});

export class Answer {
  // Fills message and data in place. They are not empty if an answer is continued.
  constructor(message, data, now = performance.now()) {
    Object.assign(this, {message, data, begun: now, last: 0, first: 0, n: 0, raw: message.rest || ''});
    this.base = {content: message.content, gaps: data.gaps.length, calls: message.calls?.length || 0};
    this.safe = this.place();
  }

  place() {
    const {content, reasoning} = this.message;
    return {tokens: this.data.tokens.length, content: content.length, reasoning: (reasoning || '').length, raw: this.raw.length};
  }

  // What has come of a plain answer and is not shown yet, since it could become a tag.
  get rest() {
    const all = this.base.content + this.raw, {content, finish} = this.message;
    return this.isPlain && !finish && all.startsWith(content) ? all.slice(content.length) : '';
  }

  get isPlain() { return !this.message.reasoning && !this.message.calls?.length; }

  add(chunk, now = performance.now()) {
    const {message: m, data: d} = this;
    const deltas = chunk.deltas ?? [{channel: 'content', text: chunk.text}];
    this.raw += chunk.text;
    for (const delta of deltas) this.delta(delta);
    if (chunk.tokens.length) {
      if (this.n) d.gaps.push((now - this.last) / chunk.tokens.length);
      else this.first = now;
      this.last = now;
    }
    this.n += chunk.tokens.length;
    d.tokens.push(...chunk.tokens);
    if (chunk.logprobs) {
      d.data.push(...chunk.logprobs);
      for (const i of chunk.drafted ?? []) d.data[d.data.length - chunk.logprobs.length + i].drafted = true;
    }
    for (const _ of chunk.tokens) d.places.push([m.content.length, (m.reasoning || '').length]);
    if (!chunk.finish_reason) {
      // Otherwise the server holds back text that may become a tag.
      const last = deltas.at(-1)?.text;
      if (chunk.text && (this.isPlain || (last && this.raw.endsWith(last)))) this.safe = this.place();
      return;
    }
    m.finish = chunk.finish_reason;
    m.detail = chunk.finish_detail;
    m.seed = chunk.seed;
    m.usage = chunk.usage;
    m.speculation = chunk.speculation;
    if (chunk.sequences?.length > 1) m.sequences = chunk.sequences.map(({text, score}) => ({text, score}));
    m.dropped = chunk.dropped_messages;
    m.timing = {...chunk.timing};
    delete m.timing.token_ms;
    const times = chunk.timing.token_ms;
    if (times?.length > 1) d.gaps = d.gaps.slice(0, this.base.gaps).concat(times.slice(1).map((t, i) => t - times[i]));
    if (!/\uFFFD$/.test(chunk.text)) this.safe = this.place();
  }

  delta({channel, text, tool, name, id}) {
    const m = this.message;
    if (channel === 'reasoning') m.reasoning = (m.reasoning || '') + text;
    else if (channel !== 'tool_call') m.content += text;
    else {
      const calls = m.calls ||= [], at = this.base.calls + tool;
      calls[at] ||= {id: '', name: '', arguments: ''};
      if (name) calls[at].name = name;
      if (id) calls[at].id = id;
      calls[at].id ||= `call_${m.id.slice(0, 6)}_${at}`;
      calls[at].arguments += text;
    }
  }

  // Cuts the answer after the last token whose text is complete: continuing from there with the same seed gives
  // the same text. Text that was held back because it could have become a tag is now shown, as at every end.
  cutToSafe() {
    const {message: m, data: d, safe} = this;
    if (m.calls?.length > this.base.calls) return;
    if (this.isPlain && !m.finish) {
      m.content = this.base.content + this.raw.slice(0, safe.raw);
      safe.content = m.content.length;
    }
    d.tokens.length = safe.tokens;
    d.data.length = Math.min(d.data.length, safe.tokens);
    d.places.length = Math.min(d.places.length, safe.tokens);
    m.content = m.content.slice(0, safe.content);
    if (m.reasoning) m.reasoning = m.reasoning.slice(0, safe.reasoning);
  }

  figures(now = performance.now()) {
    const {timing, usage, speculation} = this.message;
    // A search gives many of its tokens at once, so its time begins where the prompt was read.
    const ms = timing ? (this.message.sequences ? timing.first_token_ms - timing.queue_ms - timing.prefill_ms : 0) + timing.decode_ms : this.last - this.first;
    return {
      tokens: this.data.tokens.length, first: timing ? timing.first_token_ms : this.first && this.first - this.begun,
      rate: this.n > 1 && ms > 0 ? (this.n - 1) / ms * 1000 : null, waiting: this.first ? 0 : now - this.begun,
      prompt: usage?.prompt_tokens ?? null, cached: usage?.cached_tokens ?? null,
      guesses: speculation?.drafted ?? null, right: speculation?.accepted ?? null, rows: speculation?.rows_per_token ?? null, speedUp: speculation?.speed_up ?? null,
    };
  }
}
