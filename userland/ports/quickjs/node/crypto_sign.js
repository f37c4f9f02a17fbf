// Of crypto: signatures, and RSA as a cipher.
const { native } = internal;
const { Writable } = require('stream');
const { coded, wrongType, wrongValue, isString, isFunction, bytesOf, dataOf, encoded, later, viewOf, wrongDigest } = require('crypto_util');
const { wants, prepare, load } = require('crypto_keys');

const pss = 6, mostSalt = -2;
function whole(options, name) {
  const value = options[name];
  if (value === undefined) return undefined;
  if (value !== value >> 0) throw wrongValue(`options.${name}`, value);
  return value;
}
// How it is signed: padding, salt (null for the usual one), and 1 for the form of IEEE P1363.
function mannerOf(options) {
  const padding = whole(options, 'padding');
  let salt = whole(options, 'saltLength');
  if (options.padding === pss && salt === undefined) salt = mostSalt;
  let halves = 0;
  if (typeof options === 'object') {
    const { dsaEncoding = 'der' } = options;
    if (dsaEncoding !== 'der' && dsaEncoding !== 'ieee-p1363') throw wrongValue('options.dsaEncoding', dsaEncoding);
    halves = dsaEncoding === 'der' ? 0 : 1;
  }
  return [padding ?? 0, salt ?? null, halves];
}
const noKey = () => coded(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
const used = () => coded(Error, 'ERR_CRYPTO_INVALID_STATE', 'Not initialised');

class Signing extends Writable {
  #digest;
  #name;
  constructor(algorithm, options) {
    super(options);
    isString(algorithm, 'algorithm');
    this.#digest = native.hashOpen(algorithm, -1);
    if (!this.#digest) throw coded(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', 'Invalid digest');
    this.#name = algorithm;
  }
  update(data, encoding) {
    const bytes = dataOf(data, encoding);
    if (!this.#digest) throw used();
    native.hashUpdate(this.#digest, bytes);
    return this;
  }
  _write(chunk, encoding, callback) { this.update(chunk, encoding); callback(); }
  // The name of the digest, and what it has come to.
  static finish(signing) {
    if (!signing.#digest) throw used();
    const result = [signing.#name, new Uint8Array(native.hashFinal(signing.#digest))];
    signing.#digest = undefined;
    return result;
  }
}
class Sign extends Signing {
  sign(options, encoding) {
    if (!options) throw noKey();
    const prepared = prepare(options, wants.private), [padding, salt, halves] = mannerOf(options);
    const handle = load(prepared, wants.private), [name, digest] = Signing.finish(this);
    return encoded(Buffer.from(native.keySign(handle, digest, name, 1, padding, salt, halves)), encoding);
  }
}
class Verify extends Signing {
  verify(options, signature, encoding) {
    const prepared = prepare(options, wants.either), [padding, salt, halves] = mannerOf(options);
    const bytes = bytesOf(signature, 'signature', encoding);
    const handle = load(prepared, wants.either), [name, digest] = Signing.finish(this);
    return native.keyVerify(handle, digest, name, 1, padding, salt, halves, bytes);
  }
}

// The digest of a signature that is made at once: null for that of the key itself.
function digestOf(name) {
  if (name === null || name === undefined) return null;
  const found = native.hashOpen(name, -1);
  if (!found) throw wrongDigest(name);
  return name;
}
function sign(algorithm, data, key, callback) {
  if (algorithm !== null && algorithm !== undefined) isString(algorithm, 'algorithm');
  if (callback !== undefined) isFunction(callback, 'callback');
  const bytes = bytesOf(data, 'data');
  if (!key) throw noKey();
  const [padding, salt, halves] = mannerOf(key), handle = load(prepare(key, wants.private), wants.private), digest = digestOf(algorithm);
  const job = () => Buffer.from(native.keySign(handle, bytes, digest, 0, padding, salt, halves));
  return callback ? later(callback, job) : job();
}
function verify(algorithm, data, key, signature, callback) {
  if (algorithm !== null && algorithm !== undefined) isString(algorithm, 'algorithm');
  if (callback !== undefined) isFunction(callback, 'callback');
  const bytes = bytesOf(data, 'data'), [padding, salt, halves] = mannerOf(key);
  if (!ArrayBuffer.isView(signature)) throw wrongType('signature', ['Buffer', 'TypedArray', 'DataView'], signature);
  const handle = load(prepare(key, wants.either), wants.either), digest = digestOf(algorithm), told = viewOf(signature);
  const job = () => native.keyVerify(handle, bytes, digest, 0, padding, salt, halves, told);
  return callback ? later(callback, job) : job();
}

// --- RSA as a cipher ---

const operations = { publicEncrypt: [0, wants.either, 4], privateDecrypt: [1, wants.private, 4], privateEncrypt: [2, wants.private, 1], publicDecrypt: [3, wants.either, 1] };
const ciphers = Object.fromEntries(Object.entries(operations).map(([name, [operation, want, usual]]) => [name, (options, buffer) => {
  const prepared = prepare(options, want), { oaepHash, encoding, padding } = options;
  if (oaepHash !== undefined) isString(oaepHash, 'key.oaepHash');
  const label = options.oaepLabel === undefined ? null : bytesOf(options.oaepLabel, 'key.oaepLabel', encoding);
  const bytes = bytesOf(buffer, 'buffer', encoding);
  return Buffer.from(native.keyCrypt(operation, load(prepared, want), bytes, (padding || usual) >>> 0, oaepHash ?? null, label));
}]));

// Functions that programs also call with `new`.
function createSign(name, options) { return new Sign(name, options); }
function createVerify(name, options) { return new Verify(name, options); }
module.exports = { Sign, Verify, createSign, createVerify, sign, verify, ...ciphers };
