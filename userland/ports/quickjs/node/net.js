// net: connections and servers, over TCP and by paths.
const { native, os } = internal;
const { errnoError } = require('os').__errors;
const EventEmitter = require('events');
const { Duplex } = require('stream');

const again = -11;
const isIPv4 = (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text);
const isIPv6 = (text) => typeof text === 'string' && /^[0-9a-f:.]+$/i.test(text.replace(/%.*/, '')) && text.includes(':') && /^(?:(?!.*::.*::)(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{0,4}|(?:\d{1,3}\.){3}\d{1,3}))$/i.test(text.replace(/%.*/, ''));
const isIP = (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);
const familyOf = (address) => (isIPv6(address) ? 'IPv6' : 'IPv4');

function failure(result, call, address, port) {
  const where = port >= 0 ? `${isIPv6(address) ? address : address}:${port}` : address;
  const error = errnoError(result, call);
  error.message = call === 'listen' ? `${error.message.split(',')[0].replace(/^\w+: /, `listen ${error.code}: `)} ${where}` : `${call} ${error.code} ${where}`;
  return Object.assign(error, { address }, port >= 0 ? { port } : {});
}
// The addresses of a name; the loopback's where it is the own one.
function lookup(name, family = 0) {
  if (isIP(name)) return [name];
  const found = native.resolve(name, family);
  if (typeof found === 'number' || found.length === 0)
    throw Object.assign(new Error(`getaddrinfo ${found === -1003 ? 'EAI_AGAIN' : 'ENOTFOUND'} ${name}`), { errno: -3008, code: found === -1003 ? 'EAI_AGAIN' : 'ENOTFOUND', syscall: 'getaddrinfo', hostname: name });
  return [...new Set(found)];
}
function words(args, names) {
  const callback = typeof args.at(-1) === 'function' ? args.at(-1) : undefined;
  const [first] = args;
  if (first !== null && typeof first === 'object') return [first, callback];
  if (typeof first === 'string' && !/^\d+$/.test(first)) return [{ path: first }, callback];
  const options = {};
  args.filter((word) => typeof word !== 'function').forEach((word, i) => { options[names(word, i)] = word; });
  return [options, callback];
}

