// tests/web/page_conversations.mjs - what is kept: list, names, search, files, room, and other tabs.
import fs from 'node:fs/promises';
import {answers, assert, done, open, pace, press, saved, say, talk, test, text, using} from './rig.mjs';

const titles = page => page.locator('#conversations .title').allInnerTexts();
const menu = async (page, n, name) => {
  await page.locator('#conversations .menu summary').nth(n).click();
  await page.locator('#conversations .menu').nth(n).getByRole('button', {name}).click();
};

test(async function conversations_are_there_after_a_reload_with_all_their_versions() {
  await using({}, async page => {
    await talk(page, 'N');
    await press(page, 'regenerate');
    await page.waitForSelector('.branches >> text=2/2');
    await done(page);
    await press(page, 'previous');
    await saved(page);
    await page.reload();
    await done(page);
    assert.equal(await text(page), 'No more!');
    assert.equal(await page.locator('.branches span').innerText(), '1/2');
    assert.deepEqual(await titles(page), ['N']);
  });
});

test(async function a_conversation_is_renamed_and_its_deletion_is_taken_back() {
  await using({}, async page => {
    await talk(page, 'N');
    await page.click('#new');
    await talk(page, 'K');
    await menu(page, 0, 'Rename');
    await page.fill('#conversations input', 'About colours');
    await page.press('#conversations input', 'Enter');
    await page.waitForSelector('#conversations >> text=About colours');
    assert.equal(await page.innerText('#title'), 'About colours');
    await menu(page, 0, 'Delete');
    await page.waitForFunction(() => document.querySelectorAll('#conversations .title').length === 1);
    await page.getByRole('button', {name: 'Undo'}).click();
    await page.waitForSelector('#conversations >> text=About colours');
    await menu(page, 1, 'Delete');
    await page.waitForFunction(() => document.querySelectorAll('#conversations .title').length === 1);
    await saved(page);
    await page.reload();
    await page.waitForSelector('#conversations >> text=About colours');
    assert.deepEqual(await titles(page), ['About colours']);
  });
});

test(async function the_search_finds_words_of_any_message_and_shows_the_place() {
  await using({}, async page => {
    await talk(page, 'Crème brûlée for N');
    await page.click('#new');
    await talk(page, 'K');
    await page.fill('#search', 'creme n');
    await page.waitForSelector('#conversations mark');
    assert.deepEqual(await page.locator('#conversations li .found mark').first().innerText(), 'Crème');
    await page.fill('#search', 'blue');
    await page.waitForFunction(() => document.querySelector('#conversations .found')?.textContent === 'Blue.');
    await page.click('#conversations .open');
    await page.waitForFunction(() => document.activeElement.classList.contains('assistant'));
    await page.fill('#search', 'nothing of the kind');
    await page.waitForSelector('#conversations >> text=Nothing was found.');
    await page.press('#search', 'Escape');
    await page.waitForFunction(() => document.querySelectorAll('#conversations .title').length === 2);
  });
});

test(async function what_is_exported_comes_in_again_and_what_is_no_such_file_is_refused() {
  await using({}, async page => {
    await talk(page, 'M');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name: 'Export all'}).click()]);
    const file = JSON.parse(await fs.readFile(await download.path(), 'utf8'));
    assert.equal(file.conversations[0].messages.length, 2);
    assert.ok(file.conversations[0].data[0].tokens.length > 3);
    const put = body => page.setInputFiles('#import-file', {name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(body)});
    await put(JSON.stringify(file));
    await page.waitForFunction(() => document.querySelectorAll('#conversations .title').length === 2);
    await page.locator('#conversations .open').nth(1).click();
    await done(page);
    await press(page, 'tokens');
    await page.waitForSelector('.token');
    const circle = {...file, conversations: [{...file.conversations[0], messages: file.conversations[0].messages.map((m, i, all) => ({...m, parent: all[1 - i].id}))}]};
    for (const [body, why] of [['{', 'not JSON'], ['{}', 'not a runnel-conversations file'], [JSON.stringify(circle), 'has no way to the first'],
      [JSON.stringify({...file, conversations: [{id: 'a', title: 'b', messages: [{id: 1}]}]}), 'messages[0]']]) {
      await put(body);
      await page.waitForSelector(`.toast.error >> text=${why}`);
      await page.locator('.toast.error').last().getByRole('button', {name: 'Close'}).click();
    }
    assert.equal((await titles(page)).length, 2);
    const odd = {id: 'a', title: 'odd', settings: {stop: 5, values: {temp: 'x'}, tools: []}, selected: [], data: [{id: 'm', tokens: 'x', data: [{}]}, null],
      messages: [{id: 'm', role: 'assistant', content: 'odd <b>one</b>', calls: [null], figures: 'x', usage: {a: {}}, error: 'e', state: 'running', stream: {name: '../x'}, settings: 7}]};
    await put(JSON.stringify({...file, conversations: [odd]}));
    await page.locator('#conversations .open', {hasText: 'odd'}).click();
    await done(page, 1, 'stopped');
    assert.equal(await text(page), 'odd one');
    await page.click('#open-settings');
    await press(page, 'tokens');
    await page.waitForSelector('.tokens >> text=No token data');
  });
});

