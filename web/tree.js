// A conversation's messages as a tree: each knows its parent, so that what two tabs add never conflicts.

export const ROOT = '';

export class Tree {
  constructor(messages = [], selected = {}) {
    this.byId = new Map();
    this.below = new Map();
    this.selected = selected;       // {parent: the child that is shown}; without an entry the newest is
    for (const m of messages) this.add(m);
  }

  // Also in place of an older form of the same message.
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

  // What is shown, from the first message to the last.
  path() {
    const list = [];
    for (let m = this.shownChild(ROOT); m; m = this.shownChild(m.id)) list.push(m);
    return list;
  }

  // The messages above one, without it.
  above(id) {
    const list = [];
    for (let m = this.get(this.get(id).parent); m; m = this.get(m.parent)) list.unshift(m);
    return list;
  }

  // Makes one, and all above it, the shown ones.
  select(id) {
    for (let m = this.get(id); m; m = this.get(m.parent)) this.selected[m.parent] = m.id;
  }

  // The sibling that is n further, counted around.
  step(id, n) {
    const all = this.siblings(id), at = all.findIndex(m => m.id === id);
    return all[(at + n + all.length) % all.length];
  }
}
