// Of crypto: digests, HMAC, and keys that are derived from passwords and secrets.
const { native } = internal;
const { Transform } = require('stream');
const { coded, wrongType, wrongValue, outOfRange, isString, isFunction, isInteger, isInt32, isUint32, isBytes, viewOf, bytesOf, dataOf, encoded, textOption, later, wrongDigest } = require('crypto_util');

const finalized = () => coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
class Hash extends Transform {
  #digest;
  #done = false;
  constructor(algorithm, options) {
    super(options);
    const size = typeof options === 'object' && options !== null ? options.outputLength : undefined;
    if (algorithm instanceof Hash) {
      this.#digest = native.hashCopy(algorithm.#digest, sizeOf(size));
      return;
    }
    isString(algorithm, 'algorithm');
    this.#digest = native.hashOpen(algorithm, sizeOf(size));
    if (!this.#digest) throw new Error('Digest method not supported');
  }
  copy(options) {
    if (this.#done) throw finalized();
    return new Hash(this, options);
  }
  update(data, encoding) {
    if (this.#done) throw finalized();
    native.hashUpdate(this.#digest, dataOf(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#done) throw finalized();
    this.#done = true;
    return encoded(Buffer.from(native.hashFinal(this.#digest)), encoding && `${encoding}`);
  }
  _transform(chunk, encoding, callback) { this.update(chunk, encoding); callback(); }
  _flush(callback) { callback(null, this.digest()); }
}
function sizeOf(size) {
  if (size === undefined) return -1;
  isUint32(size, 'options.outputLength');
  if (size > 2 ** 31 - 1) throw outOfRange('options.outputLength', `<= ${2 ** 31 - 1}`, size);
  return size;
}

class Hmac extends Transform {
  #digest;
  #done = false;
  constructor(algorithm, key, options) {
    super(options);
    isString(algorithm, 'hmac');
    const secret = require('crypto_keys').prepareSecret(key, textOption(options, 'encoding'));
    this.#digest = native.hmacOpen(algorithm, secret);
    if (!this.#digest) throw wrongDigest(algorithm);
  }
  update(data, encoding) {
    if (this.#done) throw finalized();
    native.hashUpdate(this.#digest, dataOf(data, encoding));
    return this;
  }
  digest(encoding) {
    // A second one is empty.
    const bytes = this.#done ? Buffer.alloc(0) : Buffer.from(native.hashFinal(this.#digest));
    this.#done = true;
    return encoded(bytes, encoding && `${encoding}`);
  }
  _transform(chunk, encoding, callback) { this.update(chunk, encoding); callback(); }
  _flush(callback) { callback(null, this.digest()); }
}

function hash(algorithm, input, encoding = 'hex') {
  isString(algorithm, 'algorithm');
  if (typeof input !== 'string' && !ArrayBuffer.isView(input)) throw wrongType('input', ['Buffer', 'TypedArray', 'DataView', 'string'], input);
  if (encoding !== 'hex') isString(encoding, 'outputEncoding');
  if (encoding.toLowerCase() !== 'buffer' && !Buffer.isEncoding(encoding)) throw wrongValue('outputEncoding', encoding);
  const digest = native.hashOpen(algorithm, -1);
  if (!digest) throw new Error('Digest method not supported');
  native.hashUpdate(digest, typeof input === 'string' ? Buffer.from(input) : viewOf(input));
  return encoded(Buffer.from(native.hashFinal(digest)), encoding.toLowerCase() === 'buffer' ? undefined : encoding);
}

// --- Keys that are derived ---

const orNoDigest = (key, digest) => {
  if (!key) throw wrongDigest(digest);
  return key;
};
function pbkdf2Job(password, salt, rounds, size, digest) {
  isString(digest, 'digest');
  password = bytesOf(password, 'password');
  salt = bytesOf(salt, 'salt');
  isInt32(rounds, 'iterations', 1);
  isInt32(size, 'keylen', 0);
  // A digest that is none is an error at once.
  orNoDigest(native.pbkdf2(digest, password, salt, 1, 0), digest);
  return () => Buffer.from(native.pbkdf2(digest, password, salt, rounds, size));
}
const pbkdf2Sync = (...words) => pbkdf2Job(...words)();
function pbkdf2(password, salt, rounds, size, digest, callback) {
  if (typeof digest === 'function') [callback, digest] = [digest, undefined];
  const job = pbkdf2Job(password, salt, rounds, size, digest);
  isFunction(callback, 'callback');
  later(callback, job);
}

const usual = { N: 16384, r: 8, p: 1, maxmem: 32 << 20 };
function scryptWords(options) {
  const words = { ...usual };
  for (const [name, long] of [['N', 'cost'], ['r', 'blockSize'], ['p', 'parallelization']]) {
    const short = options?.[name], other = options?.[long];
    if (short !== undefined) isUint32(short, name);
    if (other !== undefined && short !== undefined) throw coded(Error, 'ERR_CRYPTO_SCRYPT_INVALID_PARAMETER', 'Invalid scrypt parameter');
    if (other !== undefined) isUint32(other, long);
    words[name] = short || other || usual[name];
  }
  if (options?.maxmem !== undefined) isInteger(options.maxmem, 'maxmem', 0);
  words.maxmem = options?.maxmem || usual.maxmem;
  return words;
}
const badScrypt = (error) => coded(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', `Invalid scrypt params${error.code ? `: ${error.message}` : ''}`);
function scryptJob(password, salt, size, options) {
  password = bytesOf(password, 'password');
  salt = bytesOf(salt, 'salt');
  isInt32(size, 'keylen', 0);
  const { N, r, p, maxmem } = scryptWords(options);
  try {
    native.scrypt(password, salt, N, r, p, maxmem, 0);
  } catch (error) {
    throw badScrypt(error);
  }
  return () => (size ? Buffer.from(native.scrypt(password, salt, N, r, p, maxmem, size)) : Buffer.alloc(0));
}
const scryptSync = (password, salt, size, options) => scryptJob(password, salt, size, options)();
function scrypt(password, salt, size, options, callback) {
  if (callback === undefined) [callback, options] = [options, undefined];
  const job = scryptJob(password, salt, size, options);
  isFunction(callback, 'callback');
  later(callback, job);
}

const secretOf = (key) => {
  const keys = require('crypto_keys');
  if (keys.isKeyObject(key)) return keys.prepareSecret(key);
  if (typeof key !== 'string' && !isBytes(key)) throw wrongType('ikm', ['string', 'SecretKeyObject', 'ArrayBuffer', 'TypedArray', 'DataView', 'Buffer'], key);
  return bytesOf(key, 'ikm');
};
function hkdfJob(digest, key, salt, info, size) {
  isString(digest, 'digest');
  key = secretOf(key);
  salt = bytesOf(salt, 'salt');
  info = bytesOf(info, 'info');
  isInteger(size, 'length', 0, Number.MAX_SAFE_INTEGER);
  if (info.length > 1024) throw outOfRange('info', 'must not contain more than 1024 bytes', info.length);
  const width = native.hashOpen(digest, -1);
  if (!width) throw wrongDigest(digest);
  if (size > 255 * native.hashFinal(width).byteLength) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  return () => native.hkdf(digest, key, salt, info, size);
}
const hkdfSync = (...words) => hkdfJob(...words)();
function hkdf(digest, key, salt, info, size, callback) {
  const job = hkdfJob(digest, key, salt, info, size);
  isFunction(callback, 'callback');
  later(callback, job);
}

// Functions that programs also call with `new`.
function createHash(name, options) { return new Hash(name, options); }
function createHmac(name, key, options) { return new Hmac(name, key, options); }
module.exports = { Hash, Hmac, hash, createHash, createHmac,
  pbkdf2, pbkdf2Sync, scrypt, scryptSync, hkdf, hkdfSync };
