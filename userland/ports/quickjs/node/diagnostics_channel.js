// diagnostics_channel: names that messages are published under, to whoever has subscribed.
const channels = new Map();
const checked = (fn) => { if (typeof fn !== 'function') throw Object.assign(new TypeError(`The "subscription" argument must be of type function. Received ${fn === null ? 'null' : typeof fn}`), { code: 'ERR_INVALID_ARG_TYPE' }); };
// What a subscriber throws is nobody's who publishes.
const late = (error) => process.nextTick(() => { throw error; });

class Channel {
  #subscribers = [];
  #stores = new Map();
  constructor(name) { this.name = name; }
  get hasSubscribers() { return this.#subscribers.length > 0 || this.#stores.size > 0; }
  subscribe(fn) { checked(fn); this.#subscribers = [...this.#subscribers, fn]; }
  unsubscribe(fn) {
    const at = this.#subscribers.indexOf(fn);
    if (at < 0) return false;
    this.#subscribers = this.#subscribers.toSpliced(at, 1);
    return true;
  }
  bindStore(store, transform) { this.#stores.set(store, transform); }
  unbindStore(store) { return this.#stores.delete(store); }
  publish(data) {
    for (const fn of this.#subscribers) {
      try {
        fn(data, this.name);
      } catch (error) {
        late(error);
      }
    }
  }
  runStores(data, fn, self, ...args) {
    let run = () => { this.publish(data); return Reflect.apply(fn, self, args); };
    for (const [store, transform] of this.#stores) {
      const inner = run;
      run = () => {
        let value = data;
        try {
          if (transform) value = transform(data);
        } catch (error) {
          late(error);
          return inner();
        }
        return store.run(value, inner);
      };
    }
    return run();
  }
}
function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol') throw Object.assign(new TypeError(`The "channel" argument must be of type string or symbol. Received ${name === null || name === undefined ? name : `type ${typeof name}`}`), { code: 'ERR_INVALID_ARG_TYPE' });
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

const events = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
class TracingChannel {
  constructor(given) { for (const event of events) this[event] = typeof given === 'string' ? channel(`tracing:${given}:${event}`) : given[event]; }
  get hasSubscribers() { return events.some((event) => this[event]?.hasSubscribers); }
  subscribe(handlers) { for (const event of events) if (handlers[event]) this[event].subscribe(handlers[event]); }
  unsubscribe(handlers) { return events.filter((event) => handlers[event]).map((event) => this[event].unsubscribe(handlers[event])).every(Boolean); }
  traceSync(fn, context = {}, self, ...args) {
    return this.start.runStores(context, () => {
      try {
        return context.result = Reflect.apply(fn, self, args);
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  tracePromise(fn, context = {}, self, ...args) {
    const settled = (name) => (value) => {
      context[name] = value;
      if (name === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
      if (name === 'error') throw value;
      return value;
    };
    return this.start.runStores(context, () => {
      try {
        return Promise.resolve(Reflect.apply(fn, self, args)).then(settled('result'), settled('error'));
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  traceCallback(fn, position = -1, context = {}, self, ...args) {
    const at = position < 0 ? args.length + position : position, callback = args[at], { asyncStart, asyncEnd, error: errors } = this;
    args[at] = function (error, result) {
      if (error) {
        context.error = error;
        errors.publish(context);
      } else {
        context.result = result;
      }
      asyncStart.runStores(context, () => {
        try {
          Reflect.apply(callback, this, arguments);
        } finally {
          asyncEnd.publish(context);
        }
      });
    };
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(fn, self, args);
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
}

module.exports = { channel, Channel, hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false, subscribe: (name, fn) => channel(name).subscribe(fn), unsubscribe: (name, fn) => channel(name).unsubscribe(fn),
  tracingChannel: (given) => new TracingChannel(given) };
