// stream/web: the streams of the web, by web-streams-polyfill, and what lies between them and Node.js's.
const { types } = internal;
const { ReadableStream, WritableStream, TransformStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader, ReadableStreamBYOBRequest, ReadableByteStreamController, ReadableStreamDefaultController,
  WritableStreamDefaultWriter, WritableStreamDefaultController, TransformStreamDefaultController, ByteLengthQueuingStrategy, CountQueuingStrategy } = require('module').createRequire(`${internal.root}web-streams/ponyfill.js`)('./ponyfill.js');

const bytesOf = (chunk) => (types.isArrayBuffer(chunk) ? new Uint8Array(chunk) : ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : undefined);

// --- Between the two kinds ---

function readableToWeb(stream, { strategy } = {}) {
  let control;
  const objects = stream.readableObjectMode;
  stream.pause();
  stream.on('data', (chunk) => {
    control.enqueue(objects || typeof chunk === 'string' ? chunk : new Uint8Array(chunk));
    if (control.desiredSize <= 0) stream.pause();
  });
  require('stream').finished(stream, (error) => {
    try {
      if (error) control.error(error);
      else control.close();
    } catch {
      // it was closed or cancelled from there
    }
  });
  return new ReadableStream({
    start(controller) { control = controller; },
    pull() { stream.resume(); },
    cancel(reason) { stream.on('error', () => {}).destroy(internal.isError(reason) ? reason : undefined); },
  }, strategy ?? (objects ? new CountQueuingStrategy({ highWaterMark: stream.readableHighWaterMark }) : { highWaterMark: stream.readableHighWaterMark, size: (chunk) => chunk?.length ?? 1 }));
}
function readableFromWeb(web, options) {
  const { Readable } = require('stream'), reader = web.getReader();
  return new Readable({ objectMode: false, ...options,
    read() { reader.read().then(({ value, done }) => this.push(done ? null : options?.objectMode || typeof value === 'string' ? value : Buffer.from(value.buffer ?? value, value.byteOffset, value.byteLength)), (error) => this.destroy(error)); },
    destroy(error, callback) { Promise.resolve(this.readableEnded ? undefined : reader.cancel(error)).then(() => callback(error), () => callback(error)); } });
}
function writableToWeb(stream) {
  let failed;
  const left = new Promise((resolve, reject) => { failed = reject; });
  left.catch(() => {});
  stream.once('error', (error) => failed(error));
  const write = (chunk) => new Promise((resolve, reject) => { left.catch(reject); stream.write(bytesOf(chunk) ?? chunk, (error) => (error ? reject(error) : resolve())); });
  return new WritableStream({ write, close: () => new Promise((resolve, reject) => { left.catch(reject); stream.end(resolve); }), abort: (reason) => { stream.on('error', () => {}).destroy(reason); } });
}
function writableFromWeb(web, options) {
  const { Writable } = require('stream'), writer = web.getWriter();
  const told = (promise, callback) => { promise.then(() => callback(), callback); };
  return new Writable({ ...options, write: (chunk, encoding, callback) => told(writer.write(chunk), callback), final: (callback) => told(writer.close(), callback),
    destroy: (error, callback) => { told(error ? writer.abort(error) : Promise.resolve(), () => callback(error)); } });
}

// --- Streams that change what goes through ---

class Changing {
  #pair;
  constructor(transformer) { this.#pair = new TransformStream(transformer); }
  get readable() { return this.#pair.readable; }
  get writable() { return this.#pair.writable; }
}
class TextEncoderStream extends Changing {
  encoding = 'utf-8';
  constructor() {
    const encoder = new TextEncoder();
    super({ transform: (chunk, control) => { const bytes = encoder.encode(String(chunk)); if (bytes.length) control.enqueue(bytes); } });
  }
}
class TextDecoderStream extends Changing {
  constructor(encoding, options) {
    const decoder = new TextDecoder(encoding, options), give = (text, control) => { if (text) control.enqueue(text); };
    super({ transform: (chunk, control) => give(decoder.decode(chunk, { stream: true }), control), flush: (control) => give(decoder.decode(), control) });
    this.encoding = decoder.encoding;
    this.fatal = decoder.fatal;
    this.ignoreBOM = decoder.ignoreBOM;
  }
}
const packers = { gzip: ['Gzip', 'Gunzip'], deflate: ['Deflate', 'Inflate'], 'deflate-raw': ['DeflateRaw', 'InflateRaw'] };
function packing(format, which) {
  if (!(format in packers)) throw Object.assign(new TypeError(`The argument 'format' must be one of: 'deflate', 'deflate-raw', 'gzip'. Received ${require('util').inspect(format)}`), { code: 'ERR_INVALID_ARG_VALUE' });
  const stream = require('zlib')[`create${packers[format][which]}`]();
  let control;
  stream.on('data', (chunk) => control.enqueue(new Uint8Array(chunk)));
  const told = (work) => new Promise((resolve, reject) => { stream.once('error', reject); work(resolve); });
  return { start: (controller) => { control = controller; }, transform: (chunk) => told((done) => stream.write(bytesOf(chunk), done)), flush: () => told((done) => { stream.once('end', done); stream.end(); }) };
}
class CompressionStream extends Changing { constructor(format) { super(packing(format, 0)); } }
class DecompressionStream extends Changing { constructor(format) { super(packing(format, 1)); } }

module.exports = { ReadableStream, WritableStream, TransformStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader, ReadableStreamBYOBRequest, ReadableByteStreamController, ReadableStreamDefaultController,
  WritableStreamDefaultWriter, WritableStreamDefaultController, TransformStreamDefaultController, ByteLengthQueuingStrategy, CountQueuingStrategy, TextEncoderStream, TextDecoderStream, CompressionStream, DecompressionStream };
Object.defineProperty(module.exports, '__between', { value: { readableToWeb, readableFromWeb, writableToWeb, writableFromWeb }, enumerable: false });
