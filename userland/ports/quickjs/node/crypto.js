// crypto: its parts, each of which is read when something of it is first asked for.
const constants = { RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_X931_PADDING: 5, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
  DH_CHECK_P_NOT_PRIME: 1, DH_CHECK_P_NOT_SAFE_PRIME: 2, DH_UNABLE_TO_CHECK_GENERATOR: 4, DH_NOT_SUITABLE_GENERATOR: 8, POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4, POINT_CONVERSION_HYBRID: 6,
  TLS1_VERSION: 0x301, TLS1_1_VERSION: 0x302, TLS1_2_VERSION: 0x303, TLS1_3_VERSION: 0x304, OPENSSL_VERSION_NUMBER: 0x40000030 };
Object.setPrototypeOf(constants, null);

// Functions and classes that stand for those of a part: a module that imports crypto by name has them all, and is not to read all.
const functions = {
  crypto_random: ['checkPrime', 'checkPrimeSync', 'generatePrime', 'generatePrimeSync', 'getRandomValues', 'randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'timingSafeEqual'],
  crypto_hash: ['createHash', 'createHmac', 'hash', 'hkdf', 'hkdfSync', 'pbkdf2', 'pbkdf2Sync', 'scrypt', 'scryptSync'],
  crypto_cipher: ['createCipheriv', 'createDecipheriv', 'getCipherInfo', 'getCiphers'],
  crypto_keys: ['createPrivateKey', 'createPublicKey', 'createSecretKey'],
  crypto_keygen: ['generateKey', 'generateKeyPair', 'generateKeyPairSync', 'generateKeySync'],
  crypto_sign: ['createSign', 'createVerify', 'sign', 'verify', 'publicEncrypt', 'publicDecrypt', 'privateEncrypt', 'privateDecrypt'],
  crypto_dh: ['createDiffieHellman', 'createDiffieHellmanGroup', 'createECDH', 'diffieHellman', 'getCurves', 'getDiffieHellman'],
};
const classes = { Hash: 'crypto_hash', Hmac: 'crypto_hash', Cipheriv: 'crypto_cipher', Decipheriv: 'crypto_cipher', KeyObject: 'crypto_keys', Sign: 'crypto_sign', Verify: 'crypto_sign', DiffieHellman: 'crypto_dh',
  DiffieHellmanGroup: 'crypto_dh', ECDH: 'crypto_dh', X509Certificate: 'crypto_x509' };
for (const [part, names] of Object.entries(functions)) {
  for (const name of names) {
    let real;
    // By `new` it gives the object that the function makes.
    const stands = function (...words) { return Reflect.apply(real ??= require(part)[name], undefined, words); };
    module.exports[name] = Object.defineProperty(stands, 'name', { value: name });
  }
}
Object.defineProperty(module.exports.generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), { get: () => require('crypto_keygen').generateKeyPair[Symbol.for('nodejs.util.promisify.custom')] });
for (const [name, part] of Object.entries(classes)) {
  let real;
  const Class = () => (real ??= require(part)[name]);
  const { [name]: stands } = { [name]: function () {} };
  const proxy = module.exports[name] = new Proxy(stands, {
    apply: (target, self, words) => (name === 'KeyObject' || name === 'X509Certificate' ? Reflect.apply(Class(), self, words) : Reflect.construct(Class(), words)),
    construct: (target, words, made) => Reflect.construct(Class(), words, made === proxy ? Class() : made),
    get: (target, key) => Reflect.get(Class(), key),
    has: (target, key) => key in Class(),
  });
}
// Names of old.
for (const name of ['pseudoRandomBytes', 'prng', 'rng']) Object.defineProperty(module.exports, name, { value: module.exports.randomBytes, configurable: true, writable: true });
for (const name of ['webcrypto', 'subtle'])
  Object.defineProperty(module.exports, name, { configurable: true, enumerable: true, get: () => require('webcrypto')[name], set: (value) => Object.defineProperty(module.exports, name, { value, writable: true }) });
const digests = ['RSA-MD5', 'RSA-RIPEMD160', 'RSA-SHA1', 'RSA-SHA1-2', 'RSA-SHA224', 'RSA-SHA256', 'RSA-SHA3-224', 'RSA-SHA3-256', 'RSA-SHA3-384', 'RSA-SHA3-512', 'RSA-SHA384', 'RSA-SHA512', 'RSA-SHA512/224', 'RSA-SHA512/256',
  'blake2b512', 'blake2s256', 'id-rsassa-pkcs1-v1_5-with-sha3-224', 'id-rsassa-pkcs1-v1_5-with-sha3-256', 'id-rsassa-pkcs1-v1_5-with-sha3-384', 'id-rsassa-pkcs1-v1_5-with-sha3-512', 'md5', 'md5-sha1', 'md5WithRSAEncryption',
  'ripemd', 'ripemd160', 'ripemd160WithRSA', 'rmd160', 'sha1', 'sha1WithRSAEncryption', 'sha224', 'sha224WithRSAEncryption', 'sha256', 'sha256WithRSAEncryption', 'sha3-224', 'sha3-256', 'sha3-384', 'sha3-512', 'sha384',
  'sha384WithRSAEncryption', 'sha512', 'sha512-224', 'sha512-224WithRSAEncryption', 'sha512-256', 'sha512-256WithRSAEncryption', 'sha512WithRSAEncryption', 'shake128', 'shake256', 'ssl3-md5', 'ssl3-sha1'];
const noEngines = () => { throw Object.assign(new Error('Custom engines not supported by this OpenSSL'), { code: 'ERR_CRYPTO_CUSTOM_ENGINE_NOT_SUPPORTED' }); };
Object.assign(module.exports, { constants, getHashes: () => [...digests], getFips: () => 0, setEngine: noEngines, secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  setFips(on) { if (on) throw Object.assign(new Error('Error setting FIPS mode'), { code: 'ERR_CRYPTO_FIPS_UNAVAILABLE' }); } });
