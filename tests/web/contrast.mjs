// tests/web/contrast.mjs - texts of a page whose contrast is below that of WCAG AA.

// WCAG 2.2: relative luminance and contrast of what is really drawn, text over the nearest ground.
export const contrasts = page => page.evaluate(() => {
  const numbers = c => { const x = document.createElement('canvas').getContext('2d', {willReadFrequently: true}); x.fillStyle = c; x.fillRect(0, 0, 1, 1); return [...x.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = el => { for (let e = el; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const el of document.querySelectorAll('body *')) {
    const own = [...el.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()), box = el.getBoundingClientRect();
    if (!own || !box.width || el.closest('.unseen, [hidden], :disabled, .skip') || !el.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const [a, b] = [light(numbers(getComputedStyle(el).color)), light(ground(el))], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${el.tagName}.${el.className} ${el.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return bad;
});
