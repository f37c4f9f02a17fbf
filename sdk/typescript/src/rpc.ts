// SPDX-License-Identifier: Apache-2.0
// Requests and their answers over any transport that carries whole messages.
import { sizeOf, toBytes } from './encoding.js'
import { CancelledError, ClocheError, ServerError, errorOf } from './errors.js'
import type { Json } from './types.js'

/** What carries messages to a server and back. */
export interface Transport {
  send(text: string): void
  sendBytes?(bytes: Uint8Array): void
  /** After it nothing is received. */
  close(): void
  /** Whether the process may end while nothing is waited for. */
  hold?(busy: boolean): void
}

export interface Receiver {
  message(text: string): void
  bytes(data: Uint8Array): void
  /** Once: nothing more comes. */
  lost(error: ServerError): void
}

export type Connect = (receiver: Receiver) => Promise<Transport>

export type Output = (stream: 'stdout' | 'stderr', data: string) => void
export type Question = (method: string, params: Record<string, Json>) => Promise<Json>

export interface CallDetails {
  signal?: AbortSignal | undefined
  /** What it throws ends the request. */
  output?: Output | undefined
  /** Answers what the server asks on behalf of this request. */
  question?: Question | undefined
  /** Told of the result before anything that the server sent after it. */
  answered?: ((result: unknown) => void) | undefined
}

interface Pending {
  resolve: (value: never) => void
  answered: ((result: unknown) => void) | undefined
  reject: (error: Error) => void
  output: Output | undefined
  question: Question | undefined
  cancel: () => void
  onAbort: (() => void) | undefined
  signal: AbortSignal | undefined
}

interface Message {
  id?: number | string | null
  method?: string
  params?: Record<string, Json>
  result?: Json
  error?: { code: number; message: string; data?: unknown }
}

/** Throws for a message that no server takes. */
function lineOf(message: object): string {
  const text = JSON.stringify(message)
  const limit = Rpc.messageLimitBytes
  // A UTF-16 unit has three bytes at most.
  if (text.length * 3 > limit && sizeOf(text) > limit)
    throw new ClocheError(`a message has more than ${limit} bytes, which are the most: send it in parts`, 'EINVAL')
  return text
}

/** What somebody's code has thrown says, and its kind: anything may be thrown, also what has no text. */
function saidBy(error: unknown): [message: string, type: string] {
  try {
    return error instanceof Error ? [whole(error.message), whole(error.name)] : [whole(error), 'Error']
  } catch {
    return ['what has no text was thrown', 'Error']
  }
}

/** A text that the other side takes: without halves of characters. */
const whole = (text: unknown): string => new TextDecoder().decode(toBytes(String(text)))

/** One connection. */
export class Rpc implements Receiver {
  /** Of a message; a server takes no longer ones. */
  static messageLimitBytes = 384 << 20

  #transport: Transport | undefined
  #pending = new Map<number, Pending>()
  #served = new Map<string, (params: Record<string, Json>) => Promise<Json>>()
  #notices = new Map<string, Set<(params: Record<string, Json>) => void>>()
  #terminals = new Map<number, (data: Uint8Array) => void>()
  #last = 0
  #holds = 0
  #lost: ServerError | undefined
  #onLost = new Set<(error: ServerError) => void>()

  static async open(connect: Connect): Promise<Rpc> {
    const rpc = new Rpc()
    rpc.#transport = await connect(rpc)
    rpc.#transport.hold?.(false)
    return rpc
  }

  get isOpen(): boolean {
    return this.#lost === undefined
  }

