// Of crypto: ciphers with a key that both sides know.
const { native } = internal;
const { Transform } = require('stream');
const { StringDecoder } = require('string_decoder');
const { coded, wrongType, wrongValue, isString, isObject, isInt32, bytesOf, dataOf, textOption } = require('crypto_util');

const badState = (what) => coded(Error, 'ERR_CRYPTO_INVALID_STATE', `Invalid state for operation ${what}`);
function count(options, name) {
  const value = options?.[name];
  if (value === undefined || value === null) return -1;
  if (value >>> 0 !== value) throw wrongValue(`options.${name}`, value);
  return Math.min(value, 2 ** 31 - 1);
}

class CipherBase extends Transform {
  #cipher;
  #decoder;
  constructor(encrypts, name, key, iv, options) {
    super(options);
    isString(name, 'cipher');
    const secret = require('crypto_keys').prepareSecret(key, textOption(options, 'encoding'));
    const vector = iv === null ? null : bytesOf(iv, 'iv');
    this.#cipher = native.cipherOpen(encrypts ? 1 : 0, name, secret, vector, count(options, 'authTagLength'));
  }
  #text(bytes, encoding, ends) {
    if (!encoding || encoding === 'buffer') return bytes;
    if (!Buffer.isEncoding(encoding)) throw coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
    this.#decoder ??= new StringDecoder(encoding);
    if (this.#decoder.encoding !== new StringDecoder(encoding).encoding) throw coded(Error, 'ERR_INTERNAL_ASSERTION', 'Cannot change encoding');
    return ends ? this.#decoder.end(bytes) : this.#decoder.write(bytes);
  }
  update(data, inputEncoding, outputEncoding) { return this.#text(Buffer.from(native.cipherUpdate(this.#cipher, dataOf(data, inputEncoding))), outputEncoding, false); }
  final(outputEncoding) { return this.#text(Buffer.from(native.cipherFinal(this.#cipher)), outputEncoding, true); }
  setAutoPadding(pads = true) {
    if (!native.cipherPadding(this.#cipher, pads ? 1 : 0)) throw badState('setAutoPadding');
    return this;
  }
  setAAD(bytes, options) {
    const encoding = textOption(options, 'encoding'), size = count(options, 'plaintextLength');
    if (!native.cipherAssociated(this.#cipher, bytesOf(bytes, 'aadbuf', encoding), size)) throw badState('setAAD');
    return this;
  }
  static tagOf(cipher) { return native.cipherTag(cipher.#cipher); }
  static setTag(cipher, tag) { return native.cipherSetTag(cipher.#cipher, tag); }
  _transform(chunk, encoding, callback) {
    let made;
    try {
      made = this.update(chunk, encoding);
    } catch (error) {
      return callback(error);
    }
    callback(null, made.length ? made : undefined);
  }
  _flush(callback) {
    let made;
    try {
      made = this.final();
    } catch (error) {
      return callback(error);
    }
    callback(null, made.length ? made : undefined);
  }
}
class Cipheriv extends CipherBase {
  constructor(cipher, key, iv, options) { super(true, cipher, key, iv, options); }
  getAuthTag() {
    const tag = CipherBase.tagOf(this);
    if (tag === undefined) throw badState('getAuthTag');
    return Buffer.from(tag);
  }
}
class Decipheriv extends CipherBase {
  constructor(cipher, key, iv, options) { super(false, cipher, key, iv, options); }
  setAuthTag(tag, encoding) {
    if (!CipherBase.setTag(this, bytesOf(tag, 'buffer', encoding))) throw badState('setAuthTag');
    return this;
  }
}

function getCipherInfo(nameOrNid, options) {
  if (typeof nameOrNid !== 'string' && typeof nameOrNid !== 'number') throw wrongType('nameOrNid', ['string', 'number'], nameOrNid);
  if (typeof nameOrNid === 'number') isInt32(nameOrNid, 'nameOrNid');
  if (options !== undefined) {
    isObject(options, 'options');
    for (const name of ['keyLength', 'ivLength']) if (options[name] !== undefined) isInt32(options[name], `options.${name}`);
  }
  const { keyLength, ivLength } = options ?? {};
  if (keyLength < 0 || ivLength < 0) return undefined;
  const found = native.cipherInfo(nameOrNid, keyLength ?? -1, ivLength ?? -1);
  if (!found) return undefined;
  const [name, nid, block, vector, key, mode] = found;
  return { ...(mode && { mode }), name: name.toLowerCase(), nid, ...(mode !== 'stream' && { blockSize: block }), ...(vector && { ivLength: vector }), keyLength: key };
}

// The names of those that OpenSSL has here.
const sized = ['cbc', 'ccm', 'cfb', 'cfb1', 'cfb8', 'ctr', 'ecb', 'gcm', 'ocb', 'ofb'].flatMap((mode) => [128, 192, 256].map((bits) => `aes-${bits}-${mode}`));
const more = [128, 192, 256].flatMap((bits) => [`aes${bits}`, `aes${bits}-wrap`, `aes${bits}-wrap-pad`, `id-aes${bits}-CCM`, `id-aes${bits}-GCM`, `id-aes${bits}-wrap`, `id-aes${bits}-wrap-pad`]);
const others = ['aes-128-xts', 'aes-256-xts', 'chacha20', 'chacha20-poly1305', 'des-ede', 'des-ede-cbc', 'des-ede-cfb', 'des-ede-ecb', 'des-ede-ofb', 'des-ede3', 'des-ede3-cbc', 'des-ede3-cfb', 'des-ede3-cfb1',
  'des-ede3-cfb8', 'des-ede3-ecb', 'des-ede3-ofb', 'des3', 'des3-wrap', 'id-smime-alg-CMS3DESwrap'];
const getCiphers = () => [...sized, ...more, ...others].sort();

// Functions that programs also call with `new`.
function createCipheriv(cipher, key, iv, options) { return new Cipheriv(cipher, key, iv, options); }
function createDecipheriv(cipher, key, iv, options) { return new Decipheriv(cipher, key, iv, options); }
module.exports = { Cipheriv, Decipheriv, getCipherInfo, getCiphers, createCipheriv, createDecipheriv };
