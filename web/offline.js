// The page as an app: its files are kept for when the server is away. Browsers have service workers only over HTTPS and on the same machine.
const LATER = ['vendor/temml.js', 'math.css', 'vendor/highlight/highlight.js'];        // loaded when they are needed

export async function keepPage() {
  if (!('serviceWorker' in navigator)) return;
  try {
    const at = name => new URL(name, document.baseURI).href;
    await navigator.serviceWorker.register(at('page/sw.js'), {scope: at('./')});
    const {active} = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType('resource').map(r => r.name).filter(u => u.startsWith(at('page/')));
    active.postMessage({keep: [...new Set([at('./'), ...loaded, at('page/manifest.webmanifest'), ...LATER.map(name => at(`page/${name}`))])]});
  } catch { /* private windows and policies refuse it: the page works without */ }
}
