// Intl: American English alone, as far as locale.js writes it. What it does not know is an error, or not there.
const texts = require('locale');

const tagOf = { enumerable: false, configurable: true };
const localZone = () => process.env.TZ?.replace(/^:/, '') || 'UTC';
function define(name, Class) {
  Class.supportedLocalesOf = (locales = []) => [locales].flat().filter((one) => /^en\b/i.test(one));
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: `Intl.${name}`, ...tagOf });
  // Some are called without new.
  return new Proxy(Class, { apply: (target, self, args) => new target(...args) });
}

class NumberFormat {
  #options;
  constructor(locales, options = {}) { this.#options = { ...options }; texts.numberText(0, this.#options); this.format = (value) => texts.numberText(typeof value === 'bigint' ? value : Number(value), this.#options); }
  resolvedOptions() { return { locale: 'en-US', numberingSystem: 'latn', style: 'decimal', ...this.#options }; }
}
class DateTimeFormat {
  #options;
  constructor(locales, options = {}) {
    this.#options = { ...options };
    texts.dateText(0, this.#options);
    const timed = ['hour', 'minute', 'second', 'timeStyle'].some((name) => options[name] !== undefined), dated = ['weekday', 'year', 'month', 'day', 'dateStyle'].some((name) => options[name] !== undefined);
    const write = timed && dated ? texts.dateAndTimeText : timed ? texts.timeText : texts.dateText;
    this.format = (date = Date.now()) => {
      if (Number.isNaN(Number(date))) throw new RangeError('Invalid time value');
      return write(Number(date), this.#options);
    };
  }
  // The same text by its parts, which come in one order.
  formatToParts(date) {
    const text = this.format(date), options = this.#options, zone = options.timeZoneName !== undefined || /^(?:full|long)$/.test(options.timeStyle);
    const letters = text.search(/[A-Z][a-z]/), days = /^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)/, months = /^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/;
    const has = (name) => options[name] !== undefined, dates = ['month', 'day', 'year'], times = ['hour', 'minute', 'second'];
    const all = ![...dates, ...times, 'weekday', 'dateStyle', 'timeStyle'].some(has), styled = has('dateStyle') || has('timeStyle');
    let left = styled ? [...has('dateStyle') ? dates : [], ...has('timeStyle') ? [...times.slice(0, options.timeStyle === 'short' ? 2 : 3), 'dayPeriod'] : []]
      : all ? dates : [...dates.filter(has), ...times.filter(has), 'dayPeriod'];
    const parts = [];
    const add = (type, value) => {
      if (type === 'literal' && parts.at(-1)?.type === 'literal') parts.at(-1).value += value;
      else parts.push({ type, value });
    };
    for (let at = 0; at < text.length;) {
      const [word] = /^(?:\d+|[A-Za-z]+|[^\dA-Za-z]+)/.exec(text.slice(at));
      if (/^\W/.test(word) || word === 'at') add('literal', word);
      else if (zone && !left.some((type) => type !== 'dayPeriod') && !/^[AP]M$/.test(word)) { add('timeZoneName', text.slice(at)); break; }
      else if (at === letters && days.test(word) && !(has('month') && !has('weekday') && months.test(word))) add('weekday', word);
      else if (/^[AP]M$/.test(word)) add('dayPeriod', word);
      else if (has('era') && /^(?:AD|BC|A|B)$/.test(word)) add('era', word);
      else add(left.shift() ?? 'literal', word);
      at += word.length;
    }
    return parts;
  }
  resolvedOptions() { return { locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: localZone(), ...this.#options }; }
}
class Collator {
  #numeric;
  #base;
  constructor(locales, { numeric = false, sensitivity = 'variant' } = {}) {
    this.#numeric = numeric;
    this.#base = sensitivity;
    this.compare = (a, b) => this.#compare(String(a), String(b));
  }
  // Letters first, then accents, then capitals; numbers as such where that is asked for.
  #compare(a, b) {
    const bare = (text) => text.normalize('NFD').replace(/\p{M}/gu, '');
    const parts = (text) => (this.#numeric ? text.match(/\d+|\D+/g) ?? [] : [text]);
    const order = (x, y) => (x < y ? -1 : x > y ? 1 : 0);
    const x = parts(bare(a).toLowerCase()), y = parts(bare(b).toLowerCase());
    for (let i = 0; i < Math.max(x.length, y.length); i++) {
      if (x[i] === undefined || y[i] === undefined) return x[i] === undefined ? -1 : 1;
      const found = /^\d/.test(x[i]) && /^\d/.test(y[i]) && this.#numeric ? order(BigInt(x[i]), BigInt(y[i])) : order(x[i], y[i]);
      if (found) return found;
    }
    const accents = this.#base === 'base' || this.#base === 'case' ? 0 : order(a.normalize('NFD').toLowerCase(), b.normalize('NFD').toLowerCase());
    if (accents || this.#base === 'base' || this.#base === 'accent') return accents;
    return -order(a, b);
  }
  resolvedOptions() { return { locale: 'en-US', usage: 'sort', sensitivity: this.#base, ignorePunctuation: false, collation: 'default', numeric: this.#numeric, caseFirst: 'false' }; }
}
class PluralRules {
  #ordinal;
  constructor(locales, { type = 'cardinal' } = {}) { this.#ordinal = type === 'ordinal'; }
  select(number) {
    if (!this.#ordinal) return Number(number) === 1 ? 'one' : 'other';
    const last = number % 10, two = number % 100;
    return last === 1 && two !== 11 ? 'one' : last === 2 && two !== 12 ? 'two' : last === 3 && two !== 13 ? 'few' : 'other';
  }
  resolvedOptions() { return { locale: 'en-US', type: this.#ordinal ? 'ordinal' : 'cardinal' }; }
}
class ListFormat {
  #word;
  constructor(locales, { type = 'conjunction', style = 'long' } = {}) { this.#word = type === 'unit' ? '' : type === 'disjunction' ? 'or' : style === 'long' ? 'and' : '&'; }
  format(list) {
    const all = [...list], word = this.#word && `${this.#word} `;
    if (all.length < 3) return all.join(word ? ` ${word}` : ', ');
    return `${all.slice(0, -1).join(', ')}, ${word}${all.at(-1)}`;
  }
}
class Segmenter {
  #granularity;
  constructor(locales, { granularity = 'grapheme' } = {}) { this.#granularity = granularity; }
  segment(text) {
    const input = String(text), words = this.#granularity === 'word';
    const shape = words ? /[\p{L}\p{M}\p{N}_]+(?:['’.][\p{L}\p{M}\p{N}]+)*|\s+|./gsu : this.#granularity === 'sentence' ? /.+?(?:[.!?]+\s+|$)/gs
      : /\r\n|\p{RI}\p{RI}|\P{M}(?:[\p{M}\u200c\ufe0e\ufe0f]|\p{EMod}|\u200d\p{ExtPict})*|\p{M}/gsu;
    return { *[Symbol.iterator]() {
      for (const { 0: segment, index } of input.matchAll(shape)) yield { segment, index, input, ...(words ? { isWordLike: /[\p{L}\p{N}]/u.test(segment) } : {}) };
    }, containing(at = 0) { for (const part of this) if (at < part.index + part.segment.length) return part; return undefined; } };
  }
  resolvedOptions() { return { locale: 'en-US', granularity: this.#granularity }; }
}
module.exports = { NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat, Segmenter };
for (const [name, Class] of Object.entries(module.exports)) module.exports[name] = define(name, Class);
Object.defineProperties(module.exports, { getCanonicalLocales: { value: (locales = []) => [locales].flat(), ...tagOf }, [Symbol.toStringTag]: { value: 'Intl', ...tagOf } });
