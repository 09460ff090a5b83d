// tests/web/page_looks.mjs - widths, zoom, themes, contrast, and what screen readers find.
import {contrasts} from './contrast.mjs';
import {answers, assert, done, openSettings, pace, picture, say, talk, test, using} from './rig.mjs';

const overflow = page => page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, document.querySelector('#main').scrollWidth - document.querySelector('#main').clientWidth]);
const inside = (page, selector) => page.locator(selector).evaluate(el => { const r = el.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight; });

for (const [name, options] of [['phone', {viewport: {width: 360, height: 640}, hasTouch: true, isMobile: true}], ['zoomed', {viewport: {width: 640, height: 400}, deviceScaleFactor: 2}]]) {
  const fits = async function() {
    await using({options}, async page => {
      await talk(page, 'M');
      assert.ok((await overflow(page)).every(n => n <= 0), String(await overflow(page)));
      for (const part of ['#send', '#input', '#open-side', '#open-settings', '.views']) assert.ok(await inside(page, part), part);
      await picture(page, `${name}`);
      await page.click('#open-side');
      await page.waitForFunction(() => document.querySelector('#sidebar').getBoundingClientRect().left >= 0);
      assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
      await page.keyboard.press('Escape');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'open-side');
      await page.click('#open-settings');
      assert.ok((await overflow(page)).every(n => n <= 0));
      await picture(page, `${name}-settings`);
      await page.getByRole('button', {name: 'Close the settings'}).click();
      for (const view of ['Compare', 'Server', 'Chat']) {
        await page.getByRole('button', {name: view, exact: true}).click();
        await page.waitForTimeout(200);
        assert.ok((await overflow(page)).every(n => n <= 0), view);
        await picture(page, `${name}-${view}`);
      }
    });
  };
  Object.defineProperty(fits, 'name', {value: `everything_fits_and_is_reached_on_a_${name}_screen`});
  test(fits);
}

test(async function text_has_the_contrast_of_wcag_aa_in_both_themes_and_all_views() {
  for (const colorScheme of ['light', 'dark'])
    await using({options: {colorScheme}, settings: {model: 'stories', values: {temp: 2}, max_tokens: '40'}}, async page => {
      assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), colorScheme);
      assert.deepEqual(await contrasts(page), [], `${colorScheme} empty`);
      await talk(page, 'Once');
      await page.locator('[data-do=tokens]').click();
      await openSettings(page);
      assert.deepEqual(await contrasts(page), [], `${colorScheme} tokens`);
      await picture(page, `tokens-${colorScheme}`);
      await page.selectOption('#settings select[name=model]', 'm');
      await page.locator('#settings input[name=temp]').fill('0');
      await page.locator('#settings input[name=temp]').press('Tab');
      await page.locator('#settings input[name=max_tokens]').fill('');
      await page.locator('#settings input[name=max_tokens]').press('Tab');
      await page.getByRole('button', {name: 'Close the settings'}).click();
      await page.click('#new');
      await talk(page, 'M');
      assert.deepEqual(await contrasts(page), [], `${colorScheme} chat`);
      await picture(page, `chat-${colorScheme}`);
      for (const view of ['Compare', 'Server']) {
        await page.getByRole('button', {name: view, exact: true}).click();
        await page.waitForTimeout(500);
        assert.deepEqual(await contrasts(page), [], `${colorScheme} ${view}`);
      }
    });
});

test(async function the_theme_follows_the_system_until_one_is_chosen() {
  await using({options: {colorScheme: 'dark'}}, async page => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.click('#open-settings');
    await page.locator('#settings select').last().selectOption('light');
    assert.equal(await ground(), 'rgb(255, 255, 255)');
    await page.reload();
    await page.waitForSelector('.empty');
    assert.equal(await ground(), 'rgb(255, 255, 255)');
    await page.click('#open-settings');
    await page.locator('#settings select').last().selectOption('system');
    assert.equal(await ground(), dark);
  });
});

test(async function nothing_moves_where_motion_is_not_wanted() {
  await using({options: {reducedMotion: 'reduce'}}, async page => {
    await pace(page, 20);
    await say(page, 'L');
    await page.waitForSelector('.working');
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    await page.keyboard.press('Escape');
    await done(page, 1, 'stopped');
  });
});

test(async function everything_has_a_name_and_the_answer_is_read_out_in_pieces() {
  await using({}, async page => {
    await page.evaluate(() => {
      window.spoken = [];
      new MutationObserver(list => list.forEach(m => m.addedNodes.forEach(n => window.spoken.push(n.textContent)))).observe(document.querySelector('#live'), {childList: true});
    });
    await pace(page, 60);
    await say(page, 'L');
    await done(page);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'input');
    const spoken = await page.evaluate(() => window.spoken), words = spoken.join(' ');
    assert.ok(spoken.length <= 14, `${spoken.length} announcements of 100 tokens`);
    for (let i = 0; i < 100; i++) assert.equal(words.split(`word${i} `).length, 2, `word${i} in ${words}`);
    assert.equal(spoken.at(-1), 'The answer is complete.');
    for (const role of ['navigation', 'main', 'contentinfo', 'banner']) assert.equal(await page.getByRole(role).count(), 1, role);
    await openSettings(page);
    const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, textarea, select, summary, [role=img], [role=region]')].filter(el => !el.closest('[hidden]') && !el.hidden &&
      !(el.textContent.trim() || el.getAttribute('aria-label') || el.labels?.length)).map(el => el.outerHTML.slice(0, 120)));
    assert.deepEqual(nameless, []);
    const twice = await page.evaluate(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i); });
    assert.deepEqual(twice, []);
    assert.equal(await page.locator(answers).getAttribute('aria-busy'), 'false');
  });
});
