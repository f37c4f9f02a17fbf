// node:sqlite: databases and their statements, by SQLite itself.
const { native } = internal;
const { sqlite } = native;
const { coded } = require('checks');

const mustBe = (name, kind) => coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be ${kind}.`);
const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function');
function checkKind(value, name, kind) {
  if (typeof value !== kind) throw mustBe(name, `a ${kind}`);
}
// The value of an option, which need not be there.
function option(options, name, kind, otherwise) {
  const value = options[name];
  if (value === undefined) return otherwise;
  if (kind === 'integer' ? !Number.isInteger(value) || Math.abs(value) >= 2 ** 31 : typeof value !== kind) throw mustBe(`options.${name}`, kind === 'integer' ? 'an integer' : `a ${kind}`);
  return value;
}
function checkOptions(options) {
  if (!isObject(options)) throw mustBe('options', 'an object');
}
const construct = () => coded(TypeError, 'ERR_CONSTRUCT_CALL_REQUIRED', 'Cannot call constructor without `new`');
const illegal = () => coded(Error, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');

function pathOf(path, name) {
  const text = path instanceof Uint8Array ? Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString() : path instanceof URL ? path.href : path;
  if (typeof text !== 'string' || text.includes('\0')) throw mustBe(name, 'a string, Uint8Array, or URL without null bytes');
  if (path instanceof URL && path.protocol !== 'file:') throw coded(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file:');
  return text;
}
// What can be called: a class without `new`, whose methods are seen as Node.js has them.
function open(Class, refuse) {
  function Made(...words) {
    if (!new.target) throw refuse();
    return Reflect.construct(Class, words, new.target);
  }
  Made.prototype = Class.prototype;
  Object.defineProperties(Made, { prototype: { writable: false }, name: { value: Class.name }, length: { value: 0 } });
  const methods = Object.getOwnPropertyDescriptors(Class.prototype);
  for (const name of Object.keys(methods)) if (name !== 'constructor') methods[name].enumerable = true;
  Object.defineProperties(Class.prototype, { ...methods, constructor: { value: Made, writable: true, configurable: true, enumerable: false } });
  return Made;
}
const getter = (object, name, get) => Object.defineProperty(object, name, { get, enumerable: true, configurable: false });

const BIG_INTEGERS = 1, ROWS_ARE_ARRAYS = 2, BARE_NAMES = 4, UNKNOWN_NAMES = 8;
const token = {};

class StatementSyncIterator {
  #handle;
  #beginning;
  #options;
  #over = false;
  constructor(handle, beginning, options) {
    this.#handle = handle;
    this.#beginning = beginning;
    this.#options = options;
  }
  next() {
    const row = this.#over ? undefined : sqlite.next(this.#handle, this.#beginning, this.#options());
    this.#over ||= row === undefined;
    return { __proto__: null, done: this.#over, value: row ?? null };
  }
  return() {
    if (!this.#over) sqlite.leave(this.#handle, this.#beginning);
    this.#over = true;
    return { __proto__: null, done: true, value: null };
  }
}
Object.setPrototypeOf(StatementSyncIterator.prototype, Iterator.prototype);

let handleOfStatement;
function sourceSQL() { return sqlite.sql(handleOfStatement(this), 0); }
function expandedSQL() { return sqlite.sql(handleOfStatement(this), 1); }
class StatementSync {
  #handle;
  #options;
  static { handleOfStatement = (statement) => statement.#handle; }
  constructor(given, handle, options) {
    if (given !== token) throw illegal();
    this.#handle = handle;
    this.#options = options;
    getter(this, 'sourceSQL', sourceSQL);
    getter(this, 'expandedSQL', expandedSQL);
  }
  iterate(...values) { return new StatementSyncIterator(this.#handle, sqlite.begin(this.#handle, values, this.#options), () => this.#options); }
  all(...values) { return sqlite.all(this.#handle, values, this.#options); }
  get(...values) { return sqlite.get(this.#handle, values, this.#options); }
  run(...values) { return sqlite.run(this.#handle, values, this.#options); }
  columns() { return sqlite.columns(this.#handle); }
  setAllowBareNamedParameters(on) { this.#set(BARE_NAMES, on, 'allowBareNamedParameters'); }
  setAllowUnknownNamedParameters(on) { this.#set(UNKNOWN_NAMES, on, 'enabled'); }
  setReadBigInts(on) { this.#set(BIG_INTEGERS, on, 'readBigInts'); }
  setReturnArrays(on) { this.#set(ROWS_ARE_ARRAYS, on, 'returnArrays'); }
  #set(bit, on, name) {
    sqlite.sql(this.#handle, 0);  // it has to be there
    checkKind(on, name, 'boolean');
    this.#options = on ? this.#options | bit : this.#options & ~bit;
  }
}

class Session {
  #handle;
  constructor(given, handle) {
    if (given !== token) throw illegal();
    this.#handle = handle;
  }
  changeset() { return sqlite.changes(this.#handle, false); }
  patchset() { return sqlite.changes(this.#handle, true); }
  close() { sqlite.closeSession(this.#handle); }
}

const BIG_ARGUMENTS = 1, DETERMINISTIC = 2, DIRECT_ONLY = 4;
// How many values a function takes, and what else is asked of it.
function wordsOf(options, count) {
  const bits = (option(options, 'useBigIntArguments', 'boolean', false) ? BIG_ARGUMENTS : 0) | (option(options, 'deterministic', 'boolean', false) ? DETERMINISTIC : 0) |
    (option(options, 'directOnly', 'boolean', false) ? DIRECT_ONLY : 0);
  return [option(options, 'varargs', 'boolean', false) ? -1 : Math.max(count(), 0), bits];
}

let handleOfDatabase;
function isOpen() { return sqlite.isOpen(handleOfDatabase(this)); }
function isTransaction() { return sqlite.isInTransaction(handleOfDatabase(this)); }
class DatabaseSync {
  #handle = sqlite.database();
  #path;
  #opening = 2;
  #timeout = 0;
  #rows = BARE_NAMES;
  // Whether extensions were allowed when it was made, and are now.
  #extensions = [false, false];
  static { handleOfDatabase = (database) => database.#handle; }
  constructor(...words) {
    const [path, options = {}] = words;
    this.#path = pathOf(path, 'path');
    if (words.length > 1) checkOptions(words[1]);
    const isOpened = option(options, 'open', 'boolean', true);
    this.#opening = (option(options, 'readOnly', 'boolean', false) ? 1 : 0) | (option(options, 'enableForeignKeyConstraints', 'boolean', true) ? 2 : 0) |
      (option(options, 'enableDoubleQuotedStringLiterals', 'boolean', false) ? 4 : 0);
    const extensions = option(options, 'allowExtension', 'boolean', false);
    this.#extensions = [extensions, extensions];
    this.#timeout = option(options, 'timeout', 'integer', 0);
    this.#rows = (option(options, 'readBigInts', 'boolean', false) ? BIG_INTEGERS : 0) | (option(options, 'returnArrays', 'boolean', false) ? ROWS_ARE_ARRAYS : 0) |
      (option(options, 'allowBareNamedParameters', 'boolean', true) ? BARE_NAMES : 0) | (option(options, 'allowUnknownNamedParameters', 'boolean', false) ? UNKNOWN_NAMES : 0);
    getter(this, 'isOpen', isOpen);
    getter(this, 'isTransaction', isTransaction);
    if (isOpened) this.open();
  }
  open() { sqlite.open(this.#handle, this.#path, this.#opening, this.#timeout); }
  close() { sqlite.close(this.#handle); }
  // Once it is closed, nothing is left to be closed.
  [Symbol.dispose]() { if (sqlite.isOpen(this.#handle)) this.close(); }
  prepare(sql) {
    this.#mustBeOpen();
    checkKind(sql, 'sql', 'string');
    return new StatementSync(token, sqlite.prepare(this.#handle, sql), this.#rows);
  }
  exec(sql) {
    this.#mustBeOpen();
    checkKind(sql, 'sql', 'string');
    sqlite.exec(this.#handle, sql);
  }
  function(name, ...words) {
    this.#mustBeOpen();
    checkKind(name, 'name', 'string');
    const [options, fn] = words.length < 2 ? [{}, words[0]] : words;
    if (!isObject(options)) throw mustBe('options', 'an object');
    const [count, bits] = wordsOf(options, () => fn?.length);
    checkKind(fn, 'function', 'function');
    sqlite.function(this.#handle, name, count, bits, fn);
  }
  location(name = 'main') {
    this.#mustBeOpen();
    checkKind(name, 'dbName', 'string');
    return sqlite.location(this.#handle, name);
  }
  aggregate(name, options) {
    this.#mustBeOpen();
    const start = options.start, { step, result, inverse } = options;
    if (start === undefined || (isObject(start) && typeof start !== 'function')) throw mustBe('options.start', 'a function or a primitive value');
    checkKind(step, 'options.step', 'function');
    if (inverse !== undefined) checkKind(inverse, 'options.inverse', 'function');
    checkKind(name, 'name', 'string');
    const [count, bits] = wordsOf(options, () => Math.max(step.length - 1, (inverse?.length ?? 0) - 1));
    sqlite.aggregate(this.#handle, name, count, bits & ~DETERMINISTIC, start, step, inverse, typeof result === 'function' ? result : undefined);
  }
  createSession(options = {}) {
    this.#mustBeOpen();
    checkOptions(options);
    const table = option(options, 'table', 'string'), name = option(options, 'db', 'string', 'main');
    return new SessionMade(token, sqlite.session(this.#handle, name, table));
  }
  applyChangeset(changeset, options = {}) {
    this.#mustBeOpen();
    if (!(changeset instanceof Uint8Array)) throw mustBe('changeset', 'a Uint8Array');
    checkOptions(options);
    return sqlite.apply(this.#handle, changeset, option(options, 'filter', 'function'), option(options, 'onConflict', 'function'));
  }
  enableLoadExtension(allow) {
    checkKind(allow, 'allow', 'boolean');
    if (allow && !this.#extensions[0]) throw coded(Error, 'ERR_INVALID_STATE', 'Cannot enable extension loading because it was disabled at database creation.');
    this.#extensions[1] = allow;
  }
  loadExtension(path) {
    this.#mustBeOpen();
    if (!this.#extensions[1]) throw coded(Error, 'ERR_INVALID_STATE', 'extension loading is not allowed');
    checkKind(path, 'path', 'string');
    throw coded(Error, 'ERR_LOAD_SQLITE_EXTENSION', `${path}: extensions of SQLite cannot be loaded here`);
  }
  #mustBeOpen() {
    if (!sqlite.isOpen(this.#handle)) throw coded(Error, 'ERR_INVALID_STATE', 'database is not open');
  }
}

// Copies a database while others use it, some pages in each turn of the loop.
function backup(database, destination, options = {}) {
  const handle = isObject(database) && handleOfSource(database);
  if (!handle) throw mustBe('sourceDb', 'an object');
  if (!sqlite.isOpen(handle)) throw coded(Error, 'ERR_INVALID_STATE', 'database is not open');
  if (destination === undefined || !(typeof destination === 'string' || destination instanceof Uint8Array || destination instanceof URL)) throw mustBe('destination', 'a string');
  const path = pathOf(destination, 'destination');
  checkOptions(options);
  const rate = option(options, 'rate', 'integer', 100), source = option(options, 'source', 'string', 'main'), target = option(options, 'target', 'string', 'main');
  if (rate === 0) throw coded(RangeError, 'ERR_OUT_OF_RANGE', 'The value of "options.rate" is out of range. It must not be 0. Received 0');
  const progress = option(options, 'progress', 'function');
  return new Promise((resolve, reject) => {
    const work = sqlite.backup(handle, path, source, target);
    const step = () => {
      try {
        const [totalPages, remainingPages, waits] = sqlite.backupStep(work, rate);
        if (remainingPages === 0 && !waits) return void resolve(totalPages);
        progress?.({ totalPages, remainingPages });
        if (waits) setTimeout(step, 10);
        else setImmediate(step);
      } catch (error) {
        sqlite.endBackup(work);
        reject(error);
      }
    };
    setImmediate(step);
  });
}
const handleOfSource = (object) => {
  try {
    return handleOfDatabase(object);
  } catch {
    return undefined;
  }
};

const SessionMade = open(Session, illegal);
const Database = open(DatabaseSync, construct), Statement = open(StatementSync, illegal);

const constants = { SQLITE_CHANGESET_OMIT: 0, SQLITE_CHANGESET_REPLACE: 1, SQLITE_CHANGESET_ABORT: 2, SQLITE_CHANGESET_DATA: 1, SQLITE_CHANGESET_NOTFOUND: 2,
  SQLITE_CHANGESET_CONFLICT: 3, SQLITE_CHANGESET_CONSTRAINT: 4, SQLITE_CHANGESET_FOREIGN_KEY: 5 };
module.exports = { DatabaseSync: Database, StatementSync: Statement, constants, backup };
