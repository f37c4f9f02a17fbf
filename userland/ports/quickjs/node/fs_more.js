// Of fs: folders that are read entry by entry, sizes of file systems, and files as blobs.
const { native } = internal;
const { errnoError } = require('os').__errors;
const { coded, isFunction, isObject, isInteger, isString } = require('checks');

const closed = () => coded(Error, 'ERR_DIR_CLOSED', 'Directory handle was closed');
class Dir {
  #path;
  #entries;
  constructor(path, entries, options = {}) {
    if (!Array.isArray(entries)) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "handle" argument must be specified');
    if (options?.bufferSize !== undefined) isInteger(options.bufferSize, 'options.bufferSize', 1, 2 ** 32 - 1);
    this.#path = path;
    this.#entries = entries;
  }
  get path() { return this.#path; }
  readSync() {
    if (!this.#entries) throw closed();
    return this.#entries.shift() ?? null;
  }
  closeSync() {
    if (!this.#entries) throw closed();
    this.#entries = undefined;
  }
  read(callback) { return this.#later(() => this.readSync(), callback); }
  close(callback) { return this.#later(() => this.closeSync(), callback); }
  #later(work, callback) {
    if (callback === undefined) return new Promise((resolve) => { resolve(work()); });
    isFunction(callback, 'callback');
    let error = null, result;
    try { result = work(); } catch (caught) { error = caught; }
    process.nextTick(callback, error, ...(result === undefined ? [] : [result]));
  }
  async *entries() {
    try {
      for (let entry; (entry = this.readSync());) yield entry;
    } finally {
      if (this.#entries) this.closeSync();
    }
  }
  async [Symbol.asyncDispose]() { if (this.#entries) this.closeSync(); }
  [Symbol.dispose]() { if (this.#entries) this.closeSync(); }
}
Object.defineProperty(Dir.prototype, Symbol.asyncIterator, { value: Dir.prototype.entries, writable: true, configurable: true });

class StatFs {
  constructor(numbers) { [this.type, this.bsize, this.blocks, this.bfree, this.bavail, this.files, this.ffree] = numbers; }
}
function statfs(path, options) {
  const numbers = native.statfs(path);
  if (typeof numbers === 'number') throw errnoError(numbers, 'statfs', path);
  return new StatFs(options?.bigint ? numbers.map(BigInt) : numbers);
}

// A blob whose bytes are read when they are asked for, of a file that is then as it was.
function openAsBlob(path, options = {}) {
  isObject(options, 'options');
  if (options.type !== undefined) isString(options.type, 'options.type');
  const before = native.stat(path);
  if (typeof before === 'number') throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', 'Unable to open file as blob');
  const [size, changed] = [before[7], String(before.slice(10))];
  const read = (start, end) => {
    const now = native.stat(path), fd = typeof now === 'number' || now[7] !== size || String(now.slice(10).with(0, before[10]).with(3, before[13]).with(4, before[14])) !== changed ? -1 : native.open(path, 0, 0);
    const bytes = Buffer.alloc(Math.max(end - start, 0));
    let done = 0;
    for (let count = 1; fd >= 0 && done < bytes.length && count > 0; done += Math.max(count, 0)) count = native.read(fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done, start + done);
    if (fd >= 0) native.close(fd);
    if (fd < 0 || done < bytes.length) throw new DOMException('The blob could not be read', 'NotReadableError');
    return bytes;
  };
  return Promise.resolve(internal.blobOf(size, read, options.type ?? ''));
}

module.exports = { Dir, statfs, openAsBlob };
