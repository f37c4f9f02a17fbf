// Of crypto: new keys.
const { native } = internal;
const { coded, wrongValue, isString, isFunction, isObject, isInteger, isInt32, isUint32, isOneOf, viewOf, later, bytesOfNumber, wrongDigest, wrongType } = require('crypto_util');
const { SecretKeyObject, PublicKeyObject, PrivateKeyObject, parseEncoding, written } = require('crypto_keys');

const both = (one, other) => coded(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', `Option "${one}" cannot be used in combination with option "${other}"`);
const isDigest = (name) => native.pbkdf2(name, new Uint8Array(0), new Uint8Array(0), 1, 0) !== undefined;

function rsaMaker(type, options) {
  isObject(options, 'options');
  isUint32(options.modulusLength, 'options.modulusLength');
  const exponent = options.publicExponent ?? 0x10001;
  isUint32(exponent, 'options.publicExponent');
  const parts = ['bits', 'number', Math.min(options.modulusLength, 2 ** 31 - 1), 'e', 'big', bytesOfNumber(exponent)];
  if (type === 'rsa') return () => native.keyGenerate('RSA', parts, 0, undefined);
  const { hash, mgf1Hash, hashAlgorithm = hash, mgf1HashAlgorithm = mgf1Hash, saltLength } = options;
  if (saltLength !== undefined) isInt32(saltLength, 'options.saltLength', 0);
  for (const [name, value] of Object.entries({ hashAlgorithm, mgf1HashAlgorithm })) {
    if (value === undefined) continue;
    isString(value, `options.${name}`);
    if (!isDigest(value)) throw coded(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid ${name === 'hashAlgorithm' ? '' : 'MGF1 '}digest: ${value}`);
  }
  if (hashAlgorithm) parts.push('digest', 'text', hashAlgorithm);
  if (mgf1HashAlgorithm ?? hashAlgorithm) parts.push('mgf1-digest', 'text', mgf1HashAlgorithm ?? hashAlgorithm);
  if (saltLength !== undefined) parts.push('saltlen', 'number', saltLength);
  else if (hashAlgorithm) parts.push('saltlen', 'number', native.hashFinal(native.hashOpen(hashAlgorithm, -1)).byteLength);
  return () => native.keyGenerate('RSA-PSS', parts, 0, undefined);
}
function dsaMaker(options) {
  isObject(options, 'options');
  isUint32(options.modulusLength, 'options.modulusLength');
  const { divisorLength } = options;
  if (divisorLength !== undefined && divisorLength !== null) isInt32(divisorLength, 'options.divisorLength', 0);
  const parts = ['pbits', 'number', Math.min(options.modulusLength, 2 ** 31 - 1)];
  if (divisorLength !== undefined && divisorLength !== null) parts.push('qbits', 'number', divisorLength);
  return () => native.keyGenerate('DSA', [], 0, native.keyGenerate('DSA', parts, 1, undefined));
}
function ecMaker(options) {
  isObject(options, 'options');
  const { namedCurve, paramEncoding = 'named' } = options;
  isString(namedCurve, 'options.namedCurve');
  if (paramEncoding !== null && !['named', 'explicit'].includes(paramEncoding)) throw wrongValue('options.paramEncoding', paramEncoding);
  if (!['P-192', 'P-224', 'P-256', 'P-384', 'P-521'].includes(namedCurve) && !native.curves().includes(namedCurve))
    throw coded(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  return () => native.keyGenerate('EC', ['group', 'text', namedCurve, 'encoding', 'text', paramEncoding === 'explicit' ? 'explicit' : 'named_curve'], 0, undefined);
}
function dhMaker(options) {
  isObject(options, 'options');
  const { group, primeLength, prime, generator } = options;
  const given = (value) => value !== undefined && value !== null;
  if (given(group)) {
    for (const [name, value] of Object.entries({ prime, primeLength, generator })) if (given(value)) throw both('group', name);
    isString(group, 'options.group');
    const known = native.dhGroup(group);
    if (!known) throw coded(Error, 'ERR_CRYPTO_UNKNOWN_DH_GROUP', 'Unknown DH group');
    return () => native.keyGenerate('DH', [], 0, native.keyBuild('DH', 2, ['p', 'big', new Uint8Array(known), 'g', 'big', new Uint8Array([2])]));
  }
  if (given(prime)) {
    if (given(primeLength)) throw both('prime', 'primeLength');
    if (!ArrayBuffer.isView(prime)) throw wrongType('options.prime', ['Buffer', 'TypedArray', 'DataView'], prime);
  } else if (given(primeLength)) isInt32(primeLength, 'options.primeLength', 0);
  else throw coded(TypeError, 'ERR_MISSING_OPTION', 'At least one of the group, prime, or primeLength options is required');
  if (given(generator)) isInt32(generator, 'options.generator', 0);
  const root = generator ?? 2;
  if (given(prime)) return () => native.keyGenerate('DH', [], 0, native.keyBuild('DH', 2, ['p', 'big', viewOf(prime), 'g', 'big', bytesOfNumber(root)]));
  return () => native.keyGenerate('DH', [], 0, native.keyGenerate('DH', ['type', 'text', 'generator', 'pbits', 'number', primeLength, 'safeprime-generator', 'number', root], 1, undefined));
}
function makerOf(type, options) {
  switch (type) {
    case 'rsa':
    case 'rsa-pss': return rsaMaker(type, options);
    case 'dsa': return dsaMaker(options);
    case 'ec': return ecMaker(options);
    case 'dh': return dhMaker(options);
    case 'ed25519':
    case 'ed448':
    case 'x25519':
    case 'x448': return () => native.keyGenerate(type.toUpperCase(), [], 0, undefined);
  }
  throw wrongValue('type', type, 'must be a supported key type');
}
// How each half is given back: as an object, or as it is written.
function halfOf(options, name, type, isPublic) {
  const given = options?.[name];
  if (given === undefined || given === null) return (handle) => (isPublic ? new PublicKeyObject(handle) : new PrivateKeyObject(handle));
  if (typeof given !== 'object') throw wrongValue(`options.${name}`, given);
  const form = parseEncoding(given, type, isPublic, name);
  return (handle) => written(handle, !isPublic, form);
}
function pairJob(type, options) {
  isString(type, 'type');
  const publicHalf = halfOf(options, 'publicKeyEncoding', type, true), privateHalf = halfOf(options, 'privateKeyEncoding', type, false);
  if (options !== undefined) isObject(options, 'options');
  const make = makerOf(type, options);
  return () => {
    const handle = make();
    return { publicKey: publicHalf(handle), privateKey: privateHalf(handle) };
  };
}
const generateKeyPairSync = (type, options) => pairJob(type, options)();
function generateKeyPair(type, options, callback) {
  if (typeof options === 'function') [callback, options] = [options, undefined];
  isFunction(callback, 'callback');
  later((error, pair) => (error ? callback(error) : callback(null, pair.publicKey, pair.privateKey)), pairJob(type, options));
}
Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), { value: (type, options) => new Promise((resolve, reject) => {
  generateKeyPair(type, options, (error, publicKey, privateKey) => (error ? reject(error) : resolve({ publicKey, privateKey })));
}) });

function secretJob(type, options) {
  isString(type, 'type');
  isObject(options, 'options');
  const { length } = options;
  if (type === 'hmac') isInteger(length, 'options.length', 8, 2 ** 31 - 1);
  else if (type === 'aes') isOneOf(length, 'options.length', [128, 192, 256]);
  else throw wrongValue('type', type, 'must be a supported key type');
  return () => new SecretKeyObject(new Uint8Array(native.random(Math.floor(length / 8))));
}
const generateKeySync = (type, options) => secretJob(type, options)();
function generateKey(type, options, callback) {
  if (typeof options === 'function') [callback, options] = [options, undefined];
  isFunction(callback, 'callback');
  later(callback, secretJob(type, options));
}

module.exports = { generateKeyPair, generateKeyPairSync, generateKey, generateKeySync };
