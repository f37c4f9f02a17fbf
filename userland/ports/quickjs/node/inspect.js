// util.inspect and util.format: values as Node.js shows them.
const { std, types } = internal;

const colors = { reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24] };
const hues = ['Black', 'Red', 'Green', 'Yellow', 'Blue', 'Magenta', 'Cyan', 'White'];
hues.forEach((hue, i) => { colors[hue.toLowerCase()] = [30 + i, 39]; });
hues.forEach((hue, i) => { colors[`bg${hue}`] = [40 + i, 49]; });
Object.assign(colors, { framed: [51, 54], overlined: [53, 55], gray: [90, 39] });
hues.slice(1).forEach((hue, i) => { colors[`${hue.toLowerCase()}Bright`] = [91 + i, 39]; });
colors.bgGray = [100, 49];
hues.slice(1).forEach((hue, i) => { colors[`bg${hue}Bright`] = [101 + i, 49]; });
for (const [name, others] of Object.entries({ gray: ['grey', 'blackBright'], bgGray: ['bgGrey', 'bgBlackBright'], dim: ['faint'], strikethrough: ['crossedout', 'strikeThrough', 'crossedOut'], hidden: ['conceal'],
  inverse: ['swapColors', 'swapcolors'], doubleunderline: ['doubleUnderline'] }))
  for (const other of others) Object.defineProperty(colors, other, { get: () => colors[name], set(value) { colors[name] = value; }, enumerable: false, configurable: true });
const styles = { special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold', string: 'green',
  symbol: 'green', date: 'magenta', regexp: 'red', module: 'underline' };
const custom = Symbol.for('nodejs.util.inspect.custom');
const defaults = { showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100, maxStringLength: 10000,
  breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false };

