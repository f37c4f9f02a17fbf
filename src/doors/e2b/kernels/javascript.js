// SPDX-License-Identifier: Apache-2.0
// The kernel of a JavaScript context: runs cells in one global scope. Requests and records are those of python.py.
"use strict";
const fs = require("fs");
const util = require("util");
const vm = require("vm");

let mark = "";
const put = (fd, record) => fs.writeSync(fd, "\x1e" + mark + JSON.stringify(record) + "\n");

// A cell with `await` at its top is the body of a function: what it declares stays all the same, and its last line is its value.
function inFunction(code) {
  const lines = code
    .replace(/^(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=/gm, "globalThis.$1 =")
    .replace(/\s+$/, "").split("\n");
  const last = lines.length - 1;
  if (!/^(?:\s|[}\])]|return\b|if\b|for\b|while\b|do\b|try\b|switch\b|throw\b|function\b|class\b|const\b|let\b|var\b|\/\/)/.test(lines[last]))
    lines[last] = "return (" + lines[last].replace(/;+\s*$/, "") + "\n)";
  return "(async () => {\n" + lines.join("\n") + "\n})()";
}

function evaluate(code) {
  try {
    return vm.runInThisContext(code);
  } catch (error) {
    if (!(error instanceof SyntaxError) || !/\bawait\b/.test(code)) throw error;
    return vm.runInThisContext(inFunction(code));
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
      const text = typeof value === "string" ? value : util.inspect(value);
      const record = { type: "result", is_main_result: true, text };
      if (value !== null && typeof value === "object") {
        try {
          record.json = JSON.parse(JSON.stringify(value));
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
      name: is_error ? error.name : typeof error,
      value: is_error ? error.message : String(error),
      traceback: is_error ? `${error.name}: ${error.message}\n${error.stack ?? ""}` : String(error),
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
globalThis.display = (value) => put(1, { type: "result", is_main_result: false, text: util.inspect(value) });
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
