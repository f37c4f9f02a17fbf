// SPDX-License-Identifier: Apache-2.0
// The kernel of a JavaScript context: runs cells in one global scope. Requests and records are those of python.py.
"use strict";
// In a scope of its own: cells may call theirs as they like.
(() => {
const fs = require("fs");
const util = require("util");
const vm = require("vm");

const textMax = 1 << 20;
const errorMax = 1 << 18;
const jsonMax = 4 << 20;

let mark = "";
// Half of a character is none that JSON's reader takes.
const whole = (_, value) => (typeof value === "string" ? value.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd") : value);
const put = (fd, record) => fs.writeSync(fd, "\x1e" + mark + JSON.stringify(record, whole) + "\n");
const shown = (text) => (text.length > textMax ? text.slice(0, textMax) + "..." : text);

// What an error says, whatever was thrown.
function said(what, otherwise) {
  try {
    return String(what());
  } catch {
    return otherwise;
  }
}

// A cell with `await` at its top is the body of a function: what it declares stays all the same, and its last line is its value.
function inFunction(code) {
  const lines = code
    .replace(/^(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=/gm, "globalThis.$1 =")
    .replace(/\s+$/, "").split("\n");
  const last = lines.pop().replace(/;+\s*$/, "");
  const asFunction = (line) => "(async () => {\n" + [...lines, line].join("\n") + "\n})";
  if (!/^(?:\s|[}\])]|return\b|if\b|for\b|while\b|do\b|try\b|switch\b|throw\b|function\b|class\b|const\b|let\b|var\b|\/\/)/.test(last)) {
    // The value is what comes after a `;`, or all of the line.
    for (let at = last.length; at >= 0; at = at > 0 ? last.lastIndexOf(";", at - 1) : -1) {
      const begin = at === last.length ? 0 : at + 1;
      const line = last.slice(0, begin) + "return (" + last.slice(begin) + "\n)";
      if (isProgram(asFunction(line))) return asFunction(line);
    }
  }
  return asFunction(last);
}

// Makes the function, and calls nothing.
function isProgram(code) {
  try {
    vm.runInThisContext(code);
    return true;
  } catch {
    return false;
  }
}

// Statements that import, as what a cell may say.
function withoutImports(code) {
  return code.replace(/^import\s+(?:([^"';]+?)\s+from\s+)?(["'][^"']+["'])\s*;?/gm, (_, names, from) => {
    const [, first, all, some] = /^([\w$]+)?\s*,?\s*(?:\*\s*as\s+([\w$]+))?\s*(?:\{([^}]*)\})?$/.exec(names ?? "") ?? [];
    const lines = [`require(${from})`];
    if (first) lines.push(`globalThis.${first} = require(${from}).default ?? require(${from})`);
    if (all) lines.push(`globalThis.${all} = require(${from})`);
    for (const each of (some ?? "").split(",").filter((one) => one.trim())) {
      const [name, other] = each.trim().split(/\s+as\s+/);
      lines.push(`globalThis.${other ?? name} = require(${from}).${name}`);
    }
    return lines.join("; ") + ";";
  });
}

function evaluate(given) {
  try {
    return vm.runInThisContext(given);
  } catch (error) {
    // What is thrown by a program that is one is the cell's.
    if (!(error instanceof SyntaxError) || isProgram("(() => {\n" + given + "\n})")) throw error;
    const code = withoutImports(given);
    if (isProgram("(() => {\n" + code + "\n})")) return vm.runInThisContext(code);
    if (!/\bawait\b/.test(code)) throw error;
    return vm.runInThisContext(inFunction(code))();
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
    const value = await evaluate(request.code);
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
      name: is_error ? said(() => error.name, "Error").slice(0, errorMax) : typeof error,
      value: said(() => (is_error ? error.message : error), "what has no text was thrown").slice(0, errorMax),
      traceback: said(() => (is_error ? `${error.name}: ${error.message}\n${error.stack ?? ""}` : error), "").slice(0, errorMax),
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
})();
