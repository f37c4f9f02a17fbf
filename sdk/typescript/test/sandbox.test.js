// SPDX-License-Identifier: Apache-2.0
// The package against the program: CLOCHE_BINARY here, and `cloche serve`.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { CancelledError, ClocheError, CommandError, Sandbox, ServerError } from 'cloche'
import { errorOf } from '../node_modules/cloche/dist/errors.js'
import { Rpc } from '../node_modules/cloche/dist/rpc.js'

const token = 'test-token-one'
const server = {}

before(async () => {
  server.folder = mkdtempSync(join(tmpdir(), 'cloche-'))
  server.process = spawn(process.env.CLOCHE_BINARY,
    ['serve', '--port', '0', '--token', token, '--log-format', 'json', '--ssh-host-key', join(server.folder, 'key')],
    { stdio: ['ignore', 'ignore', 'pipe'] })
  server.url = await new Promise((resolve, reject) => {
    let log = ''
    server.process.stderr.setEncoding('utf8').on('data', (text) => {
      log += text
      const found = /"url":\s*"([^"]+)"/.exec(log)
      if (found) resolve(found[1])
    })
    server.process.once('exit', () => reject(new Error(`the server does not start: ${log}`)))
  })
})

after(async () => {
  server.process.kill()
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(server.folder, { recursive: true })
})

const kinds = { local: () => ({}), remote: () => ({ url: server.url, token }) }

