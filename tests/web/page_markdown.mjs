// tests/web/page_markdown.mjs - Markdown as it is drawn: lists, tables, code with colours, formulas, footnotes; while it comes, too.
import {answers, assert, done, pace, picture, say, talk, test, using} from './rig.mjs';

const body = `${answers} .body`;
// Each language of a code block is fetched by itself: three keywords, two in Python and one in the Dockerfile.
const drawn = page => page.waitForFunction(q => document.querySelectorAll(`${q} math`).length === 4 && document.querySelectorAll(`${q} .hljs-keyword`).length === 3, body);

test(async function lists_tables_code_formulas_and_footnotes_are_drawn_as_they_were_meant() {
  await using({}, async page => {
    await talk(page, 'F');
    await drawn(page);
    const seen = await page.evaluate(q => {
      const root = document.querySelector(q), one = s => root.querySelector(s), all = s => [...root.querySelectorAll(s)];
      return {
        start: one('ol').start, boxes: all('li.task input').map(i => [i.checked, i.disabled, i.getAttribute('aria-label')]),
        aligns: all('td').map(td => getComputedStyle(td).textAlign), dots: getComputedStyle(one('li.task')).listStyleType,
        math: all('.math').map(m => [m.title.replace(/\s+/g, ' '), m.classList.contains('display'), m.querySelectorAll('mfrac, msup, msubsup').length]),
        code: all('.code').map(c => [c.querySelector('.code-head span').textContent, c.querySelector('code').textContent, c.querySelectorAll('[class^=hljs]').length > 0]),
        marks: all('.note-mark').map(m => m.textContent), notes: all('.note').map(n => n.textContent.trim()), text: root.textContent,
      };
    }, body);
    assert.equal(seen.start, 3);
    assert.deepEqual(seen.boxes, [[true, true, 'done'], [false, true, 'to do']]);
    assert.equal(seen.dots, 'none');
    assert.deepEqual(seen.aligns, ['left', 'center', 'right']);
    assert.deepEqual(seen.math.map(m => m.slice(0, 2)), [['x_1^2+ y*z*w', false], ['\\frac{a}{b}', false], ['\\int_0^1 x \\, dx = \\frac12', true], ['E = mc^2', true]]);
    assert.ok(seen.math.every(m => m[2] > 0), JSON.stringify(seen.math));
    for (const words of ['which cost $5 or 6$ and $20,000-$30,000; \\(never eaten.', 'not [^c]']) assert.ok(seen.text.includes(words), seen.text);
    assert.deepEqual(seen.code, [['python', 'def f(x):\n    return "ab"  # remark', true], ['dockerfile', 'FROM scratch', true], ['unknown', 'x < 1', false]]);
    assert.deepEqual(seen.marks, ['1', '2', '[^c]']);
    assert.deepEqual(seen.notes, ['2.Second note.', '1.First note.']);
    await page.getByRole('button', {name: 'Footnote 2', exact: true}).click();
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), '2.Second note.');
    await page.getByRole('button', {name: 'Back from footnote 2'}).click();
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Footnote 2');
    assert.equal(await page.evaluate(() => location.hash.length > 5), true, 'a footnote changed the address');
    await picture(page, 'markdown');
  });
});

test(async function a_whole_answer_as_one_sees_it() {
  await using({options: {viewport: {width: 1280, height: 980}}}, async page => {
    await talk(page, 'How does a half-life work?');
    await page.waitForFunction(q => document.querySelectorAll(`${q} math`).length === 7 && document.querySelector(`${q} .hljs-keyword`), body);
    assert.deepEqual(await page.locator(`${body} td`).evaluateAll(all => all.map(td => td.textContent)), ['T', '50 %', '2T', '25 %', '10T', '0.1 %']);
    const [letter, index] = await page.locator(`${body} msub`).first().evaluate(el => [...el.children].map(c => { const r = c.getBoundingClientRect(); return r.top + r.height / 2; }));
    assert.ok(index > letter + 2, 'a subscript stands on the line');
    await page.mouse.move(5, 5);
    await picture(page, 'answer', {isForDocs: true});
  });
});

