// Of webcrypto: what it is asked for by objects of words, made the same whatever way it was written.
const { types } = internal;
const { coded, viewOf, isBytes } = require('crypto_util');

const refused = (message, name, cause) => {
  const error = new DOMException(message, name);
  if (cause !== undefined) Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true, enumerable: false });
  return error;
};
const unknown = () => refused('Unrecognized algorithm name', 'NotSupportedError');
const failed = (cause) => refused('The operation failed for an operation-specific reason', 'OperationError', cause);

// --- Values, as the web's interfaces take them ---

const badArgument = (prefix, context, what) => coded(TypeError, 'ERR_INVALID_ARG_TYPE', `${prefix}: ${context} ${what}`);
function wholeNumber(value, prefix, context, most) {
  const number = Number(value);
  if (!Number.isFinite(number)) throw badArgument(prefix, context, 'is not a finite number.');
  const whole = Math.trunc(number);
  if (whole < 0 || whole > most) throw coded(TypeError, 'ERR_OUT_OF_RANGE', `${prefix}: ${context} is outside the expected range of 0 to ${most}.`);
  return whole;
}
function source(value, prefix, context) {
  if (!isBytes(value)) throw badArgument(prefix, context, 'is not instance of ArrayBuffer, Buffer, TypedArray, or DataView.');
  return Uint8Array.from(viewOf(value));
}
const usageNames = ['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey'];
function usagesFrom(value, prefix, context) {
  if (value === null || typeof value !== 'object' || typeof value[Symbol.iterator] !== 'function') throw badArgument(prefix, context, 'can not be converted to sequence.');
  return [...value].map((usage, i) => {
    if (!usageNames.includes(usage)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `${prefix}: ${context}, index ${i} value '${usage}' is not a valid enum value of type KeyUsage.`);
    return usage;
  });
}
function formatFrom(value, prefix) {
  if (!['raw', 'pkcs8', 'spki', 'jwk'].includes(value)) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `${prefix}: 1st argument value '${value}' is not a valid enum value of type KeyFormat.`);
  return value;
}
function jwkFrom(value, prefix, context) {
  if (value === null || typeof value !== 'object' || isBytes(value)) throw badArgument(prefix, context, 'cannot be converted to a dictionary.');
  return value;
}

// --- Algorithms ---

