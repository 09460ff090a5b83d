// tests/web/page_links.mjs - slow and lost servers: the stream is taken up again, or it is said what is wrong.
import {answers, assert, done, given, link, pace, press, saved, say, talk, test, text, using} from './rig.mjs';

const long = async page => {
  await say(page, 'L');
  await page.waitForFunction(q => document.querySelector(q)?.innerText.includes('word12'), `${answers} .body`);
};
const whole = Array.from({length: 100}, (_, i) => `word${i}`).join(' ');
const joined = async page => (await text(page)).replace(/\s+/g, ' ').trim();

test(async function field_3_16_a_broken_link_loses_nothing_of_the_answer() {
  const wire = await link(given.two);
  await using({port: wire.port}, async page => {
    await pace(page, 50);
    await long(page);
    wire.isUp = false;
    wire.cut();
    await page.waitForSelector('.state >> text=trying again');
    wire.isUp = true;
    await done(page);
    assert.equal(await joined(page), whole);
  });
});

test(async function field_3_16_a_page_that_is_loaded_again_takes_its_answer_up() {
  await using({}, async page => {
    await pace(page, 20);
    await long(page);
    await page.waitForTimeout(1200);
    await page.reload();
    await page.waitForSelector(`${answers}[data-state=running]`);
    await done(page);
    assert.equal(await joined(page), whole);
  });
});

test(async function a_server_that_stays_away_is_said_and_the_answer_goes_on_later() {
  const wire = await link(given.two);
  await using({port: wire.port}, async page => {
    await page.clock.install();
    await pace(page, 50);
    await long(page);
    wire.isUp = false;
    wire.cut();
    await page.waitForSelector('.state >> text=trying again');
    const wait = async () => {
      for (let i = 0; i < 100 && await page.locator(answers).last().getAttribute('data-state') === 'running'; i++) {
        await page.clock.fastForward(5000);
        await page.waitForTimeout(10);
      }
    };
    await page.waitForSelector('.state >> text=/trying again in \\d+ seconds/');
    await wait();
    await done(page, 1, 'failed');
    assert.match(await page.locator('.state .error').innerText(), /cannot be reached/);
    await say(page, 'N');
    await page.waitForFunction(q => document.querySelectorAll(q).length === 2, answers);
    await wait();
    await done(page, 2, 'failed');
    wire.isUp = true;
    await page.getByRole('button', {name: 'Try again'}).click();
    await done(page, 2);
    assert.equal(await text(page), 'No more!');
    await page.getByRole('button', {name: 'Go on'}).click();
    await page.waitForFunction(q => document.querySelector(q).innerText.includes('word99'), `${answers} .body`);
    assert.equal((await page.locator(`${answers} .body`).first().innerText()).replace(/\s+/g, ' ').trim(), whole);
  });
});

// A server that was started again knows none of the streams of the one before.
const restarted = page => page.route('**/v1/runnel/streams/*', route => route.fulfill({status: 404, json: {error: {code: 'stream_not_found', message: 'stream: no such stream'}}}));

test(async function after_a_restart_the_answer_goes_on_from_its_tokens_unasked() {
  const wire = await link(given.two), settings = {model: 'stories', values: {temp: 1}, seed: '7', max_tokens: '60'};
  await using({port: wire.port, settings}, async page => {
    await talk(page, 'Once upon a time there was a cat.');
    const uncut = await text(page);
    await page.click('#new');
    const bodies = await pace(page, 30);
    await say(page, 'Once upon a time there was a cat.');
    await page.waitForFunction(q => document.querySelector(q)?.innerText.length > 40, `${answers} .body`);
    await restarted(page);
    wire.cut();
    await done(page);
    assert.equal(bodies.length, 2);
    const [first, again] = bodies, n = again.reply_tokens.length;
    assert.ok(n > 5, String(n));
    assert.deepEqual([first.seed, again.seed, again.max_tokens], [7, 7, 60 - n]);
    assert.equal(await text(page), uncut, 'not the answer that was not cut');
  });
});

