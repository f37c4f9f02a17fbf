// webcrypto: the objects of the web, whose work is read when something is first asked of it.
const coded = (...words) => require('crypto_util').coded(...words);
const badThis = (kind) => coded(TypeError, 'ERR_INVALID_THIS', `Value of "this" must be of type ${kind}`);
const illegal = () => { throw coded(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor'); };

class SubtleCrypto { constructor() { illegal(); } }
const subtle = Object.create(SubtleCrypto.prototype);
for (const name of ['digest', 'generateKey', 'importKey', 'exportKey', 'sign', 'verify', 'encrypt', 'decrypt', 'deriveBits', 'deriveKey', 'wrapKey', 'unwrapKey']) {
  const { [name]: value } = { async [name](...words) {
    if (this !== subtle) throw badThis('SubtleCrypto');
    return require('webcrypto_subtle').methods[name](words);
  } };
  Object.defineProperty(SubtleCrypto.prototype, name, { value, configurable: true, writable: true, enumerable: true });
}

class Crypto {
  constructor() { illegal(); }
  get subtle() { return subtle; }
  getRandomValues(array) {
    if (this !== webcrypto) throw badThis('Crypto');
    if (arguments.length < 1) throw coded(TypeError, 'ERR_MISSING_ARGS', "Failed to execute 'getRandomValues' on 'Crypto': 1 argument required, but only 0 present.");
    return require('crypto_random').getRandomValues(array);
  }
  randomUUID() {
    if (this !== webcrypto) throw badThis('Crypto');
    return require('crypto_random').randomUUID();
  }
  get CryptoKey() { return require('webcrypto_subtle').CryptoKey; }
}
internal.tagged({ SubtleCrypto, Crypto });
const webcrypto = Object.create(Crypto.prototype);

module.exports = { webcrypto, subtle, Crypto, SubtleCrypto };