for (const [kind, options] of Object.entries(kinds)) {
  describe(kind, () => {
    let sbx
    before(async () => {
      sbx = await Sandbox.create({ ...options(), env: { GREETING: 'hi' } })
    })
    after(() => sbx.kill())

    test('commands', async () => {
      const result = await sbx.commands.run('echo hello | tr a-z A-Z')
      assert.deepEqual([result.stdout, result.stderr, result.exitCode, result.status], ['HELLO\n', '', 0, 'exited'])
      await sbx.commands.run('cd /tmp; A=kept')
      assert.equal((await sbx.commands.run('echo $PWD $A $GREETING')).stdout, '/tmp kept hi\n')
      assert.equal((await sbx.commands.run('cat', { stdin: new Uint8Array([104, 105]) })).stdout, 'hi')
      assert.equal((await sbx.commands.run('sleep 100', { timeoutMs: 50 })).exitCode, 124)
      await assert.rejects(sbx.commands.run('echo why >&2; exit 3', { check: true }),
        (error) => error instanceof CommandError && error.result.exitCode === 3 && /why/.test(error.message))
      const told = []
      const streamed = await sbx.commands.run('echo a; echo b', { onStdout: (text) => told.push(text) })
      assert.equal(told.join(''), 'a\nb\n')
      assert.equal(streamed.stdout, 'a\nb\n')
      assert.ok((await sbx.commands.history()).some(({ command }) => command === 'echo a; echo b'))
    })

    test('a command to talk with', async () => {
      const command = await sbx.commands.start('while read x; do echo got $x; done; exit 5')
      await command.write('one\n')
      const pieces = []
      for await (const { data } of command) {
        pieces.push(data)
        if (pieces.join('') === 'got one\n') await command.end()
      }
      assert.equal(pieces.join(''), 'got one\n')
      assert.equal((await command.wait()).exitCode, 5)
      const endless = await sbx.commands.start('sleep 1000')
      await endless.kill()
      assert.equal((await endless.wait()).status, 'killed')
      await assert.rejects(endless.write('x'), (error) => error instanceof ClocheError && error.code === 'EPIPE')
      await endless.end()
      await endless.kill()
      const slow = await sbx.commands.start('sleep 0.2; wc -c')
      const data = new Uint8Array(20_000_000)
      await Promise.all([slow.write(data), slow.write('x'), slow.end()])
      assert.equal((await slow.wait()).stdout.trim(), '20000001')
    })

    test('files', async () => {
      const data = new Uint8Array(20_000_000).map((_, at) => at * 7)
      await sbx.files.write('/tmp/data', data)
      assert.deepEqual(await sbx.files.read('/tmp/data'), data)
      await sbx.files.mkdir('/tmp/a/b', { parents: true })
      await sbx.files.write('/tmp/a/b/text', 'grüße', { mode: 0o600 })
      assert.equal(await sbx.files.readText('/tmp/a/b/text'), 'grüße')
      await sbx.files.symlink('text', '/tmp/a/b/link')
      const entries = await sbx.files.list('/tmp/a/b')
      assert.deepEqual(entries.map(({ name, type }) => [name, type]), [['link', 'symlink'], ['text', 'file']])
      assert.equal((await sbx.files.lstat('/tmp/a/b/text')).mode & 0o777, 0o600)
      await sbx.files.rename('/tmp/a/b/text', '/tmp/a/b/other')
      assert.deepEqual(await sbx.files.glob('/tmp/a/**/other'), ['/tmp/a/b/other'])
      assert.equal(await sbx.files.exists('/tmp/a/b/text'), false)
      await assert.rejects(sbx.files.read('/nowhere'), (error) => error instanceof ClocheError && error.code === 'ENOENT')
      await sbx.files.upload('/tmp/copy', await sbx.files.download('/tmp/a'))
      assert.equal(await sbx.files.readText('/tmp/copy/b/other'), 'grüße')
      await sbx.files.readable('/tmp/data').pipeTo(sbx.files.writable('/tmp/twin'))
      assert.deepEqual(await sbx.files.read('/tmp/twin'), data)
      await sbx.files.write('/tmp/empty', '')
      assert.equal((await sbx.files.read('/tmp/empty')).length, 0)
    })

    test('Python, with functions of ours', async () => {
      const result = await sbx.python.execute('print(await double(n=21))\nawait double(n=4)', {
        callbacks: { double: ({ n }) => n * 2 },
      })
      assert.deepEqual([result.stdout, result.result], ['42\n', '8'])
      const failed = await sbx.python.execute('await check(n="x")', {
        callbacks: {
          check: {
            run: () => null,
            parameters: { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'not a number' }] }) } },
          },
        },
      })
      assert.match(failed.error.message, /not a number/)
      assert.equal((await sbx.python.execute('1/0')).error.type, 'ZeroDivisionError')
      assert.equal((await sbx.python.execute('while True: pass', { maxSteps: 500 })).steps, 500)
      const used = await sbx.python.execute('1')
      assert.equal(used.steps, null)
      assert.ok(used.peakMemoryBytes > 1 << 20)
    })

    test('whatever a function of ours does is told to the code', async () => {
      const code = 'try:\n    said = await f()\nexcept Exception as error:\n    said = type(error).__name__\nsaid'
      let nested = []
      for (let depth = 0; depth < 200; depth++) nested = [nested]
      const functions = [
        () => { throw Object.create(null) }, () => { throw new TypeError('\ud800') }, () => Symbol('x'), () => () => 1,
        () => '\ud800', () => nested, () => 1n, () => ({ toJSON: () => undefined }),
      ]
      for (const f of functions) {
        const { result } = await sbx.python.execute(code, { callbacks: { f }, timeoutMs: 0 })
        assert.equal(result, "'CallbackError'", String(f))
      }
    })

    test('two executions at once call functions of their own', async () => {
      const who = (name) => sbx.python.execute('await who()', { callbacks: { who: () => name } })
      const results = await Promise.all([who('first'), who('second'), sbx.python.execute('"none"')])
      assert.deepEqual(results.map(({ result }) => result), ["'first'", "'second'", "'none'"])
    })

    test('a handler that throws ends what prints', async () => {
      const failing = sbx.commands.run('echo on; sleep 1000', { onStdout: () => { throw new RangeError('full') } })
      await assert.rejects(failing, RangeError)
      assert.equal((await sbx.commands.run('echo on')).stdout, 'on\n')
    })

    test('commands that are functions of ours', async () => {
      const told = []
      const box = await Sandbox.create({
        ...options(),
        commands: {
          search: { description: 'Searches the archive.', run: ({ args }) => args.join('\n') },
          upper: async ({ stdin, stdout }) => {
            for await (const line of stdin.lines()) await stdout.write(line.toUpperCase() + '\n')
            return 3
          },
          letters: async ({ stdin }) => ({ letters: (await stdin.text()).length }),
          pieces: async function* () {
            yield 'one '
            yield new Uint8Array([116, 119, 111, 10])
          },
          broken: () => { throw new RangeError('too far') },
          endless: async ({ stdout }) => {
            try {
              for (;;) await stdout.write('x'.repeat(100_000))
            } catch (error) {
              told.push(error.name)
              throw error
            }
          },
          patient: ({ signal }) => new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              told.push('gone')
              reject(signal.reason)
            })
          }),
        },
      })
      const printed = async (command, more) => {
        const { stdout, stderr, exitCode } = await box.commands.run(command, more)
        return [stdout, stderr, exitCode]
      }
      assert.deepEqual(await printed('search b a | sort | head -1'), ['a\n', '', 0])
      assert.deepEqual(await printed('search --help'), ['Searches the archive.\n', '', 0])
      assert.deepEqual(await printed('seq 30000 | sed s/^/a/ | upper | tail -1; echo ${PIPESTATUS[2]}'), ['A30000\n3\n', '', 0])
      assert.deepEqual(await printed('head -c 3000000 /dev/zero | letters'), ['{"letters":3000000}\n', '', 0])
      assert.deepEqual(await printed('pieces'), ['one two\n', '', 0])
      assert.deepEqual(await printed('while read x; do search $x; done', { stdin: 'a\nb\n' }), ['a\nb\n', '', 0])
      assert.deepEqual(await printed('broken'), ['', 'broken: too far\n', 1])
      assert.deepEqual(await printed('seq 20 | xargs -P 5 -I N search N | wc -l'), ['20\n', '', 0])
      assert.deepEqual(await printed('endless | head -c 200000 | wc -c'), ['200000\n', '', 0])
      assert.deepEqual(await printed('timeout 0.1 patient; echo $?'), ['124\n', '', 0])
      while (told.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
      assert.deepEqual(told, ['CancelledError', 'gone'])

      const twin = await box.fork()
      assert.equal((await twin.commands.run('search twin')).stdout, 'twin\n')
      await box.commands.serve({ other: () => 'other' })
      assert.deepEqual(await printed('other; search x 2> /tmp/err; echo $?'), ['other\n127\n', '', 0])
      assert.equal((await twin.commands.run('search twin')).stdout, 'twin\n')
      await assert.rejects(box.commands.serve({ ls: () => 0 }), (error) => error instanceof ClocheError && error.code === 'EEXIST')
      await Promise.all([box.kill(), twin.kill()])
    })

    test('snapshots, forks, state', async () => {
      await sbx.files.write('/tmp/file', 'one')
      const snapshot = await sbx.snapshot()
      await sbx.files.write('/tmp/file', 'two')
      const state = await sbx.export()
      const [first, second] = await sbx.fork(2)
      await sbx.restore(snapshot)
      assert.equal(await sbx.files.readText('/tmp/file'), 'one')
      assert.equal(await first.files.readText('/tmp/file'), 'two')
      await first.files.write('/tmp/file', 'three')
      assert.equal(await second.files.readText('/tmp/file'), 'two')
      await first.load(state)
      assert.equal(await first.files.readText('/tmp/file'), 'two')
      await Promise.all([first.kill(), second.kill()])
      assert.equal(first.isAlive, false)
      assert.ok((await sbx.usage()).fileBytes > 0)
      await sbx.env.set('B', '2')
      assert.equal(await sbx.env.get('B'), '2')
      assert.equal(await sbx.env.get('NONE'), null)
    })

    test('an abort cancels inside', async () => {
      const abort = new AbortController()
      const run = sbx.commands.run('echo begun; sleep 1000', { signal: abort.signal, onStdout: () => abort.abort() })
      await assert.rejects(run, CancelledError)
      await assert.rejects(sbx.commands.run('true', { signal: AbortSignal.abort() }), CancelledError)
      assert.equal((await sbx.commands.run('echo on')).stdout, 'on\n')
    })
  })
}

