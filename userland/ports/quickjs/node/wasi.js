// wasi: what programs for WASI preview 1 call. Files are those of this program's preopens: a path leads to nothing outside of them.
const { native } = internal;
const fs = require('fs'), path = require('path');
const { coded, isBoolean, isObject, isString, isInt32, wrongType, wrongValue } = require('checks');

const codes = Object.fromEntries(('SUCCESS 2BIG ACCES ADDRINUSE ADDRNOTAVAIL AFNOSUPPORT AGAIN ALREADY BADF BADMSG BUSY CANCELED CHILD CONNABORTED CONNREFUSED CONNRESET DEADLK DESTADDRREQ DOM DQUOT EXIST FAULT FBIG ' +
  'HOSTUNREACH IDRM ILSEQ INPROGRESS INTR INVAL IO ISCONN ISDIR LOOP MFILE MLINK MSGSIZE MULTIHOP NAMETOOLONG NETDOWN NETRESET NETUNREACH NFILE NOBUFS NODEV NOENT NOEXEC NOLCK NOLINK NOMEM NOMSG NOPROTOOPT NOSPC NOSYS ' +
  'NOTCONN NOTDIR NOTEMPTY NOTRECOVERABLE NOTSOCK NOTSUP NOTTY NXIO OVERFLOW OWNERDEAD PERM PIPE PROTO PROTONOSUPPORT PROTOTYPE RANGE ROFS SPIPE SRCH STALE TIMEDOUT TXTBSY XDEV NOTCAPABLE').split(' ')
  .map((name, number) => [`E${name}`, number]));
const rights = { read: 1n << 1n, seek: 1n << 2n, tell: 1n << 5n, write: 1n << 6n };
const allRights = (1n << 30n) - 1n;
const fileTypes = { isBlockDevice: 1, isCharacterDevice: 2, isDirectory: 3, isFile: 4, isSocket: 6, isSymbolicLink: 7 };
const append = 1, nonBlocking = 4;
const inform = new Error('exit');

// A failure that the program is told of by its number.
class Failure extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}
const typeOf = (stats) => Object.keys(fileTypes).reduce((found, method) => found || (stats[method]() ? fileTypes[method] : 0), 0);
// What stands at the end of a chain of links, without what is not there yet.
function realOf(file) {
  try {
    return fs.realpathSync(file);
  } catch (error) {
    if (error.code !== 'ENOENT' || path.dirname(file) === file) throw error;
    try {
      // A link to nothing leads there all the same.
      return realOf(path.resolve(path.dirname(file), fs.readlinkSync(file)));
    } catch (broken) {
      if (broken.code !== 'EINVAL' && broken.code !== 'ENOENT') throw broken;
    }
    return path.join(realOf(path.dirname(file)), path.basename(file));
  }
}

