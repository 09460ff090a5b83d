// The input field: Enter sends, Shift+Enter starts a new line; on a touch screen Enter starts a new line, and the button sends. While an
// answer comes, the button stops it.
import {Attachments} from './attachments.js';
import {h, iconButton} from './dom.js';
import {t} from './words.js';

const TOUCH = matchMedia('(hover: none) and (pointer: coarse)');

export class Composer {
  constructor(el, {onSend, onStop, onInput, modelOf}) {
    this.area = h('textarea', {id: 'input', rows: '1', 'aria-label': t('Message'), placeholder: t('Write a message'), autocomplete: 'off'});
    this.send = iconButton('send', t('Send (Enter)'), () => this.submit(), {id: 'send'});
    this.stop = iconButton('stop', t('Stop (Escape)'), onStop, {id: 'stop', hidden: true});
    this.hint = h('span', {id: 'hint', role: 'status'});
    this.context = h('.context', {id: 'context', hidden: true});
    this.onSend = onSend;
    this.attached = new Attachments(this.area, modelOf, () => this.fit());
    el.append(h('.write', this.attached.el, h('.write-row', this.attached.button, this.attached.camera, this.attached.input, this.area, this.stop, this.send)), h('.hint.beneath', this.hint, this.context));
    this.area.addEventListener('input', () => { this.fit(); onInput(this.area.value); });
    this.area.addEventListener('keydown', e => {
      if (e.key !== 'Enter' || e.shiftKey || e.isComposing || (TOUCH.matches && !e.ctrlKey && !e.metaKey)) return;
      e.preventDefault();
      this.submit();
    });
    this.fit();
  }

  // onSend calls taken() when the text is part of the conversation. What it does not take stays; what is written afterwards, too.
  async submit() {
    const text = this.area.value, {files} = this.attached;
    if ((!text.trim() && !files.length) || this.isSending) return;
    this.isSending = true;
    const taken = () => {
      this.isSending = false;
      this.set('');
      this.attached.take([]);
    };
    try {
      await this.onSend(text, files, taken);
    } finally {
      this.isSending = false;
      this.area.focus();
    }
  }

  set(text) {
    this.area.value = text;
    this.fit();
  }

  fit() {
    this.area.style.height = 'auto';
    this.area.style.height = `${Math.min(this.area.scrollHeight, innerHeight * 0.4)}px`;
    this.send.disabled = !this.area.value.trim() && !this.attached.files.length;
  }

  running(isRunning) {
    const hadFocus = document.activeElement === (isRunning ? this.send : this.stop);
    this.stop.hidden = !isRunning;
    this.send.hidden = isRunning;
    if (hadFocus) this.area.focus();
  }

  focus() { this.area.focus(); }
}
