// What keeps connections of HTTP for the next requests to the same place. Programs inherit from it and look into it (agent-base), so its names are Node.js's.
const net = require('net');
const EventEmitter = require('events');

const remove = (table, name, item) => {
  const at = table[name]?.indexOf(item) ?? -1;
  if (at < 0) return false;
  table[name].splice(at, 1);
  if (table[name].length === 0) delete table[name];
  return true;
};

function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  EventEmitter.call(this);
  // A path of the request is none of a socket.
  this.options = { __proto__: null, noDelay: true, ...options, path: null };
  Object.assign(this, { requests: Object.create(null), sockets: Object.create(null), freeSockets: Object.create(null), keepAliveMsecs: this.options.keepAliveMsecs || 1000,
    keepAlive: this.options.keepAlive || false, maxSockets: this.options.maxSockets || Agent.defaultMaxSockets, maxFreeSockets: this.options.maxFreeSockets || 256,
    scheduling: this.options.scheduling || 'lifo', maxTotalSockets: this.options.maxTotalSockets ?? Infinity, totalSocketCount: 0 });
  this.on('free', (socket, words) => free(this, socket, words));
}
Object.setPrototypeOf(Agent.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Agent, EventEmitter);
Agent.defaultMaxSockets = Infinity;

function free(agent, socket, words) {
  const name = agent.getName(words);
  if (!socket.writable) return void socket.destroy();
  const waiting = agent.requests[name];
  if (waiting?.length) {
    const request = waiting.shift();
    if (waiting.length === 0) delete agent.requests[name];
    return give(agent, request, socket);
  }
  const request = socket._httpMessage;
  if (!request?.shouldKeepAlive || !agent.keepAlive) return void socket.destroy();
  const others = agent.freeSockets[name]?.length ?? 0, all = others + (agent.sockets[name]?.length ?? 0);
  if (agent.totalSocketCount > agent.maxTotalSockets || all > agent.maxSockets || others >= agent.maxFreeSockets || !agent.keepSocketAlive(socket)) return void socket.destroy();
  socket._httpMessage = null;
  agent.removeSocket(socket, words);
  socket.once('error', ignore);
  (agent.freeSockets[name] ??= []).push(socket);
  agent.totalSocketCount++;
}
const ignore = () => {};
function give(agent, request, socket) {
  request.onSocket(socket);
  const time = request.timeout ?? agent.options.timeout;
  if (time && socket.timeout !== time) socket.setTimeout?.(time);
}

function follow(agent, socket, options) {
  const freed = () => agent.emit('free', socket, options);
  const closed = () => agent.removeSocket(socket, options);
  const late = () => { if (Object.values(agent.freeSockets).some((list) => list.includes(socket))) socket.destroy(); };
  const left = () => {
    agent.removeSocket(socket, options);
    for (const [name, listener] of Object.entries({ free: freed, close: closed, timeout: late, agentRemove: left })) socket.off(name, listener);
  };
  socket.on('free', freed).on('close', closed).on('timeout', late).on('agentRemove', left);
}
// The name that TLS asks for: what the request names.
function nameServer(options, request) {
  if (options.servername || options.servername === '') return;
  const asked = request?.getHeader?.('host');
  const name = typeof asked === 'string' ? (asked.startsWith('[') ? /^\[([^\]]*)/.exec(asked)[1] : asked.split(':', 1)[0]) : options.host;
  options.servername = net.isIP(name) ? '' : name;
}

