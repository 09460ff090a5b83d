// tests/web/page_settings.mjs - every control has the server's range and default, and what is set is what is sent.
import {assert, done, given, openSettings, pace, saved, talk, test, text, using} from './rig.mjs';

const settings = openSettings;
const box = (page, name) => page.locator(`#settings input[name=${name}]`);

test(async function every_sampling_field_has_the_servers_range_and_default() {
  await using({settings: {values: {}}}, async page => {
    await settings(page);
    const props = await page.evaluate(() => fetch('props').then(r => r.json()));
    assert.ok(props.sampling.length >= 9 && props.presets.length >= 9);
    for (const f of props.sampling) {
      assert.deepEqual(await box(page, f.name).evaluate(el => [el.min, el.max, el.value]), [f.min, f.max, f.default].map(String), f.name);
      assert.ok((await page.locator(`#settings .field:has(input[name=${f.name}])`).last().textContent()).includes(f.help), f.name);
    }
    assert.deepEqual(await page.locator('#settings select[name=preset] option').allInnerTexts(), ['none', ...props.presets.map(p => p.name)]);
  });
});

test(async function what_is_set_is_what_is_sent_and_kept_for_the_next_conversation() {
  await using({settings: {values: {}}}, async page => {
    const bodies = await pace(page, 0);
    await settings(page);
    await page.fill('#settings textarea[name=system]', 'You are N');
    await page.selectOption('#settings select[name=preset]', 'creative');
    const creative = (await page.evaluate(() => fetch('props').then(r => r.json()))).presets.find(p => p.name === 'creative').values;
    assert.equal(await box(page, 'temp').inputValue(), String(creative.temp));
    for (const [name, value] of [['temp', '0'], ['top_k', '7'], ['seed', '42'], ['max_tokens', '5']]) {
      await box(page, name).fill(value);
      await box(page, name).press('Tab');
    }
    await page.fill('#settings textarea[name=stop]', '!\n\\nEnd');
    await page.fill('#settings textarea[name=system]', 'You are N.');
    await page.press('#settings textarea[name=system]', 'Tab');
    await talk(page, 'N');
    const {messages, preset, temp, top_k: topK, seed, max_tokens: most, stop, model} = bodies[0];
    assert.deepEqual({messages, preset, temp, topK, seed, most, stop, model}, {messages: [{role: 'system', content: 'You are N.'}, {role: 'user', content: 'N'}],
      preset: 'creative', temp: 0, topK: 7, seed: 42, most: 5, stop: ['!', '\nEnd'], model: 'm'});
    assert.equal(await text(page), 'No more');      // the stop string
    await page.click('#new');
    assert.equal(await box(page, 'top_k').inputValue(), '7');
    await page.getByRole('button', {name: 'Reset Top-k', exact: true}).click();
    assert.equal(await box(page, 'top_k').inputValue(), String(creative.top_k));
    await page.getByRole('button', {name: 'All to default'}).click();
    assert.equal(await box(page, 'seed').inputValue(), '');
    await page.locator('#conversations .open').first().click();
    await page.waitForFunction(() => document.querySelector('#settings input[name=top_k]').value === '7');
  });
});

test(async function a_schema_is_checked_as_one_types_and_the_answer_has_its_form() {
  await using({settings: {values: {}}}, async page => {
    const bodies = await pace(page, 0), field = page.locator('#settings textarea[name=schema]'), said = page.locator('#settings .field:has(textarea[name=schema]) .error');
    const shown = part => page.waitForFunction(p => document.querySelector('#settings .field:has(textarea[name=schema]) .error').textContent.includes(p), part);
    await settings(page);
    await field.fill('{"type": "objec"}');
    await shown('/type: ');
    assert.equal(await field.evaluate(el => el.validity.customError), true);
    await field.fill('{"type":');
    await shown('Schema: not JSON');
    await field.fill('[]');
    await shown('Schema: an object, true or false is due');
    await field.fill('{"enum": ["No"]}');
    await page.waitForFunction(() => document.querySelector('#settings textarea[name=schema]').validity.valid);
    assert.equal(await said.textContent(), '');
    await talk(page, 'N');
    assert.deepEqual(bodies[0].json_schema, {enum: ['No']});
    await page.getByRole('button', {name: 'All to default'}).click();
    assert.equal(await field.inputValue(), '');
  });
});

test(async function adapters_have_scales_and_are_named_once_one_was_changed() {
  await using({settings: {values: {}}}, async page => {
    const bodies = await pace(page, 0), tone = box(page, 'lora-tone');
    await settings(page);
    assert.equal(await tone.inputValue(), '0');
    await talk(page, 'N');
    assert.equal('lora' in bodies[0], false);
    await tone.fill('2000');
    await tone.blur();
    assert.equal(await tone.evaluate(el => el.validity.rangeOverflow), true);
    await tone.fill('0.5');
    await tone.blur();
    await talk(page, 'N', 2);
    assert.deepEqual(bodies[1].lora, [{name: 'tone', scale: 0.5}]);
    await tone.fill('0');
    await tone.blur();
    await talk(page, 'N', 3);
    assert.deepEqual(bodies[2].lora, []);
    await page.locator('#settings select[name=model]').selectOption('stories');
    assert.equal(await tone.count(), 0);
    await page.locator('#settings select[name=model]').selectOption('m');
    assert.equal(await tone.inputValue(), '0');
    await talk(page, 'N', 4);
    assert.equal('lora' in bodies[3], false);
  });
});

