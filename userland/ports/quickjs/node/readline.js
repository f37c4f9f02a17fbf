// readline: lines of a stream, questions, and at a terminal a line that can be edited, with its history.
const EventEmitter = require('events');
const { coded, isFunction, outOfRange, wrongType, wrongValue } = require('checks');
const { emitKeypressEvents } = require('keys');

const width = (text) => require('util').stringWidth(text);
const closedError = () => coded(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');

// --- The cursor ---

function write(stream, text, callback) {
  if (callback !== undefined) isFunction(callback, 'callback');
  if (stream === null || stream === undefined) {
    if (callback) process.nextTick(callback, null);
    return true;
  }
  return stream.write(text, callback);
}
function cursorTo(stream, x, y, callback) {
  if (typeof y === 'function') [callback, y] = [y, undefined];
  if (Number.isNaN(x)) throw wrongValue('x', x);
  if (Number.isNaN(y)) throw wrongValue('y', y);
  if (typeof x !== 'number' && typeof y !== 'number') return write(null, '', callback);
  if (typeof x !== 'number') throw coded(TypeError, 'ERR_INVALID_CURSOR_POS', 'Cannot set cursor row without setting its column');
  return write(stream, typeof y === 'number' ? `\x1b[${y + 1};${x + 1}H` : `\x1b[${x + 1}G`, callback);
}
function moveCursor(stream, dx, dy, callback) {
  const text = (dx < 0 ? `\x1b[${-dx}D` : dx > 0 ? `\x1b[${dx}C` : '') + (dy < 0 ? `\x1b[${-dy}A` : dy > 0 ? `\x1b[${dy}B` : '');
  return write(text === '' ? null : stream, text, callback);
}
const clearLine = (stream, side, callback) => write(stream, side < 0 ? '\x1b[1K' : side > 0 ? '\x1b[0K' : '\x1b[2K', callback);
const clearScreenDown = (stream, callback) => write(stream, '\x1b[0J', callback);

// --- Lines ---

const kept = Symbol('kept');

class Interface extends EventEmitter {
  #rest = '';
  #questions = [];
  #decoder = new (require('string_decoder').StringDecoder)('utf8');
  #rows = 0;
  #killed = [];
  #undone = [];
  #goal;
  #handlers = [];
  constructor(options, output, completer, terminal) {
    super();
    if (!options?.input) options = { input: options, output, completer, terminal };
    const { input, historySize = 30, history = [], removeHistoryDuplicates = false, prompt = '> ', signal, tabSize = 8 } = options;
    if (options.completer !== undefined) {
      if (typeof options.completer !== 'function') throw wrongValue('completer', options.completer);
    }
    if (!Array.isArray(history)) throw wrongType('history', 'Array', history);
    if (typeof historySize !== 'number' || Number.isNaN(historySize) || historySize < 0) throw typeof historySize === 'number' ? outOfRange('historySize', '>= 0', historySize) : wrongType('historySize', 'number', historySize);
    Object.assign(this, { input, output: options.output, completer: options.completer, terminal: Boolean(options.terminal ?? options.output?.isTTY), line: '', cursor: 0, isCompletionEnabled: true, closed: false, paused: false,
      history: [...history], historySize, removeHistoryDuplicates, historyIndex: -1, tabSize, crlfDelay: Math.max(100, options.crlfDelay ?? 100), escapeCodeTimeout: options.escapeCodeTimeout ?? 500 });
    this._prompt = prompt;
    if (this.terminal) this.#beginTerminal();
    else this.#beginPlain();
    this.#listen(input, 'error', (error) => this.emit('error', error));
    if (signal) {
      const stop = () => this.close();
      if (signal.aborted) process.nextTick(stop);
      else {
        signal.addEventListener('abort', stop, { once: true });
        this.once('close', () => signal.removeEventListener('abort', stop));
      }
    }
  }
  #listen(stream, event, handler) {
    stream.on(event, handler);
    this.#handlers.push([stream, event, handler]);
  }
  #beginPlain() {
    this.#listen(this.input, 'data', (chunk) => this.#take(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk)));
    this.#listen(this.input, 'end', () => {
      const last = this.#rest;
      this.#rest = '';
      if (last !== '') this._onLine(last);
      this.close();
    });
    this.input.resume();
  }
  #beginTerminal() {
    emitKeypressEvents(this.input, this);
    this.#listen(this.input, 'keypress', (text, key) => {
      this._ttyWrite(text, key);
      // What is shown is the whole text that was pasted.
      if (key?.sequence && /[\u0300-\u036f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(key.sequence)) this._refreshLine();
    });
    this.#listen(this.input, 'end', () => {
      if (this.line !== '') this._onLine(this.line);
      this.close();
    });
    if (this.output?.on) this.#listen(this.output, 'resize', () => this._refreshLine());
    this._setRawMode(true);
    this.input.resume();
  }
  _setRawMode(on) { this.input.setRawMode?.(on); }
  #take(text) {
    const whole = this.#rest + text;
    const lines = whole.split(/\r\n|\n|\r(?!$)|[\u2028\u2029]/);
    this.#rest = lines.pop();
    for (const line of lines) this._onLine(line);
  }
  _onLine(line) {
    const question = this.#questions.shift();
    if (!question) return void this.emit('line', line);
    if (this.#questions.length === 0 && question.prompt !== undefined) this._prompt = question.prompt;
    question.callback(line);
  }
  get columns() { return this.output?.columns ?? Infinity; }
  setPrompt(text) { this._prompt = String(text); }
  getPrompt() { return this._prompt; }
  prompt(preserveCursor) {
    if (this.paused) this.resume();
    if (!this.terminal || process.env.TERM === 'dumb') return void this.output?.write(this._prompt);
    if (!preserveCursor) this.cursor = 0;
    this._refreshLine();
  }
  question(query, options, callback) {
    if (typeof options === 'function') [options, callback] = [{}, options];
    if (this.closed) throw closedError();
    if (typeof callback !== 'function') return;
    const { signal } = options ?? {};
    if (signal?.aborted) return;
    const entry = { callback, prompt: this.terminal ? this._prompt : undefined };
    this.#questions.push(entry);
    signal?.addEventListener('abort', () => {
      const at = this.#questions.indexOf(entry);
      if (at >= 0) this.#questions.splice(at, 1);
    }, { once: true });
    if (this.terminal) {
      this._prompt = String(query);
      this.prompt();
      return;
    }
    this.output?.write(query);
    if (this.paused) this.resume();
  }
  write(text, key) {
    if (this.closed) throw closedError();
    if (this.paused) this.resume();
    if (this.terminal) this._ttyWrite(text, key);
    else this.#take(String(text));
  }
  pause() {
    if (this.closed) throw closedError();
    if (this.paused) return this;
    this.input.pause();
    this.paused = true;
    this.emit('pause');
    return this;
  }
  resume() {
    if (this.closed) throw closedError();
    if (!this.paused) return this;
    this.input.resume();
    this.paused = false;
    this.emit('resume');
    return this;
  }
  close() {
    if (this.closed) return;
    if (!this.paused) this.input.pause();
    this.paused = true;
    if (this.terminal) this._setRawMode(false);
    for (const [stream, event, handler] of this.#handlers.splice(0)) if (event !== 'error') stream.off(event, handler);
    this.closed = true;
    this.emit('close');
  }
  [Symbol.dispose]() { this.close(); }
  [Symbol.asyncIterator]() { return (this[kept] ??= this.#lines()); }
  async * #lines() {
    const lines = [];
    let wake;
    this.on('line', (line) => { lines.push(line); wake?.(); });
    this.once('close', () => wake?.());
    try {
      for (;;) {
        while (lines.length) yield lines.shift();
        if (this.closed) return;
        await new Promise((resolve) => { wake = resolve; if (lines.length || this.closed) resolve(); });
      }
    } finally {
      this.close();
    }
  }

  // --- A line that is edited ---

  getCursorPos() { return this.#placeOf(this._prompt + this.line.slice(0, this.cursor)); }
  #placeOf(text) {
    const columns = this.columns;
    let rows = 0, at = 0;
    for (const [i, part] of text.split('\n').entries()) {
      if (i) rows++;
      const size = width(part);
      at = columns === Infinity ? size : size % columns;
      if (columns !== Infinity) rows += Math.floor(size / columns);
    }
    return { cols: at, rows };
  }
  _refreshLine() {
    const { output } = this, shown = this._prompt + this.line, end = this.#placeOf(shown), place = this.getCursorPos();
    moveCursor(output, 0, -this.#rows);
    cursorTo(output, 0);
    clearScreenDown(output);
    output?.write(shown);
    // Behind the last column there is no place yet.
    if (end.cols === 0) output?.write(' ');
    cursorTo(output, place.cols);
    moveCursor(output, 0, -(end.rows - place.rows));
    this.#rows = place.rows;
  }
  #change(line, cursor) {
    this.#undone.push({ line: this.line, cursor: this.cursor });
    if (this.#undone.length > 2048) this.#undone.shift();
    this.line = line;
    this.cursor = cursor;
    this._refreshLine();
  }
  _insertString(text) {
    const end = this.cursor === this.line.length, before = this.getCursorPos();
    if (!end || before.cols + width(text) >= this.columns || text.includes('\n')) return this.#change(this.line.slice(0, this.cursor) + text + this.line.slice(this.cursor), this.cursor + text.length);
    this.#undone.push({ line: this.line, cursor: this.cursor });
    this.line += text;
    this.cursor += text.length;
    this.output?.write(text);
  }
  #step(by) {
    const units = by < 0 ? /(?:[\ud800-\udbff][\udc00-\udfff]|[^])\p{M}*$/u.exec(this.line.slice(0, this.cursor)) : /^(?:[\ud800-\udbff][\udc00-\udfff]|[^])\p{M}*/u.exec(this.line.slice(this.cursor));
    return units ? units[0].length * by : 0;
  }
  #word(by) {
    if (by < 0) return -/(?:[^\w\s]+|\w+|)\s*$/.exec(this.line.slice(0, this.cursor))[0].length;
    return /^(?:\s+|[^\w\s]+|\w+|)\s*/.exec(this.line.slice(this.cursor))[0].length;
  }
  #go(by) {
    this.cursor = Math.max(0, Math.min(this.line.length, this.cursor + by));
    this._refreshLine();
  }
  #remove(by, keep) {
    const from = Math.min(this.cursor, this.cursor + by), to = Math.max(this.cursor, this.cursor + by);
    if (from === to) return;
    if (keep) this.#killed.unshift(this.line.slice(from, to));
    this.#change(this.line.slice(0, from) + this.line.slice(to), from);
  }
  _line() {
    const line = this.#keep();
    this.#undone = [];
    const end = this.#placeOf(this._prompt + this.line), place = this.getCursorPos();
    if (end.rows > place.rows) moveCursor(this.output, 0, end.rows - place.rows);
    this.line = '';
    this.cursor = 0;
    this.#rows = 0;
    this.#goal = undefined;
    this.output?.write('\r\n');
    this._onLine(line);
  }
  #keep() {
    const { line } = this;
    if (line.trim() === '' || this.historySize === 0) return line;
    if (this.removeHistoryDuplicates) this.history = this.history.filter((old) => old !== line);
    if (this.history[0] !== line) {
      this.history.unshift(line);
      if (this.history.length > this.historySize) this.history.pop();
    }
    this.historyIndex = -1;
    this.emit('history', this.history);
    return line;
  }
  #past(by) {
    this.#goal ??= this.line.slice(0, this.cursor);
    for (let at = this.historyIndex + by; at >= -1 && at < this.history.length; at += by) {
      const line = at < 0 ? this.#goal : this.history[at];
      if (at >= 0 && (!line.startsWith(this.#goal) || line === this.line)) continue;
      this.historyIndex = at;
      this.line = line;
      this.cursor = line.length;
      return this._refreshLine();
    }
  }
  #complete(twice) {
    const text = this.line.slice(0, this.cursor);
    const told = (error, found) => {
      if (error) return void this.output?.write(`Tab completion error: ${require('util').inspect(error)}`);
      if (!found || found[0].length === 0) return;
      const [all, part] = found, choices = all.filter((one) => one !== '');
      let same = choices[0] ?? '';
      for (const one of choices) while (!one.startsWith(same)) same = same.slice(0, -1);
      if (same.startsWith(part) && same.length > part.length) return this._insertString(same.slice(part.length));
      if (choices.length === 1) return this._insertString(choices[0].slice(part.length));
      if (!twice) return;
      this.output?.write(`\r\n${inColumns(all, this.columns)}\r\n`);
      this.#rows = 0;
      this._refreshLine();
    };
    if (this.completer.length === 2) return this.completer(text, told);
    try {
      Promise.resolve(this.completer(text)).then((found) => told(null, found), told);
    } catch (error) {
      told(error);
    }
  }
  clearLine() {
    this.cursor = this.line.length;
    this._refreshLine();
    this.output?.write('\r\n');
    this.line = '';
    this.cursor = 0;
    this.#rows = 0;
  }
  #tabbed = false;
  #returned = 0;
  _ttyWrite(text, key = {}) {
    const { name, ctrl, meta, shift } = key, tabbed = this.#tabbed;
    this.#tabbed = false;
    if (!(name === 'up' || name === 'down' || (ctrl && (name === 'p' || name === 'n')))) this.#goal = undefined;
    if (name === 'escape' || name === 'paste-start' || name === 'paste-end') return;
    const edits = ctrl && shift ? { backspace: () => this.#remove(-this.cursor, true), delete: () => this.#remove(this.line.length - this.cursor, true) } : ctrl ? {
      c: () => (this.listenerCount('SIGINT') > 0 ? this.emit('SIGINT') : this.close()),
      h: () => this.#remove(this.#step(-1)),
      d: () => (this.cursor === 0 && this.line === '' ? this.close() : this.#remove(this.#step(1))),
      u: () => this.#remove(-this.cursor, true),
      k: () => this.#remove(this.line.length - this.cursor, true),
      a: () => this.#go(-this.line.length),
      e: () => this.#go(this.line.length),
      b: () => this.#go(this.#step(-1)),
      f: () => this.#go(this.#step(1)),
      l: () => {
        cursorTo(this.output, 0, 0);
        clearScreenDown(this.output);
        this.#rows = 0;
        this._refreshLine();
      },
      n: () => this.#past(-1),
      p: () => this.#past(1),
      y: () => { if (this.#killed.length) this._insertString(this.#killed[0]); },
      z: () => this.emit('SIGTSTP'),
      w: () => this.#remove(this.#word(-1), true),
      backspace: () => this.#remove(this.#word(-1), true),
      delete: () => this.#remove(this.#word(1), true),
      left: () => this.#go(this.#word(-1)),
      right: () => this.#go(this.#word(1)),
    } : meta ? {
      b: () => this.#go(this.#word(-1)),
      f: () => this.#go(this.#word(1)),
      d: () => this.#remove(this.#word(1), true),
      delete: () => this.#remove(this.#word(1), true),
      backspace: () => this.#remove(this.#word(-1), true),
      y: () => { if (this.#killed.length) this.#killed.push(this.#killed.shift()); },
    } : {
      return: () => {
        this.#returned = Date.now();
        this._line();
      },
      // A line that ends in both is one line.
      enter: () => {
        if (this.#returned === 0 || Date.now() - this.#returned > this.crlfDelay) this._line();
        this.#returned = 0;
      },
      backspace: () => this.#remove(this.#step(-1)),
      delete: () => this.#remove(this.#step(1)),
      left: () => this.#go(this.#step(-1)),
      right: () => this.#go(this.#step(1)),
      home: () => this.#go(-this.line.length),
      end: () => this.#go(this.line.length),
      up: () => this.#past(1),
      down: () => this.#past(-1),
      ...(typeof this.completer === 'function' && this.isCompletionEnabled && { tab: () => {
        this.#tabbed = true;
        this.#complete(tabbed);
      } }),
    };
    if (key.sequence === '\x1f') {
      const before = this.#undone.pop();
      if (!before) return;
      Object.assign(this, before);
      return this._refreshLine();
    }
    if (Object.hasOwn(edits, name ?? '')) return edits[name]();
    if (ctrl || meta || typeof text !== 'string' || text === '') return;
    for (const [i, part] of text.split(/\r\n|\n|\r/).entries()) {
      if (i) this._line();
      if (part) this._insertString(part);
    }
  }
}
// As `ls` shows names.
function inColumns(all, columns) {
  const size = Math.max(...all.map(width)) + 2, count = Math.max(1, Math.floor((columns === Infinity ? 80 : columns) / size));
  const groups = [[]];
  for (const one of all) {
    if (one === '') groups.push([]);
    else groups.at(-1).push(one);
  }
  return groups.filter((group) => group.length).map((group) => {
    const lines = [];
    for (let i = 0; i < group.length; i += count) lines.push(group.slice(i, i + count).map((one, at, line) => (at === line.length - 1 ? one : one + ' '.repeat(size - width(one)))).join(''));
    return lines.join('\r\n');
  }).join('\r\n\r\n');
}

const createInterface = (...words) => new Interface(...words);

// --- readline/promises ---

class PromisesInterface extends Interface {
  question(query, options = {}) {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) return reject(EventEmitter.abortError(signal));
      const stop = () => reject(EventEmitter.abortError(signal));
      signal?.addEventListener('abort', stop, { once: true });
      super.question(query, options, (answer) => {
        signal?.removeEventListener('abort', stop);
        resolve(answer);
      });
    });
  }
}
// What is done to a terminal, all at once.
class Readline {
  #stream;
  #now;
  #todo = [];
  constructor(stream, { autoCommit = false } = {}) {
    if (typeof stream?.write !== 'function') throw wrongType('stream', 'Writable', stream);
    this.#stream = stream;
    this.#now = Boolean(autoCommit);
  }
  #do(work) {
    const recorded = [];
    work({ write: (text) => recorded.push(text) });
    if (this.#now) process.nextTick(() => this.#stream.write(recorded.join('')));
    else this.#todo.push(...recorded);
    return this;
  }
  cursorTo(x, y) { return this.#do((to) => cursorTo(to, x, y)); }
  moveCursor(dx, dy) { return this.#do((to) => moveCursor(to, dx, dy)); }
  clearLine(side) { return this.#do((to) => clearLine(to, side)); }
  clearScreenDown() { return this.#do((to) => clearScreenDown(to)); }
  commit() { return new Promise((resolve) => { this.#stream.write(this.#todo.splice(0).join(''), () => resolve()); }); }
  rollback() {
    this.#todo = [];
    return this;
  }
}

// A constructor that old programs call as a function.
const callable = (Class) => new Proxy(Class, { apply: (target, self, args) => new target(...args) });
Interface.prototype.question[require('util').promisify.custom] = function question(query, options) { return PromisesInterface.prototype.question.call(this, query, options); };
module.exports = { Interface: callable(Interface), clearLine, clearScreenDown, createInterface, cursorTo, emitKeypressEvents, moveCursor,
  promises: { Interface: PromisesInterface, Readline, createInterface: (...words) => new PromisesInterface(...words) } };
