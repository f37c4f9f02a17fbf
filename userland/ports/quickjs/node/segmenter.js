// Intl.Segmenter: what is one letter, one word, one sentence, by Unicode's properties; no dictionary of languages without spaces.
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
module.exports = Segmenter;
