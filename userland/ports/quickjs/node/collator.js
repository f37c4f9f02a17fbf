// Intl.Collator: the order of ICU's root, which is that of English, for all languages.
// Spaces, punctuation, symbols, digits, letters, exactly so within ASCII; what is beyond follows by code point.
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
module.exports = Collator;
