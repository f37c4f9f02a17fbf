// Of crypto: keys, what they are read from and written as.
const { native } = internal;
const { coded, wrongType, wrongValue, isString, isObject, isOneOf, isBytes, bytesOf, numberOfBytes } = require('crypto_util');

// As the host counts them.
const formats = { pem: 0, der: 1 };
const encodings = { pkcs1: 1, spki: 2, pkcs8: 3, sec1: 4 };
const incompatible = (option, reason) => coded(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', `The selected key encoding ${option} ${reason}.`);
const wrongKind = (kind, wanted) => coded(TypeError, 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', `Invalid key object type ${kind}, expected ${wanted}.`);
const badJwk = (words = 'Invalid JWK data') => coded(TypeError, 'ERR_CRYPTO_INVALID_JWK', words);

// --- How a key is written: format, type and passphrase ---

const optionName = (name, within) => (within === undefined ? `options.${name}` : `options.${within}.${name}`);
function typeOf(type, required, kind, isPublic, name) {
  if (type === undefined && !required) return undefined;
  if (type === 'pkcs1') {
    if (kind !== undefined && kind !== 'rsa') throw incompatible(type, 'can only be used for RSA keys');
    return type;
  }
  if (type === 'spki' && isPublic !== false) return type;
  if (type === 'pkcs8' && isPublic !== true) return type;
  if (type === 'sec1' && isPublic !== true) {
    if (kind !== undefined && kind !== 'ec') throw incompatible(type, 'can only be used for EC keys');
    return type;
  }
  throw wrongValue(name, type);
}
const isText = (value) => typeof value === 'string' || isBytes(value);
// `kind` is that of the key which is written; without it one is read.
function parseEncoding(given, kind, isPublic, within) {
  isObject(given, 'options');
  const reads = kind === undefined;
  let { format } = given;
  if (format === undefined && reads) format = 'pem';
  if (!['pem', 'der', 'jwk'].includes(format)) throw wrongValue(optionName('format', within), format);
  const type = typeOf(given.type, (!reads || format === 'der') && format !== 'jwk', kind, isPublic, optionName('type', within));
  let { cipher, passphrase } = isPublic === true ? {} : given;
  if (isPublic !== true && !reads) {
    if (cipher !== undefined && cipher !== null) {
      if (typeof cipher !== 'string') throw wrongValue(optionName('cipher', within), cipher);
      if (format === 'der' && type !== 'pkcs8') throw incompatible(type, 'does not support encryption');
    } else if (passphrase !== undefined) {
      throw wrongValue(optionName('cipher', within), cipher);
    }
  }
  const wantsPassphrase = reads ? passphrase !== undefined : cipher !== undefined && cipher !== null;
  if (wantsPassphrase && !isText(passphrase)) throw wrongValue(optionName('passphrase', within), passphrase);
  if (passphrase !== undefined) passphrase = bytesOf(passphrase, 'key.passphrase', given.encoding);
  return { format, type, cipher: cipher ?? undefined, passphrase };
}
function written(handle, isPrivate, { format, type, cipher, passphrase }) {
  if (format === 'jwk') return jwkOf(handle, isPrivate);
  const bytes = Buffer.from(native.keyWrite(handle, isPrivate ? 1 : 0, formats[format], encodings[type], cipher, passphrase));
  return format === 'pem' ? bytes.toString() : bytes;
}

// --- JSON Web Keys ---

const rsaParts = [['n', 'n'], ['e', 'e'], ['d', 'd'], ['p', 'rsa-factor1'], ['q', 'rsa-factor2'], ['dp', 'rsa-exponent1'], ['dq', 'rsa-exponent2'], ['qi', 'rsa-coefficient1']];
const curves = { 'P-256': ['prime256v1', 32], secp256k1: ['secp256k1', 32], 'P-384': ['secp384r1', 48], 'P-521': ['secp521r1', 66] };
const rawCurves = { Ed25519: 32, Ed448: 57, X25519: 32, X448: 56 };
const text = (bytes) => Buffer.from(bytes).toString('base64url');

function jwkOf(handle, isPrivate) {
  const kind = native.keyKind(handle), parts = native.keyParts(handle);
  if (kind === 'rsa') return { kty: 'RSA', ...Object.fromEntries(rsaParts.slice(0, isPrivate ? 8 : 2).map(([name, part]) => [name, text(parts[part])])) };
  if (kind === 'ec') {
    const found = Object.entries(curves).find(([, [name]]) => name === parts.group);
    if (!found) throw coded(Error, 'ERR_CRYPTO_JWK_UNSUPPORTED_CURVE', `Unsupported JWK EC curve: ${parts.group}.`);
    return { kty: 'EC', x: text(parts.qx), y: text(parts.qy), crv: found[0], ...(isPrivate && { d: text(parts.priv) }) };
  }
  const crv = Object.keys(rawCurves).find((name) => name.toLowerCase() === kind);
  if (!crv) throw coded(Error, 'ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE', 'Unsupported JWK Key Type.');
  return { crv, ...(isPrivate && { d: text(parts.priv) }), x: text(parts.pub), kty: 'OKP' };
}

const bits = (value) => Buffer.from(value, 'base64');
function built(kind, what, parts) {
  try {
    return native.keyBuild(kind, what, parts);
  } catch {
    throw badJwk(kind === 'EC' ? 'Invalid JWK EC key' : undefined);
  }
}
// A public or private key of the bytes of a curve whose keys are bytes.
function fromRaw(crv, isPrivate, bytes) {
  if (bytes.length !== rawCurves[crv]) throw badJwk();
  return native.keyRaw(crv.toUpperCase(), isPrivate ? 1 : 0, bytes);
}
function pointOf(x, y, size) {
  if (x.length > size || y.length > size) throw badJwk('Invalid JWK EC key');
  return Buffer.concat([Buffer.from([4]), Buffer.alloc(size - x.length), x, Buffer.alloc(size - y.length), y]);
}
function handleOfJwk(key, isPublic) {
  isObject(key, 'key');
  isOneOf(key.kty, 'key.kty', ['RSA', 'EC', 'OKP']);
  if (key.kty === 'OKP') {
    isString(key.crv, 'key.crv');
    isOneOf(key.crv, 'key.crv', Object.keys(rawCurves));
    isString(key.x, 'key.x');
    if (!isPublic) isString(key.d, 'key.d');
    return fromRaw(key.crv, !isPublic, bits(isPublic ? key.x : key.d));
  }
  if (key.kty === 'EC') {
    isString(key.crv, 'key.crv');
    isOneOf(key.crv, 'key.crv', Object.keys(curves));
    isString(key.x, 'key.x');
    isString(key.y, 'key.y');
    if (!isPublic) isString(key.d, 'key.d');
    const [group, size] = curves[key.crv];
    return built('EC', isPublic ? 0 : 1, ['group', 'text', group, 'pub', 'bytes', pointOf(bits(key.x), bits(key.y), size), ...(isPublic ? [] : ['priv', 'big', bits(key.d)])]);
  }
  const wanted = rsaParts.slice(0, isPublic ? 2 : 8);
  for (const [name] of wanted) isString(key[name], `key.${name}`);
  return built('RSA', isPublic ? 0 : 1, wanted.flatMap(([name, part]) => [part, 'big', bits(key[name])]));
}

// --- The objects ---

let handleOf, isKeyObject;
class KeyObject {
  #type;
  #handle;  // the host's, or the bytes of a secret
  static { handleOf = (key) => key.#handle; }
  static { isKeyObject = (value) => value !== null && typeof value === 'object' && #type in value; }
  constructor(type, handle) {
    if (type !== 'secret' && type !== 'public' && type !== 'private') throw wrongValue('type', type);
    if (handle === null || typeof handle !== 'object') throw wrongType('handle', 'object', handle);
    this.#type = type;
    this.#handle = handle;
  }
  get type() { return this.#type; }
  static from(key) {
    if (!internal.isCryptoKey?.(key)) throw wrongType('key', 'CryptoKey', key);
    return internal.keyOfCryptoKey(key);
  }
  equals(other) {
    if (!isKeyObject(other)) throw wrongType('otherKeyObject', 'KeyObject', other);
    if (other.#type !== this.#type) return false;
    if (this.#type === 'secret') return native.equalBytes(this.#handle, other.#handle);
    const same = native.keyEqual(this.#handle, other.#handle);
    if (same === undefined) throw coded(Error, 'ERR_CRYPTO_UNSUPPORTED_OPERATION', 'Unsupported crypto operation');
    return same;
  }
  toCryptoKey(algorithm, extractable, usages) { return require('webcrypto_subtle').toCryptoKey(this, algorithm, extractable, usages); }
}
Object.defineProperty(KeyObject.prototype, Symbol.toStringTag, { value: 'KeyObject', configurable: true });

class SecretKeyObject extends KeyObject {
  constructor(bytes) { super('secret', bytes); }
  get symmetricKeySize() { return handleOf(this).length; }
  export(options) {
    if (options !== undefined) {
      isObject(options, 'options');
      isOneOf(options.format, 'options.format', [undefined, 'buffer', 'jwk']);
      if (options.format === 'jwk') return { kty: 'oct', k: text(handleOf(this)) };
    }
    return Buffer.from(handleOf(this));
  }
}
function detailsOf(handle, kind) {
  const parts = native.keyParts(handle);
  if (kind === 'rsa' || kind === 'rsa-pss') {
    const details = { modulusLength: parts.bits, publicExponent: numberOfBytes(parts.e) };
    if (kind === 'rsa' || !(parts.digest ?? parts['mgf1-digest'] ?? parts.saltlen !== undefined)) return details;
    const name = (digest) => (digest ?? 'SHA1').toLowerCase().replace(/^sha2?-/, 'sha');
    return { ...details, hashAlgorithm: name(parts.digest), mgf1HashAlgorithm: name(parts['mgf1-digest']), saltLength: parts.saltlen ?? 20 };
  }
  if (kind === 'dsa') return { modulusLength: parts.bits, divisorLength: numberOfBytes(parts.q).toString(2).length };
  return kind === 'ec' ? { namedCurve: parts.group } : {};
}
class AsymmetricKeyObject extends KeyObject {
  #kind;
  #details;
  get asymmetricKeyType() { return this.#kind ??= native.keyKind(handleOf(this)); }
  get asymmetricKeyDetails() { return this.#details ??= detailsOf(handleOf(this), this.asymmetricKeyType); }
}
class PublicKeyObject extends AsymmetricKeyObject {
  constructor(handle) { super('public', handle); }
  export(options) { return written(handleOf(this), false, options?.format === 'jwk' ? options : parseEncoding(options, this.asymmetricKeyType, true)); }
}
class PrivateKeyObject extends AsymmetricKeyObject {
  constructor(handle) { super('private', handle); }
  export(options) {
    if (options?.format === 'jwk') {
      if (options.passphrase !== undefined) throw incompatible('jwk', 'does not support encryption');
      return jwkOf(handleOf(this), true);
    }
    return written(handleOf(this), true, parseEncoding(options, this.asymmetricKeyType, false));
  }
}

// --- What programs give as a key ---

const keyTypes = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'KeyObject', 'CryptoKey'];
// What is wanted: to use a public or a private key, to use a private one, and to make each of the two.
const wants = { either: 0, private: 1, makePublic: 2, makePrivate: 3 };
function handleOfObject(key, want) {
  if (want === wants.makePrivate) throw wrongType('key', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], key);
  if (key.type !== 'private') {
    if (want === wants.private || want === wants.makePublic) throw wrongKind(key.type, 'private');
    if (key.type !== 'public') throw wrongKind(key.type, 'private or public');
  }
  return handleOf(key);
}
const isCryptoKey = (value) => internal.isCryptoKey?.(value) === true;
// The host's key, or what is read to have it.
function prepare(key, want) {
  if (isKeyObject(key)) return { handle: handleOfObject(key, want) };
  if (isCryptoKey(key)) return { handle: handleOfObject(internal.keyOfCryptoKey(key), want) };
  if (isText(key)) return { data: bytesOf(key, 'key'), format: 'pem' };
  const known = want === wants.makePrivate ? keyTypes.slice(0, 5) : keyTypes;
  if (key === null || typeof key !== 'object') throw wrongType('key', known, key);
  const { key: data, encoding, format } = key;
  if (isKeyObject(data)) return { handle: handleOfObject(data, want) };
  if (isCryptoKey(data)) return { handle: handleOfObject(internal.keyOfCryptoKey(data), want) };
  if (format === 'jwk') {
    isObject(data, 'key.key');
    return { handle: handleOfJwk(data, want === wants.either || want === wants.makePublic) };
  }
  if (!isText(data)) throw wrongType('key.key', known, data);
  const isPublic = want === wants.private || want === wants.makePrivate ? false : undefined;
  return { data: bytesOf(data, 'key', encoding), ...parseEncoding(key, undefined, isPublic) };
}
function load(prepared, want) {
  if (prepared.handle) return prepared.handle;
  const { data, format, type, passphrase } = prepared;
  return native.keyRead(data, formats[format], type === undefined ? 0 : encodings[type], passphrase, want === wants.either || want === wants.makePublic ? 1 : 0);
}
function prepareSecret(key, encoding, bytesOnly = false) {
  if (!bytesOnly && (isKeyObject(key) || isCryptoKey(key))) {
    if (key.type !== 'secret') throw wrongKind(key.type, 'secret');
    return handleOf(isKeyObject(key) ? key : internal.keyOfCryptoKey(key));
  }
  if (!isText(key)) throw wrongType('key', bytesOnly ? keyTypes.slice(0, 4) : keyTypes, key);
  return bytesOf(key, 'key', encoding);
}
const createSecretKey = (key, encoding) => new SecretKeyObject(Uint8Array.from(prepareSecret(key, encoding, true)));
const createPublicKey = (key) => new PublicKeyObject(load(prepare(key, wants.makePublic), wants.makePublic));
const createPrivateKey = (key) => new PrivateKeyObject(load(prepare(key, wants.makePrivate), wants.makePrivate));

// A key as bytes, for another thread, and back.
function packedKey(key) {
  if (isCryptoKey(key)) return { key: packedKey(internal.keyOfCryptoKey(key)), algorithm: key.algorithm, extractable: key.extractable, usages: key.usages };
  if (key.type === 'secret') return { type: key.type, bytes: Uint8Array.from(handleOf(key)) };
  return { type: key.type, bytes: Uint8Array.from(written(handleOf(key), key.type === 'private', { format: 'der', type: key.type === 'private' ? 'pkcs8' : 'spki' })) };
}
function unpackedKey({ type, bytes }) {
  if (type === 'secret') return new SecretKeyObject(bytes);
  const given = { key: bytes, format: 'der', type: type === 'private' ? 'pkcs8' : 'spki' };
  return type === 'private' ? createPrivateKey(given) : createPublicKey(given);
}

Object.assign(internal, { isKeyObject, packedKey });
module.exports = { KeyObject, SecretKeyObject, PublicKeyObject, PrivateKeyObject, createSecretKey, createPublicKey, createPrivateKey, isKeyObject, handleOf, wants, prepare, load, prepareSecret, parseEncoding, written,
  jwkOf, handleOfJwk, fromRaw, wrongKind, unpackedKey, curves };
