// WebSocket, as browsers have it: a client over http or https (RFC 6455), without extensions.
const { MessageEvent } = require('events');

const states = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };
const accepted = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
// What a message may come to, all of its parts together.
const largest = 128 * 1024 * 1024;

class CloseEvent extends Event {
  #given;
  constructor(type, options = {}) {
    super(type, options);
    this.#given = { code: Number(options?.code ?? 0), reason: String(options?.reason ?? ''), wasClean: Boolean(options?.wasClean) };
  }
  get code() { return this.#given.code; }
  get reason() { return this.#given.reason; }
  get wasClean() { return this.#given.wasClean; }
}
class ErrorEvent extends Event {
  #given;
  constructor(type, options = {}) {
    super(type, options);
    this.#given = { message: String(options?.message ?? ''), error: options?.error };
  }
  get message() { return this.#given.message; }
  get error() { return this.#given.error; }
}
internal.tagged({ CloseEvent, ErrorEvent });

const syntax = (message) => new DOMException(message, 'SyntaxError');
const isToken = (text) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text);

class WebSocket extends EventTarget {
  #url;
  #state = states.CONNECTING;
  #socket;
  #request;
  #protocol = '';
  #binaryType = 'blob';
  #buffered = 0;
  #held = Buffer.alloc(0);
  #parts = [];
  #kind = 0;
  #close;
  #sending = Promise.resolve();
  #handlers = {};
  constructor(url, protocols = []) {
    super();
    if (arguments.length === 0) throw new TypeError("WebSocket constructor: 1 argument required, but only 0 present.");
    // The second word of newer programs has more than names.
    const options = protocols !== null && typeof protocols === 'object' && !Array.isArray(protocols) ? protocols : { protocols };
    const names = [options.protocols ?? []].flat().map(String);
    let parsed;
    try {
      parsed = new URL(url);
    } catch (error) {
      throw syntax(String(error));
    }
    if (parsed.protocol === 'http:') parsed.protocol = 'ws:';
    if (parsed.protocol === 'https:') parsed.protocol = 'wss:';
    if (parsed.protocol !== 'ws:' && parsed.protocol !== 'wss:') throw syntax(`Expected a ws: or wss: protocol, got ${parsed.protocol}`);
    if (parsed.hash) throw syntax('Got fragment');
    if (names.length !== new Set(names.map((name) => name.toLowerCase())).size || !names.every(isToken)) throw syntax('Invalid Sec-WebSocket-Protocol value');
    this.#url = parsed;
    this.#connect(parsed, names, options.headers);
  }
  #connect(url, names, headers) {
    const key = require('crypto').randomBytes(16).toString('base64'), secure = url.protocol === 'wss:';
    const request = this.#request = require(secure ? 'https' : 'http').request({ host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port || (secure ? 443 : 80), path: url.pathname + url.search, agent: false,
      headers: { ...Object.fromEntries(new Headers(headers)), host: url.host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': key, 'sec-websocket-version': '13', ...(names.length && { 'sec-websocket-protocol': names.join(', ') }) } });
    request.on('upgrade', (response, socket, head) => {
      const wanted = require('crypto').createHash('sha1').update(key + accepted).digest('base64'), chosen = response.headers['sec-websocket-protocol'];
      if (response.headers['sec-websocket-accept'] !== wanted || response.headers.upgrade?.toLowerCase() !== 'websocket' || (chosen !== undefined && !names.includes(chosen)) || response.headers['sec-websocket-extensions']) {
        socket.destroy();
        return this.#fail('Incorrect answer to the opening of a WebSocket.');
      }
      this.#socket = socket;
      this.#protocol = chosen ?? '';
      this.#state = states.OPEN;
      socket.on('data', (chunk) => this.#take(chunk)).on('error', () => socket.destroy()).on('close', () => this.#ended());
      this.dispatchEvent(new Event('open'));
      if (head.length) this.#take(head);
    });
    request.on('response', (response) => {
      response.destroy();
      this.#fail('Received network error or non-101 status code.');
    });
    request.on('error', (error) => this.#fail('Received network error or non-101 status code.', error));
    request.end();
  }
  // A connection that never came about, or that the other side spoiled.
  #fail(message, error) {
    if (this.#state === states.CLOSED) return;
    this.#state = states.CLOSED;
    this.#request.destroy();
    this.#socket?.destroy();
    this.dispatchEvent(new ErrorEvent('error', { message, error: error ?? new TypeError(message) }));
    this.dispatchEvent(new CloseEvent('close', { code: 1006, wasClean: false }));
  }
  #ended() {
    if (this.#state === states.CLOSED) return;
    this.#state = states.CLOSED;
    const { code = 1006, reason = '' } = this.#close ?? {};
    this.dispatchEvent(new CloseEvent('close', { code, reason, wasClean: this.#close !== undefined }));
  }
  #broken(code, message) {
    this.#frame(8, Buffer.from([code >> 8, code & 255]));
    this.#fail(message);
  }
  #take(chunk) {
    this.#held = this.#held.length ? Buffer.concat([this.#held, chunk]) : chunk;
    while (this.#state < states.CLOSED && this.#held.length >= 2) {
      const [first, second] = this.#held, short = second & 127, head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (first & 0x70 || second & 0x80) return this.#broken(1002, 'A frame of the server is wrong.');
      if (this.#held.length < head) return;
      const size = short < 126 ? short : short === 126 ? this.#held.readUInt16BE(2) : Number(this.#held.readBigUInt64BE(2));
      if (size > largest) return this.#broken(1009, 'A message of the server is too large.');
      if (this.#held.length < head + size) return;
      const body = this.#held.subarray(head, head + size);
      this.#held = this.#held.subarray(head + size);
      this.#frameCame(first & 15, Boolean(first & 128), body);
    }
  }
  #frameCame(kind, last, body) {
    if (kind >= 8) {
      if (!last || body.length > 125 || kind > 10) return this.#broken(1002, 'A frame of the server is wrong.');
      if (kind === 9) this.#frame(10, body);
      if (kind === 8) this.#closing(body);
      return;
    }
    if (kind > 2 || (kind === 0) === (this.#kind === 0)) return this.#broken(1002, 'A frame of the server is wrong.');
    this.#kind ||= kind;
    this.#parts.push(body);
    if (this.#parts.reduce((sum, part) => sum + part.length, 0) > largest) return this.#broken(1009, 'A message of the server is too large.');
    if (!last) return;
    const whole = Buffer.concat(this.#parts.splice(0)), isText = this.#kind === 1;
    this.#kind = 0;
    let data;
    if (isText) {
      try {
        data = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole);
      } catch {
        return this.#broken(1007, 'A text of the server is none.');
      }
    } else {
      data = this.#binaryType === 'blob' ? new Blob([whole]) : Uint8Array.from(whole).buffer;
    }
    if (this.#state === states.OPEN) this.dispatchEvent(new MessageEvent('message', { data, origin: this.#url.origin }));
  }
  #closing(body) {
    if (body.length === 1) return this.#broken(1002, 'A frame of the server is wrong.');
    this.#close = body.length ? { code: body.readUInt16BE(0), reason: body.subarray(2).toString() } : { code: 1005, reason: '' };
    if (this.#state === states.OPEN) {
      this.#state = states.CLOSING;
      this.#frame(8, body.subarray(0, 2));
    }
    this.#socket.end();
  }
  #frame(kind, body, told) {
    const long = body.length > 65535 ? 8 : body.length > 125 ? 2 : 0, head = Buffer.alloc(6 + long), mask = require('crypto').randomBytes(4), masked = Buffer.from(body);
    head[0] = 0x80 | kind;
    head[1] = 0x80 | (long === 8 ? 127 : long === 2 ? 126 : body.length);
    if (long === 2) head.writeUInt16BE(body.length, 2);
    if (long === 8) head.writeBigUInt64BE(BigInt(body.length), 2);
    head.set(mask, 2 + long);
    for (let i = 0; i < masked.length; i++) masked[i] ^= mask[i & 3];
    if (!this.#socket.destroyed && this.#socket.writable) this.#socket.write(Buffer.concat([head, masked]), told);
  }
  send(data) {
    if (arguments.length === 0) throw new TypeError("WebSocket.send: 1 argument required, but only 0 present.");
    if (this.#state === states.CONNECTING) throw new DOMException('Sent before connected.', 'InvalidStateError');
    if (this.#state !== states.OPEN) return;
    const isBlob = data instanceof Blob, isBytes = ArrayBuffer.isView(data) || data instanceof ArrayBuffer;
    const bytes = isBlob ? undefined : isBytes ? Buffer.from(data instanceof ArrayBuffer ? data.slice(0) : Uint8Array.from(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))) : Buffer.from(String(data));
    const size = isBlob ? data.size : bytes.length;
    this.#buffered += size;
    const write = (body) => this.#frame(isBlob || isBytes ? 2 : 1, body, () => { this.#buffered -= size; });
    // The bytes of a Blob come later, and what is sent after it behind them.
    if (!isBlob && this.#waiting === 0) return write(bytes);
    this.#waiting++;
    this.#sending = this.#sending.then(async () => {
      write(bytes ?? Buffer.from(await data.arrayBuffer()));
      this.#waiting--;
    });
  }
  #waiting = 0;
  close(code, reason = '') {
    if (code !== undefined && code !== 1000 && !(Number(code) >= 3000 && Number(code) <= 4999)) throw new DOMException('invalid code', 'InvalidAccessError');
    const text = Buffer.from(String(reason));
    if (text.length > 123) throw syntax(`Reason must be less than 123 bytes; received ${text.length}`);
    if (this.#state >= states.CLOSING) return;
    if (this.#state === states.CONNECTING) return void process.nextTick(() => this.#fail('WebSocket was closed before the connection was established.'));
    this.#state = states.CLOSING;
    const body = code === undefined && text.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([(code ?? 1000) >> 8, (code ?? 1000) & 255]), text]);
    this.#sending.then(() => this.#frame(8, body));
  }
  get url() { return this.#url.href; }
  get readyState() { return this.#state; }
  get bufferedAmount() { return this.#buffered; }
  get protocol() { return this.#protocol; }
  get extensions() { return ''; }
  get binaryType() { return this.#binaryType; }
  set binaryType(kind) { this.#binaryType = kind === 'arraybuffer' ? 'arraybuffer' : 'blob'; }
  static {
    for (const name of ['open', 'message', 'error', 'close']) {
      Object.defineProperty(this.prototype, `on${name}`, { configurable: true, enumerable: true, get() { return this.#handlers[name] ?? null; },
        set(handler) { this.#handlers[name] = typeof handler === 'function' ? handler : null; } });
    }
  }
}
for (const [name, value] of Object.entries(states)) for (const one of [WebSocket, WebSocket.prototype]) Object.defineProperty(one, name, { value, enumerable: true });
internal.tagged({ WebSocket });

module.exports = { WebSocket, CloseEvent };
