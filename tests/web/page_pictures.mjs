// tests/web/page_pictures.mjs - pictures beside messages, for a model that sees: chosen, dropped and pasted, sent, kept and shown.
import {assert, done, given, pace, picture, press, saved, talk, test, using} from './rig.mjs';

const ONE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';        // a red pixel
const seeing = {port: given.sees, settings: {model: 'm', values: {temp: 0}, max_tokens: '24'}};
const choose = (page, ...files) => page.setInputFiles('#attach-file', files.map(([name, mimeType, buffer]) => ({name, mimeType, buffer})));
const shown = page => page.locator('.message.user img').evaluateAll(all => all.map(i => [i.alt, i.complete && i.naturalWidth > 0, i.src.slice(0, 22)]));

// A picture that is drawn in the page, as a file that is dropped or pasted there.
const give = (page, kind, name, width, height, type = 'image/png') => page.evaluate(async ([how, ...of]) => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = of.slice(1, 3);
  const on = canvas.getContext('2d'), colours = ['#2a6', '#e83', '#36c'];
  for (let y = 0; y < canvas.height; y += 40) for (let x = 0; x < canvas.width; x += 40) { on.fillStyle = colours[(x + y) / 40 % 3]; on.fillRect(x, y, 36, 36); }
  const blob = await new Promise(resolve => canvas.toBlob(resolve, of[3]));
  const data = new DataTransfer();
  data.items.add(new File([blob], of[0], {type: of[3]}));
  if (how === 'drop') document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
  else document.querySelector('#input').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
}, [kind, name, width, height, type]);

test(async function pictures_go_with_a_message_are_kept_with_it_and_sent_with_every_question() {
  await using(seeing, async page => {
    const bodies = await pace(page, 0);
    await choose(page, ['dot.png', 'image/png', Buffer.from(ONE, 'base64')], ['notes.txt', 'text/plain', Buffer.from('N')]);
    await give(page, 'drop', 'chart.png', 400, 240);
    await give(page, 'paste', 'wide.png', 3000, 1000);
    await page.waitForFunction(() => document.querySelectorAll('.attached li').length === 4);
    assert.deepEqual(await page.locator('.attached img').count(), 3);
    assert.match(await page.locator('.attached').innerText(), /dot\.png[\s\S]*1 × 1[\s\S]*chart\.png[\s\S]*400 × 240/);
    await picture(page, 'pictures-attached');
    await page.getByRole('button', {name: 'Take wide.png away'}).click();
    await talk(page, 'What is this?');
    const {content} = bodies[0].messages[0];
    assert.deepEqual(content.map(p => p.type), ['image_url', 'image_url', 'text']);
    assert.equal(content[0].image_url.url, `data:image/png;base64,${ONE}`, 'a small file is not what was chosen');
    assert.match(content[1].image_url.url, /^data:image\/png;base64,/);
    assert.equal(content[2].text, 'notes.txt:\n```\nN\n```\n\nWhat is this?');
    assert.deepEqual(await shown(page), [['dot.png', true, 'data:image/png;base64,'], ['chart.png', true, 'data:image/png;base64,']]);
    await picture(page, 'pictures');
    const chart = page.getByRole('button', {name: 'chart.png: show it whole'});
    const small = (await chart.boundingBox()).height;
    await chart.click();
    assert.ok((await chart.boundingBox()).height > small);
    await saved(page);
    await page.reload();
    await done(page);
    await talk(page, 'Why?', 2);
    assert.deepEqual(bodies.at(-1).messages[0].content, content, 'a second question lost the pictures');
    assert.equal((await shown(page)).length, 2);
    const usage = await page.evaluate(() => new Promise(resolve => {
      indexedDB.open('runnel').onsuccess = e => { e.target.result.transaction('messages').objectStore('messages').getAll().onsuccess = r => resolve(r.target.result.filter(m => m.usage).sort((a, b) => a.created - b.created).map(m => m.usage)); };
    }));
    assert.deepEqual(usage.map(u => u.picture_tokens), [8, 8]);
    assert.ok(usage[1].cached_tokens > usage[0].prompt_tokens - 4, 'the pictures were evaluated again');
    await press(page, 'edit', 0);
    await page.fill('.message.user textarea', 'And this?');
    await page.press('.message.user textarea', 'Control+Enter');
    await done(page);
    assert.deepEqual(bodies.at(-1).messages[0].content.map(p => p.type), ['image_url', 'image_url', 'text'], 'an edited message lost its pictures');
  });
});

