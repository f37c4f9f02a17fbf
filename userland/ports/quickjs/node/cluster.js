// cluster: programs of node that share ports. The primary listens, and hands each connection to one worker after the other, or with SCHED_NONE the port itself
// to all of them; descriptors go with the messages between them (ipc).
const { native, os } = internal;
const EventEmitter = require('events');
const { coded } = require('checks');

const SCHED_NONE = 1, SCHED_RR = 2;

class Worker extends EventEmitter {
  constructor({ id = 0, state = 'none', process: program } = {}) {
    super();
    this.exitedAfterDisconnect = undefined;
    this.state = state;
    this.id = id | 0;
    if (!program) return;
    this.process = program;
    program.on('error', (code, signal) => this.emit('error', code, signal));
    program.on('message', (message, handle) => this.emit('message', message, handle));
  }
  kill(...words) { return this.destroy(...words); }
  send(...words) { return this.process.send(...words); }
  isDead() { return this.process.exitCode !== null && this.process.exitCode !== undefined || Boolean(this.process.signalCode); }
  isConnected() { return Boolean(this.process.connected); }
}

const cluster = new EventEmitter();
module.exports = cluster;
Object.assign(cluster, { isWorker: internal.clusterId !== undefined, isMaster: internal.clusterId === undefined, isPrimary: internal.clusterId === undefined, Worker, SCHED_NONE, SCHED_RR });

// --- The primary ---

