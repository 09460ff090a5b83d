// tests/web/page_design.mjs - what a person sees: quiet messages, the model's name, presets, the context, paper, touch, and what axe finds.
import fs from 'node:fs';
import path from 'node:path';
import {answers, assert, done, given, open, openSettings, pace, picture, say, talk, test, text, using} from './rig.mjs';

const axePath = path.join(given.playwright || '', '../axe-core/axe.min.js');

test(async function axe_finds_nothing_in_any_view_of_either_theme() {
  if (!fs.existsSync(axePath)) return {skip: 'axe-core is not here (./dev setup --web)'};
  const source = fs.readFileSync(axePath, 'utf8');
  for (const [colorScheme, width] of [['light', 1280], ['dark', 360]])
    await using({options: {colorScheme, bypassCSP: true, viewport: {width, height: 800}}, settings: {mcp: [given.mcp]}}, async page => {
      const clean = async where => {
        await page.evaluate(s => { window.axe || (0, eval)(s); }, source);
        const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
        assert.deepEqual(found.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`), [], `${where} ${colorScheme}`);
      };
      await clean('empty');
      await talk(page, 'T');
      await page.locator('.consent').waitFor();
      await clean('call');
      await picture(page, `call-${colorScheme}`);
      await page.getByRole('button', {name: 'Call it', exact: true}).click();
      await done(page, 2);
      await talk(page, 'R', 3);
      await talk(page, 'F', 4);
      await page.waitForSelector('.body math');
      await clean('chat');
      await openSettings(page);
      await clean('settings');
      await page.getByRole('button', {name: 'Close the settings'}).click();
      for (const view of ['Compare', 'Server']) {
        await page.getByRole('button', {name: view, exact: true}).click();
        await page.waitForTimeout(300);
        await clean(view);
      }
      await page.getByRole('button', {name: 'Chat', exact: true}).click();
      await page.locator('#main').focus();
      await page.keyboard.press('t');
      await page.waitForSelector('.token');
      await clean('tokens');
      await page.keyboard.press('?');
      await clean('keys');
    });
  return null;
});

test(async function messages_are_quiet_until_they_are_pointed_at() {
  await using({}, async page => {
    await talk(page, 'R');
    await talk(page, 'M', 2);
    const seen = n => page.locator('.message .under').nth(n).evaluate(el => Number(getComputedStyle(el).opacity));
    await page.mouse.move(5, 5);
    await page.waitForFunction(() => getComputedStyle(document.querySelectorAll('.message .under')[1]).opacity === '0');
    assert.deepEqual([await seen(0), await seen(3)], [0, 1]);
    await page.locator(answers).first().hover();
    await page.waitForFunction(() => getComputedStyle(document.querySelectorAll('.message .under')[1]).opacity === '1');
    await page.mouse.move(5, 5);
    await page.locator('[data-do=copy]').nth(1).focus();
    await page.waitForFunction(() => getComputedStyle(document.querySelectorAll('.message .under')[1]).opacity === '1');
    assert.deepEqual(await page.locator('.who').allInnerTexts(), ['You', 'm', 'You', 'm']);
    const [mine, column] = await page.evaluate(() => ['.message.user .body', '.messages'].map(q => document.querySelector(q).getBoundingClientRect().right));
    assert.ok(column - mine < 40, 'what the user wrote is not on the right');
    await picture(page, 'design');
  });
});

test(async function the_model_is_picked_in_the_header_and_each_answer_has_its_name() {
  await using({settings: {max_tokens: '5'}}, async page => {
    const bodies = await pace(page, 0);
    await talk(page, 'N');
    await page.selectOption('#model', 'stories');
    await talk(page, 'Once', 2);
    assert.deepEqual(bodies.map(b => b.model), ['m', 'stories']);
    assert.deepEqual(await page.locator('.assistant .who').allInnerTexts(), ['m', 'stories']);
    await openSettings(page);
    await page.selectOption('#settings select[name=model]', 'm');
    assert.equal(await page.inputValue('#model'), 'm');
    await page.reload();
    await done(page, 2);
    assert.deepEqual([await page.inputValue('#model'), await page.locator('.assistant .who').allInnerTexts()], ['m', ['m', 'stories']]);
  });
});

test(async function one_button_sends_and_stops_and_the_context_is_measured() {
  await using({}, async page => {
    const shown = () => page.locator('#send:visible, #stop:visible').evaluateAll(all => all.map(b => b.id));
    assert.deepEqual([await shown(), await page.isHidden('#context')], [['send'], true]);
    await pace(page, 20);
    await say(page, 'L');
    await page.waitForSelector('#stop:visible');
    assert.deepEqual(await shown(), ['stop']);
    assert.equal(await page.getByRole('button', {name: /^Stop/}).count(), 1);
    // A stopped answer without text would not be a part of the next prompt.
    await page.waitForFunction(q => document.querySelector(q)?.innerText.includes('word2'), `${answers} .body`);
    await page.click('#stop');
    await done(page, 1, 'stopped');
    assert.deepEqual(await shown(), ['send']);
    await page.unroute('**/v1/runnel/generate');
    await talk(page, 'N', 2);
    // It is shown once the answer is kept, shortly after its state says that it is done.
    await page.waitForFunction(() => /^[\d,]+ of [\d,]+ tokens$/.test(document.querySelector('#context').innerText.trim()));
    const [used, size] = (await page.innerText('#context')).trim().split(' of ').map(n => parseInt(n.replaceAll(',', ''), 10));
    assert.ok(used > 20 && size === 512, `${used} of ${size}`);
  });
});

test(async function settings_have_three_fields_and_the_rest_is_folded() {
  await using({}, async page => {
    await page.click('#open-settings');
    const names = await page.locator('#settings .settings-form').locator('input:visible, select:visible, textarea:visible').evaluateAll(all => all.filter(e => e.type !== 'range').map(e => e.name));
    assert.deepEqual(names, ['system', 'preset', 'temp']);
    await page.locator('#settings summary', {hasText: 'Length and limits'}).click();
    await page.fill('#settings input[name=max_tokens]', '2');
    await page.press('#settings input[name=max_tokens]', 'Tab');
    await page.fill('#settings textarea[name=system]', 'Say N.');
    await page.press('#settings textarea[name=system]', 'Tab');
    await page.click('#save-preset');
    await page.fill('dialog input', 'short');
    await page.press('dialog input', 'Enter');
    await page.waitForFunction(() => document.querySelector('#settings select[name=preset]').value === 'own:short');
    await page.selectOption('#settings select[name=preset]', 'greedy');
    await page.fill('#settings textarea[name=system]', 'Other.');
    await page.press('#settings textarea[name=system]', 'Tab');
    await page.reload();
    await page.click('#open-settings');
    await page.selectOption('#settings select[name=preset]', 'own:short');
    assert.equal(await page.inputValue('#settings textarea[name=system]'), 'Say N.');
    await talk(page, 'N');
    assert.equal(await text(page), 'No more');
    await page.click('#drop-preset');
    assert.equal(await page.locator('#settings optgroup').count(), 0);
  });
});

test(async function on_a_touch_screen_enter_is_a_new_line_and_every_view_has_its_label() {
  await using({options: {viewport: {width: 360, height: 640}, hasTouch: true, isMobile: true}}, async page => {
    await page.fill('#input', 'N');
    await page.press('#input', 'Enter');
    assert.equal(await page.inputValue('#input'), 'N\n');
    await page.press('#input', 'Control+Enter');
    await done(page);
    for (const name of ['Chat', 'Compare', 'Server']) assert.ok(await page.locator('.views span', {hasText: name}).isVisible(), name);
    assert.equal(await page.locator('.under').last().evaluate(el => getComputedStyle(el).opacity), '1');
  });
});

test(async function on_paper_there_is_the_conversation_alone() {
  await using({}, async page => {
    await talk(page, 'M');
    await talk(page, 'L', 2);
    await page.emulateMedia({media: 'print'});
    for (const part of ['#sidebar', '#bar', '#composer', '.under']) assert.equal(await page.locator(part).first().isVisible(), false, part);
    assert.ok(await page.locator(`${answers} h1`).isVisible());
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight > 900 || getComputedStyle(document.querySelector('#main')).overflowY === 'visible'), 'only what was in the window is printed');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).overflowY), 'visible');
  });
});

test(async function a_page_whose_script_is_refused_says_so() {
  const other = await (await open({wait: 'body'})).context().newPage();
  await other.route('**/page/main.js', route => route.abort());
  await other.goto(`http://127.0.0.1:${given.two}/`);
  await other.waitForSelector('text=was refused its script');
  await other.context().close();
});

// Pictures to look at: RUNNEL_PICTURES names a folder.
const pictures_of_all_widths_and_themes = async () => {
  for (const width of [360, 768, 1440])
    for (const [theme, more] of [['light', {}], ['dark', {colorScheme: 'dark'}], ['forced', {forcedColors: 'active'}]])
      await using({options: {viewport: {width, height: 800}, ...more}}, async page => {
        await talk(page, 'Could you tell me what all of it looks like, with code? R');
        await talk(page, '```python\nprint(1)\n```\nWhat is F', 2);
        await page.waitForSelector('.body math');
        await page.waitForTimeout(300);
        await page.locator('#main').evaluate(el => { el.scrollTop = 0; });
        await picture(page, `look-${width}-${theme}-top`);
        await page.locator('#main').evaluate(el => { el.scrollTop = el.scrollHeight; });
        await page.waitForTimeout(100);
        await picture(page, `look-${width}-${theme}`);
        await page.click('#open-settings');
        await page.waitForTimeout(100);
        await picture(page, `look-${width}-${theme}-settings`);
      });
};
if (given.pictures) test(pictures_of_all_widths_and_themes);
