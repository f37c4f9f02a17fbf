// Timers and what is immediate: objects, as in Node.js. The loop (loop.js) asks for those that are due.
const { native } = internal;
const { now } = performance; // programs may put another in its place
const refused = (callback) => Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${callback === null ? 'null' : typeof callback}`),
  { code: 'ERR_INVALID_ARG_TYPE' });

class Timeout {
  constructor(callback, delay, args, repeats) {
    if (typeof callback !== 'function') throw refused(callback);
    this._callback = callback;
    this._frame = native.asyncFrame();
    this._args = args;
    this._repeats = repeats;
    this._delay = delay >= 1 && delay <= 2147483647 ? Math.trunc(delay) : 1;
    this._loose = false;
    this._start();
  }
  _start() {
    this._due = now() + this._delay;
    // Those that are due at the same time go in the order in which they were set.
    let at = timers.length;
    while (at > 0 && timers[at - 1]._due > this._due) at--;
    timers.splice(at, 0, this);
    this._waits = true;
    if (!this._loose) held++;
  }
  _run() {
    this._take(0);
    this._again = this._repeats;
    internal.step(() => {
      try {
        this._callback(...this._args);
      } finally {
        if (this._again && !this._waits) this._start();
      }
    }, this._frame);
  }
  _take(at) {
    timers.splice(at, 1);
    this._waits = false;
    if (!this._loose) held--;
  }
  _stop() {
    this._callback = null;
    this._again = false;
    if (this._waits) this._take(timers.indexOf(this));
  }
  _loosen(loose) {
    if (this._waits && loose !== this._loose) held += loose ? -1 : 1;
    this._loose = loose;
    return this;
  }
  // From now on, also where it has run; not where it was stopped.
  refresh() {
    if (this._callback === null) return this;
    if (this._waits) this._take(timers.indexOf(this));
    this._start();
    return this;
  }
  close() { this._stop(); return this; }
  ref() { return this._loosen(false); }
  // One that does not keep the program: it is dropped when it would be all that is left.
  unref() { return this._loosen(true); }
  hasRef() { return !this._loose; }
  [Symbol.toPrimitive]() { internal.timerIds ??= new Map(); internal.timerIds.set(this._id ??= nextId++, this); return this._id; }
}
let nextId = 1;

class Immediate {
  constructor(callback, args) {
    if (typeof callback !== 'function') throw refused(callback);
    this._callback = callback;
    this._frame = native.asyncFrame();
    this._args = args;
    this._loose = false;
    immediates.push(this);
    heldImmediates++;
  }
  _loosen(loose) {
    if (this._callback && loose !== this._loose) heldImmediates += loose ? -1 : 1;
    this._loose = loose;
    return this;
  }
  // What is to be called, which then is called no more.
  _take() {
    const callback = this._callback;
    this._callback = null;
    if (callback && !this._loose) heldImmediates--;
    return callback;
  }
  ref() { return this._loosen(false); }
  unref() { return this._loosen(true); }
  hasRef() { return !this._loose; }
}

// What waits, and how much of it keeps the program.
const timers = [];
let immediates = [], held = 0, heldImmediates = 0;
const queues = {
  held: () => held > 0 || heldImmediates > 0,
  // How many milliseconds may be waited: -1 for without end.
  wait: () => (immediates.length ? 0 : timers.length ? Math.max(0, Math.ceil(timers[0]._due - now())) : -1),
  // Those that are due when it begins, so that a round has an end.
  runDue() {
    if (timers.length === 0) return;
    for (const time = now(); timers.length && timers[0]._due <= time;) timers[0]._run();
  },
  // Those that are there when it begins.
  runImmediates() {
    if (immediates.length === 0) return;
    const round = immediates;
    immediates = [];
    for (const each of round) {
      const callback = each._take();
      if (callback) internal.step(callback, each._frame, each, each._args);
    }
  },
};

const clear = (timer) => {
  if (timer instanceof Timeout) timer._stop();
  else if (internal.timerIds?.has(Number(timer))) internal.timerIds.get(Number(timer))._stop();
};
const api = module.exports = {
  setTimeout: (callback, delay, ...args) => new Timeout(callback, delay, args, false),
  setInterval: (callback, delay, ...args) => new Timeout(callback, delay, args, true),
  setImmediate: (callback, ...args) => new Immediate(callback, args),
  clearTimeout: clear, clearInterval: clear,
  clearImmediate: (immediate) => { if (immediate instanceof Immediate) immediate._take(); },
};
// A timer as a promise, which a signal ends before its time.
const promised = (begin, clear, options = {}) => new Promise((resolve, reject) => {
  const { abortError } = require('events'), { wrongType, isBoolean } = require('checks');
  if (options === null || typeof options !== 'object') throw wrongType('options', 'object', options);
  const { signal, ref = true } = options;
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) throw wrongType('options.signal', 'AbortSignal', signal);
  isBoolean(ref, 'options.ref');
  if (signal?.aborted) return reject(abortError(signal));
  const stop = () => { clear(timer); reject(abortError(signal)); };
  const timer = begin((value) => { signal?.removeEventListener('abort', stop); resolve(value); });
  if (!ref) timer.unref();
  signal?.addEventListener('abort', stop);
});
const delayed = (delay, begin) => (delay === undefined || typeof delay === 'number' ? begin() : Promise.reject(require('checks').wrongType('delay', 'number', delay)));
api.promises = {
  setTimeout: (delay, value, options) => delayed(delay, () => promised((done) => api.setTimeout(done, delay, value), api.clearTimeout, options)),
  setImmediate: (value, options) => promised((done) => api.setImmediate(done, value), api.clearImmediate, options),
  async *setInterval(delay, value, options) { for (;;) yield await api.promises.setTimeout(delay, value, options); },
  scheduler: { wait: (delay, options) => api.promises.setTimeout(delay, undefined, options), yield: () => api.promises.setImmediate() },
};
const custom = Symbol.for('nodejs.util.promisify.custom');
api.setTimeout[custom] = api.promises.setTimeout;
api.setImmediate[custom] = api.promises.setImmediate;
Object.defineProperty(api, '__queues', { value: queues, enumerable: false });
