// tests/web/rig.mjs - tests are functions whose names are sentences; a browser, pages of their own, and a link that can be cut.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import {pathToFileURL} from 'node:url';

export const given = JSON.parse(process.env.RUNNEL_PAGE_TEST || '{}');
export const WAIT = 40000;
const tests = [];
export const test = fn => tests.push(fn);
export {assert};

// only: names of tests; without it, all of them.
export async function run(only = null) {
  const wanted = process.argv.slice(2);
  const unknown = (only || []).filter(name => !tests.some(fn => fn.name === name));
  let failed = unknown.length;
  for (const name of unknown) console.log(`FAIL ${name}: there is no such test`);
  for (const fn of tests) {
    if (only && !only.includes(fn.name)) continue;
    if (wanted.length && !wanted.some(w => fn.name.includes(w))) continue;
    try {
      const skip = (await fn())?.skip;
      console.log(skip ? `SKIP ${fn.name}: ${skip}` : `ok ${fn.name}`);
    } catch (e) {
      failed++;
      console.log(e.stack);
      console.log(`FAIL ${fn.name}: ${String(e.message).replace(/\s+/g, ' ').slice(0, 1500)}`);
    }
  }
  await browser?.close();
  links.forEach(l => l.close());
  process.exit(failed ? 1 : 0);
}

let browser = null;
export async function browserOf() {
  if (!browser) {
    const {chromium, firefox} = await import(pathToFileURL(`${given.playwright}/index.mjs`));
    // The channel makes playwright speak WebDriver BiDi, which Firefox as it is distributed knows.
    browser = given.firefox ? await firefox.launch({executablePath: given.firefox, channel: 'moz-firefox'})
      : await chromium.launch({executablePath: given.chromium, args: ['--no-sandbox', '--disable-dev-shm-usage', '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']});
  }
  return browser;
}

export const asked = [];        // every address that any page asked for
export async function open({port = given.two, settings = {}, hash = '', options = {}, context = null, wait = '#input', init = null} = {}) {
  const own = context || await (await browserOf()).newContext({viewport: {width: 1280, height: 800}, serviceWorkers: 'block', ...options});
  const page = await own.newPage();
  page.problems = [];
  page.on('pageerror', e => page.problems.push(e.stack));
  page.on('console', m => { if (m.type() === 'error' && !/status of|net::ERR/.test(m.text())) page.problems.push(m.text()); });
  page.on('request', r => asked.push(r.url()));
  page.setDefaultTimeout(WAIT);
  await page.addInitScript(s => { try { localStorage['runnel-settings'] ||= JSON.stringify(s); } catch { /* about:blank */ } }, {model: 'm', values: {temp: 0}, ...settings});
  if (init) await page.addInitScript(init);
  await page.goto(`http://127.0.0.1:${port}/${hash}`);
  await page.waitForSelector(wait);
  if (wait === '#input') await page.waitForSelector('.empty, .message');
  return page;
}

// Runs with a page, and sees afterwards that nothing went wrong in it.
export async function using(options, fn) {
  const page = await open(options);
  try {
    await fn(page);
    assert.deepEqual(page.problems, []);
  } catch (e) {
    if (page.problems.length) e.message += ` | page: ${page.problems.join(' | ')}`;
    throw e;
  } finally {
    await page.context().close();
  }
}

export const answers = '.messages > .message.assistant';
export async function say(page, text) {
  await page.fill('#input', text);
  if (await page.evaluate(() => matchMedia('(hover: none)').matches)) await page.click('#send');        // Enter is a new line there
  else await page.press('#input', 'Enter');
}
// Opens the settings, with all that is folded.
export async function openSettings(page) {
  await page.click('#open-settings');
  await page.locator('#settings details').evaluateAll(all => all.forEach(d => { d.open = true; }));
}
export async function done(page, n = 1, state = 'done') {
  await page.waitForFunction(([q, count, want]) => {
    const all = document.querySelectorAll(q);
    return all.length === count && all[count - 1].dataset.state === want;
  }, [answers, n, state]);
}
export async function talk(page, text, n = 1) {
  await say(page, text);
  await done(page, n);
}
export const text = (page, selector = `${answers} .body`) => page.locator(selector).last().innerText();
// What the page had begun to save is saved. Transactions on the same stores follow each other, whoever opened the database.
export const saved = page => page.evaluate(() => new Promise((resolve, reject) => {
  const request = indexedDB.open('runnel');
  request.onerror = () => reject(request.error);
  request.onsuccess = () => {
    const db = request.result, t = db.transaction([...db.objectStoreNames], 'readwrite');
    t.oncomplete = () => { db.close(); resolve(); };
    t.onabort = () => { db.close(); reject(t.error); };
  };
}));
export const press = (page, action, n = -1) => page.locator(`[data-do=${action}]`).nth(n).click();

// Generations no faster than that; bodies are kept.
export async function pace(page, perSecond, bodies = []) {
  await page.route('**/v1/runnel/generate', route => {
    const body = JSON.parse(route.request().postData());
    bodies.push(body);
    route.continue(perSecond ? {postData: JSON.stringify({...body, max_tokens_per_second: perSecond})} : {});
  });
  return bodies;
}

// A link to the server that can be cut and mended.
const links = [];
export async function link(port) {
  const sockets = new Set();
  const own = {isUp: true, cut() { for (const s of sockets) s.destroy(); }, close() { server.close(); own.cut(); }};
  const server = net.createServer(near => {
    if (!own.isUp) return near.destroy();
    const far = net.connect(port, '127.0.0.1');
    for (const [a, b] of [[near, far], [far, near]]) {
      sockets.add(a);
      a.pipe(b);
      a.on('error', () => b.destroy());
      a.on('close', () => { sockets.delete(a); b.destroy(); });
    }
    return null;
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  own.port = server.address().port;
  links.push(own);
  return own;
}

// isForDocs: one of those that tools/make_pictures.py takes.
export async function picture(page, name, {isForDocs} = {}) {
  if (!given.pictures) return;
  await page.screenshot({path: `${given.pictures}/${name}.png`});
  if (!isForDocs) return;
  const session = await page.context().newCDPSession(page), {data} = await session.send('Page.captureScreenshot', {format: 'webp', quality: 85});
  fs.writeFileSync(`${given.pictures}/${name}.webp`, Buffer.from(data, 'base64'));
}
