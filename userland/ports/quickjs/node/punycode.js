// punycode: names of the internet in letters of any script, as ASCII and back (RFC 3492).
const base = 36, least = 1, most = 26, largest = 0x7fffffff;

const overflow = () => new RangeError('Overflow: input needs wider integers to process');
const digitOf = (value) => String.fromCharCode(value < 26 ? value + 97 : value + 22);
function valueOf(code) {
  if (code >= 48 && code < 58) return code - 22;
  if (code >= 65 && code < 91) return code - 65;
  return code >= 97 && code < 123 ? code - 97 : base;
}
const thresholdAt = (k, bias) => Math.min(most, Math.max(least, k - bias));
function adapt(delta, count, first) {
  let left = first ? Math.floor(delta / 700) : delta >> 1, k = 0;
  left += Math.floor(left / count);
  for (; left > 455; k += base) left = Math.floor(left / (base - least));
  return k + Math.floor((base - least + 1) * left / (left + 38));
}

const ucs2 = {
  decode: (text) => Array.from(text, (char) => char.codePointAt(0)),
  encode: (points) => String.fromCodePoint(...points),
};

function decode(input) {
  const points = [], at = input.lastIndexOf('-');
  for (let i = 0; i < at; i++) {
    if (input.charCodeAt(i) >= 0x80) throw new RangeError('Illegal input >= 0x80 (not a basic code point)');
    points.push(input.charCodeAt(i));
  }
  let n = 0x80, i = 0, bias = 72;
  for (let read = at > 0 ? at + 1 : 0; read < input.length;) {
    const before = i;
    for (let weight = 1, k = base; ; k += base) {
      const digit = read < input.length ? valueOf(input.charCodeAt(read++)) : base;
      if (digit >= base) throw new RangeError('Invalid input');
      if (digit > Math.floor((largest - i) / weight)) throw overflow();
      i += digit * weight;
      const threshold = thresholdAt(k, bias);
      if (digit < threshold) break;
      if (weight > Math.floor(largest / (base - threshold))) throw overflow();
      weight *= base - threshold;
    }
    const count = points.length + 1;
    bias = adapt(i - before, count, before === 0);
    if (Math.floor(i / count) > largest - n) throw overflow();
    n += Math.floor(i / count);
    i %= count;
    points.splice(i++, 0, n);
  }
  return ucs2.encode(points);
}

function encode(input) {
  const points = ucs2.decode(input);
  const basic = points.filter((point) => point < 0x80).length;
  let out = String.fromCharCode(...points.filter((point) => point < 0x80));
  if (basic) out += '-';
  let n = 0x80, delta = 0, bias = 72;
  for (let done = basic; done < points.length; delta++, n++) {
    let next = largest;
    for (const point of points) if (point >= n && point < next) next = point;
    if (next - n > Math.floor((largest - delta) / (done + 1))) throw overflow();
    delta += (next - n) * (done + 1);
    n = next;
    for (const point of points) {
      if (point < n && ++delta > largest) throw overflow();
      if (point !== n) continue;
      let left = delta;
      for (let k = base; ; k += base) {
        const threshold = thresholdAt(k, bias);
        if (left < threshold) break;
        out += digitOf(threshold + (left - threshold) % (base - threshold));
        left = Math.floor((left - threshold) / (base - threshold));
      }
      out += digitOf(left);
      bias = adapt(delta, done + 1, done === basic);
      delta = 0;
      done++;
    }
  }
  return out;
}

// Of an address of mail, what stands behind the last @.
function eachLabel(name, change) {
  const parts = name.split('@');
  const head = parts.length > 1 ? `${parts[0]}@` : '', domain = parts.length > 1 ? parts[1] : name;
  return head + domain.replace(/[\u3002\uff0e\uff61]/g, '.').split('.').map(change).join('.');
}

module.exports = { version: '2.1.0', ucs2, decode, encode,
  toASCII: (name) => eachLabel(name, (label) => (/[^\0-\x7f]/.test(label) ? `xn--${encode(label)}` : label)),
  toUnicode: (name) => eachLabel(name, (label) => (label.startsWith('xn--') ? decode(label.slice(4).toLowerCase()) : label)) };
