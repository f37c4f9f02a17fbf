// tty: the standard streams and pipes as streams.
const { native, os } = internal;
const { Readable, Writable } = require('stream');
const { errnoError } = require('os').__errors;

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
const hidden = { __input: () => input(0, false), __output: output, __pipeInput: (fd) => input(fd, true), __pipeOutput: pipeOutput,
  __closedInput: () => Readable.from([]), __closedOutput: () => new Writable({ write: (chunk, _, callback) => callback() }) };
for (const [name, value] of Object.entries(hidden)) Object.defineProperty(module.exports, name, { value, enumerable: false });
