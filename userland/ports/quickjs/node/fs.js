// fs: synchronous calls; the ones with callbacks and promises are made of them.
const { native, types } = internal;
const { errnoError } = require('os').__errors;

const constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_NOCTTY: 0o400, O_TRUNC: 0o1000,
  O_APPEND: 0o2000, O_NONBLOCK: 0o4000, O_SYNC: 0o4010000, O_DIRECTORY: 0o200000, O_NOFOLLOW: 0o400000, S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o40000,
  S_IFCHR: 0o20000, S_IFBLK: 0o60000, S_IFIFO: 0o10000, S_IFLNK: 0o120000, S_IFSOCK: 0o140000, S_IRWXU: 0o700, S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100,
  S_IRWXG: 0o70, S_IRGRP: 0o40, S_IWGRP: 0o20, S_IXGRP: 0o10, S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1, O_DSYNC: 0o10000, O_NOATIME: 0o1000000,
  UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2, UV_DIRENT_LINK: 3, UV_DIRENT_FIFO: 4, UV_DIRENT_SOCKET: 5, UV_DIRENT_CHAR: 6, UV_DIRENT_BLOCK: 7,
  COPYFILE_EXCL: 1, UV_FS_COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, UV_FS_COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4, UV_FS_COPYFILE_FICLONE_FORCE: 4 };
const modes = { r: 0, 'r+': 2, rs: 0o4010000, 'rs+': 0o4010002, w: 0o1101, wx: 0o1301, xw: 0o1301, 'w+': 0o1102, 'wx+': 0o1302, a: 0o2101, ax: 0o2301, 'a+': 0o2102, 'ax+': 0o2302, as: 0o4012101 };

