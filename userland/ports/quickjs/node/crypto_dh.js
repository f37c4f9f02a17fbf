// Of crypto: secrets that two agree on.
const { native } = internal;
const { coded, wrongType, wrongValue, isString, isObject, isInt32, isBytes, bytesOf, encoded, bytesOfNumber } = require('crypto_util');
const { isKeyObject, handleOf, wrongKind } = require('crypto_keys');

const noKey = (which) => coded(Error, 'ERR_CRYPTO_INVALID_STATE', `No ${which} key - did you forget to generate one?`);
const buffer = (bytes) => Buffer.from(bytes);
const tooSmall = 1, tooLarge = 2;

class DiffieHellmanBase {
  #prime;
  #generator;
  #private;
  #public;
  constructor(prime, generator) {
    this.#prime = prime;
    this.#generator = generator;
    Object.defineProperty(this, 'verifyError', { value: native.dhCheck(prime, generator), enumerable: true });
  }
  generateKeys(encoding) {
    const [mine, shown] = native.dhMake(this.#prime, this.#generator, this.#private ?? null);
    [this.#private, this.#public] = [new Uint8Array(mine), new Uint8Array(shown)];
    return this.getPublicKey(encoding);
  }
  computeSecret(key, inEncoding, outEncoding) {
    const bytes = bytesOf(key, 'key', inEncoding);
    if (!this.#private) throw noKey('private');
    const secret = native.dhAgree(this.#prime, this.#generator, this.#private, bytes);
    if (typeof secret !== 'number') return encoded(buffer(secret), outEncoding);
    if (secret & tooSmall) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Supplied key is too small');
    if (secret & tooLarge) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Supplied key is too large');
    throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYTYPE', 'Unspecified validation error');
  }
  getPrime(encoding) { return encoded(buffer(this.#prime), encoding); }
  getGenerator(encoding) { return encoded(buffer(this.#generator), encoding); }
  getPublicKey(encoding) {
    if (!this.#public) throw noKey('public');
    return encoded(buffer(this.#public), encoding);
  }
  getPrivateKey(encoding) {
    if (!this.#private) throw noKey('private');
    return encoded(buffer(this.#private), encoding);
  }
  static set(dh, which, key) {
    if (which === 'public') dh.#public = Uint8Array.from(key);
    else dh.#private = Uint8Array.from(key);
  }
}
const generatorKinds = ['number', 'string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];
const refused = (reason, number) => Object.assign(new Error(`error:${number}:Diffie-Hellman routines::${reason}`),
  { library: 'Diffie-Hellman routines', reason, code: `ERR_OSSL_DH_${reason.toUpperCase().replaceAll(' ', '_')}` });
const badGenerator = () => refused('bad generator', '02800065');
function generatorFrom(generator, encoding) {
  if (!generator) return new Uint8Array([2]);
  if (typeof generator === 'number') {
    isInt32(generator, 'generator');
    if (generator < 2) throw badGenerator();
    return bytesOfNumber(generator);
  }
  if (typeof generator !== 'string' && !isBytes(generator)) throw wrongType('generator', generatorKinds, generator);
  const bytes = Uint8Array.from(bytesOf(generator, 'generator', encoding)), first = bytes.findIndex((byte) => byte !== 0);
  if (first < 0 || (first === bytes.length - 1 && bytes[first] === 1)) throw badGenerator();
  return bytes;
}
class DiffieHellman extends DiffieHellmanBase {
  constructor(sizeOrKey, keyEncoding, generator, generatorEncoding) {
    if (typeof sizeOrKey !== 'number' && typeof sizeOrKey !== 'string' && !isBytes(sizeOrKey)) throw wrongType('sizeOrKey', generatorKinds, sizeOrKey);
    if (typeof sizeOrKey === 'number') isInt32(sizeOrKey, 'sizeOrKey');
    if (keyEncoding && !Buffer.isEncoding(keyEncoding) && keyEncoding !== 'buffer') [keyEncoding, generator, generatorEncoding] = [undefined, keyEncoding, generator];
    const prime = typeof sizeOrKey === 'number' ? undefined : Uint8Array.from(bytesOf(sizeOrKey, 'sizeOrKey', keyEncoding || undefined));
    const root = generatorFrom(generator, generatorEncoding);
    if (prime) super(prime, root);
    else {
      if (sizeOrKey < 2) throw refused('modulus too small', '0280007E');
      super(new Uint8Array(native.dhPrime(sizeOrKey, root.reduce((sum, byte) => sum * 256 + byte, 0))), root);
    }
  }
  setPublicKey(key, encoding) {
    DiffieHellmanBase.set(this, 'public', bytesOf(key, 'key', encoding));
    return this;
  }
  setPrivateKey(key, encoding) {
    DiffieHellmanBase.set(this, 'private', bytesOf(key, 'key', encoding));
    return this;
  }
}
class DiffieHellmanGroup extends DiffieHellmanBase {
  constructor(name) {
    isString(name, 'name');
    const prime = native.dhGroup(name);
    if (!prime) throw coded(Error, 'ERR_CRYPTO_UNKNOWN_DH_GROUP', 'Unknown DH group');
    super(new Uint8Array(prime), new Uint8Array([2]));
  }
}

// --- Curves ---

const forms = { compressed: 2, uncompressed: 4, hybrid: 6 };
function formOf(format) {
  if (!format) return forms.uncompressed;
  if (!Object.hasOwn(forms, format)) throw coded(TypeError, 'ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${format}`);
  return forms[format];
}
class ECDH {
  #curve;
  #private;
  #public;
  constructor(curve) {
    isString(curve, 'curve');
    native.pointForm(curve, new Uint8Array(0), forms.uncompressed);  // throws where there is no such
    this.#curve = curve;
  }
  #make(given) {
    const made = native.pointMake(this.#curve, given);
    if (!made) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYTYPE', 'Private key is not valid for specified curve.');
    [this.#private, this.#public] = made.map((bytes) => new Uint8Array(bytes));
  }
  generateKeys(encoding, format) {
    this.#make(null);
    return this.getPublicKey(encoding, format);
  }
  computeSecret(key, inEncoding, outEncoding) {
    const bytes = bytesOf(key, 'key', inEncoding);
    if (!this.#private) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYPAIR', 'Invalid key pair');
    const secret = native.pointAgree(this.#curve, this.#private, bytes);
    if (!secret) throw coded(Error, 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Public key is not valid for specified curve');
    return encoded(buffer(secret), outEncoding);
  }
  getPublicKey(encoding, format) {
    const form = formOf(format);
    if (!this.#public) throw coded(Error, 'ERR_CRYPTO_OPERATION_FAILED', 'Failed to get ECDH public key');
    return encoded(buffer(native.pointForm(this.#curve, this.#public, form)), encoding);
  }
  getPrivateKey(encoding) {
    if (!this.#private) throw coded(Error, 'ERR_CRYPTO_OPERATION_FAILED', 'Failed to get ECDH private key');
    return encoded(buffer(this.#private), encoding);
  }
  setPrivateKey(key, encoding) {
    this.#make(bytesOf(key, 'key', encoding));
    return this;
  }
  setPublicKey(key, encoding) {
    const point = native.pointForm(this.#curve, bytesOf(key, 'key', encoding), forms.uncompressed);
    if (!point) throw coded(Error, 'ERR_CRYPTO_OPERATION_FAILED', 'Failed to convert Buffer to EC_POINT');
    this.#public = new Uint8Array(point);
    return this;
  }
  static convertKey(key, curve, inEncoding, outEncoding, format) {
    isString(curve, 'curve');
    const bytes = bytesOf(key, 'key', inEncoding), form = formOf(format), point = native.pointForm(curve, bytes, form);
    if (!point) throw coded(Error, 'ERR_CRYPTO_OPERATION_FAILED', 'Failed to convert Buffer to EC_POINT');
    return encoded(buffer(point), outEncoding);
  }
}

const agreeing = ['dh', 'ec', 'x448', 'x25519'];
function diffieHellman(options) {
  isObject(options, 'options');
  const { privateKey, publicKey } = options;
  if (!isKeyObject(privateKey)) throw wrongValue('options.privateKey', privateKey);
  if (!isKeyObject(publicKey)) throw wrongValue('options.publicKey', publicKey);
  if (privateKey.type !== 'private') throw wrongKind(privateKey.type, 'private');
  if (publicKey.type !== 'public' && publicKey.type !== 'private') throw wrongKind(publicKey.type, 'private or public');
  const mine = privateKey.asymmetricKeyType, theirs = publicKey.asymmetricKeyType;
  if (mine !== theirs || !agreeing.includes(mine)) throw coded(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY', `Incompatible key types for Diffie-Hellman: ${mine} and ${theirs}`);
  return buffer(native.keyAgree(handleOf(privateKey), handleOf(publicKey)));
}

// Functions that programs also call with `new`.
function getDiffieHellman(name) { return new DiffieHellmanGroup(name); }
function createDiffieHellman(...words) { return new DiffieHellman(...words); }
function createECDH(curve) { return new ECDH(curve); }
module.exports = { DiffieHellman, DiffieHellmanGroup, ECDH, diffieHellman, createDiffieHellman,
  createDiffieHellmanGroup: getDiffieHellman, getDiffieHellman, createECDH, getCurves: () => native.curves().sort() };
