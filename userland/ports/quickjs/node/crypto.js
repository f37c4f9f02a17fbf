// crypto: hashes (MD5, SHA-1, SHA-2), HMAC, PBKDF2, HKDF and random bytes.
const { native, types } = internal;

const primes = [];
for (let n = 2; primes.length < 80; n++) if (primes.every((p) => n % p)) primes.push(n);
// The first 64 bits of the fraction of a root of a prime, by whole numbers.
function rootBits(p, degree) {
  const wanted = BigInt(p) << BigInt(64 * degree);
  let least = 0n, most = 1n << 70n;
  while (most - least > 1n) {
    const middle = (least + most) >> 1n;
    if (middle ** BigInt(degree) <= wanted) least = middle;
    else most = middle;
  }
  return least & 0xffffffffffffffffn;
}
let tables;
const constants = () => tables ??= { k: primes.map((p) => rootBits(p, 3)), h: primes.slice(0, 16).map((p) => rootBits(p, 2)) };
const high = (words) => words.map((word) => Number(word >> 32n));
const low = (words) => words.map((word) => Number(word & 0xffffffffn));
const words = (list) => Uint32Array.from(list).buffer;
const wideWords = (list) => BigUint64Array.from(list).buffer;
const once = (make) => { let made; return () => (made ??= make()); };

// Each by the number that the host knows it by: its constants, and the words that it starts with.
const first = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const sha256 = once(() => words(high(constants().k.slice(0, 64)))), sha512 = once(() => wideWords(constants().k));
const algorithms = {
  md5: { kind: 0, size: 16, block: 64, little: true, k: once(() => words(Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32)))), start: () => first.slice(0, 4) },
  sha1: { kind: 1, size: 20, block: 64, k: once(() => words([0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6])), start: () => first },
  sha256: { kind: 2, size: 32, block: 64, k: sha256, start: () => high(constants().h.slice(0, 8)) },
  sha224: { kind: 2, size: 28, block: 64, k: sha256, start: () => low(constants().h.slice(8)) },
  sha512: { kind: 3, size: 64, block: 128, wide: true, k: sha512, start: () => constants().h.slice(0, 8) },
  sha384: { kind: 3, size: 48, block: 128, wide: true, k: sha512, start: () => constants().h.slice(8) },
};
function algorithm(name) {
  const found = algorithms[String(name).toLowerCase().replace(/^rsa-/, '').replace('-', '')];
  if (!found) throw Object.assign(new Error('Digest method not supported'), { code: 'ERR_CRYPTO_INVALID_DIGEST' });
  return found;
}

// A digest in the making.
class Core {
  constructor(a) {
    this.a = a;
    // 64 bytes, whatever the words are.
    this.state = new ArrayBuffer(64);
    new Uint8Array(this.state).set(new Uint8Array(a.wide ? wideWords(a.start()) : words(a.start())));
    this.rest = Buffer.alloc(0);
    this.size = 0;
  }
  update(bytes) {
    const { kind, block, k } = this.a;
    this.size += bytes.length;
    if (this.rest.length) bytes = Buffer.concat([this.rest, bytes]);
    const count = Math.floor(bytes.length / block);
    if (count) native.hashBlocks(kind, this.state, k(), bytes.buffer, bytes.byteOffset, count);
    this.rest = Buffer.from(bytes.subarray(count * block));
    return this;
  }
  digest() {
    const { block, wide, little, size } = this.a;
    const field = block / 8;
    const pad = Buffer.alloc((2 * block - 1 - field - this.rest.length) % block + 1 + field);
    pad[0] = 0x80;
    new DataView(pad.buffer).setBigUint64(pad.length - 8, BigInt(this.size) * 8n, little);
    this.update(pad);
    const out = Buffer.alloc(64), view = new DataView(out.buffer);
    if (wide) new BigUint64Array(this.state).forEach((word, i) => view.setBigUint64(8 * i, word));
    else new Uint32Array(this.state).forEach((word, i) => view.setUint32(4 * i, word, little));
    return out.subarray(0, size);
  }
  copy() { return Object.assign(Object.create(Core.prototype), this, { state: this.state.slice(0) }); }
}
const bytesOf = (data, encoding) => (data instanceof KeyObject ? data._bytes : typeof data === 'string' ? Buffer.from(data, encoding) : types.isArrayBuffer(data) ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength));
// The two states of HMAC.
function keyed(a, key) {
  let bytes = bytesOf(key);
  if (bytes.length > a.block) bytes = new Core(a).update(bytes).digest();
  const padded = Buffer.concat([bytes, Buffer.alloc(a.block - bytes.length)]);
  return [0x36, 0x5c].map((mask) => new Core(a).update(padded.map((byte) => byte ^ mask)));
}

