// SPDX-License-Identifier: Apache-2.0
// The console's connection to its server: requests, notifications, terminals. It comes back by
// itself when it is lost.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
export type Params = Record<string, unknown>

export interface Session {
  sessionId: string
  status: 'running' | 'paused' | 'closed'
  createdAt: string
  expiresAt: string | null
  lastActivityAt: string
  metadata: Record<string, Json>
  parent: string | null
  door: string
  owner: string
  memoryBytes: number
  fileBytes: number
  processes: number
  cpuMs: number
}

export interface ServerFigures {
  version: string
  uptimeMs: number
  sessions: number
  memoryBytes: number
  cpuMs: number
  cpus: number
  requestsPerSecond: number
}

export interface LoggedEvent {
  seq: number
  time: string
  sessionId: string
  kind: string
  text: string
  run?: number
  exitCode?: number
  durationMs?: number
  reason?: string
}

export class RpcError extends Error {
  constructor(message: string, readonly code: string | undefined) {
    super(message)
  }
}

interface Pending {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
  output: ((stream: string, data: string) => void) | undefined
}

export type State = 'connecting' | 'open' | 'lost'

const sandboxesMost = 128 // of what a connection may hold
const firstPauseMs = 300
const longestPauseMs = 8000

class Connection {
  state: State = 'connecting'
  #socket: WebSocket | undefined
  #pending = new Map<number, Pending>()
  #last = 0
  #pauseMs = firstPauseMs
  #notices = new Map<string, Set<(params: never) => void>>()
  #terminals = new Map<number, (data: Uint8Array) => void>()
  #sandboxes = new Map<string, Promise<string>>() // by session, the one that was used last at the end
  #made = new Set<string>() // sessions of it that end when they are let go of
  #busy = new Map<string, number>() // by session, its calls on their way
  #watchers = new Set<(state: State) => void>()
  #wanted = false

  start(): void {
    this.#wanted = true
    this.#open()
  }

  stop(): void {
    this.#wanted = false
    this.#socket?.close()
  }

  watch(told: (state: State) => void): () => void {
    this.#watchers.add(told)
    return () => this.#watchers.delete(told)
  }

  /** Told of a notification until the returned function is called. */
  on<T>(method: string, told: (params: T) => void): () => void {
    const all = this.#notices.get(method) ?? new Set()
    this.#notices.set(method, all.add(told as (params: never) => void))
    return () => all.delete(told as (params: never) => void)
  }

  onTerminal(number: number, told: (data: Uint8Array) => void): () => void {
    this.#terminals.set(number, told)
    return () => this.#terminals.delete(number)
  }

  type(number: number, text: string): void {
    const data = new TextEncoder().encode(text)
    const frame = new Uint8Array(4 + data.length)
    new DataView(frame.buffer).setUint32(0, number)
    frame.set(data, 4)
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(frame)
  }

