// A conversation's messages as a tree. Each message stores its parent, so additions in two tabs do not conflict.

export const ROOT = '';

export class Tree {
  constructor(messages = [], selected = {}) {
    this.byId = new Map();
    this.below = new Map();
    this.selected = selected;       // {parent: the child that is shown}; without an entry the newest child is shown
    for (const m of messages) this.add(m);
  }

  // Adds a message, or replaces an older version of it.
  add(message) {
    const there = this.byId.get(message.id);
    this.byId.set(message.id, message);
    const siblings = this.children(message.parent);
    if (there) siblings[siblings.indexOf(there)] = message;
    else this.below.set(message.parent, [...siblings, message].sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1)));
    return message;
  }

  remove(id) {
    const gone = [id];
    for (let i = 0; i < gone.length; i++) gone.push(...this.children(gone[i]).map(m => m.id));
    const {parent} = this.byId.get(id);
    this.below.set(parent, this.children(parent).filter(m => m.id !== id));
    if (this.selected[parent] === id) delete this.selected[parent];
    for (const each of gone) {
      this.byId.delete(each);
      this.below.delete(each);
      delete this.selected[each];
    }
    return gone;
  }

  get(id) { return this.byId.get(id); }
  children(parent) { return this.below.get(parent) || []; }
  siblings(id) { return this.children(this.get(id).parent); }

  shownChild(parent) {
    const children = this.children(parent);
    return children.find(m => m.id === this.selected[parent]) || children.at(-1);
  }

  // The shown messages, first to last.
  path() {
    const list = [];
    for (let m = this.shownChild(ROOT); m; m = this.shownChild(m.id)) list.push(m);
    return list;
  }

  // The ancestors of a message, first to last.
  above(id) {
    const list = [];
    for (let m = this.get(this.get(id).parent); m; m = this.get(m.parent)) list.unshift(m);
    return list;
  }

  // Selects a message and its ancestors to be shown.
  select(id) {
    for (let m = this.get(id); m; m = this.get(m.parent)) this.selected[m.parent] = m.id;
  }

  // The n-th next sibling, wrapping around.
  step(id, n) {
    const all = this.siblings(id), at = all.findIndex(m => m.id === id);
    return all[(at + n + all.length) % all.length];
  }
}
