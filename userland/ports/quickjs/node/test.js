// node:test: tests, suites, hooks and mocks; their results as TAP or for people, and `node --test`, which runs files.
const { native } = internal;
const { inspect } = require('util');
const reports = require('node:test/reporters');

const failure = (message, failureType, cause) => Object.assign(new Error(message), { code: 'ERR_TEST_FAILURE', failureType, cause });

// Where the program called.
function callerPlace() {
  const place = /\(?((?:\/|file:|\[)[^()]*:\d+:\d+)\)?$/.exec((new Error().stack.split('\n')[1] ?? '').trim());
  return place ? place[1] : undefined;
}

const settings = { pattern: undefined, only: false, reporters: undefined, destinations: undefined };
const hooksOf = () => ({ before: [], after: [], beforeEach: [], afterEach: [] });

class Item {
  constructor(name, options, fn, parent, type) {
    Object.assign(this, { name: name || fn?.name || '<anonymous>', options, fn, parent, type, place: callerPlace(), hooks: hooksOf(), children: [], results: [], notes: [], finished: false });
    if (options.skip) this.skip = options.skip;
    if (options.todo) this.todo = options.todo;
  }
  // What is told of it: a tree of plain values.
  result() {
    return { name: this.name, type: this.type, skip: this.skip, todo: this.todo, place: this.place, notes: this.notes, duration: this.duration ?? 0,
      error: this.error && told(this.error), children: this.results.map((item) => item.result()) };
  }
}
const told = (error) => ({ message: error.message, type: error.failureType, cause: describe(error.cause), cancelled: error.failureType === 'cancelledByParent' || error.failureType === 'testTimeoutFailure' });
function describe(cause) {
  if (cause === undefined) return undefined;
  if (!(internal.isError(cause))) return { text: inspect(cause), shown: inspect(cause) };
  const out = { text: cause.message, shown: inspect(cause), code: cause.code, name: cause.name, stack: String(cause.stack).split('\n').filter((line) => line.startsWith('    at ')).map((line) => line.slice(7)) };
  if ('actual' in cause && 'expected' in cause) Object.assign(out, { expected: inspect(cause.expected, { depth: 4 }), actual: inspect(cause.actual, { depth: 4 }), operator: cause.operator });
  return out;
}

class Context {
  #item;
  constructor(item) { this.#item = item; this.mock = new MockTracker(); this.signal = (item.controller = new AbortController()).signal; item.context = this; }
  get name() { return this.#item.name; }
  get fullName() { return fullName(this.#item); }
  diagnostic(text) { this.#item.notes.push(String(text)); }
  skip(text) { this.#item.skip = text ?? true; }
  todo(text) { this.#item.todo = text ?? true; }
  before(fn) { this.#item.hooks.before.push(fn); return void fn; }
  after(fn) { this.#item.hooks.after.push(fn); }
  beforeEach(fn) { this.#item.hooks.beforeEach.push(fn); }
  afterEach(fn) { this.#item.hooks.afterEach.push(fn); }
  runOnly() {}
  test(...args) {
    const item = new Item(...words(args), this.#item, 'test');
    const parent = this.#item;
    parent.children.push(item);
    // One after the other, in the order in which they were begun.
    parent.chain = (parent.chain ?? Promise.resolve()).then(() => (parent.finished ? undefined : run(item)));
    return parent.chain;
  }
}
const fullName = (item) => (item.parent?.parent ? `${fullName(item.parent)} > ${item.name}` : item.name);

function words([name, options, fn]) {
  if (typeof name === 'function') [name, options, fn] = [name.name, {}, name];
  else if (name !== null && typeof name === 'object') [name, options, fn] = [options?.name, name, options];
  else if (typeof options === 'function') [options, fn] = [{}, options];
  return [name, options ?? {}, fn];
}

// Calls it, with a callback where it asks for one, and waits at most as long as it may take.
async function call(item, fn, ...args) {
  let timer;
  const limit = item.options.timeout;
  const late = new Promise((_, reject) => {
    if (!(limit > 0 && limit < Infinity)) return;
    timer = setTimeout(() => { item.controller?.abort(); reject(failure(`test timed out after ${limit}ms`, 'testTimeoutFailure')); }, limit);
  });
  late.catch(() => {});
  const work = fn.length > args.length
    ? new Promise((resolve, reject) => {
      const result = fn(...args, (error) => (error ? reject(error) : resolve()));
      if (typeof result?.then === 'function') reject(failure('passed a callback but also returned a Promise', 'callbackAndPromisePresent'));
    })
    : (async () => fn(...args))();
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
async function hooks(item, kind, context) {
  for (const fn of item.hooks[kind]) {
    try {
      await call({ options: {} }, fn, context);
    } catch (error) {
      throw failure(`failed running ${kind} hook`, 'hookFailed', error);
    }
  }
}
const above = (item) => (item.parent ? [...above(item.parent), item.parent] : []);

function isLeftOut(item) {
  if (settings.only && item.type === 'test' && !item.options.only && !above(item).some((outer) => outer.options.only)) return "'only' option not set";
  if (settings.pattern && item.type === 'test' && !settings.pattern.test(item.name)) return 'test name does not match pattern';
  return undefined;
}

async function run(item) {
  item.parent.results.push(item);
  const begun = performance.now();
  item.skip ??= isLeftOut(item);
  const problem = (error) => { item.error ??= error?.failureType ? error : failure(error?.message ?? inspect(error), 'testCodeFailure', error); };
  if (!item.skip && item.type === 'suite') {
    try {
      await item.made;
      await hooks(item, 'before', item);
      for (const child of item.children) await run(child);
    } catch (error) {
      problem(error);
    }
    try { await hooks(item, 'after', item); } catch (error) { problem(error); }
  } else if (!item.skip && item.fn) {
    const context = new Context(item);
    const outer = above(item);
    try {
      if (item.parent === root && !root.prepared) { root.prepared = true; await hooks(root, 'before', root); }
      for (const one of outer) await hooks(one, 'beforeEach', context);
      await call(item, item.fn.bind(context), context);
      if (item.children.some((child) => !child.duration)) await null;
    } catch (error) {
      problem(error);
    }
    for (const child of item.children) {
      if (child.duration !== undefined) continue;
      child.error = failure('test did not finish before its parent and was cancelled', 'cancelledByParent');
      child.duration = 0;
      if (!item.results.includes(child)) item.results.push(child);
    }
    item.finished = true;
    try {
      for (const one of outer.toReversed()) await hooks(one, 'afterEach', context);
      await hooks(item, 'after', context);
    } catch (error) {
      problem(error);
    }
    context.mock.restoreAll();
  }
  const failed = item.results.filter((child) => child.error && !child.todo).length;
  if (failed && !item.error) item.error = failure(`${failed} subtest${failed > 1 ? 's' : ''} failed`, 'subtestsFailed');
  item.duration = performance.now() - begun;
  if (item.parent === root) report(item.result());
}

// --- Results ---

const counts = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
function count(result) {
  if (result.type === 'suite') counts.suites++;
  else {
    counts.tests++;
    counts[result.skip ? 'skipped' : result.todo ? 'todo' : result.error?.cancelled ? 'cancelled' : result.error ? 'fail' : 'pass']++;
  }
  for (const child of result.children) count(child);
}

const began = performance.now();
const summary = () => [...Object.entries(counts).map(([name, number]) => `${name} ${number}`), `duration_ms ${Number((performance.now() - began).toFixed(6))}`];

// What is told of a result: the events of Node.js, for it and for all that is in it.
function* eventsOf(result, number, nesting = 0) {
  const [, file, line, column] = /^(.*?)(?::(\d+):(\d+))?$/.exec(result.place ?? ''), place = { ...(line !== undefined && { line: Number(line), column: Number(column) }), ...(file && { file }) };
  const event = (type, data) => ({ type, data: { ...data, ...place } });
  yield event('test:start', { nesting, name: result.name });
  for (const [i, child] of result.children.entries()) yield* eventsOf(child, i + 1, nesting + 1);
  if (result.children.length) yield event('test:plan', { nesting: nesting + 1, count: result.children.length });
  const error = result.error && errorOf(result.error);
  yield event(error ? 'test:fail' : 'test:pass', { name: result.name, nesting, testNumber: number, details: { duration_ms: result.duration, type: result.type, ...(error && { error }) },
    ...(result.skip && { skip: result.skip }), ...(result.todo && { todo: result.todo }) });
  for (const message of result.notes) yield event('test:diagnostic', { nesting, message, level: 'info' });
}
// An error that may have come from another process, as an error again.
function errorOf({ message, type, cause }) {
  const error = failure(message, type);
  Object.defineProperty(error, 'stack', { value: `Error: ${message}`, configurable: true, writable: true });
  if (!cause) return error;
  error[reports.__shown] = cause.shown;
  Object.defineProperty(error, reports.__shown, { enumerable: false });
  if (cause.name === undefined) return Object.assign(error, { cause: cause.text });
  const inner = new Error(cause.text);
  for (const key of ['code', 'operator']) if (cause[key] !== undefined) inner[key] = cause[key];
  Object.defineProperties(inner, { name: { value: cause.name, configurable: true }, stack: { value: [`${cause.name}: ${cause.text}`, ...cause.stack.map((line) => `    at ${line}`)].join('\n'), configurable: true },
    [reports.__described]: { value: cause }, [Symbol.for('nodejs.util.inspect.custom')]: { value: () => cause.shown } });
  return Object.assign(error, { cause: inner });
}

// The results of a file that `node --test` runs go to who runs it, each in a line of its own.
const mark = '\u0001node-test ';
const inChild = process.env.NODE_TEST_CONTEXT === 'child';
let number = 0, failures = 0, sinks;
function print(text) { if (text) internal.writeAll(1, text); }
function tell(event) { for (const sink of sinks) sink.take(event); }
function report(result) {
  if (inChild) {
    if (result.error && !result.todo) process.exitCode = 1;
    return print(`${mark}${JSON.stringify(result)}\n`);
  }
  begin();
  count(result);
  if (result.error && !result.todo) failures++;
  for (const event of eventsOf(result, ++number)) tell(event);
}
function refuse(text) {
  internal.writeAll(2, `node: ${text}\n`);
  native.exit(1);
}
// Where a reporter's text goes.
function destination(name) {
  if (name === undefined || name === 'stdout' || name === 'stderr') return (text) => { if (text) internal.writeAll(name === 'stderr' ? 2 : 1, text); };
  const fd = require('fs').openSync(name, 'w');
  return (text) => { if (text) internal.writeAll(fd, text); };
}
// One of the library writes at once; one of the program's takes its events from a stream.
function sinkOf(name, write) {
  if (Object.hasOwn(reports.__makers, name)) {
    const reporter = reports.__makers[name]();
    write(reporter.begin);
    return { take: (event) => write(reporter.take(event)), end: () => write(reporter.end?.()) };
  }
  const source = new (require('stream').Readable)({ objectMode: true, highWaterMark: Infinity, read() {} });
  const loaded = (async () => {
    const file = /^\.{0,2}\//.test(name) ? require('path').resolve(name) : name;
    const found = await import(file).catch((error) => refuse(`no reporter of tests is called ${name}: ${error.message}`));
    const made = found.default ?? found, isStream = typeof made?.pipe === 'function' || typeof made?.prototype?.pipe === 'function';
    const text = isStream ? source.pipe(typeof made === 'function' ? new made() : made) : typeof made === 'function' ? made(source) : refuse(`the reporter of tests ${name} is no function and no stream`);
    for await (const piece of text) write(typeof piece === 'string' ? piece : String(piece));
  })();
  loaded.catch(internal.fatal);
  return { take: (event) => source.push(event), end: () => source.push(null) };
}
function begin() {
  if (sinks) return;
  const { reporters: names = [], destinations = [] } = settings;
  if (destinations.length && destinations.length !== Math.max(names.length, 1)) refuse('each --test-reporter wants a --test-reporter-destination of its own');
  sinks = (names.length ? names : [process.stdout.isTTY ? 'spec' : 'tap']).map((name, i) => sinkOf(name, destination(destinations[i])));
}
let ended = false;
function end() {
  if (ended) return;
  ended = true;
  begin();
  tell({ type: 'test:plan', data: { nesting: 0, count: number } });
  for (const message of summary()) tell({ type: 'test:diagnostic', data: { nesting: 0, message, level: 'info' } });
  const { tests, suites, pass, fail, cancelled, skipped, todo } = counts;
  tell({ type: 'test:summary', data: { success: failures === 0, counts: { tests, failed: fail, passed: pass, cancelled, skipped, todo, topLevel: number, suites }, duration_ms: performance.now() - began } });
  for (const sink of sinks) sink.end();
  if (failures) process.exitCode ||= 1;
}

// --- What programs call ---

const root = new Item('', {}, undefined, undefined, 'suite');
let suite = root, queue = Promise.resolve(), started = false;
function start() {
  if (started) return;
  started = true;
  Object.assign(settings, internal.testSettings);
  process.on('exit', () => {
    for (const item of root.children) {
      if (item.duration !== undefined) continue;
      item.error = failure('Promise resolution is still pending but the event loop has already resolved', 'cancelledByParent');
      report(item.result());
    }
    if (!inChild) end();
  });
  process.on('beforeExit', async () => {
    const hooked = root.hooks.after.splice(0);
    for (const fn of hooked) await fn(root);
    // A reporter of the program's goes on for a while.
    if (!inChild && root.children.every((item) => item.duration !== undefined) && sinks?.length) end();
  });
}

function test(...args) {
  const item = new Item(...words(args), suite, 'test');
  return place(item);
}
function place(item) {
  start();
  suite.children.push(item);
  if (suite !== root) return Promise.resolve();
  // A first one begins when the program has been read.
  queue = queue.then(() => (root.begun ? undefined : new Promise((resolve) => { root.begun = true; setImmediate(resolve); }))).then(() => run(item));
  return queue;
}
function describeSuite(...args) {
  const item = new Item(...words(args), suite, 'suite');
  const outer = suite;
  if (!item.skip && item.fn) {
    suite = item;
    try {
      item.made = Promise.resolve(item.fn(item));
    } catch (error) {
      item.made = Promise.reject(error);
    } finally {
      suite = outer;
    }
    item.made.catch(() => {});
  }
  return place(item);
}
const variants = (make) => {
  for (const kind of ['skip', 'todo', 'only']) {
    make[kind] = (...args) => {
      const [name, options, fn] = words(args);
      return make(name, { ...options, [kind]: true }, fn);
    };
  }
  return make;
};

// --- Mocks ---

class MockTracker {
  #made = [];
  fn(original = function () {}, implementation, options) {
    if (implementation !== null && typeof implementation === 'object') [implementation, options] = [undefined, implementation];
    return this.#make(original, implementation ?? original, options, () => {});
  }
  method(object, name, implementation, options = {}) {
    if (implementation !== null && typeof implementation === 'object') [implementation, options] = [undefined, implementation];
    let owner = object;
    while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
    const kind = options.getter ? 'get' : options.setter ? 'set' : 'value';
    const found = owner && Object.getOwnPropertyDescriptor(owner, name);
    if (typeof found?.[kind] !== 'function') throw Object.assign(new TypeError(`The argument 'methodName' must be a method. Received ${inspect(found?.value)}`), { code: 'ERR_INVALID_ARG_VALUE' });
    const own = Object.hasOwn(object, name);
    const mocked = this.#make(found[kind], implementation ?? found[kind], options, () => {
      if (own) Object.defineProperty(object, name, found);
      else delete object[name];
    });
    Object.defineProperty(object, name, { ...found, configurable: true, [kind]: mocked });
    return mocked;
  }
  getter(object, name, implementation, options) { return this.method(object, name, implementation, { ...options, getter: true }); }
  setter(object, name, implementation, options) { return this.method(object, name, implementation, { ...options, setter: true }); }
  #make(original, implementation, options = {}, restore) {
    const calls = [], once = new Map();
    let now = implementation, left = options.times ?? Infinity;
    const mocked = new Proxy(original, {
      apply: (_, self, args) => note(self, args, undefined, (fn) => Reflect.apply(fn, self, args)),
      construct: (_, args, target) => note(undefined, args, target, (fn) => Reflect.construct(fn, args, target)),
      get: (target, name, self) => (name === 'mock' ? context : Reflect.get(target, name, self)),
    });
    const note = (self, args, target, work) => {
      const fn = once.get(calls.length) ?? (left > 0 ? now : original);
      once.delete(calls.length);
      if (left > 0 && --left === 0) restore();
      const made = { arguments: args, error: undefined, result: undefined, stack: new Error(), target, this: self };
      try {
        made.result = work(fn);
        return made.result;
      } catch (error) {
        made.error = error;
        throw error;
      } finally {
        calls.push(made);
      }
    };
    const context = {
      get calls() { return [...calls]; },
      callCount: () => calls.length,
      mockImplementation: (fn) => { now = fn; },
      mockImplementationOnce: (fn, at = calls.length) => { once.set(at, fn); },
      resetCalls: () => { calls.length = 0; },
      restore: () => { now = original; restore(); },
    };
    this.#made.push(context);
    return mocked;
  }
  restoreAll() { for (const context of this.#made) context.restore(); this.timers.reset(); }
  reset() { this.restoreAll(); this.#made = []; }
  timers = new MockTimers();
}

class MockTimers {
  #waiting = [];
  #now = 0;
  #real;
  #next = 1;
  enable({ apis = ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now = 0 } = {}) {
    if (this.#real) throw Object.assign(new Error('MockTimers is already enabled!'), { code: 'ERR_INVALID_STATE' });
    this.#now = Number(now);
    this.#real = {};
    const set = (name, value) => { this.#real[name] = globalThis[name]; globalThis[name] = value; };
    const add = (fn, delay, args, every) => {
      const timer = { fn, args, every, due: this.#now + Math.max(delay || 0, 0), order: this.#next++, ref: () => timer, unref: () => timer, hasRef: () => true };
      this.#waiting.push(timer);
      return timer;
    };
    const clear = (timer) => { this.#waiting = this.#waiting.filter((one) => one !== timer); };
    for (const api of apis) {
      if (api === 'setTimeout') set(api, (fn, delay, ...args) => add(fn, delay, args));
      else if (api === 'setInterval') set(api, (fn, delay, ...args) => add(fn, delay, args, Math.max(delay || 1, 1)));
      else if (api === 'setImmediate') set(api, (fn, ...args) => add(fn, 0, args));
      else if (api === 'Date') {
        const Real = Date, time = () => this.#now;
        set(api, new Proxy(Real, {
          apply: () => new Real(time()).toString(),
          construct: (target, args, self) => Reflect.construct(target, args.length ? args : [time()], self),
          get: (target, name) => (name === 'now' ? time : target[name]),
        }));
        continue;
      } else throw Object.assign(new TypeError(`The property 'options.apis' option ${api} is not supported.`), { code: 'ERR_INVALID_ARG_VALUE' });
      set(api.replace('set', 'clear'), clear);
    }
  }
  tick(time = 1) {
    if (!this.#real) throw Object.assign(new Error('You should enable MockTimers first by calling the .enable function'), { code: 'ERR_INVALID_STATE' });
    const until = this.#now + time;
    for (;;) {
      const next = this.#waiting.filter((timer) => timer.due <= until).sort((a, b) => a.due - b.due || a.order - b.order)[0];
      if (!next) break;
      this.#now = next.due;
      if (next.every) next.due += next.every;
      else this.#waiting = this.#waiting.filter((timer) => timer !== next);
      next.fn(...next.args);
    }
    this.#now = until;
  }
  runAll() { this.tick(Math.max(0, ...this.#waiting.map((timer) => timer.due - this.#now))); }
  setTime(time) { this.#now = Number(time); }
  reset() {
    for (const [name, value] of Object.entries(this.#real ?? {})) globalThis[name] = value;
    this.#real = undefined;
    this.#waiting = [];
  }
  [Symbol.dispose]() { this.reset(); }
}

// --- node --test ---

const isTestFile = (path) => /\.[cm]?js$/.test(path) && (/^test$|^test-.+|.+[._-]test$/.test(require('path').basename(path).replace(/\.[cm]?js$/, '')) || path.split('/').slice(0, -1).includes('test'));
function filesIn(folder) {
  return require('fs').readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = require('path').join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesIn(path);
    return isTestFile(path) ? [path] : [];
  });
}
async function runFiles(given, options) {
  const fs = require('fs'), path = require('path');
  started = true;
  Object.assign(settings, internal.testSettings);
  for (const name of given) {
    if (fs.existsSync(name)) continue;
    internal.writeAll(2, `Could not find '${path.resolve(name)}'\n`);
    native.exit(1);
  }
  if (settings.only) options.push('--test-only');
  if (settings.pattern) options.push(`--test-name-pattern=${settings.pattern}`);
  const names = (given.length ? given : ['.']).flatMap((name) => (fs.statSync(name).isDirectory() ? filesIn(name) : [name]));
  begin();
  for (const name of new Set(names)) {
    const file = path.resolve(name);
    const child = require('child_process').spawn(process.execPath, [...options, file], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_TEST_CONTEXT: 'child' } });
    let results = 0, bad = false;
    const exited = new Promise((resolve) => { child.on('close', (code, signal) => resolve(code ?? signal)); });
    for await (const line of require('readline').createInterface({ input: child.stdout })) {
      if (!line.startsWith(mark)) {
        tell({ type: 'test:stdout', data: { file, message: `${line}\n` } });
        continue;
      }
      const result = JSON.parse(line.slice(mark.length));
      results++;
      bad ||= Boolean(result.error);
      report(result);
    }
    const status = await exited;
    if (results && (status === 0 || bad)) continue;
    report({ name: file, type: 'test', place: `${file}:1:1`, notes: [], duration: 0, children: [], error: status === 0 ? undefined : { message: `test failed: ${typeof status === 'number' ? `exit code ${status}` : status}`, type: 'testCodeFailure' } });
  }
  end();
}

module.exports = variants(test);
const describeAll = variants(describeSuite);
Object.assign(test, { test, it: test, describe: describeAll, suite: describeAll, mock: new MockTracker(),
  before: (fn) => { suite.hooks.before.push(fn); }, after: (fn) => { start(); suite.hooks.after.push(fn); },
  beforeEach: (fn) => { suite.hooks.beforeEach.push(fn); }, afterEach: (fn) => { suite.hooks.afterEach.push(fn); } });
Object.defineProperty(test, '__runFiles', { value: runFiles });
