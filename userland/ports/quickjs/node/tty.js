// tty: the standard streams and pipes as streams.
const { native, os } = internal;
const { Readable, Writable } = require('stream');
const { errnoError } = require('os').__errors;

// --- What a terminal can do ---

// How many bits of colours, by what the environment says of it.
function colorDepth(env = process.env) {
  if (env.FORCE_COLOR !== undefined) {
    const forced = { '': 4, 1: 4, true: 4, 2: 8, 3: 24 }[env.FORCE_COLOR];
    return forced ?? 1;
  }
  if ((env.NODE_DISABLE_COLORS !== undefined && env.NODE_DISABLE_COLORS !== '') || (env.NO_COLOR !== undefined && env.NO_COLOR !== '') || env.TERM === 'dumb') return 1;
  if (env.TMUX) return 24;
  if (env.COLORTERM === 'truecolor' || env.COLORTERM === '24bit') return 24;
  const term = (env.TERM ?? '').toLowerCase();
  if (/^(?:xterm-kitty|alacritty|foot|wezterm)/.test(term)) return 24;
  if (/256(?:color)?$/.test(term)) return 8;
  if (env.COLORTERM || /^(?:xterm|screen|vt100|vt220|rxvt|linux|ansi|cygwin|konsole|console|eterm|dtterm|mosh|putty|st|hurd|gnome|kterm|jfbterm)|color|con[0-9]*x[0-9]/.test(term)) return 4;
  return 1;
}
const size = (fd) => os.ttyGetWinSize(fd) ?? [80, 24];
const outputMethods = {
  getWindowSize() { return [this.columns, this.rows]; },
  getColorDepth(env) { return colorDepth(env); },
  hasColors(count, env) {
    if (env === undefined && (count === undefined || (typeof count === 'object' && count !== null))) [count, env] = [16, count];
    return count <= 2 ** colorDepth(env);
  },
  _refreshSize() {
    const [columns, rows] = size(this.fd);
    if (columns === this.columns && rows === this.rows) return;
    Object.assign(this, { columns, rows });
    this.emit('resize');
  },
};
for (const name of ['clearLine', 'clearScreenDown', 'cursorTo', 'moveCursor']) outputMethods[name] = { [name](...words) { return require('readline')[name](this, ...words); } }[name];
const inputMethods = {
  setRawMode(on) {
    const result = native.rawMode(this.fd, on ? 1 : 0);
    if (result < 0) this.emit('error', errnoError(result, 'setRawMode'));
    else this.isRaw = Boolean(on);
    return this;
  },
};
function asTerminal(stream, fd) {
  stream.isTTY = true;
  [stream.columns, stream.rows] = size(fd);
  // Who wants to know of another size has it told.
  stream.on('newListener', (event) => { if (event === 'resize' && stream.listenerCount('resize') === 0) internal.onSignal(28, () => stream._refreshSize()); });
  Object.setPrototypeOf(stream, WriteStream.prototype);
}
const derived = (Class, Base, methods) => {
  Object.setPrototypeOf(Class, Base);
  Object.setPrototypeOf(Class.prototype, Base.prototype);
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(Class.prototype, name, { value, writable: true, configurable: true });
};
function checkTerminal(fd) {
  if (!Number.isInteger(fd) || fd < 0) throw Object.assign(new RangeError(`"fd" must be a positive integer: ${fd}`), { code: 'ERR_INVALID_FD' });
  if (!native.isatty(fd)) throw Object.assign(new Error('TTY initialization failed: uv_tty_init returned EINVAL (invalid argument)'), { code: 'ERR_TTY_INIT_FAILED', name: 'SystemError' });
}
function ReadStream(fd) {
  checkTerminal(fd);
  return input(fd, true);
}
function WriteStream(fd) {
  checkTerminal(fd);
  return output(fd);
}
derived(ReadStream, Readable, inputMethods);
derived(WriteStream, Writable, outputMethods);

// What is written to a descriptor is written at once, as Node.js does for files and terminals.
function output(fd) {
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _, callback) {
      const result = internal.writeAll(fd, chunk);
      callback(result < 0 ? errnoError(result, 'write') : null);
    },
  });
  stream.fd = fd;
  if (native.isatty(fd)) asTerminal(stream, fd);
  return stream;
}

// Our end of a pipe: what has no room there is written when the other side has read.
function pipeOutput(fd) {
  const frame = native.asyncFrame();
  native.nonBlocking(fd);
  const shut = (callback, error) => {
    if (fd >= 0) {
      os.setWriteHandler(fd, null);
      internal.setLoose(fd, false);
      native.close(fd);
    }
    fd = -1;
    callback(error);
  };
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _, callback) {
      let done = 0;
      const go = () => {
        while (done < chunk.length) {
          const count = fd < 0 ? -32 : native.write(fd, chunk.buffer, chunk.byteOffset + done, chunk.length - done, -1);
          if (count === -11) return os.setWriteHandler(fd, go, frame);
          if (fd >= 0) os.setWriteHandler(fd, null);
          if (count < 0) return callback(errnoError(count, 'write'));
          done += count;
        }
        callback();
      };
      go();
    },
    final(callback) { shut(callback); },
    destroy(error, callback) { shut(callback, error); },
  });
  stream.fd = fd;
  stream.ref = () => { if (fd >= 0) internal.setLoose(fd, false); return stream; };
  stream.unref = () => { if (fd >= 0) internal.setLoose(fd, true); return stream; };
  return stream;
}

// Data comes when the loop finds the descriptor readable.
function input(fd, closes) {
  let waiting = false, closed = false;
  const frame = native.asyncFrame();
  const shut = () => {
    if (waiting) os.setReadHandler(fd, null);
    waiting = false;
    if (!closed) internal.setLoose(fd, false);
    if (!closed && closes) native.close(fd);
    closed = true;
  };
  const stream = new Readable({
    highWaterMark: 65536,
    read() {
      if (waiting || closed) return;
      waiting = true;
      os.setReadHandler(fd, () => {
        os.setReadHandler(fd, null);
        waiting = false;
        const chunk = Buffer.alloc(65536);
        const count = native.read(fd, chunk.buffer, 0, chunk.length, -1);
        if (count === -11) return void this.read();
        if (count < 0) return void this.destroy(errnoError(count, 'read'));
        this.push(count === 0 ? null : chunk.subarray(0, count));
        if (count === 0) shut();
      }, frame);
    },
    destroy(error, callback) { shut(); callback(error); },
  });
  stream.fd = fd;
  if (native.isatty(fd)) {
    stream.isTTY = true;
    stream.isRaw = false;
    Object.setPrototypeOf(stream, ReadStream.prototype);
  }
  const pause = stream.pause;
  stream.pause = function () {
    if (waiting) os.setReadHandler(fd, null);
    if (waiting) this._r.reading = false;
    waiting = false;
    return pause.call(this);
  };
  stream.ref = () => { if (!closed) internal.setLoose(fd, false); return stream; };
  stream.unref = () => { if (!closed) internal.setLoose(fd, true); return stream; };
  return stream;
}

module.exports = {
  isatty: (fd) => native.isatty(fd),
  ReadStream, WriteStream,
};
const hidden = { __input: () => input(0, false), __output: output, __pipeInput: (fd) => input(fd, true), __pipeOutput: pipeOutput,
  __closedInput: () => Readable.from([]), __closedOutput: () => new Writable({ write: (chunk, _, callback) => callback() }) };
for (const [name, value] of Object.entries(hidden)) Object.defineProperty(module.exports, name, { value, enumerable: false });