Object.assign(Agent.prototype, {
  defaultPort: 80,
  protocol: 'http:',
  createConnection(...args) { return net.createConnection(...args); },
  getName(options = {}) {
    let name = `${options.host || 'localhost'}:${options.port || ''}:${options.localAddress || ''}`;
    if (options.family === 4 || options.family === 6) name += `:${options.family}`;
    return options.socketPath ? `${name}:${options.socketPath}` : name;
  },
  addRequest(request, options, port, localAddress) {
    if (typeof options === 'string') options = { host: options, port, localAddress };
    options = { __proto__: null, ...options, ...this.options };
    if (options.socketPath) options.path = options.socketPath;
    nameServer(options, request);
    const name = this.getName(options);
    for (const kept = this.freeSockets[name] ?? []; kept.length;) {
      const socket = this.scheduling === 'fifo' ? kept.shift() : kept.pop();
      if (kept.length === 0) delete this.freeSockets[name];
      if (socket.destroyed || !socket.writable || socket.idleStill === false) {
        socket.destroy();
        continue;
      }
      socket.off('error', ignore);
      this.reuseSocket(socket, request);
      (this.sockets[name] ??= []).push(socket);
      return give(this, request, socket);
    }
    if ((this.sockets[name]?.length ?? 0) < this.maxSockets && this.totalSocketCount < this.maxTotalSockets) {
      this.createSocket(request, options, (error, socket) => (error ? request.onSocket(socket, error) : give(this, request, socket)));
      return;
    }
    request._waitsWith = options;
    (this.requests[name] ??= []).push(request);
  },
  createSocket(request, options, callback) {
    options = { __proto__: null, ...options, ...this.options };
    if (options.socketPath) options.path = options.socketPath;
    nameServer(options, request);
    const name = this.getName(options);
    Object.assign(options, { _agentKey: name, encoding: null });
    let made = false;
    const created = (error, socket) => {
      if (made) return;
      made = true;
      if (error) return callback(error);
      (this.sockets[name] ??= []).push(socket);
      this.totalSocketCount++;
      follow(this, socket, options);
      callback(null, socket);
    };
    const socket = this.createConnection(options, created);
    if (socket) created(null, socket);
  },
  removeSocket(socket, options) {
    const name = this.getName(options);
    if (!socket.writable && remove(this.freeSockets, name, socket)) this.totalSocketCount--;
    if (remove(this.sockets, name, socket)) this.totalSocketCount--;
    if (!this.requests[name]?.length) return;
    // Another request of the same place waits for the place of this socket.
    const [request] = this.requests[name];
    const words = request._waitsWith ?? options;
    this.createSocket(request, words, (error, fresh) => {
      if (error) {
        remove(this.requests, name, request);
        return request.onSocket(null, error);
      }
      fresh.emit('free');
    });
  },
  keepSocketAlive(socket) {
    socket.setKeepAlive?.(true, this.keepAliveMsecs);
    socket.unref?.();
    let time = this.options.timeout || 0;
    const hint = /^timeout=(\d+)/.exec(socket._httpMessage?.res?.headers['keep-alive'] ?? '')?.[1];
    if (hint !== undefined) {
      const told = Number(hint) * 1000 - 1000;
      if (told <= 0) return false;
      time = time ? Math.min(time, told) : told;
    }
    if (time && socket.timeout !== time) socket.setTimeout?.(time);
    return true;
  },
  reuseSocket(socket, request) {
    request.reusedSocket = true;
    socket.ref?.();
  },
  destroy() { for (const table of [this.freeSockets, this.sockets]) for (const list of Object.values(table)) for (const socket of [...list]) socket.destroy(); },
});
for (const name of Object.keys(Agent.prototype)) Object.defineProperty(Agent.prototype, name, { enumerable: false });
Object.defineProperty(Agent.prototype, 'constructor', { value: Agent, configurable: true, writable: true });

function SecureAgent(options) {
  if (!(this instanceof SecureAgent)) return new SecureAgent(options);
  Agent.call(this, options);
  this.defaultPort = 443;
  this.protocol = 'https:';
  this.maxCachedSessions = this.options.maxCachedSessions ?? 100;
}
Object.setPrototypeOf(SecureAgent.prototype, Agent.prototype);
Object.setPrototypeOf(SecureAgent, Agent);
Object.defineProperty(SecureAgent, 'name', { value: 'Agent' });
Object.assign(SecureAgent.prototype, {
  createConnection(port, host, options) {
    const words = typeof port === 'object' ? port : typeof host === 'object' ? { ...host, port } : { ...options, port, host };
    return require('tls').connect(words);
  },
  // What makes two connections different, in the order in which Node.js has it.
  getName(options = {}) {
    let name = Agent.prototype.getName.call(this, options);
    for (const key of ['ca', 'cert', 'clientCertEngine', 'ciphers', 'key', 'pfx', 'rejectUnauthorized', 'servername', 'minVersion', 'maxVersion', 'secureProtocol', 'crl', 'honorCipherOrder', 'ecdhCurve',
      'dhparam', 'secureOptions', 'sessionIdContext', 'sigalgs', 'privateKeyIdentifier', 'privateKeyEngine']) {
      name += ':';
      const value = options[key];
      if (key === 'rejectUnauthorized' ? value !== undefined : value && !(key === 'servername' && value === options.host)) name += value;
    }
    return name;
  },
});
for (const name of ['createConnection', 'getName']) Object.defineProperty(SecureAgent.prototype, name, { enumerable: false });
Object.defineProperty(SecureAgent.prototype, 'constructor', { value: SecureAgent, configurable: true, writable: true });
module.exports = { Agent, SecureAgent };
