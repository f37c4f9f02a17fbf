// net.SocketAddress and net.BlockList: addresses, and which of them are not to be talked to.
const { coded, isObject, isString, isInteger, wrongType, wrongValue } = require('checks');
const inspected = Symbol.for('nodejs.util.inspect.custom');

// An address as a number of 32 or 128 bits; undefined where it is none.
function numberOf(text, family) {
  if (family === 'ipv4') return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text) ? text.split('.').reduce((all, part) => all * 256n + BigInt(part), 0n) : undefined;
  if (!require('net').isIPv6(text)) return undefined;
  const bare = text.replace(/%.*/, '').replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (all, a, b, c, d) => `${(a * 256 + Number(b)).toString(16)}:${(c * 256 + Number(d)).toString(16)}`);
  const [head, tail] = bare.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const parts = tail === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return parts.reduce((all, part) => all * 65536n + BigInt(`0x${part}`), 0n);
}
// The shortest text of an address of version 6 (RFC 5952).
function textOfSix(number) {
  if (number >> 32n === 0xffffn) return `::ffff:${textOfFour(number & 0xffffffffn)}`;
  const parts = Array.from({ length: 8 }, (_, i) => ((number >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':');
  const longest = [...parts.matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)].reduce((best, [found]) => (found.length > best.length ? found : best), '');
  return longest === '' ? parts : parts.replace(new RegExp(`(?:^|:)${longest}(?::|$)`), '::');
}
const textOfFour = (number) => [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.');

const familyOf = (family, name) => {
  isString(family, name);
  const known = family.toLowerCase();
  if (known !== 'ipv4' && known !== 'ipv6') throw wrongValue(name, family);
  return known;
};
const wrongAddress = () => coded(Error, 'ERR_INVALID_ADDRESS', 'Invalid socket address');

class SocketAddress {
  #address;
  #family;
  #number;
  #port;
  #flowlabel;
  static isSocketAddress(value) { return value !== null && typeof value === 'object' && #family in value; }
  static numberOf(value) { return value.#number; }
  constructor(options = {}) {
    isObject(options, 'options');
    if (typeof (options.family ?? 'ipv4') !== 'string') throw wrongValue('options.family', options.family);
    const family = familyOf(options.family ?? 'ipv4', 'options.family'), { address = family === 'ipv4' ? '127.0.0.1' : '::', port = 0, flowlabel = 0 } = options;
    isString(address, 'options.address');
    portOf(port, 'options.port');
    isInteger(flowlabel, 'options.flowlabel', 0, 2 ** 32 - 1);
    this.#number = numberOf(address, family);
    if (this.#number === undefined) throw wrongAddress();
    this.#address = family === 'ipv4' ? address : textOfSix(this.#number);
    [this.#family, this.#port, this.#flowlabel] = [family, Number(port), family === 'ipv6' ? flowlabel : 0];
  }
  get address() { return this.#address; }
  get port() { return this.#port; }
  get family() { return this.#family; }
  get flowlabel() { return this.#flowlabel; }
  toJSON() { return { address: this.#address, port: this.#port, family: this.#family, flowlabel: this.#flowlabel }; }
  [inspected](depth, options, inspect) { return depth < 0 ? this : `SocketAddress ${inspect(this.toJSON(), options)}`; }
  // address, address:port, [address]:port; undefined where it is none.
  static parse(text) {
    isString(text, 'input');
    const six = /^\[(.*)\](?::(\d{1,5}))?$/.exec(text), [, address, port] = six ?? /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
    try {
      return address === undefined ? undefined : new SocketAddress({ address: six ? address : hostOf(address), port: Number(port ?? 0), family: six ? 'ipv6' : 'ipv4' });
    } catch {
      return undefined;
    }
  }
}
// An address in the ways that the web writes it: 1.2.3.4, 127.1, 0x7f000001.
const hostOf = (text) => new URL(`http://${text}`).hostname;
function portOf(port, name) {
  if ((typeof port !== 'number' && typeof port !== 'string') || (typeof port === 'string' && port.trim() === '') || +port !== +port >>> 0 || port > 65535)
    throw coded(RangeError, 'ERR_SOCKET_BAD_PORT', `${name} should be >= 0 and < 65536. Received ${require('checks').received(port).slice(10)}.`);
}
// A text with its family, or a SocketAddress.
function addressOf(given, family, name = 'address') {
  if (SocketAddress.isSocketAddress(given)) return given;
  isString(given, name);
  return new SocketAddress({ address: given, family: familyOf(family, 'family') });
}

class BlockList {
  // Each rule: a family, from which number to which, and what it is called.
  #rules = [];
  static isBlockList(value) { return value !== null && typeof value === 'object' && #rules in value; }
  #add(family, from, to, text) { this.#rules.unshift({ family, from, to, text }); }
  addAddress(address, family = 'ipv4') {
    const one = addressOf(address, family), number = SocketAddress.numberOf(one);
    this.#add(one.family, number, number, `Address: ${nameOf(one.family)} ${one.address}`);
  }
  addRange(start, end, family = 'ipv4') {
    const first = addressOf(start, family, 'start'), last = addressOf(end, family, 'end');
    const [from, to] = [SocketAddress.numberOf(first), SocketAddress.numberOf(last)];
    if (first.family !== last.family || from > to) throw wrongValue('start', first, 'must come before end');
    this.#add(first.family, from, to, `Range: ${nameOf(first.family)} ${first.address}-${last.address}`);
  }
  addSubnet(network, prefix, family = 'ipv4') {
    const one = addressOf(network, family, 'network'), bits = one.family === 'ipv4' ? 32 : 128;
    isInteger(prefix, 'prefix', 0, bits);
    const size = 1n << BigInt(bits - prefix), from = SocketAddress.numberOf(one) / size * size;
    this.#add(one.family, from, from + size - 1n, `Subnet: ${nameOf(one.family)} ${one.address}/${prefix}`);
  }
  check(address, family = 'ipv4') {
    let one = address;
    if (!SocketAddress.isSocketAddress(address)) {
      isString(address, 'address');
      isString(family, 'family');
      try { one = addressOf(address, family); } catch { return false; }
    }
    const number = SocketAddress.numberOf(one), mapped = one.family === 'ipv6' && number >> 32n === 0xffffn ? number & 0xffffffffn : undefined;
    return this.#rules.some((rule) => (rule.family === one.family ? number >= rule.from && number <= rule.to : rule.family === 'ipv4' ? mapped !== undefined && mapped >= rule.from && mapped <= rule.to :
      one.family === 'ipv4' && (0xffffn << 32n | number) >= rule.from && (0xffffn << 32n | number) <= rule.to));
  }
  get rules() { return this.#rules.map((rule) => rule.text); }
  [inspected](depth, options, inspect) { return depth < 0 ? this : `BlockList ${inspect({ rules: this.rules }, { ...options, depth: options.depth === null ? null : options.depth - 1 })}`; }
}
const nameOf = (family) => (family === 'ipv4' ? 'IPv4' : 'IPv6');

module.exports = { SocketAddress, BlockList };
