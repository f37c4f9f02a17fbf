// Intl: FormatJS's classes, with CLDR's data of a locale, which is read when it is first asked for. Order and segments are ours.
const Module = require('module');

const folder = `${internal.root}intl/`;
const load = Module.createRequire(`${folder}index.js`);
const textOf = (file) => internal.std.loadFile(folder + file);
const own = (object, name) => Object.prototype.hasOwnProperty.call(object, name);

// The names of the locales that there are: { KIND: [...], usual: { 'de-DE': 'de' } }
let read;
const locales = () => (read ??= JSON.parse(textOf('locales.json'), (name, value) => (Array.isArray(value) ? new Set(value) : value)));

// A tag without its extensions: de-DE of de-DE-u-nu-latn.
const bare = (tag) => tag.replace(/-[a-z0-9]-.*$/i, '');
// The one that has the data of a tag; undefined: none.
function nearest(kind, tag) {
  for (let at = locales().usual[tag] ?? tag; at; at = at.includes('-') ? at.slice(0, at.lastIndexOf('-')) : '') if (locales()[kind].has(at)) return at;
  return undefined;
}
// What it is called: a tag that says no more than usual stays, as does one with a country of its own.
const named = (kind, tag) => (own(locales().usual, tag) ? nearest(kind, tag) && tag : nearest(kind, tag));

function withOwn(base, changes) {
  if (!base || !changes || typeof base !== 'object' || typeof changes !== 'object' || Array.isArray(changes)) return changes;
  const all = { ...base };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete all[name];
    else all[name] = own(all, name) ? withOwn(all[name], value) : value;
  }
  return all;
}
function dataOf(kind, locale) {
  const told = JSON.parse(textOf(`${kind}/${locale}.json`));
  return told.from === undefined ? told : withOwn(dataOf(kind, told.from), told.own);
}

function getCanonicalLocales(given) {
  if (given === undefined) return [];
  if (given === null) throw new TypeError('Cannot convert undefined or null to object');
  const list = typeof given === 'string' || (internal.Locale && given instanceof internal.Locale) ? [given] : Array.from(given);
  const found = new Set();
  for (const one of list) {
    if (typeof one !== 'string' && (typeof one !== 'object' || one === null)) throw new TypeError('Incorrect locale information provided');
    const tag = String(one);
    try {
      found.add(locales().numbers.has(tag) || own(locales().usual, tag) ? tag : load('./intl-getcanonicallocales.js').getCanonicalLocales(tag)[0]);
    } catch {
      throw new RangeError('Incorrect locale information provided');
    }
  }
  return [...found];
}

const localZone = () => process.env.TZ?.replace(/^:/, '') || 'UTC';
// As the environment says it, as ICU reads it.
function localLocale() {
  const tag = internal.saidLocale().replace(/[.@].*$/, '').replace(/_/g, '-');
  return /^[a-z]{2,3}(?:-[A-Za-z0-9]+)*$/.test(tag) && nearest('numbers', tag) ? tag : 'en-US';
}

function saysWhatItSupports(Class, kind) {
  const { supportedLocalesOf } = { supportedLocalesOf(given) { return getCanonicalLocales(given).filter((tag) => nearest(kind, bare(tag)) !== undefined); } };
  Object.defineProperty(Class, 'supportedLocalesOf', { value: supportedLocalesOf, writable: true, configurable: true, enumerable: false });
}
// A class of FormatJS's, which is given what it needs of the locales before it is made.
function classOf(name, kind, add, { callable = false, prepare = () => {} } = {}) {
  const Class = load(`./intl-${name.toLowerCase()}.js`);
  const Real = Class[name] ?? Class.default, added = new Set();
  const make = (given, options, target) => {
    const tags = getCanonicalLocales(given);
    for (const tag of [...tags.map(bare), localLocale()]) {
      const locale = named(kind, tag);
      if (locale === undefined || added.has(locale)) continue;
      added.add(locale);
      add(Real, locale, nearest(kind, locale));
    }
    prepare(Real, options);
    return Reflect.construct(Real, [tags, options], target);
  };
  Real.getDefaultLocale = () => named(kind, localLocale()) ?? 'en-US';
  const Shown = new Proxy(Real, {
    construct: (target, [given, options], newTarget) => make(given, options, newTarget),
    apply(target, self, [given, options]) {
      if (!callable) throw new TypeError(`Constructor Intl.${name} requires 'new'`);
      return make(given, options, Shown);
    },
  });
  saysWhatItSupports(Real, kind);
  Object.defineProperty(Real.prototype, 'constructor', { value: Shown, writable: true, configurable: true, enumerable: false });
  return Shown;
}
const addData = (kind) => (Class, locale, from) => Class.__addLocaleData({ locale, data: dataOf(kind, from) });
// Its rules are functions.
const addRules = (Class, locale, from) => {
  const add = (told) => Class.__addLocaleData({ ...told, locale });
  new Function('Intl', textOf(`plurals/${from}.js`))({ PluralRules: { __addLocaleData: add } });
};
// The zone of a formatter, by the system's own files.
function prepareZone(Class, options) {
  const zone = String(options?.timeZone ?? localZone());
  Class.getDefaultTimeZone = localZone;
  if (own(Class.tzData, zone) || /^[+-]/.test(zone)) return;
  const clock = require('zones')(zone);
  Class.tzData[zone] = (milliseconds) => {
    const { offset, isSummer } = clock(milliseconds);
    return [[-Infinity, '', offset, Boolean(isSummer)]];
  };
}

