// inspector: a session that a program holds with its own engine. Programs can be evaluated in it; the engine has no debugger and no profiler, and nobody can
// connect from elsewhere.
const { native } = internal;
const EventEmitter = require('events');
const { coded, isFunction, isObject, isString } = require('checks');

const failed = (code, message) => coded(Error, code, message);
const commandFailed = (number, message) => failed('ERR_INSPECTOR_COMMAND', `Inspector error ${number}: ${message}`);

// --- What a session is told of a value ---

const objects = new Map();
const subtypes = { array: Array.isArray, error: (value) => internal.isError(value), date: internal.types.isDate, regexp: internal.types.isRegExp, map: internal.types.isMap, set: internal.types.isSet,
  promise: internal.types.isPromise, proxy: internal.types.isProxy, typedarray: internal.types.isTypedArray };
const subtypeOf = (value) => Object.keys(subtypes).find((name) => subtypes[name](value));
function remote(value, byValue) {
  const type = typeof value;
  if (value === null) return { type: 'object', subtype: 'null', value: null };
  if (type === 'undefined') return { type };
  if (type === 'bigint') return { type, unserializableValue: `${value}n`, description: `${value}n` };
  if (type === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    const shown = Object.is(value, -0) ? '-0' : String(value);
    return { type, unserializableValue: shown, description: shown };
  }
  if (type === 'number') return { type, value, description: String(value) };
  if (type === 'string' || type === 'boolean') return { type, value };
  if (byValue) return { type, value: JSON.parse(JSON.stringify(value) ?? 'null') };
  const objectId = `1.1.${objects.size + 1}`, subtype = type === 'object' ? subtypeOf(value) : undefined;
  objects.set(objectId, value);
  if (type === 'symbol') return { type, description: String(value), objectId };
  const className = type === 'function' ? 'Function' : value.constructor?.name ?? 'Object';
  const description = type === 'function' ? String(value) : subtype === 'error' ? String(value.stack) : subtype === 'array' ? `Array(${value.length})` : subtype === 'regexp' || subtype === 'date' ? String(value)
    : subtype === 'map' || subtype === 'set' ? `${className}(${value.size})` : className;
  return { type, ...(subtype && { subtype }), className, description, objectId };
}
const thrown = (error) => ({ result: remote(error), exceptionDetails: { exceptionId: 1, text: 'Uncaught', lineNumber: 0, columnNumber: 0, exception: remote(error) } });

const commands = {
  'Runtime.enable': () => ({}), 'Runtime.disable': () => ({}),
  'Runtime.evaluate'({ expression, returnByValue }) {
    if (typeof expression !== 'string') throw commandFailed(-32602, 'Invalid parameters');
    try {
      return { result: remote(native.evaluate(expression, ''), returnByValue) };
    } catch (error) {
      return thrown(error);
    }
  },
  'Runtime.getHeapUsage': () => ({ usedSize: native.memoryOwn(), totalSize: native.memoryOwn() }),
  'Runtime.getProperties'({ objectId }) {
    if (!objects.has(objectId)) throw commandFailed(-32000, 'Could not find object with given id');
    const object = objects.get(objectId);
    return { result: Reflect.ownKeys(object).map((key) => {
      const { value, get, set, ...flags } = Object.getOwnPropertyDescriptor(object, key);
      return { name: String(key), ...(get || set ? { get: remote(get), set: remote(set) } : { value: remote(value) }), ...flags, isOwn: true };
    }) };
  },
  'Runtime.releaseObject'({ objectId }) { objects.delete(objectId); return {}; },
  'Runtime.getIsolateId': () => ({ id: String(process.pid) }),
  'Schema.getDomains': () => ({ domains: [{ name: 'Runtime', version: '1.3' }, { name: 'Schema', version: '1.3' }] }),
};

class Session extends EventEmitter {
  #connected = false;
  connect() {
    if (this.#connected) throw failed('ERR_INSPECTOR_ALREADY_CONNECTED', 'The inspector session is already connected');
    this.#connected = true;
  }
  connectToMainThread() {
    if (!internal.threadId) throw failed('ERR_INSPECTOR_NOT_WORKER', 'Current thread is not a worker');
    throw failed('ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'The main thread of this node is another process, which no session reaches');
  }
  post(method, params, callback) {
    isString(method, 'method');
    if (!callback && typeof params === 'function') [params, callback] = [null, params];
    if (params) isObject(params, 'params');
    if (callback) isFunction(callback, 'callback');
    if (!this.#connected) throw failed('ERR_INSPECTOR_NOT_CONNECTED', 'Session is not connected');
    let result, problem = null;
    try {
      if (!Object.hasOwn(commands, method)) throw commandFailed(-32601, `'${method}' wasn't found`);
      result = commands[method](params ?? {});
    } catch (error) {
      problem = error;
    }
    if (callback) callback(problem, result);
  }
  disconnect() { this.#connected = false; }
}

class PromisesSession extends Session {
  post(method, params) {
    return new Promise((resolve, reject) => { super.post(method, params, (error, result) => (error ? reject(error) : resolve(result))); });
  }
}

const nothing = (name) => ({ [name](event) { void event; } })[name];
const Network = Object.fromEntries(['requestWillBeSent', 'responseReceived', 'loadingFinished', 'loadingFailed', 'dataSent', 'dataReceived'].map((name) => [name, nothing(name)]));
const shared = {
  open() { throw failed('ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'This node has no debugger that could be connected to'); },
  close() {},
  url: () => undefined,
  waitForDebugger() { throw failed('ERR_INSPECTOR_NOT_ACTIVE', 'Inspector is not active'); },
  console,
};
const exported = (Class) => ({ ...shared, Session: Class, Network });
module.exports = exported(Session);
Object.defineProperty(module.exports, '__promises', { value: exported(PromisesSession) });
