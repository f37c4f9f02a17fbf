// WebAssembly: the classes that programs see. What they hold is the engine's: host_wasm_*.c.
const { native } = internal;
const numberOf = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b, anyfunc: 0x70, funcref: 0x70, externref: 0x6f };
const references = { anyfunc: 0x70, funcref: 0x70, externref: 0x6f };
const noFunction = 'function-typed object must be null (if nullable) or a Wasm function object';

const kindOf = (value) => native.className(value);
const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
function receiver(value, kind, where) {
  if (kindOf(value) !== `WebAssembly.${kind}`) throw new TypeError(`WebAssembly.${kind}.${where}: Receiver is not a WebAssembly.${kind}`);
  return value;
}

// The bytes of a buffer or a view, as the engine takes them; undefined of anything else.
const viewLength = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array).prototype, 'byteLength').get;
function rangeOf(source) {
  const kind = isObject(source) ? kindOf(source) : '';
  if (kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer') return [source, 0, source.byteLength];
  if (!ArrayBuffer.isView(source)) return undefined;
  return [source.buffer, source.byteOffset, kind === 'DataView' ? source.byteLength : viewLength.call(source)];
}
function bytesOf(source, where) {
  const range = rangeOf(source);
  if (!range) throw new TypeError(`${where}: Argument 0 must be a buffer source`);
  if (range[2] === 0) throw new CompileError(`${where}: BufferSource argument is empty`);
  return range;
}
const compiled = (source, where, prototype = Module.prototype) => native.wasmModule(...bytesOf(source, where), where, prototype);

function errorClass(name) {
  const make = { [name]: function (message, options) {
    const error = Reflect.construct(Error, message === undefined ? [] : [message, options], new.target ?? make);
    if (!new.target) Error.captureStackTrace?.(error, make);
    return error;
  } }[name];
  Object.setPrototypeOf(make, Error);
  Object.defineProperty(make, 'length', { value: 1, configurable: true });
  make.prototype = Object.create(Error.prototype, {
    constructor: { value: make, writable: true, configurable: true }, name: { value: name, writable: true, configurable: true }, message: { value: '', writable: true, configurable: true } });
  Object.defineProperty(make, 'prototype', { writable: false, enumerable: false, configurable: false });
  return make;
}
const CompileError = errorClass('CompileError'), LinkError = errorClass('LinkError'), RuntimeError = errorClass('RuntimeError');

// A number of a descriptor, or of an argument.
function toSize(value, where, what, least, most) {
  let number;
  try {
    number = Number(value);
  } catch {
    number = NaN;
  }
  if (typeof value === 'bigint' || Number.isNaN(number) || !Number.isFinite(number)) throw new TypeError(`${where}: ${what} must be convertible to a valid number`);
  number = Math.trunc(number);
  if (number < 0) throw new TypeError(`${where}: ${what} must be non-negative`);
  if (number > 0xffffffff) throw new TypeError(`${where}: ${what} must be in the unsigned long range`);
  if (number < least) throw new RangeError(`${where}: ${what}: value ${number} is below the lower bound ${least}`);
  if (number > most) throw new RangeError(`${where}: ${what}: value ${number} is above the upper bound ${most}`);
  return number;
}
function limitsOf(descriptor, where, most, mostOfMost) {
  const { initial, maximum } = descriptor;
  if (initial === undefined) throw new TypeError(`${where}: Property 'initial' is required`);
  const least = toSize(initial, where, "Property 'initial'", 0, most);
  return [least, maximum === undefined ? -1 : toSize(maximum, where, "Property 'maximum'", least, mostOfMost)];
}
function described(descriptor, where, kind) {
  if (!isObject(descriptor)) throw new TypeError(`${where}: Argument 0 must be a ${kind}`);
  return descriptor;
}
// Which type a class calls its constructor with, without new as well.
function construct(target, name) {
  if (target === undefined) throw new TypeError(`WebAssembly.${name}(): WebAssembly.${name} must be invoked with 'new'`);
  return isObject(target.prototype) ? target.prototype : classes[name].prototype;
}

const classes = {
  Module: function Module(source) {
    const prototype = construct(new.target, 'Module');
    return compiled(source, 'WebAssembly.Module()', prototype);
  },
  Instance: function Instance(module, imports) {
    const prototype = construct(new.target, 'Instance');
    return instanceOf(module, imports, 'WebAssembly.Instance()', prototype);
  },
  Table: function Table(descriptor, value) {
    const prototype = construct(new.target, 'Table'), where = 'WebAssembly.Table()';
    const { element } = described(descriptor, where, 'table descriptor');
    const type = references[String(element)];
    if (type === undefined || !Object.hasOwn(references, String(element))) throw new TypeError(`${where}: Descriptor property 'element' must be a WebAssembly reference type`);
    const [least, most] = limitsOf(descriptor, where, 10000000, 0xffffffff);
    const first = arguments.length > 1 && value !== undefined ? value : type === references.anyfunc ? null : undefined;
    if (type === references.anyfunc && first !== null && !native.wasmIsFunction(first))
      throw new TypeError(`${where}: Argument 2 must be undefined or a value of type compatible with the type of the new table: ${noFunction}.`);
    const table = native.wasmTable(prototype, type, least, most);
    for (let i = 0; first !== null && i < least; i++) native.wasmTableSet(table, i, first);
    return table;
  },
  Memory: function Memory(descriptor) {
    const prototype = construct(new.target, 'Memory'), where = 'WebAssembly.Memory()';
    const [least, most] = limitsOf(described(descriptor, where, 'memory descriptor'), where, 65536, 65536);
    const shared = Boolean(descriptor.shared);
    if (shared && most < 0) throw new TypeError(`${where}: If shared is true, maximum property should be defined.`);
    return native.wasmMemory(prototype, least, most, shared);
  },
  Global: function Global(descriptor, value) {
    const prototype = construct(new.target, 'Global'), where = 'WebAssembly.Global()';
    const mutable = Boolean(described(descriptor, where, 'global descriptor').mutable), name = String(descriptor.value);
    if (!Object.hasOwn(numberOf, name) || name === 'v128') throw new TypeError(`${where}: Descriptor property 'value' must be a WebAssembly type`);
    const type = numberOf[name];
    if (value === undefined && type !== references.externref) return native.wasmGlobal(prototype, type, mutable);
    if (value === undefined && arguments.length < 2) return native.wasmGlobal(prototype, type, mutable, undefined);
    if (type === references.anyfunc && value !== null && !native.wasmIsFunction(value)) throw new TypeError(`${where}: ${noFunction}`);
    return native.wasmGlobal(prototype, type, mutable, value);
  },
  Tag: function Tag(descriptor) {
    const prototype = construct(new.target, 'Tag'), where = 'WebAssembly.Tag()';
    const { parameters } = described(descriptor, where, 'tag type');
    if (!isObject(parameters)) throw new TypeError(`${where}: Argument 0 must be a tag type with 'parameters'`);
    return native.wasmTag(prototype, Array.from(parameters, (name, i) => {
      if (!Object.hasOwn(numberOf, String(name))) throw new TypeError(`${where}: Argument 0 parameter type at index #${i} must be a value type`);
      return numberOf[String(name)];
    }));
  },
  Exception: function Exception(tag, values, options) {
    const prototype = construct(new.target, 'Exception'), where = 'WebAssembly.Exception()';
    if (kindOf(tag) !== 'WebAssembly.Tag') throw new TypeError(`${where}: Argument 0 must be a WebAssembly tag`);
    if (!isObject(values) || typeof values[Symbol.iterator] !== 'function') throw new TypeError(`${where}: Exception values must be an iterable object`);
    const exception = native.wasmException(prototype, tag, Array.from(values));
    if (isObject(options) && options.traceStack) Object.defineProperty(exception, 'stack', { value: new Error().stack, writable: true, configurable: true });
    return exception;
  },
};
const { Module, Instance, Table, Memory, Global, Tag, Exception } = classes;

const exportsOf = new WeakMap();
function instanceOf(module, imports, where, prototype = Instance.prototype) {
  if (kindOf(module) !== 'WebAssembly.Module') throw new TypeError(`${where}: Argument 0 must be a WebAssembly.Module`);
  if (imports !== undefined && !isObject(imports)) throw new TypeError(`${where}: Argument 1 must be an object`);
  if (imports === undefined && native.wasmNeedsImports(module)) throw new TypeError(`${where}: Imports argument must be present and must be an object`);
  const exports = native.wasmLink(module, imports, where), instance = Object.create(prototype);
  exportsOf.set(instance, exports);
  return instance;
}

function tableIndex(table, index, where) {
  const number = toSize(index, where, 'Argument 0', 0, 0xffffffff);
  if (number >= native.wasmTableSize(table)) throw new RangeError(`${where}: invalid index ${number} into ${native.wasmTableOfFunctions(table) ? 'function' : 'externref'} table`);
  return number;
}
function fitting(table, args, at, where) {
  if (!native.wasmTableOfFunctions(table)) return args[at];
  const value = args.length > at ? args[at] : null;
  if (value !== null && !native.wasmIsFunction(value)) throw new TypeError(`${where}: Argument ${at} is invalid for table: ${noFunction}`);
  return value;
}

const statics = {
  imports(module) {
    if (kindOf(module) !== 'WebAssembly.Module') throw new TypeError('WebAssembly.Module.imports(): Argument 0 must be a WebAssembly.Module');
    return native.wasmImports(module);
  },
  exports(module) {
    if (kindOf(module) !== 'WebAssembly.Module') throw new TypeError('WebAssembly.Module.exports(): Argument 0 must be a WebAssembly.Module');
    return native.wasmExports(module);
  },
  customSections(module, name) {
    if (kindOf(module) !== 'WebAssembly.Module') throw new TypeError('WebAssembly.Module.customSections(): Argument 0 must be a WebAssembly.Module');
    if (name === undefined) throw new TypeError('WebAssembly.Module.customSections(): Argument 1 is required');
    return native.wasmSections(module, String(name));
  },
};

const methods = {
  Module: {},
  Instance: {
    get exports() {
      const exports = exportsOf.get(this);
      if (!exports) throw new TypeError('WebAssembly.Instance.exports: Receiver is not a WebAssembly.Instance');
      return exports;
    },
  },
  Table: {
    get length() { return native.wasmTableSize(receiver(this, 'Table', 'length')); },
    grow(count) {
      const where = 'WebAssembly.Table.grow()', table = receiver(this, 'Table', 'grow()'), number = toSize(count, where, 'Argument 0', 0, 0xffffffff);
      const before = native.wasmTableGrow(table, number, fitting(table, arguments, 1, where));
      if (before < 0) throw new RangeError(`${where}: failed to grow table by ${number}`);
      return before;
    },
    set(index) {
      const where = 'WebAssembly.Table.set()', table = receiver(this, 'Table', 'set()');
      const number = tableIndex(table, index, where);
      native.wasmTableSet(table, number, fitting(table, arguments, 1, where));
    },
    get(index) {
      const table = receiver(this, 'Table', 'get()');
      return native.wasmTableGet(table, tableIndex(table, index, 'WebAssembly.Table.get()'));
    },
  },
  Memory: {
    grow(pages) {
      const where = 'WebAssembly.Memory.grow()', memory = receiver(this, 'Memory', 'grow()');
      const before = native.wasmGrowMemory(memory, toSize(pages, where, 'Argument 0', 0, 0xffffffff));
      if (before < 0) throw new RangeError(`${where}: Maximum memory size exceeded`);
      return before;
    },
    get buffer() { return native.wasmBuffer(receiver(this, 'Memory', 'buffer')); },
  },
  Global: {
    valueOf() { return native.wasmGlobalGet(receiver(this, 'Global', 'valueOf()')); },
    get value() { return native.wasmGlobalGet(receiver(this, 'Global', 'value')); },
    set value(value) {
      if (!native.wasmGlobalSet(receiver(this, 'Global', 'value'), value)) throw new TypeError("set WebAssembly.Global.value: Can't set the value of an immutable global.");
    },
  },
  Tag: {},
  Exception: {
    getArg(tag, index) {
      const where = 'WebAssembly.Exception.getArg()', exception = receiver(this, 'Exception', 'getArg()');
      if (kindOf(tag) !== 'WebAssembly.Tag') throw new TypeError(`${where}: Argument 0 must be a WebAssembly.Tag`);
      if (!native.wasmIsOf(exception, tag)) throw new TypeError(`${where}: First argument does not match the exception tag`);
      return native.wasmCarried(exception, toSize(index, where, 'Index', 0, 0xffffffff));
    },
    is(tag) {
      const exception = receiver(this, 'Exception', 'is()');
      if (kindOf(tag) !== 'WebAssembly.Tag') throw new TypeError('WebAssembly.Exception.is(): Argument 0 must be a WebAssembly.Tag');
      return native.wasmIsOf(exception, tag);
    },
  },
};
for (const [name, make] of Object.entries(classes)) {
  Object.defineProperty(make, 'length', { value: 1, configurable: true });
  Object.defineProperty(make, 'prototype', { writable: false });
  Object.defineProperties(make.prototype, Object.getOwnPropertyDescriptors(methods[name]));
  Object.defineProperty(make.prototype, Symbol.toStringTag, { value: `WebAssembly.${name}`, configurable: true });
}
Object.assign(Module, statics);
native.wasmParts(Module.prototype, Memory.prototype, Table.prototype, Global.prototype, Tag.prototype, Exception.prototype, CompileError, LinkError, RuntimeError);

// What is compiled is compiled at once; only who is told of it is told later.
const later = () => new Promise((resolve) => setImmediate(resolve));
async function compileLater(source, where) {
  const [buffer, offset, size] = bytesOf(source, where);
  const copy = buffer.slice(offset, offset + size);
  await later();
  return compiled(copy, where);
}
async function responseOf(source) {
  const response = await source;
  const Response = globalThis.Response;
  if (typeof Response !== 'function' || !(response instanceof Response)) {
    const received = isObject(response) ? `an instance of ${response.constructor?.name ?? 'Object'}` : response === undefined || response === null ? String(response) : `type ${typeof response} (${String(response)})`;
    throw Object.assign(new TypeError(`The "source" argument must be an instance of Response or an Promise resolving to Response. Received ${received}`), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  const refuse = (text) => { throw Object.assign(new TypeError(text), { code: 'ERR_WEBASSEMBLY_RESPONSE' }); };
  const type = response.headers.get('content-type');
  if (type?.trim().toLowerCase() !== 'application/wasm') refuse(`WebAssembly response has unsupported MIME type '${type ?? ''}'`);
  if (!response.ok) refuse(`WebAssembly response has status code ${response.status}`);
  if (response.bodyUsed) refuse('WebAssembly response body has already been used');
  return response.arrayBuffer();
}

const functions = {
  async compile(source) { return compileLater(source, 'WebAssembly.compile()'); },
  validate(source) {
    const range = rangeOf(source);
    if (!range) throw new TypeError('WebAssembly.validate(): Argument 0 must be a buffer source');
    return native.wasmValidate(...range);
  },
  async instantiate(source, imports) {
    const where = 'WebAssembly.instantiate()';
    const isModule = kindOf(source) === 'WebAssembly.Module';
    if (!isModule && !rangeOf(source)) throw new TypeError(`${where}: Argument 0 must be a buffer source or a WebAssembly.Module object`);
    if (imports !== undefined && !isObject(imports)) throw new TypeError(`${where}: Argument 1 must be an object`);
    if (isModule) {
      await null;
      return instanceOf(source, imports, where);
    }
    const module = await compileLater(source, where);
    return { module, instance: instanceOf(module, imports, where) };
  },
  async compileStreaming(source) { return compiled(await responseOf(source), 'WebAssembly.compileStreaming()'); },
  async instantiateStreaming(source, imports) {
    const where = 'WebAssembly.instantiateStreaming()';
    const module = compiled(await responseOf(source), where);
    return { module, instance: instanceOf(module, imports, where) };
  },
};

const WebAssembly = {};
for (const [name, make] of Object.entries(functions)) {
  // Plain functions, also those that answer with a promise.
  const plain = name === 'validate' ? make : { [name](...args) { return make(...args); } }[name];
  WebAssembly[name] = Object.defineProperty(plain, 'length', { value: 1, configurable: true });
}
for (const [name, value] of Object.entries({ ...classes, CompileError, LinkError, RuntimeError }))
  Object.defineProperty(WebAssembly, name, { value, writable: true, configurable: true, enumerable: false });
Object.defineProperty(WebAssembly, Symbol.toStringTag, { value: 'WebAssembly', configurable: true });
module.exports = WebAssembly;
