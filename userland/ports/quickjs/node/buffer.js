// buffer: Buffer, a Uint8Array with texts of several encodings in it.
const { native, types } = internal;
// The numbers that the host knows encodings by.
const codes = { latin1: 0, hex: 1, base64: 2, base64url: 3, utf16le: 4, ascii: 5 };

function encodingOf(name = 'utf8') {
  const known = { utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', ascii: 'ascii', latin1: 'latin1', binary: 'latin1',
    ucs2: 'utf16le', 'ucs-2': 'utf16le', utf16le: 'utf16le', 'utf-16le': 'utf16le' }[String(name ?? 'utf8').toLowerCase()];
  if (!known) throw Object.assign(new TypeError(`Unknown encoding: ${name}`), { code: 'ERR_UNKNOWN_ENCODING' });
  return known;
}

function bytesOf(text, encoding) {
  const kind = encodingOf(encoding);
  return new Uint8Array(kind === 'utf8' ? native.utf8Encode(text.isWellFormed() ? text : text.toWellFormed()) : native.textToBytes(text, codes[kind]));
}

function textOf(bytes, encoding) {
  const kind = encodingOf(encoding);
  return kind === 'utf8' ? native.utf8Decode(bytes.buffer, bytes.byteOffset, bytes.length) : native.bytesToText(bytes.buffer, bytes.byteOffset, bytes.length, codes[kind]);
}

const wrong = (name, wanted, value) => Object.assign(new TypeError(
  `The ${name} argument must be ${wanted}. Received ${value === null ? 'null' : value === undefined ? 'undefined' : typeof value === 'object' ? `an instance of ${value.constructor?.name}` : `type ${typeof value} (${typeof value === 'string' ? `'${value}'` : String(value)})`}`),
{ code: 'ERR_INVALID_ARG_TYPE' });

function Buffer(value, encoding, length) {
  return typeof value === 'number' ? Buffer.alloc(value) : Buffer.from(value, encoding, length);
}
const wrap = (bytes) => Object.setPrototypeOf(bytes, Buffer.prototype);
Object.setPrototypeOf(Buffer, Uint8Array);
Object.setPrototypeOf(Buffer.prototype, Uint8Array.prototype);

Object.assign(Buffer, {
  poolSize: 8192,
  from(value, encoding, length) {
    if (typeof value === 'string') return wrap(bytesOf(value, encoding));
    if (types.isAnyArrayBuffer(value)) return wrap(new Uint8Array(value, encoding, length));
    if (value?.type === 'Buffer' && Array.isArray(value.data)) return wrap(Uint8Array.from(value.data));
    if (ArrayBuffer.isView(value) || Array.isArray(value)) return wrap(Uint8Array.from(value));
    const primitive = value?.valueOf?.();
    if (primitive != null && primitive !== value) return Buffer.from(primitive, encoding, length);
    if (value && typeof value === 'object' && typeof value.length === 'number') return wrap(Uint8Array.from(value));
    throw wrong('first', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
  },
  alloc(size, fill, encoding) {
    if (typeof size !== 'number') throw wrong('"size"', 'of type number', size);
    if (!(size >= 0 && size <= 2 ** 31 - 1)) throw Object.assign(new RangeError(`The value of "size" is out of range. It must be >= 0 && <= ${2 ** 31 - 1}. Received ${size}`), { code: 'ERR_OUT_OF_RANGE' });
    const buffer = wrap(new Uint8Array(size));
    return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
  },
  copyBytesFrom(view, offset = 0, length = undefined) {
    if (!types.isTypedArray(view)) throw wrong('"view"', 'an instance of TypedArray', view);
    const part = view.subarray(offset, length === undefined ? undefined : offset + length);
    return Buffer.from(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  },
  allocUnsafe: (size) => Buffer.alloc(size),
  allocUnsafeSlow: (size) => Buffer.alloc(size),
  isBuffer: (value) => value instanceof Buffer,
  isEncoding: (name) => { try { return typeof name === 'string' && Boolean(encodingOf(name)); } catch { return false; } },
  // As long as the text says, whatever is in it.
  byteLength(value, encoding) {
    if (typeof value !== 'string') return value.byteLength;
    const kind = encodingOf(encoding), { length } = value;
    if (kind === 'utf8') return bytesOf(value).length;
    if (kind === 'hex') return length >>> 1;
    if (kind === 'base64' || kind === 'base64url') return (length - (value.endsWith('=') ? 1 : 0) - (length > 1 && value[length - 2] === '=' ? 1 : 0)) * 3 >>> 2;
    return kind === 'utf16le' ? 2 * length : length;
  },
  concat(list, total) {
    if (!Array.isArray(list)) throw wrong('"list"', 'an instance of Array', list);
    list.forEach((item, i) => { if (!types.isUint8Array(item)) throw wrong(`"list[${i}]"`, 'an instance of Buffer or Uint8Array', item); });
    total ??= list.reduce((sum, item) => sum + item.length, 0);
    const out = Buffer.alloc(total);
    let at = 0;
    for (const item of list) {
      if (at >= total) break;
      out.set(item.length > total - at ? item.subarray(0, total - at) : item, at);
      at += item.length;
    }
    return out;
  },
  compare(a, b) {
    return native.compareBytes(a.buffer, a.byteOffset, a.length, b.buffer, b.byteOffset, b.length);
  },
});
// What arrays make that come of a Buffer, and what some programs make theirs by.
class FastBuffer extends Uint8Array {
  constructor(...args) { super(...args); Object.setPrototypeOf(this, Buffer.prototype); }
}
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer });

