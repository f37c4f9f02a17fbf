// Messages between two programs of node over a pair of sockets: lines of JSON, or values as v8 writes them behind their length.
const { native, os } = internal;
const { errnoError } = require('os').__errors;

const again = -11, block = 65536;

class Channel {
  #fd;
  #held = Buffer.alloc(0);
  #queue = [];
  #decoder = new (require('string_decoder').StringDecoder)('utf8');
  #text = '';
  #passed = [];
  // `take` is called with each message, `left` once, when the other side has left or this one has closed.
  constructor(fd, { advanced, serialize, deserialize, take, left }) {
    this.#fd = fd;
    Object.assign(this, { advanced, take, left, reading: false, closing: false });
    const v8 = advanced && !serialize ? require('v8') : undefined;
    this.serialize = serialize ?? v8?.serialize;
    this.deserialize = deserialize ?? v8?.deserialize;
  }
  get open() { return this.#fd >= 0 && !this.closing; }
  read() {
    if (this.reading || this.#fd < 0) return;
    this.reading = true;
    os.setReadHandler(this.#fd, () => this.#readable());
  }
  hold(on) { if (this.#fd >= 0) internal.setLoose(this.#fd, !on); }
  #readable() {
    const chunk = Buffer.alloc(block);
    const count = this.#receive(chunk);
    if (count === again) return;
    if (count <= 0) return this.#gone();
    this.#feed(chunk.subarray(0, count));
  }
  // Descriptors wait for the messages that they belong to.
  #receive(chunk) {
    const got = native.receive(this.#fd, chunk.buffer, 0, block);
    if (typeof got === 'number') return got;
    const [count, ...passed] = got;
    this.#passed.push(...passed);
    return count;
  }
  passed() { return this.#passed.shift(); }
  #feed(bytes) {
    for (const message of this.#messages(bytes)) {
      if (this.#fd < 0) return;
      this.take(message);
    }
  }
  * #messages(bytes) {
    if (!this.advanced) {
      const lines = (this.#text + this.#decoder.write(bytes)).split('\n');
      this.#text = lines.pop();
      for (const line of lines) yield JSON.parse(line);
      return;
    }
    this.#held = this.#held.length ? Buffer.concat([this.#held, bytes]) : Buffer.from(bytes);
    while (this.#held.length >= 4) {
      const size = this.#held.readUInt32LE(0);
      if (this.#held.length < 4 + size) return;
      const whole = this.#held.subarray(4, 4 + size);
      this.#held = this.#held.subarray(4 + size);
      yield this.deserialize(whole);
    }
  }
  // Waits for the first message, which is not given to `take`.
  first() {
    for (;;) {
      native.poll([this.#fd], [1], -1);
      const chunk = Buffer.alloc(block);
      const count = native.read(this.#fd, chunk.buffer, 0, block, -1);
      if (count === again) continue;
      if (count <= 0) return undefined;
      const [message, ...others] = this.#messages(chunk.subarray(0, count));
      if (message === undefined) continue;
      if (others.length) setImmediate(() => others.forEach((other) => this.take(other)));
      return message;
    }
  }
  // What cannot be written throws here; `told` is called when it has gone, or cannot go. A descriptor may go with it.
  send(message, told, passed = -1) {
    let bytes;
    if (this.advanced) {
      const body = this.serialize(message), size = Buffer.alloc(4);
      size.writeUInt32LE(body.length);
      bytes = Buffer.concat([size, body]);
    } else {
      bytes = Buffer.from(`${JSON.stringify(message)}\n`);
    }
    this.#queue.push({ bytes, told, passed });
    if (this.#queue.length === 1) this.#write();
    return this.#queue.length < 16;
  }
  #write() {
    while (this.#queue.length) {
      const next = this.#queue[0];
      const count = native.send(this.#fd, next.bytes.buffer, next.bytes.byteOffset, next.bytes.length, next.passed);
      if (count === again) return void os.setWriteHandler(this.#fd, () => { os.setWriteHandler(this.#fd, null); this.#write(); });
      next.passed = -1;
      next.bytes = count < 0 ? Buffer.alloc(0) : next.bytes.subarray(count);
      if (next.bytes.length) continue;
      this.#queue.shift();
      if (next.told) process.nextTick(next.told, count < 0 ? errnoError(count, 'write') : null);
    }
    if (this.closing) this.#gone();
  }
  // All that was sent goes first, also where the program ends with it.
  flush() {
    while (this.#fd >= 0 && this.#queue.length) {
      native.poll([this.#fd], [4], -1);
      this.#write();
    }
  }
  // What the other side wrote before it ended.
  drain() {
    for (const chunk = Buffer.alloc(block); this.#fd >= 0;) {
      const count = this.#receive(chunk);
      if (count <= 0) return void this.#gone();
      this.#feed(Buffer.from(chunk.subarray(0, count)));
    }
  }
  close() {
    if (this.#fd < 0 || this.closing) return;
    this.closing = true;
    if (this.#queue.length === 0) process.nextTick(() => this.#gone());
  }
  #gone() {
    if (this.#fd < 0) return;
    os.setReadHandler(this.#fd, null);
    os.setWriteHandler(this.#fd, null);
    internal.setLoose(this.#fd, false);
    native.close(this.#fd);
    this.#fd = -1;
    for (const fd of this.#passed.splice(0)) native.close(fd);
    this.left();
  }
}

const closed = () => Object.assign(new Error('Channel closed'), { code: 'ERR_IPC_CHANNEL_CLOSED' });
// What goes with a message: a server, a connection or a socket of datagrams, which the other side gets as one of its own.
function handleType(handle) {
  const net = require('net');
  if (handle instanceof net.Socket) return 'net.Socket';
  if (handle instanceof net.Server) return 'net.Server';
  if (handle instanceof require('dgram').Socket) return 'dgram.Socket';
  throw Object.assign(new TypeError('This handle type cannot be sent'), { code: 'ERR_INVALID_HANDLE_TYPE' });
}
const adopted = {
  'net.Socket': (fd) => new (require('net').Socket)({ fd }),
  'net.Server'(fd) {
    const server = require('net').createServer();
    server.__adopt(fd);
    return server;
  },
  'dgram.Socket'(fd, { dgramType }) {
    const socket = require('dgram').createSocket(dgramType);
    socket.__adopt(fd);
    return socket;
  },
};

// send, disconnect and what goes with them, on a child or on the process itself. A message of the library's own names its kind in `cmd`, and may have a bare descriptor.
function attach(target, fd, advanced) {
  const channel = new Channel(fd, { advanced,
    take(message) {
      const { cmd } = message ?? {};
      if (cmd === 'NODE_HANDLE') {
        const handle = adopted[message.type](channel.passed(), message);
        return process.nextTick(() => target.emit('message', message.msg, handle));
      }
      const passed = cmd === 'NODE_CLUSTER' && message.passed ? channel.passed() : undefined;
      process.nextTick(() => target.emit(cmd?.startsWith?.('NODE_') ? 'internalMessage' : 'message', message, passed));
    },
    left: () => {
      target.connected = false;
      target.channel = null;
      process.nextTick(() => target.emit('disconnect'));
    } });
  target.connected = true;
  target.channel = { ref: () => channel.hold(true), unref: () => channel.hold(false), fd };
  target.send = function send(message, handle, options, callback) {
    callback = [handle, options, callback].find((word) => typeof word === 'function');
    if (message === undefined) throw Object.assign(new TypeError('The "message" argument must be specified'), { code: 'ERR_MISSING_ARGS' });
    if (!['string', 'object', 'number', 'boolean'].includes(typeof message)) throw Object.assign(new TypeError(`The "message" argument must be one of type string, object, number, or boolean. Received type ${typeof message}`), { code: 'ERR_INVALID_ARG_TYPE' });
    if (!target.connected) {
      const error = closed();
      process.nextTick(() => (callback ? callback(error) : target.emit('error', error)));
      return false;
    }
    if (handle === null || handle === undefined || typeof handle === 'function') return channel.send(message, callback);
    const type = handleType(handle), passed = handle.__fd;
    if (!(passed >= 0)) return channel.send(message, callback);
    // A connection is the other side's from here on, unless it is to stay open.
    const gone = type === 'net.Socket' && !options?.keepOpen ? handle.__release() : undefined;
    return channel.send({ cmd: 'NODE_HANDLE', type, msg: message, ...(type === 'dgram.Socket' && { dgramType: handle.type }) }, (error) => {
      if (gone !== undefined) native.close(gone);
      callback?.(error);
    }, passed);
  };
  Object.defineProperty(target, '__sendOwn', { value: (message, told, passed) => target.connected && channel.send({ cmd: 'NODE_CLUSTER', ...message, passed: passed !== undefined }, told, passed), configurable: true });
  target.disconnect = function disconnect() {
    if (!target.connected) return void process.nextTick(() => target.emit('error', Object.assign(new Error('IPC channel is already disconnected'), { code: 'ERR_IPC_DISCONNECTED' })));
    target.connected = false;
    channel.close();
  };
  return channel;
}

// A program that was forked: its channel keeps it for as long as it listens.
function begin(fd, advanced) {
  const channel = attach(process, fd, advanced);
  channel.hold(false);
  const look = () => {
    const listens = process.listenerCount('message') > 0 || process.listenerCount('disconnect') > 0;
    channel.hold(listens);
    if (listens) channel.read();
  };
  process.on('newListener', (name) => { if (name === 'message' || name === 'disconnect') process.nextTick(look); });
  process.on('removeListener', (name) => { if (name === 'message' || name === 'disconnect') look(); });
  process.on('exit', () => channel.flush());
}

module.exports = { Channel, attach, begin };
