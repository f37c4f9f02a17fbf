// SPDX-License-Identifier: Apache-2.0
// The kernel of a JavaScript context: runs cells in one global scope. Requests and records are those of python.py; `types` says that a cell
// is TypeScript.
"use strict";
{  // cells share the global scope, and find none of these names there
const fs = require("fs");
const util = require("util");
const vm = require("vm");

let mark = "";
const splits_max = 32;
const textMax = 1 << 20;
const errorMax = 1 << 18;
const jsonMax = 4 << 20;
// Half of a character is none that JSON's reader takes.
const whole = (_, value) => (typeof value === "string" ? value.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd") : value);
const put = (fd, record) => fs.writeSync(fd, "\x1e" + mark + JSON.stringify(record, whole) + "\n");
const shown = (text) => (text.length > textMax ? text.slice(0, textMax) + "..." : text);

// What an error says, whatever was thrown.
function said(what, otherwise) {
  try {
    return String(what()).slice(0, errorMax);
  } catch {
    return otherwise;
  }
}

// As a cell of a notebook: what all its lines are indented by is no part of it.
function withoutIndent(code) {
  const indent = /^[ \t]*(?=\S)/m.exec(code)?.[0] ?? "";
  if (!indent) return code;
  return code.split("\n").map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join("\n");
}

// `import` at the beginning of a line, which no script has, as what it means here.
function withRequire(code) {
  const named = (list) => list.replace(/([\w$]+)\s+as\s+([\w$]+)/g, "$1: $2");
  return code.replace(
    /^import\s+(?:([\w$]+)\s*)?(?:,?\s*(?:\{([^}'"]*)\}|\*\s*as\s+([\w$]+))\s*)?(?:from\s*)?(["'])([^"'\n]+)\4[ \t]*;?/gm,
    (_, whole, list, space, quote, name) => {
      const module = `require(${quote}${name}${quote})`;
      const parts = [];
      if (whole) parts.push(`var ${whole} = __cell_default(${module});`);
      if (list !== undefined) parts.push(`var {${named(list)}} = ${module};`);
      if (space) parts.push(`var ${space} = ${module};`);
      return parts.length ? parts.join(" ") : `${module};`;
    });
}

// TypeScript's cell as JavaScript, by the interpreter's own means.
function withoutTypes(code) {
  const { stripTypeScriptTypes } = require("module");
  if (!stripTypeScriptTypes) throw new Error(`TypeScript wants Node.js 22.13 or later, and this is ${process.version}`);
  return stripTypeScriptTypes(withoutIndent(code), { mode: "transform" });
}

function isStatements(code) {
  try {
    new Function(code);
    return true;
  } catch {
    return false;
  }
}

// A cell with `await` at its top is the body of a function: what it declares stays all the same, and its last expression is its
// value.
function inFunction(code) {
  const declared = new Set();
  for (const [, pattern] of code.matchAll(/^(?:const|let|var)\s+(\{[^=]*?\}|\[[^=]*?\])\s*=/gm))
    for (const [, name] of pattern.matchAll(/([A-Za-z_$][\w$]*)\s*(?=[,}\]])/g)) declared.add(name);
  for (const [, name] of code.matchAll(/^(?:async\s+)?(?:function\s*\*?|class)\s+([A-Za-z_$][\w$]*)/gm)) declared.add(name);
  const keep = declared.size ? `Object.assign(globalThis, { ${[...declared].join(", ")} });` : "";
  const lines = code
    .replace(/^(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=/gm, "globalThis.$1 =")
    .replace(/\s+$/, "").split("\n");
  const body = (parts) => "(async () => {\n" + parts.join("\n") + "\n})()";
  for (let first = lines.length - 1; first >= 0; --first) {
    if (/^(?:\s|$|[}\])]|\/\/)/.test(lines[first])) continue;
    if (/^(?:return|if|else|for|while|do|try|catch|finally|switch|throw|async\s+function|function|class|const|let|var)\b/.test(lines[first]))
      break;
    const end = lines.slice(first).join("\n").replace(/;+\s*$/, "");
    // All of it, or what follows its last statements.
    for (const at of [0, ...[...end.matchAll(/;/g)].slice(-splits_max).map((each) => each.index + 1)]) {
      const whole = body([...lines.slice(0, first), end.slice(0, at), keep, "return (" + end.slice(at) + "\n)"]);
      if (isStatements(whole)) return whole;
    }
  }
  return body([...lines, keep]);
}

function evaluate(given) {
  const code = withoutIndent(given);
  try {
    return vm.runInThisContext(code);
  } catch (error) {
    // What is thrown by a program that is one is the cell's.
    if (!(error instanceof SyntaxError) || isStatements(code)) throw error;
    const script = withRequire(code);
    if (isStatements(script)) return vm.runInThisContext(script);
    if (!/\bawait\b/.test(code)) throw error;
    return vm.runInThisContext(inFunction(script));
  }
}

async function run(request) {
  mark = request.mark;
  const before = {};
  for (const [name, value] of Object.entries(request.env)) {
    before[name] = process.env[name];
    process.env[name] = value;
  }
  try {
    const value = await evaluate(request.types ? withoutTypes(request.code) : request.code);
    if (value !== undefined && !/;\s*$/.test(request.code)) {
      const text = shown(typeof value === "string" ? value : util.inspect(value));
      const record = { type: "result", is_main_result: true, text };
      if (value !== null && typeof value === "object") {
        try {
          const json = JSON.stringify(value);
          if (json.length <= jsonMax) record.json = JSON.parse(json);
        } catch {
          // JSON has no such value
        }
      }
      put(1, record);
    }
  } catch (error) {
    const is_error = error instanceof Error;
    put(1, {
      type: "error",
      name: is_error ? said(() => error.name, "Error") : typeof error,
      value: said(() => (is_error ? error.message : error), "what has no text was thrown"),
      traceback: said(() => (is_error ? `${error.name}: ${error.message}\n${error.stack ?? ""}` : error), ""),
    });
  }
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  put(1, { type: "end" });
  put(2, { type: "end" });
}

globalThis.require = require;
globalThis.__cell_default = (module) => (module?.__esModule ? module.default : module);
globalThis.display = (value) => put(1, { type: "result", is_main_result: false, text: shown(util.inspect(value)) });
let rest = "";
let turn = Promise.resolve();
process.stdin.on("data", (data) => {
  rest += data;
  for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
    const request = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    turn = turn.then(() => run(request));
  }
});
}
