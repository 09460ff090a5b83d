// Files and pictures at the message box: chosen, dropped, pasted or photographed; each with its tokens or its size and a button that takes it away.
import {hasCamera, takePicture} from './camera.js';
import {h, iconButton, set, toast} from './dom.js';
import {countTokens, LIMITS, readText, sizeWords} from './files.js';
import {isPicture, readPicture, thumbnail} from './pictures.js';
import {t} from './words.js';

export class Attachments {
  // area: the message box; modelOf(): whose tokens are counted; onchange: there are others.
  constructor(area, modelOf, onchange) {
    Object.assign(this, {files: [], modelOf, onchange});
    this.el = h('ul.attached', {'aria-label': t('Attached files'), hidden: true});
    this.input = h('input', {type: 'file', multiple: true, hidden: true, id: 'attach-file'});
    this.button = iconButton('attach', t('Attach text files'), () => this.input.click(), {id: 'attach'});
    this.camera = iconButton('camera', t('Take a picture'), () => this.photograph(), {id: 'camera'});
    this.look(false);
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

  // sees: the model takes pictures, too.
  look(sees) {
    const words = sees ? t('Attach text files or pictures') : t('Attach text files');
    this.sees = Boolean(sees);
    this.camera.hidden = !sees || !hasCamera();
    set(this.button, {title: words, 'aria-label': words});
    document.body.dataset.drop = sees ? t('Drop text files or pictures here') : t('Drop text files here');
  }

  // A pasted text that would fill the message box is a file, too.
  paste(e) {
    const files = [...e.clipboardData?.files || []], text = e.clipboardData?.getData('text/plain') || '';
    if (!files.length && text.length <= LIMITS.pasted) return;
    e.preventDefault();
    this.add(files.length ? files : [new File([text], 'pasted.txt', {type: 'text/plain'})]);
  }

  async photograph() {
    try {
      const file = await takePicture();
      if (file) await this.add([file]);
    } catch (e) {
      toast(e.message, {isError: true});
    }
  }

  async add(list) {
    for (const file of list) {
      try {
        if (this.files.length === LIMITS.files) throw new Error(t('{n} files are the most for one message', {n: LIMITS.files}));
        const read = await (isPicture(file) && this.sees ? readPicture(file) : readText(file));
        this.files.push(read);
        if (!read.url) countTokens(read.text, this.modelOf()).then(n => { read.tokens = n; this.draw(); }, () => { /* its characters are shown */ });
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
      return h('li', f.url && thumbnail(f), h('b', {title: f.name}, f.name), h('span.hint', sizeWords(f)), drop);
    }));
    set(this.el, {role: 'list'});
    this.onchange();
  }
}
