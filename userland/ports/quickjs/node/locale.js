// locale: numbers and dates in American English, without the data of any locale. Undefined is what it does not know: intl.js writes that.
const hasAny = (options, names) => names.some((name) => options[name] !== undefined);

const symbols = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', BRL: 'R$', CAD: 'CA$', AUD: 'A$', MXN: 'MX$', NZD: 'NZ$', ILS: '₪', VND: '₫', TWD: 'NT$', HKD: 'HK$' };
const whole = ['JPY', 'KRW', 'VND'];

function digitsOf(options, least, most) {
  const given = (name) => {
    if (options[name] === undefined) return undefined;
    const number = Number(options[name]);
    if (!(number >= 0 && number <= 100)) throw new RangeError(`${name} value is out of range.`);
    return Math.floor(number);
  };
  const low = given('minimumFractionDigits'), high = given('maximumFractionDigits');
  if (low !== undefined && high !== undefined && low > high) throw new RangeError('maximumFractionDigits value is out of range.');
  return [low ?? Math.min(least, high ?? least), high ?? Math.max(most, low ?? most)];
}

// The decimal number that a double is written as, rounded away from zero in the middle.
function decimal(value, shift, least, most) {
  let number = value, scale = 0;
  if (typeof value === 'number') {
    const [digits, exponent] = value.toExponential().split('e');
    number = BigInt(digits.replace('.', ''));
    scale = digits.replace('.', '').length - 1 - Number(exponent);
  }
  scale -= shift;
  if (scale <= most) {
    number *= 10n ** BigInt(most - scale);
  } else {
    const cut = 10n ** BigInt(scale - most);
    number = (2n * number + cut) / (2n * cut);
  }
  const text = String(number).padStart(most + 1, '0');
  let fraction = text.slice(text.length - most);
  while (fraction.length > least && fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  return [text.slice(0, text.length - most), fraction];
}

function numberText(value, options = {}) {
  if (hasAny(options, ['notation', 'unit', 'signDisplay', 'minimumSignificantDigits', 'maximumSignificantDigits', 'currencyDisplay', 'currencySign', 'roundingMode', 'roundingIncrement', 'roundingPriority', 'trailingZeroDisplay', 'numberingSystem', 'minimumIntegerDigits'])) return undefined;
  const { style = 'decimal', useGrouping = true } = options;
  if (!['decimal', 'percent', 'currency'].includes(style) || ![true, false, 'true', 'false'].includes(useGrouping)) return undefined;
  const currency = style === 'currency' ? String(options.currency ?? '').toUpperCase() : '';
  if (style === 'currency' && !/^[A-Z]{3}$/.test(currency)) throw new TypeError(options.currency === undefined ? 'Currency code is required with currency style.' : `Invalid currency code : ${options.currency}`);
  const cents = whole.includes(currency) ? 0 : 2;
  const [least, most] = digitsOf(options, ...(style === 'currency' ? [cents, cents] : [0, style === 'percent' ? 0 : 3]));
  const negative = value < 0 || Object.is(value, -0);
  const counted = typeof value === 'bigint' || Number.isFinite(value);
  let text = Number.isNaN(value) ? 'NaN' : '∞';
  if (counted) {
    const [integer, fraction] = decimal(negative ? -value : value, style === 'percent' ? 2 : 0, least, most);
    text = (useGrouping && useGrouping !== 'false' ? integer.replace(/\B(?=(\d{3})+$)/g, ',') : integer) + (fraction ? `.${fraction}` : '');
  }
  const before = style === 'currency' ? symbols[currency] ?? currency + (counted ? '\u00a0' : '') : '';
  return `${negative ? '-' : ''}${before}${text}${style === 'percent' ? '%' : ''}`;
}

const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const dateStyles = { full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }, long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' }, short: { year: '2-digit', month: 'numeric', day: 'numeric' } };
const eras = { short: ['AD', 'BC'], long: ['Anno Domini', 'Before Christ'], narrow: ['A', 'B'] };
const timeStyles = { full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' }, long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' }, short: { hour: 'numeric', minute: '2-digit' } };
const dateNames = ['weekday', 'year', 'month', 'day'], timeNames = ['hour', 'minute', 'second'];
const named = (style, name) => (style === 'long' ? name : style === 'short' ? name.slice(0, 3) : name[0]);
const padded = (style, number) => (style === '2-digit' ? String(number % 100).padStart(2, '0') : String(number));

function dateText(date, { weekday, year, month, day }, read) {
  const shownDay = day && padded(day, read('Date'));
  const full = read('FullYear');
  const shownYear = year && padded(year, full > 0 ? full : 1 - full);
  const first = weekday && named(weekday, days[read('Day')]);
  if (!month || month === 'numeric' || month === '2-digit') {
    const rest = [month && padded(month, read('Month') + 1), shownDay, shownYear].filter(Boolean).join('/');
    return [first, rest].filter(Boolean).join(month ? ', ' : ' ');
  }
  const rest = [named(month, months[read('Month')]), shownDay].filter(Boolean).join(' ');
  return [first, shownYear && !day ? `${rest} ${shownYear}` : rest, day && shownYear].filter(Boolean).join(', ');
}

