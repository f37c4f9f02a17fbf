// Patterns of paths: fs.glob and its like, and path.matchesGlob. Names that begin with a dot are found where the pattern says the dot.
const fs = require('fs');
const path = require('path');
const { coded, isFunction, received, wrongType } = require('checks');

const GLOBSTAR = Symbol('**');

// {a,b} and {1..3}, also within each other, as the patterns that they stand for.
function expanded(pattern) {
  for (let open = 0; (open = pattern.indexOf('{', open)) >= 0; open++) {
    if (pattern[open - 1] === '\\') continue;
    let depth = 0, from = open + 1;
    const parts = [];
    for (let at = open; at < pattern.length; at++) {
      if (pattern[at] === '\\') at++;
      else if (pattern[at] === '{') depth++;
      else if (pattern[at] === ',' && depth === 1) parts.push(pattern.slice(from, (from = at + 1) - 1));
      else if (pattern[at] === '}' && --depth === 0) {
        parts.push(pattern.slice(from, at));
        const list = parts.length > 1 ? parts : range(parts[0]);
        if (!list) break;
        const [head, tail] = [pattern.slice(0, open), pattern.slice(at + 1)];
        return list.flatMap((part) => expanded(head + part + tail));
      }
    }
  }
  return [pattern];
}
function range(text) {
  const numbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/.exec(text), letters = /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d+))?$/.exec(text);
  if (!numbers && !letters) return null;
  const [, first, last, given] = numbers ?? letters;
  const number = (word) => (numbers ? Number(word) : word.charCodeAt(0)), width = numbers && /^-?0\d/.test(`${first} ${last}`) ? Math.max(first.length, last.length) : 0;
  const [from, to] = [number(first), number(last)], step = Math.max(Math.abs(Number(given ?? 1)), 1), count = Math.floor(Math.abs(to - from) / step) + 1;
  if (count > 10000) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The range of the pattern is too long');
  return Array.from({ length: count }, (_, i) => from + (from <= to ? i : -i) * step).map((one) => (numbers ? String(one).padStart(width, '0') : String.fromCharCode(one)));
}

