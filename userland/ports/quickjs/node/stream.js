// stream: readable, writable, duplex and transforming streams with back pressure.
const { types } = internal;
const EventEmitter = require('events');

function begin(stream) {
  EventEmitter.call(stream);
  stream.destroyed = stream.closed = false;
  stream.errored = null;
}
class Stream extends EventEmitter {
  constructor() {
    super();
    begin(this);
  }
  destroy(error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.errored = error ?? null;
    const done = (failure) => process.nextTick(() => {
      if (this._w && !this._w.busy) this._refuse();
      this._errorEmitted = Boolean(failure);
      if (failure) this.emit('error', failure);
      this.closed = true;
      this.emit('close');
    });
    this._destroy(error ?? null, done);
    return this;
  }
  _destroy(error, callback) { callback(error); }
  // Several may be fed: it goes on when the last of those that were full has room.
  pipe(target, options = {}) {
    const full = this._full ??= new Set(), pipes = this._pipes ??= new Map();
    const drained = () => { if (full.delete(target) && full.size === 0) this.resume(); };
    const data = (chunk) => {
      if (target.write(chunk) !== false) return;
      full.add(target);
      this.pause();
    };
    const left = () => this.unpipe(target);
    const end = options.end === false || target === process.stdout || target === process.stderr ? left : () => target.end();
    pipes.get(target)?.();
    pipes.set(target, () => {
      this.off('data', data).off('end', end);
      target.off('drain', drained).off('close', left).off('finish', left);
      full.delete(target);
    });
    this.on('data', data).once('end', end);
    target.on('drain', drained).once('close', left).once('finish', left);
    target.emit('pipe', this);
    return target;
  }
  unpipe(target) {
    const gone = target === undefined ? [...this._pipes?.keys() ?? []] : this._pipes?.has(target) ? [target] : [];
    for (const one of gone) {
      this._pipes.get(one)();
      this._pipes.delete(one);
      one.emit('unpipe', this, { hasUnpiped: false });
    }
    if (gone.length && this._pipes.size === 0) this.pause?.();
    return this;
  }
  // Nothing is read or written before it has been made.
  _begin() {
    const done = (error) => {
      if (error) return void this.destroy(error);
      for (const side of [this._r, this._w]) if (side) side.ready = true;
      if (this._r) this._schedule();
      if (this._w) this._pump();
    };
    try {
      this._construct(done);
    } catch (error) {
      this.destroy(error);
    }
  }
  async [Symbol.asyncDispose]() { this.destroy(); }
}

const asBuffer = (chunk) => (ArrayBuffer.isView(chunk) && !Buffer.isBuffer(chunk) ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : chunk);