test(async function the_interface_speaks_the_browsers_language_or_the_one_that_is_chosen() {
  await using({options: {locale: 'de-AT'}}, async page => {
    assert.equal(await page.getAttribute('html', 'lang'), 'de');
    assert.equal(await page.getAttribute('#input', 'placeholder'), 'Nachricht schreiben');
    await talk(page, 'N');
    assert.match(await page.locator('.foot summary').last().innerText(), /^\d+ Tokens, /);
    for (const [code, word, answer] of [['zh', '设置', '重新回答'], ['es', 'Ajustes', 'Otra respuesta'], ['en', 'Settings', 'Another answer']]) {
      await page.click('#open-settings');
      await Promise.all([page.waitForNavigation(), page.locator('#settings fieldset select').first().selectOption(code)]);
      await done(page);
      assert.deepEqual([await page.getAttribute('html', 'lang'), await page.getAttribute('#open-settings', 'aria-label'), await page.locator('[data-do=regenerate]').getAttribute('aria-label')], [code, word, answer]);
    }
  });
});

test(async function a_value_outside_its_range_is_marked_and_not_sent() {
  await using({}, async page => {
    const bodies = await pace(page, 0);
    await settings(page);
    for (const [name, value] of [['temp', '9'], ['top_k', '1.5'], ['seed', 'x'], ['max_tokens', '0']]) {
      await box(page, name).evaluate((el, v) => { el.value = v; el.dispatchEvent(new Event('change')); }, value);
      assert.equal(await box(page, name).evaluate(el => el.validity.customError || !el.validity.valid), true, name);
    }
    await talk(page, 'N');
    assert.deepEqual([bodies[0].temp, bodies[0].top_k, Number.isInteger(bodies[0].seed), bodies[0].max_tokens], [0, undefined, true, undefined]);
  });
});

test(async function the_slider_and_the_box_say_the_same() {
  await using({}, async page => {
    await settings(page);
    const slider = page.getByLabel('Top-p slider');
    await slider.fill('0.5');
    assert.equal(await box(page, 'top_p').inputValue(), '0.5');
    await box(page, 'top_p').fill('0.25');
    await box(page, 'top_p').press('Tab');
    assert.equal(await slider.inputValue(), '0.25');
  });
});

test(async function the_model_that_is_picked_answers() {
  await using({settings: {max_tokens: '6'}}, async page => {
    const bodies = await pace(page, 0);
    await talk(page, 'K');
    assert.equal(await text(page), 'Blue.');
    await settings(page);
    await page.selectOption('#settings select[name=model]', 'stories');
    await talk(page, 'Once upon a time', 2);
    assert.equal(bodies.at(-1).model, 'stories');
    assert.equal(bodies.at(-1).messages.length, 3);
  });
});

test(async function field_3_15_a_locked_server_is_asked_for_its_key_once() {
  await using({port: given.locked, wait: 'dialog input[type=password]', settings: {model: '', max_tokens: '8'}}, async page => {
    await page.fill('dialog input[type=password]', 'wrong-wrong-wrong-wrong');
    await page.press('dialog input[type=password]', 'Enter');
    await page.waitForSelector('dialog .error');
    await page.fill('dialog input[type=password]', given.key);
    await page.press('dialog input[type=password]', 'Enter');
    await page.waitForSelector('.empty');
    assert.match(await page.innerText('.empty'), /no chat template/);
    await talk(page, 'Once upon a time');
    assert.ok((await text(page)).length > 3);
    await saved(page);
    await page.reload();
    await done(page);
    assert.equal(await page.locator('dialog').count(), 0);
    assert.deepEqual(await page.evaluate(() => [Boolean(sessionStorage['runnel-key']), localStorage['runnel-key']]), [true, undefined].map(v => v ?? null).map((v, i) => (i ? undefined : v)));
    await settings(page);
    await page.getByRole('button', {name: 'Forget the key'}).click();
    await page.reload();
    await page.waitForSelector('dialog input[type=password]');
    await page.check('#remember');
    await page.fill('dialog input[type=password]', given.key);
    await page.press('dialog input[type=password]', 'Enter');
    await page.waitForSelector('.message');
    assert.equal(await page.evaluate(() => localStorage['runnel-key']), given.key);
  });
});

test(async function a_model_without_a_template_goes_on_with_the_text_and_continues_exactly() {
  await using({port: given.locked, wait: 'dialog input[type=password]', settings: {model: '', values: {temp: 1}, seed: '5', max_tokens: '20'}}, async page => {
    await page.fill('dialog input[type=password]', given.key);
    await page.press('dialog input[type=password]', 'Enter');
    await page.waitForSelector('.empty');
    const bodies = await pace(page, 0);
    await talk(page, 'Once upon a time');
    assert.equal(bodies[0].prompt, 'Once upon a time');
    const short = await text(page);
    await page.locator('[data-do=continue]').click();
    await page.waitForFunction(n => document.querySelector('.message.assistant .body').innerText.length > n && document.querySelector('.message.assistant').dataset.state === 'done', short.length);
    const whole = await text(page);
    await page.click('#new');
    await settings(page);
    await box(page, 'max_tokens').fill('40');
    await box(page, 'max_tokens').press('Tab');
    await talk(page, 'Once upon a time');
    assert.equal(await text(page), whole);
  });
});
