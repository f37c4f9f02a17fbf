// dns: what the system's resolver says of a name.
const { isIP, __lookup: lookup } = require('net');

const record = (address) => ({ address, family: isIP(address) });
const dns = {
  lookup(name, options, callback) {
    if (typeof options === 'function') [options, callback] = [{}, options];
    const { family = 0, all = false } = typeof options === 'number' ? { family: options } : options ?? {};
    let found, problem = null;
    try { found = lookup(String(name), Number(String(family).replace('IPv', ''))).map(record); } catch (error) { problem = error; }
    setImmediate(() => (problem ? callback(problem) : all ? callback(null, found) : callback(null, found[0].address, found[0].family)));
  },
  resolve4: (name, callback) => dns.lookup(name, { family: 4, all: true }, (error, found) => callback(error, found?.map(({ address }) => address))),
  resolve6: (name, callback) => dns.lookup(name, { family: 6, all: true }, (error, found) => callback(error, found?.map(({ address }) => address))),
  getServers: () => [], setServers() {}, setDefaultResultOrder() {}, getDefaultResultOrder: () => 'verbatim', ADDRCONFIG: 32, ALL: 16, V4MAPPED: 8,
};
const dnsErrors = Object.fromEntries(['NODATA', 'FORMERR', 'SERVFAIL', 'NOTFOUND', 'NOTIMP', 'REFUSED', 'BADQUERY', 'BADNAME', 'BADFAMILY', 'BADRESP', 'CONNREFUSED', 'TIMEOUT', 'EOF', 'FILE', 'NOMEM', 'DESTRUCTION', 'BADSTR',
  'BADFLAGS', 'NONAME', 'BADHINTS', 'NOTINITIALIZED', 'CANCELLED'].map((name) => [name, `E${name}`]));
// The resolver of the system knows addresses alone.
for (const [method, kind] of Object.entries({ Any: 'ANY', Caa: 'CAA', Cname: 'CNAME', Mx: 'MX', Naptr: 'NAPTR', Ns: 'NS', Ptr: 'PTR', Soa: 'SOA', Srv: 'SRV', Txt: 'TXT' })) {
  const call = `query${method}`;
  dns[`resolve${method}`] = (name, callback) => setImmediate(callback, Object.assign(new Error(`${call} ENOTIMP ${name}`), { code: 'ENOTIMP', syscall: call, hostname: name, kind }));
}
dns.reverse = (address, callback) => setImmediate(callback, Object.assign(new Error(`getHostByAddr ENOTIMP ${address}`), { code: 'ENOTIMP', syscall: 'getHostByAddr', hostname: address }));
class Resolver {
  constructor() { for (const name of Object.keys(dns).filter((one) => /^re|Servers$/.test(one))) this[name] = dns[name]; }
  cancel() {}
}
dns.resolve = (name, kind, callback = kind) => {
  const method = { A: 'resolve4', AAAA: 'resolve6' }[kind] ?? (typeof kind === 'string' ? `resolve${kind[0]}${kind.slice(1).toLowerCase()}` : 'resolve4');
  return dns[method](name, callback);
};
const asked = (call) => (...args) => new Promise((resolve, reject) => { call(...args, (error, found) => (error ? reject(error) : resolve(found))); });
dns.promises = { lookup: async (name, options = {}) => { const found = await asked(dns.lookup)(name, { ...(typeof options === 'number' ? { family: options } : options), all: true }); return options.all ? found : found[0]; },
  ...Object.fromEntries(Object.keys(dns).filter((name) => name.startsWith('re')).map((name) => [name, asked(dns[name])])), getServers: dns.getServers, setServers: dns.setServers,
  setDefaultResultOrder: dns.setDefaultResultOrder, getDefaultResultOrder: dns.getDefaultResultOrder, ...dnsErrors,
  Resolver: class { constructor() { Object.assign(this, Object.fromEntries(Object.entries(dns.promises).filter(([name]) => /^re|Servers$/.test(name)))); } cancel() {} } };
Object.assign(dns, dnsErrors, { Resolver });
module.exports = dns;
