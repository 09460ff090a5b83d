// Reads one generation to its end and reconnects when the connection breaks, by the stream's name and the
// number of the last event (docs/server-api.md).
import {ApiError, NetworkError, onNetwork, request} from './api.js';
import {EventReader} from './sse.js';
import {t} from './words.js';

const SILENCE_MS = 30000;       // three ping intervals
// The server keeps a stream without a reader for 30 s. One that restarts may take longer, and then the answer goes on from its tokens.
const WAITS_MS = [200, 500, 1000, 2000, 4000, 8000, 15000, 15000, 15000, 15000, 15000, 15000, 15000, 15000];
const BUSY_MS = 1000, OTHER_TAB_MS = 3000;
const gone = ['stream_not_found', 'stream_expired', 'shutting_down'];      // of a stream that had begun
const isRefusedForNow = e => e instanceof ApiError && (e.status === 429 || e.status === 503);

class Broken extends Error {}

async function read(response, events, signal, control) {
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let timer = 0;
  const watch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(new Broken('no data from the server')), SILENCE_MS);
  };
  try {
    for (;;) {
      watch();
      const {value, done} = await onNetwork(reader.read());
      if (done) return;
      events.push(decoder.decode(value, {stream: true}));
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

const pause = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, {once: true});
});

export class Generation {
  // from: {body} begins a generation, {stream: {name, last}} resumes one. on: chunk(data), state(word, text),
  // named({name, last}), again(): the body of a request that goes on with what has come, where the server no longer has the stream.
  constructor(from, on) {
    Object.assign(this, {body: from.body, stream: from.stream || null, on, n: 0, stopper: new AbortController()});
  }

  // Resolves at the end of the stream. Rejects with an ApiError, an AbortError after stop(), or fetch's error
  // if the server stays unreachable.
  async run() {
    for (let tries = 0; ;) {
      const before = this.n;
      try {
        await this.once();
        if (this.isDone) return;
        throw new Broken('the connection ended early');
      } catch (e) {
        if (this.stopper.signal.aborted) throw new DOMException('stopped', 'AbortError');
        // The server may not have noticed yet that the old connection is closed, or another tab reads the stream: without limit.
        if (e.code === 'stream_busy') {
          this.isElsewhere = true;
          this.on.state('elsewhere', '');
          await pause(BUSY_MS, this.stopper.signal);
          continue;
        }
        if (this.n !== before) tries = 0;        // something came
        if (this.stream && gone.includes(e.code)) {
          if (this.isElsewhere) await pause(OTHER_TAB_MS, this.stopper.signal);       // the other tab says how it ended
          this.isElsewhere = false;
          this.body = await this.on.again(e);
          this.stream = null;
          continue;
        }
        if (!isRefusedForNow(e) && !(e instanceof Broken) && !(e instanceof NetworkError)) throw e;
        if (tries === WAITS_MS.length) throw e;
        await this.countDown(Math.max(WAITS_MS[tries++], e.retryAfter * 1000 || 0), isRefusedForNow(e) ? 'busy' : 'reconnecting');
      }
    }
  }

  async countDown(ms, word) {
    const end = Date.now() + ms;
    for (let rest = ms; rest > 0; rest = end - Date.now()) {
      const seconds = Math.ceil(rest / 1000);
      this.on.state(word, seconds > 1 ? t('in {n} seconds', {n: seconds}) : t('in a second'));
      await pause(Math.min(rest, 1000), this.stopper.signal);
    }
  }

  async once() {
    const control = new AbortController(), stop = () => control.abort(this.stopper.signal.reason);
    this.stopper.signal.addEventListener('abort', stop);
    try {
      const response = this.stream ? await this.resume(control.signal) : await this.begin(control.signal);
      this.on.state('open', '');
      const events = new EventReader(e => this.event(e), text => this.comment(text));
      await read(response, events, this.stopper.signal, control);
    } catch (e) {
      throw control.signal.reason instanceof Broken ? control.signal.reason : e;
    } finally {
      this.stopper.signal.removeEventListener('abort', stop);
    }
  }

  async begin(signal) {
    const response = await request('v1/runnel/generate', {method: 'POST', body: {...this.body, stream: true, resumable: true}, signal});
    this.stream = {name: response.headers.get('x-runnel-stream'), last: ''};
    this.on.named(this.stream);
    return response;
  }

  resume(signal) {
    const {name, last} = this.stream;
    return request(`v1/runnel/streams/${encodeURIComponent(name)}`, {signal, headers: last ? {'Last-Event-ID': last} : {}});
  }

  event({data, id}) {
    if (data === '[DONE]') {
      this.isDone = true;
      return;
    }
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError(200, chunk.error, 0);
    this.n++;
    this.on.chunk(chunk);
    if (this.stream) this.stream.last = id;
  }

  comment(text) {
    const prefill = /prefill (\d+)\/(\d+)/.exec(text);
    if (prefill) this.on.state('prefill', t('{at} of {n}', {at: prefill[1], n: prefill[2]}));
    else if (text.includes('queued')) this.on.state('queued', '');
  }

  abandon() { this.stopper.abort(new DOMException('abandoned', 'AbortError')); }

  // Cancels the stream on the server too, which would otherwise continue for a while without a reader.
  stop() {
    if (this.stopper.signal.aborted) return;
    this.abandon();
    if (this.stream) request(`v1/runnel/streams/${encodeURIComponent(this.stream.name)}`, {method: 'DELETE', keepalive: true}).catch(() => {});
  }
}
