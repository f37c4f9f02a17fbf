// node:test/reporters: what tests tell, as text. A reporter here takes one event after the other and gives its text; programs get each as Node.js has it, over a
// source of events.
const { inspect } = require('util');
const { Transform } = require('stream');

const short = (ms) => Number(ms.toFixed(6));
const causeOf = (error) => (error?.cause === undefined ? error : error.cause);
// What is known of an error of another process, or of one that is here.
const shownOf = (error) => {
  const cause = causeOf(error);
  return error?.[shown] ?? inspect(cause);
};
const shown = Symbol('shown');

// --- TAP ---

const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const tapText = (text) => text.replace(/[\\#]/g, '\\$&');
const block = (key, text, indent) => (text.includes('\n') ? `${indent}${key}: |-\n${text.split('\n').map((line) => `${indent}  ${line}`).join('\n')}\n` : `${indent}${key}: ${quoted(text)}\n`);
const stackOf = (cause) => (typeof cause?.stack === 'string' ? cause.stack.split('\n').filter((line) => /^\s+at /.test(line)).map((line) => line.trim().slice(3)) : []);
function tapOf(data, ok) {
  const { name, nesting, testNumber, details, skip, todo } = data, indent = '    '.repeat(nesting), inner = `${indent}  `;
  const mark = (word, value) => (value ? ` # ${word}${typeof value === 'string' ? ` ${tapText(value)}` : ''}` : '');
  let text = `${indent}${ok ? 'ok' : 'not ok'} ${testNumber} - ${tapText(name)}${mark('SKIP', skip) || mark('TODO', todo)}\n${inner}---\n${inner}duration_ms: ${short(details.duration_ms)}\n`;
  text += `${inner}type: '${details.type ?? 'test'}'\n`;
  const { error } = details;
  if (error) {
    const cause = causeOf(error), isError = internal.isError(cause);
    if (data.file) text += `${inner}location: ${quoted(placeOf(data))}\n`;
    text += `${inner}failureType: '${error.failureType}'\n${block('error', isError ? cause.message : String(cause), inner)}${inner}code: ${quoted(String(cause?.code ?? error.code))}\n`;
    if (isError && cause.name !== 'Error') text += `${inner}name: ${quoted(cause.name)}\n`;
    if (isError && cause.operator !== undefined) {
      const value = (key) => (cause[described]?.[key] ?? inspect(cause[key], { depth: 4 })).replaceAll('\n', ' ');
      text += `${inner}expected: ${value('expected')}\n${inner}actual: ${value('actual')}\n${inner}operator: ${quoted(String(cause.operator))}\n`;
    }
    const stack = cause === error ? [] : stackOf(cause);
    if (stack.length) text += `${inner}stack: |-\n${stack.map((line) => `${inner}  ${line}\n`).join('')}`;
  }
  return `${text}${inner}...\n`;
}
const described = Symbol('described');
const placeOf = ({ file, line, column }) => (line === undefined ? file : `${file}:${line}:${column}`);
const madeTap = () => ({
  begin: 'TAP version 13\n',
  take({ type, data }) {
    const indent = '    '.repeat(data?.nesting ?? 0);
    if (type === 'test:start') return `${indent}# Subtest: ${tapText(data.name)}\n`;
    if (type === 'test:pass' || type === 'test:fail') return tapOf(data, type === 'test:pass');
    if (type === 'test:plan') return `${indent}1..${data.count}\n`;
    if (type === 'test:diagnostic') return `${indent}# ${tapText(data.message)}\n`;
    if (type === 'test:stdout' || type === 'test:stderr') return data.message.split('\n').filter(Boolean).map((line) => `# ${tapText(line)}\n`).join('');
    return '';
  },
});

// --- For people ---

function madeSpec() {
  const failed = [], waiting = [];
  const lineOf = (sign, data, indent) => `${indent}${sign} ${data.name} (${short(data.details.duration_ms)}ms)${data.skip ? ' # SKIP' : data.todo ? ' # TODO' : ''}\n`;
  return {
    take({ type, data }) {
      const indent = '  '.repeat(data?.nesting ?? 0);
      if (type === 'test:start') {
        waiting.unshift(data);
        return '';
      }
      if (type === 'test:pass' || type === 'test:fail') {
        waiting.shift();
        let heads = '';
        // Those that it is in are named before it.
        while (waiting.length) {
          const outer = waiting.pop();
          heads += `${'  '.repeat(outer.nesting)}▶ ${outer.name}\n`;
        }
        if (type === 'test:fail' && !data.todo && data.details.error?.failureType !== 'subtestsFailed') failed.push(data);
        return heads + lineOf(data.skip ? '﹣' : type === 'test:fail' ? '✖' : '✔', data, indent);
      }
      if (type === 'test:diagnostic') return `${indent}ℹ ${data.message}\n`;
      if (type === 'test:stdout' || type === 'test:stderr') return data.message;
      return '';
    },
    end() {
      if (failed.length === 0) return '';
      const one = (data) => `${data.file ? `test at ${placeOf(data)}\n` : ''}✖ ${data.name} (${short(data.details.duration_ms)}ms)\n${shownOf(data.details.error).split('\n').map((line) => `  ${line}`).join('\n')}\n`;
      return `\n✖ failing tests:\n\n${failed.map(one).join('\n')}`;
    },
  };
}

function madeDot() {
  const failed = [];
  let count = 0;
  return {
    take({ type, data }) {
      if (type !== 'test:pass' && type !== 'test:fail') return '';
      if (type === 'test:fail') failed.push(data);
      const columns = Math.max(process.stdout.columns ?? 20, 20);
      return `${type === 'test:fail' ? 'X' : '.'}${++count % columns === 0 ? '\n' : ''}`;
    },
    end: () => `\n${failed.length ? `\nFailed tests:\n\n${failed.map((data) => `✖ ${data.name} (${short(data.details.duration_ms)}ms)\n${shownOf(data.details.error).split('\n').map((line) => `  ${line}`).join('\n')}\n`).join('')}` : ''}`,
  };
}

// --- JUnit ---

const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const attribute = (text) => escaped(String(text).replaceAll('"', '&quot;').replace(/\n/g, ''));
function xmlOf(node, depth = 1) {
  const indent = '\t'.repeat(depth);
  if (node.comment !== undefined) return `${indent}<!-- ${node.comment.replaceAll('--', '&#45;&#45;')} -->\n`;
  const head = `${indent}<${node.tag}${Object.entries(node.attributes).map(([name, value]) => ` ${name}="${attribute(value)}"`).join('')}`;
  if (node.text !== undefined) return `${head}>\n${escaped(node.text)}\n${indent}</${node.tag}>\n`;
  if (node.children.length === 0) return `${head}/>\n`;
  return `${head}>\n${node.children.map((child) => xmlOf(child, depth + 1)).join('')}${indent}</${node.tag}>\n`;
}
function madeJunit() {
  const roots = [], open = [];
  const add = (node) => (open.length ? open.at(-1).children : roots).push(node);
  const within = (node, test) => node.children.filter((child) => child.tag && test(child)).length;
  return {
    begin: '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n',
    take({ type, data }) {
      if (type === 'test:start') {
        while (open.length > data.nesting) open.pop();
        const node = { tag: 'testcase', attributes: { name: data.name }, children: [], nesting: data.nesting };
        add(node);
        open.push(node);
      } else if (type === 'test:pass' || type === 'test:fail') {
        while (open.length > data.nesting + 1) open.pop();
        const node = open.pop(), seconds = (data.details.duration_ms / 1000).toFixed(6), tests = node.children.filter((child) => child.tag);
        if (tests.length) {
          node.tag = 'testsuite';
          Object.assign(node.attributes, { time: seconds, disabled: 0, errors: 0, tests: tests.length, failures: within(node, (child) => child.failed), skipped: within(node, (child) => child.skipped), hostname: require('os').hostname() });
        } else {
          Object.assign(node.attributes, { time: seconds, classname: data.classname ?? 'test' });
          if (data.skip || data.todo) node.children.push({ tag: 'skipped', attributes: { type: data.skip ? 'skipped' : 'todo', message: data.skip || data.todo }, children: [] });
        }
        node.skipped = Boolean(data.skip || data.todo);
        if (type === 'test:fail' && !tests.length) {
          const { error } = data.details, message = causeOf(error)?.message ?? error.message;
          node.failed = true;
          node.attributes.failure = message;
          node.children.push({ tag: 'failure', attributes: { type: error.failureType ?? error.code, message }, text: inspect(error) });
        }
        node.failed ||= type === 'test:fail';
      } else if (type === 'test:diagnostic') {
        while (open.length > data.nesting) open.pop();
        add({ comment: data.message });
      }
      return '';
    },
    end: () => `${roots.map((node) => xmlOf(node)).join('')}</testsuites>\n`,
  };
}

const makers = { dot: madeDot, junit: madeJunit, spec: madeSpec, tap: madeTap, lcov: () => ({ take: () => '' }) };
const generatorOf = (make) => async function* (source) {
  const reporter = make();
  if (reporter.begin) yield reporter.begin;
  for await (const event of source) {
    const text = reporter.take(event);
    if (text) yield text;
  }
  const rest = reporter.end?.();
  if (rest) yield rest;
};
const transformOf = (name, make) => class extends Transform {
  #reporter = make();
  static { Object.defineProperty(this, 'name', { value: name }); }
  constructor() { super({ writableObjectMode: true }); }
  _transform(event, encoding, callback) { callback(null, this.#reporter.take(event) || undefined); }
  _flush(callback) { callback(null, this.#reporter.end?.() || undefined); }
};
const SpecReporter = transformOf('SpecReporter', madeSpec), LcovReporter = transformOf('LcovReporter', makers.lcov);
const named = (name) => Object.defineProperty(generatorOf(makers[name]), 'name', { value: name });

module.exports = { dot: named('dot'), junit: named('junit'), spec: function spec(...words) { return new SpecReporter(...words); }, tap: named('tap'), lcov: new LcovReporter() };
Object.defineProperties(module.exports, { __makers: { value: makers }, __shown: { value: shown }, __described: { value: described } });