const readableSide = {
  _initRead(options) {
    this._r = { chunks: [], size: 0, flowing: null, ended: false, endEmitted: false, reading: false, limit: options.highWaterMark ?? options.readableHighWaterMark ?? limits[options.objectMode || options.readableObjectMode ? 1 : 0],
      objects: Boolean(options.objectMode || options.readableObjectMode), decoder: null, scheduled: false, ready: typeof this._construct !== 'function', auto: options.autoDestroy !== false };
    if (options.encoding) this.setEncoding(options.encoding);
    this.readable = true;
    this.readableEnded = false;
  },
  // What programs look at that know Node.js from within.
  get _readableState() {
    const r = this._r;
    return { flowing: r.flowing, ended: r.ended, endEmitted: r.endEmitted, reading: r.reading, length: r.size, highWaterMark: r.limit, objectMode: r.objects, buffer: r.chunks,
      destroyed: this.destroyed, closed: this.closed, errored: this.errored, errorEmitted: Boolean(this._errorEmitted), pipes: [...this._pipes?.keys() ?? []] };
  },
  get readableFlowing() { return this._r.flowing; },
  get readableLength() { return this._r.size; },
  get readableHighWaterMark() { return this._r.limit; },
  get readableObjectMode() { return this._r.objects; },
  get readableAborted() { return this.destroyed && !this._r.endEmitted; },
  get readableDidRead() { return this._r.didRead === true; },
  setEncoding(encoding) { this._r.decoder = new (require('string_decoder').StringDecoder)(encoding); this.readableEncoding = encoding; return this; },
  push(chunk, encoding) {
    const r = this._r;
    r.reading = false;
    if (r.ended) return false;
    if (chunk === null) {
      const rest = r.decoder?.end();
      if (rest) r.chunks.push(rest);
      r.ended = true;
    } else {
      if (!r.objects && typeof chunk !== 'string') chunk = asBuffer(chunk);
      if (typeof chunk === 'string' && !r.objects && !r.decoder) chunk = Buffer.from(chunk, encoding);
      else if (r.decoder && typeof chunk !== 'string') chunk = r.decoder.write(chunk);
      if (r.objects || chunk.length) { r.chunks.push(chunk); r.size += r.objects ? 1 : chunk.length; }
    }
    this._schedule();
    return r.size === 0 || r.size < r.limit;
  },
  unshift(chunk, encoding) {
    if (typeof chunk === 'string' && !this._r.objects && !this._r.decoder) chunk = Buffer.from(chunk, encoding);
    this._r.chunks.unshift(chunk);
    this._r.size += this._r.objects ? 1 : chunk.length;
    this._schedule();
  },
  _schedule() {
    if (this._r.scheduled) return;
    this._r.scheduled = true;
    process.nextTick(() => { this._r.scheduled = false; this._flow(); });
  },
  _flow() {
    const r = this._r;
    while (r.flowing && r.chunks.length && !this.destroyed) {
      const chunk = r.chunks.shift();
      r.size -= r.objects ? 1 : chunk.length;
      r.didRead = true;
      this.emit('data', chunk);
    }
    if (!r.flowing && this.listenerCount('readable') && (r.chunks.length || r.ended) && !r.endEmitted) this.emit('readable');
    this._finishRead();
    if (r.ready && !r.ended && !r.reading && !this.destroyed && (r.size === 0 || r.size < r.limit) && (r.flowing || this.listenerCount('readable'))) {
      r.reading = true;
      try {
        this._read(r.limit);
      } catch (error) {
        this.destroy(error);
      }
    }
  },
  _finishRead() {
    const r = this._r;
    if (!r.ended || r.chunks.length || r.endEmitted || this.destroyed || r.flowing === false && !this.listenerCount('readable')) return;
    if (r.flowing === null && !this.listenerCount('readable')) return;
    r.endEmitted = true;
    this.readable = false;
    this.readableEnded = true;
    this.emit('end');
    if (this._r.auto && (!this._w || this._w.finished)) process.nextTick(() => this.destroy());
  },
  _read() { throw Object.assign(new Error('The _read() method is not implemented'), { code: 'ERR_METHOD_NOT_IMPLEMENTED' }); },
  read(size) {
    const r = this._r;
    if (r.chunks.length === 0) { this._schedule(); return null; }
    let chunk;
    if (r.objects || size === undefined) {
      chunk = r.objects ? r.chunks.shift() : typeof r.chunks[0] === 'string' ? r.chunks.splice(0).join('') : Buffer.concat(r.chunks.splice(0));
    } else {
      const whole = typeof r.chunks[0] === 'string' ? r.chunks.join('') : Buffer.concat(r.chunks);
      if (whole.length < size && !r.ended) return null;
      chunk = whole.slice(0, size);
      r.chunks = whole.length > size ? [whole.slice(size)] : [];
    }
    r.size = r.objects ? r.chunks.length : r.chunks.reduce((sum, item) => sum + item.length, 0);
    r.didRead = true;
    this._schedule();
    this.emit('data', chunk);
    return chunk;
  },
  // Who is told that there is something to read takes it, and it flows to nobody.
  resume() { this._r.flowing = this.listenerCount('readable') === 0; this._schedule(); this.emit('resume'); return this; },
  pause() { if (this._r.flowing !== false) { this._r.flowing = false; this.emit('pause'); } return this; },
  isPaused() { return this._r.flowing === false; },
  on(name, listener) {
    EventEmitter.prototype.on.call(this, name, listener);
    if (name === 'data' && this._r.flowing !== false) this.resume();
    if (name === 'readable') {
      this._r.flowing = false;
      this._schedule();
    }
    return this;
  },
  off(name, listener) {
    EventEmitter.prototype.off.call(this, name, listener);
    if (name === 'readable' && this._r && this.listenerCount('readable') === 0) {
      process.nextTick(() => {
        if (this.listenerCount('readable') > 0) return;
        if (this.listenerCount('data') > 0) this.resume();
        else this._r.flowing = null;
      });
    }
    return this;
  },
  async *[Symbol.asyncIterator]() {
    let wake, failed, ended = this._r.endEmitted || this.destroyed;
    // Who leaves early leaves nobody; one that has ended is destroyed only where it does that itself.
    let left = true;
    const queue = [];
    const stir = () => wake?.();
    this.on('error', (error) => { failed = error; stir(); });
    this.once('end', () => { ended = true; stir(); });
    this.once('close', () => { ended = true; stir(); });
    if (!ended) this.on('data', (chunk) => { queue.push(chunk); if (queue.length > 16) this.pause(); stir(); });
    try {
      for (;;) {
        while (queue.length) yield queue.shift();
        if (failed) throw failed;
        left = !ended;
        if (ended) return;
        if (this.isPaused()) this.resume();
        await new Promise((resolve) => { wake = resolve; if (queue.length || ended || failed) resolve(); });
      }
    } finally {
      if (left || this._r.auto) this.destroy();
    }
  },
  async toArray() { const all = []; for await (const item of this) all.push(item); return all; },
  map(fn) { return Readable.from(async function* (from) { for await (const item of from) yield await fn(item); }(this)); },
  filter(fn) { return Readable.from(async function* (from) { for await (const item of from) if (await fn(item)) yield item; }(this)); },
  flatMap(fn) { return Readable.from(async function* (from) { for await (const item of from) yield* await fn(item); }(this)); },
  take(count) {
    return Readable.from(async function* (from) {
      if (count <= 0) return;
      let left = count;
      for await (const item of from) {
        yield item;
        if (--left <= 0) return;
      }
    }(this));
  },
  drop(count) {
    return Readable.from(async function* (from) {
      let left = count;
      for await (const item of from) if (--left < 0) yield item;
    }(this));
  },
  async forEach(fn) { for await (const item of this) await fn(item); },
  async some(fn) { for await (const item of this) if (await fn(item)) return true; return false; },
  async every(fn) { for await (const item of this) if (!await fn(item)) return false; return true; },
  async find(fn) { for await (const item of this) if (await fn(item)) return item; return undefined; },
  async reduce(fn, ...start) {
    let given = start.length > 0, sum = start[0];
    for await (const item of this) {
      sum = given ? await fn(sum, item) : item;
      given = true;
    }
    if (!given) throw Object.assign(new TypeError('Reduce of an empty stream requires an initial value'), { code: 'ERR_INVALID_ARG_TYPE' });
    return sum;
  },
};
readableSide.addListener = readableSide.on;
readableSide.removeListener = readableSide.off;