test(async function a_conversation_of_a_thousand_messages_draws_what_is_looked_at_first() {
  const messages = Array.from({length: 1000}, (_, i) => ({id: `m${i}`, parent: i ? `m${i - 1}` : '', role: i % 2 ? 'assistant' : 'user', state: 'done', created: i + 1,
    content: i === 101 ? 'The **needle** is here.' : `Message ${i}.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| ${i} | x |\n\n\`\`\`\nlet x = ${i};\n\`\`\``}));
  const file = {format: 'runnel-conversations', version: 1, conversations: [{id: 'c', title: 'long', messages}]};
  const init = () => { window.idle = []; window.requestIdleCallback = fn => window.idle.push(fn); };
  await using({init}, async page => {
    await page.setInputFiles('#import-file', {name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(file))});
    await page.locator('#conversations .open').first().click();
    await page.waitForFunction(() => document.querySelectorAll('.messages > .message').length === 1000);
    const awake = () => page.locator('.messages > .message:not([data-asleep])').count();
    const first = await awake();
    assert.ok(first >= 12 && first < 60, `${first} messages are drawn at once`);
    await page.waitForFunction(() => { const m = document.querySelector('#main'); return m.scrollHeight - m.scrollTop - m.clientHeight < 60; });
    assert.equal(await text(page, `${answers} td`), 'x');
    // Another answer draws no message anew.
    await page.evaluate(() => {
      window.redrawn = 0;
      new MutationObserver(list => { window.redrawn += list.filter(m => m.target.closest?.('.message:nth-last-of-type(n+4)')).length; }).observe(document.querySelector('.messages'), {childList: true, subtree: true});
    });
    await talk(page, 'N', 501);
    assert.equal(await page.evaluate(() => window.redrawn), 0);
    await page.evaluate(() => { document.querySelector('#main').scrollTop = 0; });
    await page.waitForSelector('.message:nth-of-type(2) td');
    await page.fill('#search', 'needle');
    await page.waitForSelector('#conversations mark');
    await page.click('#conversations .open');
    await page.waitForFunction(() => document.activeElement.textContent.includes('The needle is here.'));
    assert.ok(await awake() < 200);
    await page.evaluate(() => { for (const fn of window.idle.splice(0)) fn({timeRemaining: () => (document.querySelectorAll('[data-asleep]').length > 500 ? 50 : 0)}); });
    assert.ok(await awake() >= 500 && await awake() < 1002);
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.locator('[data-asleep]').count(), 0);
  });
});

test(async function a_full_store_is_said_and_the_answer_is_still_there() {
  const fill = () => { IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }; };
  await using({init: fill}, async page => {
    await talk(page, 'N');
    await page.waitForSelector('.toast.error >> text=storage for this page is full');
    assert.equal(await text(page), 'No more!');
  });
});

test(async function two_tabs_lose_nothing_of_each_other() {
  await using({}, async one => {
    await talk(one, 'N');
    const hash = await one.evaluate(() => location.hash);
    const two = await open({context: one.context(), hash});
    await done(two);
    const edit = async (page, words) => {
      await press(page, 'edit', 0);
      await page.fill('.message.user textarea', words);
      await page.press('.message.user textarea', 'Control+Enter');
    };
    await Promise.all([edit(one, 'K'), edit(two, 'R')]);
    for (const [page, own] of [[one, 'Blue.'], [two, 'Yes, it is.']]) {
      await page.waitForFunction(() => document.querySelector('.branches span')?.textContent.endsWith('/3'));
      await done(page);
      assert.equal(await text(page), own, 'the tab shows what the other one did');
      const all = [];
      for (let n = 0; n < 3; n++) {
        await done(page);
        all.push(await text(page));
        await press(page, 'following', 0);
      }
      assert.deepEqual(all.sort(), ['Blue.', 'No more!', 'Yes, it is.']);
    }
    await two.click('#new');
    await talk(two, 'M');
    await one.waitForFunction(() => document.querySelectorAll('#conversations .title').length === 2);
    assert.deepEqual(two.problems, []);
  });
});

