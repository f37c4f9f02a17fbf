// SPDX-License-Identifier: Apache-2.0
// What a program for E2B does with an older JavaScript client.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { of: 'a test' } })
assert.equal((await sandbox.commands.run('echo hello; pwd')).stdout, 'hello\n/home/user\n')
await assert.rejects(sandbox.commands.run('exit 4'), (problem) => problem.exitCode === 4)
await sandbox.files.write('deep/f.txt', 'text')
assert.equal(await sandbox.files.read('deep/f.txt'), 'text')
assert.deepEqual((await sandbox.files.list('deep')).map((each) => each.name), ['f.txt'])
const seen = []
const watch = await sandbox.files.watchDir('deep', (event) => { seen.push(event.name + ' ' + event.type) })
await sandbox.files.write('deep/g.txt', 'text')
while (!seen.includes('g.txt write')) await new Promise((resolve) => setTimeout(resolve, 10))
await watch.stop()
assert.equal(await sandbox.isRunning(), true)
assert.equal(sandbox.getHost(8123), `8123-${sandbox.sandboxId}.${process.env.E2B_DOMAIN}`)
await sandbox.kill()
assert.equal(await sandbox.isRunning(), false)
