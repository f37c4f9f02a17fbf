// path: POSIX paths.
const separator = '/';

function checked(path, name = 'path') {
  if (typeof path === 'string') return path;
  const shown = path === null ? 'null' : typeof path === 'object' ? `an instance of ${path.constructor?.name ?? 'Object'}` :
    path === undefined ? 'undefined' : `type ${typeof path} (${String(path)})`;
  throw Object.assign(new TypeError(`The "${name}" argument must be of type string. Received ${shown}`), { code: 'ERR_INVALID_ARG_TYPE' });
}

// Without empty, . and (where there is something to leave) .. parts.
function simplify(path, absolute) {
  const out = [];
  for (const part of path.split(separator)) {
    if (part === '' || part === '.') continue;
    if (part !== '..') out.push(part);
    else if (out.length && out[out.length - 1] !== '..') out.pop();
    else if (!absolute) out.push('..');
  }
  return out.join(separator);
}

function normalize(path) {
  if (checked(path) === '') return '.';
  const absolute = path[0] === separator;
  let result = simplify(path, absolute);
  if (result === '' && !absolute) result = '.';
  if (result !== '' && path.endsWith(separator)) result += separator;
  return absolute ? separator + result : result;
}

function join(...parts) {
  const joined = parts.map((part) => checked(part)).filter((part) => part !== '').join(separator);
  return joined === '' ? '.' : normalize(joined);
}

function resolve(...parts) {
  let path = '';
  for (let i = parts.length - 1; i >= 0 && path[0] !== separator; i--) {
    const part = checked(parts[i], `paths[${i}]`);
    if (part !== '') path = path === '' ? part : part + separator + path;
  }
  if (path[0] !== separator) path = process.cwd() + separator + path;
  return separator + simplify(path, true);
}

function relative(from, to) {
  const a = resolve(checked(from, 'from')).split(separator).filter(Boolean);
  const b = resolve(checked(to, 'to')).split(separator).filter(Boolean);
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return [...Array(a.length - same).fill('..'), ...b.slice(same)].join(separator);
}

function withoutSlashes(path) {
  let end = path.length;
  while (end > 1 && path[end - 1] === separator) end--;
  return path.slice(0, end);
}

function dirname(path) {
  if (checked(path) === '') return '.';
  const whole = withoutSlashes(path);
  const slash = whole.lastIndexOf(separator);
  if (slash < 0) return '.';
  if (slash === 0) return whole.startsWith('//') && whole.length > 1 ? '//' : separator;
  return withoutSlashes(whole.slice(0, slash));
}

function basename(path, suffix) {
  checked(path);
  if (suffix !== undefined) checked(suffix, 'suffix');
  const whole = withoutSlashes(path);
  const name = whole.slice(whole.lastIndexOf(separator) + 1);
  return suffix && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

function extname(path) {
  const name = basename(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 || name === '..' ? '' : name.slice(dot);
}

function parse(path) {
  const root = checked(path)[0] === separator ? separator : '';
  const base = basename(path), ext = extname(path);
  let dir = dirname(path);
  if (dir === '.' && !withoutSlashes(path).startsWith('.' + separator)) dir = '';
  return { root, dir: path === separator ? separator : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
}

function format(parts) {
  const dir = parts.dir || parts.root;
  const base = parts.base || `${parts.name ?? ''}${parts.ext ? (parts.ext[0] === '.' ? '' : '.') + parts.ext : ''}`;
  if (!dir) return base;
  return dir === parts.root ? dir + base : dir + separator + base;
}

const path = module.exports = { sep: separator, delimiter: ':', normalize, join, resolve, relative, dirname, basename, extname, parse, format,
  isAbsolute: (p) => checked(p)[0] === separator, toNamespacedPath: (p) => p, matchesGlob: (text, pattern) => require('fs_glob').matches(text, pattern) };
path.posix = path;

// The same on paths of Windows, for programs that handle those by name.
const drive = (p) => /^(?:[A-Za-z]:)?[\\/]?/.exec(p)[0];
const parted = (p) => { const root = drive(checked(p)); return { root, rest: p.slice(root.length).replaceAll('\\', '/') }; };
const whole = (root, rest) => root.replaceAll('/', '\\') + rest.replaceAll('/', '\\');
const win32 = { sep: '\\', delimiter: ';', matchesGlob: (text, pattern) => require('fs_glob').matches(text, pattern, '\\'), toNamespacedPath: (p) => p, isAbsolute: (p) => /^(?:[A-Za-z]:)?[\\/]/.test(checked(p)),
  normalize(p) {
    const { root, rest } = parted(p);
    let done = simplify(rest, /[\\/]$/.test(root));
    if (done !== '' && /\/$/.test(rest)) done += '/';
    return whole(root, done) || '.';
  },
  join: (...parts) => win32.normalize(parts.map((part) => checked(part)).filter((part) => part !== '').join('\\') || '.'),
  resolve(...parts) {
    let p = '';
    for (let i = parts.length - 1; i >= 0 && !win32.isAbsolute(p); i--) if (checked(parts[i], `paths[${i}]`) !== '') p = p === '' ? parts[i] : `${parts[i]}\\${p}`;
    if (!win32.isAbsolute(p)) p = `${process.cwd()}\\${p}`;
    const done = win32.normalize(p);
    return done.length > drive(done).length ? done.replace(/\\$/, '') : done;
  },
  relative: (from, to) => relative(win32.resolve(from).replaceAll('\\', '/').replace(/^[A-Za-z]:/, ''), win32.resolve(to).replaceAll('\\', '/').replace(/^[A-Za-z]:/, '')).replaceAll('/', '\\'),
  dirname(p) { const { root, rest } = parted(p); const name = dirname(rest); return whole(root, name === '.' && root ? '' : name); },
  basename: (p, suffix) => basename(parted(p).rest, suffix),
  extname: (p) => extname(parted(p).rest),
  parse(p) {
    const { root, rest } = parted(p);
    const parts = parse(rest);
    return { ...parts, root, dir: whole(root, parts.dir) };
  },
  format(parts) { const done = format({ ...parts, dir: undefined, root: undefined }); const dir = parts.dir || parts.root; return !dir ? done : dir === parts.root ? dir + done : `${dir}\\${done}`; } };
path.win32 = win32;
win32.win32 = win32;
win32.posix = path;
