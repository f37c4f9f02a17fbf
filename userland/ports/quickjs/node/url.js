// url: URL and URLSearchParams by the WHATWG's rules for what programs use: special schemes, relative references, IPv4, percent-encoding.
const punycode = require('punycode');
const special = { 'http:': '80', 'https:': '443', 'ftp:': '21', 'ws:': '80', 'wss:': '443', 'file:': '' };
const invalid = (input) => Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input });

const encodeSet = (text, set) => Array.from(text.toWellFormed(), (char) => (char > '~' || char < '!' || set.includes(char) ?
  Array.from(new TextEncoder().encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('') : char)).join('');
const sets = { path: '"#<>?`{}', query: '"#<>\'', fragment: '"<>`', user: '"#<>?`{}/:;=@[\\]^|' };

// Whether a label is what its own text comes to.
function isEncoded(label) {
  try {
    const text = punycode.decode(label.slice(4));
    return /[^\0-\x7f]/.test(text) && `xn--${punycode.encode(text.normalize('NFKC').toLowerCase())}` === label;
  } catch {
    return false;
  }
}
function parseHost(text, scheme) {
  if (text.startsWith('[')) {
    if (!/^\[[0-9a-f:.]+\]$/i.test(text)) return null;
    return text.toLowerCase();
  }
  if (!(scheme in special)) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(text) ? null : encodeSet(text, '');
  let host;
  try { host = decodeURIComponent(text).toLowerCase(); } catch { return null; }
  if (host === '' || /[\0\t\n\r #%/:<>?@[\\\]^|]/.test(host)) return null;
  if (/[^\0-\x7f]/.test(host)) {
    if (!host.isWellFormed()) return null;
    host = host.normalize('NFKC').toLowerCase().replaceAll('\u3002', '.').replaceAll('\u00ad', '');
    if (/[\0\t\n\r #%/:<>?@[\\\]^|]/.test(host)) return null;
    host = host.split('.').map((label) => (/[^\0-\x7f]/.test(label) && !label.startsWith('xn--') ? `xn--${punycode.encode(label)}` : label)).join('.');
  }
  if (!host.split('.').every((label) => !label.startsWith('xn--') || isEncoded(label))) return null;
  const parts = host.replace(/\.$/, '').split('.');
  if (/^(\d+|0x[0-9a-f]*)$/.test(parts.at(-1))) {
    const numbers = parts.map((part) => (/^0x[0-9a-f]*$/.test(part) ? Number.parseInt(part.slice(2) || '0', 16) : /^0[0-7]*$/.test(part) ? Number.parseInt(part, 8) : /^\d+$/.test(part) ? Number(part) : NaN));
    if (numbers.length > 4 || numbers.some(Number.isNaN) || numbers.slice(0, -1).some((n) => n > 255) || numbers.at(-1) >= 256 ** (5 - numbers.length)) return null;
    let value = numbers.at(-1);
    numbers.slice(0, -1).forEach((n, i) => { value += n * 256 ** (3 - i); });
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  }
  return host;
}

function simplifyPath(path, scheme) {
  const out = [];
  const parts = (scheme in special ? path.replaceAll('\\', '/') : path).split('/').slice(1);
  parts.forEach((part, i) => {
    const last = i === parts.length - 1;
    const dots = part.replace(/%2e/gi, '.');
    if (dots === '..') { out.pop(); if (last) out.push(''); } else if (dots === '.') { if (last) out.push(''); } else out.push(encodeSet(part, sets.path));
  });
  return `/${out.join('/')}`;
}

function parseUrl(input, base) {
  const text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
  const [, schemeText, afterScheme] = /^([A-Za-z][A-Za-z0-9+.-]*:)?([^]*)$/.exec(text);
  let scheme = schemeText?.toLowerCase();
  let rest = afterScheme;
  const relative = !scheme || (base && scheme === base.protocol && scheme in special && !/^[/\\]{2}/.test(rest) && scheme !== 'file:');
  if (relative && !base) return null;
  const take = (mark) => { const at = rest.indexOf(mark); if (at < 0) return null; const part = rest.slice(at + 1); rest = rest.slice(0, at); return part; };
  const fragment = take('#'), query = take('?');
  scheme = relative ? base.protocol : scheme;
  const slashes = scheme in special ? /^[/\\]{2,}/ : /^\/\//;
  const url = { protocol: scheme, username: '', password: '', hostname: '', port: '', pathname: '', search: '', hash: '' };
  url.hash = fragment ? `#${encodeSet(fragment, sets.fragment)}` : '';
  url.search = query ? `?${encodeSet(query, scheme in special ? sets.query : '"#<>')}` : '';
  if (slashes.test(rest) || (!relative && scheme in special && scheme !== 'file:')) {
    rest = rest.replace(scheme === 'file:' || !(scheme in special) ? /^[/\\]{2}/ : /^[/\\]*/, '');
    const end = rest.search(scheme in special ? /[/\\]/ : /\//);
    const authority = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? '' : rest.slice(end);
    const at = authority.lastIndexOf('@');
    if (at >= 0) {
      const [user, ...password] = authority.slice(0, at).split(':');
      url.username = encodeSet(user, sets.user);
      url.password = encodeSet(password.join(':'), sets.user);
    }
    const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority.slice(at + 1)) ?? [];
    if (host === undefined || (port && !/^\d+$/.test(port)) || Number(port) > 65535) return null;
    if (host === '' && scheme in special && scheme !== 'file:') return null;
    url.hostname = host === '' ? '' : parseHost(host, scheme);
    if (url.hostname === null) return null;
    if (scheme === 'file:' && url.hostname === 'localhost') url.hostname = '';
    url.port = port && String(Number(port)) !== special[scheme] ? String(Number(port)) : '';
    url.slashes = true;
    url.pathname = rest === '' && !(scheme in special) ? '' : simplifyPath(rest === '' ? '/' : rest, scheme);
  } else if (relative) {
    Object.assign(url, { username: base.username, password: base.password, hostname: base.hostname, port: base.port, slashes: true });
    if (!base.pathname.startsWith('/') && base.pathname !== '') return rest === '' && fragment !== null ? Object.assign(url, { pathname: base.pathname, search: base.search, slashes: false }) : null;
    if (rest === '') {
      url.pathname = base.pathname;
      if (query === null) url.search = base.search;
    } else if (/^[/\\]/.test(rest)) {
      url.pathname = simplifyPath(rest, scheme);
    } else {
      url.pathname = simplifyPath(base.pathname.slice(0, base.pathname.lastIndexOf('/') + 1) + rest, scheme);
    }
  } else if (scheme === 'file:') {
    url.slashes = true;
    url.pathname = simplifyPath(/^[/\\]/.test(rest) ? rest : `/${rest}`, scheme);
  } else {
    url.pathname = rest.startsWith('/') ? simplifyPath(rest, scheme) : encodeSet(rest, '').replaceAll('%20', ' ').trimEnd();
  }
  return url;
}

class URLSearchParams {
  #pairs = [];
  #owner;
  constructor(init = '', owner) {
    this.#owner = owner;
    if (typeof init === 'string') this.#pairs = pairsOf(init.replace(/^\?/, ''));
    else if (init && typeof init[Symbol.iterator] === 'function') this.#pairs = Array.from(init, ([k, v]) => [String(k), String(v)]);
    else if (init && typeof init === 'object') this.#pairs = Object.entries(init).map(([k, v]) => [k, String(v)]);
  }
  #changed() { this.#owner?.(this.toString()); }
  append(k, v) { this.#pairs.push([String(k), String(v)]); this.#changed(); }
  delete(k, v) { this.#pairs = this.#pairs.filter(([key, value]) => key !== String(k) || (v !== undefined && value !== String(v))); this.#changed(); }
  get(k) { return this.#pairs.find(([key]) => key === String(k))?.[1] ?? null; }
  getAll(k) { return this.#pairs.filter(([key]) => key === String(k)).map(([, v]) => v); }
  has(k, v) { return this.#pairs.some(([key, value]) => key === String(k) && (v === undefined || value === String(v))); }
  set(k, v) {
    const at = this.#pairs.findIndex(([key]) => key === String(k));
    if (at < 0) return this.append(k, v);
    this.#pairs[at][1] = String(v);
    this.#pairs = this.#pairs.filter(([key], i) => i <= at || key !== String(k));
    this.#changed();
  }
  sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#changed(); }
  forEach(fn, self) { for (const [k, v] of this.#pairs) fn.call(self, v, k, this); }
  keys() { return this.#pairs.map(([k]) => k).values(); }
  values() { return this.#pairs.map(([, v]) => v).values(); }
  entries() { return this.#pairs.map((pair) => [...pair]).values(); }
  get size() { return this.#pairs.length; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map((pair) => pair.map(formEncode).join('=')).join('&'); }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return this.#pairs.length ? `URLSearchParams { ${this.#pairs.map(([k, v]) => `${inspect(k)} => ${inspect(v)}`).join(', ')} }` : 'URLSearchParams {}';
  }
}
const formEncode = (text) => encodeURIComponent(text.toWellFormed()).replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+');
const decodeLoose = (text) => { const t = text.replaceAll('+', ' '); try { return decodeURIComponent(t); } catch { return t.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString()); } };
const pairsOf = (text) => text.split('&').filter(Boolean).map((pair) => {
  const at = pair.indexOf('=');
  return at < 0 ? [decodeLoose(pair), ''] : [decodeLoose(pair.slice(0, at)), decodeLoose(pair.slice(at + 1))];
});

class URL {
  #u;
  #params;
  constructor(input, base) {
    const from = base === undefined ? null : parseUrl(String(base), null);
    if (base !== undefined && !from) throw invalid(String(input));
    this.#u = parseUrl(String(input), from);
    if (!this.#u) throw invalid(String(input));
    this.#params = new URLSearchParams(this.#u.search, (text) => { this.#u.search = text ? `?${text}` : ''; });
  }
  static createObjectURL(blob) { return require('buffer').Blob && internal.objectAddress(blob); }
  static revokeObjectURL(address) { internal.forgetObject(address); }
  static canParse(input, base) { try { return Boolean(new URL(input, base)); } catch { return false; } }
  static parse(input, base) { try { return new URL(input, base); } catch { return null; } }
  get href() {
    const u = this.#u;
    const user = u.username || u.password ? `${u.username}${u.password ? `:${u.password}` : ''}@` : '';
    return `${u.protocol}${u.slashes ? `//${user}${this.host}` : ''}${u.pathname}${u.search}${u.hash}`;
  }
  get origin() {
    // That of the address within.
    if (this.#u.protocol === 'blob:') return /^https?:/.test(this.pathname) ? URL.parse(this.pathname)?.origin ?? 'null' : 'null';
    return this.#u.protocol in special && this.#u.protocol !== 'file:' ? `${this.#u.protocol}//${this.host}` : 'null';
  }
  get protocol() { return this.#u.protocol; }
  get username() { return this.#u.username; }
  get password() { return this.#u.password; }
  get host() { return this.#u.hostname + (this.#u.port ? `:${this.#u.port}` : ''); }
  get hostname() { return this.#u.hostname; }
  get port() { return this.#u.port; }
  get pathname() { return this.#u.pathname; }
  get search() { return this.#u.search; }
  get hash() { return this.#u.hash; }
  get searchParams() { return this.#params; }
  set href(value) { const next = parseUrl(String(value), null); if (!next) throw invalid(String(value)); this.#u = next; this.#reload(); }
  set protocol(value) { const name = `${String(value).replace(/:.*/, '')}:`; if ((name in special) === (this.#u.protocol in special)) this.#u.protocol = name; }
  set username(value) { this.#u.username = encodeSet(String(value), sets.user); }
  set password(value) { this.#u.password = encodeSet(String(value), sets.user); }
  set host(value) { const [name, port] = String(value).split(':'); this.hostname = name; if (port !== undefined) this.port = port; }
  set hostname(value) { const host = parseHost(String(value), this.#u.protocol); if (host !== null) this.#u.hostname = host; }
  set port(value) { const port = String(value); if (/^\d*$/.test(port) && Number(port) <= 65535) this.#u.port = port === special[this.#u.protocol] ? '' : port; }
  set pathname(value) { const path = String(value); this.#u.pathname = simplifyPath(/^[/\\]/.test(path) ? path : `/${path}`, this.#u.protocol); }
  set search(value) { const text = String(value).replace(/^\?/, ''); this.#u.search = text ? `?${encodeSet(text, sets.query)}` : ''; this.#reload(); }
  set hash(value) { const text = String(value).replace(/^#/, ''); this.#u.hash = text ? `#${encodeSet(text, sets.fragment)}` : ''; }
  #reload() { this.#params = new URLSearchParams(this.#u.search, (text) => { this.#u.search = text ? `?${text}` : ''; }); }
  toString() { return this.href; }
  toJSON() { return this.href; }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const shown = {};
    for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash']) shown[name] = this[name];
    return `URL ${inspect(shown, options)}`;
  }
}
internal.tagged({ URL, URLSearchParams });

function fileURLToPath(url) {
  const parsed = typeof url === 'string' ? new URL(url) : url;
  if (parsed.protocol !== 'file:') throw Object.assign(new TypeError('The URL must be of scheme file'), { code: 'ERR_INVALID_URL_SCHEME' });
  return decodeURIComponent(parsed.pathname);
}
function parse(text, withQuery) {
  const [, protocol = null, slashes, auth = null, host = null, pathname = null, search = null, hash = null] =
    /^([a-z][a-z0-9+.-]*:)?(\/\/)?(?:([^@/?#]*)@)?(?:(?<=\/\/[^/?#]*)([^/?#]*))?([^?#]+)?(\?[^#]*)?(#.*)?$/i.exec(text);
  const port = /:(\d+)$/.exec(host ?? '')?.[1] ?? null;
  const query = search === null ? (withQuery ? '' : null) : search.slice(1);
  return Object.assign(new Url(), { protocol: protocol?.toLowerCase() ?? null, slashes: slashes ? true : null, auth, host: host || null, port, hostname: host ? host.replace(/:\d+$/, '') : null, hash, search,
    query: withQuery ? require('querystring').parse(query) : query, pathname: pathname ?? (host ? '/' : null), path: pathname || host ? (pathname ?? '/') + (search ?? '') : search, href: text });
}
// What parse gives, and old programs tell from others by its class.
function Url() {
  for (const name of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) this[name] = null;
}
Object.assign(Url.prototype, {
  parse(text, withQuery) { return Object.assign(this, parse(text, withQuery)); },
  format() { return module.exports.format(this); },
  resolve(to) { return module.exports.resolve(this.href, to); },
});
module.exports = { Url, URL, URLSearchParams, fileURLToPath, parse,
  pathToFileURL: (path) => new URL(`file://${encodeSet(require('path').resolve(path), `${sets.path}%\\`)}`),
  format: (url) => (url instanceof URL ? url.href : typeof url === 'string' ? url : `${(url.protocol ?? '').replace(/[^:]$/, '$&:')}${url.slashes || /^(https?|file):?$/.test(url.protocol ?? '') ? '//' : ''}${url.auth ? `${url.auth}@` : ''}${url.host ?? (url.hostname ? url.hostname + (url.port ? `:${url.port}` : '') : '')}${url.pathname ?? ''}${url.search ?? (url.query ? `?${require('querystring').stringify(url.query)}` : '')}${url.hash ?? ''}`),
  resolve: (from, to) => { try { return new URL(to, new URL(from, 'resolve://')).href.replace(/^resolve:\/\//, ''); } catch { return to; } },
  urlToHttpOptions: (url) => ({ protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ''), hash: url.hash, search: url.search, pathname: url.pathname,
    path: url.pathname + url.search, href: url.href, ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...(url.username || url.password ? { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` } : {}) }),
  domainToASCII: (name) => parseHost(`${name}`, 'http:') ?? '',
  domainToUnicode: (name) => punycode.toUnicode(parseHost(`${name}`, 'http:') ?? ''),
};
