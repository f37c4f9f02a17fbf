// domain: who is told of the errors of what a program has begun, and of all that follows from it. The active domain is a value that follows the program (async_hooks).
const EventEmitter = require('events');
const { AsyncLocalStorage } = require('async_hooks');

const storage = new AsyncLocalStorage();
// The domains that were entered and not left, of which the last one is active.
const stackOf = () => storage.getStore() ?? [];
// Before the first one it is null, and then undefined where there is none.
let begun = false;
const active = () => (begun ? stackOf().at(-1) : null);

const hide = (object, name, value) => { if (object !== null && (typeof object === 'object' || typeof object === 'function')) Object.defineProperty(object, name, { value, configurable: true, enumerable: false, writable: true }); };

class Domain extends EventEmitter {
  constructor() {
    super();
    this.members = [];
    hide(this, 'domain', null);
  }
  enter() {
    begun = true;
    storage.enterWith([...stackOf(), this]);
  }
  // With those that were entered after it.
  exit() {
    const stack = stackOf(), at = stack.lastIndexOf(this);
    if (at >= 0) storage.enterWith(stack.slice(0, at));
  }
  add(emitter) {
    if (emitter.domain === this || this.domain === emitter) return;
    if (emitter.domain) emitter.domain.remove(emitter);
    hide(emitter, 'domain', this);
    this.members.push(emitter);
  }
  remove(emitter) {
    hide(emitter, 'domain', null);
    const at = this.members.indexOf(emitter);
    if (at >= 0) this.members.splice(at, 1);
  }
  run(fn, ...args) {
    this.enter();
    const result = Reflect.apply(fn, this, args);
    this.exit();
    return result;
  }
  bind(callback) { return bound(this, callback, (self, args) => Reflect.apply(callback, self, args)); }
  intercept(callback) {
    return bound(this, callback, (self, [error, ...args]) => {
      if (!internal.isError(error)) return Reflect.apply(callback, self, args);
      hide(error, 'domain', this);
      Object.assign(error, { domainBound: callback, domainThrown: false });
      this.emit('error', error);
    });
  }
  // What nobody caught: whether somebody listens, who may throw in turn, which the outer domain is told.
  _errorHandler(error) {
    if (error !== null && typeof error === 'object') {
      if (!('domain' in error)) hide(error, 'domain', this);
      error.domainThrown ??= true;
    }
    const stack = stackOf();
    storage.enterWith(stack.slice(0, Math.max(0, stack.lastIndexOf(this))));
    if (this.listenerCount('error') === 0) return false;
    this.emit('error', error);
    return true;
  }
}
function bound(domain, callback, call) {
  const wrapper = function (...args) {
    domain.enter();
    const result = call(this, args);
    domain.exit();
    return result;
  };
  hide(wrapper, 'domain', domain);
  return wrapper;
}

// An emitter that is made while a domain is active belongs to it: its listeners run in it, and its errors that nobody listens for are the domain's.
EventEmitter.usingDomains = true;
internal.joinDomain = (emitter) => {
  hide(emitter, 'domain', emitter instanceof Domain ? null : active() ?? null);
};
const plain = EventEmitter.prototype.emit;
EventEmitter.prototype.emit = function emit(name, ...args) {
  const { domain } = this;
  if (!domain || this === process) return Reflect.apply(plain, this, [name, ...args]);
  if (name === 'error' && this.listenerCount('error') === 0) {
    const error = args.length > 0 && args[0] ? args[0] : Object.assign(new Error(`Unhandled error. (${require('util').inspect(args[0])})`), { code: 'ERR_UNHANDLED_ERROR', context: args[0] });
    if (typeof error === 'object') {
      error.domainEmitter = this;
      hide(error, 'domain', domain);
      error.domainThrown = false;
    }
    const stack = stackOf();
    storage.enterWith(stack.slice(0, Math.max(0, stack.lastIndexOf(domain))));
    try {
      domain.emit('error', error);
    } finally {
      storage.enterWith(stack);
    }
    return false;
  }
  domain.enter();
  const told = Reflect.apply(plain, this, [name, ...args]);
  domain.exit();
  return told;
};
internal.domainFails = (error) => {
  for (let domain = active(); domain; domain = active()) {
    try {
      return domain._errorHandler(error);
    } catch (another) {
      error = another;
    }
  }
  return false;
};

Object.defineProperty(process, 'domain', { configurable: true, enumerable: true, get: active, set(domain) { storage.enterWith(domain ? [...stackOf().slice(0, -1), domain] : []); } });
module.exports = { Domain, createDomain: () => new Domain(), create: () => new Domain() };
Object.defineProperty(module.exports, 'active', { enumerable: true, configurable: true, get: active });
Object.defineProperty(module.exports, '_stack', { configurable: true, get: stackOf });