// One place that is listened at for workers: `key` names it.
class Listener {
  #fd;
  #workers = new Map();
  #held = [];
  constructor(key, fd, datagrams) {
    this.key = key;
    this.#fd = fd;
    this.shared = datagrams || cluster.schedulingPolicy === SCHED_NONE;
    this.name = native.socketName(fd, 0);
    if (!this.shared) os.setReadHandler(fd, () => this.#accept());
  }
  add(worker, answer) {
    this.#workers.set(worker.id, worker);
    answer({ key: this.key, name: this.name }, this.shared ? this.#fd : undefined);
    for (const fd of this.#held.splice(0)) this.#give(fd);
  }
  // Without a worker nobody listens any more.
  remove(worker) {
    if (!this.#workers.delete(worker.id) || this.#workers.size > 0) return false;
    if (!this.shared) os.setReadHandler(this.#fd, null);
    for (const fd of [...this.#held.splice(0), this.#fd]) native.close(fd);
    return true;
  }
  #accept() {
    for (let i = 0; i < 64 && this.#workers.size > 0; i++) {
      const fd = native.accept(this.#fd);
      if (fd < 0) return;
      this.#give(fd);
    }
  }
  #give(fd) {
    for (const [id, worker] of this.#workers) {
      // The next connection is for the one after it.
      this.#workers.delete(id);
      this.#workers.set(id, worker);
      if (!worker.isConnected()) continue;
      worker.process.__sendOwn({ act: 'newconn', key: this.key }, () => native.close(fd), fd);
      return;
    }
    this.#held.push(fd);
  }
}

function makePrimary() {
  const listeners = new Map();
  let lastId = 0, isSetUp = false;
  const policy = { none: SCHED_NONE, rr: SCHED_RR }[process.env.NODE_CLUSTER_SCHED_POLICY] ?? SCHED_RR;
  Object.assign(cluster, { workers: {}, settings: {}, schedulingPolicy: policy });

  function forget(worker) {
    for (const [key, listener] of listeners) if (listener.remove(worker)) listeners.delete(key);
    delete cluster.workers[worker.id];
    if (Object.keys(cluster.workers).length === 0) cluster.emit('__empty');
  }
  const opened = ({ kind, address, port, backlog }) => {
    if (kind) {
      const fd = native.datagrams(kind === 'udp6' ? 6 : 4, 1, 0);
      const bound = fd < 0 ? fd : native.bindDatagrams(fd, address, port);
      if (fd >= 0 && bound < 0) native.close(fd);
      return bound < 0 ? bound : fd;
    }
    const fd = native.listen(address ?? '::', port, backlog);
    return fd < 0 && address === null && fd !== -98 ? native.listen('0.0.0.0', port, backlog) : fd;
  };
  const heard = {
    online(worker) {
      worker.state = 'online';
      worker.emit('online');
      cluster.emit('online', worker);
    },
    listening(worker, { address, port, addressType }) {
      const info = { addressType, address, port, fd: undefined };
      worker.state = 'listening';
      worker.emit('listening', info);
      cluster.emit('listening', worker, info);
    },
    queryServer(worker, message) {
      const { seq, key } = message;
      const answer = (told, passed) => worker.process.__sendOwn({ ...told, ack: seq }, undefined, passed);
      if (worker.exitedAfterDisconnect) return;
      if (!listeners.has(key)) {
        const fd = opened(message);
        if (fd < 0) return answer({ errno: fd });
        listeners.set(key, new Listener(key, fd, message.kind !== undefined));
      }
      listeners.get(key).add(worker, answer);
    },
    close(worker, { key }) { if (listeners.get(key)?.remove(worker)) listeners.delete(key); },
    exitedAfterDisconnect(worker, { seq }) {
      worker.exitedAfterDisconnect = true;
      worker.process.__sendOwn({ ack: seq });
    },
  };

  cluster.setupPrimary = cluster.setupMaster = function setupPrimary(options) {
    const settings = { args: process.argv.slice(2), exec: process.argv[1], execArgv: process.execArgv, silent: false, ...cluster.settings, ...options };
    cluster.settings = settings;
    isSetUp = true;
    process.nextTick(() => cluster.emit('setup', settings));
  };
  cluster.fork = function fork(environment) {
    if (!isSetUp || cluster.settings.exec === undefined) cluster.setupPrimary();
    const { exec, args, execArgv, cwd, silent, serialization, stdio, gid, uid } = cluster.settings;
    const id = ++lastId;
    const child = require('child_process').fork(exec, args, { cwd, silent, serialization, stdio, gid, uid, execArgv, env: { ...process.env, ...environment, NODE_UNIQUE_ID: String(id) } });
    const worker = new Worker({ id, process: child });
    worker.on('message', function (message, handle) { cluster.emit('message', this, message, handle); });
    child.once('exit', (code, signal) => {
      if (!worker.isConnected()) forget(worker);
      worker.exitedAfterDisconnect = Boolean(worker.exitedAfterDisconnect);
      worker.state = 'dead';
      worker.emit('exit', code, signal);
      cluster.emit('exit', worker, code, signal);
    });
    child.once('disconnect', () => {
      forget(worker);
      worker.exitedAfterDisconnect = Boolean(worker.exitedAfterDisconnect);
      worker.state = 'disconnected';
      worker.emit('disconnect');
      cluster.emit('disconnect', worker);
    });
    child.on('internalMessage', (message) => { if (message.cmd === 'NODE_CLUSTER') heard[message.act]?.(worker, message); });
    process.nextTick(() => cluster.emit('fork', worker));
    cluster.workers[id] = worker;
    return worker;
  };
  cluster.disconnect = function disconnect(callback) {
    const workers = Object.values(cluster.workers);
    if (typeof callback === 'function') cluster.once('__empty', callback);
    if (workers.length === 0) process.nextTick(() => cluster.emit('__empty'));
    for (const worker of workers) if (worker.isConnected()) worker.disconnect();
  };
  Worker.prototype.disconnect = function disconnect() {
    this.exitedAfterDisconnect = true;
    this.process.__sendOwn({ act: 'disconnect' });
    return this;
  };
  Worker.prototype.destroy = function destroy(signal = 'SIGTERM') {
    const end = () => this.process.kill(signal);
    if (!this.isConnected()) return end();
    this.once('disconnect', end);
    this.disconnect();
  };
}

// --- A worker ---

function makeWorker() {
  const waiting = new Map(), shared = new Map(), counts = new Map();
  let seq = 0;
  const worker = new Worker({ id: internal.clusterId, process, state: 'online' });
  cluster.worker = worker;
  const send = (message, answer) => {
    if (answer) waiting.set(message.seq = ++seq, answer);
    process.__sendOwn(message);
  };
  // A port that the system chooses is one for each time that it is asked for.
  const keyOf = (kind, address, port) => {
    const name = `${kind ?? 'tcp'}:${address}:${port}`;
    const index = port === 0 ? (counts.get(name) ?? 0) : 0;
    counts.set(name, index + 1);
    return `${name}:${index}`;
  };
  internal.clusterListen = ({ address, port, backlog }, begun) => {
    const key = keyOf(undefined, address, port);
    send({ act: 'queryServer', key, address, port, backlog }, ({ errno, name }, fd) => {
      if (errno) return begun({ errno });
      const one = { fd, name, take: undefined, close() { if (shared.delete(key)) send({ act: 'close', key }); } };
      shared.set(key, one);
      begun(one);
      const addressType = port < 0 ? -1 : name[0].includes(':') ? 6 : 4;
      send({ act: 'listening', address: address ?? null, port: port < 0 ? -1 : name[1], addressType: address === null ? 4 : addressType });
    });
  };
  internal.clusterDatagram = ({ address, port, type }, bound) => {
    send({ act: 'queryServer', kind: type, key: keyOf(type, address, port), address, port }, ({ errno, name }, fd) => {
      bound(errno ?? 0, fd);
      if (!errno) send({ act: 'listening', address, port: name[1], addressType: type });
    });
  };
  const leave = () => {
    for (const one of shared.values()) one.close();
    if (process.connected) process.disconnect();
  };
  const heard = {
    newconn({ key }, fd) {
      const one = shared.get(key);
      if (one?.take) one.take(fd);
      else native.close(fd);
    },
    disconnect() {
      worker.exitedAfterDisconnect = true;
      leave();
    },
  };
  process.on('internalMessage', (message, fd) => {
    if (message.cmd !== 'NODE_CLUSTER') return;
    const answer = waiting.get(message.ack);
    waiting.delete(message.ack);
    if (answer) answer(message, fd);
    else heard[message.act]?.(message, fd);
  });
  process.once('disconnect', () => {
    process.channel = null;
    worker.emit('disconnect');
    if (!worker.exitedAfterDisconnect) process.exit(0);
  });
  Worker.prototype.disconnect = function disconnect() {
    if (this.state === 'disconnecting') return this;
    this.state = 'disconnecting';
    this.exitedAfterDisconnect = true;
    send({ act: 'exitedAfterDisconnect' }, leave);
    return this;
  };
  Worker.prototype.destroy = function destroy() {
    if (this.state === 'destroying') return;
    this.exitedAfterDisconnect = true;
    if (!this.isConnected()) return process.exit(0);
    this.state = 'destroying';
    send({ act: 'exitedAfterDisconnect' }, () => process.disconnect());
    process.once('disconnect', () => process.exit(0));
  };
  send({ act: 'online' });
}

if (cluster.isPrimary) makePrimary();
else if (process.connected) makeWorker();
else throw coded(Error, 'ERR_IPC_DISCONNECTED', 'IPC channel is already disconnected');
