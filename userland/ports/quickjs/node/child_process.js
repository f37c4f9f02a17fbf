// child_process: programs of the sandbox.
const { native } = internal;
const { errnoError, signals, signalNames } = require('os').__errors;
const EventEmitter = require('events');

const readable = 1, writable = 4;

// Where the program is: along PATH of the child's environment when the name has no slash.
function find(file, environment, cwd) {
  if (file.includes('/')) return require('path').resolve(cwd || process.cwd(), file);
  for (const folder of (environment.PATH ?? '/usr/bin:/bin').split(':')) {
    const candidate = `${folder || '.'}/${file}`;
    const status = native.stat(candidate);
    if (typeof status !== 'number' && (status[2] & 0o170000) === 0o100000 && native.access(candidate, 1) === 0) return candidate;
  }
  return null;
}

function stdioOf(given, sync) {
  let list = given ?? 'pipe';
  if (typeof list === 'string') list = [list, list, list];
  return [0, 1, 2, ...Array.from({ length: Math.max(0, list.length - 3) }, (_, i) => i + 3)].map((fd) => {
    const item = list[fd] ?? (fd < 3 ? 'pipe' : 'ignore');
    if (item === 'pipe' || item === 'overlapped') return { kind: 'pipe' };
    if (item === 'inherit') return { kind: 'fd', fd };
    if (item === 'ignore') return { kind: 'null' };
    if (item === 'ipc') {
      if (sync) throw Object.assign(new Error('IPC cannot be used with synchronous forks'), { code: 'ERR_IPC_SYNC_FORK' });
      return { kind: 'ipc' };
    }
    if (typeof item === 'number') return { kind: 'fd', fd: item };
    if (typeof item?.fd === 'number') return { kind: 'fd', fd: item.fd };
    throw Object.assign(new TypeError(`The argument 'stdio' is invalid. Received ${require('util').inspect(item)}`), { code: 'ERR_INVALID_ARG_VALUE' });
  });
}

