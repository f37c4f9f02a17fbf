// readline: lines of a stream, questions, and the prompt of an interactive node.
const EventEmitter = require('events');

class Interface extends EventEmitter {
  #rest = '';
  #questions = [];
  #decoder = new (require('string_decoder').StringDecoder)('utf8');
  constructor(options, output) {
    super();
    if (!options.input) options = { input: options, output };
    Object.assign(this, { input: options.input, output: options.output, terminal: Boolean(options.terminal), line: '', closed: false, history: [] });
    this._prompt = options.prompt ?? '> ';
    this.input.on('data', (chunk) => this.#take(this.#decoder.write(chunk)));
    this.input.once('end', () => {
      if (this.#rest !== '') this.#emit(this.#rest);
      this.#rest = '';
      this.close();
    });
    this.input.on('error', (error) => this.emit('error', error));
    options.signal?.addEventListener('abort', () => this.close());
  }
  #take(text) {
    const whole = this.#rest + text;
    const lines = whole.split(whole.includes('\r') ? /\r\n|\n|\r(?!$)/ : '\n');
    this.#rest = lines.pop();
    for (const line of lines) this.#emit(line);
  }
  #emit(line) {
    const question = this.#questions.shift();
    if (question) question(line);
    else this.emit('line', line);
  }
  setPrompt(text) { this._prompt = text; }
  getPrompt() { return this._prompt; }
  prompt() { this.resume(); this.output?.write(this._prompt); }
  question(query, options, callback = options) {
    this.output?.write(query);
    this.#questions.push(callback);
    this.resume();
  }
  write(text) { this.#take(String(text)); }
  pause() { this.input.pause(); this.emit('pause'); return this; }
  resume() { this.input.resume(); return this; }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.input.pause();
    this.emit('close');
  }
  [Symbol.dispose]() { this.close(); }
  async *[Symbol.asyncIterator]() {
    const lines = [];
    let wake;
    this.on('line', (line) => { lines.push(line); wake?.(); });
    this.once('close', () => wake?.());
    for (;;) {
      while (lines.length) yield lines.shift();
      if (this.closed) return;
      await new Promise((resolve) => { wake = resolve; if (lines.length || this.closed) resolve(); });
    }
  }
}
const createInterface = (options, output) => new Interface(options, output);

function repl(evaluate) {
  const { inspect } = require('util');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  process.stdout.write(`Welcome to Node.js ${process.version} (QuickJS).\n`);
  Object.defineProperty(globalThis, 'require', { value: require('module').createRequire(`${process.cwd()}/`), configurable: true, writable: true });
  let held = '';
  lines.on('line', (line) => {
    held += (held ? '\n' : '') + line;
    if (held === '.exit') process.exit();
    try {
      if (held.trim() !== '') process.stdout.write(`${inspect(evaluate(held), { colors: true })}\n`);
    } catch (error) {
      // More lines may make it whole.
      if (error instanceof SyntaxError && /(unexpected end|expecting '\}'|unterminated|unexpected token in expression: '')/i.test(error.message) && line !== '') {
        process.stdout.write('... ');
        return;
      }
      process.stdout.write(`Uncaught ${inspect(error)}\n`);
    }
    held = '';
    lines.prompt();
  });
  lines.on('close', () => process.stdout.write('\n'));
  lines.prompt();
}

module.exports = { Interface, createInterface,
  clearLine: (stream, _, callback) => { stream.write('\x1b[2K'); callback?.(); return true; },
  cursorTo: (stream, x, y) => stream.write(typeof y === 'number' ? `\x1b[${y + 1};${x + 1}H` : `\x1b[${x + 1}G`),
  moveCursor: (stream, dx, dy) => stream.write((dx ? `\x1b[${Math.abs(dx)}${dx > 0 ? 'C' : 'D'}` : '') + (dy ? `\x1b[${Math.abs(dy)}${dy > 0 ? 'B' : 'A'}` : '')),
  clearScreenDown: (stream) => stream.write('\x1b[0J'), emitKeypressEvents: () => {},
  promises: { createInterface: (options, output) => {
    const made = createInterface(options, output);
    const ask = made.question.bind(made);
    made.question = (query) => new Promise((resolve) => ask(query, resolve));
    return made;
  } } };
Object.defineProperty(module.exports, '__repl', { value: repl, enumerable: false });