const kinds = {
  short: (value, context) => wholeNumber(value, 'Failed to normalize algorithm', context, 65535),
  octet: (value, context) => wholeNumber(value, 'Failed to normalize algorithm', context, 255),
  long: (value, context) => wholeNumber(value, 'Failed to normalize algorithm', context, 2 ** 32 - 1),
  text: (value) => String(value),
  bytes: (value, context) => source(value, 'Failed to normalize algorithm', context),
  number(value, context) {
    if (!types.isUint8Array(value)) throw badArgument('Failed to normalize algorithm', context, 'is not an Uint8Array object.');
    return Uint8Array.from(value);
  },
  hash: (value) => normalize(value, 'digest'),
  key(value, context) {
    if (!internal.isCryptoKey(value)) throw badArgument('Failed to normalize algorithm', context, 'is not of type CryptoKey.');
    return value;
  },
};
// The members of each kind of object, in the order in which they are looked at; `!` for those that it must have.
const dictionaries = {
  RsaHashedKeyGenParams: 'hash:hash! modulusLength:long! publicExponent:number!', RsaHashedImportParams: 'hash:hash!', EcKeyGenParams: 'namedCurve:text!', EcKeyImportParams: 'namedCurve:text!',
  AesKeyGenParams: 'length:short!', AesDerivedKeyParams: 'length:short!', HmacKeyGenParams: 'hash:hash! length:long', HmacImportParams: 'hash:hash! length:long', RsaPssParams: 'saltLength:long!',
  EcdsaParams: 'hash:hash!', HkdfParams: 'hash:hash! info:bytes! salt:bytes!', Pbkdf2Params: 'hash:hash! iterations:long! salt:bytes!', EcdhKeyDeriveParams: 'public:key!', RsaOaepParams: 'label:bytes',
  AesCbcParams: 'iv:bytes!', AesGcmParams: 'additionalData:bytes iv:bytes! tagLength:octet', AesCtrParams: 'counter:bytes! length:octet!', Ed448Params: 'context:bytes', plain: '',
};
const rsa = (kind) => ({ 'RSASSA-PKCS1-v1_5': kind, 'RSA-PSS': kind, 'RSA-OAEP': kind });
const ec = (kind) => ({ ECDSA: kind, ECDH: kind });
const aes = (kind) => ({ 'AES-CTR': kind, 'AES-CBC': kind, 'AES-GCM': kind, 'AES-KW': kind });
const edwards = { Ed25519: 'plain', Ed448: 'plain' }, montgomery = { X25519: 'plain', X448: 'plain' };
const ciphers = { 'RSA-OAEP': 'RsaOaepParams', 'AES-CBC': 'AesCbcParams', 'AES-GCM': 'AesGcmParams', 'AES-CTR': 'AesCtrParams' };
const signatures = { 'RSASSA-PKCS1-v1_5': 'plain', 'RSA-PSS': 'RsaPssParams', ECDSA: 'EcdsaParams', HMAC: 'plain', Ed25519: 'plain', Ed448: 'Ed448Params' };
const operations = {
  digest: { 'SHA-1': 'plain', 'SHA-256': 'plain', 'SHA-384': 'plain', 'SHA-512': 'plain' },
  generateKey: { ...rsa('RsaHashedKeyGenParams'), ...ec('EcKeyGenParams'), ...aes('AesKeyGenParams'), HMAC: 'HmacKeyGenParams', ...edwards, ...montgomery },
  importKey: { ...rsa('RsaHashedImportParams'), ...ec('EcKeyImportParams'), ...aes('plain'), HMAC: 'HmacImportParams', HKDF: 'plain', PBKDF2: 'plain', ...edwards, ...montgomery },
  exportKey: { ...rsa('plain'), ...ec('plain'), ...aes('plain'), HMAC: 'plain', ...edwards, ...montgomery },
  sign: signatures, verify: signatures, encrypt: ciphers, decrypt: ciphers, wrapKey: { 'AES-KW': 'plain' }, unwrapKey: { 'AES-KW': 'plain' },
  deriveBits: { HKDF: 'HkdfParams', PBKDF2: 'Pbkdf2Params', ECDH: 'EcdhKeyDeriveParams', X25519: 'EcdhKeyDeriveParams', X448: 'EcdhKeyDeriveParams' },
  keyLength: { ...aes('AesDerivedKeyParams'), HMAC: 'HmacImportParams', HKDF: 'plain', PBKDF2: 'plain' },
};
// What values there are beyond their types.
function checked(kind, words) {
  if (kind.startsWith('Ec') && words.namedCurve !== undefined && !['P-256', 'P-384', 'P-521'].includes(words.namedCurve)) throw refused('Unrecognized namedCurve', 'NotSupportedError');
  if (kind === 'AesCbcParams' && words.iv.length !== 16) throw refused('algorithm.iv must contain exactly 16 bytes', 'OperationError');
  if (kind === 'AesCtrParams' && words.counter.length !== 16) throw refused('algorithm.counter must contain exactly 16 bytes', 'OperationError');
  if (kind === 'AesCtrParams' && (words.length === 0 || words.length > 128)) throw refused('AES-CTR algorithm.length must be between 1 and 128', 'OperationError');
  if (kind === 'AesGcmParams' && words.tagLength !== undefined && ![32, 64, 96, 104, 112, 120, 128].includes(words.tagLength)) throw refused(`${words.tagLength} is not a valid AES-GCM tag length`, 'OperationError');
  if (/^Aes(KeyGen|DerivedKey)/.test(kind) && ![128, 192, 256].includes(words.length)) throw refused('AES key length must be 128, 192, or 256 bits', 'OperationError');
  if (kind.startsWith('Hmac') && words.length === 0) throw refused('Zero-length key is not supported', 'DataError');
  if (kind.startsWith('Hmac') && words.length % 8) throw refused('Unsupported algorithm.length', 'NotSupportedError');
  if (kind === 'Pbkdf2Params' && words.iterations === 0) throw refused('iterations cannot be zero', 'OperationError');
  if (kind === 'Ed448Params' && words.context?.length) throw refused('Non zero-length context is not supported.', 'OperationError');
  return words;
}
function normalize(algorithm, operation) {
  if (algorithm === null || typeof algorithm !== 'object') algorithm = { name: String(algorithm) };
  if (algorithm.name === undefined)
    throw coded(TypeError, 'ERR_MISSING_OPTION', "Failed to normalize algorithm: passed algorithm can not be converted to 'Algorithm' because 'name' is required in 'Algorithm'.");
  const wanted = String(algorithm.name).toUpperCase(), name = Object.keys(operations[operation]).find((known) => known.toUpperCase() === wanted);
  if (!name) throw unknown();
  const kind = operations[operation][name], words = { name };
  for (const [, member, type, must] of dictionaries[kind].matchAll(/(\w+):(\w+)(!?)/g)) {
    const value = algorithm[member];
    if (value !== undefined) words[member] = kinds[type](value, `'${member}' of '${kind}' (passed algorithm)`);
    else if (must) throw coded(TypeError, 'ERR_MISSING_OPTION', `Failed to normalize algorithm: passed algorithm can not be converted to '${kind}' because '${member}' is required in '${kind}'.`);
  }
  return checked(kind, words);
}

module.exports = { refused, unknown, failed, wholeNumber, source, usagesFrom, formatFrom, jwkFrom, normalize, usageNames };
