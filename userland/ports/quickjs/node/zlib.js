// zlib: gzip, deflate, Brotli and their opposites, at once and as streams.
const { native, types } = internal;
const { Transform } = require('stream');

const constants = { Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1,
  Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15,
  Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384, Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1,
  Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1 };
// Brotli's operations, parameters and failures, by the numbers of its library.
const brotli = { OPERATION_PROCESS: 0, OPERATION_FLUSH: 1, OPERATION_FINISH: 2, OPERATION_EMIT_METADATA: 3, PARAM_MODE: 0, MODE_GENERIC: 0, MODE_TEXT: 1, MODE_FONT: 2, DEFAULT_MODE: 0,
  PARAM_QUALITY: 1, MIN_QUALITY: 0, MAX_QUALITY: 11, DEFAULT_QUALITY: 11, PARAM_LGWIN: 2, MIN_WINDOW_BITS: 10, MAX_WINDOW_BITS: 24, LARGE_MAX_WINDOW_BITS: 30, DEFAULT_WINDOW: 22, PARAM_LGBLOCK: 3,
  MIN_INPUT_BLOCK_BITS: 16, MAX_INPUT_BLOCK_BITS: 24, PARAM_DISABLE_LITERAL_CONTEXT_MODELING: 4, PARAM_SIZE_HINT: 5, PARAM_LARGE_WINDOW: 6, PARAM_NPOSTFIX: 7, PARAM_NDIRECT: 8, DECODER_RESULT_ERROR: 0,
  DECODER_RESULT_SUCCESS: 1, DECODER_RESULT_NEEDS_MORE_INPUT: 2, DECODER_RESULT_NEEDS_MORE_OUTPUT: 3, DECODER_PARAM_DISABLE_RING_BUFFER_REALLOCATION: 0, DECODER_PARAM_LARGE_WINDOW: 1, DECODER_NO_ERROR: 0,
  DECODER_SUCCESS: 1, DECODER_NEEDS_MORE_INPUT: 2, DECODER_NEEDS_MORE_OUTPUT: 3, DECODER_ERROR_FORMAT_EXUBERANT_NIBBLE: -1, DECODER_ERROR_FORMAT_RESERVED: -2, DECODER_ERROR_FORMAT_EXUBERANT_META_NIBBLE: -3,
  DECODER_ERROR_FORMAT_SIMPLE_HUFFMAN_ALPHABET: -4, DECODER_ERROR_FORMAT_SIMPLE_HUFFMAN_SAME: -5, DECODER_ERROR_FORMAT_CL_SPACE: -6, DECODER_ERROR_FORMAT_HUFFMAN_SPACE: -7,
  DECODER_ERROR_FORMAT_CONTEXT_MAP_REPEAT: -8, DECODER_ERROR_FORMAT_BLOCK_LENGTH_1: -9, DECODER_ERROR_FORMAT_BLOCK_LENGTH_2: -10, DECODER_ERROR_FORMAT_TRANSFORM: -11, DECODER_ERROR_FORMAT_DICTIONARY: -12,
  DECODER_ERROR_FORMAT_WINDOW_BITS: -13, DECODER_ERROR_FORMAT_PADDING_1: -14, DECODER_ERROR_FORMAT_PADDING_2: -15, DECODER_ERROR_FORMAT_DISTANCE: -16, DECODER_ERROR_DICTIONARY_NOT_SET: -19,
  DECODER_ERROR_INVALID_ARGUMENTS: -20, DECODER_ERROR_ALLOC_CONTEXT_MODES: -21, DECODER_ERROR_ALLOC_TREE_GROUPS: -22, DECODER_ERROR_ALLOC_CONTEXT_MAP: -25, DECODER_ERROR_ALLOC_RING_BUFFER_1: -26,
  DECODER_ERROR_ALLOC_RING_BUFFER_2: -27, DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES: -30, DECODER_ERROR_UNREACHABLE: -31 };
for (const [name, value] of Object.entries(brotli)) constants[`BROTLI_${name}`] = value;
Object.assign(constants, { DEFLATE: 1, INFLATE: 2, GZIP: 3, GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7, BROTLI_DECODE: 8, BROTLI_ENCODE: 9 });
const names = Object.fromEntries(['Z_OK', 'Z_STREAM_END', 'Z_NEED_DICT', 'Z_ERRNO', 'Z_STREAM_ERROR', 'Z_DATA_ERROR', 'Z_MEM_ERROR', 'Z_BUF_ERROR', 'Z_VERSION_ERROR'].map((name) => [constants[name], name]));