const plain = (text) => text.replace(/\x1b\[[0-9;]*m/g, '');
function stringWidth(text) {
  let width = 0;
  for (const char of plain(String(text)).normalize('NFC')) {
    const code = char.codePointAt(0);
    if (code < 32 || (code >= 0x7f && code < 0xa0) || /\p{Mn}|\p{Me}|\p{Cf}/u.test(char)) continue;
    width += (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd) ? 2 : 1;
  }
  return width;
}

const escapes = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '\\': '\\\\' };
function quote(text) {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') && !text.includes('${') ? '`' : "'";
  const inner = text.replace(/[\x00-\x1f\x7f-\x9f\\]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (char) => {
    if (char in escapes) return escapes[char];
    const code = char.charCodeAt(0);
    return code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return mark + (mark === "'" ? inner.replaceAll("'", "\\'") : inner) + mark;
}

const paint = (ctx, text, kind) => {
  const style = ctx.colors && styles[kind];
  return style ? `\x1b[${colors[style][0]}m${text}\x1b[${colors[style][1]}m` : text;
};

function showNumber(value) { return Object.is(value, -0) ? '-0' : String(value); }

function showPrimitive(ctx, value, inside) {
  switch (typeof value) {
    case 'string': {
      let text = value, more = '';
      if (text.length > ctx.maxStringLength) {
        const left = text.length - ctx.maxStringLength;
        text = text.slice(0, ctx.maxStringLength);
        more = `... ${left} more character${left > 1 ? 's' : ''}`;
      }
      // A long text with lines is shown a line each.
      if (inside && text.length > 16 && text.length > ctx.breakLength - ctx.indent - 4 && text.includes('\n'))
        return text.split(/(?<=\n)/).map((line) => paint(ctx, quote(line), 'string')).join(` +\n${' '.repeat(ctx.indent + 2)}`) + more;
      return paint(ctx, quote(text), 'string') + more;
    }
    case 'number': return paint(ctx, showNumber(value), 'number');
    case 'bigint': return paint(ctx, `${value}n`, 'bigint');
    case 'boolean': return paint(ctx, String(value), 'boolean');
    case 'undefined': return paint(ctx, 'undefined', 'undefined');
    case 'symbol': return paint(ctx, value.toString(), 'symbol');
  }
  return paint(ctx, 'null', 'null');
}

const isIdentifier = (name) => /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(name);

// The name of what made the object; null for objects without a prototype.
function constructorName(value) {
  for (let object = value; object; object = Object.getPrototypeOf(object)) {
    const descriptor = Object.getOwnPropertyDescriptor(object, 'constructor');
    if (descriptor && typeof descriptor.value === 'function' && descriptor.value.name !== '' && value instanceof descriptor.value) return descriptor.value.name;
  }
  return null;
}

function prefixOf(name, kind, tag, size) {
  const shown = name === null ? `[${kind}${size}: null prototype] ` : `${name}${size} `;
  return tag && tag !== name ? `${shown}[${tag}] ` : shown;
}

function keysOf(ctx, value) {
  const keys = ctx.showHidden ? Object.getOwnPropertyNames(value) : Object.keys(value);
  const symbols = Object.getOwnPropertySymbols(value).filter((s) => ctx.showHidden || Object.prototype.propertyIsEnumerable.call(value, s));
  return [...keys, ...symbols];
}

function showProperty(ctx, value, key, level, inArray) {
  const descriptor = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
  let text;
  let separator = ' ';
  if ('value' in descriptor) {
    const extra = ctx.compact !== true || inArray ? 2 : 3;
    ctx.indent += extra;
    text = show(ctx, descriptor.value, level, true);
    ctx.indent -= extra;
  } else if (descriptor.get) {
    text = paint(ctx, descriptor.set ? '[Getter/Setter]' : '[Getter]', 'special');
  } else {
    text = descriptor.set ? paint(ctx, '[Setter]', 'special') : paint(ctx, 'undefined', 'undefined');
  }
  if (inArray) return text;
  let name;
  if (typeof key === 'symbol') name = `[${paint(ctx, key.toString(), 'symbol')}]`;
  else if (key === '__proto__') name = "['__proto__']";
  else if (descriptor.enumerable === false) name = `[${key}]`;
  else name = isIdentifier(key) ? key : paint(ctx, quote(key), 'string');
  return `${name}:${separator}${text}`;
}

function more(count) { return `... ${count} more item${count > 1 ? 's' : ''}`; }

function arrayItems(ctx, value, level) {
  const output = [];
  let holes = 0;
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  const flush = () => {
    if (holes) output.push(paint(ctx, `<${holes} empty item${holes > 1 ? 's' : ''}>`, 'undefined'));
    holes = 0;
  };
  let i = 0;
  for (; i < value.length && output.length < limit; i++) {
    if (!Object.hasOwn(value, i)) { holes++; continue; }
    flush();
    if (output.length >= limit) break;
    output.push(showProperty(ctx, value, i, level, true));
  }
  flush();
  if (i < value.length) output.push(more(value.length - i));
  return output;
}

function typedItems(ctx, value) {
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  const output = Array.from(value.subarray(0, limit), (item) => showPrimitive(ctx, item));
  if (value.length > limit) output.push(more(value.length - limit));
  return output;
}

function listItems(ctx, values, level) {
  const output = [];
  ctx.indent += 2;
  for (const item of values) {
    if (output.length >= ctx.maxArrayLength) { output.push(more([...values].length - output.length)); break; }
    output.push(show(ctx, item, level, true));
  }
  ctx.indent -= 2;
  return output;
}

function mapItems(ctx, value, level) {
  const output = [];
  ctx.indent += 2;
  for (const [key, item] of value) {
    if (output.length >= ctx.maxArrayLength) { output.push(more(value.size - output.length)); break; }
    output.push(`${show(ctx, key, level, true)} => ${show(ctx, item, level, true)}`);
  }
  ctx.indent -= 2;
  return output;
}

function functionBase(value, name, tag) {
  const source = Function.prototype.toString.call(value);
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (source.startsWith('class') && source.endsWith('}')) {
    const parent = Object.getPrototypeOf(value)?.name;
    return `[class ${value.name || '(anonymous)'}${name !== 'Function' && name !== null ? ` [${name}]` : ''}${parent ? ` extends ${parent}` : ''}]`;
  }
  let base = `[${kind.endsWith('Function') ? kind : 'Function'}`;
  if (name === null) base += ' (null prototype)';
  base += value.name === '' ? ' (anonymous)]' : `: ${value.name}]`;
  if (tag && tag !== name) base += ` [${tag}]`;
  return base;
}

// The head and the frames of an error, as Node.js writes the stack.
function errorBase(ctx, error, keys) {
  const name = error.name ?? 'Error', message = String(error.message ?? '');
  const head = message ? `${name}: ${message}` : String(name);
  const raw = typeof error.stack === 'string' ? error.stack : '';
  let stack;
  if (raw.startsWith(head)) {
    stack = raw.trimEnd();
  } else {
    const frames = raw.split('\n').filter((line) => /^\s+at /.test(line) && !line.includes('/usr/lib/node/'));
    stack = [head, ...frames].join('\n');
  }
  const frames = stack.split('\n').filter((line) => !(/^\s+at /.test(line) && (line.includes(internal.root) || /\(native\)/.test(line) || /<eval>/.test(line))));
  stack = frames.join('\n');
  if (constructorName(error) && name === 'Error' && constructorName(error) !== 'Error' && !stack.includes(constructorName(error)))
    stack = stack.replace(/^Error/, constructorName(error));
  if (internal.ownErrors.has(error) && typeof error.code === 'string' && error.code.startsWith('ERR_') && stack.startsWith(name) && /^(?:: |$|\n)/.test(stack.slice(name.length)))
    stack = `${name} [${error.code}]${stack.slice(name.length)}`;
  for (const key of ['stack', 'message', 'name']) {
    const at = keys.indexOf(key);
    if (at >= 0 && stack.includes(String(error[key]))) keys.splice(at, 1);
  }
  if ('cause' in error && !keys.includes('cause')) keys.push('cause');
  if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');
  if (!/\n\s+at /.test(stack)) stack = `[${stack}]`;
  return ctx.indent ? stack.replaceAll('\n', `\n${' '.repeat(ctx.indent)}`) : stack;
}

function boxedBase(ctx, value, name, tag, keys) {
  const primitive = value.valueOf();
  const kind = { number: 'Number', string: 'String', boolean: 'Boolean', bigint: 'BigInt', symbol: 'Symbol' }[typeof primitive];
  if (kind === 'String') keys.splice(0, value.length);
  let base = `[${kind}`;
  if (kind !== name) base += name === null ? ' (null prototype)' : ` (${name})`;
  return `${base}: ${showPrimitive({ ...ctx, colors: false }, primitive)}]${tag && tag !== name ? ` [${tag}]` : ''}`;
}

// Short items of a long array in columns.
function inColumns(ctx, output, value) {
  const count = output.length - (ctx.maxArrayLength < value.length || output.at(-1).startsWith('... ') ? 1 : 0);
  const lengths = output.slice(0, count).map((item) => (ctx.colors ? plain(item) : item).length);
  const total = lengths.reduce((sum, length) => sum + length + 2, 0);
  const longest = Math.max(...lengths);
  const cell = longest + 2;
  if (!(cell * 3 + ctx.indent < ctx.breakLength && (total / cell > 5 || longest <= 6))) return output;
  const bias = Math.max(cell - 3 - Math.sqrt(cell - total / output.length), 1);
  const columns = Math.min(Math.round(Math.sqrt(2.5 * bias * count) / bias), Math.floor((ctx.breakLength - ctx.indent) / cell), ctx.compact * 4, 15);
  if (columns <= 1) return output;
  const widths = Array.from({ length: columns }, (_, column) => {
    let width = 0;
    for (let i = column; i < count; i += columns) width = Math.max(width, lengths[i]);
    return width + 2;
  });
  const numbers = value.every((item) => typeof item === 'number' || typeof item === 'bigint');
  const rows = [];
  for (let i = 0; i < count; i += columns) {
    const end = Math.min(i + columns, count);
    let row = '';
    for (let j = i; j < end; j++) {
      const hidden = output[j].length - lengths[j];
      const last = j === end - 1;
      if (numbers) row += `${output[j]}${last ? '' : ', '}`.padStart(widths[j - i] + hidden - (last ? 2 : 0));
      else row += last ? output[j] : `${output[j]}, `.padEnd(widths[j - i] + hidden);
    }
    rows.push(row);
  }
  return count < output.length ? [...rows, output[count]] : rows;
}

function assemble(ctx, output, base, braces, level, isArray, value) {
  const head = base ? `${base} ` : '';
  const entries = output.length;
  if (isArray && entries > 6 && ctx.compact >= 1) output = inColumns(ctx, output, value);
  if (ctx.deepest - level < ctx.compact && entries === output.length) {
    const start = output.length + ctx.indent + braces[0].length + base.length + 10;
    const length = output.reduce((sum, item) => sum + (ctx.colors ? plain(item) : item).length, output.length + start);
    if (length <= ctx.breakLength && !base.includes('\n')) {
      const joined = output.join(', ');
      if (!joined.includes('\n')) return `${head}${braces[0]} ${joined} ${braces[1]}`;
    }
  }
  const newline = `\n${' '.repeat(ctx.indent)}`;
  return `${head}${braces[0]}${newline}  ${output.join(`,${newline}  `)}${newline}${braces[1]}`;
}

function show(ctx, value, level, inside) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return showPrimitive(ctx, value, inside);
  // Of a proxy its target is shown, and no trap of it is called.
  const self = value, parts = internal.native.proxyParts(value);
  if (parts) {
    if (parts[0] === null) return paint(ctx, '<Revoked Proxy>', 'special');
    if (ctx.showProxy) return showProxy(ctx, parts, level);
    do [value] = internal.native.proxyParts(value);
    while (internal.native.isProxy(value));
    if (value === null) return paint(ctx, '<Revoked Proxy>', 'special');
  }
  const own = value[custom];
  if (ctx.customInspect && typeof own === 'function' && own !== inspect && !(value.constructor && value.constructor.prototype === value)) {
    const depth = ctx.depth === null ? null : ctx.depth - level;
    const result = own.call(self, depth, { ...ctx.options, ...ctx, depth, stylize: (text, kind) => paint(ctx, text, kind) }, inspect);
    if (result !== self) return typeof result === 'object' ? show(ctx, result, level, inside) : String(result).replaceAll('\n', `\n${' '.repeat(ctx.indent)}`);
  }
  if (ctx.seen.includes(value)) {
    if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
    return paint(ctx, `[Circular *${ctx.circular.get(value)}]`, 'special');
  }
  return showObject(ctx, value, level);
}

function showProxy(ctx, parts, level) {
  if (level > ctx.depth && ctx.depth !== null) return paint(ctx, 'Proxy [Array]', 'special');
  ctx.indent += 2;
  const output = parts.map((part) => show(ctx, part, level + 1, true));
  ctx.indent -= 2;
  return assemble(ctx, output, '', ['Proxy [', ']'], level, true, parts);
}

function showObject(ctx, value, level) {
  const name = constructorName(value);
  let tag = value[Symbol.toStringTag];
  if (typeof tag !== 'string' || tag === '' || tag === name) tag = '';
  let keys = keysOf(ctx, value);
  let base = '', braces = ['{', '}'], items = () => [], isArray = false;
  const deep = () => level > ctx.depth && ctx.depth !== null;
  if (Array.isArray(value)) {
    keys = keys.filter((key) => typeof key === 'symbol' || !/^(0|[1-9]\d*)$/.test(key));
    const prefix = name !== 'Array' || tag ? prefixOf(name, 'Array', tag, `(${value.length})`) : '';
    braces = [`${prefix}[`, ']'];
    if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
    isArray = true;
    items = () => arrayItems(ctx, value, level + 1);
  } else if (types.isTypedArray(value)) {
    keys = keys.filter((key) => typeof key === 'symbol' || !/^(0|[1-9]\d*)$/.test(key));
    braces = [`${prefixOf(name, 'TypedArray', tag === name ? '' : '', `(${value.length})`)}[`, ']'];
    if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
    isArray = true;
    items = () => typedItems(ctx, value);
  } else if (types.isSet(value)) {
    braces[0] = `${prefixOf(name, 'Set', tag, `(${value.size})`)}{`;
    if (value.size === 0 && keys.length === 0) return `${braces[0]}}`;
    items = () => listItems(ctx, value, level + 1);
  } else if (types.isMap(value)) {
    braces[0] = `${prefixOf(name, 'Map', tag, `(${value.size})`)}{`;
    if (value.size === 0 && keys.length === 0) return `${braces[0]}}`;
    items = () => mapItems(ctx, value, level + 1);
  } else if (typeof value === 'function') {
    base = functionBase(value, name, tag);
    if (keys.length === 0) return paint(ctx, base, 'special');
  } else if (types.isRegExp(value)) {
    base = RegExp.prototype.toString.call(value);
    if (name !== 'RegExp') base = `${prefixOf(name, 'RegExp', tag, '')}${base}`;
    if (keys.length === 0) return paint(ctx, base, 'regexp');
  } else if (types.isDate(value)) {
    base = Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (name !== 'Date') base = `${prefixOf(name, 'Date', tag, '')}${base}`;
    if (keys.length === 0) return paint(ctx, base, 'date');
  } else if (internal.isError(value)) {
    base = errorBase(ctx, value, keys);
    if (keys.length === 0) return base;
  } else if (types.isBoxedPrimitive(value)) {
    base = boxedBase(ctx, value, name, tag, keys);
    if (keys.length === 0) return base;
  } else if (types.isAnyArrayBuffer(value)) {
    const bytes = new Uint8Array(value);
    const shown = Array.from(bytes.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    braces[0] = `${prefixOf(name, 'ArrayBuffer', tag === name ? '' : '', '')}{`;
    items = () => [`[Uint8Contents]: <${shown}${bytes.length > 50 ? ` ... ${bytes.length - 50} more byte${bytes.length > 51 ? 's' : ''}` : ''}>`, `byteLength: ${showPrimitive(ctx, bytes.length)}`];
  } else if (types.isDataView(value)) {
    braces[0] = `${prefixOf(name, 'DataView', tag === name ? '' : tag, '')}{`;
    items = () => ['byteLength', 'byteOffset', 'buffer'].map((key) => `${key}: ${show(ctx, value[key], level + 1, true)}`);
  } else if (types.isPromise(value)) {
    braces[0] = `${prefixOf(name, 'Promise', tag, '')}{`;
    items = () => {
      const { state, result } = promiseState(value);
      if (state === 'pending') return [paint(ctx, '<pending>', 'special')];
      ctx.indent += 2;
      const text = show(ctx, result, level + 1, true);
      ctx.indent -= 2;
      return [state === 'rejected' ? `${paint(ctx, '<rejected>', 'special')} ${text}` : text];
    };
  } else if (types.isWeakSet(value) || types.isWeakMap(value)) {
    braces[0] = `${prefixOf(name, types.isWeakSet(value) ? 'WeakSet' : 'WeakMap', tag, '')}{`;
    items = () => [paint(ctx, '<items unknown>', 'special')];
  } else if (value[Symbol.toStringTag] === 'Module') {
    braces[0] = '[Module: null prototype] {';
  } else if (Object.prototype.toString.call(value) === '[object Arguments]') {
    braces[0] = '[Arguments] {';
  } else if (name === 'Object' && !tag) {
    if (keys.length === 0) return '{}';
  } else {
    const kind = Object.prototype.toString.call(value).slice(8, -1);
    braces[0] = `${prefixOf(name, 'Object', tag || (kind.endsWith('Iterator') || kind === 'Generator' ? kind : ''), '')}{`;
    if (keys.length === 0) return `${braces[0]}}`;
  }
  if (deep()) return paint(ctx, `[${isArray && name === 'Array' ? 'Array' : name === null ? 'Object: null prototype' : tag && tag !== name ? `${name} [${tag}]` : name}]`, 'special');
  ctx.seen.push(value);
  ctx.deepest = level;
  let output;
  try {
    output = [...items(), ...keys.map((key) => showProperty(ctx, value, key, level + 1, false))];
  } finally {
    ctx.seen.pop();
  }
  if (ctx.circular.has(value)) {
    const reference = paint(ctx, `<ref *${ctx.circular.get(value)}>`, 'special');
    if (base === '') braces[0] = `${reference} ${braces[0]}`;
    else base = `${reference} ${base}`;
  }
  if (ctx.sorted) {
    // Elements of a list stay where they are.
    const fixed = isArray ? output.length - keys.length : 0;
    output.push(...output.splice(fixed).sort(typeof ctx.sorted === 'function' ? ctx.sorted : undefined));
  }
  if (output.length === 0) return `${base ? `${base} ` : ''}${braces[0]}${braces[1]}`;
  return assemble(ctx, output, base, braces, level, isArray, value);
}

function promiseState(promise) {
  const [state, result] = internal.native.promise(promise);
  return { state: ['pending', 'fulfilled', 'rejected'][state], result };
}

function inspect(value, options, ...old) {
  const given = typeof options === 'boolean' ? { showHidden: options, depth: old[0], colors: old[1] } : options ?? {};
  const ctx = { ...inspect.defaultOptions, ...given };
  if (given.depth === undefined) ctx.depth = inspect.defaultOptions.depth;
  for (const limit of ['maxArrayLength', 'maxStringLength']) if (ctx[limit] === null) ctx[limit] = Infinity;
  if (ctx.compact === false) ctx.compact = 0;
  else if (ctx.compact === true) ctx.compact = 1000;
  return show(Object.assign(ctx, { options: given, seen: [], circular: new Map(), indent: 0, deepest: 0 }), value, 0, false);
}
inspect.custom = custom;
inspect.colors = colors;
inspect.styles = styles;
inspect.defaultOptions = defaults;

function formatWithOptions(options, ...args) {
  const first = args[0];
  const one = (value, more = {}) => (typeof value === 'string' ? value : inspect(value, { ...options, compact: 3, colors: Boolean(options.colors), ...more }));
  if (args.length === 0) return '';
  let next = 0;
  let text = '';
  if (typeof first === 'string') {
    next = 1;
    if (args.length === 1) return first;
    text = first.replace(/%[%sdifjoOc]/g, (directive) => {
      if (directive === '%%') return '%';
      if (next >= args.length) return directive;
      const value = args[next++];
      switch (directive[1]) {
        case 's':
          if (typeof value === 'bigint') return `${value}n`;
          if (typeof value === 'number') return showNumber(value);
          if (typeof value !== 'object' || value === null) return String(value);
          if (typeof value[Symbol.toPrimitive] === 'function' && !types.isDate(value)) return String(value);
          if (typeof value.toString !== 'function' || types.isBoxedPrimitive(value)) return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
          if (Object.hasOwn(value, 'toString') || (value.toString !== Object.prototype.toString && value.toString !== Error.prototype.toString &&
              !Array.isArray(value) && !/^(Object|Map|Set|Date)$/.test(constructorName(value) ?? ''))) return String(value);
          return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
        case 'd': return typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : showNumber(Number(value));
        case 'i': return typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : showNumber(Number.parseInt(value, 10));
        case 'f': return typeof value === 'symbol' ? 'NaN' : showNumber(Number.parseFloat(value));
        case 'j':
          try {
            return JSON.stringify(value) ?? 'undefined';
          } catch (error) {
            if (/circular/i.test(error.message)) return '[Circular]';
            throw error;
          }
        case 'o': return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
        case 'O': return inspect(value, { ...options });
        default: return '';
      }
    });
  }
  const rest = args.slice(next).map((value) => one(value));
  return [...(next > 0 ? [text] : []), ...rest].join(' ');
}

Object.assign(exports, { inspect, formatWithOptions, stringWidth, isProxy: (value) => internal.native.isProxy(value), format: (...args) => formatWithOptions({}, ...args) });
