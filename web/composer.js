// The input field: Enter sends, Shift+Enter starts a new line. The button stops an answer in progress.
import {h, iconButton} from './dom.js';

export class Composer {
  constructor(el, {onSend, onStop, onInput}) {
    this.area = h('textarea', {id: 'input', rows: '1', 'aria-label': 'Message', placeholder: 'Write a message', autocomplete: 'off'});
    this.send = iconButton('send', 'Send (Enter)', () => this.submit(), {id: 'send'});
    this.stop = iconButton('stop', 'Stop (Escape)', onStop, {id: 'stop', hidden: true});
    this.hint = h('.hint', {id: 'hint'});
    this.onSend = onSend;
    el.append(h('.write', this.area, this.stop, this.send), this.hint);
    this.area.addEventListener('input', () => { this.fit(); onInput(this.area.value); });
    this.area.addEventListener('keydown', e => {
      if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
      e.preventDefault();
      this.submit();
    });
    this.fit();
  }

  // Keeps the text if it could not be sent.
  async submit() {
    const text = this.area.value;
    if (!text.trim() || this.isSending) return;
    this.isSending = true;
    try {
      if (await this.onSend(text) !== false) this.set('');
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
    this.send.disabled = !this.area.value.trim();
  }

  running(isRunning) { this.stop.hidden = !isRunning; }
  focus() { this.area.focus(); }
}
