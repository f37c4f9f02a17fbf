// SPDX-License-Identifier: Apache-2.0
// Connections to servers.
import { Rpc } from './rpc.js'
import { createSandbox, type Link } from './sandbox.js'
import type { RemoteOptions } from './types.js'
import { webSocket } from './websocket.js'

/** A sandbox on a connection of its own; forks share it. */
export async function openRemote(options: RemoteOptions): Promise<Link> {
  const rpc = await Rpc.open(webSocket(options.url, options.token))
  let users = 1
  try {
    const reply = await createSandbox<{ sandboxId: string; sessionId: string }>(rpc, options)
    return {
      rpc,
      ...reply,
      retain: () => void ++users,
      release: async () => {
        if (--users === 0) rpc.close()
      },
    }
  } catch (error) {
    rpc.close()
    throw error
  }
}
