// tests/web/page_files.mjs - files beside messages, and what goes out and comes in: Markdown, exports of other chats.
import fs from 'node:fs/promises';
import {answers, assert, done, pace, press, saved, talk, test, text, using} from './rig.mjs';

const choose = (page, ...files) => page.setInputFiles('#attach-file', files.map(([name, body, mimeType = 'text/plain']) => ({name, mimeType, buffer: Buffer.from(body)})));
const attached = page => page.locator('.attached li').allInnerTexts();

test(async function text_files_are_attached_counted_and_sent_before_the_message() {
  await using({}, async page => {
    const bodies = await pace(page, 0);
    await choose(page, ['a.py', 'print("N")\n'], ['notes.md', 'a ``` b ```` c']);
    await page.waitForFunction(() => [...document.querySelectorAll('.attached .hint')].length === 2 && [...document.querySelectorAll('.attached .hint')].every(s => /^\d+ tokens$/.test(s.textContent)));
    await choose(page, ['c.txt', 'gone']);
    await page.getByRole('button', {name: 'Take c.txt away'}).click();
    assert.equal((await attached(page)).length, 2);
    for (const [name, body, why, type] of [['x.bin', Buffer.from([0xff, 0xfe, 0]), 'not text'], ['y.txt', 'a\0b', 'NUL'], ['z.png', 'x', 'only text', 'image/png'], ['big.txt', 'x'.repeat((1 << 20) + 1), 'the limit']]) {
      await choose(page, [name, body, type]);
      await page.waitForSelector(`.toast.error >> text=${why}`);
    }
    await talk(page, 'N');
    const sent = 'a.py:\n```python\nprint("N")\n```\n\nnotes.md:\n`````markdown\na ``` b ```` c\n`````\n\nN';
    assert.deepEqual(bodies[0].messages, [{role: 'user', content: sent}]);
    assert.deepEqual(await attached(page), []);
    const shown = page.locator('.message.user .file');
    assert.match(await shown.first().innerText(), /^a\.py\s*\d+ tokens$/);
    await shown.first().locator('summary').click();
    await shown.first().locator('.hljs-string').waitFor();
    await saved(page);
    await page.reload();
    await done(page);
    await press(page, 'edit', 0);
    await page.fill('.message.user textarea', 'K');
    await page.press('.message.user textarea', 'Control+Enter');
    await page.waitForFunction(() => document.querySelector('.message.assistant .body')?.innerText === 'Blue.');
    assert.equal(bodies.at(-1).messages[0].content, sent.replace(/N$/, 'K'), 'an edited message lost its files');
  });
});

test(async function files_are_dropped_and_long_texts_pasted() {
  await using({}, async page => {
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File(['int x;\n'], 'x.c'));
      for (const type of ['dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
        if (type === 'dragover') window.shown = document.body.classList.contains('dropping');
      }
      for (const words of ['short', 'long '.repeat(2000)]) {
        const clip = new DataTransfer();
        clip.setData('text/plain', words);
        document.querySelector('#input').dispatchEvent(new ClipboardEvent('paste', {clipboardData: clip, bubbles: true, cancelable: true}));
      }
    });
    await page.waitForFunction(() => document.querySelectorAll('.attached li').length === 2);
    assert.deepEqual(await page.locator('.attached li b').allTextContents(), ['x.c', 'pasted.txt']);
    assert.deepEqual(await page.evaluate(() => [window.shown, document.body.className.includes('dropping')]), [true, false]);
  });
});

test(async function a_conversation_is_exported_as_markdown() {
  await using({}, async page => {
    await talk(page, 'What is N');
    await talk(page, 'K', 2);
    await page.locator('#conversations .menu summary').first().click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name: 'Export as Markdown'}).click()]);
    assert.equal(download.suggestedFilename(), 'What-is-N.md');
    assert.equal(await fs.readFile(await download.path(), 'utf8'), '# What is N\n\n## You\n\nWhat is N\n\n## m\n\nNo more!\n\n## You\n\nK\n\n## m\n\nBlue.\n');
  });
});

test(async function exports_of_chatgpt_and_open_webui_come_in_with_their_versions() {
  const say = (id, parent, role, parts, more = {}) => [id, {id, parent, children: [], message: {id, author: {role}, create_time: 1700000000, content: {content_type: 'text', parts}, metadata: {}, ...more}}];
  const chatGpt = [{title: 'About N', create_time: 1700000000.5, update_time: 1700000100, current_node: 'b2', mapping: Object.fromEntries([
    ['root', {id: 'root', parent: null, message: null}], say('s', 'root', 'system', ['']), say('u', 's', 'user', ['Is it N?']), say('t', 'u', 'assistant', [], {content: {content_type: 'thoughts', thoughts: []}}),
    say('a1', 't', 'assistant', ['First.']), say('a2', 't', 'assistant', ['Second,'], {metadata: {model_slug: 'gpt-x'}}), say('tool', 'a2', 'tool', ['result']), say('a3', 'tool', 'assistant', ['and third.']),
    say('b1', 'a3', 'user', ['old']), say('b2', 'a3', 'user', [{content_type: 'image_asset_pointer'}, 'new']), say('loop', 'loop', 'user', ['x'])])}];
  const message = (id, parentId, role, content, more = {}) => [id, {id, parentId, childrenIds: [], role, content, timestamp: 1700000000, ...more}];
  const webUi = [{id: 'x', title: 'Their chat', created_at: 1700000000, chat: {title: 'Their chat', history: {currentId: 'a', messages: Object.fromEntries([message('u', null, 'user', 'Hello'),
    message('a', 'u', 'assistant', '<details type="reasoning" done="true">\nhm\n</details>\nHi.', {model: 'qwen'}), message('z', 'u', 'assistant', 'Other.')])}}}];
  await using({}, async page => {
    const put = body => page.setInputFiles('#import-file', {name: 'conversations.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(body))});
    await put(chatGpt);
    await page.locator('#conversations .open', {hasText: 'About N'}).click();
    await page.waitForFunction(() => document.querySelectorAll('.message').length === 3);
    assert.deepEqual(await page.locator('.message .body').evaluateAll(all => all.map(b => b.textContent.trim().replace(/\s+/g, ' '))), ['Is it N?', 'Second, and third.', '[not text] new']);
    assert.equal(await page.locator('.assistant .who').innerText(), 'gpt-x');
    assert.deepEqual(await page.locator('.branches span').allInnerTexts(), ['1/2', '2/2', '2/2']);
    await put(webUi);
    await page.locator('#conversations .open', {hasText: 'Their chat'}).click();
    await page.waitForFunction(() => document.querySelector('.assistant .who')?.innerText === 'qwen');
    assert.equal(await text(page), 'Hi.');
    await talk(page, 'K', 2);          // it goes on
    assert.equal(await text(page, `${answers} .body`), 'Blue.');
    for (const odd of [[{mapping: 7}], [{mapping: {a: null, b: {message: {content: {parts: 5, content_type: 'text'}}}}}], [{chat: {history: {messages: {a: 1}}}}], [1]]) await put(odd);
    await page.waitForSelector('.toast');
  });
});
