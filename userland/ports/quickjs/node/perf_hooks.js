// perf_hooks: the engine's clock, and the marks and measures of a program, in the order of their times.
const { native } = internal;
const { performance } = globalThis;
const { coded, isFunction, wrongType } = require('checks');

class PerformanceEntry {
  constructor(name, entryType, startTime, duration, detail) { Object.assign(this, { name, entryType, startTime, duration, detail }); }
  toJSON() { return { ...this }; }
}
class PerformanceMark extends PerformanceEntry {
  constructor(name, { startTime = performance.now(), detail = null } = {}) {
    if (arguments.length === 0) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "name" argument must be specified');
    if (typeof startTime !== 'number') throw wrongType('startTime', 'number', startTime);
    if (startTime < 0) throw coded(TypeError, 'ERR_PERFORMANCE_INVALID_TIMESTAMP', `${startTime} is not a valid timestamp`);
    super(String(name), 'mark', startTime, 0, structuredClone(detail));
  }
}
class PerformanceMeasure extends PerformanceEntry {}

const entries = [], observers = new Set();
function add(entry) {
  entries.push(entry);
  for (const observer of observers) observer._take(entry);
  return entry;
}
const timeOf = (what) => {
  if (typeof what === 'number') return what;
  const mark = entries.findLast((entry) => entry.entryType === 'mark' && entry.name === String(what));
  if (!mark) throw new DOMException(`The "${what}" performance mark has not been set`, 'SyntaxError');
  return mark.startTime;
};
const inOrder = (list) => [...list].sort((a, b) => a.startTime - b.startTime);
function clear(type, name) {
  for (let i = entries.length; i-- > 0;) if (entries[i].entryType === type && (name === undefined || entries[i].name === String(name))) entries.splice(i, 1);
}
const methods = {
  mark: (...words) => add(new PerformanceMark(...words)),
  measure(name, from, to) {
    const words = from !== null && typeof from === 'object' ? from : { start: from, end: to };
    const { duration, detail = null } = words;
    if (words === from && words.start !== undefined && words.end !== undefined && duration !== undefined)
      throw coded(TypeError, 'ERR_PERFORMANCE_MEASURE_INVALID_OPTIONS', 'Must not have options.start, options.end, and options.duration specified');
    const end = words.end !== undefined ? timeOf(words.end) : words.start !== undefined && duration !== undefined ? timeOf(words.start) + duration : performance.now();
    const start = words.start !== undefined ? timeOf(words.start) : duration !== undefined ? end - duration : 0;
    return add(new PerformanceMeasure(String(name), 'measure', start, end - start, detail));
  },
  clearMarks: (name) => clear('mark', name),
  clearMeasures: (name) => clear('measure', name),
  getEntries: () => inOrder(entries),
  getEntriesByName: (name, type) => inOrder(entries.filter((entry) => entry.name === String(name) && (type === undefined || entry.entryType === type))),
  getEntriesByType: (type) => inOrder(entries.filter((entry) => entry.entryType === type)),
  timerify: (fn) => (isFunction(fn, 'fn'), function (...args) { return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args); }),
  // What of the time since the loop has begun, or since `before`, or between two of these, was not waited.
  eventLoopUtilization(now, before) {
    if (internal.loopBegan === undefined) return { idle: 0, active: 0, utilization: 0 };
    let { idle, active } = now ?? {};
    if (!before) {
      const waited = native.idleMs(), worked = performance.now() - internal.loopBegan - waited;
      [idle, active] = [waited - (idle ?? 0), worked - (active ?? 0)];
    } else {
      [idle, active] = [idle - before.idle, active - before.active];
    }
    return { idle, active, utilization: active / (idle + active) };
  },
  toJSON: () => ({ nodeTiming: performance.nodeTiming, timeOrigin: performance.timeOrigin, eventLoopUtilization: performance.eventLoopUtilization() }),
};
// Where the program is in its life: what of it is not measured apart is the beginning.
class PerformanceNodeTiming extends PerformanceEntry {
  constructor() {
    super('node', 'node', 0, undefined);
    delete this.detail;
    const now = performance.now(), loop = () => internal.loopBegan ?? -1;
    Object.assign(this, { nodeStart: 0, v8Start: 0, bootstrapComplete: now, environment: now });
    const told = { duration: () => performance.now(), loopStart: loop, loopExit: () => -1, idleTime: () => (internal.loopBegan === undefined ? 0 : native.idleMs()) };
    for (const [name, get] of Object.entries(told)) Object.defineProperty(this, name, { get, enumerable: true, configurable: true });
  }
}
Object.defineProperty(performance, 'nodeTiming', { value: new PerformanceNodeTiming(), writable: true, configurable: true });
for (const [name, value] of Object.entries(methods)) Object.defineProperty(performance, name, { value, writable: true, configurable: true });

// It is told of what comes while it looks, a turn later.
class PerformanceObserver {
  static supportedEntryTypes = ['mark', 'measure'];
  #callback;
  #types = [];
  #taken = [];
  constructor(callback) {
    isFunction(callback, 'callback');
    this.#callback = callback;
  }
  observe({ entryTypes, type, buffered } = {}) {
    if (entryTypes === undefined && type === undefined) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "options.entryTypes" and "options.type" arguments must be specified');
    this.#types = entryTypes ?? [...this.#types, type];
    observers.add(this);
    if (buffered) entries.forEach((entry) => this._take(entry));
  }
  disconnect() { observers.delete(this); this.#taken = []; }
  takeRecords() { return this.#taken.splice(0); }
  _take(entry) {
    if (!this.#types.includes(entry.entryType) || this.#taken.push(entry) > 1) return;
    setImmediate(() => {
      const list = this.takeRecords();
      if (list.length === 0) return;
      const of = (wanted) => list.filter(wanted);
      this.#callback({ getEntries: () => inOrder(list), getEntriesByName: (name) => of((each) => each.name === name), getEntriesByType: (kind) => of((each) => each.entryType === kind) }, this);
    });
  }
}
module.exports = { performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, constants: {},
  createHistogram: (...words) => require('histogram').createHistogram(...words), monitorEventLoopDelay: (...words) => require('histogram').monitorEventLoopDelay(...words) };