  call<T>(method: string, params: Params = {}, details: { output?: (stream: string, data: string) => void; answered?: (result: T) => void; number?: (id: number) => void } = {}): Promise<T> {
    const socket = this.#socket
    if (!socket || socket.readyState !== WebSocket.OPEN) return Promise.reject(new RpcError('the server cannot be reached', 'ECONNRESET'))
    const id = ++this.#last
    details.number?.(id)
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, {
        resolve: (value) => {
          details.answered?.(value as T)
          resolve(value as T)
        },
        reject,
        output: details.output,
      })
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  /** What this connection calls a session. */
  sandboxOf(sessionId: string): Promise<string> {
    let sandbox = this.#sandboxes.get(sessionId)
    if (!sandbox) {
      const others = [...this.#sandboxes.keys()].filter((one) => !this.#made.has(one))
      for (const one of others.slice(0, Math.max(0, others.length + 1 - sandboxesMost))) if (!this.#busy.has(one)) this.#letGo(one)
      const asked = this.call<{ sandboxId: string }>('sandbox.create', { sessionId }).then(({ sandboxId }) => sandboxId)
      asked.catch(() => { if (this.#sandboxes.get(sessionId) === asked) this.#sandboxes.delete(sessionId) })
      sandbox = asked
    }
    this.#sandboxes.delete(sessionId)
    this.#sandboxes.set(sessionId, sandbox)
    return sandbox
  }

  /** A new session. */
  async make(params: Params): Promise<string> {
    const { sandboxId, sessionId } = await this.call<{ sandboxId: string; sessionId: string }>('sandbox.create', params)
    this.#made.add(sessionId)
    this.#sandboxes.set(sessionId, Promise.resolve(sandboxId))
    return sessionId
  }

  /** Ends a session. */
  async remove(sessionId: string): Promise<void> {
    await this.call('session.delete', { sessionId })
    this.#letGo(sessionId)
  }

  #letGo(sessionId: string): void {
    const sandbox = this.#sandboxes.get(sessionId)
    this.#sandboxes.delete(sessionId)
    this.#made.delete(sessionId)
    sandbox?.then((sandboxId) => this.call('sandbox.destroy', { sandboxId })).catch(() => undefined)
  }

  /** A request for a session's sandbox. */
  async in<T>(sessionId: string, method: string, params: Params = {}, details: Parameters<Connection['call']>[2] = {}): Promise<T> {
    this.#busy.set(sessionId, (this.#busy.get(sessionId) ?? 0) + 1)
    try {
      const sandboxId = await this.sandboxOf(sessionId)
      return await this.call<T>(method, { ...params, sandboxId }, details as never)
    } finally {
      const left = this.#busy.get(sessionId)! - 1
      if (left > 0) this.#busy.set(sessionId, left)
      else this.#busy.delete(sessionId)
    }
  }

  #tell(state: State): void {
    this.state = state
    for (const told of [...this.#watchers]) told(state)
  }

  #open(): void {
    this.#tell(this.state === 'open' ? 'lost' : this.state)
    const address = new URL('/rpc', location.href)
    address.protocol = address.protocol.replace('http', 'ws')
    const socket = new WebSocket(address, ['cloche.rpc.v1'])
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    socket.onopen = () => {
      this.#pauseMs = firstPauseMs
      this.#tell('open')
    }
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') this.#take(data)
      else {
        const bytes = new Uint8Array(data)
        if (bytes.length >= 4) this.#terminals.get(new DataView(data).getUint32(0))?.(bytes.subarray(4))
      }
    }
    socket.onclose = () => {
      this.#sandboxes.clear()
      this.#made.clear()
      const lost = new RpcError('the connection to the server is lost', 'ECONNRESET')
      for (const pending of this.#pending.values()) pending.reject(lost)
      this.#pending.clear()
      this.#tell('lost')
      if (!this.#wanted) return
      setTimeout(() => this.#wanted && this.#open(), this.#pauseMs)
      this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs)
    }
  }

  #take(text: string): void {
    const message = JSON.parse(text) as { id?: number; method?: string; params?: Record<string, Json>; result?: Json; error?: { message: string } }
    if (message.method !== undefined) {
      const params = message.params ?? {}
      if (message.method === 'output') this.#pending.get(params['requestId'] as number)?.output?.(params['stream'] as string, params['data'] as string)
      for (const told of this.#notices.get(message.method) ?? []) told(params as never)
      return
    }
    const pending = this.#pending.get(message.id ?? 0)
    this.#pending.delete(message.id ?? 0)
    if (message.error) pending?.reject(new RpcError(message.error.message.replace(/^E[A-Z0-9]+: /, ''), /^(E[A-Z0-9]+):/.exec(message.error.message)?.[1]))
    else pending?.resolve(message.result)
  }
}

export const server = new Connection()

export function toBase64(data: Uint8Array): string {
  let text = ''
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000))
  return btoa(text)
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text)
  const data = new Uint8Array(plain.length)
  for (let at = 0; at < plain.length; at++) data[at] = plain.charCodeAt(at)
  return data
}
