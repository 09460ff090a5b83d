// tests/web/page_links.mjs - slow and lost servers: the stream is taken up again, or it is said what is wrong.
import {answers, asked, assert, done, given, link, pace, press, say, talk, test, text, using} from './rig.mjs';

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
    await pace(page, 40);
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
    for (let i = 0; i < 60 && await page.getAttribute(answers, 'data-state') === 'running'; i++) {
      await page.clock.fastForward(5000);
      await page.waitForTimeout(50);
    }
    await done(page, 1, 'failed');
    assert.match(await page.locator('.state .error').innerText(), /cannot be reached/);
    await say(page, 'N');
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

test(async function a_server_that_is_not_there_at_the_beginning_is_said() {
  const wire = await link(given.two);
  await using({port: wire.port, wait: '.empty', init: () => { const real = window.fetch; window.fetch = (...a) => (window.isUp ? real(...a) : Promise.reject(new TypeError('Failed to fetch'))); }}, async page => {
    assert.match(await page.innerText('.empty'), /cannot be reached/);
    await page.evaluate(() => { window.isUp = true; });
    await page.getByRole('button', {name: 'Try again'}).click();
    await talk(page, 'N');
    assert.equal(await text(page), 'No more!');
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

test(async function no_page_asked_another_host_for_anything() {
  const hosts = new Set(asked.map(a => new URL(a)).filter(u => u.protocol !== 'blob:').map(u => u.hostname));
  assert.deepEqual([...hosts], ['127.0.0.1']);
  assert.ok(asked.length > 100 || process.argv.length > 2);
});
