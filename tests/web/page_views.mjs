// tests/web/page_views.mjs - tokens, comparison, figures, the server's view, keys.
import {answers, assert, done, pace, picture, press, saved, say, talk, test, text, using} from './rig.mjs';

const tale = {settings: {model: 'stories', values: {temp: 1}, seed: '3', max_tokens: '24'}};

test(async function tokens_are_coloured_by_probability_and_by_surprisal() {
  await using(tale, async page => {
    await talk(page, 'Once upon a time there was');
    const words = await text(page);
    await press(page, 'tokens');
    const tokens = page.locator('.token');
    await tokens.first().waitFor();
    assert.equal(await tokens.count(), 24);
    assert.equal((await page.locator('.tokens').innerText()).replaceAll('⏎', '').replace(/\s+/g, ' ').trim(), words.replace(/\s+/g, ' ').trim());
    const classes = () => tokens.evaluateAll(list => list.map(t => t.className));
    const before = await classes();
    assert.ok(new Set(before).size > 2, before.join());
    await page.getByLabel('surprisal').check();
    assert.notDeepEqual(await classes(), before);
    assert.match(await page.locator('.legend').innerText(), /bits/);
    assert.match(await tokens.first().getAttribute('aria-label'), /%(, guessed)?$/);
    await tokens.nth(4).hover();
    await page.waitForSelector('#alternatives meter');
    assert.equal(await page.locator('#alternatives button').count(), 5);
    await picture(page, 'tokens', {isForDocs: true});
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#alternatives').count(), 0);
    await press(page, 'tokens');
    assert.equal(await text(page), words);
  });
});

test(async function guessed_tokens_are_underlined() {
  await using({settings: {model: 'stories', values: {temp: 0}, max_tokens: '60'}}, async page => {
    await page.route('**/v1/runnel/generate', r => r.continue({postData: JSON.stringify({...r.request().postDataJSON(), speculate: ['ngram'], draft_min: 4})}));
    await talk(page, 'Tim had a big red car. Tim liked his big red car. One day Tim had a');
    assert.match(await page.locator('.figures').last().textContent(), /[1-9]\d* of \d+ guesses right/);
    await press(page, 'tokens');
    await page.locator('.token').first().waitFor();
    const guessed = page.locator('.token.guessed');
    assert.ok(await guessed.count() > 0);
    assert.match(await guessed.first().getAttribute('aria-label'), /, guessed$/);
    assert.equal(await guessed.first().evaluate(e => getComputedStyle(e).textDecorationLine), 'underline');
    assert.match(await page.locator('.legend').innerText(), /guessed/);
    await picture(page, 'guessed');
  });
});

test(async function an_alternative_that_is_chosen_makes_a_version_that_goes_on_from_it() {
  await using(tale, async page => {
    const bodies = await pace(page, 0);
    await talk(page, 'Once upon a time there was');
    const words = await text(page);
    await press(page, 'tokens');
    await page.locator('.token').first().focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    const other = page.locator('#alternatives button:not(.chosen)').first();
    const piece = (await other.locator('code').innerText()).replaceAll('␣', ' ');
    const head = (await page.locator('.token').evaluateAll(list => list.slice(0, 5).map(t => t.textContent))).join('');
    await other.focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.branches >> text=2/2');
    await done(page);
    const branched = await text(page);
    assert.ok(branched.startsWith((head + piece).trimStart()), `${branched} | ${head}${piece}`);
    assert.notEqual(branched, words);
    assert.equal(bodies.at(-1).reply_tokens.length, 6);
    assert.equal(bodies.at(-1).max_tokens, 18);
    await press(page, 'tokens');
    await page.waitForSelector('.token');
    assert.equal(await page.locator('.token').count(), 24);
    await press(page, 'previous');
    assert.equal(await text(page), words);
  });
});

