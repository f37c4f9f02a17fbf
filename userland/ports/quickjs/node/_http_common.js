// _http_common: the parser of messages, as libraries that stand in for servers (msw, nock 14) use it.
const { Parser, measureOf } = require('http').__parsing;

// In the order of the numbers that a parser tells.
const methods = ['DELETE', 'GET', 'HEAD', 'POST', 'PUT', 'CONNECT', 'OPTIONS', 'TRACE', 'COPY', 'LOCK', 'MKCOL', 'MOVE', 'PROPFIND', 'PROPPATCH', 'SEARCH', 'UNLOCK', 'BIND', 'REBIND', 'UNBIND', 'ACL', 'REPORT',
  'MKACTIVITY', 'CHECKOUT', 'MERGE', 'M-SEARCH', 'NOTIFY', 'SUBSCRIBE', 'UNSUBSCRIBE', 'PATCH', 'PURGE', 'MKCALENDAR', 'LINK', 'UNLINK', 'SOURCE', 'QUERY'];
const wrong = (code, text) => Object.assign(new Error(`Parse Error: ${text}`), { code });
const SKIP_BODY = 1, UPGRADE = 2;

class HTTPParser {
  #parser;
  #isRequest = true;
  #isOver = false;
  #hasBegun = false;
  initialize(type) {
    this.#isRequest = type === HTTPParser.REQUEST;
    this.#isOver = false;
    this.#parser = new Parser({
      head: (first, raw) => this.#head(first, raw),
      body: (bytes) => { this[HTTPParser.kOnBody]?.(Buffer.from(bytes)); },
      end: (trailers) => {
        if (trailers.length) this[HTTPParser.kOnHeaders]?.(trailers.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]), '');
        this.#hasBegun = false;
        this[HTTPParser.kOnMessageComplete]?.();
      },
    });
  }
  #begin() {
    if (!this.#hasBegun) this[HTTPParser.kOnMessageBegin]?.();
    this.#hasBegun = true;
  }
  #head(first, raw) {
    const request = /^(\S+) (\S+) HTTP\/1\.(\d)$/.exec(first), response = /^HTTP\/1\.(\d) (\d{3})(?: (.*))?$/.exec(first);
    if (this.#isRequest && !methods.includes(first.split(' ')[0])) throw wrong('HPE_INVALID_METHOD', 'Invalid method encountered');
    if (this.#isRequest ? !request : !response) throw wrong('HPE_INVALID_CONSTANT', 'Expected HTTP/');
    const minor = Number(this.#isRequest ? request[3] : response[1]), status = this.#isRequest ? undefined : Number(response[2]), headers = {};
    for (let i = 0; i < raw.length; i += 2) headers[raw[i].toLowerCase()] = raw[i + 1];
    const method = this.#isRequest ? methods.indexOf(request[1]) : undefined, said = String(headers.connection ?? '').toLowerCase();
    const measure = measureOf(headers), upgrade = this.#isRequest ? request[1] === 'CONNECT' || (said.includes('upgrade') && 'upgrade' in headers) : status === 101;
    const keepsAlive = (minor === 0 ? said.includes('keep-alive') : !said.includes('close')) && (this.#isRequest || measure !== null || status < 200 || status === 204 || status === 304);
    this.#begin();
    const answer = this[HTTPParser.kOnHeadersComplete]?.(1, minor, raw, method, this.#isRequest ? request[2] : undefined, status, this.#isRequest ? undefined : response[3] ?? '', upgrade, keepsAlive);
    if (answer === UPGRADE) {
      this.#isOver = true;
      this[HTTPParser.kOnMessageComplete]?.();
      return 'over';
    }
    if (this.#isRequest) return measure ?? 0;
    return answer === SKIP_BODY || status < 200 || status === 204 || status === 304 ? 0 : measure ?? 'rest';
  }
  // How many bytes were taken, or what is wrong with them.
  execute(bytes, offset = 0, length = bytes.length - offset) {
    try {
      if (length > 0 && this.#parser.between) this.#begin();
      if (!this.#isOver) this.#parser.feed(Buffer.from(bytes.subarray(offset, offset + length)));
      return this.#isOver ? length - this.#parser.size : length;
    } catch (error) {
      if (!error.code?.startsWith('HPE_')) throw error;
      return Object.assign(error, { bytesParsed: 0, reason: error.message.replace(/^Parse Error: /, '') });
    }
  }
  finish() {
    if (!this.#parser.finish()) return wrong('HPE_INVALID_EOF_STATE', 'Invalid EOF state');
    return undefined;
  }
  close() {}
  free() {}
  remove() {}
  pause() {}
  resume() {}
  consume() {}
  unconsume() {}
  getCurrentBuffer() { return Buffer.alloc(0); }
}
Object.assign(HTTPParser, { REQUEST: 1, RESPONSE: 2, kOnMessageBegin: 0, kOnHeaders: 1, kOnHeadersComplete: 2, kOnBody: 3, kOnMessageComplete: 4, kOnExecute: 5, kOnTimeout: 6, kLenientNone: 0, kLenientHeaders: 1,
  kLenientChunkedLength: 2, kLenientKeepAlive: 4, kLenientAll: 255 });

module.exports = { HTTPParser, methods, CRLF: '\r\n', chunkExpression: /(?:^|\W)chunked(?:$|\W)/i, continueExpression: /(?:^|\W)100-continue(?:$|\W)/i,
  _checkIsHttpToken: (text) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text), _checkInvalidHeaderChar: (text) => /[^\t\x20-\x7e\x80-\xff]/.test(text) };
