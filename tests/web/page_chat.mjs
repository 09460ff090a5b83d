// tests/web/page_chat.mjs - answers: Markdown, thoughts, tools, hostile text, stop, continue, versions.
import {answers, assert, done, openSettings, pace, picture, press, say, talk, test, text, using} from './rig.mjs';

test(async function an_answer_streams_as_markdown_and_its_code_can_be_copied() {
  await using({options: {permissions: ['clipboard-read', 'clipboard-write']}}, async page => {
    await pace(page, 30);
    await say(page, 'M');
    await page.waitForSelector('.message.assistant h1');        // before the end
    assert.equal(await page.getAttribute(answers, 'data-state'), 'running');
    const first = await page.locator('.message.assistant h1').elementHandle();
    await done(page);
    assert.ok(await first.evaluate(el => el.isConnected), 'a finished block was drawn again');
    const body = page.locator(`${answers} .body`);
    assert.equal(await body.locator('strong').innerText(), 'bold');
    assert.deepEqual(await body.locator('li').allInnerTexts(), ['one', 'two']);
    assert.deepEqual(await body.locator('td').allInnerTexts(), ['1', '2']);
    assert.equal(await body.locator('.code-head span').first().innerText(), 'python');
    assert.equal(await body.locator('pre code').innerText(), 'print("hi")\nx = 1');
    await body.getByRole('button', {name: 'Copy code'}).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'print("hi")\nx = 1');
    await picture(page, 'chat');
  });
});

test(async function thoughts_are_folded_and_open_on_request() {
  await using({}, async page => {
    await talk(page, 'R');
    const thought = page.locator('.thought').last();
    assert.equal(await thought.evaluate(el => el.open), false);
    assert.equal(await text(page), 'Yes, it is.');
    await thought.locator('summary').click();
    assert.equal((await thought.locator('.thought-text').innerText()).trim(), 'hm so');
  });
});

test(async function a_call_of_a_tool_is_a_block_and_its_result_goes_back() {
  const tools = JSON.stringify([{type: 'function', function: {name: 'look', parameters: {type: 'object'}}}]);
  await using({settings: {tools}}, async page => {
    const bodies = await pace(page, 0);
    await talk(page, 'T');
    assert.equal(await page.locator('.call summary').innerText(), 'Calls look');
    assert.equal(await page.locator('.call code').innerText(), '{\n  "at": "the sky"\n}');
    await page.fill('.result textarea', 'K');
    await page.click('.result button');
    await done(page, 2);
    assert.equal(await text(page), 'Blue.');
    const sent = bodies.at(-1).messages;
    assert.deepEqual(sent.map(m => m.role), ['user', 'assistant', 'tool']);
    assert.equal(sent[2].tool_call_id, sent[1].tool_calls[0].id);
    assert.equal(bodies.at(-1).tools[0].function.name, 'look');
  });
});

test(async function hostile_output_runs_nothing_loads_nothing_and_keeps_the_layout() {
  await using({}, async page => {
    const outside = [];
    page.on('request', r => { if (!r.url().startsWith('http://127.0.0.1')) outside.push(r.url()); });
    await talk(page, 'H');
    const seen = await page.evaluate(() => ({
      hacked: window.hacked, bad: document.querySelectorAll('.message script, .message iframe, .message svg[onload], .message style, .message form, .body img').length,
      handlers: [...document.querySelectorAll('.body *')].flatMap(el => [...el.attributes]).filter(a => /^on/i.test(a.name) || /script:/i.test(a.value)).length,
      overflow: document.documentElement.scrollWidth - innerWidth, mainOverflow: document.querySelector('#main').scrollWidth - document.querySelector('#main').clientWidth,
      links: [...document.querySelectorAll('.body a[href]')].map(a => [a.getAttribute('href'), a.rel]),
      code: [...document.querySelectorAll('.body pre')].at(-1).textContent, table: document.querySelectorAll('.body td').length,
    }));
    assert.equal(seen.hacked, undefined);
    assert.equal(seen.bad + seen.handlers, 0);
    assert.ok(seen.overflow <= 0 && seen.mainOverflow <= 0, JSON.stringify(seen));
    assert.equal(seen.code, '<b>never closed');
    assert.equal(seen.table, 40);
    assert.ok(seen.links.some(([href]) => href === 'http://evil.example/cat.png'), 'the picture is no link');
    assert.ok(seen.links.every(([href, rel]) => /^https?:/.test(href) && rel.includes('noopener')), JSON.stringify(seen.links));
    assert.deepEqual(outside, []);
    page.problems = page.problems.filter(p => !p.includes('Content Security Policy'));      // what is parsed to be cleaned is refused once more
    await page.fill('#input', 'still there');       // the page answers
    assert.equal(await page.inputValue('#input'), 'still there');
  });
});