test(async function a_deletion_is_told_to_other_tabs_and_takes_nothing_that_is_new() {
  await using({}, async one => {
    await one.clock.install();
    await talk(one, 'N');
    const two = await open({context: one.context(), hash: await one.evaluate(() => location.hash)});
    await done(two);
    await menu(one, 0, 'Delete');
    await two.waitForSelector('.toast >> text=deleted in another tab');
    assert.deepEqual(await titles(two), []);
    assert.equal(await text(two), 'No more!', 'what was read is gone');
    await talk(two, 'K', 2);
    await saved(two);
    await one.clock.fastForward(9000);          // the purge is due
    await one.waitForTimeout(300);
    await saved(one);
    await two.reload();
    await done(two, 2);
    assert.equal(await text(two), 'Blue.');
    await one.waitForFunction(() => document.querySelectorAll('#conversations .title').length === 1);
    // One that nobody writes in again is gone for good, and comes back whole where it is kept after the purge.
    await menu(one, 0, 'Delete');
    await two.waitForSelector('.toast >> text=deleted in another tab');
    await one.clock.fastForward(9000);
    await one.waitForTimeout(300);
    await saved(one);
    const stored = () => two.evaluate(() => new Promise(resolve => {
      indexedDB.open('runnel').onsuccess = e => { const all = e.target.result.transaction('messages').objectStore('messages').count(); all.onsuccess = () => resolve(all.result); };
    }));
    assert.equal(await stored(), 0);
    await two.getByRole('button', {name: 'Keep it'}).click();
    await two.waitForSelector('#conversations .title');
    await saved(two);
    assert.equal(await stored(), 4);
    assert.deepEqual(two.problems, []);
  });
});

test(async function drafts_belong_to_their_conversation_and_survive_a_reload() {
  await using({}, async page => {
    await talk(page, 'N');
    await page.fill('#input', 'half a thought');
    await page.click('#new');
    assert.equal(await page.inputValue('#input'), '');
    await page.fill('#input', 'another');
    await page.locator('#conversations .open').first().click();
    await page.waitForFunction(() => document.querySelector('#input').value === 'half a thought');
    await page.reload();
    await page.waitForFunction(() => document.querySelector('#input').value === 'half a thought');
    await page.click('#new');
    assert.equal(await page.inputValue('#input'), 'another');
    await talk(page, 'K');
    assert.equal(await page.inputValue('#input'), '');
    await page.click('#new');
    assert.equal(await page.inputValue('#input'), '', 'what was sent is still a draft');
  });
});

test(async function what_is_written_while_a_message_is_saved_stays_and_is_its_conversations() {
  await using({}, async page => {
    // A transaction that does not end: what the page saves waits for it.
    await page.evaluate(() => new Promise(resolve => {
      indexedDB.open('runnel').onsuccess = e => {
        const stores = e.target.result.transaction([...e.target.result.objectStoreNames], 'readwrite');
        const hold = () => { if (!window.letGo) stores.objectStore('messages').count().onsuccess = hold; };
        hold();
        resolve();
      };
    }));
    await say(page, 'N');
    await page.waitForFunction(() => document.querySelector('#input').value === '');
    await page.locator('#input').pressSequentially('more');
    await page.evaluate(() => { window.letGo = true; });
    await done(page);
    await saved(page);
    await page.waitForFunction(() => location.hash.length > 1);
    assert.equal(await page.inputValue('#input'), 'more');
    await page.click('#new');
    assert.equal(await page.inputValue('#input'), '', 'what was written in the first conversation is in a new one');
    await page.locator('#conversations .open').first().click();
    await page.waitForFunction(() => document.querySelector('#input').value === 'more');
  });
});

test(async function answers_that_failed_or_say_nothing_are_not_sent_again() {
  await using({}, async page => {
    const bodies = await pace(page, 0);
    await page.route('**/v1/runnel/generate', route => (bodies.length < 1 ? (bodies.push(null), route.fulfill({status: 400, json: {error: {message: 'no'}}})) : route.fallback()));
    await say(page, 'first');
    await done(page, 1, 'failed');
    await talk(page, 'N', 2);
    assert.deepEqual(bodies.at(-1).messages, [{role: 'user', content: 'first\n\nN'}]);
    assert.ok(Number.isInteger(bodies.at(-1).seed), 'an answer that is cut could not go on as it would have');
  });
});

test(async function an_answer_that_comes_in_one_tab_is_shown_in_the_other_when_it_is_whole() {
  await using({}, async one => {
    await pace(one, 15);
    await say(one, 'L');
    await one.waitForFunction(q => document.querySelector(q)?.innerText.includes('word2'), `${answers} .body`);
    const two = await open({context: one.context(), hash: await one.evaluate(() => location.hash)});
    await two.waitForSelector('.state >> text=in another tab');
    await done(one);
    await done(two);
    assert.equal(await text(two), await text(one));
    assert.deepEqual(two.problems, []);
  });
});
