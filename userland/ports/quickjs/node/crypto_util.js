// What the modules of crypto share: the bytes of what programs give, and work that is done later.
const { native, types } = internal;
const checks = require('checks');
const { coded, wrongType, wrongValue, outOfRange, isString } = checks;

native.cryptoStart();

const isBytes = (value) => ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);
// As the host takes bytes.
const viewOf = (value) => (types.isUint8Array(value) ? value : types.isAnyArrayBuffer(value) ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
function bytesOf(value, name, encoding) {
  if (typeof value === 'string') return Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
  if (!isBytes(value)) throw wrongType(name, ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], value);
  return viewOf(value);
}
// Data of update, which are no bare ArrayBuffer.
function dataOf(value, encoding) {
  if (typeof value === 'string') {
    if (encoding === 'hex' && value.length % 2) throw wrongValue('encoding', encoding, `is invalid for data of length ${value.length}`);
    return Buffer.from(value, Buffer.isEncoding(encoding) ? encoding : 'utf8');
  }
  if (!ArrayBuffer.isView(value)) throw wrongType('data', ['string', 'Buffer', 'TypedArray', 'DataView'], value);
  return viewOf(value);
}
const encoded = (bytes, encoding) => (encoding && encoding !== 'buffer' ? bytes.toString(encoding) : bytes);
function textOption(options, name) {
  const value = options?.[name];
  if (value !== undefined && value !== null) isString(value, `options.${name}`);
  return value ?? undefined;
}
// Work whose result a callback gets: there are no threads here, so it is done when the program has given way.
function later(callback, work) {
  setImmediate(() => {
    let result;
    try {
      result = work();
    } catch (error) {
      return void callback(error);
    }
    callback(null, result);
  });
}
// A number as bytes, and back.
const bytesOfNumber = (number, name) => {
  if (number < 0) throw outOfRange(name, '>= 0', number);
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + hex.length % 2, '0'), 'hex');
};
const numberOfBytes = (bytes) => BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
const wrongDigest = (name) => coded(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);

module.exports = { ...checks, isBytes, viewOf, bytesOf, dataOf, encoded, textOption, later, bytesOfNumber, numberOfBytes, wrongDigest };