const writableSide = {
  _initWrite(options) {
    this._w = { queue: [], size: 0, limit: options.highWaterMark ?? options.writableHighWaterMark ?? limits[options.objectMode || options.writableObjectMode ? 1 : 0],
      objects: Boolean(options.objectMode || options.writableObjectMode), busy: false, ending: false, finished: false, needDrain: false, encoding: options.defaultEncoding ?? 'utf8',
      decode: options.decodeStrings !== false, ready: typeof this._construct !== 'function', corked: 0, auto: options.autoDestroy !== false };
    this.writable = true;
  },
  get _writableState() {
    const w = this._w;
    return { ended: w.ending, ending: w.ending, finished: w.finished, length: w.size, highWaterMark: w.limit, needDrain: w.needDrain, objectMode: w.objects, corked: w.corked,
      destroyed: this.destroyed, closed: this.closed, errored: this.errored, errorEmitted: Boolean(this._errorEmitted) };
  },
  get writableLength() { return this._w.size; },
  get writableHighWaterMark() { return this._w.limit; },
  get writableEnded() { return this._w.ending; },
  get writableFinished() { return this._w.finished; },
  get writableNeedDrain() { return this._w.needDrain; },
  get writableObjectMode() { return this._w.objects; },
  get writableCorked() { return this._w.corked; },
  write(chunk, encoding, callback) {
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    const w = this._w;
    if (chunk === null) throw Object.assign(new TypeError('May not write null values to stream'), { code: 'ERR_STREAM_NULL_VALUES' });
    if (w.ending || this.destroyed) {
      const error = Object.assign(new Error(w.ending ? 'write after end' : 'Cannot call write after a stream was destroyed'), { code: w.ending ? 'ERR_STREAM_WRITE_AFTER_END' : 'ERR_STREAM_DESTROYED' });
      process.nextTick(() => { callback?.(error); if (!this.destroyed) this.destroy(error); });
      return false;
    }
    if (!w.objects && typeof chunk !== 'string' && !ArrayBuffer.isView(chunk)) {
      throw Object.assign(new TypeError(`The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${chunk === undefined ? 'undefined' : `type ${typeof chunk} (${require('util').inspect(chunk)})`}`), { code: 'ERR_INVALID_ARG_TYPE' });
    }
    if (!w.objects && typeof chunk !== 'string') chunk = asBuffer(chunk);
    if (!w.objects && typeof chunk === 'string' && w.decode) chunk = Buffer.from(chunk, encoding ?? w.encoding);
    w.queue.push({ chunk, encoding: encoding ?? w.encoding, callback });
    w.size += w.objects ? 1 : chunk.length;
    this._pump();
    if (w.size >= w.limit) w.needDrain = true;
    return w.size < w.limit;
  },
  _pump() {
    const w = this._w;
    if (w.busy || !w.ready || w.corked || this.destroyed) return;
    const next = w.queue.shift();
    if (!next) {
      if (w.ending && !w.finishing) this._finish();
      return;
    }
    const many = this._writev;
    const batch = many && w.queue.length ? [next, ...w.queue.splice(0)] : [next];
    w.busy = true;
    const done = (error) => {
      w.busy = false;
      for (const { chunk } of batch) w.size -= w.objects ? 1 : chunk.length;
      // Who wrote is told after the call that wrote has returned.
      const tell = () => { for (const { callback } of batch) callback?.(error ?? null); };
      if (later) tell();
      else process.nextTick(tell);
      if (error) {
        this.destroy(error);
        return;
      }
      if (this.destroyed) return process.nextTick(() => this._refuse());
      if (w.needDrain && w.size === 0 && !w.ending) {
        w.needDrain = false;
        process.nextTick(() => this.emit('drain'));
      }
      if (later) this._pump();
      else process.nextTick(() => this._pump());
    };
    let later = false;
    try {
      if (batch.length > 1) many.call(this, batch.map(({ chunk, encoding }) => ({ chunk, encoding })), done);
      else this._write(next.chunk, next.encoding, done);
    } catch (error) {
      this.destroy(error);
    }
    later = true;
  },
  _write(chunk, encoding, callback) {
    if (this._writev) this._writev([{ chunk, encoding }], callback);
    else callback(Object.assign(new Error('The _write() method is not implemented'), { code: 'ERR_METHOD_NOT_IMPLEMENTED' }));
  },
  _final(callback) { callback(); },
  _finish() {
    this._w.finishing = true;
    this._final((error) => {
      if (error) return this.destroy(error);
      process.nextTick(() => {
        this._w.finished = true;
        this.writable = false;
        this.emit('finish');
        if (this._w.auto && (!this._r || this._r.endEmitted)) this.destroy();
      });
    });
  },
  end(chunk, encoding, callback) {
    if (typeof chunk === 'function') [chunk, callback] = [undefined, chunk];
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (callback) this.once('finish', callback);
    this._w.ending = true;
    this._w.corked = 0;
    this._pump();
    return this;
  },
  // Those that wait to be written will not be.
  _refuse() {
    for (const { callback } of this._w.queue.splice(0)) callback?.(this.errored ?? Object.assign(new Error('Cannot call write after a stream was destroyed'), { code: 'ERR_STREAM_DESTROYED' }));
  },
  cork() { this._w.corked++; },
  uncork() { if (this._w.corked > 0 && --this._w.corked === 0) this._pump(); },
  setDefaultEncoding(encoding) { this._w.encoding = encoding; return this; },
};

