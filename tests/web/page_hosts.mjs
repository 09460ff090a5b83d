// tests/web/page_hosts.mjs - at the end: what all pages asked for.
import {asked, assert, test} from './rig.mjs';

test(async function no_page_asked_another_host_for_anything() {
  const hosts = new Set(asked.map(a => new URL(a)).filter(u => u.protocol !== 'blob:').map(u => u.hostname));
  assert.deepEqual([...hosts], ['127.0.0.1']);
  assert.ok(asked.length > 100 || process.argv.length > 2);
});
