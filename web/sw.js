// The service worker: it keeps the page's own files, so that the page opens and its conversations can be read without the server. The
// server is asked first, always; the API is never touched.
'use strict';
const CACHE = 'runnel-page';
const page = new URL('../', location).href, folder = new URL('./', location).href;
const isOurs = url => url === page || url.startsWith(folder);

addEventListener('install', () => skipWaiting());
addEventListener('activate', e => e.waitUntil(clients.claim()));
addEventListener('message', e => {
  if (!Array.isArray(e.data?.keep)) return;
  const list = e.data.keep.filter(u => isOurs(u)).slice(0, 200);
  e.waitUntil(caches.open(CACHE).then(cache => Promise.all(list.map(u => cache.add(u).catch(() => {})))).then(() => e.ports[0]?.postMessage('kept')));
});
addEventListener('fetch', e => {
  const [url] = e.request.url.split('#');
  if (e.request.method !== 'GET' || !isOurs(url)) return;
  e.respondWith((async () => {
    const cache = await caches.open(CACHE);
    try {
      const answer = await fetch(e.request);
      if (answer.ok) await cache.put(url, answer.clone());
      return answer;
    } catch (failure) {
      const there = await cache.match(url);
      if (there) return there;
      throw failure;
    }
  })());
});
