// Where node starts: the globals that Node.js has, the modules of this folder, then the program of the command line.
import * as std from 'qjs:std';
import * as os from 'qjs:os';

const native = globalThis.__native;
const root = '/usr/lib/node/';
const internal = { native, std, root, os: { ...os }, children: 0, threadId: 0 };
// What the classes of the web say that they are.
internal.tagged = (classes) => {
  for (const [name, Class] of Object.entries(classes)) Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
  return classes;
};
// A function that runs with the stores that it was made with (async_hooks).
internal.bound = (fn) => {
  const kept = native.asyncFrame();
  return function (...args) {
    const before = native.asyncFrame();
    if (before === kept) return Reflect.apply(fn, this, args);
    native.setAsyncFrame(kept);
    try {
      return Reflect.apply(fn, this, args);
    } finally {
      native.setAsyncFrame(before);
    }
  };
};

// The modules of this folder, by the names that programs ask for them by.
const names = ['_http_common', 'assert', 'async_hooks', 'buffer', 'child_process', 'cluster', 'console', 'constants', 'crypto', 'dgram', 'diagnostics_channel', 'dns', 'domain', 'events', 'fs', 'http', 'http2', 'inspector', 'module', 'net',
  'os', 'path', 'perf_hooks', 'process', 'punycode', 'querystring', 'readline', 'repl', 'stream', 'string_decoder', 'timers', 'tls', 'trace_events', 'tty', 'url', 'util', 'v8', 'vm', 'wasi', 'worker_threads',
  'zlib'];
// Those that are asked for by `node:` alone, and their files.
const prefixed = { 'node:sea': 'sea', 'node:sqlite': 'sqlite', 'node:test': 'test', 'node:test/reporters': 'test_reporters' };
// What those are made of, and programs cannot ask for.
const hidden = ['histogram', 'fs_cp', 'fs_glob', 'fs_more', 'block_list', 'mime', 'types', 'checks', 'callee', 'keys', 'repl_completion', 'repl_await', 'encodings', 'websocket', 'loop', 'zones', 'locale', 'fetch', 'intl', 'collator', 'segmenter', 'http_agent', 'typescript', 'ipc', 'web_streams', 'crypto_util', 'crypto_hash', 'crypto_random', 'crypto_cipher',
  'crypto_keys', 'crypto_keygen', 'crypto_sign', 'crypto_dh', 'crypto_x509', 'webcrypto', 'webcrypto_subtle', 'webcrypto_words', 'webassembly'];
const parts = { 'fs/promises': ['fs', 'promises'], 'timers/promises': ['timers', 'promises'], 'util/types': ['types'],
  'path/posix': ['path', 'posix'], 'path/win32': ['path', 'win32'], 'readline/promises': ['readline', 'promises'], 'stream/promises': ['stream', 'promises'],
  'assert/strict': ['assert', 'strict'], 'stream/consumers': ['stream', '__consumers'], https: ['http', '__https'],
  'dns/promises': ['dns', 'promises'], sys: ['util'], 'stream/web': ['web_streams'], 'inspector/promises': ['inspector', '__promises'],
  _stream_duplex: ['stream', 'Duplex'], _stream_passthrough: ['stream', 'PassThrough'], _stream_readable: ['stream', 'Readable'], _stream_transform: ['stream', 'Transform'],
  _stream_writable: ['stream', 'Writable'] };

internal.isBuiltin = (name) => {
  const bare = name.startsWith('node:') ? name.slice(5) : name;
  return names.includes(bare) || bare in parts || name in prefixed;
};
internal.names = [...names, ...Object.keys(parts)].sort();