test('a terminal of a server', async () => {
  const sbx = await Sandbox.create({ url: server.url, token })
  let text = ''
  const decoder = new TextDecoder()
  let terminal
  await new Promise((resolve) => {
    void sbx.terminal({
      cols: 91, rows: 20,
      onData: (data) => {
        text += decoder.decode(data, { stream: true })
        if (/20 91/.test(text)) resolve()
      },
    }).then((opened) => {
      terminal = opened
      terminal.write('stty size\r')
    })
  })
  terminal.write('exit 3\r')
  assert.equal((await terminal.wait()).exitCode, 3)
  const again = await Sandbox.create({ url: server.url, token, sessionId: sbx.sessionId })
  assert.equal((await again.commands.run('echo there')).stdout, 'there\n')
  await again.kill()
  await sbx.kill()
})

test('a session that has ended is no missing file', async () => {
  const sbx = await Sandbox.create({ url: server.url, token })
  await fetch(`${server.url}/sessions/${sbx.sessionId}`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } })
  for (const ask of [() => sbx.files.exists('f'), () => sbx.files.read('f'), () => sbx.commands.run('true')])
    await assert.rejects(ask(), (error) => error instanceof ServerError && /has ended.*session/.test(error.message))
  await sbx.kill()
})

test('an end is told by a member, and by servers of before in words', () => {
  const gone = 'ENOENT: gone, in other words'
  const inWords = "ENOENT: there is no session 'x'"
  for (const [message, data, ended] of [
    [gone, { code: 'SESSION_NOT_FOUND' }, true], [gone, { code: 'SANDBOX_NOT_FOUND' }, true], [gone, undefined, false],
    [inWords, undefined, true], [inWords, null, true], [inWords, { code: 'ANOTHER' }, false],
  ]) {
    const error = errorOf(1, message, data)
    assert.equal(error instanceof ServerError, ended, message)
    if (!ended) assert.equal(error.code, 'ENOENT')
  }
})

