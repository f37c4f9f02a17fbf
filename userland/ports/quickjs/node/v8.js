// v8: what programs ask of the engine: its memory, and values as bytes in the form that V8 writes them in.
const { native, types } = internal;
require('util');

const memory = () => { const used = native.memoryOwn(), whole = native.memoryTotal(); return { used, whole }; };

// --- Values as bytes: version 15 of V8's form. ---

const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, DataView, BigInt64Array, BigUint64Array];
const letters = 'bBCwWdDfF?qQ';
const errorLetters = { EvalError: 'E', RangeError: 'R', ReferenceError: 'F', SyntaxError: 'S', TypeError: 'T', URIError: 'U' };
const refused = (value) => internal.refusedClone(value);

class Serializer {
  #bytes = new Uint8Array(256);
  #size = 0;
  #seen = new Map();
  #room(more) {
    if (this.#size + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#size + more));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
  #byte(value) { this.#room(1); this.#bytes[this.#size++] = value; }
  #tag(letter) { this.#byte(letter.charCodeAt(0)); }
  writeHeader() { this.#byte(0xff); this.#byte(15); }
  writeUint32(value) {
    for (value >>>= 0; value > 127; value >>>= 7) this.#byte(value & 127 | 128);
    this.#byte(value);
  }
  writeUint64(high, low) { this.#wide(BigInt(high) << 32n | BigInt(low >>> 0)); }
  #wide(value) {
    for (; value > 127n; value >>= 7n) this.#byte(Number(value & 127n) | 128);
    this.#byte(Number(value));
  }
  writeDouble(value) { this.writeRawBytes(new Uint8Array(Float64Array.of(value).buffer)); }
  writeRawBytes(data) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }
  #text(text) {
    const wide = /[^\x00-\xff]/.test(text);
    // Letters of two bytes lie at an even place.
    if (wide) {
      const length = 2 * text.length;
      let prefix = 1;
      for (let n = length; n > 127; n >>>= 7) prefix++;
      if ((this.#size + 1 + prefix) % 2) this.#byte(0);
    }
    this.#tag(wide ? 'c' : '"');
    this.writeUint32(wide ? 2 * text.length : text.length);
    this.writeRawBytes(Buffer.from(text, wide ? 'utf16le' : 'latin1'));
  }
  #bigint(value) {
    const negative = value < 0n, words = [];
    for (let rest = negative ? -value : value; rest > 0n; rest >>= 64n) words.push(rest & 0xffffffffffffffffn);
    this.writeUint32(words.length * 8 * 2 | (negative ? 1 : 0));
    this.writeRawBytes(BigUint64Array.from(words));
  }
  writeValue(value) {
    this.#value(value);
    return true;
  }
  #value(value) {
    switch (typeof value) {
      case 'undefined': return this.#tag('_');
      case 'boolean': return this.#tag(value ? 'T' : 'F');
      case 'string': return this.#text(value);
      case 'bigint': this.#tag('Z'); return this.#bigint(value);
      case 'number':
        if (Number.isInteger(value) && !Object.is(value, -0) && Math.abs(value) < 2 ** 30) {
          this.#tag('I');
          return this.writeUint32(value << 1 ^ value >> 31);
        }
        this.#tag('N');
        return this.writeDouble(value);
      case 'symbol': case 'function': throw this._getDataCloneError?.(`${String(value)} could not be cloned.`) ?? refused(value);
    }
    if (value === null) return this.#tag('0');
    if (this.#seen.has(value)) {
      this.#tag('^');
      return this.writeUint32(this.#seen.get(value));
    }
    if (ArrayBuffer.isView(value) && !this._writeHostObject && !this.#seen.has(value.buffer)) this.#object(value.buffer);
    if (!this.#seen.has(value)) this.#object(value);
  }
  #object(value) {
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (this._isHostObject?.(value)) {
      this.#seen.set(value, this.#seen.size);
      this.#byte(92);
      return this._writeHostObject(value);
    }
    this.#seen.set(value, this.#seen.size);
    if (internal.cannotBeCloned(value) || types.isSymbolObject(value)) throw refused(value);
    if (Array.isArray(value)) return this.#array(value);
    if (types.isDate(value)) { this.#tag('D'); return this.writeDouble(value.getTime()); }
    if (types.isRegExp(value)) {
      this.#tag('R');
      this.#text(value.source);
      return this.writeUint32([...value.flags].reduce((bits, flag) => bits | 1 << 'gimyusdv'.indexOf(flag), 0));
    }
    if (types.isMap(value)) {
      this.#tag(';');
      for (const [key, item] of [...value]) { this.#value(key); this.#value(item); }
      this.#tag(':');
      return this.writeUint32(value.size * 2);
    }
    if (types.isSet(value)) {
      this.#tag("'");
      for (const item of [...value]) this.#value(item);
      this.#tag(',');
      return this.writeUint32(value.size);
    }
    if (types.isArrayBuffer(value)) {
      this.#tag('B');
      this.writeUint32(value.byteLength);
      return this.writeRawBytes(new Uint8Array(value));
    }
    if (internal.isError(value)) return this.#error(value);
    if (types.isNumberObject(value)) { this.#tag('n'); return this.writeDouble(value.valueOf()); }
    if (types.isBooleanObject(value)) return this.#tag(value.valueOf() ? 'y' : 'x');
    if (types.isBigIntObject(value)) { this.#tag('z'); return this.#bigint(value.valueOf()); }
    if (types.isStringObject(value)) { this.#tag('s'); return this.#text(value.valueOf()); }
    this.#tag('o');
    const keys = Object.keys(value);
    this.#members(value, keys);
    this.#tag('{');
    this.writeUint32(keys.length);
  }
  #members(value, keys) {
    for (const key of keys) {
      this.#value(/^(?:0|[1-9]\d{0,8})$/.test(key) ? Number(key) : key);
      this.#value(value[key]);
    }
  }
  #array(value) {
    const { length } = value, dense = Array.from({ length }, (_, i) => i).every((i) => Object.hasOwn(value, i));
    const others = Object.keys(value).filter((key) => !dense || !/^(?:0|[1-9]\d*)$/.test(key));
    this.#tag(dense ? 'A' : 'a');
    this.writeUint32(length);
    if (dense) for (let i = 0; i < length; i++) this.#value(value[i]);
    this.#members(value, others);
    this.#tag(dense ? '$' : '@');
    this.writeUint32(others.length);
    this.writeUint32(length);
  }
  #view(value) {
    if (this._writeHostObject) {
      this.#seen.set(value, this.#seen.size);
      this.#byte(92);
      return this._writeHostObject(value);
    }
    this.#seen.set(value, this.#seen.size);
    const at = types.isUint8Array(value) ? 1 : kinds.findIndex((Kind) => value instanceof Kind);
    this.#tag('V');
    this.#tag(letters[at]);
    this.writeUint32(value.byteOffset);
    this.writeUint32(value.byteLength);
    this.writeUint32(0);
  }
  #error(value) {
    this.#tag('r');
    const letter = errorLetters[value.name];
    if (letter) this.#tag(letter);
    const message = Object.getOwnPropertyDescriptor(value, 'message');
    if (message && 'value' in message) { this.#tag('m'); this.#text(String(message.value)); }
    if (Object.hasOwn(value, 'cause')) { this.#tag('c'); this.#value(value.cause); }
    if (typeof value.stack === 'string') { this.#tag('s'); this.#text(value.stack); }
    this.#tag('.');
  }
  releaseBuffer() {
    const made = Buffer.from(this.#bytes.buffer, 0, this.#size);
    this.#bytes = new Uint8Array(0);
    this.#size = 0;
    return made;
  }
  transferArrayBuffer() {}
}

class Deserializer {
  #bytes;
  #at = 0;
  #seen = [];
  constructor(buffer) {
    if (!ArrayBuffer.isView(buffer)) throw Object.assign(new TypeError('buffer must be a TypedArray or a DataView'), { code: 'ERR_INVALID_ARG_TYPE' });
    this.buffer = buffer;
    this.#bytes = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  }
  #bad() { return new Error('Unable to deserialize cloned data.'); }
  #byte() {
    if (this.#at >= this.#bytes.length) throw this.#bad();
    return this.#bytes[this.#at++];
  }
  readHeader() {
    if (this.#byte() !== 0xff) throw this.#bad();
    this.version = this.#byte();
    if (this.version > 15 || this.version < 13) throw new Error('Unable to deserialize cloned data due to invalid or unsupported version.');
    return true;
  }
  getWireFormatVersion() { return this.version; }
  readUint32() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }
  readUint64() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return [Number(value >> 32n & 0xffffffffn), Number(value & 0xffffffffn)];
    }
  }
  #raw(size) {
    if (size > this.#bytes.length - this.#at) throw this.#bad();
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
  readRawBytes(size) { return this.#raw(size); }
  _readRawBytes(size) { this.#raw(size); return this.#at - size; }
  readDouble() { return this.#raw(8).readDoubleLE(0); }
  #bigint() {
    const head = this.readUint32(), bytes = this.#raw(head >> 1);
    let value = 0n;
    for (let i = bytes.length - 1; i >= 0; i--) value = value << 8n | BigInt(bytes[i]);
    return head & 1 ? -value : value;
  }
  #keep(value) { this.#seen.push(value); return value; }
  #text() {
    const value = this.#value();
    if (typeof value !== 'string') throw this.#bad();
    return value;
  }
  readValue() { return this.#value(); }
  #value() {
    let letter;
    do letter = this.#byte();
    while (letter === 0);
    letter = String.fromCharCode(letter);
    switch (letter) {
      case '_': return undefined;
      case '0': return null;
      case 'T': return true;
      case 'F': return false;
      case 'I': { const n = this.readUint32(); return n >>> 1 ^ -(n & 1); }
      case 'U': return this.readUint32();
      case 'N': return this.readDouble();
      case 'Z': return this.#bigint();
      case '"': return this.#raw(this.readUint32()).toString('latin1');
      case 'c': return this.#raw(this.readUint32()).toString('utf16le');
      case 'S': return this.#raw(this.readUint32()).toString('utf8');
      case '^': {
        const id = this.readUint32();
        if (id >= this.#seen.length) throw this.#bad();
        return this.#seen[id];
      }
      case '?': this.readUint32(); return this.#value();
      case 'D': return this.#keep(new Date(this.readDouble()));
      case 'n': return this.#keep(Object(this.readDouble()));
      case 'y': return this.#keep(Object(true));
      case 'x': return this.#keep(Object(false));
      case 'z': return this.#keep(Object(this.#bigint()));
      case 's': { const at = this.#seen.push(null) - 1; return this.#seen[at] = Object(this.#text()); }
      case 'R': {
        const at = this.#seen.push(null) - 1, source = this.#text(), bits = this.readUint32();
        return this.#seen[at] = new RegExp(source, [...'gimyusdv'].filter((_, i) => bits >> i & 1).join(''));
      }
      case 'o': return this.#members(this.#keep({}), '{');
      case 'A': {
        const array = this.#keep([]), { length } = { length: this.readUint32() };
        if (length > this.#bytes.length - this.#at) throw this.#bad();
        for (let i = 0; i < length; i++) array[i] = this.#value();
        this.#members(array, '$');
        this.readUint32();
        return array;
      }
      case 'a': {
        const array = this.#keep([]);
        array.length = this.readUint32();
        this.#members(array, '@');
        this.readUint32();
        return array;
      }
      case ';': {
        const map = this.#keep(new Map());
        while (!this.#ends(':')) { const key = this.#value(); map.set(key, this.#value()); }
        this.readUint32();
        return map;
      }
      case "'": {
        const set = this.#keep(new Set());
        while (!this.#ends(',')) set.add(this.#value());
        this.readUint32();
        return set;
      }
      case 'B': {
        const buffer = this.#keep(Uint8Array.from(this.#raw(this.readUint32())).buffer);
        return this.#bytes[this.#at] === 86 ? this.#view(buffer) : buffer;
      }
      case 'r': return this.#error();
      case '\\': {
        if (!this._readHostObject) throw this.#bad();
        const at = this.#seen.push(null) - 1;
        return this.#seen[at] = this._readHostObject();
      }
    }
    throw this.#bad();
  }
  #ends(letter) {
    if (this.#bytes[this.#at] !== letter.charCodeAt(0)) return false;
    this.#at++;
    return true;
  }
  #members(object, end) {
    while (!this.#ends(end)) {
      const key = this.#value();
      if (typeof key !== 'string' && typeof key !== 'number') throw this.#bad();
      Object.defineProperty(object, key, { value: this.#value(), writable: true, enumerable: true, configurable: true });
    }
    this.readUint32();
    return object;
  }
  // A view lies behind its buffer.
  #view(buffer) {
    this.#byte();
    const Kind = kinds[letters.indexOf(String.fromCharCode(this.#byte()))], offset = this.readUint32(), size = this.readUint32();
    if (this.version >= 14) this.readUint32();
    if (!Kind || offset + size > buffer.byteLength) throw this.#bad();
    return this.#keep(new Kind(buffer, offset, size / (Kind.BYTES_PER_ELEMENT ?? 1)));
  }
  #error() {
    const at = this.#seen.push(null) - 1;
    let Kind = Error, message, stack, cause;
    for (;;) {
      const letter = String.fromCharCode(this.#byte());
      const named = Object.entries(errorLetters).find(([, one]) => one === letter);
      if (named) Kind = globalThis[named[0]];
      else if (letter === 'm') message = this.#text();
      else if (letter === 's') stack = this.#text();
      else if (letter === 'c') cause = { cause: this.#value() };
      else if (letter === '.') break;
      else throw this.#bad();
    }
    const error = this.#seen[at] = new Kind(message, cause);
    Object.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true });
    return error;
  }
}

// Buffers and other views go as they are in Node.js: their kind, their size, their bytes.
const hostKinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, DataView, Buffer, BigInt64Array, BigUint64Array];
class DefaultSerializer extends Serializer {
  _isHostObject(value) {
    if (internal.isKeyObject?.(value) || internal.isCryptoKey?.(value)) throw new Error(`Unserializable host object: ${require('util').inspect(value)}`);
    return false;
  }
  _writeHostObject(view) {
    this.writeUint32(Buffer.isBuffer(view) ? 10 : hostKinds.findIndex((Kind, i) => i !== 10 && view instanceof Kind));
    this.writeUint32(view.byteLength);
    this.writeRawBytes(view);
  }
}
class DefaultDeserializer extends Deserializer {
  _readHostObject() {
    const kind = this.readUint32(), own = this._readKind?.(kind);
    if (own !== undefined) return own;
    const Kind = hostKinds[kind];
    if (!Kind) throw new Error('Unable to deserialize cloned data.');
    const bytes = Uint8Array.from(this.readRawBytes(this.readUint32()));
    return Kind === Buffer ? Buffer.from(bytes.buffer) : new Kind(bytes.buffer, 0, bytes.length / (Kind.BYTES_PER_ELEMENT ?? 1));
  }
}

module.exports = {
  Serializer, Deserializer, DefaultSerializer, DefaultDeserializer,
  serialize(value) { const made = new DefaultSerializer(); made.writeHeader(); made.writeValue(value); return made.releaseBuffer(); },
  deserialize(buffer) { const made = new DefaultDeserializer(buffer); made.readHeader(); return made.readValue(); },
  getHeapStatistics() {
    const { used, whole } = memory();
    return { total_heap_size: used, total_heap_size_executable: 0, total_physical_size: used, total_available_size: whole - used, used_heap_size: used, heap_size_limit: whole, malloced_memory: used,
      peak_malloced_memory: used, does_zap_garbage: 0, number_of_native_contexts: 1, number_of_detached_contexts: 0, total_global_handles_size: 0, used_global_handles_size: 0, external_memory: 0 };
  },
  getHeapSpaceStatistics: () => [], getHeapCodeStatistics: () => ({ code_and_metadata_size: 0, bytecode_and_metadata_size: 0, external_script_source_size: 0, cpu_profiler_metadata_size: 0 }),
  cachedDataVersionTag: () => 0, setFlagsFromString() {}, takeCoverage() {}, stopCoverage() {},
  startupSnapshot: { isBuildingSnapshot: () => false },
};