test(async function a_reloaded_page_goes_on_after_a_restart_but_not_after_a_long_time() {
  for (const minutes of [1, 60])
    await using({}, async page => {
      await pace(page, 20);
      await long(page);
      await page.waitForTimeout(1100);
      await restarted(page);
      if (minutes > 10) await page.addInitScript(() => { const real = Date.now; Date.now = () => real() + 3600000; });
      await page.reload();
      if (minutes > 10) return done(page, 1, 'stopped');
      await page.waitForFunction(q => document.querySelector(q)?.innerText.includes('word30'), `${answers} .body`);
      await page.keyboard.press('Escape');
      await done(page, 1, 'stopped');
      const words = (await joined(page)).split(' ');
      assert.deepEqual(words.slice(0, -1), whole.split(' ').slice(0, words.length - 1));
      return null;
    });
});

test(async function a_busy_server_is_asked_again_with_a_countdown_in_words() {
  await using({}, async page => {
    let n = 0;
    await page.route('**/v1/runnel/generate', route => (n++ < 2 ? route.fulfill({status: n === 1 ? 429 : 503, headers: {'Retry-After': '3'}, json: {error: {code: 'queue_full', message: 'full'}}}) : route.continue()));
    await say(page, 'N');
    await page.waitForSelector('.state >> text=The server is busy: trying again in 3 seconds');
    await page.waitForSelector('.state >> text=trying again in 2 seconds');
    await done(page);
    assert.equal(await text(page), 'No more!');
    assert.equal(n, 3);
    n = -100;
    await say(page, 'K');
    await page.waitForSelector('.state >> text=busy');
    await page.click('#stop');
    await done(page, 2, 'stopped');
  });
});

test(async function a_server_that_is_not_there_at_the_beginning_is_said() {
  const wire = await link(given.two);
  await using({port: wire.port, wait: '.empty', init: () => { const real = window.fetch; window.fetch = (...a) => (window.isUp ? real(...a) : Promise.reject(new TypeError('Failed to fetch'))); }}, async page => {
    assert.match(await page.innerText('.notice'), /cannot be reached/);
    await say(page, 'kept');
    await page.waitForSelector('.notice >> text=stays here');
    assert.equal(await page.inputValue('#input'), 'kept');
    await page.evaluate(() => { window.isUp = true; });
    await page.getByRole('button', {name: 'Try again'}).click();
    await page.waitForSelector('.notice', {state: 'hidden'});
    await talk(page, 'N');
    assert.equal(await text(page), 'No more!');
  });
});

test(async function the_page_is_an_app_that_can_be_read_without_its_server() {
  const wire = await link(given.two);
  await using({port: wire.port, options: {serviceWorkers: 'allow'}}, async page => {
    await talk(page, 'F');
    await page.waitForSelector('.body math');
    const manifest = await page.evaluate(() => fetch(document.querySelector('link[rel=manifest]').href).then(r => r.json()));
    assert.deepEqual([manifest.name, manifest.display, manifest.icons.length], ['runnel', 'standalone', 1]);
    await page.waitForFunction(async () => navigator.serviceWorker.controller && (await (await caches.open('runnel-page')).keys()).some(r => r.url.endsWith('highlight.js')));
    await saved(page);
    wire.isUp = false;
    wire.cut();
    await page.reload();
    await page.waitForSelector('.notice >> text=can be read');
    await page.waitForSelector('.body math');
    await page.fill('#search', 'claim');
    await page.waitForSelector('#conversations mark');
    const kept = await page.evaluate(async () => (await (await caches.open('runnel-page')).keys()).map(r => new URL(r.url).pathname).filter(p => p !== '/' && !p.startsWith('/page/')));
    assert.deepEqual(kept, [], 'something of the API is kept');
    wire.isUp = true;
    await page.waitForSelector('.notice', {state: 'hidden'});
    await talk(page, 'N', 2);
    page.problems = [];         // the links that were cut
  });
});

test(async function what_is_written_waits_for_the_answer_and_what_was_stopped_ends_at_the_server_too() {
  await using({}, async page => {
    await pace(page, 10);
    await long(page);
    await say(page, 'more');
    await page.waitForSelector('.toast >> text=still coming');
    assert.equal(await page.inputValue('#input'), 'more');
    await page.keyboard.press('Escape');
    await done(page, 1, 'stopped');
    await page.waitForFunction(async () => (await (await fetch('slots')).json()).running === 0);
    await press(page, 'delete', 0);
    await page.waitForSelector('.empty');
  });
});
