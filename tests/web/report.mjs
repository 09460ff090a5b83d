// tests/web/report.mjs - the pages that commands write, as files in a browser: nothing is asked for, what is pointed at is explained, they fit.
import {contrasts} from './contrast.mjs';
import {assert, browserOf, given, run, test} from './rig.mjs';

const pages = ['compare', 'score', 'bench', 'hostile'];

async function using(name, options, fn, expected = null) {
  const context = await (await browserOf()).newContext({viewport: {width: 1280, height: 800}, ...options});
  const page = await context.newPage(), problems = [], asked = [];
  page.on('pageerror', e => problems.push(e.stack));
  page.on('console', m => problems.push(m.text()));
  page.on('dialog', d => { problems.push(`dialog ${d.message()}`); d.dismiss(); });
  page.on('request', r => asked.push(r.url()));
  try {
    await page.goto(`file://${given.pages}/${name}.html`);
    await fn(page);
    assert.deepEqual(problems.filter(p => !expected?.test(p)), [], name);
    assert.equal(asked.length, 1, `${name} asked for ${asked.slice(1)}`);
  } finally {
    await context.close();
  }
}

const picture = (page, name) => (given.pictures ? page.screenshot({path: `${given.pictures}/report-${name}.png`, fullPage: true}) : null);
const overflow = page => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test(async function reports_fit_and_can_be_read_in_light_in_dark_on_paper_and_on_a_phone() {
  for (const name of pages)
    for (const [kind, options] of [['light', {}], ['dark', {colorScheme: 'dark'}], ['phone', {viewport: {width: 320, height: 640}}], ['wide', {viewport: {width: 2200, height: 1200}}]])
      await using(name, options, async page => {
        assert.ok(await overflow(page) <= 0, `${name} ${kind}`);
        assert.deepEqual(await contrasts(page), [], `${name} ${kind}`);
        await picture(page, `${name}-${kind}`);
        if (kind !== 'dark') return;
        // Paper is white.
        await page.emulateMedia({media: 'print', colorScheme: 'dark'});
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
        assert.deepEqual(await contrasts(page), [], `${name} print`);
        await page.setViewportSize({width: 794, height: 1100});
        assert.ok(await overflow(page) <= 0 || name === 'bench', `${name} print`);
        await picture(page, `${name}-print`);
      });
});

test(async function a_token_that_is_pointed_at_shows_what_else_was_probable() {
  for (const name of ['compare', 'score'])
    await using(name, {}, async page => {
      const visible = () => page.locator('.alt:visible').count();
      assert.equal(await visible(), 0);
      const token = page.locator('.t:has(.alt)').nth(8);
      await token.hover();
      assert.equal(await visible(), 1);
      assert.match(await page.locator('.alt:visible').innerText(), /%, [\d.]+ nats; entropy [\d.]+; token \d+/);
      assert.equal(await page.locator('.alt:visible > span').count(), 5);
      const box = await page.locator('.alt:visible').boundingBox(), own = await token.boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= 1280 && box.y >= 0 && box.y + box.height <= 800, JSON.stringify(box));
      assert.ok(box.y >= own.y + own.height || box.y + box.height <= own.y, 'the token stays visible');
      assert.deepEqual(await contrasts(page), []);
      await picture(page, `${name}-alternatives`);
      await page.mouse.move(2, 2);
      assert.equal(await visible(), 0);
    });
});

test(async function tokens_are_reached_by_keys() {
  await using('compare', {}, async page => {
    const at = () => page.evaluate(() => [...document.activeElement.parentElement.querySelectorAll('.t')].indexOf(document.activeElement));
    const open = () => page.locator('.alt:visible').innerText();
    await page.keyboard.press('Tab');
    while (!await page.evaluate(() => document.activeElement.matches('.t'))) await page.keyboard.press('Tab');
    assert.equal(await at(), 0);
    const first = await open();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.equal(await at(), 2);
    assert.notEqual(await open(), first);
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowRight');
    assert.equal(await at(), await page.locator('.tokens').first().locator('.t').count() - 1);
    await page.keyboard.press('Home');
    assert.equal(await open(), first);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('.alt:visible').count(), 0);
    // One stop for each text.
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => [...document.querySelectorAll('.tokens')].indexOf(document.activeElement.parentElement)), 1);
  });
});

test(async function without_scripts_alternatives_are_shown_in_the_corner() {
  await using('compare', {javaScriptEnabled: false}, async page => {
    await page.locator('.t').nth(8).hover();
    assert.equal(await page.locator('.alt:visible').count(), 1);
    const box = await page.locator('.alt:visible').boundingBox();
    assert.ok(box.x >= 0 && box.y + box.height <= 800, JSON.stringify(box));
  });
});

test(async function a_hostile_text_is_only_text() {
  await using('hostile', {}, async page => {
    assert.equal(await page.evaluate(() => document.querySelectorAll('img, iframe, a, form, link').length), 0);
    assert.match(await page.locator('.tokens').first().innerText(), /<script>alert\(1\)<\/script>/);
    assert.equal(await page.evaluate(() => document.scripts.length), 1);
    // Even what was written into the page could not run.
    assert.equal(await page.evaluate(() => new Promise(resolve => {
      document.addEventListener('securitypolicyviolation', e => resolve(e.effectiveDirective));
      const s = document.createElement('script');
      s.textContent = 'window.hacked = 1';
      document.body.append(s);
    })).then(directive => directive.startsWith('script-src')), true);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  }, /violates the following Content Security Policy/);
});

await run();