function timeText({ hour, minute, second, hour12, hourCycle }, read) {
  const half = hour12 ?? (hourCycle === undefined || hourCycle === 'h12' || hourCycle === 'h11');
  const hours = read('Hours');
  const shownHour = half ? hours % 12 || 12 : hour12 === false || hourCycle === 'h24' ? hours || 24 : hours;
  const alone = [hour, minute, second].filter(Boolean).length === 1;
  const parts = [hour && padded(half ? hour : '2-digit', shownHour), minute && padded(alone ? 'numeric' : '2-digit', read('Minutes')), second && padded(alone ? 'numeric' : '2-digit', read('Seconds'))];
  return parts.filter(Boolean).join(':') + (hour && half ? (hours < 12 ? ' AM' : ' PM') : '');
}

// What a zone is called: those of the United States have names, others say how far they are.
const places = { E: 'Eastern', C: 'Central', M: 'Mountain', P: 'Pacific', AK: 'Alaska', H: 'Hawaii-Aleutian' };
function zoneText(style, { offset, name }) {
  const minutes = Math.abs(Math.trunc(offset / 60)), hours = Math.floor(minutes / 60), rest = String(minutes % 60).padStart(2, '0'), sign = offset < 0 ? '-' : '+';
  const [, place, season] = /^(E|C|M|P|AK|H)([SD])T$/.exec(name) ?? [], known = place !== undefined && offset <= -14400;
  if (style === 'long') {
    if (name === 'UTC') return 'Coordinated Universal Time';
    if (known) return `${places[place]} ${season === 'S' ? 'Standard' : 'Daylight'} Time`;
    return undefined;
  }
  if (style === 'short' && (name === 'UTC' || known)) return name;
  if (style === 'longOffset') return `GMT${sign}${String(hours).padStart(2, '0')}:${rest}`;
  return offset === 0 && style === 'short' ? 'GMT' : `GMT${sign}${hours}${rest === '00' ? '' : `:${rest}`}`;
}

// `wanted`: the kind of parts of which one has to be there, otherwise those of `added` are.
function dateAndTime(date, given, wanted, added) {
  const options = { ...given };
  if (hasAny(options, ['dayPeriod', 'fractionalSecondDigits', 'calendar', 'numberingSystem'])) return undefined;
  const known = { era: Object.keys(eras), timeZoneName: ['short', 'long', 'shortOffset', 'longOffset'], dateStyle: Object.keys(dateStyles), timeStyle: Object.keys(timeStyles) };
  if (Object.entries(known).some(([name, values]) => options[name] !== undefined && !values.includes(options[name]))) return undefined;
  const local = process.env.TZ?.replace(/^:/, '') || 'UTC', zone = options.timeZone ?? local;
  // The zone of this program is what the engine's dates are in.
  const clock = options.timeZone === undefined && !options.timeZoneName && !/^(?:full|long)$/.test(options.timeStyle) ? undefined : require('zones')(zone);
  if (Number.isNaN(date.getTime())) return 'Invalid Date';
  const there = clock?.(date.getTime()), shown = there && new Date(date.getTime() + there.offset * 1000);
  const read = (part) => (there ? shown[`getUTC${part}`]() : date[`get${part}`]());
  if (options.dateStyle || options.timeStyle) Object.assign(options, dateStyles[options.dateStyle], timeStyles[options.timeStyle]);
  else if (wanted.every((name) => options[name] === undefined)) for (const name of added) options[name] = 'numeric';
  const dated = dateNames.some((name) => options[name]), timed = timeNames.some((name) => options[name]);
  const named = options.timeZoneName ? zoneText(options.timeZoneName, there) : '';
  if (named === undefined) return undefined;
  const era = options.era ? ` ${eras[options.era][read('FullYear') > 0 ? 0 : 1]}` : '';
  if (!timed) return dateText(date, options, read) + era + (named && `, ${named}`);
  const time = timeText(options, read) + (named && ` ${named}`);
  if (!dated) return time;
  const between = options.month === 'long' ? ' at ' : options.weekday && !options.month && options.hour && (options.minute || /[AP]M/.test(time)) ? ' ' : ', ';
  return dateText(date, options, read) + era + between + time;
}

// Of a number of milliseconds.
const both = [...dateNames, ...timeNames], usualDate = ['year', 'month', 'day'];
module.exports = { numberText,
  dateAndTimeText: (time, options) => dateAndTime(new Date(time), options, both, [...usualDate, ...timeNames]),
  dateText: (time, options) => dateAndTime(new Date(time), options, dateNames, usualDate),
  timeText: (time, options) => dateAndTime(new Date(time), options, timeNames, timeNames) };
