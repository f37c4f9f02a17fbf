// http and https: servers and clients of HTTP/1.1. TLS is spoken by the host, for clients alone.
const net = require('net');
const { Readable, Writable } = require('stream');
const EventEmitter = require('events');
const { Agent, SecureAgent } = require('http_agent');

const statusTexts = { 100: 'Continue', 101: 'Switching Protocols', 102: 'Processing', 103: 'Early Hints', 200: 'OK', 201: 'Created', 202: 'Accepted', 203: 'Non-Authoritative Information',
  204: 'No Content', 205: 'Reset Content', 206: 'Partial Content', 207: 'Multi-Status', 208: 'Already Reported', 226: 'IM Used', 300: 'Multiple Choices', 301: 'Moved Permanently', 302: 'Found',
  303: 'See Other', 304: 'Not Modified', 305: 'Use Proxy', 307: 'Temporary Redirect', 308: 'Permanent Redirect', 400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden',
  404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable', 407: 'Proxy Authentication Required', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone', 411: 'Length Required',
  412: 'Precondition Failed', 413: 'Payload Too Large', 414: 'URI Too Long', 415: 'Unsupported Media Type', 416: 'Range Not Satisfiable', 417: 'Expectation Failed', 418: "I'm a Teapot",
  421: 'Misdirected Request', 422: 'Unprocessable Entity', 423: 'Locked', 424: 'Failed Dependency', 425: 'Too Early', 426: 'Upgrade Required', 428: 'Precondition Required', 429: 'Too Many Requests',
  431: 'Request Header Fields Too Large', 451: 'Unavailable For Legal Reasons', 500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable',
  504: 'Gateway Timeout', 505: 'HTTP Version Not Supported', 506: 'Variant Also Negotiates', 507: 'Insufficient Storage', 508: 'Loop Detected', 509: 'Bandwidth Limit Exceeded', 510: 'Not Extended', 511: 'Network Authentication Required' };
const methods = ['ACL', 'BIND', 'CHECKOUT', 'CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'LINK', 'LOCK', 'M-SEARCH', 'MERGE', 'MKACTIVITY', 'MKCALENDAR', 'MKCOL', 'MOVE', 'NOTIFY', 'OPTIONS', 'PATCH', 'POST',
  'PROPFIND', 'PROPPATCH', 'PURGE', 'PUT', 'REBIND', 'REPORT', 'SEARCH', 'SOURCE', 'SUBSCRIBE', 'TRACE', 'UNBIND', 'UNLINK', 'UNLOCK', 'UNSUBSCRIBE'];
const most = 16384;  // bytes of a head
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const coded = (error, code) => Object.assign(error, { code });

// --- Messages that come ---

const single = new Set(['age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since', 'if-unmodified-since', 'last-modified', 'location', 'max-forwards',
  'proxy-authorization', 'referer', 'retry-after', 'server', 'user-agent']);
class IncomingMessage extends Readable {
  constructor(socket) {
    super();
    Object.assign(this, { socket, connection: socket, headers: {}, headersDistinct: {}, rawHeaders: [], trailers: {}, rawTrailers: [], complete: false, aborted: false, url: '', method: null, statusCode: null, statusMessage: null });
  }
  _read() { this.socket?.resume(); }
  _destroy(error, callback) {
    if (!this.complete && this.socket && !this.socket.destroyed && (this.statusCode !== null || error)) this.socket.destroy();
    callback(error);
  }
  setTimeout(time, callback) { this.socket.setTimeout(time, callback); return this; }
  // The connection has gone. Who does not ask for errors is not told of this one.
  _cut(error = coded(new Error('aborted'), 'ECONNRESET')) {
    if (this.complete || this.destroyed) return;
    this.aborted = true;
    this.emit('aborted');
    this.destroy(this.listenerCount('error') ? error : undefined);
  }
  _set(raw) {
    this.rawHeaders = raw;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i].toLowerCase(), value = raw[i + 1];
      (this.headersDistinct[name] ??= []).push(value);
      if (name === 'set-cookie') (this.headers[name] ??= []).push(value);
      else if (!(name in this.headers)) this.headers[name] = value;
      else if (!single.has(name)) this.headers[name] += (name === 'cookie' ? '; ' : ', ') + value;
    }
  }
}

