// process: the command line, the environment, the standard streams, how the program ends.
const { native, os } = internal;
const EventEmitter = require('events');
const { errnoError, signals } = require('os').__errors;

const process = module.exports = new EventEmitter();
Object.setPrototypeOf(process, Object.create(EventEmitter.prototype, { constructor: { value: function process() {} } }));
Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });
const started = native.clockNs();

const environment = internal.std.getenviron();
process.env = new Proxy(environment, {
  set(target, name, value) {
    if (typeof name === 'symbol') return false;
    target[name] = String(value);
    internal.std.setenv(name, target[name]);
    return true;
  },
  deleteProperty(target, name) {
    delete target[name];
    if (typeof name === 'string') internal.std.unsetenv(name);
    return true;
  },
});
const check = (result, call) => {
  if (typeof result === 'number' && result < 0) throw errnoError(result, call);
  return result;
};
process.title = 'node';
process.version = 'v22.18.0';
process.versions = { node: '22.18.0', quickjs: '0.16.2', zlib: '1.3.1', brotli: '1.1.0', openssl: '4.0.3', modules: '127' };
process.release = { name: 'node' };
process.arch = 'wasm32';
process.platform = 'linux';
process.pid = native.getpid();
process.argv0 = native.argv[0];
process.execPath = '/usr/bin/node';
process.execArgv = [];
process.argv = [process.execPath];
process.exitCode = undefined;
process.config = { variables: {} };
process.features = { inspector: false, debug: false, uv: false, ipv6: true, tls: true, typescript: 'strip', require_module: true };
Object.defineProperty(process, 'ppid', { get: () => native.getppid(), enumerable: true });
process.cwd = () => check(native.getcwd(), 'getcwd');
process.chdir = (path) => { if (os.chdir(String(path)) < 0) throw errnoError(-2, 'chdir', process.cwd(), path); };
process.umask = (mask) => (mask === undefined ? native.umask() : native.umask(mask));
process.getuid = process.geteuid = () => native.getuid();
process.getgid = process.getegid = () => native.getgid();
process.getgroups = () => [native.getgid()];
process.uptime = () => Number(native.clockNs() - started) / 1e9;
process.hrtime = (since) => {
  const now = native.clockNs();
  let seconds = Number(now / 1000000000n), rest = Number(now % 1000000000n);
  if (since) {
    seconds -= since[0];
    rest -= since[1];
    if (rest < 0) { seconds--; rest += 1e9; }
  }
  return [seconds, rest];
};
process.hrtime.bigint = () => native.clockNs();
process.memoryUsage = () => {
  const rss = native.memoryOwn();
  return { rss, heapTotal: rss, heapUsed: rss, external: 0, arrayBuffers: 0 };
};
process.memoryUsage.rss = () => native.memoryOwn();
process.cpuUsage = (since) => {
  const user = native.cpuUs(0), system = native.cpuUs(1);
  return since ? { user: user - since.user, system: system - since.system } : { user, system };
};
process.resourceUsage = () => ({ userCPUTime: native.cpuUs(0), systemCPUTime: native.cpuUs(1), maxRSS: native.memoryOwn() / 1024 });
let hinted = false;
process.emitWarning = (warning, type = 'Warning', code = undefined) => {
  let detail;
  if (type !== null && typeof type === 'object') ({ type = 'Warning', code, detail } = type);
  if (typeof type === 'function') type = 'Warning';
  const made = internal.isError(warning) ? warning : Object.assign(new Error(String(warning)), { name: String(type) });
  if (typeof code === 'string') made.code = code;
  if (detail !== undefined) made.detail = detail;
  if (made.name === 'DeprecationWarning' && process.noDeprecation) return;
  process.nextTick(() => {
    if (process.env.NODE_NO_WARNINGS !== '1' && !process.execArgv.includes('--no-warnings')) {
      // How to learn more is told once.
      const option = made.name === 'DeprecationWarning' ? '--trace-deprecation' : '--trace-warnings', traced = process.execArgv.includes(option);
      const hint = hinted || traced || !internal.isError(made) ? '' : `(Use \`${require('path').basename(process.argv0)} ${option} ...\` to show where the warning was created)\n`;
      hinted ||= !traced;
      const shown = traced ? String(made.stack) : `${made.name}: ${made.message}`;
      process.stderr.write(`(node:${process.pid}) ${made.code ? `[${made.code}] ` : ''}${shown}\n${made.detail ? `${made.detail}\n` : ''}${hint}`);
    }
    process.emit('warning', made);
  });
};
process.report = { excludeNetwork: false, compact: false, directory: '', filename: '', reportOnFatalError: false, reportOnSignal: false, reportOnUncaughtException: false, signal: 'SIGUSR2',
  getReport: () => ({ header: { nodejsVersion: process.version, platform: process.platform, arch: process.arch, cwd: process.cwd(), commandLine: [...process.argv], processId: process.pid }, sharedObjects: [] }),
  writeReport() { throw Object.assign(new Error('Reports are not written by this node'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' }); } };
process.getBuiltinModule = (name) => (internal.isBuiltin(String(name)) ? require(String(name)) : undefined);
process.availableMemory = () => native.memoryFree();
process.constrainedMemory = () => native.memoryTotal();
process.allowedNodeEnvironmentFlags = new Set();
process.setSourceMapsEnabled = () => {};
process.getActiveResourcesInfo = () => [];
process.loadEnvFile = (file = '.env') => {
  if (typeof file === 'number') throw require('checks').wrongType('path', ['string', 'Buffer', 'URL'], file);
  const text = require('fs').readFileSync(file, 'utf8');
  for (const [name, value] of Object.entries(require('util').parseEnv(text))) process.env[name] ??= value;
};
process.kill = (pid, signal = 'SIGTERM') => {
  const number = typeof signal === 'number' ? signal : signals[signal];
  if (number === undefined) throw Object.assign(new TypeError(`Unknown signal: ${signal}`), { code: 'ERR_UNKNOWN_SIGNAL' });
  check(native.kill(pid, number), 'kill');
  return true;
};

process.nextTick = (callback, ...args) => {
  if (typeof callback !== 'function') throw new TypeError('The "callback" argument must be of type function.');
  internal.ticks.push({ callback, args, frame: native.asyncFrame() });
};

let ending = false;
process.exit = (code) => {
  if (code !== undefined) process.exitCode = code;
  process.reallyExit(finish());
};
process.reallyExit = (code) => native.exit(code);
process.abort = () => { native.kill(native.getpid(), 6); };
function finish() {
  const code = () => (process.exitCode === undefined ? 0 : Number(process.exitCode) & 255);
  if (!ending) {
    ending = true;
    process.emit('exit', code());
  }
  return code();
}
internal.finish = finish;

// Nothing is left to do: what is heard here may bring more.
internal.beforeExit = () => process.emit('beforeExit', process.exitCode ?? 0);
internal.end = () => {
  // The program waits for what nothing will bring about any more.
  if (process.exitCode === undefined && internal.main && native.promise(internal.main)[0] === 0) {
    internal.writeAll(2, 'Warning: Detected unsettled top-level await\n');
    process.exitCode = 13;
  }
  native.exit(finish());
};

// One function may take what nobody caught, in the place of all listeners.
let capture = null;
process.setUncaughtExceptionCaptureCallback = (callback) => {
  const { coded, wrongType } = require('checks');
  if (callback !== null && typeof callback !== 'function') throw wrongType('fn', ['Function', 'null'], callback);
  if (callback !== null && capture !== null) throw coded(Error, 'ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET', '`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active');
  capture = callback;
};
process.hasUncaughtExceptionCaptureCallback = () => capture !== null;
// An exception that nobody caught: on stderr, as Node.js shows it.
internal.fatal = (error, origin = 'uncaughtException') => {
  if (internal.domainFails?.(error) || internal.replFails?.(error)) return;
  if (capture) return void capture(error);
  if (process.listenerCount('uncaughtException') > 0) {
    process.emit('uncaughtException', error, origin);
    return;
  }
  if (internal.threadFails) {
    internal.threadFails(error);
    process.exitCode = 1;
    native.exit(ending ? 1 : finish() || 1);
  }
  const { inspect } = require('util');
  let text;
  if (internal.isError(error)) {
    text = inspect(error);
    const place = /\(?(\/[^()\s]*?):(\d+)(?::\d+)?\)?/.exec(String(error.stack));
    if (place) {
      const line = internal.std.loadFile(place[1])?.split('\n')[place[2] - 1];
      text = `${place[1]}:${place[2]}\n${line === undefined ? '' : `${line}\n`}\n${text}`;
    }
  } else {
    text = `Uncaught ${inspect(error)}\n(Use \`node --trace-uncaught ...\` to show where the exception was thrown)`;
  }
  internal.writeAll(2, `${text}\n\nNode.js ${process.version} (QuickJS)\n`);
  process.exitCode = 1;
  native.exit(ending ? 1 : finish() || 1);
};
// Promises that were rejected and that nobody has looked at when the jobs are done.
const rejected = new Map(), told = new WeakSet();
native.onreject = (promise, reason, handled) => {
  if (handled && !rejected.delete(promise) && told.delete(promise)) process.nextTick(() => process.emit('rejectionHandled', promise));
  if (handled) return;
  rejected.set(promise, reason);
};
// Whether there were any.
internal.checkRejections = () => {
  if (rejected.size === 0) return false;
  for (const [promise, reason] of rejected) {
    rejected.delete(promise);
    told.add(promise);
    if (process.listenerCount('unhandledRejection') > 0) process.emit('unhandledRejection', reason, promise);
    else if (internal.isError(reason)) internal.fatal(reason, 'unhandledRejection');
    else {
      internal.fatal(Object.assign(new Error('This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise ' +
        `which was not handled with .catch(). The promise rejected with the reason "${require('util').inspect(reason)}".`), { name: 'UnhandledPromiseRejection', code: 'ERR_UNHANDLED_REJECTION' }), 'unhandledRejection');
    }
  }
  return true;
};

// What programs that look at the places of a stack ask of each.
const placeMethods = { isEval: () => false, getEvalOrigin: () => undefined, isToplevel: () => true, isConstructor: () => false, isAsync: () => false, isPromiseAll: () => false, getPromiseIndex: () => null,
  getTypeName: () => null, getMethodName: () => null, getThis: () => undefined, getScriptNameOrSourceURL() { return this.getFileName(); },
  toString() { return `${this.getFunctionName() ? `${this.getFunctionName()} (` : ''}${this.getFileName()}:${this.getLineNumber()}:${this.getColumnNumber()}${this.getFunctionName() ? ')' : ''}`; } };
// The stack of an error begins with what it is, as in V8.
// Those of the library's own, which are shown with their codes.
internal.ownErrors = new WeakSet();
const unnamed = ['not a function', 'not a constructor', 'value is not iterable', ...['undefined', 'null'].map((nothing) => `Cannot read properties of ${nothing} (reading 'Symbol.iterator')`)];
function stackOf(error, sites) {
  let head;
  if (sites.maker === 1) internal.ownErrors.add(error);
  // The engine does not say what is none.
  if (sites.length && sites.maker === undefined && native.className(error) === 'Error' && unnamed.includes(Object.getOwnPropertyDescriptor(error, 'message')?.value)) {
    try {
      error.message = require('callee')(error.message, sites[0]);
    } catch {
      // What the program has made of itself is not looked into.
    }
  }
  try {
    head = headOf(error);
  } catch {
    head = 'Error';
  }
  const lines = [];
  for (const site of sites) {
    const file = site.getFileName();
    if (!file || file.startsWith(internal.root) || site.isNative()) continue;
    const place = `${file}:${site.getLineNumber()}:${site.getColumnNumber()}`;
    const name = site.getFunctionName();
    lines.push(`    at ${name && name !== '<anonymous>' && name !== '<eval>' ? `${name} (${place})` : place}`);
  }
  if (head !== undefined && native.className(error) === 'Error') heads.set(error, head);
  return [head, ...lines].join('\n');
}
// What an error is may be said after it was made: its stack begins with what it is when somebody first looks, as in V8.
const heads = new WeakMap(), texts = new WeakMap();
const headOf = (error) => {
  const message = String(error.message ?? ''), name = String(error.name ?? 'Error');
  return message && name ? `${name}: ${message}` : message || name;
};
function lateStack(Error) {
  const { get, set } = Object.getOwnPropertyDescriptor(Error.prototype, 'stack');
  const own = {
    get stack() {
      const text = texts.get(this) ?? Reflect.apply(get, this, []), head = typeof text === 'string' ? heads.get(this) : undefined;
      if (head === undefined) return text;
      heads.delete(this);
      let now;
      try {
        now = headOf(this);
      } catch {
        return text;
      }
      if (now === head || !text.startsWith(head)) return text;
      texts.set(this, now + text.slice(head.length));
      return texts.get(this);
    },
    set stack(value) { Reflect.apply(set, this, [value]); },
  };
  Object.defineProperty(Error.prototype, 'stack', { ...Object.getOwnPropertyDescriptor(own, 'stack'), enumerable: false });
}
// Each realm has errors of its own.
internal.prepareErrors = (Error) => {
  Error.prepareStackTrace = (error, sites) => sites;
  const places = Object.getPrototypeOf(native.evaluate('(Error) => new Error().stack', 'a place')(Error)[0]);
  for (const [name, value] of Object.entries(placeMethods)) if (!Object.hasOwn(places, name)) Object.defineProperty(places, name, { value, configurable: true, writable: true, enumerable: false });
  Error.prepareStackTrace = stackOf;
  lateStack(Error);
};
internal.prepareErrors(Error);

internal.writeAll = (fd, data) => {
  const bytes = typeof data === 'string' ? new Uint8Array(native.utf8Encode(data)) : data;
  for (let done = 0; done < bytes.length;) {
    const count = native.write(fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done, -1);
    if (count === -11) { native.poll([fd], [4], -1); continue; }
    if (count < 0) return count;
    done += count;
  }
  return 0;
};

function lazyStream(name, make) {
  Object.defineProperty(process, name, {
    configurable: true, enumerable: true,
    get() {
      const value = make();
      Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true });
      return value;
    },
  });
}
lazyStream('stdin', () => require('tty').__input());
lazyStream('stdout', () => require('tty').__output(1));
lazyStream('stderr', () => require('tty').__output(2));

// A handler of a signal keeps the program from being ended by it.
const handled = new Set();
process.on('newListener', (name) => {
  if (!(name in signals) || handled.has(name)) return;
  handled.add(name);
  internal.onSignal(signals[name], () => process.emit(name, name, signals[name]));
});
process.on('removeListener', (name) => {
  if (!handled.has(name) || process.listenerCount(name) > 0) return;
  handled.delete(name);
  internal.onSignal(signals[name], null);
});
