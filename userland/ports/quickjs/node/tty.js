// tty: the standard streams and pipes as streams.
const { native, os } = internal;
const { Readable, Writable } = require('stream');
const { errnoError } = require('os').__errors;

// What is written to a descriptor is written at once, as Node.js does for files and terminals.
function output(fd, closes) {
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _, callback) {
      const result = internal.writeAll(fd, chunk);
      callback(result < 0 ? errnoError(result, 'write') : null);
    },
    final(callback) { if (closes) native.close(fd); fd = closes ? -1 : fd; callback(); },
    destroy(error, callback) { if (closes && fd >= 0) native.close(fd); fd = closes ? -1 : fd; callback(error); },
  });
  stream.fd = fd;
  if (native.isatty(fd)) {
    stream.isTTY = true;
    [stream.columns, stream.rows] = os.ttyGetWinSize(fd) ?? [80, 24];
    stream.getWindowSize = () => os.ttyGetWinSize(fd) ?? [80, 24];
    stream.getColorDepth = () => 8;
    stream.hasColors = () => true;
    stream.clearLine = () => stream.write('\x1b[2K');
    stream.cursorTo = (x) => stream.write(`\x1b[${x + 1}G`);
  }
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
    stream.setRawMode = (raw) => {
      if (raw) os.ttySetRaw(fd);
      stream.isRaw = raw;
      return stream;
    };
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
  ReadStream: Readable, WriteStream: Writable,
};
const hidden = { __input: () => input(0, false), __output: (fd) => output(fd, false), __pipeInput: (fd) => input(fd, true), __pipeOutput: (fd) => output(fd, true),
  __closedInput: () => Readable.from([]), __closedOutput: () => new Writable({ write: (chunk, _, callback) => callback() }) };
for (const [name, value] of Object.entries(hidden)) Object.defineProperty(module.exports, name, { value, enumerable: false });
