// console: what is logged, in the form of util.inspect.
const { types } = internal;
const util = require('util');

class Console {
  #counts = new Map();
  #times = new Map();
  #indent = '';
  #out;
  #err;
  constructor(out = process.stdout, err = out) {
    if (out && out.stdout) ({ stdout: out, stderr: err = out } = out);
    this.#out = out;
    this.#err = err;
    for (const name of Object.getOwnPropertyNames(Console.prototype)) {
      if (name !== 'constructor') Object.defineProperty(this, name, { value: this[name].bind(this), enumerable: true, writable: true, configurable: true });
    }
  }
  #write(stream, args) {
    let text = util.formatWithOptions({ colors: Boolean(stream.isTTY) && !process.env.NO_COLOR }, ...args);
    if (this.#indent) text = this.#indent + text.replaceAll('\n', `\n${this.#indent}`);
    stream.write(`${text}\n`);
  }
  log(...args) { this.#write(this.#out, args); }
  warn(...args) { this.#write(this.#err, args); }
  dir(value, options) { this.#write(this.#out, [util.inspect(value, { customInspect: false, ...options })]); }
  trace(...args) {
    const error = new Error(util.format(...args));
    this.#write(this.#err, [`Trace: ${error.message}\n${error.stack.split('\n').slice(1).join('\n')}`]);
  }
  assert(value, ...args) {
    if (value) return;
    if (typeof args[0] === 'string') this.warn(`Assertion failed: ${args[0]}`, ...args.slice(1));
    else this.warn('Assertion failed', ...args);
  }
  clear() { if (this.#out.isTTY) this.#out.write('\x1b[1;1H\x1b[0J'); }
  count(label = 'default') {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
    this.log(`${label}: ${this.#counts.get(label)}`);
  }
  countReset(label = 'default') { this.#counts.delete(label); }
  group(...args) { if (args.length) this.log(...args); this.#indent += '  '; }
  groupEnd() { this.#indent = this.#indent.slice(2); }
  time(label = 'default') { this.#times.set(label, performance.now()); }
  timeLog(label = 'default', ...args) { if (this.#times.has(label)) this.log(`${label}: ${elapsed(performance.now() - this.#times.get(label))}`, ...args); }
  timeEnd(label = 'default') { this.timeLog(label); this.#times.delete(label); }
  table(data, columns) {
    if (data === null || typeof data !== 'object') return this.log(data);
    this.log(drawTable(data, columns));
  }
}
for (const [name, same] of [['info', 'log'], ['debug', 'log'], ['error', 'warn'], ['groupCollapsed', 'group'], ['dirxml', 'log']])
  Object.defineProperty(Console.prototype, name, { value: Console.prototype[same], writable: true, configurable: true });

function elapsed(ms) {
  if (ms >= 60000) return `${Math.floor(ms / 60000)}:${(ms % 60000 / 1000).toFixed(3).padStart(6, '0')} (m:ss.mmm)`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(3)}s`;
  return `${Number(ms.toFixed(3))}ms`;
}

function drawTable(data, columns) {
  const rows = [];
  const heads = [];
  let hasValues = false;
  const pairs = types.isMap(data) ? [...data].map(([k, v], i) => [i, { Key: k, Values: v }]) : types.isSet(data) ? [...data].map((v, i) => [i, v])
    : Object.entries(data);
  const indexName = types.isMap(data) || types.isSet(data) ? '(iteration index)' : '(index)';
  for (const [index, item] of pairs) {
    const cells = {};
    let value;
    if (item !== null && typeof item === 'object') {
      for (const key of columns ?? Object.keys(item)) {
        if (!heads.includes(key)) heads.push(key);
        if (Object.hasOwn(item, key)) cells[key] = util.inspect(item[key], { depth: 0, maxArrayLength: 3, breakLength: Infinity });
      }
    } else {
      hasValues = true;
      value = util.inspect(item);
    }
    rows.push({ index: String(index), cells, value });
  }
  const header = [indexName, ...heads, ...(hasValues ? ['Values'] : [])];
  const lines = rows.map(({ index, cells, value }) => [index, ...heads.map((head) => cells[head] ?? ''), ...(hasValues ? [value ?? ''] : [])]);
  const widths = header.map((head, i) => Math.max(util.stringWidth(head), ...lines.map((line) => util.stringWidth(line[i]))) + 2);
  const cell = (text, i) => ` ${text}${' '.repeat(widths[i] - util.stringWidth(text) - 1)}`;
  const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  const line = (cells) => `│${cells.map(cell).join('│')}│`;
  return [rule('┌', '┬', '┐'), line(header), rule('├', '┼', '┤'), ...lines.map(line), rule('└', '┴', '┘')].join('\n');
}

module.exports = new Console(process.stdout, process.stderr);
module.exports.Console = Console;