test(async function settings_are_compared_side_by_side_and_one_answer_is_kept() {
  await using({settings: {model: 'stories', max_tokens: '30'}}, async page => {
    const bodies = await pace(page, 30);
    await page.keyboard.press('Alt+2');
    await page.getByRole('button', {name: 'Add a column'}).click();
    const columns = page.locator('.column');
    assert.equal(await columns.count(), 3);
    for (const [n, model, preset] of [[0, 'stories', 'greedy'], [1, 'stories', 'wild'], [2, 'm', 'greedy']]) {
      await columns.nth(n).locator('summary').first().click();
      await columns.nth(n).locator('select[name=model]').selectOption(model);
      await columns.nth(n).locator('select[name=preset]').selectOption(preset);
      await columns.nth(n).locator('input[name=max_tokens]').fill('30');
      await columns.nth(n).locator('input[name=max_tokens]').press('Tab');
      await columns.nth(n).locator('summary').first().click();
    }
    await say(page, 'L');
    await page.waitForFunction(() => [...document.querySelectorAll('.column .message')].filter(m => m.dataset.state === 'running' && m.querySelector('.body').innerText).length >= 2);
    await page.waitForFunction(() => [...document.querySelectorAll('.column .message')].every(m => m.dataset.state === 'done') && document.querySelectorAll('.column .message').length === 3);
    assert.deepEqual(bodies.map(b => [b.model, b.preset]), [['stories', 'greedy'], ['stories', 'wild'], ['m', 'greedy']]);
    for (let n = 0; n < 3; n++) assert.match(await columns.nth(n).locator('.figures').textContent(), /tokens/);
    assert.ok((await columns.nth(2).locator('.body').innerText()).startsWith('word0 word1'));
    await picture(page, 'compare');
    const kept = await columns.nth(1).locator('.body').innerText();
    await columns.nth(1).getByRole('button', {name: 'Keep this one'}).click();
    assert.equal(await text(page), kept);
    assert.equal(await page.locator('.branches span').innerText(), '2/3');
    await saved(page);
    await page.reload();
    await done(page);
    assert.equal(await text(page), kept);
    await page.keyboard.press('Alt+2');
    assert.equal(await columns.count(), 3);
    await columns.nth(2).getByRole('button', {name: 'Remove column 3'}).click();
    assert.equal(await page.locator('.column').count(), 2);
  });
});

test(async function strategies_are_compared_with_one_seed_and_it_is_marked_where_their_texts_part() {
  await using({settings: {model: 'stories', max_tokens: '40'}}, async page => {
    const bodies = await pace(page, 0), finished = n => page.waitForFunction(k => document.querySelectorAll('.column .message[data-state=done]').length === k, n);
    await page.keyboard.press('Alt+2');
    const columns = page.locator('.column');
    assert.deepEqual(await columns.locator('summary span').allInnerTexts(), ['greedy', 'creative']);
    await page.getByRole('button', {name: 'Add a column'}).click();
    await columns.nth(2).locator('summary').first().click();
    await columns.nth(2).locator('select[name=strategy]').selectOption('focused');
    assert.match(await columns.nth(2).locator('.column-settings').innerText(), /temp 0.3, top-p 0.9/);
    assert.equal(await columns.nth(2).locator('input[name=temp]').inputValue(), '0.3');
    await columns.nth(2).locator('summary').first().click();
    for (const n of [0, 1, 2]) {
      await columns.nth(n).locator('summary').first().click();
      await columns.nth(n).locator('select[name=model]').selectOption('stories');
      await columns.nth(n).locator('input[name=max_tokens]').fill('40');
      await columns.nth(n).locator('input[name=max_tokens]').press('Tab');
      await columns.nth(n).locator('summary').first().click();
    }
    await say(page, 'Once upon a time');
    await finished(3);
    assert.deepEqual(bodies.map(b => [b.temp, b.top_k, b.top_p]), [[0, undefined, undefined], [1.2, 50, 1], [0.3, 0, 0.9]]);
    assert.equal(new Set(bodies.map(b => b.seed)).size, 1);
    assert.ok(Number.isInteger(bodies[0].seed));
    const texts = await columns.locator('.body').evaluateAll(list => list.map(b => b.textContent)), words = await columns.locator('.parting').allInnerTexts();
    assert.equal(words[0], '');
    for (const n of [1, 2]) {
      let k = 0;
      while (k < texts[0].length && texts[0][k] === texts[n][k]) k++;
      assert.equal(words[n], texts[0] === texts[n] ? 'The same text as in column 1.' : `Goes on otherwise than column 1 after ${k} character${k === 1 ? '' : 's'}.`);
    }
    assert.notEqual(texts[0], texts[1]);
    const marked = await page.evaluate(() => [...CSS.highlights.get('parting')].map(r => r.toString().trim()));
    assert.ok(marked.length >= 2 && marked.every(Boolean), JSON.stringify(marked));
    await picture(page, 'compare-strategies');
    assert.equal(await page.locator('.answers:visible').count(), 0);
    // A seed of a column's own stays its own; the others share one that is drawn anew.
    await columns.nth(1).locator('summary').first().click();
    await columns.nth(1).locator('input[name=seed]').fill('5');
    await columns.nth(1).locator('input[name=seed]').press('Tab');
    await say(page, 'Once upon a time');
    await page.waitForFunction(() => document.querySelectorAll('.column .message[data-state=done]').length === 3);
    await page.waitForFunction(() => [...document.querySelectorAll('.column .message .foot')].some(f => /seed 5\b/.test(f.textContent)));
    const seeds = bodies.slice(3).map(b => b.seed);
    assert.equal(seeds[1], 5);
    assert.equal(seeds[0], seeds[2]);
    assert.notEqual(seeds[0], bodies[0].seed);
  });
});

