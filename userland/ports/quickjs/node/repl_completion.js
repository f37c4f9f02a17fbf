// What could be meant by the beginning of a word that is typed: names in reach, properties, modules and files.
const keywords = ['async', 'await', 'break', 'case', 'catch', 'const', 'continue', 'debugger', 'default', 'delete', 'do', 'else', 'export', 'false', 'finally', 'for', 'function', 'if', 'import', 'in',
  'instanceof', 'let', 'new', 'null', 'return', 'switch', 'this', 'throw', 'true', 'try', 'typeof', 'undefined', 'var', 'void', 'while', 'with', 'yield'];
const isName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

const ownNames = (value) => Reflect.ownKeys(value).filter((key) => typeof key === 'string' && isName.test(key));
// The names of an object and of what it inherits from, a group each.
function groupsOf(value) {
  const groups = [];
  for (let object = typeof value === 'object' || typeof value === 'function' ? value : Object(value).constructor.prototype; object !== null && groups.length < 20; object = Object.getPrototypeOf(object)) groups.push(ownNames(object).sort());
  return groups;
}
// What a chain of plain names comes to, by no getter of the program's.
function valueOf(server, chain) {
  const [first, ...rest] = chain.split(/\??\./);
  let value;
  try {
    value = first === 'this' ? server.context : require('vm').isContext(server.context) ? require('vm').runInContext(first, server.context) : internal.native.evaluate(first, '[complete]');
  } catch {
    return undefined;
  }
  for (const name of rest) {
    if (value === null || value === undefined) return undefined;
    let found;
    for (let object = Object(value); object !== null && !found; object = Object.getPrototypeOf(object)) found = Object.getOwnPropertyDescriptor(object, name);
    if (!found) return undefined;
    value = found.get ? Reflect.apply(found.get, value, []) : found.value;
  }
  return value;
}
function filesOf(text) {
  const path = require('path'), folder = text.endsWith('/') ? text : `${path.dirname(text)}/`, base = text.endsWith('/') ? '' : path.basename(text);
  try {
    return require('fs').readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name.startsWith(base)).map((entry) => text.slice(0, text.length - base.length) + entry.name + (entry.isDirectory() ? '/' : ''));
  } catch {
    return [];
  }
}

// Pairs of what fits, in groups that an empty text parts, and what it begins with.
function completer(server, line) {
  const text = line.trimStart();
  const command = /^\.(\w*)$/.exec(text);
  if (command) return [Object.keys(server.commands).filter((name) => name.startsWith(command[1])).map((name) => `.${name}`), text];
  const module = /\b(?:require|import)\s*\(\s*['"`]([^'"`]*)$/.exec(text);
  if (module) {
    const found = /^\.{0,2}\//.test(module[1]) ? filesOf(module[1]) : require('module').builtinModules.filter((name) => !name.startsWith('_')).flatMap((name) => [name, `node:${name}`]).filter((name) => name.startsWith(module[1]));
    return [found, module[1]];
  }
  const [, chain, partial] = /((?:[\p{ID_Continue}$]+\??\.)*)([\p{ID_Continue}$]*)$/u.exec(line);
  const lists = [];
  if (chain) {
    const value = valueOf(server, chain.replace(/\??\.$/, ''));
    if (value === null || value === undefined) return [[], line];
    lists.push(...groupsOf(value).map((group) => group.map((name) => chain + name)));
  } else {
    if (partial === '' && text !== '') return [[], line];
    lists.push(...groupsOf(server.context), keywords);
  }
  const begun = chain + partial, seen = new Set(), groups = [];
  // What is nearest is told last.
  for (const list of lists) {
    const group = list.filter((name) => name.startsWith(begun) && !seen.has(name));
    for (const name of group) seen.add(name);
    if (group.length) groups.unshift(group);
  }
  return [groups.flatMap((group, i) => (i ? ['', ...group] : group)), begun];
}

module.exports = { completer };
