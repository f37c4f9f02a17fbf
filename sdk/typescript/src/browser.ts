// SPDX-License-Identifier: Apache-2.0
// For browsers: sandboxes of a server.
import { openRemote } from './remote.js'
import { SandboxBase } from './sandbox.js'
import type { RemoteOptions } from './types.js'

export * from './errors.js'
export * from './types.js'
export { CommandCall } from './command_call.js'
export type { CommandInput, CommandOutput } from './command_call.js'
export { Command, Commands, Environment, Files, Packages, Python, Snapshot, Terminal } from './sandbox.js'

/** A private computer on a server. */
export class Sandbox extends SandboxBase {
  static async create(options: RemoteOptions): Promise<Sandbox> {
    return new Sandbox(await openRemote(options))
  }
}
