// Draws changes once per frame, and less often if drawing takes long.
export class Painter {
  constructor(paint) {
    Object.assign(this, {paint, ids: new Set(), nextAt: 0, isDue: false});
  }

  due(id) {
    this.ids.add(id);
    if (this.isDue) return;
    this.isDue = true;
    const wait = Math.max(this.nextAt - performance.now(), document.hidden ? 500 : 0);
    if (wait > 0) setTimeout(() => this.now(), wait);
    else requestAnimationFrame(() => this.now());
  }

  now() {
    const begin = performance.now(), ids = [...this.ids];
    this.isDue = false;
    this.ids.clear();
    this.paint(ids);
    const end = performance.now();
    this.nextAt = end + Math.min(1500, (end - begin) * 3);      // drawing takes at most a quarter of the time
  }
}