const classes = {
  NumberFormat: () => classOf('NumberFormat', 'numbers', addData('numbers'), { callable: true }),
  DateTimeFormat: () => classOf('DateTimeFormat', 'dates', addData('dates'), { callable: true, prepare: prepareZone }),
  PluralRules: () => classOf('PluralRules', 'plurals', addRules),
  ListFormat: () => classOf('ListFormat', 'lists', addData('lists')),
  RelativeTimeFormat: () => classOf('RelativeTimeFormat', 'relative', addData('relative')),
  DisplayNames: () => classOf('DisplayNames', 'names', addData('names')),
  Locale: () => (internal.Locale = load('./intl-locale.js').Locale),
  Collator: () => shown('Collator', require('collator')),
  Segmenter: () => shown('Segmenter', require('segmenter')),
};
// Those of ours, of which some are called without new.
function shown(name, Class) {
  saysWhatItSupports(Class, 'numbers');
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
  return new Proxy(Class, { apply: (target, self, args) => new target(...args) });
}

const Intl = Object.defineProperty({}, Symbol.toStringTag, { value: 'Intl', configurable: true });
for (const [name, make] of Object.entries(classes)) internal.lazy(name, make, Intl);
const supportedValuesOf = (key) => load('./intl-supportedvaluesof.js').supportedValuesOf(key);
for (const [name, value] of Object.entries({ getCanonicalLocales, supportedValuesOf })) Object.defineProperty(Intl, name, { value, writable: true, configurable: true, enumerable: false });

// What toLocaleString and its like write, for those that are not American English: locale.js.
const formats = new Map();
function formatOf(kind, given, options, make) {
  const key = (given === undefined || typeof given === 'string') && options === undefined ? `${kind} ${given ?? localLocale()} ${localZone()}` : undefined;
  if (key !== undefined && formats.has(key)) return formats.get(key);
  const made = make();
  if (key !== undefined && formats.size < 64) formats.set(key, made);
  return made;
}
const dates = ['weekday', 'year', 'month', 'day'], times = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];
const usualDate = ['year', 'month', 'day'], usualTime = ['hour', 'minute', 'second'];
function dateText(kind, wanted, usual, refused) {
  const make = (given, options) => {
    const asked = { ...Object(options) };
    if (refused && asked[refused] !== undefined) throw new TypeError(`Invalid option : ${refused}`);
    if (![...wanted, 'dateStyle', 'timeStyle'].some((name) => asked[name] !== undefined)) for (const name of usual) asked[name] = 'numeric';
    return new Intl.DateTimeFormat(given, asked);
  };
  return (time, given, options) => {
    const format = formatOf(kind, given, options, () => make(given, options));
    return Number.isNaN(time) ? 'Invalid Date' : format.format(time);
  };
}
internal.localTexts = {
  numberText: (value, given, options) => formatOf('number', given, options, () => new Intl.NumberFormat(given, options)).format(value),
  dateAndTimeText: dateText('both', [...dates, ...times], [...usualDate, ...usualTime]),
  dateText: dateText('date', dates, usualDate, 'timeStyle'),
  timeText: dateText('time', times, usualTime, 'dateStyle'),
};
module.exports = Intl;
