// module: require and import, and the command line.
const { native, std, isBuiltin } = internal;
const path = require('path');

const isFile = (name) => { const s = native.stat(name); return typeof s !== 'number' && (s[2] & 0o170000) === 0o100000; };
const isFolder = (name) => { const s = native.stat(name); return typeof s !== 'number' && (s[2] & 0o170000) === 0o40000; };
const real = (name) => { const result = native.realpath(name); return typeof result === 'string' ? result : name; };

const packages = new Map();
function packageIn(folder) {
  if (!packages.has(folder)) {
    const text = isFile(`${folder}/package.json`) ? std.loadFile(`${folder}/package.json`) : null;
    let parsed = null;
    if (text !== null) {
      try {
        parsed = JSON.parse(text);
      } catch (error) {
        throw new Error(`Invalid package config ${folder}/package.json: ${error.message}`);
      }
    }
    packages.set(folder, parsed);
  }
  return packages.get(folder);
}
function packageAbove(file) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const found = packageIn(folder);
    if (found) return { found, folder };
    if (folder === '/' || folder.endsWith('/node_modules')) return { found: null, folder };
  }
}
function isModule(file) {
  if (/\.m[jt]s$/.test(file)) return true;
  if (!/\.[jt]s$/.test(file) && path.extname(file) !== '') return false;
  return packageAbove(file).found?.type === 'module';
}

function notFound(name, from, imported) {
  const bare = imported && !/^[./]/.test(name);
  const error = new Error(imported ? `Cannot find ${bare ? 'package' : 'module'} '${name}' imported from ${from}` :
    `Cannot find module '${name}'${from ? `\nRequire stack:\n- ${from}` : ''}`);
  error.code = imported ? 'ERR_MODULE_NOT_FOUND' : 'MODULE_NOT_FOUND';
  if (!imported) error.requireStack = from ? [from] : [];
  return error;
}

