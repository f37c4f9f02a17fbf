// SPDX-License-Identifier: Apache-2.0
// As worker.py, for the peers that are packages of npm.
import {performance} from "node:perf_hooks";
import {createInterface} from "node:readline";

const must = (got, wanted) => {
  if (String(got).trim() !== wanted) throw new Error(`it printed ${JSON.stringify(got)}, not ${wanted}`);
};

const peers = {
  "just-bash": async () => {
    const {Bash} = await import("just-bash");
    const kept = new Bash();
    const run = async (bash, script, wanted) => must((await bash.exec(script)).stdout, wanted);
    return {
      "new: echo": () => run(new Bash(), "echo hi", "hi"),
      "warm: echo": () => run(kept, "echo hi", "hi"),
      "pipeline": () => run(kept, "seq 1 1000 | grep 7 | wc -l", "271"),
    };
  },
  "pyodide": async () => {
    const {loadPyodide} = await import("pyodide");
    const printed = async (python) => {
      let text = "";
      python.setStdout({batched: (line) => { text += line; }});
      await python.runPythonAsync("print(1)");
      must(text, "1");
    };
    const kept = await loadPyodide();
    return {
      "new: Python print(1)": async () => printed(await loadPyodide()),
      "warm: Python print(1)": () => printed(kept),
    };
  },
};

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
let works;
try {
  works = await peers[process.argv[2]]();
  for (const work of Object.values(works)) await work();
} catch (problem) {
  say({why_not: String(problem).slice(0, 200)});
  process.exit(0);
}
say({works: Object.keys(works)});
for await (const line of createInterface({input: process.stdin})) {
  const begin = performance.now();
  await works[line.trim()]();
  say({ms: performance.now() - begin});
}
