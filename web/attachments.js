// Files at the message box: chosen, dropped or pasted; each with its tokens and a button that takes it away.
import {h, iconButton, set, toast} from './dom.js';
import {countTokens, LIMITS, readText, sizeWords} from './files.js';
import {t} from './words.js';

export class Attachments {
  // area: the message box; modelOf(): whose tokens are counted; onchange: there are others.
  constructor(area, modelOf, onchange) {
    Object.assign(this, {files: [], modelOf, onchange});
    document.body.dataset.drop = t('Drop text files here');
    this.el = h('ul.attached', {'aria-label': t('Attached files'), hidden: true});
    this.input = h('input', {type: 'file', multiple: true, hidden: true, id: 'attach-file'});
    this.button = iconButton('attach', t('Attach text files'), () => this.input.click(), {id: 'attach'});
    this.input.addEventListener('change', () => {
      this.add([...this.input.files]);
      this.input.value = '';
    });
    area.addEventListener('paste', e => this.paste(e));
    const hasFiles = e => [...e.dataTransfer?.types || []].includes('Files');
    addEventListener('dragover', e => { if (hasFiles(e)) { e.preventDefault(); document.body.classList.add('dropping'); } });
    addEventListener('dragleave', e => { if (!e.relatedTarget) document.body.classList.remove('dropping'); });
    addEventListener('drop', e => {
      document.body.classList.remove('dropping');
      if (!hasFiles(e)) return;
      e.preventDefault();
      this.add([...e.dataTransfer.files]);
      area.focus();
    });
  }

  // A pasted text that would fill the message box is a file, too.
  paste(e) {
    const files = [...e.clipboardData?.files || []], text = e.clipboardData?.getData('text/plain') || '';
    if (!files.length && text.length <= LIMITS.pasted) return;
    e.preventDefault();
    this.add(files.length ? files : [new File([text], 'pasted.txt', {type: 'text/plain'})]);
  }

  async add(list) {
    for (const file of list) {
      try {
        if (this.files.length === LIMITS.files) throw new Error(t('{n} files are the most for one message', {n: LIMITS.files}));
        const read = await readText(file);
        this.files.push(read);
        countTokens(read.text, this.modelOf()).then(n => { read.tokens = n; this.draw(); }, () => { /* its characters are shown */ });
      } catch (e) {
        toast(e.message, {isError: true});
      }
    }
    this.draw();
  }

  take(files) {
    this.files = files;
    this.draw();
  }

  draw() {
    this.el.hidden = !this.files.length;
    this.el.replaceChildren(...this.files.map(f => {
      const drop = iconButton('close', t('Take {name} away', {name: f.name}), () => this.take(this.files.filter(other => other !== f)));
      return h('li', h('b', {title: f.name}, f.name), h('span.hint', sizeWords(f)), drop);
    }));
    set(this.el, {role: 'list'});
    this.onchange();
  }
}
