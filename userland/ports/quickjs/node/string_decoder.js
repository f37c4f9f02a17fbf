// string_decoder: text from bytes that come in pieces.

// How many bytes of these end at the end of a UTF-8 character.
function completeLength(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte >= 0xc0) {
      const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return wanted > back ? bytes.length - back : bytes.length;
    }
    if (byte < 0x80) break;
  }
  return bytes.length;
}

class StringDecoder {
  _rest = Buffer.alloc(0);
  constructor(encoding = 'utf8') { this.encoding = String(encoding).toLowerCase().replace('-', ''); }
  write(chunk) {
    if (typeof chunk === 'string') return chunk;
    const bytes = this._rest.length ? Buffer.concat([this._rest, chunk]) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const unit = { utf16le: 2, ucs2: 2, base64: 3, base64url: 3 }[this.encoding];
    const whole = this.encoding === 'utf8' ? completeLength(bytes) : unit ? bytes.length - bytes.length % unit : bytes.length;
    this._rest = Buffer.from(bytes.subarray(whole));
    return bytes.toString(this.encoding, 0, whole);
  }
  end(chunk) {
    const text = (chunk ? this.write(chunk) : '') + (this._rest.length ? this._rest.toString(this.encoding) : '');
    this._rest = Buffer.alloc(0);
    return text;
  }
}
// Old programs call the constructor as a function on objects of their own.
const callable = new Proxy(StringDecoder, { apply(target, self, args) { Object.defineProperties(self, Object.getOwnPropertyDescriptors(new target(...args))); } });
module.exports = { StringDecoder: callable, completeLength };