// Old programs call the constructor as a function on objects of their own, which are made by the same steps.
const callable = (Class, make) => new Proxy(Class, { apply(target, self, args) { make(self, ...args); } });
// What a stream is told to do it has as methods of its own.
const methods = ['read', 'write', 'writev', 'final', 'destroy', 'construct', 'transform', 'flush'];
function define(name, sides, extra = {}) {
  const make = (stream, options) => {
    begin(stream);
    for (const method of methods) if (typeof options?.[method] === 'function') stream[`_${method}`] = options[method];
    options ??= {};
    if (sides.includes(readableSide)) stream._initRead(options);
    if (sides.includes(writableSide)) stream._initWrite(options);
    if (options.signal) addAbortSignal(options.signal, stream);
    if (typeof stream._construct === 'function') process.nextTick(() => stream._begin());
  };
  const Class = { [name]: class extends Stream {
    constructor(options) {
      super();
      make(this, options);
    }
  } }[name];
  for (const side of [...sides, extra])
    for (const key of Reflect.ownKeys(side)) Object.defineProperty(Class.prototype, key, { ...Object.getOwnPropertyDescriptor(side, key), enumerable: false });
  makers.set(name, make);
  return callable(Class, make);
}
const makers = new Map();
const Readable = define('Readable', [readableSide]);
const Writable = define('Writable', [writableSide]);
const Duplex = define('Duplex', [readableSide, writableSide]);
const Transform = define('Transform', [readableSide, writableSide], {
  _transform(chunk, encoding, callback) {
    callback(Object.assign(new Error('The _transform() method is not implemented'), { code: 'ERR_METHOD_NOT_IMPLEMENTED' }), chunk, encoding);
  },
  _flush(callback) { callback(); },
  _write(chunk, encoding, callback) {
    this._transform(chunk, encoding, (error, result) => {
      if (error) return callback(error);
      const before = this._r.size;
      if (result !== undefined && result !== null) this.push(result);
      // What nobody takes holds up who writes.
      if (this._r.size === before || this._r.size < this._r.limit) callback();
      else this._held = callback;
    });
  },
  _final(callback) {
    this._flush((error, result) => {
      if (error) return callback(error);
      if (result !== undefined && result !== null) this.push(result);
      this.push(null);
      callback();
    });
  },
  _read() {
    const held = this._held;
    this._held = undefined;
    held?.();
  },
});
const PassThrough = callable(class PassThrough extends Transform {
  _transform(chunk, encoding, callback) { callback(null, chunk); }
}, makers.get('Transform'));

