// Of crypto: X.509 certificates.
const { native } = internal;
const { coded, wrongType, wrongValue, isString, isBoolean, isObject, viewOf } = require('crypto_util');
const { PublicKeyObject, isKeyObject, handleOf, curves } = require('crypto_keys');
const { inspect } = require('util');

const subjects = { default: 0, always: 1, never: 0x20 };
function flagsOf(options = {}) {
  isObject(options, 'options');
  const { subject = 'default', wildcards = true, partialWildcards = true, multiLabelWildcards = false, singleLabelSubdomains = false } = options;
  isString(subject, 'options.subject');
  for (const [name, value] of Object.entries({ wildcards, partialWildcards, multiLabelWildcards, singleLabelSubdomains })) isBoolean(value, `options.${name}`);
  if (!Object.hasOwn(subjects, subject)) throw wrongValue('options.subject', subject);
  return subjects[subject] | (wildcards ? 0 : 2) | (partialWildcards ? 0 : 4) | (multiLabelWildcards ? 8 : 0) | (singleLabelSubdomains ? 0x10 : 0);
}
const badText = (what) => coded(TypeError, 'ERR_INVALID_ARG_VALUE', `Invalid ${what}`);
// Several entries of one name are a list.
function asObject(entries) {
  const object = Object.create(null);
  for (let i = 0; i < entries.length; i += 2) {
    const [name, value] = [entries[i], entries[i + 1]];
    object[name] = name in object ? [object[name], value].flat() : value;
  }
  return object;
}
const shown = ['subject', 'subjectAltName', 'issuer', 'infoAccess', 'validFrom', 'validTo', 'validFromDate', 'validToDate', 'fingerprint', 'fingerprint256', 'fingerprint512', 'keyUsage', 'serialNumber'];
const words = shown.filter((name) => !name.endsWith('Date'));

class X509Certificate {
  #certificate;
  #parts;
  #key;
  constructor(buffer) {
    if (typeof buffer === 'string') buffer = Buffer.from(buffer);
    if (!ArrayBuffer.isView(buffer)) throw wrongType('buffer', ['string', 'Buffer', 'TypedArray', 'DataView'], buffer);
    this.#certificate = native.certificateRead(viewOf(buffer));
  }
  #said() { return this.#parts ??= native.certificateParts(this.#certificate); }
  static said(certificate) { return certificate.#said(); }
  get validFromDate() { return new Date(this.validFrom); }
  get validToDate() { return new Date(this.validTo); }
  get ca() { return this.#said().ca; }
  get raw() { return Buffer.from(this.#said().raw); }
  get publicKey() { return this.#key ??= new PublicKeyObject(native.certificateKey(this.#certificate)); }
  get issuerCertificate() { return undefined; }
  toString() { return `-----BEGIN CERTIFICATE-----\n${this.raw.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`; }
  toJSON() { return this.toString(); }
  checkHost(name, options) {
    isString(name, 'name');
    const found = native.certificateMatches(this.#certificate, 'host', name, flagsOf(options));
    if (found === undefined) throw badText('name');
    return found === true ? name : found || undefined;
  }
  checkEmail(email, options) {
    isString(email, 'email');
    const found = native.certificateMatches(this.#certificate, 'email', email, flagsOf(options));
    if (found === undefined) throw badText('name');
    return found ? email : undefined;
  }
  checkIP(ip, options) {
    isString(ip, 'ip');
    const found = native.certificateMatches(this.#certificate, 'ip', ip, flagsOf(options));
    if (found === undefined) throw badText('IP');
    return found ? ip : undefined;
  }
  checkIssued(other) {
    if (!(other instanceof X509Certificate)) throw wrongType('otherCert', 'X509Certificate', other);
    return native.certificateIssued(this.#certificate, other.#certificate);
  }
  checkPrivateKey(key) {
    if (!isKeyObject(key)) throw wrongType('pkey', 'KeyObject', key);
    if (key.type !== 'private') throw wrongValue('pkey', key);
    return native.certificateOwns(this.#certificate, handleOf(key));
  }
  verify(key) {
    if (!isKeyObject(key)) throw wrongType('pkey', 'KeyObject', key);
    if (key.type !== 'public') throw wrongValue('pkey', key);
    return native.certificateVerified(this.#certificate, handleOf(key));
  }
  toLegacyObject() {
    const said = this.#said(), key = this.publicKey, parts = native.keyParts(handleOf(key)), kind = key.asymmetricKeyType;
    const about = {};
    if (kind === 'rsa') {
      const number = (bytes) => Buffer.from(bytes).toString('hex').toUpperCase();
      Object.assign(about, { modulus: number(parts.n), bits: parts.bits, exponent: `0x${number(parts.e).toLowerCase().replace(/^0+/, '')}`, pubkey: key.export({ format: 'der', type: 'spki' }) });
    } else if (kind === 'ec') {
      const nist = Object.entries(curves).find(([name, [group]]) => name.startsWith('P-') && group === parts.group)?.[0];
      Object.assign(about, { bits: parts.bits, pubkey: Buffer.concat([Buffer.from([4]), parts.qx, parts.qy]), asn1Curve: parts.group, ...(nist && { nistCurve: nist }) });
    }
    const access = said.infoAccess === undefined ? undefined : Object.create(null);
    for (const line of said.infoAccess?.split('\n') ?? []) {
      const [, name, value] = /^([^:]*):(.*)$/.exec(line) ?? [];
      if (name !== undefined) (access[name] ??= []).push(value);
    }
    return { subject: asObject(said.subjectEntries), issuer: asObject(said.issuerEntries), ...(said.subjectAltName !== undefined && { subjectaltname: said.subjectAltName }), ...(access && { infoAccess: access }),
      ca: said.ca, ...about, valid_from: said.validFrom, valid_to: said.validTo, fingerprint: said.fingerprint, fingerprint256: said.fingerprint256, fingerprint512: said.fingerprint512,
      ...(said.keyUsage && { ext_key_usage: said.keyUsage }), serialNumber: said.serialNumber, raw: this.raw };
  }
  [inspect.custom](depth, options) {
    if (depth < 0) return this;
    return `X509Certificate ${inspect(Object.fromEntries(shown.map((name) => [name, this[name]])), { ...options, depth: options.depth === null || options.depth === undefined ? null : options.depth - 1 })}`;
  }
}
const said = X509Certificate.said;
delete X509Certificate.said;
for (const name of words) Object.defineProperty(X509Certificate.prototype, name, { get() { return said(this)[name]; }, configurable: true, enumerable: false });

module.exports = { X509Certificate };