// Takes bytes and calls back: head(first line, headers) -> how the body is measured, body(bytes), end().
class Parser {
  #held = Buffer.alloc(0);
  #state = 'head';
  #left = 0;
  #trailers = [];
  constructor(calls) { this.calls = calls; }
  get size() { return this.#held.length; }
  get between() { return this.#state === 'head' && this.#held.length === 0; }
  rest() { const held = this.#held; this.#held = Buffer.alloc(0); this.#state = 'over'; return held; }
  feed(bytes) {
    if (this.#held.length) bytes = Buffer.concat([this.#held, bytes]);
    this.#held = bytes;
    while (this.#step());
  }
  #take(size) { const part = this.#held.subarray(0, size); this.#held = this.#held.subarray(size); return part; }
  #line() {
    const at = this.#held.indexOf(10);
    if (at < 0) {
      if (this.#held.length > most) throw coded(new Error('Parse Error: Header overflow'), 'HPE_HEADER_OVERFLOW');
      return null;
    }
    return this.#take(at + 1).toString('latin1').replace(/\r?\n$/, '');
  }
  #step() {
    if (this.#state === 'paused' || this.#state === 'over') return false;
    if (this.#state === 'head') {
      while (this.#held[0] === 13 || this.#held[0] === 10) this.#take(1);
      const at = this.#held.indexOf('\r\n\r\n'), bare = this.#held.indexOf('\n\n');
      const end = at >= 0 && (bare < 0 || at < bare) ? at + 4 : bare >= 0 ? bare + 2 : -1;
      if (end < 0 ? this.#held.length > most : end > most) throw coded(new Error('Parse Error: Header overflow'), 'HPE_HEADER_OVERFLOW');
      if (end < 0) return false;
      const [first, ...lines] = this.#take(end).toString('latin1').trimEnd().split(/\r?\n/);
      const raw = [];
      for (const line of lines) {
        const [, name, value] = /^([^:\s]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
        if (name === undefined || !token.test(name)) throw coded(new Error('Parse Error: Invalid header token'), 'HPE_INVALID_HEADER_TOKEN');
        raw.push(name, value);
      }
      const measure = this.calls.head(first, raw);
      if (measure === 'over') { this.#state = 'over'; return false; }
      [this.#state, this.#left] = measure === 'chunks' ? ['size', 0] : measure === 'rest' ? ['rest', 0] : measure ? ['body', measure] : ['done', 0];
      return true;
    }
    if (this.#state === 'size') {
      const line = this.#line();
      if (line === null) return false;
      const size = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line);
      if (!size) throw coded(new Error('Parse Error: Invalid character in chunk size'), 'HPE_INVALID_CHUNK_SIZE');
      this.#left = Number.parseInt(size[1], 16);
      this.#state = this.#left ? 'chunk' : 'trailers';
      return true;
    }
    if (this.#state === 'trailers') {
      const line = this.#line();
      if (line === null) return false;
      if (line === '') this.#state = 'done';
      else this.#trailers.push(line);
      return true;
    }
    if (this.#state === 'chunkEnd') {
      const line = this.#line();
      if (line === null) return false;
      if (line !== '') throw coded(new Error('Parse Error: Missing expected CR after chunk data'), 'HPE_STRICT');
      this.#state = 'size';
      return true;
    }
    if (this.#state === 'done') {
      this.#state = 'head';
      const trailers = this.#trailers;
      this.#trailers = [];
      return this.calls.end(trailers) !== 'pause' || !(this.#state = 'paused');
    }
    if (this.#held.length === 0) return false;
    if (this.#state === 'rest') {
      this.calls.body(this.#take(this.#held.length));
      return false;
    }
    const part = this.#take(Math.min(this.#left, this.#held.length));
    this.#left -= part.length;
    this.calls.body(part);
    if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'chunkEnd' : 'done';
    return true;
  }
  resume() { if (this.#state === 'paused') { this.#state = 'head'; while (this.#step()); } }
  // The other side has left: true where the message may end so.
  finish() {
    if (this.#state === 'rest') { this.#state = 'over'; this.calls.end([]); return true; }
    return this.between || this.#state === 'over' || this.#state === 'paused';
  }
}
function measureOf(headers) {
  const coding = headers['transfer-encoding'], length = headers['content-length'];
  if (coding !== undefined) {
    if (length !== undefined) throw coded(new Error("Parse Error: Content-Length can't be present with Transfer-Encoding"), 'HPE_INVALID_CONTENT_LENGTH');
    if (!/(?:^|,)\s*chunked\s*$/i.test(coding)) throw coded(new Error('Parse Error: Request has invalid `Transfer-Encoding`'), 'HPE_INVALID_TRANSFER_ENCODING');
    return 'chunks';
  }
  if (length === undefined) return null;
  if (!/^\d{1,15}$/.test(length)) throw coded(new Error('Parse Error: Invalid character in Content-Length'), 'HPE_INVALID_CONTENT_LENGTH');
  return Number(length);
}

// --- Messages that go ---

function validateHeaderName(name) {
  if (typeof name !== 'string' || !token.test(name)) throw coded(new TypeError(`Header name must be a valid HTTP token ["${name}"]`), 'ERR_INVALID_HTTP_TOKEN');
}
function validateHeaderValue(name, value) {
  if (value === undefined) throw coded(new TypeError(`Invalid value "${value}" for header "${name}"`), 'ERR_HTTP_INVALID_HEADER_VALUE');
  if (/[^\t\x20-\x7e\x80-\xff]/.test(String(value))) throw coded(new TypeError(`Invalid character in header content ["${name}"]`), 'ERR_INVALID_CHAR');
}
class OutgoingMessage extends Writable {
  _headers = new Map();
  _begun = false;
  _header = null;
  headersSent = false;
  sendDate = false;
  finished = false;
  chunkedEncoding = false;
  _hasBody = true;
  constructor(options) {
    super({ decodeStrings: true, ...options });
  }
  setHeader(name, value) {
    if (this.headersSent) throw coded(new Error('Cannot set headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
    validateHeaderName(name);
    for (const one of [value].flat()) validateHeaderValue(name, one);
    this._headers.set(name.toLowerCase(), [name, Array.isArray(value) ? value : value]);
    return this;
  }
  setHeaders(headers) { for (const [name, value] of headers) this.setHeader(name, value); return this; }
  appendHeader(name, value) { const before = this.getHeader(name); return this.setHeader(name, before === undefined ? value : [before, value].flat()); }
  getHeader(name) { return this._headers.get(name.toLowerCase())?.[1]; }
  hasHeader(name) { return this._headers.has(name.toLowerCase()); }
  removeHeader(name) {
    if (this.headersSent) throw coded(new Error('Cannot remove headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
    const low = name.toLowerCase();
    this._headers.delete(low);
    // It does not come back by itself.
    if (low === 'date') this.sendDate = false;
    if (low === 'connection') this._withoutConnection = true;
  }
  getHeaderNames() { return [...this._headers.keys()]; }
  getRawHeaderNames() { return [...this._headers.values()].map(([name]) => name); }
  getHeaders() { return Object.assign(Object.create(null), Object.fromEntries([...this._headers].map(([key, [, value]]) => [key, value]))); }
  addTrailers(trailers) { this._trailers = { ...this._trailers, ...trailers }; }
  flushHeaders() { this._sendHead(); }
  setTimeout(time, callback) { if (callback) this.once('timeout', callback); this._onSocket((socket) => socket.setTimeout(time, () => this.emit('timeout'))); return this; }
  _onSocket(use) { if (this.socket) use(this.socket); else this.once('socket', use); }
  // From here on the head's text is settled; it goes with what is sent next. Node.js has it in `_header`, where frameworks look.
  _settle() {
    if (this.headersSent) return;
    this._complete();
    this.headersSent = true;
    let text = `${this._firstLine()}\r\n`;
    for (const [name, value] of this._headers.values()) for (const one of [value].flat()) text += `${name}: ${one}\r\n`;
    this._header = `${text}\r\n`;
    this._head = Buffer.from(this._header, 'latin1');
  }
  _implicitHeader() { this._settle(); }
  _sendHead() {
    if (!this.headersSent) this._implicitHeader();
    this._put(Buffer.alloc(0), () => {});
  }
  _put(bytes, callback) {
    const all = this._head ? Buffer.concat([this._head, bytes]) : bytes;
    this._head = undefined;
    if (all.length === 0) return void process.nextTick(callback);
    this._onSocket((socket) => { if (socket.destroyed || !socket.writable) callback(); else socket.write(all, callback); });
  }
  write(chunk, encoding, callback) { this._begun = true; return super.write(chunk, encoding, callback); }
  end(chunk, encoding, callback) {
    if (typeof chunk === 'function') [chunk, callback] = [undefined, chunk];
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    if (this.finished) { if (callback) process.nextTick(callback); return this; }
    const last = chunk === undefined || chunk === null ? Buffer.alloc(0) : typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    if (!this.headersSent && !this._begun && !this._trailers) this._whole = last.length;
    this.finished = true;
    this._begun = true;
    this._ended = true;
    if (!this.headersSent) this._implicitHeader();
    return last.length ? super.end(last, undefined, callback) : super.end(callback);
  }
  _write(chunk, encoding, callback) {
    if (!this.headersSent) this._implicitHeader();
    if (this._noBody) return void process.nextTick(callback);
    this._put(this.chunkedEncoding ? Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]) : chunk, callback);
  }
  _final(callback) {
    if (!this.headersSent) this._implicitHeader();
    const trailers = Object.entries(this._trailers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this._put(this.chunkedEncoding && !this._noBody ? Buffer.from(`0\r\n${trailers}\r\n`, 'latin1') : Buffer.alloc(0), () => { this._sent?.(); callback(); });
  }
  // How the body's end is told.
  _measure(may) {
    if (this._noBody || this.hasHeader('content-length')) return;
    if (this.hasHeader('transfer-encoding')) this.chunkedEncoding = /chunked/i.test(String(this.getHeader('transfer-encoding')));
    else if (this._whole !== undefined) { if (this._whole || may) this._headers.set('content-length', ['Content-Length', String(this._whole)]); }
    else { this._headers.set('transfer-encoding', ['Transfer-Encoding', 'chunked']); this.chunkedEncoding = true; }
  }
}

class ServerResponse extends OutgoingMessage {
  statusCode = 200;
  statusMessage = undefined;
  sendDate = true;
  constructor(request) {
    super();
    this.req = request;
    this.socket = this.connection = request.socket;
    if (request.method === 'HEAD') this._hasBody = false;
  }
  writeHead(status, message, headers) {
    if (this.headersSent) throw coded(new Error('Cannot write headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
    if (typeof message !== 'string') [message, headers] = [undefined, message];
    if (!(status >= 100 && status <= 999)) throw coded(new RangeError(`Invalid status code: ${status}`), 'ERR_HTTP_INVALID_STATUS_CODE');
    this.statusCode = status | 0;
    if (message !== undefined) this.statusMessage = message;
    if (Array.isArray(headers?.[0])) headers = headers.flat();
    if (Array.isArray(headers)) for (let i = 0; i < headers.length; i += 2) this.appendHeader(headers[i], headers[i + 1]);
    else for (const [name, value] of Object.entries(headers ?? {})) this.setHeader(name, value);
    this._settle();
    return this;
  }
  // By the writeHead that the response has: middleware puts one of its own there, to add what it must before the head goes.
  _implicitHeader() { this.writeHead(this.statusCode); }
  writeHeader(...words) { return this.writeHead(...words); }
  writeContinue() { this.socket.write('HTTP/1.1 100 Continue\r\n\r\n'); }
  writeProcessing() { this.socket.write('HTTP/1.1 102 Processing\r\n\r\n'); }
  writeEarlyHints(hints, callback) {
    if (hints?.link === undefined || hints.link.length === 0) return;
    const links = [hints.link].flat().join(', ');
    validateHeaderValue('link', links);
    let text = `HTTP/1.1 103 Early Hints\r\nLink: ${links}\r\n`;
    for (const [name, value] of Object.entries(hints)) {
      if (name.toLowerCase() === 'link') continue;
      validateHeaderName(name);
      validateHeaderValue(name, value);
      text += `${name}: ${value}\r\n`;
    }
    this.socket.write(`${text}\r\n`, 'latin1', callback);
  }
  assignSocket(socket) { this.socket = socket; }
  _firstLine() { return `HTTP/1.1 ${this.statusCode} ${this.statusMessage ??= statusTexts[this.statusCode] ?? 'unknown'}`; }
  _complete() {
    this._noBody = this.req.method === 'HEAD' || this.statusCode === 204 || this.statusCode === 304 || this.statusCode < 200;
    const old = this.req.httpVersionMinor === 0;
    if (this.sendDate && !this.hasHeader('date')) this._headers.set('date', ['Date', new Date().toUTCString()]);
    const asked = String(this.req.headers?.connection ?? '').toLowerCase(), own = this.getHeader('connection');
    this.shouldKeepAlive = own !== undefined ? !/close/i.test(String(own)) : old ? asked.includes('keep-alive') : !asked.includes('close');
    if (own === undefined && !this._withoutConnection) {
      this._headers.set('connection', ['Connection', this.shouldKeepAlive ? 'keep-alive' : 'close']);
      if (this.shouldKeepAlive && this.req.socket) this._headers.set('keep-alive', ['Keep-Alive', 'timeout=5']);
    }
    // A message that is answered, but came by no connection, has no version: nothing says that the other side takes chunks.
    if ((old || this.req.httpVersionMajor === undefined) && this._whole === undefined && !this.hasHeader('content-length')) this.shouldKeepAlive = false;
    else this._measure(true);
  }
}

class ClientRequest extends OutgoingMessage {
  // Whatever a connection that others use too tells of this request is told with the stores of who asks.
  #asked = internal.bound((listener, args) => listener(...args));
  constructor(input, options, callback) {
    // A request that is written is not over: the response is still to come.
    super({ autoDestroy: false });
    if (typeof input === 'string') input = new URL(input);
    if (typeof options === 'function') [options, callback] = [{}, options];
    const words = { ...(input instanceof URL ? require('url').urlToHttpOptions(input) : input), ...options };
    this.protocol = words.protocol ?? words.defaultProtocol ?? 'http:';
    if (words.defaultProtocol && this.protocol !== words.defaultProtocol) throw coded(new TypeError(`Protocol "${this.protocol}" not supported. Expected "${words.defaultProtocol}"`), 'ERR_INVALID_PROTOCOL');
    const secure = this.protocol === 'https:', usual = secure ? 443 : 80;
    this.method = String(words.method ?? 'GET').toUpperCase();
    this.path = words.path ?? '/';
    if (/[^\x21-\xff]/.test(this.path)) throw coded(new TypeError('Request path contains unescaped characters'), 'ERR_UNESCAPED_CHARACTERS');
    this.host = words.hostname ?? words.host ?? 'localhost';
    const agent = words.agent === false ? new (secure ? SecureAgent : Agent)() : words.agent ?? (typeof words.createConnection === 'function' ? undefined : words.defaultAgent ?? agents[this.protocol]);
    if (agent !== undefined && typeof agent.addRequest !== 'function')
      throw coded(new TypeError(`The "options.agent" property must be one of Agent-like Object, undefined, or false. Received ${require('util').inspect(words.agent)}`), 'ERR_INVALID_ARG_TYPE');
    const port = Number(words.port || words.defaultPort || agent?.defaultPort || usual);
    this.agent = agent;
    this.shouldKeepAlive = Boolean(agent && (agent.keepAlive || agent.maxSockets !== Infinity));
    this.aborted = false;
    this.reusedSocket = false;
    this.maxHeadersCount = null;
    if (Array.isArray(words.headers)) for (let i = 0; i < words.headers.length; i += 2) this.appendHeader(words.headers[i], words.headers[i + 1]);
    else for (const [name, value] of Object.entries(words.headers ?? {})) if (value !== undefined) this.setHeader(name, value);
    if (!this.hasHeader('host') && words.setHost !== false) this.setHeader('Host', `${net.isIPv6(this.host) ? `[${this.host}]` : this.host}${port === usual ? '' : `:${port}`}`);
    if (words.auth && !this.hasHeader('authorization')) this.setHeader('Authorization', `Basic ${Buffer.from(words.auth).toString('base64')}`);
    if (callback) this.once('response', callback);
    if (words.timeout) {
      this.timeout = words.timeout;
      this.setTimeout(words.timeout);
    }
    const asked = { ...words, host: this.host, port, path: this.path, signal: undefined };
    // Made at once, so that what it throws is thrown here.
    if (agent) agent.addRequest(this, asked);
    else this.onSocket(words.createConnection({ ...asked, path: words.socketPath ?? null }, (error, socket) => { if (error) this.onSocket(null, error); else if (!this.socket) this.onSocket(socket); }));
    if (words.signal) {
      const stop = () => this.destroy(EventEmitter.abortError(words.signal));
      if (words.signal.aborted) process.nextTick(stop);
      else words.signal.addEventListener('abort', stop, { once: true });
    }
  }
  onSocket(socket, error) {
    if (!socket && !error) return;
    process.nextTick(() => this.#asked(() => {
      if (error) return void this.destroy(error);
      socket._httpMessage = this;
      if (this.destroyed) {
        // Nobody has begun to speak on it: it serves the next.
        if (this.agent) socket.emit('free');
        else socket.destroy();
        return;
      }
      this.socket = this.connection = socket;
      this.#listen(socket);
      this.emit('socket', socket);
    }, []));
  }
  #listen(socket) {
    let response;
    const parser = new Parser({
      head: (first, raw) => {
        const [, minor, status, text] = /^HTTP\/1\.(\d) (\d{3})(?: (.*))?$/.exec(first) ?? [];
        if (status === undefined) throw coded(new Error('Parse Error: Expected HTTP/'), 'HPE_INVALID_CONSTANT');
        const message = new IncomingMessage(socket);
        Object.assign(message, { httpVersion: `1.${minor}`, httpVersionMajor: 1, httpVersionMinor: Number(minor), statusCode: Number(status), statusMessage: text ?? '', req: this });
        message._set(raw);
        if (message.statusCode === 101 || (this.method === 'CONNECT' && message.statusCode === 200)) {
          const name = message.statusCode === 101 ? 'upgrade' : 'connect';
          process.nextTick(() => {
            socket.removeAllListeners('data');
            this.upgradeOrConnect = true;
            const head = parser.rest();
            if (!this.emit(name, message, socket, head)) socket.destroy();
          });
          return 'over';
        }
        if (message.statusCode < 200) {
          this.emit(message.statusCode === 100 ? 'continue' : 'information', message);
          this._informed = true;
          return 0;
        }
        response = this.res = message;
        const none = this.method === 'HEAD' || message.statusCode === 204 || message.statusCode === 304;
        const measure = none ? 0 : measureOf(message.headers) ?? 'rest', said = String(message.headers.connection ?? '').toLowerCase();
        if (measure === 'rest' || (minor === '0' ? !said.includes('keep-alive') : said.includes('close'))) this.shouldKeepAlive = false;
        if (!this.emit('response', message)) message.resume();
        return measure;
      },
      body: (bytes) => { if (!response.push(Buffer.from(bytes))) socket.pause(); },
      end: (trailers) => {
        if (this._informed && !response) { this._informed = false; return; }
        for (const line of trailers) { const at = line.indexOf(':'); response.trailers[line.slice(0, at).toLowerCase()] = line.slice(at + 1).trim(); }
        response.complete = true;
        response.push(null);
        response.once('end', () => { read = true; over(); });
      },
    });
    // The response has been read and the request is written: the connection goes on, or ends.
    let read = false;
    const over = () => {
      if (!read || this.upgradeOrConnect) return;
      if (!this.shouldKeepAlive) return void socket.destroySoon();
      if (!this.writableFinished) return void this.once('finish', over);
      for (const [name, listener] of Object.entries(listeners)) socket.off(name, listener);
      socket.resume();
      process.nextTick(() => socket.emit('free'));
      this.destroy();
    };
    const listeners = {};
    const on = (name, listener) => {
      listeners[name] = (...args) => this.#asked(listener, args);
      socket.on(name, listeners[name]);
    };
    on('data', (bytes) => {
      try {
        parser.feed(bytes);
      } catch (error) {
        this.destroy(error);
        socket.destroy();
      }
    });
    on('end', () => {
      if (this.upgradeOrConnect || parser.finish() && response) return;
      if (response) response._cut();
      else this.destroy(coded(new Error('socket hang up'), 'ECONNRESET'));
    });
    on('error', (error) => { if (response) response._cut(error); else this.destroy(error); });
    on('close', () => {
      if (!response && !this.destroyed && !this.upgradeOrConnect) this.destroy(coded(new Error('socket hang up'), 'ECONNRESET'));
      else if (response && !response.complete) response._cut();
      else if (!this.destroyed) this.destroy();
    });
  }
  _firstLine() { return `${this.method} ${this.path} HTTP/1.1`; }
  _complete() {
    if (this.hasHeader('connection')) this.shouldKeepAlive = Boolean(this.agent) && !/close/i.test(String(this.getHeader('connection')));
    else this._headers.set('connection', ['Connection', this.shouldKeepAlive ? 'keep-alive' : 'close']);
    const bare = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'].includes(this.method);
    this._measure(!bare);
  }
  // Given up before there is an answer, it has failed: who waits is told.
  _destroy(error, callback) {
    // A socket that a library has put here tells the error itself (nock).
    if (this.socket && this.socket._httpMessage !== this) {
      this.socket.destroy(error ?? undefined);
      return callback(null);
    }
    if (this.socket && !this.upgradeOrConnect && !(this.res?.complete)) this.socket.destroy();
    callback(error ?? (this.res || this.upgradeOrConnect ? null : coded(new Error('socket hang up'), 'ECONNRESET')));
  }
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    process.nextTick(() => this.emit('abort'));
    this.destroy(coded(new Error('socket hang up'), 'ECONNRESET'));
  }
  setNoDelay() {}
  setSocketKeepAlive() {}
}

// --- Servers ---

class Server extends net.Server {
  constructor(options, listener) {
    if (typeof options === 'function') [options, listener] = [{}, options];
    super({ ...options, allowHalfOpen: true });
    Object.assign(this, { timeout: 0, keepAliveTimeout: options?.keepAliveTimeout ?? 5000, headersTimeout: options?.headersTimeout ?? 60000, requestTimeout: options?.requestTimeout ?? 300000, maxHeadersCount: null, maxRequestsPerSocket: 0 });
    if (listener) this.on('request', listener);
    this.on('connection', (socket) => this.#serve(socket));
  }
  setTimeout(time, callback) { this.timeout = time; if (callback) this.on('timeout', callback); return this; }
  closeAllConnections() { for (const socket of this.connections) socket.destroy(); }
  closeIdleConnections() { for (const socket of this.connections) if (socket.idle) socket.destroy(); }
  close(callback) {
    super.close(callback);
    this.closeIdleConnections();
    return this;
  }
  #serve(socket) {
    let request, response, idle, answered = true, received = true;
    socket.idle = true;
    if (this.timeout) socket.setTimeout(this.timeout, () => { if (!this.emit('timeout', socket)) socket.destroy(); });
    // The next request of the connection comes when this one is answered and has been read.
    const next = () => {
      if (!answered || !received) return;
      socket.idle = true;
      if (!this.listening) return void socket.destroySoon();
      clearTimeout(idle);
      idle = setTimeout(() => socket.destroy(), this.keepAliveTimeout);
      idle.unref();
      give(() => parser.resume());
      socket.resume();
    };
    const parser = new Parser({
      head: (first, raw) => {
        const [, method, url, minor] = /^([A-Z-]+) (\S+) HTTP\/1\.(\d)$/.exec(first) ?? [];
        if (method === undefined || !methods.includes(method)) throw coded(new Error(`Parse Error: ${method === undefined ? 'Expected HTTP/' : 'Invalid method encountered'}`), method === undefined ? 'HPE_INVALID_CONSTANT' : 'HPE_INVALID_METHOD');
        request = new IncomingMessage(socket);
        Object.assign(request, { httpVersion: `1.${minor}`, httpVersionMajor: 1, httpVersionMinor: Number(minor), method, url });
        request._set(raw);
        const { headers } = request;
        if (minor !== '0' && headers.host === undefined) throw coded(new Error('Missing Host'), 'ERR_HTTP_NO_HOST');
        const measure = measureOf(headers) ?? 0;
        socket.idle = false;
        clearTimeout(idle);
        answered = received = false;
        const upgrade = headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
        if (method === 'CONNECT' || (upgrade && this.listenerCount('upgrade') > 0)) {
          request.complete = true;
          process.nextTick(() => {
            socket.removeAllListeners('data');
            if (!this.emit(method === 'CONNECT' ? 'connect' : 'upgrade', request, socket, parser.rest())) socket.destroy();
          });
          return 'over';
        }
        const made = response = new ServerResponse(request);
        made._sent = () => {
          answered = true;
          if (made.shouldKeepAlive) process.nextTick(next);
          else socket.destroySoon();
          // What nobody has read of the request goes by.
          if (!received) request.resume();
        };
        if (/100-continue/i.test(headers.expect ?? '') && Number(minor) > 0) {
          if (this.emit('checkContinue', request, response)) return measure;
          response.writeContinue();
        }
        if (!this.emit('request', request, response)) response.destroy();
        return measure;
      },
      body: (bytes) => { if (!request.push(Buffer.from(bytes))) socket.pause(); },
      end: (trailers) => {
        for (const line of trailers) { const at = line.indexOf(':'); request.trailers[line.slice(0, at).toLowerCase()] = line.slice(at + 1).trim(); }
        request.complete = true;
        request.push(null);
        received = true;
        process.nextTick(next);
        return 'pause';
      },
    });
    // A request does not begin with the stores of the one before it.
    const give = internal.bound((work) => {
      try {
        work();
      } catch (error) {
        if (this.emit('clientError', error, socket)) return;
        const status = { HPE_HEADER_OVERFLOW: 431 }[error.code] ?? 400;
        socket.end(`HTTP/1.1 ${status} ${statusTexts[status]}\r\nConnection: close\r\n\r\n`);
      }
    });
    socket.on('data', (bytes) => {
      give(() => parser.feed(bytes));
      // Who sends on before it is answered waits.
      if (parser.size > 65536 && !answered) socket.pause();
    });
    socket.on('end', () => {
      if (answered) socket.end();
      else if (!request.complete) socket.destroy();
    });
    socket.on('close', () => {
      clearTimeout(idle);
      if (answered) return;
      request._cut();
      response?.destroy();
    });
    socket.on('error', (error) => { if (!answered) request._cut(error); });
  }
}

function api(protocol) {
  const request = (input, options, callback) => {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    const words = { defaultProtocol: protocol, ...options };
    return new ClientRequest(input, words, callback);
  };
  const get = (...args) => { const made = request(...args); made.end(); return made; };
  return { Agent: protocol === 'https:' ? SecureAgent : Agent, request, get };
}
const settings = { keepAlive: true, scheduling: 'lifo', timeout: 5000 };
const agents = { 'http:': new Agent(settings), 'https:': new SecureAgent(settings) };
// Old programs call the constructor as a function, on objects of their own.
const callable = (Class) => new Proxy(Class, { apply(target, self, args) {
  const made = new target(...args);
  return self instanceof target ? void Object.defineProperties(self, Object.getOwnPropertyDescriptors(made)) : made;
} });
const http = module.exports = { ...api('http:'), METHODS: methods, STATUS_CODES: statusTexts, IncomingMessage: callable(IncomingMessage), OutgoingMessage: callable(OutgoingMessage), ServerResponse: callable(ServerResponse), ClientRequest, Server: callable(Server), maxHeaderSize: most,
  createServer: (...args) => new Server(...args), validateHeaderName, validateHeaderValue, setMaxIdleHTTPParsers: () => {} };
Object.defineProperty(http, '__https', { value: { ...api('https:'), Server: require('tls').Server, createServer() { throw coded(new Error('Servers with TLS are not in this node'), 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM'); } } });
// Programs put agents of their own in the place of the usual one.
for (const [protocol, exported] of Object.entries({ 'http:': http, 'https:': http.__https }))
  Object.defineProperty(exported, 'globalAgent', { get: () => agents[protocol], set: (agent) => { agents[protocol] = agent; }, enumerable: true, configurable: true });
Object.defineProperty(http, '__parsing', { value: { Parser, measureOf } });
