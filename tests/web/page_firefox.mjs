// tests/web/page_firefox.mjs - what a page cannot do without, in another engine than Chromium's: the same tests, fewer of them. Those that read
// the bodies of requests are not among them: WebDriver BiDi gives none.
import {answers, assert, done, given, run, saved, talk, test, text, using} from './rig.mjs';
import './page_markdown.mjs';
import './page_conversations.mjs';
import './page_hosts.mjs';

test(async function a_tool_is_called_once_the_user_agrees_and_all_of_it_is_there_after_a_reload() {
  await using({settings: {mcp: [given.mcp]}}, async page => {
    await talk(page, 'T');
    await page.getByRole('button', {name: 'Call it', exact: true}).click();
    await done(page, 2);
    assert.equal(await text(page), 'Blue.');
    await saved(page);
    await page.reload();
    await done(page, 2);
    assert.equal(await text(page, '.message.tool .body'), 'K');
    assert.equal(await text(page, `${answers} .body`), 'Blue.');
  });
});

await run([
  'lists_tables_code_formulas_and_footnotes_are_drawn_as_they_were_meant',
  'formulas_code_and_footnotes_run_nothing_and_load_nothing', 'conversations_are_there_after_a_reload_with_all_their_versions',
  'a_tool_is_called_once_the_user_agrees_and_all_of_it_is_there_after_a_reload', 'no_page_asked_another_host_for_anything',
]);