const classes = { alpha: '\\p{L}', digit: '\\p{Nd}', alnum: '\\p{L}\\p{Nd}', lower: '\\p{Ll}', upper: '\\p{Lu}', space: '\\s', punct: '\\p{P}', xdigit: '0-9A-Fa-f', word: '\\p{L}\\p{Nd}_', blank: ' \\t', cntrl: '\\p{Cc}' };
const escaped = (char) => char.replace(/[\\^$.*+?()[\]{}|/-]/u, '\\$&');
// A class of characters that begins at `at`: [its expression, where it ends], or null where there is none.
function classAt(text, at) {
  let out = '', i = at + 1;
  const negated = text[i] === '!' || text[i] === '^';
  if (negated) i++;
  for (const first = i; i < text.length && (text[i] !== ']' || i === first); i++) {
    const named = /^\[:(\w+):\]/.exec(text.slice(i));
    if (named && classes[named[1]]) [out, i] = [out + classes[named[1]], i + named[0].length - 1];
    else if (text[i] === '-' && i > first && text[i + 1] !== ']') out += '-';
    else out += escaped(text[i] === '\\' && i + 1 < text.length ? text[++i] : text[i]);
  }
  return i < text.length ? [`[${negated ? '^' : ''}${out}]`, i + 1] : null;
}
// Where the parenthesis closes that opens at `open`, or -1.
function closingOf(text, open) {
  for (let at = open, depth = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return at;
  }
  return -1;
}
function alternatives(text) {
  const parts = [''];
  for (let at = 0, depth = 0; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')') depth--;
    if (text[at] === '|' && depth === 0) parts.push('');
    else parts[parts.length - 1] += text[at] === '\\' ? text[at] + (text[++at] ?? '') : text[at];
  }
  return parts.map((part) => expression(part)).join('|');
}
// The regular expression of one name's pattern.
function expression(text) {
  let out = '';
  for (let at = 0; at < text.length;) {
    const char = text[at], close = '?*+@!'.includes(char) && text[at + 1] === '(' ? closingOf(text, at + 1) : -1;
    if (close > 0) {
      const inner = alternatives(text.slice(at + 2, close));
      if (char === '!') {
        const rest = expression(text.slice(close + 1));
        return `${out}(?!(?:${inner})${rest}$)[^/]*?${rest}`;
      }
      out += `(?:${inner})${char === '@' ? '' : char}`;
      at = close + 1;
    } else if (char === '*') {
      while (text[at] === '*') at++;
      out += '[^/]*?';
    } else if (char === '[' && classAt(text, at)) {
      const [found, end] = classAt(text, at);
      [out, at] = [out + found, end];
    } else {
      if (char === '\\' && at + 1 < text.length) at++;
      const whole = String.fromCodePoint(text.codePointAt(at));
      out += char === '?' ? '[^/]' : escaped(whole);
      at += whole.length;
    }
  }
  return out;
}
// One name of a pattern: a text, GLOBSTAR, or a function that says whether a name fits.
function nameOf(segment) {
  if (segment === '**') return GLOBSTAR;
  if (!/[*?[\\]|[+@!]\(/.test(segment)) return segment;
  const fits = new RegExp(`^(?:${expression(segment)})$`, 'us'), dotted = /^(?:\\?\.|[?*+@!]\(\.)/.test(segment);
  return (name) => (dotted || name[0] !== '.') && fits.test(name);
}
// The patterns of a text: { absolute, names, folders alone }.
const cut = (pattern) => expanded(pattern).map((one) => ({
  absolute: one.startsWith('/'), names: one.split('/').filter((name) => name !== '' && name !== '.').map(nameOf), folders: one.length > 1 && one.endsWith('/') }));

function fitsFrom(parts, names, p = 0, n = 0) {
  if (n === names.length) return p === parts.length;
  if (names[n] === GLOBSTAR) {
    for (let at = p; at <= parts.length; at++) {
      if (fitsFrom(parts, names, at, n + 1)) return true;
      if (parts[at]?.[0] === '.') return false;
    }
    return false;
  }
  return p < parts.length && (typeof names[n] === 'string' ? names[n] === parts[p] : names[n](parts[p])) && fitsFrom(parts, names, p + 1, n + 1);
}
function matches(text, pattern, separator = '/') {
  if (typeof text !== 'string') throw wrongType('path', 'string', text);
  if (typeof pattern !== 'string') throw wrongType('pattern', 'string', pattern);
  if (separator === '\\') text = text.replaceAll('\\', '/');
  const parts = [];
  for (const part of text.split('/').filter((part) => part !== '')) {
    if (part === '..' && parts.length && !['.', '..'].includes(parts.at(-1))) parts.pop();
    else parts.push(part);
  }
  const dot = (one) => one.split('/').includes('.');
  return expanded(pattern).some((one) => (!dot(one) || parts.includes('.')) && cut(one).some(({ absolute, names }) => absolute === text.startsWith('/') && fitsFrom(parts, names)));
}

function excluding(exclude) {
  if (exclude === undefined || exclude === null) return { leaves: () => false };
  if (typeof exclude === 'function') return { leaves: (entry, where, typed) => Boolean(exclude(typed ? entry : entry.name)) };
  if (!Array.isArray(exclude)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "options.exclude" property must be of type function or string[].${received(exclude)}`);
  exclude.forEach((one, i) => { if (typeof one !== 'string') throw wrongType(`options.exclude[${i}]`, 'string', one); });
  const patterns = exclude.flatMap(cut);
  // What is in it is left out with a folder: `folder/**` is the folder too.
  return { leaves: (entry, where) => patterns.some(({ names }) => fitsFrom(where.split('/'), names) || (names.at(-1) === GLOBSTAR && fitsFrom(where.split('/'), names.slice(0, -1)))) };
}

function checked(pattern, options) {
  if (Array.isArray(pattern)) pattern.forEach((one, i) => { if (typeof one !== 'string') throw wrongType(`patterns[${i}]`, 'string', one); });
  else if (typeof pattern !== 'string') throw wrongType('patterns', 'string', pattern);
  if (options === null || typeof options !== 'object') throw wrongType('options', 'object', options);
  const cwd = options.cwd instanceof URL ? require('url').fileURLToPath(options.cwd) : path.resolve(options.cwd ?? '.');
  return { patterns: [pattern].flat().flatMap(cut), cwd, typed: Boolean(options.withFileTypes), exclude: excluding(options.exclude) };
}

// Goes through what the patterns lead to; each path comes once.
function* found(pattern, options = {}) {
  const { patterns, cwd, typed, exclude } = checked(pattern, options);
  const told = new Set(), folders = new Map();
  const whole = (where) => (where.startsWith('/') ? where : path.join(cwd, where));
  const statusOf = (where, follows) => (follows ? fs.statSync : fs.lstatSync)(whole(where), { throwIfNoEntry: false });
  const isFolder = (where, follows = true) => { try { return Boolean(statusOf(where, follows)?.isDirectory()); } catch { return false; } };
  const exists = (where) => { try { return statusOf(where, false) !== undefined; } catch { return false; } };
  const entriesOf = (where) => {
    if (!folders.has(where)) {
      let entries = [];
      try { entries = fs.readdirSync(whole(where) || '/', { withFileTypes: true }); } catch { /* nothing is found in what cannot be read */ }
      folders.set(where, entries.filter((entry) => !exclude.leaves(told_as(entry, where), path.join(where, entry.name), typed)));
    }
    return folders.get(where);
  };
  const told_as = (entry, where) => Object.assign(entry, { parentPath: where || '.', path: where || '.' });
  const entryOf = (where) => {
    const folder = path.dirname(where), name = path.basename(where);
    return fs.readdirSync(whole(folder), { withFileTypes: true }).filter((entry) => entry.name === name).map((entry) => told_as(entry, folder))[0];
  };
  for (const { absolute, names, folders: onlyFolders } of patterns) {
    const been = new Set();
    const tell = function* (where) {
      const shown = where || '.';
      if (told.has(shown) || (onlyFolders && !isFolder(where, false))) return;
      told.add(shown);
      if (!typed) yield shown;
      else if (where && where !== '/') { const entry = entryOf(where); if (entry) yield entry; }
    };
    const walk = function* (where, n) {
      if (been.has(`${n} ${where}`)) return;
      been.add(`${n} ${where}`);
      const name = names[n], last = n === names.length - 1;
      if (n === names.length) return void (yield* tell(where));
      if (typeof name === 'string') {
        const next = path.join(where, name);
        const at = next === '.' ? '' : next;
        if (at && exclude.leaves({ name: at }, at, false) && !typed) return;
        if (last ? exists(at) : isFolder(at)) yield* walk(at, n + 1);
        return;
      }
      if (name === GLOBSTAR) {
        if (isFolder(where)) yield* walk(where, n + 1);
        for (const entry of entriesOf(where)) {
          if (entry.name[0] === '.') continue;
          const next = path.join(where, entry.name);
          if (entry.isDirectory()) yield* walk(next, n);
          else if (last) yield* tell(next);
        }
        return;
      }
      for (const entry of entriesOf(where)) {
        if (!name(entry.name)) continue;
        const next = path.join(where, entry.name);
        if (last || entry.isDirectory() || (entry.isSymbolicLink() && isFolder(next))) yield* walk(next, n + 1);
      }
    };
    if (names.length || absolute) yield* walk(absolute ? '/' : '', 0);
  }
}

module.exports = {
  matches,
  globSync: (pattern, options) => [...found(pattern, options)],
  glob(pattern, options, callback) {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    isFunction(callback, 'cb');
    (async () => [...found(pattern, options)])().then((list) => process.nextTick(callback, null, list), (error) => process.nextTick(callback, error));
  },
  async *promised(pattern, options) { yield* found(pattern, options); },
};