Readable.from = (source, options) => {
  const items = typeof source === 'string' || types.isUint8Array(source) ? [source][Symbol.iterator]() : (source[Symbol.asyncIterator] ?? source[Symbol.iterator]).call(source);
  return new Readable({ objectMode: true, ...options,
    read() {
      Promise.resolve(items.next()).then(async ({ value, done }) => this.push(done ? null : await value)).catch((error) => this.destroy(error));
    },
    destroy(error, callback) { Promise.resolve(items.return?.()).then(() => callback(error), () => callback(error)); } });
};

const between = () => require('stream/web').__between;
Readable.toWeb = (stream, options) => between().readableToWeb(stream, options);
Readable.fromWeb = (stream, options) => between().readableFromWeb(stream, options);
Writable.toWeb = (stream) => between().writableToWeb(stream);
Writable.fromWeb = (stream, options) => between().writableFromWeb(stream, options);
Duplex.toWeb = (stream) => ({ readable: between().readableToWeb(stream), writable: between().writableToWeb(stream) });

const early = () => Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
// Whether all has come out of a stream, or has gone into it; a stream of another maker is known by what it says.
const hasEnded = (stream) => (stream._r ? stream._r.endEmitted : stream.readableEnded ?? stream._readableState?.endEmitted ?? true);
const hasFinished = (stream) => (stream._w ? stream._w.finished : stream.writableFinished ?? stream._writableState?.finished ?? true);
function finished(stream, options, callback) {
  if (typeof options === 'function') [options, callback] = [{}, options];
  const { readable = stream._r ? true : !stream._w && typeof stream.read === 'function', writable = stream._w ? true : !stream._r && typeof stream.write === 'function', signal } = options ?? {};
  if (signal?.aborted) {
    process.nextTick(callback, EventEmitter.abortError(signal));
    return () => {};
  }
  const within = internal.bound(callback), over = () => (!readable || hasEnded(stream)) && (!writable || hasFinished(stream));
  const call = (error) => { stop(); within(error); };
  const went = () => { if (over()) call(); };
  const closed = () => call(stream.errored ?? (over() ? undefined : early()));
  const aborted = () => call(EventEmitter.abortError(signal));
  const listeners = { error: call, end: went, finish: went, close: closed };
  const stop = () => {
    for (const [name, listener] of Object.entries(listeners)) stream.off(name, listener);
    signal?.removeEventListener('abort', aborted);
  };
  for (const [name, listener] of Object.entries(listeners)) stream.on(name, listener);
  signal?.addEventListener('abort', aborted, { once: true });
  // What has been before is told a tick later.
  if (stream.closed) process.nextTick(() => { if (stream.listeners('close').includes(closed)) closed(); });
  else if (over()) process.nextTick(() => { if (stream.listeners('end').includes(went)) went(); });
  return stop;
}

