// Time zones: how far a place's clock is from the universal one, by the files of the system (TZif) and the rule at the end of each.

const cache = new Map();
// { at: [seconds], kinds: [{ offset, name }], of: [kind of each], rule }
function parse(bytes) {
  const counts = (at) => Array.from({ length: 6 }, (_, i) => bytes.readUInt32BE(at + 20 + 4 * i));
  const blockSize = ([utc, std, leaps, times, types, chars], width) => times * (width + 1) + types * 6 + chars + leaps * (width + 4) + std + utc;
  let at = 44 + blockSize(counts(0), 4);
  const [, , , times, types, chars] = counts(at), end = at + 44 + blockSize(counts(at), 8);
  at += 44;
  const moments = Array.from({ length: times }, (_, i) => Number(bytes.readBigInt64BE(at + 8 * i)));
  at += 8 * times;
  const of = [...bytes.subarray(at, at + times)];
  at += times;
  const names = bytes.subarray(at + 6 * types, at + 6 * types + chars);
  const kinds = Array.from({ length: types }, (_, i) => {
    const begin = bytes[at + 6 * i + 5];
    return { offset: bytes.readInt32BE(at + 6 * i), isSummer: bytes[at + 6 * i + 4] === 1, name: names.toString('latin1', begin, names.indexOf(0, begin)) };
  });
  return { moments, of, kinds, rule: ruleOf(bytes.toString('latin1', end).trim()) };
}
// EST5EDT,M3.2.0,M11.1.0: the two offsets, and when the second begins and ends
function ruleOf(text) {
  const word = '(<[^>]+>|[A-Za-z]+)', time = '([+-]?[\\d:]+)';
  const found = new RegExp(`^${word}${time}(?:${word}${time}?,([^,]+),(.+))?$`).exec(text);
  if (!found) return undefined;
  const seconds = (given) => {
    const [, sign, hours, minutes = 0, rest = 0] = /^([+-]?)(\d+)(?::(\d+))?(?::(\d+))?$/.exec(given);
    return (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60 + Number(rest));
  };
  const [, name, west, other, otherWest, begins, ends] = found, bare = (one) => one.replace(/[<>]/g, '');
  const usual = { offset: -seconds(west), isSummer: false, name: bare(name) };
  if (other === undefined) return { usual };
  const day = (given) => {
    const [when, clock = '2'] = given.split('/');
    return { when, clock: seconds(clock) };
  };
  return { usual, summer: { offset: otherWest === undefined ? usual.offset + 3600 : -seconds(otherWest), isSummer: true, name: bare(other) }, begins: day(begins), ends: day(ends) };
}
// The second of the year's change by the clock there.
function changeOf(year, { when, clock }) {
  const first = Date.UTC(year, 0, 1) / 86400000, leap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
  let day;
  if (when[0] === 'M') {
    const [month, week, weekday] = when.slice(1).split('.').map(Number), begin = Date.UTC(year, month - 1, 1) / 86400000, size = new Date(Date.UTC(year, month, 0)).getUTCDate();
    day = (weekday - new Date(begin * 86400000).getUTCDay() + 7) % 7 + 7 * (week - 1);
    if (day >= size) day -= 7;
    day += begin;
  } else if (when[0] === 'J') {
    const number = Number(when.slice(1));
    day = first + number - (leap && number > 59 ? 0 : 1);
  } else {
    day = first + Number(when);
  }
  return day * 86400 + clock;
}
function byRule({ usual, summer, begins, ends }, seconds) {
  if (!summer) return usual;
  const year = new Date((seconds + usual.offset) * 1000).getUTCFullYear();
  const begin = changeOf(year, begins) - usual.offset, end = changeOf(year, ends) - summer.offset;
  return (begin < end ? seconds >= begin && seconds < end : seconds >= begin || seconds < end) ? summer : usual;
}

// zone(name) -> (milliseconds) -> { offset in seconds, isSummer, name }; a RangeError where there is none of that name
module.exports = (name) => {
  const text = String(name), fixed = /^([+-])(\d\d):?(\d\d)?$/.exec(text);
  if (/^(?:utc|gmt|etc\/(?:utc|gmt|uct|universal|zulu))$/i.test(text)) return () => ({ offset: 0, name: 'UTC' });
  if (fixed) return () => ({ offset: (fixed[1] === '-' ? -1 : 1) * (fixed[2] * 3600 + (fixed[3] ?? 0) * 60), name: '' });
  if (!cache.has(text)) {
    const bytes = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/.test(text) ? internal.std.loadFile(`/usr/share/zoneinfo/${text}`, { binary: true }) : null;
    const known = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!known || known.toString('latin1', 0, 4) !== 'TZif') throw new RangeError(`Invalid time zone specified: ${text}`);
    cache.set(text, parse(known));
  }
  const { moments, of, kinds, rule } = cache.get(text);
  return (milliseconds) => {
    const seconds = Math.floor(milliseconds / 1000);
    if (moments.length === 0 || seconds >= moments.at(-1)) return rule ? byRule(rule, seconds) : kinds[of.at(-1) ?? 0];
    let low = 0, high = moments.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (moments[middle] <= seconds) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? kinds[0] : kinds[of[low - 1]];
  };
};
