// SPDX-License-Identifier: Apache-2.0
// One `cloche rpc` for all local sandboxes of this process.
import { spawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { ServerError } from './errors.js'
import { Rpc, type Connect } from './rpc.js'
import { createSandbox, type Link } from './sandbox.js'
import type { LocalOptions } from './types.js'

const lastWordsBytes = 2000

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** `CLOCHE_BINARY`, the package for this machine, then `PATH`. */
export function findBinary(): string {
  const given = process.env['CLOCHE_BINARY']
  if (given) {
    if (!isProgram(given)) throw new ServerError(`CLOCHE_BINARY is ${given}, and that is no program that can be run`)
    return given
  }
  try {
    const { resolve } = createRequire(import.meta.url) // not for bundlers
    const inPackage = join(dirname(resolve(`@cloche/${process.platform}-${process.arch}/package.json`)), 'bin', 'cloche')
    if (isProgram(inPackage)) return inPackage
  } catch {
    // It is optional: another machine, or an installation without it.
  }
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'cloche')
    if (folder && isProgram(path)) return path
  }
  throw new ServerError(
    `the program cloche is not found: install @cloche/${process.platform}-${process.arch}, put cloche on PATH, or set CLOCHE_BINARY to its path`)
}

const startServer: Connect = async (receiver) => {
  const binary = findBinary()
  const child: ChildProcess = spawn(binary, ['rpc', '--parent', String(process.pid)],
    { stdio: ['pipe', 'pipe', 'pipe'] })
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new ServerError(`the server ${binary} cannot be started`)
  let words = ''
  stderr.setEncoding('utf8')
  stderr.on('data', (text: string) => (words = (words + text).slice(-lastWordsBytes)))
  stdin.on('error', () => undefined) // its end is told by `exit`

  // Lines: most pieces hold whole ones.
  stdout.setEncoding('utf8')
  let parts: string[] = []
  stdout.on('data', (text: string) => {
    const lines = text.split('\n')
    for (const line of lines.slice(0, -1)) {
      parts.push(line)
      const whole = parts.join('')
      parts = []
      receiver.message(whole)
    }
    const rest = lines[lines.length - 1]!
    if (rest) parts.push(rest)
  })
  const tell = (status: string) => {
    const last = words.trim().split('\n').pop()
    receiver.lost(new ServerError(`the server has ended${status}${last ? `: ${last}` : ''}`))
  }
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new ServerError(`the server ${binary} cannot be started: ${error.message}`)))
  })
  child.once('close', (code, signal) => tell(signal ? ` by ${signal}` : code ? ` with status ${code}` : ''))
  const handles = [child, stdin, stdout, stderr] as unknown as { ref?: () => void; unref?: () => void }[]
  return {
    send: (text) => void stdin.write(text + '\n'),
    close: () => stdin.end(),
    hold: (busy) => {
      for (const handle of handles) {
        if (busy) handle.ref?.()
        else handle.unref?.()
      }
    },
  }
}

interface Shared {
  rpc: Promise<Rpc>
  users: number
}
let shared: Shared | undefined

/** The server of this process, with one more user. */
async function acquire(): Promise<Shared> {
  const before = shared
  const isOpen = await before?.rpc.then((rpc) => rpc.isOpen, () => false)
  // Another caller may have started one meanwhile.
  if (!shared || (shared === before && !isOpen)) shared = { rpc: Rpc.open(startServer), users: 0 }
  const held = shared
  held.users++
  try {
    await held.rpc
  } catch (error) {
    await release(held)
    throw error
  }
  return held
}

async function release(held: Shared): Promise<void> {
  if (--held.users > 0) return
  if (shared === held) shared = undefined
  await held.rpc.then((rpc) => rpc.close(), () => undefined)
}

/** A sandbox of this machine. */
export async function openLocal(options: LocalOptions): Promise<Link> {
  const held = await acquire()
  const rpc = await held.rpc
  try {
    const reply = await createSandbox<{ sandboxId: string }>(rpc, options)
    return { rpc, ...reply, retain: () => void held.users++, release: () => release(held) }
  } catch (error) {
    await release(held)
    throw error
  }
}