function typeError(name, wanted, value) {
  const shown = value === null || value === undefined ? String(value) : typeof value === 'object' ? `an instance of ${value.constructor?.name ?? 'Object'}` :
    typeof value === 'function' ? `function ${value.name}` : `type ${typeof value} (${require('util').inspect(value)})`;
  return Object.assign(new TypeError(`The "${name}" argument must be ${wanted}. Received ${shown}`), { code: 'ERR_INVALID_ARG_TYPE' });
}
function pathOf(path, name = 'path') {
  if (typeof path === 'string') {
    if (path.includes('\0')) throw Object.assign(new TypeError(`The argument '${name}' must be a string, Uint8Array, or URL without null bytes.`), { code: 'ERR_INVALID_ARG_VALUE' });
    return path;
  }
  if (types.isUint8Array(path)) return Buffer.from(path).toString();
  if (path instanceof URL) return require('url').fileURLToPath(path);
  throw typeError(name, 'of type string or an instance of Buffer or URL', path);
}
const must = (result, call, path, dest) => {
  if (typeof result === 'number' && result < 0) throw errnoError(result, call, path, dest);
  return result;
};
// What is in a folder, in order; `call` is what an error of its own names.
function entriesOf(top, { withFileTypes, recursive }, call) {
  const found = [];
  const walk = (folder, prefix) => {
    const entries = must(native.readdir(folder), folder === top ? call : 'scandir', folder);
    const list = [];
    for (let i = 0; i < entries.length; i += 2) list.push([entries[i], entries[i + 1]]);
    list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [name, type] of list) {
      found.push(withFileTypes ? new Dirent(name, folder, type) : prefix + name);
      if (recursive && type === 4) walk(`${folder}/${name}`, `${prefix}${name}/`);
    }
  };
  walk(top, '');
  return found;
}
const flagsOf = (flags) => {
  if (typeof flags === 'number') return flags;
  if (flags in modes) return modes[flags];
  throw Object.assign(new TypeError(`The argument 'flags' is invalid. Received ${require('util').inspect(flags)}`), { code: 'ERR_INVALID_ARG_VALUE' });
};
const modeOf = (mode, otherwise) => (mode === undefined || mode === null ? otherwise : typeof mode === 'string' ? Number.parseInt(mode, 8) : mode);
const optionsOf = (options, otherwise = {}) => (typeof options === 'string' ? { ...otherwise, encoding: options } : { ...otherwise, ...options });
const decoded = (buffer, encoding) => (encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer);
const bytesOf = (data, encoding) => {
  if (typeof data === 'string') return Buffer.from(data, encoding || 'utf8');
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw typeError('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
};

class Stats {
  constructor(n) {
    [this.dev, this.ino, this.mode, this.nlink, this.uid, this.gid, this.rdev, this.size, this.blksize, this.blocks, this.atimeMs, this.mtimeMs, this.ctimeMs] = n;
    this.birthtimeMs = this.ctimeMs;
    for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) this[name] = new Date(Math.round(this[`${name}Ms`]));
  }
}
// The same with whole numbers, and nanoseconds.
class BigIntStats {
  constructor(n) {
    [this.dev, this.ino, this.mode, this.nlink, this.uid, this.gid, this.rdev, this.size, this.blksize, this.blocks] = n.slice(0, 10).map(BigInt);
    const times = { atime: 13, mtime: 15, ctime: 17, birthtime: 17 };
    for (const [name, at] of Object.entries(times)) this[`${name}Ns`] = BigInt(n[at]) * 1000000000n + BigInt(n[at + 1]);
    for (const name of Object.keys(times)) this[`${name}Ms`] = this[`${name}Ns`] / 1000000n;
    for (const name of Object.keys(times)) this[name] = new Date(Number(this[`${name}Ms`]));
  }
}
const statsOf = (numbers, options) => (options?.bigint ? new BigIntStats(numbers) : new Stats(numbers));
const kinds = { File: 0o100000, Directory: 0o40000, SymbolicLink: 0o120000, FIFO: 0o10000, CharacterDevice: 0o20000, BlockDevice: 0o60000, Socket: 0o140000 };
class Dirent {
  constructor(name, parent, type) { this.name = name; this.parentPath = this.path = parent; Object.defineProperty(this, 'kind', { value: type << 12 }); }
}
for (const [name, bits] of Object.entries(kinds)) {
  for (const one of [Stats, BigIntStats]) Object.defineProperty(one.prototype, `is${name}`, { value() { return (Number(this.mode) & 0o170000) === bits; } });
  Object.defineProperty(Dirent.prototype, `is${name}`, { value() { return this.kind === bits; } });
}