// The source of a file, without its types where it is TypeScript.
const sources = new Map();
function sourceOf(file) {
  if (!/\.[cm]?ts$/.test(file)) return std.loadFile(file);
  if (!sources.has(file)) sources.set(file, internal.builtin('typescript').strip(std.loadFile(file).replace(/^#!.*/, ''), file));
  return sources.get(file);
}

function asFile(name) {
  for (const end of ['', '.js', '.json', '.mjs', '.cjs']) if (isFile(name + end)) return name + end;
  return null;
}
function asFolder(folder) {
  if (!isFolder(folder)) return null;
  const main = packageIn(folder)?.main;
  const named = main && (asFile(path.join(folder, main)) ?? asIndex(path.join(folder, main)));
  return named || asIndex(folder);
}
const asIndex = (folder) => asFile(path.join(folder, 'index'));

// Those that the command line adds (--conditions).
const ownConditions = [];
// "exports" of a package: the target for a subpath under these conditions.
function fromExports(target, subpath, conditions) {
  if (target === null || target === undefined) return null;
  if (typeof target === 'string') return target;
  if (Array.isArray(target)) return target.map((item) => fromExports(item, subpath, conditions)).find(Boolean) ?? null;
  const keys = Object.keys(target);
  if (keys.length && keys[0].startsWith('.')) {
    if (subpath in target) return fromExports(target[subpath], subpath, conditions);
    for (const key of keys.filter((key) => key.includes('*')).sort((a, b) => b.length - a.length)) {
      const [head, tail] = key.split('*');
      if (!subpath.startsWith(head) || !subpath.endsWith(tail) || subpath.length < key.length - 1) continue;
      const star = subpath.slice(head.length, subpath.length - tail.length);
      return fromExports(target[key], subpath, conditions)?.replaceAll('*', star) ?? null;
    }
    return null;
  }
  if (keys.length && subpath !== '.' && !conditions) return null;
  for (const key of keys) {
    if (key !== 'default' && !conditions.includes(key)) continue;
    const found = fromExports(target[key], subpath, conditions);
    if (found) return found;
  }
  return null;
}

function fromNodeModules(name, from, imported) {
  const [, pack, rest] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(name) ?? [null, name, ''];
    const conditions = [imported ? 'import' : 'require', 'node', 'module-sync', ...ownConditions];
  const own = packageAbove(from);
  if (own.found?.name === pack && own.found.exports) {
    const target = fromExports(own.found.exports, `.${rest}`, conditions);
    if (target) return path.join(own.folder, target);
  }
  if (name.startsWith('#') && own.found?.imports) {
    const target = fromExports(Object.fromEntries(Object.entries(own.found.imports).map(([k, v]) => [`.${k}`, v])), `.${name}`, conditions);
    if (target) return target.startsWith('.') ? path.join(own.folder, target) : resolveFrom(target, from, imported);
  }
  const roots = [];
  for (let folder = path.dirname(from); ; folder = path.dirname(folder)) {
    if (path.basename(folder) !== 'node_modules') roots.push(path.join(folder, 'node_modules'));
    if (folder === '/') break;
  }
  for (const root of [...roots, ...everywhere()]) {
    const folder = path.join(root, pack);
    if (!isFolder(folder)) {
      const file = rest === '' ? asFile(folder) : null;
      if (file) return file;
      continue;
    }
    const described = packageIn(folder);
    if (described?.exports) {
      const top = typeof described.exports === 'object' && !Array.isArray(described.exports) && Object.keys(described.exports)[0]?.startsWith('.');
      const target = fromExports(top ? described.exports : { '.': described.exports }, `.${rest}`, conditions);
      if (target) return path.join(folder, target);
      throw Object.assign(new Error(`Package subpath '.${rest}' is not defined by "exports" in ${folder}/package.json`), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' });
    }
    const file = rest ? asFile(folder + rest) ?? asFolder(folder + rest) : (imported && described?.module && asFile(path.join(folder, described.module))) || asFolder(folder);
    if (file) return file;
  }
  return null;
}

function resolveFrom(name, from, imported) {
  if (imported && name.startsWith('data:')) return name;
  if (name.startsWith('file:')) name = require('url').fileURLToPath(name);
  let found;
  if (/^(\.\.?)?(\/|$)/.test(name) || name === '.' || name === '..') {
    const whole = path.resolve(path.dirname(from), name);
    found = (name.endsWith('/') ? null : asFile(whole)) ?? asFolder(whole);
  } else {
    found = fromNodeModules(name, from, imported);
  }
  if (!found || !isFile(found)) throw notFound(name, from.endsWith('/[eval]') ? '' : from, imported);
  return real(found);
}

// The function that a CommonJS module is. What begins it has a line before the first one, so columns are those of the file.
const wrapped = (text, file) => native.evaluate(`(function (exports, require, module, __filename, __dirname) {\n${text}\n})`, file, 0);

class Module {
  constructor(id, parent) {
    this.id = id;
    this.path = path.dirname(id);
    this.exports = {};
    this.filename = id;
    this.loaded = false;
    this.children = [];
    this.paths = Module._nodeModulePaths(this.path);
    Object.defineProperty(this, 'parent', { value: parent, configurable: true, writable: true });
    if (parent) parent.children.push(this);
  }
  require(name) { return requireFrom(name, this); }
  _compile(source, file) {
    const text = source.replace(/^#!.*/, '');
    const compiled = wrapped(text, file);
    compiled.call(this.exports, this.exports, makeRequire(this), this, file, path.dirname(file));
  }
}
Module._nodeModulePaths = (from) => {
  const found = [];
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    if (path.basename(folder) !== 'node_modules') found.push(path.join(folder, 'node_modules'));
    if (folder === '/') return found;
  }
};
Module._cache = Object.create(null);
Module._extensions = {
  '.js': (module, file) => module._compile(sourceOf(file), file),
  '.json': (module, file) => {
    try {
      module.exports = JSON.parse(std.loadFile(file).replace(/^\ufeff/, ''));
    } catch (error) {
      error.message = `${file}: ${error.message}`;
      throw error;
    }
  },
  '.node': (module, file) => { throw Object.assign(new Error(`${file}: native addons cannot be loaded here`), { code: 'ERR_DLOPEN_FAILED' }); },
};

function requireFrom(name, parent) {
  if (typeof name !== 'string') throw Object.assign(new TypeError(`The "id" argument must be of type string. Received ${name === null ? 'null' : typeof name}`), { code: 'ERR_INVALID_ARG_TYPE' });
  if (name === '') throw Object.assign(new TypeError("The argument 'id' must be a non-empty string. Received ''"), { code: 'ERR_INVALID_ARG_VALUE' });
  if (isBuiltin(name)) return internal.builtin(name);
  return load(resolveFrom(name, parent.filename, false), parent).exports;
}

function load(file, parent) {
  const known = Module._cache[file];
  if (known) return known;
  if (isModule(file)) return loadModule(file, parent);
  const module = Module._cache[file] = new Module(file, parent);
  try {
    (Module._extensions[path.extname(file)] ?? Module._extensions['.js'])(module, file);
  } catch (error) {
    delete Module._cache[file];
    if (error instanceof SyntaxError && /\.[jt]s$/.test(file) && looksLikeModule(file)) return loadModule(file, parent);
    throw error;
  }
  module.loaded = true;
  return module;
}

// An ES module that require asks for: what it exports, where it waits for nothing.
function loadModule(file, parent) {
  const module = Module._cache[file] = new Module(file, parent);
  const made = native.evaluateModule(`\nimport * as all from ${JSON.stringify(file)}; globalThis.__cloche_take(all);`, `${file}?required`);
  made.catch(() => {});
  const [state, value] = native.promise(made);
  if (state !== 1) {
    delete Module._cache[file];
    if (state === 2) throw value;
    throw Object.assign(new Error(`require() cannot be used on an ESM graph with top-level await. Use import() instead.`), { code: 'ERR_REQUIRE_ASYNC_MODULE' });
  }
  const all = taken;
  module.exports = all;
  if ('module.exports' in all) module.exports = all['module.exports'];
  else if ('default' in all && !('__esModule' in all)) {
    const names = { __esModule: { value: true, enumerable: true }, [Symbol.toStringTag]: { value: 'Module' } };
    for (const name of Object.keys(all)) names[name] = { get: () => all[name], enumerable: true };
    module.exports = Object.create(null, names);
  }
  module.loaded = true;
  return module;
}
let taken;
Object.defineProperty(globalThis, '__cloche_take', { value: (all) => { taken = all; }, enumerable: false });

// From the first of these folders in which it is found.
function fromFirst(name, folders, from) {
  for (const folder of folders) {
    try {
      return resolveFrom(name, path.join(path.resolve(folder), 'noop.js'), false);
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw notFound(name, from, false);
}
const everywhere = () => [...(process.env.NODE_PATH ?? '').split(':').filter(Boolean), '/usr/lib/node_modules', '/usr/local/lib/node_modules'];
// The folders in which a name is looked for.
Module._resolveLookupPaths = (name, parent) => {
  if (isBuiltin(name)) return null;
  if (/^\.{1,2}(?:\/|$)/.test(name)) return [parent?.filename ? path.dirname(parent.filename) : '.'];
  return [...(parent?.paths ?? []), ...everywhere()];
};
let mainModule;
function makeRequire(module) {
  const require = (name) => requireFrom(name, module);
  require.resolve = (name, options) => {
    if (isBuiltin(name)) return name;
    if (options?.paths === undefined) return resolveFrom(name, module.filename, false);
    return fromFirst(name, options.paths, module.filename);
  };
  require.resolve.paths = (name) => Module._resolveLookupPaths(name, module);
  require.cache = Module._cache;
  require.extensions = Module._extensions;
  require.main = mainModule;
  return require;
}

// ES modules. Modules of this folder and CommonJS ones get a source that hands their exports on.
const handed = new Map();
internal.handed = handed;
Object.defineProperty(globalThis, '__cloche_handed', { value: (name) => handed.get(name), enumerable: false });
function handOn(name, exports) {
  handed.set(name, exports);
  const names = exports !== null && (typeof exports === 'object' || typeof exports === 'function') ? Object.keys(exports).filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default') : [];
  const reserved = /^(?:break|case|catch|class|const|continue|debugger|delete|do|else|enum|export|extends|false|finally|for|function|if|import|in|instanceof|new|null|return|super|switch|this|throw|true|try|typeof|var|void|while|with|yield|let|static|await|implements|interface|package|private|protected|public|arguments|eval)$/;
  const lines = names.map((key, i) => `const _${i} = m[${JSON.stringify(key)}]; export { _${i} as ${reserved.test(key) ? JSON.stringify(key) : key} };`);
  return `\nconst m = globalThis.__cloche_handed(${JSON.stringify(name)}); export default m; ${lines.join(' ')}`;
}
native.setModuleHooks(
  (base, name) => {
    if (isBuiltin(name)) return name.startsWith('node:') ? name : `node:${name}`;
    const from = base.startsWith('/') && !base.startsWith(internal.root) ? base : path.join(process.cwd(), '[eval]');
    return resolveFrom(name.startsWith('data:') ? name : name.replace(/(?<!^)[?#].*$/, ''), from, true);
  },
  (name) => {
    if (name.startsWith('node:')) return handOn(name, internal.builtin(name));
    if (name.startsWith('data:')) return fromText(name);
    if (name.endsWith('.json')) return handOn(name, load(name).exports);
    if (!isModule(name) && !looksLikeModule(name)) return handOn(name, load(name).exports);
    const source = sourceOf(name).replace(/^#!.*/, '');
    return withMeta(source, name);
  });

// A module that stands in its own address: JavaScript or JSON.
function fromText(name) {
  const [, type, coding, text] = /^data:([^,;]*)(?:;[^,;]*?)*?(;base64)?,([^]*)$/.exec(name) ?? [];
  if (text === undefined || (type !== 'text/javascript' && type !== 'application/json')) throw Object.assign(new TypeError(`Unknown module format: ${type ?? name} for URL ${name}`), { code: 'ERR_UNKNOWN_MODULE_FORMAT' });
  const source = coding ? Buffer.from(decodeURIComponent(text), 'base64').toString() : decodeURIComponent(text);
  return type === 'application/json' ? `\nexport default ${JSON.stringify(JSON.parse(source))};` : `\n${source}`;
}

// A .js file of a package that does not say: it is a module when it uses what only modules have.
function looksLikeModule(file) {
  if (/\.c[jt]s$/.test(file) || packageAbove(file).found?.type === 'commonjs') return false;
  return usesModules(sourceOf(file));
}
function usesModules(source) {
  const bare = source.replace(/\/\*[\s\S]*?\*\/|(^|[^:'"`\\])\/\/.*$/gm, '$1');
  const likely = /(?:^|[;}/])\s*(?:import\s*(?:[\w$*{'"]|\.meta)|export\s+(?:default|const|let|var|function|class|async)\b|export\s*[{*])/m.test(bare);
  // It says so in a text as well, and await is a name in scripts: what is none by its syntax is one.
  if (likely) return !compiles(source, '');
  if (ownNames.test(bare) && takesNames(source)) return true;
  return /\bawait\b/.test(bare) && !compiles(source, '') && compiles(source, 'async ');
}
// What has names of its own for those that a CommonJS module is given is none: `const { exports } = instance`.
const ownNames = /\b(?:const|let|class)\s+(?:exports|require|module|__filename|__dirname)\b|\b(?:const|let)\s*[{[][^}\]=]*\b(?:exports|require|module|__filename|__dirname)\s*[,}\]]/;
function takesNames(source) {
  try {
    wrapped(source.replace(/^#!.*/, ''), '[check]');
    return false;
  } catch (error) {
    return error instanceof SyntaxError && error.message.includes('redefinition of parameter name') && compiles(source, '');
  }
}
function compiles(source, kind) {
  try {
    native.evaluate(`(${kind}function () {${source.replace(/^#!.*/, '')}\n})`, '[check]');
    return true;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return false;
  }
}
// With a line before the first one, as the host wants a module.
function withMeta(source, file) {
  if (!/\bimport\s*\.\s*meta\b/.test(source)) return `\n${source}`;
  const meta = `import.meta.filename = ${JSON.stringify(file)}; import.meta.dirname = ${JSON.stringify(path.dirname(file))}; import.meta.resolve = (n) => globalThis.__cloche_resolve(n, ${JSON.stringify(file)});`;
  return `${meta}\n${source}`;
}
Object.defineProperty(globalThis, '__cloche_resolve', { enumerable: false,
  value: (name, from) => {
    if (isBuiltin(name)) return name.startsWith('node:') ? name : `node:${name}`;
    // A file is named whether it is there or not.
    if (/^\.{0,2}\//.test(name)) return new URL(name, require('url').pathToFileURL(from)).href;
    return require('url').pathToFileURL(resolveFrom(name, from, true)).href;
  } });

const usage = `Usage: node [options] [ script.js | - ] [arguments]

  -e, --eval SCRIPT     run SCRIPT
  -p, --print SCRIPT    run SCRIPT and print what it comes to
  -c, --check FILE      only check the syntax
  -r, --require MODULE  load MODULE first
  --test [FILE ...]     run the tests of these files, or of all that look like tests
  --input-type=TYPE     of -e, -p and stdin: module or commonjs
  -v, --version         print the version
  -h, --help            print this

node is QuickJS here: the language is ES2023, the modules are a part of Node.js's.
`;

function fail(text) {
  internal.writeAll(2, `${native.argv[0]}: ${text}\n`);
  native.exit(9);
}

// What is set already stays.
function readEnvironment(file, isMissing) {
  const text = std.loadFile(file);
  if (text === null) return isMissing(file);
  for (const [name, value] of Object.entries(internal.builtin('util').parseEnv(text))) process.env[name] ??= value;
}

function patternOf(text) {
  const whole = /^\/(.*)\/([a-z]*)$/.exec(text);
  return whole ? new RegExp(whole[1], whole[2]) : new RegExp(text);
}

function parseCommand(argv) {
  const command = { preload: [], rest: [], passedOn: [] };
  let i = 1;
  const value = (option) => (i + 1 < argv.length ? argv[++i] : fail(`${option} requires an argument`));
  for (; i < argv.length; i++) {
    let word = argv[i];
    const first = i;
    if (word === '-' || !word.startsWith('-')) break;
    if (word === '--') { i++; break; }
    let given;
    if (word.startsWith('--') && word.includes('=')) [word, given] = [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)];
    if (word === '-e' || word === '--eval') command.source = given ?? value(word);
    else if (word === '-p' || word === '--print' || word === '-pe') { command.print = true; command.source = given ?? value(word); }
    else if (word === '-c' || word === '--check') command.check = true;
    else if (word === '-r' || word === '--require' || word === '--import') command.preload.push(given ?? value(word));
    else if (word === '-C' || word === '--conditions') ownConditions.push(given ?? value(word));
    else if (word === '--input-type') command.type = given ?? value(word);
    else if (word === '-v' || word === '--version') { internal.writeAll(1, `${process.version}\n`); native.exit(0); }
    else if (word === '-h' || word === '--help') { internal.writeAll(1, usage); native.exit(0); }
    else if (word === '--env-file') readEnvironment(given ?? value(word), (file) => fail(`${file}: not found`));
    else if (word === '--env-file-if-exists') readEnvironment(given ?? value(word), (file) => internal.writeAll(2, `${file} not found. Continuing without it.\n`));
    else if (word === '--test') command.test = true;
    else if (word === '--test-only') (internal.testSettings ??= {}).only = true;
    else if (word === '--test-reporter') ((internal.testSettings ??= {}).reporters ??= []).push(given ?? value(word));
    else if (word === '--test-reporter-destination') ((internal.testSettings ??= {}).destinations ??= []).push(given ?? value(word));
    else if (word === '--test-name-pattern') (internal.testSettings ??= {}).pattern = patternOf(given ?? value(word));
    else if (word === '-i' || word === '--interactive') command.interactive = true;
    else if (!/^--(no-)?(warnings|deprecation|experimental-.*|harmony.*|trace-.*|enable-.*|max-old-space-size|stack-.*|unhandled-rejections|preserve-symlinks.*|expose-gc|title|disable-.*|use-.*|throw-deprecation|pending-deprecation|import)$/.test(word)) fail(`bad option: ${argv[i]}`);
    process.execArgv.push(...argv.slice(first, i + 1));
    if (!word.startsWith('--test')) command.passedOn.push(...argv.slice(first, i + 1));
  }
  command.rest = argv.slice(i);
  return command;
}

function runMain(source, file) {
  internal.main = native.evaluateModule(source, file);
  internal.main.catch(internal.fatal);
}

function evaluateMain(source, command, name) {
  if (command.type?.endsWith('-typescript')) {
    source = internal.builtin('typescript').strip(source);
    command.type = command.type.replace('-typescript', '');
  }
  if (command.type === 'module' || (command.type !== 'commonjs' && !command.print && usesModules(source))) {
    runMain(`\n${source}`, path.join(process.cwd(), name));
    return;
  }
  (internal.sources ??= new Map()).set(name, source);
  const module = new Module(path.join(process.cwd(), name));
  Object.assign(globalThis, { module, exports: module.exports, require: makeRequire(module), __filename: name, __dirname: '.' });
  for (const key of internal.names) {
    if (key.includes('/') || key in globalThis) continue;
    Object.defineProperty(globalThis, key, { configurable: true, enumerable: false, get: () => internal.builtin(key),
      set(value) { Object.defineProperty(globalThis, key, { value, writable: true, configurable: true, enumerable: true }); } });
  }
  const result = native.evaluate(source, name);
  if (command.print) console.log(result);
}

// What another program of node has started this one with.
function beginLine() {
  const { NODE_CHANNEL_FD: line, NODE_CHANNEL_SERIALIZATION_MODE: mode, CLOCHE_NODE_THREAD: thread } = process.env;
  if (line === undefined) return;
  for (const name of ['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'CLOCHE_NODE_THREAD']) delete process.env[name];
  native.closeOnExec(Number(line));
  if (thread === undefined) {
    internal.builtin('ipc').begin(Number(line), mode === 'advanced');
    const { NODE_UNIQUE_ID: id } = process.env;
    if (id === undefined) return;
    delete process.env.NODE_UNIQUE_ID;
    internal.clusterId = Number(id);
    return internal.builtin('cluster');
  }
  internal.threadFd = Number(line);
  internal.threadId = Number(thread);
  internal.builtin('worker_threads');
}

internal.run = () => {
  beginLine();
  const command = parseCommand(native.argv);
  const fromStdin = command.source === undefined && (command.rest[0] === '-' || (command.rest.length === 0 && !native.isatty(0) && !command.interactive));
  try {
    const here = new Module(path.join(process.cwd(), '[eval]'));
    const script = command.source === undefined && !fromStdin ? command.rest[0] : undefined;
    process.argv = [process.execPath, ...(script === undefined ? command.rest.slice(fromStdin && command.rest[0] === '-' ? 1 : 0) : [path.resolve(script), ...command.rest.slice(1)])];
    if (fromStdin && command.rest[0] === '-') process.argv.splice(1, 0, '-');
    for (const name of command.preload) requireFrom(name, here);
    if (command.test) {
      internal.testSettings ??= {};
      internal.builtin('node:test').__runFiles(command.rest, command.passedOn).catch(internal.fatal);
      return;
    }
    if (internal.workerInit?.source !== undefined) return evaluateMain(internal.workerInit.source, { type: internal.workerInit.module ? 'module' : undefined }, '[worker eval]');
    if (command.source !== undefined) return evaluateMain(command.source, command, '[eval]');
    if (fromStdin) return evaluateMain(Buffer.from(native.readAll(0)).toString(), command, '[stdin]');
    if (script === undefined) return internal.builtin('repl').__main();
    const file = resolveMain(path.resolve(script));
    if (command.check) return check(file);
    if (isModule(file) || (/\.[jt]s$/.test(file) && looksLikeModule(file))) {
      runMain(withMeta(sourceOf(file).replace(/^#!.*/, ''), file), file);
    } else {
      const module = mainModule = Module._cache[file] = new Module(file);
      module.id = '.';
      process.mainModule = module;
      (Module._extensions[path.extname(file)] ?? Module._extensions['.js'])(module, file);
      module.loaded = true;
    }
  } catch (error) {
    internal.fatal(error);
  }
};
function resolveMain(file) {
  const found = asFile(file) ?? asFolder(file);
  if (found) return real(found);
  throw notFound(file, '', false);
}
function check(file) {
  const source = sourceOf(file).replace(/^#!.*/, '');
  if (isModule(file) || looksLikeModule(file)) new (Object.getPrototypeOf(async () => {}).constructor)(source.replace(/^\s*(import|export)\b.*$/gm, ''));
  else wrapped(source, file);
}
Module.Module = Module;
Module.builtinModules = internal.names;
Module.isBuiltin = isBuiltin;
Module.stripTypeScriptTypes = (code, { mode = 'strip', sourceUrl } = {}) => {
  if (typeof code !== 'string') throw Object.assign(new TypeError(`The "code" argument must be of type string. Received ${code === null || code === undefined ? code : `type ${typeof code}`}`), { code: 'ERR_INVALID_ARG_TYPE' });
  if (mode !== 'strip' && mode !== 'transform') throw Object.assign(new TypeError(`The property 'options.mode' must be one of: 'strip', 'transform'. Received '${mode}'`), { code: 'ERR_INVALID_ARG_VALUE' });
  return internal.builtin('typescript').strip(code) + (sourceUrl === undefined ? '' : `\n\n//# sourceURL=${sourceUrl}`);
};
const refuseHooks = (name) => ({ [name]() { throw Object.assign(new Error(`Loaders of modules cannot be put in the place of this node's own: module.${name} is not in it`), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' }); } })[name];
const wrapper = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];
Object.assign(Module, { syncBuiltinESMExports() {}, findSourceMap: () => undefined, globalPaths: [], wrapper, wrap: (text) => wrapper[0] + text + wrapper[1], register: refuseHooks('register'), registerHooks: refuseHooks('registerHooks'),
  constants: { compileCacheStatus: { FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 } }, enableCompileCache: () => ({ status: 3 }), flushCompileCache() {}, getCompileCacheDir: () => undefined,
  // The package of a file, or of a name as the file that asks for it finds it.
  findPackageJSON(name, base) {
    const pathOf = (given) => (given instanceof URL || String(given).startsWith('file:') ? require('url').fileURLToPath(given) : String(given));
    const from = base === undefined ? undefined : pathOf(base);
    const file = name instanceof URL || /^(?:file:|\.{0,2}\/|\.{1,2}$)/.test(String(name)) ? path.resolve(from === undefined ? process.cwd() : path.dirname(from), pathOf(name)) : resolveFrom(String(name), from ?? path.join(process.cwd(), '[eval]'), false);
    for (let folder = isFolder(file) ? file : path.dirname(file); ; folder = path.dirname(folder)) {
      if (isFile(`${folder}/package.json`)) return `${folder}/package.json`;
      if (folder === '/') return undefined;
    }
  } });
Module.createRequire = (from) => {
  const file = from instanceof URL || String(from).startsWith('file:') ? require('url').fileURLToPath(from) : from;
  return makeRequire(new Module(file.endsWith('/') ? `${file}noop.js` : file));
};
Module._load = (name, parent) => requireFrom(name, parent ?? new Module(path.join(process.cwd(), '[eval]')));
Module._resolveFilename = (name, parent, isMain, options) => {
  if (isBuiltin(name)) return name;
  const from = parent?.filename ?? path.join(process.cwd(), '[eval]');
  return options?.paths ? fromFirst(name, options.paths, from) : resolveFrom(name, from, false);
};
module.exports = Module;
