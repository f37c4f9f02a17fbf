// SPDX-License-Identifier: Apache-2.0
// What a program for E2B does with the JavaScript client of its code interpreter. It knows nothing of this server.
import assert from 'node:assert/strict'
import { Sandbox, SandboxError, TimeoutError } from '@e2b/code-interpreter'

const sandbox = await Sandbox.create({ timeoutMs: 120_000 })

assert.equal((await sandbox.runCode('x = 1; x')).text, '1')
const lines = []
const printed = await sandbox.runCode('import sys\nprint("out")\nprint("err", file=sys.stderr)\nx + 1',
  { onStdout: (message) => { lines.push(message.line) }, onStderr: (message) => { lines.push(message.line) } })
assert.deepEqual([printed.text, printed.logs.stdout.join(''), printed.logs.stderr.join('')], ['2', 'out\n', 'err\n'])
assert.deepEqual(lines.map((line) => line.trim()).sort(), ['err', 'out'])
const { error } = await sandbox.runCode('1 / 0')
assert.equal(error.name, 'ZeroDivisionError')
assert.match(error.traceback, /1 \/ 0/)
assert.equal((await sandbox.runCode('import os; os.environ["A"]', { envs: { A: 'b' } })).text, 'b')
for (const [language, code, text] of [['js', '[1, 2].length', '2'], ['ts', 'const n: number = 3; n', '3'],
  ['bash', 'echo hello', undefined]])
  assert.equal((await sandbox.runCode(code, { language })).text, text, language)

const figure = (await sandbox.runCode('import matplotlib.pyplot as plt\nplt.plot([1, 2], label="a")\nplt.title("T")\nplt.show()')).results[0]
assert.ok(figure.png)
assert.equal(figure.chart.title, 'T')
const table = (await sandbox.runCode('import pandas as pd\npd.DataFrame({"a": [1, 2]})')).results[0]
assert.match(table.html, /<table/)
assert.deepEqual(table.data, { a: [1, 2] })

await assert.rejects(sandbox.runCode('import time; time.sleep(1000)', { timeoutMs: 500 }), TimeoutError)
assert.equal((await sandbox.runCode('x')).text, '1')
await assert.rejects(sandbox.runCode('1', { language: 'r' }), (problem) => problem instanceof SandboxError && problem.message.startsWith('400'))

const context = await sandbox.createCodeContext({ language: 'javascript', cwd: '/tmp' })
assert.equal((await sandbox.runCode('globalThis.y = 5; process.cwd()', { context })).text, '/tmp')
assert.ok((await sandbox.listCodeContexts()).some((each) => each.id === context.id))
await sandbox.restartCodeContext(context)
assert.equal((await sandbox.runCode('typeof y', { context })).text, 'undefined')
await sandbox.removeCodeContext(context)
assert.equal(await sandbox.kill(), true)
