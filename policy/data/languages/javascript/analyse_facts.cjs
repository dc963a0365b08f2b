// What an analyser tells: facts, as docs/analysers.md has them.
'use strict';

const MOST_FACTS = 4096;
const MOST_BYTES = 256 * 1024;
const MOST_TEXT = 200;
const LAST_LINE_BYTES = 16;

// Without control characters, and cut at a character.
function clean(text) {
  // A text may be as long as the file; what is cut away needn't be looked at.
  const bytes = Buffer.from(
      text.slice(0, MOST_TEXT + 1).replace(/[\x00-\x1f\x7f]/g, '?'));
  let end = Math.min(bytes.length, MOST_TEXT);
  while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

class Facts {
  constructor() {
    this.sources = [];
    this.facts = new Map();
  }

  // The file that facts are of from now on.
  begin(source) { this.sources.push(source); }

  // `place` is an offset in the file.
  tell(kind, place, name, detail = '') {
    const text = [clean(name), clean(detail)];
    const key = `${kind}\t${text.join('\t')}`;
    const file = this.sources.length - 1;
    const fact = this.facts.get(key);
    if (fact === undefined) {
      this.facts.set(key, {kind, file, place, count: 1, text});
      return;
    }
    fact.count++;
    if (fact.file === file && place < fact.place) fact.place = place;
  }

  text() {
    const facts = [...this.facts.values()];
    facts.sort((a, b) => a.file - b.file || a.place - b.place);
    const lines = ['sandglass-facts 1\n'];
    let bytes = lines[0].length;
    let cursor = null;
    for (const {kind, file, place, count, text} of facts) {
      if (cursor?.file !== file) cursor = new Cursor(file, this.sources[file]);
      cursor.moveTo(place);
      const line =
          [kind, file, cursor.line, cursor.column, count, ...text].join('\t') + '\n';
      bytes += Buffer.byteLength(line);
      if (lines.length > MOST_FACTS || bytes > MOST_BYTES - LAST_LINE_BYTES) {
        return lines.join('') + 'overflow\n';
      }
      lines.push(line);
    }
    return lines.join('') + 'end\n';
  }
}

// Goes forward over a text and knows where it is.
class Cursor {
  constructor(file, source) {
    Object.assign(this, {file, source, at: 0, line: 1, column: 1});
  }

  moveTo(place) {
    const breaks = /\r\n|[\n\r\u2028\u2029]/g;
    breaks.lastIndex = this.at;
    for (let found; (found = breaks.exec(this.source)) !== null;) {
      if (breaks.lastIndex > place) break;
      this.line++;
      this.at = breaks.lastIndex;
      this.column = 1;
    }
    this.column += Buffer.byteLength(this.source.slice(this.at, place));
    this.at = place;
  }
}

module.exports = Facts;
