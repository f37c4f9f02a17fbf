// SPDX-License-Identifier: Apache-2.0
// A server's `/rpc`, by the WebSocket of the platform, or `ws` where there is none.
import { ServerError } from './errors.js'
import type { Connect } from './rpc.js'

interface Socket {
  binaryType: string
  onopen: (() => void) | null
  onmessage: ((event: { data: unknown }) => void) | null
  onclose: ((event: { code: number; reason: string }) => void) | null
  onerror: (() => void) | null
  send(data: string | Uint8Array): void
  close(): void
}
type SocketClass = new (url: string, protocols: string[]) => Socket

const protocol = 'cloche.rpc.v1'

async function socketClass(): Promise<SocketClass> {
  const own = (globalThis as { WebSocket?: unknown }).WebSocket
  if (own) return own as SocketClass
  try {
    const name = 'ws' // not for bundlers: where it is asked for, it is there
    const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as { default: unknown }
    return module.default as SocketClass
  } catch {
    throw new ServerError('this Node has no WebSocket: use Node 22, or install the package `ws`')
  }
}

const base64Url = (text: string): string => {
  const bytes = new TextEncoder().encode(text)
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

/** The address of `/rpc` on a server. */
export function rpcAddress(url: string): string {
  const address = new URL(url)
  address.protocol = address.protocol.replace(/^http/, 'ws')
  if (!/^wss?:$/.test(address.protocol)) throw new TypeError(`url must be http or https, and is ${url}`)
  address.pathname = address.pathname.replace(/\/+$/, '').replace(/\/rpc$/, '') + '/rpc'
  return address.href
}

/** Connects to a server. A browser that has logged in at its console needs no token. */
export function webSocket(url: string, token?: string): Connect {
  return async (receiver) => {
    const Socket = await socketClass()
    const protocols = [protocol]
    if (token !== undefined) protocols.push(`cloche.token.${base64Url(token)}`)
    const socket = new Socket(rpcAddress(url), protocols)
    socket.binaryType = 'arraybuffer'
    await new Promise<void>((resolve, reject) => {
      const refuse = () => reject(new ServerError(`no connection to ${url}: is it a Cloche server, and is the token good?`, 'ECONNREFUSED'))
      socket.onopen = () => resolve()
      socket.onerror = refuse
      socket.onclose = refuse
    })
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') receiver.message(data)
      else receiver.bytes(new Uint8Array(data as ArrayBuffer))
    }
    socket.onerror = null
    socket.onclose = ({ code, reason }) =>
      receiver.lost(new ServerError(`the connection is lost${reason ? `: ${reason}` : ` (${code})`}`, 'ECONNRESET'))
    return {
      send: (text) => socket.send(text),
      sendBytes: (bytes) => socket.send(bytes),
      close: () => socket.close(),
    }
  }
}