class Socket extends Duplex {
  #reading = false;
  #held;
  #timer;
  // What a connection tells is told with the stores of who made it, not of who has just read or written.
  #frame = native.asyncFrame();
  constructor(options = {}) {
    super({ allowHalfOpen: Boolean(options.allowHalfOpen), signal: options.signal });
    this.fd = options.fd ?? -1;
    this.allowHalfOpen = Boolean(options.allowHalfOpen);
    Object.assign(this, { connecting: false, pending: this.fd < 0, bytesRead: 0, bytesWritten: 0, timeout: undefined });
    this.once('end', () => { if (!this.allowHalfOpen) this.end(); });
    if (this.fd >= 0) this.#named();
  }
  get readyState() { return this.connecting ? 'opening' : this.destroyed || this.pending ? 'closed' : this.writable ? (this.readable ? 'open' : 'writeOnly') : 'readOnly'; }
  #named() {
    const mine = native.socketName(this.fd, 0), other = native.socketName(this.fd, 1);
    if (typeof mine !== 'number' && mine[1] >= 0) Object.assign(this, { localAddress: mine[0], localPort: mine[1], localFamily: familyOf(mine[0]) });
    if (typeof other !== 'number' && other[1] >= 0) Object.assign(this, { remoteAddress: other[0], remotePort: other[1], remoteFamily: familyOf(other[0]) });
  }
  connect(...args) {
    const [options, callback] = words(args, (word, i) => ['port', 'host'][i]);
    if (callback) this.once('connect', callback);
    this.#frame = native.asyncFrame();
    this.connecting = true;
    const host = options.host ?? 'localhost', path = options.path || undefined;
    process.nextTick(() => {
      if (this.destroyed) return;
      let left;
      try {
        left = path === undefined ? lookup(host, options.family) : [path];
        if (path === undefined && !isIP(host)) this._host = host;
        if (path === undefined) this.emit('lookup', null, left[0], isIP(left[0]), host);
      } catch (error) {
        return void this.destroy(error);
      }
      this.#try(left, path === undefined ? Number(options.port) : -1);
    });
    return this;
  }
  // One address after the other, until one takes the connection.
  #try(addresses, port) {
    const [address, ...left] = addresses;
    const failed = (result) => {
      if (this.fd >= 0) {
        internal.setLoose(this.fd, false);
        native.close(this.fd);
      }
      this.fd = -1;
      if (left.length) this.#try(left, port);
      else this.destroy(failure(result, 'connect', address, port));
    };
    const fd = native.connect(address, port);
    if (fd < 0) return failed(fd);
    this.fd = fd;
    internal.setLoose(fd, Boolean(this.loose));
    os.setWriteHandler(fd, () => {
      os.setWriteHandler(fd, null);
      const result = native.socketError(fd);
      if (result < 0) return failed(result);
      this.__prepare(() => this.#connected());
    }, this.#frame);
  }
  // A connection is there: what comes before it is told of (TLS).
  __prepare(done) { done(); }
  #connected(isNew = true) {
    this.connecting = false;
    this.pending = false;
    this.#named();
    this.#stir();
    if (isNew) {
      this.emit('connect');
      this.emit('ready');
    }
    const held = this.#held;
    this.#held = undefined;
    held?.();
    if (this._r.flowing || this.listenerCount('readable')) this._read();
  }
  _read() {
    if (this.#reading || this.destroyed || this.fd < 0 || this.connecting) return;
    this.#reading = true;
    os.setReadHandler(this.fd, () => {
      const chunk = Buffer.alloc(65536);
      const count = native.read(this.fd, chunk.buffer, 0, chunk.length, -1);
      if (count === again) return;
      this.#reading = false;
      os.setReadHandler(this.fd, null);
      if (count < 0) return void this.destroy(errnoError(count, 'read'));
      this.#stir();
      this.bytesRead += count;
      this.push(count === 0 ? null : chunk.subarray(0, count));
    }, this.#frame);
  }
  _write(chunk, encoding, callback) {
    if (this.connecting || this.pending) {
      this.#held = () => this._write(chunk, encoding, callback);
      return;
    }
    let done = 0;
    const go = () => {
      while (done < chunk.length) {
        const count = native.send(this.fd, chunk.buffer, chunk.byteOffset + done, chunk.length - done);
        if (count === again) return void os.setWriteHandler(this.fd, () => { os.setWriteHandler(this.fd, null); go(); });
        if (count < 0) return void callback(errnoError(count, 'write'));
        done += count;
      }
      this.#stir();
      this.bytesWritten += chunk.length;
      callback();
    };
    go();
  }
  _final(callback) {
    if (this.connecting) {
      this.#held = () => this._final(callback);
      return;
    }
    if (this.fd >= 0) native.shutdown(this.fd);
    callback();
    // Who reads nothing would never see the other end leave.
    if (this._r.flowing === null && !this.listenerCount('readable')) this.resume();
  }
  _destroy(error, callback) {
    clearTimeout(this.#timer);
    if (this.fd >= 0) {
      os.setReadHandler(this.fd, null);
      os.setWriteHandler(this.fd, null);
      internal.setLoose(this.fd, false);
      native.close(this.fd);
    }
    this.fd = -1;
    this.connecting = false;
    callback(error);
  }
  #stir() {
    if (!this.timeout) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.emit('timeout'), this.timeout);
    this.#timer.unref();
  }
  // The descriptor of one that another program gets (ipc), and the same without a connection here any more.
  get __fd() { return this.fd; }
  __release() {
    const fd = this.__give();
    this.destroy();
    return fd;
  }
  // The descriptor of one that goes on as another stream, which takes it.
  __give() {
    const { fd } = this;
    os.setReadHandler(fd, null);
    os.setWriteHandler(fd, null);
    internal.setLoose(fd, false);
    this.#reading = false;
    this.fd = -1;
    return fd;
  }
  __take(fd) {
    this.fd = fd;
    internal.setLoose(fd, Boolean(this.loose));
    this.__prepare(() => this.#connected(false));
  }
  setTimeout(time, callback) {
    clearTimeout(this.#timer);
    this.timeout = time;
    if (callback) {
      if (time) this.once('timeout', callback);
      else this.off('timeout', callback);
    }
    this.#stir();
    return this;
  }
  destroySoon() { if (this.writable) this.end(); if (this.writableFinished) this.destroy(); else this.once('finish', () => this.destroy()); }
  resetAndDestroy() { return this.destroy(); }
  setNoDelay(on = true) { if (this.fd >= 0) native.noDelay(this.fd, on ? 1 : 0); return this; }
  setKeepAlive() { return this; }
  ref() { return this.#loosen(false); }
  unref() { return this.#loosen(true); }
  #loosen(loose) {
    this.loose = loose;
    if (this.fd >= 0) internal.setLoose(this.fd, loose);
    return this;
  }
  // Whether nothing has come, and the other side has not left, while nobody read.
  get idleStill() { return this.fd >= 0 && native.poll([this.fd], [1], 0)[0] === 0; }
  address() { return this.localPort === undefined ? {} : { address: this.localAddress, family: this.localFamily, port: this.localPort }; }
}

class Server extends EventEmitter {
  #fd = -1;
  #path;
  // Of a worker of cluster: where the primary listens for it, and how it is told that it need not any more.
  #shared;
  constructor(options, listener) {
    super();
    if (typeof options === 'function') [options, listener] = [{}, options];
    this.options = options ?? {};
    this.listening = false;
    this.connections = new Set();
    if (listener) this.on('connection', listener);
  }
  listen(...args) {
    const [given, callback] = words(args, (word, i) => (i === 0 ? 'port' : typeof word === 'number' ? 'backlog' : 'host'));
    // What is null is not asked for.
    const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined));
    if (callback) this.once('listening', callback);
    if (this.listening) throw Object.assign(new Error('Listen method has been called more than once without closing.'), { code: 'ERR_SERVER_ALREADY_LISTEN' });
    const port = options.path === undefined ? Number(options.port ?? 0) : -1;
    if (!(Number.isInteger(port) && port <= 65535) || (port < 0 && options.path === undefined)) throw Object.assign(new RangeError(`options.port should be >= 0 and < 65536. Received ${typeof options.port === 'number' ? `type number (${options.port})` : options.port}.`), { code: 'ERR_SOCKET_BAD_PORT' });
    const fail = (error) => process.nextTick(() => this.emit('error', error));
    let address = options.path ?? '::';
    try {
      if (options.host !== undefined && options.path === undefined) [address] = lookup(String(options.host));
    } catch (error) {
      fail(error);
      return this;
    }
    if (options.signal) options.signal.addEventListener('abort', () => this.close(), { once: true });
    this.#path = options.path;
    if (internal.clusterListen && !options.exclusive) {
      this.#shared = {};
      internal.clusterListen({ address: options.path === undefined && options.host === undefined ? null : address, port, backlog: options.backlog ?? 511 }, (shared) => {
        if (shared.errno) {
          this.#shared = undefined;
          return fail(failure(shared.errno, 'listen', address, port));
        }
        if (!this.#shared) return shared.close();
        this.#shared = shared;
        shared.take = (fd) => this.#connected(fd);
        this.#begun(shared.fd ?? -1);
      });
      return this;
    }
    let fd = native.listen(address, port, options.backlog ?? 511);
    if (fd < 0 && address === '::' && options.host === undefined && fd !== -98) fd = native.listen(address = '0.0.0.0', port, options.backlog ?? 511);
    if (fd < 0) {
      fail(failure(fd, 'listen', address, port));
      return this;
    }
    this.#begun(fd);
    return this;
  }
  get __fd() { return this.#fd; }
  __adopt(fd) { this.#begun(fd); }
  #begun(fd) {
    this.#fd = fd;
    this.listening = true;
    if (fd >= 0) {
      internal.setLoose(fd, Boolean(this.loose));
      os.setReadHandler(fd, () => this.#accept());
    }
    process.nextTick(() => { if (this.listening) this.emit('listening'); });
  }
  #accept() {
    for (let i = 0; i < 64 && this.#fd >= 0; i++) {
      const fd = native.accept(this.#fd);
      if (fd < 0) return;
      this.#connected(fd);
    }
  }
  #connected(fd) {
    if (this.maxConnections !== undefined && this.connections.size >= this.maxConnections) return void native.close(fd);
    const socket = new Socket({ fd, allowHalfOpen: this.options.allowHalfOpen });
    socket.server = this;
    this.connections.add(socket);
    socket.once('close', () => { this.connections.delete(socket); this.#ended(); });
    this.emit('connection', socket);
  }
  #ended() { if (this.closing && !this.listening && this.connections.size === 0) { this.closing = false; process.nextTick(() => this.emit('close')); } }
  close(callback) {
    if (callback) this.once('close', this.listening ? () => callback() : () => callback(Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' })));
    if (this.#fd >= 0) {
      os.setReadHandler(this.#fd, null);
      internal.setLoose(this.#fd, false);
      native.close(this.#fd);
      if (this.#path !== undefined && !this.#shared) native.unlink(this.#path);
    }
    this.#fd = -1;
    this.listening = false;
    this.#shared?.close?.();
    this.#shared = undefined;
    this.closing = true;
    this.#ended();
    return this;
  }
  address() {
    if (!this.listening) return null;
    if (this.#path !== undefined) return this.#path;
    const [address, port] = this.#shared?.name ?? native.socketName(this.#fd, 0);
    return { address, family: familyOf(address), port };
  }
  getConnections(callback) { process.nextTick(callback, null, this.connections.size); return this; }
  ref() { return this.#loosen(false); }
  unref() { return this.#loosen(true); }
  #loosen(loose) {
    this.loose = loose;
    if (this.#fd >= 0) internal.setLoose(this.#fd, loose);
    return this;
  }
  async [Symbol.asyncDispose]() { await new Promise((resolve) => this.close(resolve)); }
}

// A constructor that old programs call as a function.
const callable = (Class) => new Proxy(Class, { apply: (target, self, args) => new target(...args) });
const connect = (...args) => {
  const [options] = words(args, (word, i) => ['port', 'host'][i]);
  const socket = new Socket(options);
  if (options.timeout) socket.setTimeout(options.timeout);
  return socket.connect(...args);
};
module.exports = { Socket: callable(Socket), Stream: callable(Socket), Server: callable(Server), connect, createConnection: connect, createServer: (...args) => new Server(...args), isIP, isIPv4, isIPv6,
  getDefaultAutoSelectFamily: () => true, setDefaultAutoSelectFamily: () => {}, getDefaultAutoSelectFamilyAttemptTimeout: () => 250, setDefaultAutoSelectFamilyAttemptTimeout: () => {} };
Object.defineProperty(module.exports, '__lookup', { value: lookup });
for (const name of ['BlockList', 'SocketAddress']) Object.defineProperty(module.exports, name, { get: () => require('block_list')[name], enumerable: true, configurable: true });