// Starts it: { pid or error, ends: our end of each pipe }
function start(file, args, options, sync) {
  const wanted = stdioOf(options.stdio, sync), line = wanted.findIndex((item) => item.kind === 'ipc');
  const environment = line < 0 ? options.env ?? process.env
    : { ...(options.env ?? process.env), NODE_CHANNEL_FD: String(line), NODE_CHANNEL_SERIALIZATION_MODE: options.serialization ?? 'json' };
  const words = Object.entries(environment).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${value}`);
  const cwd = options.cwd ? (options.cwd instanceof URL ? require('url').fileURLToPath(options.cwd) : String(options.cwd)) : '';
  const mine = [], theirs = [], opened = [];
  let ipc;
  for (const [fd, item] of wanted.entries()) {
    if (item.kind === 'fd') { theirs.push(item.fd); continue; }
    if (item.kind === 'null') {
      const none = native.open('/dev/null', 2, 0);
      opened.push(none);
      theirs.push(none);
      continue;
    }
    if (item.kind === 'ipc') {
      const pair = native.socketPair();
      if (typeof pair === 'number') throw errnoError(pair, 'socketpair');
      ipc = pair[0];
      theirs.push(pair[1]);
      opened.push(pair[1]);
      continue;
    }
    const ends = native.pipe();
    if (typeof ends === 'number') throw errnoError(ends, 'pipe');
    const [ours, child] = fd === 0 ? [ends[1], ends[0]] : ends;
    mine[fd] = ours;
    theirs.push(child);
    opened.push(child);
  }
  const program = find(file, environment, cwd);
  let pid = program === null ? -2 : native.spawn(program, [options.argv0 ?? file, ...args], words, cwd, theirs, options.detached ? 1 : 0);
  // As a shell would: a file that is no program is a script.
  if (pid === -8) pid = native.spawn('/bin/sh', ['sh', program, ...args], words, cwd, theirs, options.detached ? 1 : 0);
  for (const fd of opened) native.close(fd);
  if (pid > 0) return { pid, mine, ipc };
  if (ipc !== undefined) native.close(ipc);
  for (const fd of mine) if (fd !== undefined) native.close(fd);
  const error = errnoError(pid, `spawn ${file}`);
  error.message = `spawn ${file} ${error.code}`;
  return { error: Object.assign(error, { path: file, spawnargs: args }), mine: [] };
}

const signalOf = (signal) => (typeof signal === 'number' ? signal : signals[signal ?? 'SIGTERM']);
const outcome = ([, code, signal]) => ({ status: signal ? null : code, signal: signal ? signalNames[signal] ?? `SIG${signal}` : null });

function normalize(args, options) {
  if (!Array.isArray(args)) [args, options] = [[], args];
  options = { ...options };
  return [args.map(String), options];
}
function withShell(file, args, options) {
  if (!options.shell) return [file, args];
  const shell = typeof options.shell === 'string' ? options.shell : '/bin/sh';
  return [shell, ['-c', [file, ...args].join(' ')]];
}

function spawnSync(file, given, givenOptions) {
  const [list, options] = normalize(given, givenOptions);
  const [program, args] = withShell(file, list, options);
  const limit = options.maxBuffer ?? 1024 * 1024;
  const encode = (bytes) => (options.encoding && options.encoding !== 'buffer' ? bytes.toString(options.encoding) : bytes);
  const child = start(program, args, options, true);
  if (child.error) {
    const error = Object.assign(child.error, { syscall: `spawnSync ${file}`, message: child.error.message.replace('spawn', 'spawnSync') });
    return { error, status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
  }
  let input = options.input === undefined ? Buffer.alloc(0) : typeof options.input === 'string' ? Buffer.from(options.input, options.encoding === 'buffer' ? 'utf8' : options.encoding) : Buffer.from(options.input.buffer ?? options.input, options.input.byteOffset, options.input.byteLength);
  const output = child.mine.map((fd, i) => (i === 0 || fd === undefined ? null : []));
  const sizes = child.mine.map(() => 0);
  let error;
  let end;
  const deadline = options.timeout ? performance.now() + options.timeout : Infinity;
  const close = (i) => { native.close(child.mine[i]); child.mine[i] = undefined; };
  const stop = (code) => {
    error ??= Object.assign(new Error(`spawnSync ${file} ${code}`), { code, errno: code === 'ETIMEDOUT' ? -110 : -105, syscall: `spawnSync ${file}`, path: file, spawnargs: args });
    native.kill(child.pid, signalOf(options.killSignal));
    // What the child has started may hold the other ends for as long as it likes.
    for (const i of child.mine.keys()) if (child.mine[i] !== undefined) close(i);
  };
  if (child.mine[0] !== undefined && input.length === 0) close(0);
  const block = new Uint8Array(65536);
  while (child.mine.some((fd) => fd !== undefined)) {
    const open = child.mine.map((fd, i) => [fd, i]).filter(([fd]) => fd !== undefined);
    const left = deadline - performance.now();
    if (left <= 0) { stop('ETIMEDOUT'); break; }
    const ready = native.poll(open.map(([fd]) => fd), open.map(([, i]) => (i === 0 ? writable : readable)), left === Infinity ? -1 : Math.max(1, Math.ceil(left)));
    for (const [at, [fd, i]] of open.entries()) {
      if (!ready[at] || child.mine[i] === undefined) continue;
      if (i === 0) {
        const count = ready[at] & writable ? native.write(fd, input.buffer, input.byteOffset, Math.min(input.length, 4096), -1) : -32;
        input = count > 0 ? input.subarray(count) : Buffer.alloc(0);
        if (input.length === 0) close(0);
        continue;
      }
      const count = native.read(fd, block.buffer, 0, block.length, -1);
      if (count <= 0) { close(i); continue; }
      const room = Math.max(0, limit - sizes[i]);
      output[i].push(Buffer.from(block.subarray(0, Math.min(count, room))));
      sizes[i] += count;
      if (count > room) stop('ENOBUFS');
    }
  }
  while (deadline !== Infinity && !end && !error) {
    const state = native.wait(child.pid, 1);
    if (state[0]) end = state;
    else if (performance.now() >= deadline) stop('ETIMEDOUT');
    else internal.os.sleep(1);
  }
  end ??= native.wait(child.pid, 0);
  const texts = stdioOf(options.stdio).map((_, i) => (output[i] ? encode(Buffer.concat(output[i])) : null));
  return { ...(error ? { error } : {}), ...outcome(end), output: texts, pid: child.pid, stdout: texts[1], stderr: texts[2] };
}

function checked(result, command, options) {
  if (result.stderr?.length && options.stdio === undefined) process.stderr.write(result.stderr);
  if (result.error) throw Object.assign(result.error, result);
  if (result.status === 0) return result.stdout;
  const text = result.stderr?.length ? `\n${result.stderr.toString()}` : '';
  throw Object.assign(new Error(`Command failed: ${command}${text}`), result);
}
const execSync = (command, options = {}) => checked(spawnSync(command, [], { ...options, shell: options.shell ?? true }), command, options);
function execFileSync(file, given, givenOptions) {
  const [args, options] = normalize(given, givenOptions);
  return checked(spawnSync(file, args, options), [file, ...args].join(' '), options);
}

class ChildProcess extends EventEmitter {
  constructor() {
    super();
    Object.assign(this, { exitCode: null, signalCode: null, killed: false, connected: false, pid: undefined, stdin: null, stdout: null, stderr: null, stdio: [] });
  }
  kill(signal = 'SIGTERM') {
    if (this.pid === undefined || this.exitCode !== null || this.signalCode !== null) return false;
    const done = native.kill(this.pid, signalOf(signal)) === 0;
    if (done && signalOf(signal) !== 0) this.killed = true;
    return done;
  }
  ref() { this.#keep(true); }
  unref() { this.#keep(false); }
  #keep(on) {
    this._hold(on);
    for (const stream of this.stdio) stream?.[on ? 'ref' : 'unref']?.();
  }
  // Whether the program waits for this one.
  _hold(on) {
    if (on === Boolean(this._held) || (on && this._over)) return;
    this._held = on;
    internal.children += on ? 1 : -1;
    if (on) this._look?.ref();
    else this._look?.unref();
  }
  [Symbol.dispose]() { this.kill(); }
}

function spawn(file, given, givenOptions) {
  const [list, options] = normalize(given, givenOptions);
  const [program, args] = withShell(file, list, options);
  const child = new ChildProcess();
  const started = start(program, args, options);
  child.spawnfile = program;
  child.spawnargs = [program, ...args];
  if (started.error) {
    const tty = require('tty');
    child.stdin = tty.__closedOutput();
    child.stdout = tty.__closedInput();
    child.stderr = tty.__closedInput();
    process.nextTick(() => { child.emit('error', started.error); child.emit('close', -2, null); });
    return child;
  }
  child.pid = started.pid;
  let channel;
  if (started.ipc !== undefined) {
    if (options.__line) channel = options.__line(started.ipc);
    else {
      channel = require('ipc').attach(child, started.ipc, options.serialization === 'advanced');
      channel.read();
    }
  }
  const tty = require('tty');
  let open = 1;
  const done = () => { if (--open === 0) child.emit('close', child.exitCode, child.signalCode); };
  for (const [i, fd] of started.mine.entries()) {
    if (fd === undefined) { child.stdio[i] = null; continue; }
    child.stdio[i] = i === 0 ? tty.__pipeOutput(fd) : tty.__pipeInput(fd);
    if (i > 0) { open++; child.stdio[i].once('close', done); }
  }
  [child.stdin = null, child.stdout = null, child.stderr = null] = child.stdio;
  // There is no call that tells both of pipes and of children: it is asked after more and more rarely.
  let pause = 1;
  const look = () => {
    const state = native.wait(child.pid, 1);
    if (typeof state !== 'number' && state[0] === 0) {
      pause = Math.min(pause * 2, 16);
      child._look = setTimeout(look, pause);
      if (!child._held) child._look.unref();
      return;
    }
    const { status, signal } = typeof state === 'number' ? { status: -1, signal: null } : outcome(state);
    const over = () => {
      child.stdin?.destroy();
      child.emit('exit', status, signal);
      for (const stream of [child.stdout, child.stderr]) if (stream && !stream.listenerCount('data') && !stream.listenerCount('readable')) stream.resume();
      done();
    };
    child._over = true;
    child._hold(false);
    child.exitCode = status;
    child.signalCode = signal;
    if (!channel) return over();
    // Its last messages, which are ticks, are told before its end.
    channel.drain();
    process.nextTick(over);
  };
  child._hold(true);
  child._look = setTimeout(look, 1);
  process.nextTick(() => child.emit('spawn'));
  if (options.timeout) {
    const timer = setTimeout(() => child.kill(options.killSignal), options.timeout);
    child.once('exit', () => clearTimeout(timer));
  }
  const abort = () => { child.kill(options.killSignal); child.emit('error', EventEmitter.abortError(options.signal)); };
  if (options.signal?.aborted) abort();
  else options.signal?.addEventListener('abort', abort, { once: true });
  return child;
}

function execFile(file, given, givenOptions, givenCallback) {
  const rest = [given, givenOptions, givenCallback];
  const callback = rest.find((item) => typeof item === 'function');
  const [args, options] = normalize(...rest.filter((item) => typeof item !== 'function'));
  const encoding = options.encoding === undefined ? 'utf8' : options.encoding;
  const limit = options.maxBuffer ?? 1024 * 1024;
  const child = spawn(file, args, { ...options, stdio: 'pipe' });
  const parts = { stdout: [], stderr: [] };
  let failed;
  for (const name of ['stdout', 'stderr']) {
    let size = 0;
    child[name].on('data', (chunk) => {
      const room = limit - size;
      size += chunk.length;
      parts[name].push(chunk.subarray(0, Math.max(0, room)));
      if (size > limit && !failed) {
        failed = Object.assign(new RangeError(`${name} maxBuffer length exceeded`), { code: 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' });
        child.kill(options.killSignal);
      }
    });
  }
  const text = (name) => {
    const bytes = Buffer.concat(parts[name]);
    return encoding && encoding !== 'buffer' ? bytes.toString(encoding) : bytes;
  };
  child.once('error', (error) => { failed ??= error; });
  child.once('close', (code, signal) => {
    if (!callback) return;
    const stdout = text('stdout'), stderr = text('stderr');
    if (!failed && code === 0 && signal === null) return void callback(null, stdout, stderr);
    const command = options.__command ?? [file, ...args].join(' ');
    const error = failed ?? Object.assign(new Error(`Command failed: ${command}\n${stderr}`), { code, killed: child.killed, signal });
    callback(Object.assign(error, { cmd: command }), stdout, stderr);
  });
  return child;
}
function exec(command, options, callback) {
  if (typeof options === 'function') [options, callback] = [{}, options];
  const shell = typeof options?.shell === 'string' ? options.shell : '/bin/sh';
  return execFile(shell, ['-c', command], { ...options, shell: false, __command: command }, callback);
}
const both = (call) => (...args) => {
  let child;
  const promise = new Promise((resolve, reject) => {
    child = call(...args, (error, stdout, stderr) => (error ? reject(Object.assign(error, { stdout, stderr })) : resolve({ stdout, stderr })));
  });
  promise.child = child;
  return promise;
};
const custom = Symbol.for('nodejs.util.promisify.custom');
exec[custom] = both(exec);
execFile[custom] = both(execFile);

module.exports = { ChildProcess, spawn, spawnSync, exec, execSync, execFile, execFileSync,
  fork(file, args, options) {
    if (!Array.isArray(args)) [args, options] = [[], args ?? options];
    options = { ...options };
    if (typeof options.stdio === 'string') options.stdio = [options.stdio, options.stdio, options.stdio, 'ipc'];
    else if (!options.stdio) options.stdio = options.silent ? ['pipe', 'pipe', 'pipe', 'ipc'] : [0, 1, 2, 'ipc'];
    else if (!options.stdio.includes('ipc')) throw Object.assign(new Error("Forked processes must have an IPC channel, missing value 'ipc' in options.stdio"), { code: 'ERR_CHILD_PROCESS_IPC_REQUIRED' });
    const module = file instanceof URL ? require('url').fileURLToPath(file) : String(file);
    return spawn(options.execPath ?? process.execPath, [...options.execArgv ?? process.execArgv, module, ...args], { ...options, shell: false });
  } };
