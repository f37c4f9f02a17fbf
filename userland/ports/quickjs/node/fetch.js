// fetch, and the Headers, Request and Response of the web, over http and https.
const { types } = internal;
const { Readable } = require('stream');
const { abortError } = require('events');

class Headers {
  #map = new Map();
  constructor(init) {
    if (init instanceof Headers || Array.isArray(init) || typeof init?.[Symbol.iterator] === 'function') for (const [name, value] of init) this.append(name, value);
    else for (const [name, value] of Object.entries(init ?? {})) this.append(name, value);
  }
  #key(name) {
    const key = String(name).toLowerCase();
    if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(key)) throw new TypeError(`Headers: ${name} is an invalid header name.`);
    return key;
  }
  append(name, value) { const key = this.#key(name); this.#map.set(key, [...(this.#map.get(key) ?? []), String(value).trim()]); }
  set(name, value) { this.#map.set(this.#key(name), [String(value).trim()]); }
  get(name) { return this.#map.get(this.#key(name))?.join(', ') ?? null; }
  has(name) { return this.#map.has(this.#key(name)); }
  delete(name) { this.#map.delete(this.#key(name)); }
  getSetCookie() { return [...(this.#map.get('set-cookie') ?? [])]; }
  forEach(fn, self) { for (const [name, value] of this) fn.call(self, value, name, this); }
  *entries() { for (const name of [...this.#map.keys()].sort()) for (const value of name === 'set-cookie' ? this.#map.get(name) : [this.#map.get(name).join(', ')]) yield [name, value]; }
  *keys() { for (const [name] of this.entries()) yield name; }
  *values() { for (const [, value] of this.entries()) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) { return `Headers ${inspect(Object.fromEntries(this), options)}`; }
}

class File extends Blob {
  constructor(parts, name, options = {}) {
    super(parts, options);
    Object.assign(this, { name: String(name), lastModified: options.lastModified ?? Date.now() });
  }
}
class FormData {
  #parts = [];
  #entry(value, name) { return value instanceof Blob ? (value instanceof File && name === undefined ? value : new File([value], name ?? value.name ?? 'blob', { type: value.type })) : String(value); }
  append(key, value, name) { this.#parts.push([String(key), this.#entry(value, name)]); }
  set(key, value, name) { this.delete(key); this.append(key, value, name); }
  get(key) { return this.#parts.find(([one]) => one === key)?.[1] ?? null; }
  getAll(key) { return this.#parts.filter(([one]) => one === key).map(([, value]) => value); }
  has(key) { return this.#parts.some(([one]) => one === key); }
  delete(key) { this.#parts = this.#parts.filter(([one]) => one !== key); }
  forEach(fn, self) { for (const [key, value] of this) fn.call(self, value, key, this); }
  entries() { return this.#parts.map((part) => [...part]).values(); }
  keys() { return this.#parts.map(([key]) => key).values(); }
  values() { return this.#parts.map(([, value]) => value).values(); }
  [Symbol.iterator]() { return this.entries(); }
}
async function formBytes(form, boundary) {
  const parts = [], quoted = (text) => text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');
  for (const [key, value] of form) {
    const file = typeof value !== 'string';
    parts.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(key)}"${file ? `; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}` : ''}\r\n\r\n`),
      file ? Buffer.from(await value.arrayBuffer()) : Buffer.from(value), Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

// What a body is made of: bytes or a stream, and the type that it says by itself.
function bodyOf(init) {
  if (init === null || init === undefined) return { bytes: null };
  if (typeof init === 'string') return { bytes: Buffer.from(init), type: 'text/plain;charset=UTF-8' };
  if (init instanceof URLSearchParams) return { bytes: Buffer.from(String(init)), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (init instanceof FormData) {
    const boundary = `----formdata-node-${require('crypto').randomBytes(8).toString('hex')}`;
    return { bytes: formBytes(init, boundary), type: `multipart/form-data; boundary=${boundary}` };
  }
  if (init instanceof Blob) return { bytes: init.arrayBuffer().then((bytes) => Buffer.from(bytes)), type: init.type || undefined };
  if (types.isArrayBuffer(init)) return { bytes: Buffer.from(init) };
  if (ArrayBuffer.isView(init)) return { bytes: Buffer.from(init.buffer, init.byteOffset, init.byteLength) };
  if (typeof init[Symbol.asyncIterator] === 'function') return { stream: init };
  return { bytes: Buffer.from(String(init)), type: 'text/plain;charset=UTF-8' };
}
class Body {
  #made;
  #used = false;
  get bodyUsed() { return this.#used || (this.#made.stream instanceof ReadableStream && this.#made.stream._disturbed); }
  _setBody(made) { this.#made = made; }
  _body() { return this.#made; }
  get body() {
    const made = this.#made;
    if (made.stream === undefined && made.bytes === null) return null;
    if (!(made.stream instanceof ReadableStream)) {
      const source = made.stream ?? (async function* () { yield await made.bytes; }());
      made.stream = Readable.toWeb(source instanceof Readable ? source : Readable.from(source, { objectMode: false }));
    }
    return made.stream;
  }
  async #bytes() {
    if (this.bodyUsed) throw new TypeError('Body is unusable: Body has already been read');
    const made = this.#made;
    if (made.stream === undefined && made.bytes === null) return Buffer.alloc(0);
    this.#used = true;
    return made.stream === undefined ? made.bytes : collected(made.stream);
  }
  async text() { return new TextDecoder().decode(await this.#bytes()); }
  async json() { return JSON.parse(await this.text()); }
  async arrayBuffer() { return Uint8Array.from(await this.#bytes()).buffer; }
  async bytes() { return Uint8Array.from(await this.#bytes()); }
  async blob() { return new Blob([await this.#bytes()], { type: this.headers.get('content-type') ?? '' }); }
  async formData() {
    const form = new FormData(), type = this.headers.get('content-type') ?? '', boundary = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(type);
    if (boundary) readParts(await this.#bytes(), boundary[1] ?? boundary[2], form);
    else if (/^application\/x-www-form-urlencoded\b/i.test(type)) for (const [key, value] of new URLSearchParams(await this.text())) form.append(key, value);
    else throw new TypeError('Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".');
    return form;
  }
  // One for each of two that read what comes: all of it, as one piece.
  _share() {
    if (this.bodyUsed) throw new TypeError('Response.clone: Body has already been consumed.');
    if (this.#made.stream !== undefined) this.#made = { bytes: collected(this.#made.stream) };
    return { ...this.#made };
  }
}
// The parts of a body into a form: between lines with the boundary, each with a head of its own.
function readParts(bytes, boundary, form) {
  const all = Buffer.concat([Buffer.from('\r\n'), bytes]), line = `\r\n--${boundary}`;
  const broken = () => new TypeError('Failed to parse body as FormData.');
  const named = (head, word) => new RegExp(`;\\s*${word}="([^"]*)"`, 'i').exec(head)?.[1].replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n');
  let at = all.indexOf(line);
  for (;;) {
    if (at < 0) throw broken();
    at += line.length;
    if (all.toString('latin1', at, at + 2) === '--') return;
    const begin = all.indexOf('\r\n\r\n', at), end = all.indexOf(line, begin);
    if (begin < 0 || end < 0) throw broken();
    const head = all.toString('utf8', at, begin), key = named(head, 'name'), file = named(head, 'filename');
    if (key === undefined) throw broken();
    const body = all.subarray(begin + 4, Math.max(end, begin + 4));
    if (file === undefined) form.append(key, body.toString());
    else form.append(key, new File([body], file, { type: /\r\ncontent-type:[ \t]*([^\r]*)/i.exec(head)?.[1] ?? 'text/plain' }));
    at = end;
  }
}
async function collected(stream) {
  const parts = [];
  for await (const chunk of stream) parts.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(parts);
}

class Request extends Body {
  constructor(input, init = {}) {
    super();
    const from = input instanceof Request ? input : undefined;
    this.url = from ? from.url : new URL(String(input)).href;
    this.method = String(init.method ?? from?.method ?? 'GET').replace(/^(?:delete|get|head|options|post|put)$/i, (word) => word.toUpperCase());
    this.headers = new Headers(init.headers ?? from?.headers);
    this.redirect = init.redirect ?? from?.redirect ?? 'follow';
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
    const body = init.body ?? undefined;
    if (body !== undefined && /^(?:GET|HEAD)$/.test(this.method)) throw new TypeError('Request with GET/HEAD method cannot have body.');
    const made = body === undefined && from ? from._body() : bodyOf(body);
    if (made.type && !this.headers.has('content-type')) this.headers.set('content-type', made.type);
    this._setBody(made);
  }
  clone() { return new Request(this); }
}
class Response extends Body {
  constructor(body = null, init = {}) {
    super();
    this.status = init.status ?? 200;
    if (!(this.status >= 200 && this.status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    Object.assign(this, { type: 'default', url: '', redirected: false });
    const made = bodyOf(body);
    if (made.type && !this.headers.has('content-type')) this.headers.set('content-type', made.type);
    this._setBody(made);
  }
  get ok() { return this.status >= 200 && this.status < 300; }
  clone() {
    const copy = new Response(null, this);
    copy._setBody(this._share());
    return Object.assign(copy, { type: this.type, url: this.url, redirected: this.redirected });
  }
  static json(data, init = {}) { const made = new Response(JSON.stringify(data), init); if (!new Headers(init.headers).has('content-type')) made.headers.set('content-type', 'application/json'); return made; }
  static redirect(url, status = 302) { return new Response(null, { status, headers: { location: new URL(url).href } }); }
  static error() { return Object.assign(new Response(), { type: 'error', status: 0 }); }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `Response ${inspect({ status: this.status, statusText: this.statusText, headers: this.headers, bodyUsed: this.bodyUsed, ok: this.ok, redirected: this.redirected, type: this.type, url: this.url }, options)}`;
  }
}

const failed = (cause) => Object.assign(new TypeError('fetch failed'), { cause });
async function fetch(input, init) {
  const request = new Request(input, init), { signal } = request;
  let url = new URL(request.url), { method } = request, made = request._body();
  const headers = new Headers(request.headers);
  if (made.stream === undefined && made.bytes !== null) made = { bytes: await made.bytes };
  for (let hops = 0; ; hops++) {
    if (signal.aborted) throw signal.reason;
    if (url.protocol === 'data:') {
      const [, type, base64, data] = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(url.href);
      return new Response(base64 ? Buffer.from(decodeURIComponent(data), 'base64') : Buffer.from(decodeURIComponent(data)), { headers: { 'content-type': type || 'text/plain;charset=US-ASCII' } });
    }
    if (!/^https?:$/.test(url.protocol)) throw failed(new Error('unknown scheme'));
    const answer = await one(url, method, headers, made, signal);
    const location = answer.headers.location;
    if (![301, 302, 303, 307, 308].includes(answer.statusCode) || location === undefined || request.redirect === 'manual') return responseOf(answer, url, hops > 0);
    answer.resume();
    if (request.redirect === 'error') throw failed(new Error('unexpected redirect'));
    if (hops === 20) throw failed(new Error('redirect count exceeded'));
    const before = url.origin;
    url = new URL(location, url);
    if (answer.statusCode === 303 && method !== 'HEAD' || (answer.statusCode < 303 && method === 'POST')) {
      method = method === 'HEAD' ? method : 'GET';
      made = { bytes: null };
      for (const name of ['content-type', 'content-length', 'content-encoding']) headers.delete(name);
    }
    if (url.origin !== before) for (const name of ['authorization', 'cookie', 'host']) headers.delete(name);
  }
}
function one(url, method, headers, made, signal) {
  return new Promise((resolve, reject) => {
    const sent = Object.fromEntries([...headers]);
    const usual = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node', 'accept-encoding': 'br, gzip, deflate' };
    for (const [name, value] of Object.entries(usual)) sent[name] ??= value;
    if (made.bytes) sent['content-length'] = String(made.bytes.length);
    else if (made.stream === undefined && /^(?:POST|PUT|PATCH)$/.test(method)) sent['content-length'] = '0';
    const request = require(url.protocol === 'https:' ? 'https' : 'http').request(url, { method, headers: sent });
    const stop = () => { reject(signal.reason); request.destroy(abortError(signal)); answered?.destroy(signal.reason); };
    let answered;
    signal.addEventListener('abort', stop, { once: true });
    request.on('response', (answer) => { answered = answer; answer.once('close', () => signal.removeEventListener('abort', stop)); resolve(answer); });
    request.on('error', (error) => { signal.removeEventListener('abort', stop); reject(failed(error)); });
    if (made.stream !== undefined) Readable.from(made.stream, { objectMode: false }).on('error', (error) => request.destroy(error)).pipe(request);
    else request.end(made.bytes ?? undefined);
  });
}
function responseOf(answer, url, redirected) {
  const zlib = require('zlib');
  const none = answer.req.method === 'HEAD' || [204, 304].includes(answer.statusCode);
  let stream = answer;
  for (const coding of String(answer.headers['content-encoding'] ?? '').toLowerCase().split(',').map((word) => word.trim()).reverse()) {
    if (none || !/^(?:(?:x-)?gzip|deflate|br)$/.test(coding)) continue;
    const unpack = coding === 'deflate' ? zlib.createInflate() : coding === 'br' ? zlib.createBrotliDecompress() : zlib.createGunzip();
    stream.on('error', (error) => unpack.destroy(error));
    stream = stream.pipe(unpack);
  }
  const response = new Response(null, { status: answer.statusCode, statusText: answer.statusMessage, headers: answer.rawHeaders.reduce((pairs, word, i, all) => (i % 2 ? pairs : [...pairs, [word, all[i + 1]]]), []) });
  if (none) answer.resume();
  else response._setBody({ stream });
  return Object.assign(response, { type: 'basic', url: url.href.replace(/#.*/, ''), redirected });
}
module.exports = { fetch, ...internal.tagged({ Headers, Request, Response, FormData, File }) };
