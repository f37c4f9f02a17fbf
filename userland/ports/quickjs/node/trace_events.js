// trace_events: which categories of events are traced. The choice is kept and told; the engine writes no events, so there is no file of them.
const { coded, isObject, wrongType } = require('checks');

const enabled = new Map();

class Tracing {
  #enabled = false;
  #categories;
  constructor(categories) { this.#categories = categories; }
  #count(by) { for (const name of this.#categories) enabled.set(name, (enabled.get(name) ?? 0) + by); }
  enable() {
    if (!this.#enabled) this.#count(1);
    this.#enabled = true;
  }
  disable() {
    if (this.#enabled) this.#count(-1);
    this.#enabled = false;
  }
  get enabled() { return this.#enabled; }
  get categories() { return this.#categories.join(','); }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    if (typeof depth === 'number' && depth < 0) return this;
    return `Tracing ${inspect({ enabled: this.enabled, categories: this.categories }, options)}`;
  }
}

module.exports = {
  createTracing(options) {
    isObject(options, 'options');
    if (!Array.isArray(options.categories)) throw wrongType('options.categories', 'Array', options.categories);
    options.categories.forEach((name, i) => { if (typeof name !== 'string') throw wrongType(`options.categories[${i}]`, 'string', name); });
    if (options.categories.length === 0) throw coded(TypeError, 'ERR_TRACE_EVENTS_CATEGORY_REQUIRED', 'At least one category is required');
    return new Tracing([...options.categories]);
  },
  getEnabledCategories: () => [...enabled].filter(([, count]) => count > 0).map(([name]) => name).sort().join(',') || undefined,
};