test('a terminal whose handler throws hangs up', async () => {
  const sbx = await Sandbox.create({ url: server.url, token })
  const terminal = await sbx.terminal({ onData: () => { throw new RangeError('full') } })
  terminal.write('\r')
  await assert.rejects(terminal.wait(), RangeError)
  assert.equal((await sbx.commands.run('echo on')).stdout, 'on\n')
  await sbx.kill()
})

test('a terminal waits for a handler that takes its time', async () => {
  const sbx = await Sandbox.create({ url: server.url, token })
  const asked = []
  const { call } = Rpc.prototype
  Rpc.prototype.call = function (method, params, options) {
    asked.push({ method, params })
    return call.call(this, method, params, options)
  }
  let [busy, overlaps, received, last] = [false, 0, 0, '']
  try {
    const terminal = await sbx.terminal({
      command: "head -c 3000000 /dev/zero | tr '\\0' x; printf end",
      onData: async (data) => {
        overlaps += busy
        busy = true
        await new Promise(setImmediate)
        busy = false
        received += data.length
        last = (last + new TextDecoder().decode(data)).slice(-4)
      },
    })
    assert.equal((await terminal.wait()).exitCode, 0)
  } finally {
    Rpc.prototype.call = call
  }
  assert.deepEqual([overlaps, received, last], [0, 3000003, 'xend'])
  assert.equal(asked.find(({ method }) => method === 'terminal.open').params.window, 1 << 20)
  const told = asked.filter(({ method }) => method === 'terminal.taken').map(({ params }) => params.bytes)
  assert.ok(told.reduce((sum, bytes) => sum + bytes, 0) > 1 << 20, 'more than a window has been told of')
  await sbx.kill()
})

test('a terminal whose handler fails later hangs up', async () => {
  const sbx = await Sandbox.create({ url: server.url, token })
  const terminal = await sbx.terminal({ onData: async () => { throw new RangeError('full') } })
  terminal.write('\r')
  await assert.rejects(terminal.wait(), RangeError)
  assert.equal((await sbx.commands.run('echo on')).stdout, 'on\n')
  await sbx.kill()
})

