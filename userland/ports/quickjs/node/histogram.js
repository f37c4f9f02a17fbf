// perf_hooks.createHistogram and monitorEventLoopDelay: counts of values to three digits, as HdrHistogram keeps them.
const { isInteger, isObject, outOfRange, wrongType } = require('checks');
const inspected = Symbol.for('nodejs.util.inspect.custom');

// Values up to 2 ** (figures' bits) are told apart; above that, those of one width are the same.
const bitsOf = (value) => Math.floor(Math.log2(value)) + 1;
class Histogram {
  #counts = new Map();
  #count = 0;
  #exceeds = 0;
  #least = Infinity;
  #most = 0;
  #highest;
  #digits;
  constructor(highest, figures) {
    this.#highest = highest;
    this.#digits = Math.ceil(Math.log2(2 * 10 ** figures));
  }
  #width(value) { return 2 ** Math.max(bitsOf(Math.max(value, 1)) - this.#digits, 0); }
  #lowest(value) { return Math.floor(value / this.#width(value)) * this.#width(value); }
  #uppermost(value) { return this.#lowest(value) + this.#width(value) - 1; }
  static keep(histogram, value, times = 1) {
    if (value > histogram.#highest) return void histogram.#exceeds++;
    const lowest = histogram.#lowest(value);
    histogram.#counts.set(lowest, (histogram.#counts.get(lowest) ?? 0) + times);
    histogram.#count += times;
    histogram.#least = Math.min(histogram.#least, value);
    histogram.#most = Math.max(histogram.#most, value);
  }
  static addAll(histogram, other) {
    for (const [value, times] of other.#counts) Histogram.keep(histogram, value, times);
    if (other.#count) Histogram.#bounds(histogram, other);
    histogram.#exceeds += other.#exceeds;
  }
  static #bounds(histogram, other) {
    histogram.#least = Math.min(histogram.#least, other.#least);
    histogram.#most = Math.max(histogram.#most, other.#most);
  }
  #sorted() { return [...this.#counts].sort(([a], [b]) => a - b); }
  get count() { return this.#count; }
  get countBigInt() { return BigInt(this.#count); }
  get exceeds() { return this.#exceeds; }
  get exceedsBigInt() { return BigInt(this.#exceeds); }
  get min() { return this.#count ? this.#lowest(this.#least) : 9223372036854776000; }
  get minBigInt() { return this.#count ? BigInt(this.min) : 2n ** 63n - 1n; }
  get max() { return this.#count ? this.#uppermost(this.#most) : 0; }
  get maxBigInt() { return BigInt(this.max); }
  get mean() {
    let sum = 0;
    for (const [value, times] of this.#counts) sum += (value + Math.floor(this.#width(value) / 2)) * times;
    return sum / this.#count;
  }
  get stddev() {
    const { mean } = this;
    let sum = 0;
    for (const [value, times] of this.#counts) sum += (value + Math.floor(this.#width(value) / 2) - mean) ** 2 * times;
    return Math.sqrt(sum / this.#count);
  }
  percentile(percentile) {
    if (typeof percentile !== 'number') throw wrongType('percentile', 'number', percentile);
    if (!(percentile > 0 && percentile <= 100)) throw outOfRange('percentile', '> 0 && <= 100', percentile);
    const wanted = Math.max(Math.floor(percentile / 100 * this.#count + 0.5), 1);
    let seen = 0;
    for (const [value, times] of this.#sorted()) if ((seen += times) >= wanted) return this.#uppermost(value);
    return 0;
  }
  percentileBigInt(percentile) { return BigInt(this.percentile(percentile)); }
  // At each half of what is left to all of them.
  get percentiles() {
    const found = new Map();
    let seen = 0, next = 0, last = 0;
    for (const [value, times] of this.#sorted()) {
      seen += times;
      last = value;
      while (next <= 100 * seen / this.#count) {
        found.set(next, value);
        next += 100 / 2 ** (Math.floor(Math.log2(100 / (100 - next))) + 1);
        if (seen === this.#count) break;
      }
    }
    return found.set(100, last);
  }
  get percentilesBigInt() { return new Map([...this.percentiles].map(([at, value]) => [at, BigInt(value)])); }
  reset() {
    this.#counts.clear();
    [this.#count, this.#exceeds, this.#least, this.#most] = [0, 0, Infinity, 0];
  }
  toJSON() {
    const { count, min, max, mean, exceeds, stddev, percentiles } = this;
    return { count, min, max, mean, exceeds, stddev, percentiles: Object.fromEntries(percentiles) };
  }
  [inspected](depth, options, inspect) {
    if (depth < 0) return this;
    const { min, max, mean, exceeds, stddev, count, percentiles } = this;
    return `Histogram ${inspect({ min, max, mean, exceeds, stddev, count, percentiles }, { ...options, depth: options.depth === null ? null : options.depth - 1 })}`;
  }
}

const now = () => process.hrtime.bigint();
class RecordableHistogram extends Histogram {
  #before = 0n;
  record(value) {
    if (typeof value === 'bigint') value = Number(value);
    isInteger(value, 'val', 1);
    Histogram.keep(this, value);
  }
  // The nanoseconds since it was last called.
  recordDelta() {
    const time = now(), before = this.#before;
    this.#before = time;
    if (before) Histogram.keep(this, Math.max(Number(time - before), 1));
  }
  add(other) {
    if (!(other instanceof RecordableHistogram)) throw wrongType('other', 'RecordableHistogram', other);
    Histogram.addAll(this, other);
  }
}
function createHistogram(options = {}) {
  isObject(options, 'options');
  const { lowest = 1, highest = Number.MAX_SAFE_INTEGER, figures = 3 } = options;
  for (const [name, value, least] of [['lowest', lowest, 1], ['highest', highest, 2 * Number(lowest)]]) {
    if (typeof value !== 'bigint') isInteger(value, `options.${name}`, least);
    else if (value < least) throw outOfRange(`options.${name}`, `>= ${least} && <= ${Number.MAX_SAFE_INTEGER}`, value);
  }
  isInteger(figures, 'options.figures', 1, 5);
  return new RecordableHistogram(Number(highest), figures);
}

// How long a timer of the loop takes from one time to the next, in nanoseconds.
class ELDHistogram extends Histogram {
  #resolution;
  #timer;
  constructor(resolution) {
    super(3600e9, 3);
    this.#resolution = resolution;
  }
  enable() {
    if (this.#timer) return false;
    let before = now();
    this.#timer = setInterval(() => {
      const time = now();
      Histogram.keep(this, Math.max(Number(time - before), 1));
      before = time;
    }, this.#resolution).unref();
    return true;
  }
  disable() {
    if (!this.#timer) return false;
    clearInterval(this.#timer);
    this.#timer = undefined;
    return true;
  }
  [Symbol.dispose]() { this.disable(); }
}
function monitorEventLoopDelay(options = {}) {
  isObject(options, 'options');
  const { resolution = 10 } = options;
  isInteger(resolution, 'options.resolution', 1);
  return new ELDHistogram(resolution);
}

module.exports = { createHistogram, monitorEventLoopDelay };