function pipeline(...streams) {
  const callback = typeof streams.at(-1) === 'function' ? streams.pop() : () => {};
  if (Array.isArray(streams[0])) streams = streams[0];
  const plain = (item) => item !== null && typeof item === 'object' && !(item instanceof EventEmitter) && !item[Symbol.asyncIterator] && !item[Symbol.iterator] && !item.getWriter && !item.getReader;
  const { signal, end = true } = streams.length > 1 && plain(streams.at(-1)) ? streams.pop() : {};
  const made = [];
  for (const [i, item] of streams.entries()) {
    const before = made.at(-1);
    if (typeof item === 'function') made.push(i === streams.length - 1 ? sink(item, before) : Readable.from(item(before)));
    else if (i === 0 && !(item instanceof EventEmitter)) made.push(Readable.from(item));
    else { if (before) before.pipe(item, { end: end || i < streams.length - 1 }); made.push(item); }
  }
  let failed, waiting = 0, called = false;
  const done = (error) => {
    if (error && !failed) {
      failed = error;
      for (const stream of made) stream.destroy?.();
    }
    if ((--waiting !== 0 && !failed) || called) return;
    called = true;
    signal?.removeEventListener('abort', stop);
    callback(failed, made.at(-1)._result);
  };
  const stop = () => done(EventEmitter.abortError(signal));
  if (signal?.aborted) process.nextTick(stop);
  else signal?.addEventListener('abort', stop, { once: true });
  for (const stream of made) {
    if (stream === process.stdout || stream === process.stderr) continue;
    if (!end && stream === made.at(-1)) continue;
    waiting++;
    finished(stream, { readable: stream !== made.at(-1) || made.length === 1, writable: stream !== made[0] }, done);
  }
  return made.at(-1);
}
function sink(fn, source) {
  const end = new PassThrough();
  end.resume();
  const run = async () => {
    const result = fn(source);
    if (!result?.[Symbol.asyncIterator]) return result;
    for await (const item of result) void item;
  };
  run().then((result) => { end._result = result; end.end(); }, (error) => end.destroy(error));
  return end;
}

