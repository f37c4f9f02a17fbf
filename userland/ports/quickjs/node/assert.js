// assert: exceptions for what does not hold.
const { types } = internal;
const { inspect, isDeepEqual } = require('util');

class AssertionError extends Error {
  constructor(options) {
    super(options.message ?? describe(options));
    this.name = 'AssertionError';
    this.code = 'ERR_ASSERTION';
    this.generatedMessage = options.message === undefined;
    this.actual = options.actual;
    this.expected = options.expected;
    this.operator = options.operator;
  }
}
Object.defineProperty(AssertionError.prototype, 'name', { value: 'AssertionError', writable: true, configurable: true, enumerable: false });

const intros = { deepStrictEqual: 'Expected values to be strictly deep-equal:', strictEqual: 'Expected values to be strictly equal:', deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:', notStrictEqual: 'Expected "actual" to be strictly unequal to:', notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:' };
function describe({ actual, expected, operator }) {
  const whole = { depth: 1000, sorted: true, compact: typeof actual !== 'object' && typeof expected !== 'object' ? 3 : false, breakLength: Infinity };
  const a = inspect(actual, whole), b = inspect(expected, whole);
  if (operator === 'fail') return 'Failed';
  if (operator === '==' || operator === '!=') return `${a} ${operator} ${b}`;
  if (operator.startsWith('not')) return a.includes('\n') ? `${intros[operator]}\n\n${a}\n` : `${intros[operator]} ${a}`;
  if (operator === 'deepEqual') return `${intros[operator]}\n\n${a}\n\nshould loosely deep-equal\n\n${b}`;
  if (!a.includes('\n') && !b.includes('\n') && (typeof actual !== 'object' || actual === null) && (typeof expected !== 'object' || expected === null) && a.length + b.length <= 76)
    return `${intros[operator]}\n\n${a} !== ${b}\n`;
  if (a === b) return `Values have same structure but are not reference-equal:\n\n${a}\n`;
  return `${intros[operator]}\n+ actual - expected\n\n${difference(a.split('\n'), b.split('\n'))}`;
}
// The longest common lines are kept, the others marked.
function difference(allOfA, allOfB) {
  // What is the same at both ends needs no search.
  let before = 0, after = 0;
  const least = Math.min(allOfA.length, allOfB.length);
  while (before < least && allOfA[before] === allOfB[before]) before++;
  while (after < least - before && allOfA[allOfA.length - 1 - after] === allOfB[allOfB.length - 1 - after]) after++;
  const a = allOfA.slice(before, allOfA.length - after), b = allOfB.slice(before, allOfB.length - after);
  const same = (lines) => lines.map((line) => `  ${line}`);
  if (a.length * b.length > 1e7) return [...same(allOfA.slice(0, before)), ...a.map((line) => `+ ${line}`), ...b.map((line) => `- ${line}`), ...same(after ? allOfA.slice(-after) : [])].join('\n');
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push(`  ${a[i]}`); i++; j++; }
    else if (i < a.length && (j >= b.length || table[i + 1][j] >= table[i][j + 1])) lines.push(`+ ${a[i++]}`);
    else lines.push(`- ${b[j++]}`);
  }
  return [...same(allOfA.slice(0, before)), ...lines, ...same(after ? allOfA.slice(-after) : [])].join('\n');
}

function fail(actual, expected, message, operator) {
  if (internal.isError(message)) throw message;
  throw new AssertionError({ actual, expected, message, operator });
}
function truthy(value, message, count) {
  if (value) return;
  if (count === 0) message = 'No value argument passed to `assert.ok()`';
  fail(value, true, message ?? `The expression evaluated to a falsy value${callText()}`, '==');
}

// The text of the call, where it stands in one line.
function callText() {
  const place = /(\/[^()\s]*):(\d+):\d+\)?$/m.exec(new Error().stack);
  const line = place && internal.std.loadFile(place[1])?.split('\n')[place[2] - 1];
  const calls = line ? [...line.matchAll(/\bassert(?:\.\w+)?\(/g)] : [];
  if (calls.length !== 1) return '';
  let depth = 0;
  for (let i = calls[0].index; i < line.length; i++) {
    if (line[i] === '(') depth++;
    if (line[i] === ')' && --depth === 0) return `:\n\n  ${line.slice(calls[0].index, i + 1)}\n`;
  }
  return '';
}

