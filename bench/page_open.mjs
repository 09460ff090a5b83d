// bench/page_open.mjs - how long the page takes to open a conversation of 1,000 messages: from the click until it stands in the window, on the
// clock and in processor time of the page's thread, which other programs on the machine change less.
//
// node bench/page_open.mjs http://127.0.0.1:8080/ [CHROMIUM]: needs a server that runs, and what tests/web needs (./dev setup --web).
import {chromium} from '../tests/web/node_modules/playwright-core/index.mjs';

const [url, executablePath = '/usr/bin/chromium-headless-shell'] = process.argv.slice(2), ROUNDS = 9;
const messages = n => Array.from({length: n}, (_, i) => ({id: `m${i}`, parent: i ? `m${i - 1}` : '', role: i % 2 ? 'assistant' : 'user', state: 'done', created: i + 1,
  content: `Message ${i} of a long conversation.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| ${i} | x |\n\n\`\`\`js\nlet x = ${i};   // a remark\n\`\`\`\n\n${'Some more words. '.repeat(30)}`}));
const file = n => JSON.stringify({format: 'runnel-conversations', version: 1, conversations: [{id: 'c', title: `Conversation ${n}.`, messages: messages(n)}]});

const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage']});
const page = await (await browser.newContext({viewport: {width: 1280, height: 800}})).newPage();
const session = await page.context().newCDPSession(page);
await session.send('Performance.enable', {timeDomain: 'threadTicks'});
const worked = async () => (await session.send('Performance.getMetrics')).metrics.find(m => m.name === 'TaskDuration').value * 1000;
await page.goto(url);
await page.waitForSelector('.empty');
for (const n of [10, 1000]) {
  await page.setInputFiles('#import-file', {name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(file(n))});
  await page.locator('#conversations .open', {hasText: `Conversation ${n}.`}).waitFor();
}
for (const n of [10, 1000]) {
  const took = [], work = [];
  for (let i = 0; i < ROUNDS; i++) {
    await page.click('#new');
    await page.waitForSelector('.empty');
    const before = await worked();
    took.push(await page.evaluate(count => new Promise(resolve => {
      const button = [...document.querySelectorAll('#conversations .open')].find(b => b.textContent.includes(`Conversation ${count}.`)), began = performance.now();
      const look = () => {
        const last = document.querySelector('.messages > .message:last-child td');
        if (document.querySelectorAll('.messages > .message').length === count && last) return setTimeout(() => resolve(performance.now() - began));      // after this frame
        return requestAnimationFrame(look);
      };
      button.click();
      requestAnimationFrame(look);
    }), n));
    work.push(await worked() - before);
  }
  const words = list => { list.sort((a, b) => a - b); return `${list[ROUNDS >> 1].toFixed(0)} ms (${list[0].toFixed(0)} to ${list.at(-1).toFixed(0)})`; };
  console.log(`${n} messages: ${words(took)}, of which ${words(work)} processor time of its thread; medians of ${ROUNDS}`);
}
await browser.close();