class Hash extends require('stream').Transform {
  constructor(name) {
    super();
    this._core = new Core(algorithm(name));
  }
  update(data, encoding) {
    if (this._done) throw Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
    this._core.update(bytesOf(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this._done) throw Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
    this._done = true;
    const result = this._result();
    return encoding && encoding !== 'buffer' ? result.toString(encoding) : result;
  }
  _result() { return this._core.digest(); }
  copy() { return Object.assign(new this.constructor('md5', ''), { _core: this._core.copy(), _outer: this._outer?.copy() }); }
  _transform(chunk, encoding, callback) { this.update(chunk, encoding); callback(); }
  _flush(callback) { callback(null, this.digest()); }
}
class Hmac extends Hash {
  constructor(name, key) {
    super(name);
    [this._core, this._outer] = keyed(algorithm(name), key);
  }
  _result() { return this._outer.update(this._core.digest()).digest(); }
}

function pbkdf2Sync(password, salt, rounds, size, name) {
  const a = algorithm(name), [inner, outer] = keyed(a, password), grain = bytesOf(salt), parts = [];
  for (let i = 1, done = 0; done < size; i++) {
    const index = Buffer.alloc(4);
    index.writeUInt32BE(i);
    const last = outer.copy().update(inner.copy().update(Buffer.concat([grain, index])).digest()).digest();
    const sum = Uint8Array.from(last);
    native.hashRounds(a.kind, a.k(), inner.state, outer.state, a.size, Uint8Array.from(last).buffer, sum.buffer, rounds - 1);
    parts.push(sum);
    done += sum.length;
  }
  return Buffer.concat(parts).subarray(0, size);
}
function hkdfSync(name, key, salt, info, size) {
  const a = algorithm(name), mac = (secret, data) => { const [inner, outer] = keyed(a, secret); return outer.update(inner.update(data).digest()).digest(); };
  const secret = mac(bytesOf(salt), bytesOf(key)), parts = [];
  for (let i = 1, done = 0, last = Buffer.alloc(0); done < size; i++, done += a.size) parts.push(last = mac(secret, Buffer.concat([last, bytesOf(info), Buffer.from([i])])));
  return Uint8Array.from(Buffer.concat(parts).subarray(0, size)).buffer;
}

const randomBytes = (size, callback) => {
  const bytes = Buffer.from(native.random(size));
  return callback ? void setImmediate(callback, null, bytes) : bytes;
};
function randomInt(low, high, callback) {
  if (high === undefined || typeof high === 'function') [low, high, callback] = [0, low, high];
  const range = high - low;
  if (!(Number.isSafeInteger(low) && Number.isSafeInteger(high) && range > 0 && range < 2 ** 48))
    throw Object.assign(new RangeError(`The value of "max" is out of range. It must be greater than the value of "min" (${low}). Received ${high}`), { code: 'ERR_OUT_OF_RANGE' });
  let value;
  do value = randomBytes(6).readUIntBE(0, 6);
  while (value >= 2 ** 48 - 2 ** 48 % range);
  return callback ? void setImmediate(callback, null, low + value % range) : low + value % range;
}
function randomUUID() {
  const bytes = randomBytes(16);
  bytes[6] = bytes[6] & 15 | 64;
  bytes[8] = bytes[8] & 63 | 128;
  return bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}
function fill(target) {
  const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
  bytes.set(randomBytes(bytes.length));
  return target;
}
// Keys that both sides know; there are no pairs of keys here.
class KeyObject {
  constructor(type, bytes) {
    this.type = type;
    Object.defineProperty(this, '_bytes', { value: bytes });
  }
  get symmetricKeySize() { return this._bytes.length; }
  export({ format = 'buffer' } = {}) { return format === 'jwk' ? { kty: 'oct', k: this._bytes.toString('base64url') } : Buffer.from(this._bytes); }
  equals(other) { return this._bytes.equals(other._bytes); }
  static from(key) { return new KeyObject('secret', key._bytes); }
}
const noPairs = () => { throw Object.assign(new Error('Pairs of keys are not in this node'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' }); };
const createSecretKey = (key, encoding) => new KeyObject('secret', Buffer.from(bytesOf(key, encoding)));
class CryptoKey {
  constructor(bytes, algorithm, extractable, usages) {
    Object.assign(this, { type: 'secret', extractable, algorithm, usages });
    Object.defineProperty(this, '_bytes', { value: bytes });
  }
}
internal.tagged({ CryptoKey });
internal.isKeyObject = (value) => value instanceof KeyObject;
internal.isCryptoKey = (value) => value instanceof CryptoKey;
const notHere = (what) => new DOMException(`${what} is not in this node: webcrypto has digests, HMAC, HKDF and PBKDF2`, 'NotSupportedError');
const nameOf = (given) => String(given?.name ?? given).toUpperCase();
const exact = (buffer) => Uint8Array.from(buffer).buffer;
const hashOf = (given) => nameOf(given?.hash ?? given);
const checked = (key, usage, name) => {
  if (!(key instanceof CryptoKey) || key.algorithm.name !== name || !key.usages.includes(usage)) throw new DOMException(`Unable to use this key to ${usage}`, 'InvalidAccessError');
  return key._bytes;
};
const macOf = (key, data) => new Hmac(key.algorithm.hash.name, key._bytes).update(bytesOf(data)).digest();
const subtle = {
  digest: async (name, data) => exact(new Hash(nameOf(name)).update(bytesOf(data)).digest()),
  async importKey(format, data, given, extractable, usages) {
    const name = nameOf(given);
    if (!['HMAC', 'HKDF', 'PBKDF2'].includes(name)) throw notHere(name);
    if (format !== 'raw' && format !== 'jwk') throw notHere(`The format ${format}`);
    const bytes = format === 'jwk' ? Buffer.from(data.k, 'base64url') : Buffer.from(bytesOf(data));
    if (name !== 'HMAC') return new CryptoKey(bytes, { name }, false, [...usages]);
    algorithm(hashOf(given));
    return new CryptoKey(bytes, { name, hash: { name: hashOf(given) }, length: bytes.length * 8 }, Boolean(extractable), [...usages]);
  },
  async exportKey(format, key) {
    if (!key.extractable) throw new DOMException('key is not extractable', 'InvalidAccessError');
    if (format === 'raw') return exact(key._bytes);
    if (format !== 'jwk') throw notHere(`The format ${format}`);
    return { key_ops: [...key.usages], ext: true, kty: 'oct', k: key._bytes.toString('base64url'), alg: key.algorithm.hash.name.replace('SHA-', 'HS') };
  },
  async generateKey(given, extractable, usages) {
    if (nameOf(given) !== 'HMAC') throw notHere(nameOf(given));
    return subtle.importKey('raw', randomBytes(given.length ? given.length / 8 : algorithm(hashOf(given)).block), given, extractable, usages);
  },
  async sign(given, key, data) {
    checked(key, 'sign', 'HMAC');
    return exact(macOf(key, data));
  },
  async verify(given, key, signature, data) {
    checked(key, 'verify', 'HMAC');
    const wanted = macOf(key, data), told = bytesOf(signature);
    return wanted.length === told.length && module.exports.timingSafeEqual(wanted, told);
  },
  async deriveBits(given, key, length) {
    const name = nameOf(given), secret = checked(key, 'deriveBits', name);
    if (name === 'PBKDF2') return exact(pbkdf2Sync(secret, given.salt, given.iterations, length / 8, hashOf(given)));
    return hkdfSync(hashOf(given), secret, given.salt, given.info, length / 8);
  },
};
for (const name of ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey', 'deriveKey']) subtle[name] = async (given) => { throw notHere(`${name} with ${nameOf(given)}`); };
module.exports = { createHash: (name) => new Hash(name), createHmac: (name, key) => new Hmac(name, key), Hash, Hmac, KeyObject, createSecretKey, createPublicKey: noPairs, createPrivateKey: noPairs, pbkdf2Sync, hkdfSync, randomBytes, randomInt, randomUUID,
  hkdf: (...args) => { const callback = args.pop(); setImmediate(() => callback(null, hkdfSync(...args))); },
  pbkdf2: (...args) => { const callback = args.pop(); setImmediate(() => callback(null, pbkdf2Sync(...args))); },
  randomFill: (target, ...args) => { const callback = args.pop(); fill(target.subarray ? target.subarray(...args.slice(0, 1), args.length > 1 ? args[0] + args[1] : undefined) : target); setImmediate(callback, null, target); },
  generateKeySync: (kind, { length }) => { if (kind !== 'hmac') noPairs(); return createSecretKey(randomBytes(length >> 3)); }, getCiphers: () => [], getCurves: () => [], constants: {},
  randomFillSync: fill, getRandomValues: fill, getHashes: () => Object.keys(algorithms),
  hash: (name, data, encoding = 'hex') => new Hash(name).update(data).digest(encoding),
  timingSafeEqual(a, b) {
    if (a.byteLength !== b.byteLength) throw Object.assign(new RangeError('Input buffers must have the same byte length'), { code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH' });
    let difference = 0;
    for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
    return difference === 0;
  },
  webcrypto: { getRandomValues: fill, randomUUID, subtle, CryptoKey }, subtle };
