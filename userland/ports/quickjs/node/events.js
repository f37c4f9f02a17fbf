// events: EventEmitter, and the events of the web.
const captureRejection = Symbol.for('nodejs.rejection');

// A plain function, so that programs may inherit from it in the old way and call it without new.
function Emitter(options) {
  if (!tables.has(this)) tables.set(this, new Map());
  if (options?.captureRejections ?? Emitter.captureRejections) capturing.add(this);
  internal.joinDomain?.(this);
}
// Those to whom the rejection of an asynchronous listener is an error of theirs, or what they have a method for.
const capturing = new WeakSet();
function capture(emitter, given, name, args) {
  if (typeof given.then !== 'function') return;
  given.then(undefined, (error) => process.nextTick(() => {
    if (typeof emitter[captureRejection] === 'function') return void emitter[captureRejection](error, name, ...args);
    // An error of who listens for errors is not told to the same again.
    capturing.delete(emitter);
    try { emitter.emit('error', error); } finally { capturing.add(emitter); }
  }));
}
const tables = new WeakMap();
const mostOf = new WeakMap();
function tableOf(emitter) {
  let table = tables.get(emitter);
  if (!table) tables.set(emitter, table = new Map());
  return table;
}
function checkListener(listener) {
  if (typeof listener === 'function') return;
  throw Object.assign(new TypeError(`The "listener" argument must be of type function. Received ${listener === null ? 'null' : typeof listener}`),
    { code: 'ERR_INVALID_ARG_TYPE' });
}
function add(emitter, name, listener, first) {
  checkListener(listener);
  const table = tableOf(emitter);
  if (table.has('newListener')) emitter.emit('newListener', name, listener.listener ?? listener);
  const list = table.get(name);
  if (!list) table.set(name, [listener]);
  // A list that is being called stays as it is.
  else table.set(name, first ? [listener, ...list] : [...list, listener]);
  return emitter;
}
// Who listens once does it by a function that takes itself away, and by the emitter's own `on`, which programs put others in the place of.
function onceOf(emitter, name, listener) {
  checkListener(listener);
  let called = false;
  const wrapper = function (...args) {
    if (called) return undefined;
    called = true;
    emitter.removeListener(name, wrapper);
    return Reflect.apply(listener, emitter, args);
  };
  wrapper.listener = listener;
  return wrapper;
}

Emitter.prototype = {
  constructor: Emitter,
  on(name, listener) { return add(this, name, listener, false); },
  once(name, listener) { return this.on(name, onceOf(this, name, listener)); },
  prependListener(name, listener) { return add(this, name, listener, true); },
  prependOnceListener(name, listener) { return this.prependListener(name, onceOf(this, name, listener)); },
  off(name, listener) {
    checkListener(listener);
    const table = tableOf(this), list = table.get(name);
    if (!list) return this;
    const at = list.findLastIndex((entry) => entry === listener || entry.listener === listener);
    if (at < 0) return this;
    if (list.length === 1) table.delete(name);
    else table.set(name, list.toSpliced(at, 1));
    if (table.has('removeListener')) this.emit('removeListener', name, listener.listener ?? listener);
    return this;
  },
  removeAllListeners(name) {
    const table = tableOf(this);
    // Who listens for that is told of each.
    for (const key of table.has('removeListener') ? (name === undefined ? [...table.keys()] : [name]) : [])
      if (key !== 'removeListener') for (const listener of this.rawListeners(key).reverse()) this.off(key, listener);
    if (name === undefined) table.clear();
    else table.delete(name);
    return this;
  },
  emit(name, ...args) {
    const list = tableOf(this).get(name);
    if (!list) {
      if (name !== 'error') return false;
      if (internal.isError(args[0])) throw args[0];
      throw Object.assign(new Error(`Unhandled error. (${require('util').inspect(args[0])})`), { code: 'ERR_UNHANDLED_ERROR', context: args[0] });
    }
    for (const listener of list) {
      const given = Reflect.apply(listener, this, args);
      if (given !== undefined && given !== null && capturing.has(this)) capture(this, given, name, args);
    }
    return true;
  },
  listenerCount(name, listener) {
    const list = tableOf(this).get(name) ?? [];
    return listener === undefined ? list.length : list.filter((entry) => entry === listener || entry.listener === listener).length;
  },
  listeners(name) { return (tableOf(this).get(name) ?? []).map((entry) => entry.listener ?? entry); },
  rawListeners(name) { return [...tableOf(this).get(name) ?? []]; },
  eventNames() { return [...tableOf(this).keys()]; },
  setMaxListeners(count) { mostOf.set(this, count); return this; },
  getMaxListeners() { return mostOf.get(this) ?? Emitter.defaultMaxListeners; },
};
for (const name of Object.keys(Emitter.prototype)) Object.defineProperty(Emitter.prototype, name, { enumerable: name !== 'constructor' });
Object.defineProperty(Emitter.prototype, 'constructor', { enumerable: false });
Emitter.prototype.addListener = Emitter.prototype.on;
Emitter.prototype.removeListener = Emitter.prototype.off;
Object.defineProperty(Emitter, 'name', { value: 'EventEmitter' });