test(async function large_pictures_are_made_smaller_and_what_is_none_is_refused() {
  await using(seeing, async page => {
    const bodies = await pace(page, 0);
    await page.evaluate(() => {
      const noise = new ImageData(1600, 700);
      for (let i = 0; i < noise.data.length; i += 65536) crypto.getRandomValues(noise.data.subarray(i, Math.min(i + 65536, noise.data.length)));
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [1600, 700];
      canvas.getContext('2d').putImageData(noise, 0, 0);
      return new Promise(resolve => canvas.toBlob(blob => {
        const data = new DataTransfer();
        data.items.add(new File([blob], 'noise.png', {type: 'image/png'}));
        document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        resolve();
      }, 'image/png'));
    });
    await page.waitForFunction(() => /1536 × 672/.test(document.querySelector('.attached').textContent));
    await choose(page, ['bad.png', 'image/png', Buffer.from('hello')]);
    await page.waitForSelector('.toast.error >> text=not a picture that this browser can read');
    await talk(page, '');
    assert.match(bodies[0].messages[0].content[0].image_url.url, /^data:image\/jpeg;base64,/);
    assert.equal(bodies[0].messages[0].content.length, 1);
  });
  await using({}, async page => {      // a model of texts
    await choose(page, ['dot.png', 'image/png', Buffer.from(ONE, 'base64')]);
    await page.waitForSelector('.toast.error >> text=only text can be attached');
    assert.equal(await page.locator('#attach').getAttribute('aria-label'), 'Attach text files');
  });
});

test(async function a_picture_is_taken_with_the_camera_which_is_off_afterwards() {
  await using(seeing, async page => {
    await page.evaluate(() => {
      const {mediaDevices} = navigator, get = mediaDevices.getUserMedia.bind(mediaDevices);
      mediaDevices.getUserMedia = async asked => { window.stream = await get(asked); return window.stream; };
    });
    const isOff = () => page.evaluate(() => window.stream.getTracks().every(track => track.readyState === 'ended'));
    await page.click('#camera');
    const take = page.getByRole('button', {name: 'Take it'});
    await page.waitForFunction(() => document.querySelector('video.camera')?.videoWidth > 0 && !document.querySelector('dialog .primary').disabled);
    await picture(page, 'camera');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', {state: 'detached'});
    assert.equal(await isOff(), true, 'the camera goes on after Escape');
    assert.equal(await page.locator('.attached li').count(), 0);
    await page.click('#camera');
    await page.waitForFunction(() => document.querySelector('dialog .primary')?.disabled === false);
    await take.click();
    await page.waitForFunction(() => document.querySelectorAll('.attached li').length === 1);
    assert.equal(await isOff(), true, 'the camera goes on after the picture');
    assert.match(await page.locator('.attached').innerText(), /camera\.jpg[\s\S]*\d+ × \d+/);
    const bodies = await pace(page, 0);
    await talk(page, 'What is this?');
    assert.match(bodies[0].messages[0].content[0].image_url.url, /^data:image\/jpeg;base64,/);
    await page.evaluate(() => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('Permission denied', 'NotAllowedError')); });
    await page.click('#camera');
    await page.waitForSelector('.toast.error >> text=The camera cannot be used: Permission denied');
  });
  await using({}, async page => {
    assert.equal(await page.isHidden('#camera'), true, 'a model that sees nothing has a camera');
  });
});
