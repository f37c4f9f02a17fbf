// worker_threads: each thread is a program of node of its own, with messages between them. Nothing is shared: a SharedArrayBuffer cannot be sent.
const { types } = internal;
const EventEmitter = require('events');
const { Channel } = require('ipc');
const v8 = require('v8');

const portKind = 100, blobKind = 101, viewKind = 102, keyKind = 103;
const isKey = (value) => internal.isKeyObject?.(value) === true || internal.isCryptoKey?.(value) === true;
const views = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, DataView, BigInt64Array, BigUint64Array];
const environmentData = new Map();

// What comes by a port, for those that listen as to an emitter and as to a target of events.
class MessagePort extends EventEmitter {
  #queue = [];
  #other;         // the other end, where it is in this program
  #remote;        // { send(message), id }, where it is in another
  #started = false;
  #scheduled = false;
  #closed = false;
  #held = true;
  #handlers = new Map();
  constructor(key) {
    super();
    if (key !== secret) throw Object.assign(new TypeError('Illegal constructor'), { code: 'ERR_CONSTRUCT_CALL_INVALID' });
    for (const name of ['onmessage', 'onmessageerror', 'onclose']) {
      let set = null;
      Object.defineProperty(this, name, { configurable: true, enumerable: false, get: () => set, set: (handler) => {
        const event = name.slice(2);
        if (set) this.removeEventListener(event, set);
        set = typeof handler === 'function' ? handler : null;
        if (set) this.addEventListener(event, set);
      } });
    }
  }
  _entangle(other) { this.#other = other; }
  _bind(remote) { this.#remote = remote; this.#hold(); }
  get _remote() { return this.#remote; }
  get _peer() { return this.#other; }
  get _closed() { return this.#closed; }
  on(name, listener) {
    super.on(name, listener);
    if (name === 'message') { this.#held = true; this.start(); }
    return this;
  }
  addListener(name, listener) { return this.on(name, listener); }
  off(name, listener) {
    super.off(name, listener);
    this.#hold();
    return this;
  }
  removeListener(name, listener) { return this.off(name, listener); }
  addEventListener(name, listener, options) {
    if (!listener || this.#handlers.get(name)?.has(listener)) return;
    const call = (data) => {
      if (options?.once) this.removeEventListener(name, listener);
      const event = Object.assign(name.startsWith('message') ? new (require('events').MessageEvent)(name, { data }) : new Event(name), { _target: this, _current: this });
      if (typeof listener === 'function') listener.call(this, event);
      else listener.handleEvent(event);
    };
    if (!this.#handlers.has(name)) this.#handlers.set(name, new Map());
    this.#handlers.get(name).set(listener, call);
    this.on(name, call);
  }
  removeEventListener(name, listener) {
    const call = this.#handlers.get(name)?.get(listener);
    if (!call) return;
    this.#handlers.get(name).delete(listener);
    this.off(name, call);
  }
  // A port keeps the program while somebody listens.
  #hold() {
    const wanted = this.#held && this.#started && !this.#closed && this.listenerCount('message') > 0;
    if (wanted === Boolean(this._keeps)) return;
    this._keeps = wanted;
    if (this.#remote) this.#remote.hold?.(wanted);
    else internal.children += wanted ? 1 : -1;
  }
  start() {
    if (this.#closed) return;
    this.#started = true;
    this.#hold();
    this.#schedule();
  }
  ref() { this.#held = true; this.#hold(); }
  unref() { this.#held = false; this.#hold(); }
  hasRef() { return this.#held; }
  postMessage(value, transfer) {
    const list = Array.isArray(transfer) ? transfer : transfer?.transfer ?? [];
    if (list.includes(this)) throw new DOMException('Transfer list contains source port', 'DataCloneError');
    if (this.#closed) return;
    if (this.#remote) return void this.#remote.send({ value, list });
    const copy = cloned(value, list);
    this.#other?._receive(copy);
  }
  _receive(value) {
    if (this.#closed) return;
    this.#queue.push(value);
    this.#schedule();
  }
  _take() { return this.#queue.shift(); }
  get _waiting() { return this.#queue.length; }
  #schedule() {
    if (!this.#started || this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#closed || !this.#started || this.#queue.length === 0) return;
      const value = this.#queue.shift();
      this.#schedule();
      this.emit('message', value);
    });
  }
  close(callback) {
    if (callback) this.once('close', callback);
    if (this.#closed) return;
    // What has come before is still told.
    setImmediate(() => this._end(true));
  }
  _end(tell, done) {
    if (this.#closed) return done?.();
    // Each message is told by itself, so that who waits for one and then for the end hears of both.
    if (this.#started && this.#queue.length) return void setImmediate(() => this._end(tell, done));
    this.#closed = true;
    this.#hold();
    if (tell) {
      if (this.#remote) this.#remote.close?.();
      else setImmediate(() => this.#other?._end(false));
    }
    this.emit('close');
    done?.();
  }
  // It goes to another program: what has come and what comes follows it.
  _leave(forward) {
    this.#started = false;
    this.#hold();
    const waiting = this.#queue.splice(0);
    this.#closed = true;
    return { waiting, other: this.#other, remote: this.#remote, forward };
  }
  [Symbol.for('nodejs.util.inspect.custom')]() { return `MessagePort { active: ${!this.#closed}, refed: ${this.#held} }`; }
}
const secret = Symbol('port');
internal.isPort = (value) => value instanceof MessagePort;
class MessageChannel {
  constructor() {
    this.port1 = new MessagePort(secret);
    this.port2 = new MessagePort(secret);
    this.port1._entangle(this.port2);
    this.port2._entangle(this.port1);
  }
}

// A copy for another port of this program: what is transferred moves.
function cloned(value, list) {
  const serializer = new PortSerializer(list, (port) => port);
  const bytes = serializer.whole(value);
  for (const item of list) if (types.isArrayBuffer(item)) item.transfer();
  return new PortDeserializer(bytes, (i) => serializer.ports[i]).whole();
}
class PortSerializer extends v8.DefaultSerializer {
  ports = [];
  constructor(list, give) {
    super();
    this.list = list;
    this.give = give;
    for (const item of list) {
      if (!(item instanceof MessagePort) && !(types.isArrayBuffer(item))) throw new DOMException('Found invalid object in transferList', 'DataCloneError');
      if (types.isArrayBuffer(item) && item.detached) throw new DOMException('An ArrayBuffer is detached and could not be cloned.', 'DataCloneError');
    }
  }
  _isHostObject(value) {
    if (types.isSharedArrayBuffer(value)) throw new DOMException('#<SharedArrayBuffer> could not be cloned: threads share no memory here.', 'DataCloneError');
    return value instanceof MessagePort || value instanceof Blob || isKey(value);
  }
  _writeHostObject(value) {
    // Views of one buffer are views of one buffer there too; a Buffer comes as the array that it is.
    if (ArrayBuffer.isView(value)) {
      this._isHostObject(value.buffer);
      for (const word of [viewKind, views.findIndex((Kind) => value instanceof Kind), value.byteOffset, value.length ?? value.byteLength]) this.writeUint32(word);
      return void this.writeValue(value.buffer);
    }
    if (value instanceof Blob) {
      const bytes = internal.blobBytes(value);
      for (const word of [blobKind, bytes.length]) this.writeUint32(word);
      this.writeRawBytes(bytes);
      return void this.writeValue(value.type);
    }
    if (isKey(value)) {
      this.writeUint32(keyKind);
      return void this.writeValue(internal.packedKey(value));
    }
    if (!this.list.includes(value)) throw Object.assign(new TypeError('Object that needs transfer was found in message but not listed in transferList'), { code: 'ERR_MISSING_TRANSFERABLE_IN_TRANSFER_LIST' });
    this.writeUint32(portKind);
    this.writeUint32(this.ports.push(this.give(value)) - 1);
  }
  whole(value) { this.writeHeader(); this.writeValue(value); return this.releaseBuffer(); }
}
class PortDeserializer extends v8.DefaultDeserializer {
  constructor(bytes, take) { super(bytes); this.take = take; }
  _readKind(kind) {
    if (kind === portKind) return this.take(this.readUint32());
    if (kind === viewKind) {
      const Kind = views[this.readUint32()], offset = this.readUint32(), length = this.readUint32();
      return new Kind(this.readValue(), offset, length);
    }
    if (kind === keyKind) return require('webcrypto_subtle').unpackedKey(this.readValue());
    if (kind !== blobKind) return undefined;
    const bytes = Uint8Array.from(this.readRawBytes(this.readUint32()));
    return new Blob([bytes], { type: this.readValue() });
  }
  whole() { this.readHeader(); return this.readValue(); }
}

// A line to another program: messages of the port that is the line itself (0), and of those that were sent along it.
class Line {
  #channel;
  #ports = new Map();
  #next;
  constructor(fd, side, { control, left }) {
    this.#next = side + 2;
    this.control = control;
    const identity = (bytes) => bytes;
    this.#channel = new Channel(fd, { advanced: true, serialize: identity, deserialize: identity, take: (bytes) => this.#take(bytes),
      left: () => { for (const port of this.#ports.values()) port._end(false); left?.(); } });
  }
  get channel() { return this.#channel; }
  // [to, what, ports' numbers], then the value
  #pack(to, what, value, list = []) {
    const serializer = new PortSerializer(list, (port) => this.#give(port));
    const body = serializer.whole(value);
    for (const item of list) if (types.isArrayBuffer(item)) item.transfer();
    const head = v8.serialize([to, what, serializer.ports]);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(head.length);
    return Buffer.concat([size, head, body]);
  }
  send(to, what, value, list) { if (this.#channel.open) this.#channel.send(this.#pack(to, what, value, list)); }
  first() { return this.#unpack(this.#channel.first())[2]; }
  #unpack(bytes) {
    const size = bytes.readUInt32LE(0), [to, what, numbers] = v8.deserialize(bytes.subarray(4, 4 + size));
    return [to, what, new PortDeserializer(bytes.subarray(4 + size), (i) => this.port(numbers[i])).whole()];
  }
  #take(bytes) {
    const [to, what, value] = this.#unpack(bytes);
    if (what === 'message') this.#ports.get(to)?._receive(value);
    else if (what === 'close') { this.#ports.get(to)?._end(false); this.#ports.delete(to); }
    else this.control?.(what, value);
  }
  // The end of a port whose other end is over there.
  port(id, hold) {
    const port = new MessagePort(secret);
    port._bind({ send: ({ value, list }) => this.send(id, 'message', value, list), close: () => { this.#ports.delete(id); this.send(id, 'close'); }, hold: hold ?? ((on) => this.#keep(on)) });
    this.#ports.set(id, port);
    return port;
  }
  #kept = 0;
  #keep(on) {
    this.#kept += on ? 1 : -1;
    this.holds?.(this.#kept > 0);
  }
  // A port of ours goes over there; ours of its pair speaks by the line then.
  #give(port) {
    if (port._closed) throw new DOMException('MessagePort in transfer list is already detached', 'DataCloneError');
    const id = this.#next;
    this.#next += 2; // the numbers between are the other side's
    const { waiting, other, remote } = port._leave();
    if (other) {
      this.#ports.set(id, other);
      other._entangle(undefined);
      other._bind({ send: ({ value, list }) => this.send(id, 'message', value, list), close: () => { this.#ports.delete(id); this.send(id, 'close'); }, hold: (on) => this.#keep(on) });
    } else if (remote) {
      // It has come from another program: this one hands on in both directions.
      this.#ports.set(id, { _receive: (value) => remote.send({ value, list: [] }), _end: () => remote.close() });
      port._receive = (value) => this.send(id, 'message', value);
    }
    setImmediate(() => waiting.forEach((value) => this.send(id, 'message', value)));
    return id;
  }
}

let nextThread = 1;
const lines = new Set();
const SHARE_ENV = Symbol.for('nodejs.worker_threads.SHARE_ENV');
class Worker extends EventEmitter {
  #child;
  #line;
  constructor(file, options = {}) {
    super();
    const { spawn } = require('child_process'), path = require('path');
    if (options.eval && typeof file !== 'string') throw Object.assign(new TypeError("The property 'options.eval' must be false when 'filename' is not a string."), { code: 'ERR_INVALID_ARG_VALUE' });
    let source;
    if (options.eval) source = file;
    else if (file instanceof URL && file.protocol === 'data:') source = decodeURIComponent(file.href.replace(/^data:[^,]*,/, ''));
    else if (file instanceof URL) file = require('url').fileURLToPath(file);
    else if (typeof file !== 'string') throw Object.assign(new TypeError(`The "filename" argument must be of type string or an instance of URL. Received ${file === null || file === undefined ? file : `type ${typeof file}`}`), { code: 'ERR_INVALID_ARG_TYPE' });
    else if (!path.isAbsolute(file) && !/^\.\.?[\\/]/.test(file))
      throw Object.assign(new TypeError(`The worker script or module filename must be an absolute path or a relative path starting with './' or '../'. Received "${file}"`), { code: 'ERR_WORKER_PATH' });
    this.threadId = internal.threadId * 1000 + nextThread++;
    this.resourceLimits = options.resourceLimits ?? {};
    const env = options.env === SHARE_ENV || options.env === undefined ? process.env : options.env;
    const stdio = [options.stdin ? 'pipe' : 'ignore', options.stdout ? 'pipe' : 'inherit', options.stderr ? 'pipe' : 'inherit', 'ipc'];
    this.#child = spawn(process.execPath, [...options.execArgv ?? process.execArgv.filter((word) => !/^(-e|--eval|-p|--print)/.test(word)), source === undefined ? path.resolve(file) : '/dev/null', ...(options.argv ?? []).map(String)],
      { env: { ...env, CLOCHE_NODE_THREAD: String(this.threadId) }, stdio, __line: (fd) => {
        const left = () => lines.delete(this.#line);
        this.#line = new Line(fd, 1, { left, control: (what, value) => this.#told(what, value) });
        this.#line.channel.hold(true);
        this.#line.channel.read();
        return this.#line.channel;
      } });
    for (const [name, stream] of [['stdin', this.#child.stdin], ['stdout', this.#child.stdout], ['stderr', this.#child.stderr]]) this[name] = stream ?? (name === 'stdin' ? null : require('stream').Readable.from([]));
    lines.add(this.#line);
    this.#port = this.#line.port(0, () => {});
    this.#port.on('message', (value) => this.emit('message', value));
    try {
      this.#line.send(0, 'init', { workerData: options.workerData, source, module: options.type === 'module', name: options.name, environmentData: [...environmentData], resourceLimits: this.resourceLimits }, options.transferList ?? []);
    } catch (error) {
      // What cannot be sent: nobody begins.
      this.unref();
      this.#child.kill('SIGKILL');
      throw error;
    }
    this.#child.once('spawn', () => this.emit('online'));
    this.#child.once('error', (error) => this.emit('error', error));
    this.#child.once('exit', (code, signal) => { this.#over = signal ? 1 : code; });
    this.#child.once('close', () => {
      // Its last messages come before its end.
      setImmediate(() => this.#port._end(false, () => {
        this.threadId = -1;
        this.emit('exit', this.#over ?? 1);
      }));
    });
  }
  #port;
  #over;
  #told(what, value) {
    if (what === 'error') this.emit('error', value.members ? Object.assign(value.error, value.members) : value.error);
    else if (what === 'broadcast') broadcast(value.name, value.value, this.#line);
  }
  postMessage(value, transfer) { this.#port.postMessage(value, transfer); }
  terminate() {
    if (this.#over !== undefined) return Promise.resolve(undefined);
    this.#child.kill('SIGKILL');
    return new Promise((resolve) => { this.once('exit', resolve); });
  }
  ref() { this.#child.ref(); this.#line.channel.hold(true); }
  unref() { this.#child.unref(); this.#line.channel.hold(false); }
  getHeapSnapshot() { return Promise.reject(Object.assign(new Error('There are no heap snapshots in this node'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' })); }
  async [Symbol.asyncDispose]() { await this.terminate(); }
}

// --- Names that all threads speak under ---

const channelsOf = new Map();
// To those here, and along all lines but the one that it came by.
function broadcast(name, value, from, self) {
  for (const channel of [...channelsOf.get(name) ?? []]) if (channel !== self) channel._receive(value);
  for (const line of lines) if (line !== from) line.send(0, 'broadcast', { name, value });
}
class BroadcastChannel extends MessagePort {
  constructor(name) {
    super(secret);
    this.name = String(name);
    if (!channelsOf.has(this.name)) channelsOf.set(this.name, new Set());
    channelsOf.get(this.name).add(this);
  }
  postMessage(value) {
    if (this._closed) throw new DOMException('BroadcastChannel is closed.', 'InvalidStateError');
    broadcast(this.name, cloned(value, []), undefined, this);
  }
  close() { channelsOf.get(this.name)?.delete(this); super.close(); }
}

// --- This thread ---

let parentPort = null, init;
if (internal.threadFd !== undefined) {
  const line = new Line(internal.threadFd, 2, {});
  init = internal.workerInit = line.first() ?? {};
  for (const [key, value] of init.environmentData ?? []) environmentData.set(key, value);
  lines.add(line);
  process.on('exit', () => line.channel.flush());
  // Who started this thread is told of what nobody caught.
  internal.threadFails = (error) => {
    const sendable = (value) => {
      try { return cloned(value, []), true; } catch { return false; }
    };
    const members = internal.isError(error) ? Object.fromEntries(Object.entries(error).filter(([, value]) => sendable(value))) : undefined;
    line.send(0, 'error', { error: sendable(error) ? error : new Error(String(error)), members });
    line.channel.flush();
  };
  parentPort = line.port(0, (on) => line.channel.hold(on));
  line.control = (what, value) => { if (what === 'broadcast') broadcast(value.name, value.value, line); };
  line.channel.hold(false);
  line.channel.read();
}
module.exports = {
  Worker, MessagePort, MessageChannel, BroadcastChannel, SHARE_ENV, parentPort,
  isMainThread: !init, isInternalThread: false, threadId: internal.threadId, threadName: init?.name ?? '', workerData: init?.workerData ?? null, resourceLimits: init?.resourceLimits ?? {},
  receiveMessageOnPort: (port) => { if (!port._waiting) return undefined; return { message: port._take() }; },
  getEnvironmentData: (key) => environmentData.get(key), setEnvironmentData: (key, value) => { if (value === undefined) environmentData.delete(key); else environmentData.set(key, value); },
  markAsUntransferable() {}, isMarkedAsUntransferable: () => false, markAsUncloneable() {},
  moveMessagePortToContext(port) { return port; },
  postMessageToThread: () => Promise.reject(Object.assign(new Error('Threads do not know each other here'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' })),
};