test(async function what_is_drawn_stays_as_it_is_while_the_answer_grows() {
  await using({}, async page => {
    await talk(page, 'F');            // the libraries are loaded
    await drawn(page);
    const whole = await page.locator(body).innerHTML();
    await page.click('#new');
    await page.evaluate(q => {
      window.lost = [];
      window.raw = 0;
      new MutationObserver(list => list.forEach(m => {
        m.removedNodes.forEach(n => { if (n.nodeType === 1 && (n.matches('.code, .table') || n.querySelector('.code, math, .table'))) window.lost.push(n.outerHTML.slice(0, 80)); });
        if (/setext|= \\frac/.test(document.querySelector(`${q} h1, ${q} h2:nth-of-type(2)`)?.textContent)) window.raw++;
      })).observe(document.body, {childList: true, subtree: true});
    }, body);
    await pace(page, 25);
    await say(page, 'F');
    await done(page);
    await drawn(page);
    assert.deepEqual(await page.evaluate(() => window.lost.filter(l => /class="code"/.test(l))), [], 'drawn again');
    assert.equal(await page.evaluate(() => window.raw), 0, 'a formula that was not closed was taken for a heading');
    assert.equal(await page.locator(body).innerHTML(), whole, 'an answer that came slowly is drawn otherwise');
  });
});

test(async function formulas_code_and_footnotes_run_nothing_and_load_nothing() {
  await using({}, async page => {
    await talk(page, 'F');
    await drawn(page);
    await page.click('#new');
    await talk(page, 'X');
    const seen = await page.evaluate(q => ({
      hacked: window.hacked, bad: document.querySelectorAll(`${q} img, ${q} script, ${q} [href], ${q} [id], ${q} [onerror], ${q} .skip`).length,
      fixed: [...document.querySelectorAll(`${q} *`)].filter(e => getComputedStyle(e).position === 'fixed').length, text: document.querySelector(q).textContent,
    }), body);
    assert.deepEqual([seen.hacked, seen.bad, seen.fixed], [undefined, 0, 0], JSON.stringify(seen));
    assert.ok(seen.text.includes('\\href'), 'a formula that is refused is not shown as its TeX');
    page.problems = page.problems.filter(p => !p.includes('Content Security Policy'));
  });
});

test(async function fenced_code_of_the_user_is_code_and_the_rest_is_as_it_was_written() {
  await using({}, async page => {
    await page.fill('#input', '*so* <b>N</b>\n\n```python\nif x:\n    pass\n```\nand\n  N');
    await page.press('#input', 'Enter');
    await done(page);
    const mine = page.locator('.message.user .body');
    assert.equal(await mine.locator('.code code').innerText(), 'if x:\n    pass');
    await mine.locator('.hljs-keyword').first().waitFor();
    assert.deepEqual(await mine.locator('.plain').evaluateAll(all => all.map(p => p.textContent)), ['*so* <b>N</b>', 'and\n  N']);
  });
});

test(async function a_wide_table_scrolls_in_its_own_box_and_its_words_stay_whole() {
  await using({options: {viewport: {width: 360, height: 640}}}, async page => {
    await talk(page, 'H');
    const [box, cell, width] = await page.evaluate(() => {
      const t = document.querySelector('.body .table'), range = new Range();
      range.selectNodeContents(t.querySelector('th'));
      return [[t.scrollWidth > t.clientWidth, t.tabIndex], range.getClientRects().length, document.querySelector('#main').scrollWidth - innerWidth];
    });
    assert.deepEqual([box, cell, width <= 0], [[true, 0], 1, true]);
    page.problems = page.problems.filter(p => !p.includes('Content Security Policy'));
  });
});