// One stream over two: what is written goes into the one, and what is read comes out of the other. Either may be missing.
function joined(into, outOf) {
  const both = new Duplex({ readableObjectMode: outOf?.readableObjectMode ?? true, writableObjectMode: into?.writableObjectMode ?? true,
    read() { if (outOf) outOf.resume(); },
    write(chunk, encoding, callback) {
      if (into.write(chunk, encoding)) callback();
      else into.once('drain', callback);
    },
    final(callback) {
      if (!into) return callback();
      finished(into, { readable: false }, callback);
      into.end();
    },
    destroy(error, callback) {
      for (const stream of [into, outOf]) stream?.destroy(error);
      callback(error);
    } });
  for (const stream of new Set([into, outOf])) stream?.on('error', (error) => both.destroy(error));
  if (outOf) {
    outOf.on('data', (chunk) => { if (!both.push(chunk)) outOf.pause(); });
    outOf.on('end', () => both.push(null));
  } else {
    both.push(null);
    both.resume();
  }
  if (!into) both.end();
  return both;
}
const invalid = (name, wanted) => Object.assign(new TypeError(`The "${name}" argument must be ${wanted}`), { code: 'ERR_INVALID_ARG_TYPE' });
Duplex.from = (body) => {
  if (body instanceof Duplex) return body;
  if (body?._r || body?._w) return joined(body._w ? body : undefined, body._r ? body : undefined);
  if (typeof body === 'function') {
    const source = new PassThrough({ objectMode: true }), given = body(source, { signal: new AbortController().signal });
    if (given?.[Symbol.asyncIterator]) return joined(source, Readable.from(given));
    if (typeof given?.then !== 'function') throw Object.assign(new TypeError('Expected Iterable, AsyncIterable or AsyncFunction to be returned from the "body" function'), { code: 'ERR_INVALID_RETURN_VALUE' });
    const taken = new Writable({ objectMode: true,
      write(chunk, encoding, callback) { if (source.write(chunk)) callback(); else source.once('drain', callback); },
      final(callback) { source.end(); given.then(() => callback(), callback); } });
    given.then(undefined, (error) => taken.destroy(error));
    return joined(taken, undefined);
  }
  if (body instanceof Blob) return Duplex.from(body.stream());
  if (body?.getReader) return joined(undefined, Readable.fromWeb(body));
  if (body?.getWriter) return joined(Writable.fromWeb(body), undefined);
  if (typeof body === 'string' || body?.[Symbol.asyncIterator] || body?.[Symbol.iterator]) return joined(undefined, Readable.from(body));
  if (body?.readable || body?.writable) return joined(body.writable && Duplex.from(body.writable), body.readable && Duplex.from(body.readable));
  if (typeof body?.then === 'function') return joined(undefined, Readable.from((async function* () { const value = await body; if (value !== null && value !== undefined) yield value; })()));
  throw invalid('body', 'of type function or an instance of Blob, ReadableStream, WritableStream, Stream, Iterable, AsyncIterable, or Promise, or { readable, writable } pair');
};
// What is written to the first of them and comes out of the last, as one stream.
function compose(...streams) {
  if (streams.length === 0) throw Object.assign(new TypeError('The "streams" argument must be specified'), { code: 'ERR_MISSING_ARGS' });
  const made = streams.map((stream) => (stream?._r || stream?._w ? stream : Duplex.from(stream)));
  if (made.length === 1) return Duplex.from(made[0]);
  const both = joined(made[0]._w ? made[0] : undefined, made.at(-1)._r ? made.at(-1) : undefined);
  pipeline(...made, (error) => { if (error) both.destroy(error); });
  return both;
}
Object.defineProperties(Readable.prototype, {
  compose: { value(stream) { return compose(this, stream); }, writable: true, configurable: true },
  // A stream of the oldest kind, with `data` and `end` and pause() as a hint.
  wrap: { value(old) {
    let paused = false;
    this._read = () => {
      if (!paused) return;
      paused = false;
      old.resume?.();
    };
    old.on('data', (chunk) => {
      if (this.push(chunk)) return;
      paused = true;
      old.pause?.();
    });
    old.on('end', () => this.push(null)).on('error', (error) => this.destroy(error));
    return this;
  }, writable: true, configurable: true },
});
// Two ends of one connection in memory.
function duplexPair(options) {
  const held = [];
  const ends = [0, 1].map((own) => new Duplex({ ...options,
    read() {
      const callback = held[own];
      held[own] = undefined;
      callback?.();
    },
    write(chunk, encoding, callback) {
      if (chunk.length === 0) return void process.nextTick(callback);
      held[1 - own] = callback;
      ends[1 - own].push(chunk);
    },
    final(callback) { ends[1 - own].once('end', callback).push(null); } }));
  return ends;
}