const methods = {
  constructor: Buffer,
  toString(encoding, start = 0, end = this.length) {
    start = Math.max(0, Math.trunc(start) || 0);
    end = Math.min(this.length, Math.trunc(end));
    return end <= start ? '' : textOf(this.subarray(start, end), encoding);
  },
  toLocaleString(encoding, start, end) { return this.toString(encoding, start, end); },
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; },
  equals(other) { return Buffer.compare(this, other) === 0; },
  compare(other, start = 0, end = other.length, mine = 0, last = this.length) { return Buffer.compare(this.subarray(mine, last), other.subarray(start, end)); },
  subarray(start, end) { return Uint8Array.prototype.subarray.call(this, start, end); },
  slice(start, end) { return this.subarray(start, end); },
  copy(target, to = 0, from = 0, end = this.length) {
    const part = this.subarray(from, Math.min(end, from + target.length - to));
    target.set(part, to);
    return part.length;
  },
  write(text, offset = 0, length, encoding) {
    if (typeof text !== 'string') throw Object.assign(new TypeError('argument must be a string'), { code: 'ERR_INVALID_ARG_TYPE' });
    if (typeof offset === 'string') [encoding, offset, length] = [offset, 0, undefined];
    else if (typeof length === 'string') [encoding, length] = [length, undefined];
    let bytes = bytesOf(text, encoding);
    const room = Math.min(length ?? Infinity, this.length - offset);
    if (bytes.length > room) bytes = bytes.subarray(0, encodingOf(encoding) === 'utf8' ? require('string_decoder').completeLength(bytes.subarray(0, room)) : room);
    this.set(bytes, offset);
    return bytes.length;
  },
  fill(value, offset = 0, end = this.length, encoding) {
    if (typeof offset === 'string') [encoding, offset] = [offset, 0];
    else if (typeof end === 'string') [encoding, end] = [end, this.length];
    for (const [name, at] of [['offset', offset], ['end', end]])
      if (!(at >= 0 && at <= this.length)) throw Object.assign(new RangeError(`The value of "${name}" is out of range. It must be >= 0 && <= ${this.length}. Received ${at}`), { code: 'ERR_OUT_OF_RANGE' });
    if (typeof value === 'number' || typeof value === 'boolean') return Uint8Array.prototype.fill.call(this, Number(value) & 255, offset, end);
    const bytes = typeof value === 'string' ? bytesOf(value, encoding) : value;
    const part = Uint8Array.prototype.subarray.call(this, offset, end);
    if (bytes.length === 0) part.fill(0);
    else part.set(bytes.length > part.length ? bytes.subarray(0, part.length) : bytes);
    for (let done = bytes.length; done > 0 && done < part.length; done *= 2) part.copyWithin(done, 0, done);
    return this;
  },
  indexOf(value, from = 0, encoding) { return find(this, value, from, encoding, 1); },
  lastIndexOf(value, from = Infinity, encoding) { return find(this, value, from, encoding, -1); },
  includes(value, from, encoding) { return this.indexOf(value, from, encoding) >= 0; },
  swap32() { return swapped(this, 4); },
  swap64() { return swapped(this, 8); },
  swap16() { return swapped(this, 2); },
  inspect() { return this[Symbol.for('nodejs.util.inspect.custom')](); },
  [Symbol.for('nodejs.util.inspect.custom')]() {
    const shown = Array.from(this.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    return `<${this.constructor.name} ${shown}${this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? 's' : ''}` : ''}>`;
  },
};
function swapped(buffer, size) {
  if (buffer.length % size) throw Object.assign(new RangeError(`Buffer size must be a multiple of ${8 * size}-bits`), { code: 'ERR_INVALID_BUFFER_SIZE' });
  for (let at = 0; at < buffer.length; at += size) Uint8Array.prototype.subarray.call(buffer, at, at + size).reverse();
  return buffer;
}
function find(buffer, value, from, encoding, step) {
  if (typeof from === 'string') [encoding, from] = [from, step > 0 ? 0 : Infinity];
  const wanted = typeof value === 'number' ? Uint8Array.of(value & 255) : typeof value === 'string' ? bytesOf(value, encoding) : value;
  from = Number.isNaN(Number(from)) ? (step > 0 ? 0 : buffer.length) : Math.trunc(Math.min(from, buffer.length));
  if (from < 0) from = Math.max(from + buffer.length, step > 0 ? 0 : -1);
  return native.findBytes(buffer.buffer, buffer.byteOffset, buffer.length, wanted.buffer, wanted.byteOffset, wanted.length, from, step > 0 ? 0 : 1);
}

// readUInt8 ... writeDoubleBE, over a DataView.
const kinds = { UInt8: ['Uint8', 1], Int8: ['Int8', 1], UInt16: ['Uint16', 2], Int16: ['Int16', 2], UInt32: ['Uint32', 4], Int32: ['Int32', 4],
  Float: ['Float32', 4], Double: ['Float64', 8], BigUInt64: ['BigUint64', 8], BigInt64: ['BigInt64', 8] };
const checkRange = (buffer, offset, size) => {
  if (typeof offset !== 'number') throw wrong('"offset"', 'of type number', offset);
  if (offset >= 0 && offset + size <= buffer.length) return;
  throw Object.assign(new RangeError(size > buffer.length ? 'Attempt to access memory outside buffer bounds' :
    `The value of "offset" is out of range. It must be >= 0 and <= ${buffer.length - size}. Received ${offset}`), { code: 'ERR_OUT_OF_RANGE' });
};
const checkSize = (size) => {
  if (typeof size !== 'number') throw wrong('"byteLength"', 'of type number', size);
  if (!(Number.isInteger(size) && size >= 1 && size <= 6)) throw Object.assign(new RangeError(`The value of "byteLength" is out of range. It must be ${Number.isInteger(size) ? '>= 1 and <= 6' : 'an integer'}. Received ${size}`), { code: 'ERR_OUT_OF_RANGE' });
};
const checkValue = (name, value, size) => {
  if (!/Int/.test(name) || name.startsWith('Big')) return;
  const [least, most] = name.startsWith('U') ? [0, 2 ** (8 * size) - 1] : [-(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1];
  if (!(value < least || value > most)) return;
  throw Object.assign(new RangeError(`The value of "value" is out of range. It must be >= ${least} and <= ${most}. Received ${value}`), { code: 'ERR_OUT_OF_RANGE' });
};
for (const [name, [view, size]] of Object.entries(kinds)) {
  for (const order of size === 1 ? [''] : ['LE', 'BE']) {
    const read = function (offset = 0) {
      checkRange(this, offset, size);
      return new DataView(this.buffer, this.byteOffset, this.length)[`get${view}`](offset, order === 'LE');
    };
    const write = function (value, offset = 0) {
      checkValue(name, value, size);
      checkRange(this, offset, size);
      new DataView(this.buffer, this.byteOffset, this.length)[`set${view}`](offset, value, order === 'LE');
      return offset + size;
    };
    for (const spelling of new Set([name, name.replace('UInt', 'Uint')])) {
      methods[`read${spelling}${order}`] = read;
      methods[`write${spelling}${order}`] = write;
    }
  }
}
for (const signed of [false, true]) {
  for (const order of ['LE', 'BE']) {
    const name = `${signed ? 'Int' : 'UInt'}${order}`;
    const read = function (offset, size) {
      checkSize(size);
      checkRange(this, offset, size);
      let value = 0;
      for (let i = 0; i < size; i++) value = value * 256 + this[order === 'BE' ? offset + i : offset + size - 1 - i];
      return signed && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
    };
    const write = function (value, offset, size) {
      checkSize(size);
      checkValue(name, value, size);
      checkRange(this, offset, size);
      if (value < 0) value += 2 ** (8 * size);
      for (let i = 0; i < size; i++, value = Math.floor(value / 256)) this[order === 'LE' ? offset + i : offset + size - 1 - i] = value % 256;
      return offset + size;
    };
    for (const spelling of new Set([name, name.replace('UInt', 'Uint')])) {
      methods[`read${spelling}`] = read;
      methods[`write${spelling}`] = write;
    }
  }
}
// The names that packages know the encodings' own methods by.
for (const encoding of ['ascii', 'base64', 'base64url', 'latin1', 'hex', 'ucs2', 'utf8']) {
  methods[`${encoding}Slice`] = function (start, end) { return this.toString(encoding, start, end); };
  methods[`${encoding}Write`] = function (text, offset = 0, length = this.length - offset) { return this.write(text, offset, length, encoding); };
}
for (const key of Reflect.ownKeys(methods)) Object.defineProperty(Buffer.prototype, key, { value: methods[key], writable: true, configurable: true, enumerable: false });
Object.defineProperty(Buffer.prototype, 'parent', { get() { return this.buffer; } });

const typeOf = (type = '') => (/[^\x20-\x7e]/.test(type) ? '' : String(type).toLowerCase());
// What URL.createObjectURL has made addresses of.
const objects = new Map();
internal.objectAddress = (blob) => {
  if (!(blob instanceof Blob)) throw require('checks').wrongType('obj', 'Blob', blob);
  const address = `blob:nodedata:${require('crypto').randomUUID()}`;
  objects.set(address, blob);
  return address;
};
internal.forgetObject = (address) => { objects.delete(String(address)); };
class Blob {
  #size;
  // What gives its bytes between two places: those of a file are read when they are asked for.
  #read;
  #type;
  constructor(parts = [], options = {}) {
    const bytes = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part instanceof Blob ? part.#read(0, part.#size) : Buffer.from(part.buffer ?? part, part.byteOffset, part.byteLength))));
    this.#size = bytes.length;
    this.#read = (start, end) => bytes.subarray(start, end);
    this.#type = typeOf(options.type);
  }
  get size() { return this.#size; }
  get type() { return this.#type; }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return depth < 0 ? `[${this.constructor.name}]` : `${this.constructor.name} ${inspect({ size: this.#size, type: this.#type, ...this }, { ...options, depth: options.depth === null ? null : depth - 1 })}`;
  }
  static {
    internal.blobBytes = (blob) => blob.#read(0, blob.#size);
    internal.blobOf = (size, read, type) => new Blob().#of(size, read, type);
  }
  #of(size, read, type) {
    [this.#size, this.#read, this.#type] = [Math.max(size, 0), read, type];
    return this;
  }
  async text() { return this.#read(0, this.#size).toString(); }
  async arrayBuffer() { return (await this.bytes()).buffer; }
  async bytes() { return Uint8Array.from(this.#read(0, this.#size)); }
  // In parts, so that a file need not be in memory as a whole.
  stream() {
    let done = 0;
    return new ReadableStream({ pull: (controller) => {
      const end = Math.min(done + 65536, this.#size);
      if (end > done) controller.enqueue(Uint8Array.from(this.#read(done, end)));
      done = end;
      if (done >= this.#size) controller.close();
    } });
  }
  slice(start = 0, end = this.#size, type = '') {
    const place = (at) => (at < 0 ? Math.max(this.#size + at, 0) : Math.min(at, this.#size)), from = place(Math.trunc(start) || 0), to = place(Math.trunc(end) || 0), read = this.#read;
    return internal.blobOf(to - from, (one, other) => read(from + one, from + other), typeOf(type));
  }
}

const latin = (text) => {
  if (/[^\x00-\xff]/.test(text)) throw new DOMException('Invalid character', 'InvalidCharacterError');
  return Buffer.from(text, 'latin1');
};
internal.tagged({ Blob });
const bare = (data) => (ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data));
module.exports = { Buffer, SlowBuffer: Buffer, Blob, isAscii: (data) => bare(data).every((byte) => byte < 128),
  isUtf8: (data) => { try { new TextDecoder('utf-8', { fatal: true }).decode(bare(data)); return true; } catch { return false; } },
  transcode: (source, from, to) => Buffer.from(Buffer.from(source).toString(from), to), resolveObjectURL: (address) => objects.get(String(address)),
  get File() { return require('fetch').File; }, kMaxLength: 2 ** 31 - 1, constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 }, INSPECT_MAX_BYTES: 50,
  btoa: (text) => latin(String(text)).toString('base64'),
  atob: (text) => {
    const bare = String(text).replace(/[\t\n\f\r ]/g, '');
    if (/[^A-Za-z0-9+/=]/.test(bare) || bare.replace(/=+$/, '').length % 4 === 1) throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
    return Buffer.from(bare, 'base64').toString('latin1');
  },
};
