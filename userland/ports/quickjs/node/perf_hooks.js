// perf_hooks: the engine's clock, and the marks and measures of a program, in the order of their times.
const { native } = internal;
const { performance } = globalThis;

class PerformanceEntry {
  constructor(name, entryType, startTime, duration, detail) { Object.assign(this, { name, entryType, startTime, duration, detail }); }
  toJSON() { return { ...this }; }
}
class PerformanceMark extends PerformanceEntry {
  constructor(name, { startTime = performance.now(), detail = null } = {}) { super(String(name), 'mark', startTime, 0, detail); }
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
  mark: (name, options) => add(new PerformanceMark(name, options)),
  measure(name, from, to) {
    const words = from !== null && typeof from === 'object' ? from : { start: from, end: to };
    const { duration, detail = null } = words;
    const end = words.end !== undefined ? timeOf(words.end) : words.start !== undefined && duration !== undefined ? timeOf(words.start) + duration : performance.now();
    const start = words.start !== undefined ? timeOf(words.start) : duration !== undefined ? end - duration : 0;
    return add(new PerformanceMeasure(String(name), 'measure', start, end - start, detail));
  },
  clearMarks: (name) => clear('mark', name),
  clearMeasures: (name) => clear('measure', name),
  getEntries: () => inOrder(entries),
  getEntriesByName: (name, type) => inOrder(entries.filter((entry) => entry.name === String(name) && (type === undefined || entry.entryType === type))),
  getEntriesByType: (type) => inOrder(entries.filter((entry) => entry.entryType === type)),
  timerify: (fn) => function (...args) { return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args); },
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
  toJSON: () => ({ timeOrigin: performance.timeOrigin }),
};
for (const [name, value] of Object.entries(methods)) Object.defineProperty(performance, name, { value, writable: true, configurable: true });

// It is told of what comes while it looks, a turn later.
class PerformanceObserver {
  static supportedEntryTypes = ['mark', 'measure'];
  #callback;
  #types = [];
  #taken = [];
  constructor(callback) { this.#callback = callback; }
  observe({ entryTypes, type, buffered } = {}) {
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
module.exports = { performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, constants: {} };
