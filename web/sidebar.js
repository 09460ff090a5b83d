// The list of conversations: full-text search, rename, delete with undo, export and import.
import {h, icon, iconButton, toast} from './dom.js';
import {keepDraft} from './drafts.js';
import {fileName, markdownOf} from './markdown_export.js';
import {fold, matchAt, snippet, words} from './search.js';
import {allMessages, exportConversations, importConversations, listConversations, purge, readConversation, readMessages, restore, saveConversation} from './store.js';
import {t} from './words.js';

const FILE_LIMIT = 256 << 20, FOUND_LIMIT = 100, UNDO_MS = 8000;
const ages = [[0, t('Today')], [1, t('Yesterday')], [7, t('This week')], [30, t('This month')], [Infinity, t('Earlier')]];

function age(time) {
  const midnight = new Date().setHours(0, 0, 0, 0), days = Math.ceil((midnight - time) / 86400000);
  return ages.find(([most]) => days <= most)[1];
}

function save(blob, name) {
  const a = h('a', {href: URL.createObjectURL(blob), download: name});
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

export class Sidebar {
  constructor(el, {onOpen, onNew, onClose}) {
    Object.assign(this, {el, onOpen, onNew, current: ''});
    const words = t('Search conversations');
    this.search = h('input', {type: 'search', id: 'search', placeholder: words, 'aria-label': words, autocomplete: 'off'});
    this.list = h('ul', {id: 'conversations'});
    this.count = h('.unseen', {role: 'status'});
    this.file = h('input', {type: 'file', accept: '.json,application/json', hidden: true, id: 'import-file'});
    const exportAll = iconButton('down', t('Export all'), () => this.export(null), {text: true});
    const importButton = iconButton('plus', t('Import'), () => this.file.click(), {text: true});
    el.append(h('.side-head', h('p.brand', 'runnel'), iconButton('plus', t('New conversation'), onNew, {id: 'new'}),
      iconButton('close', t('Close the list'), onClose, {id: 'close-side'})),
      this.search, this.list, this.count, h('.side-foot', exportAll, importButton, this.file));
    this.search.addEventListener('input', () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.draw(), 150); });
    this.search.addEventListener('keydown', e => {
      if (e.key !== 'Escape' || !this.search.value) return;
      e.stopPropagation();
      this.search.value = '';
      this.draw();
    });
    this.file.addEventListener('change', () => this.import());
  }

  async draw() {
    const number = this.drawing = (this.drawing || 0) + 1, list = words(this.search.value);
    const rows = list.length ? await this.found(list) : await this.all();
    if (number !== this.drawing) return;        // a newer call is drawing
    const focused = this.list.contains(document.activeElement) && document.activeElement.closest('li')?.dataset.id;
    this.list.replaceChildren(...rows);
    if (!rows.length) this.list.append(h('li.none', list.length ? t('Nothing was found.') : t('No conversations yet.')));
    this.count.textContent = list.length ? t('{n} found', {n: rows.length}) : '';
    if (focused) this.list.querySelector(`[data-id="${focused}"] button`)?.focus();
  }

  async all() {
    let last = '';
    return (await listConversations()).flatMap(c => {
      const group = age(c.updated), head = group === last ? [] : [h('li.age', {'aria-hidden': 'true'}, group)];
      last = group;
      return [...head, this.row(c, [])];
    });
  }

  async found(list) {
    const conversations = new Map((await listConversations()).map(c => [c.id, c])), rows = [];
    for (const c of conversations.values()) if (matchAt(fold(c.title), list) >= 0) rows.push(this.row(c, snippet(c.title, 0, list)));
    for (const m of (await allMessages()).sort((a, b) => b.created - a.created)) {
      const c = conversations.get(m.conv), at = c ? matchAt(fold(m.content), list) : -1;
      if (at >= 0 && rows.length < FOUND_LIMIT) rows.push(this.row(c, snippet(m.content, at, list), m.id));
    }
    return rows;
  }

  row(c, pieces, message) {
    const open = h('button.open', {type: 'button', onclick: () => this.onOpen(c.id, message), 'aria-current': c.id === this.current ? 'true' : null},
      h('span.title', {dir: 'auto'}, c.title || t('Untitled')),
      pieces.length > 0 && h('span.found', {dir: 'auto'}, pieces.map(([text, hit]) => (hit ? h('mark', text) : text))));
    const button = (words, onclick) => h('button', {type: 'button', onclick}, words);
    const menu = h('details.menu', h('summary', {'aria-label': t('More for {title}', {title: c.title}), title: t('More')}, icon('more')),
      h('.menu-list', button(t('Rename'), () => this.rename(c, open)),
        button(t('Export'), () => this.export([c.id])), button(t('Export as Markdown'), () => this.exportMarkdown(c.id)), button(t('Delete'), () => this.remove(c))));
    menu.addEventListener('focusout', e => { if (!menu.contains(e.relatedTarget)) menu.open = false; });
    return h('li', {'data-id': c.id}, open, menu);
  }

  rename(c, open) {
    const input = h('input', {value: c.title, 'aria-label': t('New name'), maxlength: '200'});
    let isOver = false;
    const end = async keep => {
      if (isOver) return;
      isOver = true;
      const fresh = await readConversation(c.id);
      if (keep && input.value.trim() && fresh) await this.onChanged({...fresh, title: input.value.trim()});
      await this.draw();
    };
    input.addEventListener('keydown', e => {
      if (e.key === 'Enter') end(true);
      else if (e.key === 'Escape') { e.stopPropagation(); end(false); }
    });
    input.addEventListener('blur', () => end(true));
    open.replaceWith(input);
    input.select();
  }

  // main.js overrides this to stop answers of a conversation that is deleted.
  onDeleted() {}

  // main.js overrides this to update its copy of the open conversation too.
  async onChanged(c) { await saveConversation(c); }

  async remove(c) {
    const fresh = await readConversation(c.id), deleted = Date.now();
    this.onDeleted(c.id);
    await saveConversation({...fresh, deleted});
    if (c.id === this.current) this.onNew();
    this.draw();
    const timer = setTimeout(async () => {
      await purge(c.id, deleted);
      if (!await readConversation(c.id)) keepDraft(c.id, '');
    }, UNDO_MS);
    toast(t('"{title}" was deleted.', {title: c.title}), {ms: UNDO_MS, action: t('Undo'), onaction: async () => {
      clearTimeout(timer);
      await restore(c.id);
      this.draw();
    }});
  }

  async export(ids) {
    const file = new Blob([JSON.stringify(await exportConversations(ids))], {type: 'application/json'});
    save(file, `runnel-${new Date().toISOString().slice(0, 10)}.json`);
  }

  async exportMarkdown(id) {
    const c = await readConversation(id);
    save(new Blob([markdownOf(c, await readMessages(id))], {type: 'text/markdown'}), fileName(c.title));
  }

  async import() {
    const file = this.file.files[0];
    this.file.value = '';
    if (!file) return;
    try {
      if (file.size > FILE_LIMIT) throw new Error(`import: ${file.size} bytes, the limit is ${FILE_LIMIT}`);
      const n = await importConversations(await file.text());
      toast(t(n === 1 ? '{n} conversation imported.' : '{n} conversations imported.', {n}));
    } catch (e) {
      toast(e.message, {isError: true});
    }
    this.draw();
  }
}
