// repl: what is typed is run, and shown. `node` at a terminal is one over the program's own globals.
const { native } = internal;
const readline = require('readline');
const util = require('util');
const { coded, isFunction } = require('checks');
const { completer } = require('repl_completion');
const { awaiting } = require('repl_await');

const REPL_MODE_SLOPPY = Symbol('repl-sloppy'), REPL_MODE_STRICT = Symbol('repl-strict');

// What is not whole yet: more lines may make it so.
class Recoverable extends SyntaxError {
  constructor(error) {
    super();
    this.err = error;
  }
}
const writer = (value) => util.inspect(value, writer.options);
writer.options = { ...util.inspect.defaultOptions, showProxy: true };

// Whether the engine stopped at the end of what there is: in a statement, a bracket, a template or a comment.
function isCut(source, error) {
  if (!(error instanceof SyntaxError)) return false;
  const bare = source.trimEnd();
  if (/^Unexpected end of input$|unterminated|^unexpected end of comment/i.test(error.message)) return true;
  const compiles = (text) => {
    try {
      native.evaluate(`(function () {${text}\n})`, '[check]');
      return true;
    } catch {
      return false;
    }
  };
  if (error.message === 'Invalid or unexpected token') return bare.split('`').length % 2 === 0 && !compiles(bare) || bare.endsWith('\\');
  const place = /:(\d+):(\d+)\)?$/.exec(String(error.stack).split('\n')[1] ?? ''), lines = bare.split('\n');
  return place !== null && (Number(place[1]) > lines.length || (Number(place[1]) === lines.length && Number(place[2]) > lines.at(-1).length));
}

