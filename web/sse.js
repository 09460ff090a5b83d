// Parses an event stream (HTML standard, section 9.2.6) that arrives in arbitrary pieces.

export class EventReader {
  constructor(onEvent, onComment = () => {}) {
    Object.assign(this, {onEvent, onComment, rest: '', data: [], name: '', lastId: '', afterCr: false, begun: false});
  }

  push(text) {
    if (!this.begun && text) {
      if (text[0] === '\uFEFF') text = text.slice(1);
      this.begun = true;
    }
    if (this.afterCr && text) {         // the last line ended with CR: an LF now belongs to that line break
      if (text[0] === '\n') text = text.slice(1);
      this.afterCr = false;
    }
    const ends = /\r\n|\r|\n/g;
    let from = 0;
    for (let end; (end = ends.exec(text)); from = ends.lastIndex) {
      const line = this.rest + text.slice(from, end.index);
      this.rest = '';
      if (end[0] === '\r' && ends.lastIndex === text.length) this.afterCr = true;
      this.line(line);
    }
    this.rest += text.slice(from);
  }

  line(line) {
    if (line === '') return this.dispatch();
    if (line[0] === ':') return this.onComment(line.slice(1).trim());
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.name = value;
    else if (field === 'id' && !value.includes('\0')) this.lastId = value;
  }

  // An incomplete event at the end of the stream is never dispatched.
  dispatch() {
    const {data, name} = this;
    this.data = [];
    this.name = '';
    if (data.length) this.onEvent({data: data.join('\n'), name: name || 'message', id: this.lastId});
  }
}
