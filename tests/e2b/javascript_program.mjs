// SPDX-License-Identifier: Apache-2.0
// What a program for E2B does with its JavaScript client. It knows nothing of this server.
import assert from 'node:assert/strict'
import { CommandExitError, FileNotFoundError, NotFoundError, Sandbox } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { of: 'a test' }, envs: { GREETING: 'hello' } })

let seen = ''
const result = await sandbox.commands.run('echo $GREETING; pwd; echo err >&2', { onStdout: (data) => { seen += data } })
assert.deepEqual([result.stdout, result.stderr, result.exitCode, seen],
  ['hello\n/home/user\n', 'err\n', 0, 'hello\n/home/user\n'])
await assert.rejects(sandbox.commands.run('exit 4'), (problem) => problem instanceof CommandExitError && problem.exitCode === 4)
const cat = await sandbox.commands.run('cat', { background: true, stdin: true })
await sandbox.commands.sendStdin(cat.pid, 'typed\n')
assert.ok((await sandbox.commands.list()).some((each) => each.pid === cat.pid))
assert.equal(await sandbox.commands.kill(cat.pid), true)

await sandbox.files.write('deep/f.txt', 'text')
assert.equal(await sandbox.files.read('deep/f.txt'), 'text')
const bytes = new Uint8Array(1_000_000).fill(7)
await sandbox.files.write('large', bytes.buffer)
assert.equal(Buffer.compare(await sandbox.files.read('large', { format: 'bytes' }), bytes), 0)
assert.deepEqual((await sandbox.files.list('deep')).map((each) => each.name), ['f.txt'])
assert.equal(await sandbox.files.makeDir('new'), true)
assert.equal(await sandbox.files.makeDir('new'), false)
await sandbox.files.rename('deep/f.txt', 'new/f.txt')
await assert.rejects(sandbox.files.read('deep/f.txt'), (problem) => problem instanceof NotFoundError || problem instanceof FileNotFoundError)
assert.equal(await (await fetch(await sandbox.downloadUrl('new/f.txt'))).text(), 'text')

let shown = ''
const terminal = await sandbox.pty.create({ cols: 90, rows: 20, onData: (data) => { shown += Buffer.from(data).toString() } })
await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit\n'))
await terminal.wait()
assert.match(shown, /20 90/)

await sandbox.files.makeDir('watched')
const changes = []
let ended
const watch = await sandbox.files.watchDir('watched', (event) => { changes.push([event.name, event.type, event.entry?.size]) },
  { recursive: true, includeEntry: true, onExit: (problem) => { ended = [problem] } })
await sandbox.commands.run('mkdir watched/new && echo a > watched/new/f')
while (!changes.some(([name, type, size]) => name === 'new/f' && type === 'write' && size === 2))
  await new Promise((resolve) => setTimeout(resolve, 10))
assert.deepEqual(changes.slice(0, 2).map(([name, type]) => [name, type]), [['new', 'create'], ['new/f', 'create']])
await watch.stop()
while (!ended) await new Promise((resolve) => setTimeout(resolve, 10))

const bounded = await Sandbox.create({ network: { allowOut: ['a.example.com'], denyOut: ['0.0.0.0/0'] } })
await bounded.updateNetwork({ allowOut: ['b.example.com'] })
assert.deepEqual((await bounded.getInfo()).network.allowOut, ['b.example.com'])
await assert.rejects(bounded.updateNetwork({ allowOut: ['10.0.0.1'] }), /--allow-session-net/)
await assert.rejects(Sandbox.create({ network: { allowOut: ['0.0.0.0/0'] } }), /--allow-session-net/)
await bounded.kill()

const found = await Sandbox.list({ query: { metadata: { of: 'a test' } } }).nextItems()
assert.deepEqual(found.map((each) => each.sandboxId), [sandbox.sandboxId])
await sandbox.pause()
await sandbox.connect()
assert.equal(await sandbox.files.read('new/f.txt'), 'text')
assert.equal(await sandbox.kill(), true)
assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