test(async function field_3_17_what_was_stopped_goes_on_to_the_answer_that_was_not_cut() {
  await using({settings: {model: 'stories', values: {temp: 1}, seed: '7', max_tokens: '60'}}, async page => {
    await talk(page, 'Once upon a time there was a cat.');
    const whole = await text(page);
    const bodies = await pace(page, 40);
    await press(page, 'edit', 0);
    await page.fill('.message.user textarea', 'Once upon a time there was a cat. ');
    await page.press('.message.user textarea', 'Escape');
    await page.click('#new');
    await say(page, 'Once upon a time there was a cat.');
    await page.waitForFunction(q => document.querySelector(q)?.innerText.length > 30, `${answers} .body`);
    await page.click('#stop');
    await done(page, 1, 'stopped');
    const part = await text(page);
    assert.ok(part.length < whole.length && whole.startsWith(part.trimEnd()), `${part} | ${whole}`);
    await press(page, 'continue');
    await done(page);
    assert.ok(bodies.at(-1).reply_tokens.length > 5, 'not from its tokens');
    assert.ok((await text(page)).startsWith(whole), `${await text(page)} | ${whole}`);
    assert.equal(bodies.at(-1).seed, 7);
  });
});

test(async function an_answer_at_its_limit_can_be_continued_and_one_that_was_edited_goes_on_from_its_text() {
  await using({settings: {max_tokens: '2'}}, async page => {
    const bodies = await pace(page, 0);
    await talk(page, 'N');
    assert.equal(await text(page), 'No more');
    await press(page, 'continue');
    await page.waitForFunction(q => document.querySelector(q).innerText === 'No more!', `${answers} .body`);
    await done(page);
    await press(page, 'edit', -1);
    await page.fill('.message.assistant textarea', 'N');
    await page.click('.message.assistant .primary');
    await press(page, 'continue');
    await page.waitForFunction(q => document.querySelector(q).innerText === 'NNo more', `${answers} .body`);
    assert.equal(bodies.at(-1).continue_final_message, true);
    assert.equal(await page.locator('.branches span').last().innerText(), '2/2');
  });
});

test(async function other_answers_and_edits_are_versions_that_can_be_walked_through() {
  await using({settings: {model: 'stories', values: {temp: 2}, max_tokens: '12'}}, async page => {
    await talk(page, 'One day');
    const first = await text(page);
    await press(page, 'regenerate');
    await page.waitForSelector('.branches >> text=2/2');
    await done(page);
    const second = await text(page);
    assert.notEqual(second, first);
    await press(page, 'previous');
    assert.equal(await text(page), first);
    assert.equal(await page.locator('.branches span').innerText(), '1/2');
    assert.ok(await page.evaluate(() => document.activeElement.dataset.do === 'previous'), 'the focus was lost');
    await talk(page, 'And then', 2);
    await press(page, 'edit', 0);
    await page.fill('.message.user textarea', 'Another day');
    await page.press('.message.user textarea', 'Control+Enter');
    await done(page, 1);
    assert.deepEqual(await page.locator('.message.user .body').allInnerTexts(), ['Another day']);
    await press(page, 'previous', 0);
    await done(page, 2);
    await page.waitForFunction(([q, want]) => document.querySelector(q).innerText === want, [`${answers}:nth-of-type(2) .body`, first]);
    await press(page, 'delete', 0);
    await page.waitForFunction(() => document.querySelector('.message.user .body').innerText === 'Another day');
    await page.getByRole('button', {name: 'Undo'}).click();
    await done(page, 2);
    await page.waitForFunction(() => [...document.querySelectorAll('.message.user .body')].map(e => e.innerText).join() === 'One day,And then');
  });
});

test(async function a_refusal_is_shown_in_the_servers_words_and_can_be_tried_again() {
  await using({settings: {model: 'stories', max_tokens: '3'}}, async page => {
    await say(page, 'word '.repeat(2000));
    await done(page, 1, 'failed');
    assert.match(await page.locator('.state .error').innerText(), /maximum context length is 512 tokens/);
    await page.getByRole('button', {name: 'Try again'}).click();
    await done(page, 1, 'failed');
  });
});

test(async function a_long_conversation_goes_on_without_its_oldest_turns_and_says_so() {
  await using({settings: {model: 'stories', values: {temp: 1}, max_tokens: '5'}}, async page => {
    await talk(page, 'One day the '.repeat(80));
    await talk(page, 'Then he said '.repeat(90), 2);
    assert.match(await page.locator('.state').last().innerText(), /earlier messages? did not fit/);
    await openSettings(page);
    await page.selectOption('#settings select[name=truncate]', 'none');
    await press(page, 'regenerate');
    await done(page, 2, 'failed');
    assert.match(await page.locator('.state .error').innerText(), /maximum context length/);
  });
});