const promises = {
  finished: (stream, options) => new Promise((resolve, reject) => finished(stream, options ?? {}, (error) => (error ? reject(error) : resolve()))),
  pipeline: (...streams) => new Promise((resolve, reject) => pipeline(...streams, (error, result) => (error ? reject(error) : resolve(result)))),
};
function addAbortSignal(signal, stream) {
  const stop = () => stream.destroy(EventEmitter.abortError(signal));
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return stream;
}
// stream/consumers: all that comes out of a stream, as one thing.
const wholeOf = async (stream) => {
  const parts = [];
  for await (const chunk of stream) parts.push(typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer ?? chunk, chunk.byteOffset, chunk.byteLength));
  return Buffer.concat(parts);
};
const consumers = {
  buffer: wholeOf,
  text: async (stream) => new TextDecoder().decode(await wholeOf(stream)),
  json: async (stream) => JSON.parse(await consumers.text(stream)),
  arrayBuffer: async (stream) => Uint8Array.from(await wholeOf(stream)).buffer,
  blob: async (stream) => new Blob([await wholeOf(stream)]),
};
const limits = [65536, 16];  // As from Node.js 22 on.
const custom = Symbol.for('nodejs.util.promisify.custom');
finished[custom] = promises.finished;
pipeline[custom] = promises.pipeline;
const exported = callable(Stream, begin);
module.exports = Object.assign(exported, { Stream: exported, Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline, compose, duplexPair, promises, addAbortSignal,
  isWritable: (stream) => Boolean(stream?._w && stream.writable && !stream.destroyed && !stream.writableEnded), isDestroyed: (stream) => Boolean(stream?.destroyed), destroy: (stream, error) => { stream.destroy(error); },
  isReadable: (stream) => Boolean(stream?._r && stream.readable && !stream.destroyed), isErrored: (stream) => Boolean(stream?.errored), isDisturbed: (stream) => Boolean(stream?.readableDidRead || stream?.destroyed),
  getDefaultHighWaterMark: (objects) => limits[objects ? 1 : 0], setDefaultHighWaterMark: (objects, limit) => { limits[objects ? 1 : 0] = limit; } });
Object.defineProperty(Stream, '__consumers', { value: consumers });
