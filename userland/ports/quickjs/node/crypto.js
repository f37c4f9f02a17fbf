// crypto: hashes (MD5, SHA-1, SHA-2), HMAC, PBKDF2 and random bytes.
const { native } = internal;

const primes = [];
for (let n = 2; primes.length < 80; n++) if (primes.every((p) => n % p)) primes.push(n);
// The first 64 bits of the fraction of a root of a prime, by whole numbers.
function rootBits(p, degree) {
  const wanted = BigInt(p) << BigInt(64 * degree);
  let low = 0n, high = 1n << 70n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(degree) <= wanted) low = middle;
    else high = middle;
  }
  return low & 0xffffffffffffffffn;
}
let tables;
const constants = () => tables ??= { k: primes.map((p) => rootBits(p, 3)), h: primes.slice(0, 16).map((p) => rootBits(p, 2)) };
const top = (words) => words.map((word) => Number(word >> 32n) | 0);
const turn = (x, n) => x << n | x >>> (32 - n);

function md5Block(h, w) {
  const k = md5Block.k ??= Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0);
  const shifts = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
  let [a, b, c, d] = h;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    const f = round === 0 ? b & c | ~b & d : round === 1 ? d & b | ~d & c : round === 2 ? b ^ c ^ d : c ^ (b | ~d);
    const g = [i, 5 * i + 1, 3 * i + 5, 7 * i][round] & 15;
    const sum = a + f + k[i] + w[g] | 0;
    [a, d, c, b] = [d, c, b, b + turn(sum, shifts[round][i & 3]) | 0];
  }
  [a, b, c, d].forEach((x, i) => { h[i] = h[i] + x | 0; });
}
function sha1Block(h, block) {
  const w = [...block];
  for (let i = 16; i < 80; i++) w[i] = turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  let [a, b, c, d, e] = h;
  for (let i = 0; i < 80; i++) {
    const [f, k] = i < 20 ? [b & c | ~b & d, 0x5a827999] : i < 40 ? [b ^ c ^ d, 0x6ed9eba1] : i < 60 ? [b & c | b & d | c & d, 0x8f1bbcdc] : [b ^ c ^ d, 0xca62c1d6];
    [a, b, c, d, e] = [turn(a, 5) + f + e + k + w[i] | 0, a, turn(b, 30), c, d];
  }
  [a, b, c, d, e].forEach((x, i) => { h[i] = h[i] + x | 0; });
}
function sha256Block(h, block) {
  const k = sha256Block.k ??= top(constants().k);
  const w = [...block];
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (turn(x, 25) ^ turn(x, 14) ^ x >>> 3) + w[i - 7] + (turn(y, 15) ^ turn(y, 13) ^ y >>> 10) | 0;
  }
  let [a, b, c, d, e, f, g, z] = h;
  for (let i = 0; i < 64; i++) {
    const t = z + (turn(e, 26) ^ turn(e, 21) ^ turn(e, 7)) + (e & f ^ ~e & g) + k[i] + w[i] | 0;
    const u = (turn(a, 30) ^ turn(a, 19) ^ turn(a, 10)) + (a & b ^ a & c ^ b & c) | 0;
    [z, g, f, e, d, c, b, a] = [g, f, e, d + t | 0, c, b, a, t + u | 0];
  }
  [a, b, c, d, e, f, g, z].forEach((x, i) => { h[i] = h[i] + x | 0; });
}
const mask = 0xffffffffffffffffn;
const turn64 = (x, n) => (x >> n | x << (64n - n)) & mask;
function sha512Block(h, block) {
  const { k } = constants();
  const w = [...block];
  for (let i = 16; i < 80; i++) {
    const x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (turn64(x, 1n) ^ turn64(x, 8n) ^ x >> 7n) + w[i - 7] + (turn64(y, 19n) ^ turn64(y, 61n) ^ y >> 6n) & mask;
  }
  let [a, b, c, d, e, f, g, z] = h;
  for (let i = 0; i < 80; i++) {
    const t = z + (turn64(e, 14n) ^ turn64(e, 18n) ^ turn64(e, 41n)) + (e & f ^ ~e & mask & g) + k[i] + w[i];
    const u = (turn64(a, 28n) ^ turn64(a, 34n) ^ turn64(a, 39n)) + (a & b ^ a & c ^ b & c);
    [z, g, f, e, d, c, b, a] = [g, f, e, d + t & mask, c, b, a, t + u & mask];
  }
  [a, b, c, d, e, f, g, z].forEach((x, i) => { h[i] = h[i] + x & mask; });
}
const algorithms = {
  md5: { size: 16, block: 64, little: true, run: md5Block, start: () => [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476] },
  sha1: { size: 20, block: 64, run: sha1Block, start: () => [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476, 0xc3d2e1f0 | 0] },
  sha256: { size: 32, block: 64, run: sha256Block, start: () => top(constants().h.slice(0, 8)) },
  sha224: { size: 28, block: 64, run: sha256Block, start: () => constants().h.slice(8).map((word) => Number(word & 0xffffffffn) | 0) },
  sha512: { size: 64, block: 128, wide: true, run: sha512Block, start: () => constants().h.slice(0, 8) },
  sha384: { size: 48, block: 128, wide: true, run: sha512Block, start: () => constants().h.slice(8) },
};
function algorithm(name) {
  const found = algorithms[String(name).toLowerCase().replace(/^rsa-/, '').replace('-', '')];
  if (!found) throw Object.assign(new Error('Digest method not supported'), { code: 'ERR_CRYPTO_INVALID_DIGEST' });
  return found;
}

