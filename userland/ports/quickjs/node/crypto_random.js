// Of crypto: random bytes and numbers, each of which the system gives anew: nothing of them is kept, so what goes on twice from one memory goes on differently.
const { native, types } = internal;
const { wrongType, outOfRange, isFunction, isBoolean, isObject, isInt32, viewOf, isBytes, later, bytesOfNumber, numberOfBytes, coded } = require('crypto_util');

const most = 2 ** 31 - 1, grain = 1 << 26;
function isNumber(value, name) { if (typeof value !== 'number') throw wrongType(name, 'number', value); }
function fillView(view) {
  for (let at = 0; at < view.length; at += grain) view.set(new Uint8Array(native.random(Math.min(grain, view.length - at))), at);
}
// The range of bytes that is to be filled, by elements of the array.
function rangeOf(buffer, offset, size) {
  if (!isBytes(buffer)) throw wrongType('buf', ['ArrayBuffer', 'ArrayBufferView'], buffer);
  const width = buffer.BYTES_PER_ELEMENT || 1, whole = buffer.byteLength;
  isNumber(offset, 'offset');
  const from = offset * width, end = Math.min(whole, most);
  if (Number.isNaN(from) || from > end || from < 0) throw outOfRange('offset', `>= 0 && <= ${end}`, from);
  if (size === undefined) return viewOf(buffer).subarray(from);
  isNumber(size, 'size');
  const count = size * width;
  if (Number.isNaN(count) || count > most || count < 0) throw outOfRange('size', `>= 0 && <= ${most}`, count);
  if (count + from > whole) throw outOfRange('size + offset', `<= ${whole}`, count + from);
  return viewOf(buffer).subarray(from, from + count);
}
function randomFillSync(buffer, offset = 0, size) {
  fillView(rangeOf(buffer, offset, size));
  return buffer;
}
function randomFill(buffer, offset, size, callback) {
  if (typeof offset === 'function') [callback, offset, size] = [offset, 0, undefined];
  else if (typeof size === 'function') [callback, size] = [size, undefined];
  const view = isBytes(buffer) ? null : rangeOf(buffer);
  isFunction(callback, 'callback');
  const range = view ?? rangeOf(buffer, offset, size);
  later(callback, () => (fillView(range), buffer));
}
function randomBytes(size, callback) {
  isNumber(size, 'size');
  if (Number.isNaN(size) || size > most || size < 0) throw outOfRange('size', `>= 0 && <= ${most}`, size);
  if (callback !== undefined) isFunction(callback, 'callback');
  const make = () => {
    const bytes = Buffer.alloc(Math.floor(size));
    fillView(bytes);
    return bytes;
  };
  return callback ? later(callback, make) : make();
}
function randomInt(low, high, callback) {
  const alone = high === undefined || typeof high === 'function';
  if (alone) [low, high, callback] = [0, low, high];
  if (callback !== undefined) isFunction(callback, 'callback');
  if (!Number.isSafeInteger(low)) throw wrongType('min', 'a safe integer', low);
  if (!Number.isSafeInteger(high)) throw wrongType('max', 'a safe integer', high);
  if (high <= low) throw outOfRange('max', `greater than the value of "min" (${low})`, high);
  const range = high - low, all = 2 ** 48 - 1;
  if (range > all) throw outOfRange(`max${alone ? '' : ' - min'}`, `<= ${all}`, range);
  const draw = () => {
    for (;;) {
      const value = randomBytes(6).readUIntBE(0, 6);
      if (value < all - all % range) return value % range + low;
    }
  };
  if (!callback) return draw();
  process.nextTick(callback, undefined, draw());
}
function randomUUID(options) {
  if (options !== undefined) isObject(options, 'options');
  isBoolean(options?.disableEntropyCache ?? false, 'options.disableEntropyCache');
  const bytes = randomBytes(16);
  bytes[6] = bytes[6] & 15 | 64;
  bytes[8] = bytes[8] & 63 | 128;
  return bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}
function getRandomValues(array) {
  if (!types.isTypedArray(array) || types.isFloat32Array(array) || types.isFloat64Array(array)) throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
  if (array.byteLength > 65536) throw new DOMException('The requested length exceeds 65,536 bytes', 'QuotaExceededError');
  fillView(viewOf(array));
  return array;
}

// --- Primes ---

const kinds = ['ArrayBuffer', 'TypedArray', 'Buffer', 'DataView', 'bigint'];
function numberFrom(value, name) {
  if (typeof value === 'bigint') return bytesOfNumber(value, name);
  if (!isBytes(value)) throw wrongType(name, kinds, value);
  return viewOf(value);
}
function primeJob(size, options) {
  isObject(options, 'options');
  const { safe = false, bigint = false, add, rem } = options;
  isBoolean(safe, 'options.safe');
  isBoolean(bigint, 'options.bigint');
  const step = add === undefined ? undefined : numberFrom(add, 'options.add'), rest = rem === undefined ? undefined : numberFrom(rem, 'options.rem');
  return () => {
    const bytes = native.primeMake(size, safe ? 1 : 0, step, rest);
    return bigint ? numberOfBytes(bytes) : bytes;
  };
}
// The callbacks of primes are told no error by undefined.
const laterPrime = (callback, job) => later((error, result) => callback(error ?? undefined, result), job);
function generatePrime(size, options, callback) {
  isInt32(size, 'size', 1);
  if (typeof options === 'function') [callback, options] = [options, {}];
  isFunction(callback, 'callback');
  laterPrime(callback, primeJob(size, options));
}
function generatePrimeSync(size, options = {}) {
  isInt32(size, 'size', 1);
  return primeJob(size, options)();
}
function checkJob(candidate, options) {
  isObject(options, 'options');
  isInt32(options.checks ?? 0, 'options.checks', 0);
  return () => native.primeCheck(candidate);
}
function checkPrime(candidate, options, callback) {
  candidate = numberFrom(candidate, 'candidate');
  if (typeof options === 'function') [callback, options] = [options, {}];
  isFunction(callback, 'callback');
  laterPrime(callback, checkJob(candidate, options ?? {}));
}
const checkPrimeSync = (candidate, options = {}) => checkJob(numberFrom(candidate, 'candidate'), options)();

function timingSafeEqual(a, b) {
  for (const [name, value] of [['buf1', a], ['buf2', b]])
    if (!isBytes(value)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`);
  if (a.byteLength !== b.byteLength) throw coded(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
  return native.equalBytes(viewOf(a), viewOf(b));
}

module.exports = { randomBytes, randomFill, randomFillSync, randomInt, randomUUID, getRandomValues, generatePrime, generatePrimeSync, checkPrime, checkPrimeSync, timingSafeEqual };