const problem = (status, text) => Object.assign(new Error(text), { errno: status, code: names[status] });
const bytesOf = (data) => {
  if (typeof data === 'string') return Buffer.from(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (types.isArrayBuffer(data)) return new Uint8Array(data);
  throw Object.assign(new TypeError(`The "buffer" argument must be of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer. Received ${data === null || data === undefined ? data : typeof data === 'object' ? `an instance of ${data.constructor?.name}` : `type ${typeof data} (${require('util').inspect(data)})`}`), { code: 'ERR_INVALID_ARG_TYPE' });
};
function number(options, name, least, most, otherwise) {
  const value = options?.[name];
  if (value === undefined || Number.isNaN(value)) return otherwise;
  if (typeof value !== 'number') throw Object.assign(new TypeError(`The "options.${name}" property must be of type number. Received type ${typeof value}`), { code: 'ERR_INVALID_ARG_TYPE' });
  if (value < least || value > most) throw Object.assign(new RangeError(`The value of "options.${name}" is out of range. It must be >= ${least} and <= ${most}. Received ${value}`), { code: 'ERR_OUT_OF_RANGE' });
  return value;
}

// How the window of each is written: with a gzip header, as zlib's own, or bare.
const kinds = { Gzip: [0, 16], Gunzip: [1, 16], Deflate: [0, 0], Inflate: [1, 0], DeflateRaw: [0, 'raw'], InflateRaw: [1, 'raw'], Unzip: [1, 32] };

// One stream: what goes in comes out changed.
class Packer {
  #stream;
  #done = false;
  #between = false;  // a member has ended, and nothing of a next one has come
  constructor(kind, options) {
    const [unpacks, header] = kinds[kind];
    this.unpacks = Boolean(unpacks);
    this.kind = kind;
    this.members = kind === 'Gunzip';
    const window = number(options, 'windowBits', unpacks ? 0 : 8, 15, 15);
    if (options?.dictionary !== undefined) throw Object.assign(new Error('Dictionaries are not in this zlib'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
    this.#stream = native.zlibOpen(unpacks, number(options, 'level', -1, 9, -1), header === 'raw' ? -Math.max(window, 9) : window + header, number(options, 'memLevel', 1, 9, 8), number(options, 'strategy', 0, 4, 0));
    if (typeof this.#stream === 'number') throw problem(this.#stream, 'Init error');
    this.most = number(options, 'maxOutputLength', 1, Infinity, 2 ** 31 - 1);
    this.size = 0;
  }
  take(bytes, flush) {
    const out = [];
    if (this.kind === 'Unzip' && this.size === 0 && bytes[0] === 0x1f) this.members = true;
    for (let at = 0; !this.#done;) {
      if (this.#between) {
        if (at === bytes.length) break;
        // Another member follows; zeros are padding.
        this.#done = !this.members || bytes[at] === 0;
        if (this.#done) break;
        native.zlibReset(this.#stream);
        this.#between = false;
      }
      const [status, taken, made] = native.zlibStep(this.#stream, bytes.buffer, bytes.byteOffset + at, bytes.length - at, flush, this.most - this.size);
      at += taken;
      this.size += made.byteLength;
      if (this.size > this.most) throw Object.assign(new RangeError(`Cannot create a Buffer larger than ${this.most} bytes`), { code: 'ERR_BUFFER_TOO_LARGE' });
      if (made.byteLength) out.push(Buffer.from(made));
      if (status === constants.Z_STREAM_END) {
        if (this.unpacks) this.#between = true;
        else this.#done = true;
        continue;
      }
      if (status === constants.Z_NEED_DICT) throw problem(status, 'Missing dictionary');
      if (status !== constants.Z_OK && status !== constants.Z_BUF_ERROR) throw problem(status, native.zlibText(this.#stream) || names[status]);
      if (flush === constants.Z_FINISH && this.unpacks) throw problem(constants.Z_BUF_ERROR, 'unexpected end of file');
      break;
    }
    return out;
  }
  reset() {
    native.zlibReset(this.#stream);
    this.#done = this.#between = false;
    this.size = 0;
  }
  params(level, strategy) { native.zlibParams(this.#stream, level, strategy); }
  close() { native.zlibClose(this.#stream); }
}

class BrotliPacker {
  #stream;
  #done = false;
  constructor(kind, options) {
    this.unpacks = kind === 'BrotliDecompress';
    const words = [];
    for (const [key, value] of Object.entries(options?.params ?? {})) {
      const number = Number(key);
      if (!(Number.isInteger(number) && number >= 0 && number <= (this.unpacks ? 1 : 8))) throw Object.assign(new RangeError(`${key} is not a valid Brotli parameter`), { code: 'ERR_BROTLI_INVALID_PARAM' });
      if (typeof value !== 'number' && typeof value !== 'boolean')
        throw Object.assign(new TypeError(`The "options.params[key]" property must be of type number. Received type ${typeof value} (${require('util').inspect(value)})`), { code: 'ERR_INVALID_ARG_TYPE' });
      words.push(number, Number(value));
    }
    this.#stream = native.brotliOpen(this.unpacks ? 1 : 0, words);
    if (typeof this.#stream === 'number') throw Object.assign(new Error('Initialization failed'), { code: 'ERR_ZLIB_INITIALIZATION_FAILED' });
    this.most = number(options, 'maxOutputLength', 1, Infinity, 2 ** 31 - 1);
    this.size = 0;
  }
  take(bytes, flush) {
    if (this.#done || !this.#stream) return [];
    const [status, , made] = native.brotliStep(this.#stream, bytes.buffer, bytes.byteOffset, bytes.length, flush, this.most - this.size);
    this.size += made.byteLength;
    if (this.size > this.most) throw Object.assign(new RangeError(`Cannot create a Buffer larger than ${this.most} bytes`), { code: 'ERR_BUFFER_TOO_LARGE' });
    if (status < 0) throw Object.assign(new Error(this.unpacks ? 'Decompression failed' : 'Compression failed'), { errno: status, code: this.unpacks ? `ERR_${native.brotliText(status)}` : 'ERR_BROTLI_COMPRESSION_FAILED' });
    this.#done = status === 1;
    if (this.unpacks && !this.#done && flush === constants.BROTLI_OPERATION_FINISH) throw problem(constants.Z_BUF_ERROR, 'unexpected end of file');
    return made.byteLength ? [Buffer.from(made)] : [];
  }
  reset() { throw Object.assign(new Error('Brotli streams are not begun anew'), { code: 'ERR_METHOD_NOT_IMPLEMENTED' }); }
  close() { if (this.#stream) native.brotliClose(this.#stream); this.#stream = undefined; }
}
const isBrotli = (kind) => kind.startsWith('Brotli');
const packerOf = (kind, options) => (isBrotli(kind) ? new BrotliPacker(kind, options) : new Packer(kind, options));
const flushes = (kind) => (isBrotli(kind) ? { none: 0, full: 1, finish: 2 } : { none: 0, full: constants.Z_FULL_FLUSH, finish: constants.Z_FINISH });

function whole(kind, data, options) {
  const packer = packerOf(kind, options);
  try {
    return Buffer.concat(packer.take(bytesOf(data), options?.finishFlush ?? flushes(kind).finish));
  } finally {
    packer.close();
  }
}

const zlib = module.exports = { constants, codes: { ...names, ...Object.fromEntries(Object.entries(names).map(([code, name]) => [name, Number(code)])) },
  crc32: (data, before = 0) => { const bytes = bytesOf(data); return native.zlibCrc(bytes.buffer, bytes.byteOffset, bytes.length, before); } };
for (const [name, value] of Object.entries(constants)) if (name.startsWith('Z_')) zlib[name] = value;

for (const kind of [...Object.keys(kinds), 'BrotliCompress', 'BrotliDecompress']) {
  const flushing = flushes(kind);
  const Class = { [kind]: class extends Transform {
    #packer;
    #options;
    constructor(options = {}) {
      super(options);
      this.#options = options;
      this.#packer = packerOf(kind, options);
      this.bytesWritten = 0;
      // What programs take hold of that unpack without waiting: the two names are Node.js's own.
      this._handle = { close: () => this.#packer.close() };
    }
    _processChunk(chunk, flush) { return Buffer.concat(this.#packer.take(bytesOf(chunk), flush)); }
    reset() { this.#packer.reset(); }
    params(level, strategy, callback) {
      this.flush(constants.Z_SYNC_FLUSH, () => {
        this.#packer.params?.(number({ level }, 'level', -1, 9, -1), number({ strategy }, 'strategy', 0, 4, 0));
        callback?.();
      });
    }
    _transform(chunk, encoding, callback) {
      this.bytesWritten += chunk.length;
      this.#give(chunk, this.#options.flush ?? flushing.none, callback);
    }
    _flush(callback) { this.#give(Buffer.alloc(0), this.#options.finishFlush ?? flushing.finish, callback); }
    _destroy(error, callback) { this.close(); callback(error); }
    #give(bytes, flush, callback) {
      try {
        for (const piece of this.#packer.take(bytes, flush)) this.push(piece);
      } catch (error) {
        return callback(error);
      }
      callback();
    }
    flush(how, callback) {
      if (typeof how === 'function') [how, callback] = [flushing.full, how];
      this.#give(Buffer.alloc(0), how ?? flushing.full, (error) => (error ? this.destroy(error) : process.nextTick(() => callback?.())));
    }
    close(callback) {
      this.#packer?.close();
      if (callback) process.nextTick(callback);
    }
  } }[kind];
  const name = kind[0].toLowerCase() + kind.slice(1);
  zlib[kind] = new Proxy(Class, { apply: (target, self, args) => new target(...args) });
  zlib[`create${kind}`] = (options) => new Class(options);
  zlib[`${name}Sync`] = (data, options) => whole(kind, data, options);
  zlib[name] = (data, options, callback) => {
    if (typeof options === 'function') [options, callback] = [{}, options];
    const bytes = bytesOf(data);
    let result, error = null;
    try { result = whole(kind, bytes, options); } catch (caught) { error = caught; }
    setImmediate(() => (error ? callback(error) : callback(null, result)));
  };
}
// Of zstd there is the name alone, which packages take hold of where they start.
for (const kind of ['ZstdCompress', 'ZstdDecompress']) {
  const refuse = () => { throw Object.assign(new Error('zstd is not in this node: the program zstd has it'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' }); };
  zlib[`create${kind}`] = function () { refuse(); };
  for (const name of ['', 'Sync']) zlib[`${kind[0].toLowerCase()}${kind.slice(1)}${name}`] = function () { refuse(); };
}