class Hash extends require('stream').Transform {
  constructor(name) {
    super();
    this._a = algorithm(name);
    this._h = this._a.start();
    this._rest = Buffer.alloc(0);
    this._size = 0;
  }
  update(data, encoding) {
    if (this._done) throw Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
    const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    this._size += bytes.length;
    this._blocks(this._rest.length ? Buffer.concat([this._rest, bytes]) : bytes);
    return this;
  }
  _blocks(bytes) {
    const { block, wide, little, run } = this._a;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    const words = new Array(16);
    for (; at + block <= bytes.length; at += block) {
      for (let i = 0; i < 16; i++) words[i] = wide ? view.getBigUint64(at + 8 * i) : view.getInt32(at + 4 * i, little);
      run(this._h, words);
    }
    this._rest = Buffer.from(bytes.subarray(at));
  }
  digest(encoding) {
    if (this._done) throw Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
    this._done = true;
    const { block, wide, little, size } = this._a;
    const field = block / 8;
    const pad = Buffer.alloc((2 * block - 1 - field - this._rest.length) % block + 1 + field);
    pad[0] = 0x80;
    new DataView(pad.buffer).setBigUint64(pad.length - 8, BigInt(this._size) * 8n, little);
    this._blocks(Buffer.concat([this._rest, pad]));
    const out = Buffer.alloc(64);
    const view = new DataView(out.buffer);
    this._h.forEach((word, i) => (wide ? view.setBigUint64(8 * i, word) : view.setInt32(4 * i, word, little)));
    const result = out.subarray(0, size);
    return encoding && encoding !== 'buffer' ? result.toString(encoding) : result;
  }
  copy() { return Object.assign(Object.create(Object.getPrototypeOf(this)), this, { _h: [...this._h] }); }
  _transform(chunk, encoding, callback) { this.update(chunk); callback(); }
  _flush(callback) { callback(null, this.digest()); }
}
class Hmac extends Hash {
  constructor(name, key) {
    super(name);
    let bytes = typeof key === 'string' ? Buffer.from(key) : Buffer.from(key);
    if (bytes.length > this._a.block) bytes = new Hash(name).update(bytes).digest();
    const padded = Buffer.concat([bytes, Buffer.alloc(this._a.block - bytes.length)]);
    this._outer = new Hash(name).update(padded.map((byte) => byte ^ 0x5c));
    this.update(padded.map((byte) => byte ^ 0x36));
  }
  digest(encoding) { return this._outer.update(super.digest()).digest(encoding); }
}

function pbkdf2Sync(password, salt, rounds, size, name) {
  const parts = [];
  const secret = Buffer.from(password), grain = Buffer.from(salt);
  for (let i = 1, done = 0; done < size; i++) {
    const index = Buffer.alloc(4);
    index.writeUInt32BE(i);
    let u = new Hmac(name, secret).update(Buffer.concat([grain, index])).digest();
    const sum = Buffer.from(u);
    for (let round = 1; round < rounds; round++) {
      u = new Hmac(name, secret).update(u).digest();
      for (let j = 0; j < sum.length; j++) sum[j] ^= u[j];
    }
    parts.push(sum);
    done += sum.length;
  }
  return Buffer.concat(parts).subarray(0, size);
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
const subtle = {
  async digest(name, data) {
    const bytes = ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
    return Uint8Array.from(new Hash(name.name ?? name).update(bytes).digest()).buffer;
  },
};
module.exports = { createHash: (name) => new Hash(name), createHmac: (name, key) => new Hmac(name, key), Hash, Hmac, pbkdf2Sync, randomBytes, randomInt, randomUUID,
  pbkdf2: (...args) => { const callback = args.pop(); setImmediate(() => callback(null, pbkdf2Sync(...args))); },
  randomFillSync: fill, getRandomValues: fill, getHashes: () => Object.keys(algorithms),
  hash: (name, data, encoding = 'hex') => new Hash(name).update(data).digest(encoding),
  timingSafeEqual(a, b) {
    if (a.byteLength !== b.byteLength) throw Object.assign(new RangeError('Input buffers must have the same byte length'), { code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH' });
    let difference = 0;
    for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
    return difference === 0;
  },
  webcrypto: { getRandomValues: fill, randomUUID, subtle }, subtle };
