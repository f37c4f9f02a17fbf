// vm: scripts in this context and in others, each a realm of the engine with globals of its own (host_vm.c).
const { native } = internal;
const { inspect } = require('util');
const { wrongType } = require('checks');

const constants = Object.assign(Object.create(null), { USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol('vm_dynamic_import_main_context_default'), DONT_CONTEXTIFY: Symbol('vm_context_no_contextify') });
// The realm of each object that a context was made of.
const realms = new WeakMap();

const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function');

// What a realm of the engine has and one of V8 has not, and what it has there.
const quiet = ['debug', 'error', 'info', 'log', 'warn', 'dir', 'dirxml', 'table', 'trace', 'group', 'groupCollapsed', 'groupEnd', 'clear', 'count', 'countReset', 'assert', 'profile', 'profileEnd', 'time', 'timeLog',
  'timeEnd', 'timeStamp', 'context', 'createTask'];
function prepare(global) {
  delete global[Symbol.toStringTag];
  for (const name of ['performance', 'queueMicrotask', 'navigator', 'atob', 'btoa', 'DOMException']) delete global[name];
  internal.prepareLanguage(global);
  internal.prepareErrors(global.Error);
  // V8's own, which only an inspector would hear.
  const silent = new global.Object();
  for (const name of quiet) silent[name] = { [name]() {} }[name];
  Object.defineProperty(global, 'console', { value: silent, configurable: true, writable: true, enumerable: false });
}

function isContext(object) {
  if (!isObject(object)) throw wrongType('object', 'object', object);
  return realms.has(object);
}
function realmOf(context) {
  if (!isContext(context)) throw wrongType('contextifiedObject', 'an vm.Context', context);
  return realms.get(context);
}
function createContext(object = {}, options = {}) {
  if (object === constants.DONT_CONTEXTIFY) {
    const realm = native.newRealm(prepare, undefined), global = native.realmGlobal(realm);
    realms.set(global, realm);
    return global;
  }
  if (isContext(object)) return object;
  if (!isObject(options)) throw wrongType('options', 'object', options);
  for (const name of ['name', 'origin']) if (options[name] !== undefined && typeof options[name] !== 'string') throw wrongType(`options.${name}`, 'string', options[name]);
  realms.set(object, native.newRealm(prepare, object));
  return object;
}

const optionsOf = (options) => {
  if (typeof options === 'string') return { filename: options };
  if (options === undefined) return {};
  if (!isObject(options)) throw wrongType('options', 'object', options);
  return options;
};
const compile = (source, { filename = 'evalmachine.<anonymous>', lineOffset = 0 }) => {
  if (typeof filename !== 'string') throw wrongType('options.filename', 'string', filename);
  return native.compileScript(source, filename, 1 + lineOffset);
};
function timeOf({ timeout }) {
  if (timeout === undefined) return 0;
  if (typeof timeout !== 'number') throw wrongType('options.timeout', 'number', timeout);
  if (!Number.isInteger(timeout) || timeout <= 0 || timeout > 2 ** 32 - 1)
    throw Object.assign(new RangeError(`The value of "options.timeout" is out of range. It must be ${Number.isInteger(timeout) ? '>= 1 && <= 4294967295' : 'an integer'}. Received ${inspect(timeout)}`), { code: 'ERR_OUT_OF_RANGE' });
  return timeout;
}

class Script {
  #code;
  constructor(source, options) {
    const told = optionsOf(options), text = String(source);
    this.#code = compile(text, told);
    if (told.cachedData !== undefined) this.cachedDataRejected = false;
    this.sourceMapURL = /^\/\/[#@] sourceMappingURL=(\S+)\s*$/m.exec(text)?.[1];
  }
  runInThisContext(options) { return native.runScript(this.#code, undefined, timeOf(optionsOf(options))); }
  runInContext(context, options) {
    const realm = realmOf(context);
    return native.runScript(this.#code, realm, timeOf(optionsOf(options)));
  }
  runInNewContext(object, options) { return this.runInContext(createContext(object), options); }
  // Nothing is kept of it: each script is compiled where it is made.
  createCachedData() { return Buffer.alloc(0); }
}

const runInContext = (source, context, options) => {
  const realm = realmOf(context);
  return new Script(source, options).runInContext(context, typeof options === 'string' ? undefined : options, realm);
};
const runInNewContext = (source, object, options) => runInContext(source, createContext(object), options);
const runInThisContext = (source, options) => new Script(source, options).runInThisContext(typeof options === 'string' ? undefined : options);

function compileFunction(source, names = [], options = {}) {
  if (typeof source !== 'string') throw wrongType('code', 'string', source);
  if (!Array.isArray(names)) throw wrongType('params', 'Array', names);
  const { parsingContext, contextExtensions = [] } = options, realm = parsingContext === undefined ? undefined : realmOf(parsingContext);
  const text = `(function (${names.join(',')}) {${source}\n})`;
  // What ends the function by itself is none, and no method either.
  compile(`({ f(${names.join(',')}) {${source}\n} })`, options);
  const scopes = contextExtensions.map((_, i) => `with (arguments[0][${i}]) `).join('');
  const made = native.runScript(compile(scopes ? `(function () { ${scopes}return ${text}; })` : text, options), realm, 0);
  return scopes ? made(contextExtensions) : made;
}

module.exports = { Script, createContext, createScript: (source, options) => new Script(source, options), runInContext, runInNewContext, runInThisContext, isContext, compileFunction,
  measureMemory: async () => { const { rss } = process.memoryUsage(); return { total: { jsMemoryEstimate: rss, jsMemoryRange: [rss, rss] } }; }, constants };
