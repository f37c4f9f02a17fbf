// tls: clients, by the host, which always checks a certificate and its name. It speaks TLS on a connection of `net`: a new one, or one
// over which a program has talked before (STARTTLS, a proxy's CONNECT).
const { native, os } = internal;
const { errnoError } = require('os').__errors;
const net = require('net');

const unavailable = (what) => Object.assign(new Error(what), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
const hostOnly = 'TLS is spoken by the host, on connections to the world outside: not over other streams, inside of TLS, or within a sandbox';
const notSupported = -95, already = -114, again = -11;
// Of a failed handshake, as OpenSSL numbers them.
const verifyCodes = { 10: 'CERT_HAS_EXPIRED', 18: 'DEPTH_ZERO_SELF_SIGNED_CERT', 19: 'SELF_SIGNED_CERT_IN_CHAIN', 20: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 21: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  62: 'ERR_TLS_CERT_ALTNAME_INVALID', 63: 'ERR_TLS_CERT_ALTNAME_INVALID', 64: 'ERR_TLS_CERT_ALTNAME_INVALID' };

// A stream of another kind that TLS would be spoken over is held by what programs look for (got).
class JSStreamSocket { constructor(stream) { this.stream = stream; } }

class SecureContext { constructor() { this.context = {}; } }

class TLSSocket extends net.Socket {
  #asked;
  #told = {};
  #frame = native.asyncFrame();  // as net.Socket's
  constructor(stream, options = {}) {
    super(options);
    if (options.isServer) throw unavailable('Servers with TLS are not in this node');
    Object.assign(this, { secureConnecting: true, authorized: false, authorizationError: null, encrypted: true, alpnProtocol: null, servername: options.servername ?? null });
    this.#asked = { host: options.servername || options.host || stream?._host || 'localhost', alpn: protocolsOf(options.ALPNProtocols) };
    if (stream instanceof net.Socket) this.#over(stream);
    else if (stream) this._handle = { _parentWrap: new JSStreamSocket(stream) };
  }
  // Once all that was written before has gone, the connection is this one's.
  #over(stream) {
    this._parent = stream;
    this.connecting = true;
    this.loose = stream.loose;
    const begin = () => {
      if (this.destroyed || stream.destroyed) return void this.destroy(stream.errored ?? undefined);
      if (stream.connecting) return void stream.once('connect', begin);
      if (stream.writableLength) return void stream.once('drain', begin);
      this.allowHalfOpen = stream.allowHalfOpen;
      this.__take(stream.__give());
    };
    stream.on('error', (error) => this.destroy(error));
    stream.once('close', () => this.destroy());
    this.once('close', () => stream.destroy());
    process.nextTick(begin);
  }
  // What the host says of its handshake comes first: a word of length, and so much JSON.
  __prepare(done) {
    const started = native.startTls(this.fd, JSON.stringify(this.#asked));
    if (started < 0) return void this.destroy(started === notSupported || started === already ? unavailable(hostOnly) : errnoError(started, 'connect'));
    let answer = Buffer.alloc(0);
    const left = () => (answer.length < 4 ? 4 : 4 + answer.readUInt32LE(0)) - answer.length;
    os.setReadHandler(this.fd, () => {
      const wanted = left();
      const block = Buffer.alloc(wanted);
      const count = native.read(this.fd, block.buffer, 0, wanted, -1);
      if (count === again) return;
      if (count > 0) {
        answer = Buffer.concat([answer, block.subarray(0, count)]);
        if (left()) return;
      }
      os.setReadHandler(this.fd, null);
      if (count <= 0) return void this.destroy(Object.assign(new Error('Client network socket disconnected before secure TLS connection was established'), { code: 'ECONNRESET' }));
      this.#shaken(JSON.parse(answer.subarray(4)), done);
    }, this.#frame);
  }
  #shaken(told, done) {
    if (told.error) {
      const code = told.reason === 'CERTIFICATE_VERIFY_FAILED' ? verifyCodes[told.verify_code] ?? 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' : 'ERR_SSL';
      return void this.destroy(Object.assign(new Error(told.error), { code }));
    }
    this.#told = told;
    Object.assign(this, { authorized: true, secureConnecting: false, alpnProtocol: told.alpn || false });
    done();
    this.emit('secure');
    this.emit('secureConnect');
  }
  getProtocol() { return this.#told.version ?? null; }
  getCipher() {
    if (!this.#told.cipher) return {};
    const [standardName, version] = this.#told.cipher;
    return { name: standardName, standardName, version };
  }
  getPeerX509Certificate() { return this.#told.certificate ? new (require('crypto').X509Certificate)(Buffer.from(this.#told.certificate, 'base64')) : undefined; }
  getPeerCertificate() { return this.getPeerX509Certificate()?.toLegacyObject() ?? {}; }
  getCertificate() { return {}; }
  getX509Certificate() {}
  getSession() {}
  getTLSTicket() {}
  getFinished() {}
  getPeerFinished() {}
  getEphemeralKeyInfo() { return {}; }
  getSharedSigalgs() { return []; }
  isSessionReused() { return false; }
  setServername(name) { this.#asked.host = String(name); }
  setSession() {}
  setKeyCert() {}
  setMaxSendFragment() { return true; }
  enableTrace() {}
  disableRenegotiation() {}
  renegotiate(options, callback) {
    if (callback) process.nextTick(callback, unavailable('TLS is not negotiated anew'));
    return false;
  }
  exportKeyingMaterial() { throw unavailable('keys of TLS are the host\'s'); }
}

// Names, or one buffer that has them each after its length.
function protocolsOf(given = []) {
  if (Array.isArray(given)) return given.map(String);
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength), names = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes[at]) names.push(bytes.latin1Slice(at + 1, at + 1 + bytes[at]));
  return names;
}

function connect(...args) {
  const callback = args.find((word) => typeof word === 'function');
  const [port, host] = typeof args[0] === 'object' ? [] : [args[0], typeof args[1] === 'string' ? args[1] : undefined];
  const options = Object.assign({}, port !== undefined && { port, host }, ...args.filter((word) => word !== null && typeof word === 'object'));
  const { socket: stream, ...words } = options;
  const socket = new TLSSocket(stream, words);
  if (callback) socket.once('secureConnect', callback);
  if (options.timeout) socket.setTimeout(options.timeout);
  if (!stream) return socket.connect(words);
  if (!socket._parent) process.nextTick(() => socket.destroy(unavailable(hostOnly)));
  return socket;
}

class Server extends net.Server { constructor() { super(); createServer(); } }
function createServer() { throw unavailable('Servers with TLS are not in this node'); }

const ciphers = ['tls_aes_256_gcm_sha384', 'tls_chacha20_poly1305_sha256', 'tls_aes_128_gcm_sha256', 'ecdhe-ecdsa-aes128-gcm-sha256', 'ecdhe-rsa-aes128-gcm-sha256',
  'ecdhe-ecdsa-aes256-gcm-sha384', 'ecdhe-rsa-aes256-gcm-sha384', 'ecdhe-ecdsa-chacha20-poly1305', 'ecdhe-rsa-chacha20-poly1305'];
module.exports = { TLSSocket: new Proxy(TLSSocket, { apply: (target, self, args) => new target(...args) }), SecureContext, Server, connect, createServer, createSecureContext: () => new SecureContext(),
  checkServerIdentity: () => undefined, convertALPNProtocols(protocols, out) { out.ALPNProtocols = Array.isArray(protocols) ? Buffer.concat(protocols.map((name) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name)]))) : Buffer.from(protocols); },
  getCiphers: () => [...ciphers], getCACertificates: () => [], rootCertificates: Object.freeze([]), DEFAULT_MIN_VERSION: 'TLSv1.2', DEFAULT_MAX_VERSION: 'TLSv1.3', DEFAULT_ECDH_CURVE: 'auto',
  DEFAULT_CIPHERS: ciphers.map((name) => name.toUpperCase().replace(/^TLS-/, 'TLS_')).join(':'), CLIENT_RENEG_LIMIT: 3, CLIENT_RENEG_WINDOW: 600 };