const assert = module.exports = function ok(...args) { truthy(args[0], args[1], args.length); };
const compare = (operator, holds) => (actual, expected, message) => { if (!holds(actual, expected)) fail(actual, expected, message, operator); };

function matches(error, expected, message) {
  if (expected === undefined) return;
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) throw error;
    if (expected.call({}, error) === true) return;
    fail(error, expected, message ?? 'The validation function is expected to return "true". Received false', 'throws');
  }
  if (types.isRegExp(expected)) {
    if (expected.test(String(error))) return;
    fail(error, expected, message ?? `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error))}\n`, 'throws');
  }
  for (const key of new Set([...Object.keys(expected), ...(internal.isError(expected) ? ['name', 'message'] : [])])) {
    if (types.isRegExp(expected[key]) && typeof error[key] === 'string' ? expected[key].test(error[key]) : isDeepEqual(error[key], expected[key], true)) continue;
    if (message !== undefined) fail(error, expected, message, 'throws');
    // Only what was asked for is shown, of both.
    class Comparison {
      constructor(from) { for (const name of Object.keys(expected)) if (name in from) this[name] = types.isRegExp(expected[name]) && typeof from[name] === 'string' && expected[name].test(from[name]) ? expected[name] : from[name]; }
    }
    const shown = new AssertionError({ actual: new Comparison(error), expected: new Comparison(expected), operator: 'deepStrictEqual' });
    throw Object.assign(shown, { actual: error, expected, operator: 'throws' });
  }
}
const split = (expected, message) => (typeof expected === 'string' ? [undefined, expected] : [expected, message]);

Object.assign(assert, {
  AssertionError, ok: assert,
  equal: compare('==', (a, b) => a == b || (a !== a && b !== b)), notEqual: compare('!=', (a, b) => !(a == b || (a !== a && b !== b))),
  strictEqual: compare('strictEqual', Object.is), notStrictEqual: compare('notStrictEqual', (a, b) => !Object.is(a, b)),
  deepEqual: compare('deepEqual', (a, b) => isDeepEqual(a, b, false)), notDeepEqual: compare('notDeepEqual', (a, b) => !isDeepEqual(a, b, false)),
  deepStrictEqual: compare('deepStrictEqual', (a, b) => isDeepEqual(a, b, true)), notDeepStrictEqual: compare('notDeepStrictEqual', (a, b) => !isDeepEqual(a, b, true)),
  fail(message = 'Failed') { if (internal.isError(message)) throw message; throw new AssertionError({ message, operator: 'fail' }); },
  ifError(value) { if (value !== null && value !== undefined) throw Object.assign(new AssertionError({ message: `ifError got unwanted exception: ${value?.message ?? inspect(value)}`, actual: value, expected: null, operator: 'ifError' })); },
  match: (text, pattern, message) => { if (!pattern.test(text)) fail(text, pattern, message ?? `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`, 'match'); },
  doesNotMatch: (text, pattern, message) => { if (pattern.test(text)) fail(text, pattern, message ?? `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`, 'doesNotMatch'); },
  throws(fn, given, text) {
    const [expected, message] = split(given, text);
    let error;
    try {
      fn();
    } catch (caught) {
      return matches(caught, expected, message);
    }
    fail(error, expected, `Missing expected exception${expected?.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`, 'throws');
  },
  doesNotThrow(fn, message) {
    try { fn(); } catch (error) { fail(error, undefined, `Got unwanted exception${typeof message === 'string' ? `: ${message}` : '.'}\nActual message: "${error?.message}"`, 'doesNotThrow'); }
  },
  async rejects(what, given, text) {
    const [expected, message] = split(given, text);
    try {
      await (typeof what === 'function' ? what() : what);
    } catch (caught) {
      return matches(caught, expected, message);
    }
    fail(undefined, expected, `Missing expected rejection${expected?.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`, 'rejects');
  },
  async doesNotReject(what) {
    try { await (typeof what === 'function' ? what() : what); } catch (error) { fail(error, undefined, `Got unwanted rejection.\nActual message: "${error?.message}"`, 'doesNotReject'); }
  },
});
assert.strict = Object.assign((...args) => truthy(args[0], args[1], args.length), assert, { equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual });
assert.strict.strict = assert.strict;
