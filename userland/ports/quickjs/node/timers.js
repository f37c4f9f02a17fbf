// Timers: objects, as in Node.js, over the numbers of the engine.
const { native, os } = internal;

class Timeout {
  constructor(callback, delay, args, repeats) {
    if (typeof callback !== 'function') {
      throw Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${callback === null ? 'null' : typeof callback}`),
        { code: 'ERR_INVALID_ARG_TYPE' });
    }
    this._callback = internal.bound(callback);
    this._args = args;
    this._repeats = repeats;
    this._delay = delay >= 1 && delay <= 2147483647 ? Math.trunc(delay) : 1;
    this._start();
  }
  _start() {
    this._due = performance.now() + this._delay;
    // Those that are due at the same time go in the order in which they were set.
    let at = timers.length;
    while (at > 0 && timers[at - 1]._due > this._due) at--;
    timers.splice(at, 0, this);
    arm();
  }
  _run() {
    this._again = this._repeats;
    try {
      this._callback(...this._args);
      internal.runTicks();
    } finally {
      if (this._again) this._start();
    }
  }
  _stop() {
    this._again = false;
    const at = timers.indexOf(this);
    if (at >= 0) timers.splice(at, 1);
    arm();
  }
  refresh() { this._stop(); this._start(); return this; }
  close() { this._stop(); return this; }
  ref() { this._loose = false; arm(); return this; }
  // One that does not keep the program: it is dropped when it would be all that is left.
  unref() { this._loose = true; arm(); return this; }
  hasRef() { return !this._loose; }
  [Symbol.toPrimitive]() { internal.timerIds ??= new Map(); internal.timerIds.set(this._id ??= nextId++, this); return this._id; }
}
let nextId = 1;

class Immediate {
  constructor(callback, args) {
    this._callback = internal.bound(callback);
    this._args = args;
    immediates.push(this);
    arm();
  }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
}

// What waits. The engine's own timer wakes for the first of it; one callback runs at a time, with the jobs that it makes behind it.
const timers = [];
const immediates = [];
let handle, due = Infinity, soon = false;
// As in Node.js, those timers that are due when a round begins are followed by the immediates that are there then.
let round, checks = 0;

function arm() {
  const wanted = soon || immediates.length > 0 || internal.kept() || timers.some((timer) => !timer._loose);
  internal.attach(wanted);
  const next = soon || immediates.length ? 0 : timers.length && wanted ? timers[0]._due : Infinity;
  if (next === due) return;
  if (handle !== undefined) os.clearTimeout(handle);
  handle = undefined;
  due = next;
  if (next !== Infinity) handle = os.setTimeout(pump, Math.max(0, Math.ceil(next - performance.now())));
}
internal.rearm = arm;
function pump() {
  native.setAsyncFrame(undefined);
  handle = undefined;
  due = Infinity;
  try {
    soon = false;
    internal.checkRejections();
    const isDue = () => timers.length > 0 && timers[0]._due <= round;
    round ??= performance.now();
    if (checks === 0 && !isDue()) {
      checks = immediates.length;
      if (checks === 0) round = performance.now();
    }
    if (checks > 0) {
      const next = immediates.shift();
      if (--checks === 0) round = performance.now();
      next._callback?.(...next._args);
      internal.runTicks();
    } else if (isDue()) {
      timers.shift()._run();
    }
  } finally {
    arm();
  }
}

const clear = (timer) => {
  if (timer instanceof Timeout) timer._stop();
  else if (internal.timerIds?.has(Number(timer))) internal.timerIds.get(Number(timer))._stop();
};
const api = module.exports = {
  setTimeout: (callback, delay, ...args) => new Timeout(callback, delay, args, false),
  setInterval: (callback, delay, ...args) => new Timeout(callback, delay, args, true),
  setImmediate: (callback, ...args) => new Immediate(callback, args),
  clearTimeout: clear, clearInterval: clear,
  clearImmediate: (immediate) => { if (immediate) immediate._callback = null; },
};
// A timer as a promise, which a signal ends before its time.
const promised = (begin, clear, { signal, ref = true } = {}) => new Promise((resolve, reject) => {
  const { abortError } = require('events');
  if (signal?.aborted) return reject(abortError(signal));
  const stop = () => { clear(timer); reject(abortError(signal)); };
  const timer = begin((value) => { signal?.removeEventListener('abort', stop); resolve(value); });
  if (!ref) timer.unref();
  signal?.addEventListener('abort', stop);
});
api.promises = {
  setTimeout: (delay, value, options) => promised((done) => api.setTimeout(done, delay, value), api.clearTimeout, options),
  setImmediate: (value, options) => promised((done) => api.setImmediate(done, value), api.clearImmediate, options),
  async *setInterval(delay, value, options) { for (;;) yield await api.promises.setTimeout(delay, value, options); },
  scheduler: { wait: (delay, options) => api.promises.setTimeout(delay, undefined, options), yield: () => api.promises.setImmediate() },
};
const custom = Symbol.for('nodejs.util.promisify.custom');
api.setTimeout[custom] = api.promises.setTimeout;
api.setImmediate[custom] = api.promises.setImmediate;
Object.defineProperty(api, '__soon', { value: () => { soon = true; arm(); }, enumerable: false });
