// util: what Node.js's util has; inspect is in inspect.js.
const { native, std, types } = internal;
const inspecting = {};
native.evaluate(`(function (exports, require, internal) {${std.loadFile(`${internal.root}inspect.js`)}\n})`, `${internal.root}inspect.js`)(inspecting, require, internal);
const { inspect, format, formatWithOptions, stringWidth, isProxy } = inspecting;

const { isBoolean, isOneOf, isString, outOfRange, wrongType } = require('checks');
const custom = Symbol.for('nodejs.util.promisify.custom');
function promisify(original) {
  if (typeof original !== 'function') throw Object.assign(new TypeError('The "original" argument must be of type function'), { code: 'ERR_INVALID_ARG_TYPE' });
  if (original[custom]) return original[custom];
  return function (...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (error, ...values) => (error ? reject(error) : resolve(values[0]))]);
    });
  };
}
promisify.custom = custom;

function callbackify(original) {
  return function (...args) {
    const callback = args.pop();
    Reflect.apply(original, this, args).then((value) => process.nextTick(callback, null, value), (error) => process.nextTick(callback, error));
  };
}

const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
// What old programs ask for.
const ofOld = { isBoolean: (v) => typeof v === 'boolean', isBuffer: (v) => Buffer.isBuffer(v), isNull: (v) => v === null, isNullOrUndefined: (v) => v === null || v === undefined, isNumber: (v) => typeof v === 'number',
  isString: (v) => typeof v === 'string', isSymbol: (v) => typeof v === 'symbol', isUndefined: (v) => v === undefined, isRegExp: types.isRegExp, isObject: (v) => v !== null && typeof v === 'object', isDate: types.isDate,
  isError: (v) => internal.isError(v), isFunction: (v) => typeof v === 'function', isPrimitive: (v) => v === null || !['object', 'function'].includes(typeof v) };

