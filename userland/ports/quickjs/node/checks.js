// What modules say of arguments that are wrong, in Node.js's words.
// Read where there is something wrong.
const inspect = (...words) => require('util').inspect(...words);

const coded = (Kind, code, message) => Object.assign(new Kind(message), { code });

function received(value) {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') return value.constructor?.name ? ` Received an instance of ${value.constructor.name}` : ` Received ${inspect(value, { depth: -1 })}`;
  const shown = inspect(value, { colors: false });
  return ` Received type ${typeof value} (${shown.length > 28 ? `${shown.slice(0, 25)}...` : shown})`;
}
const listed = (words) => (words.length < 3 ? words.join(' or ') : `${words.slice(0, -1).join(', ')}, or ${words.at(-1)}`);
const plain = ['string', 'function', 'number', 'object', 'boolean', 'bigint', 'symbol'];
// Kinds of values: those of the language first, then classes, then what is a phrase.
function wrongType(name, wanted, value) {
  const all = [wanted].flat().map((word) => (['Object', 'Function'].includes(word) ? word.toLowerCase() : word));
  const kinds = all.filter((word) => plain.includes(word)), classes = all.filter((word) => /^(?:[A-Z][a-z0-9]*\.?)+$/.test(word));
  const others = all.filter((word) => !kinds.includes(word) && !classes.includes(word));
  const parts = [];
  if (kinds.length) parts.push(`${kinds.length > 1 ? 'one of type' : 'of type'} ${listed(kinds)}`);
  if (classes.length) parts.push(`an instance of ${listed(classes)}`);
  if (others.length) parts.push(listed(others));
  return coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" ${name.includes('.') ? 'property' : 'argument'} must be ${parts.join(' or ')}.${received(value)}`);
}
function wrongValue(name, value, reason = 'is invalid') {
  const shown = inspect(value);
  return coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The ${name.includes('.') ? 'property' : 'argument'} '${name}' ${reason}. Received ${shown.length > 128 ? `${shown.slice(0, 128)}...` : shown}`);
}
function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, '_');
}
function outOfRange(name, range, value) {
  let shown = inspect(value);
  if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) shown = String(value).replace(/\d+$/, grouped);
  else if (typeof value === 'bigint') shown = value > 2n ** 32n || value < -(2n ** 32n) ? `${String(value).replace(/\d+$/, grouped)}n` : `${value}n`;
  return coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${shown}`);
}

function isString(value, name) { if (typeof value !== 'string') throw wrongType(name, 'string', value); }
function isFunction(value, name) { if (typeof value !== 'function') throw wrongType(name, 'function', value); }
function isBoolean(value, name) { if (typeof value !== 'boolean') throw wrongType(name, 'boolean', value); }
function isObject(value, name) { if (value === null || typeof value !== 'object' || Array.isArray(value)) throw wrongType(name, 'Object', value); }
function isInteger(value, name, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== 'number') throw wrongType(name, 'number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < least || value > most) throw outOfRange(name, `>= ${least} && <= ${most}`, value);
}
const isInt32 = (value, name, least = -(2 ** 31)) => isInteger(value, name, least, 2 ** 31 - 1);
const isUint32 = (value, name) => isInteger(value, name, 0, 2 ** 32 - 1);
function isOneOf(value, name, allowed) {
  if (!allowed.includes(value)) throw wrongValue(name, value, `must be one of: ${allowed.map((item) => (typeof item === 'string' ? `'${item}'` : String(item))).join(', ')}`);
}

module.exports = { coded, received, listed, wrongType, wrongValue, outOfRange, isString, isFunction, isBoolean, isObject, isInteger, isInt32, isUint32, isOneOf };