const cache = Object.create(null);
internal.builtin = (name) => {
  const bare = name.startsWith('node:') ? name.slice(5) : name;
  if (bare in cache) return cache[bare].exports;
  if (bare in parts) return parts[bare].reduce((from, part, i) => (i ? from[part] : internal.builtin(part)), null);
  if (!names.includes(bare) && !hidden.includes(bare) && !(name in prefixed)) throw Object.assign(new Error(`No such built-in module: ${name}`), { code: 'ERR_UNKNOWN_BUILTIN_MODULE' });
  const module = cache[bare] = { exports: {} };
  const file = `${root}${prefixed[name] ?? bare}.js`;
  const source = std.loadFile(file);
  if (source === null) throw new Error(`cannot read ${file}`);
  native.evaluate(`(function (exports, require, module, internal) {${source}\n})`, file)(
    module.exports, internal.builtin, module, internal);
  return module.exports;
};

internal.lazy = lazy;
function lazy(name, make, global = globalThis) {
  Object.defineProperty(global, name, {
    configurable: true, enumerable: false,
    get() {
      const value = make();
      Object.defineProperty(global, name, { value, configurable: true, writable: true, enumerable: false });
      return value;
    },
    set(value) { Object.defineProperty(global, name, { value, configurable: true, writable: true, enumerable: false }); },
  });
}

