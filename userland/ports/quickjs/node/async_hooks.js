// async_hooks: values that follow what a program goes on with later. The engine keeps one frame, a map of stores, with each reaction to a promise;
// timers, ticks and descriptors keep theirs themselves (internal.bound).
const { native } = internal;

const none = new Map();
const frame = () => native.asyncFrame() ?? none;
function within(wanted, fn, self, args) {
  const before = native.asyncFrame();
  native.setAsyncFrame(wanted);
  try {
    return Reflect.apply(fn, self, args);
  } finally {
    native.setAsyncFrame(before);
  }
}
function checkFunction(fn, name = 'fn') {
  if (typeof fn !== 'function') throw Object.assign(new TypeError(`The "${name}" argument must be of type function. Received ${fn === null ? 'null' : typeof fn}`), { code: 'ERR_INVALID_ARG_TYPE' });
}

class AsyncLocalStorage {
  #default;
  #name;
  constructor({ defaultValue, name = '' } = {}) {
    this.#default = defaultValue;
    this.#name = name;
  }
  get name() { return this.#name; }
  getStore() { return frame().has(this) ? frame().get(this) : this.#default; }
  run(store, fn, ...args) { return within(new Map(frame()).set(this, store), fn, null, args); }
  exit(fn, ...args) { return this.run(undefined, fn, ...args); }
  enterWith(store) { native.setAsyncFrame(new Map(frame()).set(this, store)); }
  disable() {
    const left = new Map(frame());
    left.delete(this);
    native.setAsyncFrame(left);
  }
  static bind(fn) { checkFunction(fn); return internal.bound(fn); }
  static snapshot() { const kept = native.asyncFrame(); return (fn, ...args) => within(kept, fn, this, args); }
}

let lastId = 1;
class AsyncResource {
  #frame = native.asyncFrame();
  #id = ++lastId;
  constructor(type, options) {
    if (typeof type !== 'string') throw Object.assign(new TypeError(`The "type" argument must be of type string. Received ${type === null || type === undefined ? type : `type ${typeof type}`}`), { code: 'ERR_INVALID_ARG_TYPE' });
    this.type = type;
    Object.defineProperty(this, 'type', { enumerable: false });
    this.trigger = typeof options === 'number' ? options : options?.triggerAsyncId ?? 1;
    Object.defineProperty(this, 'trigger', { enumerable: false });
  }
  asyncId() { return this.#id; }
  triggerAsyncId() { return this.trigger; }
  runInAsyncScope(fn, self, ...args) { return within(this.#frame, fn, self, args); }
  emitDestroy() { return this; }
  bind(fn, self) {
    checkFunction(fn);
    const resource = this;
    return function (...args) { return resource.runInAsyncScope(fn, self ?? this, ...args); };
  }
  static bind(fn, type, self) { return new AsyncResource(type ?? fn.name ?? 'bound-anonymous-fn').bind(fn, self); }
}

module.exports = {
  AsyncLocalStorage, AsyncResource,
  // Nothing tells of resources as they come and go: a hook is there, and is never called.
  createHook: () => { const hook = { enable: () => hook, disable: () => hook }; return hook; },
  executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}), asyncWrapProviders: {},
};