test('the flags of a command of ours are completed', async () => {
  const sbx = await Sandbox.create({
    url: server.url, token,
    commands: {
      search: { description: 'Usage: search --limit N --exact', run: ({ args }) => `given ${args.join('|')}` },
      quiet: ({ args }) => `given ${args.join('|')}`,
    },
  })
  let text = ''
  let shown = () => undefined
  const decoder = new TextDecoder()
  const terminal = await sbx.terminal({
    cols: 90, rows: 20,
    onData: (data) => {
      text += decoder.decode(data, { stream: true })
      shown()
    },
  })
  const until = (words) => new Promise((resolve) => {
    shown = () => text.includes(words) && resolve()
    shown()
  })
  terminal.write('search --li\t5\r')
  await until('given --limit|5\r\n')
  terminal.write('search --ex\t\r')
  await until('given --exact\r\n')
  terminal.write('quiet --li\t5\r') // it has no --help, and is not called for one
  await until('given --li5\r\n')
  assert.equal(text.match(/given/g).length, 3)
  await sbx.kill()
})

test('sandboxes that are made at once share one server', async () => {
  const all = await Promise.all([1, 2, 3, 4].map(() => Sandbox.create()))
  assert.equal(new Set(all.map(({ id }) => id)).size, 4)
  await Promise.all(all.map((sbx) => sbx.kill()))
})

test('what a command prints is kept up to a limit', async () => {
  const sbx = await Sandbox.create()
  const { stdout, truncated, exitCode } = await (await sbx.commands.start('head -c 70000000 /dev/zero')).wait()
  assert.ok(stdout.length <= 64 << 20)
  assert.deepEqual([truncated, exitCode], [true, 0])
  await sbx.kill()
})

test('a message that is too long is refused', async () => {
  const sbx = await Sandbox.create()
  const limit = Rpc.messageLimitBytes
  Rpc.messageLimitBytes = 1 << 20
  try {
    await assert.rejects(sbx.commands.run('cat', { stdin: 'ü'.repeat(1 << 19) }), /in parts/)
    const code = 'try:\n    await big()\nexcept Exception as error:\n    print(error)'
    const { stdout } = await sbx.python.execute(code, { callbacks: { big: () => 'x'.repeat(2 << 20) } })
    assert.match(stdout, /in parts/)
    assert.equal((await sbx.commands.run('wc -c', { stdin: 'x'.repeat(1 << 19) })).stdout.trim(), String(1 << 19))
  } finally {
    Rpc.messageLimitBytes = limit
  }
  await sbx.kill()
})

test('what cannot be reached', async () => {
  await assert.rejects(Sandbox.create({ url: server.url, token: 'wrong' }), ServerError)
  await assert.rejects(Sandbox.create({ url: 'http://127.0.0.1:1', token }), ServerError)
  await assert.rejects(Sandbox.create({ url: 'ftp://example.com' }), TypeError)
})

describe('a program', () => {
  const outcome = (code) => {
    const whole = `import { Sandbox } from 'cloche'
      const sbx = await Sandbox.create()
      ${code}`
    const done = spawnSync(process.execPath, ['--input-type=module', '-e', whole], { encoding: 'utf8', timeout: 240_000 })
    return [done.status, done.stdout, done.stderr]
  }

  test('ends when it has nothing more to do', () => {
    assert.deepEqual(outcome("process.stdout.write((await sbx.commands.run('echo end')).stdout)"), [0, 'end\n', ''])
    assert.deepEqual(outcome(`const server = await sbx.commands.start('sleep 1000')
      process.stdout.write((await sbx.commands.run('echo end')).stdout)`), [0, 'end\n', ''])
  })

  test('goes on while it waits for a command', () => {
    assert.deepEqual(outcome(`const [cat, other] = [await sbx.commands.start('cat'), await sbx.commands.start('sleep 0.5; echo late')]
      await cat.write('hi\\n')
      await cat.end()
      for await (const { data } of cat) process.stdout.write(data)
      process.stdout.write((await cat.wait()).exitCode + (await other.wait()).stdout)`), [0, 'hi\n0late\n', ''])
  })

  test('that iterates hears that its server is gone', () => {
    assert.deepEqual(outcome(`import { readFileSync } from 'node:fs'
      const cat = await sbx.commands.start('cat')
      process.kill(Number(readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8')), 'SIGKILL')
      try { for await (const piece of cat); console.log('ended') } catch (error) { console.log(error.name) }`), [0, 'ServerError\n', ''])
  })
})