// Equal in structure. `strict` as assert.deepStrictEqual has it.
function isDeepEqual(a, b, strict, seen = new Map()) {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (tag(a) !== tag(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  const same = (x, y) => isDeepEqual(x, y, strict, seen);
  if (types.isDate(a) && types.isDate(b) && !Object.is(a.getTime(), b.getTime())) return false;
  if (types.isRegExp(a) && String(a) !== String(b)) return false;
  if (internal.isError(a) && (a.message !== b.message || a.name !== b.name)) return false;
  if (types.isBoxedPrimitive(a) && !same(a.valueOf(), b.valueOf())) return false;
  if (ArrayBuffer.isView(a) || types.isArrayBuffer(a)) {
    const bytes = (v) => (types.isArrayBuffer(v) ? new Uint8Array(v) : new Uint8Array(v.buffer, v.byteOffset, v.byteLength));
    const x = bytes(a), y = bytes(b);
    return x.length === y.length && x.every((byte, i) => byte === y[i]);
  }
  if (types.isSet(a) && (a.size !== b.size || ![...a].every((x) => b.has(x) || (typeof x === 'object' && [...b].some((y) => same(x, y)))))) return false;
  if (types.isMap(a) && (a.size !== b.size || ![...a].every(([k, v]) => (b.has(k) ? same(v, b.get(k)) : [...b].some(([l, w]) => same(k, l) && same(v, w)))))) return false;
  const keys = Object.keys(a), others = Object.keys(b);
  if (keys.length !== others.length || (Array.isArray(a) && a.length !== b.length)) return false;
  if (strict) {
    const symbols = (v) => Object.getOwnPropertySymbols(v).filter((s) => Object.prototype.propertyIsEnumerable.call(v, s));
    const mine = symbols(a);
    if (mine.length !== symbols(b).length || !mine.every((s) => same(a[s], b[s]))) return false;
  }
  return keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

// What there can be no copy of.
const refused = (value) => {
  const kind = tag(value), plain = value.constructor?.name ?? 'Object';
  return new DOMException(`${typeof value === 'function' || typeof value === 'symbol' ? String(value) : kind === plain || kind === 'Object' ? `#<${plain}>` : `[object ${kind}]`} could not be cloned.`, 'DataCloneError');
};
const single = ['Promise', 'WeakMap', 'WeakSet', 'WeakRef', 'FinalizationRegistry', 'Generator', 'AsyncGenerator', 'Map Iterator', 'Set Iterator', 'Array Iterator', 'String Iterator'];
const cannotBeCloned = (value) => typeof value === 'function' || typeof value === 'symbol' || isProxy(value) || (typeof value === 'object' && single.includes(tag(value)));
const errorKinds = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const define = (object, key, value, enumerable = true) => Object.defineProperty(object, key, { value, enumerable, writable: true, configurable: true });

function clone(value, seen) {
  if (typeof value === 'function' || typeof value === 'symbol') throw refused(value);
  if (value === null || typeof value !== 'object') return value;
  if (seen.has(value)) return seen.get(value);
  if (cannotBeCloned(value)) throw refused(value);
  const keep = (copy) => { seen.set(value, copy); return copy; };
  if (types.isDate(value)) return keep(new Date(value.getTime()));
  if (types.isRegExp(value)) return keep(new RegExp(value.source, value.flags));
  if (types.isSymbolObject(value)) throw refused(value);
  if (types.isBoxedPrimitive(value)) return keep(Object(value.valueOf()));
  if (types.isSharedArrayBuffer(value)) return keep(value);
  if (types.isArrayBuffer(value)) {
    if (value.detached) throw new DOMException('An ArrayBuffer is detached and could not be cloned.', 'DataCloneError');
    if (!value.resizable) return keep(value.slice(0));
    const copy = keep(new ArrayBuffer(value.byteLength, { maxByteLength: value.maxByteLength }));
    new Uint8Array(copy).set(new Uint8Array(value));
    return copy;
  }
  if (ArrayBuffer.isView(value)) {
    const Kind = types.isDataView(value) ? DataView : globalThis[value[Symbol.toStringTag]];
    return keep(new Kind(clone(value.buffer, seen), value.byteOffset, value.length ?? value.byteLength));
  }
  // Keys do not change.
  if (internal.isKeyObject?.(value) || internal.isCryptoKey?.(value)) return keep(value);
  if (value instanceof Blob) return keep(value.slice(0, value.size, value.type));
  if (internal.isPort?.(value)) throw new DOMException('Object that needs transfer was found in message but not listed in transferList', 'DataCloneError');
  if (types.isMap(value)) {
    const copy = keep(new Map());
    for (const [k, v] of [...value]) copy.set(clone(k, seen), clone(v, seen));
    return copy;
  }
  if (types.isSet(value)) {
    const copy = keep(new Set());
    for (const v of [...value]) copy.add(clone(v, seen));
    return copy;
  }
  if (value instanceof DOMException) return keep(new DOMException(value.message, value.name));
  if (value instanceof URL || value instanceof URLSearchParams) throw new DOMException('Cannot clone object of unsupported type.', 'DataCloneError');
  if (native.className(value) === 'Arguments') throw new DOMException('#<Object> could not be cloned.', 'DataCloneError');
  if (internal.isError(value)) {
    const copy = keep(Object.hasOwn(errorKinds, value.name) ? new errorKinds[value.name]() : new Error());
    for (const key of ['message', 'stack']) if (typeof value[key] === 'string') define(copy, key, value[key], false);
    if (Object.hasOwn(value, 'cause')) define(copy, 'cause', clone(value.cause, seen), false);
    return copy;
  }
  const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) define(copy, key, clone(value[key], seen));
  return copy;
}
// Buffers and ports that are given away: the ports themselves, and of a buffer a new one with its bytes.
function structuredClone(...words) {
  if (words.length === 0) throw Object.assign(new TypeError('The value argument must be specified'), { code: 'ERR_MISSING_ARGS' });
  if (words[1] !== undefined && words[1] !== null && typeof words[1] !== 'object') throw Object.assign(new TypeError("Failed to execute 'structuredClone': Options cannot be converted to a dictionary"), { code: 'ERR_INVALID_ARG_TYPE' });
  const seen = new Map(), list = [...words[1]?.transfer ?? []];
  for (const item of list) {
    const port = internal.isPort?.(item);
    if (!port && !(types.isArrayBuffer(item))) throw new DOMException('Found invalid value in transferList.', 'DataCloneError');
    if (item.detached) throw new DOMException('An ArrayBuffer is detached and could not be cloned.', 'DataCloneError');
    if (list.indexOf(item) !== list.lastIndexOf(item)) throw new DOMException(`Transfer list contains duplicate ${port ? 'MessagePort' : 'ArrayBuffer'}`, 'DataCloneError');
    if (port) seen.set(item, item);
  }
  const copy = clone(words[0], seen);
  for (const item of list) if (types.isArrayBuffer(item)) item.transfer();
  return copy;
}

class TextEncoder {
  encoding = 'utf-8';
  encode(text = '') { return new Uint8Array(native.utf8Encode(String(text).toWellFormed())); }
  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const char of text) {
      const bytes = this.encode(char);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += char.length;
    }
    return { read, written };
  }
}
const labels = { 'utf-8': ['utf-8', 'utf8', 'unicode-1-1-utf-8'], 'utf-16le': ['utf-16le', 'utf-16', 'utf16le', 'ucs-2', 'unicode', 'csunicode', 'iso-10646-ucs-2'], 'utf-16be': ['utf-16be', 'unicodefffe'],
  'windows-1252': ['windows-1252', 'latin1', 'iso-8859-1', 'iso8859-1', 'iso88591', 'iso_8859-1', 'ascii', 'us-ascii', 'ansi_x3.4-1968', 'cp1252', 'cp819', 'ibm819', 'l1', 'x-cp1252'] };
const upper = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';
class TextDecoder {
  #rest = new Uint8Array(0);
  constructor(encoding = 'utf-8', options = {}) {
    const name = String(encoding).toLowerCase();
    const known = Object.keys(labels).find((one) => labels[one].includes(name.trim())) ?? require('encodings').nameOf(name.trim());
    if (!known) throw Object.assign(new RangeError(`The "${encoding}" encoding is not supported`), { code: 'ERR_ENCODING_NOT_SUPPORTED' });
    this.encoding = known;
    this.fatal = Boolean(options.fatal);
    this.ignoreBOM = Boolean(options.ignoreBOM);
  }
  decode(input = new Uint8Array(0), options = {}) {
    let bytes = types.isArrayBuffer(input) ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (this.encoding === 'windows-1252') return Buffer.from(bytes).toString('latin1').replace(/[\x80-\x9f]/g, (char) => upper[char.charCodeAt(0) - 128]);
    if (this.#rest.length) {
      const joined = new Uint8Array(this.#rest.length + bytes.length);
      joined.set(this.#rest);
      joined.set(bytes, this.#rest.length);
      bytes = joined;
    }
    if (this.encoding !== 'utf-8' && !(this.encoding in labels)) return this.#legacy(bytes, Boolean(options.stream));
    if (this.encoding !== 'utf-8') return this.#wide(bytes, Boolean(options.stream));
    const whole = options.stream ? require('string_decoder').completeLength(bytes) : bytes.length;
    this.#rest = bytes.slice(whole);
    let text = native.utf8Decode(bytes.buffer, bytes.byteOffset, whole);
    if (this.fatal && text.includes('\ufffd') && !isDeepEqual(new TextEncoder().encode(text), bytes.subarray(0, whole), true))
      throw Object.assign(new TypeError('The encoded data was not valid for encoding utf-8'), { code: 'ERR_ENCODING_INVALID_ENCODED_DATA' });
    if (!this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    return text;
  }
  #legacy(bytes, stream) {
    const got = native.legacyText(require('encodings').tableOf(this.encoding), bytes.buffer, bytes.byteOffset, bytes.length);
    if (got === undefined) throw Object.assign(new RangeError(`The "${this.encoding}" encoding is not supported`), { code: 'ERR_ENCODING_NOT_SUPPORTED' });
    const [text, left, wrong] = got;
    this.#rest = stream ? bytes.slice(bytes.length - left) : new Uint8Array(0);
    if (this.fatal && (wrong || (left && !stream))) throw Object.assign(new TypeError(`The encoded data was not valid for encoding ${this.encoding}`), { code: 'ERR_ENCODING_INVALID_ENCODED_DATA' });
    return left && !stream ? `${text}\ufffd` : text;
  }
  // Units of two bytes, of which the last may wait for what comes.
  #wide(bytes, stream) {
    let end = bytes.length - bytes.length % 2;
    const big = this.encoding === 'utf-16be', unit = (at) => bytes[big ? at : at + 1];
    if (stream && end && unit(end - 2) >= 0xd8 && unit(end - 2) < 0xdc) end -= 2;
    const whole = Buffer.from(bytes.subarray(0, end)), odd = !stream && end < bytes.length;
    this.#rest = stream ? bytes.slice(end) : new Uint8Array(0);
    let text = (big ? whole.swap16() : whole).toString('utf16le');
    if (this.fatal && (odd || !text.isWellFormed())) throw Object.assign(new TypeError(`The encoded data was not valid for encoding ${this.encoding}`), { code: 'ERR_ENCODING_INVALID_ENCODED_DATA' });
    text = text.toWellFormed() + (odd ? '\ufffd' : '');
    return !this.ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}

// The options of a command line.
function parseArgs({ args = process.argv.slice(2), options = {}, strict = true, allowPositionals = !strict, allowNegative = false, tokens: withTokens = false } = {}) {
  const problem = (code, text) => Object.assign(new TypeError(text), { code: `ERR_PARSE_ARGS_${code}` });
  const values = Object.create(null), positionals = [], tokens = [];
  const nameOfShort = (letter) => Object.keys(options).find((name) => options[name].short === letter) ?? letter;
  const store = (name, rawName, value, inlineValue, index) => {
    let stored = name, set = value ?? true;
    if (allowNegative && value === undefined && !(name in options) && name.startsWith('no-') && options[name.slice(3)]?.type === 'boolean') [stored, set] = [name.slice(3), false];
    const option = options[stored];
    const label = option?.short ? `-${option.short}, --${stored}` : rawName.startsWith('--') ? `--${stored}` : rawName;
    if (strict) {
      if (!option) throw problem('UNKNOWN_OPTION', `Unknown option '${rawName}'${allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(rawName)}` : ''}`);
      if (option.type === 'string' && value === undefined) throw problem('INVALID_OPTION_VALUE', `Option '${label} <value>' argument missing`);
      if (option.type === 'boolean' && value !== undefined) throw problem('INVALID_OPTION_VALUE', `Option '${label}' does not take an argument`);
    }
    tokens.push({ kind: 'option', name: stored, rawName, index, value, inlineValue });
    if (stored === '__proto__') return;
    if (option?.multiple) (values[stored] ??= []).push(set);
    else values[stored] = set;
  };
  for (let i = 0; i < args.length; i++) {
    const word = args[i], index = i;
    const takesNext = (name) => options[name]?.type === 'string' && i + 1 < args.length && (strict ? !/^-./.test(args[i + 1]) || args[i + 1] === '-' : true);
    if (word === '--') {
      tokens.push({ kind: 'option-terminator', index });
      for (const rest of args.slice(i + 1)) { tokens.push({ kind: 'positional', index: ++i, value: rest }); positionals.push(rest); }
      break;
    }
    if (word.startsWith('--')) {
      const at = word.indexOf('=', 3);
      const name = at < 0 ? word.slice(2) : word.slice(2, at);
      if (at >= 0) store(name, `--${name}`, word.slice(at + 1), true, index);
      else if (takesNext(name)) store(name, word, args[++i], false, index);
      else store(name, word, undefined, undefined, index);
    } else if (word.startsWith('-') && word !== '-') {
      for (let j = 1; j < word.length; j++) {
        const name = nameOfShort(word[j]);
        if (options[name]?.type === 'string' && j + 1 < word.length) { store(name, `-${word[j]}`, word.slice(j + 1), true, index); break; }
        if (takesNext(name)) store(name, `-${word[j]}`, args[++i], false, index);
        else store(name, `-${word[j]}`, undefined, undefined, index);
      }
    } else {
      if (!allowPositionals) throw problem('UNEXPECTED_POSITIONAL', `Unexpected argument '${word}'. This command does not take positional arguments`);
      tokens.push({ kind: 'positional', index, value: word });
      positionals.push(word);
    }
  }
  for (const [name, option] of Object.entries(options)) if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  return withTokens ? { values, positionals, tokens } : { values, positionals };
}

// The lines NAME=value of an environment file: quoted values may be long, # begins a remark.
function parseEnv(text) {
  isString(text, 'content');
  const found = {};
  const line = /^[ \t\ufeff]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:'([^']*)'|"([^"]*)"|`([^`]*)`|([^\n#]*))?[^\n]*$/gm;
  for (const [, name, single, double, back, bare] of text.replaceAll('\r\n', '\n').matchAll(line))
    found[name] = single ?? double?.replaceAll('\\n', '\n') ?? back ?? bare?.trim() ?? '';
  return found;
}

const showsColours = (stream) => {
  const { FORCE_COLOR: forced } = process.env;
  return forced !== undefined ? forced !== '0' && forced !== 'false' : Boolean(stream?.isTTY) && process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb';
};
// The errors of the system and of its resolver, with libuv's words for them.
let known;
function systemErrors() {
  if (known) return known;
  const { errorNames, textOf } = require('os').__errors;
  known = new Map(Object.entries(errorNames).map(([number, name]) => [-number, [name, textOf(name, Number(number))]]));
  const others = { EAI_ADDRFAMILY: [3000, 'address family not supported'], EAI_AGAIN: [3001, 'temporary failure'], EAI_BADFLAGS: [3002, 'bad ai_flags value'], EAI_CANCELED: [3003, 'request canceled'],
    EAI_FAIL: [3004, 'permanent failure'], EAI_FAMILY: [3005, 'ai_family not supported'], EAI_MEMORY: [3006, 'out of memory'], EAI_NODATA: [3007, 'no address'], EAI_NONAME: [3008, 'unknown node or service'],
    EAI_OVERFLOW: [3009, 'argument buffer overflow'], EAI_SERVICE: [3010, 'service not available for socket type'], EAI_SOCKTYPE: [3011, 'socket type not supported'], EAI_BADHINTS: [3013, 'invalid value for hints'],
    EAI_PROTOCOL: [3014, 'resolved protocol is unknown'], ECHARSET: [4080, 'invalid Unicode character'], UNKNOWN: [4094, 'unknown error'], EOF: [4095, 'end of file'], EFTYPE: [4028, 'inappropriate file type or format'] };
  for (const [name, [number, text]] of Object.entries(others)) known.set(-number, [name, text]);
  return known;
}
function checkedError(number) {
  if (typeof number !== 'number') throw wrongType('err', 'number', number);
  if (!Number.isInteger(number) || number >= 0) throw outOfRange('err', 'a negative integer', number);
  return number;
}
function styleText(style, text, options = {}) {
  const { validateStream = true, stream = process.stdout } = options;
  isString(text, 'text');
  isBoolean(validateStream, 'options.validateStream');
  let [on, off] = ['', ''];
  for (const name of [style].flat()) {
    if (name === 'none') continue;
    const codes = inspect.colors[name];
    if (codes === undefined) isOneOf(name, 'format', Object.keys(inspect.colors));
    [on, off] = [`${on}\x1b[${codes[0]}m`, `\x1b[${codes[1]}m${off}`];
  }
  if (!validateStream) return on + text + off;
  if (!(stream instanceof require('stream')) && !(stream instanceof ReadableStream) && !(stream instanceof WritableStream)) throw wrongType('stream', ['ReadableStream', 'WritableStream', 'Stream'], stream);
  return showsColours(stream) ? on + text + off : text;
}
const warned = new Set();
// For values that go elsewhere as bytes (v8, worker_threads).
Object.assign(internal, { cannotBeCloned, refusedClone: refused });
module.exports = {
  inspect, format, formatWithOptions, stringWidth, promisify, callbackify, types, TextEncoder, TextDecoder, isDeepEqual, structuredClone, ...ofOld,
  isDeepStrictEqual: (a, b) => isDeepEqual(a, b, true),
  isArray: Array.isArray,
  inherits(constructor, parent) {
    Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(constructor.prototype, parent.prototype);
  },
  deprecate(fn, message, code) {
    return function (...args) {
      if (!warned.has(message)) {
        warned.add(message);
        process.stderr.write(`(node:${process.pid}) ${code ? `[${code}] ` : ''}DeprecationWarning: ${message}\n`);
      }
      return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
    };
  },
  debuglog: (section) => {
    const on = new RegExp(`(^|,)${section}(,|$)`, 'i').test(process.env.NODE_DEBUG ?? '');
    return Object.assign((...args) => { if (on) process.stderr.write(`${section.toUpperCase()} ${process.pid}: ${format(...args)}\n`); }, { enabled: on });
  },
  getSystemErrorMap: () => new Map(systemErrors()),
  getSystemErrorMessage: (number) => systemErrors().get(checkedError(number))?.[1] ?? `Unknown system error ${number}`,
  getSystemErrorName: (number) => systemErrors().get(checkedError(number))?.[0] ?? `Unknown system error ${number}`,
  parseArgs, parseEnv, aborted: (signal) => new Promise((resolve) => { if (signal.aborted) resolve(); else signal.addEventListener('abort', () => resolve(), { once: true }); }),
  stripVTControlCharacters: (text) => text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, ''),
  toUSVString: (text) => String(text).toWellFormed(),
  styleText,
};
for (const name of ['MIMEType', 'MIMEParams']) Object.defineProperty(module.exports, name, { get: () => require('mime')[name], enumerable: true, configurable: true });
