// querystring: the part of an address behind the question mark.
const escape = (text) => encodeURIComponent(text);
const unescape = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
const primitive = (value) => (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value)) ? String(value) : '');

function parse(text, separator = '&', equals = '=', options = {}) {
  const out = Object.create(null);
  const decode = options.decodeURIComponent ?? unescape;
  for (const pair of String(text ?? '').split(separator).slice(0, options.maxKeys || 1000)) {
    if (pair === '') continue;
    const at = pair.indexOf(equals);
    const [key, value] = (at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + equals.length)]).map((part) => decode(part.replaceAll('+', ' ')));
    if (key in out) out[key] = [out[key], value].flat();
    else out[key] = value;
  }
  return out;
}
const stringify = (object, separator = '&', equals = '=') => Object.entries(object ?? {})
  .flatMap(([key, value]) => [value].flat().map((item) => `${escape(key)}${equals}${escape(primitive(item))}`)).join(separator);
module.exports = { parse, stringify, escape, unescape, decode: parse, encode: stringify };