Emitter.defaultMaxListeners = 10;
Emitter.captureRejections = false;
Emitter.EventEmitter = Emitter;
Emitter.usingDomains = false;
Emitter.errorMonitor = Symbol('events.errorMonitor');
Emitter.captureRejectionSymbol = captureRejection;
const abortError = (signal) => Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), { name: 'AbortError', code: 'ABORT_ERR' });
Object.defineProperty(Emitter, 'abortError', { value: abortError });
// Emitters, and targets of events.
const listen = (target, name, listener, once) => (target instanceof EventTarget ? target.addEventListener(name, listener, { once }) : once ? target.once(name, listener) : target.on(name, listener));
const unlisten = (target, name, listener) => (target instanceof EventTarget ? target.removeEventListener(name, listener) : target.removeListener?.(name, listener));
Emitter.once = (emitter, name, { signal } = {}) => new Promise((resolve, reject) => {
  const clear = () => {
    unlisten(emitter, name, done);
    unlisten(emitter, 'error', failed);
    signal?.removeEventListener('abort', stopped);
  };
  const done = (...args) => { clear(); resolve(args); };
  const failed = (error) => { clear(); reject(error); };
  const stopped = () => failed(abortError(signal));
  if (signal?.aborted) return reject(abortError(signal));
  listen(emitter, name, done, true);
  if (name !== 'error' && !(emitter instanceof EventTarget)) emitter.once('error', failed);
  signal?.addEventListener('abort', stopped);
});
Emitter.on = (emitter, name, { signal, close = [] } = {}) => {
  const waiting = [];
  let wake, failure, ended = false;
  const take = (...args) => { waiting.push(args); wake?.(); };
  const failed = (error) => { failure = error; wake?.(); };
  const stopped = () => failed(abortError(signal));
  const end = () => { ended = true; wake?.(); };
  if (signal?.aborted) throw abortError(signal);
  listen(emitter, name, take);
  if (name !== 'error' && !(emitter instanceof EventTarget)) emitter.on('error', failed);
  for (const event of close) listen(emitter, event, end);
  signal?.addEventListener('abort', stopped);
  return (async function* () {
    try {
      for (;;) {
        while (waiting.length) yield waiting.shift();
        if (failure) throw failure;
        if (ended) return;
        await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      unlisten(emitter, name, take);
      unlisten(emitter, 'error', failed);
      for (const event of close) unlisten(emitter, event, end);
      signal?.removeEventListener('abort', stopped);
    }
  })();
};
Emitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
Emitter.getEventListeners = (emitter, name) => emitter.listeners(name);
Emitter.getMaxListeners = (emitter) => emitter.getMaxListeners?.() ?? Emitter.defaultMaxListeners;
Emitter.setMaxListeners = (count, ...emitters) => { for (const emitter of emitters) emitter.setMaxListeners?.(count); if (!emitters.length) Emitter.defaultMaxListeners = count; };
Emitter.addAbortListener = (signal, listener) => {
  if (signal.aborted) queueMicrotask(() => listener());
  else signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
};

const phases = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 };
class Event {
  #type;
  #settings;
  #time = performance.now();
  #prevented = false;
  #propagates = true;
  constructor(type, options = {}) {
    if (arguments.length === 0) throw Object.assign(new TypeError('The "type" argument must be specified'), { code: 'ERR_MISSING_ARGS' });
    this.#type = String(type);
    this.#settings = { bubbles: Boolean(options?.bubbles), cancelable: Boolean(options?.cancelable), composed: Boolean(options?.composed) };
    for (const name of ['_target', '_current', '_stopped']) Object.defineProperty(this, name, { value: name === '_stopped' ? false : null, writable: true, configurable: true, enumerable: false });
  }
  get type() { return this.#type; }
  get bubbles() { return this.#settings.bubbles; }
  get cancelable() { return this.#settings.cancelable; }
  get composed() { return this.#settings.composed; }
  get defaultPrevented() { return this.#prevented; }
  get returnValue() { return !this.#prevented; }
  get timeStamp() { return this.#time; }
  get isTrusted() { return false; }
  get target() { return this._target; }
  get currentTarget() { return this._current; }
  get srcElement() { return this._target; }
  get eventPhase() { return this._current ? phases.AT_TARGET : phases.NONE; }
  get cancelBubble() { return !this.#propagates; }
  set cancelBubble(value) { if (value) this.#propagates = false; }
  composedPath() { return this._current ? [this._current] : []; }
  preventDefault() { if (this.cancelable) this.#prevented = true; }
  stopImmediatePropagation() {
    this._stopped = true;
    this.#propagates = false;
  }
  stopPropagation() { this.#propagates = false; }
  initEvent(type, bubbles = false, cancelable = false) {
    this.#type = String(type);
    Object.assign(this.#settings, { bubbles: Boolean(bubbles), cancelable: Boolean(cancelable) });
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const { name } = this.constructor;
    if (depth < 0) return name;
    return `${name} ${inspect({ type: this.type, defaultPrevented: this.defaultPrevented, cancelable: this.cancelable, timeStamp: this.timeStamp }, { ...options, depth: Number.isInteger(options.depth) ? options.depth - 1 : options.depth })}`;
  }
}
for (const [name, value] of Object.entries(phases)) for (const one of [Event, Event.prototype]) Object.defineProperty(one, name, { value, enumerable: true });
for (const name of ['type', 'bubbles', 'cancelable', 'composed', 'defaultPrevented', 'returnValue', 'timeStamp', 'target', 'currentTarget', 'srcElement', 'eventPhase', 'cancelBubble', 'isTrusted', 'composedPath', 'preventDefault',
  'stopImmediatePropagation', 'stopPropagation', 'initEvent']) Object.defineProperty(Event.prototype, name, { enumerable: true });

class CustomEvent extends Event {
  #detail;
  constructor(type, options = {}) {
    super(type, options);
    this.#detail = options?.detail ?? null;
  }
  get detail() { return this.#detail; }
}
class MessageEvent extends Event {
  #given;
  constructor(type, options = {}) {
    super(type, options);
    const { data = null, origin = '', lastEventId = '', source = null, ports = [] } = options ?? {};
    this.#given = { data, origin: String(origin), lastEventId: String(lastEventId), source, ports: Object.freeze([...ports]) };
  }
  get data() { return this.#given.data; }
  get origin() { return this.#given.origin; }
  get lastEventId() { return this.#given.lastEventId; }
  get source() { return this.#given.source; }
  get ports() { return this.#given.ports; }
}

class EventTarget {
  #table = new Map();
  addEventListener(type, listener, options) {
    if (!listener) return;
    const list = this.#table.get(type) ?? [];
    if (list.some((entry) => entry.listener === listener)) return;
    this.#table.set(type, [...list, { listener, once: Boolean(options?.once) }]);
  }
  removeEventListener(type, listener) {
    this.#table.set(type, (this.#table.get(type) ?? []).filter((entry) => entry.listener !== listener));
  }
  dispatchEvent(event) {
    if (!(event instanceof Event)) throw require('checks').wrongType('event', 'Event', event);
    if (event._current) throw Object.assign(new Error('The event is already being dispatched'), { code: 'ERR_EVENT_RECURSION' });
    event._target = event._current = this;
    const own = this[`on${event.type}`];
    if (typeof own === 'function') own.call(this, event);
    for (const { listener, once } of this.#table.get(event.type) ?? []) {
      if (once) this.removeEventListener(event.type, listener);
      if (typeof listener === 'function') listener.call(this, event);
      else listener.handleEvent(event);
      if (event._stopped) break;
    }
    event._current = null;
    event._stopped = false;
    return !event.defaultPrevented;
  }
}

class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  throwIfAborted() { if (this.aborted) throw this.reason; }
  static any(signals) {
    const controller = new AbortController();
    const from = signals.find((signal) => signal.aborted);
    if (from) controller.abort(from.reason);
    else for (const signal of signals) signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    return controller.signal;
  }
  static abort(reason) { const controller = new AbortController(); controller.abort(reason); return controller.signal; }
  static timeout(delay) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delay).unref();
    return controller.signal;
  }
}
class AbortController {
  signal = new AbortSignal();
  abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.reason = reason;
    this.signal.dispatchEvent(new Event('abort'));
  }
}
internal.tagged({ Event, CustomEvent, MessageEvent, EventTarget, AbortSignal, AbortController });

Object.defineProperty(Emitter, 'MessageEvent', { value: MessageEvent, configurable: true });
module.exports = Object.assign(Emitter, { Event, CustomEvent, EventTarget, AbortSignal, AbortController });

// An emitter whose listeners run with the stores that it was made with.
let withResource;
function makeWithResource() {
  const { AsyncResource } = require('async_hooks');
  class EventEmitterReferencingAsyncResource extends AsyncResource {
    #emitter;
    constructor(emitter, type, options) {
      super(type, options);
      this.#emitter = emitter;
    }
    get eventEmitter() { return this.#emitter; }
  }
  return class EventEmitterAsyncResource extends Emitter {
    #resource;
    constructor(options) {
      const name = typeof options === 'string' ? options : options?.name ?? new.target.name;
      super(typeof options === 'string' ? undefined : options);
      this.#resource = new EventEmitterReferencingAsyncResource(this, name, typeof options === 'string' ? undefined : options);
    }
    emit(event, ...args) { return this.#resource.runInAsyncScope(super.emit, this, event, ...args); }
    emitDestroy() { this.#resource.emitDestroy(); }
    get asyncId() { return this.#resource.asyncId(); }
    get triggerAsyncId() { return this.#resource.triggerAsyncId(); }
    get asyncResource() { return this.#resource; }
  };
}
Object.defineProperty(Emitter, 'EventEmitterAsyncResource', { enumerable: true, configurable: true, get: () => (withResource ??= makeWithResource()) });
