// SPDX-License-Identifier: Apache-2.0
// For Node, Bun and Deno: sandboxes of this machine, and of servers.
import { openLocal } from './local.js'
import { openRemote } from './remote.js'
import { SandboxBase } from './sandbox.js'
import type { LocalOptions, RemoteOptions } from './types.js'

export * from './errors.js'
export * from './types.js'
export { CommandCall } from './command_call.js'
export type { CommandInput, CommandOutput } from './command_call.js'
export { Command, Commands, Environment, Files, Packages, Python, Snapshot, Terminal } from './sandbox.js'

/** A private computer: of this machine, or with `url` on a server. */
export class Sandbox extends SandboxBase {
  static async create(options: LocalOptions | RemoteOptions = {}): Promise<Sandbox> {
    return new Sandbox(options.url === undefined ? await openLocal(options) : await openRemote(options))
  }
}