class System {
  #memory;
  #files = new Map();
  #words;
  #environment;
  constructor({ args, env, preopens, stdin, stdout, stderr }) {
    this.#words = args.map((word) => Buffer.from(`${word}\0`));
    this.#environment = env.map((word) => Buffer.from(`${word}\0`));
    [stdin, stdout, stderr].forEach((fd, i) => this.#files.set(i, { fd, type: typeOf(fs.fstatSync(fd)), flags: 0, offset: null, rights: allRights, inheriting: allRights, standard: true }));
    for (const [name, folder] of Object.entries(preopens)) {
      const root = fs.realpathSync(folder);
      this.#files.set(this.#free(), { fd: fs.openSync(root, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY), type: 3, folder: root, root, name, flags: 0, rights: allRights, inheriting: allRights });
    }
  }
  set memory(memory) { this.#memory = memory; }
  #free() {
    let fd = 0;
    while (this.#files.has(fd)) fd++;
    return fd;
  }
  #view() { return new DataView(this.#memory.buffer); }
  #bytes(pointer, size) {
    pointer >>>= 0;
    size >>>= 0;
    if (pointer + size > this.#memory.buffer.byteLength) throw new Failure('EOVERFLOW');
    return new Uint8Array(this.#memory.buffer, pointer, size);
  }
  #text(pointer, size) { return Buffer.from(this.#bytes(pointer, size)).toString(); }
  #parts(pointer, count) {
    const view = this.#view(), parts = [];
    for (let i = 0; i < count >>> 0; i++) parts.push(this.#bytes(view.getUint32((pointer >>> 0) + 8 * i, true), view.getUint32((pointer >>> 0) + 8 * i + 4, true)));
    return parts;
  }
  #file(fd) {
    const file = this.#files.get(fd);
    if (!file) throw new Failure('EBADF');
    return file;
  }
  #folder(fd) {
    const file = this.#file(fd);
    if (file.folder === undefined) throw new Failure('ENOTDIR');
    return file;
  }
  // The path of the machine for one of the program's, which does not leave the folder that was opened for it.
  #path(fd, pointer, size, follow) {
    const { folder, root } = this.#folder(fd), text = this.#text(pointer, size);
    if (text.includes('\0')) throw new Failure('EILSEQ');
    if (text.startsWith('/') || text === '') throw new Failure(text === '' ? 'ENOENT' : 'ENOTCAPABLE');
    const inside = (file) => file === root || file.startsWith(root === '/' ? '/' : `${root}/`);
    const wanted = path.resolve(folder, text), slash = text.endsWith('/') ? '/' : '';
    if (!inside(wanted)) throw new Failure('ENOTCAPABLE');
    const found = follow || wanted === root ? realOf(wanted) : path.join(realOf(path.dirname(wanted)), path.basename(wanted));
    if (!inside(found)) throw new Failure('ENOTCAPABLE');
    return found + (found === '/' ? '' : slash);
  }
  #list(pointers, bytes, list) {
    const view = this.#view();
    for (const [i, one] of list.entries()) {
      view.setUint32((pointers >>> 0) + 4 * i, bytes >>> 0, true);
      this.#bytes(bytes, one.length).set(one);
      bytes = (bytes >>> 0) + one.length;
    }
  }
  #sizes(count, size, list) {
    this.#view().setUint32(count >>> 0, list.length, true);
    this.#view().setUint32(size >>> 0, list.reduce((sum, one) => sum + one.length, 0), true);
  }
  #stats(pointer, stats) {
    const view = this.#view(), at = pointer >>> 0;
    view.setBigUint64(at, BigInt.asUintN(64, stats.dev), true);
    view.setBigUint64(at + 8, BigInt.asUintN(64, stats.ino), true);
    view.setBigUint64(at + 16, 0n, true);
    view.setUint8(at + 16, typeOf(stats));
    view.setBigUint64(at + 24, stats.nlink, true);
    view.setBigUint64(at + 32, stats.size, true);
    view.setBigUint64(at + 40, stats.atimeNs, true);
    view.setBigUint64(at + 48, stats.mtimeNs, true);
    view.setBigUint64(at + 56, stats.ctimeNs, true);
  }
  // The times that are set: given, now, or as they are.
  #times(stats, accessed, modified, flags) {
    const one = (given, now, bits, old) => (flags & bits << 1 ? Date.now() / 1000 : flags & bits ? Number(given) / 1e9 : Number(old) / 1e9);
    if ((flags & 3) === 3 || (flags & 12) === 12) throw new Failure('EINVAL');
    return [one(accessed, 0, 1, stats.atimeNs), one(modified, 0, 4, stats.mtimeNs)];
  }
  #transfer(call, fd, pointer, count, total, position) {
    const file = this.#file(fd);
    if (file.folder !== undefined) throw new Failure(call === fs.readSync ? 'EISDIR' : 'EBADF');
    const tracked = file.offset !== null, own = position === undefined;
    let at = own ? file.offset : Number(position), sum = 0;
    if (own && tracked && call === fs.writeSync && file.flags & append) at = fs.fstatSync(file.fd).size;
    for (const part of this.#parts(pointer, count)) {
      if (part.length === 0) continue;
      const done = call(file.fd, part, 0, part.length, at);
      sum += done;
      if (at !== null) at += done;
      if (done < part.length) break;
    }
    if (own && tracked) file.offset = at;
    this.#view().setUint32(total >>> 0, sum, true);
  }

  args_get(pointers, bytes) { this.#list(pointers, bytes, this.#words); }
  args_sizes_get(count, size) { this.#sizes(count, size, this.#words); }
  environ_get(pointers, bytes) { this.#list(pointers, bytes, this.#environment); }
  environ_sizes_get(count, size) { this.#sizes(count, size, this.#environment); }
  #clock(id) {
    if (id === 0) return BigInt(Date.now()) * 1000000n;
    if (id === 1) return native.clockNs();
    if (id === 2 || id === 3) return BigInt(native.cpuUs(0) + native.cpuUs(1)) * 1000n;
    throw new Failure('EINVAL');
  }
  clock_res_get(id, out) {
    this.#clock(id);
    this.#view().setBigUint64(out >>> 0, id === 0 ? 1000000n : 1n, true);
  }
  clock_time_get(id, precision, out) { this.#view().setBigUint64(out >>> 0, this.#clock(id), true); }
  fd_advise(fd) { this.#file(fd); }
  fd_allocate(fd, offset, size) {
    const { fd: own } = this.#file(fd), end = Number(offset + size);
    if (fs.fstatSync(own).size < end) fs.ftruncateSync(own, end);
  }
  fd_close(fd) {
    const file = this.#file(fd);
    this.#files.delete(fd);
    if (!file.standard) fs.closeSync(file.fd);
  }
  fd_datasync(fd) { fs.fdatasyncSync(this.#file(fd).fd); }
  fd_sync(fd) { fs.fsyncSync(this.#file(fd).fd); }
  fd_fdstat_get(fd, out) {
    const file = this.#file(fd), view = this.#view(), at = out >>> 0;
    view.setBigUint64(at, 0n, true);
    view.setUint8(at, file.type);
    view.setUint16(at + 2, file.flags, true);
    // A terminal cannot be sought in.
    view.setBigUint64(at + 8, file.standard && native.isatty(file.fd) ? file.rights & ~(rights.seek | rights.tell) : file.rights, true);
    view.setBigUint64(at + 16, file.inheriting, true);
  }
  fd_fdstat_set_flags(fd, flags) { this.#file(fd).flags = flags & (append | nonBlocking); }
  fd_fdstat_set_rights(fd, own, inheriting) {
    const file = this.#file(fd);
    if ((own | file.rights) !== file.rights || (inheriting | file.inheriting) !== file.inheriting) throw new Failure('ENOTCAPABLE');
    Object.assign(file, { rights: own, inheriting });
  }
  fd_filestat_get(fd, out) { this.#stats(out, fs.fstatSync(this.#file(fd).fd, { bigint: true })); }
  fd_filestat_set_size(fd, size) { fs.ftruncateSync(this.#file(fd).fd, Number(size)); }
  fd_filestat_set_times(fd, accessed, modified, flags) {
    const { fd: own } = this.#file(fd);
    fs.futimesSync(own, ...this.#times(fs.fstatSync(own, { bigint: true }), accessed, modified, flags));
  }
  fd_read(fd, parts, count, out) { this.#transfer(fs.readSync, fd, parts, count, out); }
  fd_write(fd, parts, count, out) { this.#transfer(fs.writeSync, fd, parts, count, out); }
  fd_pread(fd, parts, count, offset, out) { this.#transfer(fs.readSync, fd, parts, count, out, offset); }
  fd_pwrite(fd, parts, count, offset, out) { this.#transfer(fs.writeSync, fd, parts, count, out, offset); }
  fd_prestat_get(fd, out) {
    const { name } = this.#file(fd);
    if (name === undefined) throw new Failure('EINVAL');
    this.#view().setUint32(out >>> 0, 0, true);
    this.#view().setUint32((out >>> 0) + 4, Buffer.byteLength(name), true);
  }
  fd_prestat_dir_name(fd, out, size) {
    const { name } = this.#file(fd);
    if (name === undefined) throw new Failure('EBADF');
    const bytes = Buffer.from(name);
    if (bytes.length > size >>> 0) throw new Failure('ENOBUFS');
    this.#bytes(out, bytes.length).set(bytes);
  }
  fd_readdir(fd, out, size, cookie, used) {
    const file = this.#folder(fd), into = this.#bytes(out, size);
    if (cookie === 0n || !file.names) file.names = fs.readdirSync(file.folder);
    let done = 0;
    for (let i = Number(cookie); i < file.names.length && done < into.length; i++) {
      const stats = fs.lstatSync(path.join(file.folder, file.names[i]), { bigint: true, throwIfNoEntry: false }), name = Buffer.from(file.names[i]), entry = Buffer.alloc(24 + name.length);
      entry.writeBigUInt64LE(BigInt(i + 1), 0);
      entry.writeBigUInt64LE(BigInt.asUintN(64, stats?.ino ?? 0n), 8);
      entry.writeUInt32LE(name.length, 16);
      entry.writeUInt8(stats ? typeOf(stats) : 0, 20);
      entry.set(name, 24);
      const part = entry.subarray(0, into.length - done);
      into.set(part, done);
      done += part.length;
    }
    this.#view().setUint32(used >>> 0, done, true);
  }
  fd_renumber(from, to) {
    const file = this.#file(from), old = this.#file(to);
    if (from === to) return;
    if (!old.standard) fs.closeSync(old.fd);
    this.#files.set(to, file);
    this.#files.delete(from);
  }
  fd_seek(fd, offset, whence, out) {
    const file = this.#file(fd);
    if (file.offset === null || file.folder !== undefined) throw new Failure('ESPIPE');
    const base = whence === 0 ? 0 : whence === 1 ? file.offset : whence === 2 ? fs.fstatSync(file.fd).size : NaN, at = base + Number(offset);
    if (!(at >= 0)) throw new Failure('EINVAL');
    file.offset = at;
    this.#view().setBigUint64(out >>> 0, BigInt(at), true);
  }
  fd_tell(fd, out) { this.fd_seek(fd, 0n, 1, out); }
  path_create_directory(fd, text, size) { fs.mkdirSync(this.#path(fd, text, size, false)); }
  path_filestat_get(fd, flags, text, size, out) { this.#stats(out, fs[flags & 1 ? 'statSync' : 'lstatSync'](this.#path(fd, text, size, flags & 1), { bigint: true })); }
  path_filestat_set_times(fd, flags, text, size, accessed, modified, which) {
    const file = this.#path(fd, text, size, flags & 1), times = this.#times(fs.lstatSync(file, { bigint: true }), accessed, modified, which);
    fs[flags & 1 ? 'utimesSync' : 'lutimesSync'](file, ...times);
  }
  path_link(fd, flags, text, size, newFd, newText, newSize) { fs.linkSync(this.#path(fd, text, size, flags & 1), this.#path(newFd, newText, newSize, false)); }
  path_open(fd, flags, text, size, opening, own, inheriting, fdFlags, out) {
    const folder = this.#folder(fd), file = this.#path(fd, text, size, flags & 1), { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_DIRECTORY, O_EXCL, O_TRUNC, O_APPEND, O_NONBLOCK, O_NOFOLLOW } = fs.constants;
    const writes = own & (rights.write | 1n << 8n | 1n << 22n), reads = own & (rights.read | 1n << 14n);
    const stats = fs.statSync(file, { throwIfNoEntry: false });
    if (stats?.isDirectory() && (opening & 8 || writes)) throw new Failure('EISDIR');
    const mode = (stats?.isDirectory() || !writes ? O_RDONLY : reads ? O_RDWR : O_WRONLY) | (opening & 1 ? O_CREAT : 0) | (opening & 2 ? O_DIRECTORY : 0) | (opening & 4 ? O_EXCL : 0) | (opening & 8 ? O_TRUNC : 0) |
      (fdFlags & append ? O_APPEND : 0) | (fdFlags & nonBlocking ? O_NONBLOCK : 0) | (flags & 1 ? 0 : O_NOFOLLOW);
    const opened = fs.openSync(file, mode, 0o666), type = typeOf(fs.fstatSync(opened)), given = this.#free();
    this.#files.set(given, { fd: opened, type, flags: fdFlags, offset: type === 4 ? 0 : null, rights: own & folder.inheriting, inheriting: inheriting & folder.inheriting,
      ...(type === 3 && { folder: file.replace(/(.)\/$/, '$1'), root: folder.root }) });
    this.#view().setUint32(out >>> 0, given, true);
  }
  path_readlink(fd, text, size, out, room, used) {
    const found = Buffer.from(fs.readlinkSync(this.#path(fd, text, size, false))).subarray(0, room >>> 0);
    this.#bytes(out, found.length).set(found);
    this.#view().setUint32(used >>> 0, found.length, true);
  }
  path_remove_directory(fd, text, size) { fs.rmdirSync(this.#path(fd, text, size, false)); }
  path_rename(fd, text, size, newFd, newText, newSize) { fs.renameSync(this.#path(fd, text, size, false), this.#path(newFd, newText, newSize, false)); }
  path_symlink(text, size, fd, newText, newSize) {
    fs.symlinkSync(this.#text(text, size), this.#path(fd, newText, newSize, false));
  }
  path_unlink_file(fd, text, size) {
    const file = this.#path(fd, text, size, false);
    if (fs.lstatSync(file).isDirectory()) throw new Failure('EISDIR');
    fs.unlinkSync(file);
  }
  // Clocks, and descriptors that can be read or written.
  poll_oneoff(wanted, out, count, happened) {
    if (count === 0) throw new Failure('EINVAL');
    const view = this.#view(), fds = [], events = [], found = [];
    let until = Infinity;
    const all = Array.from({ length: count >>> 0 }, (_, i) => {
      const at = (wanted >>> 0) + 48 * i, one = { data: view.getBigUint64(at, true), type: view.getUint8(at + 8) };
      if (one.type === 0) {
        const id = view.getUint32(at + 16, true), time = view.getBigUint64(at + 24, true), absolute = view.getUint16(at + 40, true) & 1;
        one.left = Number(absolute ? time - this.#clock(id) : time) / 1e6;
        until = Math.min(until, one.left);
      } else {
        const file = this.#files.get(view.getUint32(at + 16, true));
        if (file) [one.slot] = [fds.push(file.fd) - 1, events.push(one.type === 1 ? 1 : 4)];
        else found.push({ ...one, error: codes.EBADF });
      }
      return one;
    });
    if (found.length === 0) {
      const ready = native.poll(fds, events, until === Infinity ? -1 : Math.max(0, Math.ceil(until)));
      for (const one of all) if (one.slot !== undefined && ready[one.slot]) found.push({ ...one, error: 0, bytes: 1n, hangup: ready[one.slot] & 16 ? 1 : 0 });
      if (found.length === 0) for (const one of all) if (one.type === 0 && one.left <= until) found.push({ ...one, error: 0 });
    }
    for (const [i, one] of found.entries()) {
      const at = (out >>> 0) + 32 * i;
      this.#bytes(at, 32).fill(0);
      view.setBigUint64(at, one.data, true);
      view.setUint16(at + 8, one.error, true);
      view.setUint8(at + 10, one.type);
      view.setBigUint64(at + 16, one.bytes ?? 0n, true);
      view.setUint16(at + 24, one.hangup ?? 0, true);
    }
    view.setUint32(happened >>> 0, found.length, true);
  }
  proc_raise() { throw new Failure('ENOSYS'); }
  random_get(out, size) { require('crypto').randomFillSync(this.#bytes(out, size)); }
  sched_yield() {}
  sock_accept() { throw new Failure('ENOSYS'); }
  sock_recv() { throw new Failure('ENOSYS'); }
  sock_send() { throw new Failure('ENOSYS'); }
  sock_shutdown() { throw new Failure('ENOSYS'); }
}

function called(system, name) {
  return { [name](...words) {
    try {
      system[name](...words);
      return 0;
    } catch (error) {
      if (error instanceof RangeError) return codes.EOVERFLOW;
      if (error instanceof TypeError) return codes.EINVAL;
      return codes[error.code] ?? codes.EIO;
    }
  } }[name];
}

class WASI {
  #system;
  #started = false;
  #returns = true;
  #code;
  #name;
  constructor(options = {}) {
    isObject(options, 'options');
    isString(options.version, 'options.version');
    this.#name = { preview1: 'wasi_snapshot_preview1', unstable: 'wasi_unstable' }[options.version];
    if (!this.#name) throw wrongValue('options.version', options.version, 'unsupported WASI version');
    const { args, env, preopens, returnOnExit, stdin = 0, stdout = 1, stderr = 2 } = options;
    if (args !== undefined && !Array.isArray(args)) throw wrongType('options.args', 'Array', args);
    if (env !== undefined) isObject(env, 'options.env');
    if (preopens !== undefined) isObject(preopens, 'options.preopens');
    for (const [name, fd] of Object.entries({ stdin, stdout, stderr })) isInt32(fd, `options.${name}`, 0);
    if (returnOnExit !== undefined) isBoolean(returnOnExit, 'options.returnOnExit');
    this.#returns = returnOnExit ?? true;
    this.#system = new System({ args: (args ?? []).map(String), env: Object.entries(env ?? {}).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${value}`),
      preopens: Object.fromEntries(Object.entries(preopens ?? {}).map(([name, folder]) => [name, String(folder)])), stdin, stdout, stderr });
    const names = Object.getOwnPropertyNames(System.prototype).filter((name) => name.includes('_'));
    this.wasiImport = Object.fromEntries(names.map((name) => [name, called(this.#system, name)]));
    this.wasiImport.proc_exit = (code) => {
      if (!this.#returns) process.exit(code);
      this.#code = code;
      throw inform;
    };
  }
  getImportObject() { return { [this.#name]: this.wasiImport }; }
  #begin(instance) {
    isObject(instance, 'instance');
    this.finalizeBindings(instance);
  }
  finalizeBindings(instance, { memory = instance?.exports?.memory } = {}) {
    if (this.#started) throw coded(Error, 'ERR_WASI_ALREADY_STARTED', 'WASI instance has already started');
    isObject(instance, 'instance');
    isObject(instance.exports, 'instance.exports');
    this.#started = true;
    if (!(memory instanceof WebAssembly.Memory)) throw wrongType('instance.exports.memory', 'WebAssembly.Memory', memory);
    this.#system.memory = memory;
  }
  start(instance) {
    this.#begin(instance);
    const { _start, _initialize } = instance.exports;
    if (typeof _start !== 'function') throw wrongType('instance.exports._start', 'function', _start);
    if (_initialize !== undefined) throw wrongType('instance.exports._initialize', 'undefined', _initialize);
    try {
      _start();
    } catch (error) {
      if (error !== inform) throw error;
      return this.#code;
    }
    return 0;
  }
  initialize(instance) {
    this.#begin(instance);
    const { _start, _initialize } = instance.exports;
    if (_start !== undefined) throw wrongType('instance.exports._start', 'undefined', _start);
    if (_initialize === undefined) return;
    if (typeof _initialize !== 'function') throw wrongType('instance.exports._initialize', 'function', _initialize);
    _initialize();
  }
}

process.emitWarning('WASI is an experimental feature and might change at any time', 'ExperimentalWarning');
module.exports = { WASI };
