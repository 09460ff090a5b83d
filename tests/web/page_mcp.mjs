// tests/web/page_mcp.mjs - tools of MCP servers in conversations: none is asked before it is on, none is called before the user agrees.
import {assert, done, given, openSettings, pace, saved, say, talk, test, text, using} from './rig.mjs';

const calls = '.call';
const consent = page => page.locator('.consent');
const button = (page, name) => page.getByRole('button', {name, exact: true});
// What the page asked the MCP server: the methods, as the browser sent them.
function heard(page) {
  const list = [];
  page.on('request', r => { if (r.url() === given.mcp && r.method() === 'POST') list.push(JSON.parse(r.postData())); });
  return list;
}
const methods = list => list.map(m => m.method);

test(async function a_tool_is_listed_called_once_the_user_agrees_and_its_result_goes_on() {
  await using({}, async page => {
    const bodies = await pace(page, 0), sent = heard(page);
    await talk(page, 'N');
    await openSettings(page);
    const box = page.locator('#settings input[name=mcp-0]');
    assert.deepEqual([await box.isChecked(), sent.length, 'tools' in bodies[0]], [false, 0, false], 'a server that is off was asked');
    await box.check();
    await page.waitForFunction(() => /^3 tools: look, wait, fail\.now$/.test(document.querySelector('#mcp-0-said').textContent));
    await page.getByRole('button', {name: 'Close the settings'}).click();
    await talk(page, 'T', 2);
    assert.deepEqual(bodies[1].tools.map(f => f.function.name), ['look', 'wait', 'fail_now']);
    assert.deepEqual(bodies[1].tools[0].function, {name: 'look', description: 'Looks at something.', parameters: {type: 'object', properties: {at: {type: 'string'}}}});
    await consent(page).waitFor();
    assert.match(await consent(page).innerText(), new RegExp(`${new URL(given.mcp).host}/mcp would get this call`));
    assert.equal(await page.locator(`${calls} code`).innerText(), '{\n  "at": "the sky"\n}');
    assert.ok(!methods(sent).includes('tools/call'), 'it was called unasked');
    await button(page, 'Call it').click();
    await done(page, 3);
    assert.equal(await text(page), 'Blue.');
    assert.deepEqual(sent.at(-1).params, {name: 'look', arguments: {at: 'the sky'}});
    assert.deepEqual(bodies[2].messages.map(m => m.role), ['user', 'assistant', 'user', 'assistant', 'tool']);
    assert.deepEqual([bodies[2].messages[4].content, bodies[2].messages[4].tool_call_id], ['K', bodies[2].messages[3].tool_calls[0].id]);
    assert.deepEqual([await page.locator('.message.tool .who').innerText(), await consent(page).count()], ['Result of look', 0]);
    // After a reload an unanswered call asks again, and a refusal is a result.
    await talk(page, 'T', 4);
    await consent(page).waitFor();
    await saved(page);
    await page.reload();
    await consent(page).waitFor();
    await button(page, 'Refuse').click();
    await done(page, 5);
    assert.deepEqual(await page.locator('.message.tool .body').allInnerTexts(), ['K', 'The user refused this call.']);
    assert.equal(await page.locator('.message.tool .who').last().innerText(), 'look failed');
  });
});

test(async function a_tool_that_is_always_allowed_is_called_unasked_in_this_conversation_alone() {
  await using({settings: {mcp: [given.mcp]}}, async page => {
    const sent = heard(page), called = () => methods(sent).filter(m => m === 'tools/call').length;
    await talk(page, 'T');
    await button(page, 'Always in this conversation').click();
    await done(page, 2);
    await say(page, 'T');
    await done(page, 4);
    assert.equal(called(), 2);
    await page.click('#new');
    await talk(page, 'T');
    await consent(page).waitFor();
    assert.equal(called(), 2, 'another conversation has its agreement');
  });
});

test(async function a_call_is_stopped_and_a_server_that_is_away_is_said() {
  await using({settings: {mcp: [given.mcp]}}, async page => {
    const sent = heard(page);
    let hold = true, isAway = false;
    await page.route(given.mcp, route => {
      const message = route.request().method() === 'POST' ? route.request().postDataJSON() : {};
      if (isAway) return route.abort();
      return hold && message.method === 'tools/call' ? new Promise(() => { /* it never answers */ }) : route.continue();
    });
    await talk(page, 'T');
    await button(page, 'Call it').click();
    await page.waitForSelector('.consent .working');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Stop the tool', 'the focus was lost');
    await say(page, 'more');
    await page.waitForSelector('.toast >> text=still coming');
    await page.fill('#input', '');
    await page.click('#stop');
    await button(page, 'Call it').waitFor();        // it can be tried again
    await page.waitForFunction(() => document.querySelector('#send:not([hidden])'));
    for (; !methods(sent).includes('notifications/cancelled');) await page.waitForTimeout(10);
    hold = false;
    isAway = true;
    await button(page, 'Call it').click();
    await done(page, 2);
    assert.match(await page.locator('.message.tool .body').innerText(), /MCP server 127\.0\.0\.1:\d+\/mcp: it cannot be reached/);
    await page.reload();
    await say(page, 'N');
    await done(page, 3, 'failed');
    assert.match(await page.locator('.state .error').innerText(), /MCP server .* cannot be reached/);
    isAway = false;
    await page.getByRole('button', {name: 'Try again'}).click();
    await done(page, 3);
    page.problems = page.problems.filter(p => !/ERR_FAILED/.test(p));
  });
});

test(async function no_server_is_asked_that_was_not_named_at_the_start() {
  const other = given.mcp.replace('127.0.0.1', 'localhost');
  await using({settings: {mcp: [other, 'http://evil.example/mcp']}}, async page => {
    const bodies = await pace(page, 0);
    await talk(page, 'N');
    assert.equal('tools' in bodies[0], false);
    const words = await page.evaluate(url => new Promise(resolve => {
      addEventListener('securitypolicyviolation', e => resolve(e.effectiveDirective), {once: true});
      fetch(url, {method: 'POST', body: '{}'}).catch(() => {});
    }), other);
    assert.equal(words, 'connect-src');
    page.problems = page.problems.filter(p => !/Content Security Policy/.test(p));
  });
});
