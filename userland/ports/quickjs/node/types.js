// util.types: what the engine made an object as, whatever realm it is of and whatever it says of itself.
const { native } = internal;
const kindOf = (value) => native.className(value);
const kind = (name) => (value) => kindOf(value) === name;
const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
const typedArray = Object.getPrototypeOf(Uint8Array);
const nameOfArray = Object.getOwnPropertyDescriptor(typedArray.prototype, Symbol.toStringTag).get;
const isObject = (value) => value !== null && typeof value === 'object';

const types = { isExternal: () => false, isProxy: (value) => native.isProxy(value) };
for (const name of ['Date', 'RegExp', 'Map', 'Set', 'Promise', 'ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'WeakMap', 'WeakSet']) types[`is${name}`] = kind(name);
for (const name of ['Number', 'String', 'Boolean', 'BigInt', 'Symbol']) types[`is${name}Object`] = kind(name);
for (const name of ['Uint8Array', 'Uint8ClampedArray', 'Uint16Array', 'Uint32Array', 'Int8Array', 'Int16Array', 'Int32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'])
  types[`is${name}`] = (value) => ArrayBuffer.isView(value) && nameOfArray.call(value) === name;
module.exports = Object.assign(types, {
  isNativeError: kind('Error'),
  isTypedArray: (value) => ArrayBuffer.isView(value) && nameOfArray.call(value) !== undefined,
  isArrayBufferView: ArrayBuffer.isView,
  isAnyArrayBuffer: (value) => ['ArrayBuffer', 'SharedArrayBuffer'].includes(kindOf(value)),
  isBoxedPrimitive: (value) => isObject(value) && ['Number', 'String', 'Boolean', 'BigInt', 'Symbol'].includes(kindOf(value)),
  isArgumentsObject: kind('Arguments'),
  isGeneratorObject: kind('Generator'),
  isMapIterator: kind('Map Iterator'),
  isSetIterator: kind('Set Iterator'),
  isAsyncFunction: (value) => typeof value === 'function' && ['AsyncFunction', 'AsyncGeneratorFunction'].includes(tag(value)),
  isGeneratorFunction: (value) => typeof value === 'function' && ['GeneratorFunction', 'AsyncGeneratorFunction'].includes(tag(value)),
  isModuleNamespaceObject: (value) => isObject(value) && tag(value) === 'Module' && Object.getPrototypeOf(value) === null,
  isKeyObject: (value) => isObject(value) && internal.isKeyObject?.(value) === true,
  isCryptoKey: (value) => isObject(value) && internal.isCryptoKey?.(value) === true,
});