test(async function the_answers_of_a_search_are_listed_with_their_scores() {
  await using({settings: {model: 'stories', max_tokens: '30'}}, async page => {
    await page.keyboard.press('Alt+2');
    const columns = page.locator('.column'), finished = () => page.waitForFunction(() => document.querySelectorAll('.column .message[data-state=done]').length === 3);
    await page.getByRole('button', {name: 'Add a column'}).click();
    for (const [n, strategy] of [[0, 'greedy'], [1, 'creative'], [2, 'beam']]) {
      await columns.nth(n).locator('summary').first().click();
      await columns.nth(n).locator('select[name=model]').selectOption('stories');
      await columns.nth(n).locator('select[name=strategy]').selectOption(strategy);
      await columns.nth(n).locator('input[name=max_tokens]').fill('30');
      await columns.nth(n).locator('input[name=max_tokens]').press('Tab');
      await columns.nth(n).locator('summary').first().click();
    }
    await say(page, 'Once upon a time there was a cat');
    await finished();
    assert.equal(await page.locator('.answers:visible').count(), 1);
    const answers = columns.nth(2).locator('.answers');
    assert.equal(await answers.locator('summary').innerText(), '4 answers, the best first');
    await answers.locator('summary').click();
    const scores = (await answers.locator('.hint').allInnerTexts()).map(t => Number(/^score (-\d\.\d{4})$/.exec(t)[1])), texts = await answers.locator('p').allInnerTexts();
    assert.deepEqual([scores.length, new Set(texts).size], [4, 4]);
    assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
    const squeeze = s => s.replace(/\s+/g, ' ').trim();
    assert.equal(squeeze(texts[0]), squeeze(await columns.nth(2).locator('.body').innerText()));
    await picture(page, 'compare-beams', {isForDocs: true});
    await saved(page);
    await page.reload();
    await page.keyboard.press('Alt+2');
    await finished();
    assert.equal(await columns.nth(2).locator('.answers li').count(), 4);
  });
});

test(async function keys_and_buttons_pressed_before_the_server_answered_take_effect_when_it_does() {
  await using({}, async page => {
    let answer = null;
    const held = new Promise(resolve => { answer = resolve; });
    await page.route('**/v1/models', route => held.then(() => route.continue()));
    await page.reload();
    for (const keys of ['Alt+2', 'Alt+S', 'Alt+ArrowUp', 'Alt+N', 'r', 't']) await page.keyboard.press(keys);
    await page.click('#new');
    assert.deepEqual([await page.locator('.column').count(), await page.locator('#settings form').count()], [0, 0]);
    answer();
    await page.waitForSelector('.column');
    await page.waitForSelector('#settings form');
  });
});

