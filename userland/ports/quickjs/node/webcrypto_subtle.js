// What crypto.subtle does, over the keys and ciphers of crypto.
const { native } = internal;
const { coded, later, numberOfBytes } = require('crypto_util');
const { SecretKeyObject, PublicKeyObject, PrivateKeyObject, handleOf, createPublicKey, createPrivateKey, handleOfJwk, jwkOf, written, fromRaw, unpackedKey: unpackedObject, curves } = require('crypto_keys');
const { generateKeyPairSync, generateKeySync } = require('crypto_keygen');
const { refused, unknown, failed, wholeNumber, source, usagesFrom, formatFrom, jwkFrom, normalize, usageNames } = require('webcrypto_words');
const { inspect } = require('util');

// --- Keys ---

const token = {};
let keyOfCryptoKey, isCryptoKey;
class CryptoKey {
  #key;
  #algorithm;
  #extractable;
  #usages;
  static { keyOfCryptoKey = (key) => key.#key; }
  static { isCryptoKey = (value) => value !== null && typeof value === 'object' && #key in value; }
  constructor(given, key, algorithm, extractable, usages) {
    if (given !== token) throw coded(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
    this.#key = key;
    this.#algorithm = algorithm;
    this.#extractable = Boolean(extractable);
    this.#usages = [...new Set(usages)];
  }
  get type() { return this.#key.type; }
  get extractable() { return this.#extractable; }
  get algorithm() { return this.#algorithm; }
  get usages() { return this.#usages; }
  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    const { type, extractable, algorithm, usages } = this;
    return `CryptoKey ${inspect({ type, extractable, algorithm, usages }, { ...options, depth: options.depth === null || options.depth === undefined ? null : options.depth - 1 })}`;
  }
}
for (const name of ['type', 'extractable', 'algorithm', 'usages']) Object.defineProperty(CryptoKey.prototype, name, { enumerable: true });
internal.tagged({ CryptoKey });
Object.assign(internal, { isCryptoKey, keyOfCryptoKey });
const handle = (key) => handleOf(keyOfCryptoKey(key));
const cryptoKey = (key, algorithm, extractable, usages) => new CryptoKey(token, key, algorithm, extractable, usages);

const isRsa = (name) => name.startsWith('RSA'), isAes = (name) => name.startsWith('AES'), isEc = (name) => name === 'ECDSA' || name === 'ECDH';
const isEdwards = (name) => name === 'Ed25519' || name === 'Ed448', isMontgomery = (name) => name === 'X25519' || name === 'X448';
const blockBits = { 'SHA-1': 512, 'SHA-256': 512, 'SHA-384': 1024, 'SHA-512': 1024 }, digestBytes = { 'SHA-1': 20, 'SHA-256': 32, 'SHA-384': 48, 'SHA-512': 64 };
const bufferOf = (bytes) => Uint8Array.from(bytes).buffer;

// What the public and the private key of an algorithm may be used for.
function usesOf(name) {
  if (name === 'RSA-OAEP') return [['encrypt', 'wrapKey'], ['decrypt', 'unwrapKey']];
  if (isRsa(name) || name === 'ECDSA' || isEdwards(name)) return [['verify'], ['sign']];
  return [[], ['deriveKey', 'deriveBits']];
}
const secretUses = (name) => (name === 'HMAC' ? ['sign', 'verify'] : name === 'AES-KW' ? ['wrapKey', 'unwrapKey'] : isAes(name) ? ['wrapKey', 'unwrapKey', 'encrypt', 'decrypt'] : ['deriveKey', 'deriveBits']);
function checkUses(usages, allowed, words) {
  if (usages.some((usage) => !allowed.includes(usage))) throw refused(`Unsupported key usage for ${words} key`, 'SyntaxError');
}
const usesWord = (name) => (isAes(name) ? 'an AES' : `${isRsa(name) || name === 'HMAC' ? 'an' : 'a'} ${name}`);

// --- New keys ---

function pairOf(algorithm) {
  const { name, namedCurve, modulusLength, publicExponent } = algorithm;
  if (isEc(name)) return [generateKeyPairSync('ec', { namedCurve }), { name, namedCurve }];
  if (!isRsa(name)) return [generateKeyPairSync(name.toLowerCase()), { name }];
  return [generateKeyPairSync('rsa', { modulusLength, publicExponent: Number(numberOfBytes(publicExponent)) }), { name, modulusLength, publicExponent, hash: { name: algorithm.hash.name } }];
}
function makePair(algorithm, extractable, usages) {
  const { name } = algorithm, uses = usesOf(name);
  if (isRsa(name) && numberOfBytes(algorithm.publicExponent) > 0xffffffffn) throw refused('The publicExponent must be equivalent to an unsigned 32-bit value', 'OperationError');
  checkUses(usages, uses.flat(), isRsa(name) ? 'a RSA' : `an ${name}`);
  let pair, words;
  try {
    [pair, words] = pairOf(algorithm);
  } catch (error) {
    throw failed(error);
  }
  const [publicUses, privateUses] = uses.map((some) => some.filter((usage) => usages.includes(usage)));
  if (!privateUses.length) throw refused('Usages cannot be empty when creating a key.', 'SyntaxError');
  return { __proto__: null, publicKey: cryptoKey(pair.publicKey, words, true, publicUses), privateKey: cryptoKey(pair.privateKey, words, extractable, privateUses) };
}
function makeSecret(algorithm, extractable, usages) {
  const { name } = algorithm;
  checkUses(usages, secretUses(name), usesWord(name));
  const length = algorithm.length ?? blockBits[algorithm.hash.name];
  let key;
  try {
    key = generateKeySync(name === 'HMAC' ? 'hmac' : 'aes', { length });
  } catch (error) {
    throw failed(error);
  }
  if (!usages.length) throw refused('Usages cannot be empty when creating a key.', 'SyntaxError');
  return cryptoKey(key, name === 'HMAC' ? { name, length, hash: { name: algorithm.hash.name } } : { name, length }, extractable, usages);
}

// --- Keys from elsewhere ---

const badData = (cause) => refused('Invalid keyData', 'DataError', cause);
const tried = (work, error = badData) => {
  try {
    return work();
  } catch (cause) {
    throw error(cause);
  }
};
const jwkAlgorithm = ({ name, hash, length }) => {
  const bits = hash?.name.slice(4);
  if (name === 'RSASSA-PKCS1-v1_5') return `RS${bits}`;
  if (name === 'RSA-PSS') return `PS${bits}`;
  if (name === 'RSA-OAEP') return bits === '1' ? 'RSA-OAEP' : `RSA-OAEP-${bits}`;
  if (name === 'HMAC') return `HS${bits}`;
  if (isAes(name)) return `A${length}${name.slice(4)}`;
  return isEdwards(name) ? name : undefined;
};
function checkJwk(jwk, kty, use, extractable, usages) {
  if (!jwk.kty) throw badData();
  if (jwk.kty !== kty) throw refused('Invalid JWK "kty" Parameter', 'DataError');
  if (usages.length && jwk.use !== undefined && jwk.use !== use) throw refused('Invalid JWK "use" Parameter', 'DataError');
  if (jwk.key_ops !== undefined) {
    if (!Array.isArray(jwk.key_ops)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "keyData.key_ops" property must be an instance of Array. Received ${inspect(jwk.key_ops)}`);
    const known = jwk.key_ops.filter((op) => usageNames.includes(op));
    if (new Set(known).size !== known.length) throw refused('Duplicate key operation', 'DataError');
    if (usages.some((usage) => !jwk.key_ops.includes(usage))) throw refused('Key operations and usage mismatch', 'DataError');
  }
  if (jwk.ext === false && extractable) throw refused('JWK "ext" Parameter and extractable mismatch', 'DataError');
}
const wrongAlgorithm = () => refused('JWK "alg" does not match the requested algorithm', 'DataError');

function importSecret(format, data, algorithm, extractable, usages) {
  const { name } = algorithm, isGeneric = name === 'HKDF' || name === 'PBKDF2';
  if (isGeneric && extractable) throw refused(`${name} keys are not extractable`, 'SyntaxError');
  checkUses(usages, secretUses(name), usesWord(name));
  let key;
  if (format === 'KeyObject') key = data;
  else if (format === 'raw') key = new SecretKeyObject(data);
  else if (format === 'jwk' && !isGeneric) {
    checkJwk(data, 'oct', name === 'HMAC' ? 'sig' : 'enc', extractable, usages);
    if (typeof data.k !== 'string') throw badData();
    key = new SecretKeyObject(Uint8Array.from(Buffer.from(data.k, 'base64url')));
  } else return undefined;
  if (isGeneric) return cryptoKey(key, { name }, false, usages);
  const length = key.symmetricKeySize * 8;
  if (isAes(name) && ![128, 192, 256].includes(length)) throw refused('Invalid key length', 'DataError');
  if (name === 'HMAC' && length === 0) throw refused('Zero-length key is not supported', 'DataError');
  if (name === 'HMAC' && algorithm.length !== undefined && algorithm.length !== length) throw refused('Invalid key length', 'DataError');
  const words = name === 'HMAC' ? { name, hash: { name: algorithm.hash.name }, length } : { name, length };
  if (format === 'jwk' && data.alg !== undefined && data.alg !== jwkAlgorithm(words)) throw wrongAlgorithm();
  return cryptoKey(key, words, extractable, usages);
}
function checkJwkOfPair(jwk, algorithm) {
  const { name, namedCurve } = algorithm;
  if (!isRsa(name) && jwk.crv !== (namedCurve ?? name)) throw refused(isEc(name) ? 'JWK "crv" does not match the requested algorithm' : 'JWK "crv" Parameter and algorithm name mismatch', 'DataError');
  if (jwk.alg === undefined) return;
  const curveOf = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };
  if (isRsa(name) && jwk.alg !== jwkAlgorithm(algorithm)) throw wrongAlgorithm();
  if (name === 'ECDSA' && curveOf[jwk.alg] !== namedCurve) throw wrongAlgorithm();
  if (isEdwards(name) && jwk.alg !== name && jwk.alg !== 'EdDSA') throw wrongAlgorithm();
}
function rawPublic(algorithm, data) {
  const { name, namedCurve } = algorithm;
  if (isEc(name)) return tried(() => new PublicKeyObject(native.keyBuild('EC', 0, ['group', 'text', curves[namedCurve][0], 'pub', 'bytes', data])));
  const size = { Ed25519: 32, X25519: 32, Ed448: 57, X448: 56 }[name];
  if (data.length !== size) throw refused(`${name} raw keys must be exactly ${size}-bytes`, 'DataError');
  return tried(() => new PublicKeyObject(fromRaw(name, false, data)));
}
// The key of a pair that is told in a format; undefined where there is no such format of it.
function readPair(format, data, algorithm, extractable, usages) {
  const { name } = algorithm, uses = usesOf(name);
  const check = (isPublic) => checkUses(usages, uses[isPublic ? 0 : 1], usesWord(name));
  if (format === 'KeyObject') {
    check(data.type === 'public');
    return data;
  }
  if (format === 'spki') {
    check(true);
    return tried(() => createPublicKey({ key: data, format: 'der', type: 'spki' }));
  }
  if (format === 'pkcs8') {
    check(false);
    return tried(() => createPrivateKey({ key: data, format: 'der', type: 'pkcs8' }));
  }
  if (format === 'jwk') {
    const isPublic = data.d === undefined, kty = isRsa(name) ? 'RSA' : isEc(name) ? 'EC' : 'OKP';
    if (!data.kty) throw badData();
    if (data.kty !== kty) throw refused('Invalid JWK "kty" Parameter', 'DataError');
    check(isPublic);
    checkJwk(data, kty, name === 'RSA-OAEP' || name === 'ECDH' || isMontgomery(name) ? 'enc' : 'sig', extractable, usages);
    checkJwkOfPair(data, algorithm);
    const made = tried(() => handleOfJwk(data, isPublic));
    return isPublic ? new PublicKeyObject(made) : new PrivateKeyObject(made);
  }
  if (format !== 'raw' || isRsa(name)) return undefined;
  check(true);
  return rawPublic(algorithm, data);
}
function importPair(format, data, algorithm, extractable, usages) {
  const { name, namedCurve, hash } = algorithm, key = readPair(format, data, algorithm, extractable, usages);
  if (!key) return undefined;
  const kind = isRsa(name) ? 'rsa' : isEc(name) ? 'ec' : name.toLowerCase();
  if (key.asymmetricKeyType !== kind) throw refused('Invalid key type', 'DataError');
  if (isRsa(name)) {
    const { bits, e } = native.keyParts(handleOf(key));
    return cryptoKey(key, { name, modulusLength: bits, publicExponent: Uint8Array.from(e), hash: { name: hash.name } }, extractable, usages);
  }
  if (!isEc(name)) return cryptoKey(key, { name }, extractable, usages);
  if (curves[namedCurve][0] !== key.asymmetricKeyDetails.namedCurve) throw refused('Named curve mismatch', 'DataError');
  return cryptoKey(key, { name, namedCurve }, extractable, usages);
}
function importAny(format, data, algorithm, extractable, usages) {
  const { name } = algorithm;
  const key = (isAes(name) || ['HMAC', 'HKDF', 'PBKDF2'].includes(name) ? importSecret : importPair)(format, data, algorithm, extractable, usages);
  if (!key) throw refused(`Unable to import ${name} using ${format} format`, 'NotSupportedError');
  if (key.type !== 'public' && key.usages.length === 0) throw refused(`Usages cannot be empty when importing a ${key.type} key.`, 'SyntaxError');
  return key;
}
function toCryptoKey(key, given, extractable, usages) {
  const algorithm = normalize(given, 'importKey'), isSecret = isAes(algorithm.name) || ['HMAC', 'HKDF', 'PBKDF2'].includes(algorithm.name);
  if (isSecret !== (key.type === 'secret')) throw unknown();
  return importAny('KeyObject', key, algorithm, Boolean(extractable), usagesFrom(usages, "Failed to execute 'toCryptoKey' on 'KeyObject'", '3rd argument'));
}
function exportAny(format, key) {
  const { name } = key.algorithm, isPrivate = key.type === 'private';
  if (!key.extractable) throw refused('key is not extractable', 'InvalidAccessException');
  if (key.type === 'secret') {
    if (format === 'raw') return bufferOf(handle(key));
    if (format === 'jwk') return { key_ops: [...key.usages], ext: true, alg: jwkAlgorithm(key.algorithm), kty: 'oct', k: Buffer.from(handle(key)).toString('base64url') };
  } else if (format === 'jwk') {
    const alg = jwkAlgorithm(key.algorithm);
    return { key_ops: [...key.usages], ext: true, ...(alg && { alg }), ...jwkOf(handle(key), isPrivate) };
  } else if (format === (isPrivate ? 'pkcs8' : 'spki')) {
    return bufferOf(written(handle(key), isPrivate, { format: 'der', type: format }));
  } else if (format === 'raw' && !isPrivate && !isRsa(name)) {
    const parts = native.keyParts(handle(key));
    return bufferOf(isEc(name) ? Buffer.concat([Buffer.from([4]), parts.qx, parts.qy]) : parts.pub);
  }
  throw refused(`Unable to export ${name} ${key.type} key using ${format} format`, 'NotSupportedError');
}

// --- What is done with them ---

const work = (job) => tried(job, failed);
function signing(algorithm, key, data, signature) {
  const isSign = signature === undefined, type = isSign ? 'private' : 'public', { name } = algorithm;
  if (name === 'HMAC') {
    const mac = native.hmacOpen(key.algorithm.hash.name, handle(key));
    native.hashUpdate(mac, data);
    const made = native.hashFinal(mac);
    return isSign ? made : native.equalBytes(new Uint8Array(made), signature);
  }
  if (key.type !== type) throw refused(`Key must be a ${type} key`, 'InvalidAccessError');
  const hash = (key.algorithm.hash ?? algorithm.hash)?.name ?? null;
  return work(() => {
    const most = Math.ceil((key.algorithm.modulusLength - 1) / 8) - digestBytes[hash] - 2;
    if (name === 'RSA-PSS' && algorithm.saltLength > most)
      throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "algorithm.saltLength" is out of range. It must be >= 0 && <= ${most}. Received ${algorithm.saltLength}`);
    const words = [handle(key), data, hash, 0, isRsa(name) ? (name === 'RSA-PSS' ? 6 : 1) : 0, name === 'RSA-PSS' ? algorithm.saltLength : null, name === 'ECDSA' ? 1 : 0];
    return isSign ? native.keySign(...words) : native.keyVerify(...words, signature);
  });
}
function ciphered(encrypts, name, key, iv, data, { tag, tagSize = -1, more } = {}) {
  const cipher = native.cipherOpen(encrypts, name, handle(key), iv, tagSize);
  if (more?.length) native.cipherAssociated(cipher, more, -1);
  if (tag) native.cipherSetTag(cipher, tag);
  const parts = [native.cipherUpdate(cipher, data), native.cipherFinal(cipher)];
  if (encrypts && tagSize > 0) parts.push(native.cipherTag(cipher));
  return bufferOf(Buffer.concat(parts.map((part) => new Uint8Array(part))));
}
// A counter of fewer bits than a block begins anew by itself.
function counted(encrypts, key, { counter, length }, data) {
  const name = `aes-${key.algorithm.length}-ctr`, room = 1n << BigInt(length), now = numberOfBytes(counter) % room, blocks = BigInt(Math.ceil(data.length / 16));
  if (blocks > room) throw new Error('Too many blocks for the counter');
  if (now + blocks <= room) return ciphered(encrypts, name, key, counter, data);
  const first = Number(room - now) * 16, again = Buffer.from((numberOfBytes(counter) - now).toString(16).padStart(32, '0'), 'hex');
  return bufferOf(Buffer.concat([ciphered(encrypts, name, key, counter, data.subarray(0, first)), ciphered(encrypts, name, key, again, data.subarray(first))].map((part) => new Uint8Array(part))));
}
function aesWork(encrypts, algorithm, key, data) {
  const { name, iv } = algorithm, bits = key.algorithm.length;
  if (name === 'AES-CBC') return work(() => ciphered(encrypts, `aes-${bits}-cbc`, key, iv, data));
  if (name === 'AES-CTR') return work(() => counted(encrypts, key, algorithm, data));
  if (name === 'AES-KW') return work(() => ciphered(encrypts, `id-aes${bits}-wrap`, key, Buffer.alloc(8, 0xa6), data));
  const tagSize = (algorithm.tagLength ?? 128) / 8, more = algorithm.additionalData;
  if (encrypts) return work(() => ciphered(1, `aes-${bits}-gcm`, key, iv, data, { tagSize, more }));
  if (data.length < tagSize) throw refused('The provided data is too small.', 'OperationError');
  return work(() => ciphered(0, `aes-${bits}-gcm`, key, iv, data.subarray(0, data.length - tagSize), { tag: data.subarray(data.length - tagSize), tagSize, more }));
}
function cipherOrWrap(encrypts, algorithm, key, data, usage) {
  const bad = () => refused('The requested operation is not valid for the provided key', 'InvalidAccessError');
  if (key.algorithm.name !== algorithm.name || !key.usages.includes(usage)) throw bad();
  if (algorithm.name !== 'RSA-OAEP') return aesWork(encrypts, algorithm, key, data);
  if (key.type !== (encrypts ? 'public' : 'private')) throw bad();
  return work(() => native.keyCrypt(encrypts ? 0 : 1, handle(key), data, 4, key.algorithm.hash.name, algorithm.label ?? null));
}
const masks = [0xff, 0x80, 0xc0, 0xe0, 0xf0, 0xf8, 0xfc, 0xfe];
function agreedBits(algorithm, key, length) {
  const { public: other } = algorithm;
  if (key.type !== 'private') throw refused('baseKey must be a private key', 'InvalidAccessError');
  if (other.algorithm.name !== key.algorithm.name) throw refused(`algorithm.public must be an ${key.algorithm.name} key`, 'InvalidAccessError');
  if (other.algorithm.namedCurve !== key.algorithm.namedCurve) throw refused('Named curve mismatch', 'InvalidAccessError');
  const bits = work(() => native.keyAgree(handle(key), handle(other)));
  if (length === null) return bits;
  const size = Math.ceil(length / 8);
  if (bits.byteLength < size) throw refused('derived bit length is too small', 'OperationError');
  const slice = new Uint8Array(bits.slice(0, size));
  if (length % 8) slice[size - 1] &= masks[length % 8];
  return slice.buffer;
}
function derivedBits(algorithm, key, length) {
  const { name, hash, salt, info, iterations } = algorithm;
  if (name !== 'HKDF' && name !== 'PBKDF2') return agreedBits(algorithm, key, length);
  if (length === null) throw refused('length cannot be null', 'OperationError');
  if (length % 8) throw refused('length must be a multiple of 8', 'OperationError');
  const size = length / 8;
  if (name === 'PBKDF2') return work(() => native.pbkdf2(hash.name, handle(key), salt, iterations, size));
  if (size > 255 * digestBytes[hash.name]) throw failed(coded(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length'));
  return work(() => native.hkdf(hash.name, handle(key), salt, info, size));
}
function lengthOf({ name, length, hash }) {
  if (isAes(name)) return length;
  if (name !== 'HMAC') return null;
  if (length === 0) throw refused('Invalid key length', 'OperationError');
  return length ?? blockBits[hash.name];
}
function usable(key, algorithm, usage) {
  if (!key.usages.includes(usage)) throw refused(`baseKey does not have ${usage} usage`, 'InvalidAccessError');
  if (key.algorithm.name !== algorithm.name) throw refused('Key algorithm mismatch', 'InvalidAccessError');
}

// --- The interface ---

const ordinals = ['1st', '2nd', '3rd', '4th', '5th', '6th', '7th'];
// Each method looks at its arguments first, by the kinds that stand here for them.
function method(name, wanted, body) {
  const prefix = `Failed to execute '${name}' on 'SubtleCrypto'`, required = wanted.filter((kind) => !kind.endsWith('?')).length;
  const take = (kind, value, i) => {
    const context = `${ordinals[i]} argument`;
    if (kind === 'bytes') return source(value, prefix, context);
    if (kind === 'usages') return usagesFrom(value, prefix, context);
    if (kind === 'format') return formatFrom(value, prefix);
    if (kind === 'flag') return Boolean(value);
    if (kind === 'length?') return value === undefined || value === null ? null : wholeNumber(value, prefix, context, 2 ** 32 - 1);
    if (kind === 'key' && !isCryptoKey(value)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `${prefix}: ${context} is not of type CryptoKey.`);
    return value;
  };
  return async (given) => {
    if (given.length < required) throw coded(TypeError, 'ERR_MISSING_ARGS', `${prefix}: ${required} argument${required === 1 ? '' : 's'} required, but only ${given.length} present.`);
    const words = wanted.map((kind, i) => take(kind, given[i], i));
    // What is asked for is looked at now, and done when the program has given way.
    const job = body(...words);
    return typeof job === 'function' ? new Promise((resolve, reject) => { later((error, value) => (error ? reject(error) : resolve(value)), job); }) : job;
  };
}
const eitherOf = (algorithm, first, second) => {
  try {
    return normalize(algorithm, first);
  } catch {
    return normalize(algorithm, second);
  }
};
const importWords = (format, data) => (format === 'jwk' ? jwkFrom(data, "Failed to execute 'importKey' on 'SubtleCrypto'", '2nd argument') : source(data, "Failed to execute 'importKey' on 'SubtleCrypto'", '2nd argument'));
function signed(usage, given, key, data, signature) {
  const algorithm = normalize(given, usage);
  if (!key.usages.includes(usage) || algorithm.name !== key.algorithm.name) throw refused(`Unable to use this key to ${usage}`, 'InvalidAccessError');
  return () => signing(algorithm, key, data, signature);
}
const methods = {
  digest: method('digest', ['algorithm', 'bytes'], (given, data) => {
    const { name } = normalize(given, 'digest');
    return () => {
      const digest = native.hashOpen(name, -1);
      native.hashUpdate(digest, data);
      return native.hashFinal(digest);
    };
  }),
  generateKey: method('generateKey', ['algorithm', 'flag', 'usages'], (given, extractable, usages) => {
    const algorithm = normalize(given, 'generateKey');
    return () => (isAes(algorithm.name) || algorithm.name === 'HMAC' ? makeSecret : makePair)(algorithm, extractable, usages);
  }),
  importKey: method('importKey', ['format', 'data', 'algorithm', 'flag', 'usages'], (format, given, algorithm, extractable, usages) => {
    const data = importWords(format, given);
    return importAny(format, data, normalize(algorithm, 'importKey'), extractable, usages);
  }),
  exportKey: method('exportKey', ['format', 'key'], (format, key) => {
    if (['HKDF', 'PBKDF2'].includes(key.algorithm.name)) throw refused(`${key.algorithm.name} key export is not supported`, 'NotSupportedError');
    return exportAny(format, key);
  }),
  sign: method('sign', ['algorithm', 'key', 'bytes'], (given, key, data) => signed('sign', given, key, data)),
  verify: method('verify', ['algorithm', 'key', 'bytes', 'bytes'], (given, key, signature, data) => signed('verify', given, key, data, signature)),
  encrypt: method('encrypt', ['algorithm', 'key', 'bytes'], (given, key, data) => {
    const algorithm = normalize(given, 'encrypt');
    return () => cipherOrWrap(1, algorithm, key, data, 'encrypt');
  }),
  decrypt: method('decrypt', ['algorithm', 'key', 'bytes'], (given, key, data) => {
    const algorithm = normalize(given, 'decrypt');
    return () => cipherOrWrap(0, algorithm, key, data, 'decrypt');
  }),
  deriveBits: method('deriveBits', ['algorithm', 'key', 'length?'], (given, key, length) => {
    const algorithm = normalize(given, 'deriveBits');
    usable(key, algorithm, 'deriveBits');
    return () => derivedBits(algorithm, key, length);
  }),
  deriveKey: method('deriveKey', ['algorithm', 'key', 'algorithm', 'flag', 'usages'], (given, key, wanted, extractable, usages) => {
    const algorithm = normalize(given, 'deriveBits'), made = normalize(wanted, 'importKey');
    usable(key, algorithm, 'deriveKey');
    const length = lengthOf(normalize(wanted, 'keyLength'));
    return () => importAny('raw', new Uint8Array(derivedBits(algorithm, key, length)), made, extractable, usages);
  }),
  wrapKey: method('wrapKey', ['format', 'key', 'key', 'algorithm'], (format, key, wrapping, given) => {
    const algorithm = eitherOf(given, 'wrapKey', 'encrypt');
    if (['HKDF', 'PBKDF2'].includes(key.algorithm.name)) throw refused(`${key.algorithm.name} key export is not supported`, 'NotSupportedError');
    return () => {
      const told = exportAny(format, key);
      if (format !== 'jwk') return cipherOrWrap(1, algorithm, wrapping, new Uint8Array(told), 'wrapKey');
      const text = JSON.stringify(told), pad = algorithm.name === 'AES-KW' ? ' '.repeat((8 - text.length % 8) % 8) : '';
      return cipherOrWrap(1, algorithm, wrapping, Buffer.from(text + pad), 'wrapKey');
    };
  }),
  unwrapKey: method('unwrapKey', ['format', 'bytes', 'key', 'algorithm', 'algorithm', 'flag', 'usages'], (format, data, unwrapping, given, wanted, extractable, usages) => {
    const algorithm = eitherOf(given, 'unwrapKey', 'decrypt');
    return () => {
      let told = new Uint8Array(cipherOrWrap(0, algorithm, unwrapping, data, 'unwrapKey'));
      if (format === 'jwk') told = tried(() => JSON.parse(Buffer.from(told).toString()), () => refused('Invalid wrapped JWK key', 'DataError'));
      return importAny(format, importWords(format, told), normalize(wanted, 'importKey'), extractable, usages);
    };
  }),
};
// What packedKey made of a key of either kind.
const unpackedKey = (packed) => (packed.key ? cryptoKey(unpackedObject(packed.key), packed.algorithm, packed.extractable, packed.usages) : unpackedObject(packed));
module.exports = { methods, unpackedKey, CryptoKey, toCryptoKey };