let scripts = 0;
function evaluated(source, context, file) {
  return context === globalThis || context === undefined ? native.evaluate(source, file) : require('vm').runInContext(source, context, { filename: file });
}
function defaultEval(code, context, file, callback) {
  const name = `REPL${++scripts}`, source = code.replace(/\n$/, '');
  (internal.sources ??= new Map()).set(name, source).delete(`REPL${scripts - 100}`);
  if (source.trim() === '') return callback(null, undefined);
  // An object that stands alone is no block.
  const asObject = /^\s*\{/.test(source) && !/;\s*$/.test(source) ? `(${source.trim()}\n)` : undefined;
  const sloppy = this.replMode === REPL_MODE_STRICT ? (text) => `'use strict'; void 0; ${text}` : (text) => text;
  const attempt = (text) => evaluated(sloppy(text), context, name);
  let result;
  try {
    if (asObject !== undefined) {
      try {
        return callback(null, attempt(asObject));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
    result = attempt(source);
  } catch (error) {
    if (error instanceof SyntaxError && /\bawait\b/.test(source)) {
      const made = awaiting(source);
      if (made) {
        let promise;
        try {
          promise = attempt(made);
        } catch (another) {
          return callback(isCut(source, another) ? new Recoverable(another) : another);
        }
        promise.then((value) => callback(null, value), (reason) => callback(reason));
        return;
      }
    }
    if (isCut(source, error)) return callback(new Recoverable(error));
    if (error instanceof SyntaxError && /^\s*import\b(?!\s*[(.])/.test(source)) error.message = 'Cannot use import statement inside the Node.js REPL, alternatively use dynamic import';
    return callback(error);
  }
  callback(null, result);
}

class REPLServer extends readline.Interface {
  #held = '';
  #isLast = true;
  #busy = false;
  #waiting = [];
  #cut = false;
  #historyFile;
  constructor(prompt, stream, evaluate, useGlobal, ignoreUndefined, replMode) {
    let options = prompt !== null && typeof prompt === 'object' ? { ...prompt } : { prompt, eval: evaluate, useGlobal, ignoreUndefined, replMode, ...(stream && { socket: stream }) };
    if (options.breakEvalOnSigint && options.eval) throw coded(TypeError, 'ERR_INVALID_REPL_EVAL_CONFIG', 'Cannot specify both "breakEvalOnSigint" and "eval" for REPL');
    if (!options.input && !options.output) options = { ...options, input: options.socket?.stdin ?? options.socket ?? process.stdin, output: options.socket?.stdout ?? options.socket ?? process.stdout };
    const { terminal = Boolean(options.output?.isTTY) } = options;
    let complete;
    super({ input: options.input, output: options.output, terminal, prompt: options.prompt ?? '> ', historySize: options.historySize ?? 1000,
      completer: (text, callback) => complete(text, callback) });
    complete = (text, callback) => this.complete(text, callback);
    if (options.completer) this.completer = options.completer;
    Object.assign(this, { useColors: options.useColors ?? (terminal && (options.output?.hasColors?.() ?? true)), useGlobal: Boolean(options.useGlobal), ignoreUndefined: Boolean(options.ignoreUndefined),
      replMode: options.replMode ?? REPL_MODE_SLOPPY, editorMode: false, commands: Object.create(null), underscoreAssigned: false, underscoreErrAssigned: false, last: undefined, lastError: undefined,
      inputStream: options.input, outputStream: options.output, breakEvalOnSigint: Boolean(options.breakEvalOnSigint) });
    this.eval = options.eval ?? defaultEval;
    const colors = { ...writer.options, colors: this.useColors };
    this.writer = options.writer ?? ((value) => util.inspect(value, { ...writer.options, colors: this.useColors ?? colors.colors }));
    this.lines = [];
    this.lines.level = [];
    for (const [name, command] of Object.entries(ownCommands)) this.defineCommand(name, command);
    this.resetContext();
    this.on('line', (line) => this.#line(line));
    this.on('close', () => this.#close());
    this.on('SIGINT', () => this.#interrupted());
    this.displayPrompt();
  }
  createContext() {
    if (this.useGlobal) return globalThis;
    const context = require('vm').createContext({});
    const own = new Set(Object.getOwnPropertyNames(require('vm').runInContext('globalThis', context)));
    for (const name of Object.getOwnPropertyNames(globalThis)) if (!own.has(name)) Object.defineProperty(context, name, { ...Object.getOwnPropertyDescriptor(globalThis, name), configurable: true });
    context.global = context;
    Object.defineProperty(context, 'console', { value: new console.Console(this.output ?? process.stdout), configurable: true, writable: true });
    return context;
  }
  resetContext() {
    this.context = this.createContext();
    Object.assign(this, { underscoreAssigned: false, underscoreErrAssigned: false });
    this.lines = Object.assign([], { level: [] });
    const { createRequire, builtinModules } = require('module'), { context } = this;
    for (const [name, value] of Object.entries({ require: createRequire(`${process.cwd()}/<repl>`), module: { id: '<repl>', exports: {}, filename: null, loaded: false, children: [], paths: [] } }))
      Object.defineProperty(context, name, { value, configurable: true, writable: true });
    for (const name of builtinModules) {
      if (name.startsWith('_') || name.includes('/') || Object.hasOwn(context, name)) continue;
      Object.defineProperty(context, name, { configurable: true, enumerable: false, get: () => require(name),
        set(value) { Object.defineProperty(context, name, { value, configurable: true, enumerable: true, writable: true }); } });
    }
    this.#last('_', 'last', 'underscoreAssigned', 'Expression assignment to _ now disabled.');
    this.#last('_error', 'lastError', 'underscoreErrAssigned', 'Expression assignment to _error now disabled.');
    this.emit('reset', context);
  }
  #last(name, from, assigned, told) {
    Object.defineProperty(this.context, name, { configurable: true, get: () => this[from],
      set: (value) => {
        this[from] = value;
        if (this[assigned]) return;
        this[assigned] = true;
        this.output?.write(`${told}\n`);
      } });
  }
  defineCommand(keyword, command) {
    if (typeof command === 'function') command = { action: command };
    else isFunction(command.action, 'cmd.action');
    this.commands[keyword] = command;
  }
  displayPrompt(preserveCursor) {
    const main = this.#main ??= this.getPrompt();
    this.#shown = this.#held === '' ? main : '... ';
    super.setPrompt(this.#shown);
    this.prompt(preserveCursor);
    super.setPrompt(main);
  }
  #main;
  #shown;
  setPrompt(prompt) {
    this.#main = prompt;
    super.setPrompt(prompt);
  }
  // A line that is edited again is shown with what stood before it.
  _refreshLine() {
    const main = this._prompt;
    this._prompt = this.editorMode ? '' : this.#shown ?? main;
    super._refreshLine();
    this._prompt = main;
  }
  getCursorPos() {
    const main = this._prompt;
    if (this.editorMode) this._prompt = '';
    else if (this.#shown !== undefined) this._prompt = this.#shown;
    const place = super.getCursorPos();
    this._prompt = main;
    return place;
  }
  clearBufferedCommand() { this.#held = ''; }
  complete(text, callback) {
    try {
      callback(null, completer(this, text));
    } catch (error) {
      callback(error);
    }
  }
  #line(line) {
    if (this.#busy) return void this.#waiting.push(line);
    this.#cut = false;
    if (this.editorMode) {
      this.#held += `${line}\n`;
      return;
    }
    const word = line.trim();
    if (this.#held === '' || /^\.(?:break|clear|exit|help|editor|load|save)\b/.test(word)) {
      const [, keyword, rest] = /^\.([^\s]+)\s*(.*)$/.exec(word) ?? [];
      if (keyword !== undefined && !/^\.\d/.test(word)) {
        const command = this.commands[keyword];
        if (command) return void command.action.call(this, rest);
        if (this.#held === '') {
          this.output?.write('Invalid REPL keyword\n');
          return this.displayPrompt();
        }
      }
    }
    this.#run(`${this.#held}${line}\n`, line);
  }
  #run(code, line) {
    this.#busy = true;
    // Signals end what is computed at a terminal only where the program waits.
    this.eval(code, this.context, 'repl', (error, value) => {
      this.#busy = false;
      if (error instanceof Recoverable && !this.closed) {
        this.#held = code;
        this.displayPrompt();
        return this.#next();
      }
      this.lines.push(...(line === undefined ? code.split('\n') : [line]));
      if (this.#held !== '') this.lines.push();
      this.#record(code);
      this.#held = '';
      if (error) this.#failed(error instanceof Recoverable ? error.err : error);
      else {
        if (!this.underscoreAssigned) this.last = value;
        if (!this.ignoreUndefined || value !== undefined) this.output?.write(`${this.writer(value)}\n`);
      }
      if (!this.closed) this.displayPrompt();
      this.#next();
    });
  }
  #session = [];
  #record(code) { this.#session.push(code.replace(/\n$/, '')); }
  get __session() { return this.#session; }
  #next() {
    while (this.#waiting.length && !this.#busy) this.#line(this.#waiting.shift());
    if (this.#leaving && !this.#busy) {
      this.#leaving = false;
      this.emit('exit');
    }
  }
  #failed(error) {
    if (process.domain) return;
    if (!this.underscoreErrAssigned) this.lastError = error;
    const isError = internal.isError(error);
    let text;
    if (isError) {
      if (typeof error.stack === 'string') {
        const lines = error.stack.split('\n').filter((line) => !/^\s+at (?:REPL\d+:|<eval>|evalmachine)/.test(line));
        if (error instanceof SyntaxError) while (lines.length > 1 && /^\s+at /.test(lines.at(-1))) lines.pop();
        try { Object.defineProperty(error, 'stack', { value: lines.join('\n'), configurable: true, writable: true }); } catch {
          // It is shown as it is.
        }
      }
      text = this.writer(error);
      // A stack of one line is shown as an error all the same.
      if (/^\[[^]*\]$/.test(text) && !text.includes('\n')) text = text.slice(1, -1);
      else if (text.startsWith('[') && /^\[[^\]]*\] \{/.test(text)) text = text.replace(/^\[([^\]]*)\] \{/, '$1 {');
    } else {
      text = this.writer(error);
    }
    this.output?.write(`Uncaught${text.includes('\n') && !isError ? ':\n' : ' '}${text}\n`);
  }
  __uncaught(error) {
    this.#failed(error);
    this.#held = '';
    if (!this.closed) this.displayPrompt();
  }
  #interrupted() {
    const empty = this.line === '';
    if (this.terminal) this.clearLine();
    if (this.editorMode) {
      this.editorMode = false;
      this.#held = '';
      return this.displayPrompt();
    }
    if (!(this.#held === '' && empty)) this.#cut = false;
    else if (this.#cut) return void this.close();
    else {
      this.output?.write('(To exit, press Ctrl+C again or Ctrl+D or type .exit)\n');
      this.#cut = true;
    }
    this.#held = '';
    this.displayPrompt();
  }
  _ttyWrite(text, key = {}) {
    if (this.editorMode && key.ctrl && key.name === 'd') {
      this.editorMode = false;
      if (this.line !== '') this.#held += `${this.line}\n`;
      const code = this.#held;
      this.output?.write('\n');
      this.line = '';
      this.cursor = 0;
      this.#held = '';
      this.#run(code);
      return;
    }
    super._ttyWrite(text, key);
  }
  __begin() {
    this.editorMode = true;
    super.setPrompt(this.#main ?? '> ');
    this.#shown = '';
  }
  __feed(text) {
    const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
    // All of it is one piece.
    for (const line of lines) this.#held += `${line}\n`;
    const code = this.#held;
    this.#held = '';
    this.#run(code);
  }
  #leaving = false;
  #close() {
    if (this.#historyFile !== undefined) this.#saveHistory();
    if (this.#busy || this.#waiting.length) this.#leaving = true;
    else process.nextTick(() => this.emit('exit'));
  }
  setupHistory(given, callback = () => {}) {
    const file = typeof given === 'object' && given !== null ? given.filePath : given;
    if (file !== '') {
      try {
        this.history = require('fs').readFileSync(file, 'utf8').split('\n').filter(Boolean).slice(0, this.historySize);
      } catch (error) {
        if (error.code !== 'ENOENT') return void process.nextTick(callback, error, this);
      }
      this.#historyFile = file;
    }
    process.nextTick(callback, null, this);
  }
  #saveHistory() {
    try {
      require('fs').writeFileSync(this.#historyFile, this.history.join('\n'), { mode: 0o600 });
    } catch {
      // A history that cannot be kept is lost.
    }
  }
}
for (const name of ['__session']) Object.defineProperty(REPLServer.prototype, name, { ...Object.getOwnPropertyDescriptor(REPLServer.prototype, name), enumerable: false });

const ownCommands = {
  break: { help: 'Sometimes you get stuck, this gets you out', action() { this.clearBufferedCommand(); this.displayPrompt(); } },
  clear: { help: 'Alias for .break', action() {
    this.clearBufferedCommand();
    if (!this.useGlobal) {
      this.output?.write('Clearing context...\n');
      this.resetContext();
    }
    this.displayPrompt();
  } },
  exit: { help: 'Exit the REPL', action() { this.close(); } },
  help: { help: 'Print this help message', action() {
    const names = Object.keys(this.commands).filter((name) => this.terminal || name !== 'editor').sort(), longest = Math.max(...names.map((name) => name.length));
    for (const name of names) this.output?.write(`.${name}${this.commands[name].help ? `${' '.repeat(longest - name.length + 3)}${this.commands[name].help}` : ''}\n`);
    this.output?.write('\nPress Ctrl+C to abort current expression, Ctrl+D to exit the REPL\n');
    this.displayPrompt();
  } },
  save: { help: 'Save all evaluated commands in this REPL session to a file', action(file) {
    try {
      if (file === '') throw new Error('The "file" argument must be specified');
      require('fs').writeFileSync(file, this.__session.join('\n'));
      this.output?.write(`Session saved to: ${file}\n`);
    } catch (error) {
      this.output?.write(file === '' ? `${error.message}\n` : `Failed to save: ${file}\n`);
    }
    this.displayPrompt();
  } },
  load: { help: 'Load JS from a file into the REPL session', action(file) {
    try {
      if (file === '') throw new Error('The "file" argument must be specified');
      if (!require('fs').statSync(file).isFile()) {
        this.output?.write(`Failed to load: ${file} is not a valid file\n`);
        return this.displayPrompt();
      }
      return this.__feed(require('fs').readFileSync(file, 'utf8'));
    } catch (error) {
      this.output?.write(file === '' ? `${error.message}\n` : `Failed to load: ${file}\n`);
    }
    this.displayPrompt();
  } },
  editor: { help: 'Enter editor mode', action() {
    if (!this.terminal) {
      this.output?.write('Invalid REPL keyword\n');
      return this.displayPrompt();
    }
    this.__begin();
    this.output?.write('// Entering editor mode (Ctrl+D to finish, Ctrl+C to cancel)\n');
  } },
};

const start = (...words) => new REPLServer(...words);
module.exports = { start, writer, REPLServer: new Proxy(REPLServer, { apply: (Class, self, args) => new Class(...args) }), REPL_MODE_SLOPPY, REPL_MODE_STRICT, Recoverable,
  builtinModules: require('module').builtinModules.filter((name) => !name.startsWith('_')) };
Object.defineProperty(module.exports, '_builtinLibs', { get: () => module.exports.builtinModules, configurable: true });

// `node` at a terminal, or with -i.
Object.defineProperty(module.exports, '__main', { value() {
  process.stdout.write(`Welcome to Node.js ${process.version}.\nType ".help" for more information.\n`);
  const { NODE_REPL_HISTORY: file, NODE_REPL_HISTORY_SIZE: size, NODE_REPL_MODE: mode, NODE_NO_READLINE: plain } = process.env;
  const server = start({ useGlobal: true, replMode: mode?.toLowerCase().trim() === 'strict' ? REPL_MODE_STRICT : REPL_MODE_SLOPPY, ...(Number(size) > 0 && { historySize: Number(size) }),
    ...(Number(plain) && { terminal: false }) });
  internal.replFails = (error) => {
    if (server.closed) return false;
    server.__uncaught(error);
    return true;
  };
  server.on('exit', () => process.exit());
  if (server.terminal && file?.trim() !== '') server.setupHistory(file?.trim() || require('path').join(require('os').homedir(), '.node_repl_history'));
} });