  /** Sends a request; when the signal fires it is cancelled. */
  call<T>(method: string, params: Record<string, unknown>, options: CallDetails = {}): Promise<T> {
    const { signal, output, question, answered } = options
    if (signal?.aborted) return Promise.reject(new CancelledError('the request was cancelled', 'ECANCELED'))
    if (this.#lost) return Promise.reject(this.#lost)
    const id = ++this.#last
    return new Promise<T>((resolve, reject) => {
      const cancel = () => {
        const which: Record<string, unknown> = { id }
        if (params['sandboxId'] !== undefined) which['sandboxId'] = params['sandboxId']
        this.call('cancel', which).catch(() => undefined)
      }
      const pending: Pending = {
        resolve: resolve as (value: never) => void, answered, reject, output, question, cancel, onAbort: signal && cancel, signal,
      }
      signal?.addEventListener('abort', cancel, { once: true })
      this.#pending.set(id, pending)
      this.#transport?.hold?.(true)
      try {
        this.#transport?.send(lineOf({ jsonrpc: '2.0', id, method, params }))
      } catch (error) {
        this.#settle(id)
        reject(error instanceof Error ? error : new ServerError(String(error)))
      }
    })
  }

  /** Answers all requests of that method, whatever sandbox they are of. */
  serve(method: string, answer: (params: Record<string, Json>) => Promise<Json>): void {
    this.#served.set(method, answer)
  }

  /** Told of a notification until the returned function is called. */
  on(method: string, told: (params: Record<string, Json>) => void): () => void {
    const all = this.#notices.get(method) ?? new Set()
    this.#notices.set(method, all.add(told))
    return () => all.delete(told)
  }

  onLost(told: (error: ServerError) => void): () => void {
    this.#onLost.add(told)
    return () => this.#onLost.delete(told)
  }

  /** What a terminal prints. */
  onTerminal(number: number, told: ((data: Uint8Array) => void) | undefined): void {
    if (told) this.#terminals.set(number, told)
    else this.#terminals.delete(number)
  }

  type(number: number, data: Uint8Array): void {
    const frame = new Uint8Array(4 + data.length)
    new DataView(frame.buffer).setUint32(0, number)
    frame.set(data, 4)
    this.#transport?.sendBytes?.(frame)
  }

  /** Keeps the process alive, where there is one, until it is let go as often. */
  hold(busy: boolean): void {
    this.#holds += busy ? 1 : -1
    this.#transport?.hold?.(this.#isWaitedFor)
  }

  get #isWaitedFor(): boolean {
    return this.#holds > 0 || this.#pending.size > 0
  }

  close(): void {
    this.#transport?.close()
    this.lost(new ServerError('the connection was closed'))
  }

  message(text: string): void {
    if (text === '') return
    let message: Message
    try {
      message = JSON.parse(text) as Message
    } catch {
      return this.lost(new ServerError('the server sent what is no JSON'))
    }
    if (message.method === undefined) return this.#answered(message)
    const params = message.params ?? {}
    if (message.id !== undefined && message.id !== null) return void this.#ask(message.id, message.method, params)
    if (message.method === 'output') this.#print(params)
    for (const told of this.#notices.get(message.method) ?? []) told(params)
  }

  bytes(data: Uint8Array): void {
    if (data.length < 4) return
    const number = new DataView(data.buffer, data.byteOffset).getUint32(0)
    this.#terminals.get(number)?.(data.subarray(4))
  }

  lost(error: ServerError): void {
    if (this.#lost) return
    this.#lost = error
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(error)
    for (const told of [...this.#onLost]) told(error)
  }

  #print(params: Record<string, Json>): void {
    const id = params['requestId'] as number
    const pending = this.#pending.get(id)
    try {
      pending?.output?.(params['stream'] as 'stdout' | 'stderr', params['data'] as string)
    } catch (error) {
      this.#settle(id)
      pending?.cancel()
      pending?.reject(error as Error)
    }
  }

  #answered(message: Message): void {
    const pending = typeof message.id === 'number' ? this.#settle(message.id) : undefined
    if (!pending) return
    if (message.error) pending.reject(errorOf(message.error.code, message.error.message, message.error.data))
    else {
      pending.answered?.(message.result)
      pending.resolve(message.result as never)
    }
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    if (!pending) return undefined
    this.#pending.delete(id)
    if (pending.onAbort) pending.signal?.removeEventListener('abort', pending.onAbort)
    if (!this.#isWaitedFor) this.#transport?.hold?.(false)
    return pending
  }

  async #ask(id: number | string, method: string, params: Record<string, Json>): Promise<void> {
    let text: string
    try {
      const served = this.#served.get(method)
      const question = this.#pending.get(params['requestId'] as number)?.question
      if (!served && !question) throw new Error('nobody answers')
      const result: unknown = served ? await served(params) : await question!(method, params)
      if (typeof result === 'function' || typeof result === 'symbol') throw new TypeError(`a ${typeof result} is no value that JSON has`)
      text = lineOf({ jsonrpc: '2.0', id, result: result ?? null })
    } catch (error) {
      const [message, type] = saidBy(error)
      text = JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message, data: { type } } })
    }
    try {
      this.#transport?.send(text)
    } catch {
      // The connection is lost, and nobody waits for the answer.
    }
  }
}