test(async function figures_come_with_the_answer_and_a_plot_of_its_gaps() {
  await using(tale, async page => {
    await pace(page, 20);
    await say(page, 'Once upon a time');
    await page.waitForFunction(() => /tokens\/s/.test(document.querySelector('.figures')?.textContent));
    assert.equal(await page.getAttribute(answers, 'data-state'), 'running');
    await done(page);
    assert.match(await page.locator('.foot').last().innerText(), /^24 tokens, [\d.]+ tokens\/s$/);
    await page.locator('.foot summary').last().click();
    const words = await page.locator('.foot').last().innerText();
    for (const part of [/24 tokens/, /[\d.]+ tokens\/s/, /first after [\d.]+ m?s/, /prompt \d+, \d+ cached/, /seed 3/]) assert.match(words, part);
    assert.match(await page.locator('.plot').getAttribute('aria-label'), /^23 gaps: half below .* longest/);
    await saved(page);
    await page.reload();
    await page.locator('.foot summary').last().click();
    await page.waitForSelector('.plot');
    assert.match(await page.locator('.foot').last().innerText(), /24 tokens/);
  });
});

test(async function the_servers_view_shows_streams_and_pages_while_it_is_looked_at() {
  await using({settings: {model: 'stories', values: {temp: 1}, max_tokens: '200'}}, async page => {
    let n = 0;
    page.on('request', r => { if (r.url().endsWith('/slots')) n++; });
    await pace(page, 15);
    await say(page, 'Once upon a time');
    await page.waitForFunction(q => document.querySelector(q)?.innerText, `${answers} .body`);
    await page.keyboard.press('Alt+3');
    await page.waitForFunction(() => [...document.querySelectorAll('.figure')].some(f => /^[1-9]\d*\s*(running|parked)/.test(f.innerText)));
    assert.match(await page.locator('.kv').getAttribute('aria-label'), /^\d+ pages: \d+ in use, \d+ cached, \d+ free$/);
    await page.waitForFunction(() => [...document.querySelectorAll('.figure')].some(f => /tokens\/s/.test(f.innerText) && parseFloat(f.innerText) > 0));
    assert.match(await page.locator('.facts').innerText(), /arithmetic/);
    await picture(page, 'server');
    await page.keyboard.press('Alt+1');
    await page.waitForTimeout(300);
    const before = n;
    await page.waitForTimeout(1500);
    assert.equal(n, before, 'asked although nobody looks');
    await page.keyboard.press('Escape');
    await done(page, 1, 'stopped');
  });
});

test(async function keys_do_what_their_list_says() {
  await using({}, async page => {
    await talk(page, 'N');
    await page.locator('#main').focus();
    await page.keyboard.press('?');
    const rows = await page.locator('dialog .keys dt').allInnerTexts();
    assert.ok(rows.length >= 12, rows.join());
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({state: 'detached'});
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'input');
    await page.keyboard.type('a?b');
    assert.equal(await page.inputValue('#input'), 'a?b');
    await page.keyboard.press('Shift+Enter');
    assert.equal(await page.inputValue('#input'), 'a?b\n');
    await page.keyboard.press('Control+k');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
    await page.keyboard.press('Alt+n');
    assert.equal(await page.innerText('#title'), 'New conversation');
    await page.fill('#input', '');
    await talk(page, 'K');
    await page.keyboard.press('Alt+ArrowDown');
    await page.waitForFunction(() => document.querySelector('#title').textContent === 'N');
    await page.keyboard.press('Alt+ArrowUp');
    await page.waitForFunction(() => document.querySelector('#title').textContent === 'K');
    await page.locator('#main').focus();
    await page.keyboard.press('t');
    await page.waitForSelector('.token');
    await page.keyboard.press('r');
    await page.waitForSelector('.branches >> text=2/2');
    await done(page);
    await page.keyboard.press('Alt+s');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Settings');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'open-settings');
  });
});
