// The list of messages.
import {h, iconButton} from './dom.js';
import {MessageView} from './message.js';
import {Painter} from './paint.js';
import {runs} from './talk.js';

export class ChatView {
  constructor(main) {
    Object.assign(this, {main, views: new Map(), isStuck: true});
    this.painter = new Painter(ids => {
      for (const id of ids) this.views.get(id)?.grow();
      if (this.isStuck) this.toEnd();
    });
    this.list = h('.messages');
    this.down = iconButton('down', 'To the newest', () => this.toEnd(), {hidden: true});
    this.down.classList.add('to-end');
    this.el = h('.chat', this.list);
    main.addEventListener('scroll', () => this.lookAtPlace(), {passive: true});
  }

  show(talk, emptyWords) {
    Object.assign(this, {talk, emptyWords});
    this.views.clear();
    this.list.replaceChildren();
    this.isStuck = true;
    this.draw();
  }

  draw() {
    const path = this.talk.tree.path(), active = document.activeElement;
    const focused = active?.closest?.('.message')?.dataset.id, focusedDo = active?.dataset?.do;
    if (this.list.firstChild?.className === 'empty') this.list.firstChild.remove();
    const wanted = path.map(m => {
      let view = this.views.get(m.id);
      if (view) view.refresh(m);
      else this.views.set(m.id, view = new MessageView(m, this.talk));
      return view;
    });
    for (const [id, view] of this.views) if (!wanted.includes(view)) { view.el.remove(); this.views.delete(id); }
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
    const rest = this.main.scrollHeight - this.main.scrollTop - this.main.clientHeight;
    this.isStuck = rest < 60;
    this.down.hidden = rest < 200;
  }

  showMessage(id) {
    const el = this.views.get(id)?.el;
    if (!el) return;
    this.isStuck = false;
    el.scrollIntoView({block: 'center'});
    el.focus({preventScroll: true});
  }

  lastAnswer() {
    return [...this.views.values()].filter(v => v.message.role === 'assistant').at(-1);
  }

  tick() { for (const [id] of runs) if (this.views.has(id)) this.grow({id}); }
}
