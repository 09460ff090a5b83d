// The list of messages.
import {h, iconButton} from './dom.js';
import {MessageView} from './message.js';
import {Painter} from './paint.js';
import {runs} from './talk.js';
import {t} from './words.js';

const AWAKE_AT_ONCE = 12;           // messages at the end that are drawn when a conversation opens; the others when one comes near, or in idle time
const SLICE_MS = 8;
const idle = globalThis.requestIdleCallback || (fn => setTimeout(() => fn({timeRemaining: () => SLICE_MS}), 50));

export class ChatView {
  constructor(main) {
    Object.assign(this, {main, views: new Map(), isStuck: true, top: 0});
    this.painter = new Painter(ids => {
      for (const id of ids) this.views.get(id)?.grow();
      if (this.isStuck) this.toEnd();
    });
    this.list = h('.messages');
    this.down = iconButton('down', t('To the newest'), () => this.toEnd(), {hidden: true});
    this.down.classList.add('to-end');
    this.el = h('.chat', this.list);
    main.addEventListener('scroll', () => this.lookAtPlace(), {passive: true});
    this.near = new IntersectionObserver(list => list.forEach(e => { if (e.isIntersecting) this.wake(this.views.get(e.target.dataset.id)); }), {root: main, rootMargin: '1200px'});
    new ResizeObserver(() => { if (this.isStuck && this.list.isConnected) this.toEnd(); }).observe(this.list);
    addEventListener('beforeprint', () => this.views.forEach(view => this.wake(view)));
  }

  wake(view) {
    if (!view?.isAsleep) return;
    this.near.unobserve(view.el);
    view.wake();
  }

  // Draws the messages that are still asleep, the last ones first, so that the browser's own search finds them.
  wakeRest() {
    if (this.isWaking) return;
    this.isWaking = true;
    idle(deadline => {
      this.isWaking = false;
      const asleep = [...this.views.values()].filter(v => v.isAsleep);
      while (asleep.length && deadline.timeRemaining() > 2) this.wake(asleep.pop());
      if (asleep.length) this.wakeRest();
    });
  }

  show(talk, emptyWords) {
    Object.assign(this, {talk, emptyWords});
    this.near.disconnect();
    this.views.clear();
    this.list.replaceChildren();
    this.isStuck = true;
    this.draw();
  }

  draw() {
    const path = this.talk.tree.path(), active = document.activeElement;
    const focused = active?.closest?.('.message')?.dataset.id, focusedDo = active?.dataset?.do;
    if (this.list.firstChild?.className === 'empty') this.list.firstChild.remove();
    const wanted = path.map((m, i) => {
      let view = this.views.get(m.id);
      if (view) view.update(m);
      else {
        this.views.set(m.id, view = new MessageView(m, this.talk, {isAsleep: i < path.length - AWAKE_AT_ONCE}));
        if (view.isAsleep) this.near.observe(view.el);
      }
      return view;
    });
    const there = new Set(wanted);
    for (const [id, view] of this.views) {
      if (there.has(view)) continue;
      this.near.unobserve(view.el);
      view.el.remove();
      this.views.delete(id);
    }
    if (path.length > AWAKE_AT_ONCE) this.wakeRest();
    wanted.forEach((view, i) => { if (this.list.children[i] !== view.el) this.list.insertBefore(view.el, this.list.children[i] || null); });
    if (!path.length) this.list.replaceChildren(this.emptyWords());
    this.keepFocus(focused, focusedDo, wanted);
    if (this.isStuck) this.toEnd();
    this.lookAtPlace();
  }

  // Restores the focus: the pressed button may have been replaced by another version's.
  keepFocus(id, action, wanted) {
    if (!id || document.activeElement?.closest?.('.message')) return;
    const view = this.views.get(id) || wanted.at(-1);
    (view?.el.querySelector(`[data-do="${action}"]`) || view?.el)?.focus();
  }

  grow(message) { this.painter.due(message.id); }

  toEnd() {
    this.main.scrollTop = this.main.scrollHeight;
    this.isStuck = true;
  }

  lookAtPlace() {
    const top = this.main.scrollTop, rest = this.main.scrollHeight - top - this.main.clientHeight, isUpwards = top < this.top - 1;
    this.top = top;
    // Messages grow when they are drawn: only who scrolls up leaves the end.
    this.isStuck = rest < 60 || (this.isStuck && !isUpwards);
    this.down.hidden = rest < 200;
  }

  showMessage(id) {
    const view = this.views.get(id), el = view?.el;
    if (!el) return;
    this.wake(view);
    this.isStuck = false;
    el.scrollIntoView({block: 'center'});
    el.focus({preventScroll: true});
  }

  lastAnswer() {
    return [...this.views.values()].filter(v => v.message.role === 'assistant').at(-1);
  }

  tick() { for (const [id] of runs) if (this.views.has(id)) this.grow({id}); }
}