const sync = {
  open: (path, flags = 'r', mode) => must(native.open(pathOf(path), flagsOf(flags), modeOf(mode, 0o666)), 'open', pathOf(path)),
  close: (fd) => { must(native.close(fd), 'close'); },
  read(fd, buffer, offset, length, position) {
    if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
    offset ??= 0;
    length ??= buffer.byteLength - offset;
    return must(native.read(fd, buffer.buffer, buffer.byteOffset + offset, length, position === null || position === undefined ? -1 : Number(position)), 'read');
  },
  write(fd, data, offset, length, position) {
    if (typeof data === 'string') { position = offset; data = bytesOf(data, length); offset = 0; length = data.length; }
    if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
    offset ??= 0;
    length ??= data.byteLength - offset;
    return must(native.write(fd, data.buffer, data.byteOffset + offset, length, typeof position === 'number' ? position : -1), 'write');
  },
  // One buffer after the other; a short transfer ends it.
  readv: (fd, buffers, position) => transferAll(sync.read, fd, buffers, position),
  writev: (fd, buffers, position) => transferAll(sync.write, fd, buffers, position),
  readFile(path, options) {
    const { encoding, flag } = optionsOf(options, { flag: 'r' });
    const own = typeof path !== 'number';
    const fd = own ? sync.open(path, flag) : path;
    try {
      return decoded(Buffer.from(must(native.readAll(fd), 'read')), encoding);
    } finally {
      if (own) native.close(fd);
    }
  },
  writeFile(path, data, options) {
    const { encoding, flag, mode } = optionsOf(options, { flag: 'w' });
    const bytes = bytesOf(data, encoding);
    const own = typeof path !== 'number';
    const fd = own ? sync.open(path, flag, mode) : path;
    try {
      must(internal.writeAll(fd, bytes), 'write');
    } finally {
      if (own) native.close(fd);
    }
  },
  appendFile: (path, data, options) => sync.writeFile(path, data, { flag: 'a', ...optionsOf(options) }),
  exists: (path) => { try { return native.access(pathOf(path), 0) === 0; } catch { return false; } },
  access: (path, mode = 0) => { must(native.access(pathOf(path), mode), 'access', pathOf(path)); },
  stat: (path, options) => statOf(path, 0, options, 'stat'),
  lstat: (path, options) => statOf(path, 1, options, 'lstat'),
  fstat: (fd, options) => statsOf(must(native.stat(fd), 'fstat'), options),
  mkdir(path, options) {
    const { recursive, mode } = typeof options === 'object' && options ? options : { mode: options };
    path = pathOf(path);
    if (!recursive) return void must(native.mkdir(path, modeOf(mode, 0o777)), 'mkdir', path);
    let first;
    const make = (folder) => {
      const result = native.mkdir(folder, modeOf(mode, 0o777));
      if (result === -2 && require('path').dirname(folder) !== folder) {
        make(require('path').dirname(folder));
        must(native.mkdir(folder, modeOf(mode, 0o777)), 'mkdir', path);
      } else if (result === -17) {
        if (!statOf(folder, 0, {}, 'mkdir').isDirectory()) must(result, 'mkdir', path);
        return;
      } else {
        must(result, 'mkdir', path);
      }
      first ??= folder;
    };
    make(require('path').resolve(path));
    return first;
  },
  mkdtemp: (prefix, options) => decoded2(must(native.mkdtemp(`${prefix}XXXXXX`), 'mkdtemp', `${prefix}XXXXXX`), options),
  readdir(path, options) {
    const words = optionsOf(options);
    return entriesOf(pathOf(path), words, 'scandir');
  },
  rmdir: (path, options) => (options?.recursive ? sync.rm(path, { recursive: true }) : void must(native.rmdir(pathOf(path)), 'rmdir', pathOf(path))),
  unlink: (path) => { must(native.unlink(pathOf(path)), 'unlink', pathOf(path)); },
  rm(path, options = {}) {
    path = pathOf(path);
    const status = native.stat(path, 1);
    if (typeof status === 'number') {
      if (options.force && status === -2) return;
      must(status, 'rm', path);
    }
    if ((status[2] & 0o170000) !== 0o40000) return void must(native.unlink(path), 'rm', path);
    if (!options.recursive) throw Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${path}`), { code: 'ERR_FS_EISDIR', path, syscall: 'rm', errno: 21 });
    for (const name of sync.readdir(path)) sync.rm(`${path}/${name}`, options);
    must(native.rmdir(path), 'rm', path);
  },
  rename: (from, to) => { must(native.rename(pathOf(from), pathOf(to)), 'rename', pathOf(from), pathOf(to)); },
  copyFile(from, to, mode = 0) {
    from = pathOf(from, 'src');
    to = pathOf(to, 'dest');
    const status = must(native.stat(from), 'copyfile', from, to);
    const input = must(native.open(from, 0, 0), 'copyfile', from, to);
    const bytes = Buffer.from(must(native.readAll(input), 'copyfile', from, to));
    native.close(input);
    const output = must(native.open(to, mode & 1 ? 0o301 : 0o1101, status[2] & 0o777), 'copyfile', from, to);
    must(internal.writeAll(output, bytes), 'copyfile', from, to);
    native.close(output);
  },
  cp: (from, to, options) => require('fs_cp').cpSync(pathOf(from, 'src'), pathOf(to, 'dest'), options),
  link: (from, to) => { must(native.link(pathOf(from), pathOf(to)), 'link', pathOf(from), pathOf(to)); },
  symlink: (target, path) => { must(native.symlink(pathOf(target, 'target'), pathOf(path)), 'symlink', pathOf(target), pathOf(path)); },
  readlink: (path) => must(native.readlink(pathOf(path)), 'readlink', pathOf(path)),
  realpath: (path) => must(native.realpath(pathOf(path)), 'lstat', require('path').resolve(pathOf(path))),
  chmod: (path, mode) => { must(native.chmod(pathOf(path), modeOf(mode)), 'chmod', pathOf(path)); },
  fchmod: (fd, mode) => { must(native.fchmod(fd, modeOf(mode)), 'fchmod'); },
  chown: (path, uid, gid) => { must(native.chown(pathOf(path), uid, gid), 'chown', pathOf(path)); },
  lchown: (path, uid, gid) => { must(native.lchown(pathOf(path), uid, gid), 'lchown', pathOf(path)); },
  truncate: (path, size = 0) => { must(native.truncate(pathOf(path), size), 'truncate', pathOf(path)); },
  ftruncate: (fd, size = 0) => { must(native.ftruncate(fd, size), 'ftruncate'); },
  fsync: (fd) => { must(native.fsync(fd), 'fsync'); },
  fdatasync: (fd) => { must(native.fsync(fd), 'fdatasync'); },
  utimes: (path, atime, mtime) => { must(native.utimes(pathOf(path), seconds(atime), seconds(mtime), 0), 'utime', pathOf(path)); },
  lutimes: (path, atime, mtime) => { must(native.utimes(pathOf(path), seconds(atime), seconds(mtime), 1), 'lutime', pathOf(path)); },
  futimes: (fd, atime, mtime) => { must(native.utimes(`/proc/self/fd/${fd}`, seconds(atime), seconds(mtime), 0), 'futime'); },
  fchown: (fd, uid, gid) => { must(native.chown(`/proc/self/fd/${fd}`, uid, gid), 'fchown'); },
  opendir(path, options) {
    const { Dir } = require('fs_more');
    path = pathOf(path);
    new Dir(path, [], options);  // the options are right
    return new Dir(path, entriesOf(path, { withFileTypes: true, recursive: options?.recursive }, 'opendir'), options);
  },
  statfs: (path, options) => require('fs_more').statfs(pathOf(path), options),
};
const decoded2 = (text, options) => (optionsOf(options).encoding === 'buffer' ? Buffer.from(text) : text);

const seconds = (time) => (types.isDate(time) ? time.getTime() / 1000 : Number(time));
function transferAll(transfer, fd, buffers, position) {
  let done = 0;
  for (const buffer of buffers) {
    const count = transfer(fd, buffer, 0, buffer.byteLength, typeof position === 'number' ? position + done : null);
    done += count;
    if (count < buffer.byteLength) break;
  }
  return done;
}

function statOf(path, link, options, call) {
  const numbers = native.stat(pathOf(path), link);
  if (typeof numbers === 'number') {
    if (options?.throwIfNoEntry === false && numbers === -2) return undefined;
    throw errnoError(numbers, call, pathOf(path));
  }
  return statsOf(numbers, options);
}

const fs = module.exports = { constants, Stats, Dirent, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
const promises = { constants };
for (const [name, call] of Object.entries(sync)) {
  fs[`${name}Sync`] = Object.defineProperty((...args) => call(...args), 'name', { value: `${name}Sync` });
  // The arguments are checked at once, as in Node.js; what happens, happens before the next turn of the loop.
  fs[name] = Object.defineProperty((...args) => {
    const callback = args.pop();
    if (typeof callback !== 'function') throw typeError('cb', 'of type function', callback);
    let result;
    let error = null;
    try {
      result = call(...args);
    } catch (caught) {
      if (caught.code?.startsWith('ERR_INVALID')) throw caught;
      error = caught;
    }
    setImmediate(() => (name === 'exists' ? callback(result) : error ? callback(error) : callback(null, result, args[1])));
  }, 'name', { value: name });
  promises[name] = async (...args) => {
    try {
      return call(...args);
    } catch (error) {
      await null;
      throw error;
    }
  };
}
// What may have nothing to read for long, as pipes and terminals have, is read once it has, and others go on meanwhile.
const readers = new Map();
const readAtOnce = fs.read;
const mayWait = (fd) => {
  try {
    const kind = sync.fstat(fd).mode & 0o170000;
    return kind === kinds.FIFO || kind === kinds.Socket || kind === kinds.CharacterDevice;
  } catch {
    return false;
  }
};
fs.read = function read(fd, buffer, ...rest) {
  const position = rest.length > 1 && typeof rest[0] === 'object' && rest[0] !== null ? rest[0].position : rest[2];
  if (typeof fd !== 'number' || typeof position === 'number' && position >= 0 || !mayWait(fd)) return readAtOnce(fd, buffer, ...rest);
  if (!readers.has(fd)) {
    const queue = [];
    readers.set(fd, queue);
    internal.os.setReadHandler(fd, () => {
      const args = queue.shift();
      if (queue.length === 0) {
        readers.delete(fd);
        internal.os.setReadHandler(fd, null);
      }
      readAtOnce(...args);
    });
  }
  readers.get(fd).push([fd, buffer, ...rest]);
};
fs.realpathSync.native = fs.realpathSync;
fs.realpath.native = fs.realpath;
delete promises.exists;
promises.cp = async (from, to, options) => require('fs_cp').cp(pathOf(from, 'src'), pathOf(to, 'dest'), options);
fs.cp = (from, to, options, callback) => {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  if (typeof callback !== 'function') throw typeError('cb', 'of type function', callback);
  [from, to] = [pathOf(from, 'src'), pathOf(to, 'dest')];
  require('fs_cp').checked(options);
  promises.cp(from, to, options).then(() => process.nextTick(callback, null), (error) => process.nextTick(callback, error));
};
fs.globSync = (pattern, options) => require('fs_glob').globSync(pattern, options);
fs.glob = (pattern, options, callback) => require('fs_glob').glob(pattern, options, callback);
promises.glob = (pattern, options) => require('fs_glob').promised(pattern, options);
fs.openAsBlob = (path, options) => require('fs_more').openAsBlob(pathOf(path), options);
Object.defineProperty(fs, 'Dir', { get: () => require('fs_more').Dir, enumerable: true, configurable: true });
for (const name of Object.keys(promises).filter((name) => /^f(?!d)|^(close|readv?|writev?)$/.test(name))) delete promises[name];
// What is written may come in pieces: of an iterable, or a stream.
const written = async (data) => {
  if (typeof data === 'string' || ArrayBuffer.isView(data) || !(data?.[Symbol.asyncIterator] ?? data?.[Symbol.iterator])) return data;
  const parts = [];
  for await (const part of data) parts.push(bytesOf(part));
  return Buffer.concat(parts);
};
promises.writeFile = async (path, data, options) => (path instanceof FileHandle ? path.writeFile(data, options) : sync.writeFile(path, await written(data), options));
promises.appendFile = async (path, data, options) => (path instanceof FileHandle ? path.appendFile(data, options) : sync.appendFile(path, await written(data), options));
promises.readFile = async (path, options) => (path instanceof FileHandle ? path.readFile(options) : sync.readFile(path, options));

class FileHandle {
  #fd;
  constructor(fd) { this.#fd = fd; }
  // Of one that is closed the number may be another file's by now.
  get fd() { return this.#fd; }
  async close() {
    const fd = this.#fd;
    this.#fd = -1;
    if (fd >= 0) sync.close(fd);
  }
  async readFile(options) { return sync.readFile(this.fd, options); }
  async writeFile(data, options) { return sync.writeFile(this.fd, await written(data), options); }
  async appendFile(data, options) { return sync.writeFile(this.fd, await written(data), options); }
  async readv(buffers, position) { return { bytesRead: sync.readv(this.fd, buffers, position), buffers }; }
  async writev(buffers, position) { return { bytesWritten: sync.writev(this.fd, buffers, position), buffers }; }
  async utimes(atime, mtime) { return sync.futimes(this.fd, atime, mtime); }
  async chown(uid, gid) { return sync.fchown(this.fd, uid, gid); }
  async datasync() { return sync.fdatasync(this.fd); }
  async read(buffer, ...rest) {
    if (!ArrayBuffer.isView(buffer)) { rest = [buffer ?? {}]; buffer = rest[0].buffer ?? Buffer.alloc(16384); }
    return { bytesRead: sync.read(this.fd, buffer, ...rest), buffer };
  }
  async write(buffer, ...rest) { return { bytesWritten: sync.write(this.fd, buffer, ...rest), buffer }; }
  async stat(options) { return sync.fstat(this.fd, options); }
  async truncate(size) { return sync.ftruncate(this.fd, size); }
  async sync() { return sync.fsync(this.fd); }
  async chmod(mode) { return sync.fchmod(this.fd, mode); }
  createReadStream(options) { return fs.createReadStream('', { ...options, fd: this.fd }); }
  createWriteStream(options) { return fs.createWriteStream('', { ...options, fd: this.fd }); }
  readLines(options) { return require('readline').createInterface({ input: this.createReadStream(options), crlfDelay: Infinity }); }
  async [Symbol.asyncDispose]() { await this.close(); }
}
promises.open = async (...args) => new FileHandle(sync.open(...args));
fs.promises = promises;

const readOptions = (path, options) => {
  const { encoding, flags = 'r', mode, start, end = Infinity, highWaterMark = 65536, fd: given, autoClose = true, signal } = optionsOf(options);
  let fd = given?.fd ?? given, position = start ?? -1, left = end - (start ?? 0) + 1;
  return {
    encoding, highWaterMark, signal,
    construct(callback) {
      try {
        const own = fd === undefined;
        fd ??= sync.open(path, flags, mode);
        this.fd = fd;
        callback();
        if (!own) return;
        this.emit('open', fd);
        this.emit('ready');
      } catch (error) {
        callback(error);
      }
    },
    read() {
      try {
        const chunk = Buffer.alloc(Math.min(highWaterMark, left));
        const count = chunk.length ? sync.read(fd, chunk, 0, chunk.length, position) : 0;
        if (position >= 0) position += count;
        left -= count;
        this.bytesRead += count;
        setImmediate(() => this.push(count ? chunk.subarray(0, count) : null));
      } catch (error) {
        setImmediate(() => this.destroy(error));
      }
    },
    destroy(error, callback) {
      if (fd !== undefined && autoClose) native.close(fd);
      fd = undefined;
      callback(error);
    },
  };
};
const writeOptions = (path, options) => {
  const { flags = 'w', mode, start, encoding, highWaterMark, fd: given, signal } = optionsOf(options);
  let fd = given?.fd ?? given, position = start ?? -1;
  return {
    defaultEncoding: encoding, decodeStrings: true, highWaterMark, signal,
    construct(callback) {
      try {
        fd ??= sync.open(path, flags, mode);
        this.fd = fd;
        const opened = fd;
        process.nextTick(() => { this.emit('open', opened); this.emit('ready'); });
        callback();
      } catch (error) {
        callback(error);
      }
    },
    write(chunk, _, callback) {
      try {
        for (let done = 0; done < chunk.length;) {
          const count = sync.write(fd, chunk, done, chunk.length - done, position);
          if (position >= 0) position += count;
          done += count;
        }
        this.bytesWritten += chunk.length;
        callback();
      } catch (error) {
        callback(error);
      }
    },
    final(callback) { if (fd !== undefined) native.close(fd); fd = undefined; callback(); },
    destroy(error, callback) { if (fd !== undefined) native.close(fd); fd = undefined; callback(error); },
  };
};
// The streams are read where they are asked for: many programs use files and no streams.
let classes;
function streams() {
  if (classes) return classes;
  const { Readable, Writable } = require('stream');
  // Plain functions, which old programs call on objects of their own.
  function ReadStream(path, options) {
    if (!(this instanceof ReadStream)) return new ReadStream(path, options);
    Readable.call(this, readOptions(path, options));
    this.path = path;
    this.bytesRead = 0;
  }
  function WriteStream(path, options) {
    if (!(this instanceof WriteStream)) return new WriteStream(path, options);
    Writable.call(this, writeOptions(path, options));
    this.path = path;
    this.bytesWritten = 0;
  }
  for (const [Class, Base, end] of [[ReadStream, Readable, 'destroy'], [WriteStream, Writable, 'end']]) {
    Object.setPrototypeOf(Class, Base);
    Object.setPrototypeOf(Class.prototype, Base.prototype);
    define(Class.prototype, 'close', function close(callback) {
      if (callback) this.once('close', callback);
      this[end]();
    });
    Object.defineProperty(Class.prototype, 'pending', { configurable: true, get() { return this.fd === null || this.fd === undefined; } });
    Object.defineProperty(Class.prototype, 'constructor', { enumerable: false });
  }
  define(WriteStream.prototype, 'destroySoon', WriteStream.prototype.end);
  return (classes = { ReadStream, WriteStream });
}
const define = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });
for (const [name, same] of [['ReadStream', 'ReadStream'], ['WriteStream', 'WriteStream'], ['FileReadStream', 'ReadStream'], ['FileWriteStream', 'WriteStream']]) Object.defineProperty(fs, name, { get: () => streams()[same], set(value) { streams()[same] = value; }, enumerable: true, configurable: true });
fs.createReadStream = (path, options) => new (streams().ReadStream)(path, options);
fs.createWriteStream = (path, options) => new (streams().WriteStream)(path, options);
// There is nothing here that tells of changes: the file is looked at again and again.
fs.watchFile = (path, options, listener) => {
  if (typeof options === 'function') [options, listener] = [{}, options];
  const look = () => sync.stat(path, { throwIfNoEntry: false });
  let before = look();
  const timer = setInterval(() => {
    const now = look();
    if (now?.mtimeMs !== before?.mtimeMs || now?.size !== before?.size) listener(now, before);
    before = now;
  }, options.interval ?? 5007);
  (fs.watchFile.timers ??= new Map()).set(path, timer);
};
// The names of a folder, or a file, with what tells that they have changed.
fs.watch = (path, options, listener) => {
  if (typeof options === 'function') [options, listener] = [{}, options];
  const { recursive = false, persistent = true, signal } = optionsOf(options);
  const top = pathOf(path), emitter = new (require('events'))();
  const look = () => {
    const found = new Map();
    const mark = (name, file) => { const s = sync.lstat(file, { throwIfNoEntry: false }); if (s) found.set(name, `${s.mtimeMs} ${s.ctimeMs} ${s.size} ${s.ino}`); };
    if (!statOf(top, 0, {}, 'watch').isDirectory()) mark(require('path').basename(top), top);
    else for (const name of sync.readdir(top, { recursive })) mark(name, `${top}/${name}`);
    return found;
  };
  let before = look();
  const timer = setInterval(() => {
    let now;
    try { now = look(); } catch { now = new Map(); }
    for (const name of new Set([...before.keys(), ...now.keys()]))
      if (before.get(name) !== now.get(name)) emitter.emit('change', before.has(name) && now.has(name) ? 'change' : 'rename', name);
    before = now;
  }, 100);
  if (!persistent) timer.unref();
  if (listener) emitter.on('change', listener);
  emitter.close = () => { clearInterval(timer); process.nextTick(() => emitter.emit('close')); };
  emitter.ref = () => { timer.ref(); return emitter; };
  emitter.unref = () => { timer.unref(); return emitter; };
  signal?.addEventListener('abort', emitter.close, { once: true });
  return emitter;
};
fs.unwatchFile = (path) => clearInterval(fs.watchFile.timers?.get(path));