// As an object of a class, whose members programs put others in the place of.
function setClock() {
  const { now } = globalThis.performance, origin = Date.now() - now();
  class Performance {
    get timeOrigin() { return origin; }
    get [Symbol.toStringTag]() { return 'Performance'; }
  }
  Object.defineProperty(Performance.prototype, 'now', { value: now, configurable: true, writable: true, enumerable: true });
  for (const [name, value] of [['Performance', Performance], ['performance', new Performance()]]) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

// What the environment says of the language; empty: nothing.
internal.saidLocale = () => std.getenv('LC_ALL') || std.getenv('LC_MESSAGES') || std.getenv('LANG') || '';
// Whether that is American English, which needs no data: it is what there is where nothing else is said.
function isAmerican(locales) {
  if (locales !== undefined) return locales === 'en-US' || locales === 'en';
  return /^(?:(?:C|POSIX|en_US)(?:[.@]|$)|$)/.test(internal.saidLocale());
}

// What the language has of languages and places, which the engine has not: each realm gets it.
internal.prepareLanguage = (global) => {
  const { Number, BigInt, Date } = global;
  lazy('Intl', () => internal.builtin('intl'), global);
  const { localeCompare } = {
    localeCompare(that, ...rest) {
      if (this === undefined || this === null) throw new TypeError('String.prototype.localeCompare called on null or undefined');
      if (!internal.localeCompare) internal.builtin('collator');
      return internal.localeCompare(this, that, ...rest);
    },
  };
  Object.defineProperty(global.String.prototype, 'localeCompare', { value: localeCompare, writable: true, configurable: true });
  lazy('WebAssembly', () => internal.builtin('webassembly'), global);
  const texts = { numberText: [[Number, BigInt], 'toLocaleString'], dateAndTimeText: [[Date], 'toLocaleString'], dateText: [[Date], 'toLocaleDateString'],
    timeText: [[Date], 'toLocaleTimeString'] };
  for (const [text, [kinds, name]] of Object.entries(texts)) {
    for (const kind of kinds) {
      const { [name]: method } = { [name](locales, options) {
        const value = kind.prototype.valueOf.call(this);
        const told = isAmerican(locales) ? internal.builtin('locale')[text](value, options) : undefined;
        if (told !== undefined) return told;
        internal.builtin('intl');
        return internal.localTexts[text](value, locales, options);
      } };
      Object.defineProperty(kind.prototype, name, { value: method, configurable: true, writable: true, enumerable: false });
    }
  }
  // The name of the time zone, where it is the usual one.
  for (const name of ['toString', 'toTimeString']) {
    const plain = Date.prototype[name];
    const { [name]: method } = { [name]() {
      const text = plain.call(this);
      return text.endsWith('GMT+0000') && /^(?:Etc\/)?(?:UTC|UCT|Universal|Zulu)?$/.test(std.getenv('TZ') ?? '') ? `${text} (Coordinated Universal Time)` : text;
    } };
    Object.defineProperty(Date.prototype, name, { value: method, configurable: true, writable: true, enumerable: false });
  }
};

function setGlobals() {
  for (const name of ['print', 'scriptArgs', 'console', 'gc', 'navigator']) delete globalThis[name];
  globalThis.global = globalThis;
  Object.defineProperty(globalThis, Symbol.toStringTag, { value: 'global', configurable: true });
  setClock();
  lazy('process', () => internal.builtin('process'));
  lazy('console', () => internal.builtin('console'));
  for (const name of ['Buffer', 'atob', 'btoa', 'Blob']) lazy(name, () => internal.builtin('buffer')[name]);
  for (const name of ['URL', 'URLSearchParams']) lazy(name, () => internal.builtin('url')[name]);
  for (const name of ['TextEncoder', 'TextDecoder']) lazy(name, () => internal.builtin('util')[name]);
  for (const name of ['Event', 'CustomEvent', 'MessageEvent', 'EventTarget', 'AbortController', 'AbortSignal']) lazy(name, () => internal.builtin('events')[name]);
  for (const name of ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'])
    lazy(name, () => internal.builtin('timers')[name]);
  for (const name of ['fetch', 'Headers', 'Request', 'Response', 'FormData', 'File']) lazy(name, () => internal.builtin('fetch')[name]);
  for (const name of ['ReadableStream', 'WritableStream', 'TransformStream', 'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableByteStreamController',
    'ReadableStreamDefaultController', 'WritableStreamDefaultWriter', 'WritableStreamDefaultController', 'TransformStreamDefaultController', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy',
    'TextEncoderStream', 'TextDecoderStream', 'CompressionStream', 'DecompressionStream']) lazy(name, () => internal.builtin('stream/web')[name]);
  for (const name of ['MessageChannel', 'MessagePort', 'BroadcastChannel']) lazy(name, () => internal.builtin('worker_threads')[name]);
  class Navigator {
    get hardwareConcurrency() { return native.cpus(); }
    get language() { return 'en-US'; }
    get languages() { return Object.freeze(['en-US']); }
    get platform() { return 'linux'; }
    get userAgent() { return `Node.js/${process.version.slice(1).split('.')[0]}`; }
  }
  for (const name of Object.getOwnPropertyNames(Navigator.prototype)) if (name !== 'constructor') Object.defineProperty(Navigator.prototype, name, { enumerable: true });
  Object.defineProperty(globalThis, 'Navigator', { value: Navigator, configurable: true, writable: true, enumerable: false });
  lazy('navigator', () => new Navigator());
  lazy('WebSocket', () => internal.builtin('websocket').WebSocket);
  // What programs seldom want of the clock.
  for (const name of ['nodeTiming', 'mark', 'measure', 'clearMarks', 'clearMeasures', 'getEntries', 'getEntriesByName', 'getEntriesByType', 'timerify', 'eventLoopUtilization', 'toJSON'])
    Object.defineProperty(performance, name, { configurable: true, get: () => (internal.builtin('perf_hooks'), performance[name]) });
  for (const name of ['PerformanceEntry', 'PerformanceMark', 'PerformanceMeasure', 'PerformanceObserver']) lazy(name, () => internal.builtin('perf_hooks')[name]);
  lazy('structuredClone', () => internal.builtin('util').structuredClone);
  internal.prepareLanguage(globalThis);
  lazy('crypto', () => internal.builtin('webcrypto').webcrypto);
  for (const name of ['Crypto', 'SubtleCrypto']) lazy(name, () => internal.builtin('webcrypto')[name]);
  lazy('CryptoKey', () => internal.builtin('webcrypto_subtle').CryptoKey);
  delete globalThis.__native;
  Object.defineProperty(globalThis, '__native', { value: native, enumerable: false, configurable: true });
}

internal.isError = (value) => native.className(value) === 'Error' || value instanceof Error;
// util.types, for the modules that want it.
Object.defineProperty(internal, 'types', { get: () => internal.builtin('types') });
setGlobals();
internal.builtin('loop');
internal.builtin('process');
internal.builtin('timers');
internal.builtin('module');
internal.run();
