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
// The order of ICU's root: spaces, punctuation, symbols, digits, letters, exactly so within ASCII; what is beyond follows by code point.
const inOrder = '\t\n\v\f\r _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz';
const ranks = new Map([...inOrder].map((letter, at) => [letter, at + 1]));
const asOthers = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', ı: 'i' };
const rankOf = (letter) => ranks.get(letter) ?? (letter < ' ' || letter === '\x7f' ? 0 : 1000 + letter.codePointAt(0));
const order = (x, y) => (x < y ? -1 : x > y ? 1 : 0);
const lower = (text) => text.normalize('NFD').toLowerCase().replace(/[ßæœøđłı]/g, (letter) => asOthers[letter]);
class Collator {
  #numeric;
  #base;
  #upperFirst;
  #ignore;
  constructor(locales, { numeric = false, sensitivity = 'variant', caseFirst = 'false', ignorePunctuation = false } = {}) {
    this.#numeric = Boolean(numeric);
    this.#base = sensitivity;
    this.#upperFirst = caseFirst === 'upper';
    this.#ignore = Boolean(ignorePunctuation);
    this.compare = (a, b) => this.#compare(String(a), String(b));
  }
  // What letters stand for: a rank each, and a number as such where that is asked for.
  #ranks(text) {
    const bare = text.replace(/\p{M}/gu, '');
    const pieces = this.#numeric ? bare.match(/\d+|[^]/gu) ?? [] : [...bare];
    const found = pieces.map((piece) => (this.#numeric && /^\d/.test(piece) ? BigInt(piece) : rankOf(piece)));
    return found.filter((rank) => rank !== 0);
  }
  // Letters first, then accents, then capitals.
  #compare(a, b) {
    if (this.#ignore) [a, b] = [a, b].map((text) => [...text].filter((letter) => !(rankOf(letter) < ranks.get('`'))).join(''));
    if (a === b) return 0;
    const one = lower(a), other = lower(b);
    const x = this.#ranks(one), y = this.#ranks(other);
    for (let i = 0; i < Math.max(x.length, y.length); i++) {
      if (x[i] === undefined || y[i] === undefined) return x[i] === undefined ? -1 : 1;
      if (x[i] === y[i]) continue;
      const numbers = typeof x[i] === 'bigint' && typeof y[i] === 'bigint';
      const found = numbers ? order(x[i], y[i]) : order(typeof x[i] === 'bigint' ? ranks.get('0') : x[i], typeof y[i] === 'bigint' ? ranks.get('0') : y[i]);
      if (found) return found;
    }
    const accents = this.#base === 'base' || this.#base === 'case' ? 0 : order(one, other);
    if (accents || this.#base === 'base' || this.#base === 'accent') return accents;
    // What is not a matter of capitals, such as ß beside ss.
    const rest = order(a.toLowerCase(), b.toLowerCase());
    return rest || (this.#upperFirst ? order(a, b) : -order(a, b));
  }
  resolvedOptions() {
    return { locale: 'en-US', usage: 'sort', sensitivity: this.#base, ignorePunctuation: this.#ignore, collation: 'default', numeric: this.#numeric, caseFirst: this.#upperFirst ? 'upper' : 'false' };
  }
}
const usual = new Collator();
internal.localeCompare = (one, other, locales, options) => (options === undefined ? usual : new Collator(locales, options)).compare(one, other);
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
