// dgram: datagrams by UDP, between the programs of the sandbox.
const { native, os } = internal;
const { errnoError } = require('os').__errors;
const EventEmitter = require('events');
const { coded, isFunction, isInteger, isString, received: receivedText, wrongType } = require('checks');

const again = -11, largest = 65536;
const families = { udp4: 4, udp6: 6 };
const setting = { receive: 0, send: 1, broadcast: 2, ttl: [3, 4], multicastTtl: [5, 6], multicastLoop: [7, 8] };
const notRunning = () => coded(Error, 'ERR_SOCKET_DGRAM_NOT_RUNNING', 'Not running');
const notConnected = () => coded(Error, 'ERR_SOCKET_DGRAM_NOT_CONNECTED', 'Not connected');

function failure(result, call, address, port) {
  const error = errnoError(result, call);
  const where = address === undefined ? '' : ` ${address}${port === undefined ? '' : `:${port}`}`;
  error.message = `${call} ${error.code}${where}`;
  return Object.assign(error, address === undefined ? {} : { address }, port === undefined ? {} : { port });
}
function portOf(port, name, least) {
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < least || number > 65535)
    throw coded(RangeError, 'ERR_SOCKET_BAD_PORT', `${name} should be ${least ? '> 0' : '>= 0'} and < 65536. Received ${received(port)}.`);
  return number;
}
const received = (value) => receivedText(value).replace(/^ Received /, '');
function bytesOf(data) {
  if (typeof data === 'string') return Buffer.from(data);
  if (!ArrayBuffer.isView(data)) throw wrongType('buffer', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
const partOf = (part) => {
  if (typeof part === 'string') return Buffer.from(part);
  return ArrayBuffer.isView(part) ? Buffer.from(part.buffer, part.byteOffset, part.byteLength) : undefined;
};
// What is no name of a host is not looked for.
function find(name, family) {
  const net = require('net');
  if (net.isIP(name)) return { address: name };
  const found = name === 'localhost' ? [family === 6 ? '::1' : '127.0.0.1'] : native.resolve(name, family);
  if (typeof found === 'number' || found.length === 0) return { error: Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { errno: -3008, code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: name }) };
  return { address: found[0] };
}

class Socket extends EventEmitter {
  #fd = -1;
  #state = 'unbound';
  #connection = 'none';
  #waiting = [];
  #options;
  #loose = false;
  #lookup;
  #sending = { bytes: 0, count: 0 };
  #frame = native.asyncFrame();
  constructor(options, listener) {
    super();
    if (typeof options === 'string') options = { type: options };
    if (!(options?.type in families)) throw coded(TypeError, 'ERR_SOCKET_BAD_TYPE', 'Bad socket type specified. Valid types are: udp4, udp6');
    if (options.recvBufferSize !== undefined) isInteger(options.recvBufferSize, 'options.recvBufferSize');
    if (options.sendBufferSize !== undefined) isInteger(options.sendBufferSize, 'options.sendBufferSize');
    if (options.lookup !== undefined) isFunction(options.lookup, 'lookup');
    this.type = options.type;
    this.#options = options;
    this.#lookup = options.lookup;
    if (typeof listener === 'function') this.on('message', listener);
    const { signal } = options;
    if (signal !== undefined) {
      if (!(signal instanceof AbortSignal)) throw wrongType('options.signal', 'AbortSignal', signal);
      const close = () => this.close();
      if (signal.aborted) process.nextTick(close);
      else {
        signal.addEventListener('abort', close, { once: true });
        this.once('close', () => signal.removeEventListener('abort', close));
      }
    }
  }
  get #family() { return families[this.type]; }
  #running() { if (this.#state === 'closed') throw notRunning(); }
  #open() {
    if (this.#fd >= 0) return 0;
    const fd = native.datagrams(this.#family, (this.#options.reuseAddr ? 1 : 0) | (this.#options.reusePort ? 2 : 0), this.#options.ipv6Only ? 1 : 0);
    if (fd >= 0) this.#take(fd);
    return Math.min(fd, 0);
  }
  #take(fd) {
    this.#fd = fd;
    internal.setLoose(fd, this.#loose);
    if (this.#options.recvBufferSize) this.setRecvBufferSize(this.#options.recvBufferSize);
    if (this.#options.sendBufferSize) this.setSendBufferSize(this.#options.sendBufferSize);
  }
  // The descriptor of one that is handed on (ipc), and one that was handed to this program.
  get __fd() { return this.#fd; }
  __adopt(fd) {
    this.#take(fd);
    this.#listen();
    process.nextTick(() => { if (this.#state === 'bound') this.emit('listening'); });
  }
  #find(name, then) {
    const loopback = this.#family === 6 ? '::1' : '127.0.0.1';
    if (this.#lookup) return void this.#lookup(name ?? loopback, this.#family, (error, address) => process.nextTick(then, error ?? null, address));
    const found = find(name || loopback, this.#family);
    then(found.error ?? null, found.address);
  }
  #listen() {
    this.#state = 'bound';
    os.setReadHandler(this.#fd, () => this.#receive(), this.#frame);
  }
  #receive() {
    for (let i = 0; i < 64 && this.#fd >= 0; i++) {
      const chunk = Buffer.allocUnsafeSlow(largest);
      const got = native.receiveDatagram(this.#fd, chunk.buffer, 0, largest);
      if (got === again) return;
      if (typeof got === 'number') return void this.emit('error', failure(got, 'recvmsg'));
      const [size, [address, port]] = got;
      this.emit('message', Buffer.from(chunk.subarray(0, size)), { address, family: this.#family === 6 ? 'IPv6' : 'IPv4', port, size });
    }
  }
  bind(given, address, ...rest) {
    this.#running();
    if (this.#state !== 'unbound') throw coded(Error, 'ERR_SOCKET_ALREADY_BOUND', 'Socket is already bound');
    let port = given, exclusive = false;
    const callback = [given, address, ...rest].find((word) => typeof word === 'function');
    if (given !== null && typeof given === 'object') ({ port, address, exclusive = false } = given);
    else if (typeof given === 'function') [port, address] = [0, undefined];
    if (typeof address === 'function') address = undefined;
    if (callback) {
      const done = () => this.off('error', done).off('listening', told);
      const told = () => { done(); callback.call(this); };
      this.on('error', done).on('listening', told);
    }
    this.#state = 'binding';
    const any = this.#family === 6 ? '::' : '0.0.0.0';
    this.#find(address || any, (error, found) => {
      if (this.#state === 'closed') return;
      if (error) {
        this.#state = 'unbound';
        return void process.nextTick(() => this.emit('error', error));
      }
      const number = portOf(port ?? 0, 'options.port', 0);
      const cluster = exclusive ? undefined : internal.clusterDatagram;
      if (cluster) return cluster({ address: found, port: number, type: this.type, options: this.#options }, (failed, fd) => this.#bound(failed, found, number, fd));
      let result = this.#open();
      if (result === 0) result = native.bindDatagrams(this.#fd, found, number);
      this.#bound(result, found, number);
    });
    return this;
  }
  #bound(result, address, port, fd) {
    if (this.#state === 'closed') return void (fd >= 0 && native.close(fd));
    if (result < 0) {
      this.#state = 'unbound';
      return void process.nextTick(() => this.emit('error', failure(result, 'bind', address, port)));
    }
    if (fd !== undefined) this.#take(fd);
    this.#listen();
    process.nextTick(() => {
      if (this.#state !== 'bound') return;
      this.emit('listening');
      for (const work of this.#waiting.splice(0)) work();
    });
  }
  // Sent from a port of its own, where none was chosen.
  #ready(work) {
    if (this.#state === 'bound' && this.#waiting.length === 0) return work();
    if (this.#state === 'unbound') this.bind({ port: 0, exclusive: true });
    this.#waiting.push(work);
  }
  connect(port, address, callback) {
    this.#running();
    const number = portOf(port, 'Port', 1);
    if (typeof address === 'function') [callback, address] = [address, ''];
    if (address === undefined) address = '';
    isString(address, 'address');
    if (this.#connection !== 'none') throw coded(Error, 'ERR_SOCKET_DGRAM_IS_CONNECTED', 'Already connected');
    this.#connection = 'connecting';
    if (callback) this.once('connect', callback);
    this.#ready(() => this.#find(address, (error, found) => {
      if (this.#state === 'closed') return;
      const result = error ? 0 : native.connectDatagrams(this.#fd, found, number);
      const failed = error ?? (result < 0 ? failure(result, 'connect', found, number) : null);
      this.#connection = failed ? 'none' : 'connected';
      process.nextTick(() => {
        if (!failed) return void this.emit('connect');
        if (!callback) return void this.emit('error', failed);
        this.off('connect', callback);
        callback(failed);
      });
    }));
  }
  disconnect() {
    if (this.#connection !== 'connected') throw notConnected();
    const result = native.connectDatagrams(this.#fd, undefined, 0);
    if (result < 0) throw failure(result, 'connect');
    this.#connection = 'none';
  }
  send(message, offset, length, port, address, callback) {
    const connected = this.#connection === 'connected';
    let data = message;
    // A part of a buffer, or all of what is given.
    const sliced = () => {
      const bytes = bytesOf(message);
      if (offset < 0 || offset > bytes.length) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
      if (length < 0 || offset + length > bytes.length) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds');
      return bytes.subarray(offset, offset + length);
    };
    if (!connected) {
      if (address || (port && typeof port !== 'function')) data = sliced();
      else [port, address, callback] = [offset, length, port];
      if (typeof address === 'function') [callback, address] = [address, undefined];
    } else {
      if (typeof length === 'number') {
        data = sliced();
        if (typeof port === 'function') [callback, port] = [port, null];
      } else {
        callback = offset;
      }
      if (port || address) throw coded(Error, 'ERR_SOCKET_DGRAM_IS_CONNECTED', 'Already connected');
    }
    const bytes = Array.isArray(data) ? this.#joined(data) : bytesOf(data);
    if (!connected) port = portOf(port, 'Port', 1);
    if (typeof callback !== 'function') callback = undefined;
    if (!connected && address !== undefined && address !== null && typeof address !== 'string' && address !== false) throw wrongType('address', ['string', 'falsy'], address);
    this.#running();
    const told = (error) => {
      if (callback) process.nextTick(callback, error, error ? undefined : bytes.length);
      else if (error) process.nextTick(() => this.emit('error', error));
    };
    this.#ready(() => {
      if (connected) return this.#transfer(bytes, undefined, 0, told);
      this.#find(address || undefined, (error, found) => {
        if (error) told(error);
        else if (this.#fd >= 0) this.#transfer(bytes, found, port, told);
      });
    });
  }
  #joined(list) {
    const parts = list.map(partOf);
    const wrong = parts.indexOf(undefined);
    if (wrong >= 0) throw wrongType('buffer list arguments', ['string', 'Buffer', 'TypedArray', 'DataView'], list);
    return Buffer.concat(parts);
  }
  #transfer(bytes, address, port, told) {
    this.#sending.bytes += bytes.length;
    this.#sending.count++;
    const result = native.sendDatagram(this.#fd, bytes.buffer, bytes.byteOffset, bytes.length, address, port);
    this.#sending.bytes -= bytes.length;
    this.#sending.count--;
    told(result < 0 ? failure(result, 'send', address, address === undefined ? undefined : port) : null);
  }
  sendto(buffer, offset, length, port, address, callback) {
    if (typeof offset !== 'number') throw wrongType('offset', 'number', offset);
    if (typeof length !== 'number') throw wrongType('length', 'number', length);
    if (typeof port !== 'number') throw wrongType('port', 'number', port);
    isString(address, 'address');
    this.send(buffer, offset, length, port, address, callback);
  }
  close(callback) {
    if (typeof callback === 'function') this.on('close', callback);
    if (this.#state === 'binding' || this.#waiting.length) {
      this.#waiting.push(() => this.close());
      return this;
    }
    this.#running();
    if (this.#fd >= 0) {
      os.setReadHandler(this.#fd, null);
      internal.setLoose(this.#fd, false);
      native.close(this.#fd);
    }
    this.#fd = -1;
    this.#state = 'closed';
    process.nextTick(() => this.emit('close'));
    return this;
  }
  #named(other, call) {
    this.#running();
    const name = this.#fd < 0 ? -9 : native.socketName(this.#fd, other);
    if (typeof name === 'number') throw failure(name, call);
    return { address: name[0], family: this.#family === 6 ? 'IPv6' : 'IPv4', port: name[1] };
  }
  address() { return this.#named(0, 'getsockname'); }
  remoteAddress() {
    this.#running();
    if (this.#connection !== 'connected') throw notConnected();
    return this.#named(1, 'getpeername');
  }
  #set(which, value, call) {
    this.#running();
    if (this.#fd < 0) throw failure(-9, call);
    const number = Array.isArray(which) ? which[this.#family === 6 ? 1 : 0] : which;
    const result = native.setting(this.#fd, number, value);
    if (result < 0) throw failure(result, call);
    return result;
  }
  setBroadcast(on) { this.#set(setting.broadcast, on ? 1 : 0, 'setBroadcast'); }
  setTTL(ttl) { return this.#time(setting.ttl, ttl, 'setTTL'); }
  setMulticastTTL(ttl) { return this.#time(setting.multicastTtl, ttl, 'setMulticastTTL'); }
  #time(which, ttl, call) {
    if (typeof ttl !== 'number') throw wrongType('ttl', 'number', ttl);
    if (ttl < 1 || ttl > 255) throw failure(-22, call);
    this.#set(which, ttl, call);
    return ttl;
  }
  setMulticastLoopback(on) {
    this.#set(setting.multicastLoop, on ? 1 : 0, 'setMulticastLoopback');
    return on;
  }
  setMulticastInterface(address) {
    this.#running();
    isString(address, 'interfaceAddress');
    throw failure(-92, 'setMulticastInterface');
  }
  #size(which, size, name) {
    this.#running();
    if (size !== undefined && (!Number.isInteger(size) || size < 0 || size > 0xffffffff)) throw coded(TypeError, 'ERR_SOCKET_BAD_BUFFER_SIZE', 'Buffer size must be a positive integer');
    const result = this.#fd < 0 ? -9 : native.setting(this.#fd, which, size === undefined ? undefined : Math.min(size, 2 ** 31 - 1));
    if (result >= 0) return result;
    const call = `uv_${name}_buffer_size`, inner = errnoError(result, call);
    throw Object.assign(coded(Error, 'ERR_SOCKET_BUFFER_SIZE', `Could not get or set buffer size: ${call} returned ${inner.code} (${inner.message.replace(/^\w+: |, [^,]*$/g, '')})`), { name: 'SystemError' });
  }
  setRecvBufferSize(size) { this.#size(setting.receive, size ?? NaN, 'recv'); }
  setSendBufferSize(size) { this.#size(setting.send, size ?? NaN, 'send'); }
  getRecvBufferSize() { return this.#size(setting.receive, undefined, 'recv'); }
  getSendBufferSize() { return this.#size(setting.send, undefined, 'send'); }
  getSendQueueSize() { return this.#sending.bytes; }
  getSendQueueCount() { return this.#sending.count; }
  #member(group, joins, call) {
    this.#running();
    if (!group) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "multicastAddress" argument must be specified');
    const result = this.#fd < 0 && this.#open() < 0 ? -9 : native.member(this.#fd, String(group), joins ? 1 : 0);
    if (result < 0) throw failure(result, call);
  }
  addMembership(group) { this.#member(group, true, 'addMembership'); }
  dropMembership(group) { this.#member(group, false, 'dropMembership'); }
  addSourceSpecificMembership(source, group) {
    isString(source, 'sourceAddress');
    isString(group, 'groupAddress');
    throw failure(-92, 'addSourceSpecificMembership');
  }
  dropSourceSpecificMembership(source, group) {
    isString(source, 'sourceAddress');
    isString(group, 'groupAddress');
    throw failure(-92, 'dropSourceSpecificMembership');
  }
  ref() { return this.#loosen(false); }
  unref() { return this.#loosen(true); }
  #loosen(loose) {
    this.#loose = loose;
    if (this.#fd >= 0) internal.setLoose(this.#fd, loose);
    return this;
  }
  async [Symbol.asyncDispose]() {
    if (this.#state === 'closed') return;
    await new Promise((resolve) => this.close(resolve));
  }
}

module.exports = { createSocket: (options, listener) => new Socket(options, listener), Socket: new Proxy(Socket, { apply: (Class, self, args) => new Class(...args) }) };
