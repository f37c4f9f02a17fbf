// SPDX-License-Identifier: Apache-2.0
// Functions of this process that are programs in a sandbox.
import { CommandCall } from './command_call.js'
import { toBytes } from './encoding.js'
import type { Rpc } from './rpc.js'
import type { CommandDescription, CommandFunction, HostCommands, Json } from './types.js'

const functionOf = (command: CommandFunction | CommandDescription): CommandFunction =>
  typeof command === 'function' ? command : command.run

/** As `create` and `commands.set` take them. */
export function describeCommands(commands: HostCommands): { name: string; description?: string }[] {
  return Object.entries(commands).map(([name, command]) => {
    const description = typeof command === 'function' ? undefined : command.description
    return description === undefined ? { name } : { name, description }
  })
}

const isIterable = (value: object): value is AsyncIterable<unknown> | Iterable<unknown> =>
  Symbol.asyncIterator in value || Symbol.iterator in value

const pieceOf = (value: unknown): string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array ? value : JSON.stringify(value) + '\n'

/** Prints what a function has returned; its exit code. */
async function finish(call: CommandCall, reply: unknown): Promise<number> {
  if (typeof reply === 'number') return reply & 0xff
  if (reply === undefined || reply === null) return 0
  if (typeof reply === 'string') await call.stdout.write(reply === '' || reply.endsWith('\n') ? reply : reply + '\n')
  else if (reply instanceof Uint8Array) await call.stdout.write(reply)
  else if (typeof reply === 'object' && !Array.isArray(reply) && isIterable(reply)) {
    for await (const piece of reply) await call.stdout.write(toBytes(pieceOf(piece)))
  } else await call.stdout.write(pieceOf(reply))
  return 0
}

/** The commands of all sandboxes of a connection, and their calls. */
class CommandServer {
  readonly #rpc: Rpc
  readonly #served = new Map<string, HostCommands>()
  readonly #calls = new Map<number, CommandCall>()

  constructor(rpc: Rpc) {
    this.#rpc = rpc
    rpc.serve('command.invoke', (params) => this.#invoke(params))
    for (const method of ['call.input', 'call.taken', 'call.end'] as const)
      rpc.on(method, (params) => this.#calls.get(params['call'] as number)?.take(method, params))
    rpc.onLost(() => {
      for (const call of this.#calls.values()) call.take('call.end', {})
    })
  }

  serve(sandboxId: string, commands: HostCommands | undefined): void {
    if (commands) this.#served.set(sandboxId, commands)
    else this.#served.delete(sandboxId)
  }

  served(sandboxId: string): HostCommands | undefined {
    return this.#served.get(sandboxId)
  }

  async #invoke(params: Record<string, Json>): Promise<Json> {
    const name = params['name'] as string
    const commands = this.#served.get(String(params['sandboxId']))
    if (!commands || !Object.hasOwn(commands, name)) throw new Error('there is no such command')
    const call = new CommandCall(this.#rpc, params)
    this.#calls.set(call.number, call)
    try {
      const exitCode = await finish(call, await functionOf(commands[name]!)(call))
      await call.written()
      return { exitCode }
    } catch (error) {
      if (call.signal.aborted) return null // the process has gone
      await call.written().catch(() => undefined)
      throw error
    } finally {
      this.#calls.delete(call.number)
    }
  }
}

const servers = new WeakMap<Rpc, CommandServer>()

/** From now on these functions answer when a command is called in that sandbox. */
export function serveCommands(rpc: Rpc, sandboxId: string, commands: HostCommands | undefined): void {
  const server = servers.get(rpc) ?? new CommandServer(rpc)
  servers.set(rpc, server)
  server.serve(sandboxId, commands)
}

/** What a fork of that sandbox has too. */
export const servedCommands = (rpc: Rpc, sandboxId: string): HostCommands | undefined =>
  servers.get(rpc)?.served(sandboxId)
